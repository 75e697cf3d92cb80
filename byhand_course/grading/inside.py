"""What runs on the learner's side of the wall: a warm parent, and one fork of it for each notebook.

Started by its path, as `python -I -B inside.py DESCRIPTOR FOLDER SANDBOX`: the descriptor of the
control socket, the folder that holds the package `byhand`, and the tier that it runs in (see
sandbox.py). Of ours it imports `byhand`, and what lies beside it: outputs.py, walls.py and wire.py.

    the warm parent   imports all that notebooks need, then forks and ends notebooks as it is told
    a notebook        runs cells; its state is what the learner's code made of it
    a question        a fork of the notebook: calls one function, answers, and is forgotten

The learner's code may rewrite everything in the notebook's process, and the grader assumes that it
has. So nothing here is worth reading, and nothing that is sent from here is believed.
"""

import ast
import builtins
import contextlib
import gc
import io
import json
import os
import shutil
import signal
import site
import socket
import struct
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial

sys.path.extend([os.path.dirname(os.path.abspath(__file__)), sys.argv[2]])
import matplotlib.pyplot as plt
import numpy as np
import walls  # type: ignore[import-not-found]
import wire  # type: ignore[import-not-found]
from IPython.core import page
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.history import HistoryManager
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell
from outputs import PICTURE, PLAIN, Capture  # type: ignore[import-not-found]

from byhand.ask import Answer, ask
from byhand.mine import serve_from
from byhand.tree import Code, flatten, unflatten

FOLDER, SANDBOX = sys.argv[2:]
ours = sys.path[-2:]  # what else lies there is not for notebooks, wherever it is named
sys.path[:] = [folder for folder in sys.path if folder not in ours]
BUBBLEWRAP, LANDLOCK = SANDBOX == "bubblewrap", SANDBOX == "landlock"
if BUBBLEWRAP or LANDLOCK:
    sys.path.append(FOLDER)  # it was made for them
READABLE: list[str] = []  # in the sandbox `landlock`, beside the folder of packages
if LANDLOCK:
    with open(os.path.join(os.path.dirname(FOLDER), "readable.json")) as file:
        READABLE = json.load(file)

MAX_DESCRIPTORS = 4096  # closed in a new notebook; the warm parent never has this many


# The warm parent


def main() -> None:
    """Be the warm parent until the grader hangs up."""
    control = socket.socket(fileno=int(sys.argv[1]))
    walls.adopt_orphans()
    shell = warm_shell()
    if BUBBLEWRAP or LANDLOCK:
        walls.call_filter(walls.machine(), alone=BUBBLEWRAP)
    gc.collect()
    gc.freeze()  # so that no fork copies pages only to count references in them
    walls.gather_pages()
    folders: dict[int, str] = {}
    say_pid(control, os.getpid())
    while True:
        line, descriptors = read_line(control)
        if not line:
            break
        request = json.loads(line)
        if request["op"] == "fork":
            with socket.socket(fileno=descriptors[0]) as requests:
                pid = fork_notebook(shell, requests, request["limits"], folders)
        else:
            pid = request["pid"]
            end_notebook(pid, folders)
        say_pid(control, pid)
    for pid in list(folders):
        end_notebook(pid, folders)


def read_line(control: socket.socket) -> tuple[bytes, list[int]]:
    """The grader's next line, and the descriptor that came with it; empty if it has hung up."""
    line = b""
    descriptors: list[int] = []
    while not line.endswith(b"\n"):
        piece, received, _, _ = socket.recv_fds(control, 1 << 16, 1)
        if not piece:
            return b"", []
        line, descriptors = line + piece, descriptors + received
    return line, descriptors


def say_pid(control: socket.socket, pid: int) -> None:
    """Answer the grader."""
    control.sendall(json.dumps({"pid": pid}).encode() + b"\n")


def fork_notebook(
    shell: "Shell", requests: socket.socket, limits: dict, folders: dict[int, str]
) -> int:
    """Fork a notebook with an empty folder of its own, and return its process id."""
    folder = "/work" if BUBBLEWRAP else tempfile.mkdtemp(prefix="notebook-")
    pid = walls.fork_apart() if BUBBLEWRAP else os.fork()
    if pid == 0:
        try:
            settle(requests, folder, limits)
            requests.send(b"\0")  # ready, and no line of the learner's has run
            serve_notebook(shell, requests, limits)
        except walls.WallError as error:
            os.write(2, f"{error}\n".encode())  # read by the grader if no notebook can be started
        finally:
            os._exit(0)
    folders[pid] = folder
    return pid


