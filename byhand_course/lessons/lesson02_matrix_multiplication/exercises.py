# mypy: allow-untyped-defs
"""What is graded in lesson 2, and the wrong answers it knows."""

import numpy as np

from byhand_course.lessons.exercise import ByHand, Exercise, Lesson, Mistake, Prediction, Slip
from byhand_course.reference.projection import project, project_batch

# The sizes of the course's model: "<BOS> I like transformers <EOS>", one head of two.
SEQ_LEN, D_MODEL, D_K = 5, 16, 8
TOKENS = np.zeros((SEQ_LEN, D_MODEL))
HEAD_WEIGHT = np.zeros((D_MODEL, D_K))

PROJECTED_SHAPE = Prediction(
    name="projected-shape",
    objective="State the shape of a product of two matrices before computing it.",
    minutes=3,
    points=1,
    answer=project(TOKENS, HEAD_WEIGHT).shape,
    hints=(
        "Write the two shapes side by side. Which two of the four numbers must be equal?",
        "The inner two are equal, and vanish: each entry is a dot product over them.",
        "One row for each token, one column for each column of W. How many of each are there?",
    ),
    slips=(
        Slip(
            name="shape-of-the-tokens",
            answer=TOKENS.shape,
            says="This is the shape of X itself. Each token is described by new features now: "
            "how many columns does W have?",
        ),
        Slip(
            name="shape-of-the-weight",
            answer=HEAD_WEIGHT.shape,
            says="This is the shape of W itself. Each row of the answer belongs to a token: how "
            "many tokens are there?",
        ),
        Slip(
            name="turned-around",
            answer=project(TOKENS, HEAD_WEIGHT).T.shape,
            says="Both lengths are right and they stand the wrong way round. Which of them "
            "counts the tokens, and where do tokens stand in X?",
        ),
        Slip(
            name="inner-length-kept",
            answer=(D_MODEL, D_MODEL),
            says="These are the two inner lengths, over which the dot products run. Which two "
            "lengths are left when they are gone?",
        ),
    ),
)

# The matrices that are multiplied by hand.
HAND_X = np.array([[3, 2, 1], [1, -2, 3]])
HAND_W = np.array([[1, 4, 0], [2, -1, 3], [-1, 1, 1]])
ROW = 1

ROW_BY_HAND = ByHand(
    name="row-by-hand",
    objective="Work out one row of a matrix product by hand.",
    minutes=5,
    points=1,
    form="a list of three whole numbers, such as [1, 2, 3]",
    answer=project(HAND_X, HAND_W)[ROW].tolist(),
    hints=(
        "Which row of X do you need for this row of the answer, and what of W?",
        "Each entry is the dot product of row 1 of X, counted from 0, with one column of W.",
        f"The first column of W is {tuple(HAND_W[:, 0].tolist())}, and its dot product with "
        f"{tuple(HAND_X[ROW].tolist())} is {project(HAND_X, HAND_W)[ROW, 0]}. Two columns "
        "are left.",
    ),
    slips=(
        Slip(
            name="the-other-row",
            answer=project(HAND_X, HAND_W)[0].tolist(),
            says="This is row 0, worked out correctly. We count from 0, as NumPy does: which row "
            "of X is row 1?",
        ),
        Slip(
            name="rows-of-w",
            answer=project(HAND_X, HAND_W.T)[ROW].tolist(),
            says="You took dot products with the rows of W. Weights act from the right here: "
            "does a new feature stand in a row of W, or in a column?",
        ),
        Slip(
            name="products-not-added",
            answer=(HAND_X[ROW] * HAND_W[ROW]).tolist(),
            says="You multiplied two rows entry by entry. How many products go into one entry "
            "of the answer?",
        ),
        Slip(
            name="weights-only",
            answer=HAND_W.sum(axis=0).tolist(),
            says="These are the sums of the columns of W. Where do the numbers of X come in?",
        ),
        Slip(
            name="signs-of-x-lost",
            answer=project(np.abs(HAND_X), HAND_W)[ROW].tolist(),
            says=f"The minus sign of {HAND_X[ROW, 1]} got lost. What does that number do to each "
            "entry of the middle row of W?",
        ),
    ),
)

OWN_ROW, ROW_AND_ROW, ROW_AND_COLUMN, EVERYTHING = (
    "row 2 of X and all of W",
    "row 2 of X and row 2 of W",
    "row 2 of X and column 2 of W",
    "all of X and all of W",
)

