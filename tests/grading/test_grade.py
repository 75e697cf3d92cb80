"""The road of our own: nothing twice, nothing lost, nothing of a person's overwritten."""

import dataclasses
import gc
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import tracemalloc
from concurrent.futures import Executor, Future
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy

sys.path.insert(0, str(Path(__file__).parent))
import gradebooks

from byhand_course.errors import Refused
from byhand_course.grading import database, edition
from byhand_course.grading import grade as grade_module
from byhand_course.grading.course import ensure_assignment, load_course
from byhand_course.grading.fleet import Fleet, local_pool
from byhand_course.grading.grade import grade, submitted
from byhand_course.grading.lock import LOCK, only_grader
from byhand_course.grading.marking import Job, Marked
from byhand_course.grading.sample_class import blank, hand_in, partly_right, solved, wrong

ROOT = Path(__file__).parents[2]
ASSIGNMENT = "week1_text"
NOTEBOOKS = ["lesson04_tokens_and_embeddings", "lesson05_positions"]
CLASS = {"blank": blank, "half": partly_right, "solved": solved, "wrong": wrong}


@pytest.fixture(scope="module")
def graded_course(tmp_path_factory):
    """A class of four, graded once; copied for each test."""
    course = tmp_path_factory.mktemp("course")
    shutil.copyfile(ROOT / "nbgrader_config.py", course / "nbgrader_config.py")
    for folder in ("source", "release"):
        shutil.copytree(ROOT / folder / ASSIGNMENT, course / folder / ASSIGNMENT)
    for student, answer in CLASS.items():
        hand_in(course, ASSIGNMENT, student, answer)
    found = run(course)
    assert [result.marked for result in found] == [2, 2, 2, 2]
    return course


@pytest.fixture
def course(graded_course, tmp_path):
    shutil.copytree(graded_course, tmp_path / "course")
    return tmp_path / "course"


def run(folder, students=None, again=False, start=None):
    """Grade a course, and give back what came of each submission, by name."""
    course = load_course(folder)
    ensure_assignment(course, ASSIGNMENT)
    students = students or submitted(course, ASSIGNMENT)
    start = start or local_pool(2, course.limits)
    found = grade(course, ASSIGNMENT, students, start, room=4, again=again)
    return sorted(found, key=lambda result: result.student)


def marked(found):
    return {result.student: result.marked for result in found if result.marked}


def change(folder, student, notebook=NOTEBOOKS[0]):
    path = folder / "submitted" / student / ASSIGNMENT / f"{notebook}.ipynb"
    path.write_text(path.read_text("utf-8").replace("import numpy", "import  numpy"), "utf-8")


def with_book(folder, *statements):
    with closing(sqlite3.connect(folder / "gradebook.db")) as book:
        for statement in statements:
            book.execute(statement)
        book.commit()


# Nothing twice


def test_what_has_not_changed_is_not_graded_again(course):
    before = gradebooks.gradebook(course)
    assert marked(run(course)) == {}
    change(course, "half")
    assert marked(run(course)) == {"half": 1}
    assert gradebooks.gradebook(course) == before
    assert marked(run(course)) == {}


def test_all_is_graded_again_when_asked_to(course):
    before = gradebooks.gradebook(course, ours=True), gradebooks.autograded(course)
    assert marked(run(course, again=True)) == dict.fromkeys(CLASS, 2)
    assert (gradebooks.gradebook(course, ours=True), gradebooks.autograded(course)) == before


def test_a_lost_autograded_notebook_is_made_again(course):
    before = gradebooks.autograded(course)
    (course / "autograded" / "wrong" / ASSIGNMENT / f"{NOTEBOOKS[1]}.ipynb").unlink()
    assert marked(run(course)) == {"wrong": 1}
    assert gradebooks.autograded(course) == before


