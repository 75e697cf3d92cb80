# mypy: allow-untyped-defs
"""What is graded in lesson 18, and the wrong answers it knows.

The audited calculation is "Attention to Detail" (Z. Hubert 2025, MIT licence). Its numbers reach
learners as data; what is wrong in it is only ever computed by the reference.
"""

import numpy as np

from byhand.published import FILE, GRADIENT, PARAMETER
from byhand_course.lessons.exercise import ByHand, Exercise, Lesson, Mistake, Prediction, Slip
from byhand_course.reference.loss import cross_entropy
from byhand_course.reference.model import (
    COURSE_SIZES,
    backward,
    forward,
    init_params,
    init_state,
    parameter_count,
    train_step,
)
from byhand_course.reference.optimizer import adamw_update
from byhand_course.reference.published import (
    PUBLISHED_BLOCKS,
    PUBLISHED_TOKENS,
    output_projection_backward,
    published_backward,
    published_backward_to_attention,
    published_forward,
    published_params,
)
from byhand_course.reference.tokens import ids_of

SENTENCE = ids_of("I like transformers")
START = init_params(COURSE_SIZES, 0)
FIRST_GRADIENTS = backward(START, SENTENCE[:-1], SENTENCE[1:])
FIRST_LOSS = float(cross_entropy(forward(SENTENCE[:-1], START), SENTENCE[1:]))
TOTAL = float(sum(np.abs(gradient).sum() for gradient in FIRST_GRADIENTS.values()))
LR = 1e-3


def _three_decimals(number: float) -> float:
    return round(float(number), 3)


FIRST_DROP = ByHand(
    name="first-drop",
    objective="Foretell from the gradients how far one training step lowers the loss.",
    minutes=5,
    points=1,
    form="a number to three decimals",
    answer=_three_decimals(LR * TOTAL),
    tolerance=0.001,
    hints=(
        "One parameter with gradient g moves by d: how much does the loss change, about?",
        "It changes by g times d. In the first step d is lr, against the sign of g: what is g "
        "times d then?",
        "Each parameter lowers the loss by lr times the size of its own gradient. Add that up "
        "over all parameters: the sum is given.",
    ),
    slips=(
        Slip(
            name="lr-forgotten",
            answer=_three_decimals(TOTAL),
            says="This is the sum of the sizes. How far does each parameter move?",
        ),
        Slip(
            name="loss-afterwards",
            answer=_three_decimals(FIRST_LOSS - LR * TOTAL),
            says="This is the loss after the step. By how much has it fallen?",
        ),
        Slip(
            name="negative-fall",
            answer=_three_decimals(-LR * TOTAL),
            says="The size is right. A fall is asked for: which sign does a fall of the loss have, "
            "if it falls?",
        ),
        Slip(
            name="mean-instead-of-sum",
            answer=_three_decimals(LR * TOTAL / parameter_count(START)),
            says="You took the mean over the parameters. Do their effects on the loss average, or "
            "add up?",
        ),
        Slip(
            name="lr-for-all",
            answer=_three_decimals(LR * parameter_count(START)),
            says="This is how far all parameters move together. By what is each move multiplied to "
            "give its change of the loss?",
        ),
    ),
)


def _model(rng, *, V, max_len, d_model, num_heads, d_k, d_v, d_ff):
    """A small model of one block, everything random; heads need not fill d_model."""

    def weights(rows, columns):
        return rng.normal(0, 1.2 * rows**-0.5, size=(rows, columns))

    def norm(name):
        gamma, beta = rng.normal(1, 0.4, size=d_model), rng.normal(0, 0.4, size=d_model)
        return {f"{name}_gamma": gamma, f"{name}_beta": beta}

    block = {
        **norm("ln1"),
        "W_q": weights(d_model, num_heads * d_k),
        "W_k": weights(d_model, num_heads * d_k),
        "W_v": weights(d_model, num_heads * d_v),
        "W_o": weights(num_heads * d_v, d_model),
        **norm("ln2"),
        "W_1": weights(d_model, d_ff),
        "b_1": rng.normal(0, 0.5, size=d_ff),
        "W_2": weights(d_ff, d_model),
        "b_2": rng.normal(0, 0.5, size=d_model),
    }
    return {
        "token_embedding": rng.normal(size=(V, d_model)),
        "position_embedding": rng.normal(size=(max_len, d_model)),
        **{f"blocks.0.{name}": array for name, array in block.items()},
        **norm("lnf"),
        "W_out": weights(d_model, V),
    }


