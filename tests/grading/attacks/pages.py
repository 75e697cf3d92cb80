"""A graded notebook with something hostile in it, and the pages that are made of it."""

import contextlib
import io
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import nbformat
from nbformat.notebooknode import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from byhand_course.grading.feedback import feedback_page
from byhand_course.lessons import FreeAnswer, load_lessons

from .world import ROOT

HALF = "half-a-character"  # becomes one in the notebook's file
MARK = "byhandattack"  # in every hostile text, so that it is known from the page's own
ASSIGNMENT, NOTEBOOK = "week1_maths", "lesson01_dot_products"
ASKING = ("src", "srcset", "href", "action", "data", "srcdoc", "poster", "background", "content")


@dataclass
class Hostile:
    """Where a learner's text can stand.

    Attributes:
        student: as the folder is called.
        first_name: as the gradebook has it.
        comment: in the gradebook.
        answer: the free answer, in Markdown.
        source: of a code cell.
        verdict: the words that the grader left, which may quote the learner.
        cells: more cells.
    """

    student: str = "learner"
    first_name: str = "Ann"
    comment: str = ""
    answer: str = "An answer."
    source: str = "x = 1"
    verdict: str = "dot: not written yet."
    cells: list[NotebookNode] = field(default_factory=list)


@contextlib.contextmanager
def course() -> Iterator[Path]:
    """A course with a gradebook that knows one notebook; made once, copied for each use."""
    with tempfile.TemporaryDirectory(prefix="byhand-attacked-") as folder:
        shutil.copytree(_template(), folder, dirs_exist_ok=True)
        yield Path(folder)


