"""The processes that run learners' code, as the grader sees them: what starts, hears and ends them.

A warm parent forks a process for each notebook, in the sandbox that was chosen. Both are spoken to
through socket pairs; whatever they answer, or fail to, costs them and not the grader.
"""

import contextlib
import json
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import byhand

from .bubblewrap import inside_bubblewrap
from .cgroup import ControlGroup, make_group
from .environment import PACKAGES, environment
from .errors import EngineError
from .frames import Gone, read_json, receive, send
from .sandbox import ORDINARY_ID, Sandbox, Start
from .walls import MACHINES, landlock_version
from .wire import Hostile

INSIDE = Path(__file__).with_name("inside.py")
WORKER_MEMORY_BYTES = 4 << 30  # of a warm parent with all its notebooks, where the host can count
WORKER_PROCESSES = 256

DOCTOR = "`byhand-course doctor` says what is missing and how to get it."
NO_LANDLOCK = (
    "This kernel has no Landlock (Linux 5.13 or newer has, unless it is switched off at boot): the "
    "weaker sandbox cannot be made here."
)

Server = Callable[[dict, list[np.ndarray]], bytes]


class WarmParent:
    """The process of inside.py that forks notebooks.

    Args:
        sandbox: what stands around it and around each notebook.

    Raises:
        EngineError: if it does not start; the sentence says why.
    """

    START_TIMEOUT_S = 60.0  # it imports for a second or two, longer on a busy machine
    REPLY_TIMEOUT_S = 10.0  # it forks and kills in milliseconds
    END_TIMEOUT_S = 2.0  # and then it is killed

    def __init__(self, sandbox: Sandbox) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="byhand-grading-"))
        self._words = tempfile.TemporaryFile()  # noqa: SIM115
        self._control, theirs = socket.socketpair()
        self._sandbox = sandbox
        self._popen: subprocess.Popen | None = None
        self._group: ControlGroup | None = None
        try:
            with theirs:
                start = how_to_start(sandbox, theirs.fileno(), self._folder)
                if sandbox != Sandbox.NONE:
                    self._group = make_group(WORKER_MEMORY_BYTES, WORKER_PROCESSES)
                    start.doors = self._group.doors if self._group else []
                self._popen = subprocess.Popen(
                    start.command if sandbox == Sandbox.NONE else start.launched(),
                    pass_fds=(theirs.fileno(),),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=self._words,
                    cwd=self._folder,
                    env=start.environment,
                    start_new_session=True,  # Ctrl-C is for the grader to handle
                )
            self._reply(self.START_TIMEOUT_S)
        except Gone as error:
            said = self.said()
            self.close()
            raise EngineError(f"The sandbox ({sandbox}) did not start: {said}. {DOCTOR}") from error
        except BaseException:
            self.close()
            raise

    def said(self) -> str:
        """The last line that it, or what started it, wrote to stderr."""
        self._words.seek(0, os.SEEK_END)
        self._words.seek(max(0, self._words.tell() - 1000))
        lines = self._words.read().decode(errors="replace").strip().splitlines()
        return lines[-1].strip().rstrip(".") if lines else "it said nothing"

    def fork(self, limits: dict[str, int | None]) -> "NotebookProcess":
        """Fork a notebook's process.

        Raises:
            Gone: if this parent is dead or hung, or the process did not come to be ready.
        """
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                most = process_limit(self._sandbox, limits["processes"])
                asked = {"op": "fork", "limits": {**limits, "processes": most}}
                pid = self._request(asked, theirs)
            ours.settimeout(self.REPLY_TIMEOUT_S)
            if not ours.recv(1):
                raise Gone("a notebook's process died before it was ready")
        except OSError as error:
            ours.close()
            raise Gone("a notebook's process did not become ready") from error
        except Gone:
            ours.close()
            raise
        return NotebookProcess(self, pid, ours)

    def end(self, pid: int) -> None:
        """Kill a notebook's process with all it started, and wait for their end.

        Raises:
            Gone: if this parent is dead or hung.
        """
        self._request({"op": "end", "pid": pid})

    def close(self) -> None:
        """End the parent and all its forks, and remove what they left."""
        self._control.close()
        if self._popen is not None:
            try:
                self._popen.wait(timeout=self.END_TIMEOUT_S)
            except subprocess.TimeoutExpired:  # hung
                os.killpg(self._popen.pid, signal.SIGKILL)  # bubblewrap and what runs in it
                self._popen.wait()
        if self._group is not None:
            self._group.remove()
        self._words.close()
        with contextlib.suppress(RecursionError):  # folders a thousand deep
            shutil.rmtree(self._folder, ignore_errors=True)

    def _request(self, message: dict, descriptor: socket.socket | None = None) -> int:
        descriptors = [] if descriptor is None else [descriptor.fileno()]
        try:
            self._control.settimeout(self.REPLY_TIMEOUT_S)
            socket.send_fds(self._control, [json.dumps(message).encode() + b"\n"], descriptors)
        except OSError as error:
            raise Gone("the warm parent cannot be reached") from error
        return self._reply(self.REPLY_TIMEOUT_S)

    def _reply(self, timeout_s: float) -> int:
        self._control.settimeout(timeout_s)
        line = b""
        try:
            while not line.endswith(b"\n"):  # a hundred bytes, from our own code: no drops to fear
                piece = self._control.recv(4096)
                if not piece or len(line) > 4096:
                    raise Gone("the warm parent has hung up")
                line += piece
            reply = read_json(line)
        except (OSError, Hostile) as error:
            raise Gone("the warm parent gave no reply") from error
        pid = reply.get("pid") if isinstance(reply, dict) else None
        if type(pid) is not int or pid <= 0:
            raise Gone("the warm parent gave no process id")
        return pid


