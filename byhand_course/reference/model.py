"""The whole model: parameters, logits, every gradient, one complete training step.

Sizes: ids (..., T) with T at most max_len; logits (..., T, vocab_size); parameters in a flat dict
from name to array, those of block 0 named "blocks.0.W_q" and so on.
Source: Radford et al. 2019 (GPT-2); derived on worked pages 1 to 13.
"""

import numpy as np

from byhand_course.reference.block import transformer_block, transformer_block_backward
from byhand_course.reference.embedding import embed_with_positions, embedding_backward
from byhand_course.reference.feed_forward import linear_backward
from byhand_course.reference.layer_norm import layer_norm, layer_norm_backward
from byhand_course.reference.loss import cross_entropy, cross_entropy_backward
from byhand_course.reference.optimizer import adamw_update

COURSE_SIZES = {
    "d_model": 16,
    "num_heads": 2,
    "d_ff": 64,
    "vocab_size": 10,
    "num_layers": 1,
    "max_len": 5,
}


def init_params(sizes, rng):
    """Draw every parameter of a model.

    A weight that n numbers flow into is drawn with standard deviation 1/sqrt(n), so normed tokens
    give queries, keys and values of variance 1, scaled scores of variance about 1, and attention
    weights that visibly differ. W_out gets a quarter of that: the first loss is near
    ln vocab_size. Embeddings have variance 1. Norms start near the identity and biases near 0,
    but not at them (by 0.1), so that one left out of a calculation shows.

    Args:
        sizes: dict with d_model, d_ff, vocab_size, num_layers and max_len, as COURSE_SIZES.
        rng: numpy Generator, or the seed of one.

    Returns:
        Dict from name to float64 array, in the order of the forward pass.
    """
    rng = np.random.default_rng(rng)
    d_model, d_ff, vocab_size = sizes["d_model"], sizes["d_ff"], sizes["vocab_size"]
    params = {
        "token_embedding": rng.normal(0, 1, (vocab_size, d_model)),
        "position_embedding": rng.normal(0, 1, (sizes["max_len"], d_model)),
    }
    for layer in range(sizes["num_layers"]):
        params |= {
            f"blocks.{layer}.ln1_gamma": rng.normal(1, 0.1, d_model),
            f"blocks.{layer}.ln1_beta": rng.normal(0, 0.1, d_model),
            f"blocks.{layer}.W_q": rng.normal(0, d_model**-0.5, (d_model, d_model)),
            f"blocks.{layer}.W_k": rng.normal(0, d_model**-0.5, (d_model, d_model)),
            f"blocks.{layer}.W_v": rng.normal(0, d_model**-0.5, (d_model, d_model)),
            f"blocks.{layer}.W_o": rng.normal(0, d_model**-0.5, (d_model, d_model)),
            f"blocks.{layer}.ln2_gamma": rng.normal(1, 0.1, d_model),
            f"blocks.{layer}.ln2_beta": rng.normal(0, 0.1, d_model),
            f"blocks.{layer}.W_1": rng.normal(0, d_model**-0.5, (d_model, d_ff)),
            f"blocks.{layer}.b_1": rng.normal(0, 0.1, d_ff),
            f"blocks.{layer}.W_2": rng.normal(0, d_ff**-0.5, (d_ff, d_model)),
            f"blocks.{layer}.b_2": rng.normal(0, 0.1, d_model),
        }
    params |= {
        "lnf_gamma": rng.normal(1, 0.1, d_model),
        "lnf_beta": rng.normal(0, 0.1, d_model),
        "W_out": rng.normal(0, 0.25 * d_model**-0.5, (d_model, vocab_size)),
    }
    return params


def parameter_count(params):
    """Count the numbers that training may change.

    Args:
        params: dict from name to array.

    Returns:
        An integer, 3648 at COURSE_SIZES.
    """
    return sum(parameter.size for parameter in params.values())


def block_params(params, layer):
    """Pick out one block's parameters, under the names that transformer_block gives them.

    Args:
        params: dict from name to array.
        layer: number of the block, counted from 0.

    Returns:
        Dict from "ln1_gamma", ... to array; empty when there is no such block.
    """
    prefix = f"blocks.{layer}."
    return {
        name.removeprefix(prefix): parameter
        for name, parameter in params.items()
        if name.startswith(prefix)
    }


