"""The one ruler: compares answers with recorded ones, at home and in hidden grading alike.

It judges in a fixed order and stops at the first thing wrong: is it there, does it run, type,
shape, dtype, finite, arguments untouched, value. Then it says which part is right, shows the
smallest evidence, names a cause if one explains every recorded input, and asks a question.
"""

import itertools
from collections.abc import Sequence

import numpy as np

from .ask import Answer
from .probe import Case, FunctionProbe
from .problems import ONLY_HIDDEN, STAGES, Problem, find_problems, split
from .relations import Pair, Relation, name_relation
from .ruler import agree, as_array, is_numeric
from .table import first_wrong, table_of, where_to_begin
from .verdict import Evidence, Verdict
from .wording import arguments_text, difference, join

QUESTIONS = {
    "missing": "Replace the line that raises NotImplementedError, run the cell, check again.",
    "raises": "Which line does it come from? Call it yourself on a small input.",
    "type": "What does your last line return?",
    "shape": "Write the shape of each array beside the line that makes it. Where do they part?",
    "dtype": "Which line turns the numbers into another type?",
    "finite": "Which step first gives inf or nan on that input? Print the largest value before it.",
    "input": "Which line writes into its argument? What would give a new array instead?",
    "value": "Work the first differing entry out by hand. At which step do you and your code part?",
}
MANY = 3  # inputs and parts are counted, not listed, if there are more than this


def judge_function(probe: FunctionProbe, answers: Sequence[Answer]) -> Verdict:
    """Judge a function by its answers, one for each case of the probe, in order."""
    problems = [
        problem
        for place, (case, answer) in enumerate(zip(probe.cases, answers, strict=True))
        for problem in find_problems(probe, place, case, answer)
    ]
    wrong = {problem.part for problem in problems}
    parts = {part: part not in wrong for part in probe.returns}
    earned = sum(
        points for part, points in zip(probe.returns, probe.points, strict=True) if parts[part]
    )
    points = sum(probe.points)
    table = table_of(probe, answers)
    if not problems:
        headline = f"right on all {len(probe.cases)} inputs. Well done!"
        passed = (probe.name, probe.variable, None, parts, points, points, headline)
        return Verdict(*passed, table=table)
    first = min(problems, key=lambda p: (STAGES.index(p.stage), p.case))
    mistake = name_mistake(probe, answers)
    # What a learner cannot see wrong at home, they cannot follow up either.
    visible = any(probe.cases[problem.case].public for problem in problems)
    related = visible and first.stage in ("shape", "value")
    relation = _relation(probe, answers, first) if related else None
    cause = probe.says[mistake] if mistake else relation.says if relation else ""
    headline = _headline(probe, problems, first, parts)
    if first.stage == "value" and probe.in_turn and (begin := first_wrong(table)):
        headline = where_to_begin(table)
        first = next((p for p in problems if p.part == begin.name and p.stage == "value"), first)
    evidence, given = _evidence(probe, answers, problems, first)
    question = first.asks or QUESTIONS[first.stage]
    if first.stage == "value" and not evidence:
        question = ONLY_HIDDEN
    return Verdict(
        exercise=probe.name,
        function=probe.variable,
        stage=first.stage,
        parts=parts,
        score=earned,
        points=points,
        headline=headline,
        evidence=evidence,
        table=table,
        given=given,
        cause=cause,
        question="" if cause or headline.endswith("?") else question,
        mistake=mistake,
        relation=relation.name if relation and not mistake else None,
    )


def name_mistake(probe: FunctionProbe, answers: Sequence[Answer]) -> str | None:
    """The first known mistake that answers as these answers do on every case, or None.

    On one case at least it must show by more than an exception, which anything could raise.
    """
    for name in probe.says:
        known = [case.mistaken[name] for case in probe.cases]
        if any(map(_tells, [probe] * len(known), probe.cases, known)) and all(
            answers_agree(probe, answer, one) for answer, one in zip(answers, known, strict=True)
        ):
            return name
    return None


def answers_agree(probe: FunctionProbe, answer: Answer, known: Answer) -> bool:
    """Whether two answers are the same one: same exception, or same values and side effects."""
    if answer.failure or answer.raised or known.raised:
        return answer.failure is None and answer.raised == known.raised
    same_changes = answer.changed == known.changed
    return same_changes and agree(answer.value, known.value, probe.tolerance)


