# mypy: allow-untyped-defs
"""What is graded in lesson 6, and the wrong answers it knows."""

import numpy as np

from byhand_course.lessons.exercise import ByHand, Exercise, Lesson, Mistake, Prediction, Slip
from byhand_course.reference.attention import qkv, soft_lookup
from byhand_course.reference.softmax import softmax

# The look-up by hand, and the one that the prose works through.
HAND_QUERY = np.array([1, 2])
HAND_KEYS = np.array([[2, 0], [2, -1]])
HAND_VALUES = np.array([[10, 0], [0, 50]])
SHOWN_QUERY = np.array([2, -1])
SHOWN_KEYS = np.array([[1, 1], [1, 2]])
SHOWN_VALUES = np.array([[20, 0], [0, 10]])

# The sizes of the prediction: values have another width than queries and keys.
SEQ_LEN, D_MODEL, D_K, D_V = 5, 16, 8, 6

ROLES = "value, query, key"  # of the three sentences, as the prose lists them
QUERY_FIRST, KEY_FOR_QUERY, KEY_FOR_VALUE = (
    "query, key, value",
    "value, key, query",
    "key, query, value",
)

MATCH_ROLES = Prediction(
    name="match-roles",
    objective="Tell the roles of query, key and value apart.",
    minutes=3,
    points=1,
    answer=ROLES,
    options=(QUERY_FIRST, ROLES, KEY_FOR_QUERY, KEY_FOR_VALUE),
    hints=(
        "In ages['Ada'] you bring the word 'Ada'. The dictionary has words of its own to compare "
        "yours with, and an age behind each.",
        "One of the three sentences is about searching. Which role searches?",
        "Of the other two, one is what others compare with, and one is what they carry away.",
    ),
    slips=(
        Slip(
            name="order-of-the-formula",
            answer=QUERY_FIRST,
            says="That is the order in which people say them, not the order of the three "
            "sentences. Which sentence does the searching?",
        ),
        Slip(
            name="queries-and-keys-swapped",
            answer=KEY_FOR_QUERY,
            says="The first is right. Of the other two, which one goes out and searches, and "
            "which waits to be found?",
        ),
        Slip(
            name="keys-and-values-swapped",
            answer=KEY_FOR_VALUE,
            says="The one that searches is right. When a token has been found, what is taken "
            "from it: that by which it was found, or something else?",
        ),
    ),
)


def _one_decimal(vector: np.ndarray) -> list[float]:
    return np.round(vector, 1).tolist()


HAND_SCORES = HAND_KEYS @ HAND_QUERY

LOOK_UP_BY_HAND = ByHand(
    name="look-up-by-hand",
    objective="Look a query up in a soft dictionary by hand.",
    minutes=5,
    points=1,
    form="a list of two numbers to one decimal, such as [1.5, 20.0]",
    answer=_one_decimal(soft_lookup(HAND_QUERY, HAND_KEYS, HAND_VALUES)),
    tolerance=0.1,
    hints=(
        "Three steps, as in the table: a score for each key, a weight for each score, a blend "
        "of the values.",
        f"The two scores are {HAND_SCORES[0]} and {HAND_SCORES[1]}. Both get a power of e, and "
        "their sum divides both.",
        f"The weights are {softmax(HAND_SCORES)[0]:.2f} and {softmax(HAND_SCORES)[1]:.2f}. "
        "Multiply each value by its weight; one step is left.",
    ),
    slips=(
        Slip(
            name="best-value-only",
            answer=_one_decimal(HAND_VALUES[HAND_SCORES.argmax()]),
            says="This is the first value alone, as if the second key had weight 0. What is e to "
            "the power of its score?",
        ),
        Slip(
            name="softmax-forgotten",
            answer=_one_decimal(HAND_SCORES @ HAND_VALUES),
            says="The scores themselves serve as weights here. Which step turns them into "
            "numbers that sum to 1?",
        ),
        Slip(
            name="not-divided",
            answer=_one_decimal(np.exp(HAND_SCORES) @ HAND_VALUES),
            says="The powers of e serve as weights here, and they sum to far more than 1. What "
            "divides them?",
        ),
        Slip(
            name="keys-blended",
            answer=_one_decimal(softmax(HAND_SCORES) @ HAND_KEYS),
            says="The weights are right, and they blend the keys. Which vectors does a look-up "
            "hand out?",
        ),
        Slip(
            name="weights-swapped",
            answer=_one_decimal(softmax(HAND_SCORES)[::-1] @ HAND_VALUES),
            says="The smaller score got the larger weight. Which way does e to the power of x "
            "run when x grows?",
        ),
        Slip(
            name="plain-average",
            answer=_one_decimal(HAND_VALUES.mean(axis=0)),
            says="This is the plain average of the values. Do both keys match the query equally "
            "well?",
        ),
        Slip(
            name="scaled-by-the-root",
            answer=_one_decimal(softmax(HAND_SCORES / 2**0.5) @ HAND_VALUES),
            says="You divided the scores by the root of 2, as the attention formula does. That "
            "is the next lesson: is there such a step in the table?",
        ),
    ),
)


