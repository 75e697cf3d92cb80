"""Judging a notebook: questions to the learner's process, verdicts on this side of the wall."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from byhand.ask import Answer
from byhand.compare import judge_function
from byhand.probe import FunctionProbe, Told, ValueProbe
from byhand.tree import Code
from byhand.values import judge_value
from byhand.verdict import Verdict
from byhand_course.lessons import (
    Exercise,
    FreeAnswer,
    Lesson,
    Task,
    hidden_cases,
    load_lessons,
    probe_of,
)

from .engine import CellOutcome, Engine, Notebook


@dataclass(frozen=True)
class Judged:
    """What came of one notebook.

    Attributes:
        outcomes: one for each cell that was given, in order.
        verdicts: by exercise; free answers have none.
    """

    outcomes: list[CellOutcome]
    verdicts: dict[str, Verdict]


def judge_notebook(
    engine: Engine, lesson: Lesson, cells: Sequence[str], answers: Mapping[str, str], seed: int
) -> Judged:
    """Run a learner's cells and judge every exercise of the lesson.

    Args:
        engine: where learners' code runs.
        lesson: whose exercises are asked.
        cells: the source of every cell to run, in order.
        answers: the source of each exercise's own cell, by exercise, to quote a line from.
        seed: the instructor's; the same seed asks the same hidden questions.
    """
    with engine.open(cells, earlier_functions(lesson)) as notebook:
        verdicts: dict[str, Verdict] = {}
        substitutes: dict[str, Callable] = {}  # earlier functions that were judged wrong
        for task in lesson.exercises:
            if isinstance(task, FreeAnswer):
                continue
            source = answers.get(task.name, "")
            verdict = judge_task(notebook, lesson, task, source, seed, substitutes)
            verdicts[task.name] = verdict
            if isinstance(task, Exercise) and not verdict.passed:
                substitutes[task.variable] = task.solution
        return Judged(notebook.outcomes, verdicts)


@cache
def earlier_functions(lesson: Lesson) -> dict[str, Callable]:
    """The reference functions of all lessons before this one, which `mine` lends in grading."""
    return {
        task.variable: task.solution
        for other in load_lessons()
        if other.number < lesson.number
        for task in other.exercises
        if isinstance(task, Exercise)
    }


def judge_task(
    notebook: Notebook,
    lesson: Lesson,
    task: Task,
    source: str,
    seed: int,
    substitutes: Mapping[str, Callable],
    name: str = "",
    reveal: bool = False,
) -> Verdict:
    """Judge one exercise of a notebook that has run.

    Args:
        notebook: the learner's process.
        lesson, task: what is judged.
        source: the text of the learner's own cell, to quote a line from.
        seed: of the hidden questions.
        substitutes: reference functions that stand in for wrong earlier ones meanwhile.
        name: under which the answer stands, if not under the exercise's own.
        reveal: whether evidence may show hidden inputs too; never in what a learner gets.
    """
    probe = questions(task, lesson.number, seed)
    if isinstance(probe, ValueProbe):
        return judge_value(probe, notebook.read(name or task.variable))
    assert isinstance(probe, FunctionProbe)
    if reveal:
        probe = replace(probe, cases=tuple(replace(case, public=True) for case in probe.cases))
    at_once = _answers_at_once(notebook, probe, name or task.variable, substitutes)
    if at_once is not None and (verdict := judge_function(probe, at_once)).passed:
        return verdict
    lines = source.splitlines()
    given = [
        replace(answer, line=_line(lines, answer.line_number))
        for answer in _answers(notebook, probe, name or task.variable, substitutes)
    ]
    return judge_function(probe, given)


@cache
def questions(task: Task, lesson: int, seed: int) -> Told:
    """An exercise's probe with hidden cases behind the public ones."""
    probe = probe_of(task, lesson)
    if isinstance(probe, FunctionProbe) and isinstance(task, Exercise):
        return replace(probe, cases=probe.cases + hidden_cases(task, seed))
    return probe


def _answers_at_once(
    notebook: Notebook, probe: FunctionProbe, name: str, substitutes: Mapping[str, Callable]
) -> list[Answer] | None:
    """The answers to all cases from one call after another in one fork, as a check at home asks.

    A fork costs as much as all the calls in it. So a function that is right on everything is asked
    once; if anything at all is amiss, what is found here is forgotten and each case is asked alone.
    """
    cases = tuple(case.inputs for case in probe.cases)
    answer = notebook.ask(name, cases, substitutes, _all_cases(probe.asks))
    values = answer.value
    amiss = answer.failure or answer.raised or answer.changed
    if amiss or not isinstance(values, list) or len(values) != len(cases):
        return None
    return [Answer(value=value) for value in values]


@cache
def _all_cases(asks: Code | None) -> Code:
    """How all cases are put at once: each as a question is put alone."""
    put = f"{asks.name}(answer, *case)" if asks else "answer(*case)"
    text = f"def all_cases(answer, *cases):\n    return [{put} for case in cases]\n"
    return Code("all_cases", f"{asks.source}\n\n{text}" if asks else text)


def _answers(
    notebook: Notebook, probe: FunctionProbe, name: str, substitutes: Mapping[str, Callable]
) -> Iterator[Answer]:
    """One answer a case. A function that hung or died once is not asked again."""
    lost: Answer | None = None
    for case in probe.cases:
        answer = lost or notebook.ask(name, case.inputs, substitutes, probe.asks)
        if answer.failure in ("timeout", "died", "missing"):
            lost = answer
        yield answer


def _line(lines: list[str], number: int | None) -> str:
    return lines[number - 1].strip()[:100] if number and 0 < number <= len(lines) else ""
