"""Right answers that are written in another way than the solution earn all points."""

import pytest
from lessons.other_right import gradients, passes, updates

from byhand.ask import ask
from byhand.compare import judge_function
from byhand_course.grading.judging import questions
from byhand_course.lessons import find_exercise
from byhand_course.reference import train_step

SEEDS = (1, 2, 3)
RIGHT = {**gradients.RIGHT, **passes.RIGHT, **updates.RIGHT}


def judged(name, function, seed=1):
    """The verdict on public inputs, and on hidden ones of a seed."""
    lesson, task = find_exercise(name)
    probe = questions(task, lesson.number, seed)
    return judge_function(probe, [ask(function, case.inputs, probe.asks) for case in probe.cases])


@pytest.mark.parametrize(
    ("name", "function"), [(name, one) for name, right in RIGHT.items() for one in right]
)
def test_another_way_to_write_it_is_right_too(name, function):
    """Loops, einsum, one-hot rows, whole Jacobians: right on public inputs and on hidden ones."""
    for seed in SEEDS:
        verdict = judged(name, function, seed)
        assert verdict.passed, verdict
        assert {line.word for line in verdict.table} <= {"exact"}


def test_an_update_that_returns_something_else_is_told_so():
    """One array instead of three is named as such, though the check takes several steps."""
    verdict = judged("adamw-update", lambda *arguments: arguments[0] * 1.0)
    assert (verdict.stage, verdict.score) == ("type", 0)
    assert "a tuple of parameter, m, v" in verdict.headline


def test_a_train_step_that_is_wrong_everywhere_is_not_sent_to_the_first_line():
    """No parameter is computed from another, so no line of the table is called the first wrong."""

    def twice_as_far(params, state, ids, targets, num_heads=2, lr=1e-3, *rest):
        return train_step(params, state, ids, targets, num_heads, 2 * lr, *rest)

    verdict = judged("train-step", twice_as_far)
    assert verdict.parts == {"params": False, "state": True, "loss": True}
    assert verdict.headline == "params differs; state and loss are right."
    assert {line.word for line in verdict.table} <= {"wrong", "close"}
