"""The last step before a warm parent starts, in a process of its own that then becomes it.

Run as `python -I -S -B launch.py JSON`. It enters the control group, becomes an ordinary user if it
is root, and executes bubblewrap, or Python. What the ordinary user could not read (a Python below
/root, say) is first shown to it, read-only and in this process's own view of the file system, below
an empty folder. Nothing here comes from a learner.
"""

import ctypes
import json
import os
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS = 0x20000
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18

WHAT_TO_DO = (
    "only root may read some of this Python's files, and the sandbox does not run as root. Grade "
    "as an ordinary user, or with a Python that everybody can read."
)


def main() -> None:
    """Do as the JSON says; its fields are those of `sandbox.Start`."""
    told = json.loads(sys.argv[1])
    for door in told["doors"]:
        with open(door, "w") as file:
            file.write(str(os.getpid()))
    staged = become(told["user"], told["sources"], told["folder"]) if told["user"] else {}
    command = told["command"]
    if staged and not told["options"]:
        sys.exit(f"{next(iter(staged))} cannot be read by an ordinary user: {WHAT_TO_DO}")
    if told["options"]:  # not in the list of processes, for everybody to read
        options = os.memfd_create("options", 0)
        words = [staged.get(word, word) for word in told["options"]]
        os.write(options, b"\0".join(os.fsencode(word) for word in words) + b"\0")
        os.lseek(options, 0, os.SEEK_SET)
        command = [command[0], "--args", str(options), "--", *command[1:]]
    os.execve(command[0], command, told["environment"])


def become(user: int, sources: list[str], folder: str) -> dict[str, str]:
    """Become an ordinary user who can read all sources; return where else those now are."""
    hidden = [source for source in sources if not readable(source, user)]
    staged = stage(hidden, folder) if hidden else {}
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    return staged


def readable(path: str, user: int) -> bool:
    """Whether an ordinary user can reach and read it."""
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(user)
    os.seteuid(user)
    try:
        wanted = os.R_OK | (os.X_OK if os.path.isdir(path) else 0)
        return os.access(path, wanted, effective_ids=True)
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


def stage(sources: list[str], folder: str) -> dict[str, str]:
    """Show each source below folder, for this process and its children only; return the places."""
    checked(LIBC.unshare(CLONE_NEWNS), "no mount namespace")
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    mount("tmpfs", folder, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=755")
    os.chdir(folder)
    places = {}
    for number, source in enumerate(sources):
        place = os.path.join(folder, str(number))
        if os.path.isdir(source):
            os.mkdir(place)
        else:
            os.close(os.open(place, os.O_CREAT | os.O_WRONLY, 0o644))
        mount(source, place, None, MS_BIND)
        places[source] = place
    return places


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
