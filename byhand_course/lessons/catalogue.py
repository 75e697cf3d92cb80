"""The list of all exercises, for people and for scripts."""

from typing import Any

from .cases import probe_of
from .shelf import load_lessons


def catalogue() -> list[dict[str, Any]]:
    """A row for each exercise: name, lesson, kind, objective, points, minutes, mistakes."""
    probes = [
        probe_of(task, lesson.number) for lesson in load_lessons() for task in lesson.exercises
    ]
    return [
        {
            "name": probe.name,
            "lesson": probe.lesson,
            "kind": probe.kind,
            "objective": probe.objective,
            "points": sum(probe.points),
            "minutes": probe.minutes,
            "mistakes": list(probe.says),
        }
        for probe in probes
    ]
