# mypy: allow-untyped-defs
"""What is graded in lesson 15, and the wrong answers it knows."""

import numpy as np

from byhand_course.lessons.exercise import (
    ByHand,
    Exercise,
    Lesson,
    Mistake,
    Prediction,
    Slip,
    two_decimals,
)
from byhand_course.lessons.lesson10_multi_head_attention.exercises import attention_inputs
from byhand_course.reference.attention import attention, attention_backward, causal_mask
from byhand_course.reference.feed_forward import linear_backward
from byhand_course.reference.multi_head import multi_head_attention_backward
from byhand_course.reference.softmax import softmax, softmax_backward

# The row whose Jacobian the prose writes out, and the gradient that arrives there.
SHOWN_P = np.array([0.5, 0.3, 0.2])
SHOWN_G = np.array([2.0, -1.0, 3.0])
SHOWN_J = np.diag(SHOWN_P) - np.outer(SHOWN_P, SHOWN_P)
SHOWN_DS = softmax_backward(SHOWN_G, SHOWN_P)

# The row that is worked by hand.
HAND_P = np.array([0.2, 0.2, 0.6])
HAND_G = np.array([7.0, 2.0, -4.0])
HAND_AVERAGE = float(HAND_G @ HAND_P)

SCORE_GRADIENTS_BY_HAND = ByHand(
    name="score-gradients-by-hand",
    objective="Carry a gradient back through a softmax of three scores by hand.",
    minutes=5,
    points=1,
    form="a list of three numbers to two decimals, such as [0.25, -1.00, 0.50]",
    answer=two_decimals(softmax_backward(HAND_G, HAND_P)),
    tolerance=0.01,
    hints=(
        "Write the nine slopes down first: three on the diagonal, six beside it. What should "
        "each row of them sum to?",
        "Score 0 moves all three weights, so it collects three products: each weight's gradient "
        "times that weight's slope for score 0. All of them stand in column 0.",
        f"Column 0 holds {HAND_P[0] * (1 - HAND_P[0]):.2f}, {-HAND_P[0] * HAND_P[1]:.2f} and "
        f"{-HAND_P[0] * HAND_P[2]:.2f}. The three answers together must give 0.",
    ),
    slips=(
        Slip(
            name="diagonal-alone",
            answer=two_decimals(HAND_G * HAND_P * (1 - HAND_P)),
            says="You used the slopes on the diagonal alone: p (1 - p). When score 0 rises, what "
            "do the other two weights do?",
        ),
        Slip(
            name="times-the-weights",
            answer=two_decimals(HAND_G * HAND_P),
            says="You multiplied each gradient by its weight. If the same number were added to all "
            "three scores, no weight would move: what must your three answers sum to?",
        ),
        Slip(
            name="plain-mean",
            answer=two_decimals(HAND_P * (HAND_G - HAND_G.mean())),
            says="You took the plain mean of the gradients away. In the sum of three products, "
            "with what is each gradient multiplied?",
        ),
        Slip(
            name="weights-forgotten",
            answer=two_decimals(HAND_G - HAND_AVERAGE),
            says="The bracket is right. Every slope in the column of a score has a second factor: "
            "the weight of which score?",
        ),
        Slip(
            name="sign-between-lost",
            answer=two_decimals(HAND_P * (HAND_G * (1 - 2 * HAND_P) + HAND_AVERAGE)),
            says="The slopes beside the diagonal are negative: when one score rises, the other "
            "weights fall. Which sign did yours have?",
        ),
        Slip(
            name="weights-for-gradients",
            answer=two_decimals(HAND_P * (HAND_P - HAND_P @ HAND_P)),
            says="The gradient that arrives does not enter your answer. What is each slope "
            "multiplied by before you add?",
        ),
        Slip(
            name="sign-turned",
            answer=two_decimals(-softmax_backward(HAND_G, HAND_P)),
            says="Your numbers have the opposite sign. Is the slope of a weight for its own score "
            "positive or negative?",
        ),
    ),
)


def _weights(rng, *shape):
    """Rows of softmax, with weights that visibly differ."""
    return softmax(rng.uniform(-1.2, 1.2, size=shape))


def _gradient(rng, *shape):
    """An upstream gradient whose mean is not 0."""
    return rng.normal(0.5, 1.5, size=shape)


