"""Grading an assignment: submissions go to workers, verdicts come back, one writer keeps them.

Nothing is held for longer than it takes: a submission is read when workers have room for it, and
let go when it is in the gradebook. What has not changed since it was graded is not graded again.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from byhand_course.errors import Refused
from byhand_course.lessons import Lesson, load_lessons

from .book import Book, Graded, LatePenalty, Settled
from .course import Course, ensure_assignment, skip_slow_import
from .edition import edition_of, engine_edition, fingerprint
from .fleet import Fleet
from .intake import Submission, receive, shown, students_in
from .marking import Job, Marked, lesson_of
from .restore import Template, read_template
from .seeds import hidden_seed


def submitted(course: Course, assignment: str) -> list[str]:
    """Who handed the assignment in, in order.

    Raises:
        NoCourse: if the course has no such assignment.
    """
    ensure_assignment(course, assignment)
    return list(students_in(course.folder("submitted"), assignment))


def grade(
    course: Course,
    assignment: str,
    students: Sequence[str],
    start: Callable[[], Executor],
    room: int,
    again: bool = False,
) -> Iterator[Graded]:
    """Grade submissions; one that fails does not stop the rest.

    Args:
        course, assignment, students: what to grade; the assignment must have been entered.
        start: makes the executor whose workers mark notebooks.
        room: how many notebooks may be under way at once.
        again: whether to grade what has not changed, too.

    Yields:
        each submission when it is in the gradebook, in the order in which they get done.

    Raises:
        Refused: if the gradebook or a folder cannot be written; what was done before is kept.
    """
    load_lessons()  # before workers are forked, which would each load them
    with Fleet(start, room) as fleet, Book(course.db_url, assignment) as book:
        round_ = _Round(course, assignment, book, again)
        for student in students:
            jobs = round_.begin(student)
            if not jobs:
                yield round_.finish(student)
            for job in jobs:
                for marked in fleet.put(job):
                    yield from round_.arrived(marked)
        for marked in fleet.rest():
            yield from round_.arrived(marked)


@dataclass
class _Pending:
    """A submission under way."""

    submission: Submission
    settled: dict[str, Settled] = field(default_factory=dict)
    wanted: int = 0
    marked: list[Marked] = field(default_factory=list)


class _Round:
    """One run over an assignment: what is under way, and what to compare it with."""

    def __init__(self, course: Course, assignment: str, book: Book, again: bool) -> None:
        self._course = course
        self._assignment = assignment
        self._book = book
        self._again = again
        self._seed = hidden_seed(course.db_url, assignment)
        self._templates = templates(course, assignment, book)
        self._lessons: list[Lesson] = [lesson_of(name) for name in book.notebooks]
        self._pending: dict[str, _Pending] = {}

    def begin(self, student: str) -> list[Job]:
        """Take a submission in, and say what has to be marked."""
        pending = self._pending[student] = _Pending(Submission())
        folder = self._course.folder("submitted")
        pending.submission = receive(folder, student, self._assignment, self._lessons)
        if not pending.submission.in_gradebook:
            return []
        pending.settled = self._book.settled(student)
        limits, sandbox = self._course.limits, self._course.sandbox
        engine = engine_edition()
        jobs = [
            Job(student, self._templates[name], file.raw, self._seed, limits, sandbox, engine)
            for name, file in pending.submission.notebooks.items()
            if self._again or self._has_changed(student, name, file.raw, pending.settled)
        ]
        pending.wanted = len(jobs)
        return jobs

    def arrived(self, marked: Marked) -> Iterator[Graded]:
        """Take in what came of one notebook; yields its submission if it was the last one."""
        pending = self._pending[marked.student]
        pending.marked.append(marked)
        if len(pending.marked) == pending.wanted:
            yield self.finish(marked.student)

    def finish(self, student: str) -> Graded:
        """Write a submission's notebooks, then its grades, and say what came of it."""
        pending = self._pending.pop(student)
        submission = pending.submission
        good = {found.notebook: found for found in pending.marked if not found.failure}
        bad = {found.notebook: found.failure for found in pending.marked if found.failure}
        failures = {**submission.refused, **bad}
        missing = [
            name
            for name in self._book.notebooks
            if submission.notebooks and name not in submission.notebooks and name not in failures
        ]
        for name in missing:
            submission.remark(name, "was not handed in, and earns nothing")
        settled = {
            name: Settled(
                fingerprint(submission.notebooks[name].raw),
                found.edition,
                (*submission.remarks.get(name, ()), *found.repairs),
            )
            for name, found in good.items()
        }
        if good or any(name in pending.settled for name in missing):
            self._write(student, submission, good, settled, missing)
        elif failures and submission.in_gradebook:
            self._book.write(student, {})  # so that Formgrader shows that it waits for somebody
        return self._graded(student, pending, {**pending.settled, **settled}, failures, missing)

    def _write(
        self,
        student: str,
        submission: Submission,
        good: Mapping[str, Marked],
        settled: Mapping[str, Settled],
        missing: Sequence[str],
    ) -> None:
        folder = self._course.folder("autograded") / student / self._assignment
        texts = {f"{name}.ipynb": found.text for name, found in good.items()}
        if submission.timestamp:
            texts["timestamp.txt"] = submission.timestamp
        with drafted(folder, texts, gone=[f"{name}.ipynb" for name in missing]) as publish:
            self._book.write(
                student,
                {name: (found, settled[name]) for name, found in good.items()},
                missing,
                handed_in_at(submission),
                late_penalty_of(self._course),
                publish,
            )

    def _graded(
        self,
        student: str,
        pending: _Pending,
        settled: Mapping[str, Settled],
        failures: Mapping[str, str | None],
        missing: Sequence[str],
    ) -> Graded:
        nothing = Graded(shown(student), {})
        entered = pending.submission.in_gradebook
        found = next(self._book.results(student), nothing) if entered else nothing
        remarks = [*pending.submission.remarks.get("", ())]
        for name in self._book.notebooks:
            told = pending.submission.remarks.get(name, ()) if name in missing else ()
            known = settled[name].remarks if name in settled and name not in missing else ()
            remarks += [f"{name}: {sentence}" for sentence in (*known, *told)]
        why = "; ".join(f"{name}: {says}" if name else f"{says}" for name, says in failures.items())
        count = len(pending.marked)
        return replace(found, marked=count, remarks=tuple(remarks), failure=why or None)

    def _has_changed(
        self, student: str, name: str, raw: bytes, settled: Mapping[str, Settled]
    ) -> bool:
        """Whether a notebook is not graded as it stands, or what grading wrote is not there."""
        known = settled.get(name)
        if known is None or known.handed_in != fingerprint(raw):
            return True
        template = self._templates[name]
        edition = edition_of(lesson_of(name), template, self._seed, self._course.limits)
        place = self._course.folder("autograded") / student / self._assignment / f"{name}.ipynb"
        return known.edition != edition or not place.is_file()


