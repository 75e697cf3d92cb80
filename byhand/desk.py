"""The learner's desk: the folder they work in, and what is remembered about it.

    work/START.md                                where JupyterLab opens
    work/week1_maths/lesson03_softmax.ipynb      the learner's copy
    work/.byhand.json                            what was copied, hinted at and checked

Whatever a learner may have written is never overwritten: it is kept, or the new stands beside it.
"""

import contextlib
import difflib
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .probe import course

STATE = ".byhand.json"
START = "START.md"
NAME = re.compile(r"[A-Za-z0-9_@+-][A-Za-z0-9_@+.-]*")  # also a folder's name: no leading dot
DONE = ("right", "in words")


class Refused(Exception):
    """What was asked for cannot be done; the message is the one sentence for the learner."""


# Lessons and notebooks


@dataclass(frozen=True)
class Lesson:
    """A lesson as the course lists it.

    Attributes:
        notebook: its name, as in "lesson03_softmax".
        exercises: their names, in order.
    """

    number: int
    title: str
    assignment: str
    notebook: str
    minutes: int
    points: float
    exercises: tuple[str, ...]

    @property
    def path(self) -> Path:
        """Where its notebook lies below work/, release/ and solutions/."""
        return Path(self.assignment) / f"{self.notebook}.ipynb"


def lessons() -> list[Lesson]:
    """All lessons of this edition, in order."""
    fields = Lesson.__dataclass_fields__
    return [
        Lesson(**{**{key: entry[key] for key in fields}, "exercises": tuple(entry["exercises"])})
        for entry in course()
    ]


def lesson_of(exercise: str) -> Lesson:
    """The lesson that holds an exercise; its name has hyphens.

    Raises:
        Refused: if none does.
    """
    for lesson in lessons():
        if exercise in lesson.exercises:
            return lesson
    raise Refused(f"No lesson of this edition holds the exercise {exercise}.")


def find_lessons(wanted: str) -> list[Lesson]:
    """The lessons that a person means: "3", "lesson 3", "lesson03_softmax.ipynb", "week1_maths".

    Raises:
        Refused: if there is none; the message lists near names.
    """
    known = lessons()
    name = wanted.strip().rstrip("/").rpartition("/")[2].removesuffix(".ipynb")
    number = re.fullmatch(r"(?:lesson[\s_-]*)?(\d+)", name, re.IGNORECASE)
    if number:
        found = [lesson for lesson in known if lesson.number == int(number[1])]
        if not found:
            raise Refused(
                f"There is no lesson {int(number[1])}: this edition has the lessons "
                f"{known[0].number} to {known[-1].number}."
            )
        return found
    found = [lesson for lesson in known if name in (lesson.notebook, lesson.assignment)]
    if not found:
        names = [lesson.notebook for lesson in known] + [lesson.assignment for lesson in known]
        raise Refused(f"There is no lesson called {wanted!r}.{near(name, names)}")
    return found


def near(name: str, known: list[str]) -> str:
    """A sentence that offers similar names, or all where there are few, or nothing."""
    close = difflib.get_close_matches(name, sorted(set(known)), n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(close)}?" if close else ""


