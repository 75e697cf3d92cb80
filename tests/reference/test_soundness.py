"""Numerical soundness of every array function, in one table of calls.

Inputs are never changed, integers are never truncated, float32 stays float32, and a batch axis
changes nothing: answers are stacked, gradients of shared parameters are added.
"""

import inspect
import math
import random
import warnings
from dataclasses import dataclass, field

import numpy as np
import pytest

from byhand_course import reference
from byhand_course.reference import (
    COURSE_SIZES,
    attention,
    backward,
    causal_mask,
    cross_entropy,
    cross_entropy_backward,
    entropy,
    forward,
    gelu,
    gelu_backward,
    generate,
    init_params,
    init_state,
    softmax,
    softmax_with_temperature,
    train_step,
)


@dataclass
class Call:
    """How to call a function: shapes of its arrays, what follows them, what a batch does."""

    shapes: list
    rest: tuple = ()
    batched: int = 1  # the first so many arrays take leading axes
    answers: str = "stack"  # for each answer: stack or sum, over the batch
    keywords: dict = field(default_factory=dict)


IDS = np.array([2, 0, 2])
BLOCK = [5, 5, (5, 4), (5, 4), (5, 6), (6, 5), 5, 5, (5, 7), 7, (7, 5), 5]
HEADS = [(5, 4), (5, 4), (5, 6), (6, 5)]

CALLS = {  # no two sizes alike where they mean different things
    "adamw_update": Call([(3, 5)] * 4, (2,), 4, "stack stack stack"),
    "attend": Call([(3, 4), (4, 5)], (), 2),
    "attention": Call([(3, 2), (4, 2), (4, 5)], (causal_mask(4)[:3],), 3, "stack stack"),
    "attention_backward": Call(
        [(3, 5), (3, 2), (4, 2), (4, 5), (3, 4)], (), 5, "stack stack stack"
    ),
    "attention_head": Call([(3, 5), (5, 2), (5, 2), (5, 4)], (), 1, "stack stack"),
    "attention_scores": Call([(3, 2), (4, 2)], (), 2),
    "attention_weights": Call([(3, 4)]),
    "cosine_similarity": Call([(5,), (5,)], (), 0),
    "cross_entropy": Call([(3, 7)], (IDS,), 0),
    "cross_entropy_backward": Call([(3, 7)], (IDS,), 0),
    "dot": Call([(5,), (5,)], (), 0),
    "embed": Call([(6, 5)], (IDS,), 0),
    "embed_with_positions": Call([(6, 5), (4, 5)], (), 0),
    "embedding_backward": Call([(3, 5)], (IDS, 6, 4), 0, "sum sum"),
    "entropy": Call([(3, 5)]),
    "feed_forward": Call([(3, 5), (5, 7), 7, (7, 5), 5]),
    "feed_forward_backward": Call(
        [(3, 5), (3, 5), (5, 7), 7, (7, 5), 5], (), 2, "stack sum sum sum sum"
    ),
    "gelu": Call([(3, 5)]),
    "gelu_backward": Call([(3, 5), (3, 5)], (), 2),
    "gelu_exact": Call([(3, 5)]),
    "layer_norm": Call([(3, 5), 5, 5]),
    "layer_norm_backward": Call([(3, 5), (3, 5), 5], (), 2, "stack sum sum"),
    "linear": Call([(3, 5), (5, 7), 7]),
    "linear_backward": Call([(3, 7), (3, 5), (5, 7)], (), 2, "stack sum sum"),
    "masked_attention_head": Call([(3, 5), (5, 2), (5, 2), (5, 4)], (), 1, "stack stack"),
    "merge_heads": Call([(2, 3, 4)]),
    "multi_head_attention": Call([(3, 5), *HEADS], (2,)),
    "multi_head_attention_backward": Call(
        [(3, 5), (3, 5), *HEADS], (2,), 2, "stack sum sum sum sum"
    ),
    "output_projection_backward": Call([(3, 5), (3, 4), (5, 4)], (), 2, "stack sum"),
    "project": Call([(3, 5), (5, 4)]),
    "project_batch": Call([(2, 3, 5), (5, 4)]),
    "qkv": Call([(3, 5), (5, 2), (5, 2), (5, 4)], (), 1, "stack stack stack"),
    "rank_by_similarity": Call([(5,), (4, 5)], (), 0),
    "residual_backward": Call([(3, 5), (3, 5)], (), 2),
    "scale_scores": Call([(3, 4)], (7,)),
    "soft_lookup": Call([(3, 2), (4, 2), (4, 5)], (), 3),
    "softmax": Call([(3, 4)]),
    "softmax_backward": Call([(3, 4), (3, 4)], (), 2),
    "softmax_with_temperature": Call([(3, 4)], (0.7,)),
    "split_heads": Call([(3, 6)], (2,)),
    "transformer_block": Call([(3, 5), *BLOCK], (2,)),
    "transformer_block_backward": Call([(3, 5), (3, 5), *BLOCK], (2,), 2, "stack dict"),
    "worked_row": Call([(3, 5), (5, 2), (5, 2), (5, 4)], (1,), 0),
}

