# mypy: allow-untyped-defs
"""What is graded in lesson 7, and the wrong answers it knows."""

import numpy as np

from byhand_course.lessons.exercise import ByHand, Exercise, Lesson, Mistake, Prediction, Slip
from byhand_course.reference.attention import (
    attend,
    attention,
    attention_scores,
    attention_weights,
    scale_scores,
)
from byhand_course.reference.softmax import softmax

# One query, two keys: the scores of the exercise by hand.
HAND_SCORES, HAND_D_K = np.array([8.0, 0.0]), 16


def queries_and_keys(rng):
    return rng.normal(size=(3, 4)), rng.normal(size=(5, 4))


def square_queries_and_keys(rng):
    """Everything fits everything here; only the values tell."""
    return rng.normal(size=(5, 5)), rng.normal(size=(5, 5))


def a_batch_of_queries_and_keys(rng):
    return rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 5, 4))


def a_batch_with_an_axis_of_heads(rng):
    return rng.normal(size=(2, 1, 3, 4)), rng.normal(size=(2, 1, 5, 4))


def a_batch_of_as_many_keys_as_features(rng):
    """As many sequences as keys as features, so that even reversed axes fit."""
    return rng.normal(size=(3, 2, 3)), rng.normal(size=(3, 3, 3))


def whole_number_queries(rng):
    """The keys stay floats, so that the scores are floats however they are computed."""
    return rng.integers(-5, 6, size=(4, 3)), rng.normal(size=(6, 3))


def float32_queries_and_keys(rng):
    """All above 0, so that rounding in float32 stays small beside the sums."""
    queries, keys = rng.uniform(0.5, 1.5, size=(3, 5)), rng.uniform(0.5, 1.5, size=(4, 5))
    return queries.astype(np.float32), keys.astype(np.float32)


SCORED = "Q @ K.swapaxes(-1, -2)"

