"""What a dask cluster may do to a grader: vanish, be empty, be of another edition, be elsewhere.

`make far` runs this beside dask_cluster.py.
"""

import os
import pickle
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "grading"))
import gradebooks
from killing import ASSIGNMENT, make_course

from byhand_course.errors import Refused
from byhand_course.grading import cluster as cluster_module
from byhand_course.grading.cluster import Cluster, cluster
from byhand_course.grading.course import load_course
from byhand_course.grading.fleet import local_pool
from byhand_course.grading.grade import grade, submitted

STUDENTS = 4
START_TIMEOUT_S = 120.0


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory):
    """A class of four with two notebooks each; nothing is graded."""
    return make_course(tmp_path_factory.mktemp("class"), STUDENTS)


@pytest.fixture(scope="module")
def expected(handed_in, tmp_path_factory):
    """What the local pool makes of the class."""
    course = tmp_path_factory.mktemp("local") / "course"
    shutil.copytree(handed_in, course)
    known = load_course(course)
    list(steps(course, local_pool(2, known.limits, known.sandbox)))
    return state(course)


@pytest.fixture
def course(handed_in, tmp_path):
    shutil.copytree(handed_in, tmp_path / "course")
    return tmp_path / "course"


@pytest.fixture
def dask(tmp_path):
    """A scheduler with two workers: its address, its process, and theirs."""
    with running(tmp_path, "scheduler", "--host", "127.0.0.1", "--port", "0") as scheduler:
        address = told(tmp_path / "scheduler.log", "Scheduler at:")
        with worker(tmp_path, address, "one") as one, worker(tmp_path, address, "two") as two:
            for name in ("one", "two"):
                told(tmp_path / f"{name}.log", "Registered to:")
            yield address, scheduler, [one, two]


def worker(folder, address, name):
    more = "--nthreads", "1", "--no-nanny", "--host", "127.0.0.1"
    return running(folder, "worker", address, *more, "--name", name, log=name)


@contextmanager
def running(folder, program, *arguments, log=""):
    """One of dask's programs, ended at the end."""
    command = [
        sys.executable,
        "-m",
        f"distributed.cli.dask_{program}",
        *arguments,
        "--no-dashboard",
    ]
    with (folder / f"{log or program}.log").open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, cwd=folder)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def told(log, words):
    """The rest of the first line of a log that has some words, once it is there."""
    for _ in range(int(START_TIMEOUT_S / 0.1)):
        for line in log.read_text().splitlines():
            if words in line:
                return line.partition(words)[2].strip()
        time.sleep(0.1)
    raise AssertionError(log.read_text())


def steps(folder, start, room=4):
    course = load_course(folder)
    return grade(course, ASSIGNMENT, submitted(course, ASSIGNMENT), start, room)


def state(course):
    return gradebooks.gradebook(course, ours=True), gradebooks.autograded(course)


def test_submissions_travel_as_bytes(course, dask, monkeypatch):
    """A job holds the file itself, and nothing of where it lies."""
    sent = []
    submit = Cluster.submit

    def kept(self, fn, job):
        sent.append(job)
        return submit(self, fn, job)

    monkeypatch.setattr(Cluster, "submit", kept)
    list(steps(course, *cluster(dask[0])))
    files = [path.read_bytes() for path in (course / "submitted").rglob("*.ipynb")]
    assert sorted(job.raw for job in sent) == sorted(files)
    assert not any(os.fsencode(course) in pickle.dumps(job) for job in sent)


def test_a_scheduler_that_goes_away_loses_nothing(course, expected, dask, monkeypatch):
    """One sentence; what was graded is kept, and another run does the rest."""
    monkeypatch.setattr(cluster_module, "CONNECT_TIMEOUT_S", 2.0)
    address, scheduler, _ = dask
    found = []
    with pytest.raises(Refused, match="No dask scheduler answers at"):
        for graded in steps(course, cluster(address)[0], room=2):
            found.append(graded)
            scheduler.kill()
    assert 0 < len(found) < STUDENTS
    known = load_course(course)
    again = list(steps(course, local_pool(2, known.limits, known.sandbox)))
    assert sum(graded.marked == 0 for graded in again) == len(found)
    assert state(course) == expected


def test_a_worker_with_another_edition_of_the_course_is_refused(dask, monkeypatch):
    monkeypatch.setattr(cluster_module, "engine_edition", other_edition)
    with pytest.raises(Refused, match="has another edition of the course than this grader"):
        Cluster(dask[0])


def other_edition():
    """On a worker, where this file is not found, the worker's own; here, another."""
    return f"of process {os.getpid()}"


def test_a_cluster_without_workers_is_refused(tmp_path):
    with running(tmp_path, "scheduler", "--host", "127.0.0.1", "--port", "0"):
        address = told(tmp_path / "scheduler.log", "Scheduler at:")
        with pytest.raises(Refused, match="has no workers"):
            Cluster(address)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://here", ""])
def test_a_scheduler_that_is_not_there_gets_one_sentence(address, monkeypatch):
    monkeypatch.setattr(cluster_module, "CONNECT_TIMEOUT_S", 0.5)
    with pytest.raises(Refused, match="No dask scheduler answers at"):
        cluster(address)
