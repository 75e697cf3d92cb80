"""The one tolerance: when two numbers, arrays, or containers of them are the same answer."""

import math

import numpy as np


def is_numeric(value: object) -> bool:
    """Whether a value is a number, True or False, or an array of them."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.kind in "biuf"
    return isinstance(value, (bool, int, float))


def as_array(value: object) -> np.ndarray:
    """A numeric value as an array; a whole number too large for NumPy becomes a float."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        small = value.bit_length() <= 1023
        value = float(value) if small else math.inf if value > 0 else -math.inf
    return np.asarray(value)


def close(yours: np.ndarray, expected: np.ndarray, tolerance: float) -> np.ndarray:
    """Entry by entry, whether yours agrees: relative to the entry and to the largest expected one.

    Whole numbers must be equal. float32 on either side is compared to 1e-4, as good as float32
    arithmetic allows. Whatever is expected, the rounding of numbers near 1 is forgiven.
    """
    equal = np.asarray(yours == expected)
    floats = [array.dtype for array in (yours, expected) if array.dtype.kind == "f"]
    if not floats or equal.all():
        return equal
    single = any(dtype.itemsize < 8 for dtype in floats)
    tolerance = max(tolerance, 1e-4) if single else tolerance
    rounding = 10 * np.finfo(np.float32 if single else np.float64).eps
    finite = np.isfinite(expected)
    size = np.where(finite, np.abs(expected, dtype=float), 0.0)
    allowed = np.maximum(tolerance * (size + min(size.max(), 1.0)), rounding)
    with np.errstate(all="ignore"):
        near = finite & (np.abs(np.subtract(yours, expected, dtype=float)) <= allowed)
        return near | equal | (np.isnan(yours) & np.isnan(expected))


def all_close(yours: np.ndarray, expected: np.ndarray, tolerance: float) -> bool:
    """Whether yours has the expected shape and agrees everywhere."""
    return yours.shape == expected.shape and bool(close(yours, expected, tolerance).all())


def agree(given: object, known: object, tolerance: float) -> bool:
    """Whether two answers are the same one: numbers to the tolerance, all else exactly.

    Tuples and lists count alike, and so does an array where a tuple or list is known.
    """
    if is_numeric(given) and is_numeric(known):
        yours, recorded = as_array(given), as_array(known)
        same_kind = (yours.dtype.kind == "b") == (recorded.dtype.kind == "b")
        return same_kind and all_close(yours, recorded, tolerance)
    if isinstance(known, (tuple, list)):
        if isinstance(given, np.ndarray) and given.ndim:
            given = given.tolist()
        return (
            isinstance(given, (tuple, list))
            and len(given) == len(known)
            and all(agree(a, b, tolerance) for a, b in zip(given, known, strict=True))
        )
    if isinstance(known, dict):
        return (
            isinstance(given, dict)
            and given.keys() == known.keys()
            and all(agree(given[key], known[key], tolerance) for key in known)
        )
    if isinstance(given, str) and isinstance(known, str):
        return given == known
    if isinstance(given, (np.ndarray, np.generic)):
        return False  # of no kind that is compared
    return type(given) is type(known) and bool(given == known)
