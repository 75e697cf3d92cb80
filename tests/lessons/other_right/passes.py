"""Right backward passes of attention, tables, block and model, written in other ways."""

import numpy as np

from byhand_course.reference import (
    block_params,
    feed_forward_backward,
    layer_norm,
    layer_norm_backward,
    multi_head_attention,
    softmax,
    transformer_block,
)


def rows_of(array):
    return array.reshape(-1, array.shape[-1])


def the_whole_jacobian(dweights, weights):
    dscores = np.empty(weights.shape)
    for row in np.ndindex(weights.shape[:-1]):
        p = weights[row]
        dscores[row] = (np.diag(p) - np.outer(p, p)) @ dweights[row]
    return dscores


def jacobians_by_einsum(dweights, weights):
    diagonals = np.einsum("...i,ij->...ij", weights, np.eye(weights.shape[-1]))
    products = np.einsum("...i,...j->...ij", weights, weights)
    return np.einsum("...i,...ij->...j", dweights, diagonals - products)


def multiplied_out(dweights, weights):
    total = np.einsum("...i,...i->...", weights, dweights)
    return weights * dweights - weights * total[..., None]


def attention_by_einsum(dout, Q, K, V, weights):
    dV = np.einsum("...ts,...tv->...sv", weights, dout)
    dweights = np.einsum("...tv,...sv->...ts", dout, V)
    dscores = multiplied_out(dweights, weights) / np.sqrt(Q.shape[-1])
    dQ = np.einsum("...ts,...sk->...tk", dscores, K)
    return [dQ, np.einsum("...ts,...tk->...sk", dscores, Q), dV]


def hidden_scores_set_to_0(dout, Q, K, V, weights):
    dweights = dout @ np.moveaxis(V, -1, -2)
    dscaled = np.where(weights == 0, 0, the_whole_jacobian(dweights, weights))
    dscores = dscaled * K.shape[-1] ** -0.5
    return dscores @ K, np.swapaxes(dscores, -2, -1) @ Q, np.swapaxes(weights, -2, -1) @ dout


def head_after_head(dout, X, W_q, W_k, W_v, W_o, num_heads):
    d_k, d_v, T = W_q.shape[1] // num_heads, W_v.shape[1] // num_heads, X.shape[-2]
    dX = np.zeros(X.shape)
    dW_q, dW_k, dW_v, dW_o = (np.zeros(W.shape) for W in (W_q, W_k, W_v, W_o))
    for head in range(num_heads):
        keys, values = (slice(head * d, (head + 1) * d) for d in (d_k, d_v))
        Q, K, V = X @ W_q[:, keys], X @ W_k[:, keys], X @ W_v[:, values]
        scores = Q @ K.swapaxes(-1, -2) / np.sqrt(d_k)
        weights = softmax(np.where(np.tri(T) == 0, -1e9, scores))
        dW_o[values] = rows_of(weights @ V).T @ rows_of(dout)
        dQ, dK, dV = attention_by_einsum(dout @ W_o[values].T, Q, K, V, weights)
        dW_q[:, keys] = rows_of(X).T @ rows_of(dQ)
        dW_k[:, keys] = rows_of(X).T @ rows_of(dK)
        dW_v[:, values] = rows_of(X).T @ rows_of(dV)
        dX = dX + dQ @ W_q[:, keys].T + dK @ W_k[:, keys].T + dV @ W_v[:, values].T
    return dX, dW_q, dW_k, dW_v, dW_o


def one_hot_products(dX, ids, vocab_size, max_len):
    T, d_model = dX.shape[-2:]
    dpositions = np.zeros((max_len, d_model))
    dpositions[:T] = dX if dX.ndim == 2 else dX.sum(axis=0)
    return rows_of(np.eye(vocab_size)[ids]).T @ rows_of(dX), dpositions


def token_after_token(dX, ids, vocab_size, max_len):
    dtokens, dpositions = (np.zeros((n, dX.shape[-1])) for n in (vocab_size, max_len))
    for place in np.ndindex(ids.shape):
        dtokens[ids[place]] += dX[place]
        dpositions[place[-1]] += dX[place]
    return dtokens, dpositions


def block_into_one_dict(dout, x, *params):
    ln1_gamma, ln1_beta, W_q, W_k, W_v, W_o, ln2_gamma, ln2_beta, *network, num_heads = params
    normed = layer_norm(x, ln1_gamma, ln1_beta)
    middle = x + multi_head_attention(normed, W_q, W_k, W_v, W_o, num_heads)
    given = layer_norm(middle, ln2_gamma, ln2_beta)
    found = {}
    back, *rest = feed_forward_backward(dout, given, *network)
    found |= zip(("W_1", "b_1", "W_2", "b_2"), rest, strict=True)
    back, found["ln2_gamma"], found["ln2_beta"] = layer_norm_backward(back, middle, ln2_gamma)
    dmiddle = back + dout
    back, *rest = head_after_head(dmiddle, normed, W_q, W_k, W_v, W_o, num_heads)
    found |= zip(("W_q", "W_k", "W_v", "W_o"), rest, strict=True)
    back, found["ln1_gamma"], found["ln1_beta"] = layer_norm_backward(back, x, ln1_gamma)
    return dmiddle + back, found


def from_the_loss_down(params, ids, targets, num_heads=2):
    streams = [params["token_embedding"][ids] + params["position_embedding"][: ids.shape[-1]]]
    while block := block_params(params, len(streams) - 1):
        streams.append(transformer_block(streams[-1], **block, num_heads=num_heads))
    normed = layer_norm(streams[-1], params["lnf_gamma"], params["lnf_beta"])
    logits = normed @ params["W_out"]
    surprise = (softmax(logits) - np.eye(logits.shape[-1])[targets]) / targets.size
    found = {"W_out": rows_of(normed).T @ rows_of(surprise)}
    dx, found["lnf_gamma"], found["lnf_beta"] = layer_norm_backward(
        surprise @ params["W_out"].T, streams.pop(), params["lnf_gamma"]
    )
    while streams:
        layer = len(streams) - 1
        block = block_params(params, layer).values()
        dx, more = block_into_one_dict(dx, streams.pop(), *block, num_heads)
        found |= {f"blocks.{layer}.{name}": gradient for name, gradient in more.items()}
    sizes = (len(params[f"{table}_embedding"]) for table in ("token", "position"))
    found["token_embedding"], found["position_embedding"] = token_after_token(dx, ids, *sizes)
    return found


RIGHT = {
    "softmax-backward": (the_whole_jacobian, jacobians_by_einsum, multiplied_out),
    "attention-backward": (attention_by_einsum, hidden_scores_set_to_0),
    "multi-head-attention-backward": (head_after_head,),
    "embedding-backward": (one_hot_products, token_after_token),
    "transformer-block-backward": (block_into_one_dict,),
    "backward": (from_the_loss_down,),
}
