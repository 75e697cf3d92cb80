"""The course folder: its settings, and nbgrader's own view of it for what only nbgrader can do.

nbgrader takes a second or more to import, so it is imported where it is needed.
"""

import logging
import os
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from traitlets.config import Config, PyFileConfigLoader

from byhand_course.errors import Refused

from .engine import Limits
from .sandbox import Sandbox

if TYPE_CHECKING:
    from nbgrader.apps import NbGraderAPI

CONFIG = "nbgrader_config.py"


class NoCourse(Refused):
    """There is no course in that folder."""


@dataclass(frozen=True)
class Course:
    """A course folder and its settings.

    Attributes:
        root: where nbgrader_config.py lies.
        config: what stands in it.
    """

    root: Path
    config: Config

    @property
    def db_url(self) -> str:
        """The gradebook, as SQLAlchemy and nbgrader write its address."""
        return self._setting("db_url", f"sqlite:///{self.root / 'gradebook.db'}")

    @property
    def limits(self) -> Limits:
        """What one notebook may use, as nbgrader_config.py has it."""
        told = self.config.JudgeNotebook
        return Limits(
            cell_timeout_s=float(told.get("cell_timeout_s", Limits.cell_timeout_s)),
            question_timeout_s=float(told.get("question_timeout_s", Limits.question_timeout_s)),
        )

    @property
    def sandbox(self) -> Sandbox:
        """What keeps learners' code in, as nbgrader_config.py has it, or the command line.

        Raises:
            Refused: if there is no sandbox of that name.
        """
        name = str(self.config.JudgeNotebook.get("sandbox", Sandbox.BUBBLEWRAP))
        try:
            return Sandbox(name)
        except ValueError:
            known = ", ".join(Sandbox)
            raise Refused(
                f"{CONFIG} names the sandbox {name!r}, which there is not; there are {known}."
            ) from None

    def folder(self, step: str) -> Path:
        """The folder of one of nbgrader's steps: "source", "release", "submitted", "autograded"."""
        return self.root / self._setting(f"{step}_directory", step)

    def _setting(self, name: str, default: str) -> str:
        return str(self.config.CourseDirectory.get(name, default))


def load_course(root: Path, sandbox: Sandbox | None = None) -> Course:
    """The course in root.

    Args:
        root: the course folder.
        sandbox: what keeps learners' code in, if not what the course's settings say.

    Raises:
        NoCourse: if root has no nbgrader_config.py.
    """
    root = root.resolve()
    if not (root / CONFIG).is_file():
        raise NoCourse(f"{root} holds no {CONFIG}: run this in the course folder.")
    # nbgrader starts `alembic` by name to make a gradebook; it stands beside this Python.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    config = Config(PyFileConfigLoader(CONFIG, path=str(root)).load_config())
    config.CourseDirectory.root = str(root)
    if sandbox is not None:
        config.JudgeNotebook.sandbox = sandbox.value
    return Course(root, config)


def nbgrader_of(course: Course) -> "NbGraderAPI":
    """nbgrader's own interface to a course."""
    skip_slow_import()
    from nbgrader.apps import NbGraderAPI
    from sqlalchemy.exc import SAWarning

    warnings.filterwarnings("ignore", category=SAWarning)  # nbgrader's own queries, harmless
    api = NbGraderAPI(config=course.config)
    api.log.setLevel(logging.CRITICAL)  # its results carry its log; nothing is printed twice
    return api


def skip_slow_import() -> None:
    """Do without a grammar of web addresses, which takes jsonschema over a second to load.

    jsonschema then checks no web addresses in notebooks, and no schema of ours or nbgrader's asks
    it to.
    """
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]


def ensure_assignment(course: Course, assignment: str) -> None:
    """Enter an assignment in the gradebook, as nbgrader does on release, if it is not there.

    Raises:
        NoCourse: if the course has no such assignment, or it cannot be entered.
    """
    source = course.folder("source")
    known = sorted(path.name for path in source.glob("*") if any(path.glob("*.ipynb")))
    if assignment not in known:
        listed = ", ".join(known) or "none"
        raise NoCourse(f"There is no assignment {assignment!r} in source/. There are: {listed}.")
    if _is_entered(course.db_url, assignment):
        return
    result = nbgrader_of(course).generate_assignment(assignment, force=True)
    if not result["success"]:
        said = result.get("error") or result.get("log") or ""
        raise NoCourse(f"nbgrader could not enter {assignment}: {last_line(said)}")


def _is_entered(db_url: str, assignment: str) -> bool:
    import sqlalchemy as sa

    engine = sa.create_engine(db_url)
    query = sa.text("SELECT 1 FROM assignment WHERE name = :name")
    try:
        with engine.connect() as connection:
            return connection.execute(query, {"name": assignment}).first() is not None
    except sa.exc.DBAPIError:  # there is no gradebook yet; or it is broken, and nbgrader says so
        return False
    finally:
        engine.dispose()


def last_line(log: str) -> str:
    """The last line of nbgrader's log that says something."""
    lines = [line for line in log.strip().splitlines() if line.strip()]
    return lines[-1] if lines else "no reason was given"
