# mypy: allow-untyped-defs
"""What is graded in lesson 13, and the wrong answers it knows.

The gradient checker is asked about functions of the course's own (`code_of`): bent ones, so that a
one-sided difference shows, and ones whose entries act together, so that an entry left moved does.
"""

import numpy as np

from byhand_course.lessons.cases import code_of
from byhand_course.lessons.exercise import (
    ByHand,
    Exercise,
    Lesson,
    Mistake,
    Prediction,
    Slip,
    two_decimals,
)
from byhand_course.reference.feed_forward import linear_backward
from byhand_course.reference.gradient_check import numerical_gradient
from byhand_course.reference.loss import cross_entropy_backward

# Two positions of a vocabulary of three: 0 is the exercise by hand, 1 is worked in the prose.
HAND_P = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])
HAND_TARGETS = np.array([1, 2])
HAND_Y = np.eye(3)[HAND_TARGETS]
HAND_GRADIENT = cross_entropy_backward(np.log(HAND_P), HAND_TARGETS)
_P, _Y, _N = HAND_P[0], HAND_Y[0], len(HAND_TARGETS)


LOSS_GRADIENT_BY_HAND = ByHand(
    name="loss-gradient-by-hand",
    objective="Work out by hand how the loss changes with each logit.",
    minutes=6,
    points=1,
    form="a list of three numbers to two decimals, such as [0.15, 0.20, -0.35]",
    answer=two_decimals(HAND_GRADIENT[0]),
    tolerance=0.01,
    hints=(
        "Do for position 0 what the table does for position 1. Which of the three is the target?",
        "First p - y: y is 1 at the target and 0 elsewhere. Then remember that the loss is a mean.",
        f"p - y is {_P[0] - _Y[0]:.1f} for the first token and {_P[1] - _Y[1]:.1f} for the second. "
        f"How many positions share the loss?",
    ),
    slips=(
        Slip(
            name="not-divided",
            answer=two_decimals(_P - _Y),
            says="This is p - y. The loss is a mean: what share of it is this position's?",
        ),
        Slip(
            name="divided-by-the-vocabulary",
            answer=two_decimals((_P - _Y) / len(_P)),
            says="You divided by the number of tokens in the vocabulary. Over what does the loss "
            "take its mean?",
        ),
        Slip(
            name="divided-by-all-entries",
            answer=two_decimals((_P - _Y) / HAND_P.size),
            says="You divided by the number of all logits. How many surprises does the mean loss "
            "add up?",
        ),
        Slip(
            name="opposite-sign",
            answer=two_decimals(HAND_GRADIENT[0] * -1),
            says="The signs are turned around. If the target's logit grows, does the loss grow or "
            "fall?",
        ),
        Slip(
            name="one-taken-everywhere",
            answer=two_decimals((_P - 1) / _N),
            says="1 is taken away from every probability. What is y for a token that is not the "
            "target?",
        ),
        Slip(
            name="target-forgotten",
            answer=two_decimals(_P / _N),
            says="These are the probabilities, halved, and all of them are above 0. Which logit "
            "should the model raise to lower its loss?",
        ),
        Slip(
            name="only-at-the-target",
            answer=two_decimals((_P - 1) * _Y / _N),
            says="Only the target has a gradient here. What happens to the target's probability "
            "when another token's logit grows?",
        ),
        Slip(
            name="gradient-for-the-probabilities",
            answer=two_decimals(-_Y / _P / _N),
            says="This is how the loss changes with the probabilities, -1/p at the target. One "
            "step is left: how do the probabilities change with the logits?",
        ),
        Slip(
            name="binary-formula",
            answer=two_decimals((_P - _Y) / (_P * (1 - _P)) / _N),
            says="You divided by p(1 - p), as for yes-or-no questions asked one by one. Here three "
            "tokens share one softmax: which terms does the table have?",
        ),
        Slip(
            name="position-1-instead",
            answer=two_decimals(HAND_GRADIENT[1]),
            says="This is position 1, which the table works out. What is asked about position 0?",
        ),
    ),
)


