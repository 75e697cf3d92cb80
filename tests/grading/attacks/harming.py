"""Harming: other processes, other submissions, this machine, and the grader itself."""

from .attack import Room
from .bombs import BOMBS
from .changes import CHANGES
from .machine import KERNEL, NETWORK, PROCESSES
from .replies import REPLIES

ATTACKS = (*BOMBS, *PROCESSES, *NETWORK, *KERNEL, *CHANGES, *REPLIES)
ROOM = Room("Harming: this machine, other learners, the grader", ATTACKS)
