"""What is wrong with one answer, in a fixed order: STAGES.

Each part of an answer is looked at separately. Words about a hidden case hold no number of it and
none that the learner's code chose: either could carry the hidden numbers out.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .ask import Answer
from .probe import Case, FunctionProbe
from .ruler import agree, as_array, close, is_numeric
from .wording import count, describe, join, one_line

STAGES = ("missing", "raises", "type", "shape", "dtype", "finite", "input", "value")

UNKNOWN = "Is it spelled as in the exercise, and does its cell run without an error?"
ONLY_HIDDEN = "Does it use its arguments alone, or also numbers or shapes from the notebook?"
NOT_CALLED = "Which arguments does the first line of the exercise name, and in which order?"
AFTER_RAISING = {
    "ValueError": "Which array has which shape on that line? Print the shapes just above it.",
    "IndexError": "How long is the axis that is indexed there, and where does the index come from?",
    "AxisError": "How many axes has the array on that line? Print its shape just above it.",
    "NameError": "Where does that name get its value, and has that cell been run?",
    "UnboundLocalError": "Which line should give that name its value before it is used?",
    "RecursionError": "Where does it call itself, and what should end that?",
    "SystemExit": "What should it return there instead?",
}
AFTER_ANY_OTHER = "What goes into that line? Print it just above."


@dataclass(frozen=True)
class Problem:
    """One thing wrong with one part of one answer.

    Attributes:
        stage: one of STAGES.
        case: its position among the probe's.
        asks: a question that fits better than the stage's own; otherwise "".
    """

    stage: str
    case: int
    part: str
    says: str
    asks: str = ""


def find_problems(
    probe: FunctionProbe, place: int, case: Case, answer: Answer
) -> Iterator[Problem]:
    """What is wrong with one answer: for each part the first thing, in the order of STAGES."""
    whole = _no_answer(probe, case, answer) or _no_parts(probe, case, answer)
    if whole:
        for part in probe.returns:
            yield Problem(whole[0], place, part, *whole[1:])
        return
    given = split(answer.value, probe.returns)
    wanted = split(case.expected, probe.returns)
    for part in probe.returns:
        found = _part_problem(part, given[part], wanted[part], case, probe)
        if answer.changed and (found is None or found[0] == "value"):
            names = [probe.arguments[changed] for changed in answer.changed]
            noun = "argument" if len(names) == 1 else "arguments"
            found = ("input", f"it changes its {noun} {join(names)} in place.")
        if found:
            yield Problem(found[0], place, part, found[1])


def split(value: object, returns: tuple[str, ...]) -> dict[str, object]:
    """The parts of an answer by name."""
    if isinstance(value, dict) and set(returns) <= value.keys():
        return {part: value[part] for part in returns}
    if len(returns) == 1:
        return {returns[0]: value}
    assert isinstance(value, (tuple, list))
    return dict(zip(returns, value, strict=True))


def _no_answer(probe: FunctionProbe, case: Case, answer: Answer) -> tuple[str, ...] | None:
    """Nothing there, or an exception: the stage, what to say, and at times what to ask."""
    if answer.failure == "missing":
        return "missing", "there is no function of that name.", UNKNOWN
    if answer.failure == "timeout":
        return "raises", f"it does not finish on {case.label}.", "Which loop in it has no end?"
    if answer.failure == "died":
        says = f"it ends its whole process on {case.label}."
        return "raises", says, "Does it ask for far more memory than its answer needs?"
    if answer.failure:
        return "type", f"what it returns on {case.label} cannot be read as numbers or arrays."
    if answer.raised and not case.public:  # its type and its line could tell of the input
        return "raises", f"raises an exception on {case.label} that you cannot see.", ONLY_HIDDEN
    if answer.raised == "NotImplementedError":
        if answer.line_number and answer.line and "NotImplementedError" not in answer.line:
            says = f"not finished: its line {answer.line_number} calls something not written yet."
            return "missing", says, f"Which function in `{one_line(answer.line)}` is that?"
        return "missing", "not written yet."
    if answer.raised == "TypeError" and answer.line_number is None and probe.asks is None:
        signature = f"{probe.variable}({', '.join(probe.arguments)})"
        return "raises", f"it cannot be called as {signature}.{_quoted(case, answer)}", NOT_CALLED
    if answer.raised:
        where = f", in its line {answer.line_number}" if answer.line_number else ""
        line = f", `{one_line(answer.line)}`" if answer.line else ""
        says = f"raises {answer.raised} on {case.label}{where}{line}.{_quoted(case, answer)}"
        asks = AFTER_RAISING.get(answer.raised, AFTER_ANY_OTHER)
        return "raises", says, asks if answer.line_number else ""
    if answer.value is None:
        return "missing", f"returns None on {case.label}: does every way through it end in return?"
    return None


def _quoted(case: Case, answer: Answer) -> str:
    """Python's own words, on one line; those on a hidden input stay unsaid."""
    if not answer.message or not case.public:
        return ""
    return f" Python says: {one_line(answer.message, 150)}"


