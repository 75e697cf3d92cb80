# mypy: allow-untyped-defs
"""What is graded in lesson 8, and the wrong answers it knows."""

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
from byhand_course.reference.attention import (
    attend,
    attention_head,
    attention_scores,
    attention_weights,
    qkv,
    scale_scores,
)

# The sizes of the course's model: "<BOS> I like transformers <EOS>", one head of two.
SEQ_LEN, D_MODEL, D_K = 5, 16, 8
TOKENS = np.zeros((SEQ_LEN, D_MODEL))
HEAD_WEIGHT = np.zeros((D_MODEL, D_K))
HEAD_OUTPUT, HEAD_WEIGHTS = attention_head(TOKENS, HEAD_WEIGHT, HEAD_WEIGHT, HEAD_WEIGHT)

HEAD_WEIGHTS_SHAPE = Prediction(
    name="head-weights-shape",
    objective="State the shape of a head's attention weights before computing them.",
    minutes=3,
    points=1,
    answer=HEAD_WEIGHTS.shape,
    hints=(
        "A weight says how much one token takes from another. How many pairs of tokens are there?",
        "Queries and keys have the same shape, one row a token. Which of their two lengths "
        "vanishes in a dot product?",
        "There is one row for each token that asks, and one column for each token that is asked. "
        "How many of each?",
    ),
    slips=(
        Slip(
            name="shape-of-the-output",
            answer=HEAD_OUTPUT.shape,
            says="This is the shape of the output, and of Q, K and V. A weight belongs to a pair "
            "of tokens: what do its row and its column stand for?",
        ),
        Slip(
            name="shape-of-the-tokens",
            answer=TOKENS.shape,
            says="This is the shape of X. A weight belongs to a pair of tokens: what do its row "
            "and its column stand for?",
        ),
        Slip(
            name="features-with-features",
            answer=(D_K, D_K),
            says="This would weigh features against features, as Kᵀ Q does. Who looks at whom in "
            "attention?",
        ),
        Slip(
            name="all-features",
            answer=(D_MODEL, D_MODEL),
            says="These lengths count features. Does the number of features of a token stay "
            "visible in its dot product with another token?",
        ),
        Slip(
            name="shape-of-a-projection",
            answer=HEAD_WEIGHT.shape,
            says="This is the shape of W_q: weights that are learned. The question is about the "
            "weights that softmax gives. Between what do they stand?",
        ),
    ),
)

# The head that is worked by hand: two tokens, d_k = 4 so that its root is a whole number.
HAND_X = np.array([[1, 0], [1, 1]])
HAND_W_Q = np.array([[-1, 2, -1, -1], [1, 0, 2, 0]])
HAND_W_K = np.array([[0, 2, 0, 0], [2, 1, 2, 2]])
HAND_W_V = np.array([[2, 0, -1], [-2, 1, 2]])
HAND_Q, HAND_K, HAND_V = qkv(HAND_X, HAND_W_Q, HAND_W_K, HAND_W_V)
HAND_SCORES = attention_scores(HAND_Q, HAND_K)
HAND_SCALED = scale_scores(HAND_SCORES, HAND_K.shape[-1])
HAND_WEIGHTS = attention_weights(HAND_SCALED)
HAND_OUTPUT = attend(HAND_WEIGHTS, HAND_V)


def _mix(scores: np.ndarray) -> list[float]:
    """What token 1 would get, if softmax saw these scores."""
    return two_decimals(attend(attention_weights(scores), HAND_V))


