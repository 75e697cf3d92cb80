"""The learner's commands: each parses, calls one function, and prints."""

import getpass
import json
import os
import subprocess
import sys
from dataclasses import asdict
from datetime import datetime
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from typer.core import TyperGroup

from . import __version__, desk
from .desk import DONE, Desk, Lesson, Refused, find_work, shown
from .probe import NoSuchExercise, course, load

if TYPE_CHECKING:
    from .headless import Checked

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

SIGNS = {
    "right": "[green]✓[/] right",
    "in words": "[green]✓[/] in words",
    "not yet": "[red]✗[/] not yet",
    "not written": "· not written",
}


class Commands(TyperGroup):
    """Whatever a person's input causes ends in one sentence and status 1."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (Refused, NoSuchExercise) as refused:
            err.print(str(refused), markup=False)
        except OSError as error:
            what = f"{error.filename}: " if error.filename else ""
            err.print(f"{what}{error.strerror or error}.", markup=False)
        raise typer.Exit(1)


app = typer.Typer(
    cls=Commands,
    help="Attention by Hand: the course, from the first lesson to handing in.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Work = Annotated[
    Path | None, typer.Option("--work", help="Your work folder.", show_default="the nearest")
]
Release = Annotated[
    Path | None,
    typer.Option("--release", help="The course's lessons.", show_default="where they came from"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script to read.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
WhichLesson = Annotated[
    str, typer.Argument(metavar="LESSON", help="A number, a notebook, or an assignment.")
]


@app.callback()
def main() -> None:
    """Attention by Hand: the course, from the first lesson to handing in."""


@app.command()
def learn(
    release: Annotated[Path, typer.Option(help="The course's lessons.")] = Path("release"),
    work: Annotated[Path, typer.Option(help="Your work folder.")] = Path("work"),
    port: Annotated[int, typer.Option(help="JupyterLab's port, or the next free one.")] = 8888,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address.")
    ] = False,
    prepare_only: Annotated[
        bool, typer.Option("--prepare-only", help="Copy the lessons, and start nothing.")
    ] = False,
) -> None:
    """Copy the lessons into your work folder, and open JupyterLab there."""
    for sentence in desk.lay_out(Desk(work), release):
        out.print(sentence, markup=False)
    if prepare_only:
        return
    out.print("JupyterLab starts. Keep this window open; to stop, press Ctrl+C in it, twice.")
    start_jupyterlab(work, release.resolve().parent / "jupyter", port, browser=not no_browser)


@app.command()
def check(
    lesson: Annotated[
        str | None,
        typer.Argument(metavar="[LESSON]", help="A number, a notebook, or an assignment."),
    ] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds that one cell may take.")] = 60,
    as_json: AsJson = False,
    work: Work = None,
) -> None:
    """Run notebooks afresh, from the first cell to the last, and judge every exercise."""
    paths = notebooks_to_check(lesson, work)
    found, unreadable = check_all(paths, timeout, remembering_desk(work))
    if as_json:
        print_json(
            [{"notebook": shown(path), **asdict(checked)} for path, checked in found]
            + [{"notebook": shown(path), "error": why} for path, why in unreadable]
        )
    else:
        for path, checked in found:
            print_checked(path, checked)
    for _, why in unreadable:
        err.print(why, markup=False)
    results = [result for _, checked in found for result in checked.exercises]
    if unreadable or any(result.status not in DONE for result in results):
        raise typer.Exit(1)


@app.command()
def progress(as_json: AsJson = False, work: Work = None) -> None:
    """Show what is done, as of the last check."""
    place = Desk(find_work(work))
    rows = [progress_row(place, lesson) for lesson in desk.lessons()]
    if as_json:
        print_json(rows)
        return
    if not any(row["checked"] for row in rows):
        out.print("Nothing is checked yet: `byhand check` runs all your notebooks.")
        return
    table = Table("", "lesson", "done", "points", "minutes", "checked", box=None)
    for column in table.columns[2:5]:
        column.justify = "right"
    for row in rows:
        when = "not yet"
        if row["checked"]:
            changed = ", changed since" if row["changed"] else ""
            when = f"{datetime.fromisoformat(row['checked']).astimezone():%Y-%m-%d %H:%M}{changed}"
        table.add_row(
            str(row["lesson"]),
            row["title"],
            f"{row['done']} of {row['exercises']}",
            f"{row['score']:g} of {row['points']:g}",
            str(row["minutes"]),
            when,
        )
    out.print(table)
    waiting = sum(row["points_in_words"] for row in rows)
    if waiting:
        out.print(f"{waiting:g} more points are for answers in words, which a person reads.")
    if any(row["changed"] for row in rows):
        out.print("`byhand check` brings this up to date.")


@app.command()
def hint(
    exercise: str,
    every: Annotated[bool, typer.Option("--all", help="All hints at once.")] = False,
    work: Work = None,
) -> None:
    """Give the next hint for an exercise."""
    probe = load(exercise.replace("_", "-"))
    count = len(probe.hints)
    if not count:
        raise Refused(f"There are no hints for {probe.name}.")
    if every:
        given, first = count, 0
    else:
        place = Desk(find_work(work))
        given = min(place.hints.get(probe.name, 0) + 1, count)
        first = given - 1
        place.hints[probe.name] = given
        place.save()
    for number in range(first, given):
        out.print(f"Hint {number + 1} of {count}: {probe.hints[number]}", markup=False)
    if every:
        return
    left = count - given
    if left:
        out.print(f"{left} more hint{'s' if left > 1 else ''} left.")
    else:
        out.print(f"This is the last one; `byhand hint {probe.name} --all` shows all of them.")


@app.command()
def reset(
    notebook: WhichLesson, yes: Yes = False, work: Work = None, release: Release = None
) -> None:
    """Put a released notebook back. Yours is kept beside it."""
    place = Desk(find_work(work))
    chosen = desk.find_lessons(notebook)
    if len(chosen) > 1:
        raise Refused(f"{notebook} is {len(chosen)} notebooks; reset them one by one.")
    lesson = chosen[0]
    if not yes:
        typer.confirm(f"Start {lesson.notebook} over? What you wrote is kept beside it", abort=True)
    kept = desk.reset(place, lesson, release or released_for(place))
    target = shown(place.work / lesson.path)
    if kept:
        out.print(f"{target} is as released; yours is kept as {shown(kept)}", markup=False)
    else:
        out.print(f"{target} is as released; there was nothing of yours in it.", markup=False)


@app.command()
def submit(
    assignment: str,
    to: Annotated[
        Path | None, typer.Option(help="Where submissions go.", show_default="beside work/")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--as", help="Your name there.", show_default="your login name")
    ] = None,
    work: Work = None,
) -> None:
    """Hand in an assignment: copy its notebooks to where the grader finds them."""
    place = Desk(find_work(work))
    folder = to or place.work.resolve().parent / "submitted"
    done = desk.hand_in(place, assignment, folder, name or login_name())
    count = len(done.notebooks)
    out.print(
        f"{count} notebook{'s' if count != 1 else ''} handed in: {shown(done.folder)}", markup=False
    )
    if done.earlier:
        out.print(f"What you handed in before is kept: {shown(done.earlier)}", markup=False)
    for lesson in done.missing:
        out.print(f"{lesson.notebook} is not in your work folder, and not handed in.", markup=False)
    for lesson in done.notebooks:
        for sentence in not_right_yet(place, lesson):
            out.print(sentence, markup=False)


@app.command()
def certificate(
    name: Annotated[
        str | None, typer.Option(help="Your name on it.", show_default="the last one given")
    ] = None,
    work: Work = None,
) -> None:
    """Write a page that lists what you did, to keep or to print."""
    from .certificate import summary, write_certificate

    made = write_certificate(Desk(find_work(work)), name=name)
    for line in summary(made):
        out.print(line, markup=False)


@app.command()
def version() -> None:
    """Say which edition this is."""
    count = len(course())
    out.print(f"byhand {__version__}, with {count} lesson{'s' if count != 1 else ''}")


# What the commands share


def start_jupyterlab(work: Path, settings: Path, port: int, browser: bool) -> None:
    """Become JupyterLab in the work folder, with the course's settings if there are any.

    Raises:
        Refused: if JupyterLab is not installed.
    """
    if not find_spec("jupyterlab"):
        raise Refused("JupyterLab is not installed here: pip install jupyterlab")
    options = {
        "ServerApp.root_dir": str(work.resolve()),
        "ServerApp.port": str(port),
        "ServerApp.open_browser": str(browser),
        "LabApp.default_url": f"/lab/tree/{desk.START}",
        "LabApp.workspaces_dir": str(work.resolve() / ".jupyter" / "workspaces"),
        "Application.log_level": "ERROR",
    }
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # as in most containers
        options["ServerApp.allow_root"] = "True"
    command = [sys.executable, "-m", "jupyterlab"]
    command += [f"--{key}={value}" for key, value in options.items()]
    paths = [str(settings)] if settings.is_dir() else []
    paths += [os.environ["JUPYTER_CONFIG_PATH"]] if os.environ.get("JUPYTER_CONFIG_PATH") else []
    programs = str(Path(sys.executable).parent)  # so that terminals in JupyterLab find `byhand`
    environment = {
        **os.environ,
        "JUPYTER_CONFIG_PATH": os.pathsep.join(paths),
        "PATH": os.pathsep.join([programs, os.environ.get("PATH", os.defpath)]),
    }
    if os.name == "nt":  # there, exec would let go of the window at once
        sys.exit(subprocess.call(command, env=environment))
    os.execve(sys.executable, command, environment)


def notebooks_to_check(wanted: str | None, work: Path | None) -> list[Path]:
    """The notebooks that a person means, a lesson's, an assignment's, a file, or all.

    Raises:
        Refused: if there is none.
    """
    if wanted and wanted.endswith(".ipynb") and Path(wanted).is_file():
        return [Path(wanted)]
    chosen = desk.find_lessons(wanted) if wanted else desk.lessons()
    place = find_work(work)
    paths = [place / lesson.path for lesson in chosen if (place / lesson.path).is_file()]
    if not paths:
        what = chosen[0].notebook if len(chosen) == 1 else "No lesson"
        is_not = "is not" if len(chosen) == 1 else "is"
        raise Refused(f"{what} {is_not} in {shown(place)} yet; `byhand learn` copies it there.")
    return paths


def remembering_desk(work: Path | None) -> Desk | None:
    """The desk, if there is one to remember a check on."""
    try:
        return Desk(find_work(work))
    except Refused:
        return None


def check_all(
    paths: list[Path], timeout_s: float, place: Desk | None
) -> tuple[list[tuple[Path, "Checked"]], list[tuple[Path, str]]]:
    """Check notebooks one by one under a progress bar: what was found, and what cannot be read."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    found, unreadable = [], []
    with Progress(*columns, TimeElapsedColumn(), console=err, transient=True) as bar:
        from .headless import check_notebook

        for path in paths:
            task = bar.add_task(path.stem, total=None)
            show = partial(show_steps, bar, task)
            words = desk.fingerprint(path)
            try:
                checked = check_notebook(path, timeout_s, show)
            except Refused as refused:
                unreadable.append((path, str(refused)))
                continue
            found.append((path, checked))
            if place and words:
                place.remember_check(path, [asdict(one) for one in checked.exercises], words)
    return found, unreadable


