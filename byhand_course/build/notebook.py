"""From a lesson's prose and exercises to the notebook that nbgrader takes as its source."""

import hashlib
import re
from collections.abc import Iterator

import nbformat
from nbformat.notebooknode import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from byhand_course.lessons import (
    BrokenLesson,
    FreeAnswer,
    Lesson,
    Task,
    as_points,
    folder_of,
    total_points,
)

from .cells import (
    answer_metadata,
    check_metadata,
    check_source,
    rubric_metadata,
    rubric_source,
    solution_source,
)

PLACEHOLDER = re.compile(r"<<([^<>\n]+)>>")
METADATA = {
    "kernelspec": {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python"},
}


def source_notebook(lesson: Lesson) -> NotebookNode:
    """The notebook of `source/`: prose filled in, solutions between markers, no outputs.

    Raises:
        BrokenLesson: if prose and exercises do not fit each other.
    """
    import jupytext  # takes a second to import, and only the build needs it

    file = folder_of(lesson) / "lesson.py"
    drafts = jupytext.read(file, fmt="py:percent").cells
    _hold_prose_to_exercises(lesson, drafts)
    cells = [_opening(lesson), _map(lesson), *_cells(lesson, drafts)]
    _name_cells(cells)
    notebook = new_notebook(cells=cells, metadata=METADATA)
    notebook.nbformat_minor = 5
    nbformat.validate(notebook)
    return notebook


def notebook_name(lesson: Lesson) -> str:
    """The notebook's file name without its ending, as nbgrader calls it."""
    return folder_of(lesson).name


def lesson_points(lesson: Lesson) -> float:
    """All points of a lesson."""
    return as_points(sum(total_points(task) for task in lesson.exercises))


def lesson_minutes(lesson: Lesson) -> int:
    """How long a lesson takes, reading included."""
    return sum(task.minutes for task in lesson.exercises)


def _opening(lesson: Lesson) -> NotebookNode:
    return new_markdown_cell(
        f"# Lesson {lesson.number} · {lesson.title}\n\n"
        f"**At the end you can** {lesson.objective}\n\n"
        f"{lesson_minutes(lesson)} minutes · {lesson_points(lesson)} points · "
        f"{len(lesson.exercises)} exercises · needs: {lesson.needs}"
    )


def _map(lesson: Lesson) -> NotebookNode:
    return new_code_cell(f"from byhand import show_map\n\nshow_map({lesson.number})")


def _cells(lesson: Lesson, drafts: list[NotebookNode]) -> Iterator[NotebookNode]:
    """The lesson's cells, with exercises, checks and rubrics put in."""
    by_name = {task.name: task for task in lesson.exercises}
    checked: Task | None = None
    for draft in drafts:
        task = by_name.get(draft.metadata.get("exercise", ""))
        if task is not None:
            new = new_markdown_cell if draft.cell_type == "markdown" else new_code_cell
            yield new(
                solution_source(task), id=task.name, metadata={"nbgrader": answer_metadata(task)}
            )
            checked = task
            if isinstance(task, FreeAnswer):
                checked = None
                yield new_markdown_cell(
                    rubric_source(task),
                    id=f"rubric-{task.name}",
                    metadata={"nbgrader": rubric_metadata(task)},
                )
        elif checked is not None:
            yield new_code_cell(
                check_source(checked),
                id=f"check-{checked.name}",
                metadata={"nbgrader": check_metadata(checked)},
            )
            checked = None
        elif draft.source.strip():
            new = new_markdown_cell if draft.cell_type == "markdown" else new_code_cell
            yield new(_filled(draft.source, lesson))


def _filled(text: str, lesson: Lesson) -> str:
    """Text with its <<placeholders>> replaced by computed values."""

    def value(found: re.Match[str]) -> str:
        name, _, form = found.group(1).partition(":")
        if name == "exercise":
            return _heading(lesson, form)
        if name not in lesson.worked:
            says = f"no value called {name!r}; add it to worked in exercises.py"
            raise _broken(lesson, found.group(0), says)
        return format(lesson.worked[name], form)

    return PLACEHOLDER.sub(value, text)


def _heading(lesson: Lesson, exercise: str) -> str:
    places = {task.name: place for place, task in enumerate(lesson.exercises, 1)}
    task = lesson.exercises[places[exercise] - 1]
    points = total_points(task)
    return (
        f"### Exercise {lesson.number}.{places[exercise]} · `{task.variable}` · "
        f"{points} point{'' if points == 1 else 's'} · {task.minutes} minutes"
    )


def _hold_prose_to_exercises(lesson: Lesson, drafts: list[NotebookNode]) -> None:
    """Every exercise has one heading, then one cell, then its check; nothing else claims to be one.

    Raises:
        BrokenLesson: otherwise.
    """
    known = {task.name for task in lesson.exercises}
    placed = [draft.metadata["exercise"] for draft in drafts if "exercise" in draft.metadata]
    for name in placed:
        if name not in known:
            raise _broken(
                lesson, f'exercise="{name}"', f"unknown exercise {name!r}; declare it in LESSON"
            )
        if placed.count(name) > 1:
            raise _broken(lesson, f'exercise="{name}"', f"exercise {name!r} stands here twice")
    headings = re.findall(r"<<exercise:([\w-]+)>>", "\n".join(draft.source for draft in drafts))
    for name in headings:
        if name not in known:
            raise _broken(
                lesson, f"<<exercise:{name}>>", f"heading of an unknown exercise {name!r}"
            )
    for task in lesson.exercises:
        if task.name not in placed:
            raise _broken(
                lesson,
                "",
                f'no cell for {task.name!r}; add a cell "# %% exercise=\\"{task.name}\\""',
            )
        if headings.count(task.name) != 1:
            raise _broken(
                lesson,
                f'exercise="{task.name}"',
                f"{headings.count(task.name)} headings for {task.name!r}; "
                f"write <<exercise:{task.name}>> once in the text above it",
            )
    if placed != [task.name for task in lesson.exercises]:
        raise _broken(
            lesson, "exercise=", "the cells stand in another order than the exercises in LESSON"
        )
    _hold_cells_to_checks(lesson, drafts)


def _hold_cells_to_checks(lesson: Lesson, drafts: list[NotebookNode]) -> None:
    by_name = {task.name: task for task in lesson.exercises}
    for place, draft in enumerate(drafts):
        task = by_name.get(draft.metadata.get("exercise", ""))
        if task is None:
            continue
        about = f'exercise="{task.name}"'
        if draft.source.strip():
            raise _broken(lesson, about, "leave this cell empty; stub and solution are put in")
        if (draft.cell_type == "markdown") != isinstance(task, FreeAnswer):
            raise _broken(lesson, about, "a free answer is a [markdown] cell, all others are code")
        if isinstance(task, FreeAnswer):
            continue
        following = drafts[place + 1].source.strip() if place + 1 < len(drafts) else ""
        if following != check_source(task):
            raise _broken(lesson, about, f"the next cell must be the one line {check_source(task)}")


def _broken(lesson: Lesson, about: str, says: str) -> BrokenLesson:
    return BrokenLesson(folder_of(lesson) / "lesson.py", about, says)


def _name_cells(cells: list[NotebookNode]) -> None:
    """Give every other cell an id that follows from its text, so that it survives insertions."""
    seen: dict[str, int] = {}
    for cell in cells:
        if "nbgrader" in cell.metadata:
            continue
        name = hashlib.sha256(cell.source.encode()).hexdigest()[:12]
        seen[name] = seen.get(name, 0) + 1
        cell.id = name if seen[name] == 1 else f"{name}-{seen[name]}"
