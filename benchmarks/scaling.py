"""What a large class costs: time and memory for each submission, and what the one writer can take.

    python benchmarks/scaling.py [--sizes 100 1000] [--lesson 2] [--json]

Each class hands in one notebook of the course in four versions: solved, wrong, partly right and
blank. `byhand-course grade` marks it with the sandbox on; time is counted from the first result,
processor time without that of a class of two, so that the start is in neither. Processor time is
what a busy machine leaves alone. Then the writer alone: results that were made before stand in for
marking, and the grader reads, compares and writes as ever. Last the arithmetic, to a million.
"""

import argparse
import json
import multiprocessing
import os
import pickle
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import psutil
from classes import ANSWERS, SEED, assignment_in, make_class, notebooks_of

from byhand_course.grading.book import Book
from byhand_course.grading.course import load_course
from byhand_course.grading.grade import grade, submitted, templates
from byhand_course.grading.marking import Job, Marked, mark

MILLION = 1_000_000
STRETCHES = 5  # of a run, the last of which is not looked at: workers are ending in it
FEW = 2  # submissions of the class that tells what the start costs


@dataclass(frozen=True)
class Run:
    """One run of the grader over a class.

    Attributes:
        submissions: how many.
        first_s, wall_s: from the command to the first result, and to its end.
        ms: between results.
        cpu_s: of all processes together.
        first_cpu_ms, last_cpu_ms: the same for a submission, among the first and the last ones.
        peak_mb: the most memory that the grader's own process held.
        load: the machine's load average over the last minute, at the end.
    """

    submissions: int
    first_s: float
    wall_s: float
    ms: float
    cpu_s: float
    first_cpu_ms: float
    last_cpu_ms: float
    peak_mb: float
    load: float


@dataclass(frozen=True)
class Writing:
    """What the writer did with results that were made before.

    Attributes:
        submissions: how many.
        per_s: how many a second.
        cpu_ms: its processor time for each; of the first and the last tenth of them, too.
        peak_mb: the most memory it held.
        gradebook_bytes, notebook_bytes: for each, in the gradebook and below autograded/.
        job_bytes, marked_bytes: what goes to a worker for each, and what comes back.
        load: the machine's load average over the last minute, at the end.
    """

    submissions: int
    per_s: float
    cpu_ms: float
    first_cpu_ms: float
    last_cpu_ms: float
    peak_mb: float
    gradebook_bytes: float
    notebook_bytes: float
    job_bytes: int
    marked_bytes: int
    load: float


