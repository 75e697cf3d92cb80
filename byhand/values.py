"""Judging values: what a learner worked out by hand, or predicted."""

import math
from collections.abc import Sequence

import numpy as np

from .ask import Answer
from .probe import ValueProbe, digest
from .tree import Other
from .verdict import Verdict
from .wording import count, describe, join, one_line

QUESTIONS = {
    "value": "Which step would you redo first?",
    "choice": "Which small example of your own would tell the options apart?",
    "shape": "Which array does each length come from?",
}


def judge_value(probe: ValueProbe, answer: Answer) -> Verdict:
    """Judge a value worked out by hand, or a prediction."""
    stage, headline = _value_problem(probe, answer)
    mistake = None
    if stage == "value":
        given = fingerprints(probe, answer.value)
        slips = (name for name, known in probe.mistaken.items() if agrees(given, known))
        mistake = next(slips, None)
    points = sum(probe.points)
    return Verdict(
        exercise=probe.name,
        function=probe.variable,
        stage=stage,
        parts={probe.variable: stage is None},
        score=0.0 if stage else points,
        points=points,
        headline=headline,
        cause=probe.says[mistake] if mistake else "",
        question=QUESTIONS.get(probe.kind, "") if stage == "value" and not mistake else "",
        mistake=mistake,
    )


def _value_problem(probe: ValueProbe, answer: Answer) -> tuple[str | None, str]:
    """The stage at which a value is wrong, or None, and the headline."""
    value = answer.value
    if answer.failure == "unreadable":
        return "type", f"cannot be read; expected {probe.form}."
    if answer.failure in ("timeout", "died"):
        return "missing", "not there: its notebook did not run to its end."
    if answer.failure or answer.raised or value is None or _has_dots(value):
        return "missing", f"not answered yet: replace the dots with {probe.form}."
    shape = _shape(value)
    if shape is None or len(shape) != len(probe.shape):
        return "type", f"is {describe(value)}; expected {probe.form}."
    if probe.in_any_order and len(shape) == 1:
        return _unordered_problem(probe, value)
    if shape != probe.shape:
        if len(shape) > 1:
            return "shape", f"has shape {shape}; expected {probe.form}."
        found = count(shape[0], "entry", "entries")
        return "shape", f"has {found}; the right answer has {probe.shape[0]}."
    given = fingerprints(probe, value)
    if agrees(given, probe.digests):
        return None, "right. Well done!"
    entries = _entries(value)
    if probe.options and canonical(value, 0) not in [canonical(one, 0) for one in probe.options]:
        listed = ", ".join(f'"{option}"' for option in probe.options)
        return "type", f"is {_quoted(value)}; choose one of {listed}."
    if any(_is_text(entry) and (probe.tolerance or _is_a_number(entry)) for entry in entries):
        quoted = _quoted(next(entry for entry in entries if _is_text(entry)))
        return "type", f"holds the text {quoted}; numbers stand without quotes."
    right = [known in near for near, known in zip(given, probe.digests, strict=True)]
    if not any(right):
        return "value", "not right yet."
    places = [_place(flat, shape) for flat, fits in enumerate(right) if not fits]
    which = "entry" if len(places) == 1 else "entries"
    verb = "is" if len(places) == 1 else "are"
    return "value", f"{which} {join(places)} (counting from 0) {verb} not right yet."


def _unordered_problem(probe: ValueProbe, value: object) -> tuple[str | None, str]:
    """What is wrong with a list of words whose order does not count: one too much, or too few."""
    if agrees(fingerprints(probe, value), probe.digests):
        return None, "right. Well done!"
    words = [(_quoted(word), _unplaced(probe, word)) for word in _entries(value)]
    wrong = list(dict.fromkeys(word for word, mark in words if mark not in probe.digests))
    if wrong:
        more = [f"{len(wrong) - 3} more"] if len(wrong) > 3 else []
        verb = "does" if len(wrong) == 1 else "do"
        return "value", f"{join(wrong[:3] + more)} {verb} not belong here."
    if {mark for _, mark in words} < set(probe.digests):
        return "value", "right as far as it goes, but not all are there yet."
    return "value", "all are there, but one stands twice."


def _unplaced(probe: ValueProbe, word: object) -> str:
    return digest(probe.name, 0, canonical(word, 0))


def _has_dots(value: object) -> bool:
    """Whether a value is or holds the three dots of an answer that was not written yet."""
    if isinstance(value, (tuple, list)):
        return any(map(_has_dots, value))
    return value is Ellipsis or (isinstance(value, Other) and value.type_name == "ellipsis")


def _shape(value: object) -> tuple[int, ...] | None:
    """The shape of a number, a text, or an even nest of them; of all else None."""
    if isinstance(value, (dict, bytes, Other)):
        return None
    try:
        return np.shape(value)  # type: ignore[call-overload]
    except ValueError:  # lists of different lengths
        return None


def _entries(value: object) -> list[object]:
    """All entries of a value in one row."""
    return np.asarray(value, dtype=object).ravel().tolist()


def _place(flat: int, shape: tuple[int, ...]) -> str:
    index = [str(axis) for axis in np.unravel_index(flat, shape)]
    return index[0] if len(index) == 1 else f"[{', '.join(index)}]"


def _is_text(entry: object) -> bool:
    return isinstance(entry, str)


def _is_a_number(entry: object) -> bool:
    try:
        float(str(entry))
    except ValueError:
        return False
    return True


def _quoted(value: object) -> str:
    return f'"{one_line(str(value), 40)}"'


def fingerprints(probe: ValueProbe, value: object) -> list[set[str]]:
    """For each entry of a value, the digests under which the right one may be recorded.

    A number stands on a grid of width `tolerance`, and counts for its grid line and both
    neighbours; anything else stands for itself. Where order does not count, all words stand at one
    place, sorted by their digests.
    """
    if probe.in_any_order:
        return [{word} for word in sorted(_unplaced(probe, entry) for entry in _entries(value))]
    return [
        {digest(probe.name, place, near) for near in _near(entry, probe.tolerance)}
        for place, entry in enumerate(_entries(value))
    ]


def _near(entry: object, tolerance: float) -> tuple[object, ...]:
    nearest = canonical(entry, tolerance)
    if tolerance and isinstance(nearest, int):
        return nearest - 1, nearest, nearest + 1
    return (nearest,)


def canonical(entry: object, tolerance: float) -> int | float | str:
    """What stands for an entry in a digest: the nearest line of the grid, or lower-case text.

    Half-way between two lines the upper one is nearest, so that numbers one tolerance apart never
    stand more than one line apart.
    """
    if isinstance(entry, np.ndarray) and not entry.ndim:
        entry = entry.item()
    if isinstance(entry, (int, float, np.integer, np.floating)) and not isinstance(entry, bool):
        try:
            number = float(entry) + 0.0  # -0.0 becomes 0.0
            return math.floor(number / tolerance + 0.5) if tolerance else number
        except (OverflowError, ValueError):  # too large for a float; nan or infinite
            return "no number on the grid"
    return " ".join(str(entry).split()).casefold()


def agrees(given: list[set[str]], known: Sequence[str]) -> bool:
    """Whether each entry may be the known one."""
    return len(given) == len(known) and all(
        entry in near for near, entry in zip(given, known, strict=True)
    )
