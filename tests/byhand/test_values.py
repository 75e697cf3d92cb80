"""Values by hand and predictions: right within the tolerance, and otherwise one clear sentence."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byhand.ask import Answer
from byhand.check import _plain
from byhand.render import to_html, to_text
from byhand.tree import Other
from byhand.values import canonical, judge_value
from byhand_course.lessons import ByHand, Prediction, Slip, probe_of

TOLD = {"objective": "", "minutes": 1, "points": 2}


def by_hand(answer, form="a number, to two decimals", tolerance=0.0, slips=()):
    task = ByHand(name="guess", answer=answer, form=form, tolerance=tolerance, slips=slips, **TOLD)
    return probe_of(task, 1)


def predicted(answer, options=(), slips=()):
    return probe_of(
        Prediction(name="guess", answer=answer, options=options, slips=slips, **TOLD), 1
    )


NUMBER = by_hand(0.67, tolerance=0.01)
LIST = by_hand([0.09, 0.67, 0.24], "a list of three numbers", tolerance=0.01)
WHOLE = by_hand([3, -1], "two whole numbers")
GRID = by_hand([[1.0, 2.0], [3.0, 4.0]], "a 2 by 2 list", tolerance=0.1)
WORD = by_hand("The Keys", "a word or two")
SHAPE = predicted((2, 3, 5))
CHOICE = predicted("the same weights", ("the same weights", "larger weights"))
NAMES = probe_of(
    ByHand(
        name="guess",
        answer=["W_q", "W_k", "b_1"],
        form="a list of names, in any order",
        in_any_order=True,
        slips=(Slip(name="keys-forgotten", answer=["b_1", "W_q"], says="What of the keys?"),),
        **TOLD,
    ),
    1,
)
PROBES = [NUMBER, LIST, WHOLE, GRID, WORD, SHAPE, CHOICE, NAMES]


def judged(probe, value):
    """Judged as it is, and as it travels to the grader: the same words."""
    verdict = judge_value(probe, Answer(value=value))
    assert judge_value(probe, Answer(value=_plain(value))).stage == verdict.stage
    return verdict


@pytest.mark.parametrize(
    ("probe", "value"),
    [
        (NUMBER, 0.67),
        (NUMBER, 0.6699999),
        (NUMBER, 0.675),
        (NUMBER, 0.68),
        (NUMBER, np.float64(0.67)),
        (NUMBER, np.float32(0.67)),
        (NUMBER, np.array(0.67)),
        (LIST, [0.09, 0.67, 0.24]),
        (LIST, (0.09, 0.67, 0.24)),
        (LIST, np.array([0.09, 0.665, 0.2447])),
        (LIST, [np.float64(0.09), 0.67, 0.24]),
        (WHOLE, [3, -1]),
        (WHOLE, (3.0, np.int64(-1))),
        (WHOLE, np.array([3, -1])),
        (GRID, [[1, 2], [3, 4.05]]),
        (GRID, np.array([[1, 2], [3, 4]])),
        (WORD, "the keys"),
        (WORD, "  The   KEYS\n"),
        (WORD, np.str_("the keys")),
        (SHAPE, (2, 3, 5)),
        (SHAPE, [2, 3, 5]),
        (SHAPE, np.zeros((2, 3, 5)).shape),
        (SHAPE, np.array([2, 3, 5])),
        (CHOICE, "the same weights"),
        (CHOICE, " The same weights "),
    ],
)
def test_equivalent_right_values_pass(probe, value):
    """Whole or broken, Python's or NumPy's, in a list, tuple or array, with spaces or capitals."""
    verdict = judged(probe, value)
    assert (verdict.passed, verdict.score, verdict.headline) == (True, 2, "right. Well done!")


@settings(max_examples=300, deadline=None)
@given(st.floats(-1e3, 1e3), st.floats(-0.99, 0.99), st.sampled_from([1e-4, 0.005, 0.01, 0.5, 1.0]))
def test_right_within_the_tolerance_and_wrong_beyond_twice(answer, share, tolerance):
    """The grid never turns away what is within the tolerance, nor lets in what is twice as far."""
    probe = by_hand(answer, tolerance=tolerance)
    assert judge_value(probe, Answer(value=answer + share * tolerance)).passed
    for off in (2.01, -2.01, 3, -50):
        assert not judge_value(probe, Answer(value=answer + off * tolerance)).passed


def test_half_way_between_two_lines():
    """Rounding half to even would put 0.5 and 1.5 two lines apart."""
    assert [canonical(x, 1.0) for x in (0.5, 1.5, 2.5, -0.5)] == [1, 2, 3, 0]


@pytest.mark.parametrize(
    ("probe", "value", "stage", "says"),
    [
        (NUMBER, 0.70, "value", "not right yet."),
        (NUMBER, math.nan, "value", "not right yet."),
        (NUMBER, -math.inf, "value", "not right yet."),
        (NUMBER, 10**400, None, None),
        (NUMBER, 1e308, "value", "not right yet."),
        (NUMBER, "0.67", "type", 'holds the text "0.67"; numbers stand without quotes.'),
        (
            NUMBER,
            "two thirds",
            "type",
            'holds the text "two thirds"; numbers stand without quotes.',
        ),
        (NUMBER, [0.67], "type", "is a list; expected a number, to two decimals."),
        (NUMBER, {"a": 1}, "type", "is a dict; expected a number, to two decimals."),
        (NUMBER, print, None, None),
        (
            NUMBER,
            ...,
            "missing",
            "not answered yet: replace the dots with a number, to two decimals.",
        ),
        (NUMBER, None, "missing", None),
        (LIST, [..., ..., ...], "missing", None),
        (LIST, [0.09, 0.67], "shape", "has 2 entries; the right answer has 3."),
        (LIST, [0.09], "shape", "has 1 entry; the right answer has 3."),
        (LIST, [0.09, 0.5, 0.5], "value", "entries 1 and 2 (counting from 0) are not right yet."),
        (LIST, [0.09, 0.67, 0.3], "value", "entry 2 (counting from 0) is not right yet."),
        (
            LIST,
            ["0.09", 0.67, 0.24],
            "type",
            'holds the text "0.09"; numbers stand without quotes.',
        ),
        (LIST, [[0.09, 0.67, 0.24]], "type", "is a list; expected a list of three numbers."),
        (LIST, [[1], [1, 2], 3], "type", "is a list; expected a list of three numbers."),
        (LIST, 0.67, "type", "is a single number; expected a list of three numbers."),
        (LIST, [0.09, math.nan, {}], "value", None),
        (GRID, [[1, 2], [3, 5]], "value", "entry [1, 1] (counting from 0) is not right yet."),
        (GRID, [[1, 2, 3]] * 2, "shape", "has shape (2, 3); expected a 2 by 2 list."),
        (WHOLE, [True, -1], "value", "entry 0 (counting from 0) is not right yet."),
        (WORD, "the values", "value", "not right yet."),
        (WORD, 3, "value", "not right yet."),
        (SHAPE, (2, 3), "shape", "has 2 entries; the right answer has 3."),
        (SHAPE, 30, "type", "is a single number; expected a shape such as (2, 3)."),
        (SHAPE, "(2, 3, 5)", "type", "is text; expected a shape such as (2, 3)."),
        (SHAPE, ("2", "3", "5"), "type", 'holds the text "2"; numbers stand without quotes.'),
        (CHOICE, "larger weights", "value", "not right yet."),
        (
            CHOICE,
            "smaller weights",
            "type",
            'is "smaller weights"; choose one of "the same weights", "larger weights".',
        ),
        (CHOICE, np.array(["larger weights"]), "type", None),
        (CHOICE, 2, "type", 'is "2"; choose one of "the same weights", "larger weights".'),
    ],
)
def test_a_wrong_value_gets_one_clear_sentence(probe, value, stage, says):
    """Which entries are not right, what is missing or too much, what was written instead."""
    verdict = judge_value(probe, Answer(value=_plain(value)))
    assert not verdict.passed and verdict.score == 0
    assert stage is None or verdict.stage == stage
    assert says is None or verdict.headline == says
    assert verdict.headline.endswith(".")


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.just(...)
    | st.binary()
    | st.just(10**400)
    | st.just(np.float32(1))
    | st.just(np.bool_(True))
    | st.just(np.array([1, 2]))
    | st.just(np.zeros((2, 0)))
    | st.just(Other("thing"))
    | st.complex_numbers(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(PROBES), ANYTHING, st.booleans())
def test_anything_at_all_gives_a_verdict(probe, value, travels):
    """Whatever was written, a verdict comes, and it can be shown; never an exception."""
    verdict = judge_value(probe, Answer(value=_plain(value) if travels else value))
    assert verdict.headline.endswith((".", "!"))
    assert to_text(verdict) and to_html(verdict)


@pytest.mark.parametrize(
    ("failure", "stage"),
    [("missing", "missing"), ("timeout", "missing"), ("died", "missing"), ("unreadable", "type")],
)
def test_no_value_at_all(failure, stage):
    """What is not there earns nothing, and is not called wrong."""
    verdict = judge_value(NUMBER, Answer(failure=failure))
    assert (verdict.stage, verdict.score, verdict.question) == (stage, 0, "")


def test_a_known_slip_is_named():
    """Its own sentence is the cause; any other wrong value gets a question that fits its kind."""
    slip = Slip(name="not-divided", answer=[1.0, 7.39, 2.72], says="By what would you divide?")
    probe = by_hand([0.09, 0.67, 0.24], tolerance=0.01, slips=(slip,))
    verdict = judged(probe, [1, 7.389, 2.718])
    assert (verdict.mistake, verdict.cause, verdict.question) == (slip.name, slip.says, "")
    assert judged(probe, [1, 7, 3]).mistake is None
    assert judged(probe, [1, 7, 3]).question == "Which step would you redo first?"
    assert "options" in judged(CHOICE, "larger weights").question
    assert "length" in judged(SHAPE, (2, 3, 4)).question


def test_the_right_value_is_not_in_the_probe():
    """Only digests of it, salted with the exercise's name and the entry's place."""
    assert "0.67" not in repr(LIST)
    assert len(set(by_hand([1, 1, 1]).digests)) == 3


@pytest.mark.parametrize(
    "value",
    [
        ["W_q", "W_k", "b_1"],
        ["b_1", "W_k", "W_q"],
        ("w_k", " W_q ", "B_1"),
        np.array(["b_1", "W_q", "W_k"]),
    ],
)
def test_words_in_any_order_are_right(value):
    """Order, case and spaces do not count; nor does a tuple or an array instead of a list."""
    assert judge_value(NAMES, Answer(value=value)).passed


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (["W_q", "W_o", "W_k"], '"W_o" does not belong here.'),
        (["W_q", "W_o", "x", "W_k", "b_1"], '"W_o" and "x" do not belong here.'),
        (["W_q"], "right as far as it goes, but not all are there yet."),
        ([], "right as far as it goes, but not all are there yet."),
        (["W_q", "W_k", "b_1", "W_k"], "all are there, but one stands twice."),
        (["W_q", 7, "b_1"], '"7" does not belong here.'),
        ([{"W_q": 1}], "\"{'W_q': 1}\" does not belong here."),
        (list("abcdef"), '"a", "b", "c" and 3 more do not belong here.'),
    ],
)
def test_what_is_too_much_or_missing_is_said(value, says):
    """Words that do not belong are quoted; how many are missing is not told."""
    verdict = judged(NAMES, value)
    assert (verdict.score, verdict.headline) == (0, says)


def test_a_slip_in_any_order_is_named():
    """A known wrong list is the same one in every order."""
    for value in (["W_q", "b_1"], ["b_1", "W_q"]):
        assert judged(NAMES, value).mistake == "keys-forgotten"


@pytest.mark.parametrize("value", ["W_q", {"W_q"}, {"W_q": 1}, [["W_q", "W_k", "b_1"]]])
def test_what_is_no_list_of_words_is_told_so(value):
    """One word, a set, a dict or a nest of lists: the form that is expected is said."""
    verdict = judged(NAMES, value)
    assert verdict.stage in ("type", "shape") and "a list of names" in verdict.headline
