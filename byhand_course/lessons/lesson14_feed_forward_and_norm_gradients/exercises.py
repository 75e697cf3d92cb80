# mypy: allow-untyped-defs
"""What is graded in lesson 14, and the wrong answers it knows."""

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
from byhand_course.reference.block import residual_backward
from byhand_course.reference.feed_forward import feed_forward_backward, gelu_backward
from byhand_course.reference.layer_norm import layer_norm, layer_norm_backward


def numbers_near_1(rng):
    """At 1 and -1 a wrong factor in GELU's second term shows most."""
    x = np.concatenate([rng.uniform(-1.4, -0.7, size=3), rng.uniform(0.7, 1.4, size=4)])
    return rng.uniform(0.5, 2, size=7) * rng.choice([-1, 1], size=7), x


def whole_numbers(rng):
    return rng.normal(size=9), rng.permutation(np.arange(-4, 5))


def a_batch_of_numbers(rng):
    return rng.normal(size=(2, 3, 4)), 1.5 * rng.normal(size=(2, 3, 4))


def small_and_large_numbers(rng):
    return rng.normal(size=7), rng.permutation([0.0, 1e-3, -1e-3, 20.0, -20.0, 300.0, -300.0])


def float32_numbers(rng):
    dout, x = rng.normal(size=(3, 5)), 1.5 * rng.normal(size=(3, 5))
    return dout.astype(np.float32), x.astype(np.float32)


DINNER = "dinner = (2 / np.pi) ** 0.5 * (1 + 3 * 0.044715 * x**2)"
DSHARE = "dshare = 0.5 * (1 - tanh**2) * dinner"
SLOPE = "return dout * (share + x * dshare)"