WHAT_A_ROW_NEEDS = Prediction(
    name="what-a-row-needs",
    objective="Say what each row of a matrix product means, and what it depends on.",
    minutes=3,
    points=1,
    answer=OWN_ROW,
    options=(ROW_AND_ROW, OWN_ROW, ROW_AND_COLUMN, EVERYTHING),
    hints=(
        "When you worked out one row by hand, which numbers of X did you look at?",
        "You looked at a single row of X. And at how many columns of W?",
        "One row of X met every column of W in turn. Which option says so?",
    ),
    slips=(
        Slip(
            name="row-meets-row",
            answer=ROW_AND_ROW,
            says="A single row of W is not enough. When you worked by hand, from how many rows "
            "of W did you take numbers?",
        ),
        Slip(
            name="one-entry-only",
            answer=ROW_AND_COLUMN,
            says="This describes one entry of that row, the one in column 2. What do the other "
            "entries of the row need?",
        ),
        Slip(
            name="all-tokens",
            answer=EVERYTHING,
            says="The whole answer needs all of X. But if token 0 changes, which rows of the "
            "answer change with it?",
        ),
    ),
)


def plain_tokens(rng):
    return rng.normal(size=(3, 5)), rng.normal(size=(5, 7))


def whole_number_tokens(rng):
    """The weights stay floats, so that the answer holds floats however it is computed."""
    return rng.integers(-5, 6, size=(6, 3)), rng.normal(size=(3, 5))


def one_token(rng):
    return rng.normal(size=(1, 6)), rng.normal(size=(6, 3))


def as_many_features_as_before(rng):
    """W is square, so that its transpose fits too, as for the course's W_q, W_k, W_v and W_o."""
    return rng.normal(size=(3, 5)), rng.normal(size=(5, 5))


def square_tokens_and_weights(rng):
    """Everything fits everything here; only the values tell."""
    return rng.normal(size=(5, 5)), rng.normal(size=(5, 5))


def float32_tokens(rng):
    """All above 0, so that rounding in float32 stays small beside the sums."""
    return (
        rng.uniform(0.5, 1.5, size=(5, 3)).astype(np.float32),
        rng.uniform(0.5, 1.5, size=(3, 6)).astype(np.float32),
    )


PROJECT = Exercise(
    name="project",
    objective="Write the projection of every token of a sequence by one weight matrix.",
    minutes=6,
    solution=project,
    inputs=(
        plain_tokens,
        whole_number_tokens,
        one_token,
        as_many_features_as_before,
        square_tokens_and_weights,
        float32_tokens,
    ),
    returns=("projected",),
    points=(2,),
    properties={
        "there is one row for each token": lambda projected, X, W: len(projected) == len(X),
        "row 0 depends on token 0 alone": lambda projected, X, W: np.allclose(
            projected[:1], project(X[:1], W), rtol=1e-5
        ),
    },
    hints=(
        "Each entry is a dot product. Of which row of X, and which column of W?",
        "You can write two loops, over rows of X and columns of W. NumPy also has one sign that "
        "does all of it; it is not *.",
        "The sign is @. Which of X and W must stand on the left, so that the inner lengths are "
        "both d_model?",
    ),
    mistakes=(
        Mistake(
            name="weights-on-the-left",
            swap="X @ W",
            into="W @ X",
            says="The weights act from the left here. Write both shapes side by side: on which "
            "side of W does d_model stand next to the d_model of X?",
        ),
        Mistake(
            name="weights-transposed",
            swap="X @ W",
            into="X @ W.T",
            says="Each token meets the rows of W here. In this course W is (in, out): does a new "
            "feature stand in a row or in a column?",
        ),
        Mistake(
            name="answer-transposed",
            swap="X @ W",
            into="(X @ W).T",
            says="The right numbers, with tokens in the columns. What stands in the rows of X, "
            "and what should stand in the rows of the answer?",
        ),
        Mistake(
            name="entry-by-entry",
            swap="X @ W",
            into="X * W",
            says="The sign * multiplies entry by entry, which only fits when both shapes do. How "
            "many products belong into one entry of the answer?",
        ),
        Mistake(
            name="rows-with-rows",
            swap="X @ W",
            into="X @ X.T",
            says="These are dot products of tokens with tokens; W has no part in them. Which "
            "vectors should each token be compared with?",
        ),
        Mistake(
            name="mean-of-the-products",
            swap="X @ W",
            into="X @ W / X.shape[-1]",
            says="The products are averaged over the features. Does a dot product divide by "
            "anything?",
        ),
        Mistake(
            name="cosine-instead-of-dot",
            swap="X @ W",
            into="X @ W / ((X**2).sum(axis=1, keepdims=True) * (W**2).sum(axis=0)) ** 0.5",
            says="These are cosine similarities: the lengths are divided out. What does the "
            "docstring ask for, one of those or a plain dot product?",
        ),
        Mistake(
            name="overwritten-in-a-loop",
            swap="X @ W",
            into="X[:, -1:] * W[-1]",
            says="Only the last of the d_model products is left in each entry, as when a loop "
            "overwrites its result. What should happen to the sum so far?",
        ),
        Mistake(
            name="last-column-left-out",
            swap="return X @ W",
            into="projected = X @ W\n    projected[:, -1] = 0\n    return projected",
            says="The last column is still 0. Which is the last column that your loop reaches?",
        ),
        Mistake(
            name="last-token-left-out",
            swap="return X @ W",
            into="projected = X @ W\n    projected[-1] = 0\n    return projected",
            says="The last row is still 0. Which is the last token that your loop reaches?",
        ),
        Mistake(
            name="last-feature-left-out",
            swap="X @ W",
            into="X[:, :-1] @ W[:-1]",
            says="The last feature of each token is left out of its sums. Over which indices "
            "should the sum run?",
        ),
        Mistake(
            name="first-token-only",
            swap="X @ W",
            into="X[0] @ W",
            says="Only the first token comes back. What should the other rows of the answer hold?",
        ),
    ),
)