def graded(course: Path, workers: int) -> Run:
    """Run the command over a course as a person does, and measure it from outside."""
    command = [sys.executable, "-m", "byhand_course.cli", "grade", assignment_in(course), "--json"]
    command += ["--workers", str(workers), "--root", str(course)]
    stretch = max(1, len(list((course / "submitted").iterdir())) // STRETCHES)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began, moments = time.perf_counter(), []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        peak, clock = Peak(process.pid), []
        for line in process.stdout:
            if b'"student"' in line:
                moments.append(time.perf_counter() - began)
                if len(moments) % stretch == 0:
                    clock.append(tree_cpu_s(process.pid))
        process.wait()
    wall = time.perf_counter() - began
    if process.returncode != 0:
        sys.exit(f"The grader ended with status {process.returncode}: {' '.join(command)}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    ms = (moments[-1] - moments[0]) / (len(moments) - 1) * 1000
    load = os.getloadavg()[0]
    each = [(clock[i + 1] - clock[i]) / stretch * 1000 for i in (0, max(0, len(clock) - 3))]
    return Run(len(moments), moments[0], wall, ms, cpu, *each, peak.most_mb(), load)


def tree_cpu_s(pid: int) -> float:
    """Processor seconds of a process and of all that it started."""
    found = 0.0
    parent = psutil.Process(pid)
    for process in (parent, *parent.children(recursive=True)):
        with suppress(psutil.Error):  # it has ended since, and its parent counts it
            times = process.cpu_times()
            found += times.user + times.system + times.children_user + times.children_system
    return found


class Peak:
    """Watches the most memory that a process has held, until it ends."""

    def __init__(self, pid: int) -> None:
        self._pid, self._most_kb = pid, 0
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def most_mb(self) -> float:
        self._thread.join()
        return self._most_kb / 1024

    def _watch(self) -> None:
        with suppress(OSError, ProcessLookupError):
            while found := most_kb(self._pid):
                self._most_kb = found
                time.sleep(0.1)


def most_kb(pid: int | str = "self") -> int:
    """The most memory that a process has held so far; 0 if it has ended."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return 0


class ReadyMade(Executor):
    """Answers each job at once, with what marking the same file came to before."""

    def __init__(self, made: dict[bytes, Marked]) -> None:
        self._made = made

    def submit(self, work, job):
        future: Future = Future()
        future.set_result(replace(self._made[job.raw], student=job.student))
        return future


def written(course: Path, students: list[str] | None = None) -> Writing:
    """Let the writer alone take in a whole class. In a process of its own, to see its memory."""
    known, assignment = load_course(course), assignment_in(course)
    students = students or submitted(known, assignment)
    jobs = sample_jobs(known, students)
    made = {job.raw: mark(job) for job in jobs}
    if failures := [marked.failure for marked in made.values() if marked.failure]:
        sys.exit(failures[0])
    size = book_bytes(course)
    began, clock = time.perf_counter(), [time.process_time()]
    for _ in grade(known, assignment, students, lambda: ReadyMade(made), room=1):
        clock.append(time.process_time())
    took, tenth = time.perf_counter() - began, max(1, len(students) // 10)
    files = notebooks_of(course, "autograded", students[:100])
    return Writing(
        submissions=len(students),
        per_s=len(students) / took,
        cpu_ms=(clock[-1] - clock[0]) / len(students) * 1000,
        first_cpu_ms=(clock[tenth] - clock[1]) / (tenth - 1) * 1000,
        last_cpu_ms=(clock[-1] - clock[-1 - tenth]) / tenth * 1000,
        peak_mb=most_kb() / 1024,
        gradebook_bytes=(book_bytes(course) - size) / len(students),
        notebook_bytes=sum(path.stat().st_size for path in files) / len(files),
        job_bytes=max(len(pickle.dumps(job)) for job in jobs),
        marked_bytes=max(len(pickle.dumps(marked)) for marked in made.values()),
        load=os.getloadavg()[0],
    )


def sample_jobs(course, students: list[str]) -> list[Job]:
    """One job for each version of the notebook, as the grader makes them."""
    assignment = assignment_in(course.root)
    with Book(course.db_url, assignment) as book:
        (template,) = templates(course, assignment, book).values()
    files = notebooks_of(course.root, "submitted", students[: len(ANSWERS)])
    return [Job("", template, path.read_bytes(), SEED, course.limits) for path in files]


def book_bytes(course: Path) -> int:
    """The size of the gradebook, if it is a file."""
    book = course / "gradebook.db"
    return book.stat().st_size if book.exists() else 0


def apart(function, *arguments):
    """Call a function in a fresh process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def measure(sizes: list[int], lesson: int, workers: int, repeats: int, writing: int) -> dict:
    """All figures, as one dict for a script to read."""
    runs: list[Run] = []
    with tempfile.TemporaryDirectory(prefix="scaling-") as folder:
        for size in [FEW] * repeats + [s for s in sizes for _ in range(repeats if s < 500 else 1)]:
            course = make_class(Path(folder) / f"class{len(runs)}", size, lesson)
            runs.append(graded(course, workers))
            say(f"{runs[-1]}")
            shutil.rmtree(course)
        course = make_class(Path(folder) / "writer", writing, lesson)
        writer = apart(written, course)
        say(f"{writer}")
    return {
        "machine": machine(),
        "lesson": lesson,
        "workers": workers,
        "runs": [asdict(run) for run in runs],
        "writer": asdict(writer),
        **compared(runs, writer),
    }


def compared(runs: list[Run], writer: Writing) -> dict:
    """What the runs say together: by size of the class, and for a million."""
    start_s = middle([run.cpu_s for run in runs if run.submissions == FEW])
    sizes = sorted({run.submissions for run in runs} - {FEW})
    table = {
        size: {
            "ms": middle([run.ms for run in runs if run.submissions == size]),
            "cpu_ms": middle(
                [
                    (run.cpu_s - start_s) / (size - FEW) * 1000
                    for run in runs
                    if run.submissions == size
                ]
            ),
            "last_to_first_cpu": middle(
                [run.last_cpu_ms / run.first_cpu_ms for run in runs if run.submissions == size]
            ),
            "peak_mb": max(run.peak_mb for run in runs if run.submissions == size),
        }
        for size in sizes
    }
    first, last = table[sizes[0]], table[sizes[-1]]
    per_core = 1000 / last["cpu_ms"]
    worker_ms = last["cpu_ms"] - writer.cpu_ms
    return {
        "by_size": table,
        "ratio_of_last_to_first": {name: last[name] / first[name] for name in ("ms", "cpu_ms")},
        "per_core_per_s": per_core,
        "million": {
            "core_hours": MILLION / per_core / 3600,
            "writer_hours": MILLION / writer.per_s / 3600,
            "cores_until_writer_is_full": writer.per_s * worker_ms / 1000,
            "gradebook_gb": MILLION * writer.gradebook_bytes / 1e9,
            "notebooks_gb": MILLION * writer.notebook_bytes / 1e9,
            "sent_gb": MILLION * writer.job_bytes / 1e9,
            "received_gb": MILLION * writer.marked_bytes / 1e9,
        },
    }


def middle(values: list[float]) -> float:
    """The median, the lower one of two."""
    return sorted(values)[(len(values) - 1) // 2]


def machine() -> str:
    return f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def show(found: dict) -> None:
    """The figures, for a person."""
    writer, million, ratio = found["writer"], found["million"], found["ratio_of_last_to_first"]
    print(f"{found['machine']}; {found['workers']} workers, sandbox on, lesson {found['lesson']}")
    titles = f"{'class':>8}{'ms each':>10}{'CPU ms each':>13}{'last to first':>15}"
    print(f"{titles}{'peak MB of the grader':>23}")
    for size, row in found["by_size"].items():
        print(
            f"{size:8,}{row['ms']:10.1f}{row['cpu_ms']:13.1f}{row['last_to_first_cpu']:15.2f}"
            f"{row['peak_mb']:23.0f}"
        )
    print(f"largest to smallest: {ratio['ms']:.2f} in time, {ratio['cpu_ms']:.2f} in CPU time")
    print(f"one core marks {found['per_core_per_s']:.0f} a second")
    print(
        f"the writer takes {writer['per_s']:.0f} a second (of {writer['submissions']:,}; "
        f"{writer['cpu_ms']:.1f} ms CPU each, first tenth {writer['first_cpu_ms']:.1f}, last tenth "
        f"{writer['last_cpu_ms']:.1f}; peak {writer['peak_mb']:.0f} MB)"
    )
    print(
        f"a million: {million['core_hours']:.1f} core hours of marking, "
        f"{million['writer_hours']:.1f} hours of writing; the writer is full at "
        f"{million['cores_until_writer_is_full']:.0f} cores"
    )
    print(
        f"    gradebook {million['gradebook_gb']:.1f} GB, notebooks {million['notebooks_gb']:.1f} "
        f"GB, sent to workers {million['sent_gb']:.1f} GB, received {million['received_gb']:.1f} GB"
    )
    loads = [run["load"] for run in found["runs"]] + [writer["load"]]
    print(f"load average of the machine meanwhile: {min(loads):.1f} to {max(loads):.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000], help="of the classes")
    parser.add_argument("--lesson", type=int, default=2, help="whose notebook is handed in")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--repeats", type=int, default=3, help="of classes below 500")
    parser.add_argument(
        "--writing", type=int, default=2000, help="submissions for the writer alone"
    )
    parser.add_argument("--json", action="store_true", help="print JSON for a script to read")
    told = parser.parse_args()
    found = measure(sorted(told.sizes), told.lesson, told.workers, told.repeats, told.writing)
    if told.json:
        print(json.dumps(found, indent=1))
    else:
        show(found)


if __name__ == "__main__":
    main()
