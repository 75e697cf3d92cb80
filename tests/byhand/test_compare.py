"""The ruler: the order of judging, what counts as right, what is said, and what is never said."""

import itertools
import re
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byhand.ask import Answer, ask
from byhand.compare import answers_agree, judge_function, name_mistake
from byhand.problems import STAGES
from byhand.render import to_html, to_text
from byhand.tree import Other, Seeded
from byhand_course.lessons import Exercise, Mistake, hidden_cases, probe_of
from byhand_course.reference.layer_norm import layer_norm_backward
from byhand_course.reference.loss import cross_entropy
from byhand_course.reference.softmax import softmax


def exercise(solution, inputs, returns, **more):
    return Exercise(
        name=solution.__name__.replace("_", "-"),
        objective="",
        minutes=1,
        solution=solution,
        inputs=inputs,
        returns=returns,
        points=more.pop("points", (1,) * len(returns)),
        **more,
    )


def plain_scores(rng):
    return (rng.normal(size=5),)


def rows_of_scores(rng):
    return (rng.normal(size=(3, 5)),)


def float32_scores(rng):
    return (rng.normal(size=(2, 3)).astype(np.float32),)


SOFTMAX = exercise(
    softmax,
    (plain_scores, rows_of_scores, float32_scores),
    ("weights",),
    mistakes=(
        Mistake(name="axis-0", swap="axis=-1", into="axis=0", says="The columns sum to 1. Which?"),
        Mistake(
            name="in-place",
            swap="exponentials = np.exp(scores - largest)",
            into="scores -= largest\n    exponentials = np.exp(scores)",
            says="It writes into scores. Which line?",
        ),
        Mistake(
            name="only-raises",
            swap="largest = scores.max(axis=axis, keepdims=True)",
            into="raise ValueError",
            says="Never named.",
        ),
    ),
)


def lopsided(rng):
    x = rng.normal(1.5, 2.0, size=(2, 3, 5))
    return rng.normal(size=x.shape), x, rng.normal(2, 0.5, size=5)


def flat(rng):
    x = 1.5 + 1e-3 * rng.normal(size=(4, 7))
    return rng.normal(size=x.shape), x, rng.normal(2, 0.5, size=7)


NORM = exercise(layer_norm_backward, (lopsided, flat), ("dx", "dgamma", "dbeta"), points=(2, 1, 1))


def judged(task, function, hidden=False):
    """A function's verdict; with hidden inputs too, as grading has it."""
    probe = probe_of(task, 1)
    if hidden:
        probe = replace(probe, cases=probe.cases + hidden_cases(task, 1))
    return judge_function(probe, [ask(function, case.inputs) for case in probe.cases])


def unwritten(scores, axis=-1):
    raise NotImplementedError


exec(compile("def earlier(x):\n    raise NotImplementedError", "<another cell>", "exec"))


def unfinished(scores, axis=-1):
    return earlier(scores) + 1  # noqa: F821


def raising(scores, axis=-1):
    return scores @ np.ones((7, 11, 13))


def exiting(scores, axis=-1):
    raise SystemExit


def endless(scores, axis=-1):
    return endless(scores)


def unknown(scores, axis=-1):
    return skores  # noqa: F821