def a_batch_of_tokens(rng):
    return rng.normal(size=(2, 3, 5)), rng.normal(size=(5, 7))


def a_batch_of_one(rng):
    return rng.normal(size=(1, 5, 3)), rng.normal(size=(3, 6))


def a_batch_of_whole_numbers(rng):
    """The weights stay floats, so that the answer holds floats however it is computed."""
    return rng.integers(-5, 6, size=(3, 2, 5)), rng.normal(size=(5, 4))


def a_batch_with_as_many_features_as_before(rng):
    return rng.normal(size=(3, 2, 5)), rng.normal(size=(5, 5))


def a_batch_of_square_sequences(rng):
    """Everything fits everything here; only the values tell."""
    return rng.normal(size=(2, 3, 3)), rng.normal(size=(3, 3))


def a_batch_of_float32(rng):
    """All above 0, so that rounding in float32 stays small beside the sums."""
    return (
        rng.uniform(0.5, 1.5, size=(3, 5, 2)).astype(np.float32),
        rng.uniform(0.5, 1.5, size=(2, 6)).astype(np.float32),
    )


PROJECT_BATCH = Exercise(
    name="project-batch",
    objective="Project every token of a whole batch of sequences with the same weights.",
    minutes=7,
    solution=project_batch,
    inputs=(
        a_batch_of_tokens,
        a_batch_of_one,
        a_batch_of_whole_numbers,
        a_batch_with_as_many_features_as_before,
        a_batch_of_square_sequences,
        a_batch_of_float32,
    ),
    returns=("projected",),
    points=(2,),
    properties={
        "each sequence keeps its tokens": lambda projected, X, W: (
            projected.shape == (*X.shape[:2], W.shape[1])
        ),
        "sequence 0 depends on sequence 0 alone": lambda projected, X, W: np.allclose(
            projected[:1], project_batch(X[:1], W), rtol=1e-5
        ),
    },
    hints=(
        "Every sequence is a matrix, as in the exercise before. What is new is one more axis.",
        "You can loop over the sequences and stack what project gives, or find out what @ does "
        "with an array of three axes.",
        "NumPy's @ multiplies over the last two axes and repeats that for all axes before them. "
        "If you stack, which axis of the result should count the sequences?",
    ),
    mistakes=(
        Mistake(
            name="weights-on-the-left",
            swap="X @ W",
            into="W @ X",
            says="The weights act from the left here. Write the last two lengths of X beside the "
            "shape of W: which order puts d_model next to d_model?",
        ),
        Mistake(
            name="weights-transposed",
            swap="X @ W",
            into="X @ W.T",
            says="Each token meets the rows of W here. In this course W is (in, out): does a new "
            "feature stand in a row or in a column?",
        ),
        Mistake(
            name="sequences-joined",
            swap="X @ W",
            into="(X @ W).reshape(-1, W.shape[1])",
            says="The numbers are right, but all sequences now form one long one. Which axis "
            "tells them apart in X?",
        ),
        Mistake(
            name="cut-up-in-the-wrong-order",
            swap="X @ W",
            into="(X @ W).reshape(X.shape[1], X.shape[0], W.shape[1])",
            says="The joined rows were cut up again with sequences and tokens swapped. In which "
            "order do the lengths stand in the shape of X?",
        ),
        Mistake(
            name="stacked-along-the-tokens",
            swap="X @ W",
            into="(X @ W).swapaxes(0, 1)",
            says="The first axis counts tokens here, and the second counts sequences. Along "
            "which axis should the results be stacked?",
        ),
        Mistake(
            name="tokens-in-the-columns",
            swap="X @ W",
            into="(X @ W).swapaxes(1, 2)",
            says="Within each sequence, tokens stand in the columns. What stands in the rows of "
            "a sequence of X?",
        ),
        Mistake(
            name="all-axes-reversed",
            swap="X @ W",
            into="(X @ W).T",
            says="On an array of three axes .T turns the order of all three around. Which axis "
            "should come first?",
        ),
        Mistake(
            name="summed-over-the-batch",
            swap="X @ W",
            into="(X @ W).sum(axis=0)",
            says="The sequences are added up, as when einsum is not given the letter of the "
            "batch on its right side. What has one sequence to do with another?",
        ),
        Mistake(
            name="mean-over-the-batch",
            swap="X @ W",
            into="(X @ W).mean(axis=0)",
            says="The sequences are averaged into one. How many sequences should come back?",
        ),
        Mistake(
            name="first-sequence-only",
            swap="X @ W",
            into="X[0] @ W",
            says="Only the first sequence comes back, as when a loop returns in its first "
            "round. Where do you collect the others?",
        ),
        Mistake(
            name="last-sequence-only",
            swap="X @ W",
            into="X[-1] @ W",
            says="Only the last sequence comes back, as when each round of a loop overwrites "
            "the one before. Where do you collect them?",
        ),
        Mistake(
            name="first-sequence-repeated",
            swap="X @ W",
            into="(X[:1] @ W).repeat(len(X), axis=0)",
            says="Every sequence gets the answer of the first. Which index should change from "
            "round to round?",
        ),
    ),
)

