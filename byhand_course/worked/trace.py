"""One training step of the course's model, every value kept.

The reference runs once, under the recorder; here its values only get names, labels and a page.
"""

from inspect import signature

import numpy as np

from byhand_course.reference import (
    adamw_update,
    cross_entropy,
    forward,
    ids_of,
    init_params,
    init_state,
    layer_norm,
    train_step,
)

from .recorder import Call, record
from .settings import Settings
from .steps import (
    put_attention,
    put_attention_gradients,
    put_embedding,
    put_embedding_gradients,
    put_feed_forward,
    put_feed_forward_gradients,
    put_loss,
    put_norm,
    put_norm_gradients,
    put_output_gradients,
    put_update,
)
from .values import Trace


def trace_training_step(settings: Settings) -> Trace:
    """Run one training step of the course's model, the first, and keep every value."""
    ids = ids_of(settings.sentence, settings.vocabulary)
    params = init_params(settings.sizes, settings.seed)
    heads = settings.num_heads
    step = record(train_step, params, init_state(params), ids[:-1], ids[1:], num_heads=heads)
    words = [settings.vocabulary[place] for place in ids]
    trace = Trace(
        wiring="course",
        sentence=settings.sentence,
        seed=settings.seed,
        vocabulary=settings.vocabulary,
        tokens=tuple(words[:-1]),
        targets=tuple(words[1:]),
        sizes=settings.sizes,
        parameters=tuple(map(short, params)),
    )
    put_settings(trace)
    back = step.call("backward")
    block, attention, feed_forward = _parts_of_block(back)
    norm_f = back.call("layer_norm_backward")
    norm_2 = block.call("layer_norm_backward")
    norm_1 = block.call("layer_norm_backward", 1)
    put_embedding(trace, back.call("embed_with_positions"), back["ids"])
    put_norm(trace, "ln1", norm_1, attention["X"], "X", "normed_1", block["ln1_beta"])
    put_attention(trace, attention, "normed_1", attention["W_o"])
    trace.put(
        "middle", block["middle"], "token feature", 6, "transformer_block", "X[i,j] attended[i,j]"
    )
    put_norm(trace, "ln2", norm_2, feed_forward["X"], "middle", "normed_2", block["ln2_beta"])
    fed = step.call("forward").call("transformer_block").call("feed_forward")
    put_feed_forward(trace, feed_forward, fed, "normed_2")
    trace.put("out", back["x"], "token feature", 6, "transformer_block", "middle[i,j] fed[i,j]")
    put_norm(trace, "lnf", norm_f, back["normed"], "out", "normed_f", params["lnf_beta"])
    loss = step.call("cross_entropy")
    put_loss(trace, loss, back.call("cross_entropy_backward"), loss.answer)
    put_output_gradients(trace, back.call("linear_backward"))
    put_norm_gradients(trace, "lnf", norm_f, "dnormed_f", "out", "dout")
    put_feed_forward_gradients(trace, feed_forward, "normed_2", "dnormed_2")
    put_norm_gradients(trace, "ln2", norm_2, "dnormed_2", "middle", "dbranch_2")
    trace.put(
        "dmiddle",
        block["dmiddle"],
        "token feature",
        10,
        "residual_backward",
        "dout[i,j] dbranch_2[i,j]",
    )
    put_attention_gradients(trace, attention, "normed_1")
    put_norm_gradients(trace, "ln1", norm_1, "dnormed_1", "X", "dbranch_1")
    trace.put(
        "dX", block["dx"], "token feature", 12, "residual_backward", "dmiddle[i,j] dbranch_1[i,j]"
    )
    put_embedding_gradients(trace, back.call("embedding_backward"))
    for place, name in enumerate(params):
        put_update(trace, short(name), step.call("adamw_update", place))
    put_sizes_of_updates(trace)
    logits = forward(ids[:-1], step.answer[0], heads)
    trace.put("loss_after", cross_entropy(logits, ids[1:]), page=13, function="cross_entropy")
    return trace


def short(name: str) -> str:
    """A parameter's name on the pages, where there is one block only."""
    return name.removeprefix("blocks.0.")


def put_settings(trace: Trace) -> None:
    """The constants of the formulas, read off the reference's own signatures."""
    for name, parameter in signature(adamw_update).parameters.items():
        if parameter.default is not parameter.empty:
            trace.put("adam_eps" if name == "eps" else name, parameter.default)
    trace.put("norm_eps", signature(layer_norm).parameters["eps"].default)
    trace.put("d_k", trace.sizes["d_model"] // trace.sizes["num_heads"])
    for name, size in trace.sizes.items():
        trace.put(name, size)


def put_sizes_of_updates(trace: Trace) -> None:
    """How far each parameter moved: the table of page 13."""
    names = trace.parameters
    moves = [np.abs(trace[f"change_{name}"]) for name in names]
    columns = {
        "update_count": [move.size for move in moves],
        "update_largest_gradient": [np.abs(trace[f"d{name}"]).max() for name in names],
        "update_mean_move": [move.mean() for move in moves],
        "update_largest_move": [move.max() for move in moves],
        "update_no_gradient": [int((trace[f"d{name}"] == 0).sum()) for name in names],
    }
    for name, column in columns.items():
        trace.put(name, np.array(column), "parameter", 13)
    trace.put("parameter_count", sum(columns["update_count"]), page=13)


def _parts_of_block(back: Call) -> tuple[Call, Call, Call]:
    """The backward pass of the one block, of its attention and of its feed-forward network."""
    block = back.call("transformer_block_backward")
    attention = block.call("multi_head_attention_backward")
    return block, attention, block.call("feed_forward_backward")
