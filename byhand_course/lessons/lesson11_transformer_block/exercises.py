# mypy: allow-untyped-defs
"""What is graded in lesson 11, and the wrong answers it knows."""

import numpy as np

from byhand_course.lessons.exercise import ByHand, Exercise, Lesson, Mistake, Prediction, Slip
from byhand_course.reference.block import transformer_block
from byhand_course.reference.feed_forward import feed_forward, gelu, gelu_exact
from byhand_course.reference.layer_norm import layer_norm
from byhand_course.reference.multi_head import multi_head_attention


def _scale_and_shift(rng, d_model):
    """gamma and beta that can be told from 1 and 0, and from each other."""
    return rng.normal(2, 0.5, size=d_model), rng.normal(size=d_model)


def a_few_tokens(rng):
    return rng.normal(1.5, 2.0, size=(3, 5)), *_scale_and_shift(rng, 5)


def tokens_of_different_size(rng):
    """A batch in which one token is a hundred times as long as another."""
    sizes = np.array([0.1, 1.0, 10.0])[:, None]
    return sizes * rng.normal(1, 2, size=(2, 3, 4)), *_scale_and_shift(rng, 4)


def as_many_tokens_as_features(rng):
    """Here a lost axis broadcasts without an error; only the values tell."""
    return rng.normal(1.5, 2.0, size=(5, 5)), *_scale_and_shift(rng, 5)


def a_large_eps(rng):
    return rng.normal(0.5, 1.0, size=(2, 6)), *_scale_and_shift(rng, 6), 0.1


def a_nearly_flat_token(rng):
    """Its variance is smaller than eps."""
    x = rng.normal(1.5, 2.0, size=(4, 6))
    x[2] = 1.5 + 1e-3 * rng.normal(size=6)
    return x, *_scale_and_shift(rng, 6)


def a_constant_token(rng):
    """Its variance is 0: without eps, 0 / 0. Its number is exact in binary, and so is its mean."""
    x = rng.normal(1.5, 2.0, size=(3, 4))
    x[1] = 0.5
    return x, *_scale_and_shift(rng, 4)


def float32_tokens(rng):
    x, gamma, beta = a_few_tokens(rng)
    return x.astype(np.float32), gamma.astype(np.float32), beta.astype(np.float32)


CENTERED = "centered = x - x.mean(axis=-1, keepdims=True)"
VARIANCE = "variance = (centered**2).mean(axis=-1, keepdims=True)"
NORMED = "return gamma * centered / np.sqrt(variance + eps) + beta"

