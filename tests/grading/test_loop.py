"""The whole loop: a class hands in, is graded on two roads, and gets feedback."""

import os
import shutil
import sys
from pathlib import Path
from subprocess import run

import nbformat
import pytest
from nbgrader.api import Gradebook

from byhand_course.build.cells import total_points
from byhand_course.grading.sample_class import SAMPLE_CLASS, make_course
from byhand_course.lessons import Exercise, FreeAnswer, load_lessons

ASSIGNMENT = "week1_maths"
TASKS = [
    task
    for lesson in load_lessons()
    if lesson.assignment == ASSIGNMENT
    for task in lesson.exercises
]
AUTOMATIC = sum(total_points(task) for task in TASKS if not isinstance(task, FreeAnswer))
BIN = Path(sys.executable).parent


def command(*words, cwd, path=f"{BIN}:{os.environ['PATH']}"):
    return run(
        [str(BIN / words[0]), *words[1:]],
        cwd=cwd,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """The sample class, graded with byhand-course grade."""
    from conftest import ROOT

    course = make_course(ROOT, tmp_path_factory.mktemp("ours"), ASSIGNMENT)
    done = command("byhand-course", "grade", ASSIGNMENT, "--json", cwd=course)
    assert done.returncode == 0, done.stderr
    return course


@pytest.fixture(scope="module")
def by_nbgrader(course, tmp_path_factory):
    """The same submissions, graded with plain nbgrader under the same hidden seed."""
    other = tmp_path_factory.mktemp("nbgrader") / "course"
    shutil.copytree(course, other)
    shutil.rmtree(other / "autograded")
    forget_grades(other)
    words = ("nbgrader", "autograde", ASSIGNMENT)
    done = command(*words, cwd=other)
    assert done.returncode == 0, done.stderr
    return other


def forget_grades(course):
    """Take every submission out of a gradebook, and leave the assignment and its seed."""
    with book(course) as gradebook:
        for submission in gradebook.assignment_submissions(ASSIGNMENT):
            gradebook.remove_submission(ASSIGNMENT, submission.student_id)
        assert gradebook.assignment_submissions(ASSIGNMENT) == []


def book(course):
    return Gradebook(f"sqlite:///{course}/gradebook.db", "attention-by-hand")


def grades(course):
    """All that a gradebook says of the class, cell by cell."""
    with book(course) as gradebook:
        return {
            (submission.student_id, found.name, grade.name): (
                grade.auto_score,
                grade.manual_score,
                grade.max_score,
                grade.needs_manual_grade,
            )
            for submission in gradebook.assignment_submissions(ASSIGNMENT)
            for found in submission.notebooks
            for grade in found.grades
        }


def score(course, student):
    with book(course) as gradebook:
        return gradebook.find_submission(ASSIGNMENT, student).score


def test_blank_scores_exactly_nothing(course):
    assert score(course, "blank") == 0


def test_solved_scores_exactly_full_marks(course):
    """All automatic points; with its free answers read by hand, all points there are."""
    assert score(course, "solved") == AUTOMATIC
    with book(course) as gradebook:
        submission = gradebook.find_submission(ASSIGNMENT, "solved")
        for found in submission.notebooks:
            for grade in found.grades:
                if grade.needs_manual_grade:
                    grade.manual_score = grade.max_score
        gradebook.db.flush()
        assert submission.score == submission.max_score
        gradebook.db.rollback()


def test_every_kind_of_submission_gets_what_it_earned(course):
    """Wrong ones get nothing, partial ones their part; a crash or loop costs one exercise each."""
    last_functions = [
        [task for task in lesson.exercises if isinstance(task, Exercise)][-1]
        for lesson in load_lessons()
        if lesson.assignment == ASSIGNMENT
    ]
    lost = sum(total_points(task) for task in last_functions)
    functions = sum(total_points(task) for task in TASKS if isinstance(task, Exercise))
    assert score(course, "crashing") == AUTOMATIC - lost
    assert score(course, "endless-loop") == AUTOMATIC - lost
    assert score(course, "syntax-error") == AUTOMATIC - functions
    assert 0 < score(course, "partly-right") < AUTOMATIC
    assert score(course, "wrong") == 0
    assert {key[0] for key in grades(course)} == set(SAMPLE_CLASS)


def test_nbgrader_gives_the_same_gradebook(course, by_nbgrader):
    """Every grade of every cell of every student, and the autograded notebooks, are the same."""
    assert len(grades(course)) == len(SAMPLE_CLASS) * len(TASKS)
    assert grades(course) == grades(by_nbgrader)
    ours = sorted((course / "autograded").rglob("*.ipynb"))
    assert len(ours) == 3 * len(SAMPLE_CLASS)
    for path in ours:
        other = by_nbgrader / path.relative_to(course)
        assert path.read_text() == other.read_text(), path.name


def test_a_verdict_says_why_in_the_notebook(course):
    """The check cell of a wrong answer carries its score and the sentence of its mistake."""
    path = course / f"autograded/wrong/{ASSIGNMENT}/lesson03_softmax.ipynb"
    cells = nbformat.read(path, as_version=4).cells
    check = next(
        c for c in cells if c.metadata.get("nbgrader", {}).get("grade_id") == "check-softmax"
    )
    message, points = check.outputs
    softmax = next(task for task in TASKS if task.name == "softmax")
    assert points.data["text/plain"] == "0.0"
    assert softmax.mistakes[0].says.split(".")[0] in " ".join(message.data["text/plain"].split())


def test_feedback_pages_say_it_too(course):
    """Every submission gets a page a notebook, with its verdicts and without hidden inputs."""
    done = command("byhand-course", "feedback", ASSIGNMENT, cwd=course)
    assert done.returncode == 0, done.stderr
    pages = sorted((course / "feedback").glob(f"*/{ASSIGNMENT}/*.html"))
    assert len(pages) == 3 * len(SAMPLE_CLASS)
    page = (course / f"feedback/wrong/{ASSIGNMENT}/lesson03_softmax.html").read_text("utf-8")
    assert "Not yet" in page
    solved = (course / f"feedback/solved/{ASSIGNMENT}/lesson03_softmax.html").read_text("utf-8")
    assert "Right" in solved and "Not yet" not in solved


def test_regrading_with_the_same_seed_gives_the_same_grades(course):
    """Grading again changes nothing: the seed is kept in the gradebook."""
    before = grades(course)
    words = ("byhand-course", "grade", ASSIGNMENT, "--student", "partly-right")
    assert command(*words, cwd=course).returncode == 0
    assert grades(course) == before


def test_without_a_sandbox_there_is_no_grading(course):
    """Both roads refuse where bubblewrap is missing, change nothing, and say how to get it."""
    before = grades(course)
    done = command("byhand-course", "grade", ASSIGNMENT, "--again", cwd=course, path=str(BIN))
    assert done.returncode == 1 and "sudo apt install bubblewrap" in done.stderr
    assert "Traceback" not in done.stderr
    words = ("nbgrader", "autograde", ASSIGNMENT, "--force", "--student", "solved")
    done = command(*words, cwd=course, path=str(BIN))
    assert done.returncode != 0 and "sudo apt install bubblewrap" in done.stderr
    assert grades(course) == before


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("grade", "week9"), "There is no assignment 'week9' in source/"),
        (("grade", ASSIGNMENT, "--student", "nobody"), "handed in by nobody"),
        (("report", "week9"), "There is no assignment 'week9' in source/"),
        (("feedback", "week9"), "There is no assignment 'week9' in source/"),
        (("report", ASSIGNMENT, "--root", "/nowhere"), "nbgrader_config.py"),
    ],
)
def test_wrong_names_get_one_clear_sentence(course, words, says):
    done = command("byhand-course", *words, cwd=course)
    assert done.returncode == 1
    assert says in done.stderr and "Traceback" not in done.stderr


def test_grading_works_with_nothing_on_the_path(course):
    """alembic is found beside Python: no environment needs to be activated."""
    words = (str(BIN / "byhand-course"), "report", ASSIGNMENT, "--json")
    assert command(*words, cwd=course, path="/usr/bin:/bin").returncode == 0
