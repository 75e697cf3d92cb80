"""The published calculation as a trace: the same names, its wiring, its weights, and its slip.

Its arrays are shown as everywhere in the course, weights (in, out) and heads side by side, so that
a reader can compare; where its backward pass went another way, its own numbers stand under the
same name with "pub_" before it.
"""

import numpy as np

from byhand_course.reference import (
    PUBLISHED_BLOCKS,
    PUBLISHED_TOKENS,
    VOCABULARY,
    merge_heads,
    numerical_gradient,
    published_backward,
    published_forward,
    published_params,
    published_step,
)

from .recorder import Call, record
from .settings import SENTENCE
from .steps import (
    put_attention,
    put_attention_gradients,
    put_embedding,
    put_embedding_gradients,
    put_feed_forward,
    put_feed_forward_gradients,
    put_loss,
    put_moved,
    put_norm,
    put_norm_gradients,
    put_output_gradients,
)
from .trace import put_settings, put_sizes_of_updates
from .values import Trace

OURS = {
    "E_token": "token_embedding",
    "E_pos": "position_embedding",
    "W_q": "W_q",
    "W_k": "W_k",
    "W_v": "W_v",
    "W_o": "W_o",
    "W1": "W_1",
    "b1": "b_1",
    "W2": "W_2",
    "b2": "b_2",
    "gamma": "lnf_gamma",
    "beta": "lnf_beta",
    "W_lm": "W_out",
}
TRANSPOSED = ("W_o", "W1", "W2", "W_lm")  # kept as (out, in)
IN_HEADS = ("W_q", "W_k", "W_v")  # kept as one matrix a head
PREFIX = "pub_"
SIZES = {
    "d_model": 16,
    "num_heads": 2,
    "d_ff": 64,
    "vocab_size": 6,
    "num_layers": 1,
    "max_len": 5,
}


def trace_published() -> Trace:
    """The calculation done right, with the published numbers beside ours where they differ."""
    params = published_params()
    trace, slip = _trace(params, transpose=True), _trace(params, transpose=False)
    for name, value in slip.values.items():
        is_late = value.page > 10
        if is_late and not np.array_equal(value.array, trace[name]):
            made = _published_sources(value.made, slip, trace)
            trace.put(
                PREFIX + name, value.array, " ".join(value.axes), value.page, value.function, made
            )
    _put_errors(trace, params)
    return trace


def _published_sources(made: str, slip: Trace, trace: Trace) -> str:
    """The entries that a published number was made from: published ones where they differ."""
    words = []
    for source in made.split():
        name = source.partition("[")[0]
        differs = slip.values[name].page > 10 and not np.array_equal(slip[name], trace[name])
        words.append(PREFIX + source if differs else source)
    return " ".join(words).replace("W_o[j,:]", "W_o[:,j]")


def _trace(params: dict[str, np.ndarray], transpose: bool) -> Trace:
    tokens = [VOCABULARY[place] for place in PUBLISHED_TOKENS]
    trace = Trace(
        wiring="published",
        sentence=SENTENCE,
        seed=42,
        vocabulary=VOCABULARY[: SIZES["vocab_size"]],
        tokens=tuple(tokens),
        targets=tuple(tokens[1:]),
        sizes=SIZES,
        parameters=tuple(OURS.values()),
    )
    put_settings(trace)
    back = record(published_backward, params, transpose_w_o=transpose)
    forward = back.call("published_forward")
    late = back.call("published_backward_to_attention")
    feed_forward = late.call("feed_forward_backward")
    norm = late.call("layer_norm_backward")
    put_embedding(trace, forward.call("embed_with_positions"), PUBLISHED_TOKENS)
    attention = back.call("multi_head_attention_backward")
    put_attention(trace, attention, "X", params["W_o"].T)
    put_feed_forward(trace, feed_forward, forward.call("feed_forward"), "attended")
    trace.put("out", forward["summed"], "token feature", 6, made="attended[i,j] fed[i,j]")
    put_norm(trace, "lnf", norm, forward["normed"], "out", "normed_f", params["beta"])
    cross_entropy = forward.call("cross_entropy")
    put_loss(trace, cross_entropy, late.call("cross_entropy_backward"), forward["loss"])
    put_output_gradients(trace, late.call("linear_backward"))
    put_norm_gradients(trace, "lnf", norm, "dnormed_f", "out", "dout")
    put_feed_forward_gradients(trace, feed_forward, "attended", "dbranch_2")
    made = "dout[i,j] dbranch_2[i,j]"
    trace.put("dmiddle", back["dattended"], "token feature", 10, "residual_backward", made)
    put_attention_gradients(trace, attention, "X")
    put_embedding_gradients(trace, back.call("embedding_backward"))
    step = record(published_step, params, back.answer)
    _put_step(trace, step)
    put_sizes_of_updates(trace)
    trace.put("loss_after", published_forward(step.answer[0])["loss"], page=13)
    return trace


def _put_step(trace: Trace, step: Call) -> None:
    """The update of every parameter, in our order and our layout."""
    for theirs, name in OURS.items():
        call = step.call("adamw_update", PUBLISHED_BLOCKS.index(theirs))
        keys = ("m", "v", "m_hat", "v_hat", "decayed")
        parts = {key: _in_our_layout(theirs, call[key]) for key in keys}
        put_moved(trace, name, parts, _in_our_layout(theirs, call.answer[0]))


def _in_our_layout(name: str, array: np.ndarray) -> np.ndarray:
    if name in TRANSPOSED:
        return array.T
    return merge_heads(array) if name in IN_HEADS else array


def _put_errors(trace: Trace, params: dict[str, np.ndarray]) -> None:
    """How far ours and the published gradients are from measured ones, block by block.

    An error is the largest difference, relative to the block's largest entry. Only blocks in which
    the two differ are measured; in all others, ours and the published are one.
    """
    ours, published, measured = [], [], []
    for theirs, name in OURS.items():
        is_wrong = PREFIX + f"d{name}" in trace
        measured.append(is_wrong)
        if not is_wrong:
            ours.append(np.nan)
            published.append(np.nan)
            continue
        slope = _in_our_layout(theirs, _measured(params, theirs))
        trace.put(f"measured_d{name}", slope, " ".join(trace.values[f"d{name}"].axes), 14)
        largest = np.abs(slope).max()
        ours.append(np.abs(trace[f"d{name}"] - slope).max() / largest)
        published.append(np.abs(trace[f"{PREFIX}d{name}"] - slope).max() / largest)
    trace.put("error_ours", np.array(ours), "parameter", 14)
    trace.put("error_published", np.array(published), "parameter", 14)
    trace.put("differs", np.array(measured), "parameter", 14)
    trace.put("differing_blocks", int(np.sum(measured)), page=14)


def _measured(params: dict[str, np.ndarray], name: str) -> np.ndarray:
    """The gradient of one block, by central differences of the published loss."""

    def loss(block: np.ndarray) -> float:
        return published_forward({**params, name: block})["loss"]

    return numerical_gradient(loss, params[name])
