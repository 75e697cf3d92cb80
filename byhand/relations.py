"""General relations between a wrong answer and the expected one: transposed, negated, scaled, …

A relation is named only if it explains every recorded input: a false accusation is worse than none.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Pair:
    """One part of one answer: what the learner gave, what was expected, and the arguments."""

    yours: np.ndarray
    expected: np.ndarray
    arguments: dict[str, object]


@dataclass(frozen=True)
class Relation:
    """A name for machines, and a sentence for the learner."""

    name: str
    says: str


def name_relation(pairs: list[Pair], tolerance: float) -> Relation | None:
    """The first relation that holds on every pair, or None.

    Args:
        pairs: the same part of the answer on every recorded input.
        tolerance: as for comparing values; relative.
    """
    if not pairs or any(pair.expected.dtype.kind not in "fiu" for pair in pairs):
        return None
    if any(pair.yours.dtype.kind not in "fiu" for pair in pairs):
        return None
    for search in (_permuted, _scaled, _offset, _sums, _only_masked, _only_repeated):
        relation = search(pairs, tolerance)
        if relation is not None:
            return relation
    return None


def close(yours: np.ndarray, expected: np.ndarray, tolerance: float) -> np.ndarray:
    """Entry by entry, whether yours agrees: relative to the entry and to the largest expected one.

    float32 on either side is compared to 1e-4, as good as float32 arithmetic allows.
    """
    if np.float32 in (yours.dtype, expected.dtype):
        tolerance = max(tolerance, 1e-4)
    finite = np.abs(expected[np.isfinite(expected)])
    largest = finite.max() if finite.size else 0.0
    with np.errstate(all="ignore"):
        return np.isclose(
            yours, expected, rtol=tolerance, atol=tolerance * min(largest, 1.0), equal_nan=True
        )


def _all_close(yours: np.ndarray, expected: np.ndarray, tolerance: float) -> bool:
    return yours.shape == expected.shape and bool(close(yours, expected, tolerance).all())


def _holds(
    pairs: list[Pair], tolerance: float, transform: Callable[[np.ndarray], np.ndarray]
) -> bool:
    """Whether yours is transform(expected) on every pair, and on one of them that is a change."""
    changed = [transform(pair.expected) for pair in pairs]
    return all(
        _all_close(pair.yours, other, tolerance) for pair, other in zip(pairs, changed, strict=True)
    ) and any(
        not _all_close(other, pair.expected, tolerance)
        for pair, other in zip(pairs, changed, strict=True)
    )


def _permuted(pairs: list[Pair], tolerance: float) -> Relation | None:
    if all(pair.expected.ndim < 2 for pair in pairs):
        return None
    if _holds(pairs, tolerance, lambda array: array.swapaxes(-1, -2) if array.ndim > 1 else array):
        return Relation(
            "transposed",
            "Your answer is the expected one transposed: its last two axes are swapped. "
            "Which axis should run over the rows?",
        )
    if _holds(pairs, tolerance, np.transpose):
        return Relation(
            "axes-reversed",
            "Your answer is the expected one with all its axes reversed. "
            "Which axes did you mean to swap?",
        )
    dimensions = {pair.expected.ndim for pair in pairs}
    if len(dimensions) == 1 and 2 < (ndim := dimensions.pop()) <= 4:
        for order in itertools.permutations(range(ndim)):
            if _holds(pairs, tolerance, lambda array, order=order: array.transpose(order)):
                return Relation(
                    "axes-permuted",
                    f"Your answer holds the right numbers with its axes in the order {order}. "
                    "In which order should they stand?",
                )
    return None


def _scaled(pairs: list[Pair], tolerance: float) -> Relation | None:
    ratios = [_ratio(pair, tolerance) for pair in pairs]
    known = [ratio for ratio in ratios if ratio is not None]
    if not known or any(
        ratio is None and np.any(pair.expected) for ratio, pair in zip(ratios, pairs, strict=True)
    ):
        return None
    if np.allclose(known, 1, rtol=tolerance):
        return None
    if np.allclose(known, -1, rtol=tolerance):
        return Relation(
            "negated",
            "Your answer is the expected one with the opposite sign. Where does the sign turn?",
        )
    named = _name_of_factors(
        [(ratio, pair) for ratio, pair in zip(ratios, pairs, strict=True) if ratio is not None]
    )
    if named:
        return Relation(
            f"factor-{named[0]}",
            f"Your answer is the expected one times {named[1]}, on every input. "
            "Where does that factor come in, or go missing?",
        )
    if np.allclose(known, known[0], rtol=1e-6):
        return Relation(
            "constant-factor",
            f"Your answer is {known[0]:.6g} times the expected one, on every input. "
            "Where does that factor come in, or go missing?",
        )
    return None


def _ratio(pair: Pair, tolerance: float) -> float | None:
    """yours / expected where that is one and the same number for all entries, else None."""
    if pair.yours.shape != pair.expected.shape or not np.isfinite(pair.expected).all():
        return None
    norm = float((pair.expected.astype(float) ** 2).sum())
    if not norm or not np.isfinite(pair.yours).all():
        return None
    ratio = float((pair.yours.astype(float) * pair.expected).sum()) / norm
    return ratio if ratio and _all_close(pair.yours, ratio * pair.expected, tolerance) else None


FACTORS: dict[str, tuple[str, Callable[[float], float]]] = {
    "sqrt-{}": ("the square root of {}", lambda n: n**0.5),
    "{}": ("{}", lambda n: n),
    "1/sqrt-{}": ("1 over the square root of {}", lambda n: n**-0.5),
    "1/{}": ("1 over {}", lambda n: 1 / n),
}


def _name_of_factors(ratios: list[tuple[float, Pair]]) -> tuple[str, str] | None:
    """A plain 2, or a length (its root, its inverse) that every ratio equals: name and words."""
    values = [ratio for ratio, _ in ratios]
    for name, words, factor in (("2", "2", 2.0), ("1/2", "one half", 0.5)):
        if np.allclose(values, factor, rtol=1e-6):
            return name, words
    for short, words, length_of in _lengths(ratios[0][1]):
        lengths = [length_of(pair) for _, pair in ratios]
        if None in lengths or set(lengths) == {1}:
            continue
        for pattern, (phrase, function) in FACTORS.items():
            if np.allclose(values, [function(float(n or 0)) for n in lengths], rtol=1e-6):
                here = ", ".join(str(n) for n in sorted({n or 0 for n in lengths}))
                return pattern.format(short), phrase.format(f"{words} (here {here})")
    return None


def _lengths(pair: Pair) -> Iterator[tuple[str, str, Callable[[Pair], int | None]]]:
    """Lengths to be read off the arguments: a short name, words, and how to read it."""
    for name, argument in pair.arguments.items():
        if not isinstance(argument, np.ndarray):
            continue
        for axis in range(-1, -argument.ndim - 1, -1):
            words = f"the length of axis {axis} of {name}"
            yield f"{name}-axis{axis}", words, _length_reader(name, axis)
        if argument.ndim > 2:
            yield f"{name}-rows", f"the number of rows in {name}", _size_reader(name)


def _length_reader(name: str, axis: int) -> Callable[[Pair], int | None]:
    def read(pair: Pair) -> int | None:
        argument = pair.arguments.get(name)
        if isinstance(argument, np.ndarray) and argument.ndim >= -axis:
            return int(argument.shape[axis])
        return None

    return read


def _size_reader(name: str) -> Callable[[Pair], int | None]:
    def read(pair: Pair) -> int | None:
        argument = pair.arguments.get(name)
        if isinstance(argument, np.ndarray) and argument.ndim:
            return int(np.prod(argument.shape[:-1]))
        return None

    return read


def _offset(pairs: list[Pair], tolerance: float) -> Relation | None:
    offsets = []
    for pair in pairs:
        if pair.yours.shape != pair.expected.shape or pair.expected.size < 2:
            return None
        with np.errstate(all="ignore"):
            difference = pair.yours.astype(float) - pair.expected
        if not np.isfinite(difference).all():
            return None
        offset = float(difference.mean())
        if not _all_close(pair.yours, pair.expected + offset, tolerance):
            return None
        offsets.append(offset)
    if np.allclose(offsets, 0, atol=tolerance):
        return None
    by = f"{offsets[0]:.6g} on every input" if np.allclose(offsets, offsets[0]) else "one number"
    return Relation(
        "offset",
        f"Every entry of your answer is off by {by}. What is added once too often, or too seldom?",
    )


def _sums(pairs: list[Pair], tolerance: float) -> Relation | None:
    """Expected rows sum to 1; yours do not, on every input where yours is wrong."""
    tolerance = max(tolerance, 1e-4 if any(p.yours.dtype == np.float32 for p in pairs) else 0)
    wrong = [pair for pair in pairs if not _all_close(pair.yours, pair.expected, tolerance)]
    if any(pair.yours.shape != pair.expected.shape or not pair.expected.ndim for pair in pairs):
        return None
    axes = [_unit_axis(pair.expected, tolerance) for pair in pairs]
    if None in axes or any(
        _unit_axis(pair.yours, tolerance, only=_unit_axis(pair.expected, tolerance)) is not None
        for pair in wrong
    ):
        return None
    if all(np.isclose(pair.yours.sum(), 1, rtol=tolerance) for pair in wrong):
        return Relation(
            "whole-sums-to-1",
            "Your weights sum to 1 over the whole array. Print their sum along each axis: "
            "over which axis should they?",
        )
    if all(_unit_axis(pair.yours, tolerance) is not None for pair in wrong):
        return Relation(
            "wrong-axis-sums-to-1",
            "Your weights sum to 1 along another axis than they should. "
            "Print their sum along each axis: which one is meant?",
        )
    return Relation(
        "rows-do-not-sum-to-1",
        "Your weights do not sum to 1. Print their sum: what did you divide by?",
    )


def _unit_axis(array: np.ndarray, tolerance: float, only: int | None = None) -> int | None:
    """The last axis (or just `only`) along which every sum is 1, or None."""
    for axis in range(array.ndim - 1, -1, -1) if only is None else (only,):
        with np.errstate(all="ignore"):
            if np.allclose(array.sum(axis=axis), 1, rtol=max(tolerance, 1e-9)):
                return axis
    return None


def _only_masked(pairs: list[Pair], tolerance: float) -> Relation | None:
    def masked(pair: Pair) -> np.ndarray:
        return (pair.expected == 0) | np.isneginf(pair.expected.astype(float))

    if not _differ_only_where(pairs, tolerance, masked):
        return None
    return Relation(
        "only-masked-differ",
        "Only entries that should be masked differ; all others are right. "
        "What should a masked entry weigh?",
    )


def _only_repeated(pairs: list[Pair], tolerance: float) -> Relation | None:
    def repeated(pair: Pair) -> np.ndarray:
        rows = np.zeros(pair.expected.shape[:1] or (1,), dtype=bool)
        for argument in pair.arguments.values():
            if isinstance(argument, np.ndarray) and argument.dtype.kind in "iu":
                ids, counts = np.unique(argument, return_counts=True)
                fits = (ids >= 0) & (ids < len(rows)) & (counts > 1)
                rows[ids[fits]] = True
        return np.broadcast_to(
            rows.reshape(-1, *[1] * (pair.expected.ndim - 1)), pair.expected.shape or (1,)
        )

    if any(not pair.expected.ndim for pair in pairs):
        return None
    if not _differ_only_where(pairs, tolerance, repeated):
        return None
    return Relation(
        "only-repeated-differ",
        "Only the rows of repeated ids differ; all others are right. "
        "What happens when one row is written twice?",
    )


def _differ_only_where(
    pairs: list[Pair], tolerance: float, region: Callable[[Pair], np.ndarray]
) -> bool:
    """Whether all wrong entries lie inside the region, and right ones outside it, on every pair."""
    seen_wrong = False
    for pair in pairs:
        if pair.yours.shape != pair.expected.shape:
            return False
        wrong = ~close(pair.yours, pair.expected, tolerance)
        inside = region(pair)
        if (wrong & ~inside).any():
            return False
        if wrong.any():
            seen_wrong = True
            if inside.all():
                return False
    return seen_wrong
