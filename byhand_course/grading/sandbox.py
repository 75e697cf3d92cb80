"""How learners' code is kept in: the tiers, by name. The only place where one is chosen."""

import json
import os
import sys
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path

LAUNCH = Path(__file__).with_name("launch.py")
ORDINARY_ID = 64_742  # what root becomes: no account of any system, so that it owns nothing


class Sandbox(StrEnum):
    """A tier. None is ever taken in place of another."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    NONE = "none"


KEEPS_IN = {
    Sandbox.BUBBLEWRAP: (
        "every notebook runs in namespaces of its own, inside a sandbox that shows one Python, a "
        "few packages and nothing else of this machine"
    ),
    Sandbox.LANDLOCK: (
        "a weaker sandbox: learners' code can read and change nothing of yours and has no "
        "network, but it can see which files exist and what this machine is called and made of, "
        "fill the disk of your temporary folder, take much memory in many processes, and leave "
        "processes running if the grader is killed"
    ),
    Sandbox.NONE: (
        "no sandbox: the code can read, change and delete whatever you can; for your own code only"
    ),
}
HELP = "What keeps learners' code in. " + " ".join(
    f"{tier}: {words}." for tier, words in KEEPS_IN.items()
)


@dataclass
class Start:
    """How to start a warm parent, once it runs as who it should.

    Attributes:
        command: its command line.
        environment: all that the command finds in its environment.
        options: for bubblewrap, which reads them apart from its command line.
        sources: files and folders that it must be able to read.
        doors: files into which its id is written, to enter a control group.
        user: who it becomes if started by root.
    """

    command: list[str]
    environment: dict[str, str]
    options: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    doors: list[str] = field(default_factory=list)
    user: int | None = None

    def launched(self) -> list[str]:
        """The command line that does all this."""
        self.user = ORDINARY_ID if os.geteuid() == 0 else None
        return [sys.executable, "-I", "-S", "-B", str(LAUNCH), json.dumps(asdict(self))]