GELU_BACKWARD = Exercise(
    name="gelu-backward",
    objective="Write GELU's derivative with the product rule and the chain rule.",
    minutes=7,
    solution=gelu_backward,
    inputs=(
        numbers_near_1,
        whole_numbers,
        a_batch_of_numbers,
        small_and_large_numbers,
        float32_numbers,
    ),
    returns=("dx",),
    points=(2,),
    properties={
        "it is shaped as x": lambda dx, dout, x: dx.shape == x.shape,
        "GELU is never steeper than 1.13": lambda dx, dout, x: (
            np.abs(dx) <= 1.13 * np.abs(dout) + 1e-6
        ).all(),
        "what is far below 0 gets nothing back": lambda dx, dout, x: np.allclose(dx[x < -15], 0),
        "what is far above 0 gets dout back": lambda dx, dout, x: np.allclose(
            dx[x > 15], dout[x > 15]
        ),
    },
    hints=(
        "Name the pieces as on the way forward, then the slope of each: the inner sum, tanh of it, "
        "the share, x times the share.",
        "The share's slope is a half times tanh's slope, times the inner sum's slope. For x**3 the "
        "power comes down in front and drops to 2.",
        "The product rule has two terms: the share, with x's own slope 1, and x times the share's "
        "slope. dout multiplies their sum.",
    ),
    mistakes=(
        Mistake(
            name="half-of-the-second-term",
            swap=SLOPE,
            into="return dout * (share + 0.5 * x * dshare)",
            says="The second term of the product rule is half as large as it should be. Where did "
            "the share's one half go in already?",
        ),
        Mistake(
            name="second-term-doubled",
            swap=DSHARE,
            into="dshare = (1 - tanh**2) * dinner",
            says="The share is half of 1 + tanh, yet its slope is not halved. What does a constant "
            "factor do to a slope?",
        ),
        Mistake(
            name="share-held-still",
            swap=SLOPE,
            into="return dout * share",
            says="You treat the share as a fixed number. When x grows, does the share of it that "
            "passes grow too?",
        ),
        Mistake(
            name="x-held-still",
            swap=SLOPE,
            into="return dout * x * dshare",
            says="Only the share moves here, and the x in front of it is held still. How many "
            "terms has the product rule?",
        ),
        Mistake(
            name="x-forgotten-in-the-second-term",
            swap=SLOPE,
            into="return dout * (share + dshare)",
            says="The share's slope stands alone in your second term. What was the share "
            "multiplied by on the way forward?",
        ),
        Mistake(
            name="inner-slope-forgotten",
            swap=DSHARE,
            into="dshare = 0.5 * (1 - tanh**2)",
            says="tanh's slope is there, but not that of what stands inside it. What does the "
            "chain rule multiply by?",
        ),
        Mistake(
            name="tanh-not-squared",
            swap="(1 - tanh**2)",
            into="(1 - tanh)",
            says="You take 1 - tanh for the slope of tanh. At tanh = 0 both are 1: which is right "
            "at tanh = -1, where the curve is flat?",
        ),
        Mistake(
            name="power-not-brought-down",
            swap="3 * 0.044715",
            into="0.044715",
            says="x**3 became x**2, but its factor stayed. What comes down in front?",
        ),
        Mistake(
            name="power-not-lowered",
            swap="0.044715 * x**2",
            into="0.044715 * x**3",
            says="A 3 came down in front, but the power is still 3. Which power has the slope of "
            "x**3?",
        ),
        Mistake(
            name="root-forgotten-in-the-inner-slope",
            swap=DINNER,
            into="dinner = 1 + 3 * 0.044715 * x**2",
            says="The factor in front of the brackets, the root of 2 / pi, is missing in the inner "
            "slope. What does a constant factor do to a slope?",
        ),
        Mistake(
            name="dout-forgotten",
            swap=SLOPE,
            into="return share + x * dshare",
            says="This is GELU's slope itself. How does the gradient that comes in enter?",
        ),
        Mistake(
            name="dout-added",
            swap=SLOPE,
            into="return dout + share + x * dshare",
            says="You add the slope to dout. If the loss moves 3 for each unit of out, and out "
            "moves 0.5 for each unit of x, how much does the loss move for each unit of x?",
        ),
        Mistake(
            name="gelu-itself",
            swap=SLOPE,
            into="return dout * x * share",
            says="dout is multiplied by GELU itself. What should it be multiplied by: how high the "
            "curve is, or how steep?",
        ),
        Mistake(
            name="erf-form",
            swap=SLOPE,
            into="normal = 0.5 * np.vectorize(math.erfc, otypes=[float])(-x / 2**0.5)\n"
            "    return dout * (normal + x * np.exp(-0.5 * x**2) / (2 * np.pi) ** 0.5)",
            says="This is the slope of the exact GELU, with erf, up to 9e-4 off. A slope belongs "
            "to its own curve: which form ran on the way forward?",
        ),
        Mistake(
            name="sigmoid-form",
            swap=SLOPE,
            into="sigmoid = 1 / (1 + np.exp(-1.702 * x))\n"
            "    return dout * (sigmoid + 1.702 * x * sigmoid * (1 - sigmoid))",
            says="This is the slope of GELU's sigmoid form. A slope belongs to its own curve: "
            "which form ran on the way forward?",
        ),
        Mistake(
            name="relu-slope",
            swap=SLOPE,
            into="return dout * (x > 0)",
            says="This is ReLU's slope, 0 or 1. What does GELU's curve do near 0?",
        ),
    ),
)


def _network(rng, *tokens, d_ff):
    """dout, X, W_1, b_1, W_2, b_2 with biases that show; tokens are the lengths of X."""
    d_model = tokens[-1]
    return (
        rng.normal(size=tokens),
        rng.normal(size=tokens),
        rng.normal(0, 1.5 * d_model**-0.5, size=(d_model, d_ff)),
        rng.normal(0, 0.7, size=d_ff),
        rng.normal(0, 1.5 * d_ff**-0.5, size=(d_ff, d_model)),
        rng.normal(0, 0.7, size=d_model),
    )


def a_sentence(rng):
    return _network(rng, 2, 3, d_ff=4)


def a_batch_of_sentences(rng):
    return _network(rng, 2, 4, 3, d_ff=5)


def as_many_tokens_as_everything(rng):
    """All shapes fit in any order here; only the values tell."""
    return _network(rng, 4, 4, d_ff=4)


def a_sentence_in_float32(rng):
    return tuple(array.astype(np.float32) for array in _network(rng, 4, 2, d_ff=3))


WIDE = "wide = linear(X, W_1, b_1)"
NARROWED_BACK = "dhidden, dW_2, db_2 = linear_backward(dout, hidden, W_2)"
BENT_BACK = "dwide = gelu_backward(dhidden, wide)"
WIDENED_BACK = "dX, dW_1, db_1 = linear_backward(dwide, X, W_1)"
ALL_FIVE = "return dX, dW_1, db_1, dW_2, db_2"