def one_query(rng):
    return rng.normal(size=3), rng.normal(size=(4, 3)), rng.normal(size=(4, 2))


def three_queries(rng):
    return rng.normal(size=(3, 4)), rng.normal(size=(5, 4)), rng.normal(size=(5, 2))


def a_batch_of_queries(rng):
    return rng.normal(size=(2, 4, 5)), rng.normal(size=(2, 3, 5)), rng.normal(size=(2, 3, 6))


def square_queries_keys_and_values(rng):
    """Everything fits everything here; only the values tell."""
    queries, keys, values = rng.normal(size=(3, 4, 4))
    return queries, keys, values


def a_batch_of_as_many_keys_as_features(rng):
    """As many sequences as keys as features, so that even reversed axes fit."""
    return rng.normal(size=(3, 2, 3)), rng.normal(size=(3, 3, 3)), rng.normal(size=(3, 3, 4))


def huge_scores(rng):
    """The last feature adds 900 to every score; e to the power of 900 is beyond float64."""
    queries, keys = rng.normal(size=(2, 4)), rng.normal(size=(5, 4))
    queries[:, -1] = keys[:, -1] = 30
    return queries, keys, rng.normal(size=(5, 3))


def float32_queries(rng):
    """Values all above 0, so that rounding in float32 stays small beside the sums."""
    sizes = (3, 2), (5, 2), (5, 4)
    queries, keys, values = (rng.uniform(0.5, 1.5, size=size) for size in sizes)
    return tuple(array.astype(np.float32) for array in (2 * queries, keys, values))


SCORED = "query @ keys.swapaxes(-1, -2)"
WEIGHTS = "weights = softmax(scores)"
BLENDED = "return weights @ values"