LAYER_NORM = Exercise(
    name="layer-norm",
    objective="Write layer normalization, with eps inside the root.",
    minutes=8,
    solution=layer_norm,
    inputs=(
        a_few_tokens,
        tokens_of_different_size,
        as_many_tokens_as_features,
        a_large_eps,
        a_nearly_flat_token,
        a_constant_token,
        float32_tokens,
    ),
    returns=("normed",),
    points=(2,),
    properties={
        "before scale and shift, each token has mean 0": lambda normed, x, gamma, beta, *_: (
            np.allclose(((normed - beta) / gamma).mean(axis=-1), 0, atol=1e-5)
        ),
        "before scale and shift, no token has a variance above 1": (
            lambda normed, x, gamma, beta, *_: (
                ((normed - beta) / gamma).var(axis=-1) <= 1 + 1e-5
            ).all()
        ),
    },
    hints=(
        "Four steps for each token: take its mean away, find the variance of what is left, "
        "divide by a root, scale and shift.",
        "Every token has a mean and a variance of its own, over its features. Keep that axis with "
        "length 1, so that they line up with x.",
        "The variance is the mean of the squared deviations, over d_model and not d_model - 1. "
        "Add eps to it, then take the root; gamma multiplies and beta is added last.",
    ),
    mistakes=(
        Mistake(
            name="over-all-tokens",
            swap=CENTERED,
            into="centered = x - x.mean(axis=(-2, -1), keepdims=True)\n"
            "    variance = (centered**2).mean(axis=(-2, -1), keepdims=True)\n"
            f"    {NORMED}",
            says="One mean and one variance serve all tokens together, so a long token sets the "
            "scale for the others. How many means should three tokens have?",
        ),
        Mistake(
            name="down-the-columns",
            swap=CENTERED,
            into="centered = x - x.mean(axis=-2, keepdims=True)\n"
            "    variance = (centered**2).mean(axis=-2, keepdims=True)\n"
            f"    {NORMED}",
            says="Each feature is normed over the tokens, so tokens depend on each other. Along "
            "which axis do the features of one token lie?",
        ),
        Mistake(
            name="keepdims-forgotten",
            swap=CENTERED,
            into="centered = x - x.mean(axis=-1)\n"
            "    return gamma * centered / np.sqrt(x.var(axis=-1) + eps) + beta",
            says="Mean and variance have lost their axis, so they line up with the columns. Print "
            "their shapes: how could they keep it with length 1?",
        ),
        Mistake(
            name="divided-by-n-minus-1",
            swap=VARIANCE,
            into="variance = x.var(axis=-1, keepdims=True, ddof=1)",
            says="The squared deviations are divided by d_model - 1, as for a sample. What does "
            "the docstring's variance of 1 divide them by?",
        ),
        Mistake(
            name="eps-outside-the-root",
            swap="np.sqrt(variance + eps)",
            into="(np.sqrt(variance) + eps)",
            says="eps is added to the standard deviation, after the root. To what does the "
            "docstring add it?",
        ),
        Mistake(
            name="eps-left-out",
            swap="np.sqrt(variance + eps)",
            into="np.sqrt(variance)",
            says="eps is missing. What do you divide by when all features of a token are equal?",
        ),
        Mistake(
            name="eps-fixed",
            swap=NORMED,
            into=NORMED.replace("eps", "1e-5"),
            says="eps is 1e-5 whatever is asked for. Where does that argument enter?",
        ),
        Mistake(
            name="no-root",
            swap="np.sqrt(variance + eps)",
            into="(variance + eps)",
            says="You divide by the variance. If all features are doubled, what happens to the "
            "variance, and what should happen to the answer?",
        ),
        Mistake(
            name="mean-not-taken-away",
            swap=NORMED,
            into="return gamma * x / np.sqrt(variance + eps) + beta",
            says="The tokens are divided by the right number, but their mean is still in them. "
            "What should the mean of each token be before gamma and beta?",
        ),
        Mistake(
            name="root-mean-square",
            swap=CENTERED,
            into="return gamma * x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps) + beta",
            says="This is RMSNorm, as some newer models use it: it leaves the mean in. What does "
            "the docstring promise about the mean?",
        ),
        Mistake(
            name="gamma-and-beta-left-out",
            swap=NORMED,
            into="return centered / np.sqrt(variance + eps)",
            says="Mean 0 and variance 1 are there, but no learned scale and shift. Where do gamma "
            "and beta enter?",
        ),
        Mistake(
            name="gamma-and-beta-swapped",
            swap=NORMED,
            into="return beta * centered / np.sqrt(variance + eps) + gamma",
            says="gamma and beta have changed places. Which of them scales, and which shifts?",
        ),
        Mistake(
            name="tokens-changed-in-place",
            swap=CENTERED,
            into="x -= x.mean(axis=-1, keepdims=True)\n    centered = x",
            says="The answer is right, but -= writes into the caller's own tokens, and the block "
            "still needs them. How do you get a new array instead?",
        ),
        Mistake(
            name="shift-before-scale",
            swap=NORMED,
            into="return gamma * (centered / np.sqrt(variance + eps) + beta)",
            says="beta is added first and then scaled along. In which order does the docstring "
            "name the two?",
        ),
    ),
)


def a_few_numbers(rng):
    return (np.concatenate([rng.uniform(-3, -1, size=3), rng.uniform(0.5, 3, size=4)]),)


def whole_numbers(rng):
    return (rng.permutation(np.arange(-4, 5)),)


def a_matrix_of_numbers(rng):
    return (1.5 * rng.normal(size=(2, 3, 4)),)


def small_and_large_numbers(rng):
    return (rng.permutation([0.0, 1e-3, -1e-3, 20.0, -20.0, 300.0, -300.0]),)


def float32_numbers(rng):
    return (1.5 * rng.normal(size=(3, 5)).astype(np.float32),)


INNER = "inner = (2 / np.pi) ** 0.5 * (x + 0.044715 * x**3)"
PASSED = "return 0.5 * x * (1 + np.tanh(inner))"

