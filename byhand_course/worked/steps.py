"""Names for what the reference computed, step by step of the training step.

Each function takes the trace and the record of one call, and keeps that call's values. The course's
wiring and the published one differ only in what is handed to what.
"""

import numpy as np

from byhand_course.reference import gelu, gelu_backward, one_hot, project, softmax_backward

from .recorder import Call
from .values import Trace


def put_embedding(trace: Trace, call: Call, ids: np.ndarray) -> None:
    """Page 1: the tables, what was looked up, and their sum."""
    trace.put("ids", ids, "token", 1)
    trace.put("token_embedding", call["token_embedding"], "vocabulary feature", 1)
    trace.put("position_embedding", call["position_embedding"], "position feature", 1)
    tokens, positions = call.call("embed", 0).answer, call.call("embed", 1).answer
    trace.put("token_vectors", tokens, "token feature", 1, "embed", "token_embedding[@i,j]")
    trace.put("position_vectors", positions, "token feature", 1, "embed", "position_embedding[i,j]")
    trace.put(
        "X",
        call.answer,
        "token feature",
        1,
        "embed_with_positions",
        "token_vectors[i,j] position_vectors[i,j]",
    )
    rows = one_hot(ids, trace.sizes["vocab_size"])
    trace.put("one_hot", rows, "token vocabulary", 1, "one_hot", "ids[i]")
    for name in ("token_vectors", "position_vectors", "X"):
        trace.put(f"{name}_column_sums", trace[name].sum(axis=0), "feature", 1)


def put_norm(
    trace: Trace, norm: str, call: Call, answer: np.ndarray, x: str, out: str, beta: np.ndarray
) -> None:
    """Page 6: one layer norm, of x, from the record of its backward pass."""
    trace.put(f"{norm}_gamma", call["gamma"], "feature", 6)
    trace.put(f"{norm}_beta", beta, "feature", 6)
    mean = call["x"].mean(axis=-1)
    trace.put(f"{norm}_mean", mean, "token", 6, "layer_norm", f"{x}[i,:]")
    variance = call["x"].var(axis=-1)
    trace.put(f"{norm}_variance", variance, "token", 6, "layer_norm", f"{x}[i,:]")
    trace.put(
        f"{norm}_inverse_std",
        call["inverse_std"][:, 0],
        "token",
        6,
        "layer_norm",
        f"{norm}_variance[i]",
    )
    made = f"{x}[i,j] {norm}_mean[i] {norm}_inverse_std[i]"
    trace.put(f"{norm}_xhat", call["xhat"], "token feature", 6, "layer_norm", made)
    trace.put(f"{norm}_xhat_mean", call["xhat"].mean(axis=-1), "token", 6)
    trace.put(f"{norm}_xhat_mean_square", (call["xhat"] ** 2).mean(axis=-1), "token", 6)
    made = f"{norm}_xhat[i,j] {norm}_gamma[j] {norm}_beta[j]"
    trace.put(out, answer, "token feature", 6, "layer_norm", made)


def put_attention(trace: Trace, call: Call, x: str, W_o: np.ndarray) -> None:
    """Pages 2 to 4: multi-head attention of x, from the record of its backward pass.

    W_o is what the forward pass multiplied by; a slip may have handed another to `call`.
    """
    features = "token feature"
    for name in ("q", "k", "v"):
        trace.put(f"W_{name}", call[f"W_{name}"], "feature feature", 2)
    for name in ("Q", "K", "V"):
        made = f"{x}[i,:] W_{name.lower()}[:,j]"
        trace.put(name, call[name], features, 2, "qkv", made)
        W = trace[f"W_{name.lower()}"]
        sums = project(call["X"], W.sum(axis=1, keepdims=True))[:, 0]
        trace.put(f"{name}_row_sums", call[name].sum(axis=1), "token", 2)
        trace.put(f"{name}_from_row_sums", sums, "token", 2, "project")
    trace.put("mask", call["hidden"], "token key", 3, "causal_mask")
    for name in ("Q", "K", "V"):
        array = call[f"{name}_heads"]
        made = f"{name}[i,{{start}}+j]"
        trace.put(f"{name}_heads", array, "head token slice", 3, "split_heads", made)
    inner = call.call("attention")
    softmax = inner.call("attention_weights").call("softmax")
    square = "head token key"
    made = "Q_heads[{h},i,:] K_heads[{h},j,:]"
    trace.put("scores", inner["scores"], square, 3, "attention_scores", made)
    scaled = inner.call("scale_scores").answer
    trace.put("scaled", scaled, square, 3, "scale_scores", "scores[{h},i,j]")
    trace.put("masked", inner["scaled"], square, 3, "attention", "scaled[{h},i,j] mask[i,j]")
    made = "masked[{h},i,:]"
    trace.put("exponentials", softmax["exponentials"], square, 3, "softmax", made)
    totals = softmax["total"][..., 0]
    trace.put("totals", totals, "head token", 3, "softmax", "exponentials[{h},i,:]")
    made = "exponentials[{h},i,j] totals[{h},i]"
    trace.put("weights", call["weights"], square, 3, "attention_weights", made)
    trace.put("weights_row_sums", call["weights"].sum(axis=-1), "head token", 3)
    made = "weights[{h},i,:] V_heads[{h},:,j]"
    trace.put("out_heads", call["out_heads"], "head token slice", 3, "attend", made)
    width = call["out_heads"].shape[-1]
    made = f"out_heads[j/{width},i,j%{width}]"
    trace.put("concat", call["concat"], features, 4, "merge_heads", made)
    trace.put("W_o", W_o, "feature feature", 4)
    attended = project(call["concat"], W_o)
    trace.put("attended", attended, features, 4, "multi_head_attention", "concat[i,:] W_o[:,j]")
    parts = [
        project(head, W_o[place * width : (place + 1) * width])
        for place, head in enumerate(call["out_heads"])
    ]
    made = "out_heads[{h},i,:] W_o[{start}:{stop},j]"
    trace.put("head_parts", np.array(parts), "head token feature", 4, "project", made)