ELSEWHERE = {  # functions of no float array, or of a dict of parameters: tested beside their own
    "backward",
    "block_params",
    "causal_mask",
    "decode",
    "encode",
    "forward",
    "gauss_group",
    "generate",
    "ids_of",
    "init_params",
    "init_state",
    "learn_merges",
    "merge_pair",
    "numerical_gradient",
    "one_hot",
    "leaks",
    "parameter_count",
    "permutation_gap",
    "published_backward",
    "published_backward_to_attention",
    "published_forward",
    "published_params",
    "published_step",
    "sample",
    "sinusoidal_positions",
    "train_step",
}


def arrays_for(name, rng, leading=()):
    """Draw a call's arrays, read-only: writing to one raises."""
    call, arrays = CALLS[name], []
    for place, shape in enumerate(call.shapes):
        shape = (shape,) if isinstance(shape, int) else shape
        array = rng.normal(0, 1, (*leading, *shape) if place < call.batched else shape)
        if name == "entropy" or (name == "adamw_update" and place == 3):
            array = np.abs(array)  # weights, and the mean of a square
        array.flags.writeable = False
        arrays.append(array)
    return arrays


def asked(name, arrays):
    """Call a function and list its answers; a dict of gradients counts as one answer each."""
    call = CALLS[name]
    first = (IDS,) if name == "embed_with_positions" else ()
    last = call.rest
    if name == "embed":
        first, last = (IDS,), ()
    answer = getattr(reference, name)(*first, *arrays, *last, **call.keywords)
    answers = list(answer) if isinstance(answer, tuple) else [answer]
    if isinstance(answers[-1], dict):
        answers[-1:] = answers[-1].values()
    return [np.asarray(a) for a in answers]


def test_every_function_is_tested():
    """Each public function is in the table of calls, or among those tested elsewhere."""
    functions = {n for n in reference.__all__ if inspect.isfunction(getattr(reference, n))}
    assert functions == CALLS.keys() | ELSEWHERE
    assert reference.__all__ == sorted(reference.__all__)


@pytest.mark.parametrize("name", CALLS)
def test_inputs_are_never_changed(name, rng):
    """Read-only inputs are accepted: nothing is written to them, nothing shares their memory."""
    arrays = arrays_for(name, rng)
    copies = [array.copy() for array in arrays]
    answers = asked(name, arrays)
    for array, copy in zip(arrays, copies, strict=True):
        assert (array == copy).all()
    if name not in ("split_heads", "merge_heads"):  # where a view is the whole point
        assert not any(np.shares_memory(a, b) for a in answers for b in arrays)


@pytest.mark.parametrize("name", CALLS)
def test_float32_stays_float32(name, rng, witness):
    """float32 in gives float32 out, as near to the float64 answer as it can be.

    1e-4: float32 keeps 1e-7, of which cancellation in the backward passes costs up to 100 times.
    """
    arrays = arrays_for(name, rng)
    answers = asked(name, [array.astype(np.float32) for array in arrays])
    if name != "rank_by_similarity":  # it returns indices
        assert {answer.dtype for answer in answers} == {np.dtype(np.float32)}
    witness("soundness: float32 against float64", answers, asked(name, arrays), 1e-4)


@pytest.mark.parametrize("name", CALLS)
def test_integers_are_not_truncated(name, rng, witness):
    """Whole numbers give the same answers as integers and as floats."""
    wholes = [np.rint(2 * array) + (array > 0) for array in arrays_for(name, rng)]
    integers = [array.astype(int) for array in wholes]
    witness("soundness: integers", asked(name, integers), asked(name, wholes), 1e-13)


@pytest.mark.parametrize("name", [name for name, call in CALLS.items() if call.batched])
@pytest.mark.parametrize("leading", [(2,), (2, 3)])
def test_a_batch_changes_nothing(name, leading, rng, witness):
    """Answers for a batch are those of its members, stacked, or added for shared parameters."""
    call, arrays = CALLS[name], arrays_for(name, rng, leading)
    together = asked(name, arrays)
    kinds = call.answers.split()
    kinds = ["stack"] + ["sum"] * (len(together) - 1) if "dict" in kinds else kinds
    alone = []
    for member in np.ndindex(leading):
        parts = [a[member] if i < call.batched else a for i, a in enumerate(arrays)]
        alone.append(asked(name, parts))
    expected = []
    for kind, answers in zip(kinds, zip(*alone, strict=True), strict=True):
        stacked = np.stack(answers)
        shape = (*leading, *stacked.shape[1:])
        expected.append(stacked.reshape(shape) if kind == "stack" else stacked.sum(axis=0))
    witness("soundness: batch axes", together, expected, 1e-12)  # sums in another order


