"""The grading engine: runs a learner's notebook in a process apart, and asks its functions.

    with Engine() as engine, engine.open(cells) as notebook:
        notebook.outcomes                      # one for each cell
        notebook.ask("softmax", (scores,))     # an Answer, as `byhand.ask` gives

The processes are those of inside.py. Whatever they send is checked here before anyone sees it, and
whatever they do costs only themselves: a cell or a question that hangs, dies or talks nonsense is
noted, its process is killed, and a new one takes the notebook's other cells.
"""

import builtins
import contextlib
import socket
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self

import numpy as np

from byhand.ask import Answer
from byhand.tree import Code, NotATree, flatten, unflatten

from .errors import EngineError
from .frames import Gone, read_outputs, send
from .processes import DOCTOR, NotebookProcess, Server, WarmParent, hear
from .sandbox import Sandbox
from .wire import Hostile, pack

NOTHING_SERVED: Mapping[str, Callable] = MappingProxyType({})
FAILURES = {
    TimeoutError: "timeout",
    Gone: "died",
    Hostile: "unreadable",
    NotATree: "unreadable",
}
EXCEPTION_NAMES = frozenset({"LinAlgError", "AxisError"}) | {
    name
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, BaseException)
}


@dataclass(frozen=True)
class Limits:
    """What one notebook may use.

    Attributes:
        cell_timeout_s: for each cell.
        question_timeout_s: for each question, with all the calls that it makes back to the grader.
        notebook_timeout_s: for all cells and questions together, every new start included.
        memory_bytes: address space of each process.
        file_bytes: length of each file it writes.
        open_files: descriptors of each process.
        processes: how many processes each notebook may have.
        text_chars: text in the outputs of one cell.
        picture_chars: pictures in the outputs of one cell, in base64.
        served_calls: calls back to the grader in one question.
        served_size: the longest axis of an array, and the largest whole number, that a call back
            may hold. A grader's function may build T by T arrays of them.
        served_elements: elements of an array that a call back may hold.
    """

    cell_timeout_s: float = 10.0
    question_timeout_s: float = 5.0
    notebook_timeout_s: float = 120.0
    memory_bytes: int = 2 << 30
    file_bytes: int = 16 << 20
    open_files: int = 256
    processes: int = 64
    text_chars: int = 64 << 10
    picture_chars: int = 1 << 20
    served_calls: int = 10_000
    served_size: int = 4096
    served_elements: int = 1 << 17

    def inside(self) -> dict[str, int | None]:
        """What the learner's process is told, to keep to by itself."""
        return {
            "memory_bytes": self.memory_bytes,
            "cpu_s": int(self.notebook_timeout_s) + 1,
            "file_bytes": self.file_bytes,
            "open_files": self.open_files,
            "processes": self.processes,
            "text_chars": self.text_chars,
            "picture_chars": self.picture_chars,
        }


@dataclass(frozen=True)
class CellOutcome:
    """What one cell came to.

    Attributes:
        outputs: as nbformat 4 writes them; none if there was a failure.
        ok: whether it ran to its end and raised nothing.
        failure: why there is no outcome: "timeout", "died", "unreadable" (its process sent
            something that is no outcome), "skipped" (the notebook's time was up), or None.
    """

    outputs: list[dict]
    ok: bool
    failure: str | None = None


class Closes:
    """What is used in a `with` block, and closed at its end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of all that it holds."""
        raise NotImplementedError