def put_feed_forward(trace: Trace, call: Call, forward: Call, x: str) -> None:
    """Page 5: the feed-forward network of x, from the records of its passes."""
    trace.put("W_1", call["W_1"], "feature wide", 5)
    trace.put("b_1", call["b_1"], "wide", 5)
    trace.put("W_2", call["W_2"], "wide feature", 5)
    trace.put("b_2", call["b_2"], "feature", 5)
    wide = call["wide"]
    trace.put("wide", wide, "token wide", 5, "linear", f"{x}[i,:] W_1[:,j] b_1[j]")
    inner = forward.call("gelu")["inner"]
    trace.put("gelu_inner", inner, "token wide", 5, "gelu", "wide[i,j]")
    trace.put("gelu_tanh", np.tanh(inner), "token wide", 5, "gelu", "gelu_inner[i,j]")
    trace.put("hidden", call["hidden"], "token wide", 5, "gelu", "wide[i,j]")
    trace.put("hidden_of_minus", gelu(-wide), "token wide", 5, "gelu", "wide[i,j]")
    made = "hidden[i,:] W_2[:,j] b_2[j]"
    trace.put("fed", forward.answer, "token feature", 5, "feed_forward", made)


def put_loss(trace: Trace, call: Call, back: Call, loss: float) -> None:
    """Pages 7 and 8: logits, probabilities, the loss and its gradient for the logits.

    The rows of `call` are those that have a next token; the model may have more. The loss is the
    mean of theirs, or their sum.
    """
    rows, words = "target", "target vocabulary"
    trace.put("targets", call["targets"], rows, 7)
    log_probabilities = call["log_probabilities"]
    trace.put("logits", call["logits"], words, 7, "forward", "normed_f[i,:] W_out[:,j]")
    made = "logits[i,:]"
    trace.put("probabilities", back["probabilities"], words, 7, "softmax", made)
    trace.put("probabilities_row_sums", back["probabilities"].sum(axis=-1), rows, 7)
    trace.put("log_probabilities", log_probabilities, words, 7, "cross_entropy", made)
    places = np.arange(len(call["targets"]))
    chosen = back["probabilities"][places, call["targets"]]
    trace.put("right_probabilities", chosen, rows, 7, "softmax", "probabilities[i,*i]")
    losses = 0 - call["right"][:, 0]
    trace.put("losses", losses, rows, 7, "cross_entropy", "log_probabilities[i,*i]")
    trace.put("loss_sum", losses.sum(), page=7)
    trace.put("loss", loss, page=7, function="cross_entropy")
    trace.put("loss_of_equal_logits", np.log(trace.sizes["vocab_size"]), page=7)
    trace.put("targets_count", len(losses), page=7)
    trace.put("is_target", back["is_target"], words, 8)