def a_row_of_three(rng):
    return _gradient(rng, 3), _weights(rng, 3)


def some_rows(rng):
    return _gradient(rng, 4, 5), _weights(rng, 4, 5)


def as_many_rows_as_weights(rng):
    """Here a lost axis broadcasts without an error; only the values tell."""
    return _gradient(rng, 4, 4), _weights(rng, 4, 4)


def a_batch_of_rows(rng):
    return _gradient(rng, 2, 3, 5), _weights(rng, 2, 3, 5)


def a_causal_row_of_rows(rng):
    """Hidden keys have weight 0, though a gradient arrives at them too."""
    scores = np.where(causal_mask(5), -np.inf, 1.2 * rng.normal(size=(5, 5)))
    return _gradient(rng, 5, 5), softmax(scores)


def rows_nearly_certain(rng):
    """One weight of each row is nearly 1."""
    scores = rng.normal(size=(3, 4))
    scores[np.arange(3), rng.integers(4, size=3)] += 8
    return _gradient(rng, 3, 4), softmax(scores)


def float32_rows(rng):
    return _gradient(rng, 3, 6).astype(np.float32), _weights(rng, 3, 6).astype(np.float32)


AVERAGE = "average = (dweights * weights).sum(axis=-1, keepdims=True)"
SPREAD = "return weights * (dweights - average)"

SOFTMAX_BACKWARD = Exercise(
    name="softmax-backward",
    objective="Write the gradient of softmax in its compact form.",
    minutes=6,
    solution=softmax_backward,
    inputs=(
        a_row_of_three,
        some_rows,
        as_many_rows_as_weights,
        a_batch_of_rows,
        a_causal_row_of_rows,
        rows_nearly_certain,
        float32_rows,
    ),
    returns=("dscores",),
    points=(2,),
    properties={
        "each row sums to 0": lambda dscores, dweights, weights: np.allclose(
            dscores.sum(axis=-1), 0, atol=1e-5
        ),
        "a weight of 0 gives its score a gradient of 0": lambda dscores, dweights, weights: (
            not dscores[weights == 0].any()
        ),
        "one number added to all of dweights changes nothing": (
            lambda dscores, dweights, weights: np.allclose(
                softmax_backward(dweights + 3, weights), dscores, rtol=1e-4, atol=1e-5
            )
        ),
    },
    hints=(
        "Two steps: one number for each row, then one line for all entries. No loop over pairs of "
        "scores is needed.",
        "The number of a row is a mean of its gradients, in which each counts as much as its "
        "weight. Add up products, over the last axis.",
        "Keep that axis with length 1, so that each row's number lines up with its row. What is "
        "left over of each gradient is then multiplied by the weight at the same place.",
    ),
    mistakes=(
        Mistake(
            name="diagonal-alone",
            swap=AVERAGE,
            into="return dweights * weights * (1 - weights)",
            says="This is p (1 - p), the diagonal of the Jacobian alone, so each score moves only "
            "its own weight. Print your row sums: what does a softmax keep constant?",
        ),
        Mistake(
            name="average-forgotten",
            swap=SPREAD,
            into="return weights * dweights",
            says="Each gradient is multiplied by its weight, and that is all. Print your row sums: "
            "what has to be taken away so that they become 0?",
        ),
        Mistake(
            name="plain-mean",
            swap=AVERAGE,
            into="average = dweights.mean(axis=-1, keepdims=True)",
            says="You take the plain mean of the gradients away. In the derivation each gradient "
            "in that sum had a factor: which one?",
        ),
        Mistake(
            name="sum-without-weights",
            swap=AVERAGE,
            into="average = dweights.sum(axis=-1, keepdims=True)",
            says="The gradients are added up as they are. By what is each multiplied in the "
            "derivation, before the sum?",
        ),
        Mistake(
            name="divided-by-n-too",
            swap=AVERAGE,
            into="average = (dweights * weights).mean(axis=-1, keepdims=True)",
            says="Your weighted mean is divided by n once more. What do the weights of a row sum "
            "to already?",
        ),
        Mistake(
            name="weights-forgotten",
            swap=SPREAD,
            into="return dweights - average",
            says="The bracket is right, its factor is missing. How much should a score matter "
            "whose weight is 0?",
        ),
        Mistake(
            name="over-the-whole-array",
            swap=AVERAGE,
            into="average = (dweights * weights).sum()",
            says="One number serves all rows together, so rows depend on each other. How many "
            "softmaxes are there in (4, 5)?",
        ),
        Mistake(
            name="down-the-columns",
            swap=AVERAGE,
            into="average = (dweights * weights).sum(axis=-2, keepdims=True)",
            says="The sum runs down the columns. Along which axis do the weights of one softmax "
            "lie?",
        ),
        Mistake(
            name="along-axis-1",
            swap=AVERAGE,
            into="average = (dweights * weights).sum(axis=1, keepdims=True)",
            says="Axis 1 is the last one only for two axes. How could you count it from the back?",
        ),
        Mistake(
            name="keepdims-forgotten",
            swap=AVERAGE,
            into="average = (dweights * weights).sum(axis=-1)",
            says="The sums have lost their axis, so they line up with the columns. Print their "
            "shape: how could the axis stay, with length 1?",
        ),
        Mistake(
            name="sign-turned",
            swap=SPREAD,
            into="return weights * (average - dweights)",
            says="The difference is taken the wrong way round. When a score rises, does its own "
            "weight rise or fall?",
        ),
        Mistake(
            name="softmax-once-more",
            swap=AVERAGE,
            into=f"weights = softmax(weights)\n    {AVERAGE}",
            says="Softmax runs over the weights once more. What does the docstring say they are: "
            "scores, or what softmax returned?",
        ),
        Mistake(
            name="gradient-changed-in-place",
            swap=SPREAD,
            into="dweights -= average\n    return weights * dweights",
            says="The answer is right, but -= writes into the caller's own gradient. How do you "
            "get a new array instead?",
        ),
    ),
)

