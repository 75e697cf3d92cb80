# mypy: allow-untyped-defs
"""What is graded in lesson 16, and the wrong answers it knows."""

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
from byhand_course.reference.block import transformer_block_backward
from byhand_course.reference.embedding import embedding_backward
from byhand_course.reference.model import (
    COURSE_SIZES,
    backward,
    block_params,
    init_params,
    parameter_count,
)
from byhand_course.reference.tokens import VOCABULARY, ids_of

# The four tokens that are worked by hand: one of them comes twice.
HAND_WORDS = ("the", "cat", "sat", "the")
HAND_IDS = np.array([VOCABULARY.index(word) for word in HAND_WORDS])
HAND_DX = np.array([[1.0, -2.0], [0.5, 1.0], [-1.0, 3.0], [2.0, 0.5]])
HAND_TOKENS, HAND_PLACES = embedding_backward(HAND_DX, HAND_IDS, len(VOCABULARY), max_len=5)
THE, MAT = VOCABULARY.index("the"), VOCABULARY.index("mat")
LAST = len(HAND_IDS) - 1


def _rows(*rows: np.ndarray) -> list[float]:
    return two_decimals(np.concatenate(rows))


REPEATED_TOKEN_BY_HAND = ByHand(
    name="repeated-token-by-hand",
    objective="Carry gradients back to the rows of two embedding tables by hand.",
    minutes=4,
    points=1,
    form="a list of four numbers, such as [1, -0.5, 2, 0]",
    answer=_rows(HAND_TOKENS[THE], HAND_PLACES[LAST]),
    tolerance=0.01,
    hints=(
        "Which rows of X were made with the row of *the*? Which with the last position's row?",
        "*the* stands at two places, so its row was used twice. Position 3 was used once.",
        "If the row of *the* is pushed, X changes at both of its places, and the loss feels both: "
        "add those two rows of the gradient. The last position's row was added to one token only.",
    ),
    slips=(
        Slip(
            name="last-one-only",
            answer=_rows(HAND_DX[LAST], HAND_PLACES[LAST]),
            says="For *the* you took the gradient of its last place alone. How often was its row "
            "looked up?",
        ),
        Slip(
            name="first-one-only",
            answer=_rows(HAND_DX[0], HAND_PLACES[LAST]),
            says="For *the* you took the gradient of its first place alone. How often was its row "
            "looked up?",
        ),
        Slip(
            name="averaged",
            answer=_rows(HAND_TOKENS[THE] / 2, HAND_PLACES[LAST]),
            says="You took the mean of the two gradients of *the*. A push to its row changes X at "
            "two places: does the loss feel half of each, or all of both?",
        ),
        Slip(
            name="shared-between-the-tables",
            answer=_rows(HAND_TOKENS[THE] / 2, HAND_PLACES[LAST] / 2),
            says="You shared each gradient between the two tables. In a sum a + b, how much does "
            "the sum change when a alone grows by 1?",
        ),
        Slip(
            name="the-other-order",
            answer=_rows(HAND_PLACES[LAST], HAND_TOKENS[THE]),
            says="Both rows are right and stand in the other order. Which of them is asked for "
            "first?",
        ),
        Slip(
            name="place-follows-the-token",
            answer=_rows(HAND_TOKENS[THE], HAND_TOKENS[THE]),
            says="You added up for the position too. *the* stands at two positions: do these share "
            "a row of the position table?",
        ),
        Slip(
            name="counted-from-one",
            answer=_rows(HAND_TOKENS[THE], HAND_PLACES[LAST - 1]),
            says="For the position you took the third row of the gradient. Counted from 0, which "
            "row belongs to position 3?",
        ),
    ),
)


def _gradient(rng, *shape):
    """An upstream gradient whose mean is not 0."""
    return rng.normal(0.5, 1.5, size=shape)


def different_tokens(rng):
    return _gradient(rng, 4, 3), rng.permutation(7)[:4], 7, 6


def a_repeated_token(rng):
    """One id at three places, two of them side by side."""
    one, two, three = rng.permutation(6)[:3]
    return _gradient(rng, 5, 2), np.array([one, two, one, one, three]), 6, 8