HEAD_BY_HAND = ByHand(
    name="head-by-hand",
    objective="Carry one token through a whole attention head by hand.",
    minutes=8,
    points=2,
    form="a list of three numbers to two decimals, such as [0.25, -1.00, 0.50]",
    answer=two_decimals(HAND_OUTPUT[1]),
    tolerance=0.02,
    hints=(
        "Follow the worked token line by line. Which of its lines change when another token asks?",
        "Keys and values stay as they are. Only the query is new: its two scores, divided by the "
        "root, are whole numbers again.",
        f"The scores divided by the root are {HAND_SCALED[1, 0]:.0f} and {HAND_SCALED[1, 1]:.0f}, "
        f"so the weights are {HAND_WEIGHTS[1, 0]:.2f} and {HAND_WEIGHTS[1, 1]:.2f}. What is left "
        "is the mix of the two values.",
    ),
    slips=(
        Slip(
            name="the-other-token",
            answer=two_decimals(HAND_OUTPUT[0]),
            says="This is what token 0 gets, as in the table. Whose query asks now?",
        ),
        Slip(
            name="not-scaled",
            answer=_mix(HAND_SCORES[1]),
            says="Softmax got the bare dot products here, so it is too decided. Which column "
            "of the table stands between score and power of e?",
        ),
        Slip(
            name="divided-by-d-k",
            answer=_mix(HAND_SCORES[1] / HAND_K.shape[-1]),
            says="You divided by d_k itself, so the weights are too even. By what does the "
            "formula divide, when a query has four features?",
        ),
        Slip(
            name="the-key-asks",
            answer=_mix(HAND_SCALED[:, 1]),
            says="You took the key of token 1 and compared it with both queries. Who asks in "
            "attention, and who is compared?",
        ),
        Slip(
            name="weights-swapped",
            answer=_mix(HAND_SCALED[1, ::-1]),
            says="Each weight went to the other token's value. Which score belongs to key 0?",
        ),
        Slip(
            name="even-mix",
            answer=two_decimals(HAND_V.mean(axis=0)),
            says="This is the plain mean of both values. Do both keys fit the query equally well?",
        ),
        Slip(
            name="scores-as-weights",
            answer=two_decimals(attend(HAND_SCALED[1], HAND_V)),
            says="The values are weighed by the scores themselves. What turns scores into "
            "weights that sum to 1?",
        ),
        Slip(
            name="not-divided-by-the-sum",
            answer=two_decimals(attend(np.exp(HAND_SCALED[1]), HAND_V)),
            says="The values are weighed by powers of e, whose sum is not 1. Which division is "
            "missing?",
        ),
        Slip(
            name="best-value-only",
            answer=two_decimals(HAND_V[1]),
            says="This is the value of the key that fits best, alone. How much does the other "
            "value still count?",
        ),
    ),
)


def head_weights(rng, d_model, d_k, d_v):
    """Weights that keep queries, keys and values of order 1, so that scores are too."""
    return tuple(
        rng.normal(size=(d_model, columns)) * 1.2 / d_model**0.5 for columns in (d_k, d_k, d_v)
    )


def a_sentence(rng):
    return rng.normal(size=(5, 6)), *head_weights(rng, 6, 3, 4)


def a_sentence_with_a_repeated_token(rng):
    X = rng.normal(size=(4, 7))
    X[2] = X[0]
    return X, *head_weights(rng, 7, 5, 3)


def a_batch_of_sentences(rng):
    return rng.normal(size=(2, 3, 7)), *head_weights(rng, 7, 4, 5)


def everything_of_one_size(rng):
    """Here swapped axes fit as well; only the values tell."""
    return rng.normal(size=(3, 3, 3)), *head_weights(rng, 3, 3, 3)


def whole_number_tokens(rng):
    return rng.integers(-3, 4, size=(3, 5)), *head_weights(rng, 5, 2, 4)


def tokens_with_huge_scores(rng):
    """A large token that fits itself: the power of e of its score is beyond float64."""
    X = rng.normal(size=(4, 6))
    X[1] *= 300
    W_q, _, W_v = head_weights(rng, 6, 5, 3)
    return X, W_q, W_q * rng.uniform(0.5, 1.5, size=5), W_v


def float32_tokens(rng):
    return tuple(
        array.astype(np.float32) for array in (rng.normal(size=(5, 4)), *head_weights(rng, 4, 3, 2))
    )


SCORES = "scores = attention_scores(Q, K)"
SCALED = "scaled = scale_scores(scores, K.shape[-1])"
WEIGHTS = "weights = attention_weights(scaled)"
OUTPUT = "output = attend(weights, V)"
RETURNED = "return output, weights"

