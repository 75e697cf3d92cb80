"""Kills the grader at random moments, starts it again, and compares the gradebooks.

`make kill` does so 50 times: the grader alone, the grader with all its workers, or one worker, each
with SIGKILL. What a second run leaves must be what an undisturbed run leaves, to the byte in what
matters: every grade and comment, the hashes and editions beside them, every autograded notebook.
"""

import json
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parent))
import gradebooks

from byhand_course.grading.course import ensure_assignment, load_course
from byhand_course.grading.sample_class import blank, hand_in, partly_right, solved, wrong
from byhand_course.grading.seeds import set_hidden_seed

ROOT = Path(__file__).parents[2]
ASSIGNMENT = "week1_text"
ANSWERS = (solved, wrong, partly_right, blank)
WAYS = ("the grader", "the grader and its workers", "a worker")
GONE_TIMEOUT_S = 20.0
STUDENTS = 40  # so that most of the time is grading, and not the start
PAGE = ROOT / "docs" / "killing.txt"
INTRODUCTION = f"""\
Written by `make kill`: a class of {STUDENTS}, two notebooks each, graded by two workers, killed
after so many seconds, and started again.
"""


@dataclass(frozen=True)
class Killed:
    """One kill, and what came of starting again.

    Attributes:
        way: whom it hit.
        moment_s: after the start.
        settled: how many submissions were in the gradebook when it hit.
        marked: how many the second run marked.
        same: whether the course is as after an undisturbed run.
        left: processes that outlived their grader.
    """

    way: str
    moment_s: float
    settled: int
    marked: int
    same: bool
    left: int

    @property
    def good(self) -> bool:
        """Nothing lost, nothing twice, nobody left behind."""
        return self.same and self.left == 0

    def __str__(self) -> str:
        verdict = "same gradebook" if self.good else "DIFFERS"
        return (
            f"{self.moment_s:6.2f} s  {self.way:27}  {self.settled:2} kept, {self.marked:2} graded "
            f"after it, {self.left} processes left: {verdict}"
        )


def make_course(course: Path, students: int) -> Path:
    """A course with a class handed in, entered and seeded, and nothing graded."""
    course.mkdir(exist_ok=True)
    shutil.copyfile(ROOT / "nbgrader_config.py", course / "nbgrader_config.py")
    for folder in ("source", "release"):
        shutil.copytree(ROOT / folder / ASSIGNMENT, course / folder / ASSIGNMENT)
    for count in range(students):
        hand_in(course, ASSIGNMENT, f"student{count:02}", ANSWERS[count % len(ANSWERS)])
    ensure_assignment(load_course(course), ASSIGNMENT)
    set_hidden_seed(f"sqlite:///{course}/gradebook.db", ASSIGNMENT, 20_170_612)
    return course


def start(course: Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "byhand_course.cli", "grade", ASSIGNMENT]
    return subprocess.Popen(
        [*command, "--workers", "2", "--json"],
        cwd=course,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def contents(course: Path) -> tuple:
    return gradebooks.gradebook(course, ours=True), gradebooks.autograded(course)


def settled(course: Path) -> int:
    """How many submissions are in the gradebook."""
    with closing(sqlite3.connect(course / "gradebook.db")) as book, suppress(sqlite3.Error):
        return book.execute("SELECT count(DISTINCT student) FROM byhand_graded").fetchone()[0]
    return 0


def kill(course: Path, way: str, moment_s: float, undisturbed: tuple) -> Killed:
    """Start grading, kill at a moment, start again, and compare."""
    grader = start(course)
    time.sleep(moment_s)
    family = []
    with suppress(psutil.NoSuchProcess):
        family = psutil.Process(grader.pid).children(recursive=True)
    workers = [child for child in family if _parent(child) == grader.pid]
    victims = {
        "the grader": [],
        "the grader and its workers": workers,
        "a worker": workers[:1],
    }[way]
    if way != "a worker":
        grader.send_signal(signal.SIGKILL)
    for victim in victims:
        with suppress(psutil.NoSuchProcess):
            victim.kill()
    grader.communicate()
    left = _still_alive(family)
    kept = settled(course)
    again = start(course)
    told, complaints = again.communicate()
    assert again.returncode == 0, complaints
    marked = sum(found["marked"] > 0 for found in json.loads(told))
    same = contents(course) == undisturbed
    return Killed(way, moment_s, kept, marked, same, left)


def _parent(process: psutil.Process) -> int:
    with suppress(psutil.NoSuchProcess):
        return process.ppid()
    return 0


def _still_alive(family: list[psutil.Process]) -> int:
    """How many processes outlive their grader for longer than it takes to notice its death."""
    _, alive = psutil.wait_procs(family, timeout=GONE_TIMEOUT_S)
    return len(alive)


def kill_often(folder: Path, times: int, students: int, rng: random.Random) -> Iterator[Killed]:
    """Kill at random moments of a run, in turn in every way."""
    fresh = make_course(folder / "fresh", students)
    calm = folder / "calm"
    shutil.copytree(fresh, calm)
    began = time.monotonic()
    grader = start(calm)
    _, complaints = grader.communicate()
    assert grader.returncode == 0, complaints
    whole_s = time.monotonic() - began
    undisturbed = contents(calm)
    for count in range(times):
        course = folder / f"kill{count}"
        shutil.copytree(fresh, course)
        moment_s = rng.uniform(0, whole_s)
        found = kill(course, WAYS[count % len(WAYS)], moment_s, undisturbed)
        assert found.settled + found.marked == students, "a submission was graded twice, or never"
        yield found
        shutil.rmtree(course)


def main() -> None:
    """Kill as often as the command line says; keep what came of it if all was well."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    lines, good = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for found in kill_often(Path(folder), times, students=STUDENTS, rng=random.Random()):
            lines.append(str(found))
            print(found, flush=True)
            good += found.good
    lines.append(f"{good} of {times} kills left the gradebook of an undisturbed run")
    print(lines[-1])
    if good == times:
        PAGE.write_text(f"{INTRODUCTION}\n" + "\n".join(lines) + "\n", encoding="utf-8")
        print(f"Written: {PAGE.relative_to(ROOT)}")
    sys.exit(good < times)


if __name__ == "__main__":
    main()