def _tells(probe: FunctionProbe, case: Case, known: Answer) -> bool:
    if known.raised:
        return False
    return bool(known.changed) or not agree(known.value, case.expected, probe.tolerance)


def _relation(probe: FunctionProbe, answers: Sequence[Answer], first: Problem) -> Relation | None:
    """How the part that is wrong first is related to what was expected, on every input."""
    pairs = []
    for case, answer in zip(probe.cases, answers, strict=True):
        given = split(answer.value, probe.returns)[first.part]
        wanted = split(case.expected, probe.returns)[first.part]
        if not (is_numeric(given) and is_numeric(wanted)):
            return None
        arguments = dict(zip(probe.arguments, case.inputs, strict=False))
        pairs.append(Pair(as_array(given), as_array(wanted), arguments, case.public))
    return name_relation(pairs, probe.tolerance)


def _headline(
    probe: FunctionProbe, problems: list[Problem], first: Problem, parts: dict[str, bool]
) -> str:
    wrong = [part for part, right in parts.items() if not right]
    right = [part for part, right in parts.items() if right]
    if right:
        are_right = f"{_listed(right)} {'is' if len(right) == 1 else 'are'} right."
        if first.stage != "value":
            return f"{first.says} {are_right}"
        return f"{_listed(wrong)} {'differs' if len(wrong) == 1 else 'differ'}; {are_right}"
    if first.stage != "value":
        return first.says
    return _where(probe, {problem.case for problem in problems})


def _where(probe: FunctionProbe, bad: set[int]) -> str:
    """On which inputs an answer is wrong, and on which right."""
    labels = list(dict.fromkeys(case.label for case in probe.cases))
    failing = {probe.cases[place].label for place in bad}
    if not any(probe.cases[place].public for place in bad):
        named = _listed([label for label in labels if label in failing])
        return f"right on the inputs that you can see, wrong on others of the same kind: {named}."
    if failing == set(labels):
        return "wrong on every input."
    listed = _listed([label for label in labels if label in failing])
    good = _listed([label for label in labels if label not in failing])
    return f"wrong on {listed}; right on {good}."


def _listed(labels: list[str]) -> str:
    if len(labels) <= MANY:
        return join(labels)
    return f"{', '.join(labels[: MANY - 1])} and {len(labels) - MANY + 1} others"


def _evidence(
    probe: FunctionProbe, answers: Sequence[Answer], problems: list[Problem], first: Problem
) -> tuple[tuple[Evidence, ...], str]:
    """The first differing entries, and the arguments if they are short.

    Taken from the first input that may be shown: the simplest stand first in a lesson.
    """
    seen = [p for p in problems if p.stage == first.stage and probe.cases[p.case].public]
    seen.sort(key=lambda p: p.part != first.part)
    if not seen or first.stage not in ("finite", "value"):
        return (), ""
    case, part = probe.cases[seen[0].case], seen[0].part
    given = split(answers[seen[0].case].value, probe.returns)[part]
    wanted = split(case.expected, probe.returns)[part]
    # Beside nan and infinities, finite entries are as good as equal.
    tolerance = 1e300 if first.stage == "finite" else probe.tolerance
    index, yours, expected = _smallest(given, wanted, tolerance)
    shown = Evidence(f"{part}{index}", yours, expected)
    return (shown,), arguments_text(probe.arguments, case.inputs)


def _smallest(given: object, wanted: object, tolerance: float) -> tuple[str, str, str]:
    """The smallest difference: its index, and both sides of it as text."""
    for key, one, other in _items(given, wanted):
        if not agree(one, other, tolerance):
            index, yours, expected = _smallest(one, other, tolerance)
            return f"[{key!r}]{index}", yours, expected
    return difference(given, wanted, tolerance)


def _items(given: object, wanted: object) -> list[tuple[object, object, object]]:
    """What stands at the same place in two containers of one shape."""
    if isinstance(given, dict) and isinstance(wanted, dict) and given.keys() == wanted.keys():
        return [(key, given[key], wanted[key]) for key in wanted]
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if isinstance(given, (tuple, list)) and isinstance(wanted, (tuple, list)):
        return list(zip(itertools.count(), given, wanted)) if len(given) == len(wanted) else []
    return []
