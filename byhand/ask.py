"""One question to a learner's function: call it on copies, and note all that came of it."""

import functools
import inspect
import linecache
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType

import numpy as np

from .tree import Code, Seeded


@dataclass(frozen=True)
class Answer:
    """What one call gave.

    Attributes:
        value: what was returned, when nothing was raised.
        raised: name of the exception's type, or None. For a type that is not Python's or NumPy's
            own, the nearest one that is.
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


def ask(function: Callable, inputs: tuple, asks: Code | None = None) -> Answer:
    """Call function on copies of inputs. Its mistakes are noted in the answer, never raised.

    SystemExit counts as a mistake; only an interrupt by the learner passes through.

    Args:
        function: the learner's.
        inputs: by position.
        asks: how to put the question, where one call is not enough: it is called as
            `asks(function, *inputs)`, and what it returns is the answer.
    """
    given = tuple(fresh(argument) for argument in inputs)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = made(asks)(function, *given) if asks else function(*given)
    except (Exception, SystemExit) as error:
        number, line = own_line(error, function)
        return Answer(
            raised=_type_name(error), message=_words(error), line_number=number, line=line
        )
    changed = tuple(
        place
        for place, (before, after) in enumerate(zip(inputs, given, strict=True))
        if not same(before, after)
    )
    return Answer(value=value, changed=changed)


def fresh(argument: object) -> object:
    """A copy of an argument that a learner's function may spoil; `Seeded` becomes a generator."""
    if isinstance(argument, Seeded):
        return np.random.default_rng(argument.seed)
    if isinstance(argument, Code):
        return made(argument)
    if isinstance(argument, np.ndarray):
        return argument.copy(order="K")
    if isinstance(argument, tuple):
        return tuple(fresh(item) for item in argument)
    if isinstance(argument, list):
        return [fresh(item) for item in argument]
    if isinstance(argument, dict):
        return {key: fresh(item) for key, item in argument.items()}
    return argument


@functools.cache
def made(code: Code) -> Callable:
    """The function that a text of the course's own defines; it may use np."""
    file = f"<{code.name}>"
    linecache.cache[file] = (len(code.source), None, code.source.splitlines(True), file)
    namespace: dict[str, object] = {"np": np}
    exec(compile(code.source, file, "exec"), namespace)
    function = namespace[code.name]
    assert callable(function)
    return function


def same(first: object, second: object) -> bool:
    """Whether an argument is still what it was, nan counting as equal to nan.

    A `Seeded` has become a generator, which is there to be used up; a `Code` has become a function.
    """
    if isinstance(first, (Seeded, Code)):
        return True
    if isinstance(first, np.ndarray):
        return isinstance(second, np.ndarray) and _same_arrays(first, second)
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
    # What cannot be changed in place was passed on as it is.
    return first is second or (type(first) is type(second) and bool(first == second))


def _same_arrays(first: np.ndarray, second: np.ndarray) -> bool:
    equal_nan = first.dtype.kind == "f" == second.dtype.kind
    return bool(np.array_equal(first, second, equal_nan=equal_nan))


def own_line(error: BaseException, function: Callable) -> tuple[int | None, str]:
    """The last line of the learner's own code on the way to the error: its number and text.

    Their own is what stands in the same cell or file as the function. There is no such line if the
    call itself went wrong, as with a wrong number of arguments.
    """
    code = _code_of(function)
    if code is None:
        return None, ""
    number, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == code.co_filename:
            number = trace.tb_lineno
        trace = trace.tb_next
    if number is None:
        return None, ""
    return number, linecache.getline(code.co_filename, number).strip()


def _code_of(function: object) -> CodeType | None:
    """The code that the learner wrote: below a decorator or partial, or in a `__call__`."""
    while isinstance(function, functools.partial):
        function = function.func
    if callable(function):
        try:
            function = inspect.unwrap(function)
        except ValueError:  # wrapped in a circle
            return None
    code = getattr(function, "__code__", None)
    if code is None:
        code = getattr(type(function).__call__, "__code__", None) if callable(function) else None
    return code if isinstance(code, CodeType) else None


def _type_name(error: BaseException) -> str:
    """The exception's type as Python's and NumPy's documentation call it."""
    public = (
        kind.__name__
        for kind in type(error).__mro__
        if kind.__module__ == "builtins" or kind in (np.linalg.LinAlgError, np.exceptions.AxisError)
    )
    return next(public)


def _words(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # a learner's own type of exception may have a faulty __str__
        return ""
