"""A learner's cells brought back into the shape of the released notebook, and what that took.

The released notebook says which cells there are; the learner's file says what stands in them. Cells
keep the learner's order. Names in metadata are only a hint: an answer is found by the name it
defines, a free answer by the heading above it, so a file without any metadata is read as well.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from pathlib import Path

from byhand_course.errors import Refused
from byhand_course.lessons import FreeAnswer, Lesson, Task, load_lessons

from .handed_in import Cell, Unreadable

MAX_LINE = 500  # characters of a line that are looked at


@dataclass(frozen=True)
class Template:
    """A released notebook.

    Attributes:
        notebook: its name.
        metadata: of the whole notebook.
        cells: as nbformat 4.5 writes them, each source one text.
    """

    notebook: str
    metadata: dict
    cells: tuple[dict, ...]

    @cached_property
    def text(self) -> str:
        """All of it in one line, the same for the same notebook."""
        return json.dumps([self.metadata, self.cells], sort_keys=True)


def read_template(path: Path) -> Template:
    """The released notebook at path.

    Raises:
        Refused: if there is none.
    """
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise Refused(
            f"{path} is missing or broken: write it with `nbgrader generate_assignment --force`."
        ) from None
    cells = ({**cell, "source": "".join(cell["source"])} for cell in notebook["cells"])
    return Template(path.stem, notebook["metadata"], tuple(cells))


def restore(
    template: Template, lesson: Lesson, handed_in: Sequence[Cell]
) -> tuple[list[dict], list[str]]:
    """The cells of the notebook to grade, and a sentence for everything that had to be repaired.

    Every exercise's answer and check are there exactly once, with the names, kinds and points of
    the release; checks have its text, answers the learner's. All else is as it was handed in.

    Raises:
        Unreadable: if nothing of this lesson is in it.
    """
    _hold_to_lesson(handed_in, lesson)
    work = _Restoration(template, lesson, handed_in)
    work.stitch_split_cells()
    work.take_out_checks()
    work.match_plain_cells()
    for task in lesson.exercises:
        if not isinstance(task, FreeAnswer):
            work.match_answer(task)
    for task in lesson.exercises:
        if isinstance(task, FreeAnswer):
            work.match_free_answer(task)
    work.put_back_missing()
    work.say_all_at_once()
    return work.notebook_cells(), work.repairs


def likeness(cells: Sequence[Cell], lesson: Lesson) -> float:
    """How much of a lesson is in a notebook: 0 for nothing, 1 if every exercise is recognised."""
    names = {cell.name for cell in cells}
    texts = {cell.source.strip() for cell in cells}
    headings = "\n".join(cell.source for cell in cells if cell.kind == "markdown")
    defined = set().union(*(bound_names(cell.source) for cell in cells if cell.kind == "code"))
    found = 0.0
    for place, task in enumerate(lesson.exercises, 1):
        if names & {task.name, f"check-{task.name}"} or (
            f"Exercise {lesson.number}.{place} · `{task.variable}`" in headings
            or texts & check_texts(task)
        ):
            found += 1
        elif task.variable in defined:
            found += 0.5
    return found / len(lesson.exercises)


def check_texts(task: Task) -> set[str]:
    """What the check cell of an exercise may say."""
    return {f"check({task.variable})", f"check({task.variable}={task.variable})"}


def likest_lesson(cells: Sequence[Cell]) -> Lesson | None:
    """The lesson of this course that a notebook is most like, if it is like any."""
    lessons = load_lessons()
    best = max(lessons, key=lambda lesson: likeness(cells, lesson))
    return best if likeness(cells, best) > 0 else None


def heading(source: str) -> str | None:
    """The heading of an exercise in a cell of text, without its points and minutes."""
    found = re.search(r"^#+ (Exercise \d+\.\d+ · `\w+`)", source, re.MULTILINE)
    return found and found.group(1)


def bound_names(source: str) -> set[str]:
    """The names that a cell gives a value to at its top level, read off its lines: nothing is run.

    Works on code with syntax errors, and in time proportional to the text, whatever it is.
    """
    names: set[str] = set()
    for line in source.splitlines():
        line = line[:MAX_LINE]
        if not line or line[0].isspace():
            continue
        defined = re.match(r"(?:async\s+)?(?:def|class)\s+(\w+)", line)
        imported = re.match(r"(?:from\s+\S+\s+)?import\s+(.*)", line)
        if defined:
            names.add(defined.group(1))
        elif imported:
            words = (part.split() for part in imported.group(1).strip("()").split(","))
            names.update(part[-1] for part in words if part)
        else:
            names.update(_assigned(line))
    return names


def _assigned(line: str) -> Iterator[str]:
    head, sign, tail = line.partition("=")
    if not sign or tail.startswith("="):
        return
    for target in head.split(":")[0].split(","):
        target = target.strip(" \t()*")
        if target.isidentifier():
            yield target


def _hold_to_lesson(cells: Sequence[Cell], lesson: Lesson) -> None:
    own = likeness(cells, lesson)
    if own >= 0.5:
        return
    other = likest_lesson(cells)
    if other is not None and other is not lesson and likeness(cells, other) >= 2 * own:
        raise Unreadable(f"it holds lesson {other.number} ({other.title}), not {lesson.number}")
    if own == 0:
        raise Unreadable(f"nothing of lesson {lesson.number} is in it")


def _plain(text: str) -> str:
    """Text without what editors change by themselves."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


