"""Gradients by measurement: central differences.

Sizes: f takes an array x of any shape to a number; the gradient is shaped as x.
Source: LeVeque 2007, Finite Difference Methods, section 1.1; used from lesson 13 on.
"""

import numpy as np


def numerical_gradient(f, x, h=1e-5):
    """Measure how f changes when each entry of x is moved a little, up and down.

    Args:
        f: function of one array, returning a number; it is handed a copy of x.
        x: array of any shape.
        h: how far an entry moves. The error shrinks as h^2 until rounding, of order 1e-16 / h.

    Returns:
        The gradient of f at x, shaped as x.
    """
    moved = np.array(x, dtype=float)  # a copy, so that x stays as it is
    gradient = np.zeros(moved.shape)
    for index in np.ndindex(moved.shape):
        center = moved[index]
        moved[index] = center + h
        above = f(moved)
        moved[index] = center - h
        below = f(moved)
        moved[index] = center
        gradient[index] = (above - below) / (2 * h)
    return gradient
