"""How learners' code is kept in: the tiers, by name. The only place where one is chosen."""

from dataclasses import dataclass
from enum import StrEnum


class Sandbox(StrEnum):
    """A tier. None is ever taken in place of another."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    NONE = "none"

    @property
    def explained(self) -> str:
        """What it keeps in, and what it does not, in one sentence."""
        return EXPLAINED[self]


EXPLAINED = {
    Sandbox.BUBBLEWRAP: (
        "Every notebook runs in namespaces of its own, inside a bubblewrap sandbox that shows one "
        "Python, a few packages and nothing else of this machine."
    ),
    Sandbox.LANDLOCK: (
        "Landlock, a filter of system calls and resource limits: nothing of yours can be read or "
        "changed and nothing reaches the network, but a notebook can fill the disk below your "
        "temporary folder, see how busy this machine is, and use more memory than one process may."
    ),
    Sandbox.NONE: (
        "Code runs with your own rights: it can read, change and delete what you can. For your own "
        "code only."
    ),
}


@dataclass(frozen=True)
class Start:
    """How to start a warm parent.

    Attributes:
        command: its command line.
        environment: all that the command finds in its environment.
        descriptors: those it inherits, its control socket among them.
        user: the id that it starts as, or None for the grader's own.
    """

    command: list[str]
    environment: dict[str, str]
    descriptors: tuple[int, ...]
    user: int | None = None