def two_positions(rng):
    return 1.5 * rng.normal(size=(2, 3)), rng.permutation(3)[:2]


def a_repeated_target(rng):
    first, second = rng.permutation(5)[:2]
    return 1.5 * rng.normal(size=(4, 5)), np.array([first, second, first, first])


def a_batch_of_sequences(rng):
    first, second, third, fourth = rng.permutation(5)[:4]
    targets = np.array([[first, second, first], [third, fourth, fourth]])
    return 1.5 * rng.normal(size=(2, 3, 5)), targets


def whole_number_logits(rng):
    return rng.integers(-2, 4, size=(3, 7)), rng.integers(0, 7, size=3)


def logits_of_ten_thousand(rng):
    """e to their power is beyond float64; the targets are not the likeliest tokens."""
    logits = 10_000 + 1.5 * rng.normal(size=(3, 4))
    return logits, np.argsort(logits, axis=-1)[:, 1]


def float32_logits(rng):
    return 1.5 * rng.normal(size=(3, 6)).astype(np.float32), rng.integers(0, 6, size=3)


PROBABILITIES = "probabilities = softmax(logits)"
DIVIDED = "(probabilities - is_target) / np.size(targets)"

CROSS_ENTROPY_BACKWARD = Exercise(
    name="cross-entropy-backward",
    objective="Write the gradient of the mean cross-entropy for its logits.",
    minutes=6,
    solution=cross_entropy_backward,
    inputs=(
        two_positions,
        a_repeated_target,
        a_batch_of_sequences,
        whole_number_logits,
        logits_of_ten_thousand,
        float32_logits,
    ),
    returns=("dlogits",),
    points=(2,),
    properties={
        "each row sums to 0": lambda dlogits, logits, targets: np.allclose(
            dlogits.sum(axis=-1), 0, atol=1e-6
        ),
        "only the target's entry is below 0": lambda dlogits, logits, targets: (
            (dlogits < 0) == (targets[..., None] == np.arange(logits.shape[-1]))
        ).all(),
    },
    hints=(
        "Three things, as by hand: the probabilities, a 1 taken from one entry of each row, a "
        "division.",
        "Your softmax gives the probabilities of any batch. For y you need an array shaped as the "
        "logits, with a 1 at each row's target: the rows of an identity matrix are such rows.",
        "Indexing np.eye(V) with the targets gives one row for each target, whatever their shape. "
        "np.size counts the entries of an array over all its axes.",
    ),
    mistakes=(
        Mistake(
            name="not-divided",
            swap=DIVIDED,
            into="probabilities - is_target",
            says="This is p - y for every position. The loss is their mean: what share of it has "
            "each?",
        ),
        Mistake(
            name="divided-by-the-number-of-sequences",
            swap="np.size(targets)",
            into="len(targets)",
            says="You divide by the length of the first axis, which in a batch counts sequences. "
            "How many targets are there in all?",
        ),
        Mistake(
            name="divided-by-the-length-of-a-sequence",
            swap="np.size(targets)",
            into="targets.shape[-1]",
            says="You divide by the length of one sequence, as if the batch had no other. How many "
            "targets are there in all?",
        ),
        Mistake(
            name="divided-by-the-vocabulary",
            swap="np.size(targets)",
            into="logits.shape[-1]",
            says="You divide by the number of tokens in the vocabulary. Over what does "
            "cross_entropy take its mean?",
        ),
        Mistake(
            name="divided-by-all-entries",
            swap="np.size(targets)",
            into="np.size(logits)",
            says="You divide by the number of all logits, as a plain .mean() of the array would. "
            "How many surprises does the mean loss add up?",
        ),
        Mistake(
            name="one-taken-everywhere",
            swap="probabilities - is_target",
            into="probabilities - 1",
            says="1 is taken away from every entry, so no row sums to 0. In which entry of a row "
            "is y equal to 1?",
        ),
        Mistake(
            name="one-taken-in-the-column-of-every-target",
            swap=DIVIDED,
            into="(probabilities - is_target.any(axis=tuple(range(targets.ndim)))) "
            "/ np.size(targets)",
            says="Each row has a 1 taken away for the targets of the other rows too. Print what "
            "[:, targets] selects: how do you say which row each target belongs to?",
        ),
        Mistake(
            name="only-at-the-target",
            swap="(probabilities - is_target)",
            into="(probabilities - 1) * is_target",
            says="Only the targets have a gradient here. If the logit of another token grows, what "
            "happens to the target's probability?",
        ),
        Mistake(
            name="targets-forgotten",
            swap="(probabilities - is_target)",
            into="probabilities",
            says="The targets play no part: no entry is below 0. Which logit should the model "
            "raise to lower its loss?",
        ),
        Mistake(
            name="opposite-sign",
            swap="(probabilities - is_target)",
            into="(is_target - probabilities)",
            says="The signs are turned around. If the target's logit grows, does the loss grow or "
            "fall?",
        ),
        Mistake(
            name="binary-formula",
            swap=DIVIDED,
            into=f"{DIVIDED} / (probabilities * (1 - probabilities))",
            says="You divide by p(1 - p): that is the binary cross-entropy, one yes or no for each "
            "token. Here all tokens share one softmax. What is left of p(1 - p) then?",
        ),
        Mistake(
            name="sigmoid-for-softmax",
            swap=PROBABILITIES,
            into="probabilities = 1 / (1 + np.exp(-logits))",
            says="Each logit goes through a sigmoid of its own, so the probabilities of a row do "
            "not sum to 1. Which function turned logits into probabilities on the way forward?",
        ),
        Mistake(
            name="gradient-for-the-probabilities",
            swap="(probabilities - is_target)",
            into="(-1.0 * is_target / probabilities)",
            says="This is -1/p at the target: how the loss changes with the probabilities. The "
            "docstring asks for the logits: which function lies between the two?",
        ),
        Mistake(
            name="softmax-forgotten",
            swap=PROBABILITIES,
            into="probabilities = logits",
            says="You take y from the logits themselves. What is p, in p - y?",
        ),
        Mistake(
            name="softmax-down-the-columns",
            swap=PROBABILITIES,
            into="probabilities = softmax(logits, axis=0)",
            says="Softmax ran along axis 0. Along which axis do the tokens of the vocabulary "
            "compete?",
        ),
        Mistake(
            name="no-maximum-subtracted",
            swap=PROBABILITIES,
            into="powers = np.exp(logits)\n"
            "    probabilities = powers / powers.sum(axis=-1, keepdims=True)",
            says="e to the power of 10 000 is infinite. Which of your own functions survives that?",
        ),
    ),
)