ATTENTION_SCORES = Exercise(
    name="attention-scores",
    objective="Score every query against every key in one product.",
    minutes=6,
    solution=attention_scores,
    inputs=(
        queries_and_keys,
        square_queries_and_keys,
        a_batch_of_queries_and_keys,
        a_batch_with_an_axis_of_heads,
        a_batch_of_as_many_keys_as_features,
        whole_number_queries,
        float32_queries_and_keys,
    ),
    returns=("scores",),
    points=(2,),
    properties={
        "there is one score for each query and key": lambda scores, Q, K: (
            scores.shape == (*Q.shape[:-1], K.shape[-2])
        ),
        "a query that asks for nothing scores 0 everywhere": lambda scores, Q, K: (
            attention_scores(0 * Q, K) == 0
        ).all(),
    },
    hints=(
        "Each score is a dot product of a row of Q with a row of K. The sign @ takes rows of its "
        "left side with columns of its right side.",
        "The keys must stand in columns. Which two axes of K change places, and which must stay "
        "when there is a batch in front?",
        "An array's swapaxes takes the two axes to exchange. Counted from the end they are -1 "
        "and -2, however many stand before them.",
    ),
    mistakes=(
        Mistake(
            name="all-axes-reversed",
            swap=SCORED,
            into="Q @ K.T",
            says=".T turns the order of all axes around, which is right for a matrix only. In a "
            "batch, which two axes should change places?",
        ),
        Mistake(
            name="first-axes-swapped",
            swap=SCORED,
            into="Q @ K.swapaxes(0, 1)",
            says="Axes 0 and 1 are the last two of a matrix only. How can you name the last two "
            "axes, however many there are?",
        ),
        Mistake(
            name="keys-ask",
            swap=SCORED,
            into="K @ Q.swapaxes(-1, -2)",
            says="Each row belongs to a key here, each column to a query. Whose scores should a "
            "row hold?",
        ),
        Mistake(
            name="keys-not-turned",
            swap=SCORED,
            into="Q @ K",
            says="Queries meet the columns of K here. Where does a key stand in K: in a row or in "
            "a column?",
        ),
        Mistake(
            name="every-sequence-with-every-other",
            swap=SCORED,
            into="np.dot(Q, K.swapaxes(-1, -2))",
            says="np.dot pairs every sequence of the batch with every other, which shows in the "
            "number of axes. Which sign keeps them apart?",
        ),
        Mistake(
            name="entry-by-entry",
            swap=SCORED,
            into="Q * K",
            says="The sign * multiplies entry by entry, and only where the shapes happen to fit. "
            "How many products belong into one score?",
        ),
        Mistake(
            name="only-the-own-key",
            swap=SCORED,
            into="(Q * K).sum(axis=-1)",
            says="Query t meets key t alone here. With how many keys should each query be "
            "compared?",
        ),
        Mistake(
            name="queries-with-queries",
            swap=SCORED,
            into="Q @ Q.swapaxes(-1, -2)",
            says="Queries are compared with queries, and K has no part in the scores. What is a "
            "query compared with?",
        ),
        Mistake(
            name="scaled-already",
            swap=SCORED,
            into=f"{SCORED} / K.shape[-1] ** 0.5",
            says="These scores are divided by the root of d_k already. That is the next line of "
            "the formula: what does this docstring promise?",
        ),
        Mistake(
            name="mean-of-the-products",
            swap=SCORED,
            into=f"{SCORED} / K.shape[-1]",
            says="The products are averaged over the features. Does a dot product divide by "
            "anything?",
        ),
        Mistake(
            name="cosine-instead-of-dot",
            swap=SCORED,
            into="Q / np.linalg.norm(Q, axis=-1, keepdims=True) @ (\n"
            "        K / np.linalg.norm(K, axis=-1, keepdims=True)\n"
            "    ).swapaxes(-1, -2)",
            says="These are cosine similarities: the lengths are divided out. May a query ask "
            "more loudly than another by being longer?",
        ),
        Mistake(
            name="softmax-already",
            swap=SCORED,
            into=f"softmax({SCORED})",
            says="Each row sums to 1, so these are weights already. Which lines of the formula "
            "are still to come after the scores?",
        ),
    ),
)


def _best_weight(scores: np.ndarray) -> float:
    return round(float(attention_weights(scores)[0]), 2)


WITH_ROOT = _best_weight(scale_scores(HAND_SCORES, HAND_D_K))
WITHOUT_ROOT = _best_weight(HAND_SCORES)

WITH_AND_WITHOUT_ROOT = ByHand(
    name="with-and-without-root",
    objective="Work out by hand how softmax saturates when scores are not divided by the root.",
    minutes=5,
    points=1,
    form="a list of two weights to two decimals, such as [0.25, 0.50]",
    answer=[WITH_ROOT, WITHOUT_ROOT],
    tolerance=0.01,
    hints=(
        "Work out two softmaxes of two scores each. For the first, what is the root of "
        f"{HAND_D_K}?",
        f"With the root the scores are {HAND_SCORES[0] / HAND_D_K**0.5:g} and 0, without it "
        f"{HAND_SCORES[0]:g} and 0. The power of e of a score of 0 is 1.",
        f"With the root: {np.exp(2):.2f} divided by {np.exp(2) + 1:.2f}. Without it, "
        f"{np.exp(8):.0f} takes the place of {np.exp(2):.2f}. Round both to two decimals.",
    ),
    slips=(
        Slip(
            name="the-other-key",
            answer=[round(1 - WITH_ROOT, 2), round(1 - WITHOUT_ROOT, 2)],
            says=f"These are the weights of the other key, whose score is {HAND_SCORES[1]:g}. "
            "What is left for the first?",
        ),
        Slip(
            name="turned-around",
            answer=[WITHOUT_ROOT, WITH_ROOT],
            says="Both weights are right, in the other order. Which of the two was asked for "
            "first?",
        ),
        Slip(
            name="divided-by-d-k",
            answer=[_best_weight(HAND_SCORES / HAND_D_K), WITHOUT_ROOT],
            says=f"The first is what you get when you divide by {HAND_D_K} itself. What is the "
            f"square root of {HAND_D_K}?",
        ),
        Slip(
            name="divided-after-softmax",
            answer=[round(WITHOUT_ROOT / HAND_D_K**0.5, 2), WITHOUT_ROOT],
            says="You divided the weight, not the scores, so the weights no longer sum to 1. "
            "Before which step does the root act?",
        ),
        Slip(
            name="softmax-forgotten",
            answer=(HAND_SCORES[0] / np.array([HAND_D_K**0.5, 1])).tolist(),
            says="These are the first key's scores. Which step turns scores into weights?",
        ),
        Slip(
            name="second-power-forgotten",
            answer=[1.0, 1.0],
            says="The second is right. With the root, the first key's lead is only 2: what is e "
            "to the power of 0, and how much of the sum is that?",
        ),
    ),
)