SOFT_LOOKUP = Exercise(
    name="soft-lookup",
    objective="Write a dictionary look-up that answers with a blend of all values.",
    minutes=8,
    solution=soft_lookup,
    inputs=(
        one_query,
        three_queries,
        a_batch_of_queries,
        square_queries_keys_and_values,
        a_batch_of_as_many_keys_as_features,
        huge_scores,
        float32_queries,
    ),
    returns=("answer",),
    points=(2,),
    properties={
        "every answer has the features of a value": lambda answer, query, keys, values: (
            answer.shape == (*query.shape[:-1], values.shape[-1])
        ),
        "no answer lies outside the values": lambda answer, query, keys, values: (
            (answer <= values.max() + 1e-5) & (answer >= values.min() - 1e-5)
        ).all(),
    },
    hints=(
        "The table above has three columns to compute: scores, weights, weighted values. One "
        "line each is enough.",
        "For one query, keys @ query would do. For many, queries stand on the left and keys must "
        "be turned: which two of their axes change places, and which stay?",
        "swapaxes(-1, -2) turns the last two axes only. Your softmax works along the last axis "
        "by default: is that the axis of the keys? Then one more matrix product.",
    ),
    mistakes=(
        Mistake(
            name="best-value-only",
            swap=WEIGHTS,
            into="weights = (scores == scores.max(axis=-1, keepdims=True)) * 1.0",
            says="Only the best key counts, as in an ordinary dictionary. What should a key get "
            "that matches nearly as well?",
        ),
        Mistake(
            name="softmax-forgotten",
            swap=WEIGHTS,
            into="weights = scores",
            says="Bare scores serve as weights, so some may be below 0. Which function makes "
            "weights that sum to 1 out of scores?",
        ),
        Mistake(
            name="divided-by-the-sum-of-the-scores",
            swap=WEIGHTS,
            into="weights = scores / scores.sum(axis=-1, keepdims=True)",
            says="The scores are divided by their sum, so a negative score gets a negative "
            "weight. Which step makes every score positive first?",
        ),
        Mistake(
            name="scaled-by-the-root",
            swap=WEIGHTS,
            into="weights = softmax(scores / keys.shape[-1] ** 0.5)",
            says="You divide by the root of d_k, which the attention formula will do in lesson "
            "7. What does the docstring say about scaling here?",
        ),
        Mistake(
            name="softmax-over-the-queries",
            swap=WEIGHTS,
            into="weights = softmax(scores, axis=0)",
            says="Softmax runs along axis 0, so queries or sequences compete with each other. "
            "For one query, the weights of which things should sum to 1?",
        ),
        Mistake(
            name="softmax-over-everything",
            swap=WEIGHTS,
            into="weights = np.exp(scores - scores.max())\n    weights = weights / weights.sum()",
            says="All weights together sum to 1, so queries share one cake. How much weight "
            "should each query have to give away?",
        ),
        Mistake(
            name="softmax-that-overflows",
            swap=WEIGHTS,
            into="powers = np.exp(scores)\n"
            "    weights = powers / powers.sum(axis=-1, keepdims=True)",
            says="Huge scores overflow here, though your softmax of lesson 3 survives them. Why "
            "not let it do the work?",
        ),
        Mistake(
            name="keys-blended",
            swap=BLENDED,
            into="return weights @ keys",
            says="The answer is a blend of keys. Keys are there to be found by: what is there "
            "to be taken away?",
        ),
        Mistake(
            name="keys-and-values-swapped",
            swap=f"{SCORED}  # one for each key\n    weights = softmax(scores)\n"
            "    return weights @ values",
            into="query @ values.swapaxes(-1, -2)\n    return softmax(scores) @ keys",
            says="The query is compared with the values, and the keys are handed out. Which of "
            "the two should a query be compared with?",
        ),
        Mistake(
            name="weights-returned",
            swap=BLENDED,
            into="return weights",
            says="These are the weights, one for each key. What do they weigh?",
        ),
        Mistake(
            name="products-not-added",
            swap=BLENDED,
            into="return weights[..., None] * values",
            says="Each value has been multiplied by its weight, and all of them come back side "
            "by side. How do they become one answer?",
        ),
        Mistake(
            name="all-axes-reversed",
            swap=SCORED,
            into="query @ keys.T",
            says=".T reverses all axes, so in a batch the sequences lose their place. Which two "
            "axes should change places?",
        ),
    ),
)