STAGED = [
    (unwritten, "missing", "not written yet."),
    (unfinished, "missing", "calls something not written yet."),
    (lambda s, axis=-1: None, "missing", "returns None on plain scores: does every way"),
    (lambda: 1, "raises", "it cannot be called as softmax(scores, axis). Python says: "),
    (raising, "raises", "raises ValueError on plain scores, in its line "),
    (exiting, "raises", "raises SystemExit on plain scores, in its line "),
    (endless, "raises", "raises RecursionError on plain scores, in its line "),
    (unknown, "raises", "raises NameError on plain scores, in its line "),
    (
        lambda s, axis=-1: "text",
        "type",
        "weights is text on plain scores; expected an array of shape (5,).",
    ),
    (
        lambda s, axis=-1: softmax(s).tolist(),
        "type",
        "weights is a list on plain scores; expected an array of",
    ),
    (lambda s, axis=-1: (softmax(s),), "type", "weights is a tuple of one (a comma after a value"),
    (
        lambda s, axis=-1: Other("function"),
        "type",
        "weights is a function on plain scores; expected",
    ),
    (lambda s, axis=-1: softmax(s) + 0j, "type", "weights is an array of"),
    (lambda s, axis=-1: np.array(["a"] * s.size), "type", "weights is an array of"),
    (
        lambda s, axis=-1: 0.5,
        "type",
        "weights is a single number on plain scores; expected an array of shape (5,).",
    ),
    (lambda s, axis=-1: softmax(s)[None], "shape", "expected (5,): 2 axes instead of 1."),
    (lambda s, axis=-1: softmax(s)[..., :2], "shape", "expected (5,). Axis 0 differs."),
    (lambda s, axis=-1: softmax(s).T, "shape", "Axes 0 and 1 have each other's length."),
    (
        lambda s, axis=-1: softmax(s) > 0,
        "dtype",
        "weights holds True and False on plain scores; expected floats.",
    ),
    (
        lambda s, axis=-1: (9 * softmax(s)).astype(int),
        "dtype",
        "weights holds whole numbers on plain scores;",
    ),
    (
        lambda s, axis=-1: softmax(s).astype(np.float32),
        "dtype",
        "weights is float32 on plain scores; expected float64.",
    ),
    (
        lambda s, axis=-1: softmax(s) * np.nan,
        "finite",
        "5 of 5 entries of weights are nan on plain",
    ),
    (
        lambda s, axis=-1: softmax(s) / 0,
        "finite",
        "5 of 5 entries of weights are infinite on plain",
    ),
    (lambda s, axis=-1: softmax(2 * s), "value", "wrong on every input."),
    (
        lambda s, axis=-1: softmax(2 * s) if s.ndim == 1 else softmax(s),
        "value",
        "wrong on plain scores; right on rows of scores and float32 scores.",
    ),
]


@pytest.mark.parametrize(("function", "stage", "says"), STAGED)
def test_each_stage_has_its_words(function, stage, says):
    """What is wrong first, in one readable sentence, then a question."""
    verdict = judged(SOFTMAX, function)
    assert verdict.stage == stage
    assert says in verdict.headline
    assert "\n" not in verdict.headline
    assert verdict.headline[-1] in ".?" or "Python says: " in verdict.headline
    if not verdict.cause:
        assert "?" in verdict.question + verdict.headline or stage == "missing"


def test_the_stage_input():
    """Right weights from spoiled scores: the argument is named, and nothing is earned."""

    def spoiling(scores, axis=-1):
        weights = softmax(scores, axis)
        scores += 1
        return weights

    verdict = judged(SOFTMAX, spoiling)
    assert (verdict.stage, verdict.score) == ("input", 0)
    assert verdict.headline == "it changes its argument scores in place."


def test_stages_come_in_their_order():
    """An answer that is wrong in a later way on an earlier input is told the earlier stage."""
    order = [stage for _, stage, _ in STAGED]
    assert order == sorted(order, key=STAGES.index)
    picked = [next(f for f, s, _ in STAGED if s == stage) for stage in dict.fromkeys(order)]
    for sooner, later in itertools.pairwise(picked):

        def both(scores, axis=-1, sooner=sooner, later=later):
            return (later if scores.ndim == 1 else sooner)(scores)

        stage = judged(SOFTMAX, both).stage
        assert stage == judged(SOFTMAX, sooner).stage


def test_a_missing_function_is_asked_for_by_name():
    """No such name: neither wrong nor raised; the question is about its name."""
    probe = probe_of(SOFTMAX, 1)
    verdict = judge_function(probe, [Answer(failure="missing")] * 3)
    assert (verdict.stage, verdict.headline) == ("missing", "there is no function of that name.")
    assert verdict.question.startswith("Is it spelled")


@pytest.mark.parametrize("failure", ["timeout", "died", "unreadable"])
def test_failures_of_the_process_are_told(failure):
    """A function that hangs or dies is told so, with the input on which it did."""
    verdict = judge_function(probe_of(SOFTMAX, 1), [Answer(failure=failure)] * 3)
    assert "on plain scores" in verdict.headline and verdict.question.endswith("?")