def end_notebook(pid: int, folders: dict[int, str]) -> None:
    """Kill a notebook with all it started, wait until they are gone, and remove its folder."""
    folder = folders.pop(pid, None)
    if folder is None:
        return  # no notebook of ours, or ended before
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)  # in a pid namespace of its own this ends them all
    if BUBBLEWRAP:
        os.waitpid(pid, 0)
        return
    with contextlib.suppress(ProcessLookupError):  # it may be so young that it leads no group yet
        os.killpg(pid, signal.SIGKILL)
    for waited_for in (pid, -pid):
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(waited_for, 0)
    with contextlib.suppress(OSError, RecursionError):
        shutil.rmtree(folder, ignore_errors=True)


def settle(requests: socket.socket, folder: str, limits: dict) -> None:
    """Turn a fresh fork into a notebook's own process, inside all its walls.

    Args:
        requests: the only descriptor it keeps.
        folder: its working directory.
        limits: see `walls.limit`.
    """
    os.setsid()
    if BUBBLEWRAP:
        walls.settle_apart()
    else:
        walls.die_with_parent()
        os.environ.update(HOME=folder, TMPDIR=folder)
        tempfile.tempdir = folder
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    os.closerange(3, requests.fileno())
    os.closerange(requests.fileno() + 1, MAX_DESCRIPTORS)
    os.chdir(folder)
    np.random.seed(np.frombuffer(os.urandom(32), np.uint32))  # `random` renews itself in a fork
    walls.limit(limits)
    if BUBBLEWRAP or LANDLOCK:
        walls.drop_rights()
    if LANDLOCK:
        walls.keep_to(READABLE, folder)
    if BUBBLEWRAP or LANDLOCK:
        walls.filter_calls(alone=BUBBLEWRAP)


# The shell, and what it catches


class Stream(io.TextIOBase):
    """Stands for sys.stdout or sys.stderr, and writes into the capture of the cell that runs."""

    encoding = "utf-8"

    def __init__(self, shell: "Shell", name: str) -> None:
        self._shell = shell
        self._name = name

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._shell.capture.write(self._name, text)
        return len(text)


class Results(DisplayHook):
    """Catches the value of a cell's last line."""

    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict: dict, md_dict: dict | None = None) -> None:
        count = self.prompt_count  # IPython has counted this cell already
        Shell.instance().capture.show("execute_result", format_dict, execution_count=count)

    def finish_displayhook(self) -> None:
        self._is_active = False


class Displays(DisplayPublisher):
    """Catches what `display` is called with."""

    def publish(
        self,
        data: dict,
        metadata: object = None,
        source: object = None,
        transient: dict | None = None,
        update: bool = False,
        **_: object,
    ) -> None:
        name = (transient or {}).get("display_id")
        Shell.instance().capture.show("display_data", data, name, update)

    def clear_output(self, wait: bool = False) -> None:
        pass


