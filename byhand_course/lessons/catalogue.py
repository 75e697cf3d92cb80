"""The list of all exercises, for people and for scripts: declarations only, nothing is run."""

from typing import Any

from .cases import kind_of
from .exercise import Exercise, Task, total_points
from .shelf import load_lessons


def catalogue() -> list[dict[str, Any]]:
    """A row for each exercise: name, lesson, kind, objective, points, minutes, mistakes."""
    return [
        {
            "name": task.name,
            "lesson": lesson.number,
            "kind": kind_of(task),
            "objective": task.objective,
            "points": total_points(task),
            "minutes": task.minutes,
            "mistakes": _mistakes(task),
        }
        for lesson in load_lessons()
        for task in lesson.exercises
    ]


def _mistakes(task: Task) -> list[str]:
    known = task.mistakes if isinstance(task, Exercise) else getattr(task, "slips", ())
    return [mistake.name for mistake in known]