def a_batch(rng):
    """One token comes in both sequences, and one of them at two places."""
    one, two, three, four = rng.permutation(7)[:4]
    return _gradient(rng, 2, 3, 4), np.array([[one, two, one], [three, one, four]]), 7, 5


def as_long_as_the_table(rng):
    """Every position is used, and every token of a small vocabulary."""
    return _gradient(rng, 4, 3), rng.permutation([0, 1, 2, 2]), 3, 4


def float32_gradients(rng):
    ids = rng.permutation(5)[[0, 1, 0]]
    return _gradient(rng, 3, 4).astype(np.float32), ids, 5, 6


SCATTERED = "np.add.at(dtoken_embedding, ids, dX)"
PLACED = "dposition_embedding[:T] = dX.reshape(-1, T, d_model).sum(axis=0)"
TABLES_RETURNED = "return dtoken_embedding, dposition_embedding"

EMBEDDING_BACKWARD = Exercise(
    name="embedding-backward",
    objective="Scatter gradients back into the embedding tables, so that no repeat is lost.",
    minutes=8,
    solution=embedding_backward,
    inputs=(
        different_tokens,
        a_repeated_token,
        a_batch,
        as_long_as_the_table,
        float32_gradients,
    ),
    returns=("dtoken_embedding", "dposition_embedding"),
    points=(1, 1),
    properties={
        "nothing is lost: both tables receive all of dX": lambda answer, dX, *_: all(
            np.allclose(table.sum(axis=0), dX.reshape(-1, dX.shape[-1]).sum(axis=0), rtol=1e-4)
            for table in answer
        ),
        "a token that does not occur gets 0": lambda answer, dX, ids, vocab_size, max_len: (
            not answer[0][np.setdiff1d(np.arange(vocab_size), ids)].any()
        ),
        "each gradient is shaped as its table": lambda answer, dX, ids, vocab_size, max_len: (
            answer[0].shape == (vocab_size, dX.shape[-1])
            and answer[1].shape == (max_len, dX.shape[-1])
        ),
    },
    hints=(
        "Start both tables with zeros, so that rows nobody looked up stay 0. Then hand out every "
        "row of dX twice: once by its token, once by its place.",
        "A row that is hit twice must receive both. Indexing with += writes each row once; "
        "np.add.at adds every time, and so does a loop.",
        "For positions: the tokens at place t of all sequences share row t. Bring dX to (B, T, "
        "d_model), whatever stands in front, and add up over B. Rows from T on stay 0.",
    ),
    mistakes=(
        Mistake(
            name="repeats-lost",
            swap=SCATTERED,
            into="dtoken_embedding[ids] += dX",
            says="A token that comes twice keeps only its last gradient: with = and with += alike, "
            "NumPy writes each row once. What adds every time a row is hit?",
        ),
        Mistake(
            name="first-place-only",
            swap=SCATTERED,
            into="dtoken_embedding[ids.ravel()[::-1]] = dX.reshape(-1, d_model)[::-1]",
            says="A token that comes twice keeps only its first gradient. How many rows of X did "
            "its row of the table make?",
        ),
        Mistake(
            name="repeats-averaged",
            swap=SCATTERED,
            into=f"{SCATTERED}\n"
            "    counts = np.bincount(np.ravel(ids), minlength=vocab_size)\n"
            "    dtoken_embedding /= np.maximum(counts, 1)[:, None].astype(dX.dtype)",
            says="A token that comes twice gets the mean of its gradients. A push to its row "
            "changes X at both places: does the loss feel half of each, or all of both?",
        ),
        Mistake(
            name="shared-between-the-tables",
            swap=SCATTERED,
            into=f"dX = dX / 2\n    {SCATTERED}",
            says="The gradient is shared between the two tables. X is their sum: how much does a "
            "sum change when one side of it grows by 1?",
        ),
        Mistake(
            name="tokens-by-their-place",
            swap=SCATTERED,
            into="np.add.at(dtoken_embedding, np.arange(T) % vocab_size, dX.reshape(-1, T, d_model)"
            ".sum(axis=0))",
            says="Row t of the token table gets the gradient of place t, whatever stood there. "
            "Which argument says which row a token was looked up in?",
        ),
        Mistake(
            name="positions-by-their-token",
            swap=PLACED,
            into="np.add.at(dposition_embedding, np.asarray(ids) % max_len, dX)",
            says="The position table is filled by token ids. By what was its row chosen in the "
            "forward pass?",
        ),
        Mistake(
            name="positions-averaged-over-the-batch",
            swap=PLACED,
            into=PLACED.replace("sum", "mean"),
            says="The position table gets the mean over the sequences. A push to row t changes X "
            "in every sequence: does the loss feel a part of it, or all?",
        ),
        Mistake(
            name="last-sequence-only",
            swap=PLACED,
            into="dposition_embedding[:T] = dX.reshape(-1, T, d_model)[-1]",
            says="Of a batch, only the last sequence reaches the position table. How many "
            "sequences used row 0?",
        ),
        Mistake(
            name="positions-all-alike",
            swap=PLACED,
            into="dposition_embedding[:T] = dX.reshape(-1, d_model).sum(axis=0)",
            says="Every position gets the gradients of all places. Which tokens used row 0 of the "
            "position table?",
        ),
        Mistake(
            name="unused-positions-cut-off",
            swap=PLACED,
            into="dposition_embedding = dX.reshape(-1, T, d_model).sum(axis=0)",
            says="Your position gradient has T rows, the table has max_len. Which gradient has a "
            "position that no token stood at?",
        ),
        Mistake(
            name="positions-at-the-end",
            swap=PLACED,
            into="dposition_embedding[-T:] = dX.reshape(-1, T, d_model).sum(axis=0)",
            says="The positions fill the last rows of their table. Which position has the first "
            "token?",
        ),
        Mistake(
            name="positions-first",
            swap=TABLES_RETURNED,
            into="return dposition_embedding, dtoken_embedding",
            says="Both are right and stand in the other order. Which of them does the docstring "
            "return first?",
        ),
    ),
)