FEED_FORWARD_BACKWARD = Exercise(
    name="feed-forward-backward",
    objective="Carry a gradient back through the feed-forward network, step by step.",
    minutes=6,
    solution=feed_forward_backward,
    inputs=(
        a_sentence,
        a_batch_of_sentences,
        as_many_tokens_as_everything,
        a_sentence_in_float32,
    ),
    returns=("dX", "dW_1", "db_1", "dW_2", "db_2"),
    points=(1, 0.5, 0.5, 0.5, 0.5),
    properties={
        "each gradient is shaped as what it belongs to": lambda parts, dout, *arrays: (
            [part.shape for part in parts] == [array.shape for array in arrays]
        ),
    },
    hints=(
        "Run forward first, to have the arrays in between. Then go back through the three steps, "
        "the last one first, with a function of yours for each.",
        "Each linear_backward wants the gradient of that layer's output, its input, its weight. "
        "What was the input of the second layer?",
        "The second layer gives three gradients: one goes on to gelu_backward, together with what "
        "gelu was given, and two are ready. The first layer does the same with what comes out.",
    ),
    mistakes=(
        Mistake(
            name="gelu-skipped",
            swap=BENT_BACK,
            into="dwide = dhidden",
            says="The gradient goes from one linear layer straight into the other. What stood "
            "between them on the way forward?",
        ),
        Mistake(
            name="slope-at-the-wrong-place",
            swap="gelu_backward(dhidden, wide)",
            into="gelu_backward(dhidden, hidden)",
            says="You take GELU's slope at its output. Where on the curve did gelu stand: at what "
            "it was given, or at what it gave?",
        ),
        Mistake(
            name="gelu-for-its-backward",
            swap="gelu_backward(dhidden, wide)",
            into="gelu(dhidden)",
            says="You bend the gradient with gelu itself. What should it be multiplied by?",
        ),
        Mistake(
            name="arguments-swapped",
            swap="gelu_backward(dhidden, wide)",
            into="gelu_backward(wide, dhidden)",
            says="gelu_backward gets its two arguments in the wrong order. Which of them is the "
            "gradient that comes in?",
        ),
        Mistake(
            name="relu-slope",
            swap="gelu_backward(dhidden, wide)",
            into="dhidden * (wide > 0)",
            says="Between the layers you go back through ReLU. Which function ran there on the way "
            "forward?",
        ),
        Mistake(
            name="not-bent-on-the-way-forward",
            swap=NARROWED_BACK,
            into=NARROWED_BACK.replace("hidden, W_2)", "wide, W_2)"),
            says="dW_2 is made from the wide rows before gelu. What exactly was W_2 multiplied by "
            "on the way forward?",
        ),
        Mistake(
            name="first-bias-forgotten",
            swap=WIDE,
            into="wide = X @ W_1",
            says="On your way forward b_1 is missing, so GELU's slope is taken at other places. "
            "Where did b_1 enter?",
        ),
        Mistake(
            name="dout-to-both-layers",
            swap=WIDENED_BACK,
            into=WIDENED_BACK.replace("dwide", "dout"),
            says="The first layer gets dout too, as if the second were not there; that fits only "
            "where d_ff is d_model. Which gradient belongs to the first layer's output?",
        ),
        Mistake(
            name="bent-after-the-first-layer",
            swap=WIDENED_BACK,
            into="dX, dW_1, db_1 = linear_backward(dhidden, X, W_1)\n    dX = gelu_backward(dX, X)",
            says="You go back through gelu last, at X, which was never bent. Which order had the "
            "three steps on the way forward?",
        ),
        Mistake(
            name="weights-exchanged",
            swap=WIDENED_BACK,
            into="dhidden, dW_2, db_2 = linear_backward(dout, hidden, W_1)\n"
            "    dX, dW_1, db_1 = linear_backward(gelu_backward(dhidden, wide), X, W_2)",
            says="The two weights have changed places, which fits only where d_ff is d_model. "
            "Which of them did hidden meet on the way forward?",
        ),
        Mistake(
            name="skip-added",
            swap=ALL_FIVE,
            into="return dX + dout, dW_1, db_1, dW_2, db_2",
            says="You add dout to dX. That is the block's work, where x goes round the network as "
            "well: what did feed_forward alone return?",
        ),
        Mistake(
            name="returned-in-the-order-made",
            swap=ALL_FIVE,
            into="return dX, dW_2, db_2, dW_1, db_1",
            says="The second layer's gradients stand before the first's. In which order does the "
            "docstring name them?",
        ),
    ),
)