def test_a_long_message_becomes_one_line():
    """Line breaks, control characters and a thousand words are cut to what can be read."""

    def loud(scores, axis=-1):
        raise ValueError("first\nsecond \x1b[31m" + "word " * 1000 + "last")

    says = judged(SOFTMAX, loud).headline
    assert " Python says: first second" in says and says.endswith("last")
    assert len(says) < 400 and says.isprintable()


@pytest.mark.parametrize(
    "same",
    [
        lambda w: w,
        lambda w: np.asfortranarray(w),
        lambda w: np.repeat(w, 2, axis=-1)[..., ::2],
        lambda w: np.flip(np.flip(w).copy()),
        lambda w: w.astype(np.float64),
        lambda w: w.astype(np.longdouble),
        lambda w: w + 1e-12,
        np.ma.masked_array,
        lambda w: np.matrix(w) if w.ndim == 2 else w,
        lambda w: np.lib.stride_tricks.as_strided(w, writeable=False),
    ],
)
def test_equivalent_arrays_are_right(same):
    """Order in memory, views, read-only arrays, more precision, subclasses: all the same."""
    verdict = judged(SOFTMAX, lambda s, axis=-1: same(softmax(s)))
    assert verdict.passed and verdict.headline == "right on all 3 inputs. Well done!"


def some_logits(rng):
    return rng.normal(size=(3, 5)), rng.integers(5, size=3)


def more_logits(rng):
    return rng.normal(size=(2, 4, 7)), rng.integers(7, size=(2, 4))


LOSS = exercise(cross_entropy, (some_logits, more_logits), ("loss",))


@pytest.mark.parametrize("same", [float, np.float64, np.array, lambda x: np.longdouble(x)])
def test_equivalent_numbers_are_right(same):
    """A Python float, NumPy's, or an array without axes."""
    assert judged(LOSS, lambda *a: same(cross_entropy(*a))).passed


@pytest.mark.parametrize(
    ("wrong", "stage", "says"),
    [
        (lambda x: np.array([x]), "shape", "loss has shape (1,) on some logits; expected a single"),
        (lambda x: [x], "type", "loss is a list on some logits; expected a single number."),
        (lambda x: x > 0, "dtype", "loss is True and False on some logits; expected floats."),
        (lambda x: str(x), "type", "loss is text on some logits; expected a single number."),
        (lambda x: int(x), "value", "wrong on every input."),
        (lambda x: 10**400, "finite", "loss is infinite on some logits."),
    ],
)
def test_what_is_no_number(wrong, stage, says):
    """An array of one entry, a list, True or text is no number, and each is told so."""
    verdict = judged(LOSS, lambda *a: wrong(cross_entropy(*a)))
    assert verdict.stage == stage and says in verdict.headline


def count_words(text):
    return len(text.split())


def some_text(rng):
    return ("to be or not to be",)


def other_text(rng):
    return ("that is the question here now",)


def third_text(rng):
    return (" ".join(["word"] * int(rng.integers(5, 9))),)


COUNT = exercise(count_words, (some_text, other_text, third_text), ("words",))


@pytest.mark.parametrize("same", [float, np.int8, np.uint64, np.float32, np.array, int])
def test_whole_numbers_in_any_coat_are_right(same):
    """6, 6.0, np.int8(6): a count is a count."""
    assert judged(COUNT, lambda text: same(count_words(text))).passed


def test_a_wrong_count_and_true():
    """A count off by one is wrong by value; True is no count."""
    verdict = judged(COUNT, lambda text: count_words(text) + 1)
    (evidence,) = verdict.evidence
    assert (evidence.place, evidence.yours, evidence.expected) == ("words", "7", "6")
    assert verdict.given == "text = 'to be or not to be'"
    assert judged(COUNT, lambda text: True).stage == "dtype"


def split_words(text):
    return text.split()


def vocabulary(text):
    return {word: place for place, word in enumerate(dict.fromkeys(text.split()))}


