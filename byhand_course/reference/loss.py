"""Cross-entropy of the next token, forward and backward.

Sizes: logits (..., V) over a vocabulary of V tokens, targets (...); N targets in all.
Source: Goodfellow, Bengio and Courville 2016, Deep Learning, section 6.2.2; derived on worked
pages 7 and 8.
"""

import numpy as np

from byhand_course.reference.softmax import softmax


def cross_entropy(logits, targets):
    """Measure the surprise at the right tokens, in nats, averaged over all targets.

    Args:
        logits: (..., V) one score for each token of the vocabulary.
        targets: (...) integer ids of the right tokens.

    Returns:
        A number: ln V for equal logits, 0 when every right token is certain.
    """
    shifted = logits - logits.max(axis=-1, keepdims=True)  # so that exp cannot overflow
    log_totals = np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    log_probabilities = shifted - log_totals
    right = np.take_along_axis(log_probabilities, np.expand_dims(targets, -1), axis=-1)
    return -right.mean()


def cross_entropy_backward(logits, targets):
    """Give the gradient of cross_entropy for its logits: p - y, divided by N.

    Args:
        logits: (..., V).
        targets: (...) integer ids.

    Returns:
        dlogits, shaped as logits; each row sums to 0.
    """
    probabilities = softmax(logits)
    is_target = np.expand_dims(targets, -1) == np.arange(logits.shape[-1])  # one True a row
    return (probabilities - is_target) / np.size(targets)  # the loss is a mean over N
