"""The course maker's commands: each parses, calls one function, and prints."""

import json
import os
import re
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

from byhand_course.errors import Refused
from byhand_course.grading.sandbox import HELP, Sandbox
from byhand_course.grading.visible import STEERING, one_line, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from byhand_course.grading.book import Graded
    from byhand_course.grading.course import Course

LONG_TABLE = 100  # submissions; a longer class is shown by `report` only

app = typer.Typer(
    help="Build, release and grade the course.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

Root = Annotated[Path, typer.Option("--root", help="The course folder.", file_okay=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script to read.")]
InSandbox = Annotated[Sandbox, typer.Option("--sandbox", help=HELP)]


@app.callback()
def main() -> None:
    """Attention by Hand, for those who make and run the course."""


@app.command()
def build(
    check: Annotated[bool, typer.Option("--check", help="Only say what is out of date.")] = False,
    root: Root = Path(),
) -> None:
    """Cut source, release, solutions and probes from the reference and the lessons."""
    from byhand_course.build import build as build_course
    from byhand_course.build import find_stale

    stale = find_stale(root) if check else build_course(root)
    for found in stale:
        says(out, f"{found.path}: {found.why}{'' if check else ', renewed'}")
    if check and stale:
        raise Refused("Renew them with: byhand-course build")
    out.print("All generated files are up to date.")


@app.command()
def worked(
    sentence: Annotated[
        str | None, typer.Option(help="Any sentence.", show_default="I like transformers")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the weights.", show_default="0")] = None,
    d_model: Annotated[
        int | None, typer.Option(help="Width of the model.", show_default="16")
    ] = None,
    num_heads: Annotated[int | None, typer.Option(help="Heads.", show_default="2")] = None,
    d_ff: Annotated[
        int | None, typer.Option(help="Feed-forward width.", show_default="4 × d_model")
    ] = None,
    max_len: Annotated[
        int | None,
        typer.Option(help="Positions that the model knows.", show_default="as needed, at least 5"),
    ] = None,
    vocabulary: Annotated[
        str | None,
        typer.Option(
            help="The words that the model knows.",
            show_default="the course's, or those of the sentence",
        ),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(
            "--out", help="A new folder for the pages.", show_default="worked-pages", file_okay=True
        ),
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="The published calculation instead.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only say whether release/pages is up to date.")
    ] = False,
    pdf: Annotated[
        Path | None, typer.Option(help="Print the pages into this PDF too; needs Chromium.")
    ] = None,
    browser: Annotated[
        str | None, typer.Option(help="The Chromium that prints.", show_default="the first found")
    ] = None,
    root: Root = Path(),
) -> None:
    """Write one whole training step as 13 pages, every number, for any sentence."""
    from byhand_course import worked as pages

    chosen = {
        "seed": seed,
        "d_model": d_model,
        "num_heads": num_heads,
        "d_ff": d_ff,
        "max_len": max_len,
        "vocabulary": vocabulary,
        "sentence": sentence,
    }
    given: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
    if given and (published or check):
        option = "--published" if published else "--check"
        raise Refused(
            f"{option} has a sentence, a seed and sizes of its own: leave out "
            f"--{next(iter(given)).replace('_', '-')}."
        )
    if check:
        stale = pages.find_stale_pages(root)
        for found in stale:
            out.print(found, markup=False)
        if stale:
            raise Refused("Renew them with: make pages")
        out.print("The worked pages are up to date.")
        return
    folder = to or Path("published-pages" if published else "worked-pages")
    if published:
        pages.write_published(folder, root)
    else:
        pages.write_pages(pages.settle(**given), folder, root)
    out.print(f"The pages are written: open {folder / 'index.html'}", markup=False)
    if pdf:
        pages.print_pages(folder, pdf, browser)
        out.print(f"and printed: {pdf}", markup=False)


@app.command()
def exercises(as_json: AsJson = False) -> None:
    """List every exercise: name, lesson, kind, points, minutes, known mistakes."""
    from byhand_course.lessons.catalogue import catalogue

    rows = catalogue()
    if as_json:
        print_json(rows)
        return
    table = Table("lesson", "exercise", "kind", "points", "minutes", "mistakes", box=None)
    for row in rows:
        known = len(row["mistakes"])
        cells = row["lesson"], row["name"], row["kind"], row["points"], row["minutes"], known
        table.add_row(*map(str, cells))
    out.print(table)


@app.command()
def judge(
    exercise: str,
    file: Annotated[str, typer.Argument(help="FILE.py, or FILE.py:FUNCTION")],
    sandbox: InSandbox = Sandbox.NONE,
    as_json: AsJson = False,
) -> None:
    """Try any function against an exercise, hidden inputs included.

    FILE.py is run as `python FILE.py` would run it; if it is not your own: --sandbox bubblewrap.
    """
    from byhand.render import to_text
    from byhand_course.grading.trial import try_file
    from byhand_course.lessons import find_exercise

    path, _, name = file.rpartition(":") if re.search(r"\.py:\w+$", file) else (file, "", "")
    lesson, task = find_exercise(exercise)
    verdict = try_file(lesson, task, Path(path), name, sandbox)
    if as_json:
        print_json(
            {
                "exercise": verdict.exercise,
                "passed": verdict.passed,
                "score": verdict.score,
                "points": verdict.points,
                "parts": verdict.parts,
                "mistake": verdict.mistake,
                "relation": verdict.relation,
                "says": to_text(verdict),
            }
        )
    else:
        parts = ", ".join(f"{part} {'✓' if ok else '✗'}" for part, ok in verdict.parts.items())
        says(out, f"{to_text(verdict)}\n")
        out.print(f"score     {verdict.score:g} of {verdict.points:g} ({parts})")
        out.print(f"mistake   {verdict.mistake or '-'}\nrelation  {verdict.relation or '-'}")
    if not verdict.passed:
        raise typer.Exit(1)


@app.command()
def grade(
    assignment: str,
    student: Annotated[list[str] | None, typer.Option(help="Only this one; repeatable.")] = None,
    workers: Annotated[
        int, typer.Option(min=0, help="Processes that mark; 0: one a processor.")
    ] = 0,
    scheduler: Annotated[
        str | None, typer.Option(help="A dask cluster that marks, as in tcp://HOST:8786.")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Grade what has not changed too.")] = False,
    sandbox: Annotated[Sandbox | None, typer.Option("--sandbox", help=HELP)] = None,
    as_json: AsJson = False,
    root: Root = Path(),
) -> None:
    """Grade what was handed in below submitted/ against the hidden reference.

    What was graded before and has not changed is left alone. Ends with status 1 if anything could
    not be judged.
    """
    from byhand_course.grading.course import load_course
    from byhand_course.grading.fleet import local_pool
    from byhand_course.grading.grade import grade as grade_all
    from byhand_course.grading.grade import submitted
    from byhand_course.grading.lock import only_grader

    course = load_course(root, sandbox)
    with only_grader(course.root, lambda sentence: says(err, sentence)):
        students = submitted(course, assignment)
        unknown = sorted(set(student or ()) - set(students))
        if unknown:
            raise Refused(f"Nothing was handed in by {', '.join(unknown)} for {assignment}.")
        if not students:
            raise Refused(
                f"Nothing was handed in: put notebooks into submitted/NAME/{assignment}/."
            )
        chosen = student or students
        if scheduler and workers:
            raise Refused("--workers is for this machine; a cluster has the workers you started.")
        if scheduler:
            from byhand_course.grading.cluster import cluster

            start, room = cluster(scheduler)
        else:
            count = workers or os.cpu_count() or 1
            start, room = local_pool(count, course.limits, course.sandbox), 2 * count
        steps = grade_all(course, assignment, chosen, start, room, again)
        tally = show_graded(track(steps, "Grading", total=len(chosen), console=err), as_json)
    if not as_json and len(chosen) <= LONG_TABLE:
        print_report(course, assignment)
    err.print(tally.summary(), markup=False)
    if tally.failed:
        raise typer.Exit(1)


@app.command()
def report(assignment: str, as_json: AsJson = False, root: Root = Path()) -> None:
    """Show the grades of a class, notebook by notebook."""
    from byhand_course.grading.book import Book
    from byhand_course.grading.course import ensure_assignment, load_course

    course = load_course(root)
    ensure_assignment(course, assignment)
    if as_json:
        with Book(course.db_url, assignment) as book:
            print_json_list(asdict(row) for row in book.results())
    else:
        print_report(course, assignment)


@app.command()
def feedback(assignment: str, root: Root = Path()) -> None:
    """Write the feedback pages of all graded submissions below feedback/."""
    from byhand_course.grading.course import ensure_assignment, load_course, skip_slow_import

    skip_slow_import()
    from byhand_course.grading.feedback import Places, write_pages

    course = load_course(root)
    ensure_assignment(course, assignment)
    places = Places(course.db_url, course.folder("autograded"), course.folder("feedback"))
    count, steps = write_pages(places, assignment)
    written = list(track(steps, "Writing feedback pages", total=count, console=err))
    failed = [page for page in written if page.failure]
    for page in failed:
        says(err, f"No page for {page.student}, {page.notebook}: {page.failure}")
    says(out, f"{count - len(failed)} pages below {places.feedback}")
    if failed:
        raise typer.Exit(1)


@app.command()
def doctor(as_json: AsJson = False, root: Root = Path()) -> None:
    """Say what is missing on this machine for grading, and how to get it."""
    from byhand_course.grading.doctor import can_grade, examine

    with err.status("Trying the sandbox"):
        findings = examine(root)
    well = can_grade(findings)
    if as_json:
        print_json({"can_grade": well, "findings": [asdict(found) for found in findings]})
    else:
        for found in findings:
            mark = "✓" if found.ok else "✗" if found.needed else "–"
            out.print(f"{mark} {found.what}: {found.found}", markup=False)
            if found.advice:
                out.print(f"{found.advice}", markup=False)
        out.print("Grading works here." if well else "Grading does not work here yet.")
    if not well:
        raise typer.Exit(1)


@app.command()
def demo(
    folder: Annotated[Path, typer.Option(help="A new folder for the sample course.")],
    assignment: str = "week1_maths",
    sandbox: InSandbox = Sandbox.BUBBLEWRAP,
    root: Root = Path(),
) -> None:
    """Hand in a small sample class, grade it, and show the result."""
    from byhand_course.grading.sample_class import make_course

    make_course(root, folder, assignment)
    grade(assignment, sandbox=sandbox, root=folder)
    feedback(assignment, root=folder)


@dataclass
class Tally:
    """What came of a run over a class, counted."""

    marked: int = 0
    unchanged: int = 0
    repaired: int = 0
    failed: int = 0

    def count(self, found: "Graded") -> None:
        self.failed += found.failure is not None
        self.marked += found.marked > 0
        self.unchanged += found.marked == 0 and found.failure is None
        self.repaired += bool(found.remarks)

    def summary(self) -> str:
        told = f"{self.marked} graded, {self.unchanged} unchanged"
        told += f", {self.repaired} with remarks" if self.repaired else ""
        return told + (f", {self.failed} not judged" if self.failed else "")


def show_graded(steps: "Iterable[Graded]", as_json: bool) -> Tally:
    """Print what there is to say of each submission as it comes, and count."""
    tally = Tally()

    def told() -> "Iterator[dict]":
        for found in steps:
            tally.count(found)
            for remark in found.remarks if found.marked else ():
                says(err, f"{found.student}: {remark}")
            if found.failure:
                says(err, f"{found.student} was not judged: {found.failure}")
            yield asdict(found)

    if as_json:
        print_json_list(told())
    else:
        for _ in told():
            pass
    return tally


def print_report(course: "Course", assignment: str) -> None:
    """The class as a table."""
    from byhand_course.grading.book import Book

    with Book(course.db_url, assignment) as book:
        notebooks = book.notebooks
        columns = [name.partition("_")[0] for name in notebooks]  # lesson03_softmax: too wide
        table = Table("student", *columns, "score", "of", "awaiting a reader", title=assignment)
        for column in table.columns[1:]:
            column.justify = "right"
        for row in book.results():
            points = [f"{row.notebooks.get(name, 0):g}" for name in notebooks]
            total = f"{row.score:g}", f"{row.max_score:g}", f"{row.waiting:g}"
            table.add_row(Text(one_line(row.student)), *points, *total)
    out.print(table)


def print_json_list(rows: "Iterable[dict]") -> None:
    """A JSON list for a script, row by row as they come."""
    start = "["
    for row in rows:
        print(f"{start}\n {as_json_text(row)}", end="", flush=True)
        start = ","
    print("[]" if start == "[" else "\n]")


def print_json(value: object) -> None:
    """JSON for a script, and nothing else, on the output."""
    print(as_json_text(value, indent=1))


def as_json_text(value: object, indent: int | None = None) -> str:
    """A value as JSON that is safe to look at in a terminal too."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return STEERING.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def says(console: Console, text: str) -> None:
    """Print text as it is, whoever wrote it: no markup, and nothing that steers a terminal."""
    console.print(visible(text), markup=False)


def run() -> None:
    """The entry point: whatever a person's input causes ends in one sentence and status 1."""
    try:
        app()
    except Refused as refused:
        says(err, str(refused))
        sys.exit(1)


if __name__ == "__main__":
    run()
