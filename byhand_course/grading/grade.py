"""Grading an assignment: every submission through nbgrader's own steps and our engine."""

from collections.abc import Iterator
from dataclasses import dataclass

from nbgrader.api import MissingEntry
from nbgrader.apps import NbGraderAPI

from .course import NoCourse, ensure_assignment, gradebook, last_line
from .report import waiting_points


@dataclass(frozen=True)
class Graded:
    """What came of one submission.

    Attributes:
        student: as the folder below submitted/ is called.
        score, max_score: points given by the grader, and all points there are.
        waiting: points of free answers that wait for a reader.
        failure: why it could not be graded, or None.
    """

    student: str
    score: float = 0.0
    max_score: float = 0.0
    waiting: float = 0.0
    failure: str | None = None


def submitted(api: NbGraderAPI, assignment: str) -> list[str]:
    """Who handed the assignment in, in order.

    Raises:
        NoCourse: if the course has no such assignment.
    """
    ensure_assignment(api, assignment)
    return sorted(api.get_submitted_students(assignment))


def grade(api: NbGraderAPI, assignment: str, students: list[str]) -> Iterator[Graded]:
    """Grade submissions one by one; one that fails does not stop the rest."""
    for student in students:
        result = api.autograde(assignment, student, force=True, create=True)
        if result["success"]:
            yield result_of(api, assignment, student)
        else:
            reason = result.get("error") or result.get("log") or ""
            yield Graded(student, failure=last_line(reason))


def result_of(api: NbGraderAPI, assignment: str, student: str) -> Graded:
    """What the gradebook says of one submission.

    Raises:
        NoCourse: if it is not in the gradebook.
    """
    with gradebook(api) as book:
        try:
            submission = book.find_submission(assignment, student)
        except MissingEntry:
            raise NoCourse(f"{student} has no graded submission of {assignment}.") from None
        waiting = waiting_points(submission)
        return Graded(student, submission.score, submission.max_score, waiting)
