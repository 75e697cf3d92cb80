# mypy: allow-untyped-defs
"""What is graded in lesson 3, and the wrong answers it knows.

Mistakes in softmax are written as a learner would write them, without the reference's guard against
slices that are all -inf: where a sum underflows to 0 they give nan, as the learner's do.
"""

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
from byhand_course.reference.softmax import entropy, softmax, softmax_with_temperature

# The scores of the exercise by hand, and those that the prose works through.
HAND_SCORES = np.array([0.0, 2.0, 1.0])
SHOWN_SCORES = np.array([1.0, 3.0, -1.0])


SOFTMAX_BY_HAND = ByHand(
    name="softmax-by-hand",
    objective="Apply softmax to three scores by hand.",
    minutes=5,
    points=1,
    form="a list of three numbers to two decimals, such as [0.25, 0.25, 0.50]",
    answer=two_decimals(softmax(HAND_SCORES)),
    tolerance=0.01,
    hints=(
        "Two steps: make every score positive, then make the results sum to 1.",
        "Raise e to each score and add up the three results. What is left to do with that sum?",
        f"The three powers are {', '.join(f'{x:.2f}' for x in np.exp(HAND_SCORES))} and they sum "
        f"to {np.exp(HAND_SCORES).sum():.2f}. The first weight is "
        f"{softmax(HAND_SCORES)[0]:.2f}; two are left.",
    ),
    slips=(
        Slip(
            name="not-divided",
            answer=two_decimals(np.exp(HAND_SCORES)),
            says="These are the powers of e. Their sum is far from 1: what would bring it there?",
        ),
        Slip(
            name="exponential-forgotten",
            answer=two_decimals(HAND_SCORES / HAND_SCORES.sum()),
            says="These are the scores divided by their sum. It would fail at a negative score: "
            "which step makes every score positive first?",
        ),
        Slip(
            name="divided-by-the-sum-of-the-scores",
            answer=two_decimals(np.exp(HAND_SCORES) / HAND_SCORES.sum()),
            says="You divided by the sum of the scores. The weights should sum to 1: the sum of "
            "which three numbers does that?",
        ),
        Slip(
            name="e-to-the-0-is-0",
            answer=two_decimals(
                np.where(HAND_SCORES == 0, 0, np.exp(HAND_SCORES))
                / np.exp(HAND_SCORES)[HAND_SCORES != 0].sum()
            ),
            says="The score 0 got no weight at all. What is e to the power of 0?",
        ),
        Slip(
            name="divided-by-the-largest",
            answer=two_decimals(np.exp(HAND_SCORES) / np.exp(HAND_SCORES).max()),
            says="Your largest weight is 1, so nothing is left for the others. By what should "
            "all three be divided, if their sum is to be 1?",
        ),
        Slip(
            name="upside-down",
            answer=two_decimals(softmax(-HAND_SCORES)),
            says="The smallest score has the largest weight here. Which way does e to the power "
            "of x run when x grows?",
        ),
        Slip(
            name="one-decimal",
            answer=np.round(softmax(HAND_SCORES), 1).tolist(),
            says="The method is right, the rounding too coarse. What are the three weights to "
            "two decimals?",
        ),
    ),
)

SAME, LARGER, SHARPER, FLATTER, THREEFOLD = (
    "the same weights",
    "larger weights",
    "a sharper spread",
    "a more even spread",
    "weights three times as large",
)


def _effect_on_weights(changed: np.ndarray) -> str:
    """What changed scores do to the weights of SHOWN_SCORES, found by trying it."""
    before, after = softmax(SHOWN_SCORES), softmax(changed)
    if np.allclose(before, after):
        return SAME
    return SHARPER if entropy(after) < entropy(before) else FLATTER


