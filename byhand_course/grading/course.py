"""The course folder as nbgrader sees it, opened for one command."""

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI
from sqlalchemy.exc import SAWarning
from traitlets.config import Config, PyFileConfigLoader

from byhand_course.errors import Refused

from .sandbox import Sandbox

CONFIG = "nbgrader_config.py"


class NoCourse(Refused):
    """There is no course in that folder."""


def open_course(root: Path, sandbox: Sandbox | None = None) -> NbGraderAPI:
    """nbgrader's interface to the course in root.

    Args:
        root: the course folder.
        sandbox: what keeps learners' code in, if not what the course's settings say.

    Raises:
        NoCourse: if root has no nbgrader_config.py.
    """
    if not (root / CONFIG).is_file():
        raise NoCourse(f"{root.resolve()} holds no {CONFIG}: run this in the course folder.")
    # nbgrader starts `alembic` by name to make a gradebook; it stands beside this Python.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    config = Config(PyFileConfigLoader(CONFIG, path=str(root.resolve())).load_config())
    config.CourseDirectory.root = str(root.resolve())
    if sandbox is not None:
        config.JudgeNotebook.sandbox = sandbox.value
    warnings.filterwarnings("ignore", category=SAWarning)  # nbgrader's own queries, harmless
    api = NbGraderAPI(config=config)
    api.log.setLevel(logging.CRITICAL)  # its results carry its log; nothing is printed twice
    return api


@contextmanager
def gradebook(api: NbGraderAPI) -> Iterator[Gradebook]:
    """The course's gradebook, closed afterwards."""
    with Gradebook(api.coursedir.db_url, api.coursedir.course_id) as book:
        yield book


def ensure_assignment(api: NbGraderAPI, assignment: str) -> None:
    """Enter an assignment in the gradebook, as nbgrader does on release, if it is not there.

    Raises:
        NoCourse: if the course has no such assignment, or it cannot be entered.
    """
    known = sorted(api.get_source_assignments())
    if assignment not in known:
        listed = ", ".join(known) or "none"
        raise NoCourse(f"There is no assignment {assignment!r} in source/. There are: {listed}.")
    with gradebook(api) as book:
        entered = {found.name for found in book.assignments}
    if assignment not in entered:
        result = api.generate_assignment(assignment, force=True)
        if not result["success"]:
            raise NoCourse(f"nbgrader could not enter {assignment}: {last_line(result['log'])}")


def last_line(log: str) -> str:
    """The last line of nbgrader's log that says something."""
    lines = [line for line in log.strip().splitlines() if line.strip()]
    return lines[-1] if lines else "no reason was given"