class Engine(Closes):
    """Opens notebooks, one after another or several at once, from one warm process.

    Args:
        limits: what each notebook may use.
        sandbox: what keeps notebooks in.
    """

    def __init__(self, limits: Limits | None = None, sandbox: Sandbox = Sandbox.BUBBLEWRAP) -> None:
        self.limits = limits or Limits()
        self.sandbox = sandbox
        self._parent: WarmParent | None = None
        self._notebooks: set[Notebook] = set()

    def start(self) -> None:
        """Start the warm parent now, and not with the first notebook.

        Raises:
            EngineError: if the sandbox cannot be made here; the sentence says what to do.
        """
        self._warm_parent()

    def open(
        self, cells: Sequence[str], earlier: Mapping[str, Callable] = NOTHING_SERVED
    ) -> "Notebook":
        """Run a notebook's cells, each on its own: one that raises does not stop the next.

        Args:
            cells: their sources.
            earlier: what `byhand.mine` lends to the notebook; a call is answered here.

        Raises:
            EngineError: if no process can be started, or the sandbox cannot be made here.
        """
        self.start()  # its second is not the notebook's
        notebook = Notebook(self, cells, earlier)
        self._notebooks.add(notebook)
        try:
            notebook.run()
        except BaseException:
            notebook.close()
            raise
        return notebook

    def close(self) -> None:
        """End all that was started and remove what it left behind."""
        for notebook in list(self._notebooks):
            notebook.close()
        self._drop_parent()

    def fork(self) -> NotebookProcess:
        """A fresh process for a notebook; if the warm parent has died, from a new one."""
        said = ""
        for _ in range(2):
            try:
                return self._warm_parent().fork(self.limits.inside())
            except Gone:
                said = self._warm_parent().said()
                self._drop_parent()
        raise EngineError(
            f"No notebook can be started in the sandbox ({self.sandbox}): {said}. {DOCTOR}"
        )

    def end(self, process: NotebookProcess) -> None:
        """Kill a notebook's process with all it started."""
        try:
            process.end()
        except Gone:
            self._drop_parent()  # dead or hung: its forks die with it

    def forget(self, notebook: "Notebook") -> None:
        """Let go of a notebook that was closed."""
        self._notebooks.discard(notebook)

    def _warm_parent(self) -> WarmParent:
        if self._parent is None:
            self._parent = WarmParent(self.sandbox)
        return self._parent

    def _drop_parent(self) -> None:
        if self._parent is not None:
            self._parent.close()
            self._parent = None


