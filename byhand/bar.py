"""A progress bar for a loop that takes a while."""

import time
from collections.abc import Iterator, Sequence
from html import escape
from typing import TypeVar

from .look import Page, in_notebook

Step = TypeVar("Step")
EVERY_S = 0.1  # between two drawings


def show_progress(steps: Sequence[Step], label: str) -> Iterator[Step]:
    """Go through steps, and show in a notebook how many are done; elsewhere, say nothing.

    Args:
        steps: what the loop goes through, of known length: `range(200)`.
        label: what is going on, in a word or two.

    Raises:
        TypeError: if steps have no length.
    """
    total = len(steps)  # before anything is drawn
    return _drawn(steps, total, label) if in_notebook() else iter(steps)


def _drawn(steps: Sequence[Step], total: int, label: str) -> Iterator[Step]:
    from IPython.display import display

    bar = display(_bar(0, total, label), display_id=True)
    drawn = time.monotonic()
    for done, step in enumerate(steps):
        yield step
        if time.monotonic() - drawn > EVERY_S:
            bar.update(_bar(done + 1, total, label))
            drawn = time.monotonic()
    bar.update(_bar(total, total, label))


def _bar(done: int, total: int, label: str) -> Page:
    text = f"{label}: {done} of {total}"
    html = (
        f'<label style="display:flex;gap:.6em;align-items:center">{escape(text)}'
        f'<progress value="{done}" max="{max(total, 1)}"></progress></label>'
    )
    return Page(html, text)
