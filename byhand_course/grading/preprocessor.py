"""nbgrader's road: a preprocessor in place of Execute, so that there is one way code is run.

`nbgrader autograde`, Formgrader's button and `byhand-course grade` all come through here.
"""

import atexit
from functools import cache

from nbformat.notebooknode import NotebookNode
from nbformat.v4 import new_output
from nbgrader.apps import NbGraderAPI
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Enum, Float

from byhand.render import to_html, to_text
from byhand.verdict import Verdict
from byhand_course.errors import Refused
from byhand_course.lessons import Lesson, folder_of, load_lessons

from .engine import CellOutcome, Engine, Limits
from .judging import judge_notebook
from .sandbox import HELP, Sandbox
from .seeds import hidden_seed


class JudgeNotebook(NbGraderPreprocessor):
    """Runs a submitted notebook in the fork engine and writes verdicts into its check cells."""

    sandbox = Enum([tier.value for tier in Sandbox], Sandbox.BUBBLEWRAP.value, help=HELP).tag(
        config=True
    )
    cell_timeout_s = Float(Limits.cell_timeout_s, help="Seconds that one cell may take.").tag(
        config=True
    )
    question_timeout_s = Float(
        Limits.question_timeout_s, help="Seconds that one call of a graded function may take."
    ).tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Fill in the outputs of every code cell; those of check cells are the grader's own."""
        told = resources["nbgrader"]
        lesson = lesson_of(told["notebook"])
        seed = hidden_seed(told["db_url"], told["assignment"])
        checks = {f"check-{task.name}": task.name for task in lesson.exercises}
        running = [
            cell for cell in nb.cells if cell.cell_type == "code" and grade_id(cell) not in checks
        ]
        answers = {grade_id(cell): cell.source for cell in running if grade_id(cell)}
        sources = [cell.source for cell in running]
        judged = judge_notebook(self.engine(), lesson, sources, answers, seed)
        for count, (cell, outcome) in enumerate(zip(running, judged.outcomes, strict=True), 1):
            cell.execution_count = count
            cell.outputs = outputs_of(outcome, count)
        for cell in nb.cells:
            verdict = judged.verdicts.get(checks.get(grade_id(cell), ""))
            if verdict is not None:
                cell.outputs = verdict_outputs(verdict)
        return nb, resources

    def engine(self) -> Engine:
        """The engine that these settings ask for, with its sandbox up."""
        limits = Limits(
            cell_timeout_s=self.cell_timeout_s, question_timeout_s=self.question_timeout_s
        )
        return shared_engine(limits, Sandbox(self.sandbox))


@cache
def shared_engine(limits: Limits, sandbox: Sandbox = Sandbox.BUBBLEWRAP) -> Engine:
    """The one warm engine of this process with these limits; it ends with the process.

    Raises:
        EngineError: if its sandbox cannot be made.
    """
    engine = Engine(limits, sandbox)
    atexit.register(engine.close)
    engine.start()
    return engine


def engine_for(api: NbGraderAPI) -> Engine:
    """The engine that grading this course will use, with its sandbox up.

    Raises:
        EngineError: if its sandbox cannot be made.
    """
    return JudgeNotebook(parent=api).engine()


def lesson_of(notebook: str) -> Lesson:
    """The lesson whose notebook has this name.

    Raises:
        Refused: if it is none of this course.
    """
    for lesson in load_lessons():
        if folder_of(lesson).name == notebook:
            return lesson
    raise Refused(f"No lesson of this course is called {notebook!r}; was the file renamed?")


def grade_id(cell: NotebookNode) -> str:
    """The name that nbgrader knows a cell by, or nothing."""
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


def verdict_outputs(verdict: Verdict) -> list[NotebookNode]:
    """What a check cell shows: the message, and the score as nbgrader reads partial credit.

    nbgrader takes the first execute_result as the score, if its text is one plain float.
    """
    message = {"text/plain": to_text(verdict), "text/html": to_html(verdict)}
    score = {"text/plain": repr(float(verdict.score))}
    return [
        new_output("display_data", data=message),
        new_output("execute_result", data=score, execution_count=None),
    ]


def outputs_of(outcome: CellOutcome, count: int) -> list[NotebookNode]:
    """What a learner's own cell showed, and why it did not run if it did not."""
    outputs = [NotebookNode(output) for output in outcome.outputs]
    for output in outputs:
        if output.output_type == "execute_result":
            output.execution_count = count
    if outcome.failure:
        reason = {
            "timeout": "This cell did not finish in time.",
            "died": "This cell ended its whole process.",
            "unreadable": "The output of this cell could not be read.",
            "skipped": "This cell was not run: the notebook had used up its time.",
        }[outcome.failure]
        outputs.append(new_output("stream", name="stdout", text=reason + "\n"))
    return outputs
