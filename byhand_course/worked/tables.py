"""Matrices of a trace as HTML: every entry with its reference, wide ones in bands.

Closing tags of cells, and quotes, are left out as HTML allows, so that a page with
six thousand numbers stays under 300 KB.
"""

from collections.abc import Sequence
from html import escape

import numpy as np

from .refs import is_small, write
from .values import Trace

BAND = 16  # columns that stand side by side, on a screen and on paper
NARROW = 8  # of numbers as powers of ten, or of two matrices side by side
MOST_COLUMNS = 32  # of a large run's matrices; beyond, the middle is left out
MOST_ROWS = 5
ENDS = 8  # how many are left at both ends together
GAP = None  # stands for what is left out


def picked(length: int, elide: bool, most: int, ends: int = ENDS) -> list[int | None]:
    """The places that are shown, with GAP where some are left out."""
    if length <= most or not elide:
        return list(range(length))
    half = ends // 2
    return [*range(ends - half), GAP, *range(length - half, length)]


def grid(
    trace: Trace,
    name: str,
    head: int | None = None,
    elide: bool = False,
    label: str = "",
    is_beside: bool = False,
) -> str:
    """A value as one table or more, each of at most 16 columns.

    Args:
        head: which matrix of a stack.
        elide: leave out the middle of long rows and columns.
        label: what a screen reader calls it.
        is_beside: whether another matrix stands beside it.
    """
    value = trace.values[name]
    array, axes = value.array, value.axes
    prefix = name
    if head is not None:
        array, axes, prefix = array[head], axes[1:], f"{name}[{head}"
    small = is_small(value.array)
    rows = [None] if array.ndim == 1 else picked(len(array), elide, MOST_ROWS, MOST_ROWS)
    row_labels = trace.labels(axes[0]) if array.ndim == 2 else [""]
    column_labels = trace.labels(axes[-1])
    columns = picked(array.shape[-1], elide, MOST_COLUMNS)
    made = made_for(trace, name, head)
    tables = []
    for band in bands(columns, NARROW if small or is_beside else BAND):
        head_row = "".join(_heading(column_labels, place) for place in band)
        lines = [
            _line(array, prefix, row, band, row_labels, small, is_vector=array.ndim == 1)
            for row in rows
        ]
        part = _range(column_labels, band, columns)  # else the frame's own label says it all
        words = f' aria-label="{escape(label or name)}{escape(part)}"' if part else ""
        tables.append(
            f'<table{words} data-name={name} data-made="{escape(made)}">'
            f"<thead><tr><td></td>{head_row}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
        )
    return "".join(tables)


def made_for(trace: Trace, name: str, head: int | None) -> str:
    """What an entry was made from, for one matrix of a stack."""
    made = trace.values[name].made
    if head is None:
        return made
    width = trace.sizes["d_model"] // trace.sizes["num_heads"]
    return made.format(h=head, start=head * width, stop=(head + 1) * width)


def bands(columns: Sequence[int | None], width: int = BAND) -> list[list[int | None]]:
    """Columns in portions that fit side by side; what is left out stands in a portion's end."""
    before, after = list(columns), []
    if GAP in columns:
        place = columns.index(GAP)
        before, after = list(columns[: place + 1]), list(columns[place + 1 :])
    portions = []
    for part in (before, after):
        portions += [part[i : i + width] for i in range(0, len(part), width)]
    alone = next((place for place, portion in enumerate(portions) if portion == [GAP]), 0)
    if alone:
        portions[alone - 1 : alone + 1] = [[*portions[alone - 1], GAP]]
    return portions