def put_output_gradients(trace: Trace, call: Call) -> None:
    """Pages 8 and 9: dlogits, and what it does to the output layer and the last norm."""
    trace.put("W_out", call["W"], "feature vocabulary", 7)
    made = "probabilities[i,j] is_target[i,j]"
    dlogits = call["dout"]
    trace.put("dlogits", dlogits, "token vocabulary", 8, "cross_entropy_backward", made)
    trace.put("dlogits_row_sums", dlogits.sum(axis=-1), "token", 8)
    trace.put("dlogits_column_sums", dlogits.sum(axis=0), "vocabulary", 8)
    made = "normed_f[:,i] dlogits[:,j]"
    trace.put("dW_out", call["dW"], "feature vocabulary", 9, "linear_backward", made)
    made = "dlogits[i,:] W_out[j,:]"
    trace.put("dnormed_f", call["dX"], "token feature", 9, "linear_backward", made)
    _balance(trace, "W_out", 9)
    logits = project(call["X"], call["W"])  # all rows, those without a next token too
    trace.put("balance_logits", (dlogits * logits).sum(), page=9)
    _balance(trace, "normed_f", 9)
    trace.put("dW_out_row_sums", call["dW"].sum(axis=1), "feature", 9)


def put_norm_gradients(trace: Trace, norm: str, call: Call, dout: str, x: str, dx: str) -> None:
    """Pages 10 and 12: back through one layer norm."""
    page = 12 if norm == "ln1" else 10
    features = "token feature"
    dxhat, xhat = call["dxhat"], call["xhat"]
    made = f"{dout}[i,j] {norm}_gamma[j]"
    trace.put(f"{norm}_dxhat", dxhat, features, page, "layer_norm_backward", made)
    trace.put(f"{norm}_dxhat_mean", dxhat.mean(axis=-1), "token", page, made=f"{norm}_dxhat[i,:]")
    made = f"{norm}_dxhat[i,:] {norm}_xhat[i,:]"
    trace.put(f"{norm}_along_mean", (dxhat * xhat).mean(axis=-1), "token", page, made=made)
    trace.put(dx, call["dx"], features, page, "layer_norm_backward", made)
    made = f"{dout}[:,j] {norm}_xhat[:,j]"
    trace.put(f"d{norm}_gamma", call["dgamma"], "feature", page, "layer_norm_backward", made)
    made = f"{dout}[:,j]"
    trace.put(f"d{norm}_beta", call["dbeta"], "feature", page, "layer_norm_backward", made)
    trace.put(f"{dx}_row_sums", call["dx"].sum(axis=-1), "token", page)


def put_feed_forward_gradients(trace: Trace, call: Call, x: str, dx: str) -> None:
    """Page 10: back through the feed-forward network."""
    name = "linear_backward"
    second, first = call.call("linear_backward", 0), call.call("linear_backward", 1)
    slope = gelu_backward(np.ones_like(call["wide"]), call["wide"])
    trace.put("dW_2", second["dW"], "wide feature", 10, name, "hidden[:,i] dout[:,j]")
    trace.put("db_2", second["db"], "feature", 10, name, "dout[:,j]")
    trace.put("dhidden", second["dX"], "token wide", 10, name, "dout[i,:] W_2[j,:]")
    trace.put("slope", slope, "token wide", 10, "gelu_backward", "wide[i,j]")
    made = "dhidden[i,j] slope[i,j]"
    trace.put("dwide", call["dwide"], "token wide", 10, "gelu_backward", made)
    trace.put("dW_1", first["dW"], "feature wide", 10, name, f"{x}[:,i] dwide[:,j]")
    trace.put("db_1", first["db"], "wide", 10, name, "dwide[:,j]")
    trace.put(dx, first["dX"], "token feature", 10, name, "dwide[i,:] W_1[j,:]")
    _balance(trace, "W_1", 10)
    _balance(trace, "b_1", 10)
    _balance(trace, "wide", 10)


