"""The one function that the course lends: a gradient checker, for whoever has none of their own.

It is a measuring tool and no formula of the model, and it measures in another way than lesson 13
asks for. It runs where it is called, so it can be handed functions, in grading too.
Source: Abramowitz and Stegun 1964, table 25.2: the first derivative from four points.
"""

from collections.abc import Callable

import numpy as np

STEP = 1e-3  # the error is of order STEP^4 and rounding / STEP, both below 1e-11


def numerical_gradient(f: Callable[[np.ndarray], float], x: np.ndarray) -> np.ndarray:
    """The gradient of f at x, measured at two points on either side of each entry.

    Args:
        f: function of one array, returning a number; it is handed arrays of its own.
        x: array of any shape; it stays as it is.

    Returns:
        array of floats, shaped as x.
    """
    center = np.array(x, dtype=float)

    def slope(index: tuple[int, ...]) -> float:
        values = []
        for steps in (-2, -1, 1, 2):
            moved = center.copy()
            moved[index] += steps * STEP
            values.append(f(moved))
        return (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * STEP)

    slopes = [slope(index) for index in np.ndindex(center.shape)]
    return np.array(slopes, dtype=float).reshape(center.shape)


LENT: dict[str, Callable] = {"numerical_gradient": numerical_gradient}