ATTENTION_HEAD = Exercise(
    name="attention-head",
    objective="Write one attention head that returns its output and its weights.",
    minutes=10,
    solution=attention_head,
    inputs=(
        a_sentence,
        a_sentence_with_a_repeated_token,
        a_batch_of_sentences,
        everything_of_one_size,
        whole_number_tokens,
        tokens_with_huge_scores,
        float32_tokens,
    ),
    returns=("output", "weights"),
    points=(2, 2),
    properties={
        "each row of weights sums to 1": lambda answer, X, W_q, W_k, W_v: np.allclose(
            answer[1].sum(axis=-1), 1, rtol=1e-5
        ),
        "no weight is negative": lambda answer, X, W_q, W_k, W_v: (answer[1] >= 0).all(),
        "there is one row of output for each token, with d_v features": (
            lambda answer, X, W_q, W_k, W_v: answer[0].shape == (*X.shape[:-1], W_v.shape[-1])
        ),
        "no output lies outside the values": lambda answer, X, W_q, W_k, W_v: (
            answer[0] <= (X @ W_v).max(axis=-2, keepdims=True) + 1e-5
        ).all(),
    },
    hints=(
        "You have all five steps as functions. In which order did you take them by hand?",
        "Tokens become Q, K and V; Q and K become scores; then come the root, softmax and the "
        "mix. Give each result a name and write its shape beside it.",
        "The root is taken of the number of features of a key, and the last axis of K has that "
        "length. The docstring says which of your results come back, and which comes first.",
    ),
    mistakes=(
        Mistake(
            name="not-scaled",
            swap="scale_scores(scores, K.shape[-1])",
            into="scores",
            says="The scores go into softmax as they are, so the weights are too sharp. Which "
            "part of the formula keeps the variance of the scores at 1?",
        ),
        Mistake(
            name="divided-by-d-k",
            swap="scale_scores(scores, K.shape[-1])",
            into="scores / K.shape[-1]",
            says="The scores are divided by d_k itself, so the weights are too even. In lesson 7 "
            "the variance of a score was d_k: what is then its typical size?",
        ),
        Mistake(
            name="root-of-d-model",
            swap="scale_scores(scores, K.shape[-1])",
            into="scale_scores(scores, X.shape[-1])",
            says="This takes the root of d_model, the width of a token. Over how many features "
            "does the dot product of a query and a key run?",
        ),
        Mistake(
            name="root-of-the-length",
            swap="scale_scores(scores, K.shape[-1])",
            into="scale_scores(scores, X.shape[-2])",
            says="This takes the root of the number of tokens. Should a longer sentence make the "
            "scores smaller? Over what does a dot product add up?",
        ),
        Mistake(
            name="keys-ask",
            swap="attention_scores(Q, K)",
            into="attention_scores(K, Q)",
            says="Queries and keys have changed roles: your row t holds what key t scores with "
            "every query. Whose row is it meant to be?",
        ),
        Mistake(
            name="tokens-meet-tokens",
            swap=SCORES,
            into="scores = attention_scores(X, X)",
            says="The tokens themselves are compared, so W_q and W_k have no effect. Which two "
            "vectors of a token were made for the comparison?",
        ),
        Mistake(
            name="axes-reversed",
            swap=SCORES,
            into="scores = Q @ K.T",
            says=".T reverses all axes, so this is right for one sentence and not for a batch. "
            "Which two axes of K should change places?",
        ),
        Mistake(
            name="softmax-over-queries",
            swap=WEIGHTS,
            into="weights = softmax(scaled, axis=-2)",
            says="Your columns sum to 1 instead of your rows, so tokens compete for who may look. "
            "What should compete within the row of one query?",
        ),
        Mistake(
            name="softmax-along-axis-1",
            swap=WEIGHTS,
            into="weights = softmax(scaled, axis=1)",
            says="Axis 1 runs over the keys for one sentence only. Which axis is it in a batch, "
            "and how could you count it from the back?",
        ),
        Mistake(
            name="softmax-over-everything",
            swap=WEIGHTS,
            into="exponentials = np.exp(scaled - scaled.max())\n"
            "    weights = exponentials / exponentials.sum()",
            says="All weights together sum to 1. Print weights.sum(axis=-1): what should stand "
            "there for each query?",
        ),
        Mistake(
            name="exponentials-by-hand",
            swap=WEIGHTS,
            into="exponentials = np.exp(scaled)\n"
            "    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)",
            says="Powers of e of huge scores are infinite, and inf / inf is nan. You wrote a "
            "softmax that survives them in lesson 3: what did it do first?",
        ),
        Mistake(
            name="softmax-forgotten",
            swap=WEIGHTS,
            into="weights = scaled",
            says="The scores serve as weights here: some are negative, and no row sums to 1. "
            "Which step turns scores into weights?",
        ),
        Mistake(
            name="scores-returned",
            swap=RETURNED,
            into="return output, scaled",
            says="The second thing that comes back are scaled scores. Which later result does "
            "the docstring ask for?",
        ),
        Mistake(
            name="weights-transposed",
            swap=OUTPUT,
            into="output = attend(weights.swapaxes(-1, -2), V)",
            says="The weights are right, but the mix uses their columns: token t gets what others "
            "take from it. Which row of weights belongs to the output of token t?",
        ),
        Mistake(
            name="tokens-mixed",
            swap=OUTPUT,
            into="output = attend(weights, X)",
            says="The tokens themselves are mixed, and W_v has no effect. Which vector does a "
            "token hand over when it is looked at?",
        ),
        Mistake(
            name="weights-first",
            swap=RETURNED,
            into="return weights, output",
            says="Both results are there, in the other order. Which of them does the docstring "
            "name first?",
        ),
        Mistake(
            name="output-alone",
            swap=RETURNED,
            into="return output",
            says="The output is right, but it comes alone. What else does the docstring promise?",
        ),
    ),
)