def _state_later(rng, params, t):
    """A state as t steps leave it."""
    m = {name: rng.normal(0, 0.1, size=array.shape) for name, array in params.items()}
    v = {name: array**2 + rng.uniform(0.01, 0.1, size=array.shape) for name, array in m.items()}
    return {"t": t, "m": m, "v": v}


def the_first_step(rng):
    """All settings left at their defaults."""
    params = _model(rng, V=5, max_len=4, d_model=3, num_heads=2, d_k=2, d_v=1, d_ff=4)
    ids = rng.permutation(5)[:4]
    return params, init_state(params), ids[:-1], ids[1:]


def a_later_step_with_other_settings(rng):
    """Three heads, and a token that comes twice."""
    params = _model(rng, V=4, max_len=4, d_model=3, num_heads=3, d_k=2, d_v=2, d_ff=2)
    first, second, third = rng.permutation(4)[:3]
    ids, targets = np.array([first, second, first]), np.array([second, first, third])
    state = _state_later(rng, params, int(rng.integers(3, 7)))
    return params, state, ids, targets, 3, 0.05, 0.7, 0.95, 1e-4, 0.4


def a_batch(rng):
    params = _model(rng, V=5, max_len=3, d_model=3, num_heads=2, d_k=1, d_v=2, d_ff=2)
    ids = np.stack([rng.permutation(5)[:4], rng.permutation(5)[:4]])
    state = _state_later(rng, params, int(rng.integers(1, 4)))
    return params, state, ids[:, :-1], ids[:, 1:], 2, 0.02


ADVANCED = 't = state["t"] + 1'
LOOP = "for name in params:"
NEW = "new_params, new_m, new_v = {}, {}, {}"
OLD_STATE = 'state["m"][name],\n            state["v"][name],'
RETURNED = 'return new_params, {"t": t, "m": new_m, "v": new_v}, loss'
BLOCK_BACK = ("W_2", "b_2", "W_1", "b_1", "ln2_gamma", "ln2_beta", "W_o", "W_v", "W_q", "W_k")
BACK_ORDER = (
    *("W_out", "lnf_gamma", "lnf_beta"),
    *(f"blocks.0.{name}" for name in (*BLOCK_BACK, "ln1_gamma", "ln1_beta")),
    *("token_embedding", "position_embedding"),
)

