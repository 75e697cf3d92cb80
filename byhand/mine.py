"""`mine`: the learner's own function from an earlier lesson, once it is right.

At home the function is taken from the earlier notebook: the definition itself, and of the rest of
that notebook only what the definition needs (imports, helpers, earlier exercises), not its plots
and prints. In grading nothing is read: see `serve_from`.
"""

import ast
import contextlib
import io
import linecache
import re
import symtable
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .check import CheckFailed, judge
from .desk import Lesson, Refused, answer_place, lesson_of, read_cells, shown
from .lent import LENT
from .probe import FunctionProbe, NoSuchExercise, load

_lend: Callable[[str], Callable] | None = None
_found: dict[tuple, Callable] = {}
_solving = False  # while a solution is being taken


class NotFinished(CheckFailed):
    """The earlier exercise is not right yet; the message says which lesson to finish.

    Attributes:
        found: the part of the message that says what was found.
    """

    def __init__(self, message: str, found: str = "") -> None:
        super().__init__(message)
        self.found = found or message

    def _render_traceback_(self) -> list[str]:
        return [f"NotFinished: {self}"]


class _NotRight(Exception):
    """Why a function cannot be taken, and which one: its own, or an earlier one that it uses."""

    def __init__(self, variable: str, why: str) -> None:
        super().__init__(why)
        self.variable = variable


def serve_from(lend: Callable[[str], Callable] | None) -> None:
    """Let `mine` answer from somewhere else: the grader's hook.

    While it is installed, `mine(name)` returns `lend(name)` (the name with underscores), and no
    file is read. What is lent must raise an exception of one clear sentence when it is called
    while no question is being asked. None takes the hook away.
    """
    global _lend
    _lend = lend


def mine(name: str, *, solution: bool = False) -> Callable:
    """Your own function from an earlier lesson: `softmax = mine("softmax")`.

    A tool that the course lends (`LENT`) is always to be had: your own if it is right, else the
    course's, which is said.

    Args:
        name: the function's name.
        solution: take the course's solution for as long as yours is not right.

    Raises:
        NotFinished: if yours is not right yet; it says which lesson to finish.
    """
    if not isinstance(name, str):
        raise NotFinished('Give the name in quotes: mine("softmax").')
    lent = LENT.get(name.replace("-", "_"))
    if _lend is not None:
        return lent or _lend(name.replace("-", "_"))
    if lent is None:
        return _mine(name, solution)
    try:
        return _mine(name, solution=False)
    except NotFinished as error:
        print(f"{lent.__name__}: the course's own, until yours is right. {error.found}")
        return lent


def _mine(name: str, solution: bool) -> Callable:
    try:
        probe = load(name.replace("_", "-"))
        lesson = lesson_of(probe.name)
    except (NoSuchExercise, Refused) as error:
        raise NotFinished(str(error)) from None
    if not isinstance(probe, FunctionProbe):
        raise NotFinished(f"{probe.variable} is a value; only functions are taken along.")
    try:
        return _right_one(_notebook_of(lesson, probe.variable), lesson, probe)
    except Refused as error:  # its notebook cannot be read
        raise NotFinished(str(error)) from None
    except _NotRight as error:
        solved = _solved_notebook_of(lesson)
        if (solution or _solving) and solved:
            return _solution(solved, lesson, probe)
        offer = f'take the course\'s with mine("{probe.variable}", solution=True)'
        ways = f"or {offer}" if solved else "this edition carries no solutions to take instead"
        raise NotFinished(
            f"{error} Finish exercise {error.variable} in lesson {lesson.number} "
            f"({lesson.title}), save that notebook, and run this cell again; {ways}.",
            found=str(error),
        ) from None


def _solution(solved: Path, lesson: Lesson, probe: FunctionProbe) -> Callable:
    """The course's solution, and with it the course's own for what it takes from lessons before."""
    global _solving
    before, _solving = _solving, True
    try:
        print(f"{probe.variable}: the course's solution, until yours is right.")
        return _right_one(solved, lesson, probe)
    finally:
        _solving = before


# Where notebooks lie


def _notebook_of(lesson: Lesson, variable: str) -> Path:
    """The learner's notebook of a lesson: in the layout of work/, beside this one, or in work/."""
    here = Path.cwd()
    places = [here / lesson.path.name]
    for folder in (here, *here.parents):
        places += [folder / lesson.path, folder / "work" / lesson.path]
    for place in places:
        if place.is_file():
            return place
    raise _NotRight(variable, f"The notebook {lesson.path.name} is not in your folder.")


def _solved_notebook_of(lesson: Lesson) -> Path | None:
    here = Path.cwd()
    places = (folder / "solutions" / lesson.path for folder in (here, *here.parents))
    return next((place for place in places if place.is_file()), None)


# Taking a function out of a notebook


def _right_one(notebook: Path, lesson: Lesson, probe: FunctionProbe) -> Callable:
    """The function as the notebook has it, if it is right.

    Raises:
        _NotRight: if it is not; the message is one sentence on what was found.
    """
    state = notebook.stat()
    key = (str(notebook.resolve()), state.st_mtime_ns, state.st_size, probe.name)
    if key not in _found:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                function = _Extract(notebook, lesson, probe).run()
                verdict = judge(probe, function)
        except NotFinished:  # a `mine` of a lesson before that one
            raise
        except CheckFailed as failed:
            raise _NotRight(probe.variable, str(failed)) from None
        if not verdict.passed:
            raise _NotRight(probe.variable, f"{probe.variable}: {verdict.headline}")
        _found[key] = function
    return _found[key]


