"""What a grade depends on besides the learner's file, as one short text that changes with it.

A notebook is graded again only if its file, its exercises' questions and answers, the released
notebook, the seed, the limits, or the code that runs and judges it has changed.
"""

import hashlib
import inspect
import json
import re
import tempfile
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path

import byhand
from byhand.probe import save
from byhand_course.lessons import Exercise, FreeAnswer, Lesson

from .engine import Limits
from .judging import earlier_functions, questions
from .restore import Template

# Modules of this room that run, ask, judge or read; the others only move results about.
ENGINE = re.compile(
    r"(?!book|cluster|course|database|fleet|grade|report|sample_class|seeds|trial|preprocessor).*"
)


def fingerprint(raw: bytes) -> str:
    """A short text that stands for a file."""
    return hashlib.sha256(raw).hexdigest()[:32]


def edition_of(lesson: Lesson, template: Template, seed: int, limits: Limits) -> str:
    """A short text that stands for all that a lesson's grades depend on besides the learner."""
    return _edition(lesson, template.text, seed, limits)


@lru_cache(maxsize=64)
def _edition(lesson: Lesson, released: str, seed: int, limits: Limits) -> str:
    told = (
        engine_edition(),
        _questions_edition(lesson, seed),
        released,
        _lent(lesson, released),
        json.dumps(asdict(limits), sort_keys=True),
    )
    return fingerprint("\n".join(told).encode())


@lru_cache(maxsize=1)
def engine_edition() -> str:
    """Stands for the code that runs and judges notebooks."""
    here = Path(__file__).parent
    files = [path for path in sorted(here.glob("*.py")) if ENGINE.fullmatch(path.stem)]
    files += sorted(Path(byhand.__file__).parent.glob("*.py"))
    found = hashlib.sha256()
    for path in files:
        found.update(path.name.encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:32]


def _questions_edition(lesson: Lesson, seed: int) -> str:
    """Stands for what is asked, what the reference answers, and what is said to a learner."""
    found = hashlib.sha256()
    with tempfile.TemporaryDirectory() as folder:
        for task in lesson.exercises:
            if not isinstance(task, FreeAnswer):
                save(questions(task, lesson.number, seed), Path(folder))
        for path in sorted(Path(folder).iterdir()):
            found.update(path.name.encode() + b"\0" + path.read_bytes())
    for task in lesson.exercises:
        if isinstance(task, Exercise):  # it stands in for a wrong one
            found.update(inspect.getsource(task.solution).encode())
    return found.hexdigest()[:32]


def _lent(lesson: Lesson, released: str) -> str:
    """The text of the earlier functions that the released notebook borrows with `mine`."""
    _, cells = json.loads(released)
    code = "\n".join(cell["source"] for cell in cells if cell["cell_type"] == "code")
    names = sorted(set(re.findall(r"mine\(\s*[\"'](\w+)[\"']", code)))
    known = earlier_functions(lesson)
    return "\n".join(inspect.getsource(known[name]) for name in names if name in known)
