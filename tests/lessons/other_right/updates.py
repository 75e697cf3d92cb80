"""Right updates, training steps and repairs, written in other ways."""

import numpy as np

from byhand_course.reference import (
    adamw_update,
    backward,
    cross_entropy,
    forward,
    linear_backward,
)


def as_pytorch_writes_it(p, g, m, v, t, lr=1e-3, b1=0.9, b2=0.999, eps=1e-8, weight_decay=0.01):
    """Corrections moved into the rate and the root, but eps added after both."""
    p = p - lr * weight_decay * p
    m, v = m + (1 - b1) * (g - m), b2 * v + (1 - b2) * g * g
    denominator = np.sqrt(v) / np.sqrt(1 - b2**t) + eps
    return p - lr / (1 - b1**t) * m / denominator, m, v


def decay_of_the_old_parameter(
    p, g, m, v, t, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01
):
    """The paper's own line: step and decay in one bracket."""
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * np.square(g)
    step = (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + eps)
    return p - lr * (step + weight_decay * p), m, v


def entry_by_entry(p, g, m, v, t, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01):
    """A loop over all entries."""
    three = [np.array(part, dtype=float) for part in (p, m, v)]
    for place in np.ndindex(three[0].shape):
        entries = (np.asarray(one)[place] for one in (p, g, m, v))
        after = adamw_update(*entries, t, lr, beta1, beta2, eps, weight_decay)
        for part, entry in zip(three, after, strict=True):
            part[place] = entry
    return tuple(three)


def by_comprehension(params, state, ids, targets, num_heads=2, *settings, **named):
    """Dict comprehensions, lists, and gradients before the loss."""
    gradients, t = backward(params, ids, targets, num_heads), 1 + state["t"]
    after = {
        name: adamw_update(p, gradients[name], state["m"][name], state["v"][name], t, *settings)
        for name, p in params.items()
    }
    parts = [{name: three[place] for name, three in after.items()} for place in range(3)]
    loss = cross_entropy(forward(ids, params, num_heads), targets)
    return parts[0], {"v": parts[2], "m": parts[1], "t": t}, float(loss)


def by_einsum(dattended, concat, W_o):
    rows, columns = dattended.reshape(-1, len(W_o)), concat.reshape(-1, W_o.shape[1])
    dW_o = np.einsum("td,tc->dc", rows, columns)
    return np.einsum("...d,dc->...c", dattended, W_o), dW_o


def as_a_linear_layer(dattended, concat, W_o):
    dconcat, dW, _ = linear_backward(dattended, concat, W_o.T)
    return [dconcat, dW.T]


def token_by_token(dattended, concat, W_o):
    """Loops over tokens, weights on the left."""
    dconcat, dW_o = np.zeros(concat.shape, W_o.dtype), np.zeros_like(W_o)
    for place in np.ndindex(dattended.shape[:-1]):
        dconcat[place] = W_o.T @ dattended[place]
        dW_o += np.outer(dattended[place], concat[place])
    return dconcat, dW_o


RIGHT = {
    "adamw-update": (as_pytorch_writes_it, decay_of_the_old_parameter, entry_by_entry),
    "train-step": (by_comprehension,),
    "output-projection-backward": (by_einsum, as_a_linear_layer, token_by_token),
}