# A batch of two sentences on its way through the output layer.
STREAM, OUTPUT_WEIGHT = np.ones((2, 5, 16)), np.ones((16, 10))
LOGITS = STREAM @ OUTPUT_WEIGHT
AS_WEIGHT, AS_STREAM, AS_LOGITS = (str(x.shape) for x in (OUTPUT_WEIGHT, STREAM, LOGITS))
TURNED = str(OUTPUT_WEIGHT.shape[::-1])
EACH_SENTENCE = str((len(STREAM), *OUTPUT_WEIGHT.shape))
EACH_TOKEN = str((*STREAM.shape[:-1], *OUTPUT_WEIGHT.shape))

WEIGHT_GRADIENT_SHAPE = Prediction(
    name="weight-gradient-shape",
    objective="Predict the shape of a weight's gradient from a batch.",
    minutes=3,
    points=1,
    answer=str(linear_backward(LOGITS, STREAM, OUTPUT_WEIGHT)[1].shape),
    options=(EACH_SENTENCE, AS_STREAM, TURNED, AS_WEIGHT, AS_LOGITS, EACH_TOKEN),
    hints=(
        "For each number of W, the gradient tells how the loss changes with it. How many numbers "
        "has W?",
        "All sentences and all tokens use one and the same W. What becomes of their shares?",
        "A step of training takes some of the gradient away from W, entry by entry. Which shape "
        "does that need?",
    ),
    slips=(
        Slip(
            name="one-for-each-sentence",
            answer=EACH_SENTENCE,
            says="That is one gradient for each sentence. There is only one W, and the loss of "
            "both depends on it: what becomes of their two shares?",
        ),
        Slip(
            name="one-for-each-token",
            answer=EACH_TOKEN,
            says="That is one gradient for each token. There is only one W, and the loss of all "
            "of them depends on it: what becomes of their shares?",
        ),
        Slip(
            name="transposed",
            answer=TURNED,
            says="That is the shape of W's transpose. Entry [i, j] of the gradient belongs to "
            "entry [i, j] of W: which shape follows?",
        ),
        Slip(
            name="as-the-logits",
            answer=AS_LOGITS,
            says="That is the shape of the logits' gradient. Which number's change does each "
            "entry of W's gradient tell about?",
        ),
        Slip(
            name="as-the-stream",
            answer=AS_STREAM,
            says="That is the shape of X, and of its gradient. Which number's change does each "
            "entry of W's gradient tell about?",
        ),
    ),
)


