"""PostgreSQL as the gradebook, tried for real: same grades as with SQLite, by every road.

    python benchmarks/postgresql.py [--writing 500] [--json]

Starts a PostgreSQL of its own in a temporary folder, on a Unix socket that nobody else can reach,
and ends it afterwards; needs the programs (Debian's package `postgresql`) and the driver psycopg.
One class is graded five times with two workers: into SQLite, into PostgreSQL by `byhand-course
grade` and by `nbgrader autograde`, by two graders at once that have half of the class each, and by
a grader that is killed and started again. All gradebooks must be equal. Then the writer alone, as
in scaling.py: one and two at once.
"""

import argparse
import json
import multiprocessing
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path

import sqlalchemy as sa

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "grading"), str(ROOT / "benchmarks")]
import gradebooks  # noqa: E402
from classes import assignment_in, make_class  # noqa: E402
from scaling import Writing, machine, say, written  # noqa: E402

WORKERS = 2
CLASS = 12
DUE = datetime(2026, 1, 1)
LATE = "c.LateSubmissionPlugin.penalty_method = 'zero'\n"
EXTENDED, TOO_LATE = "student0000004", "student0000008"  # both handed in an hour after it was due
USER = "grader"


@contextmanager
def postgresql() -> Iterator[Path]:
    """A PostgreSQL of our own; gives the folder of its socket."""
    folder = Path(tempfile.mkdtemp(prefix="postgresql-"))
    account = server_account()
    if account:
        shutil.chown(folder, account)
    try:
        run_as(account, program("initdb"), "-D", folder / "data", "-A", "trust", "-U", USER)
        only_here = f"-c listen_addresses='' -c unix_socket_directories='{folder}'"
        pg_ctl = program("pg_ctl"), "-D", folder / "data", "-w"
        run_as(account, *pg_ctl, "-l", folder / "log", "-o", only_here, "start")
        try:
            yield folder
        finally:
            run_as(account, *pg_ctl, "-m", "fast", "stop")
    finally:
        shutil.rmtree(folder)


def program(name: str) -> str:
    """Where one of PostgreSQL's programs is; Debian keeps them off the path."""
    known = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    found = str(known[-1]) if known else shutil.which(name)
    if not found:
        sys.exit(f"PostgreSQL's {name} was not found: install it (Debian: apt install postgresql).")
    return found


def server_account() -> str | None:
    """Who the server runs as: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    known = {account.pw_name for account in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


def run_as(account: str | None, *command: object) -> None:
    words = [str(word) for word in command]
    done = subprocess.run(words, user=account, cwd="/", stdout=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"{words[0]} ended with status {done.returncode}.")


def new_database(socket: Path, name: str) -> str:
    """Make a database; returns its address as nbgrader_config.py has it."""
    engine = sa.create_engine(address(socket, "postgres"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return address(socket, name)


def address(socket: Path, database: str) -> str:
    return f"postgresql+psycopg://{USER}@/{database}?host={socket}"


# Equal gradebooks


def handed_in(course: Path, db_url: str = "") -> Path:
    """A class, one of whom is late, and one late with leave."""
    make_class(course, CLASS, db_url=db_url)
    config = course / "nbgrader_config.py"
    config.write_text(config.read_text("utf-8") + LATE, "utf-8")
    engine = sa.create_engine(url_of(course))
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE assignment SET duedate = :due"), {"due": DUE})
    engine.dispose()
    for student in (EXTENDED, TOO_LATE):
        stamp = course / "submitted" / student / assignment_in(course) / "timestamp.txt"
        stamp.write_text(f"{DUE + timedelta(hours=1)} UTC\n")
    give_leave(course)
    return course


def give_leave(course: Path) -> None:
    """Enter an extension of a day, by nbgrader's own hand."""
    from nbgrader.api import Gradebook

    with Gradebook(url_of(course)) as book:
        book.add_student(EXTENDED)
        submission = book.add_submission(assignment_in(course), EXTENDED)
        submission.extension = timedelta(days=1)
        book.db.commit()


def url_of(course: Path) -> str:
    from byhand_course.grading.course import load_course

    return load_course(course).db_url


def grader(course: Path, students: list[str] | None = None) -> list[str]:
    """The command that grades a course, or some of it."""
    command = [sys.executable, "-m", "byhand_course.cli", "grade", assignment_in(course)]
    command += ["--workers", str(WORKERS), "--root", str(course)]
    return command + [word for name in students or () for word in ("--student", name)]


def by_nbgrader(course: Path) -> list[str]:
    return [sys.executable, "-m", "nbgrader", "autograde", assignment_in(course)]


def run_all(course: Path, commands: list[list[str]]) -> float:
    """Run commands at the same time; returns the seconds until the last one ended."""
    began = time.perf_counter()
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "cwd": course}
    running = [subprocess.Popen(command, **silent) for command in commands]
    said = [process.communicate()[1].decode() for process in running]
    for process, words in zip(running, said, strict=True):
        if process.returncode != 0:
            sys.exit(f"{' '.join(map(str, process.args))}:\n{words}")
    return time.perf_counter() - began


