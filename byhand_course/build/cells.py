"""Notebook cells for exercises: the stub with its solution between nbgrader's markers, the check.

In `source/` a cell holds the solution between `### BEGIN SOLUTION` and `### END SOLUTION`; nbgrader
replaces that region by the stub when it releases. A value's own stub stands behind the marker
(`### BEGIN SOLUTION: guess = ...`), and `stubs.ClearToStub` puts it in place.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

from byhand_course.lessons import (
    ByHand,
    Exercise,
    FreeAnswer,
    Prediction,
    Task,
    as_points,
    total_points,
)

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
WIDTH = 80  # what a notebook shows of a line without scrolling


def solution_source(task: Task) -> str:
    """The text of an exercise's cell in `source/`."""
    if isinstance(task, Exercise):
        return function_source(task.solution)
    if isinstance(task, FreeAnswer):
        return f"{BEGIN}\n{task.model_answer.strip()}\n{END}"
    assert isinstance(task, (ByHand, Prediction))
    what = _comment(task)
    stub = f"{task.variable} = ..."
    return f"{what}\n{BEGIN}: {stub}\n{task.variable} = {literal(task.answer)}\n{END}"


def _comment(task: ByHand | Prediction) -> str:
    """What to write, above the cell's own line; many options each get a line of their own."""
    if len(task.form) > WIDTH and isinstance(task, Prediction) and task.options:
        return "\n".join(["# one of", *(f'#     "{option}"' for option in task.options)])
    return textwrap.fill(task.form, WIDTH, initial_indent="# ", subsequent_indent="# ")


def function_source(function: Callable) -> str:
    """A reference function with its body between the markers; signature and docstring stay."""
    text = textwrap.dedent(inspect.getsource(function))
    definition = ast.parse(text).body[0]
    assert isinstance(definition, ast.FunctionDef)
    docstring_end = definition.body[0].end_lineno
    lines = text.rstrip().splitlines()
    head, body = lines[:docstring_end], lines[docstring_end:]
    return "\n".join([*head, f"    {BEGIN}", *body, f"    {END}"])


def literal(answer: object) -> str:
    """A value as a learner would type it."""
    if isinstance(answer, (np.ndarray, tuple, list)):
        entries = [literal(entry) for entry in list(answer)]
        if isinstance(answer, tuple):
            return f"({', '.join(entries)}{',' if len(entries) == 1 else ''})"
        return f"[{', '.join(entries)}]"
    plain = answer.item() if isinstance(answer, np.generic) else answer
    return repr(round(plain, 6) if isinstance(plain, float) else plain)


def check_source(task: Task) -> str:
    """The one line of an exercise's check cell."""
    if isinstance(task, Exercise):
        return f"check({task.variable})"
    return f"check({task.variable}={task.variable})"


def rubric_source(task: FreeAnswer) -> str:
    """The folded text below an answer in words: what earns which points, with an example each."""
    parts = ["<details><summary>The rubric: open it once your answer is written</summary>"]
    for place, (points, says) in enumerate(task.rubric):
        parts.append(f"**{as_points(points)} point{'' if points == 1 else 's'}.** {says}")
        if task.examples:
            parts.append(f"> For instance: {task.examples[place]}")
    return "\n\n".join([*parts, "</details>"])


def rubric_metadata(task: FreeAnswer) -> dict[str, Any]:
    """nbgrader's metadata (schema 3) of the rubric: locked, so that grading sees our own text."""
    return _metadata(f"rubric-{task.name}", grade=False, solution=False)


def answer_metadata(task: Task) -> dict[str, Any]:
    """nbgrader's metadata (schema 3) of the cell that a learner fills in."""
    if isinstance(task, FreeAnswer):
        return _metadata(task.name, grade=True, solution=True, points=total_points(task))
    return _metadata(task.name, grade=False, solution=True)


def check_metadata(task: Task) -> dict[str, Any]:
    """nbgrader's metadata (schema 3) of the locked cell that carries the points."""
    return _metadata(f"check-{task.name}", grade=True, solution=False, points=total_points(task))


def _metadata(
    grade_id: str, grade: bool, solution: bool, points: float | None = None
) -> dict[str, Any]:
    metadata = {
        "grade": grade,
        "grade_id": grade_id,
        "locked": not solution,
        "schema_version": 3,
        "solution": solution,
        "task": False,
    }
    return metadata if points is None else {**metadata, "points": points}
