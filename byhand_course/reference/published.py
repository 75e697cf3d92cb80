"""The published calculation that the course audits, weights and all, from its recipe.

It trains a simpler model on "I like transformers" for one step: 2 heads of 8, no residual around
attention, one layer norm at the end, weights stored as (out, in) after attention, and the sum of
four losses. Its forward pass is right; its backward pass forgets to transpose W_o.

Sizes: T = 5 tokens of 16 features, d_ff = 64, a vocabulary of 6; 3,456 parameters.
Source: "Attention to Detail", Z. Hubert 2025, MIT licence.
"""

import random

import numpy as np

from byhand_course.reference.attention import attention, attention_backward, causal_mask, qkv
from byhand_course.reference.block import residual_backward
from byhand_course.reference.embedding import embed_with_positions, embedding_backward
from byhand_course.reference.feed_forward import (
    feed_forward,
    feed_forward_backward,
    linear_backward,
)
from byhand_course.reference.layer_norm import layer_norm, layer_norm_backward
from byhand_course.reference.loss import cross_entropy, cross_entropy_backward
from byhand_course.reference.multi_head import merge_heads, split_heads
from byhand_course.reference.optimizer import adamw_update

PUBLISHED_BLOCKS = (
    "W_lm",
    "gamma",
    "beta",
    "W1",
    "b1",
    "W2",
    "b2",
    "W_o",
    "W_q",
    "W_k",
    "W_v",
    "E_token",
    "E_pos",
)
PUBLISHED_TOKENS = np.array([1, 3, 4, 5, 2])  # <BOS> I like transformers <EOS>
PUBLISHED_TOKENS.flags.writeable = False


def gauss_group(shapes, seed=42, std=0.1):
    """Draw one group of arrays with Python's own generator, row by row, after seeding it.

    Args:
        shapes: shapes of the arrays, in the order drawn.
        seed: seed of random.Random.
        std: standard deviation.

    Returns:
        List of float64 arrays.
    """
    generator = random.Random(seed)
    return [
        np.array([generator.gauss(0, std) for _ in range(np.prod(shape))]).reshape(shape)
        for shape in shapes
    ]


def published_params():
    """Draw the published weights by their recipe: five groups, each after seeding with 42.

    Returns:
        Dict from the names in PUBLISHED_BLOCKS to float64 arrays; W_q, W_k, W_v are (2, 16, 8),
        one matrix a head, and W_o, W1, W2, W_lm are (out, in).
    """
    E_token, E_pos = gauss_group([(6, 16), (5, 16)])
    heads = gauss_group([(16, 8)] * 6)  # W_q, W_k, W_v of head 0, then of head 1
    (W_o,) = gauss_group([(16, 16)])
    W1, b1, W2, b2 = gauss_group([(64, 16), (64,), (16, 64), (16,)])
    (W_lm,) = gauss_group([(6, 16)])
    return {
        "W_lm": W_lm,
        "gamma": np.ones(16),
        "beta": np.zeros(16),
        "W1": W1,
        "b1": b1,
        "W2": W2,
        "b2": b2,
        "W_o": W_o,
        "W_q": np.stack(heads[0::3]),
        "W_k": np.stack(heads[1::3]),
        "W_v": np.stack(heads[2::3]),
        "E_token": E_token,
        "E_pos": E_pos,
    }


def published_forward(params):
    """Run the published model on its sentence.

    Args:
        params: dict as published_params returns it.

    Returns:
        Dict of every intermediate value: X (5, 16); Q, K, V (2, 5, 8); weights (2, 5, 5);
        heads (2, 5, 8); concat, attended, fed, summed, normed (5, 16); logits (5, 6); loss, the
        sum over the four positions that have a next token.
    """
    X = embed_with_positions(PUBLISHED_TOKENS, params["E_token"], params["E_pos"])
    Q, K, V = qkv(X, params["W_q"], params["W_k"], params["W_v"])  # the head axis broadcasts
    heads, weights = attention(Q, K, V, causal_mask(len(X)))
    concat = merge_heads(heads)
    attended = concat @ params["W_o"].T
    fed = feed_forward(attended, params["W1"].T, params["b1"], params["W2"].T, params["b2"])
    summed = attended + fed
    normed = layer_norm(summed, params["gamma"], params["beta"])
    logits = normed @ params["W_lm"].T
    targets = PUBLISHED_TOKENS[1:]
    loss = cross_entropy(logits[:-1], targets) * len(targets)  # a sum, not a mean
    return {
        "X": X,
        "Q": Q,
        "K": K,
        "V": V,
        "weights": weights,
        "heads": heads,
        "concat": concat,
        "attended": attended,
        "fed": fed,
        "summed": summed,
        "normed": normed,
        "logits": logits,
        "loss": loss,
    }


