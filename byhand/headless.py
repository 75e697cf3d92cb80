"""Running notebooks without a browser: every cell in a fresh kernel, then every exercise judged.

The kernel is a process of its own, outside the Jupyter server. A cell that fails is noted, and the
next one runs. A cell that never ends, or that ends its whole process, costs the kernel: then the
notebook is run once more without that cell.
"""

import asyncio
import contextlib
import logging
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .ask import Answer
from .check import CheckFailed, judge
from .compare import judge_function
from .desk import Refused, answer_place, read_cells, shown
from .probe import FunctionProbe, Told, ValueProbe, course, load
from .render import to_text
from .values import judge_value
from .verdict import Verdict

if TYPE_CHECKING:
    from nbclient import NotebookClient
    from nbformat import NotebookNode

TELLS = "application/vnd.byhand.verdict+json"
ASKS = '__import__("byhand.headless", fromlist=["tell"]).tell({name!r})'
UNWRITTEN = "*Write your answer here, in your own words.*"
SYNTAX_ERRORS = ("SyntaxError", "IndentationError", "TabError")
DIED, ENDLESS = "died", "endless"


@dataclass(frozen=True)
class Result:
    """What was found out about one exercise.

    Attributes:
        status: "right", "not yet", "not written", or "in words" (a person reads it).
        why: one sentence on what is not right.
        says: all that `check` says.
    """

    exercise: str
    status: str
    why: str
    score: float
    points: float
    says: str = ""


@dataclass(frozen=True)
class Checked:
    """What was found out about one notebook: its exercises, and cells that had to be stopped."""

    exercises: list[Result]
    notes: list[str] = field(default_factory=list)


# In the learner's kernel


def tell(name: str) -> None:
    """Judge one exercise in this kernel, and publish the result for `check_notebook` to read."""
    from IPython.display import display

    notebook = vars(sys.modules["__main__"])
    display({TELLS: asdict(result_of(name, notebook))}, raw=True)


def result_of(name: str, namespace: dict[str, Any]) -> Result:
    """Judge the exercise `name` by what a notebook left in its namespace."""
    probe = load(name)
    try:
        if probe.variable in namespace:
            verdict = judge(probe, namespace[probe.variable])
        else:
            verdict = _absent(probe)
    except CheckFailed as failed:
        return Result(name, "not yet", str(failed), 0.0, sum(probe.points), str(failed))
    except SystemExit:
        why = "it leaves Python with exit()."
        return Result(name, "not yet", why, 0.0, sum(probe.points), why)
    status, why = "not yet", verdict.headline
    if verdict.passed:
        status, why = "right", ""
    elif verdict.stage == "missing" and verdict.headline.startswith("not "):
        status, why = "not written", ""
    elif verdict.stage == "missing" and probe.variable not in namespace:
        status = "not written"
    return Result(name, status, why, verdict.score, verdict.points, to_text(verdict))


def _absent(probe: Told) -> Verdict:
    nothing = Answer(failure="missing")
    if isinstance(probe, FunctionProbe):
        return judge_function(probe, [nothing] * len(probe.cases))
    assert isinstance(probe, ValueProbe)
    return judge_value(probe, nothing)


# Outside of it


@dataclass(eq=False)
class Step:
    """One thing that the kernel is asked to run: a cell of the notebook, or a verdict.

    Attributes:
        exercise: whose verdict is asked for, or None for a cell.
        check: for a verdict, the cell that checks the same exercise, if there is one.
        failure: DIED or ENDLESS, once it cost a kernel.
    """

    cell: "NotebookNode"
    exercise: str | None = None
    check: "Step | None" = None
    failure: str | None = None

    @property
    def source(self) -> str:
        """What is run."""
        return self.cell.source

    @property
    def over(self) -> bool:
        """Whether it is not to be run (again)."""
        return bool(self.failure or (self.check and self.check.failure) or self.verdict)

    @property
    def verdict(self) -> dict[str, Any] | None:
        """What `tell` published in it."""
        shown_data = (output.get("data", {}) for output in self.cell.outputs)
        return next((data[TELLS] for data in shown_data if TELLS in data), None)

    @property
    def error(self) -> tuple[str, str] | None:
        """The name and the words of the exception that it ended with."""
        for output in self.cell.outputs:
            if output.output_type == "error":
                return output.ename, output.evalue
        return None