SHIFT_INVARIANCE = Prediction(
    name="shift-invariance",
    objective="Predict what softmax does when one number is added to every score.",
    minutes=3,
    points=1,
    answer=_effect_on_weights(SHOWN_SCORES + 100),
    options=(SAME, LARGER, SHARPER, FLATTER),
    hints=(
        "Try it with two scores, 0 and 1, and add 1 to both.",
        "e to the power of (s + c) is a product of two powers. Write both, for each score.",
        "Every power is now multiplied by one and the same number. What does that do to their "
        "sum, and to each fraction?",
    ),
    slips=(
        Slip(
            name="all-grow",
            answer=LARGER,
            says="The powers of e grow enormously. But the weights must still sum to 1: can all "
            "of them grow?",
        ),
        Slip(
            name="expects-sharper",
            answer=SHARPER,
            says="A sharper spread would need larger differences between the scores. What is the "
            "difference of two scores after 100 was added to both?",
        ),
        Slip(
            name="expects-flatter",
            answer=FLATTER,
            says=f"{SHOWN_SCORES[0] + 100:g} and {SHOWN_SCORES[1] + 100:g} do look more alike than "
            f"{SHOWN_SCORES[0]:g} and {SHOWN_SCORES[1]:g}. Does softmax look at the ratio of two "
            "scores, or at their difference?",
        ),
    ),
)


def plain_scores(rng):
    return (rng.normal(size=5),)


def rows_of_scores(rng):
    return (1.5 * rng.normal(size=(3, 5)),)


def scores_with_three_axes(rng):
    return (1.5 * rng.normal(size=(2, 3, 5)),)


def square_scores(rng):
    """Here a lost axis broadcasts without an error; only the values tell."""
    return (1.5 * rng.normal(size=(5, 5)),)


def huge_scores(rng):
    """e to the power of 1000 is beyond float64."""
    return (1000 + rng.normal(size=(3, 7)),)


def scores_far_apart(rng):
    """So far apart that only the largest may be subtracted: not the mean, nor the least."""
    scores = rng.uniform(-2000, -1000, size=7)
    scores[rng.permutation(7)[:3]] = rng.uniform(1800, 1801, size=3)
    return (scores,)


def rows_far_apart(rng):
    """Ordinary rows, each 2000 below the one before: every row needs its own largest score."""
    return (rng.normal(size=(3, 5)) - np.array([[0.0], [2000.0], [4000.0]]),)


def float32_scores(rng):
    """e to the power of 89 is beyond float32 already."""
    return (rng.uniform(93, 97, size=(3, 5)).astype(np.float32),)


def whole_number_scores(rng):
    """All above 0, so that no row sums to 0."""
    return (rng.integers(1, 7, size=(3, 6)),)


def scores_with_minus_infinity(rng):
    """Two entries masked in each row, and no column masked in all rows."""
    scores = 1.5 * rng.normal(size=(3, 7))
    columns = rng.permutation(7)[:6].reshape(3, 2)
    scores[np.arange(3)[:, None], columns] = -np.inf
    return (scores,)


def scores_along_axis_0(rng):
    return 1.5 * rng.normal(size=(3, 5)), 0


def scores_along_axis_1(rng):
    return 1.5 * rng.normal(size=(2, 5, 3)), 1


LARGEST = "largest = scores.max(axis=axis, keepdims=True)"
TOTAL = "total = exponentials.sum(axis=axis, keepdims=True)"
DIVIDED = "return exponentials / exponentials.sum(axis=axis, keepdims=True)"


def _shifted_by(largest: str) -> str:
    """In place of TOTAL: the exponentials once more, with another shift, and no guard."""
    return f"exponentials = np.exp(scores - {largest})\n    {DIVIDED}"


