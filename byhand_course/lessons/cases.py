"""Questions to a function, and what the reference and each known mistake answer to them."""

import inspect
import linecache
import textwrap
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from byhand.ask import Answer, ask
from byhand.probe import Case, FunctionProbe, Told, ValueProbe, digest
from byhand.tree import Code
from byhand.values import canonical

from .exercise import ByHand, Exercise, FreeAnswer, Mistake, Prediction, Task

PUBLIC_SEED = 1706_03762


class BrokenExercise(ValueError):
    """An exercise contradicts itself or the reference.

    Attributes:
        about: text to be found in exercises.py, to tell the line.
    """

    def __init__(self, says: str, about: str) -> None:
        super().__init__(says)
        self.about = about


@cache
def probe_of(exercise: Task, lesson: int) -> Told:
    """What learners get of an exercise: recorded answers and sentences, no formula.

    Raises:
        BrokenExercise: if a mistake's text is not in the reference exactly once, or the reference
            itself fails on the inputs.
    """
    told: dict[str, Any] = {
        "name": exercise.name,
        "lesson": lesson,
        "kind": kind_of(exercise),
        "objective": exercise.objective,
        "minutes": exercise.minutes,
        "hints": exercise.hints,
    }
    if isinstance(exercise, Exercise):
        return FunctionProbe(
            **told,
            points=exercise.points,
            says={mistake.name: mistake.says for mistake in exercise.mistakes},
            arguments=tuple(inspect.signature(exercise.solution).parameters),
            returns=exercise.returns,
            tolerance=exercise.tolerance,
            cases=cases(exercise, (PUBLIC_SEED,), public=True),
            asks=code_of(exercise.asks) if exercise.asks else None,
            table=exercise.table,
            in_turn=exercise.in_turn,
        )
    if isinstance(exercise, FreeAnswer):
        return Told(**told, points=(exercise.points,), says={})
    assert isinstance(exercise, (ByHand, Prediction))
    return _value_probe(exercise, told)


def hidden_cases(exercise: Exercise, seed: int) -> tuple[Case, ...]:
    """Questions that no learner has seen, the same for the same seed on any machine."""
    own = zlib.crc32(exercise.name.encode())  # so that no two exercises share their inputs
    return cases(exercise, (seed, own), public=False)


def cases(exercise: Exercise, seed: tuple[int, ...], public: bool) -> tuple[Case, ...]:
    """One question from each generator of inputs, with all answers to it."""
    return tuple(
        _case(exercise, generate.__name__.replace("_", " "), generate(rng), public)
        for place, generate in enumerate(exercise.inputs)
        for rng in [np.random.default_rng([*seed, place])]
    )


def _case(exercise: Exercise, label: str, inputs: tuple, public: bool) -> Case:
    asks = code_of(exercise.asks) if exercise.asks else None
    expected = ask(exercise.solution, inputs, asks)
    if expected.raised or expected.changed:
        found = expected.raised or "a change of its arguments"
        raise BrokenExercise(
            f"the reference answers {label} of {exercise.name} with {found} {expected.message}; "
            "give it inputs that it takes",
            about=label.replace(" ", "_"),
        )
    mistaken = {
        mistake.name: _wrong_answer(exercise, mistake, inputs) for mistake in exercise.mistakes
    }
    return Case(label, inputs, expected.value, mistaken, public)


def _wrong_answer(exercise: Exercise, mistake: Mistake, inputs: tuple) -> Answer:
    """A mistake's answer, without the words of an exception, which a learner's will not share."""
    asks = code_of(exercise.asks) if exercise.asks else None
    answer = ask(mistaken_function(exercise.solution, mistake), inputs, asks)
    if answer.raised == "NameError":
        raise BrokenExercise(
            f'mistake "{mistake.name}" uses a name that its module does not know: '
            f"{answer.message}; write it with names of {exercise.solution.__module__}",
            about=f'"{mistake.name}"',
        )
    return Answer(value=answer.value, raised=answer.raised, changed=answer.changed)


@cache
def code_of(function: Callable) -> Code:
    """A function as text that travels: as an argument of an exercise, or as its `asks`."""
    return Code(function.__name__, textwrap.dedent(inspect.getsource(function)))


@cache
def mistaken_function(solution: Callable, mistake: Mistake) -> Callable:
    """The reference function with the mistake's text swapped.

    Raises:
        BrokenExercise: if that text does not stand in the function exactly once.
    """
    text = inspect.getsource(solution)
    found = text.count(mistake.swap)
    if found != 1:
        where = "is not in" if not found else f"stands {found} times in"
        raise BrokenExercise(
            f'mistake "{mistake.name}" swaps text that {where} {solution.__name__}; '
            "quote the line as it now stands",
            about=f'"{mistake.name}"',
        )
    wrong_text = text.replace(mistake.swap, mistake.into)
    file = f"<{solution.__name__} with {mistake.name}>"
    linecache.cache[file] = (len(wrong_text), None, wrong_text.splitlines(True), file)
    namespace = dict(solution.__globals__)
    try:
        exec(compile(wrong_text, file, "exec"), namespace)  # our own text, from our own files
    except SyntaxError as error:
        raise BrokenExercise(
            f'mistake "{mistake.name}" makes {solution.__name__} no Python: {error}; mend its into',
            about=f'"{mistake.name}"',
        ) from None
    return namespace[solution.__name__]


def kind_of(task: Task) -> str:
    """The kind of an exercise, as learners and scripts read it.

    Raises:
        TypeError: if it is of none.
    """
    if isinstance(task, Exercise):
        return "function"
    if isinstance(task, FreeAnswer):
        return "free answer"
    if isinstance(task, ByHand):
        return "value"
    if isinstance(task, Prediction):
        return "choice" if task.options else "shape"
    raise TypeError(f"{task.name} is of no known kind of exercise")


def _value_probe(exercise: ByHand | Prediction, told: dict[str, Any]) -> ValueProbe:
    tolerance = exercise.tolerance if isinstance(exercise, ByHand) else 0.0
    in_any_order = isinstance(exercise, ByHand) and exercise.in_any_order

    def digests(answer: object) -> tuple[str, ...]:
        entries = np.asarray(answer, dtype=object).ravel().tolist()
        found = [
            digest(exercise.name, 0 if in_any_order else place, canonical(entry, tolerance))
            for place, entry in enumerate(entries)
        ]
        return tuple(sorted(found) if in_any_order else found)

    return ValueProbe(
        **told,
        points=(exercise.points,),
        says={slip.name: slip.says for slip in exercise.slips},
        form=exercise.form,
        options=exercise.options if isinstance(exercise, Prediction) else (),
        tolerance=tolerance,
        shape=np.asarray(exercise.answer, dtype=object).shape,
        in_any_order=in_any_order,
        digests=digests(exercise.answer),
        mistaken={slip.name: digests(slip.answer) for slip in exercise.slips},
    )