# The head that is looked at. Features: mark, article, noun, verb; one kind of token a row.
SEEN_WORDS = ("<BOS>", "the", "cat", "sat", "<EOS>")
SEEN_X = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]])
SEEN_W_Q = np.array([[1, 1], [6, 0], [0, 3], [4, 1]])  # what each kind asks for: noun, verb
SEEN_W_K = np.array([[0.5, 0], [0, 0.5], [1, 0], [0, 1]])  # what each kind offers
SEEN_W_V = np.eye(4)[:, 1:]  # what it hands over
SEEN_OUTPUT, SEEN_WEIGHTS = attention_head(SEEN_X, SEEN_W_Q, SEEN_W_K, SEEN_W_V)
CAT = SEEN_WORDS.index("cat")


def _most(weights: np.ndarray) -> str:
    return SEEN_WORDS[int(np.argmax(weights))]


def _who(row: np.ndarray, column: np.ndarray) -> list[str]:
    return [_most(row), _most(column)]


READ_THE_WEIGHTS = ByHand(
    name="read-the-weights",
    objective="Read from a table of attention weights who looks at whom.",
    minutes=4,
    points=1,
    form='a list of two tokens, such as ["the", "<EOS>"]',
    answer=_who(SEEN_WEIGHTS[CAT], SEEN_WEIGHTS[:, CAT]),
    hints=(
        "Which sums to 1 in this table, a row or a column? So along which of them does a token "
        "divide its attention?",
        "A row belongs to the token that asks, a column to the token that is looked at. One of "
        "the two questions is about a row, the other about a column.",
        "First question: the largest number in the row of cat. Second question: the largest "
        "number in the column of cat, and the token at the left of it.",
    ),
    slips=(
        Slip(
            name="rows-and-columns-swapped",
            answer=_who(SEEN_WEIGHTS[:, CAT], SEEN_WEIGHTS[CAT]),
            says="Both answers are there, in the other order. Which of the two questions is "
            "about the row of cat: whom it looks at, or who looks at it?",
        ),
        Slip(
            name="row-twice",
            answer=_who(SEEN_WEIGHTS[CAT], SEEN_WEIGHTS[CAT]),
            says="Both answers come from the row of cat. Where in the table are all the weights "
            "that others give to cat?",
        ),
        Slip(
            name="column-twice",
            answer=_who(SEEN_WEIGHTS[:, CAT], SEEN_WEIGHTS[:, CAT]),
            says="Both answers come from the column of cat. Where in the table are all the "
            "weights that cat gives to others?",
        ),
    ),
)

MEAN, OWN, ZEROS, NAN = (
    "the mean of all values",
    "its own value",
    "a vector of zeros",
    "a vector of nan",
)


def _output_without_queries() -> str:
    """What each token gets when W_q is all zeros, found by trying it."""
    output, _ = attention_head(SEEN_X, np.zeros_like(SEEN_W_Q), SEEN_W_K, SEEN_W_V)
    values = SEEN_X @ SEEN_W_V
    found = {
        NAN: np.isnan(output).any(),
        ZEROS: not output.any(),
        OWN: np.allclose(output, values),
        MEAN: np.allclose(output, values.mean(axis=0)),
    }
    return next(words for words, is_so in found.items() if is_so)


