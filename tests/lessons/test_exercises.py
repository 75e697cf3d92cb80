"""Guards of every exercise, present and future."""

import nbformat
import pytest

from byhand.ask import Answer, ask
from byhand.compare import judge_function
from byhand.probe import FunctionProbe, ValueProbe
from byhand.values import judge_value
from byhand_course.build.cells import function_source, total_points
from byhand_course.grading.engine import Engine
from byhand_course.grading.judging import earlier_functions, judge_notebook, questions
from byhand_course.lessons import (
    Exercise,
    FreeAnswer,
    Lesson,
    folder_of,
    load_lessons,
    mistaken_function,
    probe_of,
)

SEEDS = (1, 2, 3)
TASKS = [
    pytest.param(lesson, task, id=task.name)
    for lesson in load_lessons()
    for task in lesson.exercises
]
FUNCTIONS = [p for p in TASKS if isinstance(p.values[1], Exercise)]
VALUES = [p for p in TASKS if not isinstance(p.values[1], (Exercise, FreeAnswer))]
MISTAKES = [
    pytest.param(lesson, task, mistake, id=f"{task.name}-{mistake.name}")
    for lesson in load_lessons()
    for task in lesson.exercises
    if isinstance(task, Exercise)
    for mistake in task.mistakes
]


@pytest.fixture(scope="session")
def engine():
    with Engine() as engine:
        yield engine


def cells_of(root, folder, lesson: Lesson):
    """The sources of a notebook's code cells, and of its answer cells by exercise."""
    path = root / folder / lesson.assignment / f"{folder_of(lesson).name}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    grade_ids = {cell.id: cell.metadata.get("nbgrader", {}).get("grade_id", "") for cell in code}
    running = [cell for cell in code if not grade_ids[cell.id].startswith("check-")]
    return [cell.source for cell in running], {grade_ids[c.id]: c.source for c in running}


@pytest.mark.parametrize("lesson", load_lessons(), ids=lambda lesson: lesson.title)
def test_the_solved_notebook_scores_full_marks(root, engine, lesson):
    """Under the real engine, on public and hidden inputs, every solved exercise is right."""
    cells, answers = cells_of(root, "solutions", lesson)
    judged = judge_notebook(engine, lesson, cells, answers, seed=1)
    assert {name: v.score for name, v in judged.verdicts.items()} == {
        task.name: total_points(task)
        for task in lesson.exercises
        if not isinstance(task, FreeAnswer)
    }
    assert all(outcome.ok for outcome in judged.outcomes)


