"""What is missing on this machine for grading, and how to get it: by trying, not by guessing."""

import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .bubblewrap import find_bubblewrap
from .cgroup import make_group
from .engine import Engine, Limits
from .errors import EngineError
from .walls import MACHINES, landlock_version

OLDEST_PYTHON = (3, 11)
LEAST_DISK_BYTES = 1 << 30
SETTINGS = Path("/proc/sys")

APPARMOR_PROFILE = """\
abi <abi/4.0>,
include <tunables/global>

profile bwrap /usr/bin/bwrap flags=(unconfined) {
  userns,
  include if exists <local/bwrap>
}
"""
APPARMOR = (
    "AppArmor allows user namespaces only to programs that it knows (Ubuntu 23.10 and newer). Save "
    "the profile below as /etc/apparmor.d/bwrap and load it: sudo apparmor_parser -r "
    "/etc/apparmor.d/bwrap. If there is a file bwrap-userns-restrict beside it, disable that first "
    "(sudo aa-disable /etc/apparmor.d/bwrap-userns-restrict): it forbids the walls inside.\n"
    + APPARMOR_PROFILE
)
CONTAINER = (
    "This is a container whose own walls forbid new ones: Docker's default profile blocks user "
    "namespaces. Start it with the profile of this repository: docker run --user 1000:1000 "
    "--security-opt seccomp=docs/container/seccomp.json --security-opt apparmor=unconfined "
    "--security-opt systempaths=unconfined ... (docs/container/README.md). Where that is not "
    "yours to decide, the weaker sandbox may do: --sandbox landlock."
)
SWITCHED_OFF = "User namespaces are switched off here: sudo sysctl -w {setting}={value}"
UNKNOWN = (
    "The words above are the kernel's or bubblewrap's own. User namespaces are needed, with mounts "
    "inside: see docs/sandbox.md."
)


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        what: it is, in a word or two.
        ok: whether it is as it should be.
        needed: whether grading is impossible without it.
        found: what is there.
        advice: what to do about it, or "".
    """

    what: str
    ok: bool
    needed: bool
    found: str
    advice: str = ""


def examine(course: Path) -> list[Finding]:
    """Look at everything that grading needs, and really run the sandbox once.

    Args:
        course: the course folder.
    """
    found = [_system(), _python(), _nbgrader(), _disk("disk of the course", course)]
    found.append(_disk("disk for temporary files", Path(tempfile.gettempdir())))
    found += [_bubblewrap(), _sandbox(), _control_group(), _landlock()]
    return found


def can_grade(findings: list[Finding]) -> bool:
    """Whether nothing that grading needs is missing."""
    return all(finding.ok for finding in findings if finding.needed)


def _system() -> Finding:
    name = f"{platform.system()} {platform.release()} on {platform.machine()}"
    if sys.platform != "linux":
        advice = "Grade inside the Linux container: docs/container/README.md."
        return Finding("system", False, True, name, advice)
    if platform.machine() not in MACHINES:
        advice = f"The sandbox is built for {' and '.join(MACHINES)}: grade on such a machine."
        return Finding("system", False, True, name, advice)
    return Finding("system", True, True, name)


def _python() -> Finding:
    ok = sys.version_info >= OLDEST_PYTHON
    advice = "" if ok else "Install Python 3.11 or newer, then: make env PYTHON=python3.11"
    return Finding("Python", ok, True, f"{platform.python_version()} in {sys.prefix}", advice)


def _nbgrader() -> Finding:
    try:
        found = version("nbgrader")
    except PackageNotFoundError:
        return Finding("nbgrader", False, True, "not installed", "make env installs it.")
    beside = shutil.which("alembic", path=str(Path(sys.executable).parent))
    if beside is None:
        advice = "It makes the gradebook for nbgrader, and should stand beside Python: make env"
        return Finding("nbgrader", False, True, f"{found}, without alembic", advice)
    return Finding("nbgrader", True, True, found)


def _disk(what: str, folder: Path) -> Finding:
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        advice = "Name the course folder: byhand-course doctor --root FOLDER"
        return Finding(what, False, True, f"{folder}: {error.strerror}", advice)
    if not os.access(folder, os.W_OK):
        advice = "Grades and notebooks are written there: give yourself the right to, or move it."
        return Finding(what, False, True, f"{folder} cannot be written to", advice)
    ok = free >= LEAST_DISK_BYTES
    advice = "" if ok else "Less than 1 GiB is free: a class of some hundred needs about that."
    return Finding(what, ok, False, f"{free / 2**30:.1f} GiB free in {folder.resolve()}", advice)


def _bubblewrap() -> Finding:
    try:
        return Finding("bubblewrap", True, True, find_bubblewrap())
    except EngineError as error:
        return Finding("bubblewrap", False, True, "not there", str(error))


def _sandbox() -> Finding:
    """Run the sandbox once, with a notebook that tries to look around."""
    cells = [
        "import os, numpy as np\nfound = [os.getuid(), os.getpid(), len(os.listdir('/proc'))]",
        "import socket\nsocket.socket()",
        "def double(x):\n    return 2 * x",
    ]
    try:
        with Engine(Limits(notebook_timeout_s=20)) as engine, engine.open(cells) as notebook:
            states = [outcome.failure or outcome.ok for outcome in notebook.outcomes]
            value = notebook.ask("double", (21,)).value
            seen = notebook.read("found").value
    except EngineError as error:
        return Finding("sandbox", False, True, str(error), why_not(str(error)))
    if (states, value, seen) != ([True, False, True], 42, [1000, 1, 0]):
        found = f"it runs, but is not as it should be: {states}, {value}, {seen}"
        return Finding("sandbox", False, True, found, "Report this, with the version of Linux.")
    return Finding("sandbox", True, True, "a notebook ran in it, alone and without a network")


def _control_group() -> Finding:
    group = make_group(1 << 30, 64)
    if group is None:
        advice = (
            "Many processes together may use more memory than one may. To bound that too, grade "
            "in a group of your own: systemd-run --user --scope -p MemoryMax=8G byhand-course ..."
        )
        return Finding("control group", False, False, "not allowed here", advice)
    group.remove()
    return Finding("control group", True, False, "memory and processes of a worker are bounded")


def _landlock() -> Finding:
    found = landlock_version()
    said = f"version {found}, for --sandbox landlock" if found else "not in this kernel"
    return Finding("Landlock", found > 0, False, said)


def why_not(said: str) -> str:
    """What to do about a sandbox that did not start.

    Args:
        said: the words of bubblewrap or the kernel.
    """
    if "bwrap` on this machine" in said or "needs Linux" in said or "only root may read" in said:
        return ""  # the sentence says it already
    causes: list[tuple[Callable[[], bool], str]] = [
        (lambda: _setting("kernel/apparmor_restrict_unprivileged_userns") == 1, APPARMOR),
        (
            lambda: _setting("kernel/unprivileged_userns_clone") == 0,
            SWITCHED_OFF.format(setting="kernel.unprivileged_userns_clone", value=1),
        ),
        (
            lambda: _setting("user/max_user_namespaces") == 0,
            SWITCHED_OFF.format(setting="user.max_user_namespaces", value=10000),
        ),
        (in_container, CONTAINER),
        (lambda: bool(re.search(r"proc.*(not permitted|denied)", said)), CONTAINER),
    ]
    return next((advice for applies, advice in causes if applies()), UNKNOWN)


def _setting(name: str) -> int | None:
    try:
        return int((SETTINGS / name).read_text())
    except (OSError, ValueError):
        return None


def in_container() -> bool:
    """Whether this looks like the inside of a container."""
    marks = (Path("/.dockerenv"), Path("/run/.containerenv"))
    return any(mark.exists() for mark in marks) or "container" in os.environ