LOOKED_UP_SHAPE = Prediction(
    name="looked-up-shape",
    objective="Predict shapes from tokens to queries, keys and values, and on to the answers.",
    minutes=4,
    points=1,
    answer=soft_lookup(
        *qkv(
            np.zeros((SEQ_LEN, D_MODEL)),
            np.zeros((D_MODEL, D_K)),
            np.zeros((D_MODEL, D_K)),
            np.zeros((D_MODEL, D_V)),
        )
    ).shape,
    hints=(
        "Write the shapes of Q, K and V beside each other first: three products as in lesson 2.",
        "How many queries are there? Each of them gets one answer.",
        "An answer is a blend of values. How many features does a blend of vectors have?",
    ),
    slips=(
        Slip(
            name="width-of-the-queries",
            answer=(SEQ_LEN, D_K),
            says="This is the shape of Q and of K. They only decide the weights: of which "
            "vectors is the answer a blend?",
        ),
        Slip(
            name="shape-of-the-weights",
            answer=(SEQ_LEN, SEQ_LEN),
            says="This is the shape of the weights, one for each query and key. What do they "
            "become when they have blended the values?",
        ),
        Slip(
            name="shape-of-the-tokens",
            answer=(SEQ_LEN, D_MODEL),
            says="This is the shape of X. A value is a projection of a token: how many columns "
            "does W_v have?",
        ),
        Slip(
            name="turned-around",
            answer=(D_V, SEQ_LEN),
            says="Both lengths are right and they stand the wrong way round. Where do tokens "
            "stand in X, in rows or in columns?",
        ),
        Slip(
            name="shape-of-the-weight-matrix",
            answer=(D_MODEL, D_V),
            says="This is the shape of W_v itself. Each row of the answer belongs to a token: how "
            "many tokens are there?",
        ),
    ),
)


def tokens_and_three_weights(rng):
    sizes = (3, 5), (5, 4), (5, 4), (5, 2)
    return tuple(rng.normal(size=size) for size in sizes)


def a_token_that_comes_twice(rng):
    X = rng.normal(size=(4, 3))
    X[2] = X[0]
    return X, rng.normal(size=(3, 5)), rng.normal(size=(3, 5)), rng.normal(size=(3, 6))


def a_batch_of_tokens(rng):
    sizes = (2, 3, 6), (6, 4), (6, 4), (6, 5)
    return tuple(rng.normal(size=size) for size in sizes)


def values_as_wide_as_keys(rng):
    """As in the course's model: d_v is d_k, so a mix-up changes no shape."""
    sizes = (3, 6), (6, 4), (6, 4), (6, 4)
    return tuple(rng.normal(size=size) for size in sizes)


def square_tokens_and_weights(rng):
    """Everything fits everything here; only the values tell."""
    return tuple(rng.normal(size=(4, 4, 4)))


def whole_number_tokens(rng):
    """The weights stay floats, so that the answers hold floats however they are computed."""
    sizes = (5, 3), (3, 4), (3, 4), (3, 2)
    X, *weights = (rng.normal(size=size) for size in sizes)
    return (rng.integers(-5, 6, size=X.shape), *weights)


def float32_tokens(rng):
    """All above 0, so that rounding in float32 stays small beside the sums."""
    sizes = (3, 5), (5, 2), (5, 2), (5, 4)
    return tuple(rng.uniform(0.5, 1.5, size=size).astype(np.float32) for size in sizes)


PROJECTIONS = "Q = X @ W_q\n    K = X @ W_k\n    V = X @ W_v"
RETURNED = "return Q, K, V"

