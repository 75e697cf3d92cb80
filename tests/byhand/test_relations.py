"""General relations: named where they hold on every input, and never otherwise."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byhand.ask import ask
from byhand.relations import Pair, name_relation
from byhand_course.reference.attention import attend, attention_scores, scale_scores
from byhand_course.reference.embedding import embedding_backward
from byhand_course.reference.layer_norm import layer_norm_backward
from byhand_course.reference.loss import cross_entropy, cross_entropy_backward
from byhand_course.reference.softmax import entropy, softmax

TOLERANCE = 1e-7


def pairs_of(function, arguments, inputs, wrong, part=None, public=True):
    """Expected answers, or one part of them, each beside a wrong one made from it."""
    pairs = []
    for values in inputs:
        answer = ask(function, values).value
        expected = np.asarray(answer if part is None else answer[part])
        named = dict(zip(arguments, values, strict=False))
        yours = np.asarray(wrong(expected, **named))
        pairs.append(Pair(yours, expected, named, public))
    return pairs


def found(*arguments, **options):
    relation = name_relation(pairs_of(*arguments, **options), TOLERANCE)
    return relation and relation.name


@pytest.fixture
def scores(rng):
    """Q and K, all lengths different, on three inputs with as many axes as the course has."""
    sizes = [((3, 8), (5, 8)), ((4, 6), (7, 6)), ((2, 3, 5), (2, 7, 5))]
    return [(rng.normal(size=a), rng.normal(size=b)) for a, b in sizes]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("transposed", lambda s, Q, K: s.swapaxes(-1, -2)),
        ("axes-reversed", lambda s, Q, K: s.T),
        ("negated", lambda s, Q, K: -s),
        ("factor-2", lambda s, Q, K: 2 * s),
        ("factor-1/2", lambda s, Q, K: s / 2),
        ("factor-sqrt-Q-axis-1", lambda s, Q, K: s * Q.shape[-1] ** 0.5),
        ("factor-1/sqrt-Q-axis-1", lambda s, Q, K: s / Q.shape[-1] ** 0.5),
        ("factor-Q-axis-1", lambda s, Q, K: s * Q.shape[-1]),
        ("factor-1/K-axis-2", lambda s, Q, K: s / K.shape[-2]),
        ("factor-Q-axis-2", lambda s, Q, K: s * Q.shape[-2]),
        ("constant-factor", lambda s, Q, K: s * 1.702),
        ("constant-factor", lambda s, Q, K: s * -3),
        ("offset", lambda s, Q, K: s + 0.25),
        ("offset", lambda s, Q, K: s - s.mean()),
        (None, lambda s, Q, K: s - s.mean(axis=-1, keepdims=True)),
        (None, lambda s, Q, K: s**2),
        (None, lambda s, Q, K: s * s.shape[-1] ** 2),
        (None, lambda s, Q, K: s),
    ],
)
def test_attention_scores(scores, name, wrong):
    """A turned, scaled or shifted matrix of scores is told by name, and by whose length."""
    assert found(attention_scores, ("Q", "K"), scores, wrong) == name


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("factor-1/sqrt-d_k", lambda s, scores, d_k: scores / d_k),
        ("factor-sqrt-d_k", lambda s, scores, d_k: scores),
        ("factor-d_k", lambda s, scores, d_k: scores * d_k**0.5),
    ],
)
def test_scale_scores(rng, name, wrong):
    """A length that is an argument itself is called by its name; -inf does not hide the factor."""
    inputs = [(rng.normal(size=(2, 3)), 8), (rng.normal(size=(4, 5)), 6)]
    inputs[1][0][0, 1:] = -np.inf
    assert found(scale_scores, ("scores", "d_k"), inputs, wrong) == name


def test_an_order_of_axes(rng):
    """Batches stacked along the tokens: the order is told."""
    inputs = [(rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 4, 5))) for _ in range(2)]
    pairs = pairs_of(attend, ("weights", "V"), inputs, lambda x, **_: x.transpose(1, 0, 2))
    relation = name_relation(pairs, TOLERANCE)
    assert relation.name == "axes-permuted" and "(1, 0, 2)" in relation.says


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("whole-sums-to-1", lambda p, x: np.exp(x) / np.exp(x).sum()),
        ("wrong-axis-sums-to-1", lambda p, x: softmax(x, axis=0)),
        ("rows-do-not-sum-to-1", lambda p, x: np.exp(x)),
        ("rows-do-not-sum-to-1", lambda p, x: np.exp(x) / x.sum(axis=-1, keepdims=True)),
        ("rows-do-not-sum-to-1", lambda p, x: np.where(x > 0, p, 0)),
        (None, lambda p, x: softmax(2 * x)),
        (None, lambda p, x: p[..., ::-1]),
    ],
)
def test_softmax(rng, name, wrong):
    """Where sums fail, it is said over what they are 1; where they hold, they are not blamed."""
    inputs = [(rng.normal(size=size),) for size in [(5,), (3, 4), (4, 6), (2, 3, 5)]]
    assert found(softmax, ("x",), inputs, wrong) == name


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("factor-logits-axis-2", lambda d, logits, targets: d * logits.shape[-2]),
        ("factor-logits-rows", lambda d, logits, targets: d * targets.size),
        ("negated", lambda d, logits, targets: -d),
        (None, lambda d, logits, targets: softmax(logits) / targets.size),
    ],
)
def test_cross_entropy_backward(rng, name, wrong):
    """T forgotten and B times T forgotten are told apart."""
    sizes = [(2, 3, 7), (4, 5, 6)]
    inputs = [(rng.normal(size=s), rng.integers(s[-1], size=s[:-1])) for s in sizes]
    assert found(cross_entropy_backward, ("logits", "targets"), inputs, wrong) == name


def test_a_single_number_needs_several_inputs(rng):
    """The sum in place of the mean is told from three losses, and not guessed from one or two."""
    sizes = [(2, 3, 7), (4, 5, 6), (3, 2, 5)]
    inputs = [(rng.normal(size=s), rng.integers(s[-1], size=s[:-1])) for s in sizes]

    def summed(loss, logits, targets):
        return loss * targets.size

    names = ("logits", "targets")
    assert found(cross_entropy, names, inputs, summed) == "factor-logits-rows"
    assert found(cross_entropy, names, inputs[:2], summed) is None
    assert found(cross_entropy, names, inputs[:1], lambda loss, **_: 2 * loss) is None
    assert found(cross_entropy, names, inputs[:2], lambda loss, **_: loss + 1) is None


@pytest.mark.parametrize(
    ("name", "part", "wrong"),
    [
        ("negated", 0, lambda dx, **_: -dx),
        ("factor-dout-axis-1", 0, lambda dx, x, **_: dx * x.shape[-1]),
        ("factor-1/dout-rows", 1, lambda dgamma, x, **_: dgamma / np.prod(x.shape[:-1])),
        ("factor-1/dout-axis-3", 2, lambda dbeta, x, **_: dbeta / len(x)),
        ("constant-factor", 1, lambda dgamma, **_: 0.1 * dgamma),
        (None, 0, lambda dx, dout, **_: dout),
    ],
)
def test_layer_norm_backward(rng, name, part, wrong):
    """Each part has its own relation; vectors are told as well as arrays of three axes."""
    sizes = [(2, 3, 5), (4, 2, 7)]
    inputs = [(*rng.normal(1, 2, size=(2, *s)), rng.normal(size=s[-1])) for s in sizes]
    names = ("dout", "x", "gamma")
    assert found(layer_norm_backward, names, inputs, wrong, part=part) == name


def test_embedding_backward(rng):
    """`=` in place of `np.add.at` spoils the rows of repeated ids only, and that is said."""
    ids = [np.array([[1, 2, 1], [0, 4, 6]]), np.array([[3, 3, 0, 5]])]
    inputs = [(rng.normal(size=(*one.shape, 4)), one, 8, 5) for one in ids]
    names = ("dX", "ids", "vocab_size", "max_len")

    def overwritten(right, dX, ids, **_):
        wrong = np.zeros_like(right)
        wrong[ids] = dX
        return wrong

    name = found(embedding_backward, names, inputs, overwritten, part=0)
    assert name == "only-repeated-differ"

    def one_more_row(right, dX, ids, **_):
        wrong = overwritten(right, dX, ids)
        wrong[7] += 1
        return wrong

    assert found(embedding_backward, names, inputs, one_more_row, part=0) is None


def masked(scores):
    return np.where(np.triu(np.ones(scores.shape, dtype=bool), 1), -np.inf, scores)


@pytest.mark.parametrize(
    ("function", "wrong", "name"),
    [
        (masked, lambda s, scores: np.where(np.isinf(s), -1e9, s), "only-masked-differ"),
        (masked, lambda s, scores: np.where(np.isinf(s), 0, s), "only-masked-differ"),
        (masked, lambda s, scores: np.where(np.tri(len(s), k=1), scores, s), "only-masked-differ"),
        (np.tril, lambda s, scores: scores, "only-masked-differ"),
        (masked, lambda s, scores: np.where(np.tri(len(s), k=-1), scores, -np.inf), None),
        (masked, lambda s, scores: 2 * s + 1, None),
    ],
)
def test_a_mask(rng, function, wrong, name):
    """Wrong only where it should be -inf or 0; not so when others are wrong as well."""
    inputs = [(rng.normal(size=(n, n)),) for n in (4, 3, 5)]
    assert found(function, ("scores",), inputs, wrong) == name


def test_one_wrong_zero_is_not_a_mask(rng):
    """A single wrong entry on each of two inputs may stand where 0 should be by chance."""
    inputs = [(rng.normal(size=(n, n)),) for n in (4, 3)]

    def one_wrong(right, scores):
        return right + (scores == scores[0, -1])

    assert found(np.tril, ("scores",), inputs, one_wrong) is None


SHAPES = [(5,), (3, 5), (4, 4), (2, 3, 4), (2, 3, 4, 5), (), (1,), (1, 1), (1, 6)]
KINDS = ("normal", "integers", "zero", "ones", "sparse", "symmetric", "tiny")


def made(rng, shape, kind):
    if kind == "zero":
        return np.zeros(shape)
    if kind == "ones":
        return np.ones(shape)
    if kind == "integers":
        return rng.integers(-5, 6, size=shape)
    array = rng.normal(size=shape) * (1e-6 if kind == "tiny" else 1)
    if kind == "sparse":
        array = np.where(rng.random(shape) < 0.5, 0.0, array)
    if kind == "symmetric" and array.ndim > 1 and shape[-1] == shape[-2]:
        array = array + array.swapaxes(-1, -2)
    return array


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 2**32),
    st.lists(st.tuples(st.sampled_from(SHAPES), st.sampled_from(KINDS)), min_size=1, max_size=5),
    st.booleans(),
)
def test_noise_is_never_accused(seed, cases, small):
    """Random answers of the right shape have no relation to what was expected, whatever it is."""
    rng = np.random.default_rng(seed)
    pairs = []
    for shape, kind in cases:
        expected = made(rng, shape, kind)
        noise = rng.normal(size=shape) * (1e-3 if small else 1)
        arguments = {"x": rng.normal(size=(2, *shape)), "ids": rng.integers(5, size=4), "n": 3}
        pairs.append(Pair(np.asarray(expected + noise), expected, arguments))
    assert name_relation(pairs, TOLERANCE) is None


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32), st.lists(st.sampled_from(SHAPES[:5]), min_size=1, max_size=6))
def test_a_single_wrong_entry_is_never_accused(seed, shapes):
    """One wrong entry on each input, of arrays and of weights, follows no rule."""
    rng = np.random.default_rng(seed)
    for made_from in (lambda x: x, softmax):
        pairs = []
        for shape in shapes:
            expected = made_from(rng.normal(size=shape))
            yours = expected.copy()
            yours[tuple(rng.integers(shape))] += rng.normal()
            arguments = {"x": expected, "ids": rng.integers(4, size=3)}
            pairs.append(Pair(yours, expected, arguments))
        relation = name_relation(pairs, TOLERANCE)
        if made_from is softmax and relation:  # true: half of all rows or more do not sum to 1
            assert relation.name == "rows-do-not-sum-to-1"
            assert 2 * len(shapes) >= sum(math.prod(shape[:-1]) for shape in shapes)
        else:
            assert relation is None


@pytest.mark.parametrize(
    ("expected", "yours"),
    [
        (np.zeros((3, 5)), np.zeros((5, 3))),  # no number tells that it was turned
        (np.full((3, 4), 2.0), np.full((3, 4), 6.0)),  # three times as much, or 4 more?
        (np.ones((1, 5)), np.ones((5, 1))),
        (np.arange(5.0)[None], np.arange(5.0)[:, None]),  # a row as a column: nothing was turned
        (np.array(2.0), np.array(4.0)),
        (np.array([2.0]), np.array([4.0])),
        (np.diag([2.0, 2.0, 2.0]), np.diag([6.0, 6.0, 6.0])),
        (np.zeros(4), np.ones(4)),
        (np.zeros((2, 3)), -np.zeros((2, 3))),
        (np.array([True, False]), np.array([False, True])),
        (np.zeros((0, 3)), np.zeros((3, 0))),
    ],
)
def test_what_tells_nothing_is_not_accused(expected, yours):
    """Zeros, constants, single entries and emptiness allow several readings, so none is given."""
    assert name_relation([Pair(yours, expected, {"x": expected})] * 2, TOLERANCE) is None


def test_one_input_that_does_not_fit_is_enough(scores, rng):
    """A relation that explains all inputs but one explains nothing; nor does one wrong zero."""
    pairs = pairs_of(attention_scores, ("Q", "K"), scores, lambda s, **_: 2 * s)
    assert name_relation(pairs, TOLERANCE).name == "factor-2"
    stray = Pair(np.ones(3), np.zeros(3), {"Q": np.ones(3), "K": np.ones(3)})
    assert name_relation([*pairs, stray], TOLERANCE) is None
    right = Pair(np.ones(3), np.ones(3), {"Q": np.ones(3), "K": np.ones(3)})
    assert name_relation([*pairs, right], TOLERANCE) is None
    harmless = Pair(np.zeros(3), np.zeros(3), {})
    assert name_relation([*pairs, harmless], TOLERANCE).name == "factor-2"


def test_float32_answers_have_relations_too(scores):
    """Rounding in float32 does not hide a factor."""
    single = [tuple(x.astype(np.float32) for x in pair) for pair in scores]
    name = found(attention_scores, ("Q", "K"), single, lambda s, Q, K: s * Q.shape[-1] ** 0.5)
    assert name == "factor-sqrt-Q-axis-1"


def test_words_hold_no_number_of_a_hidden_input(rng):
    """A length, a factor or an offset is told only where the learner saw the input."""
    inputs = [(rng.normal(size=(n, 11)), rng.normal(size=(n + 1, 11))) for n in (3, 4)]
    hidden = [(rng.normal(size=(n, 97)), rng.normal(size=(n + 1, 97))) for n in (5, 6)]

    def scaled(s, Q, K):
        return s * Q.shape[-1] ** 0.5

    names = ("Q", "K")
    pairs = pairs_of(attention_scores, names, inputs, scaled)
    pairs += pairs_of(attention_scores, names, hidden, scaled, public=False)
    relation = name_relation(pairs, TOLERANCE)
    assert relation.name == "factor-sqrt-Q-axis-1"
    assert "(here 11)" in relation.says
    for wrong in (lambda s, **_: s * 0.123, lambda s, **_: s + 0.123):
        secret = name_relation(
            pairs_of(attention_scores, names, hidden, wrong, public=False), TOLERANCE
        )
        assert secret is None or "123" not in secret.says


def test_entropy_of_one_row_off_by_a_base(rng):
    """log2 in place of ln: a constant, and the same one on every input."""
    inputs = [(softmax(rng.normal(size=s)),) for s in [(5,), (3, 4), (2, 7)]]
    says = name_relation(
        pairs_of(entropy, ("weights",), inputs, lambda e, **_: e / np.log(2)), TOLERANCE
    ).says
    assert says.startswith("Your answer is 1.4427 times the expected one, on every input.")