def _no_parts(probe: FunctionProbe, case: Case, answer: Answer) -> tuple[str, ...] | None:
    """Not the kind of container that holds the parts."""
    value, expected = answer.value, case.expected
    says = ""
    if isinstance(expected, dict):
        wanted = expected.keys()
        by_part = set(probe.returns) <= wanted  # then more than that is welcome
        if not isinstance(value, dict):
            says = f"returns {describe(value)}; expected a dict."
        elif missing := [key for key in wanted if key not in value]:
            says = f"the dict that it returns lacks {_some(missing)}."
        elif not by_part and (more := [key for key in value if key not in wanted]):
            says = f"the dict that it returns should not have {_some(more)}."
    elif len(probe.returns) > 1:
        names = ", ".join(probe.returns)
        if not isinstance(value, (tuple, list)):
            says = f"returns {describe(value)}; expected a tuple of {names}."
        elif len(value) != len(probe.returns):
            says = f"returns {count(len(value), 'value', 'values')}; expected {names}."
    if says and not case.public:
        says = f"what it returns on {case.label} is of another kind than expected."
    return ("type", says) if says else None


def _some(keys: list) -> str:
    more = [f"{len(keys) - 3} more"] if len(keys) > 3 else []
    return join([one_line(repr(key), 40) for key in keys[:3]] + more)


def _part_problem(
    part: str, given: object, wanted: object, case: Case, probe: FunctionProbe
) -> tuple[str, str] | None:
    if not is_numeric(wanted):
        return _plain_problem(part, given, wanted, case, probe.tolerance)
    expected = as_array(wanted)
    if not is_numeric(given) or (expected.ndim and not isinstance(given, np.ndarray)):
        return "type", _kind_words(part, given, wanted, case)
    yours = as_array(given)
    if yours.shape != expected.shape:
        return "shape", _shape_words(part, yours, expected, case, probe)
    wrong_type = _dtype_words(part, yours, expected, case)
    if wrong_type:
        return "dtype", wrong_type
    unbounded = ~np.isfinite(yours) & np.isfinite(expected)
    if unbounded.any():
        kind = "nan" if np.isnan(yours[unbounded]).any() else "infinite"
        some = yours.ndim and case.public
        which = f"{unbounded.sum()} of {yours.size} entries of {part} are" if some else f"{part} is"
        return "finite", f"{which} {kind} on {case.label}."
    if not close(yours, expected, probe.tolerance).all():
        return "value", f"{part} differs on {case.label}."
    return None


def _plain_problem(
    part: str, given: object, wanted: object, case: Case, tolerance: float
) -> tuple[str, str] | None:
    """Problems of an answer that is no array: text, a list of tokens, a tuple of names."""
    if isinstance(wanted, (tuple, list)):
        if isinstance(given, np.ndarray) and given.ndim:
            given = given.tolist()
        if not isinstance(given, (tuple, list)):
            return "type", _kind_words(part, given, wanted, case)
        if len(given) != len(wanted):
            if not case.public:
                return "shape", f"{part} has another length than expected on {case.label}."
            found = count(len(given), "entry", "entries")
            return "shape", f"{part} has {found} on {case.label}; expected {len(wanted)}."
    elif not isinstance(given, type(wanted)):
        return "type", _kind_words(part, given, wanted, case)
    return None if agree(given, wanted, tolerance) else ("value", f"{part} differs.")


def _kind_words(part: str, given: object, wanted: object, case: Case) -> str:
    if not case.public:
        return f"{part} is of another kind than expected on {case.label}."
    return f"{part} is {describe(given)} on {case.label}; expected {describe(wanted)}."


def _shape_words(
    part: str, yours: np.ndarray, expected: np.ndarray, case: Case, probe: FunctionProbe
) -> str:
    """Which axis is wrong, and whose length it has."""
    if not case.public:
        return f"{part} has another shape than expected on {case.label}."
    if not expected.ndim:
        return f"{part} has shape {yours.shape} on {case.label}; expected a single number."
    start = f"{part} has shape {yours.shape} on {case.label}; expected {expected.shape}"
    if yours.ndim != expected.ndim:
        return f"{start}: {count(yours.ndim, 'axis', 'axes')} instead of {expected.ndim}."
    axes = [axis for axis in range(yours.ndim) if yours.shape[axis] != expected.shape[axis]]
    if len(axes) == 1:
        owner = _owner(yours.shape[axes[0]], case, probe)
        return f"{start}. Axis {axes[0]} differs{owner}."
    if len(axes) == 2 and [yours.shape[axis] for axis in axes] == [
        expected.shape[axis] for axis in reversed(axes)
    ]:
        return f"{start}. Axes {axes[0]} and {axes[1]} have each other's length."
    return f"{start}. Axes {join([str(axis) for axis in axes])} differ."


def _owner(length: int, case: Case, probe: FunctionProbe) -> str:
    """An argument that has this length, in words."""
    for name, argument in zip(probe.arguments, case.inputs, strict=False):
        if isinstance(argument, np.ndarray) and length > 1 and length in argument.shape:
            axis = argument.shape.index(length)
            return f": {length} is the length of axis {axis} of {name}"
    return ""


def _dtype_words(part: str, yours: np.ndarray, expected: np.ndarray, case: Case) -> str | None:
    """What is wrong with the type of the numbers; more precision than asked for is welcome."""
    kinds = {"b": "True and False", "i": "whole numbers", "u": "whole numbers", "f": "floats"}
    found, wanted = kinds[yours.dtype.kind], kinds[expected.dtype.kind]
    single = not expected.ndim and "b" not in (yours.dtype.kind, expected.dtype.kind)
    if found != wanted and not single:
        verb = "holds" if yours.ndim else "is"
        return f"{part} {verb} {found} on {case.label}; expected {wanted}."
    if found == wanted == "floats" and yours.dtype.itemsize < min(expected.dtype.itemsize, 8):
        return f"{part} is {yours.dtype.name} on {case.label}; expected {expected.dtype.name}."
    return None
