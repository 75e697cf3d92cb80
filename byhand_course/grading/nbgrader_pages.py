"""nbgrader's own pages, made safe: feedback from its command and button, and Formgrader's view.

nbgrader_config.py names what is here, so that `nbgrader generate_feedback` and Formgrader show no
more of a learner's notebook than our own command does.
"""

import json
import re
from pathlib import Path

from nbconvert.exporters import Exporter
from nbconvert.preprocessors import Preprocessor
from nbformat.notebooknode import NotebookNode
from nbgrader.api import Gradebook

from .feedback import feedback_page


class FeedbackExporter(Exporter):
    """Writes our feedback page where nbgrader would write its own."""

    file_extension = ".html"
    output_mimetype = "text/html"

    def from_filename(  # type: ignore[override]
        self, filename: str, resources: dict | None = None, **_: object
    ) -> tuple[str, dict]:
        """The page of one autograded notebook, and what nbgrader's writer wants to know.

        Raises:
            Refused: if it is none of the course, or has not been graded.
        """
        resources = {**(resources or {}), "output_extension": self.file_extension, "outputs": {}}
        told = resources["nbgrader"]
        with Gradebook(told["db_url"]) as book:
            page = feedback_page(
                book, told["assignment"], told["student"], told["notebook"], Path(filename)
            )
        return page, resources


def only_our_pages(assignment: str, student: str, notebooks: list[str]) -> None:
    """Take away what nbgrader copies beside a page: files that the learner handed in.

    They could be pages with scripts, or links to files of the instructor's. As nbgrader's
    `post_convert_hook` it is told the notebooks that were just converted.
    """
    for notebook in map(Path, notebooks):
        submission = notebook.parent  # autograded/STUDENT/ASSIGNMENT
        target = Path("feedback", *submission.parts[-2:])
        pages = {f"{Path(name).stem}.html" for name in notebooks}
        copied = {path.relative_to(submission) for path in submission.rglob("*")}
        for path in sorted(target.rglob("*"), reverse=True):  # what is in a folder before it
            place = path.relative_to(target)
            if str(place) in pages or place not in copied:
                continue
            if path.is_dir() and not path.is_symlink():
                if not any(path.iterdir()):
                    path.rmdir()
            else:
                path.unlink()


class ShowAsText(Preprocessor):
    """For Formgrader: the learner's Markdown and raw cells as text, which cannot run anything.

    Formgrader renders a notebook inside the instructor's own Jupyter server, where a script could
    do all that the instructor can.
    """

    enabled = True

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Turn every text cell that is not the course's own into a block of plain text."""
        own = self._own_text(resources.get("assignment_id", ""), resources.get("notebook_id", ""))
        for cell in nb.cells:
            cell.pop("attachments", None)
            if cell.cell_type != "code" and cell.source not in own:
                cell.cell_type = "markdown"
                cell.source = fenced(cell.source)
        return nb, resources

    def _own_text(self, assignment: str, notebook: str) -> set[str]:
        """The text cells that the course released under this name."""
        folder = Path(self.config.CourseDirectory.get("root", ".")) / "source" / assignment
        try:
            cells = json.loads((folder / f"{notebook}.ipynb").read_text("utf-8"))["cells"]
        except OSError:
            return set()
        return {"".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"}


def fenced(text: str) -> str:
    """Text as a block of code in Markdown, behind a fence longer than any in it."""
    longest = max(map(len, re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"
