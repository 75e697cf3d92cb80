"""Sinusoidal position encoding.

Sizes: n positions, each a row of d_model features.
Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.5; used in lesson 5.
"""

import numpy as np


def sinusoidal_positions(n, d_model):
    """Give every position its own row of sines and cosines, from fast waves to slow ones.

    Args:
        n: number of positions.
        d_model: number of features; when it is odd, the last sine stands without its cosine.

    Returns:
        (n, d_model): columns 2i and 2i + 1 hold sin and cos of position / 10000^(2i / d_model).
    """
    positions = np.arange(n)[:, None]  # (n, 1)
    pairs = np.arange(d_model) // 2 * 2  # 0 0 2 2 4 4 ...: both columns of a pair share 2i
    angles = positions / 10000 ** (pairs / d_model)  # (n, d_model)
    encoding = np.zeros((n, d_model))
    encoding[:, 0::2] = np.sin(angles[:, 0::2])
    encoding[:, 1::2] = np.cos(angles[:, 1::2])
    return encoding
