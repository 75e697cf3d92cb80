"""Root's part in starting a sandbox, in a process of its own: become an ordinary user, then start it.

Run as `python -I -S -B stage.py JSON`. What the ordinary user could not read (a Python below /root,
say) is first shown to it, read-only and in this process's own view of the file system, below an
empty folder. Nothing here comes from a learner.
"""

import ctypes
import json
import os
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS = 0x20000
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18


def main() -> None:
    """Stage what must be, become the ordinary user, and execute bubblewrap."""
    told = json.loads(sys.argv[1])
    user = told["user"]
    hidden = [source for source in told["sources"] if not readable(source, user)]
    staged = stage(hidden, told["stage"]) if hidden else {}
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    options = [staged.get(option, option) for option in told["options"]]
    arguments = os.memfd_create("arguments", 0)
    os.write(arguments, b"\0".join(os.fsencode(option) for option in options) + b"\0")
    os.lseek(arguments, 0, os.SEEK_SET)
    program, command = told["command"]
    os.execve(program, [program, "--args", str(arguments), "--", *command], {})


def readable(path: str, user: int) -> bool:
    """Whether an ordinary user can reach and read it."""
    os.setegid(user)
    os.seteuid(user)
    try:
        wanted = os.R_OK | (os.X_OK if os.path.isdir(path) else 0)
        return os.access(path, wanted, effective_ids=True)
    finally:
        os.seteuid(0)
        os.setegid(0)


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
    words = [os.fsencode(word) if word else None for word in (source, place, kind)]
    done = LIBC.mount(*words, ctypes.c_ulong(flags), options.encode() or None)
    checked(done, f"{source} cannot be shown")


def checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(
            number,
            f"{what}: {os.strerror(number)}. Root may read files that the ordinary user of the "
            "sandbox may not, and cannot show them here: grade as an ordinary user, or with a "
            "Python that everybody can read",
        )


if __name__ == "__main__":
    main()