TENFOLD, SAME, TENTH, HUNDREDTH = (
    "ten times as large",
    "the same",
    "a tenth as large",
    "a hundredth as large",
)


def _effect_of_ten_times() -> str:
    """What becomes of dx when a token is ten times as long, found by trying it."""
    x, dout = np.array([1.0, 3.0, 8.0]), np.array([1.0, -2.0, 0.5])
    short, long = (layer_norm_backward(dout, scale * x, np.ones(3))[0] for scale in (1, 10))
    ratio = np.linalg.norm(long) / np.linalg.norm(short)
    factors = {TENFOLD: 10, SAME: 1, TENTH: 0.1, HUNDREDTH: 0.01}
    return next(words for words, factor in factors.items() if np.isclose(ratio, factor, rtol=1e-3))


TEN_TIMES_THE_TOKEN = Prediction(
    name="ten-times-the-token",
    objective="Predict how a layer norm's gradient depends on the length of a token.",
    minutes=3,
    points=1,
    answer=_effect_of_ten_times(),
    options=(TENFOLD, SAME, TENTH, HUNDREDTH),
    hints=(
        "What does layer norm answer to ten times a token, compared with the token itself?",
        "The answers are the same. How far must you move the long token, to move its answer as "
        "far as a step of 1 moves the short one's?",
        "A gradient is what the loss moves for each unit of x. The same movement of the loss now "
        "takes ten units.",
    ),
    slips=(
        Slip(
            name="grows-with-the-token",
            answer=TENFOLD,
            says="A long token's answer is as long as a short one's. Does a step of 1 weigh more "
            "or less in a token ten times as long?",
        ),
        Slip(
            name="expects-the-same",
            answer=SAME,
            says="The answer is the same, but a gradient counts for each unit of x. Does a step "
            "of 1 weigh the same in a token ten times as long?",
        ),
        Slip(
            name="squared",
            answer=HUNDREDTH,
            says="The variance is a hundred times as large. Does layer norm divide by it, or by "
            "its root?",
        ),
    ),
)

# A token whose deviation is 2 and whose normed features are whole numbers. In the prose gamma is
# all ones.
HAND_X, HAND_GAMMA = np.array([1.0, 1.0, 5.0, 5.0]), np.array([2.0, 1.0, 1.0, 1.0])
HAND_DOUT, SHOWN_DOUT = np.array([4.0, 0.0, 4.0, 0.0]), np.array([6.0, 2.0, 2.0, 2.0])
HAND_XHAT, HAND_STD = (HAND_X - HAND_X.mean()) / HAND_X.std(), HAND_X.std()
HAND_DX = layer_norm_backward(HAND_DOUT, HAND_X, HAND_GAMMA, eps=0)[0]
SHOWN_DX = layer_norm_backward(SHOWN_DOUT, HAND_X, np.ones(4), eps=0)[0]


def _by_terms(dxhat, mean=1, spread=1):
    """dx with its second and third term counted so many times."""
    dx = dxhat - mean * dxhat.mean() - spread * HAND_XHAT * (dxhat * HAND_XHAT).mean()
    return dx / HAND_STD


_DXHAT = HAND_DOUT * HAND_GAMMA

