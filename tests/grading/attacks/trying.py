"""Tries attacks: in the engine with its walls, and with the protection taken away."""

import time
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from byhand.render import to_text
from byhand_course.build.cells import literal
from byhand_course.grading.engine import CellOutcome, Engine, Limits
from byhand_course.grading.judging import Judged, judge_notebook
from byhand_course.grading.sample_class import solved
from byhand_course.lessons import Exercise, Lesson, hidden_cases, load_lessons
from byhand_course.reference.softmax import softmax

from .attack import ZEROS, Attack, Sight
from .world import World, memory_mb

SEED = 20_261_201
QUICK = Limits(
    cell_timeout_s=2.5, question_timeout_s=1.5, notebook_timeout_s=15.0, memory_bytes=1 << 30
)
LIFTED = Limits(
    cell_timeout_s=8.0,
    question_timeout_s=8.0,
    notebook_timeout_s=60.0,
    memory_bytes=1 << 40,
    file_bytes=1 << 40,
    open_files=4096,
    processes=1 << 20,
    text_chars=1 << 26,
    picture_chars=1 << 26,
    served_calls=10**9,
)


@cache
def lesson() -> Lesson:
    """Lesson 3 with fewer exercises and inputs, so that a suite of attacks stays quick."""
    full = next(found for found in load_lessons() if found.number == 3)
    wanted = {task.name: task for task in full.exercises}
    exercises = (
        wanted["softmax-by-hand"],
        _shortened(wanted["softmax"]),
        _shortened(wanted["entropy"]),
    )
    return replace(full, exercises=exercises)


def _shortened(task: object) -> Exercise:
    assert isinstance(task, Exercise)
    return replace(task, inputs=task.inputs[:2])


def honest() -> dict[str, str]:
    """The answers of a good student, by exercise."""
    return {task.name: solved(lesson(), task) for task in lesson().exercises}


def notebook_of(
    world: World, cells: tuple[str, ...] = (), softmax: str = ""
) -> tuple[list[str], dict]:
    """The cells of a notebook, and its answers: the good student's but for what is replaced."""
    answers = honest() | ({"softmax": softmax} if softmax else {})
    known = f"KNOWN = {world.known!r}"
    return ["import numpy as np", known, *answers.values(), *cells], answers


@dataclass
class Tried:
    """What came of one attack in one way.

    Attributes:
        through: whether it got through.
        same: whether the honest answers in its own notebook still got full marks.
        beside: whether the honest student beside it did.
        sight: what was seen.
    """

    through: bool
    same: bool
    beside: bool
    sight: Sight


def try_with_walls(engine: Engine, world: World, attack: Attack) -> Tried:
    """Run an attack against the engine as it grades, and an honest notebook beside it."""
    world.victim_now()
    if attack.run is not None:
        sight = attack.run(world, engine)
        beside = full_marks(engine, world) if attack.graded else True
        return Tried(attack.through(sight), True, beside, sight)
    sight, same = in_engine(engine, world, attack)
    return Tried(attack.through(sight), same, full_marks(engine, world), sight)


def in_engine(engine: Engine, world: World, attack: Attack) -> tuple[Sight, bool]:
    """Judge the attacker's notebook, and the accomplice's after it."""
    began, before = time.monotonic(), memory_mb()
    cells, answers = notebook_of(world, attack.cells, attack.softmax)
    judged = judge_notebook(engine, lesson(), cells, answers, SEED)
    sight = _sight(world, judged, len(attack.cells))
    if attack.later or attack.later_softmax:
        cells, answers = notebook_of(world, attack.later, attack.later_softmax)
        second = judge_notebook(engine, lesson(), cells, answers, SEED)
        sight = replace(sight, later=_sight(world, second, len(attack.later)))
    sight = replace(sight, seconds=time.monotonic() - began, grown_mb=memory_mb() - before)
    attacked = {"softmax"} if attack.softmax else set()
    same = all(verdict.passed for name, verdict in judged.verdicts.items() if name not in attacked)
    return sight, same


def _sight(world: World, judged: Judged, own: int) -> Sight:
    outcomes = judged.outcomes[len(judged.outcomes) - own :]
    return Sight(
        world,
        said=words(judged.outcomes),
        printed=prints(judged.outcomes),
        states=tuple(outcome.failure or outcome.ok for outcome in outcomes),
        score=judged.verdicts["softmax"].score,
        verdicts="\n".join(to_text(verdict) for verdict in judged.verdicts.values()),
    )