AN_ERROR, SAME_NUMBERS, OTHER_NUMBERS, TURNED = (
    "an error",
    "the same numbers",
    "the right shape with other numbers",
    "the right numbers transposed",
)


def _effect_of_transposing() -> str:
    """What a square weight does when it is transposed by mistake, found by trying it."""
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(SEQ_LEN, D_MODEL)), rng.normal(size=(D_MODEL, D_MODEL))
    right, wrong = project(X, W), project(X, W.T)
    if np.allclose(right, wrong):
        return SAME_NUMBERS
    return OTHER_NUMBERS if right.shape == wrong.shape else TURNED


TRANSPOSED_WEIGHT = Prediction(
    name="transposed-weight",
    objective="Predict what a transposed weight matrix does, and when nothing warns you.",
    minutes=4,
    points=1,
    answer=_effect_of_transposing(),
    options=(AN_ERROR, SAME_NUMBERS, OTHER_NUMBERS, TURNED),
    hints=(
        "Write the shapes of X and of the transposed weight side by side. Do they fit?",
        "The weight is square, so its transpose has the same shape. With which of its vectors "
        "does each token now take dot products?",
        "With its rows instead of its columns. Are those the same vectors, and does the shape "
        "of the answer change?",
    ),
    slips=(
        Slip(
            name="expects-an-error",
            answer=AN_ERROR,
            says="An error would be a kindness. NumPy looks at lengths only: what is the shape of "
            "the transpose of a (16, 16) matrix?",
        ),
        Slip(
            name="expects-no-change",
            answer=SAME_NUMBERS,
            says="That holds for a symmetric matrix, whose rows and columns are the same "
            "vectors. Why should a learned one be symmetric?",
        ),
        Slip(
            name="expects-the-transpose",
            answer=TURNED,
            says="Each token still has a row of its own, so the answer is (5, 16) as before. "
            "With which vectors of the weight does each token meet now?",
        ),
    ),
)


def _matrix(matrix: np.ndarray) -> str:
    rows = r" \\ ".join(" & ".join(map(str, row)) for row in matrix.tolist())
    return rf"\begin{{pmatrix}} {rows} \end{{pmatrix}}"


LESSON = Lesson(
    number=2,
    title="Matrix multiplication as a batch of projections",
    assignment="week1_maths",
    objective="state the shape of (seq_len, d_model) @ (d_model, d_k), and say what each row "
    "of it means.",
    needs="dot products (lesson 1)",
    place="qkv",
    worked_pages=("02-queries-keys-values.html",),
    exercises=(
        PROJECTED_SHAPE,
        ROW_BY_HAND,
        WHAT_A_ROW_NEEDS,
        PROJECT,
        PROJECT_BATCH,
        TRANSPOSED_WEIGHT,
    ),
    worked={
        "hand_x": _matrix(HAND_X),
        "hand_w": _matrix(HAND_W),
        "row_0": str(tuple(HAND_X[0].tolist())),
        "column_0": str(tuple(HAND_W[:, 0].tolist())),
        "entry_terms": " + ".join(
            rf"{x} \cdot {w}" if w >= 0 else rf"{x} \cdot ({w})"
            for x, w in zip(HAND_X[0].tolist(), HAND_W[:, 0].tolist(), strict=True)
        ),
        "entry": project(HAND_X, HAND_W)[0, 0],
        "tokens_shape": str(TOKENS.shape),
        "multiplications": TOKENS.size * D_K,
        "weight_shape": str(HEAD_WEIGHT.shape),
    },
)
