"""General relations between a wrong answer and the expected one: transposed, negated, scaled, …

A relation is named only if it explains every recorded input and the values of one at least tell it
from chance: a false accusation is worse than none.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from .ruler import all_close, as_array, close, is_numeric
from .wording import join

SAME_RATIO = 1e-5  # relative; float32 answers are no more exact
FEWEST = 3  # entries that a factor or an offset must explain


@dataclass(frozen=True)
class Pair:
    """One part of one answer.

    Attributes:
        yours: what the learner gave.
        expected: what the reference gave.
        arguments: what it was asked on, by name.
        public: whether a learner may be shown numbers of it.
    """

    yours: np.ndarray
    expected: np.ndarray
    arguments: dict[str, object]
    public: bool = True


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
    kinds = {array.dtype.kind for pair in pairs for array in (pair.yours, pair.expected)}
    if not pairs or not kinds <= set("fiu"):
        return None
    permuted = _permuted(pairs, tolerance)
    if permuted or any(pair.yours.shape != pair.expected.shape for pair in pairs):
        return permuted
    for search in (_scaled, _offset, _sums, _only_masked, _only_repeated):
        relation = search(pairs, tolerance)
        if relation is not None:
            return relation
    return None


def _permuted(pairs: list[Pair], tolerance: float) -> Relation | None:
    if _holds(pairs, tolerance, lambda array: array.swapaxes(-1, -2) if array.ndim > 1 else array):
        return Relation(
            "transposed",
            "Your answer is the expected one transposed: its last two axes are swapped. "
            "Which axis should run over the rows?",
        )
    if _holds(pairs, tolerance, np.transpose):
        return Relation(
            "axes-reversed",
            "Your answer is the expected one with the order of all its axes reversed. "
            "Which axes did you mean to swap?",
        )
    dimensions = {pair.expected.ndim for pair in pairs}
    if dimensions in ({3}, {4}):
        for order in itertools.permutations(range(*dimensions)):
            if _holds(pairs, tolerance, partial(np.transpose, axes=order)):
                return Relation(
                    "axes-permuted",
                    "Your answer holds the right numbers, but its axes stand in the order "
                    f"{order} of the expected ones. Which axis should come first?",
                )
    return None


def _holds(
    pairs: list[Pair], tolerance: float, transform: Callable[[np.ndarray], np.ndarray]
) -> bool:
    """Whether yours is transform(expected) on every pair, and the numbers of one pair tell it."""
    changed = [transform(pair.expected) for pair in pairs]
    return all(
        all_close(pair.yours, other, tolerance) for pair, other in zip(pairs, changed, strict=True)
    ) and any(
        not all_close(other.ravel(), pair.expected.ravel(), tolerance)
        for pair, other in zip(pairs, changed, strict=True)
    )


def _scaled(pairs: list[Pair], tolerance: float) -> Relation | None:
    scaled = [pair for pair in pairs if _finite(pair.expected).any()]
    zero = [pair for pair in pairs if not _finite(pair.expected).any()]
    if not all(all_close(pair.yours, pair.expected, tolerance) for pair in zero):
        return None
    ratios = [_ratio(pair, tolerance) for pair in scaled]
    if None in ratios or not _varied(np.abs(_pooled(scaled)), tolerance):
        return None
    factors = np.array(ratios, dtype=float)
    if _equal(factors, 1):
        return None
    if _equal(factors, -1):
        return Relation(
            "negated",
            "Your answer is the expected one with the opposite sign. Where does the sign turn?",
        )
    name, words = _name_of_factors(factors, scaled)
    if not name:
        return None
    return Relation(
        name,
        f"Your answer is {words}, on every input. Where does that factor come in, or go missing?",
    )


def _finite(array: np.ndarray) -> np.ndarray:
    """Its finite entries, in a row, as floats."""
    return array[np.isfinite(array)].astype(float)


def _pooled(pairs: list[Pair]) -> np.ndarray:
    return np.concatenate([_finite(pair.expected) for pair in pairs] or [np.zeros(0)])


def _varied(numbers: np.ndarray, tolerance: float) -> bool:
    """Whether there are enough different numbers to tell a factor or an offset from chance."""
    known = numbers[numbers != 0]
    return known.size >= FEWEST and float(np.ptp(known)) > 10 * tolerance * float(known.max())


def _equal(numbers: np.ndarray, other: np.ndarray | float) -> bool:
    return bool(np.allclose(numbers, other, rtol=SAME_RATIO, atol=0))


def _ratio(pair: Pair, tolerance: float) -> float | None:
    """yours / expected where that is one and the same number for all entries, else None."""
    finite = np.isfinite(pair.expected)
    yours, expected = pair.yours[finite].astype(float), pair.expected[finite].astype(float)
    largest = np.abs(expected).max()
    with np.errstate(all="ignore"):
        ratio = float((yours * (expected / largest)).sum() / ((expected / largest) ** 2).sum())
        ratio /= float(largest)
        if not ratio or not math.isfinite(ratio):
            return None
        return ratio if all_close(pair.yours, ratio * pair.expected, tolerance) else None


FACTORS: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "factor-sqrt-{}": ("the expected one times the square root of {}", lambda n: n**0.5),
    "factor-{}": ("the expected one times {}", lambda n: n),
    "factor-1/sqrt-{}": ("the expected one divided by the square root of {}", lambda n: n**-0.5),
    "factor-1/{}": ("the expected one divided by {}", lambda n: 1 / n),
}


def _name_of_factors(factors: np.ndarray, pairs: list[Pair]) -> tuple[str, str]:
    """2 or one half, a size (its root, its inverse) that every factor equals, or any number."""
    if _equal(factors, 2):
        return "factor-2", "twice the expected one"
    if _equal(factors, 0.5):
        return "factor-1/2", "half the expected one"
    tables = [_sizes(pair) for pair in pairs]
    for size, words in tables[0].items():
        if not all(size in table for table in tables):
            continue
        lengths = [table[size][1] for table in tables]
        for pattern, (phrase, function) in FACTORS.items():
            if _equal(factors, function(np.array(lengths))):
                seen = {n for n, pair in zip(lengths, pairs, strict=True) if pair.public}
                here = f" (here {join([f'{n:g}' for n in sorted(seen)])})" if seen else ""
                return pattern.format(size), phrase.format(words[0] + here)
    if _equal(factors, factors[0]) and pairs[0].public:
        return "constant-factor", f"{factors[0]:.6g} times the expected one"
    return "", ""


def _sizes(pair: Pair) -> dict[str, tuple[str, float]]:
    """Lengths and numbers among the arguments: a short name, words, and the number."""
    found: dict[str, tuple[str, float]] = {}
    for name, argument in pair.arguments.items():
        if isinstance(argument, np.ndarray) and argument.ndim:
            for axis in range(-1, -argument.ndim - 1, -1):
                words = f"the length of axis {axis} of {name}"
                found[f"{name}-axis{axis}"] = words, float(argument.shape[axis])
            if argument.ndim > 2:
                rows = math.prod(argument.shape[:-1])
                found[f"{name}-rows"] = f"the number of all rows of {name}", float(rows)
        elif is_numeric(argument):
            found[name] = name, float(as_array(argument))
    return {size: words for size, words in found.items() if words[1] > 0}


def _offset(pairs: list[Pair], tolerance: float) -> Relation | None:
    offsets = [_difference(pair, tolerance) for pair in pairs]
    if None in offsets:
        return None
    wrong = [
        (float(offset or 0), pair)
        for offset, pair in zip(offsets, pairs, strict=True)
        if not all_close(pair.yours, pair.expected, tolerance)
    ]
    if not wrong:
        return None
    offset, first = wrong[0]
    everywhere = len(wrong) == len(pairs) and _equal(np.array(offsets, dtype=float), offset)
    if everywhere and first.public and _spread(_pooled(pairs), tolerance):
        kind = "large" if offset > 0 else "small"
        return Relation(
            "offset",
            f"Every entry of your answer is {abs(offset):.6g} too {kind}, on every input. "
            "What is added or taken away once too often, or not at all?",
        )
    if all(_spread(_finite(pair.expected), tolerance) for _, pair in wrong):
        return Relation(
            "offset",
            "Where your answer is wrong, all its entries are off by one and the same number. "
            "What is added or taken away once too often, or not at all?",
        )
    return None


def _difference(pair: Pair, tolerance: float) -> float | None:
    """yours - expected where that is one and the same number for all entries, else None."""
    finite = np.isfinite(pair.expected)
    if not finite.any():
        return None
    offset = float((pair.yours[finite].astype(float) - pair.expected[finite]).mean())
    if not math.isfinite(offset):
        return None
    return offset if all_close(pair.yours, pair.expected + offset, tolerance) else None


def _spread(numbers: np.ndarray, tolerance: float) -> bool:
    """Whether there are enough different numbers to tell an offset from a factor, or chance."""
    largest = float(np.abs(numbers).max(initial=0))
    return numbers.size >= FEWEST and float(np.ptp(numbers)) > 10 * tolerance * largest


def _sums(pairs: list[Pair], tolerance: float) -> Relation | None:
    """Expected rows sum to 1; most of yours do not, on every input where yours is wrong."""
    axes = [_unit_axis(pair.expected, tolerance) for pair in pairs]
    if None in axes or any((pair.expected < 0).any() for pair in pairs):
        return None
    sums, wrong = [], []
    for pair, axis in zip(pairs, axes, strict=True):
        right_sums = _is_one(pair.yours.sum(axis=axis), pair, tolerance)
        sums.append(right_sums.ravel())
        if not all_close(pair.yours, pair.expected, tolerance):
            wrong.append(pair)
            if right_sums.all():
                return None
    if not wrong or np.concatenate(sums).mean() > 0.5:
        return None
    if all(_is_one(pair.yours.sum(), pair, tolerance) for pair in wrong):
        return Relation(
            "whole-sums-to-1",
            "Your weights sum to 1 over the whole array. Print their sum along each axis: "
            "over which one should it be 1?",
        )
    if all(_unit_axis(pair.yours, tolerance) is not None for pair in wrong):
        return Relation(
            "wrong-axis-sums-to-1",
            "Your weights sum to 1 along another axis than they should. "
            "Print their sum along each axis: which one is meant?",
        )
    return Relation(
        "rows-do-not-sum-to-1",
        "Your weights do not sum to 1. Print their sum along the axis that should: "
        "what did you divide by?",
    )


def _is_one(sums: np.ndarray, pair: Pair, tolerance: float) -> np.ndarray:
    single = np.float32 in (pair.yours.dtype, pair.expected.dtype)
    return np.abs(sums - 1) <= max(tolerance, 1e-4 if single else 1e-9)


def _unit_axis(array: np.ndarray, tolerance: float) -> int | None:
    """The last axis of more than one entry along which every sum is 1, or None."""
    for axis in range(array.ndim - 1, -1, -1):
        if array.shape[axis] > 1:
            pair = Pair(array, array, {})
            if _is_one(array.sum(axis=axis), pair, tolerance).all():
                return axis
    return None


def _only_masked(pairs: list[Pair], tolerance: float) -> Relation | None:
    """All wrong entries should be 0 (or all -inf), several of them, wherever there are such."""
    for value, words in ((-np.inf, "-inf"), (0.0, "0")):
        regions = [pair.expected == value for pair in pairs]
        wrongs = [~close(pair.yours, pair.expected, tolerance) for pair in pairs]
        if sum(int(wrong.sum()) for wrong in wrongs) >= FEWEST and all(
            not (wrong & ~region).any() and wrong.any() == region.any() and not region.all()
            for wrong, region in zip(wrongs, regions, strict=True)
        ):
            return Relation(
                "only-masked-differ",
                f"Only entries that should be {words} differ; all others are right. "
                "Which rule sets them, and where in your code does it apply?",
            )
    return None


def _only_repeated(pairs: list[Pair], tolerance: float) -> Relation | None:
    """Exactly the rows of repeated ids are wrong, in all their entries."""
    regions = [_repeated(pair) for pair in pairs]
    wrongs = [~close(pair.yours, pair.expected, tolerance) for pair in pairs]
    if not any(region.any() for region in regions) or not all(
        np.array_equal(wrong, region) and not region.all()
        for wrong, region in zip(wrongs, regions, strict=True)
    ):
        return None
    return Relation(
        "only-repeated-differ",
        "Only the rows of repeated ids differ; all others are right. "
        "What happens when one row is written twice?",
    )


def _repeated(pair: Pair) -> np.ndarray:
    """True in the rows whose index stands more than once in one array of whole numbers."""
    if pair.expected.ndim < 2:
        return np.zeros(pair.expected.shape, dtype=bool)
    rows = np.zeros(len(pair.expected), dtype=bool)
    for argument in pair.arguments.values():
        if isinstance(argument, np.ndarray) and argument.dtype.kind in "iu":
            ids, counts = np.unique(argument, return_counts=True)
            fits = (ids >= 0) & (ids < len(rows)) & (counts > 1)
            rows[ids[fits]] = True
    return np.broadcast_to(rows.reshape(-1, *[1] * (pair.expected.ndim - 1)), pair.expected.shape)