# One block as a learner meets it, small: no two lengths equal but those that the model makes equal.
SMALL = {"d_model": 4, "d_ff": 5, "vocab_size": 7, "max_len": 5, "num_layers": 1}


def _params(rng, **sizes):
    """Small parameters; gammas and biases far enough from 1 and 0 that each of them shows."""
    params = init_params(SMALL | sizes, rng)
    for name, parameter in params.items():
        if name.endswith(("gamma", "beta")) or ".b_" in name:
            params[name] = parameter + rng.normal(0, 0.4, size=parameter.shape)
    return params


def _block(rng, *tokens, num_heads, d_ff):
    """dout and the arguments of transformer_block; tokens not normed."""
    params = block_params(_params(rng, d_model=tokens[-1], d_ff=d_ff), 0)
    x = rng.normal(0.7, 2.0, size=tokens)
    return _gradient(rng, *tokens), x, *params.values(), num_heads


def one_sentence(rng):
    return _block(rng, 3, 4, num_heads=2, d_ff=5)


def a_batch_of_sentences(rng):
    return _block(rng, 2, 3, 4, num_heads=1, d_ff=2)


def three_heads(rng):
    return _block(rng, 4, 3, num_heads=3, d_ff=4)


def a_block_that_finds_nothing(rng):
    """W_o, W_2 and b_2 are 0: both parts answer 0, and dx is dout."""
    given = list(_block(rng, 3, 4, num_heads=2, d_ff=3))
    for place in (7, 12, 13):
        given[place] = np.zeros_like(given[place])
    return tuple(given)


BLOCK_TABLE = (  # in the order of the backward pass
    "b_2",
    "W_2",
    "b_1",
    "W_1",
    "ln2_beta",
    "ln2_gamma",
    "W_o",
    "W_v",
    "W_k",
    "W_q",
    "ln1_beta",
    "ln1_gamma",
    "dx",
)

NORM_2_BACK = "dbranch_2, dln2_gamma, dln2_beta = layer_norm_backward(dnormed_2, middle, ln2_gamma)"
SUM_2_BACK = "dmiddle = residual_backward(dout, dbranch_2)"
ATTENDED_BACK = "dmiddle, normed_1, W_q, W_k, W_v, W_o, num_heads"
SUM_1_BACK = "dx = residual_backward(dmiddle, dbranch_1)"