class Notebook(Closes):
    """A learner's notebook after its cells have run; ask its functions, read its names.

    Attributes:
        outcomes: one for each cell.
    """

    def __init__(
        self, engine: Engine, cells: Sequence[str], earlier: Mapping[str, Callable]
    ) -> None:
        self._engine = engine
        self._earlier = earlier
        self._cells = tuple(cells)
        self._most_lines = max((cell.count("\n") + 1 for cell in cells), default=0)
        self._budget = _Budget(engine.limits.notebook_timeout_s)
        self._lost: set[int] = set()  # cells that cost a process, and are not run again
        self._process: NotebookProcess | None = None
        self._used = False  # whether that process has been asked anything
        self._closed = False
        self.outcomes: list[CellOutcome] = []

    def close(self) -> None:
        """Kill its process, and start no other."""
        self.kill()
        self._closed = True
        self._engine.forget(self)

    def run(self) -> None:
        """Run all cells, and keep their outcomes."""
        self.outcomes = self._run_cells()

    def ask(
        self,
        function: str,
        inputs: tuple,
        serve: Mapping[str, Callable] = NOTHING_SERVED,
        asks: Code | None = None,
    ) -> Answer:
        """Call one of the notebook's functions on copies of inputs, in a fork that is forgotten.

        Args:
            function: its name.
            inputs: anything that `byhand.tree.flatten` can write.
            serve: functions that are answered here, whatever the notebook has under their names.
            asks: how to put the question, as in `byhand.ask.ask`.

        Returns:
            the answer, its message empty. Its failure is "missing" if the notebook has no such
            function, "timeout", "died", "unreadable", or None.
        """
        return self._alone(lambda session: session.ask(function, [inputs], serve, asks))

    def read(self, name: str) -> Answer:
        """The value that the notebook has under a name, as an answer like those of `ask`."""
        return self._alone(lambda session: session.read([name]))

    def session(self, last: bool = False) -> "Session":
        """A fork to put several questions to.

        Args:
            last: whether to ask the notebook's own process instead, and end it: that saves the
                fork. What is asked later is asked of a process that has run the cells again.
        """
        if self._closed:
            raise ValueError("this notebook is closed")
        return Session(self, last)

    def _alone(self, put: Callable[["Session"], list[Answer]]) -> Answer:
        """The answer to a question that has a fork of its own."""
        was_used = self._used
        with self.session() as session:
            answer = put(session)[0]
        if answer.failure == "died" and was_used:  # an earlier question may have killed it
            with self.session() as session:
                answer = put(session)[0]
        return answer

    def converse(
        self,
        channel: socket.socket | None,
        frame: bytes,
        serve: Mapping[str, Callable],
        inputs: list[int],
    ) -> tuple[socket.socket | None, list[Answer]]:
        """Put the questions of one frame to a fork of the process at hand, or of a new one.

        Args:
            channel: to the fork; a new one is made if there is none.
            frame: the questions.
            serve: functions that are answered here.
            inputs: how many each question has.

        Returns:
            the channel, or None if there will be no more answers, and the answers that came.
        """
        if self._process is None:
            self._run_cells()
        if self._process is None:
            return None, [Answer(failure="timeout")]
        self._used = True
        answers: list[Answer] = []
        most_s = self._engine.limits.question_timeout_s
        try:
            with self._budget.spending(most_s) as deadline:
                if channel is None:
                    channel = self._process.say(frame, deadline)
                else:
                    send(channel, frame, deadline)
            for count in inputs:
                with self._budget.spending(most_s) as deadline:
                    reply, values = hear(channel, deadline, self._server(serve))
                    answers.append(_read_answer(reply, values, count, self._most_lines))
        except tuple(FAILURES) as error:
            self.kill()
            if channel is not None:
                channel.close()
            return None, [*answers, Answer(failure=_failure(error))]
        return channel, answers

    def _server(self, serve: Mapping[str, Callable]) -> Server:
        """Answers calls with serve's functions and earlier ones, and counts them."""
        limits, calls = self._engine.limits, 0
        served = {**self._earlier, **serve}

        def server(message: dict, arrays: list[np.ndarray]) -> bytes:
            nonlocal calls
            calls += 1
            if calls > limits.served_calls:
                raise Hostile("a cell or question called back too often")
            return _serve_call(served, message, arrays, limits)

        return server

    def _run_cells(self) -> list[CellOutcome]:
        """Run all cells in a new process, and again without each cell that costs a process."""
        outcomes = [CellOutcome([], ok=False, failure="skipped") for _ in self._cells]
        while self._process is None and self._budget.left_s > 0:
            with self._budget.spending():
                self._process = self._engine.fork()
            for place in range(len(self._cells)):
                if place in self._lost:
                    continue
                outcomes[place] = self._run_cell(place)
                if outcomes[place].failure is not None:
                    self._lost.add(place)
                    self.kill()
                    break
        return outcomes

    def _run_cell(self, place: int) -> CellOutcome:
        assert self._process is not None
        limits = self._engine.limits
        message = {"op": "run", "source": self._cells[place], "count": place + 1}
        try:
            with self._budget.spending(limits.cell_timeout_s) as deadline:
                with self._process.say(pack(message), deadline) as channel:
                    reply, _ = hear(channel, deadline, self._server({}))
                if set(reply) != {"op", "ok", "outputs"} or type(reply["ok"]) is not bool:
                    raise Hostile("a cell's outcome has other fields than outcomes have")
                outputs = read_outputs(reply["outputs"], limits.text_chars, limits.picture_chars)
        except tuple(FAILURES) as error:
            return CellOutcome([], ok=False, failure=_failure(error))
        return CellOutcome(outputs, ok=reply["ok"])

    def kill(self) -> None:
        """Kill its process; the next question starts another."""
        if self._process is not None:
            self._engine.end(self._process)
            self._process, self._used = None, False


class Session(Closes):
    """Questions to one process of a notebook: each finds what those before it left behind.

    Once a question has timed out, died or brought something that cannot be read, its answer is the
    last: all later ones have "died".
    """

    def __init__(self, notebook: Notebook, last: bool = False) -> None:
        self._notebook = notebook
        self._last = last
        self._channel: socket.socket | None = None
        self._over = False

    def close(self) -> None:
        """End the fork, or the process that was asked last."""
        if self._channel is not None:
            self._channel.close()
        if self._last:
            self._notebook.kill()

    def ask(
        self,
        function: str,
        cases: Sequence[tuple],
        serve: Mapping[str, Callable] = NOTHING_SERVED,
        asks: Code | None = None,
    ) -> list[Answer]:
        """Call a function on one case after another, as a check at home does.

        Args:
            function, serve, asks: as in `Notebook.ask`.
            cases: the inputs of each.

        Returns:
            an answer for each case, but for those after one that brought none.
        """
        arrays: list[np.ndarray] = []
        message = {
            "op": "ask",
            "here": self._last,
            "name": function,
            "cases": [flatten(tuple(inputs), arrays) for inputs in cases],
            "serve": sorted(serve),
            "asks": flatten(asks, []),
        }
        return self._put(pack(message, arrays), serve, [len(inputs) for inputs in cases])

    def read(self, names: Sequence[str]) -> list[Answer]:
        """The value under each name, but for those after one that brought none."""
        frame = pack({"op": "read", "here": self._last, "names": list(names)})
        return self._put(frame, NOTHING_SERVED, [0] * len(names))

    def _put(self, frame: bytes, serve: Mapping[str, Callable], inputs: list[int]) -> list[Answer]:
        if self._over:
            return [Answer(failure="died")]
        self._channel, answers = self._notebook.converse(self._channel, frame, serve, inputs)
        self._over = self._channel is None
        return answers


