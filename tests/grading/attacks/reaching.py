"""Reaching the instructor: through pages in a browser, and words in a terminal.

Without protection means nbgrader's own feedback page, Formgrader without our step, or text that is
printed as it is.
"""

from collections.abc import Callable
from functools import partial

from nbformat.v4 import new_code_cell, new_output, new_raw_cell

from byhand_course.grading.engine import Engine

from . import attack, pages
from .attack import Room, Sight
from .pages import MARK, Hostile, alive
from .world import World

Attack = partial(attack.Attack, graded=False)
SCRIPT = f"<script>{MARK}()</script>"
IMAGE = f"<img src=x onerror={MARK}()>"
ESCAPED = "nbgrader escapes it too"


def living(sight: Sight) -> bool:
    return bool(sight.extra["alive"])


def _page(world: World, engine: Engine, make: Callable[..., str], **where: object) -> Sight:
    page = make(Hostile(**where))  # type: ignore[arg-type]
    return Sight(world, said=page, extra={"alive": alive(page)})


def shows(name: str, tries: str, *, fails_bare: str = "", **where: object) -> attack.Attack:
    """Something hostile in a graded notebook, looked for in the page."""
    return Attack(
        name=name,
        tries=tries,
        seen="what a browser would bring to life in the page",
        through=living,
        bare="nbgrader's page",
        run=partial(_page, make=pages.ours, **where),
        run_bare=partial(_page, make=pages.nbgraders, **where),
        fails_bare=fails_bare,
        live=lambda sight: MARK in sight.said,
    )


def _showing(**data: str) -> list:
    kinds = {"html": "text/html", "script": "application/javascript", "svg": "image/svg+xml"}
    cell = new_code_cell("1")
    cell.outputs = [
        new_output("display_data", data={kinds[kind]: text for kind, text in data.items()})
    ]
    return [cell]


def _failing(words: str) -> list:
    cell = new_code_cell("1 / 0")
    cell.outputs = [new_output("error", ename=words, evalue=words, traceback=[words])]
    return [cell]


IN_PAGES = (
    shows("script in Markdown", "writes a script into an answer in words", answer=SCRIPT),
    shows("event handler in Markdown", "writes a picture that fails into an answer", answer=IMAGE),
    shows(
        "link in Markdown",
        "writes a link that runs a script",
        answer=f'<a href="javascript:{MARK}()">a</a> [b](javascript:{MARK}())',
    ),
    shows(
        "frame",
        "opens a page of its own inside the page",
        answer=f'<iframe srcdoc="&lt;script&gt;{MARK}()&lt;/script&gt;"></iframe>',
    ),
    shows(
        "style sheet",
        "loads a style sheet, to cover the page or to tell who reads it",
        answer=f"<style>@import url(http://127.0.0.1/{MARK}); body{{display:none}}</style>",
    ),
    shows(
        "tracking picture",
        "has the reader's browser ask a server for a picture",
        answer=f"![x](http://127.0.0.1:1/{MARK}.png)",
    ),
    shows(
        "form",
        "asks the reader for a password",
        answer=f'<form action="http://127.0.0.1:1/{MARK}"><input name="password"></form>',
    ),
    shows(
        "redirect",
        "sends the reader to another page",
        answer=f'<meta http-equiv="refresh" content="0;url=http://127.0.0.1:1/{MARK}">',
    ),
    shows("picture with a script", "draws an SVG that runs a script when it is shown",
          answer=f"<svg onload={MARK}()></svg>"),
    shows(
        "formula",
        "hides a script in a formula that MathJax makes a link of",
        answer=rf"$\href{{javascript:{MARK}()}}{{x}}$",
        fails_bare="the page alone is harmless; MathJax, which it loads, is what makes the link",
    ),
    shows("raw cell", "writes HTML into a raw cell",
          cells=[new_raw_cell(SCRIPT, metadata={"raw_mimetype": "text/html"})],
          fails_bare=ESCAPED),
    shows("HTML output", "displays HTML with a script", cells=_showing(html=SCRIPT)),
    shows("JavaScript output", "displays JavaScript", cells=_showing(script=f"{MARK}()")),
    shows("traceback", "raises an error whose name, words and traceback are HTML",
          cells=_failing(SCRIPT), fails_bare=ESCAPED),
    shows("source code", "closes the block that its code stands in, and goes on in HTML",
          source=f"</code></pre></section>{SCRIPT}{IMAGE}", fails_bare=ESCAPED),
    shows("verdict", "has the grader quote a line of its own that is HTML",
          verdict=f"dot: raises ValueError, in its line 1, `{SCRIPT}`.\n\n    {IMAGE}",
          fails_bare=ESCAPED),
    shows("name of the student", "is called a script in the gradebook", first_name=SCRIPT,
          fails_bare="nbgrader's page shows no name"),
    shows("name of the folder", "hands in under a name that is HTML", student=f"<b onclick={MARK}>",
          fails_bare="nbgrader's page shows no name"),
    shows("comment", "gets HTML into the comment on its answer", comment=f"{SCRIPT}{IMAGE}"),
    shows("template code", "writes what a template engine would work out",
          first_name="{{ ''.__class__ }}{% for x in range(3) %}" + MARK,
          source="{{ 7 * 7 }}" + MARK,
          fails_bare=ESCAPED),
)  # fmt: skip

AROUND = (
    f"{SCRIPT}\n\n{IMAGE}",
    f'<a href="javascript:{MARK}()">a</a>\n\n```\n{SCRIPT}\n```\n{SCRIPT}',
)