GELU = Exercise(
    name="gelu",
    objective="Write GELU in its tanh form, and tell it from its relatives.",
    minutes=5,
    solution=gelu,
    inputs=(
        a_few_numbers,
        whole_numbers,
        a_matrix_of_numbers,
        small_and_large_numbers,
        float32_numbers,
    ),
    returns=("passed",),
    points=(1,),
    properties={
        "it lies within 5e-4 of the exact GELU": lambda passed, x: np.allclose(
            passed, gelu_exact(x), rtol=0, atol=5e-4
        ),
        "no number gets larger": lambda passed, x: (np.abs(passed) <= np.abs(x) + 1e-6).all(),
    },
    hints=(
        "Work from the inside out: first what stands in the brackets after tanh.",
        "The root of 2 / pi multiplies the whole sum of x and its cube term.",
        "tanh lies between -1 and 1. Adding 1 and halving makes a share between 0 and 1: what is "
        "that share multiplied by?",
    ),
    mistakes=(
        Mistake(
            name="erf-form",
            swap=PASSED,
            into="return gelu_exact(x)",
            says="This is GELU in its exact form, with erf, which differs from the tanh form by "
            "up to 5e-4. The course uses the tanh form, as GPT-2 does: what does the formula above "
            "put in erf's place?",
        ),
        Mistake(
            name="sigmoid-form",
            swap=PASSED,
            into="return x / (1 + np.exp(-1.702 * x))",
            says="This is GELU in its sigmoid form, x times sigmoid of 1.702 x, which is up to "
            "0.02 off. Which form does the docstring name?",
        ),
        Mistake(
            name="silu",
            swap=PASSED,
            into="return x / (1 + np.exp(-x))",
            says="This is SiLU, x times sigmoid of x, a relative of GELU. Which function does "
            "the docstring name?",
        ),
        Mistake(
            name="relu",
            swap=PASSED,
            into="return np.maximum(x, 0)",
            says="This is ReLU, which cuts all negative numbers off. What does GELU do with -0.5, "
            "by the numbers above the exercise?",
        ),
        Mistake(
            name="root-forgotten",
            swap="(2 / np.pi) ** 0.5",
            into="(2 / np.pi)",
            says="2 / pi stands there without its root. How large is it in the formula above, "
            "roughly: 0.64 or 0.80?",
        ),
        Mistake(
            name="factor-forgotten",
            swap="(2 / np.pi) ** 0.5 * (x + 0.044715 * x**3)",
            into="x + 0.044715 * x**3",
            says="tanh gets x and its cube term as they are. By what does the formula multiply "
            "both?",
        ),
        Mistake(
            name="factor-for-x-alone",
            swap="(2 / np.pi) ** 0.5 * (x + 0.044715 * x**3)",
            into="(2 / np.pi) ** 0.5 * x + 0.044715 * x**3",
            says="The root of 2 / pi multiplies x alone. Where do the formula's brackets close?",
        ),
        Mistake(
            name="square-for-cube",
            swap="x**3",
            into="x**2",
            says="You square where the formula cubes. Which of the two keeps the sign of x?",
        ),
        Mistake(
            name="cube-term-forgotten",
            swap="(x + 0.044715 * x**3)",
            into="x",
            says="The cube is missing. It is small near 0: what does it add at x = 2?",
        ),
        Mistake(
            name="cube-term-ten-times-too-large",
            swap="0.044715",
            into="0.44715",
            says="A digit has slipped in the cube's factor. How many zeros follow its point?",
        ),
        Mistake(
            name="x-forgotten",
            swap="0.5 * x *",
            into="0.5 *",
            says="This is the share that passes, between 0 and 1. A share of what?",
        ),
        Mistake(
            name="not-halved",
            swap="0.5 * x *",
            into="x *",
            says="Your answer is twice as large as it should be. What is the largest value of "
            "1 + tanh, and what should the largest share be?",
        ),
        Mistake(
            name="one-forgotten",
            swap="(1 + np.tanh(inner))",
            into="np.tanh(inner)",
            says="Without the 1 the share runs from -1/2 to 1/2. What should pass of a very "
            "negative number?",
        ),
    ),
)


def _network(rng, *tokens, d_ff):
    """X, W_1, b_1, W_2, b_2 with biases that show; tokens are the lengths of X."""
    d_model = tokens[-1]
    return (
        rng.normal(size=tokens),
        rng.normal(0, 1.5 * d_model**-0.5, size=(d_model, d_ff)),
        rng.normal(0, 0.7, size=d_ff),
        rng.normal(0, d_ff**-0.5, size=(d_ff, d_model)),
        rng.normal(0, 0.7, size=d_model),
    )


def a_sentence(rng):
    return _network(rng, 3, 5, d_ff=7)