@pytest.mark.parametrize("lesson", load_lessons(), ids=lambda lesson: lesson.title)
def test_the_solution_needs_nothing_of_the_course_maker(root, engine, lesson):
    """Every cell of the solved notebook runs, checks included, where the reference is no module."""
    path = root / "solutions" / lesson.assignment / f"{folder_of(lesson).name}.ipynb"
    cells = [c.source for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    barred = "import sys; sys.modules['byhand_course'] = None"
    with engine.open([barred, *cells, "import byhand_course"], earlier_functions(lesson)) as book:
        states = [outcome.ok for outcome in book.outcomes]
    assert states == [True] * (len(cells) + 1) + [False]


@pytest.mark.parametrize("lesson", load_lessons(), ids=lambda lesson: lesson.title)
def test_the_stub_as_given_scores_nothing(root, engine, lesson):
    """The released notebook earns 0 on every exercise, and is told that nothing is there yet."""
    cells, answers = cells_of(root, "release", lesson)
    judged = judge_notebook(engine, lesson, cells, answers, seed=1)
    assert len(judged.verdicts) > 2
    for name, verdict in judged.verdicts.items():
        assert (verdict.score, verdict.stage) == (0, "missing"), name


@pytest.mark.parametrize(("lesson", "task", "mistake"), MISTAKES)
def test_every_mistake_is_wrong_and_named_as_itself(lesson, task, mistake):
    """It swaps once, and is marked down and named, on public inputs and on hidden ones."""
    wrong = mistaken_function(task.solution, mistake)
    for probe in [
        probe_of(task, lesson.number),
        *(questions(task, lesson.number, s) for s in SEEDS),
    ]:
        answers = [ask(wrong, case.inputs, probe.asks) for case in probe.cases]
        verdict = judge_function(probe, answers)
        assert verdict.score < verdict.points
        assert verdict.mistake == mistake.name


@pytest.mark.parametrize(("lesson", "task"), FUNCTIONS)
def test_every_solution_keeps_its_properties(lesson, task):
    """What every right answer has, the reference's answer has, on hidden inputs too."""
    for seed in SEEDS:
        for case in questions(task, lesson.number, seed).cases:
            for sentence, holds in task.properties.items():
                assert holds(case.expected, *case.inputs), f"{sentence}, on {case.label}"


@pytest.mark.parametrize(("lesson", "task"), FUNCTIONS)
def test_inputs_of_a_function_hide_nothing(lesson, task):
    """Several inputs, all different, hidden ones other than public ones."""
    public = probe_of(task, lesson.number)
    hidden = questions(task, lesson.number, 1).cases[len(public.cases) :]
    assert isinstance(public, FunctionProbe)
    assert len(public.cases) >= 3
    texts = [repr(case.inputs) for case in (*public.cases, *hidden)]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(("lesson", "task"), VALUES)
def test_a_value_is_right_and_each_slip_is_named(lesson, task):
    """The computed answer passes; each known slip is wrong and named as itself."""
    probe = probe_of(task, lesson.number)
    assert isinstance(probe, ValueProbe)
    assert judge_value(probe, Answer(value=task.answer)).passed
    for slip in task.slips:
        verdict = judge_value(probe, Answer(value=slip.answer))
        assert (verdict.score, verdict.mistake) == (0, slip.name)


@pytest.mark.parametrize(("lesson", "task"), TASKS)
def test_every_exercise_has_three_hints_that_do_not_solve_it(lesson, task):
    """Three hints, none of which quotes a whole line of the solution."""
    assert len(task.hints) == 3
    if isinstance(task, Exercise):
        body = function_source(task.solution).partition("### BEGIN SOLUTION\n")[2]
        for line in body.splitlines():
            code = line.partition("#")[0].strip()
            if len(code) > 15:
                assert not [hint for hint in task.hints if code in hint]


def test_questions_after_the_explanation_have_four_levels_with_an_example_each():
    """Lesson 19's answers in words can be weighed without an instructor."""
    last = next(lesson for lesson in load_lessons() if lesson.number == 19)
    questions = [task for task in last.exercises if isinstance(task, FreeAnswer)]
    assert len(questions) == 3
    for task in questions:
        assert [points for points, _ in task.rubric] == [3, 2, 1, 0]
        assert len(set(task.examples)) == 4 and task.model_answer not in task.examples


def test_prose_and_code_come_in_small_portions(root):
    """At most 60 words between code cells and 10 lines in a code cell of the lesson's own."""
    for lesson in load_lessons():
        path = root / "release" / lesson.assignment / f"{folder_of(lesson).name}.ipynb"
        cells = nbformat.read(path, as_version=4).cells[1:]
        for cell in cells:
            if "nbgrader" in cell.metadata or "<details>" in cell.source:
                continue
            words = [word for word in cell.source.split() if any(map(str.isalpha, word))]
            lines = cell.source.splitlines()
            assert cell.cell_type == "code" or len(words) <= 60, cell.source
            assert cell.cell_type == "markdown" or len(lines) <= 10, cell.source


def test_each_lesson_is_one_sitting():
    """20 to 40 minutes, 3 to 6 exercises, one by hand, one prediction, one function."""
    for lesson in load_lessons():
        kinds = {probe_of(task, lesson.number).kind for task in lesson.exercises}
        assert 20 <= sum(task.minutes for task in lesson.exercises) <= 40, lesson.title
        assert 3 <= len(lesson.exercises) <= 6, lesson.title
        assert {"value", "function"} <= kinds and kinds & {"choice", "shape"}, lesson.title


def test_the_core_fits_into_its_hours():
    """Lessons 1 to 12 and 19 take at most 8.5 hours together."""
    core = [lesson for lesson in load_lessons() if lesson.number <= 12 or lesson.number == 19]
    assert sum(task.minutes for lesson in core for task in lesson.exercises) <= 8.5 * 60