TRANSFORMER_BLOCK_BACKWARD = Exercise(
    name="transformer-block-backward",
    objective="Carry a gradient back through a whole block, its two sums included.",
    minutes=9,
    solution=transformer_block_backward,
    inputs=(
        one_sentence,
        a_batch_of_sentences,
        three_heads,
        a_block_that_finds_nothing,
    ),
    returns=("dx", "gradients"),
    points=(1, 2),
    table=BLOCK_TABLE,
    properties={
        "dx is shaped as x": lambda answer, dout, x, *_: answer[0].shape == x.shape,
        "parts that answer 0 hand dout on as it is": lambda answer, dout, x, *rest: (
            bool(rest[5].any() or rest[10].any() or rest[11].any())
            or np.array_equal(answer[0], dout)
        ),
        "b_2 was added to every token, so it gets the sum of dout": lambda answer, dout, *_: (
            np.allclose(answer[1]["b_2"], dout.reshape(-1, dout.shape[-1]).sum(axis=0))
        ),
    },
    hints=(
        "Three forward lines first: normed_1, middle and normed_2 are needed again. Then six "
        "lines back, the last stage first.",
        "A sum hands its gradient to both sides: dout goes into the feed-forward network and past "
        "it. What the branch made of it comes back through ln2, and the two meet in middle.",
        "Below middle it is the same once more, with attention and ln1, and it starts from the "
        "gradient of middle, not from dout. Each norm goes back with what went into it: middle for "
        "ln2, x for ln1.",
    ),
    mistakes=(
        Mistake(
            name="both-skips-lost",
            swap=SUM_2_BACK,
            into=f"residual_backward = lambda dout, dbranch: dbranch\n    {SUM_2_BACK}",
            says="Only the branches carry the gradient; the stream itself hands nothing down. If "
            "both parts answer 0, what should dx be?",
        ),
        Mistake(
            name="second-skip-lost",
            swap=SUM_2_BACK,
            into="dmiddle = dbranch_2",
            says="Behind the feed-forward network the gradient comes through the branch alone. "
            "Forward, middle went two ways: which is the other?",
        ),
        Mistake(
            name="first-skip-lost",
            swap=SUM_1_BACK,
            into="dx = dbranch_1",
            says="dx comes through attention's branch alone. Forward, x went two ways: which is "
            "the other?",
        ),
        Mistake(
            name="first-skip-takes-dout",
            swap=SUM_1_BACK,
            into="dx = residual_backward(dout, dbranch_1)",
            says="The first sum hands on dout, which belongs to the block's answer. Which gradient "
            "has arrived at that sum by then?",
        ),
        Mistake(
            name="attention-takes-dout",
            swap=ATTENDED_BACK,
            into=ATTENDED_BACK.replace("dmiddle", "dout"),
            says="Attention gets dout, as if the feed-forward network had not been there. What is "
            "the gradient of the sum that attention's answer went into?",
        ),
        Mistake(
            name="second-norm-skipped",
            swap=SUM_2_BACK,
            into="dmiddle = residual_backward(dout, dnormed_2)",
            says="The feed-forward network's gradient goes into the sum past ln2. What lies "
            "between middle and that network?",
        ),
        Mistake(
            name="first-norm-skipped",
            swap=SUM_1_BACK,
            into="dx = residual_backward(dmiddle, dnormed_1)",
            says="Attention's gradient goes into the last sum past ln1. What lies between x and "
            "attention?",
        ),
        Mistake(
            name="second-norm-got-x",
            swap="layer_norm_backward(dnormed_2, middle, ln2_gamma)",
            into="layer_norm_backward(dnormed_2, x, ln2_gamma)",
            says="ln2 goes back with x. What went into it in the forward pass?",
        ),
        Mistake(
            name="norms-got-their-answers",
            swap=NORM_2_BACK,
            into=f"middle, x = normed_2, normed_1\n    {NORM_2_BACK}",
            says="Both norms go back with what came out of them. What does layer_norm_backward "
            "want: what went in, or what came out?",
        ),
        Mistake(
            name="one-gamma-for-both",
            swap="middle, ln2_gamma)\n",
            into="middle, ln1_gamma)\n",
            says="ln2 goes back with the gamma of ln1. Whose gamma scaled this branch forward?",
        ),
        Mistake(
            name="feed-forward-got-the-stream",
            swap="feed_forward_backward(dout, normed_2,",
            into="feed_forward_backward(dout, middle,",
            says="The feed-forward network goes back with the stream as it is. What went into it "
            "in the forward pass?",
        ),
        Mistake(
            name="attention-got-the-stream",
            swap=ATTENDED_BACK,
            into=ATTENDED_BACK.replace("normed_1", "x"),
            says="Attention goes back with the stream as it is. What went into it in the forward "
            "pass?",
        ),
        Mistake(
            name="gamma-and-beta-swapped",
            swap='"ln1_gamma": dln1_gamma,\n        "ln1_beta": dln1_beta,',
            into='"ln1_gamma": dln1_beta,\n        "ln1_beta": dln1_gamma,',
            says="The gradients of ln1's gamma and beta have changed places. In which order does "
            "layer_norm_backward return them?",
        ),
        Mistake(
            name="gradient-changed-in-place",
            swap=SUM_2_BACK,
            into="dout += dbranch_2\n    dmiddle = dout",
            says="The answer is right, but += writes into the caller's own dout. How do you get a "
            "new array instead?",
        ),
    ),
)