def plain_scores(rng):
    return 3 * rng.normal(size=(3, 5)), 8


def square_scores(rng):
    return 2 * rng.normal(size=(4, 4)), 3


def a_batch_of_scores(rng):
    return 8 * rng.normal(size=(2, 3, 5)), 64


def scores_of_one_feature(rng):
    return rng.normal(size=(5, 3)), 1


def whole_number_scores(rng):
    """Whole numbers whose scaled values are not whole."""
    return rng.integers(-20, 21, size=(3, 6)), 7


def float32_scores(rng):
    return rng.uniform(1, 9, size=(3, 4)).astype(np.float32), 5


DIVIDED = "return scores / d_k**0.5"

SCALE_SCORES = Exercise(
    name="scale-scores",
    objective="Scale scores so that their spread does not depend on the number of features.",
    minutes=4,
    solution=scale_scores,
    inputs=(
        plain_scores,
        square_scores,
        a_batch_of_scores,
        scores_of_one_feature,
        whole_number_scores,
        float32_scores,
    ),
    returns=("scaled",),
    points=(1,),
    properties={
        "scaling twice divides by d_k": lambda scaled, scores, d_k: np.allclose(
            scale_scores(scaled, d_k), scores / d_k, rtol=1e-4
        ),
        "the order of the scores is kept": lambda scaled, scores, d_k: (
            np.diff(scaled.ravel()[np.argsort(scores, axis=None)]) >= 0
        ).all(),
    },
    hints=(
        "The plot shows the variance. By which number do you divide the scores, to divide their "
        "variance by d_k?",
        "Dividing numbers by c divides their variance by c squared. Which c has d_k for its "
        "square?",
        "The square root of d_k: d_k to the power of a half. In Python ** binds more tightly "
        "than /, so mind how you write that half.",
    ),
    mistakes=(
        Mistake(
            name="divided-by-d-k",
            swap=DIVIDED,
            into="return scores / d_k",
            says="You divide by d_k itself. Dividing by c divides the variance by c squared: what "
            "variance is left, if it was d_k?",
        ),
        Mistake(
            name="not-scaled",
            swap=DIVIDED,
            into="return scores",
            says="The scores come back as they were, with variance d_k. What brings it to 1?",
        ),
        Mistake(
            name="multiplied",
            swap=DIVIDED,
            into="return scores * d_k**0.5",
            says="The scores are multiplied, so their variance grows from d_k to its square. "
            "Should scores of long vectors become larger or smaller?",
        ),
        Mistake(
            name="half-of-d-k",
            swap=DIVIDED,
            into="return scores / (d_k / 2)",
            says="You divide by half of d_k. Which does Python take first in d_k ** 1/2, the "
            "power or the division?",
        ),
        Mistake(
            name="power-before-division",
            swap=DIVIDED,
            into="return scores / d_k**1 / 2",
            says="The scores are divided by d_k and by 2. In which order does Python work out "
            "scores / d_k**1/2, and where would brackets help?",
        ),
        Mistake(
            name="root-of-the-number-of-keys",
            swap=DIVIDED,
            into="return scores / scores.shape[-1] ** 0.5",
            says="You take the root of the number of keys. Over how many products does the sum "
            "in one score run?",
        ),
        Mistake(
            name="root-of-the-number-of-queries",
            swap=DIVIDED,
            into="return scores / scores.shape[-2] ** 0.5",
            says="You take the root of the number of queries. Over how many products does the "
            "sum in one score run?",
        ),
        Mistake(
            name="standardised",
            swap=DIVIDED,
            into="return scores / scores.std()",
            says="You divide by the spread of these very scores, so each input is scaled by "
            "another number. Which one number does the docstring give you?",
        ),
        Mistake(
            name="root-of-everything",
            swap=DIVIDED,
            into="return np.sqrt(scores / d_k)",
            says="The root is taken of the scores as well, and a negative score has none. Under "
            "which part of the formula does the root sign reach?",
        ),
        Mistake(
            name="rounded-down",
            swap=DIVIDED,
            into="return scores // d_k**0.5",
            says="Two slashes round every score down to a whole number. What does 1.9 // 1.0 give?",
        ),
        Mistake(
            name="scores-changed-in-place",
            swap=DIVIDED,
            into="scores /= d_k**0.5\n    return scores",
            says="/= writes into the caller's own scores, which are other scores after the call. "
            "How do you get a new array instead?",
        ),
        Mistake(
            name="softmax-already",
            swap=DIVIDED,
            into="return softmax(scores / d_k**0.5)",
            says="Each row sums to 1, so softmax has run as well. Which line of the formula does "
            "that, this one or the next?",
        ),
    ),
)