def test_the_model_keeps_float32_and_its_inputs(witness):
    """A float32 model stays float32 through a training step, and nothing passed in changes."""
    ids, targets = np.array([[1, 3, 4], [1, 6, 7]]), np.array([[3, 4, 5], [6, 7, 8]])
    params = {n: p.astype(np.float32) for n, p in init_params(COURSE_SIZES, 0).items()}
    state = init_state(params)
    for array in [*params.values(), *state["m"].values(), *state["v"].values(), ids, targets]:
        array.flags.writeable = False
    assert forward(ids, params).dtype == np.float32
    new_params, new_state, loss = train_step(params, state, ids, targets)
    gradients = backward(params, ids, targets)
    for arrays in (gradients, new_params, new_state["m"], new_state["v"]):
        assert {array.dtype for array in arrays.values()} == {np.dtype(np.float32)}
    assert state["t"] == 0 and new_state["t"] == 1
    wide = {n: p.astype(float) for n, p in params.items()}
    bound = 1e-4  # float32 rounding of 1e-7, through the whole model
    witness("soundness: float32 model", gradients, backward(wide, ids, targets), bound)
    witness("soundness: float32 loss", loss, cross_entropy(forward(ids, wide), targets), bound)
    assert len(generate(ids[0], params, 2, 1.0, np.random.default_rng(0))) == 5


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_huge_logits_stay_finite(dtype, witness):
    """Logits of +-1e4 pass softmax, entropy, loss and gradient without a warning."""
    logits = np.array([[1e4, -1e4, 0], [-1e4, 1e4, 1e4]], dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weights = softmax(logits)
        witness("soundness: huge scores", weights, [[1.0, 0, 0], [0, 0.5, 0.5]], 0)
        witness("soundness: huge scores, heated", softmax_with_temperature(logits, 0.1), weights, 0)
        bound = 1e-7  # ln 2 in float32
        witness("soundness: entropy of 0s and 1s", entropy(weights), [0, math.log(2)], bound)
        loss = cross_entropy(logits, np.array([1, 0]))
        witness("soundness: huge loss", loss, 2e4 + math.log(2) / 2, bound)
        gradient = cross_entropy_backward(logits, np.array([1, 0]))
        expected = [[0.5, -0.5, 0], [-0.5, 0.25, 0.25]]
        witness("soundness: huge loss, gradient", gradient, expected, 0)
        x = np.array([-1e4, 0, 1e4], dtype=dtype)
        witness("soundness: gelu far out", gelu(x), [0, 0, 1e4], 0)
        witness("soundness: gelu far out, slope", gelu_backward(np.ones(3), x), [0, 0.5, 1], 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_hidden_scores_weigh_nothing(dtype, witness):
    """-inf weighs exactly 0; a row that is all -inf weighs 0 everywhere, without a warning."""
    scores = np.array([[-np.inf, 2, 2], [-np.inf] * 3, [1e4, -np.inf, -1e4]], dtype=dtype)
    expected = [[0, 0.5, 0.5], [0, 0, 0], [1, 0, 0]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        witness("soundness: -inf scores", softmax(scores), expected, 0)
        witness("soundness: -inf scores, axis 0", softmax(scores.T, axis=0).T, expected, 0)
        values = np.ones((3, 2), dtype=dtype)
        hidden = np.isneginf(scores)
        output, _ = attention(np.zeros((3, 2)), np.zeros((3, 2)), values, hidden)
        witness("soundness: a query that sees nothing", output[1], [0, 0], 0)
        witness("soundness: and one that does", output[[0, 2]], np.ones((2, 2)), 1e-7)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, bool])
def test_small_integers_become_float64(dtype, witness):
    """Scores of any integer type give float64 weights, without wrapping around."""
    scores = np.array([3, 0, 1]).astype(dtype)
    weights = softmax(scores)
    assert weights.dtype == np.float64
    witness("soundness: integer scores", weights, softmax(scores.astype(float)), 0)


def test_functions_stand_when_pasted(rng, witness):
    """Every function works from its source alone, with np and the other functions in sight."""
    notebook = {"np": np, "math": math, "random": random}
    for name in reference.__all__:
        thing = getattr(reference, name)
        if inspect.isfunction(thing):
            exec(inspect.getsource(thing), notebook)
        else:
            notebook[name] = thing
    for name, call in CALLS.items():
        arrays = arrays_for(name, rng)
        expected = asked(name, arrays)
        if name in ("embed", "embed_with_positions"):
            pasted = notebook[name](IDS, *arrays)
        else:
            pasted = notebook[name](*arrays, *call.rest)
        pasted = list(pasted) if isinstance(pasted, tuple) else [pasted]
        if isinstance(pasted[-1], dict):
            pasted[-1:] = pasted[-1].values()
        witness("soundness: pasted in a notebook", pasted, expected, 0)
