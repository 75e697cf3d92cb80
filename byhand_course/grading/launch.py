"""The last step before a warm parent starts, in a process of its own that then becomes it.

Run as `python -I -S -B launch.py JSON`. It enters the control group, becomes an ordinary user if it
is root, and executes bubblewrap, or Python. What the ordinary user could not reach (a Python below
/root, say) is first shown to it, in this process's own view of the file system. Nothing here comes
from a learner.
"""

import ctypes
import json
import os
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS = 0x20000
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18

WHAT_TO_DO = (
    "the sandbox does not run as root, and only root may read this. Grade as an ordinary user, or "
    "with a Python and a course folder that everybody can read."
)


def main() -> None:
    """Do as the JSON says; its fields are those of `sandbox.Start`."""
    told = json.loads(sys.argv[1])
    for door in told["doors"]:
        with open(door, "w") as file:
            file.write(str(os.getpid()))
    if told["user"] is not None:
        become(told["user"], told["sources"])
    command = told["command"]
    if told["options"]:  # not in the list of processes, for everybody to read
        options = os.memfd_create("options", 0)
        os.write(options, b"\0".join(os.fsencode(word) for word in told["options"]) + b"\0")
        os.lseek(options, 0, os.SEEK_SET)
        command = [command[0], "--args", str(options), "--", *command[1:]]
    os.execve(command[0], command, told["environment"])


def become(user: int, sources: list[str]) -> None:
    """Become an ordinary user who can read all sources."""
    os.setgroups([])
    os.setegid(user)
    os.seteuid(user)
    closed = {source: barrier for source in sources if (barrier := first_barrier(source))}
    os.seteuid(0)
    os.setegid(0)
    if closed:
        stage(closed)
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def first_barrier(path: str) -> str:
    """The first folder on the way to path that this user may not pass, or path itself, or ""."""
    steps = path.split("/")
    for count in range(2, len(steps)):
        folder = "/".join(steps[:count])
        if not os.access(folder, os.X_OK, effective_ids=True):
            return folder
    wanted = os.R_OK | (os.X_OK if os.path.isdir(path) else 0)
    return "" if os.access(path, wanted, effective_ids=True) else path


def stage(closed: dict[str, str]) -> None:
    """In a view of the file system that only this process has, open the way to some sources.

    Args:
        closed: what bars the way to each source; a folder that then shows nothing but sources.
    """
    checked(LIBC.unshare(CLONE_NEWNS), "No mount namespace can be made")
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    os.umask(0o022)
    kept = {source: os.open(source, os.O_PATH) for source in closed}
    for barrier in sorted(set(closed.values())):
        if barrier in closed or not os.path.isdir(barrier):
            sys.exit(f"{barrier} cannot be read by an ordinary user: {WHAT_TO_DO}")
        mount("tmpfs", barrier, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=755")
    for source, descriptor in kept.items():
        seen = f"/proc/self/fd/{descriptor}"
        if os.path.isdir(seen):
            os.makedirs(source, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(source), exist_ok=True)
            os.close(os.open(source, os.O_CREAT | os.O_WRONLY, 0o644))
        mount(seen, source, None, MS_BIND)
        os.close(descriptor)


def mount(source: str, place: str, kind: str | None, flags: int, options: str = "") -> None:
    """Mount, or end with a sentence that says what to do."""
    words = [os.fsencode(word) if word else None for word in (source, place, kind)]
    done = LIBC.mount(*words, ctypes.c_ulong(flags), options.encode() or None)
    checked(done, f"{source} cannot be shown")


def checked(result: int, what: str) -> None:
    """End if the kernel refused."""
    if result != 0:
        sys.exit(f"{what} ({os.strerror(ctypes.get_errno())}): {WHAT_TO_DO}")


if __name__ == "__main__":
    main()