@dataclass(eq=False)
class _Piece:
    """One cell on its way: the learner's text, and the released cell that it is taken for."""

    cell: Cell
    released: dict | None = None

    def was_changed(self, released: dict) -> bool:
        """Whether its text is another than a released cell's."""
        own, theirs = self.cell.source, released["source"]
        return own != theirs and _plain(own) != _plain(theirs)


class _Restoration:
    """One notebook at work; `restore` says in which order."""

    def __init__(self, template: Template, lesson: Lesson, handed_in: Sequence[Cell]) -> None:
        self.repairs: list[str] = []
        self._nameless: list[str] = []
        self._lost_locked: list[str] = []
        self._released = {cell["id"]: cell for cell in template.cells}
        self._order = [cell["id"] for cell in template.cells]
        self._tasks = {task.name: task for task in lesson.exercises}
        self._checks = {
            f"check-{task.name}": task
            for task in lesson.exercises
            if not isinstance(task, FreeAnswer)
        }
        self._pieces = [_Piece(cell) for cell in handed_in]

    def say(self, sentence: str) -> None:
        self.repairs.append(sentence)

    def stitch_split_cells(self) -> None:
        """Join a code cell that starts with an indented line to the one before it."""
        stitched: list[_Piece] = []
        for piece in self._pieces:
            before = stitched[-1].cell if stitched else None
            text = piece.cell.source.lstrip("\n")
            if before and before.kind == piece.cell.kind == "code" and text[:1] in ("\t", " "):
                stitched[-1].cell = replace(before, source=f"{before.source}\n{piece.cell.source}")
                self.say(f"{self._called(before)} was split; its halves were joined")
            else:
                stitched.append(piece)
        self._pieces = stitched

    def take_out_checks(self) -> None:
        """Put the release's own check in place of each check cell, and drop further copies."""
        by_text = {self._released[name]["source"]: name for name in self._checks}
        seen: set[str] = set()
        kept: list[_Piece] = []
        for piece in self._pieces:
            text = piece.cell.source.strip()
            name = piece.cell.name if piece.cell.name in self._checks else by_text.get(text, "")
            if not name:
                kept.append(piece)
                continue
            exact = text == self._released[name]["source"]
            if not exact and bound_names(piece.cell.source) & self._variables():
                self.say(
                    f"the locked cell {name} held an answer; that was kept in a cell of its own"
                )
                kept.append(_Piece(replace(piece.cell, name="")))
            elif name in seen:
                self.say(f"a second copy of the locked cell {name} was left out")
                continue
            elif not exact:
                self.say(f"the locked cell {name} was changed; its own text was put back")
            elif piece.cell.kind != "code":
                self.say(f"the locked cell {name} was {piece.cell.kind}; it is code again")
            if name not in seen:
                seen.add(name)
                kept.append(_Piece(piece.cell, self._released[name]))
        self._pieces = kept

    def match_plain_cells(self) -> None:
        """Recognise prose and code that carry no points, by their text or by their name."""
        plain = [self._released[name] for name in self._order if self._is_plain(name)]
        by_text: dict[str, list[dict]] = {}
        for cell in reversed(plain):
            by_text.setdefault(_plain(cell["source"]), []).append(cell)
        taken: set[str] = set()
        for piece in self._pieces:
            same = by_text.get(_plain(piece.cell.source))
            if piece.released is None and same:
                piece.released = same.pop()
                taken.add(piece.released["id"])
        headings = {heading(cell["source"]): cell["id"] for cell in plain}
        for piece in self._pieces:
            by_heading = headings.get(heading(piece.cell.source) or "none", "")
            for name in (piece.cell.name, by_heading):
                known = name in self._released and self._is_plain(name)
                if piece.released is None and known and name not in taken:
                    piece.released = self._released[name]
                    taken.add(name)
        for piece in self._pieces:
            if piece.released is None or not self._is_plain(piece.released["id"]):
                continue
            kind = piece.released["cell_type"]
            if piece.cell.kind != kind and "code" in (kind, piece.cell.kind):
                self.say(f"a cell of the lesson's text was {piece.cell.kind}; it is {kind} again")
            piece.cell = replace(piece.cell, kind=kind)
            if _is_locked(piece.released) and piece.was_changed(piece.released):
                name = piece.released["id"]
                self.say(f"the locked cell {name} was changed; its own text was put back")

    def match_answer(self, task: Task) -> None:
        """Find the cell that answers an exercise in code."""
        released = self._released[task.name]
        stub = _plain(released["source"])
        named = [p for p in self._free() if p.cell.name == task.name]
        defining = [p for p in self._open() if task.variable in bound_names(p.cell.source)]
        code = [p for p in defining if p.cell.kind == "code"] or defining
        filled = [p for p in code if _plain(p.cell.source) != stub]
        stubs = [p for p in code if _plain(p.cell.source) == stub]
        filled = filled or [p for p in named if _plain(p.cell.source) != stub]
        candidates = filled or stubs[-1:] or named[-1:]
        if extra := [p for p in stubs if p not in candidates]:
            self.say(f"an empty copy of the cell of {task.name} was left out")
            self._drop(extra)
        own = [p for p in candidates if p in named] or candidates
        if not own:
            self._say_missing(task)
            return
        if len(candidates) > 1:
            self.say(f"{task.name} stands in {len(candidates)} cells; the last one counts")
            own = candidates
        self._take(own[-1], task)

    def _take(self, piece: _Piece, task: Task) -> None:
        owner = self._tasks.get(piece.cell.name, task)
        its_own = owner is task or owner.variable not in bound_names(piece.cell.source)
        if piece.released is not None or not its_own:
            other = piece.released["id"] if piece.released else piece.cell.name
            self.say(f"{task.name} stands in the cell of {other}")
            note = f"# {task.variable} stands in another cell."
            place = self._pieces.index(piece)
            self._pieces.insert(place, _Piece(Cell("code", note), self._released[task.name]))
            return
        if piece.cell.kind != "code":
            self.say(f"the cell of {task.name} was {piece.cell.kind}; it is code again")
            piece.cell = replace(piece.cell, kind="code")
        if piece.cell.name != task.name:
            self._nameless.append(task.name)
        piece.released = self._released[task.name]

    def match_free_answer(self, task: Task) -> None:
        """Find what answers an exercise in words: by its name, else below its heading."""
        stub = _plain(self._released[task.name]["source"])
        named = [p for p in self._free() if p.cell.name == task.name]
        pieces = [p for p in named if _plain(p.cell.source) not in (stub, "")]
        if not pieces:
            pieces = [p for p in self._below_heading(task) if _plain(p.cell.source) != stub]
            if pieces:
                self._nameless.append(task.name)
        if not pieces and not named:
            named = [p for p in self._below_heading(task) if _plain(p.cell.source) == stub]
        pieces = pieces or named
        if not pieces:
            self._say_missing(task)
            return
        if any(piece.cell.kind == "code" for piece in pieces):
            self.say(f"the answer to {task.name} was in a code cell; it is text again")
        if len(pieces) > 1:
            self.say(f"the answer to {task.name} stood in {len(pieces)} cells; they were joined")
        text = "\n\n".join(piece.cell.source for piece in pieces)
        pieces[0].cell = replace(pieces[0].cell, kind="markdown", source=text)
        pieces[0].released = self._released[task.name]
        self._drop([p for p in named + pieces[1:] if p is not pieces[0]])

    def put_back_missing(self) -> None:
        """Insert what the release has and the learner's file has not, as far as it matters."""
        there = {p.released["id"] for p in self._pieces if p.released is not None}
        defined = set().union(
            *(bound_names(p.cell.source) for p in self._pieces if p.cell.kind == "code")
        )
        for name in self._order:
            if name in there:
                continue
            cell = self._released[name]
            if name in self._checks or _is_locked(cell):
                self._lost_locked.append(name)
            elif self._is_plain(name):
                lost = bound_names(cell["source"]) - defined
                if cell["cell_type"] != "code" or not lost:
                    continue
                self.say(f"a cell that defines {', '.join(sorted(lost)[:3])} was deleted; put back")
            place = self._place_of(name)
            self._pieces.insert(place, _Piece(Cell(cell["cell_type"], cell["source"]), cell))

    def say_all_at_once(self) -> None:
        """Say in one sentence what happened to many cells, as where metadata is stripped."""
        lost, nameless = self._lost_locked, self._nameless
        if len(lost) == 1:
            self.say(f"the locked cell {lost[0]} was deleted; it was put back")
        elif lost:
            self.say(f"{len(lost)} locked cells were deleted ({_some(lost)}); they were put back")
        if len(nameless) == 1:
            self.say(f"the cell of {nameless[0]} had lost its name; it was found by what is in it")
        elif nameless:
            told = f"{len(nameless)} cells had lost their names ({_some(nameless)})"
            self.say(f"{told}; they were found by what is in them")

    def notebook_cells(self) -> list[dict]:
        """The cells, as nbformat 4.5 writes them."""
        used = set(self._order)
        return [_written(piece, used) for piece in self._pieces]

    def _free(self) -> list[_Piece]:
        """Pieces that are not taken for any released cell."""
        return [p for p in self._pieces if p.released is None]

    def _open(self) -> list[_Piece]:
        """Pieces in which an answer may stand: all but checks and text that nobody changed."""
        return [
            p
            for p in self._pieces
            if p.released is None
            or (p.released["id"] not in self._checks and p.was_changed(p.released))
        ]

    def _below_heading(self, task: Task) -> list[_Piece]:
        """The learner's own cells between an exercise's heading and the next released cell."""
        above = self._order[self._order.index(task.name) - 1]
        names = [piece.released and piece.released["id"] for piece in self._pieces]
        if above not in names:
            return []
        below = self._pieces[names.index(above) + 1 :]
        found = list(takewhile(lambda piece: piece.released is None, below))
        return [p for p in found if p.cell.kind != "code"] or found[:1]

    def _place_of(self, name: str) -> int:
        """Where a missing cell belongs: behind the nearest released cell before it."""
        before = self._order[: self._order.index(name)]
        places = {
            piece.released["id"]: place
            for place, piece in enumerate(self._pieces)
            if piece.released is not None
        }
        return next((places[other] + 1 for other in reversed(before) if other in places), 0)

    def _drop(self, pieces: list[_Piece]) -> None:
        self._pieces = [p for p in self._pieces if not any(p is gone for gone in pieces)]

    def _say_missing(self, task: Task) -> None:
        self.say(f"the cell of {task.name} was deleted; an empty one was put back")

    def _is_plain(self, name: str) -> bool:
        return name not in self._checks and name not in self._tasks

    def _variables(self) -> set[str]:
        return {task.variable for task in self._tasks.values()}

    def _called(self, cell: Cell) -> str:
        names = bound_names(cell.source) & self._variables()
        return min(names) if names else cell.name if cell.name in self._released else "a cell"


def _is_locked(released: dict) -> bool:
    """Whether a released cell is not the learner's to change."""
    return bool(released["metadata"].get("nbgrader", {}).get("locked"))


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (" ..." if len(names) > 3 else "")


def _written(piece: _Piece, used: set[str]) -> dict:
    """One cell of the notebook; a released one by its own name, any other by one from its text."""
    kind, source, released = piece.cell.kind, piece.cell.source, piece.released
    if released is None:
        cell: dict = {"cell_type": "code" if kind == "code" else "markdown"}
        cell.update(id=_new_id(source, used), metadata={}, source=source)
    else:
        cell = {
            "cell_type": released["cell_type"],
            "id": released["id"],
            "metadata": json.loads(json.dumps(released["metadata"])),
            "source": released["source"] if _is_locked(released) else source,
        }
    if cell["cell_type"] == "code":
        cell.update(execution_count=None, outputs=[])
    return cell


def _new_id(source: str, used: set[str]) -> str:
    name = hashlib.sha256(source.encode()).hexdigest()[:12]
    count = 1
    while (found := name if count == 1 else f"{name}-{count}") in used:
        count += 1
    used.add(found)
    return found