def forward(ids, params, num_heads=2):
    """Score every token of the vocabulary as the next one, at every position.

    Args:
        ids: (..., T) token ids.
        params: dict from name to array, of a model with any number of blocks.
        num_heads: number of heads in every block.

    Returns:
        (..., T, vocab_size) logits; row t depends on ids 0 to t.
    """
    num_layers = sum(name.endswith(".W_q") for name in params)
    x = embed_with_positions(ids, params["token_embedding"], params["position_embedding"])
    for layer in range(num_layers):
        x = transformer_block(x, **block_params(params, layer), num_heads=num_heads)
    normed = layer_norm(x, params["lnf_gamma"], params["lnf_beta"])
    return normed @ params["W_out"]


def backward(params, ids, targets, num_heads=2):
    """Find the gradient of the mean cross-entropy for every parameter.

    Args:
        params: dict from name to array, of a model with any number of blocks.
        ids: (..., T) token ids.
        targets: (..., T) the token that should follow each of them.
        num_heads: number of heads in every block.

    Returns:
        Dict from name to gradient, each shaped as its parameter.
    """
    num_layers = sum(name.endswith(".W_q") for name in params)
    x = embed_with_positions(ids, params["token_embedding"], params["position_embedding"])
    block_inputs = []
    for layer in range(num_layers):
        block_inputs.append(x)
        x = transformer_block(x, **block_params(params, layer), num_heads=num_heads)
    normed = layer_norm(x, params["lnf_gamma"], params["lnf_beta"])
    logits = normed @ params["W_out"]

    gradients = {}
    dlogits = cross_entropy_backward(logits, targets)
    dnormed, gradients["W_out"], _ = linear_backward(dlogits, normed, params["W_out"])
    dx, gradients["lnf_gamma"], gradients["lnf_beta"] = layer_norm_backward(
        dnormed, x, params["lnf_gamma"]
    )
    for layer in reversed(range(num_layers)):
        dx, block_gradients = transformer_block_backward(
            dx, block_inputs[layer], **block_params(params, layer), num_heads=num_heads
        )
        for name, gradient in block_gradients.items():
            gradients[f"blocks.{layer}.{name}"] = gradient
    gradients["token_embedding"], gradients["position_embedding"] = embedding_backward(
        dx, ids, len(params["token_embedding"]), len(params["position_embedding"])
    )
    return {name: gradients[name] for name in params}  # in the order of params


def init_state(params):
    """Give the optimiser its state before the first step.

    Args:
        params: dict from name to array.

    Returns:
        Dict with t, the number of steps taken, and m and v, dicts of zeros shaped as params.
    """
    return {
        "t": 0,
        "m": {name: np.zeros_like(parameter) for name, parameter in params.items()},
        "v": {name: np.zeros_like(parameter) for name, parameter in params.items()},
    }


def train_step(
    params,
    state,
    ids,
    targets,
    num_heads=2,
    lr=1e-3,
    beta1=0.9,
    beta2=0.999,
    eps=1e-8,
    weight_decay=0.01,
):
    """Train the model once: loss, every gradient, one AdamW step for every parameter.

    Args:
        params: dict from name to array.
        state: dict with t, the number of steps taken, and m and v, dicts with the names of params.
        ids: (..., T) token ids.
        targets: (..., T) the token that should follow each of them.
        num_heads: number of heads in every block.
        lr, beta1, beta2, eps, weight_decay: as adamw_update takes them, for all parameters.

    Returns:
        params and state after the step, in new dicts, and the loss of the params given.
    """
    logits = forward(ids, params, num_heads)
    loss = cross_entropy(logits, targets)
    gradients = backward(params, ids, targets, num_heads)
    t = state["t"] + 1
    new_params, new_m, new_v = {}, {}, {}
    for name in params:
        new_params[name], new_m[name], new_v[name] = adamw_update(
            params[name],
            gradients[name],
            state["m"][name],
            state["v"][name],
            t,
            lr=lr,
            beta1=beta1,
            beta2=beta2,
            eps=eps,
            weight_decay=weight_decay,
        )
    return new_params, {"t": t, "m": new_m, "v": new_v}, loss