def _layer(rng, *tokens, d_out):
    """dout, X and W of a linear layer; tokens are the lengths of X."""
    return (
        rng.normal(size=(*tokens[:-1], d_out)),
        rng.normal(0.5, 1, size=tokens),
        rng.normal(size=(tokens[-1], d_out)),
    )


def a_few_tokens(rng):
    return _layer(rng, 3, 4, d_out=5)


def a_batch_of_tokens(rng):
    return _layer(rng, 2, 3, 5, d_out=4)


def as_many_tokens_as_features(rng):
    """Everything fits everything here; only the values tell."""
    return _layer(rng, 4, 4, d_out=4)


def as_many_sequences_as_tokens_as_features(rng):
    """Even reversed axes fit."""
    return _layer(rng, 3, 3, 3, d_out=5)


def float32_tokens(rng):
    """All above 0, so that rounding in float32 stays small beside the sums."""
    shapes = (5, 4), (5, 3), (3, 4)
    return tuple(rng.uniform(0.5, 1.5, size=shape).astype(np.float32) for shape in shapes)


INPUT_GRADIENT = "dX = dout @ W.T"
WEIGHT_GRADIENT = "dW = X_rows.T @ dout_rows"
BIAS_GRADIENT = "db = dout_rows.sum(axis=0)"
ALL_THREE = "return dX, dW, db"

