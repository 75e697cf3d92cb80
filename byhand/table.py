"""The table of an answer that holds many arrays: a line for each, in the order of their making."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .ask import Answer
from .probe import FunctionProbe
from .problems import split
from .ruler import as_array, close, is_numeric

EXACT, CLOSE, WRONG = "exact", "close", "wrong"
NEAR = 0.01  # of the largest expected entry: a small term is off, not the whole way of computing


@dataclass(frozen=True)
class Line:
    """How one array of an answer compares with the expected one.

    Attributes:
        name: under which the answer holds it.
        shape: that it should have.
        error: the worst on any input, as a share of the largest expected entry; nan where the two
            cannot be compared.
        word: "exact" to the exercise's tolerance, "close" below 1 % but not right, or "wrong".
    """

    name: str
    shape: tuple[int, ...]
    error: float
    word: str


def table_of(probe: FunctionProbe, answers: Sequence[Answer]) -> tuple[Line, ...]:
    """The lines of an exercise's table, from the inputs that may be shown.

    Nothing, if the exercise has no table or an answer does not hold what a table needs.
    """
    pairs = []
    for case, answer in zip(probe.cases, answers, strict=True):
        if case.public:
            wanted = _arrays(split(case.expected, probe.returns))
            try:
                pairs.append((_arrays(split(answer.value, probe.returns)), wanted))
            except (AssertionError, ValueError):  # of another kind than it should be
                return ()
    if not all(name in given for name in probe.table for given, _ in pairs):
        return ()
    return tuple(_line(name, pairs, probe.tolerance) for name in probe.table)


def first_wrong(table: Sequence[Line]) -> Line | None:
    """The first line that is not exact, or None."""
    return next((line for line in table if line.word != EXACT), None)


def where_to_begin(table: Sequence[Line]) -> str:
    """A sentence on the first line that is not exact, or nothing if all are."""
    first = first_wrong(table)
    if first is None:
        return ""
    after = table[table.index(first) + 1 :]
    start = f"On the way back, {first.name} is the first that is not right: begin there."
    if len(after) > 1 and all(line.word != EXACT for line in after):
        return f"{start} All after it are computed from it, and may be wrong for that reason alone."
    return start


def _arrays(parts: Mapping[str, object]) -> dict[str, object]:
    """The parts of an answer, and the entries of those parts that are dicts, by name."""
    found = dict(parts)
    for value in parts.values():
        if isinstance(value, dict):
            found = {**value, **found}
    return found


def _line(name: str, pairs: Sequence[tuple[dict, dict]], tolerance: float) -> Line:
    compared = [_compare(given[name], wanted[name], tolerance) for given, wanted in pairs]
    error = max((error for error, _ in compared), key=lambda error: (np.isnan(error), error))
    shape = as_array(pairs[0][1][name]).shape
    if all(right for _, right in compared):
        return Line(name, shape, error, EXACT)
    return Line(name, shape, error, CLOSE if error < NEAR else WRONG)


def _compare(given: object, wanted: object, tolerance: float) -> tuple[float, bool]:
    """The worst error of one array, and whether it is right."""
    if not is_numeric(given):
        return float("nan"), False
    yours, expected = as_array(given), as_array(wanted)
    if yours.shape != expected.shape:
        return float("nan"), False
    with np.errstate(all="ignore"):
        largest = float(np.abs(expected, dtype=float).max(initial=0.0)) or 1.0
        worst = float(np.abs(np.subtract(yours, expected, dtype=float)).max(initial=0.0))
    return worst / largest, bool(close(yours, expected, tolerance).all())
