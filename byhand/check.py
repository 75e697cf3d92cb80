"""`check`: judge an answer against recorded ones, and tell the learner at once."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .ask import Answer, ask
from .compare import judge_function
from .look import in_notebook
from .probe import FunctionProbe, NoSuchExercise, Told, ValueProbe, load
from .render import to_html, to_text
from .tree import flatten, unflatten
from .values import judge_value
from .verdict import Verdict


class CheckFailed(AssertionError):
    """An answer is not right yet. The check has said why; a traceback would only bury that."""

    def _render_traceback_(self) -> list[str]:
        return [f"CheckFailed: {self}"]


def check(*functions: Callable, **values: object) -> None:
    """Check one answer: `check(softmax)` for a function, `check(guess=guess)` for a value.

    Shows a verdict: as HTML in a notebook, as text elsewhere.

    Raises:
        CheckFailed: if the answer is not right yet, so that Run All stops here and nbgrader's
            Validate sees it.
    """
    name, answer = _named(functions, values)
    try:
        probe = load(name.replace("_", "-"))
    except NoSuchExercise as error:
        raise CheckFailed(f"{error} An answer is checked under its exercise's name.") from None
    verdict = judge(probe, answer)
    _display(verdict)
    if not verdict.passed:
        raise CheckFailed(f"{verdict.function}: not right yet; the reason stands above.")


def _named(functions: tuple, values: dict[str, object]) -> tuple[str, object]:
    """The name and the answer that a call of check is about."""
    if len(functions) + len(values) != 1:
        raise CheckFailed("Check one thing at a time: check(softmax), or check(guess=guess).")
    if values:
        return next(iter(values.items()))
    (function,) = functions
    name = getattr(function, "__name__", None)
    if not callable(function) or not isinstance(name, str):
        raise CheckFailed(
            "This is not a function. A value is checked under its name: check(guess=guess)."
        )
    if name == "<lambda>":
        raise CheckFailed("A lambda has no name to be checked under: write the function with def.")
    if isinstance(function, type):
        raise CheckFailed(f"{name} is a class. Write a function, with def, and check that.")
    return name, function


def judge(probe: Told, answer: object) -> Verdict:
    """Judge an answer (a function or a value) in this process.

    Raises:
        CheckFailed: if the exercise is one that only a person can judge, or the answer is of
            another kind than the exercise.
    """
    if isinstance(probe, FunctionProbe):
        if not callable(answer):
            raise CheckFailed(f"{probe.variable} should be a function, written with def.")
        given = (ask(answer, case.inputs, probe.asks) for case in probe.cases)
        return judge_function(probe, [replace(one, value=_plain(one.value)) for one in given])
    if isinstance(probe, ValueProbe):
        return judge_value(probe, Answer(value=_plain(answer)))
    raise CheckFailed(f"{probe.name} is answered in words, and read by a person.")


def _plain(value: object) -> object:
    """A value as grading will receive it, so that home and grading judge the same thing.

    Its arrays are copies: a function may hand out the same array again, with other numbers.
    """
    arrays: list[np.ndarray] = []
    tree = flatten(value, arrays)
    return unflatten(tree, lambda index: arrays[index].copy())


class _Shown:
    """A verdict that shows itself as HTML or as text, whichever the place can."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict

    def _repr_html_(self) -> str:
        return to_html(self.verdict)

    def __repr__(self) -> str:
        return to_text(self.verdict)


def _display(verdict: Verdict) -> None:
    if in_notebook():
        from IPython.display import display

        display(_Shown(verdict))
    else:
        print(to_text(verdict))
