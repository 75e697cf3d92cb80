"""The outer wall: bubblewrap around the warm parent of all notebooks. The trusted side of it.

Inside there is one Python with its libraries, the packages that notebooks use, and empty folders of
a fixed size; no network, no other process, no file and no variable of this machine.
"""

import shutil
import sys
import threading

from .environment import LIBRARIES, PACKAGES, PROGRAM_FOLDER, Environment, environment
from .errors import EngineError
from .sandbox import Sandbox, Start
from .walls import FRESH_FOLDERS, USER

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
NOT_INSTALLED = (
    "Grading needs bubblewrap, and there is no `bwrap` on this machine. On Debian and Ubuntu: "
    "sudo apt install bubblewrap. `byhand-course doctor` says what else is missing."
)
NOT_LINUX = (
    "Grading needs Linux, whose kernel builds the sandbox. On macOS and Windows grade inside the "
    "Linux container: docs/container/README.md."
)


def inside_bubblewrap(descriptor: int) -> Start:
    """How to start the warm parent inside.

    Args:
        descriptor: of its control socket.

    Raises:
        EngineError: if there is no bubblewrap here.
    """
    bwrap = find_bubblewrap()
    found = environment()
    program = str(PROGRAM_FOLDER / "inside.py")
    command = [found.python, "-I", "-S", "-B", program, str(descriptor), str(PACKAGES)]
    return Start(
        command=[bwrap, *command, Sandbox.BUBBLEWRAP],
        environment={},
        options=[*_options(found), *_variables(), "--chdir", "/work"],
        sources=list(found.shown.values()),
    )


def find_bubblewrap() -> str:
    """The path of the program.

    Raises:
        EngineError: if it is not installed, or this is no Linux.
    """
    if sys.platform != "linux":
        raise EngineError(NOT_LINUX)
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise EngineError(NOT_INSTALLED)
    return bwrap


def _options(found: Environment) -> list[str]:
    options = ["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
    options += ["--unshare-cgroup-try", "--cap-drop", "ALL", "--hostname", "grading"]
    options += ["--uid", str(USER), "--gid", str(USER), "--clearenv"]
    options.append("--as-pid-1")  # bubblewrap's own process 1 is left to others to wait for
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
