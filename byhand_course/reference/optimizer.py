"""AdamW: Adam with decoupled weight decay.

Sizes: a parameter, its gradient and its two moments share one shape, any shape.
Source: Loshchilov and Hutter 2019, arXiv:1711.05101; Kingma and Ba 2015, arXiv:1412.6980;
derived on worked page 13.
"""

import numpy as np


def adamw_update(
    parameter,
    gradient,
    m,
    v,
    t,
    lr=1e-3,
    beta1=0.9,
    beta2=0.999,
    eps=1e-8,
    weight_decay=0.01,
):
    """Take step t of AdamW for one parameter.

    Args:
        parameter, gradient: of one shape.
        m, v: running means of the gradient and of its square, zeros before the first step.
        t: number of this step, counted from 1.
        lr: learning rate.
        beta1, beta2: how much of m and of v is kept.
        eps: added to the root, so that a zero gradient stays finite.
        weight_decay: share of the parameter, times lr, that decays in a step.

    Returns:
        parameter, m, v after the step, new arrays of the same shape.
    """
    decayed = parameter * (1 - lr * weight_decay)  # apart from m and v: not rescaled by them
    m = beta1 * m + (1 - beta1) * gradient
    v = beta2 * v + (1 - beta2) * gradient**2
    m_hat = m / (1 - beta1**t)  # m and v start at 0, so early means are too small
    v_hat = v / (1 - beta2**t)
    stepped = decayed - lr * m_hat / (np.sqrt(v_hat) + eps)
    return stepped, m, v