def put_attention_gradients(trace: Trace, call: Call, x: str) -> None:
    """Page 11: back through multi-head attention."""
    inner = call.call("attention_backward")
    heads, square = "head token slice", "head token key"
    name = "attention_backward"
    made = "dmiddle[i,:] W_o[j,:]"
    trace.put("dconcat", call["dconcat"], "token feature", 11, "linear_backward", made)
    slip = project(call["dout"], trace["W_o"])  # what it would be without the transpose
    trace.put("dconcat_untransposed", slip, "token feature", 11, "project")
    made = "concat[:,i] dmiddle[:,j]"
    trace.put("dW_o", call["dW_o"], "feature feature", 11, "linear_backward", made)
    made = "dconcat[i,{start}+j]"
    trace.put("dout_heads", call["dout_heads"], heads, 11, "split_heads", made)
    made = "weights[{h},:,i] dout_heads[{h},:,j]"
    trace.put("dV_heads", inner["dV"], heads, 11, name, made)
    made = "dout_heads[{h},i,:] V_heads[{h},j,:]"
    trace.put("dweights", inner["dweights"], square, 11, name, made)
    average = inner.call("softmax_backward")["average"][..., 0]
    made = "dweights[{h},i,:] weights[{h},i,:]"
    trace.put("average", average, "head token", 11, "softmax_backward", made)
    made = "dweights[{h},i,j] weights[{h},i,j] average[{h},i]"
    trace.put("dscaled", inner["dscaled"], square, 11, "softmax_backward", made)
    trace.put("dscaled_row_sums", inner["dscaled"].sum(axis=-1), "head token", 11)
    trace.put("dscores", inner["dscores"], square, 11, name, "dscaled[{h},i,j]")
    made = "dscores[{h},i,:] K_heads[{h},:,j]"
    trace.put("dQ_heads", inner["dQ"], heads, 11, name, made)
    made = "dscores[{h},:,i] Q_heads[{h},:,j]"
    trace.put("dK_heads", inner["dK"], heads, 11, name, made)
    _put_jacobian(trace)
    width = call["dV_heads"].shape[-1]
    for place, letter in enumerate(("Q", "K", "V")):
        back = call.call("linear_backward", place + 1)  # the first was that of W_o
        low = letter.lower()
        made = f"d{letter}_heads[j/{width},i,j%{width}]"
        trace.put(f"d{letter}", back["dout"], "token feature", 11, "merge_heads", made)
        made = f"{x}[:,i] d{letter}[:,j]"
        trace.put(f"dW_{low}", back["dW"], "feature feature", 11, "linear_backward", made)
        made = f"d{letter}[i,:] W_{low}[j,:]"
        out = f"dX_from_{letter}"
        trace.put(out, back["dX"], "token feature", 11, "linear_backward", made)
    made = "dX_from_Q[i,j] dX_from_K[i,j] dX_from_V[i,j]"
    out, function = f"d{x}", "multi_head_attention_backward"
    trace.put(out, call["dX"], "token feature", 11, function, made)
    for array in ("Q_heads", "K_heads", "scores", "V_heads", "out_heads"):
        products = trace[f"d{array}"] * trace[array]
        trace.put(f"balance_{array}", products.sum(axis=(-2, -1)), "head", 11)


def _put_jacobian(trace: Trace) -> None:
    """Softmax's Jacobian for the last row of head 0: one backward pass for each weight."""
    weights = trace["weights"][0, -1]
    rows = np.broadcast_to(weights, (len(weights), len(weights)))
    jacobian = softmax_backward(np.eye(len(weights)), rows)
    last = len(weights) - 1
    made = f"weights[0,{last},i] weights[0,{last},j]"
    trace.put("jacobian", jacobian, "key key", 11, "softmax_backward", made)
    trace.put("jacobian_row_sums", jacobian.sum(axis=-1), "key", 11)


def put_embedding_gradients(trace: Trace, call: Call) -> None:
    """Page 12: from the gradient of X to the rows of the two tables."""
    name = "embedding_backward"
    tokens, positions = call["dtoken_embedding"], call["dposition_embedding"]
    trace.put("dtoken_embedding", tokens, "vocabulary feature", 12, name, "dX[~i,j]")
    trace.put("dposition_embedding", positions, "position feature", 12, name, "dX[i,j]")
    for array in ("dX", "dtoken_embedding", "dposition_embedding"):
        trace.put(f"{array}_column_sums", trace[array].sum(axis=0), "feature", 12)


def put_update(trace: Trace, name: str, call: Call) -> None:
    """Page 13: one parameter's AdamW update."""
    put_moved(
        trace,
        name,
        {key: call[key] for key in ("m", "v", "m_hat", "v_hat", "decayed")},
        call.answer[0],
    )


def put_moved(trace: Trace, name: str, parts: dict[str, np.ndarray], new: np.ndarray) -> None:
    """The parts of an update, the parameter after it, and how far it moved."""
    axes = " ".join(trace.values[name].axes)
    for key, part in parts.items():
        trace.put(f"{key}_{name}", part, axes, 13, "adamw_update", _same_place(f"d{name}", axes))
    made = _same_place(f"decayed_{name}", axes)
    trace.put(f"new_{name}", new, axes, 13, "adamw_update", made)
    trace.put(f"change_{name}", new - trace[name], axes, 13, made=made)


def _same_place(name: str, axes: str) -> str:
    return f"{name}[{'i,j' if ' ' in axes else 'j'}]"


def _balance(trace: Trace, name: str, page: int) -> None:
    """The sum of an array times its gradient, entry by entry: equal before and after a product."""
    trace.put(f"balance_{name}", (trace[f"d{name}"] * trace[name]).sum(), page=page)
