"""What attacks that do harm have in common.

Every one is built to do no lasting harm where it gets through: bombs are small, and what is killed,
changed or reached was made for it.
"""

from collections.abc import Callable
from functools import partial

from .attack import Attack, Sight

harms = partial(Attack, bare="no walls")


def says(word: str) -> Callable[[Sight], bool]:
    """Whether a word came out."""
    return lambda sight: word in sight.printed