def statistics(text):
    return [len(word) / 3 for word in text.split()]


WORDS = exercise(split_words, COUNT.inputs, ("tokens",))
VOCABULARY = exercise(vocabulary, COUNT.inputs, ("ids",))
STATISTICS = exercise(statistics, COUNT.inputs, ("lengths",))


@pytest.mark.parametrize("same", [list, tuple, lambda x: [np.str_(word) for word in x]])
def test_lists_of_words_may_be_tuples(same):
    """Where no array is asked for, a tuple does as well as a list."""
    assert judged(WORDS, lambda text: same(text.split())).passed


@pytest.mark.parametrize("same", [tuple, np.array, lambda x: [y + 1e-12 for y in x]])
def test_lists_of_numbers_are_compared_to_the_tolerance(same):
    """An array does for a list of numbers, and rounding is no mistake."""
    assert judged(STATISTICS, lambda text: same(statistics(text))).passed


@pytest.mark.parametrize(
    ("task", "function", "stage", "says", "evidence"),
    [
        (WORDS, lambda t: t, "type", "tokens is text on some text; expected a list.", None),
        (
            WORDS,
            lambda t: t.split()[1:],
            "shape",
            "tokens has 5 entries on some text; expected 6.",
            None,
        ),
        (WORDS, lambda t: t.title().split(), "value", "wrong on", ("tokens[0]", "'To'", "'to'")),
        (
            STATISTICS,
            lambda t: [1.0] * len(t.split()),
            "value",
            "wrong",
            ("lengths[0]", "1.0000", "0.6667"),
        ),
        (VOCABULARY, lambda t: t.split(), "type", "returns a list; expected a dict.", None),
        (VOCABULARY, lambda t: {}, "type", "lacks 'to', 'be', 'or' and 1 more.", None),
        (
            VOCABULARY,
            lambda t: vocabulary(t) | {"x": 1},
            "type",
            "the dict that it returns should not have 'x'.",
            None,
        ),
        (
            VOCABULARY,
            lambda t: {word: place + (word == "or") for word, place in vocabulary(t).items()},
            "value",
            "wrong on some text;",
            ("ids['or']", "3", "2"),
        ),
    ],
)
def test_answers_that_are_no_arrays(task, function, stage, says, evidence):
    """Words, lists and dicts: what kind, how long, and the first entry that differs."""
    verdict = judged(task, function)
    assert verdict.stage == stage and says in verdict.headline
    shown = verdict.evidence[0] if verdict.evidence else None
    assert evidence == (shown and (shown.place, shown.yours, shown.expected))


def join_words(text):
    return "-".join(text.split() * 20)


def test_long_texts_are_shown_where_they_part():
    """Two texts of hundreds of letters: the evidence holds the letters that differ."""
    task = exercise(join_words, COUNT.inputs, ("joined",))
    (shown,) = judged(task, lambda t: join_words(t)[:200] + "?" + join_words(t)[201:]).evidence
    assert "?" in shown.yours and "?" not in shown.expected
    assert shown.yours[:10] == shown.expected[:10] and len(shown.yours) <= 40


def part_wrong(*places, how=lambda x: x + 1):
    def wrong(*arguments):
        answer = list(layer_norm_backward(*arguments))
        for place in places:
            answer[place] = how(answer[place])
        return tuple(answer)

    return wrong


@pytest.mark.parametrize(
    ("function", "headline", "score"),
    [
        (part_wrong(0, how=lambda x: x**3), "dx differs; dgamma and dbeta are right.", 2),
        (part_wrong(0, 2, how=lambda x: x**3), "dx and dbeta differ; dgamma is right.", 1),
        (
            part_wrong(1, how=lambda x: None),
            "dgamma is None on lopsided; expected an array of shape (5,).",
            3,
        ),
        (part_wrong(0, 1, 2, how=lambda x: x**3), "wrong on every input.", 0),
        (
            lambda *a: layer_norm_backward(*a)[0],
            "returns an array of shape (2, 3, 5); expected a",
            0,
        ),
        (
            lambda *a: layer_norm_backward(*a)[:2],
            "returns 2 values; expected dx, dgamma, dbeta.",
            0,
        ),
        (lambda *a: list(layer_norm_backward(*a)), "right on all 2 inputs.", 4),
    ],
)
def test_parts_are_judged_apart(function, headline, score):
    """A wrong part costs its own points, and the right ones are named."""
    verdict = judged(NORM, function)
    assert verdict.headline.startswith(headline)
    assert verdict.score == score
    assert verdict.points == 4


