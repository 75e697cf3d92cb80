"""nbgrader's road: the same intake and the same engine, for `nbgrader autograde` and Formgrader.

nbgrader_config.py puts three things of this module in place: `sort_submission` before nbgrader
looks at a submission, `IntakeExporter` where it reads a notebook, and `JudgeNotebook` where it
would run one. All other steps are nbgrader's own.
"""

import os
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat.notebooknode import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Enum, Float
from traitlets.log import get_logger

from byhand_course.errors import Refused
from byhand_course.lessons import folder_of, load_lessons

from .engine import Limits
from .handed_in import Unreadable, read_cells
from .intake import TIMESTAMP, Submission, receive, shown
from .marking import fill_in, lesson_of, own_engine
from .restore import read_template, restore
from .sandbox import HELP, Sandbox
from .seeds import hidden_seed


class JudgeNotebook(NbGraderPreprocessor):
    """Runs a submitted notebook in the fork engine and writes verdicts into its check cells."""

    sandbox = Enum([tier.value for tier in Sandbox], Sandbox.BUBBLEWRAP.value, help=HELP).tag(
        config=True
    )
    cell_timeout_s = Float(Limits.cell_timeout_s, help="Seconds that one cell may take.").tag(
        config=True
    )
    question_timeout_s = Float(
        Limits.question_timeout_s, help="Seconds that one call of a graded function may take."
    ).tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Fill in the outputs of every code cell; those of check cells are the grader's own."""
        told = resources["nbgrader"]
        seed = hidden_seed(told["db_url"], told["assignment"])
        limits = Limits(
            cell_timeout_s=self.cell_timeout_s, question_timeout_s=self.question_timeout_s
        )
        engine = own_engine(limits, Sandbox(self.sandbox))
        fill_in(nb.cells, lesson_of(told["notebook"]), seed, engine)
        return nbformat.from_dict(nb), resources


class IntakeExporter(NotebookExporter):
    """Reads a submitted notebook through our intake, and a notebook of ours as it is.

    nbgrader reads twice: what was handed in, and what its first steps made of that. It would also
    copy all other files of a submission, links followed, to where feedback is released from; with
    this exporter its converter passes over every file but the notebooks.
    """

    def __init__(self, **kw: Any) -> None:
        super().__init__(**kw)
        if self.parent is not None and hasattr(self.parent, "coursedir"):
            theirs = self.parent.coursedir
            names = ("assignment_id", "student_id", "notebook_id", "root", "course_id", "db_url")
            same = {name: getattr(theirs, name) for name in names}
            ignore = [*theirs.ignore, "*", ".*"]
            self.parent.coursedir = type(theirs)(config=self.config, **same, ignore=ignore)

    def from_filename(
        self, filename: str, resources: dict[str, Any] | None = None, **kw: Any
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Convert a notebook from a file.

        Raises:
            Unreadable: if it cannot be graded; the message says why.
        """
        resources = resources or {}
        path = Path(filename)
        folder, student, assignment = path.parents[2], path.parents[1].name, path.parent.name
        name = path.stem
        resources["metadata"] = {"name": name, "path": str(path.parent)}
        if folder.name == Path(self._autograded()).name:
            nb = nbformat.from_dict(_loaded(path))
        else:
            nb = restored_notebook(folder, student, assignment, name)
            timestamp = _received(folder, student, assignment).timestamp
            if timestamp:
                resources["outputs"] = {TIMESTAMP: timestamp.encode()}
        return self.from_notebook_node(nb, resources=resources, **kw)

    def _autograded(self) -> str:
        return str(self.config.CourseDirectory.get("autograded_directory", "autograded"))


def _loaded(path: Path) -> dict:
    """A notebook that nbgrader wrote a moment ago."""
    return nbformat.v4.reads(path.read_text(encoding="utf-8"))


def restored_notebook(folder: Path, student: str, assignment: str, name: str) -> NotebookNode:
    """A learner's notebook in the shape of the release, and a line in the log for each repair.

    Args:
        folder: submitted/, beside which release/ lies.
        student, assignment, name: say which.

    Raises:
        Unreadable: if it cannot be graded.
    """
    submission = _received(folder, student, assignment)
    file = submission.notebooks.get(name)
    if file is None:
        raise Unreadable(f"{name}: {submission.refused.get(name, 'was not handed in')}")
    template = read_template(folder.parent / "release" / assignment / f"{name}.ipynb")
    handed_in, read = read_cells(file.raw)
    cells, repairs = restore(template, lesson_of(name), handed_in)
    for sentence in (*submission.remarks.get(name, ()), *read, *repairs):
        get_logger().warning("%s, %s: %s", student, name, sentence)
    metadata = template.metadata
    told = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return nbformat.from_dict(told)


def sort_submission(assignment: str, student: str, notebooks: list[str]) -> None:
    """Before nbgrader looks at a submission: name its notebooks by what is in them.

    nbgrader goes on with the list that it is given here, so the list is changed in place: files
    that cannot be graded are taken out and logged, and a renamed one stands under its own name.
    """
    if not notebooks:
        return
    place = Path(notebooks[0]).parent  # nbgrader's own arguments say "*" when it grades a class
    folder, owner = place.parents[1], place.parent.name
    log = get_logger()
    submission = _received(folder, owner, place.name)
    for name in list(submission.notebooks):
        try:
            restored_notebook(folder, owner, place.name, name)
        except Refused as refused:
            submission.refused[name] = str(refused)
            del submission.notebooks[name]
    for name, why in submission.refused.items():
        log.error("%s was not judged in full: %s: %s", shown(owner), name, why)
    for sentence in submission.remarks.get("", ()):
        log.warning("%s: %s", owner, sentence)
    notebooks[:] = [str(place / f"{name}.ipynb") for name in sorted(submission.notebooks)]


def _received(folder: Path, student: str, assignment: str) -> Submission:
    lessons = [lesson for lesson in load_lessons() if lesson.assignment == assignment]
    known = {path.stem for path in (folder.parent / "release" / assignment).glob("*.ipynb")}
    released = [lesson for lesson in lessons if folder_of(lesson).name in known]
    return receive(Path(os.fspath(folder)), student, assignment, released)
