"""Finding lessons and exercises: one folder a lesson, with its lesson.py and exercises.py."""

import difflib
import importlib
import traceback
from functools import cache
from pathlib import Path

from byhand_course.errors import Refused

from .broken import BrokenLesson
from .exercise import Lesson, Task

FOLDER = Path(__file__).parent


class NoSuchExercise(Refused):
    """There is no exercise of that name."""


@cache
def load_lessons() -> tuple[Lesson, ...]:
    """All lessons in order, each from the LESSON of its exercises.py.

    Raises:
        BrokenLesson: if one cannot be imported.
    """
    names = sorted(file.parent.name for file in FOLDER.glob("lesson[0-9][0-9]_*/exercises.py"))
    return tuple(_lesson(name) for name in names)


def _lesson(name: str) -> Lesson:
    file = FOLDER / name / "exercises.py"
    try:
        lesson = importlib.import_module(f"{__package__}.{name}.exercises").LESSON
    except Exception as error:
        about = getattr(error, "text", None) or _line_in(file, error) or "LESSON"
        says = f"cannot be read ({type(error).__name__}: {error}); mend it and build again"
        raise BrokenLesson(file, about.strip(), says) from error
    assert isinstance(lesson, Lesson)
    return lesson


def _line_in(file: Path, error: Exception) -> str | None:
    """The line of file on the way to the error, as text."""
    steps = traceback.extract_tb(error.__traceback__)
    return next((step.line for step in reversed(steps) if step.filename == str(file)), None)


def folder_of(lesson: Lesson) -> Path:
    """The folder that holds a lesson's prose and exercises."""
    return next(FOLDER.glob(f"lesson{lesson.number:02}_*"))


def find_exercise(name: str) -> tuple[Lesson, Task]:
    """The exercise of that name (hyphens or underscores) and its lesson.

    Raises:
        NoSuchExercise: if there is none; the message lists near ones.
    """
    wanted = name.replace("_", "-")
    known = {task.name: (lesson, task) for lesson in load_lessons() for task in lesson.exercises}
    if wanted in known:
        return known[wanted]
    near = difflib.get_close_matches(wanted, known, n=3, cutoff=0.5)
    close = f" Did you mean {' or '.join(near)}?" if near else " `exercises` lists them all."
    raise NoSuchExercise(f"There is no exercise called {name!r}.{close}")
