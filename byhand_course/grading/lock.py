"""One grader at a time in a course folder; it ends with its process, however that ends."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from byhand_course.errors import Refused

LOCK = ".grading.lock"


@contextmanager
def only_grader(root: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Wait until no other process grades in root, and say so if it takes waiting.

    The lock is one of POSIX's, which forked workers do not inherit: when the grader is killed it
    is free at once, whatever its workers still do.

    Raises:
        Refused: if root cannot be written.
    """
    try:
        descriptor = os.open(root / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise Refused(f"{root} cannot be written: {error.strerror}. Make it writable.") from None
    try:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            other = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
            say(f"Another grader works in this course (process {other}): waiting until it is done.")
            fcntl.lockf(descriptor, fcntl.LOCK_EX)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)