def templates(course: Course, assignment: str, book: Book) -> dict[str, Template]:
    """The released notebooks of an assignment, by name.

    Raises:
        Refused: if they are not those that the gradebook knows, or of no lesson of this course.
    """
    folder = course.folder("release") / assignment
    found = {name: read_template(folder / f"{name}.ipynb") for name in book.notebooks}
    released = {
        cell["metadata"]["nbgrader"]["grade_id"]: cell["metadata"]["nbgrader"].get("checksum")
        for template in found.values()
        for cell in template.cells
        if "nbgrader" in cell["metadata"]
    }
    if released != book.checksums():
        raise Refused(
            f"release/{assignment} is not what the gradebook knows of it. Enter the new edition "
            f"with `nbgrader generate_assignment {assignment} --force`, then grade again."
        )
    return found


@contextmanager
def drafted(
    folder: Path, texts: Mapping[str, str], gone: Sequence[str] = ()
) -> Iterator[Callable[[], None]]:
    """Write files beside their places, and give what puts them there and takes others away.

    Raises:
        Refused: if the folder cannot be written; then no file in it has changed.
    """
    drafts = {name: folder / f".draft-{os.getpid()}-{name}" for name in texts}

    def publish() -> None:
        with _writing(folder):
            for name, draft in drafts.items():
                draft.replace(folder / name)
            for name in gone:
                (folder / name).unlink(missing_ok=True)

    try:
        with _writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            for left in folder.glob(".draft-*"):  # by a grader that was killed
                left.unlink()
            for name, draft in drafts.items():
                draft.write_text(texts[name], encoding="utf-8")
                draft.chmod(0o444)  # as nbgrader leaves them
        yield publish
    finally:
        for draft in drafts.values():
            with suppress(OSError):
                draft.unlink(missing_ok=True)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Refused(
            f"{folder} cannot be written: {error.strerror}. Mend that and start again: what was "
            "graded before is kept."
        ) from None


def handed_in_at(submission: Submission) -> datetime | None:
    """When a submission was handed in, in UTC; a time that cannot be read is remarked on."""
    text = submission.timestamp
    if not text:
        return None
    with suppress(ValueError):
        moment = datetime.fromisoformat(text.removesuffix(" UTC"))  # as nbgrader writes it
        return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
    try:
        skip_slow_import()
        from nbgrader.utils import parse_utc

        return parse_utc(text)
    except (ValueError, OverflowError, TypeError):
        submission.remark("", "timestamp.txt holds no time; taken as handed in on time")
        return None


def late_penalty_of(course: Course) -> LatePenalty:
    """What being late costs, by the plugin of nbgrader that the course has chosen."""

    def penalty(student: str, score: float, late_s: float) -> float | None:
        skip_slow_import()
        from nbgrader.preprocessors import AssignLatePenalties

        step = AssignLatePenalties(config=course.config)
        step.init_plugin()
        found: float | None = step.plugin_inst.late_submission_penalty(student, score, late_s)
        return found

    return penalty