def test_the_wrong_axis_is_named_with_its_owner():
    """Which axis, and whose length it has."""
    verdict = judged(NORM, part_wrong(1, how=lambda x: np.zeros(3)))
    assert verdict.headline == (
        "dgamma has shape (3,) on lopsided; expected (5,). Axis 0 differs: "
        "3 is the length of axis 1 of dout. dx and dbeta are right."
    )


def test_the_example_of_the_house_style():
    """A missing mean: verdict, aligned evidence, cause, as the style shows them."""
    swap = "        - dxhat.mean(axis=-1, keepdims=True)  # x moves its token's mean\n"
    says = "This dx holds each token's mean still. Print dx.sum(axis=-1): what should it be?"
    mistake = Mistake(name="mean-held-still", swap=swap, into="", says=says)
    task = exercise(
        layer_norm_backward,
        (lopsided, flat),
        ("dx", "dgamma", "dbeta"),
        points=(2, 1, 1),
        mistakes=(mistake,),
    )
    probe = probe_of(task, 1)
    verdict = judge_function(probe, [case.mistaken["mean-held-still"] for case in probe.cases])
    assert (verdict.mistake, verdict.score, verdict.question) == ("mean-held-still", 2, "")
    lines = to_text(verdict).splitlines()
    assert lines[0] == "layer_norm_backward: dx differs; dgamma and dbeta are right."
    assert re.fullmatch(r"    dx\[0, 0, :3\]  yours     \[[-. 0-9]+\]", lines[2])
    assert re.fullmatch(r"                  expected  \[[-. 0-9]+\]", lines[3])
    assert len(lines[2]) == len(lines[3])
    assert lines[5].startswith("This dx holds")


@pytest.mark.parametrize(
    ("change", "place", "yours"),
    [
        (lambda w: w + 1e-6, r"\[0\]", r"0\.\d{6,8}"),
        (
            lambda w: np.where(np.arange(5) == 4, 7.0, w),
            r"\[2:5\]",
            r"\[0\.\d{4} 0\.\d{4} 7\.0000\]",
        ),
        (lambda w: np.where(np.arange(5) == 4, 1e9, w), r"\[2:5\]", r"\[.* 1\.0000e\+09\]"),
        (lambda w: np.where(np.arange(5) == 1, np.inf, w), r"\[1:4\]", r"\[ +inf 0.*\]"),
        (lambda w: np.where(np.arange(5) == 3, np.nan, w), r"\[2:5\]", r"\[0.* +nan 0.*\]"),
    ],
)
def test_evidence_shows_the_difference(change, place, yours):
    """As few entries and as many decimals as it takes; nan and infinities as such."""
    verdict = judged(SOFTMAX, lambda s, axis=-1: change(softmax(s)) if s.ndim == 1 else softmax(s))
    (shown,) = verdict.evidence
    assert re.fullmatch("weights" + place, shown.place)
    assert re.fullmatch(yours, shown.yours)
    assert shown.yours != shown.expected and len(shown.yours) == len(shown.expected)
    assert verdict.given.startswith("scores = [")


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.floats(-11, 11))
def test_evidence_always_differs(seed, exponent):
    """Whatever the size of numbers and of the error, both sides read differently and fit a line."""
    rng = np.random.default_rng(seed)
    size = 10.0 ** rng.integers(-6, 7)

    def scaled(scores):
        return size * softmax(scores)

    task = exercise(scaled, (plain_scores, rows_of_scores), ("weights",))
    verdict = judged(task, lambda s: scaled(s) * (1 + 10.0**exponent * rng.random(s.shape)))
    if verdict.stage == "value":
        (shown,) = verdict.evidence
        assert shown.yours != shown.expected
        assert max(map(len, to_text(verdict).splitlines())) < 80


