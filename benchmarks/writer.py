"""What one writer can take: a class of any size, whose notebooks are marked as soon as asked.

    python benchmarks/writer.py [--submissions 1000] [--db-url URL] [--json]

Everything but the marking is done as in grading: each submission is read and sorted, its lines
entered in nbgrader's gradebook in one transaction, its notebooks written. So this is the most that
any number of workers can be fed and relieved of. It says the time of a submission among the first
and among the last, which tells whether a large class is slower, and how much memory the grader had.
"""

import argparse
import json
import resource
import shutil
import tempfile
import time
from concurrent.futures import Executor, Future
from pathlib import Path

from byhand_course.grading.book import Book
from byhand_course.grading.course import ensure_assignment, load_course
from byhand_course.grading.grade import grade
from byhand_course.grading.marking import Job, Marked, mark
from byhand_course.grading.sample_class import hand_in, solved

ROOT = Path(__file__).parents[1]
ASSIGNMENT = "week1_text"
STRETCH = 100  # submissions that are timed together


class AtOnce(Executor):
    """Marks the first notebook of each kind, and gives the same answer for all that follow."""

    def __init__(self):
        self._known = {}

    def submit(self, work, job):
        future = Future()
        if isinstance(job, Job):
            name = job.template.notebook
            found = self._known.get(name) or self._known.setdefault(name, mark(job))
            same = {**vars(found), "student": job.student}
            future.set_result(Marked(**same))
        return future


def make_course(folder, submissions, db_url):
    """A course with the same solved submission handed in many times."""
    config = (ROOT / "nbgrader_config.py").read_text("utf-8")
    config += f"\nc.CourseDirectory.db_url = {db_url!r}\n" if db_url else ""
    (folder / "nbgrader_config.py").write_text(config, "utf-8")
    for step in ("source", "release"):
        shutil.copytree(ROOT / step / ASSIGNMENT, folder / step / ASSIGNMENT)
    hand_in(folder, ASSIGNMENT, "student00000", solved)
    first = folder / "submitted" / "student00000"
    for count in range(1, submissions):
        shutil.copytree(first, folder / "submitted" / f"student{count:05}")
    course = load_course(folder)
    ensure_assignment(course, ASSIGNMENT)
    return course, [f"student{count:05}" for count in range(submissions)]


def stretches_ms(course, students):
    """Milliseconds a submission, wall and processor, for each stretch; the first one warms up."""
    executor, found = AtOnce(), []
    steps = grade(course, ASSIGNMENT, students, lambda: executor, room=4)
    began, worked = time.perf_counter(), time.process_time()
    for count, _ in enumerate(steps, 1):
        if count % STRETCH == 0:
            now, done = time.perf_counter(), time.process_time()
            found.append(((now - began) / STRETCH * 1000, (done - worked) / STRETCH * 1000))
            began, worked = now, done
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--submissions", type=int, default=1000)
    parser.add_argument(
        "--db-url", default="", help="a gradebook elsewhere, as SQLAlchemy writes it"
    )
    parser.add_argument("--json", action="store_true", help="print JSON for a script to read")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        course, students = make_course(Path(name), given.submissions, given.db_url)
        found = stretches_ms(course, students)
        with Book(course.db_url, ASSIGNMENT) as book:
            entered = sum(1 for _ in book.results())
    result = {
        "submissions": entered,
        "first_ms": found[1][0],
        "last_ms": found[-1][0],
        "first_processor_ms": found[1][1],
        "last_processor_ms": found[-1][1],
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    if given.json:
        print(json.dumps(result, indent=1))
        return
    print(f"{entered} submissions of 2 notebooks, each written in one transaction")
    for which in ("first", "last"):
        wall, work = result[f"{which}_ms"], result[f"{which}_processor_ms"]
        print(f"{which:5} {STRETCH}: {wall:6.1f} ms each, {work:6.1f} ms of the processor")
    print(f"the grader's memory at its most: {result['peak_memory_mb']:.0f} MB")


if __name__ == "__main__":
    main()
