"""A set of worked pages in a folder: thirteen pages, a summary, the values and the trace."""

import json
import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from byhand_course.errors import Refused
from byhand_course.lessons import SUMMARY, WORKED_PAGES, folder_of, load_lessons

from .published import trace_published
from .render import Exercise, Surroundings, difference_html, page_html, summary_html
from .settings import Settings, settle
from .trace import trace_training_step
from .values import Trace

DEFAULT = Path("release/pages")
RELEASE = Path("release")
VALUES = "values.npz"
TRACE = "trace.json"
DIFFERENCE = "difference.html"
SAME = 1e-12  # relative; processors differ by a few units in the last place


def write_pages(settings: Settings, out: Path, root: Path) -> None:
    """Write the pages of one training step of the course's model.

    Args:
        out: a new or empty folder, or one that such pages lie in.
        root: the course folder, whose notebooks the pages link to.

    Raises:
        Refused: if something else lies in that folder.
    """
    _write_site(trace_training_step(settings), _around(settings, out, root), out)


def write_published(out: Path, root: Path) -> None:
    """Write the pages of the published calculation, and the one that explains the difference.

    Raises:
        Refused: if something else lies in that folder.
    """
    around = Surroundings(
        exercises=_exercises(out, root),
        elide=False,
        own_vocabulary=False,
        notes=((DIFFERENCE, "The difference"),),
    )
    _write_site(trace_published(), around, out)


def find_stale_pages(root: Path) -> list[str]:
    """Why the published default pages are not what would be written now, a sentence for each file.

    Numbers are held to 1e-12, everything else to the byte: the pages are drawn again from the
    committed values, which must be those that the reference gives.
    """
    folder = root / DEFAULT
    settings = settle()
    trace = trace_training_step(settings)
    kept = _kept_values(folder / VALUES)
    if kept is None:
        return [f"{DEFAULT / VALUES}: missing"]
    if not _same_values(trace, kept):
        return [f"{DEFAULT / VALUES}: out of date"]
    for name, array in kept.items():
        trace.values[name] = replace(trace.values[name], array=array)
    wanted = _texts(trace, _around(settings, folder, root))
    stale = []
    for name, text in wanted.items():
        path = folder / name
        if not path.is_file():
            stale.append(f"{DEFAULT / name}: missing")
        elif path.read_text(encoding="utf-8") != text:
            stale.append(f"{DEFAULT / name}: out of date")
    known = {*wanted, VALUES}
    extra = sorted(path.name for path in folder.iterdir() if path.name not in known)
    return stale + [f"{DEFAULT / name}: no longer part of the course" for name in extra]


def _around(settings: Settings, out: Path, root: Path) -> Surroundings:
    return Surroundings(
        exercises=_exercises(out, root),
        elide=settings.is_large,
        own_vocabulary=not settings.is_course_vocabulary,
    )


def _exercises(out: Path, root: Path) -> dict[str, Exercise]:
    """The exercises that ask for a reference function, with links from the folder of the pages."""
    release = root / RELEASE
    found = {}
    for lesson in load_lessons():
        notebook = release / lesson.assignment / f"{folder_of(lesson).name}.ipynb"
        link = ""
        if (root / DEFAULT).resolve() == out.resolve():
            link = f"../{lesson.assignment}/{notebook.name}"
        elif notebook.is_file():
            link = Path(os.path.relpath(notebook.resolve(), out.resolve())).as_posix()
        for task in lesson.exercises:
            name = task.variable
            found[name] = Exercise(name, lesson.number, lesson.title, link)
    return found


def _write_site(trace: Trace, around: Surroundings, out: Path) -> None:
    hold_free(out)
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder)
        for name, text in _texts(trace, around).items():
            (fresh / name).write_text(text, encoding="utf-8")
        arrays = {name: value.array for name, value in trace.values.items()}
        np.savez_compressed(fresh / VALUES, allow_pickle=False, **arrays)
        try:
            _copy(fresh, out)
        except OSError as error:
            raise Refused(f"{out} cannot be written: {error.strerror}.") from None


def _copy(fresh: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    written = {path.name for path in fresh.iterdir()}
    for path in sorted(fresh.iterdir()):
        shutil.copyfile(path, out / path.name)
    for path in out.iterdir():
        if path.name not in written:  # a page of an earlier set
            path.unlink()


def hold_free(out: Path) -> None:
    """Make sure that nothing but worked pages is lost when they are written there.

    Raises:
        Refused: if the folder holds anything else, or is no folder.
    """
    if not out.exists():
        return
    if not out.is_dir():
        raise Refused(f"{out} is a file: name a folder with --out.")
    ours = {page.file for page in WORKED_PAGES} | {SUMMARY, DIFFERENCE, VALUES, TRACE}
    names = sorted(path.name for path in out.iterdir())
    other = next((name for name in names if name not in ours), None)
    if other is None and names and TRACE not in names:
        other = names[0]
    if other is not None:
        raise Refused(
            f"{out} holds {other}, which is no worked page: name a new or an empty folder with "
            "--out, nothing was written."
        )


def _texts(trace: Trace, around: Surroundings) -> dict[str, str]:
    """Every file of a site but the values, by name."""
    texts = {page.file: page_html(trace, page, around) for page in WORKED_PAGES}
    texts[SUMMARY] = summary_html(trace, around)
    if around.notes:
        texts[DIFFERENCE] = difference_html(trace, around)
    texts[TRACE] = _as_json(trace)
    return texts


def _as_json(trace: Trace) -> str:
    """What made each value, from what, and where it stands; the numbers are in the .npz."""
    told = {
        "wiring": trace.wiring,
        "sentence": trace.sentence,
        "seed": trace.seed,
        "sizes": trace.sizes,
        "vocabulary": trace.vocabulary,
        "tokens": trace.tokens,
        "targets": trace.targets,
        "parameters": trace.parameters,
    }
    values = [
        {
            "name": value.name,
            "shape": value.array.shape,
            "axes": value.axes,
            "page": value.page,
            "function": value.function,
            "made_from": value.made,
        }
        for value in trace.values.values()
    ]
    lines = [f"{json.dumps(key)}: {json.dumps(told[key], ensure_ascii=False)}" for key in told]
    rows = ",\n".join(json.dumps(value, ensure_ascii=False) for value in values)
    return "{\n" + ",\n".join([*lines, f'"values": [\n{rows}\n]']) + "\n}\n"


def _kept_values(path: Path) -> dict[str, np.ndarray] | None:
    try:
        with np.load(path, allow_pickle=False) as file:
            return dict(file)
    except (OSError, ValueError):
        return None


def _same_values(trace: Trace, kept: dict[str, np.ndarray]) -> bool:
    return list(trace.values) == list(kept) and all(
        value.array.dtype == kept[name].dtype
        and value.array.shape == kept[name].shape
        and np.allclose(value.array, kept[name], rtol=SAME, atol=SAME)
        for name, value in trace.values.items()
    )