SOFTMAX = Exercise(
    name="softmax",
    objective="Write softmax so that it survives huge scores, masks and float32, along any axis.",
    minutes=11,
    solution=softmax,
    inputs=(
        plain_scores,
        rows_of_scores,
        scores_with_three_axes,
        square_scores,
        huge_scores,
        scores_far_apart,
        rows_far_apart,
        float32_scores,
        whole_number_scores,
        scores_with_minus_infinity,
        scores_along_axis_0,
        scores_along_axis_1,
    ),
    returns=("weights",),
    points=(3,),
    properties={
        "the weights sum to 1 along the axis": lambda weights, scores, axis=-1: np.allclose(
            weights.sum(axis=axis), 1, rtol=1e-5
        ),
        "no weight is negative": lambda weights, scores, axis=-1: (weights >= 0).all(),
        "a score of minus infinity gets weight 0": lambda weights, scores, axis=-1: (
            weights[np.isneginf(scores)] == 0
        ).all(),
        "the order along the axis is kept": lambda weights, scores, axis=-1: (
            np.diff(np.take_along_axis(weights, np.argsort(scores, axis=axis), axis), axis=axis)
            >= 0
        ).all(),
    },
    hints=(
        "By hand you took two steps: powers of e, then a division. First write those for a "
        "single row, then think of huge scores.",
        "Before taking powers, subtract the largest score of each slice. Both max and sum take "
        "the axis as an argument.",
        "max and sum drop the axis they run over, and then no longer line up with scores. "
        "keepdims=True leaves it in place with length 1.",
    ),
    mistakes=(
        Mistake(
            name="no-maximum-subtracted",
            swap=TOTAL,
            into=f"exponentials = np.exp(scores)\n    {DIVIDED}",
            says="The exponential of a large score is infinite, and inf / inf is nan. Which "
            "number can you subtract from every score of a row without changing its weights?",
        ),
        Mistake(
            name="no-maximum-and-whole-array",
            swap=TOTAL,
            into="exponentials = np.exp(scores)\n    return exponentials / exponentials.sum()",
            says="Two things are left here. The sum runs over the whole array: print your "
            "weights' sum along each axis. And what is np.exp(1000.0)?",
        ),
        Mistake(
            name="whole-array",
            swap=LARGEST,
            into=f"axis = None\n    {LARGEST}",
            says="All entries together sum to 1, so rows compete with each other. What do max "
            "and sum need to know, to treat each row by itself?",
        ),
        Mistake(
            name="sum-over-the-whole-array",
            swap=TOTAL,
            into="total = exponentials.sum()",
            says="The maximum is taken row by row, but the sum runs over the whole array. Print "
            "weights.sum(axis=-1): what should each entry be?",
        ),
        Mistake(
            name="maximum-of-the-whole-array",
            swap=TOTAL,
            into=_shifted_by("scores.max()"),
            says="One maximum of the whole array is subtracted from all rows. What becomes of "
            "the exponentials of a row that lies 2000 below it?",
        ),
        Mistake(
            name="default-axis-0",
            swap="axis=-1",
            into="axis=0",
            says="Without an axis, your columns sum to 1 instead of your rows. Which default "
            "does the signature promise?",
        ),
        Mistake(
            name="always-axis-0",
            swap=LARGEST,
            into=f"axis = 0\n    {LARGEST}",
            says="Your weights sum to 1 along axis 0 whatever is asked for. Where does the "
            "argument axis enter your function?",
        ),
        Mistake(
            name="always-axis-1",
            swap=LARGEST,
            into=f"axis = 1\n    {LARGEST}",
            says="Axis 1 is the last axis of a matrix only. Which axis is the last when there "
            "are one or three, and where does the argument axis enter?",
        ),
        Mistake(
            name="always-the-last-axis",
            swap=LARGEST,
            into=f"axis = -1\n    {LARGEST}",
            says="Your weights sum to 1 along the last axis even when another one is asked for. "
            "Where does the argument axis enter your function?",
        ),
        Mistake(
            name="sum-along-axis-0",
            swap=TOTAL,
            into="total = exponentials.sum(axis=0, keepdims=True)",
            says="The sum runs down the columns, so the columns sum to 1. Along which axis did "
            "you take the maximum?",
        ),
        Mistake(
            name="maximum-along-axis-0",
            swap=TOTAL,
            into=_shifted_by("scores.max(axis=0, keepdims=True)"),
            says="Each row sums to 1, yet the maximum comes from the columns: entries of one row "
            "are shifted by different numbers. Along which axis must it be the same number?",
        ),
        Mistake(
            name="maximum-along-axis-1",
            swap=TOTAL,
            into=_shifted_by("scores.max(axis=1, keepdims=True)"),
            says="The maximum runs over axis 1, which is the last one of a matrix only. Along "
            "which axis does your sum run?",
        ),
        Mistake(
            name="keepdims-forgotten-in-the-sum",
            swap=TOTAL,
            into="total = exponentials.sum(axis=axis)",
            says="The sum has lost its axis, so each column, not each row, is divided by a sum. "
            "Print the shapes of both: how could the sum keep that axis with length 1?",
        ),
        Mistake(
            name="keepdims-forgotten-in-the-maximum",
            swap=TOTAL,
            into=_shifted_by("scores.max(axis=axis)"),
            says="The maximum has lost its axis, so each column, not each row, is shifted. Print "
            "the shapes of both: how could the maximum keep that axis with length 1?",
        ),
        Mistake(
            name="keepdims-forgotten",
            swap=TOTAL,
            into="exponentials = np.exp(scores - scores.max(axis=axis))\n"
            "    return exponentials / exponentials.sum(axis=axis)",
            says="Maximum and sum have both lost their axis, so they line up with the columns. "
            "Print their shapes: how could they keep that axis with length 1?",
        ),
        Mistake(
            name="mean-subtracted",
            swap=TOTAL,
            into=_shifted_by("scores.mean(axis=axis, keepdims=True)"),
            says="Taking the mean away does not change the weights, but a score far above the "
            "mean still overflows. Which number is no score ever above?",
        ),
        Mistake(
            name="scores-changed-in-place",
            swap=TOTAL,
            into="scores -= scores.max(axis=axis, keepdims=True)\n"
            f"    exponentials = np.exp(scores)\n    {DIVIDED}",
            says="The weights are right, but -= writes into the caller's own scores, which are "
            "other scores after the call. How do you get a new array instead?",
        ),
        Mistake(
            name="exponential-forgotten",
            swap=TOTAL,
            into="return scores / scores.sum(axis=axis, keepdims=True)",
            says="The scores are divided by their own sum, so a negative score gets a negative "
            "weight. Which step makes every score positive first?",
        ),
        Mistake(
            name="divided-by-the-sum-of-the-scores",
            swap=TOTAL,
            into="total = scores.sum(axis=axis, keepdims=True)",
            says="You divide by the sum of the scores. The weights should sum to 1: the sum of "
            "which numbers does that?",
        ),
        Mistake(
            name="bare-powers-over-the-sum-of-the-scores",
            swap=TOTAL,
            into="return np.exp(scores) / scores.sum(axis=axis, keepdims=True)",
            says="You divide powers of e by the sum of the scores. The weights should sum to 1: "
            "which numbers must be added up? And what is np.exp(1000.0)?",
        ),
        Mistake(
            name="not-divided",
            swap="return exponentials / np.where(total == 0, 1, total)",
            into="return exponentials",
            says="Each row's largest entry is 1 here, whatever the others are. Which step makes "
            "a row sum to 1?",
        ),
        Mistake(
            name="divided-by-the-maximum",
            swap=TOTAL,
            into="return np.exp(scores / largest) / np.exp(scores / largest).sum(axis=axis, "
            "keepdims=True)",
            says="You divide the scores by the largest one, which changes their differences. What "
            "can be done to all scores of a row without changing its weights?",
        ),
        Mistake(
            name="upside-down",
            swap="np.exp(scores - largest)",
            into="np.exp(largest - scores)",
            says="The smallest score gets the largest weight. What is the sign of your exponent "
            "for every score but the largest, and what should it be?",
        ),
        Mistake(
            name="logarithm-of-the-weights",
            swap=TOTAL,
            into="return scores - largest - np.log(exponentials.sum(axis=axis, keepdims=True))",
            says="These are the logarithms of the weights: none of them is positive. Which last "
            "step is one too many, or one too few?",
        ),
        Mistake(
            name="whole-numbers-kept",
            swap=TOTAL,
            into="weights = np.zeros_like(scores)\n"
            "    weights[...] = exponentials / exponentials.sum(axis=axis, keepdims=True)\n"
            "    return weights",
            says="On whole numbers everything is cut down to 0 or 1. What kind of numbers does "
            "the array hold in which you collect the weights?",
        ),
    ),
)

