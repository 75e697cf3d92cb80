"""A small class of made-up submissions, one for each thing that happens to an assignment.

For `make demo`, for tests, and for whoever wants to see grading at work before a class exists.
"""

import inspect
import json
import shutil
from collections.abc import Callable
from pathlib import Path

from byhand_course.build.cells import BEGIN, function_source, literal
from byhand_course.errors import Refused
from byhand_course.lessons import (
    ByHand,
    Exercise,
    FreeAnswer,
    Lesson,
    Prediction,
    Task,
    folder_of,
    load_lessons,
    mistaken_function,
)

SHORT_DEADLINES = """
# The sample class holds an endless loop, and nobody wants to wait for it.
c.JudgeNotebook.cell_timeout_s = 2.0
c.JudgeNotebook.question_timeout_s = 1.0
"""


def make_course(root: Path, target: Path, assignment: str) -> Path:
    """Copy a course (its configuration and one assignment's source) and hand in the sample class.

    Args:
        root: the course to copy from.
        target: an empty or new folder.
        assignment: which assignment.

    Returns:
        target.

    Raises:
        Refused: if target holds anything.
    """
    if target.exists() and any(target.iterdir()):
        raise Refused(f"{target} is not empty; name a new folder.")
    target.mkdir(parents=True, exist_ok=True)
    config = (root / "nbgrader_config.py").read_text(encoding="utf-8")
    (target / "nbgrader_config.py").write_text(config + SHORT_DEADLINES, encoding="utf-8")
    for folder in ("source", "release"):
        shutil.copytree(root / folder / assignment, target / folder / assignment)
    for student, answer in SAMPLE_CLASS.items():
        hand_in(target, assignment, student, answer)
    return target


def hand_in(
    course: Path, assignment: str, student: str, answer: Callable[[Lesson, Task], str | None]
) -> None:
    """Write a student's submission: the released notebooks with answers filled in."""
    for lesson in load_lessons():
        if lesson.assignment != assignment:
            continue
        name = f"{folder_of(lesson).name}.ipynb"
        notebook = json.loads((course / "release" / assignment / name).read_text("utf-8"))
        filled = {task.name: answer(lesson, task) for task in lesson.exercises}
        for cell in notebook["cells"]:
            text = filled.get(cell["metadata"].get("nbgrader", {}).get("grade_id", ""))
            if text is not None:
                cell["source"] = text
        path = course / "submitted" / student / assignment / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(notebook, indent=1) + "\n", encoding="utf-8")


def blank(lesson: Lesson, task: Task) -> str | None:
    """Nothing filled in."""
    return None


def solved(lesson: Lesson, task: Task) -> str:
    """The reference's own answer."""
    if isinstance(task, Exercise):
        return inspect.getsource(task.solution)
    if isinstance(task, FreeAnswer):
        return task.model_answer
    assert isinstance(task, (ByHand, Prediction))
    return f"{task.variable} = {literal(task.answer)}"


def wrong(lesson: Lesson, task: Task) -> str | None:
    """The first known mistake of each exercise."""
    if isinstance(task, Exercise) and task.mistakes:
        function = mistaken_function(task.solution, task.mistakes[0])
        return inspect.getsource(function)
    if isinstance(task, (ByHand, Prediction)) and task.slips:
        return f"{task.variable} = {literal(task.slips[0].answer)}"
    return None


def partly_right(lesson: Lesson, task: Task) -> str | None:
    """Every other exercise solved, the rest left blank."""
    return solved(lesson, task) if lesson.exercises.index(task) % 2 == 0 else None


def syntax_error(lesson: Lesson, task: Task) -> str:
    """Solved, but every function's first line has lost its colon."""
    text = solved(lesson, task)
    return text.replace("):\n", ")\n", 1) if isinstance(task, Exercise) else text


def crashing(lesson: Lesson, task: Task) -> str:
    """Solved, but the last function of each lesson ends the whole process when called."""
    return _sabotaged(lesson, task, "import os; os._exit(3)")


def endless_loop(lesson: Lesson, task: Task) -> str:
    """Solved, but the last function of each lesson never returns."""
    return _sabotaged(lesson, task, "while True: pass")


def _sabotaged(lesson: Lesson, task: Task, line: str) -> str:
    functions = [other for other in lesson.exercises if isinstance(other, Exercise)]
    if not isinstance(task, Exercise) or task is not functions[-1]:
        return solved(lesson, task)
    stub, _, _ = function_source(task.solution).partition(f"    {BEGIN}")
    return f"{stub}    {line}\n"


SAMPLE_CLASS: dict[str, Callable[[Lesson, Task], str | None]] = {
    "blank": blank,
    "crashing": crashing,
    "endless-loop": endless_loop,
    "partly-right": partly_right,
    "solved": solved,
    "syntax-error": syntax_error,
    "wrong": wrong,
}
