"""Things to look at in a lesson, each with words for those who cannot see it."""

import base64
import io
import sys
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CELL = "padding:.25em .6em;text-align:right;font-variant-numeric:tabular-nums"
# Two hues that colour-blind readers tell apart.
POSITIVE, NEGATIVE = (0, 83, 156), (158, 62, 0)
HALFWAY = 0.179  # the luminance on which black and white text stand out equally, by 4.58 to 1
HUGE = 1e7  # numbers from here on are written as powers of ten


class Page:
    """Something that shows itself as HTML in a notebook and as text elsewhere.

    Args:
        html: or what makes it, once somebody looks.
        text: the same in words.
    """

    def __init__(self, html: str | Callable[[], str], text: str) -> None:
        self._html = html
        self.text = text

    @cached_property
    def html(self) -> str:
        return self._html if isinstance(self._html, str) else self._html()

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


def in_notebook() -> bool:
    """Whether this runs in a notebook, where things show themselves as HTML."""
    ipython = sys.modules.get("IPython")
    return bool(ipython and ipython.get_ipython())


def show_matrix(
    matrix: np.ndarray,
    rows: Sequence[object] | None = None,
    columns: Sequence[object] | None = None,
    caption: str = "",
    decimals: int = 2,
) -> Page:
    """A vector or matrix as a table: numbers in full, and shaded by size.

    Args:
        matrix: (n,) or (n, m) numbers.
        rows, columns: labels; by default the index.
        caption: what to look for.
        decimals: how many to show; whole numbers have none.

    Raises:
        ValueError: if matrix has more than two axes, or the labels do not fit it.
    """
    given = np.asarray(matrix)
    if given.ndim > 2:
        raise ValueError(f"show_matrix takes one or two axes, this array has {given.ndim}")
    if given.dtype.kind in "biu":
        decimals = 0
    table = np.atleast_2d(given.astype(float))
    row_names = _labels(rows, table.shape[0], "rows", blank=given.ndim < 2)
    column_names = _labels(columns, table.shape[1], "columns", blank=False)
    finite = np.abs(table[np.isfinite(table)])
    largest = float(finite.max()) if finite.size and finite.max() > 0 else 1.0
    head = "".join(f'<th scope="col" style="{CELL}">{escape(name)}</th>' for name in column_names)
    body = "".join(
        f'<tr><th scope="row" style="{CELL}">{escape(name)}</th>'
        + "".join(_cell(number, largest, decimals) for number in numbers)
        + "</tr>"
        for name, numbers in zip(row_names, table, strict=True)
    )
    style = "text-align:left;caption-side:top;white-space:nowrap"
    above = f'<caption style="{style}">{escape(caption)}</caption>'
    html = (
        f'<table style="border-collapse:collapse">{above if caption else ""}'
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
    return Page(html, _text(table, row_names, column_names, caption, decimals))


def _labels(given: Sequence[object] | None, length: int, what: str, blank: bool) -> list[str]:
    if given is None:
        return [""] if blank else [str(place) for place in range(length)]
    if len(given) != length:
        raise ValueError(f"{len(given)} labels were given for {length} {what}")
    return [str(label) for label in given]


def _cell(number: float, largest: float, decimals: int) -> str:
    share = abs(number) / largest if np.isfinite(number) else 0.0
    shade = [
        round(255 + share * (channel - 255)) for channel in (POSITIVE if number >= 0 else NEGATIVE)
    ]
    ink = "#000000" if luminance(shade) > HALFWAY else "#ffffff"
    colours = f"background:rgb({shade[0]},{shade[1]},{shade[2]});color:{ink}"
    return f'<td style="{CELL};{colours}">{_number(number, decimals)}</td>'


def luminance(colour: Sequence[int]) -> float:
    """How bright a colour of 0 to 255 for red, green and blue is, from 0 to 1, as WCAG has it."""
    linear = [
        channel / 255 / 12.92 if channel <= 10 else ((channel / 255 + 0.055) / 1.055) ** 2.4
        for channel in colour
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _number(number: float, decimals: int) -> str:
    style = "e" if np.isfinite(number) and abs(number) >= HUGE else "f"
    text = f"{number:.{decimals}{style}}"
    return text.removeprefix("-") if float(text) == 0 else text


def _text(
    table: np.ndarray, rows: list[str], columns: list[str], caption: str, decimals: int
) -> str:
    """The same table in plain text, with its caption and labels."""
    numbers = [[_number(number, decimals) for number in row] for row in table]
    lines = [["", *columns], *([name, *row] for name, row in zip(rows, numbers, strict=True))]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = [
        "  ".join(entry.rjust(width) for entry, width in zip(line, widths, strict=True))
        for line in lines
    ]
    return "\n".join([caption, *texts] if caption else texts)


def show_plot(figure: "Figure", alt: str) -> Page:
    """A matplotlib figure as an image that carries words for those who cannot see it.

    Args:
        figure: the figure; it is closed, so that it does not appear twice.
        alt: what the picture shows, in a sentence or two.

    Raises:
        ValueError: if alt is empty.
    """
    if not alt.strip():
        raise ValueError("show_plot needs alt: a sentence that says what the picture shows")
    import matplotlib.pyplot as plt

    plt.close(figure)
    return Page(partial(_picture, figure, alt), alt)


def _picture(figure: "Figure", alt: str) -> str:
    """The image as HTML. Drawing it takes longer than all else in a lesson."""
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=120, bbox_inches="tight", facecolor="white")
    data = base64.b64encode(png.getvalue()).decode()
    return (
        f'<img style="max-width:100%" src="data:image/png;base64,{data}"'
        f' alt="{escape(alt, quote=True)}">'
    )