def test_a_changed_exercise_touches_only_its_lesson(course, monkeypatch):
    """Another tolerance in lesson 5 grades lesson 5 again, for everybody, and nothing else."""
    stock = edition.questions

    def questions(task, lesson, seed):
        found = stock(task, lesson, seed)
        return dataclasses.replace(found, tolerance=1e-6) if lesson == 5 else found

    monkeypatch.setattr(edition, "questions", questions)
    edition._edition.cache_clear()
    assert marked(run(course)) == dict.fromkeys(CLASS, 1)
    assert marked(run(course)) == {}
    edition._edition.cache_clear()


def test_another_seed_grades_everything_again(course):
    with_book(course, "UPDATE byhand_hidden_seed SET seed = '5'")
    assert marked(run(course)) == dict.fromkeys(CLASS, 2)


def test_a_notebook_that_was_taken_back_earns_nothing(course):
    """nbgrader's rule; said, and entered once."""
    (course / "submitted" / "solved" / ASSIGNMENT / f"{NOTEBOOKS[1]}.ipynb").unlink()
    found = {result.student: result for result in run(course)}
    assert found["solved"].notebooks[NOTEBOOKS[1]] == 0
    assert f"{NOTEBOOKS[1]}: was not handed in, and earns nothing" in found["solved"].remarks
    assert not (course / "autograded/solved" / ASSIGNMENT / f"{NOTEBOOKS[1]}.ipynb").exists()
    assert found["solved"].notebooks[NOTEBOOKS[0]] > 0


# Nothing of a person's


def test_scores_and_comments_by_hand_are_kept(course):
    """Regrading renews automatic scores only, and marks those cells for another look."""
    with_book(
        course,
        "UPDATE grade SET manual_score = 0.5, extra_credit = 0.25",
        "UPDATE comment SET manual_comment = 'see me'",
        "UPDATE submitted_notebook SET flagged = 1",
    )
    before = gradebooks.gradebook(course)
    run(course, again=True)
    after = gradebooks.gradebook(course)
    assert [line[:7] for line in after["grades"]] == [line[:7] for line in before["grades"]]
    assert {line[7] for line in after["grades"]} == {1}
    assert after["comments"] == before["comments"]
    assert after["submissions"] == before["submissions"]


def test_late_submissions_cost_what_the_plugin_says(course):
    """The same penalty as nbgrader's own road, from nbgrader's own plugin."""
    with (course / "nbgrader_config.py").open("a") as config:
        config.write("\nc.LateSubmissionPlugin.penalty_method = 'zero'\n")
    with_book(course, "UPDATE assignment SET duedate = '2026-01-01 00:00:00.000000'")
    for student, moment in (("solved", "2026-01-02 10:00:00 UTC"), ("half", "2025-12-31 10:00:00")):
        (course / "submitted" / student / ASSIGNMENT / "timestamp.txt").write_text(moment)
    run(course, again=True)
    ours = gradebooks.gradebook(course)["submissions"]
    late = {line[1]: line[6] for line in ours if line[4] == NOTEBOOKS[0]}
    assert late["solved"] > 0 and late["half"] is None and late["wrong"] is None
    by_nbgrader(course)
    assert gradebooks.gradebook(course)["submissions"] == ours


