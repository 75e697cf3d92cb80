"""The one ruler: compares answers with recorded ones, at home and in hidden grading alike.

It judges in a fixed order and stops at the first thing wrong: is it there, does it run, type,
shape, dtype, finite, arguments untouched, value. Then it says which part is right, shows the
smallest evidence, names a cause if one explains every recorded input, and asks a question.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .ask import Answer, same
from .probe import Case, FunctionProbe
from .relations import Pair, Relation, close, name_relation
from .tree import Seeded
from .verdict import Evidence, Verdict
from .wording import (
    alike,
    as_text,
    describe,
    index_words,
    is_numeric,
    join,
    shorten,
    telling_place,
)

STAGES = ("missing", "raises", "type", "shape", "dtype", "finite", "input", "value")

LONGEST_SHOWN = 12  # numbers in the arguments that a learner still reads

QUESTIONS = {
    "missing": "Replace the line that raises NotImplementedError, run the cell, check again.",
    "raises": "Which array has which shape on that line? Print the shapes just above it.",
    "type": "What does your last line return?",
    "shape": "Write the shape of each array beside the line that makes it. Where do they part?",
    "dtype": "Which line turns the numbers into another type?",
    "finite": "Which step first gives inf or nan on that input? Print the largest value before it.",
    "input": "Which line writes into its argument? What would give a new array instead?",
    "value": "Work the first differing entry out by hand. At which step do you and your code part?",
}


@dataclass(frozen=True)
class Problem:
    """One thing wrong with one part of one answer."""

    stage: str
    case: int
    part: str
    says: str


def judge_function(probe: FunctionProbe, answers: Sequence[Answer]) -> Verdict:
    """Judge a function by its answers, one for each case of the probe, in order."""
    problems = [
        problem
        for place, (case, answer) in enumerate(zip(probe.cases, answers, strict=True))
        for problem in find_problems(probe, place, case, answer)
    ]
    wrong = {problem.part for problem in problems}
    parts = {part: part not in wrong for part in probe.returns}
    earned = dict(zip(probe.returns, probe.points, strict=True))
    score = sum(earned[part] for part, right in parts.items() if right)
    if not problems:
        return Verdict(
            exercise=probe.name,
            function=probe.variable,
            stage=None,
            parts=parts,
            score=score,
            points=sum(probe.points),
            headline=f"right on all {len(probe.cases)} inputs.",
        )
    first = min(problems, key=lambda p: (STAGES.index(p.stage), p.case))
    mistake = name_mistake(probe, answers)
    relation = None if first.stage not in ("shape", "value") else _relation(probe, answers, first)
    cause = probe.says[mistake] if mistake else relation.says if relation else ""
    headline = _headline(probe, problems, first, parts)
    evidence, given = _evidence(probe, answers, problems, first)
    return Verdict(
        exercise=probe.name,
        function=probe.variable,
        stage=first.stage,
        parts=parts,
        score=score,
        points=sum(probe.points),
        headline=headline,
        evidence=evidence,
        given=given,
        cause=cause,
        question="" if cause or headline.endswith("?") else QUESTIONS[first.stage],
        mistake=mistake,
        relation=relation.name if relation else None,
    )


def find_problems(
    probe: FunctionProbe, place: int, case: Case, answer: Answer
) -> Iterator[Problem]:
    """What is wrong with one answer: for each part the first thing, in the order of STAGES."""
    whole = _whole_problem(probe, case, answer)
    if whole:
        for part in probe.returns:
            yield Problem(whole[0], place, part, whole[1])
        return
    given = split(answer.value, probe.returns)
    wanted = split(case.expected, probe.returns)
    for part in probe.returns:
        found = _part_problem(part, given[part], wanted[part], case, probe)
        if (found is None and answer.changed) or (answer.changed and found and found[0] == "value"):
            name = probe.arguments[answer.changed[0]]
            found = ("input", f"it changes its argument {name} in place.")
        if found:
            yield Problem(found[0], place, part, found[1])


def _whole_problem(probe: FunctionProbe, case: Case, answer: Answer) -> tuple[str, str] | None:
    """A problem of the whole answer: nothing there, an exception, not the right kind of result."""
    if answer.failure == "missing":
        return "missing", "there is no function of that name."
    if answer.failure == "timeout":
        return "raises", f"it does not finish on {case.label}."
    if answer.failure == "died":
        return "raises", f"it ends its whole process on {case.label}."
    if answer.failure:
        return "type", "what it returns cannot be read as numbers or arrays."
    if answer.raised == "NotImplementedError":
        return "missing", "not written yet."
    if answer.raised:
        where = f" in its line {answer.line_number}" if answer.line_number else ""
        line = f", {answer.line}" if answer.line else ""
        words = f": {answer.message}" if answer.message else ""
        return "raises", f"raises {answer.raised}{where}{line} (on {case.label}){words}"
    if answer.value is None:
        return "missing", "returns None: is there a return in its last line?"
    if len(probe.returns) > 1 and not isinstance(case.expected, dict):
        names = ", ".join(probe.returns)
        if not isinstance(answer.value, (tuple, list)):
            found = describe(answer.value)
            return "type", f"returns {found}; expected a tuple of {names}."
        if len(answer.value) != len(probe.returns):
            return "type", f"returns {len(answer.value)} values; expected {names}."
    if isinstance(case.expected, dict):
        if not isinstance(answer.value, dict):
            return "type", f"returns {describe(answer.value)}; expected a dict."
        missing = [key for key in case.expected if key not in answer.value]
        if missing:
            return "type", f"the dict it returns lacks {', '.join(map(str, missing[:3]))}."
    return None


def split(value: object, returns: tuple[str, ...]) -> dict[str, object]:
    """The parts of an answer by name."""
    if isinstance(value, dict) and set(returns) <= value.keys():
        return {part: value[part] for part in returns}
    if len(returns) == 1:
        return {returns[0]: value}
    assert isinstance(value, (tuple, list))
    return dict(zip(returns, value, strict=True))


def _part_problem(
    part: str, given: object, wanted: object, case: Case, probe: FunctionProbe
) -> tuple[str, str] | None:
    if not is_numeric(wanted):
        return _plain_problem(part, given, wanted)
    expected = np.asarray(wanted)
    if not is_numeric(given) or (expected.ndim and not isinstance(given, np.ndarray)):
        found = "None" if given is None else describe(given)
        return "type", f"{part} is {found}; expected {describe(wanted)}."
    yours = np.asarray(given)
    if yours.shape != expected.shape:
        return "shape", _shape_words(part, yours, expected, case, probe)
    wrong_type = _dtype_words(part, yours, expected)
    if wrong_type:
        return "dtype", wrong_type
    unbounded = ~np.isfinite(yours) & np.isfinite(expected)
    if unbounded.any():
        kind = "nan" if np.isnan(yours[unbounded]).any() else "infinite"
        count = f"{int(unbounded.sum())} of {yours.size} entries of {part} are"
        return "finite", f"{count if yours.ndim else part + ' is'} {kind} on {case.label}."
    if not close(yours, expected, probe.tolerance).all():
        return "value", f"{part} differs on {case.label}."
    return None


def _plain_problem(part: str, given: object, wanted: object) -> tuple[str, str] | None:
    """Problems of an answer that is no array: text, a list of tokens, a tuple of names."""
    if isinstance(wanted, (tuple, list)):
        if isinstance(given, np.ndarray):
            given = given.tolist()
        if not isinstance(given, (tuple, list)):
            return "type", f"{part} is {describe(given)}; expected {describe(wanted)}."
        if len(given) != len(wanted):
            return "shape", f"{part} has {len(given)} entries; expected {len(wanted)}."
    elif type(given) is not type(wanted):
        return "type", f"{part} is {describe(given)}; expected {describe(wanted)}."
    return None if same(wanted, given) else ("value", f"{part} differs.")


def _shape_words(
    part: str, yours: np.ndarray, expected: np.ndarray, case: Case, probe: FunctionProbe
) -> str:
    """Which axis is wrong, and whose length it has."""
    start = f"{part} has shape {yours.shape}, expected {expected.shape} on {case.label}"
    if yours.ndim != expected.ndim:
        return f"{start}: {yours.ndim} axes instead of {expected.ndim}."
    axes = [axis for axis in range(yours.ndim) if yours.shape[axis] != expected.shape[axis]]
    if len(axes) > 1:
        return f"{start}: axes {', '.join(map(str, axes))} differ."
    length = yours.shape[axes[0]]
    owner = next(
        (
            f" {length} is the length of axis {axis} of {name}."
            for name, argument in zip(probe.arguments, case.inputs, strict=False)
            if isinstance(argument, np.ndarray)
            for axis in range(argument.ndim)
            if argument.shape[axis] == length
        ),
        "",
    )
    return f"{start}: axis {axes[0]} differs.{owner}"


def _dtype_words(part: str, yours: np.ndarray, expected: np.ndarray) -> str | None:
    """What is wrong with the type of the numbers; more precision than asked for is welcome."""
    kinds = {"b": "True and False", "i": "whole numbers", "u": "whole numbers", "f": "floats"}
    found, wanted = yours.dtype.kind, expected.dtype.kind
    words = f"{part} holds {kinds.get(found, yours.dtype.name)}; expected {kinds[wanted]}."
    if wanted == "f":
        if found != "f":
            return words
        if yours.dtype.itemsize < min(expected.dtype.itemsize, 8):
            return f"{part} is {yours.dtype.name}; {expected.dtype.name} went in and must come out."
    elif wanted == "b":
        return None if found == "b" else words
    elif found not in "iu" and not (found == "f" and not expected.ndim):
        return words
    return None


def name_mistake(probe: FunctionProbe, answers: Sequence[Answer]) -> str | None:
    """The one known mistake that answers as these answers do on every case, or None."""
    for name in probe.says:
        telling = False
        for case, answer in zip(probe.cases, answers, strict=True):
            known = case.mistaken[name]
            if not answers_agree(probe, answer, known):
                break
            telling = telling or _tells(probe, case, known)
        else:
            if telling:
                return name
    return None


def answers_agree(probe: FunctionProbe, answer: Answer, known: Answer) -> bool:
    """Whether two answers are the same one: same exception, or same values and side effects."""
    if answer.failure or answer.raised or known.raised:
        return answer.failure is None and answer.raised == known.raised
    return answer.changed == known.changed and _agree(answer.value, known.value, probe.tolerance)


def _agree(given: object, known: object, tolerance: float) -> bool:
    if is_numeric(given) and is_numeric(known):
        yours, recorded = np.asarray(given), np.asarray(known)
        return yours.shape == recorded.shape and bool(close(yours, recorded, tolerance).all())
    if isinstance(given, (tuple, list)) and isinstance(known, (tuple, list)):
        return len(given) == len(known) and all(
            _agree(a, b, tolerance) for a, b in zip(given, known, strict=True)
        )
    if isinstance(given, dict) and isinstance(known, dict):
        return given.keys() == known.keys() and all(
            _agree(given[key], known[key], tolerance) for key in given
        )
    return type(given) is type(known) and given == known


def _tells(probe: FunctionProbe, case: Case, known: Answer) -> bool:
    """Whether a mistake shows here by more than an exception, which anything could raise."""
    if known.raised:
        return False
    return bool(known.changed) or not _agree(known.value, case.expected, probe.tolerance)


def _relation(probe: FunctionProbe, answers: Sequence[Answer], first: Problem) -> Relation | None:
    pairs = []
    for case, answer in zip(probe.cases, answers, strict=True):
        if answer.failure or answer.raised or answer.value is None:
            return None
        try:
            given = split(answer.value, probe.returns)[first.part]
        except (AssertionError, ValueError):
            return None
        wanted = split(case.expected, probe.returns)[first.part]
        if not (is_numeric(given) and is_numeric(wanted)):
            return None
        arguments = dict(zip(probe.arguments, case.inputs, strict=False))
        pairs.append(Pair(np.asarray(given), np.asarray(wanted), arguments))
    return name_relation(pairs, probe.tolerance)


def _headline(
    probe: FunctionProbe, problems: list[Problem], first: Problem, parts: dict[str, bool]
) -> str:
    if first.stage in ("missing", "raises", "type") and not any(parts.values()):
        return first.says
    wrong = [part for part, right in parts.items() if not right]
    right = [part for part, right in parts.items() if right]
    if right:
        verb = "differs" if len(wrong) == 1 else "differ"
        others = f"{join(right)} {'is' if len(right) == 1 else 'are'} right."
        if first.stage == "value":
            return f"{join(wrong)} {verb}; {others}"
        return f"{first.says} {others}"
    if first.stage != "value":
        return first.says
    bad = {problem.case for problem in problems}
    good = [case.label for place, case in enumerate(probe.cases) if place not in bad]
    failing = join(list(dict.fromkeys(probe.cases[place].label for place in sorted(bad))))
    if not good:
        return "wrong on every input."
    return f"wrong on {failing}; right on {join(list(dict.fromkeys(good)))}."


def _evidence(
    probe: FunctionProbe, answers: Sequence[Answer], problems: list[Problem], first: Problem
) -> tuple[tuple[Evidence, ...], str]:
    """The first differing entries, and the arguments if they are short.

    Taken from the first input that may be shown: the simplest stand first in a lesson.
    """
    shown = next(
        (p for p in problems if p.stage == first.stage and probe.cases[p.case].public), None
    )
    if shown is None or first.stage not in ("finite", "value"):
        return (), ""
    case = probe.cases[shown.case]
    given = split(answers[shown.case].value, probe.returns)[shown.part]
    wanted = split(case.expected, probe.returns)[shown.part]
    arguments = [argument for argument in case.inputs if not isinstance(argument, Seeded)]
    short = sum(np.size(argument) for argument in arguments) <= LONGEST_SHOWN
    named = zip(probe.arguments, case.inputs, strict=False)
    words = ", ".join(f"{name} = {as_text(argument)}" for name, argument in named)
    return (_differing(shown.part, given, wanted, probe.tolerance),), words if short else ""


def _differing(part: str, given: object, wanted: object, tolerance: float) -> Evidence:
    if not is_numeric(wanted):
        return Evidence(part, shorten(repr(given)), shorten(repr(wanted)))
    yours, expected = np.asarray(given), np.asarray(wanted)
    place = telling_place(yours, expected, tolerance)
    texts = alike(np.atleast_1d(yours[place]), np.atleast_1d(expected[place]))
    return Evidence(f"{part}{index_words(place)}", *texts)