NOUGHT, MINUS_INFINITY, NAN, AS_OTHERS = (
    "it is 0",
    "it is -inf",
    "it is nan",
    "it is as large as the others",
)


def _hidden_gradient() -> str:
    """What arrives at a hidden score, found by sending a gradient back."""
    weights = softmax(np.array([0.3, 1.1, -np.inf]))
    hidden = softmax_backward(np.array([1.0, -2.0, 5.0]), weights)[2]
    found = {
        NOUGHT: hidden == 0,
        MINUS_INFINITY: np.isneginf(hidden),
        NAN: np.isnan(hidden),
    }
    return next((words for words, is_so in found.items() if is_so), AS_OTHERS)


HIDDEN_SCORE_GRADIENT = Prediction(
    name="hidden-score-gradient",
    objective="Predict the gradient of a score that the mask has hidden.",
    minutes=3,
    points=1,
    answer=_hidden_gradient(),
    options=(MINUS_INFINITY, NAN, NOUGHT, AS_OTHERS),
    hints=(
        "A gradient says what a small push would change. What would a small push to a score of "
        "-inf change?",
        "Look at the two factors of the compact form. Which weight does softmax give to a score of "
        "-inf?",
        "One of the two factors is the weight itself, and it is exactly 0. The other is some "
        "number that is neither infinite nor nan.",
    ),
    slips=(
        Slip(
            name="minus-infinity-comes-back",
            answer=MINUS_INFINITY,
            says="-inf was the score. A gradient is another thing: how much does the loss change "
            "when that score is pushed a little?",
        ),
        Slip(
            name="expects-nan",
            answer=NAN,
            says="nan would come of -inf times 0. Does the score itself stand anywhere in the "
            "compact form, or only the weights?",
        ),
        Slip(
            name="nothing-is-hidden",
            answer=AS_OTHERS,
            says="Then training would care about a pair that the model never sees. Which factor of "
            "the compact form knows that this key was hidden?",
        ),
    ),
)


def _attended(rng, *, leading=(), T, S, d_k, d_v, causal=False):
    """dout, Q, K, V and the weights that attention gave; scores of order 1."""
    Q, K = (1.2 * rng.normal(size=(*leading, length, d_k)) for length in (T, S))
    V = rng.normal(size=(*leading, S, d_v))
    output, weights = attention(Q, K, V, causal_mask(T) if causal else None)
    return _gradient(rng, *output.shape), Q, K, V, weights


