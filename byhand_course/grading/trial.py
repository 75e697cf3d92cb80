"""Trying any function, or value, from a file against an exercise: hidden inputs included."""

import ast
from collections.abc import Callable
from pathlib import Path

from byhand.verdict import Verdict
from byhand_course.errors import Refused
from byhand_course.lessons import Exercise, FreeAnswer, Lesson, Task

from .engine import Engine
from .judging import earlier_functions, judge_task
from .sandbox import Sandbox

TRIAL_SEED = 20_170_612  # any number: a trial is to give the same verdict each time


class CannotTry(Refused):
    """The file holds nothing that could be tried; the message says what it holds."""


def try_file(
    lesson: Lesson, task: Task, file: Path, name: str = "", sandbox: Sandbox = Sandbox.NONE
) -> Verdict:
    """Judge what file defines, in a process apart; the file is run as `python file` would run it.

    Args:
        lesson, task: the exercise.
        file: Python source.
        name: of the function or value in it; by default the exercise's own, or the only function.
        sandbox: what keeps it in, if it is not your own.

    Raises:
        CannotTry: if there is no such file, it is not Python, or does not say what to try.
    """
    if isinstance(task, FreeAnswer):
        raise CannotTry(f"{task.name} is answered in words, and read by a person.")
    source = _read(file)
    defined = _defined_names(source, file)
    name = name or _choose(task, defined, file)
    if name not in defined:
        raise CannotTry(f"{file} defines no {name}; it defines {_listed(defined)}.")
    with Engine(sandbox=sandbox) as engine, engine.open([source]) as notebook:
        verdict = judge_task(
            notebook,
            lesson,
            task,
            source,
            TRIAL_SEED,
            _earlier(lesson, task, defined),
            name,
            reveal=True,
        )
        if verdict.stage == "missing" and not notebook.outcomes[0].ok:
            raise CannotTry(f"{file} stops before it defines {name}: {_reason(notebook.outcomes)}.")
        return verdict


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise CannotTry(f"{file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise CannotTry(f"{file} is not UTF-8 text; save it as a Python file.") from None


def _defined_names(source: str, file: Path) -> list[str]:
    """Functions first, then other names, that the file gives at its top level."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) else ""
        raise CannotTry(f"{file}{line} is not Python: {error}.") from None
    functions = [node.name for node in body if isinstance(node, ast.FunctionDef)]
    values = [
        target.id
        for node in body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
    imported = [
        alias.asname or alias.name
        for node in body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    return functions + values + imported


def _choose(task: Task, defined: list[str], file: Path) -> str:
    if task.variable in defined:
        return task.variable
    if isinstance(task, Exercise) and len(defined) == 1:
        return defined[0]
    raise CannotTry(
        f"{file} defines no {task.variable}; it defines {_listed(defined)}. "
        f"Name the one to try: {file}:NAME"
    )


def _listed(names: list[str]) -> str:
    return ", ".join(names[:8]) or "nothing"


def _earlier(lesson: Lesson, task: Task, defined: list[str]) -> dict[str, Callable]:
    """The reference's own earlier functions, for a file that defines only this one."""
    before = lesson.exercises[: lesson.exercises.index(task)]
    same = {other.variable: other.solution for other in before if isinstance(other, Exercise)}
    known = {**earlier_functions(lesson), **same}
    return {name: function for name, function in known.items() if name not in defined}


def _reason(outcomes: list) -> str:
    outcome = outcomes[0]
    if outcome.failure:
        return f"it {'does not finish' if outcome.failure == 'timeout' else 'ends its process'}"
    error = next((o for o in outcome.outputs if o.get("output_type") == "error"), None)
    return f"{error['ename']}: {error['evalue']}" if error else "it raises an exception"