def check_notebook(
    path: Path, timeout_s: float = 60, progress: Callable[[int, int], None] | None = None
) -> Checked:
    """Run a notebook from its first cell to its last, and judge its exercises by what it left.

    Args:
        path: the notebook; its own folder is where its code runs.
        timeout_s: for each cell.
        progress: called with the number of steps done, and of all steps.

    Raises:
        Refused: if it cannot be read, or holds no exercise.
    """
    read_cells(path)  # says so in one sentence if it cannot be read
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    names = exercises_in(path, notebook.cells)
    if not names:
        raise Refused(f"{shown(path)} holds no exercise of this course.")
    probes = [load(name) for name in names]
    steps = {place: Step(cell) for place, cell in enumerate(notebook.cells) if is_code(cell)}
    questions = [
        Step(
            nbformat.v4.new_code_cell(ASKS.format(name=probe.name)),
            exercise=probe.name,
            check=_check_of(probe, steps.values()),
        )
        for probe in probes
        if isinstance(probe, (FunctionProbe, ValueProbe))
    ]
    asyncio.run(_run([*steps.values(), *questions], path.parent, timeout_s, progress))
    asked = {question.exercise: question for question in questions}
    results = []
    for probe in probes:
        place = answer_place(notebook.cells, probe.name)
        if probe.name in asked:
            own = steps.get(-1 if place is None else place)
            results.append(_result(probe, asked[probe.name], own, timeout_s))
        else:
            words = "" if place is None else notebook.cells[place].source.strip()
            results.append(_in_words(probe, words))
    return Checked(results, list(_notes(probes, notebook.cells, steps, timeout_s)))


def exercises_in(path: Path, cells: Sequence[Any]) -> list[str]:
    """The exercises of a notebook: its lesson's, or under another name those that it answers."""
    for lesson in course():
        if lesson["notebook"] == path.stem:
            return list(lesson["exercises"])
    known = [name for lesson in course() for name in lesson["exercises"]]
    return [name for name in known if answer_place(cells, name) is not None]


def is_code(cell: "NotebookNode") -> bool:
    """Whether a cell holds something to run."""
    return cell.cell_type == "code" and bool(cell.source.strip())


def _check_of(probe: Told, steps: Iterable[Step]) -> Step | None:
    calls = re.compile(rf"^check\((?:{probe.variable}\)|{probe.variable}=)", re.MULTILINE)
    return next((step for step in steps if calls.search(step.source)), None)


async def _run(
    steps: list[Step],
    folder: Path,
    timeout_s: float,
    progress: Callable[[int, int], None] | None,
) -> None:
    """Run all steps, once more without the last one whenever that cost the kernel."""
    while await _costs_the_kernel(steps, folder, timeout_s, progress):
        _spare(steps)


def _spare(steps: list[Step]) -> None:
    """Count cells as lost that only call an exercise which is lost: waiting again tells nothing."""
    checks = [step.check for step in steps]
    for step in steps:
        if step.exercise and step.check and step.check.failure:
            calls = re.compile(rf"\b{step.exercise.replace('-', '_')}\(")
            for other in steps:
                looks_on = not other.exercise and other not in checks and "def " not in other.source
                if looks_on and not other.failure and calls.search(other.source):
                    other.failure = step.check.failure


async def _costs_the_kernel(
    steps: list[Step],
    folder: Path,
    timeout_s: float,
    progress: Callable[[int, int], None] | None,
) -> bool:
    """Run what is not over in one fresh kernel; whether a step took the kernel down."""
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    client = _client(steps, folder, timeout_s)
    quiet = subprocess.DEVNULL  # for what the process says when it crashes
    leaving: list[bool] = []
    client.on_cell_executed = lambda execute_reply, **_: leaving.append(_leaves(execute_reply))
    async with client.async_setup_kernel(stdout=quiet, stderr=quiet):
        with contextlib.suppress(NotImplementedError):  # Ctrl+C is for us, not for nbclient
            asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)
        for place, step in enumerate(steps):
            if progress:
                progress(place, len(steps))
            if step.over:
                continue
            try:
                await client.async_execute_cell(step.cell, place)
            except CellTimeoutError:
                step.failure = ENDLESS
            except DeadKernelError:
                task = asyncio.current_task()
                if task and task.cancelling():  # by Ctrl+C
                    raise asyncio.CancelledError from None
                step.failure = DIED
            if leaving and leaving[-1]:
                step.failure = DIED
            if step.failure:
                return True
    if progress:
        progress(len(steps), len(steps))
    return False