def with_one_block_and_with_two(answer, params, ids, targets, num_heads):
    """The gradients of a model, and beside them three of a second one, which has two blocks.

    A slip inside a block spoils all of the block below it, so the two are judged apart.
    """
    one_block, two_blocks = params
    gradients = answer(one_block, ids, targets, num_heads)
    if not isinstance(gradients, dict):
        return gradients
    try:
        more = answer(two_blocks, ids, targets, num_heads)
        names = ("blocks.1.W_q", "blocks.0.W_q", "token_embedding")
        return {**gradients, "second_block": {name: more[name] for name in names}}
    except Exception as error:
        return {**gradients, "second_block": f"raises {type(error).__name__}"}


def _two_models(rng, **sizes):
    return _params(rng, **sizes), _params(rng, **sizes, num_layers=2)


def a_sentence(rng):
    ids = rng.permutation(7)[:4]
    return _two_models(rng, d_ff=3), ids[:-1], ids[1:], 2


def a_batch_with_repeats(rng):
    """One token comes three times, and all positions are used."""
    one, two, three, four = rng.permutation(6)[:4]
    ids = np.array([[one, two, one, three], [three, one, four, two]])
    models = _two_models(rng, vocab_size=6, max_len=4, d_ff=2)
    return models, ids, np.roll(ids, -1, axis=-1), 1


def three_narrow_heads(rng):
    one, two, three = rng.permutation(5)[:3]
    models = _two_models(rng, d_model=3, d_ff=4, vocab_size=5, max_len=3)
    return models, np.array([one, two, one]), np.array([two, one, three]), 3


MODEL_TABLE = (  # in the order of the backward pass
    "W_out",
    "lnf_beta",
    "lnf_gamma",
    *(f"blocks.0.{name}" for name in BLOCK_TABLE[:-1]),
    "position_embedding",
    "token_embedding",
)
HALF_A_POINT = {"token_embedding", "second_block"}  # the others a quarter

EMBEDDED = 'x = embed_with_positions(ids, params["token_embedding"], params["position_embedding"])'
DLOGITS = "dlogits = cross_entropy_backward(logits, targets)"
OUT_BACK = 'linear_backward(dlogits, normed, params["W_out"])'
LNF_BACK = 'dx, gradients["lnf_gamma"], gradients["lnf_beta"] = layer_norm_backward('
LOOP_BACK = "for layer in reversed(range(num_layers)):"
BLOCK_BACK = "dx, block_gradients = transformer_block_backward("
BLOCK_GIVEN = "dx, block_inputs[layer], **block_params(params, layer), num_heads=num_heads"
IN_ORDER = "return {name: gradients[name] for name in params}"