LAYER_NORM_BY_HAND = ByHand(
    name="layer-norm-backward-by-hand",
    objective="Carry a gradient back through the norm of one token, by hand.",
    minutes=8,
    points=1,
    form="a list of four numbers, such as [1.5, -0.5, 0, 3]",
    answer=two_decimals(HAND_DX),
    tolerance=0.01,
    hints=(
        "The same rows as in the table, with other numbers in the first one. What does gamma do "
        "to dout before the table begins?",
        f"dout times gamma is {', '.join(f'{number:g}' for number in _DXHAT)}. Two means are to be "
        "taken from it: its own, and that of its product with x-hat.",
        f"Its own mean is {_DXHAT.mean():g}, the other one is {(_DXHAT * HAND_XHAT).mean():g}. "
        "Take the first from every entry, and the second times x-hat; then halve.",
    ),
    slips=(
        Slip(
            name="no-mean-term",
            answer=two_decimals(_by_terms(_DXHAT, mean=0)),
            says="The mean of dout times gamma is still in it, as if the token's mean stood still. "
            "What should the four numbers sum to?",
        ),
        Slip(
            name="no-spread-term",
            answer=two_decimals(_by_terms(_DXHAT, spread=0)),
            says="The third term is missing, as if the token's spread stood still. What happens "
            "to the spread when feature 3 grows?",
        ),
        Slip(
            name="only-divided",
            answer=two_decimals(_by_terms(_DXHAT, mean=0, spread=0)),
            says="You divided by the spread and nothing else. What else moves when one feature "
            "moves: which two things does the norm take from the whole token?",
        ),
        Slip(
            name="spread-term-added",
            answer=two_decimals(_by_terms(_DXHAT, spread=-1)),
            says="The third term has the opposite sign. The mean of the products is below 0 here: "
            "what is minus a negative number?",
        ),
        Slip(
            name="gamma-forgotten",
            answer=two_decimals(_by_terms(HAND_DOUT)),
            says="gamma is not in it. By what was x-hat multiplied on the way forward?",
        ),
        Slip(
            name="gamma-outside",
            answer=two_decimals(HAND_GAMMA * _by_terms(HAND_DOUT)),
            says="You multiplied by gamma at the very end. On the way forward gamma came after the "
            "norm: so where does it come on the way back?",
        ),
        Slip(
            name="not-divided",
            answer=two_decimals(HAND_STD * HAND_DX),
            says="One division is missing. By what did the norm divide this token?",
        ),
        Slip(
            name="divided-by-the-variance",
            answer=two_decimals(HAND_DX / HAND_STD),
            says="You divided by the variance, 4. By what did the norm divide this token?",
        ),
        Slip(
            name="each-feature-alone",
            answer=two_decimals(_DXHAT * (1 - HAND_XHAT**2) / HAND_STD),
            says="Each feature's gradient comes from that feature alone here. Which other outputs "
            "move when one feature moves?",
        ),
        Slip(
            name="sums-for-means",
            answer=two_decimals(_by_terms(_DXHAT, mean=4, spread=4)),
            says="You took away sums, not means. When one of four features moves by 1, how far "
            "does their mean move?",
        ),
    ),
)


def _dout_x_gamma(rng, *tokens):
    """A gradient, tokens and a gamma that is not 1; tokens are the lengths of x."""
    return (
        rng.normal(0.3, 1, size=tokens),
        rng.normal(1.5, 2.0, size=tokens),
        rng.normal(2, 0.5, size=tokens[-1]),
    )


def a_few_tokens(rng):
    return _dout_x_gamma(rng, 2, 5)


def a_batch_of_tokens(rng):
    return _dout_x_gamma(rng, 2, 3, 4)


def as_many_tokens_as_features(rng):
    """Here a lost axis broadcasts without an error; only the values tell."""
    return _dout_x_gamma(rng, 3, 3)


def a_large_eps(rng):
    return *_dout_x_gamma(rng, 2, 4), 0.1


def a_nearly_flat_token(rng):
    """Its variance is smaller than eps."""
    dout, x, gamma = _dout_x_gamma(rng, 3, 4)
    x[1] = 1.5 + 1e-3 * rng.normal(size=4)
    return dout, x, gamma


def float32_tokens(rng):
    return tuple(array.astype(np.float32) for array in _dout_x_gamma(rng, 4, 3))


INVERSE_STD = "inverse_std = 1 / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + eps)"
DGAMMA = "dgamma = (dout * xhat).reshape(-1, x.shape[-1]).sum(axis=0)"
DBETA = "dbeta = dout.reshape(-1, x.shape[-1]).sum(axis=0)"
DXHAT = "dxhat = dout * gamma"
MEAN_TERM = "- dxhat.mean(axis=-1, keepdims=True)  # x moves its token's mean"
SPREAD_TERM = "- xhat * (dxhat * xhat).mean(axis=-1, keepdims=True)  # and its variance"
BOTH_TERMS = f"{MEAN_TERM}\n        {SPREAD_TERM}"
BOTH_PARAMETERS = f"{DGAMMA}\n    {DBETA}"
ALL_THREE = "return dx, dgamma, dbeta"