def killed_and_started_again(course: Path) -> None:
    """Kill a grader when it has graded a few, and start it again."""
    silent = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([*grader(course), "--json"], **silent) as process:
        for _ in range(4):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    run_all(course, [grader(course)])


def says_that_it_is_locked(course: Path) -> bool:
    """Whether a grader that waits for another program's lock ends with a sentence, and status 1."""
    engine = sa.create_engine(url_of(course))
    with engine.begin() as connection:
        connection.execute(sa.text("LOCK TABLE grade IN EXCLUSIVE MODE"))
        command = [*grader(course), "--again"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    engine.dispose()
    return done.returncode == 1 and "is locked by another program" in done.stderr


def compare(folder: Path, socket: Path) -> dict:
    """Grade the class by every road; says whose gradebook is that of SQLite, and how long it took.

    nbgrader has no table of ours, and is compared without it.
    """
    sqlite = handed_in(folder / "sqlite")
    took = {"sqlite": run_all(sqlite, [grader(sqlite)])}
    expected, same = gradebooks.gradebook(sqlite, ours=True), {}
    for road in ("postgresql", "nbgrader", "two_graders", "killed"):
        course = handed_in(folder / road, new_database(socket, road))
        began = time.perf_counter()
        if road == "killed":
            killed_and_started_again(course)
        elif road == "nbgrader":
            run_all(course, [by_nbgrader(course)])
        elif road == "two_graders":
            twin = folder / "twin"  # as on another machine: only the database is shared
            shutil.copytree(course, twin)
            students = sorted(path.name for path in (course / "submitted").iterdir())
            halves = students[::2], students[1::2]
            pairs = zip((course, twin), halves, strict=True)
            run_all(course, [grader(root, list(half)) for root, half in pairs])
        else:
            run_all(course, [grader(course)])
        took[road] = time.perf_counter() - began
        ours = road != "nbgrader"
        found = gradebooks.gradebook_at(url_of(course), ours)
        same[road] = found == {name: expected[name] for name in found}
        say(f"{road}: {'same gradebook' if same[road] else 'DIFFERS'} in {took[road]:.1f} s")
        for name in found if not same[road] else ():
            say(f"  {set(map(repr, found[name])) ^ set(map(repr, expected[name]))}")
    same["locked"] = says_that_it_is_locked(course)
    return {"class": CLASS, "same_gradebook": same, "took_s": took}


# The writer's own limit


def limits(folder: Path, socket: Path, writing: int) -> dict:
    """What one writer and two can enter, with results that were made before."""
    found = {"sqlite_1": write(make_class(folder / "one", writing), 1)}
    for writers in (1, 2):
        db_url = new_database(socket, f"writers{writers}")
        course = make_class(folder / f"writers{writers}", writing, db_url=db_url)
        found[f"postgresql_{writers}"] = write(course, writers)
    return found


def write(course: Path, writers: int) -> dict:
    students = sorted(path.name for path in (course / "submitted").iterdir())
    with multiprocessing.get_context("spawn").Pool(writers) as pool:
        parts = [(course, students[place::writers]) for place in range(writers)]
        done: list[Writing] = pool.starmap(written, parts)
    total = sum(part.per_s for part in done)
    say(f"{writers} writer(s) into {course.name}: {total:.0f} a second")
    return {"per_s": total, "writers": [asdict(part) for part in done]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--writing", type=int, default=500, help="submissions for the writer alone")
    parser.add_argument("--json", action="store_true", help="print JSON for a script to read")
    told = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # so that the server ends too
    with postgresql() as socket, tempfile.TemporaryDirectory(prefix="gradebooks-") as folder:
        found = compare(Path(folder), socket)
        found["writer"] = limits(Path(folder), socket, told.writing)
    found |= {"machine": machine(), "load": os.getloadavg()[0]}
    if told.json:
        print(json.dumps(found, indent=1))
    else:
        print(f"{found['machine']}; load average {found['load']:.1f}")
        print(f"  {'sqlite':<12}{found['took_s']['sqlite']:7.1f} s")
        for road, same in found["same_gradebook"].items():
            verdict = "same gradebook as SQLite's" if same else "DIFFERS"
            if road == "locked":
                print(f"  another program's lock: {'said in one sentence' if same else 'NOT SAID'}")
                continue
            print(f"  {road:<12}{found['took_s'][road]:7.1f} s  {verdict}")
        for name, row in found["writer"].items():
            print(f"  {name:<14}{row['per_s']:7.0f} submissions a second written")
    sys.exit(0 if all(found["same_gradebook"].values()) else 1)


if __name__ == "__main__":
    main()