def read_cells(path: Path) -> list[dict[str, Any]]:
    """The cells of a notebook.

    Reads JSON itself: importing nbformat takes a second, and `mine` runs inside lessons.

    Raises:
        Refused: if the file cannot be read as a notebook.
    """
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        return [{**cell, "source": "".join(cell["source"])} for cell in cells]
    except OSError as error:
        raise Refused(f"{shown(path)} cannot be opened: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError):
        raise Refused(
            f"{shown(path)} is damaged and cannot be read as a notebook; "
            f"`byhand reset {path.stem}` puts the released one back, and keeps this one beside it."
        ) from None


def answer_place(cells: Sequence[Any], exercise: str) -> int | None:
    """The index of an exercise's own cell: by nbgrader's name for it, else by what it defines."""
    variable = exercise.replace("-", "_")
    written = re.compile(rf"^(?:def {variable}\s*\(|{variable}\s*=[^=])", re.MULTILINE)
    named = [place for place, cell in enumerate(cells) if _grade_id(cell) == exercise]
    defining = [
        place
        for place, cell in enumerate(cells)
        if cell["cell_type"] == "code" and written.search(cell["source"])
    ]
    both = [place for place in named if place in defining]
    return next(iter(both or named or defining[::-1]), None)


def _grade_id(cell: Any) -> object:
    return (cell.get("metadata") or {}).get("nbgrader", {}).get("grade_id")


# The desk


class Desk:
    """A work folder and its memory.

    Attributes:
        copied: of each file, the sha256 of what was copied, and the fingerprint of its words.
        offered: the same of a newer one that was laid beside the learner's.
        hints: how many hints were given, by exercise.
        checks: what `byhand check` last found, by notebook.
        record: what the certificate says of the learner: "name", "final_loss" and so on.
        release: the folder that was copied from, seen from the work folder.
    """

    def __init__(self, work: Path) -> None:
        self.work = work
        state = _read_state(work / STATE)
        self.copied: dict[str, list[str]] = _dict(state.get("copied"))
        self.offered: dict[str, list[str]] = _dict(state.get("offered"))
        self.hints: dict[str, int] = _dict(state.get("hints"))
        self.checks: dict[str, dict[str, Any]] = _dict(state.get("checks"))
        self.record: dict[str, Any] = _dict(state.get("record"))
        release = state.get("release")
        self.release: str | None = release if isinstance(release, str) else None

    def save(self) -> None:
        """Write the memory down, whole or not at all."""
        state = {key: value for key, value in vars(self).items() if key != "work"}
        text = json.dumps(state, indent=1, ensure_ascii=False) + "\n"
        fresh = self.work / f"{STATE}.new"
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(self.work / STATE)

    def last_check(self, lesson: Lesson) -> dict[str, Any] | None:
        """What the last check found in a lesson; "changed" tells if the notebook is newer."""
        found = self.checks.get(lesson.path.as_posix())
        if found is None:
            return None
        return {**found, "changed": found["words"] != fingerprint(self.work / lesson.path)}

    def remember_check(self, path: Path, exercises: list[dict[str, Any]], words: str) -> None:
        """Keep what a check found, if it was about a notebook of this desk.

        A check takes a while: what others wrote down in the meantime is read again first.
        """
        try:
            key = path.resolve().relative_to(self.work.resolve()).as_posix()
        except ValueError:
            return
        vars(self).update(vars(Desk(self.work)))
        when = datetime.now(UTC).isoformat(timespec="seconds")
        self.checks[key] = {"when": when, "words": words, "exercises": exercises}
        self.save()


def find_work(given: Path | None) -> Path:
    """The work folder: the given one, or the one here, in `work`, or above.

    Raises:
        Refused: if there is none.
    """
    if given is not None:
        if not given.is_dir():
            raise Refused(f"There is no folder {shown(given)}; `byhand learn` makes one.")
        return given
    here = Path()
    for folder in (here / "work", here, *here.resolve().parents):
        if (folder / STATE).is_file():
            return folder
    raise Refused("There is no work folder here yet: `byhand learn` makes one.")


def fingerprint(path: Path) -> str | None:
    """The sha256 of the words in a file, or None if there is none.

    A notebook's words are its cells' sources: opening and running it changes nothing.
    """
    if not path.is_file():
        return None
    try:
        words = json.dumps([(cell["cell_type"], cell["source"]) for cell in read_cells(path)])
        return hashlib.sha256(words.encode()).hexdigest()
    except (Refused, KeyError):
        return hashlib.sha256(path.read_bytes()).hexdigest()


def shown(path: Path) -> str:
    """A path as short as it can be told from here."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _read_state(path: Path) -> dict[str, Any]:
    """The memory; empty if it is lost or damaged, and then every notebook counts as written in."""
    try:
        return _dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


# Laying out, resetting, handing in


def lay_out(desk: Desk, release: Path) -> list[str]:
    """Copy what is released onto the desk, and tell what was done, one sentence each.

    Raises:
        Refused: if nothing is released there.
    """
    released = list(_released(release))
    if not released:
        raise Refused(
            f"There are no lessons in {shown(release)}: start `byhand learn` in the course's "
            "folder, or name the lessons with --release."
        )
    desk.work.mkdir(parents=True, exist_ok=True)
    said = [_lay_and_tell(desk, release, path) for path in released]
    with contextlib.suppress(ValueError):  # on Windows, two drives have no relative path
        desk.release = os.path.relpath(release.resolve(), desk.work.resolve())
    _write_start(desk)
    desk.save()
    new = said.count("new")
    first = (
        [f"{new} notebook{'s' if new != 1 else ''} copied to {shown(desk.work)}."] if new else []
    )
    return first + [text for text in said if text not in ("", "new")]


def _lay_and_tell(desk: Desk, release: Path, path: Path) -> str:
    """Copy one file; of worked pages nothing is said, unless one that was changed is kept."""
    said = _lay(desk, release, path)
    if not said or path.suffix == ".ipynb":
        return said
    return "" if fingerprint(desk.work / path) == fingerprint(release / path) else said


def _released(release: Path) -> Iterator[Path]:
    """Files that a learner gets, seen from the release folder."""
    for path in sorted(release.glob("*/**/*")):
        inside = path.relative_to(release)
        if path.is_file() and not any(part.startswith(".") for part in inside.parts):
            yield inside


def _lay(desk: Desk, release: Path, path: Path) -> str:
    """Copy one file if that overwrites nothing of the learner's; what to say of it."""
    key, source, target = path.as_posix(), release / path, desk.work / path
    sha256, new = hashlib.sha256(source.read_bytes()).hexdigest(), fingerprint(source)
    words, copied = fingerprint(target), desk.copied.get(key, ["", ""])
    assert new is not None
    if words in (None, copied[1], new):
        desk.copied[key] = [sha256, new]
        if words == new and copied[0] in ("", sha256):
            return ""
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        return "new" if words is None else f"{path.name} is renewed: this edition has changed it."
    offered = desk.offered.get(key, ["", ""])
    if new in (copied[1], offered[1]):
        return ""
    beside = free_name(target, "new", untouched=offered[1])
    shutil.copyfile(source, beside)
    desk.offered[key] = [sha256, new]
    return (
        f"{path.name} has changed in this edition: yours is kept, "
        f"and the new one lies beside it as {shown(beside)}."
    )


def free_name(path: Path, word: str, untouched: str | None = None) -> Path:
    """A name beside path that is free, or holds only what was laid there (its fingerprint)."""
    place = 1
    while True:
        number = "" if place == 1 else f"-{place}"
        beside = path.with_name(f"{path.stem}.{word}{number}{path.suffix}")
        if not beside.exists() or (untouched and fingerprint(beside) == untouched):
            return beside
        place += 1


def reset(desk: Desk, lesson: Lesson, release: Path) -> Path | None:
    """Put the released notebook back; where the learner's is kept, if it was another one.

    Raises:
        Refused: if the lesson is not among the released ones.
    """
    source, target = release / lesson.path, desk.work / lesson.path
    new = fingerprint(source)
    if new is None:
        raise Refused(f"{lesson.notebook} is not among the released notebooks in {shown(release)}.")
    backup = None
    if fingerprint(target) not in (None, new):
        backup = free_name(target, f"{datetime.now():%Y-%m-%d-%H%M%S}")
        target.rename(backup)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    desk.copied[lesson.path.as_posix()] = [hashlib.sha256(source.read_bytes()).hexdigest(), new]
    desk.checks.pop(lesson.path.as_posix(), None)
    desk.save()
    return backup


@dataclass(frozen=True)
class HandedIn:
    """What was handed in: where to, which notebooks, which are missing, where the earlier are."""

    folder: Path
    notebooks: list[Lesson]
    missing: list[Lesson]
    earlier: Path | None


def hand_in(desk: Desk, assignment: str, to: Path, name: str) -> HandedIn:
    """Copy an assignment's notebooks to where nbgrader looks for them: to/name/assignment/.

    Raises:
        Refused: if there is no such assignment, nothing to hand in, or the name cannot be used.
    """
    known = [lesson for lesson in lessons() if lesson.assignment == assignment]
    if not known:
        names = sorted({lesson.assignment for lesson in lessons()})
        offer = near(assignment, names) or f" There is: {', '.join(names)}."
        raise Refused(f"There is no assignment called {assignment!r}.{offer}")
    if not NAME.fullmatch(name):
        raise Refused(
            f"{name!r} cannot be handed in under: a name has letters, digits and _-.+@ only, and "
            "no dot in front. Give another one with --as."
        )
    present = [lesson for lesson in known if (desk.work / lesson.path).is_file()]
    if not present:
        raise Refused(f"There is no notebook of {assignment} in {shown(desk.work)}.")
    folder = to / name / assignment
    earlier = None
    if folder.exists():
        earlier = free_name(folder, f"until-{datetime.now():%Y-%m-%d-%H%M%S}")
        folder.rename(earlier)
    folder.mkdir(parents=True)
    for lesson in present:
        shutil.copyfile(desk.work / lesson.path, folder / f"{lesson.notebook}.ipynb")
    stamp = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S.%f} UTC\n"  # as nbgrader writes and reads it
    (folder / "timestamp.txt").write_text(stamp, encoding="utf-8")
    return HandedIn(folder, present, [one for one in known if one not in present], earlier)