def _leaves(execute_reply: dict[str, Any]) -> bool:
    """Whether a cell called exit() or quit(): the kernel ends only a moment after its answer."""
    payload = execute_reply["content"].get("payload") or []
    return any(one.get("source") == "ask_exit" for one in payload)


def _client(steps: list[Step], folder: Path, timeout_s: float) -> "NotebookClient":
    """A client for one fresh kernel, whatever kernel the notebook itself asks for."""
    import nbformat
    from nbclient import NotebookClient

    class Client(NotebookClient):
        """Keeps errors and verdicts, and drops what is printed: that may be endless."""

        def output(self, outs: list, msg: dict, *args: Any) -> Any:
            return None if msg["msg_type"] == "stream" else super().output(outs, msg, *args)

    client = Client(
        nbformat.v4.new_notebook(cells=[step.cell for step in steps]),
        kernel_name="python3",
        allow_errors=True,
        timeout=max(1, round(timeout_s)),
        shutdown_kernel="immediate",
        resources={"metadata": {"path": str(folder.resolve())}},
    )
    client.log = logging.getLogger("byhand.headless")
    client.log.setLevel(logging.CRITICAL + 1)
    return client


def _result(probe: Told, question: Step, own: Step | None, timeout_s: float) -> Result:
    """What came of one exercise: its verdict, or what kept it from getting one."""
    told = question.verdict
    if told and told["status"] == "not written" and own and (own.failure or own.error):
        why = _why_no_answer(own, timeout_s)
        return Result(probe.name, "not yet", why, 0.0, told["points"], why)
    if told:
        return Result(**told)
    failure = question.failure or (question.check.failure if question.check else None)
    why = {
        ENDLESS: f"it does not finish within {timeout_s:g} s.",
        DIED: "it ends its whole process.",
        None: "it could not be judged; run `byhand check` once more.",
    }[failure]
    return Result(probe.name, "not yet", why, 0.0, sum(probe.points), why)


def _why_no_answer(own: Step, timeout_s: float) -> str:
    """Why an exercise's own cell left nothing to judge."""
    if own.failure:
        ended = {
            ENDLESS: f"does not finish within {timeout_s:g} s.",
            DIED: "ends its whole process.",
        }
        return f"its cell {ended[own.failure]}"
    assert own.error is not None
    name, words = own.error
    line = re.search(r" \([^()]*, line (\d+)\)$", words)
    if name in SYNTAX_ERRORS and line:
        return f"its cell has a {name} in line {line[1]}: {words[: line.start()]}."
    return f"its cell stops with {name}: {words}."


def _in_words(probe: Told, words: str) -> Result:
    """An answer that a person reads: all that can be told is whether it is there."""
    if words in ("", UNWRITTEN):
        return Result(probe.name, "not written", "", 0.0, sum(probe.points))
    return Result(probe.name, "in words", "a person reads this one.", 0.0, sum(probe.points))


def _notes(
    probes: list[Told], cells: Sequence[Any], steps: dict[int, Step], timeout_s: float
) -> Iterator[str]:
    """A sentence for each lost cell, unless an exercise was lost: then that may be the cause."""
    places = (answer_place(cells, probe.name) for probe in probes)
    spoken_for = [steps.get(place) for place in places if place is not None]
    spoken_for += [_check_of(probe, steps.values()) for probe in probes]
    if any(step and step.failure for step in spoken_for):
        return
    for step in steps.values():
        if step.failure:
            ended = {
                ENDLESS: f"did not finish within {timeout_s:g} s",
                DIED: "ended its whole process",
            }[step.failure]
            first = step.source.strip().splitlines()[0]
            yield f"The cell that begins with `{first}` {ended}, and was left out."