LINEAR_BACKWARD = Exercise(
    name="linear-backward",
    objective="Write all three gradients of a linear layer, for a batch of any shape.",
    minutes=9,
    solution=linear_backward,
    inputs=(
        a_few_tokens,
        a_batch_of_tokens,
        as_many_tokens_as_features,
        as_many_sequences_as_tokens_as_features,
        float32_tokens,
    ),
    returns=("dX", "dW", "db"),
    points=(1, 1, 1),
    properties={
        "each gradient is shaped as what it belongs to": lambda parts, dout, X, W: (
            parts[0].shape == X.shape
            and parts[1].shape == W.shape
            and parts[2].shape == W.shape[-1:]
        ),
        "moving all three by a little moves the answer alike": lambda parts, dout, X, W: np.isclose(
            (parts[0] * X).sum(), (parts[1] * W).sum(), rtol=1e-4
        ),
    },
    hints=(
        "Write the shapes down: dout is (..., d_out), dX must be (..., d_in), dW (d_in, d_out). "
        "Which transposes make the products fit?",
        "The sums above run over j for dX, and over the tokens for dW and db. The axis that is "
        "summed must stand in the middle of a product.",
        "With a batch, every token of every sequence is one more row: reshape(-1, d) puts them all "
        "under each other. After that, dW is a product of two matrices, and db a sum of rows.",
    ),
    mistakes=(
        Mistake(
            name="weight-not-transposed",
            swap=INPUT_GRADIENT,
            into="dX = dout @ W",
            says="dX goes through W as on the way forward, which fits only where W is square. "
            "Over which index of W does the sum for dX run?",
        ),
        Mistake(
            name="input-gradient-transposed",
            swap=INPUT_GRADIENT,
            into="dX = W @ dout.T",
            says="Your dX has a column for each token. How do the tokens lie in X?",
        ),
        Mistake(
            name="weight-gradient-transposed",
            swap=WEIGHT_GRADIENT,
            into="dW = dout_rows.T @ X_rows",
            says="Your dW is transposed: (d_out, d_in). Entry [i, j] belongs to feature i of X and "
            "output j: which of the two should run over the rows?",
        ),
        Mistake(
            name="all-axes-reversed",
            swap=WEIGHT_GRADIENT,
            into="dW = X.T @ dout",
            says="dW is right for a single sequence. In a batch .T reverses all axes, and @ "
            "multiplies matrix by matrix. How can all tokens become rows of one matrix?",
        ),
        Mistake(
            name="one-weight-gradient-for-each-sequence",
            swap=WEIGHT_GRADIENT,
            into="dW = X.swapaxes(-1, -2) @ dout",
            says="You have a dW for each sequence. They all share one W: what becomes of their "
            "shares?",
        ),
        Mistake(
            name="bias-gradient-not-summed",
            swap=BIAS_GRADIENT,
            into="db = dout",
            says="Your db has a row for each token. One bias is added to all of them: what becomes "
            "of their shares?",
        ),
        Mistake(
            name="bias-summed-over-the-first-axis-only",
            swap=BIAS_GRADIENT,
            into="db = dout.sum(axis=0)",
            says="db is summed over axis 0 only: in a batch those are the sequences, and the "
            "tokens are left. Over how many axes should it be summed?",
        ),
        Mistake(
            name="bias-summed-over-everything",
            swap=BIAS_GRADIENT,
            into="db = dout.sum()",
            says="Your db is a single number. How many biases has the layer?",
        ),
        Mistake(
            name="bias-summed-over-the-outputs",
            swap=BIAS_GRADIENT,
            into="db = dout_rows.sum(axis=1)",
            says="Your db has a number for each token. There is a bias for each output: which axis "
            "should be left over?",
        ),
        Mistake(
            name="bias-gradient-averaged",
            swap=BIAS_GRADIENT,
            into="db = dout_rows.mean(axis=0)",
            says="You took the mean over the tokens for db. Each token's loss changes with the "
            "bias: do their changes add up or average out?",
        ),
        Mistake(
            name="weight-gradient-averaged",
            swap=WEIGHT_GRADIENT,
            into="dW = X_rows.T @ dout_rows / len(X_rows)",
            says="You divided dW by the number of tokens. The loss is a mean already, and its "
            "gradient knows that: where was that division made?",
        ),
        Mistake(
            name="both-averaged",
            swap=ALL_THREE,
            into="return dX, dW / len(X_rows), db / len(X_rows)",
            says="You divided dW and db by the number of tokens. The loss is a mean already, and "
            "its gradient knows that: where was that division made?",
        ),
        Mistake(
            name="bias-ignores-dout",
            swap=BIAS_GRADIENT,
            into="db = np.full(dout.shape[-1], float(len(dout_rows)))",
            says="Your db counts the tokens. Moving the bias moves each output alike, but does the "
            "loss care for each of them alike?",
        ),
        Mistake(
            name="returned-in-another-order",
            swap=ALL_THREE,
            into="return dW, dX, db",
            says="dX and dW have changed places. In which order does the docstring name them?",
        ),
    ),
)


def sum_of_cubes(x):
    return (x**3).sum()


def sum_of_products(x):
    """Every entry acts together with its neighbour."""
    return (x[:, 1:] * x[:, :-1] ** 2).sum() + np.sin(x).sum()