def _formgrader(world: World, engine: Engine, safe: bool, hostile: Hostile) -> Sight:
    from byhand_course.grading.nbgrader_pages import ShowAsText

    page = pages.formgraders(hostile, (ShowAsText,) if safe else ())
    return Sight(world, said=page, extra={"alive": alive(page)})


def in_formgrader(name: str, tries: str, **where: object) -> attack.Attack:
    return Attack(
        name=name,
        tries=tries,
        seen="what a browser would bring to life in Formgrader's page",
        through=living,
        bare="Formgrader without our step",
        run=partial(_formgrader, safe=True, hostile=Hostile(**where)),  # type: ignore[arg-type]
        run_bare=partial(_formgrader, safe=False, hostile=Hostile(**where)),  # type: ignore[arg-type]
    )


def _beside(world: World, engine: Engine, safe: bool, what: str) -> Sight:
    with pages.course() as folder:
        graded = pages.furnish(folder, Hostile()).parent
        if what == "page":
            (graded / "evil.html").write_text(SCRIPT)
        else:
            (graded / "data").symlink_to(world.files["solutions"])
        made = pages.nbgrader_feedback(folder, safe)
        others = [path for path in made if path.name != f"{pages.NOTEBOOK}.html"]
        words = "".join(path.read_text(errors="replace") for path in others)
        return Sight(world, said=words, extra={"pages": len(made)})


def beside(name: str, tries: str, what: str, word: Callable[[World], str]) -> attack.Attack:
    return Attack(
        name=name,
        tries=tries,
        seen="what stands in the feedback folder",
        through=lambda sight: word(sight.world) in sight.said,
        bare="nbgrader's command without our step",
        run=partial(_beside, safe=True, what=what),
        run_bare=partial(_beside, safe=False, what=what),
    )


IN_FORMGRADER = (
    in_formgrader(
        "Formgrader",
        "runs a script in the instructor's own Jupyter server, by an answer in words",
        answer="\n\n".join(AROUND),
    ),
    beside("page beside the notebook", "hands in a page that would be given out as feedback",
           "page", lambda world: MARK),
    beside("link beside the notebook", "hands in a link to the solutions, which is followed and "
           "given out", "link", lambda world: world.secret),
)  # fmt: skip

TITLE, LINK = "\x1b]0;owned", "[link=http://127.0.0.1:1/]click[/link][red]"


def _printed(world: World, engine: Engine, text: str, table: bool, safe: bool) -> Sight:
    """Print a learner's text as our commands do, or as it is."""
    from rich.table import Table
    from rich.text import Text

    from byhand_course.cli import says
    from byhand_course.grading.visible import one_line

    with pages.terminal() as (console, written):
        if table:
            rows = Table("student")
            rows.add_row(Text(one_line(text)) if safe else text)
            console.print(rows)  # type: ignore[attr-defined]
        elif safe:
            says(console, text)  # type: ignore[arg-type]
        else:
            console.file.write(text)  # type: ignore[attr-defined]
        return Sight(world, said=written())


def types(
    name: str, tries: str, text: str, sign: str, table: bool = False, fails_bare: str = ""
) -> attack.Attack:
    return Attack(
        name=name,
        tries=tries,
        seen=f"{sign!r} in what the terminal gets",
        through=lambda sight: sign in sight.said,
        bare="printed as it is",
        run=partial(_printed, text=text, table=table, safe=True),
        run_bare=partial(_printed, text=text, table=table, safe=False),
        fails_bare=fails_bare,
        live=lambda sight: bool(sight.said),
    )


def _turned(world: World, engine: Engine, make: Callable[[Hostile], str]) -> Sight:
    return Sight(world, said=make(Hostile(source="x = 1  # \u202eeslaf si siht")))


def _unwritable(world: World, engine: Engine, make: Callable[[Hostile], str]) -> Sight:
    page = make(Hostile(source=f"x = '{pages.HALF}'"))
    try:
        page.encode()
    except UnicodeEncodeError:
        return Sight(world, extra={"lost": True})
    return Sight(world, extra={"lost": False})


IN_A_TERMINAL = (
    types("control codes in a message", "steers the terminal by the words of an error", TITLE,
          TITLE),
    types("control codes in a name", "steers the terminal by a student's name", TITLE, TITLE, True),
    types("eight-bit control codes", "does so with single characters above 127", "\x9b31mred",
          "\x9b"),
    types("overwritten line", "writes over a line of the report with a carriage return",
          "failed\rsolved", "\r"),
    types("markup in a name", "makes a link of its name in the report", LINK,
          "\x1b]8;", True),
    Attack(
        name="text turned round",
        tries="makes source read differently from what it is, with marks that turn text round",
        seen="the mark in the page",
        through=lambda sight: "\u202e" in sight.said,
        bare="nbgrader's page",
        run=partial(_turned, make=pages.ours),
        run_bare=partial(_turned, make=pages.nbgraders),
    ),
    Attack(
        name="half a character",
        tries="puts half a character into a text, so that no page can be saved",
        seen="whether the text can be saved",
        through=lambda sight: sight.extra["lost"],
        bare="nbgrader's page",
        run=partial(_unwritable, make=pages.ours),
        run_bare=partial(_unwritable, make=pages.nbgraders),
    ),
)  # fmt: skip

ATTACKS = (*IN_PAGES, *IN_FORMGRADER, *IN_A_TERMINAL)
ROOM = Room("Reaching the instructor: pages and the terminal", ATTACKS)