def words(outcomes: list[CellOutcome]) -> str:
    """All that cells brought out, as one text."""
    return "\n".join(repr(output) for outcome in outcomes for output in outcome.outputs)


def prints(outcomes: list[CellOutcome]) -> str:
    """What of it was printed."""
    return "".join(output.get("text", "") for one in outcomes for output in one.outputs)


def full_marks(engine: Engine, world: World) -> bool:
    """Whether an honest student's notebook, the next to be judged, gets every point."""
    cells, answers = notebook_of(world)
    judged = judge_notebook(engine, lesson(), cells, answers, SEED)
    return all(verdict.passed for verdict in judged.verdicts.values())


# Without protection


def try_bare(engine: Engine, world: World, attack: Attack) -> Tried:
    """Run an attack with the protection taken away that is to stop it.

    Args:
        engine: one without walls and with its limits lifted.
        world, attack: what is attacked, and how.
    """
    world.victim_now()
    if attack.run_bare is not None:
        sight = attack.run_bare(world, engine)
    elif attack.run is not None:
        sight = attack.run(world, engine)
    elif attack.bare == "tests inside":
        sight = tests_inside(engine, world, attack)
    else:
        sight, _ = in_engine(engine, world, attack)
    return Tried(attack.through(sight), True, True, sight)


HIDDEN_TEST = """
import numpy as np
x = np.array({x})
expected = np.array({expected})
got = softmax(x)
assert np.shape(got) == expected.shape
assert np.allclose(got, expected)
"""


def tests_inside(engine: Engine, world: World, attack: Attack) -> Sight:
    """Grade as nbgrader does: hidden tests are the last cell of the learner's own notebook.

    It gives full marks to a test cell that shows no error.
    """
    x = np.random.default_rng(SEED).normal(size=4)
    test = (attack.test or HIDDEN_TEST).format(x=literal(x), expected=literal(softmax(x)))
    cells, _ = notebook_of(world, attack.cells, attack.softmax)
    control, _ = notebook_of(world, (), ZEROS)
    with engine.open([*control, test] if attack.forges else []) as notebook:
        assert not attack.forges or shows_error(notebook.outcomes[-1]), (
            "the hidden test finds nothing wrong with zeros"
        )
    with engine.open([*cells, test]) as notebook:
        *before, last = notebook.outcomes
        return Sight(
            world,
            said=words(before),
            printed=prints(before),
            states=(last.failure or last.ok,),
            score=0.0 if shows_error(last) else 3.0,
            verdicts=words([last]),
            extra={"x": x.tolist()},
        )


def shows_error(outcome: CellOutcome) -> bool:
    """Whether nbgrader would give no points for a test cell with these outputs."""
    return outcome.failure is not None or any(
        output["output_type"] == "error" for output in outcome.outputs
    )


def hidden_numbers(sight: Sight) -> list[float]:
    """Numbers of softmax's hidden inputs, which no learner may see."""
    if "x" in sight.extra:
        return list(sight.extra["x"])
    task = next(found for found in lesson().exercises if found.name == "softmax")
    assert isinstance(task, Exercise)
    cases = hidden_cases(task, SEED)
    return [float(number) for case in cases for number in np.ravel(case.inputs[0])]


def shows_hidden(sight: Sight) -> bool:
    """Whether a hidden number, to five digits, stands in anything that a learner gets to read."""
    later = sight.later.said if sight.later else ""
    text = sight.said + sight.verdicts + later
    numbers = [abs(number) for number in hidden_numbers(sight)]
    return any(f"{number!r}"[:7] in text for number in numbers if number > 0.01)


def told_apart(world: World, engine: Engine, softmax: str) -> Sight:
    """Judge one notebook under several hidden seeds, and note the different verdicts it gets."""
    cells, answers = notebook_of(world, (), softmax)
    began = time.monotonic()
    judged = [judge_notebook(engine, lesson(), cells, answers, SEED + n) for n in range(4)]
    verdicts = {to_text(one.verdicts["softmax"]) for one in judged}
    return Sight(
        world,
        verdicts="\n".join(sorted(verdicts)),
        seconds=time.monotonic() - began,
        extra={"different": len(verdicts)},
    )