def a_batch_of_sentences(rng):
    return _network(rng, 2, 3, 4, d_ff=9)


def as_wide_inside_as_outside(rng):
    """All shapes fit in any order here; only the values tell."""
    return _network(rng, 3, 5, d_ff=5)


def as_many_tokens_as_everything(rng):
    return _network(rng, 4, 4, d_ff=4)


def a_sentence_in_float32(rng):
    return tuple(array.astype(np.float32) for array in _network(rng, 5, 3, d_ff=8))


BENT = "hidden = gelu(wide)"
NARROWED = "return linear(hidden, W_2, b_2)"

FEED_FORWARD = Exercise(
    name="feed-forward",
    objective="Write the feed-forward network: widen, bend, bring back.",
    minutes=4,
    solution=feed_forward,
    inputs=(
        a_sentence,
        a_batch_of_sentences,
        as_wide_inside_as_outside,
        as_many_tokens_as_everything,
        a_sentence_in_float32,
    ),
    returns=("fed",),
    points=(1,),
    properties={
        "token 0 depends on token 0 alone": lambda fed, X, *weights: np.allclose(
            fed[..., :1, :], feed_forward(X[..., :1, :], *weights), rtol=1e-4, atol=1e-5
        ),
        "the answer is shaped as X": lambda fed, X, *_: fed.shape == X.shape,
    },
    hints=(
        "Three steps, and you have a function for each of them: linear twice, gelu once.",
        "The first linear layer makes rows of d_ff numbers, the last one rows of d_model. What "
        "stands between them?",
        "gelu acts on the wide rows. What it gives meets W_2 and b_2, and nothing comes after.",
    ),
    mistakes=(
        Mistake(
            name="not-bent",
            swap=BENT,
            into="hidden = wide",
            says="Both layers follow each other directly, and two linear layers in a row are no "
            "more than one. What should stand between them?",
        ),
        Mistake(
            name="relu-for-gelu",
            swap=BENT,
            into="hidden = np.maximum(wide, 0)",
            says="Between the layers stands ReLU, as in the paper of 2017. Which function did you "
            "write for this place?",
        ),
        Mistake(
            name="erf-form",
            swap=BENT,
            into="hidden = gelu_exact(wide)",
            says="Between the layers stands the exact GELU, with erf. Which form did you write "
            "for this place?",
        ),
        Mistake(
            name="bent-at-the-end",
            swap=BENT,
            into="return gelu(linear(wide, W_2, b_2))",
            says="gelu acts on the last layer's answer. In which of the three steps should it act?",
        ),
        Mistake(
            name="bent-twice",
            swap=NARROWED,
            into="return gelu(linear(hidden, W_2, b_2))",
            says="gelu acts after both layers. Should the answer hold back negative numbers?",
        ),
        Mistake(
            name="bent-at-the-start",
            swap=BENT,
            into="return linear(linear(gelu(X), W_1, b_1), W_2, b_2)",
            says="gelu acts on the tokens as they come in. On which rows should it act: narrow or "
            "wide ones?",
        ),
        Mistake(
            name="first-bias-forgotten",
            swap="linear(X, W_1, b_1)",
            into="X @ W_1",
            says="The first layer has no bias. Where does b_1 enter?",
        ),
        Mistake(
            name="second-bias-forgotten",
            swap=NARROWED,
            into="return hidden @ W_2",
            says="The second layer has no bias. Where does b_2 enter?",
        ),
        Mistake(
            name="both-biases-forgotten",
            swap=BENT,
            into="return gelu(X @ W_1) @ W_2",
            says="No layer has a bias. What did your linear take besides weights?",
        ),
        Mistake(
            name="input-added",
            swap=NARROWED,
            into="return X + linear(hidden, W_2, b_2)",
            says="You added X to the answer. That is the block's work: what does the docstring "
            "promise here?",
        ),
        Mistake(
            name="layers-swapped",
            swap=BENT,
            into="return linear(gelu(linear(X, W_2, b_2)), W_1, b_1)",
            says="The narrowing layer comes first, which fits only where d_ff is d_model. Which "
            "one takes rows of d_model numbers?",
        ),
        Mistake(
            name="weights-transposed",
            swap=BENT,
            into="return gelu(X @ W_1.T + b_1) @ W_2.T + b_2",
            says="Both weights are transposed, which fits only where d_ff is d_model. In this "
            "course W_1 is (in, out): where do its inputs lie?",
        ),
    ),
)