LAYER_NORM_BACKWARD = Exercise(
    name="layer-norm-backward",
    objective="Write layer norm's gradients, with all three terms of dx.",
    minutes=10,
    solution=layer_norm_backward,
    inputs=(
        a_few_tokens,
        a_batch_of_tokens,
        as_many_tokens_as_features,
        a_large_eps,
        a_nearly_flat_token,
        float32_tokens,
    ),
    returns=("dx", "dgamma", "dbeta"),
    points=(2, 1, 1),
    properties={
        "dx sums to 0 over each token": lambda parts, dout, x, gamma, eps=1e-5: np.allclose(
            parts[0].sum(axis=-1), 0, atol=1e-4 * np.abs(parts[0]).max()
        ),
        "no token gets anything along its own direction, but for eps": (
            lambda parts, dout, x, gamma, eps=1e-5: (
                np.abs((parts[0] * (x - x.mean(axis=-1, keepdims=True))).mean(axis=-1))
                <= eps
                / (x.var(axis=-1) + eps)
                * np.abs((dout * layer_norm(x, gamma, 0 * gamma, eps)).mean(axis=-1))
                + 1e-5
            ).all()
        ),
        "dgamma and dbeta have one number a feature": lambda parts, dout, x, gamma, eps=1e-5: (
            parts[1].shape == parts[2].shape == gamma.shape
        ),
    },
    hints=(
        "Compute x-hat and 1 / sigma as on the way forward, eps included. dgamma and dbeta need "
        "only dout and x-hat: over which axes are they summed?",
        "For dx, first carry dout back through gamma. Then the three terms of the table, for each "
        "token by itself: both means run over its features.",
        "Keep the means' axis with length 1, so that they line up. Everything in the bracket is "
        "multiplied by 1 / sigma at the end. With a batch, reshape(-1, d_model) before you sum.",
    ),
    mistakes=(
        Mistake(
            name="mean-held-still",
            swap=MEAN_TERM,
            into="",
            says="This dx holds each token's mean still. Print dx.sum(axis=-1): what should it be, "
            "if adding one number to a whole token leaves out unchanged?",
        ),
        Mistake(
            name="spread-held-still",
            swap=SPREAD_TERM,
            into="",
            says="This dx holds each token's spread still. Which direction of x leaves out "
            "unchanged, besides adding one number to all features?",
        ),
        Mistake(
            name="mean-and-spread-held-still",
            swap=BOTH_TERMS,
            into="",
            says="This dx divides by the spread and does nothing else. Which two things does the "
            "norm take from the whole token, and what happens to them when one feature moves?",
        ),
        Mistake(
            name="gamma-outside-the-sums",
            swap=DXHAT,
            into=f"{DXHAT.replace(' * gamma', '')}\n    inverse_std = gamma * inverse_std",
            says="gamma multiplies dx at the end, so the two means know nothing of it. On the way "
            "forward gamma came after the norm: when does its turn come on the way back?",
        ),
        Mistake(
            name="gamma-forgotten",
            swap=DXHAT,
            into="dxhat = dout",
            says="gamma plays no part in your dx. By what was x-hat multiplied on the way forward?",
        ),
        Mistake(
            name="each-feature-alone",
            swap=ALL_THREE,
            into="return dxhat * (1 - xhat**2) * inverse_std, dgamma, dbeta",
            says="Your dx multiplies by (1 - xhat²) / sigma, entry by entry. Which outputs move "
            "when one feature moves: only its own?",
        ),
        Mistake(
            name="diagonal-only",
            swap=ALL_THREE,
            into="diagonal = 1 - 1 / x.shape[-1] - xhat**2 / x.shape[-1]\n"
            "    return dxhat * diagonal * inverse_std, dgamma, dbeta",
            says="Only the diagonal of the Jacobian is in your dx. How do the other outputs "
            "answer when one feature moves?",
        ),
        Mistake(
            name="sums-for-means",
            swap=BOTH_TERMS,
            into=BOTH_TERMS.replace("mean(", "sum("),
            says="The second and third term take away sums. When one feature moves by 1, how far "
            "does the mean of all d_model move?",
        ),
        Mistake(
            name="means-over-the-tokens",
            swap=BOTH_TERMS,
            into=BOTH_TERMS.replace("axis=-1", "axis=-2"),
            says="The two means run over the tokens, so tokens get gradients from each other. Over "
            "what does each token take its mean and its spread?",
        ),
        Mistake(
            name="spread-term-added",
            swap=SPREAD_TERM,
            into=SPREAD_TERM.replace("- xhat", "+ xhat"),
            says="The third term has the opposite sign. If the spread grows, does x-hat grow or "
            "shrink?",
        ),
        Mistake(
            name="spread-term-without-xhat",
            swap=SPREAD_TERM,
            into=SPREAD_TERM.replace("- xhat * ", "- "),
            says="The third term takes the same number from all features of a token. A wider "
            "spread pulls each feature towards 0: how far, for each of them?",
        ),
        Mistake(
            name="not-divided",
            swap="dx = inverse_std * (",
            into="dx = (",
            says="dx lacks a division. By what did the norm divide on the way forward?",
        ),
        Mistake(
            name="eps-left-out",
            swap=INVERSE_STD,
            into=INVERSE_STD.replace(" + eps", ""),
            says="eps is missing. A gradient belongs to the very function that ran forward: where "
            "did that add eps?",
        ),
        Mistake(
            name="eps-fixed",
            swap=INVERSE_STD,
            into=INVERSE_STD.replace("eps", "1e-5"),
            says="eps is 1e-5 whatever is asked for. Where does that argument enter?",
        ),
        Mistake(
            name="divided-by-n-minus-1",
            swap=INVERSE_STD,
            into="inverse_std = 1 / np.sqrt(x.var(axis=-1, keepdims=True, ddof=1) + eps)",
            says="The variance is divided by d_model - 1, as for a sample. By what was it divided "
            "on the way forward?",
        ),
        Mistake(
            name="gamma-gradient-from-x",
            swap=DGAMMA,
            into=DGAMMA.replace("xhat", "x"),
            says="dgamma is made from x itself. What was gamma multiplied by on the way forward?",
        ),
        Mistake(
            name="gamma-gradient-times-gamma",
            swap=DGAMMA,
            into=DGAMMA.replace("xhat", "xhat * gamma"),
            says="gamma itself is in dgamma. If out is gamma times x-hat, how fast does out grow "
            "with gamma?",
        ),
        Mistake(
            name="parameter-gradients-not-summed",
            swap=BOTH_PARAMETERS,
            into="dgamma = dout * xhat\n    dbeta = dout",
            says="dgamma and dbeta have a row for each token. All tokens share one gamma and one "
            "beta: what becomes of their shares?",
        ),
        Mistake(
            name="parameter-gradients-summed-over-the-first-axis-only",
            swap=BOTH_PARAMETERS,
            into="dgamma = (dout * xhat).sum(axis=0)\n    dbeta = dout.sum(axis=0)",
            says="dgamma and dbeta are summed over axis 0 only: in a batch those are the "
            "sequences, and the tokens are left. Over how many axes should they be summed?",
        ),
        Mistake(
            name="parameter-gradients-summed-over-the-features",
            swap=BOTH_PARAMETERS,
            into="dgamma = (dout * xhat).sum(axis=-1)\n    dbeta = dout.sum(axis=-1)",
            says="dgamma and dbeta have a number for each token. Whose numbers are gamma and beta: "
            "the tokens' or the features'?",
        ),
        Mistake(
            name="parameter-gradients-averaged",
            swap=BOTH_PARAMETERS,
            into=BOTH_PARAMETERS.replace("sum(", "mean("),
            says="You took means over the tokens for dgamma and dbeta. Each token's share of the "
            "loss changes with gamma: do the changes add up or average out?",
        ),
    ),
)


