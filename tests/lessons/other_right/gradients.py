"""Right gradients of loss, linear layer, network and norm, written in other ways."""

import numpy as np

from byhand_course.reference import gelu, gelu_backward, softmax


def one_hot_rows(logits, targets):
    return (softmax(logits) - np.eye(logits.shape[-1])[targets]) / targets.size


def subtracted_by_index(logits, targets):
    rows = softmax(logits).reshape(-1, logits.shape[-1])
    rows[np.arange(len(rows)), targets.ravel()] -= 1
    return (rows / len(rows)).reshape(logits.shape)


def row_after_row(logits, targets):
    dlogits = np.zeros(logits.shape)
    for place in np.ndindex(targets.shape):
        powers = np.exp(logits[place] - logits[place].max())
        dlogits[place] = powers / powers.sum()
        dlogits[place][targets[place]] -= 1
    return dlogits / targets.size


def by_einsum(dout, X, W):
    axes = tuple(range(X.ndim - 1))
    return np.einsum("...j,ij->...i", dout, W), np.tensordot(X, dout, (axes, axes)), dout.sum(axes)


def summed_afterwards(dout, X, W):
    dW, db = X.swapaxes(-1, -2) @ dout, dout
    while dW.ndim > 2:
        dW = dW.sum(axis=0)
    while db.ndim > 1:
        db = db.sum(axis=0)
    return [(W @ dout[..., None])[..., 0], dW, db]


def token_after_token(dout, X, W):
    dX, dW, db = np.zeros(X.shape), np.zeros(W.shape), np.zeros(W.shape[1])
    for t in np.ndindex(X.shape[:-1]):
        dX[t] = W @ dout[t]
        dW += np.outer(X[t], dout[t])
        db += dout[t]
    return dX, dW, db


def moved_by_a_unit_step(f, x, h=1e-5):
    gradient = np.zeros(x.shape)
    for place in range(x.size):
        step = np.zeros(x.size)
        step[place] = h
        step = step.reshape(x.shape)
        gradient.flat[place] = (f(x + step) - f(x - step)) / (2 * h)
    return gradient


def moved_up_and_down_again(f, x, h=1e-5):
    moved = x.astype(float)
    gradient = np.empty_like(moved)
    for index in np.ndindex(*moved.shape):
        moved[index] += h
        above = f(moved)
        moved[index] -= 2 * h
        gradient[index] = (above - f(moved)) / 2 / h
        moved[index] += h
    return gradient


def with_factors_multiplied_out(dout, x):
    root = np.sqrt(2 / np.pi)
    tanh = np.tanh(root * (x + 0.044715 * x * x * x))
    return 0.5 * dout * (1 + tanh + x * (1 - tanh * tanh) * root * (1 + 0.134145 * x * x))


def with_the_hyperbolic_cosine(dout, x):
    root = (2 / np.pi) ** 0.5
    inner = root * (x + 0.044715 * x**3)
    squared = 1 / np.cosh(np.clip(inner, -300, 300)) ** 2
    return dout * (0.5 + 0.5 * np.tanh(inner) + 0.5 * x * squared * root * (1 + 0.134145 * x**2))


def written_out(dout, X, W_1, b_1, W_2, b_2):
    axes = tuple(range(X.ndim - 1))
    wide = X @ W_1 + b_1
    dwide = gelu_backward(dout @ W_2.T, wide)
    dW_1, dW_2 = (np.tensordot(a, b, (axes, axes)) for a, b in ((X, dwide), (gelu(wide), dout)))
    return dwide @ W_1.T, dW_1, dwide.sum(axes), dW_2, dout.sum(axes)


def through_mean_and_variance(dout, x, gamma, eps=1e-5):
    axes = tuple(range(x.ndim - 1))
    centered = x - x.mean(-1, keepdims=True)
    variance = x.var(-1, keepdims=True)
    std = np.sqrt(variance + eps)
    dxhat = dout * gamma
    dvariance = (dxhat * centered).sum(-1, keepdims=True) * -0.5 * (variance + eps) ** -1.5
    dmean = (-dxhat / std).sum(-1, keepdims=True)
    dx = dxhat / std + dvariance * 2 * centered / x.shape[-1] + dmean / x.shape[-1]
    return dx, (dout * centered / std).sum(axes), dout.sum(axes)


def by_the_whole_jacobian(dout, x, gamma, eps=1e-5):
    d_model = x.shape[-1]
    dx, dgamma, dbeta = np.zeros(x.shape), np.zeros(d_model), np.zeros(d_model)
    for t in np.ndindex(x.shape[:-1]):
        std = np.sqrt(x[t].var() + eps)
        xhat = (x[t] - x[t].mean()) / std
        jacobian = (np.eye(d_model) - 1 / d_model - np.outer(xhat, xhat) / d_model) / std
        dx[t] = (dout[t] * gamma) @ jacobian
        dgamma += dout[t] * xhat
        dbeta += dout[t]
    return dx, dgamma, dbeta


def added_to_a_copy(dout, dbranch):
    dx = dout.copy()
    dx += dbranch
    return dx


RIGHT = {
    "cross-entropy-backward": (one_hot_rows, subtracted_by_index, row_after_row),
    "linear-backward": (by_einsum, summed_afterwards, token_after_token),
    "numerical-gradient": (moved_by_a_unit_step, moved_up_and_down_again),
    "gelu-backward": (with_factors_multiplied_out, with_the_hyperbolic_cosine),
    "feed-forward-backward": (written_out,),
    "layer-norm-backward": (through_mean_and_variance, by_the_whole_jacobian),
    "residual-backward": (added_to_a_copy,),
}