# A block of single numbers, to be followed on paper: a stand-in for each part.
TOY_X = 6.0


def _halve(x):
    return x / 2


def _add_one(x):
    return x + 1


def _triple(x):
    return 3 * x


def _stages(norm=_halve, attend=_add_one, feed=_triple):
    """What leaves each of the block's six stages, by the reference's wiring."""
    seen = {}

    def note(stage, value):
        seen[stage] = value
        return value

    x = TOY_X
    middle = note("sum 1", x + note("attention", attend(note("norm 1", norm(x)))))
    note("sum 2", middle + note("feed-forward", feed(note("norm 2", norm(middle)))))
    return list(seen.values())


def _post_norm():
    """Six stages with each norm behind the sum."""
    attended = _add_one(TOY_X)
    normed_1 = _halve(TOY_X + attended)
    fed = _triple(normed_1)
    return [
        attended,
        TOY_X + attended,
        normed_1,
        fed,
        normed_1 + fed,
        _halve(normed_1 + fed),
    ]


def _with_sums(first, second):
    """Six stages, where the sums add something else: first(x, normed_1), second(x, middle, ...)."""
    normed_1 = _halve(TOY_X)
    attended = _add_one(normed_1)
    middle = first(TOY_X, normed_1) + attended
    normed_2 = _halve(middle)
    fed = _triple(normed_2)
    return [
        normed_1,
        attended,
        middle,
        normed_2,
        fed,
        second(TOY_X, middle, normed_2) + fed,
    ]


def _one_norm_only():
    normed, attended, middle = _stages()[:3]
    return [normed, attended, middle, middle, _triple(middle), middle + _triple(middle)]


BLOCK_BY_HAND = ByHand(
    name="block-by-hand",
    objective="Put the stages of a block in order, and follow a number through all of them.",
    minutes=5,
    points=1,
    form="a list of six numbers, such as [1, 2, 3, 4, 5, 6]",
    answer=_stages(),
    tolerance=0.01,
    hints=(
        "Draw the stream as a straight line. Each part hangs beside it: it takes a copy from the "
        "line, and what it makes of it is added back.",
        "The order is norm, attention, sum, norm, feed-forward, sum. What does each sum add to "
        "the part's answer: the copy after the norm, or the line itself?",
        f"The first two numbers are {_stages()[0]:g} and {_stages()[1]:g}. The first sum adds the "
        f"second of them to {TOY_X:g}; from then on that sum is the stream.",
    ),
    slips=(
        Slip(
            name="norms-behind-the-sums",
            answer=_post_norm(),
            says="In your block each norm follows a sum, as in the paper of 2017 (post-norm). In "
            "ours nothing is normed on the stream itself: where does the norm go?",
        ),
        Slip(
            name="nothing-added",
            answer=_with_sums(lambda x, n: 0.0, lambda x, m, n: 0.0),
            says="Your sums add nothing: each part replaces the stream. What stands beside the "
            "part's answer in a sum?",
        ),
        Slip(
            name="normed-copy-added",
            answer=_with_sums(lambda x, n: n, lambda x, m, n: n),
            says="Your sums add the copy that came out of the norm. Does the norm act on the "
            "stream, or only on the part's copy of it?",
        ),
        Slip(
            name="second-sum-adds-the-input",
            answer=_with_sums(lambda x, n: x, lambda x, m, n: x),
            says="Your second sum adds what came into the block. What is the stream by then?",
        ),
        Slip(
            name="second-sum-adds-the-normed",
            answer=_with_sums(lambda x, n: x, lambda x, m, n: n),
            says="Your second sum adds the copy that came out of the second norm. What did the "
            "first sum add?",
        ),
        Slip(
            name="second-sum-forgotten",
            answer=_with_sums(lambda x, n: x, lambda x, m, n: 0.0),
            says="The last number is the feed-forward network's answer alone. What is it added to?",
        ),
        Slip(
            name="one-norm-only",
            answer=_one_norm_only(),
            says="Your feed-forward network takes the stream as it is. What stands before "
            "attention that should stand here too?",
        ),
        Slip(
            name="feed-forward-first",
            answer=_stages(attend=_triple, feed=_add_one),
            says="The feed-forward network comes first here. Which part gathers from other "
            "tokens, so that the other has something to work on?",
        ),
    ),
)