def by_nbgrader(course):
    command = [sys.executable, "-m", "nbgrader", "autograde", ASSIGNMENT, "--force"]
    done = subprocess.run(command, cwd=course, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# Nothing lost


def test_one_that_fails_does_not_stop_the_rest(course):
    """A broken notebook is listed; its neighbour in the same submission is graded."""
    path = course / "submitted" / "half" / ASSIGNMENT / f"{NOTEBOOKS[0]}.ipynb"
    path.write_text("{")
    change(course, "half", NOTEBOOKS[1])
    change(course, "wrong")
    before = gradebooks.gradebook(course)["grades"]
    found = {result.student: result for result in run(course)}
    assert f"{NOTEBOOKS[0]}: it breaks off" in found["half"].failure
    assert found["half"].marked == 2 and found["wrong"].marked == 1
    assert gradebooks.gradebook(course)["grades"] == before  # what it had is kept, not set to 0


def test_a_worker_that_dies_takes_nothing_with_it(course):
    """Workers are killed in mid-run; every submission is graded all the same."""
    before = gradebooks.gradebook(course)
    opened = load_course(course)
    students = submitted(opened, ASSIGNMENT)
    pools = []

    def start():
        pools.append(local_pool(2, opened.limits)())
        return pools[-1]

    found = []
    for result in grade(opened, ASSIGNMENT, students, start, room=4, again=True):
        found.append(result)
        if len(found) == 1:
            for pid in list(pools[0]._processes):
                os.kill(pid, signal.SIGKILL)
    assert len(pools) == 2
    assert sorted(result.student for result in found) == sorted(CLASS)
    assert [result.failure for result in found] == [None] * 4
    assert gradebooks.gradebook(course) == before


def _kill_worker(job):
    """Stands for the marking of a notebook that ends its worker; its neighbours are marked."""
    if job.student == "bomb":
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.05)
    return Marked(job.student, job.template.notebook)


def test_a_notebook_that_kills_its_worker_is_given_up_alone(graded_course, monkeypatch):
    """It is tried by itself before it is listed; those beside it are not blamed."""
    monkeypatch.setattr("byhand_course.grading.fleet.mark", _kill_worker)
    monkeypatch.setattr("byhand_course.grading.fleet._begin_work", lambda *_: None)
    from byhand_course.grading.restore import read_template

    template = read_template(graded_course / "release" / ASSIGNMENT / f"{NOTEBOOKS[0]}.ipynb")
    found = {}
    with Fleet(local_pool(2, load_course(graded_course).limits), room=4) as fleet:
        for student in ("ada", "bomb", "carl", "dora", "emil"):
            for result in fleet.put(Job(student, template, b"", 0)):
                found[result.student] = result.failure
        for result in fleet.rest():
            found[result.student] = result.failure
    assert found.pop("bomb") == "it ended the grader's own process, twice"
    assert found == dict.fromkeys(("ada", "carl", "dora", "emil"))


class AtOnce(Executor):
    """Marks nothing: gives a ready answer for every job, as fast as can be."""

    def __init__(self, course):
        self._texts = gradebooks.autograded(course)
        self._scores = {}
        for _, _, notebook, cell, score, *_ in gradebooks.gradebook(course)["grades"]:
            self._scores.setdefault(notebook, {})[cell] = score

    def submit(self, work, job):
        future = Future()
        if isinstance(job, Job):
            notebook = job.template.notebook
            text = self._texts[f"solved/{ASSIGNMENT}/{notebook}.ipynb"]
            future.set_result(Marked(job.student, notebook, text, self._scores[notebook]))
        return future


def test_memory_does_not_grow_with_the_class(course):
    """After 300 submissions no more is held than after 100: each is let go when it is written."""
    students = [f"twin{count:03}" for count in range(300)]
    for student in students:
        shutil.copytree(course / "submitted" / "solved", course / "submitted" / student)
    opened, held = load_course(course), {}
    tracemalloc.start()
    steps = grade(opened, ASSIGNMENT, students, lambda: AtOnce(course), room=4, again=True)
    for count, _ in enumerate(steps, 1):
        if count in (100, 300):
            gc.collect()
            held[count] = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held[300] < held[100] + 200_000


# Clear sentences, nothing half-written


def refusal(folder, students=None):
    """What grading says and stops with; the notebooks are marked already."""
    ready = AtOnce(folder)
    with pytest.raises(Refused) as refused:
        run(folder, students, again=True, start=lambda: ready)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_a_locked_gradebook_gets_one_sentence(course, monkeypatch):
    monkeypatch.setattr(database, "LOCK_TIMEOUT_S", 0.2)
    before = gradebooks.gradebook(course, ours=True), gradebooks.autograded(course)
    with closing(sqlite3.connect(course / "gradebook.db", isolation_level=None)) as book:
        book.execute("BEGIN IMMEDIATE")
        assert "is locked by another program" in refusal(course)
    assert (gradebooks.gradebook(course, ours=True), gradebooks.autograded(course)) == before


