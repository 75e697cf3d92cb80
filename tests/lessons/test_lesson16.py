"""The verdict on a whole backward pass: every parameter, and where to begin."""

from types import FunctionType

import pytest

from byhand.ask import ask
from byhand.compare import judge_function
from byhand_course.lessons import find_exercise, mistaken_function, probe_of
from byhand_course.reference import (
    COURSE_SIZES,
    backward,
    init_params,
    multi_head_attention_backward,
    transformer_block_backward,
)


def with_other(function, **others):
    """The same function, calling others under the names given."""
    namespace = {**function.__globals__, **others}
    return FunctionType(function.__code__, namespace, argdefs=function.__defaults__)


def judge(function):
    lesson, exercise = find_exercise("backward")
    probe = probe_of(exercise, lesson.number)
    return judge_function(probe, [ask(function, case.inputs, probe.asks) for case in probe.cases])


@pytest.fixture
def through_w_o_the_wrong_way():
    """The reference's backward pass with one slip: W_o not transposed."""
    _, exercise = find_exercise("multi-head-attention-backward")
    slip = next(m for m in exercise.mistakes if m.name == "output-projection-not-transposed")
    attention = mistaken_function(multi_head_attention_backward, slip)
    block = with_other(transformer_block_backward, multi_head_attention_backward=attention)
    return with_other(backward, transformer_block_backward=block)


def test_every_parameter_of_the_course_has_a_line_and_points():
    """The table and the parts name each of the course's parameters once."""
    _, exercise = find_exercise("backward")
    names = sorted(init_params(COURSE_SIZES, 0))
    assert sorted(exercise.table) == names
    assert sorted(exercise.returns) == sorted([*names, "second_block"])
    assert len(exercise.points) == len(exercise.returns)


def test_the_first_wrong_block_is_pointed_out(through_w_o_the_wrong_way):
    """All that the pass makes before W_o's input is exact; W_v, the next, is where to begin."""
    verdict = judge(through_w_o_the_wrong_way)
    right = [line.name for line in verdict.table if line.word == "exact"]
    table = [line.name for line in verdict.table]
    assert right == table[: table.index("blocks.0.W_v")]
    assert "blocks.0.W_v is the first that is not right" in verdict.headline
    assert "for that reason alone" in verdict.headline


def test_what_is_right_earns_its_points(through_w_o_the_wrong_way):
    """Ten of seventeen gradients do not depend on the slip, and count."""
    verdict = judge(through_w_o_the_wrong_way)
    right = {name for name, is_right in verdict.parts.items() if is_right}
    assert right == {line.name for line in verdict.table if line.word == "exact"}
    assert len(right) == 10 and 0 < verdict.score < verdict.points
