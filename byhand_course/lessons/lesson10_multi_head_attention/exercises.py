# mypy: allow-untyped-defs
"""What is graded in lesson 10, and the wrong answers it knows."""

import numpy as np

from byhand_course.lessons.exercise import ByHand, Exercise, Lesson, Mistake, Prediction, Slip
from byhand_course.reference.attention import attention, causal_mask
from byhand_course.reference.multi_head import merge_heads, multi_head_attention, split_heads


def labelled_tokens(rng):
    """Feature f of token t ends in 10 t + f, so that every number tells where it comes from."""
    hundreds = 100 * rng.integers(1, 1_000)
    return hundreds + 10 * np.arange(5)[:, None] + np.arange(6), 2


def a_sentence(rng):
    return rng.normal(size=(4, 15)), 3


def a_batch_of_sentences(rng):
    return rng.normal(size=(2, 3, 20)), 4


def as_many_heads_as_tokens(rng):
    """Heads and tokens may be swapped here without a change of shape."""
    return rng.normal(size=(3, 6)), 3


def one_head(rng):
    return rng.normal(size=(3, 5)), 1


def two_leading_axes(rng):
    return rng.normal(size=(2, 1, 5, 6)), 3


def float32_tokens(rng):
    return rng.normal(size=(5, 8)).astype(np.float32), 2


CUT = "slices = X.reshape(*leading, T, num_heads, d_model // num_heads)"
HEADS_IN_FRONT = "return slices.swapaxes(-2, -3)"