TRAIN_STEP = Exercise(
    name="train-step",
    objective="Put forward pass, loss, backward pass and AdamW together into one training step.",
    minutes=11,
    solution=train_step,
    inputs=(the_first_step, a_later_step_with_other_settings, a_batch),
    returns=("params", "state", "loss"),
    points=(2, 1, 1),
    table=BACK_ORDER,
    in_turn=False,
    properties={
        "the step is counted": lambda after, params, state, *_: after[1]["t"] == state["t"] + 1,
        "every parameter keeps its shape": lambda after, params, *_: (
            {name: array.shape for name, array in after[0].items()}
            == {name: array.shape for name, array in params.items()}
        ),
    },
    hints=(
        "Five things happen, in this order: logits, loss, gradients, the number of the step, and "
        "one update for each parameter. You have a function for each of them but one.",
        "Fill three new dicts in a loop over the names: parameters, m and v. Every gradient is "
        "found before the first parameter moves.",
        "state holds t, m and v, and m and v are dicts with the names of params. The new t is one "
        "more than the old, the same for all parameters. Hand on num_heads to forward and to "
        "backward, and the five settings to adamw_update.",
    ),
    mistakes=(
        Mistake(
            name="loss-after-the-step",
            swap=RETURNED,
            into="loss = cross_entropy(forward(ids, new_params, num_heads), targets)\n"
            f"    {RETURNED}",
            says="This is the loss of the new parameters, and costs a second forward pass. Which "
            "loss have you worked out anyway, and does the docstring ask for?",
        ),
        Mistake(
            name="step-not-counted",
            swap=ADVANCED,
            into='t = state["t"]',
            says="state['t'] is the number of steps taken so far, 0 before the first. Which number "
            "does the step have that is being taken?",
        ),
        Mistake(
            name="count-not-handed-on",
            swap='{"t": t,',
            into='{"t": state["t"],',
            says="The update counts the step, but the state that you return does not. What will "
            "the next step take itself for?",
        ),
        Mistake(
            name="counted-for-each-parameter",
            swap=LOOP,
            into="for t, name in enumerate(params, t):",
            says="t goes up with every parameter. How many steps does one call of train_step take?",
        ),
        Mistake(
            name="moments-begun-anew",
            swap=OLD_STATE,
            into="np.zeros_like(params[name]),\n            np.zeros_like(params[name]),",
            says="m and v begin at 0 in every step, so nothing is remembered. Where did the step "
            "before leave them?",
        ),
        Mistake(
            name="moments-swapped",
            swap='"m": new_m, "v": new_v',
            into='"m": new_v, "v": new_m',
            says="m and v have changed places in the state that you return. In which order does "
            "adamw_update give them back?",
        ),
        Mistake(
            name="old-state-returned",
            swap=RETURNED,
            into="return new_params, state, loss",
            says="The parameters are new, the state is the old one. What does the next step need "
            "of this one?",
        ),
        Mistake(
            name="changed-in-place",
            swap=NEW,
            into='new_params, new_m, new_v = params, state["m"], state["v"]',
            says="You write into the caller's own dicts: whoever wants to compare before and after "
            "no longer can. Into what could you write instead?",
        ),
        Mistake(
            name="gradients-of-a-half-moved-model",
            swap=LOOP,
            into=f"{LOOP}\n"
            "        gradients = backward(params | new_params, ids, targets, num_heads)",
            says="The gradients are worked out again while parameters are already moving. At which "
            "parameters should all gradients be taken?",
        ),
        Mistake(
            name="ids-and-targets-swapped",
            swap="backward(params, ids, targets, num_heads)",
            into="backward(params, targets, ids, num_heads)",
            says="The backward pass reads the targets and is asked for the ids. Which of the two "
            "is the text, and which is what should follow?",
        ),
        Mistake(
            name="heads-not-handed-on",
            swap="logits = forward(ids, params, num_heads)",
            into="num_heads = 2\n    logits = forward(ids, params, num_heads)",
            says="It works with two heads, whatever num_heads says. Which two of your functions "
            "want to know?",
        ),
        Mistake(
            name="learning-rate-not-handed-on",
            swap="            lr=lr,\n",
            into="",
            says="The step is right for the default lr, whichever was asked for. Which settings "
            "does adamw_update take?",
        ),
        Mistake(
            name="decay-not-handed-on",
            swap="            weight_decay=weight_decay,\n",
            into="",
            says="The decay is the default one, whichever was asked for. Which settings does "
            "adamw_update take?",
        ),
        Mistake(
            name="betas-not-handed-on",
            swap="            beta1=beta1,\n            beta2=beta2,\n",
            into="",
            says="m and v forget at the default rates, whatever was asked for. Which settings does "
            "adamw_update take?",
        ),
    ),
)

PARAMS = published_params()
TRACE = published_forward(PARAMS)
RIGHT = published_backward(PARAMS)
PUBLISHED = published_backward(PARAMS, transpose_w_o=False)
DATTENDED, _ = published_backward_to_attention(PARAMS, TRACE)
AS_PUBLISHED = 1e-6  # of a block's largest entry; the wrong ones are off by more than all of it


def _is_right(name: str) -> bool:
    error = np.abs(PUBLISHED[name] - RIGHT[name]).max() / np.abs(RIGHT[name]).max()
    return bool(error < AS_PUBLISHED)


WRONG_NAMES = [name for name in PUBLISHED_BLOCKS if not _is_right(name)]
RIGHT_NAMES = [name for name in PUBLISHED_BLOCKS if _is_right(name)]

WRONG_BLOCKS = ByHand(
    name="wrong-blocks",
    objective="Find the wrong gradients in a published calculation by measuring.",
    minutes=11,
    points=2,
    form='a list of names in quotes, such as ["b1", "W2"], in any order',
    answer=WRONG_NAMES,
    in_any_order=True,
    hints=(
        "Look at the column of errors. They are of two very different kinds.",
        "A measured slope is never exact: errors of 0.0000001 are rounding. By how much is a "
        "gradient off that is really wrong?",
        "List every block whose error is near 1 or above: there the claimed slope has little to "
        "do with the measured one. Those whose error shows as 0 are right.",
    ),
    slips=(
        Slip(
            name="right-ones-listed",
            answer=RIGHT_NAMES,
            says="These are the right ones, every one of them. Which are left?",
        ),
        Slip(
            name="embeddings-forgotten",
            answer=[name for name in WRONG_NAMES if not name.startswith("E_")],
            says="Those are wrong, and two more are: what lies behind queries, keys and values on "
            "the way back?",
        ),
        Slip(
            name="output-projection-suspected",
            answer=[*WRONG_NAMES, "W_o"],
            says="You list one too many. W_o plays a part in this story, but what does your "
            "checker say of its own gradient?",
        ),
        Slip(
            name="all-of-attention",
            answer=["W_o", *(name for name in WRONG_NAMES if name.startswith("W_"))],
            says="One of them is right, and two wrong ones are missing. Go by the errors, not by "
            "where a block belongs.",
        ),
    ),
)

