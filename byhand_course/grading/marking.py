"""Marking one notebook: the learner's file goes in, an autograded notebook and its scores come out.

This is the work of a worker, wherever it runs: a job carries all that it needs as plain data.
"""

import json
import threading
from dataclasses import dataclass, field
from functools import cache
from multiprocessing.util import Finalize

from byhand.render import to_html, to_text
from byhand.verdict import Verdict
from byhand_course.errors import Refused
from byhand_course.lessons import Lesson, folder_of, load_lessons

from .edition import edition_of, engine_edition
from .engine import CellOutcome, Engine, Limits
from .errors import EngineError
from .handed_in import Unreadable, read_cells
from .judging import judge_notebook
from .restore import Template, restore
from .sandbox import Sandbox

MAX_LINES = 1000  # of text in the outputs of a cell, as nbgrader's LimitOutput has it
MAX_TRACEBACK = 100
REASONS = {
    "timeout": "This cell did not finish in time.",
    "died": "This cell ended its whole process.",
    "unreadable": "The output of this cell could not be read.",
    "skipped": "This cell was not run: the notebook had used up its time.",
}


@dataclass(frozen=True)
class Job:
    """One notebook to mark.

    Attributes:
        student: whose it is.
        template: the released notebook.
        raw: the file as it was handed in.
        seed: of the hidden questions.
        limits: what it may use.
        sandbox: what keeps it in.
        engine: the edition of the code that is to mark it; a worker elsewhere may have another.
    """

    student: str
    template: Template
    raw: bytes
    seed: int
    limits: Limits = field(default_factory=Limits)
    sandbox: Sandbox = Sandbox.BUBBLEWRAP
    engine: str = ""


@dataclass(frozen=True)
class Marked:
    """What came of a job.

    Attributes:
        student, notebook: whose, and which.
        text: the autograded notebook, as nbgrader writes it.
        scores: points by graded cell; None where a person has to read.
        untouched: answers that are still as they were released.
        repairs: what had to be repaired in the file.
        edition: of the questions and the engine that marked it.
        failure: why it could not be marked, or None.
        stumbled: whether that was the grader's own fault.
        unable: whether this worker can mark nothing at all.
    """

    student: str
    notebook: str
    text: str = ""
    scores: dict[str, float | None] = field(default_factory=dict)
    untouched: frozenset[str] = frozenset()
    repairs: tuple[str, ...] = ()
    edition: str = ""
    failure: str | None = None
    stumbled: bool = False
    unable: bool = False


def mark(job: Job) -> Marked:
    """Mark a notebook in this thread's own warm engine. Raises nothing."""
    notebook = job.template.notebook
    try:
        engine = _able_engine(job)
    except EngineError as error:
        return Marked(job.student, notebook, failure=str(error), unable=True)
    try:
        lesson = lesson_of(notebook)
        handed_in, read = read_cells(job.raw)
        cells, repairs = restore(job.template, lesson, handed_in)
        verdicts = fill_in(cells, lesson, job.seed, engine)
    except Unreadable as refused:
        return Marked(job.student, notebook, failure=str(refused))
    except Exception as error:
        words = str(error) or type(error).__name__
        return Marked(job.student, notebook, failure=f"the grader stumbled: {words}", stumbled=True)
    released = {cell["id"]: cell["source"] for cell in job.template.cells}
    untouched = frozenset(
        cell["id"] for cell in cells if is_answer(cell) and cell["source"] == released[cell["id"]]
    )
    return Marked(
        student=job.student,
        notebook=notebook,
        text=notebook_text(cells, job.template.metadata),
        scores=_scores(cells, verdicts, untouched),
        untouched=untouched,
        repairs=(*read, *repairs),
        edition=edition_of(lesson, job.template, job.seed, job.limits),
    )


def _able_engine(job: Job) -> Engine:
    """This thread's engine, of the right edition and with its sandbox up.

    Raises:
        EngineError: if there is none; no notebook is to blame.
    """
    if job.engine and job.engine != engine_edition():
        raise EngineError("A worker has another version of this course installed: renew it.")
    engine = own_engine(job.limits, job.sandbox)
    engine.start()
    return engine


def _scores(
    cells: list[dict], verdicts: dict[str, Verdict], untouched: frozenset[str]
) -> dict[str, float | None]:
    """Points of every graded cell; an answer in words gets none, or 0 if there is no answer."""
    scores: dict[str, float | None] = {}
    for cell in cells:
        name = grade_id(cell)
        if not cell["metadata"].get("nbgrader", {}).get("grade"):
            continue
        if is_answer(cell):
            scores[name] = 0.0 if name in untouched else None
        else:
            scores[name] = float(verdicts[name.removeprefix("check-")].score)
    return scores


_mine = threading.local()