QKV = Exercise(
    name="qkv",
    objective="Make queries, keys and values from tokens, each with its own learned matrix.",
    minutes=6,
    solution=qkv,
    inputs=(
        tokens_and_three_weights,
        a_token_that_comes_twice,
        a_batch_of_tokens,
        values_as_wide_as_keys,
        square_tokens_and_weights,
        whole_number_tokens,
        float32_tokens,
    ),
    returns=("Q", "K", "V"),
    points=(1, 1, 1),
    properties={
        "queries and keys have the same shape": lambda answer, X, W_q, W_k, W_v: (
            answer[0].shape == answer[1].shape
        ),
        "each token has one value": lambda answer, X, W_q, W_k, W_v: (
            answer[2].shape == (*X.shape[:-1], W_v.shape[1])
        ),
        "doubled tokens have doubled queries, keys and values": (
            lambda answer, X, W_q, W_k, W_v: all(
                np.allclose(2 * one, two, rtol=1e-4)
                for one, two in zip(answer, qkv(2 * X, W_q, W_k, W_v), strict=True)
            )
        ),
    },
    hints=(
        "Each of the three is a projection of all tokens, as in lesson 2. What differs between "
        "them?",
        "Every token stands in a row of X, and weights act from the right. The same X goes into "
        "all three products.",
        "Three lines, one @ each; then return three arrays with commas between them, in the "
        "docstring's order.",
    ),
    mistakes=(
        Mistake(
            name="keys-and-values-swapped",
            swap=RETURNED,
            into="return Q, V, K",
            says="K holds the values and V the keys. In which order does the docstring name "
            "the three?",
        ),
        Mistake(
            name="queries-and-keys-swapped",
            swap=RETURNED,
            into="return K, Q, V",
            says="Q holds the keys and K the queries. In which order does the docstring name "
            "the three?",
        ),
        Mistake(
            name="keys-from-the-query-weights",
            swap="K = X @ W_k",
            into="K = X @ W_q",
            says="Keys and queries are the same numbers here. Which matrix makes the keys?",
        ),
        Mistake(
            name="values-from-the-key-weights",
            swap="V = X @ W_v",
            into="V = X @ W_k",
            says="Values and keys are the same numbers here. Which matrix makes the values?",
        ),
        Mistake(
            name="one-matrix-for-all",
            swap=PROJECTIONS,
            into="Q = K = V = X @ W_q",
            says="All three are the same array, so a token asks for what it offers. How many "
            "matrices does the docstring list, and what is each for?",
        ),
        Mistake(
            name="values-are-the-tokens",
            swap="V = X @ W_v",
            into="V = X",
            says="The tokens themselves serve as values. Which matrix decides what a token "
            "passes on?",
        ),
        Mistake(
            name="weights-transposed",
            swap=PROJECTIONS,
            into="Q, K, V = X @ W_q.T, X @ W_k.T, X @ W_v.T",
            says="Each token meets the rows of the weights. In this course W is (in, out): does "
            "a new feature stand in a row or in a column?",
        ),
        Mistake(
            name="weights-on-the-left",
            swap=PROJECTIONS,
            into="Q, K, V = W_q @ X, W_k @ X, W_v @ X",
            says="The weights act from the left here. On which side of W does d_model stand "
            "next to the d_model of X?",
        ),
        Mistake(
            name="one-after-the-other",
            swap=PROJECTIONS,
            into="Q = X @ W_q\n    K = Q @ W_k\n    V = K @ W_v",
            says="Keys are made from queries, and values from keys. From what should all three "
            "be made?",
        ),
        Mistake(
            name="keys-turned",
            swap=RETURNED,
            into="return Q, K.T, V",
            says="The keys are turned already, tokens in columns. Which shape does the "
            "docstring promise for K?",
        ),
        Mistake(
            name="queries-scaled",
            swap=RETURNED,
            into="return Q / K.shape[-1] ** 0.5, K, V",
            says="The queries are divided by a root already. Scaling comes in lesson 7: what "
            "does the docstring ask of Q here?",
        ),
        Mistake(
            name="joined-into-one",
            swap=RETURNED,
            into="return np.concatenate([Q, K, V], axis=-1)",
            says="Queries, keys and values come back joined in one array. How does a function "
            "return three arrays, each by itself?",
        ),
    ),
)

WEIGHTS_ONLY, ANSWERS_ONLY, BOTH, NEITHER = (
    "the weights only",
    "the answers only",
    "both",
    "neither",
)


def _effect_of_other_values() -> str:
    """What another W_v changes, found by trying it; the unit matrix as values shows the weights."""
    rng = np.random.default_rng(0)
    X, W_q, W_k, W_v, other = (rng.normal(size=size) for size in [(3, 5), *[(5, 4)] * 4])
    changed = []
    for weights_wanted in (True, False):
        found = []
        for matrix in (W_v, other):
            Q, K, V = qkv(X, W_q, W_k, matrix)
            found.append(soft_lookup(Q, K, np.eye(len(X)) if weights_wanted else V))
        changed.append(not np.allclose(*found))
    return {
        (True, True): BOTH,
        (True, False): WEIGHTS_ONLY,
        (False, True): ANSWERS_ONLY,
        (False, False): NEITHER,
    }[changed[0], changed[1]]


