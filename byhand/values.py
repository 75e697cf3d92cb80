"""Judging values: what a learner worked out by hand, or predicted."""

from collections.abc import Sequence

import numpy as np

from .ask import Answer
from .probe import ValueProbe, digest
from .tree import Other
from .verdict import Verdict
from .wording import describe, join, shorten


def judge_value(probe: ValueProbe, answer: Answer) -> Verdict:
    """Judge a value worked out by hand, or a prediction."""
    stage, headline, right = _value_problem(probe, answer)
    mistake = None
    if stage == "value":
        given = fingerprints(probe, answer.value)
        mistake = next(
            (name for name, known in probe.mistaken.items() if agrees(given, known)), None
        )
    points = sum(probe.points)
    question = "" if stage in (None, "missing") or mistake else "Which step would you redo first?"
    return Verdict(
        probe.name, probe.variable, stage, {probe.variable: right}, points if right else 0.0,
        points, headline, cause=probe.says[mistake] if mistake else "", question=question,
        mistake=mistake,
    )  # fmt: skip


def _value_problem(probe: ValueProbe, answer: Answer) -> tuple[str | None, str, bool]:
    value = answer.value
    if answer.failure == "missing" or (isinstance(value, Other) and value.type_name == "ellipsis"):
        return "missing", f"not answered yet: replace the dots with {probe.form}.", False
    if answer.failure or answer.raised or value is None:
        return "missing", f"not answered yet: write {probe.form}.", False
    if probe.options and value not in probe.options:
        listed = ", ".join(f'"{option}"' for option in probe.options)
        return "type", f"is {shorten(repr(value), 40)}; choose one of {listed}.", False
    try:
        shape = np.shape(value)  # type: ignore[arg-type]
    except ValueError:
        return "type", f"expected {probe.form}.", False
    if isinstance(value, Other) or len(shape) != len(probe.shape):
        return "type", f"is {describe(value)}; expected {probe.form}.", False
    if shape != probe.shape:
        return "shape", f"has {shape[0]} entries; expected {probe.form}.", False
    given = fingerprints(probe, value)
    if agrees(given, probe.digests):
        return None, "right.", True
    entries = [known in near for near, known in zip(given, probe.digests, strict=True)]
    if any(entries):
        names = [str(place) for place, right in enumerate(entries) if not right]
        which = "entry" if len(names) == 1 else "entries"
        return "value", f"{which} {join(names)} (counted from 0) not right yet.", False
    return "value", "not right yet.", False


def fingerprints(probe: ValueProbe, value: object) -> list[set[str]]:
    """For each entry of a value, the digests under which the right one may be recorded.

    A number stands on a grid of width `tolerance`, and counts for its grid line and both
    neighbours; anything else stands for itself.
    """
    entries = np.asarray(value, dtype=object).ravel().tolist()
    return [
        {digest(probe.name, place, near) for near in _near(entry, probe.tolerance)}
        for place, entry in enumerate(entries)
    ]


def _near(entry: object, tolerance: float) -> tuple[object, ...]:
    nearest = canonical(entry, tolerance)
    if tolerance and isinstance(nearest, int):
        return nearest - 1, nearest, nearest + 1
    return (nearest,)


def canonical(entry: object, tolerance: float) -> int | float | str:
    """What stands for an entry in a digest: the nearest line of the grid, or lower-case text."""
    if isinstance(entry, (int, float, np.number)) and not isinstance(entry, bool):
        number = float(entry)
        return round(number / tolerance) if tolerance and np.isfinite(number) else number
    return str(entry).strip().casefold()


def agrees(given: list[set[str]], known: Sequence[str]) -> bool:
    """Whether each entry may be the known one."""
    return len(given) == len(known) and all(
        entry in near for near, entry in zip(given, known, strict=True)
    )
