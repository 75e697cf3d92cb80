"""The build: reproducible, current, equal to what nbgrader makes, and stopped by broken lessons."""

import dataclasses
import os
import shutil
import sys
from pathlib import Path
from subprocess import run

import nbformat
import pytest

from byhand_course.build import build as build_course
from byhand_course.build import declarations, find_stale, notebook
from byhand_course.build.build import _cut, through_nbgrader
from byhand_course.lessons import BrokenLesson, FreeAnswer, Mistake, load_lessons

LESSON = load_lessons()[2]
SOFTMAX = next(task for task in LESSON.exercises if task.name == "softmax")


def files_below(folder):
    return {
        path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_committed_files_are_current(root):
    """What is committed is what the build writes."""
    assert find_stale(root) == []


def test_building_twice_gives_identical_bytes(tmp_path, root):
    """Two builds from nothing agree to the byte, probes too."""
    for name in ("one", "two"):
        _cut(root, tmp_path / name)
    first, second = files_below(tmp_path / "one"), files_below(tmp_path / "two")
    assert len(first) > 20
    assert first == second


def test_build_renews_what_is_stale_and_only_that(tmp_path, root):
    """A changed, a missing and a superfluous file are found and mended; the rest is not touched."""
    build_course(tmp_path)
    release = tmp_path / "release/week1_maths/lesson03_softmax.ipynb"
    untouched = tmp_path / "release/week1_maths/lesson01_dot_products.ipynb"
    stamp = untouched.stat().st_mtime_ns
    release.write_text("{}")
    (tmp_path / "byhand/probes/softmax.npz").unlink()
    (tmp_path / "byhand/probes/gone.json").write_text("{}")
    found = {str(stale.path): stale.why for stale in find_stale(tmp_path)}
    assert found == {
        "byhand/probes/gone.json": "no longer part of the course",
        "byhand/probes/softmax.npz": "missing",
        "release/week1_maths/lesson03_softmax.ipynb": "out of date",
    }
    build_course(tmp_path)
    assert find_stale(tmp_path) == []
    assert untouched.stat().st_mtime_ns == stamp


def test_a_lessons_data_lie_beside_the_probes(tmp_path):
    """Arrays that a notebook loads are built, found missing, and found superfluous."""
    import numpy as np

    build_course(tmp_path)
    lesson = next(lesson for lesson in load_lessons() if lesson.data)
    for name, arrays in lesson.data.items():
        path = tmp_path / f"byhand/probes/{name}.npz"
        with np.load(path, allow_pickle=False) as file:
            assert set(file) == set(arrays)
            assert all((file[key] == array).all() for key, array in arrays.items())
        path.unlink()
        assert [stale.why for stale in find_stale(tmp_path)] == ["missing"]


def test_probes_that_differ_in_their_last_digits_are_current(tmp_path):
    """Another processor's rounding is no change; a changed number is."""
    import numpy as np

    build_course(tmp_path)
    path = tmp_path / "byhand/probes/softmax.npz"
    with np.load(path) as file:
        arrays = dict(file)
    name = next(key for key, array in arrays.items() if array.dtype == float and array.size > 3)
    for change, stale in ((1e-16, False), (1e-6, True)):
        np.savez(path, **{**arrays, name: arrays[name] * (1 + change)})
        assert bool(find_stale(tmp_path)) is stale


def test_notebooks_are_valid_with_stable_ids(root):
    """nbformat 4.5, no outputs, ids from exercise names, nbgrader's schema 3."""
    for lesson in load_lessons():
        for folder in ("source", "release", "solutions"):
            name = f"{notebook.notebook_name(lesson)}.ipynb"
            book = nbformat.read(root / folder / lesson.assignment / name, as_version=4)
            nbformat.validate(book)
            assert (book.nbformat, book.nbformat_minor) == (4, 5)
            ids = [cell.id for cell in book.cells]
            assert len(set(ids)) == len(ids)
            assert {task.name for task in lesson.exercises} <= set(ids)
            for cell in book.cells:
                assert not cell.get("outputs") and cell.get("execution_count") is None
                if "nbgrader" in cell.metadata:
                    assert cell.metadata.nbgrader.schema_version == 3


def test_release_holds_no_solution(root):
    """No marker, no model answer and no line of a solution is in what learners get."""
    for lesson in load_lessons():
        name = f"{notebook.notebook_name(lesson)}.ipynb"
        text = (root / "release" / lesson.assignment / name).read_text("utf-8")
        assert "SOLUTION" not in text
        assert "raise NotImplementedError" in text
        solved = (root / "solutions" / lesson.assignment / name).read_text("utf-8")
        assert "SOLUTION" in solved


@pytest.fixture(scope="module")
def by_nbgrader(tmp_path_factory):
    """The course as nbgrader's own commands release and solve it from source/."""
    from conftest import ROOT

    course = tmp_path_factory.mktemp("course")
    shutil.copytree(ROOT / "source", course / "source")
    shutil.copyfile(ROOT / "nbgrader_config.py", course / "nbgrader_config.py")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for assignment in sorted(path.name for path in (course / "source").iterdir() if path.is_dir()):
        for command in ("generate_assignment", "generate_solution"):
            step = [sys.executable, "-m", "nbgrader", command, assignment]
            done = run(step, cwd=course, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
    return course


@pytest.mark.parametrize("folder", ["release", "solutions"])
def test_nbgrader_makes_the_same(by_nbgrader, root, folder):
    """nbgrader's own generate_assignment and generate_solution give the committed notebooks."""
    made = {p: b for p, b in files_below(by_nbgrader / folder).items() if p.suffix == ".ipynb"}
    ours = {p: b for p, b in files_below(root / folder).items() if p.suffix == ".ipynb"}
    assert len(made) >= 3
    assert made.keys() == ours.keys()
    for path, text in made.items():
        assert text == ours[path], path


def broken(lesson=LESSON, lessons=None):
    """Build with this lesson in place of the real one; the error's text."""
    with pytest.raises(BrokenLesson) as caught:
        declarations.hold_declarations(lessons or (lesson,))
        for task in lesson.exercises:
            declarations.recorded(lesson, task)
        notebook.source_notebook(lesson)
    return str(caught.value)


def with_softmax(**changes):
    task = dataclasses.replace(SOFTMAX, **changes)
    exercises = tuple(task if t is SOFTMAX else t for t in LESSON.exercises)
    return dataclasses.replace(LESSON, exercises=exercises)


def test_a_mistake_whose_text_is_gone_stops_the_build():
    """It says which mistake, where it is declared, and what to do."""
    gone = Mistake(name=SOFTMAX.mistakes[0].name, swap="no such text", into="", says="")
    says = broken(with_softmax(mistakes=(gone, *SOFTMAX.mistakes[1:])))
    assert "exercises.py:" in says and "is not in softmax; quote the line as it now stands" in says
    line = int(says.split("exercises.py:")[1].split(":")[0])
    file = Path(says.split(":")[0])
    assert gone.name in file.read_text().splitlines()[line - 1]


def test_a_mistake_that_is_right_stops_the_build():
    harmless = Mistake(name="harmless", swap="scores - ", into="scores -  ", says="")
    says = broken(with_softmax(mistakes=(harmless,)))
    assert 'mistake "harmless" is right on all inputs' in says


def test_two_mistakes_that_answer_alike_stop_the_build():
    twin = dataclasses.replace(SOFTMAX.mistakes[0], name="twin")
    assert "answer alike on all inputs" in broken(with_softmax(mistakes=(*SOFTMAX.mistakes, twin)))


def test_points_that_do_not_add_up_stop_the_build():
    assert "points do not add up" in broken(with_softmax(points=(1.0, 2.0)))


def test_a_duplicate_name_stops_the_build():
    """Within a lesson or across two, and the other place is named."""
    says = broken(lessons=(LESSON, dataclasses.replace(LESSON, number=1)))
    assert "is taken by lesson03_softmax" in says


def test_an_exercise_without_a_cell_stops_the_build():
    extra = dataclasses.replace(SOFTMAX, name="extra", solution=renamed("extra"), mistakes=())
    lesson = dataclasses.replace(LESSON, exercises=(*LESSON.exercises, extra))
    assert "lesson.py:1: no cell for 'extra'" in broken(lesson)


def test_an_unknown_exercise_in_the_prose_stops_the_build():
    """The line of its cell is named."""
    lesson = dataclasses.replace(LESSON, exercises=LESSON.exercises[:-1])
    says = broken(lesson)
    name = LESSON.exercises[-1].name
    assert f"unknown exercise {name!r}; declare it in LESSON" in says
    line = int(says.split("lesson.py:")[1].split(":")[0])
    assert f'exercise="{name}"' in Path(says.split(":")[0]).read_text().splitlines()[line - 1]


def test_a_value_that_the_prose_needs_stops_the_build():
    says = broken(dataclasses.replace(LESSON, worked={}))
    assert "add it to worked in exercises.py" in says


WORDS = [(lesson, task) for lesson in load_lessons() for task in lesson.exercises]
WORDS = [pytest.param(*pair, id=pair[1].name) for pair in WORDS if isinstance(pair[1], FreeAnswer)]


@pytest.mark.parametrize("release", [True, False], ids=["release", "solutions"])
@pytest.mark.parametrize(("lesson", "task"), WORDS)
def test_the_rubric_stands_folded_below_an_answer_in_words(lesson, task, release):
    """In a locked cell, so that whoever grades sees the course's own; each level, each example."""
    source = notebook.source_notebook(lesson)
    cells = through_nbgrader(source, release=release).cells
    place = next(i for i, cell in enumerate(cells) if cell.id == task.name)
    rubric, metadata = cells[place + 1].source, cells[place + 1].metadata.nbgrader
    assert (metadata.locked, metadata.grade, metadata.solution) == (True, False, False)
    assert rubric.startswith("<details><summary>") and rubric.endswith("</details>")
    levels = [f"{points:g} point{'s' * (points != 1)}.** {says}" for points, says in task.rubric]
    places = [rubric.index(text) for text in levels]
    assert places == sorted(places)
    assert all(example in rubric for example in task.examples)


def with_rubric(**changes):
    lesson, task = WORDS[0].values
    task = dataclasses.replace(task, points=2, **changes)
    exercises = tuple(task if t.name == task.name else t for t in lesson.exercises)
    return dataclasses.replace(lesson, exercises=exercises)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"rubric": ((1, "good"), (0, "bad"))}, "the rubric's best level gives 1, not 2"),
        ({"rubric": ((0, "bad"), (2, "good"))}, "let each give fewer points than the one before"),
        ({"rubric": ((2, "a"), (2, "b"))}, "let each give fewer points than the one before"),
        ({"rubric": ((2, "a"), (0, "b")), "examples": ("x",)}, "1 examples for 2 levels"),
    ],
)
def test_a_rubric_that_cannot_be_used_stops_the_build(changes, says):
    """Its best level is worth all points, levels go down, and each has an example, or none has."""
    assert says in broken(with_rubric(**changes))


def renamed(name):
    def function(scores, axis=-1):
        """Docstring."""
        return scores

    function.__name__ = name
    return function