def three_queries_and_five_keys(rng):
    return _attended(rng, T=3, S=5, d_k=2, d_v=4)


def a_causal_head(rng):
    return _attended(rng, T=4, S=4, d_k=3, d_v=2, causal=True)


def a_batch_of_heads(rng):
    return _attended(rng, leading=(2, 3), T=2, S=2, d_k=5, d_v=4, causal=True)


def everything_of_one_size(rng):
    """All shapes fit in any order here; only the values tell."""
    return _attended(rng, leading=(3,), T=3, S=3, d_k=3, d_v=3)


def float32_queries(rng):
    arrays = _attended(rng, T=2, S=4, d_k=3, d_v=5)
    return tuple(array.astype(np.float32) for array in arrays)


DV = "dV = weights.swapaxes(-1, -2) @ dout"
DWEIGHTS = "dweights = dout @ V.swapaxes(-1, -2)"
DSCALED = "dscaled = softmax_backward(dweights, weights)"
DSCORES = "dscores = dscaled / K.shape[-1] ** 0.5"
DQ = "dQ = dscores @ K"
DK = "dK = dscores.swapaxes(-1, -2) @ Q"

ATTENTION_BACKWARD = Exercise(
    name="attention-backward",
    objective="Carry a gradient back through attention to queries, keys and values.",
    minutes=9,
    solution=attention_backward,
    inputs=(
        three_queries_and_five_keys,
        a_causal_head,
        a_batch_of_heads,
        everything_of_one_size,
        float32_queries,
    ),
    returns=("dQ", "dK", "dV"),
    points=(1, 1, 1),
    properties={
        "each gradient is shaped as what it belongs to": lambda answer, dout, Q, K, V, weights: (
            [one.shape for one in answer] == [Q.shape, K.shape, V.shape]
        ),
        "what all queries take together is what the values get back": (
            lambda answer, dout, Q, K, V, weights: np.allclose(
                answer[2].sum(axis=-2), dout.sum(axis=-2), rtol=1e-4, atol=1e-5
            )
        ),
        "one vector added to all keys moves no weight, so dK sums to 0": (
            lambda answer, dout, Q, K, V, weights: np.allclose(answer[1].sum(axis=-2), 0, atol=1e-4)
        ),
    },
    hints=(
        "Write the forward lines below each other and read them from the last to the first. Each "
        "gives one line here, two where two arrays were multiplied.",
        "For every product, ask which array went in from the left and which from the right, and "
        "use the two rules of the linear layer. A transpose swaps the last two axes only.",
        "In order: dV and dweights from the mix, then softmax_backward, then the division that "
        "the forward pass made too, with the length of K's last axis. In scores = Q Kᵀ the right "
        "array is Kᵀ, and you want the gradient of K.",
    ),
    mistakes=(
        Mistake(
            name="root-left-out",
            swap=DSCORES,
            into="dscores = dscaled",
            says="dQ and dK are too large by the root of d_k. Forward, what happened between the "
            "products of Q and K and the softmax?",
        ),
        Mistake(
            name="divided-by-d-k",
            swap=DSCORES,
            into="dscores = dscaled / K.shape[-1]",
            says="The gradient is divided by d_k itself, as if the root had been taken in twice. "
            "By what did the forward pass divide, and how often?",
        ),
        Mistake(
            name="multiplied-by-the-root",
            swap=DSCORES,
            into="dscores = dscaled * K.shape[-1] ** 0.5",
            says="You multiply by the root, as if the division were to be undone. If y = x / 2, "
            "what is the slope of y for x?",
        ),
        Mistake(
            name="root-of-d-v",
            swap=DSCORES,
            into="dscores = dscaled / V.shape[-1] ** 0.5",
            says="The root is taken of d_v, the width of a value. Over which features did the dot "
            "product of a query and a key run?",
        ),
        Mistake(
            name="weights-not-transposed",
            swap=DV,
            into="dV = weights @ dout",
            says="dV mixes dout as the forward pass mixed values. A value hears from every query "
            "that took from it: does it find those along its row of weights, or its column?",
        ),
        Mistake(
            name="values-not-transposed",
            swap=DWEIGHTS,
            into="dweights = dout @ V",
            says="The gradient of one weight, query t with key s, should be the dot product of a "
            "row of dout and a row of V. Is it, in your product?",
        ),
        Mistake(
            name="scores-not-transposed",
            swap=DK,
            into="dK = dscores @ Q",
            says="dK adds up along the rows of dscores. A key hears from all queries that scored "
            "it: do they stand in its row or in its column?",
        ),
        Mistake(
            name="queries-and-keys-swapped",
            swap=DQ,
            into="dQ = dscores @ Q\n    dK = dscores.swapaxes(-1, -2) @ K\n    return dQ, dK, dV",
            says="dQ is made of queries and dK of keys. In a product of two numbers a b, what is "
            "the slope for a?",
        ),
        Mistake(
            name="softmax-entry-by-entry",
            swap=DSCALED,
            into="dscaled = dweights * weights * (1 - weights)",
            says="The gradient goes through softmax by p (1 - p), entry by entry. Print "
            "dscaled.sum(axis=-1): what should a row of it sum to?",
        ),
        Mistake(
            name="softmax-left-out",
            swap=DSCALED,
            into="dscaled = dweights",
            says="The gradient of the weights is used as that of the scores. Which step lies "
            "between the two?",
        ),
        Mistake(
            name="softmax-over-queries",
            swap=DSCALED,
            into="average = (dweights * weights).sum(axis=-2, keepdims=True)\n"
            "    dscaled = weights * (dweights - average)",
            says="Softmax is taken back down the columns. Along which axis did it run forward?",
        ),
        Mistake(
            name="all-axes-reversed",
            swap=DV,
            into="dV = weights.T @ dout\n"
            "    dscores = softmax_backward(dout @ V.T, weights) / K.shape[-1] ** 0.5\n"
            "    return dscores @ K, dscores.T @ Q, dV",
            says=".T reverses all axes, so this is right for one head and not for several. Which "
            "two axes should change places?",
        ),
        Mistake(
            name="minus-infinity-again",
            swap=DSCORES,
            into="dscores = np.where(weights == 0, -np.inf, dscaled / K.shape[-1] ** 0.5)",
            says="You put -inf at hidden keys again. That was their score; what is their gradient, "
            "by your prediction above?",
        ),
        Mistake(
            name="mask-lost-on-the-way",
            swap=DV,
            into=f"weights = softmax(Q @ K.swapaxes(-1, -2) / K.shape[-1] ** 0.5)\n    {DV}",
            says="You work the weights out anew from Q and K, where no mask is known, so hidden "
            "keys count again. Which argument has the weights with the mask in them?",
        ),
        Mistake(
            name="returned-in-the-order-of-the-pass",
            swap="return dQ, dK, dV",
            into="return dV, dQ, dK",
            says="All three are right and stand in the order in which you made them. In which "
            "order does the docstring return them?",
        ),
    ),
)