# The start page


def _write_start(desk: Desk) -> None:
    """Renew the start page, unless the learner has written in it."""
    target = desk.work / START
    if fingerprint(target) in (None, desk.copied.get(START, ["", ""])[1]):
        target.write_text(start_page(desk), encoding="utf-8")
        words = fingerprint(target)
        assert words is not None
        desk.copied[START] = [words, words]


def start_page(desk: Desk) -> str:
    """Where to begin or go on, all lessons, and what else a newcomer needs to know."""
    rows, open_lessons, begun = [], [], False
    for lesson in lessons():
        if not (desk.work / lesson.path).is_file():
            continue
        done = exercises_done(desk.last_check(lesson))
        begun = begun or done > 0
        if done < len(lesson.exercises):
            open_lessons.append(lesson)
        rows.append(
            f"| {lesson.number} | [{lesson.title}]({lesson.path.as_posix()}) | "
            f"{lesson.minutes} | {done} of {len(lesson.exercises)} |"
        )
    return START_PAGE.format(
        where=_where_to_go(open_lessons, begun),
        rows="\n".join(rows),
        assignment=lessons()[0].assignment,
        pages=PAGES_LINE if (desk.work / PAGES).is_file() else "",
    )


def _where_to_go(open_lessons: list[Lesson], begun: bool) -> str:
    if not open_lessons:
        return "**All exercises are done.**"
    lesson = open_lessons[0]
    word = "Go on" if begun else "Begin"
    return (
        f"**[{word} with lesson {lesson.number}: {lesson.title}]({lesson.path.as_posix()})** "
        f"({lesson.minutes} minutes)"
    )