THROUGH_W_O = "from the attention's output to the heads, through W_o"
THROUGH_W_LM = "from the logits to the normed stream, through W_lm"
THROUGH_NORM = "through the layer norm"
THROUGH_FED = "through the feed-forward layer"
THROUGH_SOFTMAX = "through softmax and mask, from weights to scores"
THROUGH_QKV = "from queries, keys and values to X"

FIRST_WRONG_OPERATION = Prediction(
    name="first-wrong-operation",
    objective="Conclude from which gradients are wrong which operation went wrong first.",
    minutes=5,
    points=1,
    answer=THROUGH_W_O,
    options=(
        THROUGH_W_LM,
        THROUGH_NORM,
        THROUGH_FED,
        THROUGH_W_O,
        THROUGH_SOFTMAX,
        THROUGH_QKV,
    ),
    hints=(
        "Go down the table to the last line where all is right, and to the first where something "
        "is wrong. Between those two something happened.",
        "The gradient of W_o is right, so what arrives at the attention's output is right. "
        "The gradient of W_v is wrong. What does it need that the one of W_o does not?",
        "It needs the gradient of the heads' outputs. By which operation is that made of the "
        "gradient of the attention's output? Softmax comes later, and only for W_q and W_k.",
    ),
    slips=(
        Slip(
            name="through-w-lm",
            answer=THROUGH_W_LM,
            says="Everything is computed from that. If it were wrong, what would the gradients of "
            "gamma and W2 be?",
        ),
        Slip(
            name="through-the-norm",
            answer=THROUGH_NORM,
            says="The gradients of W2 and W1 are computed from what comes out of it, and they are "
            "right. What does that say of the norm?",
        ),
        Slip(
            name="through-the-feed-forward-layer",
            answer=THROUGH_FED,
            says="The gradient of W_o is computed from what comes out of it, and it is right. What "
            "does that say of the feed-forward layer?",
        ),
        Slip(
            name="through-softmax",
            answer=THROUGH_SOFTMAX,
            says="That would spoil W_q and W_k. But is the gradient of W_v computed by way of "
            "softmax's gradient?",
        ),
        Slip(
            name="through-q-k-v",
            answer=THROUGH_QKV,
            says="That would spoil the embeddings. But W_q, W_k and W_v are wrong already: do "
            "their gradients come before or after that operation?",
        ),
    ),
)


def _projection(rng, d_model, width, *tokens):
    dattended, concat = rng.normal(size=(*tokens, d_model)), rng.normal(size=(*tokens, width))
    return dattended, concat, rng.normal(size=(d_model, width))


def a_square_projection(rng):
    """Whole numbers, to be checked on paper; W_o is not symmetric."""
    dattended, concat = rng.integers(-2, 3, size=(2, 3, 2)).astype(float)
    dattended[0] = [1, 2]
    return dattended, concat, np.array([[1.0, 2.0], [-1.0, 3.0]]) * rng.integers(1, 4)


def as_wide_as_the_model(rng):
    return _projection(rng, 4, 4, 3)


def heads_wider_than_the_model(rng):
    return _projection(rng, 3, 6, 5)


def a_batch_of_texts(rng):
    return _projection(rng, 5, 4, 2, 3)


def float32_gradients(rng):
    return tuple(array.astype(np.float32) for array in _projection(rng, 3, 4, 5))


CARRIED = "dconcat = dattended @ W_o"
WEIGHED = "dW_o = answers.T @ inputs"

