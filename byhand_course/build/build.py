"""The whole build: source, release, solutions, probes and the README's syllabus."""

import copy
import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
import numpy as np
from nbformat.notebooknode import NotebookNode

from byhand.probe import save
from byhand_course.lessons import Lesson, load_lessons

from .declarations import hold_declarations, recorded
from .notebook import lesson_minutes, lesson_points, notebook_name, source_notebook
from .syllabus import README, syllabus

PROBES = Path("byhand/probes")
SAME = 1e-12  # relative; processors differ by a few units in the last place


@dataclass(frozen=True)
class Stale:
    """A generated file that is not what the build would write."""

    path: Path
    why: str


def build(root: Path) -> list[Stale]:
    """Bring every generated file under root up to date, and tell which were not.

    A file that is already right is not touched: on another processor, numbers that differ in
    their last digits only are the same numbers.

    Raises:
        BrokenLesson: before anything is written.
    """
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder)
        _cut(root, fresh)
        stale = list(_compare(fresh, root))
        for found in stale:
            target = root / found.path
            if (fresh / found.path).exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(fresh / found.path, target)
            else:
                target.unlink()
    return stale


def find_stale(root: Path) -> list[Stale]:
    """What `build` would change, without changing it.

    Raises:
        BrokenLesson: if a lesson cannot be built at all.
    """
    with tempfile.TemporaryDirectory() as folder:
        _cut(root, Path(folder))
        return list(_compare(Path(folder), root))


def _cut(root: Path, out: Path) -> None:
    """Write every generated file below out, laid out as below root."""
    lessons = load_lessons()
    hold_declarations(lessons)
    (out / PROBES).mkdir(parents=True)
    for lesson in lessons:
        for task in lesson.exercises:
            save(recorded(lesson, task), out / PROBES)
        for name, arrays in lesson.data.items():
            np.savez(out / PROBES / f"{name}.npz", allow_pickle=False, **arrays)
        _write_notebooks(lesson, out)
    course = json.dumps([_entry(lesson) for lesson in lessons], indent=1, ensure_ascii=False)
    (out / PROBES / "course.json").write_text(course + "\n", encoding="utf-8")
    if (root / README).exists():
        text = (root / README).read_text(encoding="utf-8")
        (out / README).write_text(syllabus(text, lessons), encoding="utf-8")


def _entry(lesson: Lesson) -> dict[str, object]:
    return {
        "number": lesson.number,
        "title": lesson.title,
        "assignment": lesson.assignment,
        "notebook": notebook_name(lesson),
        "objective": lesson.objective,
        "place": lesson.place,
        "minutes": lesson_minutes(lesson),
        "points": lesson_points(lesson),
        "exercises": [task.name for task in lesson.exercises],
    }


def _write_notebooks(lesson: Lesson, out: Path) -> None:
    source = source_notebook(lesson)
    versions = {
        "source": source,
        "release": through_nbgrader(source, release=True),
        "solutions": through_nbgrader(source, release=False),
    }
    for folder, notebook in versions.items():
        path = out / folder / lesson.assignment / f"{notebook_name(lesson)}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


def through_nbgrader(source: NotebookNode, release: bool) -> NotebookNode:
    """A source notebook as nbgrader's own preprocessors release it, or solve it."""
    from nbgrader.preprocessors import CheckCellMetadata, ClearOutput, ComputeChecksums, LockCells

    from .stubs import ClearToStub

    steps = [LockCells, ClearToStub, ClearOutput, CheckCellMetadata, ComputeChecksums]
    notebook = copy.deepcopy(source)
    for step in steps if release else [LockCells, ClearOutput]:
        notebook, _ = step().preprocess(notebook, {})
    return notebook


def _compare(fresh: Path, root: Path) -> Iterator[Stale]:
    """Generated files that differ below root, are missing there, or should no longer be there."""
    wanted = {path.relative_to(fresh) for path in fresh.rglob("*") if path.is_file()}
    for path in sorted(wanted):
        target = root / path
        if not target.exists():
            yield Stale(path, "missing")
        elif not _same_file(fresh / path, target):
            yield Stale(path, "out of date")
    owned = [path.relative_to(root) for path in (root / PROBES).glob("*")]
    for folder in ("source", "release", "solutions"):
        owned += [path.relative_to(root) for path in (root / folder).glob("*/lesson[0-9]*_*.ipynb")]
    for path in sorted(set(owned) - wanted):
        yield Stale(path, "no longer part of the course")


def _same_file(fresh: Path, old: Path) -> bool:
    if fresh.read_bytes() == old.read_bytes():
        return True
    return fresh.suffix == ".npz" and _same_numbers(fresh, old)


def _same_numbers(fresh: Path, old: Path) -> bool:
    try:
        with np.load(fresh, allow_pickle=False) as new, np.load(old, allow_pickle=False) as past:
            return set(new) == set(past) and all(
                new[key].dtype == past[key].dtype
                and new[key].shape == past[key].shape
                and np.allclose(new[key], past[key], rtol=SAME, atol=SAME, equal_nan=True)
                for key in new
            )
    except (OSError, ValueError):
        return False