def exercises_done(check: dict[str, Any] | None) -> int:
    """How many exercises a check found done; answers in words count, a person reads them."""
    return sum(found["status"] in DONE for found in check["exercises"]) if check else 0


PAGES = "pages/index.html"
PAGES_LINE = f"""\
- The [worked pages]({PAGES}) show one whole training step, number by number; each notebook ends
  with a link to its own. **Trust HTML**, above a page, lets it light up where a number comes from.
"""
START_PAGE = """\
# Attention by Hand

You write a small language model in NumPy, every formula by your own hand.

{where}

| | Lesson | Minutes | Done |
|---:|---|---:|---:|
{rows}

## How a lesson works

- Read from top to bottom. **Shift+Enter** runs a cell and goes on to the next.
- Where a cell ends in `...` or `raise NotImplementedError`, you write. The cell below it,
  `check(...)`, tells you at once what is right and what is not. Try as often as you like.
- Your notebooks are saved here, on this computer, and nothing is sent anywhere.
{pages}
## When you want more

Open a terminal (**File → New → Terminal**):

| Type | and this happens |
|---|---|
| `byhand hint softmax` | you get the next hint for an exercise |
| `byhand check 1` | lesson 1 is run afresh, from its first cell to its last, and judged |
| `byhand progress` | you see what is done |
| `byhand reset 1` | lesson 1 starts over, and what you wrote is kept beside it |
| `byhand certificate` | you get a page that lists what you did, to keep or to print |
| `byhand submit {assignment}` | your notebooks are handed in |

The column *Done* above is what `byhand check` last found; this page is renewed by `byhand learn`.
"""