OUTPUT_PROJECTION_BACKWARD = Exercise(
    name="output-projection-backward",
    objective="Repair the published backward pass where it carries the gradient through W_o.",
    minutes=8,
    solution=output_projection_backward,
    inputs=(
        a_square_projection,
        as_wide_as_the_model,
        heads_wider_than_the_model,
        a_batch_of_texts,
        float32_gradients,
    ),
    returns=("dconcat", "dW_o"),
    points=(2, 1),
    properties={
        "dconcat has the shape of concat": lambda found, dattended, concat, W_o: (
            found[0].shape == concat.shape
        ),
        "dW_o has the shape of W_o": lambda found, dattended, concat, W_o: (
            found[1].shape == W_o.shape
        ),
    },
    hints=(
        "Write the shape of each array beside its name. Which product gives dconcat the shape of "
        "concat, even where W_o is not square?",
        "On the way there, row i of concat met row j of W_o in a dot product, and gave entry j. So "
        "entry k of concat had the factor W_o[j, k] in it. Which sum over j goes back?",
        "It is a linear layer (lesson 13) whose matrix is W_o.T: on the way back the matrix is "
        "transposed once more. For dW_o, make every token of the batch a row, and mind that W_o "
        "lies as (out, in).",
    ),
    mistakes=(
        Mistake(
            name="the-way-there-once-more",
            swap=CARRIED,
            into="dconcat = dattended @ W_o.T",
            says="This is the published slip: the way back uses the same matrix as the way there. "
            "With W_o square it fits, and is wrong. What does each entry of concat multiply?",
        ),
        Mistake(
            name="undone-not-carried-back",
            swap=CARRIED,
            into="dconcat = dattended @ np.linalg.pinv(W_o.T)",
            says="You undo the projection with its inverse. A gradient asks how strongly each "
            "entry acts on the answer: is that an inverse or a transpose?",
        ),
        Mistake(
            name="forward-pass-repeated",
            swap=CARRIED,
            into="dconcat = concat @ W_o.T",
            says="This is the forward pass. Which gradient arrives from above, and where does it "
            "enter?",
        ),
        Mistake(
            name="weight-gradient-transposed",
            swap=WEIGHED,
            into="dW_o = inputs.T @ answers",
            says="dW_o is transposed, as for a matrix stored as (in, out). How is W_o stored here, "
            "and which axis of it belongs to the answer?",
        ),
        Mistake(
            name="batch-not-summed",
            swap=WEIGHED,
            into="dW_o = dattended.swapaxes(-1, -2) @ concat",
            says="Each text of a batch gets a dW_o of its own. All of them used the same W_o: what "
            "happens to their gradients?",
        ),
        Mistake(
            name="averaged-over-tokens",
            swap=WEIGHED,
            into="dW_o = answers.T @ inputs / len(inputs)",
            says="You average over the tokens. Each of them used W_o, and the loss knows how many "
            "there are: what happens to gradients of a thing used several times?",
        ),
        Mistake(
            name="own-gradient-as-input",
            swap=WEIGHED,
            into="dW_o = answers.T @ dconcat.reshape(-1, W_o.shape[1])",
            says="Here a gradient meets a gradient. What went into the projection on the way "
            "there?",
        ),
    ),
)


def _loss_after(steps: int, transpose_w_o: bool) -> float:
    """The published model's loss after training with its own gradients, right or as published."""
    params, state = PARAMS, init_state(PARAMS)
    for t in range(1, steps + 1):
        gradients = published_backward(params, transpose_w_o)
        after = {
            name: adamw_update(params[name], gradients[name], state["m"][name], state["v"][name], t)
            for name in params
        }
        params = {name: after[name][0] for name in params}
        state = {"m": {n: a[1] for n, a in after.items()}, "v": {n: a[2] for n, a in after.items()}}
    return float(published_forward(params)["loss"])


LESSON = Lesson(
    number=18,
    title="One complete training step, and an audit",
    assignment="week2_training_step",
    objective="carry out a complete training step with your own code, train the model until it "
    "writes the sentence, and audit another's calculation by measuring its gradients.",
    needs="the model (lesson 12), a gradient checker (13), backward (16), AdamW (17)",
    place="adamw",
    worked_pages=("13-adamw.html", "index.html"),
    exercises=(
        FIRST_DROP,
        TRAIN_STEP,
        WRONG_BLOCKS,
        FIRST_WRONG_OPERATION,
        OUTPUT_PROJECTION_BACKWARD,
    ),
    worked={
        "first_loss": FIRST_LOSS,
        "total": TOTAL,
        "lr": f"{LR:g}",
        "count": f"{parameter_count(START):,}",
        "published_count": f"{parameter_count(PARAMS):,}",
        "blocks": len(PUBLISHED_BLOCKS),
        "wrong": len(WRONG_NAMES),
        "published_start": TRACE["loss"],
        "slipped_20": _loss_after(20, transpose_w_o=False),
        "right_20": _loss_after(20, transpose_w_o=True),
    },
    data={
        FILE.removesuffix(".npz"): {
            "tokens": PUBLISHED_TOKENS,
            **{PARAMETER + name: PARAMS[name] for name in PUBLISHED_BLOCKS},
            **{GRADIENT + name: PUBLISHED[name] for name in PUBLISHED_BLOCKS},
            "dattended": DATTENDED,
            "loss": np.array(TRACE["loss"]),
        }
    },
)
