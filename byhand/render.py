"""Verdicts as a person reads them: plain text for a terminal, accessible HTML for a notebook."""

import textwrap
from html import escape

from .table import EXACT, Line
from .verdict import Verdict
from .wording import join

WIDTH = 78
# Words take the colour of the text around them, in light and dark themes alike; only the border
# and the sign beside the word have a colour. It follows JupyterLab's theme where there is one.
RIGHT = ("✓", "Right", "var(--jp-success-color0, #1b5e20)")
WRONG = ("✗", "Not yet", "var(--jp-error-color0, #b71c1c)")
UNJUDGED = ("?", "Not judged", "var(--jp-warn-color0, #7a4a00)")


def to_text(verdict: Verdict) -> str:
    """A verdict as a few lines of plain text, evidence indented."""
    paragraphs = [_wrap(f"{verdict.function}: {verdict.headline}")]
    if verdict.evidence:
        width = max(len(evidence.place) for evidence in verdict.evidence)
        lines = []
        for evidence in verdict.evidence:
            lines.append(f"    {evidence.place:<{width}}  yours     {evidence.yours}")
            lines.append(f"    {'':<{width}}  expected  {evidence.expected}")
        paragraphs.append("\n".join(lines))
    if verdict.table:
        paragraphs.append(_table_text(verdict.table))
    if verdict.given:
        paragraphs.append(_wrap(f"with {verdict.given}", indent="    "))
    paragraphs += [
        _wrap(text) for text in (verdict.cause, verdict.question, earned(verdict)) if text
    ]
    return "\n\n".join(paragraphs)


def _table_text(table: tuple[Line, ...]) -> str:
    rows = [("", "shape", "worst error", "")] + [_table_entries(line) for line in table]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "\n".join(f"    {row}" for row in padded)


def _table_entries(line: Line) -> tuple[str, str, str, str]:
    error = "of another shape" if line.error != line.error else f"{line.error:.1e}"
    return line.name, str(line.shape), error, line.word


def _wrap(text: str, indent: str = "") -> str:
    return textwrap.fill(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )


def earned(verdict: Verdict) -> str:
    """What was earned so far, in a sentence; nothing, if that is nothing."""
    if not verdict.score:
        return ""
    noun = "point" if verdict.points == 1 else "points"
    total = f"{verdict.score:g} of {verdict.points:g} {noun}"
    right = [part for part, is_right in verdict.parts.items() if is_right]
    if verdict.passed:
        return f"{total}."
    return f"{total} so far." if verdict.table else f"{total} so far, for {join(right)}."


def to_html(verdict: Verdict) -> str:
    """A verdict as one HTML section, readable by eye and by screen reader, without scripts."""
    sign, word, colour = _mark(verdict)
    body = [
        f'<p style="margin:0"><strong><span aria-hidden="true" style="color:{colour}">{sign}</span>'
        f" {word}.</strong> <code>{escape(verdict.function)}</code>: {escape(verdict.headline)}</p>"
    ]
    if verdict.evidence:
        body.append(_evidence_table(verdict))
    if verdict.table:
        body.append(_table_html(verdict))
    if verdict.given:
        body.append(_paragraph(f"with <code>{escape(verdict.given)}</code>"))
    for text in (verdict.cause, verdict.question, earned(verdict)):
        if text:
            body.append(_paragraph(escape(text)))
    label = escape(f"Check of {verdict.function}: {word}", quote=True)
    return (
        f'<section role="status" aria-label="{label}" style="border-left:4px solid {colour};'
        f'padding:.4em .8em;max-width:46em">{"".join(body)}</section>'
    )


def _mark(verdict: Verdict) -> tuple[str, str, str]:
    if verdict.passed:
        return RIGHT
    return UNJUDGED if verdict.stage == "unjudged" else WRONG


def _paragraph(inside: str) -> str:
    return f'<p style="margin:.5em 0 0">{inside}</p>'


def _evidence_table(verdict: Verdict) -> str:
    rows = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(evidence.place)}</th>'
        f"{_cell(evidence.yours)}{_cell(evidence.expected)}</tr>"
        for evidence in verdict.evidence
    )
    return (
        '<table style="margin:.5em 0 0"><thead><tr><td></td><th scope="col">yours</th>'
        f'<th scope="col">expected</th></tr></thead><tbody>{rows}</tbody></table>'
    )


def _table_html(verdict: Verdict) -> str:
    rows = "".join(map(_table_row, verdict.table))
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("shape", "worst error", ""))
    return (
        '<table style="margin:.5em 0 0"><caption style="caption-side:top;text-align:left">'
        "Each array in the order in which it is made; the error as a share of its largest entry"
        f"</caption><thead><tr><td></td>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _table_row(line: Line) -> str:
    name, shape, error, word = map(escape, _table_entries(line))
    sign, _, colour = RIGHT if line.word == EXACT else WRONG
    return (
        f'<tr><th scope="row" style="text-align:left"><code>{name}</code></th>{_cell(shape)}'
        f'{_cell(error)}<td style="text-align:left"><span aria-hidden="true" '
        f'style="color:{colour}">{sign}</span> {word}</td></tr>'
    )


def _cell(text: str) -> str:
    return f'<td><code style="white-space:pre">{escape(text)}</code></td>'