def _block(rng, *tokens, num_heads, d_k, d_v, d_ff):
    """transformer_block's arguments; everything random, tokens not normal."""
    d_model = tokens[-1]

    def weights(rows, columns):
        return rng.normal(0, rows**-0.5, size=(rows, columns))

    x = rng.normal(0.7, 2.0, size=tokens)
    norm_1, norm_2 = _scale_and_shift(rng, d_model), _scale_and_shift(rng, d_model)
    return (
        x,
        *(norm_1[0] / 2, norm_1[1]),
        weights(d_model, num_heads * d_k),
        weights(d_model, num_heads * d_k),
        weights(d_model, num_heads * d_v),
        weights(num_heads * d_v, d_model),
        *(norm_2[0] / 2, norm_2[1]),
        weights(d_model, d_ff),
        rng.normal(0, 0.5, size=d_ff),
        weights(d_ff, d_model),
        rng.normal(0, 0.5, size=d_model),
        num_heads,
    )


def one_sentence(rng):
    return _block(rng, 5, 6, num_heads=2, d_k=2, d_v=4, d_ff=7)


def a_batch_and_three_heads(rng):
    return _block(rng, 2, 3, 5, num_heads=3, d_k=2, d_v=1, d_ff=8)


def square_weights(rng):
    """As in the course's model."""
    return _block(rng, 3, 4, num_heads=2, d_k=2, d_v=2, d_ff=16)


def a_block_that_finds_nothing(rng):
    """W_o, W_2 and b_2 are 0, so both parts answer 0."""
    given = list(_block(rng, 3, 4, num_heads=2, d_k=3, d_v=1, d_ff=5))
    for place in (6, 11, 12):
        given[place] = np.zeros_like(given[place])
    return tuple(given)


def a_repeated_token(rng):
    x, *rest = _block(rng, 5, 4, num_heads=1, d_k=3, d_v=2, d_ff=6)
    x[4] = x[1]
    return x, *rest


FIRST_NORM = "normed_1 = layer_norm(x, ln1_gamma, ln1_beta)"
FIRST_SUM = "middle = x + attended"
SECOND_NORM = "normed_2 = layer_norm(middle, ln2_gamma, ln2_beta)"
LAST_SUM = "return middle + fed"
ATTEND = "multi_head_attention(normed_1, W_q, W_k, W_v, W_o, num_heads)"

