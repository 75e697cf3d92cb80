"""One question to a learner's function: call it on copies, and note all that came of it."""

import linecache
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .tree import Seeded


@dataclass(frozen=True)
class Answer:
    """What one call gave.

    Attributes:
        value: what was returned, when nothing was raised.
        raised: name of the exception's type, or None.
        message: the exception's own words; empty in grading, where they could carry inputs out.
        line_number: the line of the learner's own code that raised, counted from 1 in its cell.
        line: that line's text.
        changed: positions of the arguments that the call changed in place.
        failure: why there is no answer at all, in the grader's words: "missing" (no such name),
            "timeout", "died", "unreadable" (an answer that is no array), or None.
    """

    value: object = None
    raised: str | None = None
    message: str = ""
    line_number: int | None = None
    line: str = ""
    changed: tuple[int, ...] = ()
    failure: str | None = None


def ask(function: Callable, inputs: tuple) -> Answer:
    """Call function on copies of inputs. Its mistakes are noted in the answer, never raised."""
    given = tuple(fresh(argument) for argument in inputs)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = function(*given)
    except Exception as error:
        number, line = own_line(error, function)
        return Answer(
            raised=type(error).__name__, message=str(error), line_number=number, line=line
        )
    changed = tuple(
        place
        for place, (before, after) in enumerate(zip(inputs, given, strict=True))
        if not isinstance(before, Seeded) and not same(before, after)
    )
    return Answer(value=value, changed=changed)


def fresh(argument: object) -> object:
    """A copy of an argument that a learner's function may spoil; `Seeded` becomes a generator."""
    if isinstance(argument, Seeded):
        return np.random.default_rng(argument.seed)
    if isinstance(argument, np.ndarray):
        return argument.copy()
    if isinstance(argument, (tuple, list)):
        return type(argument)(fresh(item) for item in argument)
    if isinstance(argument, dict):
        return {key: fresh(item) for key, item in argument.items()}
    return argument


def same(first: object, second: object) -> bool:
    """Whether two arguments are equal, nan counting as equal to nan."""
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        return isinstance(first, np.ndarray) and _same_arrays(first, np.asarray(second))
    if isinstance(first, (tuple, list)):
        return (
            isinstance(second, (tuple, list))
            and len(first) == len(second)
            and all(same(a, b) for a, b in zip(first, second, strict=True))
        )
    if isinstance(first, dict):
        return (
            isinstance(second, dict)
            and first.keys() == second.keys()
            and all(same(first[key], second[key]) for key in first)
        )
    return bool(first == second)


def _same_arrays(first: np.ndarray, second: np.ndarray) -> bool:
    return first.shape == second.shape and bool(
        np.array_equal(first, second, equal_nan=first.dtype.kind == "f" == second.dtype.kind)
    )


def own_line(error: Exception, function: Callable) -> tuple[int | None, str]:
    """The last line of the learner's own code on the way to the error: its number and text."""
    code = getattr(function, "__code__", None)
    own_file = getattr(code, "co_filename", None)
    number, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == own_file:
            number = trace.tb_lineno
        trace = trace.tb_next
    if number is None or own_file is None:
        return None, ""
    return number, linecache.getline(own_file, number).strip()
