"""One page: what its template may say, and the HTML around it."""

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from jinja2.ext import Extension
from markupsafe import Markup, escape

from byhand.map import draw_map
from byhand_course.lessons import PAGE_NAMES, SUMMARY, WORKED_PAGES, WorkedPage

from .published import PREFIX
from .refs import look_up, written
from .symbols import symbol
from .tables import column_table, expand, grid, picked, row_table
from .values import Trace

NAMESPACE = "http://www.w3.org/1998/Math/MathML"  # HTML knows it by itself
ENTITY = re.compile(r"&#x([0-9A-F]+);")  # a letter is shorter as itself
TEMPLATES = Path(__file__).parent / "templates"
SCRIPT = "\n".join(  # without its comments and indents, which would weigh on every page
    line.strip()
    for line in (TEMPLATES / "follow.js").read_text(encoding="utf-8").splitlines()
    if line.strip() and not line.strip().startswith("//")
)
STYLE = (TEMPLATES / "page.css").read_text(encoding="utf-8").strip()
MOST_TERMS = 64  # of a spelled-out sum; of more, some at each end are shown
ENDS_OF_TERMS = 32
MOST_HEADS = 1  # of a large run; the others are in the .npz
AXES = {
    "token": "tokens",
    "key": "tokens looked at",
    "target": "tokens that have a next one",
    "feature": "features",
    "wide": "wide features",
    "slice": "features of the head",
    "vocabulary": "the vocabulary",
    "position": "positions",
    "head": "heads",
    "parameter": "parameters",
}


ENDS = (  # what each page ends with
    "X",
    "V",
    "out_heads",
    "attended",
    "fed",
    "normed_f",
    "loss",
    "dlogits",
    "dnormed_f",
    "dmiddle",
    "dW_q",
    "dtoken_embedding",
    "new_W_q",
)


@dataclass(frozen=True)
class Exercise:
    """An exercise that a page links to: its function's name, its lesson, and where that lies."""

    function: str
    lesson: int
    title: str
    link: str


@dataclass(frozen=True)
class Surroundings:
    """What a page knows besides its numbers.

    Attributes:
        exercises: by the name of the reference function.
        elide: whether matrices are too large to be shown in full.
        own_vocabulary: whether the vocabulary was made from the sentence.
        notes: pages beside the thirteen, file name and title.
    """

    exercises: dict[str, Exercise]
    elide: bool
    own_vocabulary: bool
    notes: tuple[tuple[str, str], ...] = ()


