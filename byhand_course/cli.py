"""The course maker's commands: each parses, calls one function, and prints."""

import json
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from byhand_course.errors import Refused
from byhand_course.grading.sandbox import HELP, Sandbox

if TYPE_CHECKING:
    from nbgrader.apps import NbGraderAPI

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
        out.print(f"{found.path}: {found.why}{'' if check else ', renewed'}", markup=False)
    if check and stale:
        raise Refused("Renew them with: byhand-course build")
    out.print("All generated files are up to date.")


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
        out.print(f"{to_text(verdict)}\n", markup=False)
        out.print(f"score     {verdict.score:g} of {verdict.points:g} ({parts})")
        out.print(f"mistake   {verdict.mistake or '-'}\nrelation  {verdict.relation or '-'}")
    if not verdict.passed:
        raise typer.Exit(1)


@app.command()
def grade(
    assignment: str,
    student: Annotated[list[str] | None, typer.Option(help="Only this one; repeatable.")] = None,
    sandbox: Annotated[Sandbox | None, typer.Option("--sandbox", help=HELP)] = None,
    as_json: AsJson = False,
    root: Root = Path(),
) -> None:
    """Grade what was handed in below submitted/ against the hidden reference."""
    from byhand_course.grading.course import open_course
    from byhand_course.grading.grade import grade as grade_all
    from byhand_course.grading.grade import submitted
    from byhand_course.grading.preprocessor import engine_for

    api = open_course(root, sandbox)
    students = submitted(api, assignment)
    unknown = sorted(set(student or ()) - set(students))
    if unknown:
        raise Refused(f"Nothing was handed in by {', '.join(unknown)} for {assignment}.")
    if not students:
        raise Refused(f"Nothing was handed in: put notebooks into submitted/NAME/{assignment}/.")
    chosen = student or students
    engine_for(api)  # no sandbox, no grading: said once, before anybody's turn
    steps = grade_all(api, assignment, chosen)
    graded = list(track(steps, "Grading", total=len(chosen), console=err))
    if as_json:
        print_json([asdict(found) for found in graded])
    for found in graded:
        if found.failure:
            err.print(f"{found.student} was not judged: {found.failure}", markup=False)
    if not as_json:
        print_report(api, assignment)
    if any(found.failure for found in graded):
        raise typer.Exit(1)


@app.command()
def report(assignment: str, as_json: AsJson = False, root: Root = Path()) -> None:
    """Show the grades of a class, notebook by notebook."""
    from byhand_course.grading.course import open_course
    from byhand_course.grading.report import class_report

    api = open_course(root)
    if as_json:
        print_json([asdict(row) for row in class_report(api, assignment)])
    else:
        print_report(api, assignment)


@app.command()
def feedback(assignment: str, root: Root = Path()) -> None:
    """Write the feedback pages of all graded submissions below feedback/."""
    from byhand_course.grading.course import ensure_assignment, last_line, open_course

    api = open_course(root)
    ensure_assignment(api, assignment)
    with err.status("Writing feedback pages"):
        result = api.generate_feedback(assignment, force=True)
    if not result["success"]:
        raise Refused(f"No feedback: {last_line(result.get('error') or result.get('log') or '')}")
    pages = sorted((root / "feedback").glob(f"*/{assignment}/*.html"))
    out.print(f"{len(pages)} pages below {root / 'feedback'}", markup=False)


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


def print_report(api: "NbGraderAPI", assignment: str) -> None:
    """The class as a table."""
    from byhand_course.grading.report import class_report

    rows = class_report(api, assignment)
    notebooks = sorted({name for row in rows for name in row.notebooks})
    columns = [name.partition("_")[0] for name in notebooks]  # lesson03_softmax: too wide
    table = Table("student", *columns, "score", "of", "awaiting a reader", title=assignment)
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        points = [f"{row.notebooks.get(name, 0):g}" for name in notebooks]
        total = f"{row.score:g}", f"{row.max_score:g}", f"{row.waiting:g}"
        table.add_row(row.student, *points, *total)
    out.print(table)


def print_json(value: object) -> None:
    """JSON for a script, and nothing else, on the output."""
    print(json.dumps(value, indent=1, ensure_ascii=False))


def run() -> None:
    """The entry point: whatever a person's input causes ends in one sentence and status 1."""
    try:
        app()
    except Refused as refused:
        err.print(str(refused), markup=False)
        sys.exit(1)


if __name__ == "__main__":
    run()
