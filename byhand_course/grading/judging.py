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

from .engine import CellOutcome, Engine, Notebook, Session
from .wire import pack


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
    asked = [task for task in lesson.exercises if not isinstance(task, FreeAnswer)]
    probes = {task.name: questions(task, lesson.number, seed) for task in asked}
    names = [probe.variable for probe in probes.values() if isinstance(probe, ValueProbe)]
    verdicts: dict[str, Verdict] = {}
    unsure: dict[str, tuple[_Inquiry, list[Answer]]] = {}
    substitutes: dict[str, Callable] = {}  # earlier functions that are not right
    with engine.open(cells, earlier_functions(lesson)) as notebook:
        with notebook.session() as session:
            values = _values(notebook, session, names)
            for task in asked:
                probe = probes[task.name]
                if isinstance(probe, ValueProbe):
                    verdicts[task.name] = judge_value(probe, values[probe.variable])
                    continue
                source = answers.get(task.name, "")
                assert isinstance(probe, FunctionProbe)
                inquiry = _Inquiry(probe, task.variable, source, dict(substitutes))
                given = inquiry.put(session)
                verdicts[task.name] = verdict = inquiry.verdict(given)
                if not verdict.passed:
                    unsure[task.name] = inquiry, given
                    if isinstance(task, Exercise):
                        substitutes[task.variable] = task.solution
        verdicts |= _made_sure(notebook, unsure)
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
    inquiry = _Inquiry(probe, name or task.variable, source, substitutes)
    with notebook.session() as session:
        given = inquiry.put(session)
    verdict = inquiry.verdict(given)
    return verdict if verdict.passed else _made_sure(notebook, {"": (inquiry, given)})[""]


@cache
def questions(task: Task, lesson: int, seed: int) -> Told:
    """An exercise's probe with hidden cases behind the public ones."""
    probe = probe_of(task, lesson)
    if isinstance(probe, FunctionProbe) and isinstance(task, Exercise):
        return replace(probe, cases=probe.cases + hidden_cases(task, seed))
    return probe


@dataclass(frozen=True)
class _Inquiry:
    """All that one function is asked.

    Attributes:
        probe: the cases.
        name: of the function.
        source: the text of the learner's own cell.
        substitutes: reference functions that stand in for wrong earlier ones meanwhile.
    """

    probe: FunctionProbe
    name: str
    source: str
    substitutes: Mapping[str, Callable]

    def put(self, session: Session, backwards: bool = False) -> list[Answer]:
        """Ask every case in one fork, the first or the last one first; none at all if one fails."""
        order = slice(None, None, -1 if backwards else 1)
        inputs = [case.inputs for case in self.probe.cases][order]
        answers = session.ask(self.name, inputs, self.substitutes, self.probe.asks)
        return answers[order] if len(answers) == len(inputs) else []

    def put_alone(self, notebook: Notebook) -> Iterator[Answer]:
        """Ask each case in a fork of its own. What hung or died once is not asked again."""
        lost: Answer | None = None
        for case in self.probe.cases:
            put = (self.name, case.inputs, self.substitutes, self.probe.asks)
            answer = lost or notebook.ask(*put)
            if answer.failure in ("timeout", "died", "missing"):
                lost = answer
            yield answer

    def verdict(self, answers: Iterable[Answer]) -> Verdict:
        """Judge the answers, as far as there are any."""
        lines = self.source.splitlines()
        given = [replace(answer, line=_line(lines, answer.line_number)) for answer in answers]
        missing = [Answer(failure="died")] * (len(self.probe.cases) - len(given))
        return judge_function(self.probe, [*given, *missing])


def _made_sure(
    notebook: Notebook, unsure: Mapping[str, tuple[_Inquiry, list[Answer]]]
) -> dict[str, Verdict]:
    """Verdicts on functions that were not right, with nothing in them that a memory could bring.

    A fork costs as much as all the calls in it, so at first all functions are asked in one. Here
    they are asked in another process, all in reverse order. Where both agree to the last bit, no
    answer depends on what was asked before it. Where not, each case is asked in a fork of its own.
    """
    verdicts: dict[str, Verdict] = {}
    if not unsure:
        return verdicts
    doubted = dict(unsure)
    with notebook.session(last=True) as session:
        for name, (inquiry, given) in reversed([*unsure.items()]):
            if given and [*map(_imprint, given)] == [*map(_imprint, inquiry.put(session, True))]:
                verdicts[name] = inquiry.verdict(given)
                del doubted[name]
    for name, (inquiry, _) in doubted.items():
        verdicts[name] = inquiry.verdict(inquiry.put_alone(notebook))
    return verdicts


def _imprint(answer: Answer) -> bytes:
    """All of an answer, to the last bit."""
    arrays: list[np.ndarray] = []
    told = {**vars(answer), "value": flatten(answer.value, arrays)}
    return pack(told, arrays)


def _values(notebook: Notebook, session: Session, names: Sequence[str]) -> dict[str, Answer]:
    """What stands under each name, read in one fork, or each in its own if that does not do."""
    answers = session.read(names)
    if len(answers) < len(names) or any(each.failure not in (None, "missing") for each in answers):
        answers = [notebook.read(name) for name in names]
    return dict(zip(names, answers, strict=True))


def _line(lines: list[str], number: int | None) -> str:
    return lines[number - 1].strip()[:100] if number and 0 < number <= len(lines) else ""