WHAT_SCALING_DOES = Prediction(
    name="what-scaling-does",
    objective="Predict what scaling all scores does to the weights that softmax gives.",
    minutes=3,
    points=1,
    answer=_effect_on_weights(3 * SHOWN_SCORES),
    options=(SAME, THREEFOLD, SHARPER, FLATTER),
    hints=(
        "Softmax looks at differences of scores. What becomes of them?",
        f"Take the scores 0 and 1, whose powers of e are 1 and {np.exp(1):.2f}. Then take 0 and 3.",
        f"The powers 1 and {np.exp(1):.2f} became 1 and {np.exp(3):.2f}. Is the larger share now "
        "larger or smaller?",
    ),
    slips=(
        Slip(
            name="expects-no-change",
            answer=SAME,
            says="That is what adding does. Does multiplying leave the differences between the "
            "scores as they are?",
        ),
        Slip(
            name="expects-a-factor",
            answer=THREEFOLD,
            says="Weights three times as large would sum to 3. What do weights always sum to?",
        ),
        Slip(
            name="expects-flatter",
            answer=FLATTER,
            says="The differences between the scores grow threefold. Does a larger lead give the "
            "winner more weight or less?",
        ),
    ),
)


def a_low_temperature(rng):
    return rng.normal(size=5), 0.4