def scores_of_three_queries(rng):
    return (1.5 * rng.normal(size=(3, 5)),)


def scores_of_as_many_queries_as_keys(rng):
    """As within one sequence; here a lost axis broadcasts without an error."""
    return (1.5 * rng.normal(size=(4, 4)),)


def scores_in_a_batch(rng):
    return (1.5 * rng.normal(size=(2, 3, 5)),)


def scores_with_an_axis_of_heads(rng):
    return (1.5 * rng.normal(size=(2, 2, 3, 4)),)


def huge_scores(rng):
    return (1000 + rng.normal(size=(3, 5)),)


def scores_with_hidden_keys(rng):
    """Two keys hidden from each query, and no key from all of them."""
    scores = 1.5 * rng.normal(size=(3, 7))
    columns = rng.permutation(7)[:6].reshape(3, 2)
    scores[np.arange(3)[:, None], columns] = -np.inf
    return (scores,)


def scores_in_float32(rng):
    return (rng.normal(size=(3, 6)).astype(np.float32),)


WEIGHED = "return softmax(scores, axis=-1)"

ATTENTION_WEIGHTS = Exercise(
    name="attention-weights",
    objective="Turn scores into weights, along the axis on which keys compete for a query.",
    minutes=4,
    solution=attention_weights,
    inputs=(
        scores_of_three_queries,
        scores_of_as_many_queries_as_keys,
        scores_in_a_batch,
        scores_with_an_axis_of_heads,
        huge_scores,
        scores_with_hidden_keys,
        scores_in_float32,
    ),
    returns=("weights",),
    points=(2,),
    properties={
        "each row sums to 1": lambda weights, scores: np.allclose(
            weights.sum(axis=-1), 1, rtol=1e-5
        ),
        "a hidden key gets weight 0": lambda weights, scores: (
            weights[np.isneginf(scores)] == 0
        ).all(),
    },
    hints=(
        "Your softmax of lesson 3 does the work. One thing is left for you to decide: the axis.",
        "A row holds the scores of one query. What competes within a row, and which axis runs "
        "along it?",
        "The keys compete, and they stand along the last axis, however many axes come before it. "
        "How do you count from the end?",
    ),
    mistakes=(
        Mistake(
            name="queries-compete",
            swap=WEIGHED,
            into="return softmax(scores, axis=-2)",
            says="Softmax runs over the queries, so each column sums to 1. Who should share out "
            "a whole: the queries of one key, or the keys of one query?",
        ),
        Mistake(
            name="along-axis-0",
            swap=WEIGHED,
            into="return softmax(scores, axis=0)",
            says="Softmax runs along axis 0: the queries of a matrix, the sequences of a batch. "
            "Along which axis do the keys stand, however many there are?",
        ),
        Mistake(
            name="along-axis-1",
            swap=WEIGHED,
            into="return softmax(scores, axis=1)",
            says="Axis 1 runs over the keys in a matrix only. Along which axis do they stand when "
            "there is a batch in front?",
        ),
        Mistake(
            name="over-everything",
            swap=WEIGHED,
            into="return softmax(scores, axis=None)",
            says="All weights together sum to 1, so queries share one cake. How much weight "
            "should each query have to give away?",
        ),
        Mistake(
            name="powers-that-overflow",
            swap=WEIGHED,
            into="return np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)",
            says="Huge scores overflow here, though your softmax of lesson 3 survives them. Why "
            "not let it do the work?",
        ),
        Mistake(
            name="keepdims-forgotten",
            swap=WEIGHED,
            into="return np.exp(scores) / np.exp(scores).sum(axis=-1)",
            says="The sum has lost its axis, so each column, not each row, is divided by a sum. "
            "Your softmax of lesson 3 knows better: what does it do for you?",
        ),
        Mistake(
            name="exponential-forgotten",
            swap=WEIGHED,
            into="return scores / scores.sum(axis=-1, keepdims=True)",
            says="The scores are divided by their sum, so a negative score gets a negative "
            "weight. Which step makes every score positive first?",
        ),
        Mistake(
            name="softmax-twice",
            swap=WEIGHED,
            into="return softmax(softmax(scores))",
            says="Softmax runs twice, and weights between 0 and 1 serve as scores the second "
            "time. How often does it stand in the formula?",
        ),
        Mistake(
            name="scaled-once-more",
            swap=WEIGHED,
            into="return softmax(scores / scores.shape[-1] ** 0.5)",
            says="You divide the scores by a root once more before softmax. Which line has done "
            "the scaling, and by which number?",
        ),
        Mistake(
            name="hidden-keys-count-as-0",
            swap=WEIGHED,
            into="return softmax(np.where(np.isneginf(scores), 0, scores))",
            says="A hidden key counts as if its score were 0. What is e to the power of 0, and "
            "what weight should a hidden key get?",
        ),
        Mistake(
            name="keys-in-the-rows",
            swap=WEIGHED,
            into="return softmax(scores).swapaxes(-1, -2)",
            says="The right weights, turned: each row belongs to a key. Whose weights should a "
            "row hold?",
        ),
        Mistake(
            name="best-key-only",
            swap=WEIGHED,
            into="return (scores == scores.max(axis=-1, keepdims=True)) * 1.0",
            says="The best key gets everything. How much should a key get that scores nearly as "
            "well?",
        ),
    ),
)