def square_of_a_sum(x):
    return np.sin(x).sum() ** 2


def log_of_a_sum(x):
    return np.log(np.exp(x).sum())


def a_function_of_three_numbers(rng):
    return code_of(sum_of_cubes), rng.uniform(0.5, 2, size=3) * rng.choice([-1, 1], size=3)


def a_function_of_a_matrix(rng):
    return code_of(sum_of_products), rng.normal(1, 1, size=(2, 3))


def a_function_of_a_square_matrix(rng):
    return code_of(log_of_a_sum), 1.5 * rng.normal(size=(3, 3))


def a_function_of_three_axes(rng):
    return code_of(square_of_a_sum), rng.uniform(0.2, 1.2, size=(2, 1, 3))


def whole_numbers(rng):
    return code_of(sum_of_products), rng.permutation(np.arange(-3, 5)).reshape(2, 4)


def a_coarse_step(rng):
    x = rng.normal(size=4)
    x[1] = 0.0
    return code_of(square_of_a_sum), x, 0.1


MOVED = "moved = np.array(x, dtype=float)  # a copy, so that x stays as it is"
EMPTY = "gradient = np.zeros(moved.shape)"
ROUND = "for index in np.ndindex(moved.shape):"
UP = "above = f(moved)"
RESTORED = "moved[index] = center\n        gradient"
QUOTIENT = "gradient[index] = (above - below) / (2 * h)"


def _in_place(*lines):
    """In place of EMPTY: a loop of its own, whose lines write into x."""
    loop = "".join(f"        {line}\n" for line in lines)
    return f"gradient = np.zeros(x.shape)\n    for index in np.ndindex(x.shape):\n{loop}" + (
        "    return gradient"
    )


