"""Softmax, its temperature, its entropy and its gradient.

Sizes: scores of any shape; each slice of n scores along an axis becomes n weights.
Source: Bridle 1990, Neurocomputing; Goodfellow, Bengio and Courville 2016, Deep Learning,
sections 4.1 and 6.2.2; derived on worked pages 3 and 11.
"""

import numpy as np


def softmax(scores, axis=-1):
    """Turn scores into positive weights that sum to 1 along an axis.

    Args:
        scores: any shape; -inf marks an entry that must get weight 0.
        axis: the axis along which the weights sum to 1.

    Returns:
        Weights, shaped as scores; float32 stays float32 and integers become float64.
        A slice whose scores are all -inf has nothing to choose from: its weights are all 0.
    """
    largest = scores.max(axis=axis, keepdims=True)
    largest = np.where(np.isneginf(largest), 0.0, largest)  # -inf - -inf would be nan
    exponentials = np.exp(scores - largest)  # at most 1: nothing overflows
    total = exponentials.sum(axis=axis, keepdims=True)
    return exponentials / np.where(total == 0, 1, total)


def softmax_with_temperature(scores, temperature):
    """Sharpen (temperature below 1) or flatten (above 1) the weights that softmax gives.

    Args:
        scores: (..., n).
        temperature: a positive number.

    Returns:
        (..., n) weights that sum to 1 over the last axis.
    """
    return softmax(scores / temperature)


def entropy(weights):
    """Measure how evenly weights are spread, in nats.

    Args:
        weights: (..., n), not negative, summing to 1 over the last axis.

    Returns:
        (...): 0 when one weight is 1, ln n when all n are equal. A weight of 0 adds nothing.
    """
    safe = np.where(weights > 0, weights, 1)  # ln 1 = 0, the limit of w ln w as w goes to 0
    terms = safe * np.log(safe)
    return 0 - terms.sum(axis=-1)  # 0 - 0 is 0, where -0 would print as -0.0


def softmax_backward(dweights, weights):
    """Carry dweights back to dscores, both shaped as weights, (..., n).

    Args:
        dweights: (..., n) gradient of the weights.
        weights: (..., n) what softmax returned over the last axis.

    Returns:
        (..., n) gradient of the scores; each row sums to 0.
    """
    average = (dweights * weights).sum(axis=-1, keepdims=True)  # weighted by the weights
    return weights * (dweights - average)