def _weights(rng, *shape):
    return softmax(1.5 * rng.normal(size=shape))


def weights_and_values(rng):
    return _weights(rng, 3, 5), rng.normal(size=(5, 2))


def as_many_queries_as_values(rng):
    """As within one sequence."""
    return _weights(rng, 4, 4), rng.normal(size=(4, 3))


def square_weights_and_values(rng):
    """Everything fits everything here; only the values tell."""
    return _weights(rng, 5, 5), rng.normal(size=(5, 5))


def a_batch_of_weights_and_values(rng):
    return _weights(rng, 2, 3, 5), rng.normal(size=(2, 5, 4))


def weights_with_an_axis_of_heads(rng):
    return _weights(rng, 2, 1, 3, 4), rng.normal(size=(2, 1, 4, 5))


def whole_number_values(rng):
    return _weights(rng, 4, 6), rng.integers(-9, 10, size=(6, 3))


def float32_weights_and_values(rng):
    """All above 0, so that rounding in float32 stays small beside the sums."""
    weights, values = _weights(rng, 3, 4), rng.uniform(0.5, 1.5, size=(4, 6))
    return weights.astype(np.float32), values.astype(np.float32)


MIXED = "return weights @ V"

ATTEND = Exercise(
    name="attend",
    objective="Blend the values of all keys by the weights of each query.",
    minutes=5,
    solution=attend,
    inputs=(
        weights_and_values,
        as_many_queries_as_values,
        square_weights_and_values,
        a_batch_of_weights_and_values,
        weights_with_an_axis_of_heads,
        whole_number_values,
        float32_weights_and_values,
    ),
    returns=("output",),
    points=(2,),
    properties={
        "each query gets one blend of values": lambda output, weights, V: (
            output.shape == (*weights.shape[:-1], V.shape[-1])
        ),
        "equal values blend into themselves": lambda output, weights, V: np.allclose(
            attend(weights, np.ones_like(V)), 1, rtol=1e-5
        ),
    },
    hints=(
        "Take one query: a row of weights, one for each value. You did this by hand in lesson 6.",
        "The blend is a sum over the keys. Along which axis of the weights, and along which axis "
        "of V, do the keys stand?",
        "Last axis of the weights, last but one of V: those are the inner lengths of a matrix "
        "product. Does anything have to be turned?",
    ),
    mistakes=(
        Mistake(
            name="weights-turned",
            swap=MIXED,
            into="return weights.swapaxes(-1, -2) @ V",
            says="The weights are turned, so each output sums over queries. Over what should the "
            "blend of one query run?",
        ),
        Mistake(
            name="values-turned",
            swap=MIXED,
            into="return weights @ V.swapaxes(-1, -2)",
            says="V is turned, as K is in the scores. In which axis of V do the keys stand, and "
            "where does the product want them?",
        ),
        Mistake(
            name="values-on-the-left",
            swap=MIXED,
            into="return V @ weights",
            says="The values stand on the left here. Write both shapes side by side: in which "
            "order do the numbers of keys stand next to each other?",
        ),
        Mistake(
            name="entry-by-entry",
            swap=MIXED,
            into="return weights * V",
            says="The sign * multiplies entry by entry, and only where the shapes happen to fit. "
            "How many values go into one blend?",
        ),
        Mistake(
            name="products-not-added",
            swap=MIXED,
            into="return weights[..., None] * V[..., None, :, :]",
            says="Each value has been multiplied by its weight, and all of them come back side "
            "by side. How do they become one output for each query?",
        ),
        Mistake(
            name="every-sequence-with-every-other",
            swap=MIXED,
            into="return np.dot(weights, V)",
            says="np.dot pairs every sequence of the batch with every other, which shows in the "
            "number of axes. Which sign keeps them apart?",
        ),
        Mistake(
            name="divided-by-the-number-of-keys",
            swap=MIXED,
            into="return weights @ V / V.shape[-2]",
            says="The blend is divided by the number of keys. The weights sum to 1 already: what "
            "is left to divide?",
        ),
        Mistake(
            name="softmax-once-more",
            swap=MIXED,
            into="return softmax(weights) @ V",
            says="The weights go through softmax once more, which makes them nearly equal. Which "
            "line has made weights of the scores?",
        ),
        Mistake(
            name="best-value-only",
            swap=MIXED,
            into="best = weights.argmax(axis=-1)[..., None]\n"
            "    return np.take_along_axis(V, best, axis=-2)",
            says="Each query gets the value of its best key alone. What becomes of the other "
            "weights?",
        ),
        Mistake(
            name="output-turned",
            swap=MIXED,
            into="return (weights @ V).swapaxes(-1, -2)",
            says="The right numbers, with queries in the columns. What should a row of the output "
            "belong to?",
        ),
        Mistake(
            name="queries-added-up",
            swap=MIXED,
            into="return (weights @ V).sum(axis=-2)",
            says="The outputs of all queries are added up. How many outputs should three queries "
            "get?",
        ),
        Mistake(
            name="token-added",
            swap=MIXED,
            into="return V + weights @ V",
            says="The values themselves are added to the blend. Something like it comes in lesson "
            "11: does the formula have a sum here?",
        ),
    ),
)