TRANSFORMER_BLOCK = Exercise(
    name="transformer-block",
    objective="Wire norms, attention, feed-forward network and sums into a pre-norm block.",
    minutes=7,
    solution=transformer_block,
    inputs=(
        one_sentence,
        a_batch_and_three_heads,
        square_weights,
        a_block_that_finds_nothing,
        a_repeated_token,
    ),
    returns=("stream",),
    points=(2,),
    properties={
        "the stream keeps its shape": lambda stream, x, *_: stream.shape == x.shape,
        "parts that answer 0 leave the stream as it is": lambda stream, x, *rest: (
            bool(rest[5].any() or rest[10].any() or rest[11].any()) or np.array_equal(stream, x)
        ),
        "the last token changes no row before it": lambda stream, x, *rest: np.allclose(
            stream[..., :-1, :], transformer_block(x[..., :-1, :], *rest)
        ),
    },
    hints=(
        "Write the six stages of your paper below each other, one line each, with the real "
        "functions.",
        "Give every stage's answer a name of its own. x must still be there for the first sum, "
        "and that sum for the second.",
        "ln1 belongs to attention and ln2 to the feed-forward network. Each norm's answer goes "
        "into the part behind it and nowhere else.",
    ),
    mistakes=(
        Mistake(
            name="nothing-added",
            swap=FIRST_SUM,
            into=f"middle = attended\n    {SECOND_NORM}\n"
            "    return feed_forward(normed_2, W_1, b_1, W_2, b_2)",
            says="Each part replaces the stream instead of adding to it. If both parts answer 0, "
            "what should come out of the block?",
        ),
        Mistake(
            name="first-sum-forgotten",
            swap=FIRST_SUM,
            into="middle = attended",
            says="Attention's answer replaces the stream. What happens to x after the first norm?",
        ),
        Mistake(
            name="second-sum-forgotten",
            swap=LAST_SUM,
            into="return fed",
            says="The feed-forward network's answer replaces the stream. To what should it be "
            "added?",
        ),
        Mistake(
            name="second-sum-adds-the-input",
            swap=LAST_SUM,
            into="return x + fed",
            says="The last sum starts from x again, so what attention found is lost from the "
            "stream. What is the stream by then?",
        ),
        Mistake(
            name="normed-copies-added",
            swap=FIRST_SUM,
            into=f"middle = normed_1 + attended\n    {SECOND_NORM}\n"
            "    return normed_2 + feed_forward(normed_2, W_1, b_1, W_2, b_2)",
            says="Both sums add the normed copy, not the stream. If both parts answer 0, what "
            "should come out of the block?",
        ),
        Mistake(
            name="post-norm",
            swap=FIRST_NORM,
            into="attended = multi_head_attention(x, W_q, W_k, W_v, W_o, num_heads)\n"
            "    middle = layer_norm(x + attended, ln1_gamma, ln1_beta)\n"
            "    fed = feed_forward(middle, W_1, b_1, W_2, b_2)\n"
            "    return layer_norm(middle + fed, ln2_gamma, ln2_beta)",
            says="This is the post-norm block of 2017: each norm follows a sum. Ours is pre-norm: "
            "what may touch the stream itself?",
        ),
        Mistake(
            name="first-norm-forgotten",
            swap=FIRST_NORM,
            into="normed_1 = x",
            says="Attention takes the stream as it is. What stands before it in your list of six "
            "stages?",
        ),
        Mistake(
            name="second-norm-forgotten",
            swap=SECOND_NORM,
            into="normed_2 = middle",
            says="The feed-forward network takes the stream as it is. What stands before it "
            "among your six stages?",
        ),
        Mistake(
            name="no-norms",
            swap=FIRST_NORM,
            into="middle = x + multi_head_attention(x, W_q, W_k, W_v, W_o, num_heads)\n"
            "    return middle + feed_forward(middle, W_1, b_1, W_2, b_2)",
            says="Neither part gets a normed copy of the stream. Where do the four parameters "
            "that begin with ln enter?",
        ),
        Mistake(
            name="one-norm-for-both",
            swap="ln2_gamma, ln2_beta)\n",
            into="ln1_gamma, ln1_beta)\n",
            says="The second norm uses the parameters of the first. Whose gamma and beta come "
            "before the feed-forward network?",
        ),
        Mistake(
            name="norms-swapped",
            swap=FIRST_NORM,
            into="ln1_gamma, ln1_beta, ln2_gamma, ln2_beta = "
            f"ln2_gamma, ln2_beta, ln1_gamma, ln1_beta\n    {FIRST_NORM}",
            says="The two norms have each other's parameters. Which pair does the docstring put "
            "before attention?",
        ),
        Mistake(
            name="side-by-side",
            swap=SECOND_NORM,
            into="normed_2 = layer_norm(x, ln2_gamma, ln2_beta)",
            says="Both parts work side by side on x, so the feed-forward network never sees what "
            "attention found. What should the second norm take?",
        ),
        Mistake(
            name="feed-forward-first",
            swap=FIRST_NORM,
            into="normed_2 = layer_norm(x, ln2_gamma, ln2_beta)\n"
            "    middle = x + feed_forward(normed_2, W_1, b_1, W_2, b_2)\n"
            "    normed_1 = layer_norm(middle, ln1_gamma, ln1_beta)\n"
            f"    return middle + {ATTEND}",
            says="The feed-forward network runs before attention. Which of them comes "
            "first among your six stages?",
        ),
        Mistake(
            name="stream-changed-in-place",
            swap=FIRST_SUM,
            into="x += attended\n    middle = x",
            says="The answer is right, but += writes into the caller's own x, which is another "
            "array after the call. How do you get a new one instead?",
        ),
        Mistake(
            name="num-heads-ignored",
            swap=ATTEND,
            into=ATTEND.replace("num_heads", "1"),
            says="Attention runs with one head, whatever num_heads says. Where does that "
            "argument go?",
        ),
    ),
)

# What breaks is measured, here as in the notebook: twelve random blocks on one sentence.
DEPTH, TOKENS, D_MODEL, D_FF = 12, 5, 16, 64


def _stack(kept: bool, normed: bool) -> np.ndarray:
    """The stream after DEPTH blocks, with or without sums and norms."""
    rng = np.random.default_rng(16)
    x = rng.normal(size=(TOKENS, D_MODEL))
    for _ in range(DEPTH):
        W_1, W_2 = rng.normal(0, 0.25, (D_MODEL, D_FF)), rng.normal(0, 0.125, (D_FF, D_MODEL))
        W = rng.normal(0, 0.25, (4, D_MODEL, D_MODEL))
        for feeds in (False, True):
            y = layer_norm(x, np.ones(D_MODEL), np.zeros(D_MODEL)) if normed else x
            if feeds:
                y = feed_forward(y, W_1, np.zeros(D_FF), W_2, np.zeros(D_MODEL))
            else:
                y = multi_head_attention(y, *W, 2)
            x = kept * x + y
    return x