class Shell(InteractiveShell):
    """An IPython shell whose every output goes into `capture`."""

    capture = Capture()

    def _showtraceback(self, etype: type, evalue: BaseException, stb: list[str]) -> None:
        try:
            words = str(evalue)
        except Exception:
            words = ""
        self.capture.fail(etype.__name__, words, stb)

    def transform_cell(self, raw_cell: str) -> str:
        """Turn magics and the like into Python; what is Python already needs no second reading."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what is to be said is said when it is run
                ast.parse(raw_cell)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return super().transform_cell(raw_cell)
        return raw_cell if raw_cell.endswith("\n") else f"{raw_cell}\n"

    def enable_gui(self, gui: str | None = None) -> None:
        pass  # `%matplotlib inline` asks for one


def warm_shell() -> Shell:
    """Build the shell, and run what is slow the first time, so that every notebook starts warm."""
    HistoryManager.enabled = False  # type: ignore[assignment]
    if sys.flags.no_site:  # site-packages are not shown, but `help` is there as at home
        site.sethelper()
        site.setquit()
        site.setcopyright()
    shell = Shell.instance(displayhook_class=Results, display_pub_class=Displays, colors="nocolor")
    assert shell.display_formatter is not None
    shell.display_formatter.active_types = [PLAIN, PICTURE]
    shell.set_hook("show_in_pager", page.as_hook(page.display_page), 99)  # `softmax?`
    shell.InteractiveTB.set_mode("Plain")
    show_figures = figure_shower(shell)
    plt.show = show_figures
    shell.events.register("post_run_cell", partial(show_or_drop, show_figures))
    serve_from(Served)  # what `mine` lends in grading
    np.random.default_rng()  # without a seed it needs 5 ms of imports
    with listening(shell, Capture(1 << 16, 1 << 20)):
        shell.run_cell("1 / 0")  # a traceback needs 0.2 s of imports
        shell.run_cell("import matplotlib.pyplot as plt; plt.plot([1, 2])")
    shell.reset()
    return shell


def figure_shower(shell: Shell) -> Callable[..., None]:
    """A `plt.show` that displays each open figure as a picture and closes it."""

    def show(*_: object, **__: object) -> None:
        numbers = plt.get_fignums()
        for number in numbers:
            figure, file = plt.figure(number), io.BytesIO()
            plt.close(figure)  # first, so that a figure that cannot be drawn fails only once
            figure.savefig(file, format="png", bbox_inches="tight")
            shell.capture.show("display_data", {PLAIN: repr(figure), PICTURE: file.getvalue()})

    return show


def show_or_drop(show_figures: Callable[[], None], result: ExecutionResult) -> None:
    """Show what a cell left drawn; if it failed half-way, nobody misses half a picture."""
    if result.success:
        show_figures()
    else:
        plt.close("all")


@contextlib.contextmanager
def listening(shell: Shell, capture: Capture) -> Iterator[Capture]:
    """Send all that is printed or shown into capture."""
    shell.capture = capture
    out, err = Stream(shell, "stdout"), Stream(shell, "stderr")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        yield capture


# A notebook


def serve_notebook(shell: Shell, requests: socket.socket, limits: dict) -> None:
    """Do what the grader asks, each request on a channel of its own, until it hangs up.

    A channel for each request keeps answers apart, and closes when the process that answers dies.
    """
    questions: set[int] = set()
    while True:
        _, descriptors, _, _ = socket.recv_fds(requests, 1, 1)
        if not descriptors:
            return
        questions -= {pid for pid in questions if has_ended(pid)}
        with socket.socket(fileno=descriptors[0]) as channel:
            request, arrays = receive(channel)
            if request["op"] == "run":
                send(channel, run_cell(shell, channel, request, limits))
            elif request["here"]:
                with contextlib.suppress(ConnectionError):
                    answer_all(shell, channel, request, arrays)
            else:
                questions.add(answer_in_a_fork(shell, requests, channel, request, arrays))


def has_ended(pid: int) -> bool:
    """Whether a child is no more; waiting for it at once would cost the next question 2 ms."""
    try:
        return os.waitpid(pid, os.WNOHANG) != (0, 0)
    except ChildProcessError:  # the learner's code has waited for it
        return True


def run_cell(shell: Shell, channel: socket.socket, request: dict, limits: dict) -> dict:
    """Run one cell and reply with its outputs, and with whether it ran to its end."""
    with listening(shell, Capture(limits["text_chars"], limits["picture_chars"])) as capture:
        shell.execution_count = request["count"]
        Served.channel = channel
        try:
            result = shell.run_cell(request["source"], store_history=True)
        finally:
            Served.channel = None
    return {"op": "ran", "ok": bool(result.success), "outputs": capture.outputs}


def answer_in_a_fork(
    shell: Shell, requests: socket.socket, channel: socket.socket, request: dict, arrays: list
) -> int:
    """Answer from a fork, so that questions leave no trace in the notebook; return its id."""
    pid = os.fork()
    if pid == 0:
        try:
            requests.close()
            answer_all(shell, channel, request, arrays)
        finally:
            os._exit(0)
    return pid


def answer_all(shell: Shell, channel: socket.socket, request: dict, arrays: list) -> None:
    """Answer a request, and all that come after it on the same channel.

    Raises:
        ConnectionError: when there are no more.
    """
    while True:
        answer(shell, channel, request, arrays)
        request, arrays = receive(channel)


def answer(shell: Shell, channel: socket.socket, request: dict, arrays: list) -> None:
    """Send the answers to all questions of a request, each when it is there."""
    served = {name: Served(name) for name in request.get("serve", ())}
    own = {name: shell.user_ns[name] for name in served if name in shell.user_ns}
    put = [*questions(shell, request, arrays)]
    shell.user_ns.update(served)
    Served.channel = channel
    for question in put:
        try:
            reply = written(question())
        except BaseException as error:  # SystemExit, or a value that cannot be read
            reply = written(Answer(raised=type(error).__name__))
        send(channel, *reply)
    for name in served:
        shell.user_ns.pop(name, None)
    shell.user_ns.update(own)


def questions(shell: Shell, request: dict, arrays: list) -> Iterator[Callable[[], Answer]]:
    """What reads one name after another, or calls the function of a name on each case in turn."""
    if request["op"] == "read":
        yield from (partial(value_of, shell, name) for name in request["names"])
        return
    function = shell.user_ns.get(request["name"])
    if not callable(function):
        yield from [partial(Answer, failure="missing")] * len(request["cases"])
        return
    asks = unflatten(request["asks"], arrays.__getitem__, stand_ins=True)
    for case in request["cases"]:
        inputs = unflatten(case, arrays.__getitem__, stand_ins=True)
        assert isinstance(inputs, tuple) and (asks is None or isinstance(asks, Code))
        yield partial(ask, function, inputs, asks)


def value_of(shell: Shell, name: str) -> Answer:
    """What stands under a name."""
    found = name in shell.user_ns
    return Answer(value=shell.user_ns.get(name), failure=None if found else "missing")


def written(answer: Answer) -> tuple[dict, list[np.ndarray]]:
    """An answer as JSON and arrays. The words of an exception stay here: they can quote inputs."""
    arrays: list[np.ndarray] = []
    reply = {
        "op": "answer",
        "value": flatten(answer.value, arrays),
        "raised": answer.raised,
        "line_number": answer.line_number,
        "changed": list(answer.changed),
        "failure": answer.failure,
    }
    return reply, arrays


class Served:
    """Stands for a function that the grader answers itself, in a cell or a question.

    Args:
        name: the function's name.
    """

    channel: socket.socket | None = None

    def __init__(self, name: str) -> None:
        self.__name__ = self.__qualname__ = name

    def __repr__(self) -> str:
        return f"<{self.__name__}, answered by the grader>"

    def __call__(self, *args: object, **kwargs: object) -> object:
        """What the grader's own function returns for these arguments.

        Raises:
            RuntimeError: outside of cells and questions.
            an exception of the built-in type that the grader's function raised.
        """
        if self.channel is None:
            raise RuntimeError(
                f"{self.__name__} comes from an earlier lesson: in grading it can be called only "
                "by cells and by the functions that are graded, not by a thread beside them"
            )
        arrays: list[np.ndarray] = []
        given = {"args": flatten(args, arrays), "kwargs": flatten(kwargs, arrays)}
        send(self.channel, {"op": "call", "name": self.__name__, **given}, arrays)
        reply, values = receive(self.channel)
        if reply["raised"] is not None:
            kind = getattr(builtins, reply["raised"], RuntimeError)
            raise kind(f"{self.__name__} raised {reply['raised']} for these arguments")
        return unflatten(reply["value"], values.__getitem__)


# Frames, as wire.py describes them; what comes from the grader is believed


def send(channel: socket.socket, obj: dict, arrays: Sequence[np.ndarray] = ()) -> None:
    """Write one frame."""
    channel.sendall(wire.pack(obj, arrays))


def receive(channel: socket.socket) -> tuple[dict, list[np.ndarray]]:
    """Read one frame; its arrays may be written to."""
    _, text_bytes, count = wire.HEAD.unpack(read(channel, wire.HEAD.size))
    lengths = struct.unpack(f"<{count}Q", read(channel, 8 * count))
    obj = json.loads(read(channel, text_bytes))
    return obj, [wire.read_npy(read(channel, length)) for length in lengths]


def read(channel: socket.socket, size: int) -> bytearray:
    """Read exactly size bytes."""
    buffer = bytearray(size)
    unread = memoryview(buffer)
    while unread:
        got = channel.recv_into(unread)
        if not got:
            raise ConnectionError("the grader has hung up")
        unread = unread[got:]
    return buffer


if __name__ == "__main__":
    main()