class _Budget:
    """Seconds that a notebook may spend in all."""

    def __init__(self, left_s: float) -> None:
        self.left_s = left_s

    @contextlib.contextmanager
    def spending(self, most_s: float = float("inf")) -> Iterator[float]:
        """Give the instant by which the block must be done, and count the time that it took."""
        began = time.monotonic()
        try:
            yield began + min(most_s, self.left_s)
        finally:
            self.left_s -= time.monotonic() - began


# What a notebook's process says, and what it is told


def _failure(error: BaseException) -> str:
    return next(name for kind, name in FAILURES.items() if isinstance(error, kind))


def _read_answer(reply: dict, arrays: list[np.ndarray], inputs: int, lines: int) -> Answer:
    """Read the reply to a question.

    Args:
        reply: what came; its arrays beside it.
        inputs: how many inputs the question had.
        lines: how many lines the longest cell has.

    Raises:
        Hostile, NotATree: if it is no answer.
    """
    if set(reply) != {"op", "value", "raised", "line_number", "changed", "failure"}:
        raise Hostile("an answer has other fields than answers have")
    raised, number, changed = reply["raised"], reply["line_number"], reply["changed"]
    if reply["failure"] not in (None, "missing"):
        raise Hostile("an answer gives a failure of its own")
    if not (raised is None or isinstance(raised, str)):
        raise Hostile("an answer names an exception that is no text")
    if not isinstance(changed, list) or not all(
        type(place) is int and 0 <= place < inputs for place in changed
    ):
        raise Hostile("an answer names inputs that there are not")
    return Answer(
        value=unflatten(reply["value"], arrays.__getitem__),
        raised=raised if raised is None or raised in EXCEPTION_NAMES else "Exception",
        line_number=number if type(number) is int and 1 <= number <= lines else None,
        changed=tuple(sorted(set(changed))),
        failure=reply["failure"],
    )


def _serve_call(
    serve: Mapping[str, Callable], message: dict, arrays: list[np.ndarray], limits: Limits
) -> bytes:
    """Answer a call back: the value of the grader's function, or the type's name of what it raised.

    Raises:
        Hostile, NotATree: if the message is no call.
    """
    if set(message) != {"op", "name", "args", "kwargs"}:
        raise Hostile("a call has other fields than calls have")
    args = unflatten(message["args"], arrays.__getitem__)
    kwargs = unflatten(message["kwargs"], arrays.__getitem__)
    if not isinstance(args, tuple) or not isinstance(kwargs, dict):
        raise Hostile("a call has no arguments")
    if not all(isinstance(name, str) for name in (message["name"], *kwargs)):
        raise Hostile("a call has names that are no text")
    values: list[np.ndarray] = []
    try:
        if message["name"] not in serve:
            raise NameError("not served for this question")
        if not _is_modest((args, kwargs), limits):
            raise ValueError("too large for a call")
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = flatten(serve[message["name"]](*args, **kwargs), values)
    except Exception as error:
        return pack({"value": None, "raised": type(error).__name__})
    return pack({"value": value, "raised": None}, values)


def _is_modest(value: object, limits: Limits) -> bool:
    """Whether no array or number in value is so large that a function of it could fill memory."""
    if isinstance(value, np.ndarray):
        longest = max(value.shape, default=0)
        return longest <= limits.served_size and value.size <= limits.served_elements
    if isinstance(value, int):
        return abs(value) <= limits.served_size
    if isinstance(value, dict):
        return all(_is_modest(item, limits) for item in value.values())
    if isinstance(value, (tuple, list)):
        return all(_is_modest(item, limits) for item in value)
    return True
