"""Feedback pages: what the grader made, and the learner's source as plain text.

Learners write programs, names and Markdown, so nothing of theirs is ever rendered: no HTML, no
Markdown, no output, no picture. What a page shows is the grader's verdicts, the points and comments
in the gradebook, and the source of each answer, escaped. The page has no script and asks for
nothing from elsewhere, and its content security policy would stop both.
"""

import base64
import hashlib
import json
import math
import os
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup
from nbgrader.api import (
    BaseCell,
    Comment,
    Gradebook,
    MissingEntry,
    SubmittedNotebook,
)
from nbgrader.api import Grade as GradeEntry

from byhand_course.errors import Refused
from byhand_course.lessons import FreeAnswer, Lesson, Task, as_points, folder_of, load_lessons

from .visible import visible

PAGES = Path(__file__).with_name("pages")
COURSE = "Attention by Hand"
MAX_SOURCE_CHARS = 20_000  # of one answer; the longest honest one is a tenth of it
CUT = "\n[The rest of this answer is not shown: it is too long for a page.]"
POLICY = "default-src 'none'; style-src '{style}'; base-uri 'none'; form-action 'none'"


@dataclass(frozen=True)
class Paragraph:
    """A piece of a verdict; evidence keeps its columns."""

    text: str
    evidence: bool


@dataclass(frozen=True)
class Section:
    """One exercise on the page.

    Attributes:
        number: as in "3.2".
        name: the function or value, as the notebook calls it.
        objective: what the exercise was for.
        sign, status: how it went, as a sign and in words.
        kind: "right", "partly", "wrong" or "waiting"; for the page's colours.
        score, max_score: points, a person's own included.
        verdict: the grader's words, or nothing.
        comment: a person's words, or nbgrader's own; or nothing.
        source: what the learner wrote, as it stands in the notebook.
    """

    number: str
    name: str
    objective: str
    sign: str
    status: str
    kind: str
    score: float
    max_score: float
    verdict: tuple[Paragraph, ...]
    comment: str
    source: str


@dataclass(frozen=True)
class Page:
    """All that one page shows.

    Attributes:
        title: of the lesson.
        assignment, student: as the gradebook calls them.
        person: the student's name, where the gradebook has one.
        sections: one for each exercise, in the lesson's order.
        score, max_score: of the notebook; the penalty is taken off already.
        penalty: points taken off for handing in late.
    """

    title: str
    assignment: str
    student: str
    person: str
    sections: tuple[Section, ...]
    score: float
    max_score: float
    penalty: float


@dataclass(frozen=True)
class Places:
    """Where a course keeps what pages are made of, and the pages.

    Attributes:
        db_url: the gradebook's address.
        autograded, feedback: folders, with STUDENT/ASSIGNMENT below.
    """

    db_url: str
    autograded: Path
    feedback: Path


@dataclass(frozen=True)
class Written:
    """What came of one page: its file, or why there is none."""

    student: str
    notebook: str
    file: Path | None
    failure: str = ""


@dataclass(frozen=True)
class _Points:
    """What the gradebook holds for one cell; `comment` may stand alone."""

    score: float = 0.0
    max_score: float = 0.0
    waiting: bool = False
    comment: str = ""


def write_pages(places: Places, assignment: str) -> tuple[int, Iterator[Written]]:
    """Write the pages of everyone who has been graded, in nbgrader's places and under its names.

    Returns:
        how many pages there will be, and the steps that write them one by one.

    Raises:
        Refused: if nobody has been graded in this assignment.
    """
    with Gradebook(places.db_url) as book:
        try:
            students = sorted(entry.student_id for entry in book.assignment_submissions(assignment))
        except MissingEntry:
            students = []
    if not students:
        raise Refused(
            f"Nobody has been graded in {assignment} yet; first: byhand-course grade {assignment}"
        )
    notebooks = [name for name, lesson in _lessons().items() if lesson.assignment == assignment]
    return len(students) * len(notebooks), _write_all(places, assignment, students, notebooks)


def _write_all(
    places: Places, assignment: str, students: list[str], notebooks: list[str]
) -> Iterator[Written]:
    with Gradebook(places.db_url) as book:
        for student in students:
            graded = places.autograded / student / assignment
            target = places.feedback / student / assignment
            for notebook in notebooks:
                try:
                    html = feedback_page(
                        book, assignment, student, notebook, graded / f"{notebook}.ipynb"
                    )
                    yield Written(student, notebook, _write(target / f"{notebook}.html", html))
                except Refused as refused:
                    yield Written(student, notebook, None, str(refused))
            book.db.expunge_all()  # a class of thousands is not kept in memory