NUMERICAL_GRADIENT = Exercise(
    name="numerical-gradient",
    objective="Write a gradient checker that measures any gradient by central differences.",
    minutes=9,
    solution=numerical_gradient,
    inputs=(
        a_function_of_three_numbers,
        a_function_of_a_matrix,
        a_function_of_a_square_matrix,
        a_function_of_three_axes,
        whole_numbers,
        a_coarse_step,
    ),
    returns=("gradient",),
    points=(3,),
    properties={
        "it is shaped as x": lambda gradient, f, x, h=1e-5: gradient.shape == x.shape,
        "it holds floats": lambda gradient, f, x, h=1e-5: gradient.dtype == np.float64,
    },
    hints=(
        "One entry at a time: move it up, ask f; move it down, ask f; put it back; note the "
        "slope. All others stay where they are.",
        "Work on a copy of x that holds floats. np.ndindex(shape) runs over the places of an array "
        "with any number of axes, and each of them can stand in square brackets.",
        "Keep the entry's own value under a name before you move it: up is that value plus h, down "
        "is that value minus h. The two answers of f lie 2 h apart.",
    ),
    mistakes=(
        Mistake(
            name="one-sided",
            swap=QUOTIENT,
            into="gradient[index] = (above - f(moved)) / h",
            says="You compare x + h with x itself. Where f is bent, that is the slope half a step "
            "further on. Which two points lie evenly around x?",
        ),
        Mistake(
            name="one-sided-downwards",
            swap=QUOTIENT,
            into="gradient[index] = (f(moved) - below) / h",
            says="You compare x with x - h. Where f is bent, that is the slope half a step before. "
            "Which two points lie evenly around x?",
        ),
        Mistake(
            name="one-sided-over-2-h",
            swap=QUOTIENT,
            into="gradient[index] = (above - f(moved)) / (2 * h)",
            says="f is asked at x + h and at x, and the difference divided by 2 h. How far apart "
            "are those two points, and which point is missing?",
        ),
        Mistake(
            name="divided-by-h",
            swap="(2 * h)",
            into="h",
            says="You ask f at x + h and at x - h, and divide by h. How far apart are the two?",
        ),
        Mistake(
            name="brackets-forgotten",
            swap="(2 * h)",
            into="2 * h",
            says="Python works from left to right: / 2 * h halves, and then multiplies by h. What "
            "should the division take in?",
        ),
        Mistake(
            name="entry-not-restored",
            swap=RESTORED,
            into="gradient",
            says="An entry stays moved while the next ones are measured. Which of them should "
            "differ from x when a round begins?",
        ),
        Mistake(
            name="x-left-moved",
            swap=EMPTY,
            into=_in_place(
                "center = x[index]",
                "x[index] = center + h",
                "above = f(x)",
                "x[index] = center - h",
                "gradient[index] = (above - f(x)) / (2 * h)",
            ),
            says="You move entries of the caller's own x and leave them moved: x is another array "
            "after the call, and every round starts from a wrong place. What could you move "
            "instead?",
        ),
        Mistake(
            name="x-put-back-by-adding",
            swap=EMPTY,
            into=_in_place(
                "x[index] += h",
                "above = f(x)",
                "x[index] -= 2 * h",
                "gradient[index] = (above - f(x)) / (2 * h)",
                "x[index] += h",
            ),
            says="You move the caller's own x up, down and up again. Each step rounds, so x does "
            "not come back exactly. What could you note before you move an entry?",
        ),
        Mistake(
            name="whole-numbers-cannot-move",
            swap=MOVED,
            into="moved = x.copy()",
            says="In an array of whole numbers 3 + h is stored as 3: nothing moves up, and down it "
            "falls to 2. Which kind of array can hold 3.00001?",
        ),
        Mistake(
            name="whole-numbers-in-the-answer",
            swap=EMPTY,
            into="gradient = np.zeros_like(x)",
            says="Your gradient takes its kind of number from x: where x holds whole numbers, "
            "slopes lose what stands behind the point. What kind should it hold?",
        ),
        Mistake(
            name="whole-numbers-throughout",
            swap=EMPTY,
            into="moved = x.copy()\n    gradient = np.zeros_like(x)",
            says="Copy and gradient both take their kind of number from x. If that is whole "
            "numbers, neither 3.00001 nor a slope of 0.5 fits in. What kind should they hold?",
        ),
        Mistake(
            name="first-axis-only",
            swap=ROUND,
            into="for index in range(len(moved)):",
            says="Your loop runs over the first axis, so all entries of a row move together. How "
            "can a loop reach every entry, however many axes there are?",
        ),
        Mistake(
            name="all-entries-at-once",
            swap=EMPTY,
            into="return (f(moved + h) - f(moved - h)) / (2 * h)",
            says="All entries move together, which gives one number: the sum of the gradient. How "
            "do you find out what each entry does alone?",
        ),
        Mistake(
            name="f-never-sees-the-move",
            swap=UP,
            into="above = f(x)",
            says="f is asked about x itself where it should be asked about the moved copy. Which "
            "array did you write x + h into?",
        ),
        Mistake(
            name="step-ignored",
            swap=EMPTY,
            into=f"h = 1e-5\n    {EMPTY}",
            says="You always move by 1e-5, whatever the caller asks for. Where does the argument h "
            "enter?",
        ),
        Mistake(
            name="step-far-too-small",
            swap=EMPTY,
            into=f"h = 1e-16\n    {EMPTY}",
            says="You move by 1e-16: added to a number near 1, that is lost in rounding, and "
            "nothing moves. Which h does the caller hand over?",
        ),
        Mistake(
            name="step-far-too-large",
            swap=EMPTY,
            into=f"h = 0.1\n    {EMPTY}",
            says="You move by 0.1, and over such a stretch a bent f has many slopes. Which h does "
            "the caller hand over?",
        ),
    ),
)

# How far central differences are off for this function, where the truth is known: e to the x.
SHOWN_X = np.array([0.3, -1.2, 0.7])
FINER = 1e-13


def _sum_of_powers(x):
    return np.exp(x).sum()