def a_high_temperature(rng):
    return 2 * rng.normal(size=7), 3.0


def rows_at_a_low_temperature(rng):
    return rng.normal(size=(3, 5)), 0.7


def three_axes_at_a_high_temperature(rng):
    return 2 * rng.normal(size=(2, 3, 5)), 1.6


def square_scores_at_a_low_temperature(rng):
    return rng.normal(size=(5, 5)), 0.6


def huge_scores_at_a_low_temperature(rng):
    return 1000 + rng.normal(size=(3, 5)), 0.7


def whole_numbers_at_a_high_temperature(rng):
    return rng.integers(-6, 7, size=(3, 7)), 3


def masked_scores_at_a_high_temperature(rng):
    (scores,) = scores_with_minus_infinity(rng)
    return scores, 1.7


SOFTMAX_WITH_TEMPERATURE = Exercise(
    name="softmax-with-temperature",
    objective="Sharpen or flatten weights with a temperature.",
    minutes=6,
    solution=softmax_with_temperature,
    inputs=(
        a_low_temperature,
        a_high_temperature,
        rows_at_a_low_temperature,
        three_axes_at_a_high_temperature,
        square_scores_at_a_low_temperature,
        huge_scores_at_a_low_temperature,
        whole_numbers_at_a_high_temperature,
        masked_scores_at_a_high_temperature,
    ),
    returns=("weights",),
    points=(2,),
    properties={
        "the weights sum to 1": lambda weights, scores, temperature: np.allclose(
            weights.sum(axis=-1), 1
        ),
        "a temperature above 1 flattens, one below 1 sharpens": (
            lambda weights, scores, temperature: (
                (entropy(weights) > entropy(softmax(scores))) == (temperature > 1)
            ).all()
        ),
    },
    hints=(
        "Your softmax does nearly all of it. What has to happen to the scores before?",
        "You just predicted what multiplying the scores does. A low temperature should sharpen: "
        "is that a multiplication by the temperature, or a division?",
        "Divide the scores, not the weights, and hand the result to softmax.",
    ),
    mistakes=(
        Mistake(
            name="multiplied",
            swap="scores / temperature",
            into="scores * temperature",
            says="A low temperature flattens here, and a high one sharpens. Which way round does "
            "the docstring have it?",
        ),
        Mistake(
            name="temperature-has-no-effect",
            swap="softmax(scores / temperature)",
            into="softmax(scores - temperature)",
            says="The temperature has no effect: it is not used, or subtracted from all scores, "
            "or divided out again. What leaves softmax unchanged, and what does not?",
        ),
        Mistake(
            name="weights-divided",
            swap="softmax(scores / temperature)",
            into="softmax(scores) / temperature",
            says="You divide the weights, so they no longer sum to 1. Before which step should "
            "the temperature act?",
        ),
        Mistake(
            name="weights-raised",
            swap="softmax(scores / temperature)",
            into="softmax(scores) ** (1 / temperature)",
            says="The weights have the right proportions, but they no longer sum to 1. How do "
            "you bring them back, or what could act before softmax instead?",
        ),
        Mistake(
            name="softmax-twice",
            swap="softmax(scores / temperature)",
            into="softmax(softmax(scores) / temperature)",
            says="Softmax runs twice, and weights between 0 and 1 serve as scores the second "
            "time. What should the temperature divide?",
        ),
        Mistake(
            name="along-axis-0",
            swap="softmax(scores / temperature)",
            into="softmax(scores / temperature, axis=0)",
            says="The columns sum to 1 instead of the rows. Over which axis does the docstring "
            "want the sum to be 1?",
        ),
        Mistake(
            name="square-root-taken",
            swap="scores / temperature",
            into="scores / np.sqrt(temperature)",
            says="You divide by the square root of the temperature. Does its definition have a "
            "root in it?",
        ),
        Mistake(
            name="whole-number-division",
            swap="scores / temperature",
            into="scores // temperature",
            says="Two slashes round every score down to a whole number. What does 1.9 // 1.0 give?",
        ),
        Mistake(
            name="exponentials-divided-by-hand",
            swap="return softmax(scores / temperature)",
            into="powers = np.exp(scores / temperature)\n"
            "    return powers / powers.sum(axis=-1, keepdims=True)",
            says="Huge scores overflow here, though your softmax survives them. Why not let it "
            "do the work?",
        ),
        Mistake(
            name="scores-changed-in-place",
            swap="return softmax(scores / temperature)",
            into="scores /= temperature\n    return softmax(scores)",
            says="/= writes into the caller's own scores, which are other scores after the call. "
            "How do you get a new array instead?",
        ),
    ),
)


