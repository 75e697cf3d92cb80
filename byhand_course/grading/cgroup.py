"""A control group around one warm parent: what all its notebooks may use together.

Limits of one process do not add up to a limit of many; a control group counts them all. Making one
takes rights that root has on most machines, and an ordinary user below a systemd session of theirs;
where the host does not allow it, there is none, and `byhand-course doctor` says so.
"""

import contextlib
import itertools
import os
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
PREFIX = "byhand-"
NUMBERS = itertools.count()


@dataclass(frozen=True)
class ControlGroup:
    """Folders of the kernel's; a process is in the group once its id is written into each."""

    folders: tuple[Path, ...]

    @property
    def doors(self) -> list[str]:
        """The files into which a process writes its id to enter."""
        return [str(folder / "cgroup.procs") for folder in self.folders]

    def remove(self) -> None:
        """Remove the group once its last process has ended; a second is enough for that."""
        ends = time.monotonic() + 1
        for folder in self.folders:
            while folder.exists():
                with contextlib.suppress(OSError):
                    folder.rmdir()
                    break
                if time.monotonic() > ends:
                    break
                time.sleep(0.01)


def make_group(memory_bytes: int, processes: int) -> ControlGroup | None:
    """A new group with these limits, or None where the host allows none."""
    name = f"{PREFIX}{os.getpid()}-{next(NUMBERS)}"
    together = {"memory.max": memory_bytes, "memory.swap.max": 0, "pids.max": processes}
    with_swap = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
    apart = {"memory": dict.fromkeys(with_swap, memory_bytes), "pids": {"pids.max": processes}}
    mine = own_groups()
    if "" in mine:  # version 2: one hierarchy; processes live in its leaves
        for parent in (mine[""], *mine[""].parents):
            if not parent.is_relative_to(ROOT):
                break
            folder = _limited(parent / name, together)
            if folder is not None:
                return ControlGroup((folder,))
    folders: list[Path] = []
    for controller, limits in apart.items():
        folder = _limited(mine[controller] / name, limits) if controller in mine else None
        if folder is None:
            ControlGroup(tuple(folders)).remove()
            return None
        folders.append(folder)
    return ControlGroup(tuple(folders))


def own_groups() -> dict[str, Path]:
    """The group of this process by controller; under "" that of version 2."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return {}
    found = {}
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            base = ROOT / controllers if controllers else ROOT
            found[controller] = base / path.lstrip("/")
    return found


def _limited(folder: Path, limits: dict[str, int]) -> Path | None:
    """Make a group with limits; None if that is not allowed, or a limit is not known there."""
    try:
        for left in folder.parent.glob(f"{PREFIX}*"):  # by graders that were killed
            if not Path("/proc", left.name.split("-")[1]).exists():
                ControlGroup((left,)).remove()
        folder.mkdir()
    except OSError:
        return None
    try:
        os.close(os.open(folder / "cgroup.procs", os.O_WRONLY))
        for name, amount in limits.items():
            if "sw" in name and not (folder / name).exists():
                continue  # no swap is counted here
            (folder / name).write_text(str(amount))
    except OSError:
        with contextlib.suppress(OSError):
            folder.rmdir()
        return None
    return folder