def published_backward_to_attention(params, trace):
    """Carry the published loss back to the attention's output, as far as the publication is right.

    Args:
        params: dict as published_params returns it.
        trace: dict as published_forward returns it.

    Returns:
        dattended (5, 16), and a dict of the seven gradients found on the way: W_lm, gamma, beta,
        W1, b1, W2, b2.
    """
    targets = PUBLISHED_TOKENS[1:]
    dlogits = np.zeros_like(trace["logits"])  # the last position has no next token
    dlogits[:-1] = cross_entropy_backward(trace["logits"][:-1], targets) * len(targets)
    dnormed, dW_lm, _ = linear_backward(dlogits, trace["normed"], params["W_lm"].T)
    dsummed, dgamma, dbeta = layer_norm_backward(dnormed, trace["summed"], params["gamma"])
    dbranch, dW1, db1, dW2, db2 = feed_forward_backward(
        dsummed,
        trace["attended"],
        params["W1"].T,
        params["b1"],
        params["W2"].T,
        params["b2"],
    )
    gradients = {
        "W_lm": dW_lm.T,
        "gamma": dgamma,
        "beta": dbeta,
        "W1": dW1.T,
        "b1": db1,
        "W2": dW2.T,
        "b2": db2,
    }
    return residual_backward(dsummed, dbranch), gradients


def output_projection_backward(dattended, concat, W_o):
    """Carry dattended back through attended = concat @ W_o.T, with W_o stored as (out, in).

    Args:
        dattended: (..., T, d_model) gradient of the projection's answer.
        concat: (..., T, h * d_v) what the heads found, side by side.
        W_o: (d_model, h * d_v) output projection.

    Returns:
        dconcat, shaped as concat, and dW_o, shaped as W_o.
    """
    dconcat = dattended @ W_o  # the forward pass multiplied by W_o.T
    answers = dattended.reshape(-1, W_o.shape[0])  # every token a row
    inputs = concat.reshape(-1, W_o.shape[1])
    dW_o = answers.T @ inputs
    return dconcat, dW_o


def published_backward(params, transpose_w_o=True):
    """Find the gradient of the published loss for every parameter.

    Args:
        params: dict as published_params returns it.
        transpose_w_o: True carries the gradient back through W_o as it should be; False makes
            the published slip, which spoils W_q, W_k, W_v, E_token and E_pos.

    Returns:
        Dict from the names in PUBLISHED_BLOCKS to gradients, each shaped as its parameter.
    """
    trace = published_forward(params)
    dattended, gradients = published_backward_to_attention(params, trace)
    dconcat, dW_o = output_projection_backward(dattended, trace["concat"], params["W_o"])
    if not transpose_w_o:
        dconcat = dattended @ params["W_o"].T  # as on the way forward: the published slip
    dQ, dK, dV = attention_backward(
        split_heads(dconcat, 2), trace["Q"], trace["K"], trace["V"], trace["weights"]
    )
    X = trace["X"]
    dX_from_Q, dW_q, _ = linear_backward(merge_heads(dQ), X, merge_heads(params["W_q"]))
    dX_from_K, dW_k, _ = linear_backward(merge_heads(dK), X, merge_heads(params["W_k"]))
    dX_from_V, dW_v, _ = linear_backward(merge_heads(dV), X, merge_heads(params["W_v"]))
    dX = dX_from_Q + dX_from_K + dX_from_V
    dE_token, dE_pos = embedding_backward(dX, PUBLISHED_TOKENS, vocab_size=6, max_len=5)
    return gradients | {
        "W_o": dW_o,
        "W_q": split_heads(dW_q, 2),  # (16, 16), heads side by side, to (2, 16, 8)
        "W_k": split_heads(dW_k, 2),
        "W_v": split_heads(dW_v, 2),
        "E_token": dE_token,
        "E_pos": dE_pos,
    }


def published_step(params, gradients):
    """Take the published AdamW step, the first: lr 0.001, weight decay 0.01.

    Args:
        params, gradients: dicts with the names in PUBLISHED_BLOCKS.

    Returns:
        Three dicts with the same names: parameters, first moments and second moments afterwards.
    """
    new_params, m, v = {}, {}, {}
    for name in PUBLISHED_BLOCKS:
        zeros = np.zeros_like(params[name])
        new_params[name], m[name], v[name] = adamw_update(
            params[name], gradients[name], zeros, zeros, t=1
        )
    return new_params, m, v