BACKWARD = Exercise(
    name="backward",
    objective="Join all backward functions into the gradient of every parameter of a model.",
    minutes=12,
    solution=backward,
    inputs=(a_sentence, a_batch_with_repeats, three_narrow_heads),
    returns=(*MODEL_TABLE, "second_block"),
    points=tuple(0.5 if name in HALF_A_POINT else 0.25 for name in (*MODEL_TABLE, "second_block")),
    asks=with_one_block_and_with_two,
    table=MODEL_TABLE,
    properties={
        "there is a gradient for each parameter, and it has its shape": (
            lambda answer, params, *_: (
                {name: one.shape for name, one in answer.items() if name != "second_block"}
                == {name: one.shape for name, one in params[0].items()}
            )
        ),
        "one number added to all logits of a row changes no loss, so rows of W_out sum to 0": (
            lambda answer, *_: np.allclose(answer["W_out"].sum(axis=-1), 0)
        ),
        "both embedding tables receive the same in sum": lambda answer, *_: np.allclose(
            answer["token_embedding"].sum(axis=0), answer["position_embedding"].sum(axis=0)
        ),
    },
    hints=(
        "Run forward once more, and keep what went into each block, what went into the last norm, "
        "and what went into W_out. Then go back: loss, output layer, last norm, blocks, tables.",
        "Each step takes the gradient that the step before it gave. The output layer has no bias: "
        "the third answer of linear_backward is not needed. The blocks come in reverse order, each "
        "with its own input.",
        "Collect everything in one dict. A block's gradients come back under short names: put "
        "blocks.0. before those of block 0, and so on. The tables need their numbers of rows, "
        "which params knows.",
    ),
    mistakes=(
        Mistake(
            name="summed-not-averaged",
            swap=DLOGITS,
            into=f"{DLOGITS} * np.size(targets)",
            says="Every gradient is as many times too large as there are targets. Is the loss the "
            "sum of the surprises, or their mean?",
        ),
        Mistake(
            name="inputs-for-targets",
            swap=DLOGITS,
            into="dlogits = cross_entropy_backward(logits, ids)",
            says="The loss is asked to repeat each token, not to name the next one. Which "
            "argument holds what should follow?",
        ),
        Mistake(
            name="output-weights-met-the-stream",
            swap=OUT_BACK,
            into=OUT_BACK.replace("normed", "x"),
            says="W_out goes back with the stream as it is. What was multiplied by W_out in the "
            "forward pass?",
        ),
        Mistake(
            name="last-norm-skipped",
            swap=LOOP_BACK,
            into=f"dx = dnormed\n    {LOOP_BACK}",
            says="The gradient enters the last block as it left W_out. What lies between that "
            "block and W_out?",
        ),
        Mistake(
            name="last-norm-got-its-answer",
            swap='dnormed, x, params["lnf_gamma"]',
            into='dnormed, normed, params["lnf_gamma"]',
            says="The last norm goes back with what came out of it. What went in?",
        ),
        Mistake(
            name="last-norm-swapped",
            swap=LNF_BACK,
            into='dx, gradients["lnf_beta"], gradients["lnf_gamma"] = layer_norm_backward(',
            says="The gradients of lnf_gamma and lnf_beta have changed places. In which order "
            "does layer_norm_backward return them?",
        ),
        Mistake(
            name="blocks-in-forward-order",
            swap=LOOP_BACK,
            into="for layer in range(num_layers):",
            says="The first block goes back first. Which block is met first on the way from the "
            "loss?",
        ),
        Mistake(
            name="block-got-its-answer",
            swap=BLOCK_GIVEN,
            into=BLOCK_GIVEN.replace("block_inputs[layer]", "(block_inputs + [x])[layer + 1]"),
            says="A block goes back with what came out of it. What did you keep of each block in "
            "the forward pass?",
        ),
        Mistake(
            name="every-block-got-the-first-input",
            swap=BLOCK_GIVEN,
            into=BLOCK_GIVEN.replace("[layer]", "[0]"),
            says="Every block goes back with the embedded tokens. With one block that is right: "
            "what went into the second?",
        ),
        Mistake(
            name="gradient-not-handed-on",
            swap=BLOCK_BACK,
            into=BLOCK_BACK.replace("dx,", "_,"),
            says="What a block makes of dx is dropped, so the next step gets the gradient from "
            "above that block. Which of the two answers of transformer_block_backward goes on?",
        ),
        Mistake(
            name="repeats-lost",
            swap=IN_ORDER,
            into='gradients["token_embedding"] = np.zeros_like(params["token_embedding"])\n'
            f'    gradients["token_embedding"][ids] += dx\n    {IN_ORDER}',
            says="A token that comes twice keeps only its last gradient. Which function of yours "
            "adds every time a row is hit?",
        ),
        Mistake(
            name="positions-forgotten",
            swap=EMBEDDED,
            into='x = params["token_embedding"][ids]',
            says="Your forward lines leave the positions out, so no array is that of the model. "
            "What went into the first block?",
        ),
        Mistake(
            name="num-heads-ignored",
            swap=BLOCK_GIVEN,
            into=BLOCK_GIVEN.replace("num_heads=num_heads", "num_heads=2"),
            says="On the way back every block has two heads, whatever num_heads says. Where does "
            "that argument go?",
        ),
    ),
)

