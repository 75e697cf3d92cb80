"""The map of one training step: where a lesson or a page sits, drawn the same way everywhere."""

from collections.abc import Sequence
from html import escape

from .look import Page
from .probe import course

ROWS = {  # in the order in which a training step goes through them
    "forward": {
        "tokens": "tokens",
        "positions": "positions",
        "qkv": "Q, K, V",
        "scores": "scores",
        "mask": "mask",
        "softmax": "softmax",
        "attention": "mix of values",
        "heads": "heads",
        "block": "block",
        "logits": "logits and loss",
    },
    "backward": {
        "loss-gradient": "loss",
        "block-gradient": "block",
        "attention-gradient": "attention",
        "embedding-gradient": "embeddings",
    },
    "update": {"adamw": "AdamW"},
}
PLACES = tuple(place for row in ROWS.values() for place in row)

CHIP = "padding:.15em .6em;border-radius:1em;border:1px solid var(--jp-border-color1, #767676)"
HERE = "padding:.15em .6em;border-radius:1em;border:3px solid var(--jp-brand-color1, #0b57d0)"


def show_map(lesson: int) -> Page:
    """One training step as a row of pieces, with this lesson's piece marked.

    Args:
        lesson: its number.

    Raises:
        ValueError: if this edition has no lesson of that number.
    """
    found = next((entry for entry in course() if entry["number"] == lesson), None)
    if found is None:
        raise ValueError(f"this edition has no lesson {lesson}")
    return draw_map((found["place"],), f"lesson {lesson}")


def draw_map(places: Sequence[str], where: str) -> Page:
    """One training step as a row of pieces, with some of them marked.

    Args:
        places: those to mark, of PLACES.
        where: what is about them, as in "lesson 3", for those who cannot see the map.
    """
    rows = [_row(name, pieces, places) for name, pieces in ROWS.items()]
    words = ", ".join(_words(place) for place in places)
    label = escape(f"One training step; {where} is about: {words}")
    html = f'<figure role="group" aria-label="{label}" style="margin:0">{"".join(rows)}</figure>'
    lines = [
        f"{name:>8}: " + " → ".join(f"[{w.upper()}]" if p in places else w for p, w in row)
        for name, row in ((name, list(pieces.items())) for name, pieces in ROWS.items())
    ]
    return Page(html, "\n".join(lines))


def _words(place: str) -> str:
    return next(pieces[place] for pieces in ROWS.values() if place in pieces)


def _row(name: str, pieces: dict[str, str], places: Sequence[str]) -> str:
    chips = '<li aria-hidden="true" style="list-style:none">→</li>'.join(
        _chip(words, place in places) for place, words in pieces.items()
    )
    return (
        '<div style="display:flex;gap:.4em;align-items:baseline;margin:.3em 0">'
        f'<span style="min-width:5.5em">{name}</span>'
        f'<ol style="display:flex;flex-wrap:wrap;gap:.3em;margin:0;padding:0">{chips}</ol></div>'
    )


def _chip(words: str, here: bool) -> str:
    style = f"list-style:none;{HERE if here else CHIP}"
    if here:
        return f'<li aria-current="step" style="{style}"><strong>{words}</strong></li>'
    return f'<li style="{style}">{words}</li>'
