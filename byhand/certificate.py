"""The certificate: one page of what a learner did, made by and for themselves.

It is `certificate.html` in the work folder, and the course's own: it is written anew each time,
and one that was edited is kept beside it.
"""

import hashlib
import math
import os
import re
from dataclasses import dataclass, replace
from datetime import date, datetime
from html import escape
from pathlib import Path
from typing import Any

from .desk import DONE, Desk, Lesson, Refused, find_work, fingerprint, free_name, lessons, shown
from .look import Page
from .wording import describe, join

FILE = "certificate.html"
LONGEST_NAME = 80  # letters


@dataclass(frozen=True)
class Row:
    """One lesson: what the last check found in it, or that it was not checked.

    Attributes:
        in_words: points of answers that are there, and that a person reads.
        changed: whether its notebook was changed since.
    """

    lesson: Lesson
    checked: bool = False
    changed: bool = False
    done: int = 0
    score: float = 0.0
    in_words: float = 0.0

    @property
    def found(self) -> str:
        """The score in words; for a lesson that was not checked, the command that does so."""
        if not self.checked:
            return f"not checked yet: byhand check {self.lesson.number}"
        words = f"{self.score:g} of {self.lesson.points:g} points"
        if self.in_words:
            words += f", {self.in_words:g} more in words"
        return f"{words}; changed since" if self.changed else words


@dataclass(frozen=True)
class Certificate:
    """What stands on the page, where the page is, and where an edited one was put."""

    rows: list[Row]
    record: dict[str, Any]
    today: date
    path: Path
    notes: list[str]
    kept: Path | None = None

    @property
    def facts(self) -> dict[str, str]:
        """What was done in all, by what it is called."""
        score = sum(row.score for row in self.rows)
        points = sum(row.lesson.points for row in self.rows)
        checked = sum(row.checked for row in self.rows)
        loss = number(self.record.get("final_loss"))
        count = number(self.record.get("parameters_checked"))
        return {
            "Lessons checked": f"{checked} of {len(self.rows)}",
            "Points": f"{score:g} of {points:g}",
            "Final loss": "not known yet" if loss is None else f"{loss:.4g}",
            "Parameters checked": "not known yet" if count is None else f"{count:,.0f}",
        }


def show_certificate(
    final_loss: float | None = None,
    parameters_checked: int | None = None,
    name: str | None = None,
) -> Page:
    """Write the certificate into your work folder, and show a link to it and what it says.

    What is given is remembered, so that a later call without it still knows it.

    Args:
        final_loss: the loss at the end of your own training.
        parameters_checked: how many parameters of a model you checked.
        name: as it should stand on the page.
    """
    try:
        made = write_certificate(Desk(find_work(None)), final_loss, parameters_checked, name)
    except Refused:
        return _sentence(
            "The certificate needs your work folder, and there is none here: `byhand learn` makes "
            "one, and a notebook in it can write the certificate."
        )
    except OSError as error:
        return _sentence(f"The certificate cannot be written to your work folder: {error}.")
    lines = summary(made)
    where = os.path.relpath(made.path.resolve())
    link = f'<a href="{escape(Path(where).as_posix())}">{FILE}</a>'
    paragraphs = "".join(f'<p style="margin:.4em 0">{_html(line)}</p>' for line in lines[1:])
    first = f'<p style="margin:.4em 0"><strong>Your certificate: {link}</strong></p>'
    html = f'<section aria-label="Certificate" style="max-width:46em">{first}{paragraphs}</section>'
    return Page(html, "\n".join(lines))


def write_certificate(
    place: Desk,
    final_loss: object = None,
    parameters_checked: object = None,
    name: object = None,
) -> Certificate:
    """Write the page into a work folder, from what the desk remembers and what is given here.

    Raises:
        OSError: if the folder cannot be written to.
    """
    notes = _remember(place, final_loss, parameters_checked, name)
    path = place.work / FILE
    rows = [_row(place, lesson) for lesson in lessons()]
    made = Certificate(rows, dict(place.record), datetime.now().date(), path, notes)
    page = page_of(made).encode()
    words = fingerprint(path)
    if words is not None and words not in (_sha256(page), place.copied.get(FILE, ["", ""])[1]):
        kept = free_name(path, f"{datetime.now():%Y-%m-%d-%H%M%S}")
        path.rename(kept)
        made = replace(made, kept=kept)
    fresh = path.with_name(f"{FILE}.new")
    fresh.write_bytes(page)
    fresh.replace(path)
    place.copied[FILE] = [_sha256(page), _sha256(page)]
    place.save()
    return made