def test_a_full_disk_gets_one_sentence(course, monkeypatch):
    """Whether the notebooks or the gradebook do not fit: nothing of the submission is entered."""
    before = gradebooks.gradebook(course, ours=True), gradebooks.autograded(course)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "chmod", full_disk)  # when a file is half-written
        assert "No space left on device" in refusal(course, ["half"])
    assert not list(course.rglob(".draft*"))
    assert (gradebooks.gradebook(course, ours=True), gradebooks.autograded(course)) == before


def full_disk(*_, **__):
    raise OSError(28, "No space left on device")


def test_a_gradebook_on_a_full_disk_is_as_it_was(course):
    """SQLite itself runs out of pages in the middle of a submission."""
    for count in range(50):
        shutil.copytree(course / "submitted" / "half", course / "submitted" / f"y{count}")
    with closing(sqlite3.connect(course / "gradebook.db")) as book:
        pages = book.execute("PRAGMA page_count").fetchone()[0]
    before = gradebooks.gradebook(course, ours=True)

    def few_pages(connection, _):
        connection.execute(f"PRAGMA max_page_count = {pages}")

    sqlalchemy.event.listen(sqlalchemy.engine.Engine, "connect", few_pages)
    try:
        says = refusal(course, [f"y{count}" for count in range(50)])
    finally:
        sqlalchemy.event.remove(sqlalchemy.engine.Engine, "connect", few_pages)
    assert "is full" in says and "What was graded before is kept" in says
    after = gradebooks.gradebook(course, ours=True)
    entered = {line[1] for line in after["grades"]}
    assert {line[1] for line in after["state"]} == entered  # each with all its lines, or with none
    assert [line for line in after["grades"] if line[1] in CLASS] == before["grades"]


def test_a_folder_that_cannot_be_written_gets_one_sentence(course):
    before = gradebooks.gradebook(course, ours=True)
    folder = course / "autograded" / "new"
    folder.write_text("in the way")
    shutil.copytree(course / "submitted" / "half", course / "submitted" / "new")
    assert f"{folder}/{ASSIGNMENT} cannot be written" in refusal(course, ["new"])
    assert gradebooks.gradebook(course, ours=True) == before


def test_a_damaged_gradebook_gets_one_sentence(course):
    (course / "gradebook.db").write_bytes(b"nonsense" * 1000)
    with pytest.raises(Refused) as refused:
        grade_module.Book(load_course(course).db_url, ASSIGNMENT)
    assert "is damaged" in str(refused.value)


def test_a_release_that_the_gradebook_does_not_know_is_refused(course):
    path = course / "release" / ASSIGNMENT / f"{NOTEBOOKS[0]}.ipynb"
    text = path.read_text("utf-8")
    notebook = json.loads(text)
    locked = next(c for c in notebook["cells"] if "nbgrader" in c["metadata"])
    locked["metadata"]["nbgrader"]["checksum"] = "0" * 32
    path.write_text(json.dumps(notebook))
    assert "nbgrader generate_assignment" in refusal(course)


# Two graders


def test_a_second_grader_waits_and_says_so(tmp_path):
    """The lock is free as soon as its owner ends, however it ends."""
    code = (
        "import sys, time; from pathlib import Path\n"
        "from byhand_course.grading.lock import only_grader\n"
        f"with only_grader(Path({str(tmp_path)!r}), print):\n"
        "    print('in', flush=True); time.sleep(60)\n"
    )
    other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "in\n"
    said = []

    def say(sentence):
        said.append(sentence)
        other.kill()

    with only_grader(tmp_path, say):
        pass
    other.wait()
    other.stdout.close()
    assert said == [
        f"Another grader works in this course (process {other.pid}): waiting until it is done."
    ]
    assert (tmp_path / LOCK).exists()