IN_ORDER, ROOT_TOO_LATE, SOFTMAX_LAST, BLENDED_TOO_SOON = (
    "compare, divide, softmax, blend",
    "compare, softmax, divide, blend",
    "compare, divide, blend, softmax",
    "compare, blend, divide, softmax",
)


def _right_order() -> str:
    """The order that gives what attention gives, found by trying all four."""
    rng = np.random.default_rng(0)
    Q, K, V = (rng.normal(size=size) for size in [(3, 8), (5, 8), (5, 8)])
    steps = {
        "compare": lambda now: attention_scores(now, K),
        "divide": lambda now: scale_scores(now, 8),
        "softmax": attention_weights,
        "blend": lambda now: attend(now, V),
    }
    right = []
    for order in (IN_ORDER, ROOT_TOO_LATE, SOFTMAX_LAST, BLENDED_TOO_SOON):
        now = Q
        for step in order.split(", "):
            now = steps[step](now)
        if np.allclose(now, attention(Q, K, V)[0]):
            right.append(order)
    (only,) = right
    return only


FORMULA_ORDER = Prediction(
    name="formula-order",
    objective="Put the four steps of the attention formula in order, from memory.",
    minutes=3,
    points=1,
    answer=_right_order(),
    options=(ROOT_TOO_LATE, BLENDED_TOO_SOON, IN_ORDER, SOFTMAX_LAST),
    hints=(
        "Write the formula on paper without looking it up, and read it from the inside out.",
        "What stands in the brackets of softmax? All of that is done before softmax.",
        "The root stands inside the brackets, V outside. Which of the orders fits?",
    ),
    slips=(
        Slip(
            name="root-after-softmax",
            answer=ROOT_TOO_LATE,
            says="Dividing the weights leaves them as sharp as they were, and their sum is no "
            "longer 1. Where must the root stand, to keep softmax from saturating?",
        ),
        Slip(
            name="softmax-last",
            answer=SOFTMAX_LAST,
            says="Softmax would run over the features of the blends here. Which numbers have to "
            "become weights, and before which step?",
        ),
        Slip(
            name="blended-by-bare-scores",
            answer=BLENDED_TOO_SOON,
            says="The values would be blended by bare scores, some of them negative. What makes "
            "weights of scores, and when is it needed?",
        ),
    ),
)


def _slope(scores: np.ndarray) -> float:
    """How fast the first weight moves with its own score."""
    weight = attention_weights(scores)[0]
    return float(weight * (1 - weight))


LESSON = Lesson(
    number=7,
    title="The attention formula, line by line",
    assignment="week2_attention",
    objective=r"write $\text{softmax}(QK^\top/\sqrt{d_k})\,V$ from memory, and justify each part "
    "of it.",
    needs="softmax (lesson 3); queries, keys and values (lesson 6)",
    place="attention",
    worked_pages=("03-attention.html",),
    exercises=(
        ATTENTION_SCORES,
        WITH_AND_WITHOUT_ROOT,
        SCALE_SCORES,
        ATTENTION_WEIGHTS,
        ATTEND,
        FORMULA_ORDER,
    ),
    worked={
        "hand_score": f"{HAND_SCORES[0]:g}",
        "hand_d_k": HAND_D_K,
        "e_2": np.exp(2.0),
        "e_8": round(float(np.exp(HAND_SCORES[0]))),
        "slope_with": _slope(scale_scores(HAND_SCORES, HAND_D_K)),
        "slope_without": _slope(HAND_SCORES),
    },
)