def summary(made: Certificate) -> list[str]:
    """What was written, in a few sentences; the first says where."""
    facts = ", ".join(f"{what.lower()}: {fact}" for what, fact in made.facts.items())
    lines = [f"Your certificate: {shown(made.path)}", f"{facts[0].upper()}{facts[1:]}."]
    scores = [
        f"{r.lesson.number}: {r.score:g} of {r.lesson.points:g}" for r in made.rows if r.checked
    ]
    if scores:
        lines.append(f"Points by lesson, as last checked: {', '.join(scores)}.")
    missing = [row for row in made.rows if not row.checked]
    if missing:
        lines.append(f"Not checked yet: {_commands(missing)}.")
    changed = [row for row in made.rows if row.changed]
    if changed:
        lines.append(f"Changed since the last check: {_commands(changed)}.")
    lines += made.notes
    if made.kept:
        lines.append(f"One that you had edited is kept as {shown(made.kept)}.")
    lines.append(
        f"Written on {written(made.today)} with edition {edition()}. It is a record that you made "
        "yourself; open it in your browser to print it."
    )
    return lines


def _commands(rows: list[Row]) -> str:
    """Which lessons these are, and the command that checks them."""
    numbers = [str(row.lesson.number) for row in rows]
    if len(numbers) == 1:
        return f"lesson {numbers[0]}; `byhand check {numbers[0]}` checks it"
    return f"lessons {join(numbers)}; `byhand check` checks them all"


def _sentence(text: str) -> Page:
    return Page(f"<p>{_html(text)}</p>", text)


