"""The table of an answer of many arrays: exact, close or wrong, and where to begin."""

from dataclasses import replace

import numpy as np

from byhand.ask import ask
from byhand.compare import judge_function
from byhand.render import to_html, to_text
from byhand.table import first_wrong, where_to_begin
from byhand_course.lessons import Exercise, probe_of

NAMES = ("W_out", "W_2", "W_1", "table")


def gradients(dout, scale):
    return {
        "table": dout[:2] * scale,
        "W_1": dout * scale,
        "W_2": dout.T * scale,
        "W_out": dout.sum(axis=0) * scale,
    }


def plain_gradients(rng):
    return rng.normal(size=(3, 5)), 2.0


def larger_gradients(rng):
    return rng.normal(size=(4, 6)), 3.0


EXERCISE = Exercise(
    name="gradients",
    objective="",
    minutes=1,
    solution=gradients,
    inputs=(plain_gradients, larger_gradients),
    returns=tuple(sorted(NAMES)),  # not the order of the table
    points=(1, 1, 1, 1),
    table=NAMES,
)


def verdict_of(function):
    probe = probe_of(EXERCISE, 16)
    return judge_function(probe, [ask(function, case.inputs) for case in probe.cases])


def changed(**changes):
    """The right answer with some of its arrays changed."""

    def answer(dout, scale):
        right = gradients(dout, scale)
        return right | {name: change(right[name]) for name, change in changes.items()}

    return answer


def words(verdict):
    return [(line.name, line.word) for line in verdict.table]


def test_a_right_answer_is_exact_line_by_line():
    """Every array stands there with its shape, in the order of the pass, and is exact."""
    verdict = verdict_of(changed(W_1=lambda right: right * (1 + 1e-12)))
    assert verdict.passed
    assert words(verdict) == [(name, "exact") for name in NAMES]
    assert [line.shape for line in verdict.table] == [(5,), (5, 3), (3, 5), (2, 5)]
    assert max(line.error for line in verdict.table) < 1e-11
    assert first_wrong(verdict.table) is None
    assert where_to_begin(verdict.table) == ""


def test_close_and_wrong_are_told_apart_and_points_are_given_line_by_line():
    """Off by a thousandth is close, off by a half is wrong; neither earns its point."""
    off = changed(W_2=lambda right: right * 1.001, table=lambda right: right / 2)
    verdict = verdict_of(off)
    assert words(verdict) == [
        ("W_out", "exact"),
        ("W_2", "close"),
        ("W_1", "exact"),
        ("table", "wrong"),
    ]
    assert verdict.score == 2
    assert verdict.headline.startswith("On the way back, W_2 is the first that is not right")
    assert "computed from it" not in verdict.headline


def test_all_that_comes_after_the_first_wrong_one_is_excused():
    """If everything after it is wrong too, that may be for the first one's reason alone."""
    verdict = verdict_of(changed(**{name: lambda right: -right for name in NAMES[1:]}))
    assert "W_2 is the first" in verdict.headline
    assert verdict.evidence[0].place.startswith("W_2[")
    assert "for that reason alone" in verdict.headline


def test_arrays_that_do_not_build_on_each_other_have_no_first_one():
    """Where no array is computed from another, the verdict does not say where to begin."""
    probe = replace(probe_of(EXERCISE, 16), in_turn=False)
    wrong = changed(W_2=lambda right: -right, W_1=lambda right: -right)
    verdict = judge_function(probe, [ask(wrong, case.inputs) for case in probe.cases])
    assert verdict.headline == "W_1 and W_2 differ; W_out and table are right."
    assert dict(words(verdict))["W_1"] == "wrong"


def test_an_array_that_cannot_be_compared_is_wrong():
    """Another shape, nan, or text is wrong and not a number; the worst of all inputs counts."""
    verdict = verdict_of(changed(W_1=lambda right: right.T, table=lambda right: right * np.nan))
    assert dict(words(verdict))["W_1"] == dict(words(verdict))["table"] == "wrong"
    assert all(np.isnan(line.error) for line in verdict.table if line.word == "wrong")
    assert verdict_of(lambda dout, scale: "no dict").table == ()
    assert verdict_of(lambda dout, scale: {"W_out": 1.0}).table == ()


def test_the_table_is_read_by_eye_and_by_screen_reader():
    """Text and HTML hold each line's name, shape, error and word; signs are not read aloud."""
    verdict = verdict_of(changed(table=lambda right: right / 2))
    text, html = to_text(verdict), to_html(verdict)
    for line in verdict.table:
        assert f"{line.name:<5}  {line.shape!s}" in text
        assert f"<code>{line.name}</code>" in html
    assert "5.0e-01" in text and "wrong" in text and "exact" in text
    assert html.count('<th scope="row"') >= len(NAMES)
    assert "3 of 4 points so far." in text


def test_entries_of_a_part_that_is_a_dict_are_lines_too():
    """An answer (params, loss) lists the entries of params."""

    def step(dout, scale):
        return gradients(dout, scale), float(scale)

    exercise = Exercise(
        name="step",
        objective="",
        minutes=1,
        solution=step,
        inputs=(plain_gradients,),
        returns=("params", "loss"),
        points=(1, 1),
        table=(*NAMES, "loss"),
    )
    probe = probe_of(exercise, 18)
    verdict = judge_function(probe, [ask(step, case.inputs) for case in probe.cases])
    assert words(verdict) == [(name, "exact") for name in (*NAMES, "loss")]