def test_a_mistake_must_explain_every_input():
    """Its sentence is given if it answers alike everywhere, and not if one input differs."""
    verdict = judged(SOFTMAX, lambda s, axis=-1: softmax(s, axis=0))
    assert (verdict.mistake, verdict.cause) == ("axis-0", "The columns sum to 1. Which?")

    def but_one(scores, axis=-1):
        return softmax(scores, axis=0 if len(scores) == 3 else -1)

    assert judged(SOFTMAX, but_one).mistake is None


def test_a_question_in_several_calls_blames_no_signature():
    """Where the course calls and unpacks, a TypeError may come from what was returned."""

    def asks(function, scores):
        weights, total = function(scores)
        return weights * total

    def weigh(scores):
        return softmax(scores), 2.0

    task = exercise(weigh, (plain_scores, rows_of_scores), ("weights",), asks=asks)
    probe = probe_of(task, 1)
    answers = [ask(lambda scores: None, case.inputs, probe.asks) for case in probe.cases]
    verdict = judge_function(probe, answers)
    assert verdict.headline.startswith("raises TypeError on plain scores. Python says: cannot")


def test_an_exception_is_no_evidence_of_a_mistake():
    """A mistake that does nothing but raise is never named: anything could raise."""
    probe = probe_of(SOFTMAX, 1)
    answers = [case.mistaken["only-raises"] for case in probe.cases]
    assert {answer.raised for answer in answers} == {"ValueError"}
    assert name_mistake(probe, answers) is None
    assert answers_agree(probe, answers[0], answers[0])
    assert not answers_agree(probe, Answer(failure="died"), answers[0])


def test_side_effects_are_part_of_a_mistake():
    """The same weights with and without a change in place are two different answers."""
    probe = probe_of(SOFTMAX, 1)
    spoiled = [case.mistaken["in-place"] for case in probe.cases]
    assert judge_function(probe, spoiled).mistake == "in-place"
    assert not answers_agree(probe, replace(spoiled[0], changed=()), spoiled[0])


def test_nan_agrees_with_nan():
    """A mistake that gives nan is recognised by it."""
    mistake = Mistake(
        name="negative-root", swap="np.sqrt(", into="np.sqrt(-9 - ", says="Which root?"
    )
    task = exercise(layer_norm_backward, (lopsided, flat), NORM.returns, mistakes=(mistake,))
    probe = probe_of(task, 1)
    answers = [case.mistaken["negative-root"] for case in probe.cases]
    assert np.isnan(answers[1].value[0]).any()
    assert judge_function(probe, answers).mistake == "negative-root"


def test_a_relation_tells_no_hidden_length():
    """The same generator may give hidden inputs other lengths; only those seen are told."""

    def narrow(rng):
        return (rng.normal(size=(3, 5)),)

    def wide(rng):
        return (rng.normal(size=(4, 97)),)

    def mean(x):
        return x.mean(axis=-1)

    task = exercise(mean, (narrow, narrow), ("average",))
    probe = probe_of(task, 1)
    probe = replace(probe, cases=probe.cases + hidden_cases(replace(task, inputs=(wide,)), 1))
    verdict = judge_function(probe, [ask(lambda x: x.sum(axis=-1), c.inputs) for c in probe.cases])
    assert verdict.relation == "factor-x-axis-1"
    assert "(here 5)" in verdict.cause and "97" not in repr(verdict)


