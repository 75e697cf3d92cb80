"""Verdicts as a person reads them: plain text for a terminal, accessible HTML for a notebook."""

import textwrap
from html import escape

from .verdict import Verdict

# Colours follow JupyterLab's theme where there is one. The word and the sign say the same.
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
    if verdict.given:
        paragraphs.append(f"    with {verdict.given}")
    paragraphs += [_wrap(text) for text in (verdict.cause, verdict.question) if text]
    return "\n\n".join(paragraphs)


def _wrap(text: str) -> str:
    return textwrap.fill(text, 78, break_long_words=False, break_on_hyphens=False)


def to_html(verdict: Verdict) -> str:
    """A verdict as one HTML section, readable by eye and by screen reader, without scripts."""
    sign, word, colour = _mark(verdict)
    body = [
        f'<p style="margin:0"><strong style="color:{colour}">'
        f'<span aria-hidden="true">{sign}</span> {word}.</strong> '
        f"<code>{escape(verdict.function)}</code>: {escape(verdict.headline)}</p>"
    ]
    if verdict.evidence:
        body.append(_evidence_table(verdict))
    if verdict.given:
        body.append(f'<p style="margin:.5em 0 0">with <code>{escape(verdict.given)}</code></p>')
    for text in (verdict.cause, verdict.question):
        if text:
            body.append(f'<p style="margin:.5em 0 0">{escape(text)}</p>')
    label = escape(f"Check of {verdict.function}: {word}", quote=True)
    return (
        f'<section role="status" aria-label="{label}" style="border-left:4px solid {colour};'
        f'padding:.4em .8em;max-width:46em">{"".join(body)}</section>'
    )


def _mark(verdict: Verdict) -> tuple[str, str, str]:
    if verdict.passed:
        return RIGHT
    return UNJUDGED if verdict.stage == "unjudged" else WRONG


def _evidence_table(verdict: Verdict) -> str:
    rows = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(evidence.place)}</th>'
        f"<td><code>{escape(evidence.yours)}</code></td>"
        f"<td><code>{escape(evidence.expected)}</code></td></tr>"
        for evidence in verdict.evidence
    )
    return (
        '<table style="margin:.5em 0 0"><thead><tr><td></td><th scope="col">yours</th>'
        f'<th scope="col">expected</th></tr></thead><tbody>{rows}</tbody></table>'
    )