# The course's model on the course's sentence: which embeddings does one step move?
SENTENCE = ids_of("I like transformers")
PARAMS = init_params(COURSE_SIZES, 0)
GRADIENTS = backward(PARAMS, SENTENCE[:-1], SENTENCE[1:])
V = len(VOCABULARY)


def _moved(gradient: np.ndarray, axis: int) -> int:
    return int(np.abs(gradient).any(axis=axis).sum())


def _rows_and_columns(rows: int, columns: int) -> str:
    return f"{rows} rows and {columns} columns"


INPUTS, WITH_TARGETS = len(SENTENCE) - 1, len(SENTENCE)

ROWS_THAT_LEARN = Prediction(
    name="rows-that-learn",
    objective="Predict which embeddings and which output columns one training step can change.",
    minutes=3,
    points=1,
    answer=_rows_and_columns(
        _moved(GRADIENTS["token_embedding"], axis=1), _moved(GRADIENTS["W_out"], axis=0)
    ),
    options=(
        _rows_and_columns(INPUTS, INPUTS),
        _rows_and_columns(WITH_TARGETS, V),
        _rows_and_columns(INPUTS, V),
        _rows_and_columns(V, V),
    ),
    hints=(
        "Two questions. Which rows of the table were looked up? Which logits does the loss depend "
        "on?",
        "The inputs are the sentence without its last token. <EOS> comes only as a target: is it "
        "ever looked up?",
        "Softmax gives some probability to every token of the vocabulary, and p - y is not 0 for "
        "any of them. So which columns of W_out are told something?",
    ),
    slips=(
        Slip(
            name="only-the-right-logits",
            answer=_rows_and_columns(INPUTS, INPUTS),
            says="The rows are right. In p - y, is there any token of the vocabulary for which "
            "nothing is left?",
        ),
        Slip(
            name="targets-looked-up",
            answer=_rows_and_columns(WITH_TARGETS, V),
            says="The columns are right. `<EOS>` is a target and nothing more: was its row ever "
            "looked up?",
        ),
        Slip(
            name="everything-learns",
            answer=_rows_and_columns(V, V),
            says="The columns are right. What does a row of the table do to the loss if its token "
            "does not occur in the sentence?",
        ),
    ),
)


def _hand_gradient() -> str:
    """Markdown: the gradient that arrives at the four tokens."""
    lines = ["| place | token | gradient of X |", "|---:|---|---|"]
    for place, (word, row) in enumerate(zip(HAND_WORDS, HAND_DX, strict=True)):
        lines.append(f"| {place} | {word} | ({row[0]:g}, {row[1]:g}) |")
    return "\n".join(lines)


LESSON = Lesson(
    number=16,
    title="Embedding gradients and the whole backward pass",
    assignment="week2_training_step",
    objective="find the gradient of every parameter of a small GPT, and prove it by measurement.",
    needs="the backward functions of lessons 13 to 15",
    place="embedding-gradient",
    exercises=(
        REPEATED_TOKEN_BY_HAND,
        EMBEDDING_BACKWARD,
        TRANSFORMER_BLOCK_BACKWARD,
        BACKWARD,
        ROWS_THAT_LEARN,
    ),
    worked={
        "hand_gradient": _hand_gradient(),
        "parameters": f"{parameter_count(PARAMS):,}",
        "forward_passes": f"{2 * parameter_count(PARAMS):,}",
        "arrays": len(PARAMS),
        "vocab_size": V,
    },
)