SPLIT_HEADS = Exercise(
    name="split-heads",
    objective="Cut every token's features into one slice for each head.",
    minutes=6,
    solution=split_heads,
    inputs=(
        labelled_tokens,
        a_sentence,
        a_batch_of_sentences,
        as_many_heads_as_tokens,
        one_head,
        two_leading_axes,
        float32_tokens,
    ),
    returns=("heads",),
    points=(2,),
    properties={
        "the heads stand before the tokens": lambda heads, X, num_heads: (
            heads.shape == (*X.shape[:-2], num_heads, X.shape[-2], X.shape[-1] // num_heads)
        ),
        "head 0 holds the first features of every token": lambda heads, X, num_heads: (
            np.array_equal(heads[..., 0, :, :], X[..., : X.shape[-1] // num_heads])
        ),
    },
    hints=(
        "For a single token it is easy: its row is cut into num_heads pieces of equal length. "
        "Which axis of X is cut in two?",
        "Reshaping may cut the last axis in two: the tokens stay where they are. After that, "
        "which two axes are in the wrong order?",
        "From (T, d_model) to (T, num_heads, d_head), then tokens and heads change places. Count "
        "the axes from the back, so that a batch in front does no harm.",
    ),
    mistakes=(
        Mistake(
            name="reshaped-without-swapping",
            swap=HEADS_IN_FRONT,
            into="return slices.reshape(*leading, num_heads, T, d_model // num_heads)",
            says="The shape is right, but a reshape alone only cuts the numbers anew in the order "
            "in which they lie, so one head gets all of some tokens. Print your answer to tokens "
            "10 t + f: whose features are in row 1 of head 0?",
        ),
        Mistake(
            name="heads-behind-the-tokens",
            swap=HEADS_IN_FRONT,
            into="return slices",
            says="Every token is cut correctly, but the tokens still come first. Attention works "
            "on the last two axes: what should they count?",
        ),
        Mistake(
            name="last-axes-swapped",
            swap=HEADS_IN_FRONT,
            into="return slices.swapaxes(-1, -2)",
            says="Heads and features have changed places. Which two axes should have?",
        ),
        Mistake(
            name="axes-counted-from-the-front",
            swap=HEADS_IN_FRONT,
            into="return slices.swapaxes(0, 1)",
            says="This is right for a single sequence. With a batch in front, which axes are axis "
            "0 and axis 1, and how could you count them instead?",
        ),
        Mistake(
            name="only-with-a-batch",
            swap=HEADS_IN_FRONT,
            into="return slices.swapaxes(1, 2)",
            says="This is right with exactly one axis before the tokens. What are axes 1 and 2 "
            "when there is none, or two?",
        ),
        Mistake(
            name="dealt-out-in-turn",
            swap=CUT,
            into="d_head = d_model // num_heads\n"
            "    slices = X.reshape(*leading, T, d_head, num_heads).swapaxes(-1, -2)",
            says="The features are dealt out like cards: head 0 gets features 0, 2, 4 and so on "
            "when there are two heads. Which features does the docstring give to head i?",
        ),
        Mistake(
            name="heads-in-reverse-order",
            swap=HEADS_IN_FRONT,
            into="return slices.swapaxes(-2, -3)[..., ::-1, :, :]",
            says="All slices are there, in reverse order. Which features should head 0 own?",
        ),
        Mistake(
            name="two-heads-always",
            swap=CUT,
            into=f"num_heads = 2\n    {CUT}",
            says="There are two heads whatever is asked for. Where does num_heads enter your "
            "function?",
        ),
        Mistake(
            name="never-cut",
            swap=CUT,
            into=f"num_heads = 1\n    {CUT}",
            says="There is one head with all the features, whatever is asked for. Into how many "
            "slices should each token be cut?",
        ),
        Mistake(
            name="num-heads-taken-for-the-width",
            swap=CUT,
            into="slices = X.reshape(*leading, T, d_model // num_heads, num_heads)",
            says="Each slice is num_heads wide here. If eight features are shared by two heads, "
            "how many does each get?",
        ),
        Mistake(
            name="tokens-cut",
            swap=CUT,
            into="return X.reshape(*leading, num_heads, T // num_heads, d_model)",
            says="Here the heads share out the tokens. Every head should see all tokens: what do "
            "the heads share out instead?",
        ),
        Mistake(
            name="first-head-only",
            swap=HEADS_IN_FRONT,
            into="return slices.swapaxes(-2, -3)[..., :1, :, :]",
            says="Only the slice of head 0 comes back. How many heads should stand along the "
            "third axis from the back?",
        ),
    ),
)


def labelled_heads(rng):
    """What split_heads gives for labelled tokens."""
    return (split_heads(*labelled_tokens(rng)),)


def heads_of_a_sentence(rng):
    return (rng.normal(size=(3, 4, 5)),)


def heads_of_a_batch(rng):
    return (rng.normal(size=(2, 4, 3, 5)),)


def as_many_tokens_as_heads(rng):
    return (rng.normal(size=(3, 3, 2)),)


def a_single_head(rng):
    return (rng.normal(size=(1, 3, 5)),)


def heads_of_one_token(rng):
    return (rng.normal(size=(2, 1, 5)),)


TOKENS_IN_FRONT = "slices = heads.swapaxes(-2, -3)"
JOINED = "return slices.reshape(*leading, T, num_heads * d_head)"

MERGE_HEADS = Exercise(
    name="merge-heads",
    objective="Put the slices of all heads side by side again, and show that nothing got lost.",
    minutes=5,
    solution=merge_heads,
    inputs=(
        labelled_heads,
        heads_of_a_sentence,
        heads_of_a_batch,
        as_many_tokens_as_heads,
        a_single_head,
        heads_of_one_token,
    ),
    returns=("merged",),
    points=(1,),
    properties={
        "splitting undoes it": lambda merged, heads: np.array_equal(
            split_heads(merged, heads.shape[-3]), heads
        ),
        "there is one row for each token": lambda merged, heads: (
            merged.shape[-2] == heads.shape[-2]
        ),
    },
    hints=(
        "Undo the two steps of split_heads, the last one first.",
        "Which axes must stand next to each other before a reshape may join them?",
        "First bring the tokens in front of the heads. Then the last two axes, num_heads and "
        "d_head, become one.",
    ),
    mistakes=(
        Mistake(
            name="not-swapped-back",
            swap=TOKENS_IN_FRONT,
            into="*leading, num_heads, T, d_head = heads.shape\n"
            "    return heads.reshape(*leading, T, num_heads * d_head)",
            says="The shape is right, but the heads still stand before the tokens when you "
            "reshape, so a row mixes several tokens. Merge what split_heads made of tokens "
            "10 t + f: what should row 0 be?",
        ),
        Mistake(
            name="joined-along-the-tokens",
            swap=TOKENS_IN_FRONT,
            into="*leading, num_heads, T, d_head = heads.shape\n"
            "    return heads.reshape(*leading, num_heads * T, d_head)",
            says="The heads stand one below the other, as if there were num_heads times as many "
            "tokens. What should stand side by side in one token's row?",
        ),
        Mistake(
            name="heads-in-reverse-order",
            swap=TOKENS_IN_FRONT,
            into="slices = heads[..., ::-1, :, :].swapaxes(-2, -3)",
            says="The slices stand side by side, the last head first. Whose features should open "
            "each row?",
        ),
        Mistake(
            name="shuffled-together",
            swap=JOINED,
            into="return slices.swapaxes(-1, -2).reshape(*leading, T, num_heads * d_head)",
            says="The heads take turns: feature 0 of every head, then feature 1 of every head. "
            "Which slice did split_heads give to head 0?",
        ),
        Mistake(
            name="not-joined",
            swap=JOINED,
            into="return slices",
            says="Tokens stand in front again, but each is still cut into slices. Which two axes "
            "should become one?",
        ),
        Mistake(
            name="heads-averaged",
            swap=TOKENS_IN_FRONT,
            into="return heads.mean(axis=-3)",
            says="The heads are averaged, and what each found by itself is gone. How wide is a "
            "row, if all slices are kept?",
        ),
        Mistake(
            name="heads-added-up",
            swap=TOKENS_IN_FRONT,
            into="return heads.sum(axis=-3)",
            says="The heads are added up, and what each found by itself is gone. How wide is a "
            "row, if all slices are kept?",
        ),
        Mistake(
            name="first-head-only",
            swap=TOKENS_IN_FRONT,
            into="return heads[..., 0, :, :]",
            says="Only head 0 comes back. Where do you collect the other slices?",
        ),
        Mistake(
            name="axes-counted-from-the-front",
            swap=TOKENS_IN_FRONT,
            into="slices = heads.swapaxes(0, 1)",
            says="This is right for a single sequence. With a batch in front, which axes are axis "
            "0 and axis 1, and how could you count them instead?",
        ),
        Mistake(
            name="only-with-a-batch",
            swap=TOKENS_IN_FRONT,
            into="slices = heads.swapaxes(1, 2)",
            says="This is right with a batch in front. What are axes 1 and 2 of a single "
            "sequence's heads, (num_heads, T, d_head)?",
        ),
        Mistake(
            name="batch-merged-too",
            swap=JOINED,
            into="return slices.reshape(-1, num_heads * d_head)",
            says="The rows are right, but the sequences of a batch now form one long one. Which "
            "axes should the answer keep?",
        ),
    ),
)


def _half_hidden(rng, queries, keys):
    """A mask that hides some keys from each query, not all, and never leaves all in sight."""
    mask = np.zeros((queries, keys), dtype=bool)
    for row in mask:
        row[rng.permutation(keys)[: keys // 2]] = True
    return mask


def heads_that_see_everything(rng):
    shapes = [(2, 3, 4), (2, 5, 4), (2, 5, 1)]
    return tuple(rng.normal(size=shape) for shape in shapes)


def heads_that_see_a_part(rng):
    shapes = [(2, 3, 4), (2, 5, 4), (2, 5, 1)]
    return *(rng.normal(size=shape) for shape in shapes), _half_hidden(rng, 3, 5)


def a_batch_of_heads(rng):
    shapes = [(2, 3, 4, 1), (2, 3, 5, 1), (2, 3, 5, 2)]
    return *(rng.normal(size=shape) for shape in shapes), _half_hidden(rng, 4, 5)


def everything_as_long_as_wide(rng):
    """Queries and keys may be swapped here, and axes too, without an error."""
    return *(rng.normal(size=(2, 4, 4)) for _ in range(3)), _half_hidden(rng, 4, 4)


def float32_heads(rng):
    shapes = [(3, 2, 6), (3, 5, 6), (3, 5, 1)]
    arrays = (rng.normal(size=shape).astype(np.float32) for shape in shapes)
    return *arrays, _half_hidden(rng, 2, 5)


SCALED = "scaled = scale_scores(scores, K.shape[-1])"
MASKED = "scaled = np.where(mask, -np.inf, scaled)"

ATTENTION = Exercise(
    name="attention",
    objective="Run attention for all heads at once, with any mask.",
    minutes=5,
    solution=attention,
    inputs=(
        heads_that_see_everything,
        heads_that_see_a_part,
        a_batch_of_heads,
        everything_as_long_as_wide,
        float32_heads,
    ),
    returns=("output", "weights"),
    points=(1, 1),
    properties={
        "each row of weights sums to 1": lambda answer, Q, K, V, mask=None: np.allclose(
            answer[1].sum(axis=-1), 1, rtol=1e-5
        ),
        "what is hidden gets weight 0": lambda answer, Q, K, V, mask=None: (
            mask is None or (answer[1][..., mask] == 0).all()
        ),
    },
    hints=(
        "You wrote every step in lessons 7 and 9: scores, scale, mask, weights, blend. Only their "
        "inputs come from outside now.",
        "How wide is a key? Its shape tells. And when mask is None, which step is left out?",
        "np.where(mask, ...) puts one number where the mask is True and keeps the scaled score "
        "elsewhere. It comes before the weights.",
    ),
    mistakes=(
        Mistake(
            name="mask-ignored",
            swap=MASKED,
            into="pass",
            says="Hidden keys get weight as well. At which step should the mask act?",
        ),
        Mistake(
            name="mask-inverted",
            swap=MASKED,
            into="scaled = np.where(mask, scaled, -np.inf)",
            says="Exactly the wrong keys are hidden. What does True mean in this mask?",
        ),
        Mistake(
            name="hidden-scores-0",
            swap=MASKED,
            into="scaled = np.where(mask, 0.0, scaled)",
            says="A hidden score of 0 is still a score: it weighs e to the power of 0. Which "
            "score gets no weight at all?",
        ),
        Mistake(
            name="mask-after-softmax",
            swap=MASKED,
            into="weights = np.where(mask, 0.0, attention_weights(scaled))\n"
            "        return attend(weights, V), weights",
            says="The hidden weights are set to 0 after softmax, so the rows sum to less than 1. "
            "Which step makes a row sum to 1, and what may it see?",
        ),
        Mistake(
            name="mask-times-infinity",
            swap=MASKED,
            into="scaled = scaled + mask * -np.inf",
            says="0 times infinity is nan, so scores that should stay are spoilt. How can you "
            "choose between two numbers without multiplying?",
        ),
        Mistake(
            name="not-scaled",
            swap=SCALED,
            into="scaled = scores",
            says="The scores are not scaled. What is the variance of a dot product of vectors "
            "with d_k features?",
        ),
        Mistake(
            name="scaled-by-the-values",
            swap=SCALED,
            into="scaled = scale_scores(scores, V.shape[-1])",
            says="The scores are scaled by the width of the values. Which vectors' dot products "
            "are they?",
        ),
        Mistake(
            name="scaled-by-the-number-of-keys",
            swap=SCALED,
            into="scaled = scale_scores(scores, K.shape[-2])",
            says="The scores are scaled by the number of keys. Over what did the dot product sum?",
        ),
        Mistake(
            name="divided-by-d-k",
            swap=SCALED,
            into="scaled = scores / K.shape[-1]",
            says="You divide by d_k itself, which makes the weights too even. The variance is "
            "d_k: what is the standard deviation?",
        ),
        Mistake(
            name="keys-ask-queries-answer",
            swap="attention_scores(Q, K)",
            into="attention_scores(K, Q)",
            says="The keys ask and the queries answer here. Whose scores should stand in row t?",
        ),
        Mistake(
            name="scores-blended",
            swap="attend(weights, V)",
            into="attend(scaled, V)",
            says="The weights are right, but the values are blended with the scores. What should "
            "each row sum to before it blends anything?",
        ),
        Mistake(
            name="weights-first",
            swap="return output, weights",
            into="return weights, output",
            says="Both are right and stand in the wrong order. Which does the docstring name "
            "first?",
        ),
    ),
)

# A block of the course's model: every weight matrix of its attention is (16, 16).
D_MODEL, HEADS = 16, 2

SAME_MORE, SAME_SAME, MORE_MORE, FEWER_MORE = (
    "as many parameters, two patterns for each token",
    "as many parameters, one pattern for each token",
    "twice as many parameters, two patterns for each token",
    "half as many parameters, two patterns for each token",
)


def _one_head_or_several() -> str:
    """What changes from one head to HEADS heads, found by splitting the same tokens both ways."""
    patterns = split_heads(np.zeros((5, D_MODEL)), HEADS).shape[0]
    weights = np.zeros((D_MODEL, D_MODEL))  # W_q, for one head or for several
    same_size = weights.size == sum(head.size for head in split_heads(weights, HEADS))
    options = {
        (True, 2): SAME_MORE,
        (True, 1): SAME_SAME,
        (False, 2): MORE_MORE,
    }
    return options[same_size, patterns]


ONE_HEAD_OR_SEVERAL = Prediction(
    name="one-head-or-several",
    objective="Say what several small heads have that one large head has not, and what they cost.",
    minutes=3,
    points=1,
    answer=_one_head_or_several(),
    options=(MORE_MORE, SAME_SAME, SAME_MORE, FEWER_MORE),
    hints=(
        "Two questions: how many numbers are in the four matrices, and how many tables of "
        "weights does attention return?",
        "The matrices stay (16, 16): each of the two heads owns half of the columns. Does that "
        "make them larger or smaller?",
        "attention returns weights of shape (num_heads, T, T). How many rows does one token have "
        "in there?",
    ),
    slips=(
        Slip(
            name="expects-twice-the-parameters",
            answer=MORE_MORE,
            says="That would be so if each of the two heads had 16 features of its own. They share "
            "16: how many columns of W_q does each own?",
        ),
        Slip(
            name="expects-half-the-parameters",
            answer=FEWER_MORE,
            says="Each head is half as wide, but there are two of them. What is twice one half?",
        ),
        Slip(
            name="expects-one-pattern",
            answer=SAME_SAME,
            says="Each head takes a softmax of its own. How many rows of weights does a token get "
            "from two heads?",
        ),
    ),
)


def attention_inputs(rng, T, d_model, num_heads, d_k, d_v, leading=()):
    """X, W_q, W_k, W_v, W_o and num_heads; the scores are of order 1."""
    X = rng.normal(size=(*leading, T, d_model))
    W_q, W_k = (rng.normal(0, d_model**-0.5, (d_model, num_heads * d_k)) for _ in range(2))
    W_v = rng.normal(0, d_model**-0.5, (d_model, num_heads * d_v))
    W_o = rng.normal(0, (num_heads * d_v) ** -0.5, (num_heads * d_v, d_model))
    return X, 1.5 * W_q, 1.5 * W_k, W_v, W_o, num_heads


def two_heads(rng):
    return attention_inputs(rng, T=5, d_model=7, num_heads=2, d_k=3, d_v=4)


def three_heads_and_a_batch(rng):
    return attention_inputs(rng, T=4, d_model=5, num_heads=3, d_k=2, d_v=3, leading=(2,))


def one_large_head(rng):
    return attention_inputs(rng, T=3, d_model=5, num_heads=1, d_k=4, d_v=6)


def square_weights(rng):
    """As in the course's model: here nothing but the values tells."""
    return attention_inputs(rng, T=5, d_model=6, num_heads=3, d_k=2, d_v=2)


def a_repeated_token(rng):
    X, *weights = attention_inputs(rng, T=4, d_model=5, num_heads=2, d_k=3, d_v=1)
    X[3] = X[1]
    return X, *weights


def float32_weights(rng):
    *arrays, num_heads = attention_inputs(rng, T=3, d_model=4, num_heads=2, d_k=1, d_v=5)
    return *(array.astype(np.float32) for array in arrays), num_heads


SPLIT_Q = "Q_heads = split_heads(Q, num_heads)"
SPLIT_ALL = (
    f"{SPLIT_Q}\n    K_heads = split_heads(K, num_heads)\n    V_heads = split_heads(V, num_heads)"
)
ATTENDED = "attention(Q_heads, K_heads, V_heads, hidden)"
MERGED = "merge_heads(out_heads)"

MULTI_HEAD_ATTENTION = Exercise(
    name="multi-head-attention",
    objective="Write causal multi-head attention with its output projection.",
    minutes=9,
    solution=multi_head_attention,
    inputs=(
        two_heads,
        three_heads_and_a_batch,
        one_large_head,
        square_weights,
        a_repeated_token,
        float32_weights,
    ),
    returns=("mixed",),
    points=(3,),
    properties={
        "the answer is shaped as X": lambda mixed, X, *_: mixed.shape == X.shape,
        "the last token changes no row before it": lambda mixed, X, *rest: np.allclose(
            mixed[..., :-1, :], multi_head_attention(X[..., :-1, :], *rest), atol=1e-5
        ),
        "token 0 gets its own value, through W_o": lambda mixed, X, W_q, W_k, W_v, W_o, h: (
            np.allclose(mixed[..., 0, :], X[..., 0, :] @ W_v @ W_o, rtol=1e-4, atol=1e-5)
        ),
    },
    hints=(
        "Five steps: queries, keys and values; split; attend; merge; project. You have a "
        "function for each of the first four.",
        "All three of Q, K and V are split. causal_mask wants the number of tokens, which is the "
        "second axis of X from the back.",
        "attention returns two things, and here you need the first. After merging, each row is "
        "h * d_v wide: which matrix brings it back to d_model?",
    ),
    mistakes=(
        Mistake(
            name="reshaped-without-swapping",
            swap=SPLIT_ALL,
            into="*front, T, _ = X.shape\n"
            "    Q_heads = Q.reshape(*front, num_heads, T, -1)\n"
            "    K_heads = K.reshape(*front, num_heads, T, -1)\n"
            "    V_heads = V.reshape(*front, num_heads, T, -1)",
            says="The heads are cut by a reshape alone, which deals out tokens, not features. "
            "What did your split_heads do after its reshape?",
        ),
        Mistake(
            name="merged-without-swapping-back",
            swap=MERGED,
            into="out_heads.reshape(*X.shape[:-1], W_o.shape[0])",
            says="The heads are joined by a reshape alone, so a row mixes several tokens. What "
            "does your merge_heads do before its reshape?",
        ),
        Mistake(
            name="num-heads-ignored",
            swap=SPLIT_Q,
            into=f"num_heads = 1\n    {SPLIT_Q}",
            says="This is one large head, whatever num_heads says. Where are the features cut?",
        ),
        Mistake(
            name="two-heads-always",
            swap=SPLIT_Q,
            into=f"num_heads = 2\n    {SPLIT_Q}",
            says="There are two heads, whatever num_heads says. Where does that argument enter?",
        ),
        Mistake(
            name="heads-in-reverse-order",
            swap=MERGED,
            into="merge_heads(out_heads[..., ::-1, :, :])",
            says="The heads are merged in reverse order, so each meets rows of W_o that belong to "
            "another. Whose features come first?",
        ),
        Mistake(
            name="first-head-repeated",
            swap=MERGED,
            into="merge_heads(out_heads[..., :1, :, :].repeat(num_heads, axis=-3))",
            says="Every head gives what head 0 found, as when a loop uses the same slice in each "
            "round. What should differ from round to round?",
        ),
        Mistake(
            name="output-projection-forgotten",
            swap="return concat @ W_o",
            into="return concat",
            says="This is the merged answer of the heads, (T, h * d_v). Which matrix mixes what "
            "they found, and makes the rows d_model wide?",
        ),
        Mistake(
            name="output-projection-transposed",
            swap="concat @ W_o",
            into="concat @ W_o.T",
            says="W_o is transposed, which only square weights allow. In this course weights are "
            "(in, out): what goes into W_o?",
        ),
        Mistake(
            name="mask-forgotten",
            swap=ATTENDED,
            into="attention(Q_heads, K_heads, V_heads)",
            says="Every token sees the future. Row 0 should depend on token 0 alone: what hides "
            "the others from it?",
        ),
        Mistake(
            name="past-hidden",
            swap=ATTENDED,
            into="attention(Q_heads, K_heads, V_heads, hidden.T)",
            says="Every token sees itself and the future, not the past. On which side of the "
            "diagonal should the mask be True?",
        ),
        Mistake(
            name="scaled-by-all-heads-together",
            swap=ATTENDED,
            into="attention(Q_heads / num_heads**0.5, K_heads, V_heads, hidden)",
            says="The scores are scaled as if a key had all h * d_k features. How many does a "
            "head's own key have?",
        ),
        Mistake(
            name="keys-ask-queries-answer",
            swap=ATTENDED,
            into="attention(K_heads, Q_heads, V_heads, hidden)",
            says="Queries and keys have changed places. Which of the two asks?",
        ),
        Mistake(
            name="input-added",
            swap="return concat @ W_o",
            into="return X + concat @ W_o",
            says="You added X to the answer. That is the block's work, and comes in lesson 11: "
            "what does the docstring promise here?",
        ),
    ),
)

# The sizes of the parameter count: three heads, and no two lengths equal.
COUNTED = {"d_model": 12, "num_heads": 3, "d_k": 5, "d_v": 2}
COUNTED_INPUTS = attention_inputs(np.random.default_rng(10), T=4, **COUNTED)
COUNTED_SIZES = [matrix.size for matrix in COUNTED_INPUTS[1:5]]
assert multi_head_attention(*COUNTED_INPUTS).shape == COUNTED_INPUTS[0].shape

HEAD_PARAMETERS = ByHand(
    name="head-parameters",
    objective="Count the parameters of multi-head attention.",
    minutes=4,
    points=1,
    form="a whole number",
    answer=sum(COUNTED_SIZES),
    hints=(
        "Four matrices. Write down the shape of each; the docstring of multi_head_attention has "
        "them.",
        f"h = {COUNTED['num_heads']} heads stand side by side in W_q, so it has "
        f"{COUNTED['num_heads']} times {COUNTED['d_k']} columns. What of W_v, and which way does "
        "W_o lie?",
        f"W_q and W_k hold {COUNTED_SIZES[0]} numbers each. Two matrices are left, and they are "
        "of the same size.",
    ),
    slips=(
        Slip(
            name="output-projection-forgotten",
            answer=sum(COUNTED_SIZES[:3]),
            says="These are W_q, W_k and W_v. Which matrix mixes what the heads found?",
        ),
        Slip(
            name="one-head-counted",
            answer=sum(COUNTED_SIZES[:3]) // COUNTED["num_heads"],
            says="These are the queries, keys and values of a single head. How many heads are "
            "there, and what follows them?",
        ),
        Slip(
            name="one-head-and-its-output",
            answer=sum(COUNTED_SIZES) // COUNTED["num_heads"],
            says="This is the share of a single head. How many heads are there?",
        ),
        Slip(
            name="one-head-and-all-the-output",
            answer=sum(COUNTED_SIZES[:3]) // COUNTED["num_heads"] + COUNTED_SIZES[3],
            says="W_o is counted in full, the other three for a single head only. How many "
            "columns has W_q with all heads side by side?",
        ),
        Slip(
            name="four-square-matrices",
            answer=4 * COUNTED["d_model"] ** 2,
            says="That would be four matrices of d_model by d_model, which holds when h * d_k and "
            "h * d_v equal d_model. Do they here?",
        ),
        Slip(
            name="values-as-wide-as-keys",
            answer=4 * COUNTED_SIZES[0],
            says="All four are counted with d_k. Which two of them have to do with values?",
        ),
        Slip(
            name="output-projection-for-each-head",
            answer=sum(COUNTED_SIZES[:3]) + COUNTED["num_heads"] * COUNTED_SIZES[3],
            says="W_o is counted once for each head. It acts after the merge: how many of it are "
            "there?",
        ),
        Slip(
            name="biases-added",
            answer=sum(COUNTED_SIZES) + sum(matrix.shape[1] for matrix in COUNTED_INPUTS[1:5]),
            says="You counted a bias for each column. Does X @ W_q, as this course writes it, add "
            "one?",
        ),
        Slip(
            name="queries-counted-once",
            answer=sum(COUNTED_SIZES) - COUNTED_SIZES[0],
            says="One matrix of the size of W_q is missing. Queries and keys: do they share one?",
        ),
    ),
)

LESSON = Lesson(
    number=10,
    title="Multi-head attention",
    assignment="week2_model",
    objective="cut attention into several heads, merge what they found, count the parameters, and "
    "say why several small heads beat one large one.",
    needs="one head and its mask (lessons 6 to 9)",
    place="heads",
    exercises=(
        SPLIT_HEADS,
        MERGE_HEADS,
        ATTENTION,
        ONE_HEAD_OR_SEVERAL,
        MULTI_HEAD_ATTENTION,
        HEAD_PARAMETERS,
    ),
    worked={
        "course_parameters": 4 * D_MODEL**2,
        "hidden_pairs": int(causal_mask(5).sum()),
        **COUNTED,
    },
)