@dataclass(frozen=True)
class _Statement:
    """One top-level statement of a notebook, the names that it binds, and those that it reads."""

    place: int  # of its cell
    file: str
    node: ast.stmt
    binds: frozenset[str]
    reads: frozenset[str]


class _Extract:
    """The part of a notebook that makes one function.

    Attributes:
        own: the index of the exercise's own cell.
        chosen: the statements of the part, in the order in which they were found to be needed.
        borrowed: earlier exercises of the notebook that it uses; they must be right themselves.
    """

    def __init__(self, path: Path, lesson: Lesson, probe: FunctionProbe) -> None:
        self.path, self.lesson, self.probe = path, lesson, probe
        cells = read_cells(path)
        own = answer_place(cells, probe.name)
        if own is None:
            raise self._missing()
        self.own = own
        self.statements = list(self._parsed(cells))
        self.chosen = [one for one in self.statements if "*" in one.binds]  # from numpy import *
        self.borrowed: set[str] = set()
        self._need(probe.variable)
        if not any(probe.variable in statement.binds for statement in self.chosen):
            raise self._missing()

    def run(self) -> Callable:
        """Run the part in a fresh namespace, and return the function."""
        variable = self.probe.variable
        namespace: dict[str, Any] = {"__name__": f"{self.path.stem}.{variable}"}
        for name in sorted(self.borrowed):
            earlier = load(name.replace("_", "-"))
            assert isinstance(earlier, FunctionProbe)
            namespace[name] = _right_one(self.path, self.lesson, earlier)
        for statement in sorted(self.chosen, key=self.statements.index):
            part = ast.Module([statement.node], [])
            try:
                exec(compile(part, statement.file, "exec", dont_inherit=True), namespace)
            except NotFinished:
                raise
            except Exception as error:
                line = ast.unparse(statement.node).splitlines()[0]
                why = f"{variable}: `{line}` raises {type(error).__name__}: {error}."
                raise _NotRight(variable, why) from None
        return namespace[variable]

    def _missing(self) -> _NotRight:
        variable = self.probe.variable
        return _NotRight(variable, f"{shown(self.path)} has no function {variable}.")

    def _parsed(self, cells: list[dict[str, Any]]) -> Iterator[_Statement]:
        """All statements of the notebook; a cell that is not Python is left out.

        Raises:
            _NotRight: if the exercise's own cell is not Python.
        """
        for place, cell in enumerate(cells):
            if cell["cell_type"] != "code":
                continue
            source = plain_python(cell["source"])
            file = f"<{self.path.name}, cell {cell.get('id') or place}>"
            try:
                found = [
                    _Statement(place, file, node, frozenset(_bound(node)), frozenset(_read(node)))
                    for node in ast.parse(source).body
                ]
            except SyntaxError as error:
                if place == self.own:
                    variable, kind = self.probe.variable, type(error).__name__
                    why = f"{variable}: its cell has a {kind} in line {error.lineno}: {error.msg}."
                    raise _NotRight(variable, why) from None
                continue
            linecache.cache[file] = (len(source), None, source.splitlines(True), file)
            yield from found

    def _need(self, name: str) -> None:
        """Choose the statements that make `name`, and all that these need in their turn."""
        exercise = name.replace("_", "-")
        before = self.lesson.exercises[: self.lesson.exercises.index(self.probe.name)]
        if exercise in before and isinstance(load(exercise), FunctionProbe):
            self.borrowed.add(name)
            return
        making = [statement for statement in self.statements if name in statement.binds]
        # In the exercise's own cell, else the nearest before it, else the first after it.
        place = max((one.place for one in making if one.place <= self.own), default=None)
        if place is None:
            place = min((one.place for one in making), default=None)
        for statement in making:
            if statement.place == place and statement not in self.chosen:
                self.chosen.append(statement)
                for other in sorted(statement.reads):
                    self._need(other)


def plain_python(source: str) -> str:
    """A cell's source without IPython's own syntax: `%`, `!` and `?` become calls."""
    if source.startswith("%%"):
        source = "\n" + source.partition("\n")[2]  # the cell below `%%time` is still Python
    if not re.search(r"^\s*[%!?]|\?\s*$|=\s*[%!]", source, re.MULTILINE):
        return source
    from IPython.core.inputtransformer2 import TransformerManager

    return TransformerManager().transform_cell(source)


def _bound(node: ast.stmt) -> Iterator[str]:
    """Names that a top-level statement binds."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif not isinstance(node, ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _bound(child)  # type: ignore[arg-type]


def _read(node: ast.stmt) -> Iterator[str]:
    """Names that a statement looks up in the notebook: not those local to its functions."""
    tables = [symtable.symtable(ast.unparse(node), "<statement>", "exec")]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        at_top = table.get_type() == "module"
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (at_top or symbol.is_global()):
                yield symbol.get_name()
