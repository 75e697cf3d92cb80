"""Broken submissions: each is graded as its honest twin, or listed with its reason."""

import os
import sqlite3
import sys
import tracemalloc
from contextlib import closing
from pathlib import Path
from subprocess import run

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import broken_submissions as broken
import gradebooks

from byhand_course.grading.handed_in import Unreadable, read_cells
from byhand_course.grading.intake import MAX_NOTEBOOKS, receive, shown
from byhand_course.grading.restore import bound_names

ALSO_BY_NBGRADER = (
    "the answer in a new cell, its own left empty below",
    "all check cells deleted",
    "an answer's cell deleted",
    "a rubric deleted",
    "a rubric rewritten",
    "the imports deleted",
    "the answer in words split in two",
    "every cell renamed",
    "an answer made text",
    "the answer written into its check",
    "all metadata stripped, as by Colab",
    "nbformat 3",
    "UTF-16",
    "Windows line ends",
    "truncated",
    "a web page",
    "the notebook renamed",
    "two notebooks: the copy is the one filled in",
    "its own name on another lesson",
    "files that shadow modules beside it",
    "a link instead of a file",
    "name with accents",
)


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Every row, graded on our road."""
    course = broken.make_course(tmp_path_factory.mktemp("broken"))
    return course, broken.grade_rows(course)


@pytest.mark.parametrize("row", broken.ROWS, ids=lambda row: row.what)
def test_a_broken_submission_is_recovered_or_listed(graded, row):
    """It earns what it promises and says what was repaired; or it has no grade, and a reason."""
    course, found = graded
    student = broken.student_of(row)
    result = found[shown(student)]
    assert row.says in broken.told_of(result)
    assert "Traceback" not in broken.told_of(result) and "stumbled" not in broken.told_of(result)
    if row.points is None:
        assert result.failure
        assert scores(course, student) <= {None}  # nothing, rather than 0
    else:
        assert result.failure is None
        assert (result.score, result.waiting) == (row.points, row.waiting)
        if not row.says:
            assert result.remarks == ()


def scores(course, student):
    with closing(sqlite3.connect(course / "gradebook.db")) as book:
        return {
            score
            for _, owner, _, _, score, *_ in book.execute(gradebooks.GRADES)
            if owner == student
        }


def test_nbgrader_makes_the_same_of_broken_submissions(graded, tmp_path):
    """`nbgrader autograde` gives the same gradebook and notebooks, and logs the same reasons."""
    course, _ = graded
    rows = [row for row in broken.ROWS if row.what in ALSO_BY_NBGRADER]
    assert len(rows) == len(ALSO_BY_NBGRADER)
    students = {broken.student_of(row) for row in rows}
    other = tmp_path / "course"
    broken.make_course(other, rows)
    (other / "gradebook.db").write_bytes((course / "gradebook.db").read_bytes())
    with closing(sqlite3.connect(other / "gradebook.db")) as book:
        for table in ("comment", "grade", "submitted_notebook", "submitted_assignment", "student"):
            book.execute(f"DELETE FROM {table}")
        book.commit()
    command = [sys.executable, "-m", "nbgrader", "autograde", broken.ASSIGNMENT]
    done = run(command, cwd=other, capture_output=True, text=True)
    assert done.returncode == 1  # some could not be judged
    for row in rows:
        assert row.says in done.stderr
    for name, theirs in gradebooks.gradebook(other).items():
        who = 0 if name == "students" else 1
        ours = [line for line in gradebooks.gradebook(course)[name] if line[who] in students]
        assert theirs == ours, name
    theirs = gradebooks.autograded(other)
    ours = gradebooks.autograded(course)
    assert theirs == {path: ours[path] for path in ours if path.split("/")[0] in students}
    beside = [path for path in (other / "autograded").rglob("*") if path.name.endswith(".py")]
    assert beside == []  # other files of a submission are not copied to where feedback comes from


def test_a_link_never_leads_nbgrader_to_another_file(tmp_path, graded):
    """A link beside a notebook is copied to no place from which feedback is released."""
    course, _ = graded
    other = broken.make_course(tmp_path / "course", broken.ROWS[:1])
    (other / "gradebook.db").write_bytes((course / "gradebook.db").read_bytes())
    folder = other / "submitted" / broken.student_of(broken.ROWS[0]) / broken.ASSIGNMENT
    (folder / "notes.txt").symlink_to(other / "gradebook.db")
    (folder / ".notes.txt").symlink_to(other / "gradebook.db")
    command = [sys.executable, "-m", "nbgrader", "autograde", broken.ASSIGNMENT, "--force"]
    done = run(command, cwd=other, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    files = [path.name for path in (other / "autograded").rglob("*") if path.is_file()]
    assert files == [broken.FILE]


def test_too_many_files_are_bounded(tmp_path):
    """A submission of thousands of files costs a bounded number of reads, and says so."""
    folder = tmp_path / "ada" / "week1_maths"
    folder.mkdir(parents=True)
    for count in range(600):
        (folder / f"{count:04}.ipynb").write_text("{}")
    submission = receive(tmp_path, "ada", "week1_maths", [broken.LESSON])
    assert len(submission.refused) <= 500
    assert sum("only" in why for why in submission.refused.values()) == 500 - MAX_NOTEBOOKS
    assert any("more than 500 files" in said for said in submission.remarks[""])


def test_a_file_that_is_too_long_is_not_read(tmp_path):
    """A file of a terabyte (with nothing in it) costs no memory."""
    folder = tmp_path / "ada" / "week1_maths"
    folder.mkdir(parents=True)
    with (folder / broken.FILE).open("wb") as file:
        os.truncate(file.fileno(), 1 << 40)
    tracemalloc.start()
    submission = receive(tmp_path, "ada", "week1_maths", [broken.LESSON])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "1099511.6 MB" in submission.refused[broken.NAME]
    assert peak < 1_000_000


def test_the_names_a_cell_defines_are_read_off_its_lines():
    """Definitions, assignments and imports count; what is indented or compared does not."""
    source = "\n".join(
        [
            "def f(x",
            "async def g(): pass",
            "a, b = 1, 2",
            "c: int = 3",
            "d == 4",
            "    e = 5",
            "h[0] = 6",
            "import numpy as np, math",
            "from byhand import check, mine as lent",
        ]
    )
    assert bound_names(source) == {"f", "g", "a", "b", "c", "np", "math", "check", "lent"}


@pytest.mark.parametrize("raw", [b"\x00" * 100, b"\xff\xfe", b'"', b"\xef\xbb\xbf", b"{" * 10**6])
def test_rubbish_gets_one_sentence(raw):
    with pytest.raises(Unreadable) as refused:
        read_cells(raw)
    assert str(refused.value) and "\n" not in str(refused.value)