@cache
def _template() -> Path:
    import atexit

    from nbgrader.api import Gradebook

    folder = Path(tempfile.mkdtemp(prefix="byhand-attacked-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    shutil.copytree(ROOT / "source" / ASSIGNMENT, folder / "source" / ASSIGNMENT)
    if str(Path(sys.executable).parent) not in os.environ["PATH"]:
        os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # alembic
    with Gradebook(f"sqlite:///{folder}/gradebook.db", "attention-by-hand") as book:
        book.add_assignment(ASSIGNMENT)
        book.add_notebook(NOTEBOOK, ASSIGNMENT)
        for task in _tasks():
            words = isinstance(task, FreeAnswer)
            name = task.name if words else f"check-{task.name}"
            book.add_grade_cell(
                name, NOTEBOOK, ASSIGNMENT, max_score=1, cell_type="markdown" if words else "code"
            )
            book.add_solution_cell(task.name, NOTEBOOK, ASSIGNMENT)
    return folder


def _tasks() -> tuple:
    return next(lesson for lesson in load_lessons() if lesson.number == 1).exercises


def furnish(folder: Path, hostile: Hostile) -> Path:
    """Put a hostile notebook into a course, graded, and return it."""
    from nbgrader.api import Gradebook

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Gradebook(f"sqlite:///{folder}/gradebook.db", "attention-by-hand") as book:
            book.add_student(hostile.student, first_name=hostile.first_name, last_name="Lee")
            book.add_submission(ASSIGNMENT, hostile.student)
            notebook = book.find_submission_notebook(NOTEBOOK, ASSIGNMENT, hostile.student)
            for comment in notebook.comments:
                comment.manual_comment = hostile.comment or None
            book.db.commit()
    cells = [*hostile.cells]
    for task in _tasks():
        told = {"grade_id": task.name, "schema_version": 3, "solution": True, "task": False}
        if isinstance(task, FreeAnswer):
            told |= {"grade": True, "locked": False, "points": 1}
            cells.append(new_markdown_cell(hostile.answer, metadata={"nbgrader": told}))
            continue
        told |= {"grade": False, "locked": False}
        cells.append(new_code_cell(hostile.source, metadata={"nbgrader": told}))
        told = told | {"grade_id": f"check-{task.name}", "grade": True, "solution": False}
        check = new_code_cell(
            "check()", metadata={"nbgrader": told | {"locked": True, "points": 1}}
        )
        check.outputs = [new_output("display_data", data={"text/plain": hostile.verdict})]
        cells.append(check)
    path = folder / "autograded" / hostile.student / ASSIGNMENT / f"{NOTEBOOK}.ipynb"
    path.parent.mkdir(parents=True)
    nbformat.write(new_notebook(cells=cells), path)
    path.write_text(path.read_text("utf-8").replace(HALF, "\\ud800"), encoding="utf-8")
    return path


def ours(hostile: Hostile) -> str:
    """Our feedback page, as HTML."""
    from nbgrader.api import Gradebook

    with course() as folder:
        path = furnish(folder, hostile)
        with Gradebook(f"sqlite:///{folder}/gradebook.db", "attention-by-hand") as book:
            return feedback_page(book, ASSIGNMENT, hostile.student, NOTEBOOK, path)


def nbgraders(hostile: Hostile) -> str:
    """nbgrader's own feedback page."""
    import nbgrader
    from nbconvert.exporters import HTMLExporter
    from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
    from nbgrader.preprocessors import GetGrades
    from traitlets.config import Config

    formgrader = Path(nbgrader.__file__).parent / "server_extensions/formgrader"
    config = Config()
    config.HTMLExporter.template_name = "feedback"
    config.HTMLExporter.extra_template_basedirs = [str(formgrader / "templates")]
    styles = "static/node_modules/bootstrap/dist/css"
    config.HTMLExporter.extra_template_paths = [str(formgrader / styles)]
    with course() as folder:
        path = furnish(folder, hostile)
        exporter = HTMLExporter(config=config)
        for step in (GetGrades, CSSHTMLHeaderPreprocessor):
            exporter.register_preprocessor(step, enabled=True)
        told = {
            "student": hostile.student,
            "assignment": ASSIGNMENT,
            "notebook": NOTEBOOK,
            "db_url": f"sqlite:///{folder}/gradebook.db",
        }
        page, _ = exporter.from_filename(
            str(path), resources={"nbgrader": told, "unique_key": NOTEBOOK}
        )
        return page


def formgraders(hostile: Hostile, steps: tuple = ()) -> str:
    """What Formgrader makes of the notebook, after some steps."""
    from nbconvert.exporters import HTMLExporter
    from traitlets.config import Config

    with course() as folder:
        path = furnish(folder, hostile)
        config = Config()
        config.CourseDirectory.root = str(folder)
        exporter = HTMLExporter(config=config, template_name="basic")
        for step in steps:
            exporter.register_preprocessor(step, enabled=True)
        told = {"assignment_id": ASSIGNMENT, "notebook_id": NOTEBOOK}
        return exporter.from_filename(str(path), resources=told)[0]


class _Browser(HTMLParser):
    """Notes what a browser would bring to life, if it carries the mark."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.alive: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag if tag in ("script", "style") else ""
        for name, value in attrs:
            runs = name.startswith("on") or name == "style" or name in ASKING
            if runs and MARK in (value or ""):
                self.alive.append(f"{tag} {name}")
        if MARK in tag:
            self.alive.append(tag)

    def handle_data(self, data: str) -> None:
        if self._inside and MARK in data:
            self.alive.append(self._inside)

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""


def alive(page: str) -> list[str]:
    """What of a learner's is alive in a page: scripts, handlers, styles, requests, links."""
    browser = _Browser()
    browser.feed(page)
    browser.close()
    return browser.alive


@contextlib.contextmanager
def terminal() -> Iterator[tuple[object, Callable[[], str]]]:
    """A rich console that believes it is a terminal, and what was written to it."""
    from rich.console import Console

    stream = io.StringIO()
    yield Console(file=stream, force_terminal=True, width=200), stream.getvalue


def nbgrader_feedback(folder: Path, safe: bool) -> list[Path]:
    """Have nbgrader write its feedback into a course, with or without what we add; the files."""
    from nbgrader.apps import NbGraderAPI
    from traitlets.config import Config, PyFileConfigLoader

    config = Config(PyFileConfigLoader("nbgrader_config.py", path=str(folder)).load_config())
    config.CourseDirectory.root = str(folder)
    if not safe:
        config.GenerateFeedback.pop("post_convert_hook", None)
    api = NbGraderAPI(config=config)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        api.generate_feedback(ASSIGNMENT, force=True)
    return sorted(path for path in (folder / "feedback").rglob("*") if not path.is_dir())
