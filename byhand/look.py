"""Things to look at in a lesson, each with words for those who cannot see it."""

import base64
import io
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CELL = "padding:.25em .6em;text-align:right;font-variant-numeric:tabular-nums"
# Two hues that colour-blind readers tell apart; white text only on the darker half of the scale.
POSITIVE, NEGATIVE = (0, 83, 156), (158, 62, 0)


class Page:
    """Something that shows itself as HTML in a notebook and as text elsewhere."""

    def __init__(self, html: str, text: str) -> None:
        self.html = html
        self.text = text

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


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
        decimals: how many to show.

    Raises:
        ValueError: if matrix has more than two axes, or the labels do not fit it.
    """
    table = np.atleast_2d(np.asarray(matrix, dtype=float))
    if table.ndim > 2:
        raise ValueError(f"show_matrix takes one or two axes, this array has {table.ndim}")
    row_names = _labels(rows, table.shape[0], "rows", blank=np.ndim(matrix) == 1)
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
    html = (
        '<table style="border-collapse:collapse"><caption style="text-align:left;'
        f'caption-side:top">{escape(caption)}</caption><thead><tr><td></td>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )
    text = np.array2string(table, precision=decimals, suppress_small=True)
    return Page(html, f"{caption}\n{text}" if caption else text)


def _labels(given: Sequence[object] | None, length: int, what: str, blank: bool) -> list[str]:
    if given is None:
        return [""] if blank else [str(place) for place in range(length)]
    if len(given) != length:
        raise ValueError(f"{len(given)} labels were given for {length} {what}")
    return [str(label) for label in given]


def _cell(number: float, largest: float, decimals: int) -> str:
    share = min(abs(number) / largest, 1.0) if np.isfinite(number) else 0.0
    red, green, blue = POSITIVE if number >= 0 else NEGATIVE
    shade = [round(255 + share * (channel - 255)) for channel in (red, green, blue)]
    ink = "#ffffff" if share > 0.6 else "#111111"
    colours = f"background:rgb({shade[0]},{shade[1]},{shade[2]});color:{ink}"
    return f'<td style="{CELL};{colours}">{number:.{decimals}f}</td>'


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

    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=120, bbox_inches="tight", facecolor="white")
    plt.close(figure)
    data = base64.b64encode(png.getvalue()).decode()
    html = (
        f'<img style="max-width:100%" src="data:image/png;base64,{data}"'
        f' alt="{escape(alt, quote=True)}">'
    )
    return Page(html, alt)