# The output projection by hand: square, so that no shape tells a transpose.
HAND_W_O = np.array([[1.0, 3.0], [-1.0, 2.0]])
HAND_DOUT = np.array([[1.0, 2.0]])
HAND_DCONCAT = linear_backward(HAND_DOUT, np.ones((1, 2)), HAND_W_O)[0]


def _row(numbers) -> list[float]:
    return two_decimals(np.ravel(numbers))


CONCAT_GRADIENT = ByHand(
    name="concat-gradient",
    objective="Carry a gradient back through a square output projection, where no shape warns.",
    minutes=3,
    points=1,
    form="a list of two numbers, such as [0.5, -3]",
    answer=_row(HAND_DCONCAT),
    tolerance=0.01,
    hints=(
        "Write the forward pass out for two features: out_0 and out_1, each as a sum of two "
        "products. Where does concat_0 stand in them?",
        "concat_0 went into out_0 and into out_1, with one weight each. By those two weights it "
        "hears from both now.",
        "The weights of concat_0 stand in row 0 of W_o. Multiply them by dout_0 and dout_1 and "
        "add; then the same for row 1.",
    ),
    slips=(
        Slip(
            name="not-transposed",
            answer=_row(HAND_DOUT @ HAND_W_O),
            says="You went down the columns of W_o, as the forward pass does. In which line of it "
            "do the two weights stand that concat_0 was multiplied with?",
        ),
        Slip(
            name="inverse",
            answer=_row(HAND_DOUT @ np.linalg.inv(HAND_W_O)),
            says="You undid the projection with its inverse, which finds inputs from outputs. A "
            "gradient is no output: how much does out_0 change when concat_0 grows by 1?",
        ),
        Slip(
            name="projection-left-out",
            answer=_row(HAND_DOUT),
            says="This is dout itself. What stood between concat and out?",
        ),
        Slip(
            name="dout-left-out",
            answer=_row(HAND_W_O.sum(axis=1)),
            says="You added each row's weights up, as if dout were all ones. By which of its "
            "entries is each weight multiplied?",
        ),
        Slip(
            name="diagonal-alone",
            answer=_row(HAND_DOUT * np.diag(HAND_W_O)),
            says="You let each feature hear from the output of the same number only. Into how many "
            "outputs did concat_0 go?",
        ),
        Slip(
            name="first-output-alone",
            answer=_row(HAND_DOUT[0, 0] * HAND_W_O[:, 0]),
            says="Your two features hear from out_0 alone. Into which other output did they go?",
        ),
    ),
)