def column_table(trace: Trace, axis: str, columns: Sequence[tuple[str, str]], label: str) -> str:
    """Vectors along one axis as the columns of a table, each with a heading.

    A name may point into a stack, as in "totals[0" for head 0.
    """
    headings = "".join(f"<th scope=col>{escape(heading)}" for heading, _ in columns)
    labels = trace.labels(axis)
    names = [name.partition("[")[0] for _, name in columns]
    lines = []
    for place, words in enumerate(labels):
        cells = "".join(
            _column_cell(trace, column, name, place)
            for (_, column), name in zip(columns, names, strict=True)
        )
        lines.append(f"<tr><th scope=row>{escape(words)}{cells}")
    return (
        f'<table aria-label="{escape(label)}"><thead><tr><td></td>{headings}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def row_table(
    trace: Trace, axis: str, rows: Sequence[tuple[str, str]], label: str, elide: bool = False
) -> str:
    """Vectors along one axis as the rows of a table, each with a heading, in bands.

    A name may point into a stack, as in "wide[2" for row 2, or "V_heads[0,2" for row 2 of head 0.
    """
    labels = trace.labels(axis)
    columns = picked(len(labels), elide, MOST_COLUMNS)
    tables = []
    width = NARROW if any(is_small(trace[name.partition("[")[0]]) for _, name in rows) else BAND
    for band in bands(columns, width):
        head_row = "".join(_heading(labels, place) for place in band)
        lines = []
        for heading, name in rows:
            stack, _, row = name.partition("[")
            numbers = trace[stack][tuple(map(int, row.split(",")))] if row else trace[stack]
            opening = f"{name}," if row else f"{name}["
            small = is_small(trace[stack])
            cells = "".join(
                "<td>…"
                if place is GAP
                else f"<td data-from={opening}{place}]>{write(numbers[place], small)}"
                for place in band
            )
            lines.append(f"<tr><th scope=row>{escape(heading)}{cells}")
        words = f"{label}{_range(labels, band, columns)}"
        tables.append(
            f'<table aria-label="{escape(words)}"><thead><tr><td></td>{head_row}</tr></thead>'
            f"<tbody>{''.join(lines)}</tbody></table>"
        )
    return "".join(tables)


def _column_cell(trace: Trace, column: str, name: str, place: int) -> str:
    array = trace[name]
    if "[" in column:
        stack, _, head = column.partition("[")
        number, reference = array[int(head)][place], f"{stack}[{head},{place}]"
    elif place >= len(array):  # a position that has no next token
        return "<td>–"
    else:
        number, reference = array[place], f"{name}[{place}]"
    if array.dtype.kind == "f" and np.isnan(number):
        return "<td>–"
    return f"<td data-from={reference}>{write(number, is_small(array))}"


def _heading(labels: list[str], place: int | None) -> str:
    return f"<th scope=col>{'…' if place is GAP else escape(labels[place])}"


def _line(
    array: np.ndarray,
    prefix: str,
    row: int | None,
    band: Sequence[int | None],
    labels: list[str],
    small: bool,
    is_vector: bool,
) -> str:
    if row is None and not is_vector:
        return f"<tr><th scope=row>…{'<td>…' * len(band)}"
    numbers = array if is_vector else array[row]
    label = "" if is_vector else escape(labels[row])  # type: ignore[index]
    opening = prefix + ("," if "[" in prefix else "[")
    start = opening if is_vector else f"{opening}{row},"
    cells = "".join(
        "<td>…" if place is GAP else f"<td data-from={start}{place}]>{write(numbers[place], small)}"
        for place in band
    )
    return f"<tr><th scope=row>{label}{cells}" if label else f"<tr><td></td>{cells}"


def _range(labels: list[str], band: Sequence[int | None], columns: Sequence[int | None]) -> str:
    """ "columns 16 to 31", where a matrix has more than one band."""
    if len(band) == len(columns):
        return ""
    shown = [labels[place] for place in band if place is not GAP]
    return f", columns {shown[0]} to {shown[-1]}" if shown else ""


def expand(trace: Trace, reference: str) -> list[str]:
    """ "W_q[:,3]" as the references of all its entries, in order."""
    name, _, places = reference.rstrip("]").partition("[")
    parts = places.split(",")
    axis = next(place for place, part in enumerate(parts) if ":" in part)
    start, _, stop = parts[axis].partition(":")
    length = trace[name].shape[axis]
    places_on_axis = range(int(start or 0), int(stop or length))
    return [
        f"{name}[{','.join([*parts[:axis], str(place), *parts[axis + 1 :]])}]"
        for place in places_on_axis
    ]