def a_sum_of_two_ways(rng):
    return rng.normal(size=(3, 4)), rng.normal(size=(3, 4))


def a_batch_of_sums(rng):
    return rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 3, 4))


def a_branch_that_does_nothing(rng):
    return rng.normal(size=(3, 5)), np.zeros((3, 5))


def a_loss_that_only_the_branch_moves(rng):
    return np.zeros((4, 3)), rng.normal(size=(4, 3))


ADDED = "return dout + dbranch"

RESIDUAL_BACKWARD = Exercise(
    name="residual-backward",
    objective="Say how the gradient of a sum's two ways come together.",
    minutes=4,
    solution=residual_backward,
    inputs=(
        a_sum_of_two_ways,
        a_batch_of_sums,
        a_branch_that_does_nothing,
        a_loss_that_only_the_branch_moves,
    ),
    returns=("dx",),
    points=(1,),
    properties={
        "it is shaped as dout": lambda dx, dout, dbranch: dx.shape == dout.shape,
        "with a branch that does nothing, dx is dout": lambda dx, dout, dbranch: (
            dbranch.any() or np.array_equal(dx, dout)
        ),
    },
    hints=(
        "x was used twice. Which two gradients come back to it?",
        "In a linear layer, a weight used by many tokens got its shares from all of them. What "
        "was done with the shares?",
        "One share came straight back, unchanged; the other one went back through f and is handed "
        "to you as dbranch.",
    ),
    mistakes=(
        Mistake(
            name="skip-lost",
            swap=ADDED,
            into="return dbranch",
            says="Only what came through the branch is left. If f does nothing at all, what should "
            "x get back?",
        ),
        Mistake(
            name="branch-lost",
            swap=ADDED,
            into="return dout",
            says="Only what came straight back is left. How does x learn what f made of it?",
        ),
        Mistake(
            name="multiplied",
            swap=ADDED,
            into="return dout * dbranch",
            says="You multiply the two. The chain rule multiplies along one way: what happens "
            "where two ways meet?",
        ),
        Mistake(
            name="chain-rule-twice",
            swap=ADDED,
            into="return dout * (1 + dbranch)",
            says="You treat dbranch as f's slope and multiply by dout. Look at the docstring: has "
            "dout gone into dbranch already?",
        ),
        Mistake(
            name="averaged",
            swap=ADDED,
            into="return (dout + dbranch) / 2",
            says="You took the mean of the two. If the loss moves by 3 on one way and by 1 on the "
            "other, how far does it move in all?",
        ),
        Mistake(
            name="branch-subtracted",
            swap=ADDED,
            into="return dout - dbranch",
            says="You take the branch's share away. Which sign had f(x) on the way forward?",
        ),
        Mistake(
            name="dout-changed-in-place",
            swap=ADDED,
            into="dout += dbranch\n    return dout",
            says="The answer is right, but += writes into the caller's dout, which is another "
            "array after the call. How do you get a new one instead?",
        ),
    ),
)