def _projected(rng, **sizes):
    """dout before the arguments of multi_head_attention."""
    X, *rest = attention_inputs(rng, **sizes)
    return _gradient(rng, *X.shape), X, *rest


def two_heads(rng):
    return _projected(rng, T=3, d_model=5, num_heads=2, d_k=2, d_v=4)


def three_heads_and_a_batch(rng):
    return _projected(rng, T=3, d_model=4, num_heads=3, d_k=2, d_v=1, leading=(2,))


def square_weights(rng):
    """As in the course's model: here nothing but the values tells."""
    return _projected(rng, T=4, d_model=4, num_heads=2, d_k=2, d_v=2)


def one_large_head(rng):
    return _projected(rng, T=4, d_model=3, num_heads=1, d_k=5, d_v=2)


def float32_weights(rng):
    *arrays, num_heads = _projected(rng, T=2, d_model=4, num_heads=2, d_k=1, d_v=3)
    return *(array.astype(np.float32) for array in arrays), num_heads


DCONCAT = "dconcat, dW_o, _ = linear_backward(dout, concat, W_o)"
DOUT_HEADS = "dout_heads = split_heads(dconcat, num_heads)"
FROM_Q = "dX_from_Q, dW_q, _ = linear_backward(merge_heads(dQ_heads), X, W_q)"
ADDED = "dX = dX_from_Q + dX_from_K + dX_from_V"
RETURNED = "return dX, dW_q, dW_k, dW_v, dW_o"