WHAT_W_V_DECIDES = Prediction(
    name="what-w-v-decides",
    objective="Say which learned matrix decides where a token looks, and which what it gets.",
    minutes=3,
    points=1,
    answer=_effect_of_other_values(),
    options=(WEIGHTS_ONLY, ANSWERS_ONLY, BOTH, NEITHER),
    hints=(
        "Follow the new matrix through the lines of your soft_lookup. Where does it first show?",
        "Weights come from scores, and scores from two of the three projections. Which two?",
        "W_v makes V alone, and V enters soft_lookup in its last step. What is finished by then?",
    ),
    slips=(
        Slip(
            name="values-as-keys",
            answer=WEIGHTS_ONLY,
            says="It is the other way round for W_v. Which vectors are compared to make the "
            "weights, and which are blended?",
        ),
        Slip(
            name="everything-changes",
            answer=BOTH,
            says="One of the two does change. Which arrays go into the scores, and is V among "
            "them?",
        ),
        Slip(
            name="nothing-changes",
            answer=NEITHER,
            says="The answers are blends of V. If all vectors that are blended change, can the "
            "blends stay?",
        ),
    ),
)


def _tuple(vector: np.ndarray) -> str:
    return f"({', '.join(f'{number:g}' for number in vector.tolist())})"


def _worked_table() -> str:
    """Markdown: the look-up of SHOWN_QUERY, one key a row."""
    scores = SHOWN_KEYS @ SHOWN_QUERY
    weights = softmax(scores)
    lines = [
        "| key | score | $e^{\\text{score}}$ | weight | value | weight · value |",
        "|---|---:|---:|---:|---|---|",
    ]
    for key, score, weight, value in zip(SHOWN_KEYS, scores, weights, SHOWN_VALUES, strict=True):
        weighted = f"({', '.join(f'{number:.1f}' for number in weight * value)})"
        lines.append(
            f"| {_tuple(key)} | {score} | {np.exp(score):.2f} | {weight:.2f} | {_tuple(value)} | "
            f"{weighted} |"
        )
    answer = soft_lookup(SHOWN_QUERY, SHOWN_KEYS, SHOWN_VALUES)
    total = f"({', '.join(f'{number:.1f}' for number in answer)})"
    lines.append(f"| **sum** | | **{np.exp(scores).sum():.2f}** | **1** | | **{total}** |")
    return "\n".join(lines)


LESSON = Lesson(
    number=6,
    title="Queries, keys and values",
    assignment="week2_attention",
    objective="explain queries, keys and values as a soft dictionary look-up, and say which "
    "learned matrix makes which.",
    needs="projections (lesson 2) and softmax (lesson 3)",
    place="qkv",
    worked_pages=("02-queries-keys-values.html",),
    exercises=(
        MATCH_ROLES,
        LOOK_UP_BY_HAND,
        SOFT_LOOKUP,
        LOOKED_UP_SHAPE,
        QKV,
        WHAT_W_V_DECIDES,
    ),
    worked={
        "table": _worked_table(),
        "shown_query": _tuple(SHOWN_QUERY),
        "hand_query": _tuple(HAND_QUERY),
        "hand_key_0": _tuple(HAND_KEYS[0]),
        "hand_key_1": _tuple(HAND_KEYS[1]),
        "hand_value_0": _tuple(HAND_VALUES[0]),
        "hand_value_1": _tuple(HAND_VALUES[1]),
        "e_2": np.exp(2.0),
        "x_shape": str((SEQ_LEN, D_MODEL)),
        "w_shape": str((D_MODEL, D_K)),
        "w_v_shape": str((D_MODEL, D_V)),
    },
)