@pytest.mark.parametrize(("off", "passed"), [(1e-5, True), (1e-3, False)])
def test_float32_is_compared_as_float32_allows(off, passed):
    """Off by 1e-5 is rounding in float32, off by 1e-3 is not; in float64 either is wrong."""

    def near(scores, axis=-1):
        right = softmax(scores)
        return right * (1 + off * (right.dtype == np.float32))

    assert judged(SOFTMAX, near).passed == passed
    assert not judged(SOFTMAX, lambda s, axis=-1: softmax(s) * (1 + off)).passed


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.booleans(), st.sampled_from(["dx", "dgamma", "dbeta"]))
def test_random_wrong_answers_are_never_accused(seed, single, part):
    """Noise, or one wrong entry on each input, gets no mistake and no relation, only a question."""
    rng = np.random.default_rng(seed)
    place = ("dx", "dgamma", "dbeta").index(part)

    def disturbed(right):
        if not single:
            return right + rng.normal(size=right.shape)
        wrong = right.copy()
        wrong[tuple(rng.integers(right.shape))] += 1 + rng.random()
        return wrong

    verdict = judged(NORM, part_wrong(place, how=disturbed))
    assert (verdict.mistake, verdict.relation, verdict.cause) == (None, None, "")
    assert verdict.question and not verdict.parts[part] and sum(verdict.parts.values()) == 2


def test_a_relation_has_the_place_of_a_cause():
    """Where no mistake is known, a general relation explains, and takes the question's place."""
    verdict = judged(NORM, part_wrong(0, how=lambda dx: -dx))
    assert (verdict.relation, verdict.question) == ("negated", "")
    assert verdict.cause.startswith("Your answer is the expected one with the opposite sign.")
    verdict = judged(SOFTMAX, lambda s, axis=-1: softmax(s).T)
    assert (verdict.stage, verdict.relation) == ("shape", "transposed")


SECRET = 77_345.25


def secret_scores(rng):
    """The numbers of hidden inputs, and their shapes, are known to this test."""
    return (np.full((int(rng.integers(3, 5)), 5), SECRET) + rng.normal(size=5),)


def carrying(kind):
    """Answers that try to carry a hidden input out, each in another way."""

    def function(scores, axis=-1):
        right = softmax(scores)
        if scores.ndim == 1 or scores[0, 0] < 1000:
            return right
        secret = int(scores[0, 0])
        if kind == "shape":
            return np.zeros((secret, 1), dtype=bool)
        if kind == "type":
            return type(f"x{secret}", (), {})()
        if kind == "other":
            return Other(f"x{secret}")
        if kind == "tuple":
            return (right,) * 7
        if kind == "message":
            raise ValueError(str(secret))
        if kind == "nan":
            return np.where(np.arange(right.size).reshape(right.shape) < 2, np.nan, right)
        if kind == "dict":
            return {secret: 1}
        if kind == "dtype":
            return right.astype(int) + secret
        return right + secret

    return function


@pytest.mark.parametrize(
    "kind", ["shape", "type", "other", "tuple", "message", "nan", "dict", "dtype", "value"]
)
def test_nothing_of_a_hidden_input_is_ever_said(kind):
    """No number of it, in no field and no rendering, whatever the answer carries."""
    probe = probe_of(exercise(softmax, (plain_scores, rows_of_scores), ("weights",)), 1)
    hidden = exercise(softmax, (secret_scores, secret_scores), ("weights",))
    probe = replace(probe, cases=probe.cases + hidden_cases(hidden, 3))
    inputs = probe.cases[-1].inputs[0]
    assert not probe.cases[-1].public and inputs[0, 0] > 1000
    verdict = judge_function(probe, [ask(carrying(kind), case.inputs) for case in probe.cases])
    assert not verdict.passed and verdict.evidence == () and verdict.given == ""
    said = repr(verdict) + to_text(verdict) + to_html(verdict)
    assert not re.search(r"7734|7735|\(\d, 5\)|\b2 of\b", said)
    assert "secret scores" in said


def test_an_exception_on_hidden_inputs_is_neither_named_nor_placed():
    """Which of Python's own errors, and on which line, could say many bits of a hidden input."""

    def telling(kind, scores):
        if any(np.array_equal(scores, case.inputs[0]) for case in probe_of(SOFTMAX, 1).cases):
            return softmax(scores)
        if kind == 0:
            raise KeyError
        raise (OSError if kind == 1 else NotImplementedError)

    headlines = {
        judged(
            SOFTMAX, lambda scores, axis=-1, kind=kind: telling(kind, scores), hidden=True
        ).headline
        for kind in range(3)
    }
    (headline,) = headlines
    assert "raises an exception" in headline and "line" not in headline