MULTI_HEAD_ATTENTION_BACKWARD = Exercise(
    name="multi-head-attention-backward",
    objective="Carry a gradient back through all of multi-head attention, parameter by parameter.",
    minutes=12,
    solution=multi_head_attention_backward,
    inputs=(
        two_heads,
        three_heads_and_a_batch,
        square_weights,
        one_large_head,
        float32_weights,
    ),
    returns=("dX", "dW_q", "dW_k", "dW_v", "dW_o"),
    points=(1, 0.5, 0.5, 0.5, 0.5),
    properties={
        "each gradient is shaped as what it belongs to": lambda answer, dout, X, *rest: (
            [one.shape for one in answer] == [X.shape, *(weight.shape for weight in rest[:4])]
        ),
        "the dot product of W_v and dW_v equals that of W_o and dW_o: out is linear in both": (
            lambda answer, dout, X, W_q, W_k, W_v, W_o, h: np.allclose(
                (answer[3] * W_v).sum(), (answer[4] * W_o).sum(), rtol=1e-3, atol=1e-4
            )
        ),
        "the dot product of W_q and dW_q equals that of W_k and dW_k: scores are linear in both": (
            lambda answer, dout, X, W_q, W_k, W_v, W_o, h: np.allclose(
                (answer[1] * W_q).sum(), (answer[2] * W_k).sum(), rtol=1e-3, atol=1e-4
            )
        ),
    },
    hints=(
        "First run forward once more, up to concat, and keep every array: the way back needs "
        "them. Then read those lines from the last to the first.",
        "Every projection is a linear layer without a bias, and you have linear_backward for it. "
        "Going back, a merge becomes a split, and a split becomes a merge.",
        "W_o first: linear_backward gives the gradients of concat and of W_o. Split the first, "
        "run attention_backward, merge its three answers, and send each through the linear layer "
        "that made it. X was used three times: what happens to its three gradients?",
    ),
    mistakes=(
        Mistake(
            name="output-projection-not-transposed",
            swap=DCONCAT,
            into="_, dW_o, _ = linear_backward(dout, concat, W_o)\n    dconcat = dout @ W_o",
            says="The gradient goes through W_o in the direction of the forward pass, so all that "
            "lies before W_o is wrong. With which weights does a feature of concat hear from out?",
        ),
        Mistake(
            name="output-projection-skipped",
            swap=DOUT_HEADS,
            into="dout_heads = split_heads(dout, num_heads)",
            says="The heads get dout itself. What lies between what the heads found and the "
            "answer of the layer?",
        ),
        Mistake(
            name="output-weights-met-the-tokens",
            swap=DCONCAT,
            into="dconcat, _, _ = linear_backward(dout, concat, W_o)\n"
            "    dW_o = linear_backward(dout, X, W_o)[1]",
            says="dW_o is made with X. What went into W_o in the forward pass: the tokens, or what "
            "the heads found?",
        ),
        Mistake(
            name="values-alone",
            swap=ADDED,
            into="dX = dX_from_V",
            says="dX holds the way through the values alone, as when each = overwrites the one "
            "before. How many times did the forward pass use X?",
        ),
        Mistake(
            name="values-left-out",
            swap=ADDED,
            into="dX = dX_from_Q + dX_from_K",
            says="dX lacks the way through the values. How many times did the forward pass use X?",
        ),
        Mistake(
            name="three-ways-averaged",
            swap=ADDED,
            into="dX = (dX_from_Q + dX_from_K + dX_from_V) / 3",
            says="dX is the mean of its three ways. If X is pushed, do the three effects share one "
            "push, or does each feel all of it?",
        ),
        Mistake(
            name="stream-added",
            swap=RETURNED,
            into=RETURNED.replace("dX,", "dX + dout,"),
            says="dout is added to dX. That is the sum's work in the block (lesson 14): is there a "
            "sum in this layer?",
        ),
        Mistake(
            name="input-projections-not-transposed",
            swap=ADDED,
            into="dX = (\n"
            "        merge_heads(dQ_heads) @ W_q\n"
            "        + merge_heads(dK_heads) @ W_k\n"
            "        + merge_heads(dV_heads) @ W_v\n"
            "    )",
            says="dX goes through W_q, W_k and W_v in the direction of the forward pass. What does "
            "the rule of the linear layer do to W?",
        ),
        Mistake(
            name="heads-cut-by-reshape-alone",
            swap=DOUT_HEADS,
            into="dout_heads = dconcat.reshape(out_heads.shape)",
            says="The gradient is dealt out to the heads by a reshape alone, which mixes tokens. "
            "What did your split_heads do after its reshape?",
        ),
        Mistake(
            name="heads-merged-by-reshape-alone",
            swap=FROM_Q,
            into="dQ_heads, dK_heads, dV_heads = (\n"
            "        split_heads(one.reshape(*X.shape[:-1], -1), num_heads)\n"
            "        for one in (dQ_heads, dK_heads, dV_heads)\n"
            f"    )\n    {FROM_Q}",
            says="The heads' gradients are joined by a reshape alone, so a row mixes several "
            "tokens. What did your merge_heads do before its reshape?",
        ),
        Mistake(
            name="mask-forgotten",
            swap="attention(Q_heads, K_heads, V_heads, hidden)",
            into="attention(Q_heads, K_heads, V_heads)",
            says="Your forward lines let every token see the future, so the weights are not those "
            "of the layer. What hides later tokens?",
        ),
        Mistake(
            name="num-heads-ignored",
            swap="Q_heads = split_heads(Q, num_heads)",
            into="num_heads = 1\n    Q_heads = split_heads(Q, num_heads)",
            says="This goes back through one large head, whatever num_heads says. Where does that "
            "argument enter?",
        ),
        Mistake(
            name="scaled-by-all-heads-together",
            swap=FROM_Q,
            into="dQ_heads, dK_heads = dQ_heads / num_heads**0.5, dK_heads / num_heads**0.5\n"
            f"    {FROM_Q}",
            says="Queries and keys are scaled as if a key had all h * d_k features. How many does "
            "a head's own key have?",
        ),
        Mistake(
            name="keys-got-the-queries-gradient",
            swap="merge_heads(dK_heads), X, W_k",
            into="merge_heads(dQ_heads), X, W_k",
            says="W_k is given the gradient of the queries, as happens when a line is copied. "
            "Which of the three gradients went through W_k?",
        ),
        Mistake(
            name="batch-not-added-up",
            swap=RETURNED,
            into="dW_q = X.swapaxes(-1, -2) @ merge_heads(dQ_heads)\n"
            "    dW_k = X.swapaxes(-1, -2) @ merge_heads(dK_heads)\n"
            "    dW_v = X.swapaxes(-1, -2) @ merge_heads(dV_heads)\n"
            "    dW_o = concat.swapaxes(-1, -2) @ dout\n"
            f"    {RETURNED}",
            says="In a batch, the gradients of your weights have an axis too many: one matrix for "
            "each sequence. All sequences share the weights: what happens to those matrices?",
        ),
        Mistake(
            name="weights-transposed",
            swap=RETURNED,
            into="return dX, dW_q.T, dW_k.T, dW_v.T, dW_o.T",
            says="dX is right; the gradients of the weights are transposed. Which shape does a "
            "gradient have to have?",
        ),
    ),
)


