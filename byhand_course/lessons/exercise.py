"""What an exercise is. Each is declared once, in its lesson; all else is cut from it.

Four kinds: `Exercise` (a function), `ByHand` (a value worked out on paper), `Prediction` (a choice
or a shape, before running anything) and `FreeAnswer` (words, graded by hand).
Declarations are compared by identity: each is made once.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

Inputs = Callable[[np.random.Generator], tuple]


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """A wrong version of a function: the reference with one piece of its text swapped.

    Attributes:
        name: as in "mean-held-still"; unique within the exercise.
        swap: text that stands in the reference function exactly once.
        into: what the learner wrote instead.
        says: the sentence for the learner: the cause, then a question; never the missing line.
    """

    name: str
    swap: str
    into: str
    says: str


@dataclass(frozen=True, kw_only=True)
class Slip:
    """A wrong value that learners arrive at by hand, and the sentence for it."""

    name: str
    answer: object
    says: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """What every kind of exercise declares.

    Attributes:
        name: as in "layer-norm-backward"; the notebook's name for it has underscores.
        objective: what a learner can do who has solved it, as a sentence starting with a verb.
        minutes: how long it should take.
        hints: three, from a nudge to nearly there.
    """

    name: str
    objective: str
    minutes: int
    hints: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """The name of the function or value in the notebook."""
        return self.name.replace("-", "_")


@dataclass(frozen=True, kw_only=True, eq=False)
class Exercise(Task):
    """A function to write.

    Attributes:
        solution: the reference function; its signature and docstring become the stub.
        inputs: generators of arguments from an rng, the simplest first. A generator's name says
            what is special about its inputs ("huge_scores") and is shown to learners.
        returns: a name for each part of the answer.
        points: for each part.
        tolerance: how far a value may be off, relative; float32 answers get 1e-4.
        asks: how a question is put, where one call is not enough: a function of the answer and the
            inputs (a draw repeated, an error caught, an optimiser's steps) whose result is judged.
            Its text travels to learners and may use nothing but np.
        table: names of the answer's arrays in the order in which they are made, for an answer of
            so many (a dict of gradients) that the verdict lists them, a line for each. They are
            parts of the answer, or entries of a part that is a dict.
        in_turn: whether each array of the table is computed from those before it, as on the way
            back through a model; then the verdict says at which to begin.
        properties: sentences, each with a test of (answer, *inputs) that every right answer passes.
        mistakes: known wrong versions.
    """

    solution: Callable
    inputs: tuple[Inputs, ...]
    returns: tuple[str, ...]
    points: tuple[float, ...]
    tolerance: float = 1e-7
    asks: Callable | None = None
    table: tuple[str, ...] = ()
    in_turn: bool = True
    properties: Mapping[str, Callable[..., bool | np.bool]] = field(default_factory=dict)
    mistakes: tuple[Mistake, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class ByHand(Task):
    """A value worked out by hand: one number, a few numbers, or a few words.

    Attributes:
        answer: the value, computed from the reference and never typed.
        form: what to write, as in "a number, to two decimals".
        tolerance: how far a number may be off, absolute; 0 for whole numbers and words.
        in_any_order: whether the answer is a list of words whose order does not count.
    """

    answer: object
    form: str
    points: float
    tolerance: float = 0.0
    in_any_order: bool = False
    slips: tuple[Slip, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Prediction(Task):
    """A choice between options, or a shape, written down before anything is run.

    Attributes:
        answer: one of the options, or a tuple of lengths.
        options: the choices, or nothing for a shape.
    """

    answer: object
    points: float
    options: tuple[str, ...] = ()
    slips: tuple[Slip, ...] = ()

    @property
    def form(self) -> str:
        """What to write."""
        if self.options:
            return "one of " + ", ".join(f'"{option}"' for option in self.options)
        return "a shape such as (2, 3)"


@dataclass(frozen=True, kw_only=True, eq=False)
class FreeAnswer(Task):
    """An answer in words, graded by hand.

    Attributes:
        model_answer: Markdown; shown in the solutions.
        rubric: what earns which points, best first; it stands folded below the answer, for whoever
            grades, and for learners who weigh their own.
        examples: an answer of each level, in the rubric's order; or none at all.
    """

    points: float
    model_answer: str
    rubric: tuple[tuple[float, str], ...]
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Lesson:
    """One notebook: its number, its title, its assignment, and its exercises in order.

    Attributes:
        objective: what the learner can do at its end.
        needs: what it needs from before, in a few words.
        place: its piece on the map of the training step, a key of `byhand.map.ROWS`.
        worked: values that the prose shows, computed here and never typed there.
        data: arrays that its notebook loads, by the name of the file that the build writes for
            them beside the probes, and in it by their own names.
    """

    number: int
    title: str
    assignment: str
    objective: str
    needs: str
    place: str
    exercises: tuple[Task, ...]
    worked: Mapping[str, object] = field(default_factory=dict)
    data: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)


def two_decimals(numbers: ArrayLike) -> list[float]:
    """An answer worked out by hand, as a learner writes it down."""
    rounded = np.round(np.asarray(numbers, dtype=float), 2)
    return (rounded + 0.0).tolist()  # + 0.0 turns -0.0 into 0.0


def total_points(task: Task) -> float:
    """The points of all parts of an exercise."""
    points = getattr(task, "points", 0)
    return as_points(sum(points) if isinstance(points, tuple) else points)


def as_points(points: float) -> float:
    """A whole number of points as an int, so that it prints as one."""
    return int(points) if points == int(points) else points