def test_hidden_containers_are_not_described():
    """Neither the keys nor the length of a hidden text's answer are told."""

    def hidden_text(rng):
        return ("alpha beta gamma delta epsilon",)

    for task in (WORDS, VOCABULARY):
        probe = probe_of(task, 1)
        hidden = hidden_cases(replace(task, inputs=(hidden_text,)), 1)
        probe = replace(probe, cases=probe.cases + hidden)

        def wrong(text, right=task.solution):
            return right(text) if "alpha" not in text else type(right(text))()

        verdict = judge_function(probe, [ask(wrong, case.inputs) for case in probe.cases])
        assert not verdict.passed and "hidden text" in verdict.headline
        assert not re.search(r"alpha|beta|5", repr(verdict))


def test_an_answer_learnt_by_heart_fails_in_grading():
    """Right where the learner can see it and wrong elsewhere: said so, and asked why."""
    probe = probe_of(SOFTMAX, 1)
    known = {case.inputs[0].tobytes(): case.expected for case in probe.cases}

    def by_heart(scores, axis=-1):
        return known.get(scores.tobytes(), np.zeros_like(scores))

    assert judged(SOFTMAX, by_heart).passed
    verdict = judged(SOFTMAX, by_heart, hidden=True)
    assert verdict.headline.startswith("right on the inputs that you can see, wrong on others")
    assert verdict.question.startswith("Does it use its arguments alone")


def test_rounding_where_zero_is_expected():
    """1e-17 in place of 0 is rounding; 1e-9 is not."""

    def nothing(scores):
        return np.zeros(3)

    task = exercise(nothing, (plain_scores, rows_of_scores), ("zeros",))
    assert judged(task, lambda s: np.full(3, 1e-17)).passed
    assert judged(task, lambda s: np.full(3, 1e-9)).stage == "value"


def test_small_numbers_are_judged_by_their_own_size():
    """A second moment of 1e-13 that is off by a tenth is wrong."""

    def second_moment(scores):
        return 1e-13 * (1 + scores**2)

    task = exercise(second_moment, (plain_scores, rows_of_scores), ("v",))
    assert judged(task, second_moment).passed
    assert judged(task, lambda s: 1.1 * second_moment(s)).stage == "value"


def test_whole_numbers_must_be_equal():
    """Large ids one apart are within a relative tolerance, and still different ids."""

    def ids(scores):
        return np.arange(5) + 10**9

    task = exercise(ids, (plain_scores, rows_of_scores), ("ids",))
    assert judged(task, lambda s: ids(s) + (np.arange(5) == 2)).stage == "value"


def test_arguments_are_shown_as_they_are_typed():
    """Short ones only: arrays with commas, a seed as its generator, text in quotes."""

    def sample(weights, rng):
        return float(weights @ rng.random(3))

    def three_weights(rng):
        return np.array([0.5, 0.25, 1 / 3]), Seeded(3)

    task = exercise(sample, (three_weights, three_weights), ("token",))
    shown = "weights = [0.5, 0.25, 0.33333], rng = np.random.default_rng(3)"
    assert judged(task, lambda w, rng: 7.5).given == shown


def test_judging_takes_milliseconds():
    """Seven inputs and eight mistakes are judged in well under 20 ms."""

    def tokens(rng):
        return rng.normal(size=(2, 3, 4, 5)), rng.normal(size=(2, 3, 4, 5)), rng.normal(size=5)

    mistakes = tuple(
        Mistake(name=f"m{k}", swap="dxhat = dout * gamma", into=f"dxhat = dout * {k}", says="?")
        for k in range(8)
    )
    task = exercise(layer_norm_backward, (tokens,) * 7, NORM.returns, mistakes=mistakes)
    probe = probe_of(task, 1)
    answers = [ask(part_wrong(0, how=lambda x: x**3), case.inputs) for case in probe.cases]
    began = time.perf_counter()
    for _ in range(5):
        judge_function(probe, answers)
    assert (time.perf_counter() - began) / 5 < 0.02