def _row_text(numbers: np.ndarray, form: str = "g") -> str:
    return f"({', '.join(format(number, form) for number in numbers)})"


def _matrix(matrix: np.ndarray, form: str) -> str:
    rows = (" & ".join(format(number, form) for number in row) for row in matrix)
    return r"\begin{pmatrix}" + r" \\ ".join(rows) + r"\end{pmatrix}"


def _jacobian_in_words() -> str:
    """The Jacobian with its nine products written out, as TeX."""
    rows = (
        " & ".join(
            f"{p:g}(1 - {p:g})" if i == j else f"-{p:g} \\cdot {q:g}" for j, q in enumerate(SHOWN_P)
        )
        for i, p in enumerate(SHOWN_P)
    )
    return r"\begin{pmatrix}" + r" \\ ".join(rows) + r"\end{pmatrix}"


def _signed(numbers: np.ndarray, slopes: np.ndarray) -> str:
    """A sum of products as TeX, with brackets around what is negative."""
    return " + ".join(
        f"{_bracketed(number)} \\cdot {_bracketed(slope)}"
        for number, slope in zip(numbers, slopes, strict=True)
    )


def _bracketed(number: float) -> str:
    return f"{number:g}" if number >= 0 else f"({number:g})"


LESSON = Lesson(
    number=15,
    title="Attention gradients",
    assignment="week2_training_step",
    objective="carry a gradient back through softmax, mask, root, queries, keys, values, heads "
    "and output projection.",
    needs="the linear layer's gradients (lesson 13), multi-head attention (lesson 10)",
    place="attention-gradient",
    exercises=(
        SCORE_GRADIENTS_BY_HAND,
        SOFTMAX_BACKWARD,
        HIDDEN_SCORE_GRADIENT,
        ATTENTION_BACKWARD,
        CONCAT_GRADIENT,
        MULTI_HEAD_ATTENTION_BACKWARD,
    ),
    worked={
        "p": _row_text(SHOWN_P),
        "jacobian_products": _jacobian_in_words(),
        "jacobian": _matrix(SHOWN_J, ".2f"),
        "g": _row_text(SHOWN_G),
        "ds_0_products": _signed(SHOWN_G, np.round(SHOWN_J[:, 0], 2)),
        "ds_0": float(SHOWN_DS[0]),
        "average_products": _signed(SHOWN_G, SHOWN_P),
        "average": float(SHOWN_G @ SHOWN_P),
        "p_0": float(SHOWN_P[0]),
        "g_0": float(SHOWN_G[0]),
        "hand_p": _row_text(HAND_P),
        "hand_g": _row_text(HAND_G),
        "hand_w_o": _matrix(HAND_W_O, "g"),
        "hand_dout": _row_text(HAND_DOUT[0]),
    },
)