def plain_weights(rng):
    return (softmax(rng.normal(size=5)),)


def rows_of_weights(rng):
    return (softmax(1.5 * rng.normal(size=(3, 6))),)


def square_weights(rng):
    return (softmax(1.5 * rng.normal(size=(5, 5))),)


def weights_with_three_axes(rng):
    return (softmax(1.5 * rng.normal(size=(2, 3, 5))),)


def even_weights(rng):
    length = int(rng.integers(5, 9))
    return (np.full((3, length), 1 / length),)


def weights_of_0_and_1(rng):
    """A row with a single 1 beside a row with some zeros."""
    (scores,) = scores_with_minus_infinity(rng)
    return (np.vstack([np.eye(7)[rng.integers(7)], softmax(scores)]),)


def float32_weights(rng):
    return (softmax(rng.normal(size=(3, 5))).astype(np.float32),)


ENTROPY = Exercise(
    name="entropy",
    objective="Measure with one number how sharp or flat weights are.",
    minutes=8,
    solution=entropy,
    inputs=(
        plain_weights,
        rows_of_weights,
        square_weights,
        weights_with_three_axes,
        even_weights,
        weights_of_0_and_1,
        float32_weights,
    ),
    returns=("nats",),
    points=(2,),
    properties={
        "the entropy lies between 0 and ln n": lambda nats, weights: (
            (nats >= -1e-6) & (nats <= np.log(weights.shape[-1]) + 1e-6)
        ).all(),
        "there is one number for each row": lambda nats, weights: (
            np.shape(nats) == weights.shape[:-1]
        ),
    },
    hints=(
        "Write the formula as three steps: logarithms, products, sum. Then look at its sign.",
        "A weight of 0 needs care: np.log(0) is -inf, and 0 times -inf is nan. What should such "
        "a weight add to the sum?",
        "np.where can put a harmless number where a weight is 0, before the logarithm is taken. "
        "For which number is x times ln x zero? Then sum over the last axis and turn the sign.",
    ),
    mistakes=(
        Mistake(
            name="minus-forgotten",
            swap="0 - terms.sum(axis=-1)",
            into="terms.sum(axis=-1)",
            says="Your entropies are negative. What is the sign of the logarithm of a number "
            "between 0 and 1, and what turns it around?",
        ),
        Mistake(
            name="bits-not-nats",
            swap="np.log(safe)",
            into="np.log2(safe)",
            says="This is the entropy in bits, with the logarithm to base 2. Which base does a "
            "nat use?",
        ),
        Mistake(
            name="zero-weights-give-nan",
            swap="np.where(weights > 0, weights, 1)",
            into="weights",
            says="A weight of 0 makes nan: 0 times ln 0 is 0 times -inf. What does the docstring "
            "say such a weight should add?",
        ),
        Mistake(
            name="mean-of-the-terms",
            swap="terms.sum(axis=-1)",
            into="terms.mean(axis=-1)",
            says="The terms are averaged. The weights are an average's weights already: what "
            "happens if you divide by their number once more?",
        ),
        Mistake(
            name="over-the-whole-array",
            swap="terms.sum(axis=-1)",
            into="terms.sum()",
            says="One number comes back for the whole array. Each row is a set of weights of its "
            "own: how many entropies should three rows have?",
        ),
        Mistake(
            name="along-axis-0",
            swap="terms.sum(axis=-1)",
            into="terms.sum(axis=0)",
            says="The sum runs down the columns, which are not sets of weights. Along which axis "
            "do the weights sum to 1?",
        ),
        Mistake(
            name="axis-kept",
            swap="terms.sum(axis=-1)",
            into="terms.sum(axis=-1, keepdims=True)",
            says="The last axis is still there, with length 1. Which shape does the docstring "
            "promise for weights of shape (3, 6)?",
        ),
        Mistake(
            name="weights-forgotten",
            swap="safe * np.log(safe)",
            into="np.log(safe)",
            says="All logarithms count alike here. With what is each of them multiplied, so that "
            "a rare outcome counts rarely?",
        ),
        Mistake(
            name="logarithm-forgotten",
            swap="safe * np.log(safe)",
            into="np.where(weights > 0, weights, 0) ** 2",
            says="These are sums of squared weights, with a minus. Which function of the weight "
            "stands beside it in the formula?",
        ),
        Mistake(
            name="share-of-the-maximum",
            swap="0 - terms.sum(axis=-1)",
            into="0 - terms.sum(axis=-1) / np.log(weights.shape[-1])",
            says="This is the entropy as a share of its largest value, ln n. What does the "
            "docstring give for n equal weights?",
        ),
        Mistake(
            name="perplexity",
            swap="0 - terms.sum(axis=-1)",
            into="np.exp(0 - terms.sum(axis=-1))",
            says="This is e to the power of the entropy, the number of equal choices it is worth. "
            "What does the docstring give when one weight is 1?",
        ),
    ),
)


