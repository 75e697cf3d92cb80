"""What the gradebook says of a class, as rows for a table or a script."""

from dataclasses import dataclass

from nbgrader.apps import NbGraderAPI

from .course import ensure_assignment, gradebook


@dataclass(frozen=True)
class Row:
    """One submission.

    Attributes:
        student: their name in the gradebook.
        notebooks: points by notebook.
        score, max_score: of the whole assignment.
        waiting: points of free answers that wait for a reader.
    """

    student: str
    notebooks: dict[str, float]
    score: float
    max_score: float
    waiting: float


def class_report(api: NbGraderAPI, assignment: str) -> list[Row]:
    """One row for each graded submission, by student.

    Raises:
        NoCourse: if the course has no such assignment.
    """
    ensure_assignment(api, assignment)
    with gradebook(api) as book:
        return [
            Row(
                student=submission.student_id,
                notebooks={
                    notebook.name: notebook.score
                    for notebook in sorted(submission.notebooks, key=lambda found: found.name)
                },
                score=submission.score,
                max_score=submission.max_score,
                waiting=waiting_points(submission),
            )
            for submission in sorted(
                book.assignment_submissions(assignment), key=lambda found: found.student_id
            )
        ]


def waiting_points(submission: object) -> float:
    """Points of a submission's free answers that nobody has read yet."""
    return sum(
        grade.max_score
        for notebook in submission.notebooks  # type: ignore[attr-defined]
        for grade in notebook.grades
        if grade.needs_manual_grade and grade.manual_score is None
    )
