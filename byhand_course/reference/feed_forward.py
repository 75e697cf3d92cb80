"""Linear layers, GELU and the feed-forward network, forward and backward.

Sizes: tokens of d_model features, widened to d_ff and brought back. A gradient dy has the shape
of y.
Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.3; Hendrycks and Gimpel 2016,
arXiv:1606.08415; derived on worked pages 5, 9 and 10.
"""

import math

import numpy as np


def linear(X, W, b):
    """Multiply by a weight matrix and add a bias.

    Args:
        X: (..., d_in) inputs.
        W: (d_in, d_out) weights.
        b: (d_out,) bias.

    Returns:
        (..., d_out).
    """
    return X @ W + b


def linear_backward(dout, X, W):
    """Carry dout, (..., d_out), back to dX, dW and db, shaped as X, W and the bias.

    Args:
        dout: (..., d_out) gradient of linear's answer.
        X: (..., d_in) inputs.
        W: (d_in, d_out) weights.

    Returns:
        dX (..., d_in), dW (d_in, d_out), db (d_out,).
    """
    X_rows = X.reshape(-1, X.shape[-1])  # every token of every sequence a row
    dout_rows = dout.reshape(-1, dout.shape[-1])
    dX = dout @ W.T
    dW = X_rows.T @ dout_rows
    db = dout_rows.sum(axis=0)
    return dX, dW, db


def gelu(x):
    """Let positive numbers pass and hold negative ones back, smoothly: GELU in its tanh form.

    Args:
        x: any shape.

    Returns:
        Shaped as x, within 5e-4 of the exact GELU.
    """
    inner = (2 / np.pi) ** 0.5 * (x + 0.044715 * x**3)
    return 0.5 * x * (1 + np.tanh(inner))


def gelu_exact(x):
    """Multiply x by the chance that a standard normal number lies below it: GELU's erf form.

    Args:
        x: any shape.

    Returns:
        Shaped as x.
    """
    erfc = np.vectorize(math.erfc, otypes=[np.result_type(x, 0.0)])  # erfc(z) = 1 - erf(z)
    return 0.5 * x * erfc(-x / 2**0.5)


def gelu_backward(dout, x):
    """Carry dout back through gelu to dx, both shaped as x.

    Args:
        dout: gradient of gelu's answer.
        x: what gelu was given.

    Returns:
        dx, dout times the slope of gelu (tanh form) at x.
    """
    inner = (2 / np.pi) ** 0.5 * (x + 0.044715 * x**3)
    dinner = (2 / np.pi) ** 0.5 * (1 + 3 * 0.044715 * x**2)
    tanh = np.tanh(inner)
    share = 0.5 * (1 + tanh)  # how much of x gelu lets through
    dshare = 0.5 * (1 - tanh**2) * dinner
    return dout * (share + x * dshare)


def feed_forward(X, W_1, b_1, W_2, b_2):
    """Widen every token, bend it with GELU and bring it back.

    Args:
        X: (..., T, d_model) tokens.
        W_1, b_1: (d_model, d_ff), (d_ff,) of the widening layer.
        W_2, b_2: (d_ff, d_model), (d_model,) of the narrowing layer.

    Returns:
        (..., T, d_model).
    """
    wide = linear(X, W_1, b_1)  # (..., T, d_ff)
    hidden = gelu(wide)
    return linear(hidden, W_2, b_2)


def feed_forward_backward(dout, X, W_1, b_1, W_2, b_2):
    """Carry dout, shaped as X, back to the input and the four parameters.

    Args:
        dout: (..., T, d_model) gradient of feed_forward's answer.
        X, W_1, b_1, W_2, b_2: as feed_forward took them.

    Returns:
        dX, dW_1, db_1, dW_2, db_2, each shaped as what it is the gradient of.
    """
    wide = linear(X, W_1, b_1)
    hidden = gelu(wide)
    dhidden, dW_2, db_2 = linear_backward(dout, hidden, W_2)
    dwide = gelu_backward(dhidden, wide)
    dX, dW_1, db_1 = linear_backward(dwide, X, W_1)
    return dX, dW_1, db_1, dW_2, db_2