class NotebookProcess:
    """A notebook's process, and the socket through which it is handed a channel a request."""

    def __init__(self, parent: WarmParent, pid: int, requests: socket.socket) -> None:
        self._parent = parent
        self._pid = pid
        self._requests = requests

    def say(self, frame: bytes, deadline: float) -> socket.socket:
        """Send a request, and give the channel on which its replies come; for `hear`.

        Raises:
            TimeoutError: if it is not taken by the deadline.
            Gone: if the process that should take it has died.
        """
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                self._hand_over(theirs, deadline)
            send(ours, frame, deadline)
        except BaseException:
            ours.close()
            raise
        return ours

    def end(self) -> None:
        """Kill it.

        Raises:
            Gone: if the warm parent that should kill it is dead or hung.
        """
        self._requests.close()
        self._parent.end(self._pid)

    def _hand_over(self, channel: socket.socket, deadline: float) -> None:
        self._requests.settimeout(max(deadline - time.monotonic(), 0.001))
        try:
            socket.send_fds(self._requests, [b"\0"], [channel.fileno()])
        except TimeoutError:
            raise
        except OSError as error:
            raise Gone("a notebook's process has died") from error


def hear(channel: socket.socket, deadline: float, server: Server) -> tuple[dict, list[np.ndarray]]:
    """The next reply on a channel; calls back are answered with server meanwhile.

    Raises:
        TimeoutError: if there is no reply by the deadline.
        Gone: if the process that should reply has died.
        Hostile: if it sent something else.
    """
    while True:
        reply, arrays = receive(channel, deadline)
        if not isinstance(reply, dict):
            raise Hostile("a reply is no object")
        if reply.get("op") != "call":
            return reply, arrays
        send(channel, server(reply, arrays), deadline)


def process_limit(sandbox: Sandbox, wanted: int | None) -> int | None:
    """How many processes to allow a notebook, as the kernel counts them.

    Since Linux 5.14 it counts a user namespace apart. Before, and without one, it counts all
    processes of the user; those that the user may start meanwhile must not cost a learner anything.
    """
    if sandbox == Sandbox.NONE or wanted is None:
        return None
    if sandbox == Sandbox.BUBBLEWRAP and kernel_version() >= (5, 14):
        return wanted
    user = ORDINARY_ID if os.geteuid() == 0 else os.geteuid()
    count = 0
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            count += process.stat().st_uid == user
    return wanted + count + 512


def kernel_version() -> tuple[int, ...]:
    """Major and minor."""
    return tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2])


# How each tier starts


def how_to_start(sandbox: Sandbox, descriptor: int, folder: Path) -> Start:
    """How to start the warm parent in a sandbox.

    Args:
        sandbox: the tier.
        descriptor: of its control socket.
        folder: an empty one of its own.

    Raises:
        EngineError: if the sandbox cannot be made here.
    """
    if sandbox != Sandbox.NONE and platform.machine() not in MACHINES:
        known = " and ".join(MACHINES)
        raise EngineError(f"The sandbox is built for {known}, not for {platform.machine()}.")
    if sandbox == Sandbox.BUBBLEWRAP:
        return inside_bubblewrap(descriptor)
    if sandbox == Sandbox.LANDLOCK:
        return behind_landlock(descriptor, folder)
    return without_walls(descriptor, folder)


def behind_landlock(descriptor: int, folder: Path) -> Start:
    """How to start it in the weaker tier: the same packages, shown by links in its own folder.

    Raises:
        EngineError: if the kernel has no Landlock.
    """
    if landlock_version() < 1:
        raise EngineError(NO_LANDLOCK)
    found = environment()
    packages = folder / "packages"
    packages.mkdir()
    for place, source in found.shown.items():
        if place.startswith(f"{PACKAGES}/"):
            (packages / Path(place).name).symlink_to(source)
    readable = [str(packages), *found.readable]
    (folder / "readable.json").write_text(json.dumps(readable))
    if os.geteuid() == 0:
        os.chown(folder, ORDINARY_ID, ORDINARY_ID)
    python = str(Path(sys.executable).resolve())
    command = [python, "-I", "-S", "-B", str(INSIDE), str(descriptor), str(packages)]
    sources = [python, str(INSIDE), str(folder), *readable]
    return Start([*command, Sandbox.LANDLOCK], _variables(folder), sources=sources)


def without_walls(descriptor: int, folder: Path) -> Start:
    """How to start it with the grader's own rights."""
    packages = Path(byhand.__file__).parents[1]  # -I finds no package beside the working folder
    command = [sys.executable, "-I", "-B", str(INSIDE), str(descriptor), str(packages)]
    return Start([*command, Sandbox.NONE], _variables(folder))


def _variables(folder: Path) -> dict[str, str]:
    """The whole environment of a warm parent that sees the grader's own file system."""
    return {
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "IPYTHONDIR": str(folder / "ipython"),
        "MPLCONFIGDIR": str(folder / "matplotlib"),
        "MPLBACKEND": "Agg",
        "LANG": "C.UTF-8",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