QUERIES_OF_ZERO = Prediction(
    name="queries-of-zero",
    objective="Predict what a head does whose queries ask for nothing.",
    minutes=3,
    points=1,
    answer=_output_without_queries(),
    options=(OWN, MEAN, ZEROS, NAN),
    hints=(
        "Go through the head step by step. What is a query, if W_q is all zeros?",
        "Every query is zero, and so is every score. What does softmax make of equal scores?",
        "With five tokens each weight is one fifth. What is a sum of five values, each times one "
        "fifth?",
    ),
    slips=(
        Slip(
            name="looks-at-itself",
            answer=OWN,
            says="A token's own key gets no larger score than any other: all scores are 0. What "
            "does softmax make of equal scores?",
        ),
        Slip(
            name="nothing-comes-out",
            answer=ZEROS,
            says="The scores are zero, the weights are not: a row of weights always sums to 1. "
            "How is it divided when all scores are equal?",
        ),
        Slip(
            name="expects-nan",
            answer=NAN,
            says="Nothing is divided by zero here: e to the power of 0 is 1. What is then the sum "
            "that softmax divides by?",
        ),
    ),
)


def _vector(numbers: np.ndarray) -> str:
    return "(" + ", ".join(f"{number:g}" for number in numbers) + ")"


def _matrix(matrix: np.ndarray) -> str:
    rows = (" & ".join(f"{number:g}" for number in row) for row in matrix)
    return r"\begin{pmatrix}" + r" \\ ".join(rows) + r"\end{pmatrix}"


def _worked_token() -> str:
    """Markdown: what token 0 of the head by hand goes through, key by key."""
    lines = [
        "| token | key | score | score / √4 | power of e | weight | value |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    powers = np.exp(HAND_SCALED[0])
    for s in range(len(HAND_X)):
        lines.append(
            f"| {s} | {_vector(HAND_K[s])} | {HAND_SCORES[0, s]:g} | {HAND_SCALED[0, s]:g} | "
            f"{powers[s]:.2f} | {HAND_WEIGHTS[0, s]:.2f} | {_vector(HAND_V[s])} |"
        )
    return "\n".join(lines)


def _table_of_weights() -> str:
    """Markdown: the weights of the head that is looked at."""
    names = [f"`{word}`" for word in SEEN_WORDS]
    lines = [f"| | {' | '.join(names)} |", "|---|" + "---:|" * len(names)]
    for name, row in zip(names, SEEN_WEIGHTS, strict=True):
        lines.append(f"| **{name}** | {' | '.join(f'{weight:.2f}' for weight in row)} |")
    return "\n".join(lines)


LESSON = Lesson(
    number=8,
    title="One attention head in NumPy",
    assignment="week2_attention",
    objective="write one attention head in about 20 lines of NumPy, check that its rows of "
    "weights sum to 1, and read from them which token looks at which.",
    needs="queries, keys and values (lesson 6) and the formula's four steps (lesson 7)",
    place="attention",
    worked_pages=("03-attention.html",),
    exercises=(
        HEAD_WEIGHTS_SHAPE,
        HEAD_BY_HAND,
        ATTENTION_HEAD,
        READ_THE_WEIGHTS,
        QUERIES_OF_ZERO,
    ),
    worked={
        "tokens_shape": TOKENS.shape,
        "weight_shape": HEAD_WEIGHT.shape,
        "hand_x": _matrix(HAND_X),
        "hand_w_q": _matrix(HAND_W_Q),
        "query_0": _vector(HAND_Q[0]),
        "query_1": _vector(HAND_Q[1]),
        "worked_token": _worked_token(),
        "mix_0": f"{HAND_WEIGHTS[0, 0]:.2f} \\cdot {_vector(HAND_V[0])} + "
        f"{HAND_WEIGHTS[0, 1]:.2f} \\cdot {_vector(HAND_V[1])}",
        "output_0": "(" + ", ".join(f"{x:.2f}" for x in HAND_OUTPUT[0]) + ")",
        "e_2": np.exp(2.0),
        "e_3": np.exp(3.0),
        "table": _table_of_weights(),
        "cat_verb": SEEN_OUTPUT[CAT, 2],
        "cat_noun": SEEN_OUTPUT[CAT, 1],
    },
)