def show_steps(bar: Progress, task: TaskID, done: int, total: int) -> None:
    """Move a progress bar."""
    bar.update(task, completed=done, total=total)


def released_for(place: Desk) -> Path:
    """The released lessons: where this desk was laid out from, or `release` here."""
    if place.release and (place.work / place.release).is_dir():
        return place.work / place.release
    return Path("release")


def login_name() -> str:
    """The name that this computer knows the learner by.

    Raises:
        Refused: if it knows none.
    """
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        raise Refused("This computer does not tell your name; give it with --as.") from None


def not_right_yet(place: Desk, lesson: Lesson) -> list[str]:
    """What to know about a notebook on handing it in, from its last check."""
    found = place.last_check(lesson)
    if found is None:
        return [f"{lesson.notebook} was never checked: `byhand check {lesson.number}`"]
    open_ones = [one["exercise"] for one in found["exercises"] if one["status"] not in DONE]
    sentences = []
    if found["changed"]:
        sentences.append(f"{lesson.notebook} has changed since its last check.")
    if open_ones:
        listed = ", ".join(open_ones)
        sentences.append(f"{lesson.notebook}: not right yet at the last check: {listed}.")
    return sentences


def progress_row(place: Desk, lesson: Lesson) -> dict[str, Any]:
    """One lesson's line of `progress`."""
    found = place.last_check(lesson)
    results = found["exercises"] if found else []
    words = sum(one["points"] for one in results if one["status"] == "in words")
    return {
        "lesson": lesson.number,
        "title": lesson.title,
        "done": desk.exercises_done(found),
        "exercises": len(lesson.exercises),
        "score": sum(one["score"] for one in results),
        "points": lesson.points,
        "points_in_words": words,
        "minutes": lesson.minutes,
        "checked": found["when"] if found else None,
        "changed": bool(found and found["changed"]),
    }


def print_checked(path: Path, checked: "Checked") -> None:
    """A notebook's exercises as a table."""
    results = checked.exercises
    done = sum(result.status in DONE for result in results)
    score, points = sum(result.score for result in results), sum(r.points for r in results)
    out.print(
        f"[bold]{path.stem}[/]: {done} of {len(results)} exercises done, "
        f"{score:g} of {points:g} points"
    )
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for result in results:
        table.add_row(result.exercise, SIGNS[result.status], escape(result.why))
    Console(highlight=False).print(table)
    for note in checked.notes:
        out.print(f"  {note}", markup=False)
    out.print()


def print_json(value: object) -> None:
    """JSON for a script, and nothing else, on the output."""
    print(json.dumps(value, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    app()