def _length(x: np.ndarray) -> float:
    return float(np.linalg.norm(x, axis=-1).mean())


def _apart(x: np.ndarray) -> float:
    """Mean distance of two different tokens, as a share of their mean length."""
    distances = np.linalg.norm(x[:, None] - x, axis=-1)
    return float(distances[np.triu_indices(len(x), k=1)].mean()) / _length(x)


WHOLE, NO_SUMS, NO_NORMS = _stack(True, True), _stack(False, True), _stack(True, False)

ALIKE_LONG, LONG_ALIKE, SHORT_LONG, ALIKE_SHORT = (
    "without sums all tokens become alike, without norms they grow ever longer",
    "without sums they grow ever longer, without norms all tokens become alike",
    "without sums they shrink to nothing, without norms they grow ever longer",
    "without sums all tokens become alike, without norms they shrink to nothing",
)


def _what_breaks() -> str:
    """What is measured, as one of the options."""
    alike = _apart(NO_SUMS) < 0.01 * _apart(WHOLE)
    short = _length(NO_SUMS) < 0.01 * _length(WHOLE)
    long = _length(NO_NORMS) > 10 * _length(WHOLE)
    assert not short
    assert _apart(NO_NORMS) > 0.1 * _apart(WHOLE)
    return {(True, True): ALIKE_LONG, (True, False): ALIKE_SHORT}[alike, long]


WHAT_BREAKS = Prediction(
    name="what-breaks",
    objective="Say what breaks in a deep model without its sums, and without its norms.",
    minutes=4,
    points=1,
    answer=_what_breaks(),
    options=(LONG_ALIKE, SHORT_LONG, ALIKE_LONG, ALIKE_SHORT),
    hints=(
        "Take the two one at a time. What does a sum keep that would be lost without it?",
        "Without sums a token is replaced by a mixture of earlier tokens, twelve times. With the "
        "sums and no norms, what each part adds grows with what it is given.",
        "What do mixtures of mixtures have in common in the end? And if every block makes the "
        "stream half as long again, how long is it after twelve?",
    ),
    slips=(
        Slip(
            name="the-other-way-round",
            answer=LONG_ALIKE,
            says="You have both effects, the wrong way round. Which of the two, sum or norm, keeps "
            "a token's own features?",
        ),
        Slip(
            name="expects-shrinking-without-sums",
            answer=SHORT_LONG,
            says="The norms are still there in this one, and bring every part's input back to one "
            "length. If not the length, what about a token gets lost when only mixtures are left?",
        ),
        Slip(
            name="expects-shrinking-without-norms",
            answer=ALIKE_SHORT,
            says="The sums are still there in this one: something is added to the stream twelve "
            "times over. What is there to hold its length back?",
        ),
    ),
)

# The token that the prose works through: mean 4, variance 9.
SHOWN = np.array([-1.0, 5.0, 7.0, 5.0])


def _tuple(numbers: np.ndarray, form: str = "g") -> str:
    return f"({', '.join(format(number, form) for number in numbers)})"


LESSON = Lesson(
    number=11,
    title="Inside a transformer block",
    assignment="week2_model",
    objective="build a transformer block, and say what its sums, norms and feed-forward network "
    "are each good for.",
    needs="multi-head attention (lesson 10)",
    place="block",
    worked_pages=("05-feed-forward.html", "06-layer-norm-and-residuals.html"),
    exercises=(
        LAYER_NORM,
        GELU,
        FEED_FORWARD,
        BLOCK_BY_HAND,
        TRANSFORMER_BLOCK,
        WHAT_BREAKS,
    ),
    worked={
        "shown": _tuple(SHOWN),
        "shown_mean": SHOWN.mean(),
        "shown_centered": _tuple(SHOWN - SHOWN.mean()),
        "shown_variance": SHOWN.var(),
        "shown_std": SHOWN.std(),
        "shown_normed": _tuple(layer_norm(SHOWN, np.ones(4), np.zeros(4)), ".2f"),
        "gelu_minus": gelu(np.array(-0.5)),
        "gelu_plus": gelu(np.array(2.0)),
        "toy_x": TOY_X,
        "depth": DEPTH,
    },
)