def own_engine(limits: Limits, sandbox: Sandbox = Sandbox.BUBBLEWRAP) -> Engine:
    """The one warm engine of this thread of this kind; it ends with the process."""
    engines: dict[tuple[Limits, Sandbox], Engine] = _mine.__dict__.setdefault("engines", {})
    kind = limits, sandbox
    if kind not in engines:
        engines[kind] = Engine(limits, sandbox)
        Finalize(None, engines[kind].close, exitpriority=1)  # runs in forked workers too
    return engines[kind]


@cache
def lesson_of(notebook: str) -> Lesson:
    """The lesson whose notebook has this name.

    Raises:
        Refused: if it is none of this course.
    """
    for lesson in load_lessons():
        if folder_of(lesson).name == notebook:
            return lesson
    raise Refused(f"No lesson of this course is called {notebook!r}; was the file renamed?")


# Cells, as plain dicts or as nbformat's nodes


def grade_id(cell: dict) -> str:
    """The name that nbgrader knows a cell by, or nothing."""
    return cell["metadata"].get("nbgrader", {}).get("grade_id", "")


def is_answer(cell: dict) -> bool:
    """Whether a cell is for the learner to fill in."""
    return bool(cell["metadata"].get("nbgrader", {}).get("solution"))


def fill_in(cells: list[dict], lesson: Lesson, seed: int, engine: Engine) -> dict[str, Verdict]:
    """Run a restored notebook, judge its exercises, and write the outputs of all its code cells.

    Those of check cells are the grader's own: its verdict, and the score as nbgrader reads it.
    """
    checks = {f"check-{task.name}": task.name for task in lesson.exercises}
    running = [
        cell for cell in cells if cell["cell_type"] == "code" and grade_id(cell) not in checks
    ]
    answers = {grade_id(cell): cell["source"] for cell in running if grade_id(cell)}
    judged = judge_notebook(engine, lesson, [cell["source"] for cell in running], answers, seed)
    for count, (cell, outcome) in enumerate(zip(running, judged.outcomes, strict=True), 1):
        cell["execution_count"] = count
        cell["outputs"] = outputs_of(outcome, count)
    for cell in cells:
        verdict = judged.verdicts.get(checks.get(grade_id(cell), ""))
        if verdict is not None:
            cell["outputs"] = verdict_outputs(verdict)
    return judged.verdicts


def verdict_outputs(verdict: Verdict) -> list[dict]:
    """What a check cell shows: the message, and the score as nbgrader reads partial credit.

    nbgrader takes the first execute_result as the score, if its text is one plain float.
    """
    message = {"text/plain": to_text(verdict), "text/html": to_html(verdict)}
    score = {"text/plain": repr(float(verdict.score))}
    return [
        {"output_type": "display_data", "metadata": {}, "data": message},
        {"output_type": "execute_result", "metadata": {}, "data": score, "execution_count": None},
    ]


def outputs_of(outcome: CellOutcome, count: int) -> list[dict]:
    """What a learner's own cell showed, and why it did not run if it did not."""
    outputs = limited([dict(output) for output in outcome.outputs])
    for output in outputs:
        if output["output_type"] == "execute_result":
            output["execution_count"] = count
    if outcome.failure:
        text = REASONS[outcome.failure] + "\n"
        outputs.append({"output_type": "stream", "name": "stdout", "text": text})
    return outputs


def limited(outputs: list[dict]) -> list[dict]:
    """Outputs with so few lines that nbgrader's own limit leaves them alone."""
    room, kept = MAX_LINES, []
    for output in outputs:
        if output["output_type"] == "stream":
            if room == 0:
                continue
            lines = output["text"].split("\n")
            if len(lines) > room:
                lines = [*lines[: room - 1], "... Output truncated ..."]
            room -= len(lines)
            output["text"] = "\n".join(lines)
        elif output["output_type"] == "error" and len(output["traceback"]) > MAX_TRACEBACK:
            trace, half = output["traceback"], MAX_TRACEBACK // 2
            cut = "... Traceback truncated ..."
            output["traceback"] = [*trace[:half], cut, *trace[half + 1 - MAX_TRACEBACK :]]
        kept.append(output)
    return kept


def notebook_text(cells: list[dict], metadata: dict) -> str:
    """A notebook as nbformat writes it, byte for byte, without the seconds that nbformat loads."""
    notebook = {
        "cells": [_split(cell) for cell in cells],
        "metadata": metadata,
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    text = json.dumps(
        notebook, ensure_ascii=False, indent=1, sort_keys=True, separators=(",", ": ")
    )
    return text + "\n"


def _split(cell: dict) -> dict:
    """A cell with its texts as lists of lines."""
    written = {**cell, "source": cell["source"].splitlines(True)}
    if "outputs" in cell:
        written["outputs"] = [_split_output(output) for output in cell["outputs"]]
    return written


def _split_output(output: dict) -> dict:
    if output["output_type"] == "stream":
        return {**output, "text": output["text"].splitlines(True)}
    if "data" in output:
        data = {
            kind: text.splitlines(True) if kind.startswith("text/") else text
            for kind, text in output["data"].items()
        }
        return {**output, "data": data}
    return output
