"""Judging a notebook: questions to the learner's process, verdicts on this side of the wall."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from byhand.ask import Answer
from byhand.compare import judge_function
from byhand.probe import FunctionProbe, Told, ValueProbe
from byhand.tree import flatten
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
from .frames import pack


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
        asked = [task for task in lesson.exercises if not isinstance(task, FreeAnswer)]
        probes = {task.name: questions(task, lesson.number, seed) for task in asked}
        names = [probe.variable for probe in probes.values() if isinstance(probe, ValueProbe)]
        values = dict(zip(names, _values(notebook, names), strict=True))
        verdicts: dict[str, Verdict] = {}
        substitutes: dict[str, Callable] = {}  # earlier functions that were judged wrong
        for task in asked:
            probe, source = probes[task.name], answers.get(task.name, "")
            if isinstance(probe, ValueProbe):
                verdict = judge_value(probe, values[probe.variable])
            else:
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
    return _judge_function(notebook, probe, name or task.variable, substitutes, source)


@cache
def questions(task: Task, lesson: int, seed: int) -> Told:
    """An exercise's probe with hidden cases behind the public ones."""
    probe = probe_of(task, lesson)
    if isinstance(probe, FunctionProbe) and isinstance(task, Exercise):
        return replace(probe, cases=probe.cases + hidden_cases(task, seed))
    return probe


def _values(notebook: Notebook, names: Sequence[str]) -> list[Answer]:
    """What stands under each name, read in one fork, or each in its own if that does not do."""
    answers = notebook.read_in_turn(names) if names else []
    if any(answer.failure not in (None, "missing") for answer in answers):
        return [notebook.read(name) for name in names]
    return answers


def _judge_function(
    notebook: Notebook,
    probe: FunctionProbe,
    name: str,
    substitutes: Mapping[str, Callable],
    source: str,
) -> Verdict:
    """Ask a function all cases in one fork; if it is not right on all, in reverse order again.

    A fork costs as much as all the calls in it. Where the two orders agree to the last bit, no
    answer depends on what was asked before it; where they do not, each case gets a fork of its own.
    """
    inputs = [case.inputs for case in probe.cases]
    lines = source.splitlines()

    def judged(answers: Iterable[Answer]) -> Verdict:
        return judge_function(
            probe,
            [replace(answer, line=_line(lines, answer.line_number)) for answer in answers],
        )

    answers = notebook.ask_in_turn(name, inputs, substitutes, probe.asks)
    if len(answers) == len(inputs):
        verdict = judged(answers)
        if verdict.passed:
            return verdict
        again = notebook.ask_in_turn(name, inputs[::-1], substitutes, probe.asks)
        if [*map(_imprint, answers)] == [*map(_imprint, again[::-1])]:
            return verdict
    return judged(_answers(notebook, probe, name, substitutes))


def _imprint(answer: Answer) -> bytes:
    """All of an answer, to the last bit."""
    arrays: list[np.ndarray] = []
    told = {**vars(answer), "value": flatten(answer.value, arrays)}
    return pack(told, arrays)


def _answers(
    notebook: Notebook, probe: FunctionProbe, name: str, substitutes: Mapping[str, Callable]
) -> Iterator[Answer]:
    """One answer a case, each from a fork of its own. What hung or died once is not asked again."""
    lost: Answer | None = None
    for case in probe.cases:
        answer = lost or notebook.ask(name, case.inputs, substitutes, probe.asks)
        if answer.failure in ("timeout", "died", "missing"):
            lost = answer
        yield answer


def _line(lines: list[str], number: int | None) -> str:
    return lines[number - 1].strip()[:100] if number and 0 < number <= len(lines) else ""
