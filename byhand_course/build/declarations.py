"""Exercises held to each other: names, points, hints, and mistakes that can be told apart."""

from byhand.compare import judge_function
from byhand.map import PLACES
from byhand.probe import FunctionProbe, Told
from byhand_course.lessons import (
    BrokenExercise,
    BrokenLesson,
    Exercise,
    FreeAnswer,
    Lesson,
    Prediction,
    Task,
    folder_of,
    probe_of,
)


def hold_declarations(lessons: tuple[Lesson, ...]) -> None:
    """Hold every declaration to the rules.

    Raises:
        BrokenLesson: at the first one that breaks them.
    """
    owners: dict[str, Lesson] = {}
    for lesson in lessons:
        if lesson.place not in PLACES:
            says = f"there is no place {lesson.place!r} on the map; there are {', '.join(PLACES)}"
            raise BrokenLesson(folder_of(lesson) / "exercises.py", "place=", says)
        for task in lesson.exercises:
            if task.name in owners:
                other = folder_of(owners[task.name]).name
                raise _broken(
                    lesson, task, f"the name {task.name!r} is taken by {other}; rename it"
                )
            owners[task.name] = lesson
            fault = _fault(task)
            if fault:
                raise _broken(lesson, task, fault)


def _fault(task: Task) -> str | None:
    """What is wrong with one declaration, or None."""
    if task.minutes < 1:
        return "minutes must be at least 1"
    if isinstance(task, Exercise):
        return _function_fault(task)
    if isinstance(task, FreeAnswer):
        return _rubric_fault(task)
    if isinstance(task, Prediction) and task.options and task.answer not in task.options:
        return f"the answer {task.answer!r} is not one of the options"
    return None


def _rubric_fault(task: FreeAnswer) -> str | None:
    levels = [points for points, _ in task.rubric]
    best = max(levels, default=0)
    if best != task.points:
        return f"points do not add up: the rubric's best level gives {best}, not {task.points}"
    if levels != sorted(set(levels), reverse=True):
        return f"the rubric's levels give {levels}; let each give fewer points than the one before"
    if len(task.examples) not in (0, len(levels)):
        return f"{len(task.examples)} examples for {len(levels)} levels; give one for each, or none"
    return None


def _function_fault(task: Exercise) -> str | None:
    if task.solution.__name__ != task.variable:
        return f"named {task.name!r}, but its solution is {task.solution.__name__}; use one name"
    if len(task.points) != len(task.returns):
        return (
            f"points do not add up: {len(task.points)} numbers of points "
            f"for {len(task.returns)} parts ({', '.join(task.returns)})"
        )
    if min(task.points) <= 0:
        return "points must be positive"
    names = [mistake.name for mistake in task.mistakes]
    twice = next((name for name in names if names.count(name) > 1), None)
    return f'two mistakes are called "{twice}"; rename one' if twice else None


def recorded(lesson: Lesson, task: Task) -> Told:
    """The probe of an exercise whose mistakes are each wrong, and each different.

    Raises:
        BrokenLesson: if one is right on all inputs, or two answer alike on all of them.
    """
    try:
        probe = probe_of(task, lesson.number)
    except BrokenExercise as error:
        raise BrokenLesson(folder_of(lesson) / "exercises.py", error.about, str(error)) from error
    if isinstance(probe, FunctionProbe):
        _tell_apart(lesson, task, probe)
    return probe


def _tell_apart(lesson: Lesson, task: Task, probe: FunctionProbe) -> None:
    for name in probe.says:
        verdict = judge_function(probe, [case.mistaken[name] for case in probe.cases])
        if verdict.passed:
            says = f'mistake "{name}" is right on all inputs; add one that shows it'
        elif verdict.mistake is None:
            says = f'mistake "{name}" only raises exceptions; add an input that it answers'
        elif verdict.mistake != name:
            says = f'mistakes "{verdict.mistake}" and "{name}" answer alike on all inputs; '
            says += "add an input, or merge them"
        else:
            continue
        raise _broken(lesson, task, says, name)


def _broken(lesson: Lesson, task: Task, says: str, about: str | None = None) -> BrokenLesson:
    file = folder_of(lesson) / "exercises.py"
    return BrokenLesson(file, f'"{about or task.name}"', f"{task.name}: {says}")