def _error(h: float) -> float:
    return float(np.abs(numerical_gradient(_sum_of_powers, SHOWN_X, h) - np.exp(SHOWN_X)).max())


BY_SQUARES, BY_STEPS, BY_ROUNDING, NONE = "about 1e-27", "about 1e-19", "about 1e-3", "exactly 0"


def _nearest_power() -> str:
    """The option that is nearest to the measured error, by its power of ten."""
    error = _error(FINER)
    options = (BY_SQUARES, BY_STEPS, BY_ROUNDING)
    return min(options, key=lambda option: abs(np.log10(error / float(option.split()[1]))))


A_SMALLER_STEP = Prediction(
    name="a-smaller-step",
    objective="Predict what a far smaller step does to a measured gradient.",
    minutes=3,
    points=1,
    answer=_nearest_power(),
    options=(BY_SQUARES, BY_STEPS, BY_ROUNDING, NONE),
    hints=(
        "Two errors are at work. The docstring of numerical_gradient names both, and how each "
        "depends on h.",
        "One shrinks as h squared. The other is rounding: each answer of f is off by about 1e-16. "
        "What is it divided by?",
        "Put h = 1e-13 into 1e-16 / h, and compare with h squared. The larger one is what you see.",
    ),
    slips=(
        Slip(
            name="square-law",
            answer=BY_SQUARES,
            says="That would hold in exact arithmetic, where the error shrinks as h squared. What "
            "does a computer lose when it subtracts two numbers that agree in 13 digits?",
        ),
        Slip(
            name="linear-law",
            answer=BY_STEPS,
            says="You let the error shrink with h. A computer keeps 16 digits of each answer of "
            "f: how many of them differ at x + h and x - h?",
        ),
        Slip(
            name="exact",
            answer=NONE,
            says="The limit of h to 0 is exact on paper. In a computer, how many digits are left "
            "when two nearly equal numbers are subtracted?",
        ),
    ),
)

# One weight of a linear layer, worked in the prose: two tokens use it.
SHOWN_INPUTS, SHOWN_DOUTS = np.array([2.0, -1.0]), np.array([0.5, 3.0])


def _loss_table() -> str:
    """Markdown: position 1 of the exercise by hand, token by token."""
    lines = ["| token | p | y | p - y | divided by 2 |", "|---|---:|---:|---:|---:|"]
    for place in range(3):
        p, y, gradient = (array[1, place] for array in (HAND_P, HAND_Y, HAND_GRADIENT))
        lines.append(f"| {place} | {p:.1f} | {y:g} | {p - y:.1f} | {gradient:.2f} |")
    return "\n".join(lines)


def _row(numbers: np.ndarray) -> str:
    return f"({', '.join(f'{number:g}' for number in numbers)})"


LESSON = Lesson(
    number=13,
    title="Loss and output layer gradients",
    assignment="week2_training_step",
    objective="carry the loss back through softmax and a linear layer, and check any gradient by "
    "measuring it.",
    needs="softmax (lesson 3) and cross-entropy (lesson 12)",
    place="loss-gradient",
    exercises=(
        LOSS_GRADIENT_BY_HAND,
        CROSS_ENTROPY_BACKWARD,
        WEIGHT_GRADIENT_SHAPE,
        LINEAR_BACKWARD,
        NUMERICAL_GRADIENT,
        A_SMALLER_STEP,
    ),
    worked={
        "loss_table": _loss_table(),
        "hand_p": _row(HAND_P[0]),
        "hand_target": HAND_TARGETS[0],
        "shown_target": HAND_TARGETS[1],
        "stream_shape": STREAM.shape,
        "weight_shape": OUTPUT_WEIGHT.shape,
        "input_0": SHOWN_INPUTS[0],
        "input_1": SHOWN_INPUTS[1],
        "dout_0": SHOWN_DOUTS[0],
        "dout_1": SHOWN_DOUTS[1],
        "weight_gradient": SHOWN_INPUTS @ SHOWN_DOUTS,
    },
)