class Tools:
    """What a template may call. Everything that shows a number takes references, no numbers."""

    def __init__(self, trace: Trace, page: int, around: Surroundings) -> None:
        self.trace = trace
        self.page_number = page
        self.around = around
        self.shown: set[str] = set()

    # The entry that is spelled out

    @cached_property
    def t(self) -> int:
        """The row: the third token, or the last of fewer."""
        return min(2, len(self.trace.tokens) - 1, len(self.trace.targets) - 1)

    @cached_property
    def j(self) -> int:
        """The column."""
        return min(3, self.trace.sizes["d_model"] - 1, self.trace.sizes["d_ff"] - 1)

    def word(self, place: int, axis: str = "token") -> str:
        """The label of a row or column."""
        return self.trace.labels(axis)[place]

    def largest(self, name: str, *place: int) -> int:
        """The index of the largest entry of a row."""
        return int(np.argmax(self.trace[name][place]))

    def value(self, reference: str) -> Any:
        """A number to decide by, never to show."""
        return look_up(self.trace, reference).item()

    @cached_property
    def repeats(self) -> bool:
        """Whether a token goes in more than once."""
        return len(set(self.trace.tokens)) < len(self.trace.tokens)

    def head_columns(self, name: str, words: str) -> list[tuple[str, str]]:
        """A column for each head of a stack of vectors."""
        return [(f"{words}{head}", f"{name}[{head}") for head in range(len(self.trace[name]))]

    def head_entries(self, name: str, i: int, j: int) -> list[str]:
        """The same entry of each head's matrix."""
        return [f"{name}[{head},{i},{j}]" for head in range(len(self.trace[name]))]

    def entries_of_token(self, name: str, token: int, j: int) -> list[str]:
        """Entry j of every row whose token has that id."""
        rows = np.flatnonzero(self.trace["ids"] == token)
        return [f"{name}[{row},{j}]" for row in rows]

    # Numbers

    def n(self, reference: str) -> Markup:
        """One number."""
        return Markup("<span data-from={}>{}</span>").format(
            Markup(escape(reference)), written(self.trace, reference)
        )

    def dot(self, answer: str, left: str, right: str, plus: Sequence[str] = ()) -> Markup:
        """The arithmetic of one entry: products term by term, what is added, and the sum."""
        pairs = list(zip(expand(self.trace, left), expand(self.trace, right), strict=True))
        items = []
        for place in picked(len(pairs), True, MOST_TERMS, ENDS_OF_TERMS):
            if place is None:
                items.append(self._gap(len(pairs)))
                continue
            a, b = pairs[place]
            items.append(
                Markup("<li data-term value={}>{} × {} = {}</li>").format(
                    place, self.n(a), self.n(b), self.n(f"{a}*{b}")
                )
            )
        return self._sum(answer, items + self._terms(plus))

    def total(self, answer: str, parts: Sequence[str]) -> Markup:
        """The arithmetic of one entry that is a sum of entries."""
        return self._sum(answer, self._terms(parts))

    def mean(self, answer: str, row: str) -> Markup:
        """The arithmetic of a mean: the entries, and by how many their sum is divided."""
        parts = expand(self.trace, row)
        return self._sum(answer, self._terms(parts), divided=len(parts))

    def _terms(self, parts: Sequence[str]) -> list[Markup]:
        items = []
        for place in picked(len(parts), True, MOST_TERMS, ENDS_OF_TERMS):
            items.append(
                self._gap(len(parts))
                if place is None
                else Markup("<li data-term class=plain>{}</li>").format(self.n(parts[place]))
            )
        return items

    def _gap(self, length: int) -> Markup:
        return Markup("<li class=gap>… {} more …</li>").format(length - ENDS_OF_TERMS)

    def _sum(self, answer: str, items: list[Markup], divided: int = 1) -> Markup:
        by = f", divided by {divided}," if divided > 1 else ""
        return Markup(
            "<div class=sum data-sum={0} data-divided={1}><p>The sum of</p>"
            "<ol class=terms>{2}</ol><p>{3} is {5}<code>{6}</code> = <strong>{4}</strong></p></div>"
        ).format(
            answer,
            divided,
            Markup("").join(items),
            by,
            self.n(answer),
            "the published " if answer.startswith(PREFIX) else "",
            answer.removeprefix(PREFIX),
        )

    def all_of(self, reference: str) -> list[str]:
        """ "X[2,:]" as the references of its entries."""
        return expand(self.trace, reference)

    # Matrices

    def matrix(self, name: str, head: int | None = None, note: str = "") -> Markup:
        """A value in full, with the published one beside it where the two differ."""
        published = PREFIX + name
        if published not in self.trace:
            return self._figure(name, head, note)
        return Markup("<div class=pair>{}{}</div>").format(
            self._figure(name, head, "ours", is_beside=True),
            self._figure(published, head, "published", is_beside=True),
        )

    def heads(self, name: str, note: str = "") -> Markup:
        """All matrices of a stack, side by side."""
        count = len(self.trace[name])
        shown = min(count, MOST_HEADS) if self.around.elide else count
        figures = [self.matrix(name, head, note) for head in range(shown)]
        left_out = Markup("<p class=quiet>{} more in values.npz</p>").format(count - shown)
        return Markup("<div class=heads>{}</div>{}").format(
            Markup("").join(figures), left_out if count > shown else ""
        )

    def _figure(self, name: str, head: int | None, note: str, is_beside: bool = False) -> Markup:
        label = name if head is None else f"{name}, head {head}"
        tables = Markup(grid(self.trace, name, head, self.around.elide, label, is_beside))
        return self._framed(
            tables, self._caption(name, head, note), label, self._new_id(name, head)
        )

    def _framed(self, tables: Markup, caption: Markup, label: str, new_id: str = "") -> Markup:
        return Markup(
            "<figure{}><figcaption>{}</figcaption>"
            '<div class=scroll tabindex=0 role=group aria-label="{}">{}</div></figure>'
        ).format(Markup(new_id), caption, label, tables)

    def _new_id(self, name: str, head: int | None) -> str:
        """The first figure of a value carries its name, so that links find it."""
        key = name if head is None else f"{name}-{head}"
        if key in self.shown:
            return ""
        self.shown.add(key)
        return f" id={key}"

    def _caption(self, name: str, head: int | None, note: str) -> Markup:
        value = self.trace.values[name]
        axes = value.axes if head is None else value.axes[1:]
        letter = symbol(name.removeprefix(PREFIX))
        if self.trace.wiring == "published" and name == "dmiddle":
            letter = symbol("dattended")
        parts = [Markup("<code>{}</code>").format(name.removeprefix(PREFIX))]
        if letter:
            parts[0] += Markup(" {}").format(self.m(letter))
        if head is not None:
            parts.append(Markup("head {}").format(head))
        if note:
            parts.append(Markup("<strong>{}</strong>").format(note))
        parts.append(self.shape(name, skip=head is not None))
        ways = ("rows: {}", "columns: {}") if len(axes) == 2 else ("{}",)
        parts += [Markup(way).format(AXES[axis]) for way, axis in zip(ways, axes, strict=True)]
        if 0 < value.page != self.page_number <= len(WORKED_PAGES):
            key = name if head is None else f"{name}-{head}"
            parts.append(
                Markup('from <a href="{}#{}">page {}</a>').format(
                    WORKED_PAGES[value.page - 1].file, key, value.page
                )
            )
        return Markup(" · ").join(parts)

    def shape(self, name: str, skip: bool = False) -> Markup:
        """A value's shape, as in 4 × 16."""
        lengths = self.trace[name].shape[int(skip) :]
        return Markup("<span data-shape={}>{}</span>").format(
            Markup(f"{name}[0]" if skip else name), " × ".join(map(str, lengths))
        )

    def columns(self, axis: str, columns: Sequence[tuple[str, str]], label: str) -> Markup:
        """Vectors side by side, each with a heading."""
        table = column_table(self.trace, axis, columns, label)
        return self._framed(Markup(table), Markup(escape(label)), label)

    def rows(self, axis: str, rows: Sequence[tuple[str, str]], label: str) -> Markup:
        """Vectors below each other, each with a heading."""
        table = row_table(self.trace, axis, rows, label, self.around.elide)
        return self._framed(Markup(table), Markup(escape(label)), label)

    # Formulas and links

    def m(self, latex: str) -> Markup:
        """A formula within a line."""
        return mathml(latex, "inline")

    def mm(self, latex: str) -> Markup:
        """A formula on a line of its own."""
        return Markup(
            "<div class=formula tabindex=0 role=group aria-label=Formula>{}</div>"
        ).format(mathml(latex, "block"))

    def to(self, page: int, words: str = "") -> Markup:
        """A link to another page."""
        return Markup('<a href="{}">{}</a>').format(
            WORKED_PAGES[page - 1].file, words or f"page {page}"
        )


