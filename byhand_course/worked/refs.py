"""References to numbers of a trace, and how numbers are written on a page.

    W_q[3,1]                    an entry
    normed_1[2,3]*W_q[3,1]      a product of two entries, as in the arithmetic of an entry
    loss                        a number that stands alone

Every number on a page carries its reference, so that a test can look it up again.
"""

import re
from typing import Any

import numpy as np

from .values import Trace

ENTRY = re.compile(r"(\w+)(?:\[([\d,]+)\])?")
SMALL = 0.01  # arrays without an entry as large are written as powers of ten
ROUNDING = 1e-12  # but what is smaller than this is what rounding left of 0
DECIMALS = 4


def look_up(trace: Trace, reference: str) -> Any:
    """The number that a reference means.

    Raises:
        KeyError: if the trace has no such value.
    """
    product = None
    for entry in reference.split("*"):
        found = ENTRY.fullmatch(entry)
        if not found:
            raise KeyError(f"{entry!r} is no reference to an entry")
        place = tuple(map(int, found[2].split(","))) if found[2] else ()
        number = trace[found[1]][place]
        product = number if product is None else product * number
    assert product is not None
    return product


def written(trace: Trace, reference: str) -> str:
    """The number that a reference means, rounded as the pages write it."""
    names = [ENTRY.match(entry)[1] for entry in reference.split("*")]  # type: ignore[index]
    number = look_up(trace, reference)
    if trace.values[names[0]].page == 0:
        return f"{number:g}"  # a setting, in full
    return write(number, is_small=any(is_small(trace[name]) for name in names))


def is_small(array: np.ndarray) -> bool:
    """Whether an array's numbers are so small that 4 decimals would hide them."""
    if array.dtype.kind in "biu":
        return False
    sizes = np.abs(array[np.isfinite(array)])
    return bool(sizes.size) and ROUNDING < float(sizes.max()) < SMALL


def write(number: Any, is_small: bool = False) -> str:
    """A number at 4 decimals, whole if it is whole by kind; never "-0.0000"."""
    if np.asarray(number).dtype.kind in "biu":
        return str(int(number))
    if np.isneginf(number):
        return "−∞"
    if is_small and number == 0:
        return "0"
    text = f"{number:.{DECIMALS}{'e' if is_small else 'f'}}"
    return text.removeprefix("-") if float(text) == 0 else text