def _write(file: Path, html: str) -> Path:
    """Write a page whole or not at all."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=file.parent, prefix=".", suffix=".html")
        try:
            with open(handle, "w", encoding="utf-8") as stream:
                stream.write(html)
            os.chmod(draft, 0o644)
            os.replace(draft, file)
        except BaseException:
            os.unlink(draft)
            raise
    except OSError as error:
        raise Refused(f"{file} cannot be written: {error.strerror}.") from error
    return file


def feedback_page(book: Gradebook, assignment: str, student: str, notebook: str, file: Path) -> str:
    """The page of one graded notebook, as HTML.

    Args:
        book: the gradebook.
        assignment, student, notebook: as the gradebook calls them.
        file: the autograded notebook, whose check cells hold the verdicts.

    Raises:
        Refused: if this notebook is none of the course, or has not been graded.
    """
    lesson = _lessons().get(notebook)
    if lesson is None:
        raise Refused(f"No lesson of this course is called {notebook!r}; was the file renamed?")
    try:
        submitted = book.find_submission_notebook(notebook, assignment, student)
    except MissingEntry:
        raise Refused(f"{student} has no graded {notebook}.") from None
    return render(_page(lesson, assignment, student, submitted, book, _cells(file)))


@cache
def _lessons() -> dict[str, Lesson]:
    return {folder_of(lesson).name: lesson for lesson in load_lessons()}


def _cells(file: Path) -> dict[str, dict]:
    """The cells of an autograded notebook by the names that nbgrader knows them by."""
    try:
        cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
        named = [(cell["metadata"].get("nbgrader", {}).get("grade_id"), cell) for cell in cells]
    except OSError as error:
        raise Refused(f"{file} cannot be read: {error.strerror}; grade it again.") from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise Refused(f"{file} is no notebook any more; grade it again.") from None
    return {name: cell for name, cell in named if isinstance(name, str)}


def _page(
    lesson: Lesson,
    assignment: str,
    student: str,
    submitted: SubmittedNotebook,
    book: Gradebook,
    cells: Mapping[str, dict],
) -> Page:
    points = _points(book, submitted)
    person = submitted.student
    penalty = submitted.late_submission_penalty or 0.0
    names = [name for name in (person.first_name, person.last_name) if name]
    return Page(
        title=f"Lesson {lesson.number} · {lesson.title}",
        assignment=assignment,
        student=student,
        person=" ".join(names),
        sections=tuple(
            _section(f"{lesson.number}.{place}", task, points, cells)
            for place, task in enumerate(lesson.exercises, 1)
        ),
        score=submitted.score - penalty,
        max_score=submitted.max_score,
        penalty=penalty,
    )


def _points(book: Gradebook, submitted: SubmittedNotebook) -> dict[str, _Points]:
    """What the gradebook says of each cell, in two questions."""
    comments = dict(
        book.db.query(BaseCell.name, Comment.comment)
        .join(Comment, Comment.cell_id == BaseCell.id)
        .filter(Comment.notebook_id == submitted.id, Comment.comment.is_not(None))
        .all()
    )
    grades = book.db.query(GradeEntry).filter(GradeEntry.notebook_id == submitted.id).all()
    points = {
        grade.name: _Points(
            score=grade.score or 0.0,
            max_score=grade.max_score or 0.0,
            waiting=bool(grade.needs_manual_grade) and grade.manual_score is None,
            comment=comments.pop(grade.name, ""),
        )
        for grade in grades
    }
    return {**{name: _Points(comment=text) for name, text in comments.items()}, **points}


def _section(
    number: str, task: Task, points: Mapping[str, _Points], cells: Mapping[str, dict]
) -> Section:
    own = points.get(task.name, _Points())  # of the answer's cell: its comment, words' points too
    check = f"check-{task.name}"
    found = points.get(task.name if isinstance(task, FreeAnswer) else check)
    graded = found or _Points()
    sign, status, kind = _status(found)
    return Section(
        number=number,
        name=task.variable,
        objective=task.objective,
        sign=sign,
        status=status,
        kind=kind,
        score=graded.score,
        max_score=graded.max_score,
        verdict=_paragraphs(_verdict_text(cells.get(check, {}))),
        comment=own.comment or graded.comment,
        source=_source(cells.get(task.name, {})),
    )


def _status(points: _Points | None) -> tuple[str, str, str]:
    if points is None:
        return "?", "Not judged", "waiting"
    if points.waiting:
        return "…", "Waits for a reader", "waiting"
    if points.max_score and points.score >= points.max_score:
        return "✓", "Right", "right"
    if points.score > 0:
        return "◐", "Partly right", "partly"
    return "✗", "Not yet", "wrong"


def _verdict_text(cell: dict) -> str:
    """The plain words of the verdict that the grader left in a check cell, or nothing."""
    for output in cell.get("outputs", ()):
        if output.get("output_type") == "display_data":
            text = output.get("data", {}).get("text/plain", "")
            return "".join(text) if isinstance(text, list) else str(text)
    return ""


def _paragraphs(text: str) -> tuple[Paragraph, ...]:
    """A verdict as `byhand.render.to_text` writes it, in pieces; what is indented is evidence."""
    pieces = (piece.strip("\n") for piece in text.split("\n\n"))
    return tuple(
        Paragraph(textwrap.dedent(piece), evidence=piece.startswith("    "))
        for piece in pieces
        if piece
    )


def _source(cell: dict) -> str:
    source = cell.get("source", "")
    text = "".join(source) if isinstance(source, list) else str(source)
    return text if len(text) <= MAX_SOURCE_CHARS else text[:MAX_SOURCE_CHARS] + CUT


# Rendering


def render(page: Page) -> str:
    """A page as HTML, every text in it escaped."""
    return _template().render(page=page, course=COURSE)


@cache
def _template() -> jinja2.Template:
    style = (PAGES / "feedback.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PAGES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["points"] = _number
    environment.globals["of_points"] = _of_points
    environment.globals.update(style=Markup(style), policy=POLICY.format(style=f"sha256-{digest}"))
    return environment.get_template("feedback.html")


def _shown(value: object) -> object:
    """What every {{ }} of the template passes through: text is made visible, then escaped."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _number(points: float) -> str:
    return f"{as_points(round(points, 2)):g}" if math.isfinite(points) else "?"


def _of_points(score: float, most: float) -> str:
    return f"{_number(score)} of {_number(most)} point{'' if most == 1 else 's'}"