def _html(line: str) -> str:
    """A sentence as HTML, its commands set as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(line))


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# What is remembered


def _remember(place: Desk, loss: object, count: object, name: object) -> list[str]:
    """Put what was given on record, and tell in a sentence what could not be used."""
    notes = []
    if loss is not None:
        if number(loss) is None:
            notes.append(f"final_loss is {_told(loss)}, not one finite number, and left out.")
        else:
            place.record["final_loss"] = number(loss)
    if count is not None:
        whole = number(count)
        if whole is None or whole < 0 or whole % 1:
            notes.append(f"parameters_checked is {_told(count)}, not a count, and left out.")
        else:
            place.record["parameters_checked"] = int(whole)
    if name is not None:
        letters = "".join(letter for letter in str(name) if letter.isprintable()).strip()
        place.record["name"] = letters[:LONGEST_NAME]
        if len(letters) > LONGEST_NAME:
            notes.append(f"The name is cut after {LONGEST_NAME} letters.")
    return notes


def number(given: object) -> float | None:
    """A finite number, whatever type it came as; None for anything else."""
    if isinstance(given, (bool, str, bytes)) or getattr(given, "ndim", False):
        return None
    try:
        found = float(given)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def _told(given: object) -> str:
    """What was given, in a few words."""
    if isinstance(given, (int, float)) and not isinstance(given, bool) and not abs(given) >= 1e15:
        return f"{given:g}"
    return describe(given)


def _row(place: Desk, lesson: Lesson) -> Row:
    """What the desk remembers of a lesson; a memory that cannot be read counts as none."""
    try:
        found = place.last_check(lesson)
        if found is None:
            return Row(lesson)
        results = found["exercises"]
        return Row(
            lesson,
            checked=True,
            changed=bool(found["changed"]),
            done=sum(one["status"] in DONE for one in results),
            score=sum(float(one["score"]) for one in results),
            in_words=sum(float(one["points"]) for one in results if one["status"] == "in words"),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return Row(lesson)


# The page


def page_of(made: Certificate) -> str:
    """The whole page: one A4 sheet, no scripts, nothing fetched from anywhere."""
    import jinja2  # only here, and not where learners' code is graded

    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(PAGE).render(
        rows=made.rows,
        facts=made.facts,
        name=str(made.record.get("name") or ""),
        today=made.today,
        written=written(made.today),
        edition=edition(),
    )


def written(day: date) -> str:
    """A day as people write it."""
    return f"{day.day} {day:%B %Y}"


def edition() -> str:
    """Which edition of the course this is."""
    from . import __version__  # the package knows it once it is imported whole

    return __version__


PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Attention by Hand: a record of what was done</title>
<style>
:root { color-scheme: light dark; --ink: #1b1b1f; --quiet: #4a4a52; --line: #8a8a94; --paper: #fff }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ececf1; --quiet: #c0c0ca; --line: #8a8a94; --paper: #17171b }
}
@media print { :root { --ink: #000; --quiet: #333; --line: #777; --paper: #fff } }
@page { size: A4; margin: 14mm 16mm }
body { color: var(--ink); background: var(--paper); margin: 0; padding: 1.5rem;
  font: 11pt/1.35 Georgia, "Times New Roman", serif }
main { max-width: 44rem; margin: auto }
h1 { font-size: 22pt; margin: 0 }
.under { margin: .2rem 0 1rem; color: var(--quiet) }
.who { font-size: 15pt; margin: .8rem 0; overflow-wrap: anywhere }
dl { display: grid; grid-template-columns: repeat(4, 1fr); gap: .6rem; margin: 1rem 0;
  border-block: 1px solid var(--line); padding: .6rem 0 }
dt { color: var(--quiet); font-size: 9.5pt }
dd { margin: 0; font-size: 14pt }
table { border-collapse: collapse; width: 100%; font-size: 10pt }
caption { text-align: left; font-weight: bold; padding-bottom: .3rem }
th, td { text-align: left; padding: .16rem .6rem .16rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top }
th { font-weight: normal }
thead th { color: var(--quiet); font-size: 9.5pt }
td:first-child, .number { text-align: right; font-variant-numeric: tabular-nums }
.what { margin-top: 1rem; color: var(--quiet); font-size: 9.5pt }
@media (max-width: 34rem) { dl { grid-template-columns: repeat(2, 1fr) } }
@media print { body { padding: 0 } main { max-width: none } tr, dl { break-inside: avoid } }
</style>
</head>
<body>
<main>
<h1>Attention by Hand</h1>
<p class="under">A record of what was done, made by the learner</p>
{% if name %}<p class="who"><bdi>{{ name }}</bdi></p>{% endif %}
<dl>
{% for what, fact in facts.items() %}<div><dt>{{ what }}</dt><dd>{{ fact }}</dd></div>
{% endfor %}</dl>
<table>
<caption>Lesson by lesson, as last checked</caption>
<thead><tr><th scope="col" class="number">No.</th><th scope="col">Lesson</th>
<th scope="col" class="number">Exercises done</th><th scope="col">Score</th></tr></thead>
<tbody>
{% for row in rows %}<tr><td>{{ row.lesson.number }}</td><th scope="row">{{ row.lesson.title }}</th>
<td class="number">{{ row.done }} of {{ row.lesson.exercises | length }}</td>
<td>{{ row.found }}</td></tr>
{% endfor %}</tbody>
</table>
<p class="what">The final loss is that of the learner's own training at the end of lesson 18, with
every step of the model, its gradients and its optimiser written in NumPy. Parameters checked tells
how many of the model's numbers the learner compared, one by one. Answers in words are read by a
person, and not counted here.</p>
<p class="what"><strong>What this is:</strong> a record that the learner made themselves, on their
own computer, from the course's own checks. Nobody issued it, and nobody vouches for it.</p>
<p class="what">Written on <time datetime="{{ today.isoformat() }}">{{ written }}</time> with
Attention by Hand, edition {{ edition }}.</p>
</main>
</body>
</html>
"""