def _worked_table() -> str:
    """Markdown: score, power of e and weight of each of SHOWN_SCORES."""
    lines = ["| score $s$ | $e^s$ | weight |", "|---:|---:|---:|"]
    powers, weights = np.exp(SHOWN_SCORES), softmax(SHOWN_SCORES)
    for score, power, weight in zip(SHOWN_SCORES, powers, weights, strict=True):
        lines.append(f"| {score:g} | {power:.3f} | {weight:.3f} |")
    lines.append(f"| **sum** | **{powers.sum():.3f}** | **{weights.sum():.3f}** |")
    return "\n".join(lines)


def _tuple(numbers: np.ndarray) -> str:
    return f"({', '.join(f'{number:g}' for number in numbers)})"


LESSON = Lesson(
    number=3,
    title="Softmax: scores into weights",
    assignment="week1_maths",
    objective="apply softmax by hand, verify that its weights sum to 1, and explain how scaling "
    "the scores sharpens or flattens them.",
    needs="dot products as scores (lesson 1)",
    place="softmax",
    worked_pages=("03-attention.html",),
    exercises=(
        SOFTMAX_BY_HAND,
        SHIFT_INVARIANCE,
        SOFTMAX,
        WHAT_SCALING_DOES,
        SOFTMAX_WITH_TEMPERATURE,
        ENTROPY,
    ),
    worked={
        "table": _worked_table(),
        "hand_scores": _tuple(HAND_SCORES),
        "shown_scores": _tuple(SHOWN_SCORES),
        "shifted_scores": _tuple(SHOWN_SCORES + 100),
        "tripled_scores": _tuple(3 * SHOWN_SCORES),
        "e_1": np.exp(1.0),
        "e_2": np.exp(2.0),
        "ln_4": entropy(np.full(4, 1 / 4)),
    },
)
