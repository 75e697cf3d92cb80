"""The outer wall: bubblewrap around the warm parent of all notebooks. The trusted side of it.

Inside there is one Python with its libraries, the packages that notebooks use, and empty folders of
a fixed size; no network, no other process, no file and no variable of this machine. As root nothing
is started: stage.py first shows what only root can read to an ordinary id, and becomes it.
"""

import contextlib
import json
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from .environment import LIBRARIES, PACKAGES, PROGRAM_FOLDER, Environment, environment
from .errors import EngineError
from .sandbox import Sandbox, Start
from .walls import FRESH_FOLDERS, USER

STAGE = Path(__file__).with_name("stage.py")
ORDINARY_ID = 64_742  # what root becomes: no account of any system, so that it owns nothing
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
NOT_INSTALLED = (
    "Grading needs bubblewrap, and there is no `bwrap` on this machine. On Debian and Ubuntu: "
    "sudo apt install bubblewrap. `byhand-course doctor` says what else is missing."
)
NOT_LINUX = (
    "Grading needs Linux: its sandbox is made of the Linux kernel's own walls. On macOS and Windows "
    "grade inside the Linux container: docs/container/README.md."
)


@contextlib.contextmanager
def inside_bubblewrap(descriptor: int, folder: Path) -> Iterator[Start]:
    """How to start the warm parent inside.

    Args:
        descriptor: of its control socket.
        folder: an empty one, for root to stage on.

    Raises:
        EngineError: if there is no bubblewrap here.
    """
    bwrap = find_bubblewrap()
    found = environment()
    options = [*_options(found), *_variables(), "--chdir", "/work"]
    program = str(PROGRAM_FOLDER / "inside.py")
    command = [found.python, "-I", "-S", "-B", program, str(descriptor), str(PACKAGES)]
    command.append(Sandbox.BUBBLEWRAP)
    if os.geteuid() == 0:
        sources = list(found.shown.values())
        told = dict(options=options, sources=sources, stage=str(folder), user=ORDINARY_ID)
        told |= dict(command=[bwrap, command])
        stage = [sys.executable, "-I", "-S", "-B", str(STAGE), json.dumps(told)]
        yield Start(stage, {}, (descriptor,))
        return
    with tempfile.TemporaryFile() as arguments:  # not in the list of processes, for all to read
        arguments.write(b"\0".join(os.fsencode(option) for option in options) + b"\0")
        arguments.seek(0)
        line = [bwrap, "--args", str(arguments.fileno()), "--", *command]
        yield Start(line, {}, (descriptor, arguments.fileno()))


def find_bubblewrap() -> str:
    """The path of the program.

    Raises:
        EngineError: if it is not installed, or this is no Linux.
    """
    if sys.platform != "linux":
        raise EngineError(NOT_LINUX)
    bwrap = shutil.which("bwrap", path=f"{os.environ.get('PATH', '')}:/usr/bin:/usr/local/bin")
    if bwrap is None:
        raise EngineError(NOT_INSTALLED)
    return bwrap


def _options(found: Environment) -> list[str]:
    options = ["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
    options += ["--unshare-cgroup-try", "--cap-drop", "ALL", "--hostname", "grading"]
    options += ["--uid", str(USER), "--gid", str(USER), "--clearenv"]
    if threading.current_thread() is threading.main_thread():
        options.append("--die-with-parent")  # in any other thread: with that thread
    for folder, size in FRESH_FOLDERS.items():
        options += ["--size", str(size), "--tmpfs", folder]
    for device in DEVICES:
        options += ["--dev-bind", device, device]
    options += ["--proc", "/proc"]  # a fork needs it to name its user; no notebook sees it
    for place, source in found.shown.items():
        options += ["--ro-bind", source, place]
    for place in found.hidden:
        options += ["--size", "4096", "--tmpfs", place, "--remount-ro", place]
    return [*options, "--remount-ro", "/"]


def _variables() -> list[str]:
    """All that the warm parent finds in its environment: nothing of the grader's own."""
    variables = {
        "HOME": "/home",
        "TMPDIR": "/tmp",
        "IPYTHONDIR": "/home/ipython",
        "MPLCONFIGDIR": "/home/matplotlib",
        "MPLBACKEND": "Agg",
        "LANG": "C.UTF-8",
        "LD_LIBRARY_PATH": str(LIBRARIES),
        "OPENBLAS_NUM_THREADS": "1",  # a fork takes one thread along; more would be missed
        "OMP_NUM_THREADS": "1",
    }
    return [word for item in variables.items() for word in ("--setenv", *item)]
