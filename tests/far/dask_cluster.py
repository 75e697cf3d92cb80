"""Grading on a dask cluster of two local workers; `make far` runs this, `make test` does not.

The file's name keeps it out of the suite, whose environment has no dask, and it needs no skip.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "grading"))
import gradebooks
import killing

STUDENTS = 8


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and two workers on this machine, each in an empty folder of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    dask = [sys.executable, "-m", "distributed.cli"]
    scheduler = [f"{dask[-1]}.dask_scheduler", "--host", "127.0.0.1", "--port", str(port)]
    worker = [f"{dask[-1]}.dask_worker", address, "--nthreads", "1", "--no-dashboard"]
    began = []
    for count, words in enumerate((scheduler + ["--no-dashboard"], worker, worker)):
        folder = tmp_path / f"machine{count}"
        folder.mkdir()
        log = (folder / "log.txt").open("w")
        command = [sys.executable, "-m", *words]
        began.append(subprocess.Popen(command, cwd=folder, stdout=log, stderr=log))
    yield address, began[1:]
    for process in began:
        with_children = [process.pid, *(c.pid for c in psutil.Process(process.pid).children(True))]
        for pid in with_children:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        process.wait()


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    return killing.make_course(tmp_path_factory.mktemp("fresh"), STUDENTS)


@pytest.fixture(scope="module")
def at_home(fresh, tmp_path_factory):
    """What the same class gets on this machine alone."""
    course = tmp_path_factory.mktemp("home") / "course"
    shutil.copytree(fresh, course)
    start(course, "--workers", "2").communicate()
    return killing.contents(course)


def start(course, *words):
    command = [sys.executable, "-m", "byhand_course.cli", "grade", killing.ASSIGNMENT, "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*command, *words], cwd=course, **pipes)


def workers_ready(address, count):
    from distributed import Client

    with Client(address, timeout=60) as client:
        client.wait_for_workers(count, timeout=60)


def test_a_cluster_gives_the_same_gradebook(cluster, fresh, at_home, tmp_path):
    """Its workers see no folder of the course: submissions travel as bytes."""
    address, _ = cluster
    workers_ready(address, 2)
    course = tmp_path / "course"
    shutil.copytree(fresh, course)
    grader = start(course, "--scheduler", address)
    _, complaints = grader.communicate(timeout=300)
    assert grader.returncode == 0, complaints
    assert killing.contents(course) == at_home


def test_a_worker_killed_in_mid_run_loses_nothing(cluster, fresh, at_home, tmp_path):
    """The job that it had goes to the other worker."""
    address, workers = cluster
    workers_ready(address, 2)
    course = tmp_path / "course"
    shutil.copytree(fresh, course)
    grader = start(course, "--scheduler", address)
    grader.stdout.readline()
    grader.stdout.readline()  # the first submission is done
    for child in [*psutil.Process(workers[0].pid).children(True), psutil.Process(workers[0].pid)]:
        child.kill()
    _, complaints = grader.communicate(timeout=300)
    assert grader.returncode == 0, complaints
    assert killing.contents(course) == at_home
    assert len({line[1] for line in gradebooks.gradebook(course)["grades"]}) == STUDENTS


def test_no_scheduler_gets_one_sentence(fresh):
    began = time.monotonic()
    grader = start(fresh, "--scheduler", "tcp://127.0.0.1:9")
    _, complaints = grader.communicate(timeout=120)
    assert grader.returncode == 1 and "No dask scheduler answers" in complaints
    assert "Traceback" not in complaints and time.monotonic() - began < 100