@cache
def mathml(latex: str, display: str) -> Markup:
    """A formula as MathML, which browsers draw by themselves."""
    from latex2mathml.converter import convert

    text = convert(latex, display=display).replace(f' xmlns="{NAMESPACE}"', "")
    return Markup(ENTITY.sub(lambda found: escape(chr(int(found[1], 16))), text))


class Formulas(Extension):
    """Lets templates write formulas as $...$, and $$...$$ on a line of their own."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        for sign, tool in ((r"\$\$", "mm"), (r"\$", "m")):
            pieces = re.split(f"{sign}(.+?){sign}", source, flags=re.DOTALL)
            pieces[1::2] = [f"{{{{ {tool}({latex!r}) }}}}" for latex in pieces[1::2]]
            source = "".join(pieces)
        return source


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[Formulas],
    )


def page_html(trace: Trace, page: WorkedPage, around: Surroundings) -> str:
    """One of the thirteen pages."""
    template = f"{page.number:02}.html"
    exercises = [around.exercises[name] for name in page.functions if name in around.exercises]
    where = draw_map(page.places, f"page {page.number}").html
    return _render(trace, template, page.number, around, page=page, exercises=exercises, map=where)


def summary_html(trace: Trace, around: Surroundings) -> str:
    """The page that leads to the others."""
    return _render(trace, "summary.html", 0, around, ends=ENDS)


def difference_html(trace: Trace, around: Surroundings) -> str:
    """The page that explains where the published calculation went another way."""
    return _render(trace, "difference.html", len(WORKED_PAGES) + 1, around)


def _render(trace: Trace, template: str, number: int, around: Surroundings, **more: object) -> str:
    tools = Tools(trace, number, around)
    told = {name: getattr(tools, name) for name in dir(tools) if not name.startswith("_")}
    return (
        _environment()
        .get_template(template)
        .render(
            **told,
            **more,
            number=number,
            pages=WORKED_PAGES,
            names=PAGE_NAMES,
            summary=SUMMARY,
            is_course=trace.wiring == "course",
            policy=policy(),
            style=Markup(STYLE),
            script=Markup(SCRIPT),
        )
    )


def policy() -> str:
    """The content security policy of a page: its own style, its own script, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
