"""Layer normalization over the last axis, forward and backward.

Sizes: B sequences of T tokens with d_model features. A gradient dy has the shape of y.
Source: Ba, Kiros and Hinton 2016, arXiv:1607.06450; derived on worked page 10.
"""

import numpy as np


def layer_norm(x, gamma, beta, eps=1e-5):
    """Bring each token to mean 0 and variance 1, then scale and shift its features.

    Args:
        x: (..., T, d_model) activations.
        gamma, beta: (d_model,) learned scale and shift.
        eps: added to the variance, so that a constant token stays finite.

    Returns:
        (..., T, d_model), as x.
    """
    centered = x - x.mean(axis=-1, keepdims=True)
    variance = (centered**2).mean(axis=-1, keepdims=True)  # over d_model, not d_model - 1
    return gamma * centered / np.sqrt(variance + eps) + beta


def layer_norm_backward(dout, x, gamma, eps=1e-5):
    """Carry dout, shaped as x, back to dx, shaped as x, and dgamma, dbeta, both (d_model,).

    Args:
        dout: (..., T, d_model) gradient of layer_norm's answer.
        x, gamma, eps: as layer_norm took them.

    Returns:
        dx, dgamma, dbeta.
    """
    centered = x - x.mean(axis=-1, keepdims=True)
    inverse_std = 1 / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + eps)
    xhat = centered * inverse_std
    dgamma = (dout * xhat).reshape(-1, x.shape[-1]).sum(axis=0)
    dbeta = dout.reshape(-1, x.shape[-1]).sum(axis=0)
    dxhat = dout * gamma
    dx = inverse_std * (
        dxhat
        - dxhat.mean(axis=-1, keepdims=True)  # x moves its token's mean
        - xhat * (dxhat * xhat).mean(axis=-1, keepdims=True)  # and its variance
    )
    return dx, dgamma, dbeta