def _slope_table() -> str:
    """Markdown: GELU's slope at 1, piece by piece."""
    inner = (2 / np.pi) ** 0.5 * 1.044715
    dinner = (2 / np.pi) ** 0.5 * (1 + 3 * 0.044715)
    share, dshare = 0.5 * (1 + np.tanh(inner)), 0.5 * (1 - np.tanh(inner) ** 2) * dinner
    slope = float(gelu_backward(1.0, np.array(1.0)))
    assert np.isclose(share + dshare, slope)
    return "\n".join(
        [
            "| x | u | u' | s | s' | g' |",
            "|---:|---:|---:|---:|---:|---:|",
            f"| 1 | {inner:.3f} | {dinner:.3f} | {share:.3f} | {dshare:.3f} | {slope:.3f} |",
        ]
    )


def _norm_table() -> str:
    """Markdown: the compact form on the token of the exercise by hand, row by row."""
    products = (SHOWN_DOUT * HAND_XHAT).mean()
    centred = SHOWN_DOUT - SHOWN_DOUT.mean()
    rows = {
        r"$\hat{x}$": HAND_XHAT,
        r"$d\hat{x}$": SHOWN_DOUT,
        f"less its mean, {SHOWN_DOUT.mean():g}": centred,
        rf"less $\hat{{x}}$ times the mean of $d\hat{{x}}\,\hat{{x}}$, {products:g}": centred
        - HAND_XHAT * products,
        rf"divided by $\sigma$ = {HAND_STD:g}: $dx$": SHOWN_DX,
    }
    lines = ["| feature | 0 | 1 | 2 | 3 |", "|---|---:|---:|---:|---:|"]
    for name, numbers in rows.items():
        lines.append(f"| {name} | {' | '.join(f'{number + 0.0:g}' for number in numbers)} |")
    return "\n".join(lines)


def _row(numbers: np.ndarray) -> str:
    return f"({', '.join(f'{number:g}' for number in numbers)})"


LESSON = Lesson(
    number=14,
    title="Feed-forward and layer norm gradients",
    assignment="week2_training_step",
    objective="carry a gradient back through half a block: the sum, the feed-forward network and "
    "the norm, whose derivative has three terms.",
    needs="the transformer block (lesson 11) and linear_backward (lesson 13)",
    place="block-gradient",
    exercises=(
        GELU_BACKWARD,
        FEED_FORWARD_BACKWARD,
        TEN_TIMES_THE_TOKEN,
        LAYER_NORM_BY_HAND,
        LAYER_NORM_BACKWARD,
        RESIDUAL_BACKWARD,
    ),
    worked={
        "slope_table": _slope_table(),
        "norm_table": _norm_table(),
        "hand_x": _row(HAND_X),
        "hand_mean": HAND_X.mean(),
        "hand_gamma": _row(HAND_GAMMA),
        "hand_dout": _row(HAND_DOUT),
        "shown_dout": _row(SHOWN_DOUT),
    },
)
