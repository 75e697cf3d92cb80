"""Scaled dot-product attention: queries, keys and values, one head, the mask, the gradient.

Sizes: T queries look at S keys (S = T within one sequence); queries and keys have d_k features,
values d_v. "..." is any number of leading axes: batch, heads.
Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2; derived on worked pages 2, 3 and 11.
"""

import numpy as np

from byhand_course.reference.softmax import softmax, softmax_backward


def qkv(X, W_q, W_k, W_v):
    """Let every token ask (query), offer (key) and answer (value).

    Args:
        X: (..., T, d_model) tokens.
        W_q, W_k: (d_model, d_k) weights of queries and keys.
        W_v: (d_model, d_v) weights of values.

    Returns:
        Q, K, both (..., T, d_k), and V, (..., T, d_v).
    """
    Q = X @ W_q
    K = X @ W_k
    V = X @ W_v
    return Q, K, V


def soft_lookup(query, keys, values):
    """Look a query up in a dictionary that answers with a blend of all its values.

    Args:
        query: (d_k,), or (..., T, d_k) for T queries at once.
        keys: (..., S, d_k), one key a row.
        values: (..., S, d_v), one value a row.

    Returns:
        (d_v,) or (..., T, d_v): values weighted by softmax of query-key dot products, unscaled.
    """
    scores = query @ keys.swapaxes(-1, -2)  # one for each key
    weights = softmax(scores)
    return weights @ values


def attention_scores(Q, K):
    """Take the dot product of every query with every key.

    Args:
        Q: (..., T, d_k) queries.
        K: (..., S, d_k) keys.

    Returns:
        (..., T, S); row t holds the scores of query t.
    """
    return Q @ K.swapaxes(-1, -2)  # only the last two axes: leading ones stay in place


def scale_scores(scores, d_k):
    """Bring the variance of the scores back from d_k to 1.

    Args:
        scores: (..., T, S) dot products of vectors with d_k features.
        d_k: number of features of a query.

    Returns:
        (..., T, S).
    """
    return scores / d_k**0.5


def attention_weights(scores):
    """Turn each query's scores into weights over the keys.

    Args:
        scores: (..., T, S); -inf hides a key from a query.

    Returns:
        (..., T, S); each row sums to 1.
    """
    return softmax(scores, axis=-1)


def attend(weights, V):
    """Blend the values as the weights say.

    Args:
        weights: (..., T, S), one row for each query.
        V: (..., S, d_v) values.

    Returns:
        (..., T, d_v).
    """
    return weights @ V


def attention_head(X, W_q, W_k, W_v):
    """Let every token look at all tokens of its sequence.

    Args:
        X: (..., T, d_model) tokens.
        W_q, W_k: (d_model, d_k) weights of queries and keys.
        W_v: (d_model, d_v) weights of values.

    Returns:
        output (..., T, d_v) and weights (..., T, T).
    """
    Q, K, V = qkv(X, W_q, W_k, W_v)
    scores = attention_scores(Q, K)
    scaled = scale_scores(scores, K.shape[-1])
    weights = attention_weights(scaled)
    output = attend(weights, V)
    return output, weights


def causal_mask(n):
    """Mark what a token may not see: every token after it.

    Args:
        n: number of tokens.

    Returns:
        (n, n) booleans, True where query (row) may not look at key (column).
    """
    return np.triu(np.ones((n, n), dtype=bool), k=1)  # k=1: a token sees itself


def masked_attention_head(X, W_q, W_k, W_v):
    """Let every token look at itself and at the tokens before it.

    Args:
        X: (..., T, d_model) tokens.
        W_q, W_k: (d_model, d_k) weights of queries and keys.
        W_v: (d_model, d_v) weights of values.

    Returns:
        output (..., T, d_v) and weights (..., T, T), 0 above the diagonal.
    """
    Q, K, V = qkv(X, W_q, W_k, W_v)
    scores = attention_scores(Q, K)
    scaled = scale_scores(scores, K.shape[-1])
    hidden = causal_mask(X.shape[-2])
    masked = np.where(hidden, -np.inf, scaled)  # before softmax, so that rows still sum to 1
    weights = attention_weights(masked)
    output = attend(weights, V)
    return output, weights


def worked_row(X, W_q, W_k, W_v, t):
    """Follow one token through a head that hides the future, to write it on a whiteboard.

    Args:
        X: (T, d_model) tokens.
        W_q, W_k: (d_model, d_k) weights of queries and keys.
        W_v: (d_model, d_v) weights of values.
        t: which token asks, counted from 0; it sees itself and the t tokens before it.

    Returns:
        scores (t + 1,), divided by the root of d_k; weights (t + 1,); output (d_v,).
    """
    Q, K, V = qkv(X, W_q, W_k, W_v)
    query = Q[t]
    keys, values = K[: t + 1], V[: t + 1]  # leaving the future out hides it as a mask does
    scores = keys @ query / K.shape[-1] ** 0.5
    weights = softmax(scores)
    output = weights @ values
    return scores, weights, output


def leaks(head, X):
    """Find out whether a head lets any token see a later one.

    Args:
        head: a function that takes tokens, (T, d_model), and returns its output, (T, d_v).
        X: (T, d_model) tokens to try it on; it stays as it is.

    Returns:
        True if a change of some token moves the output of an earlier one, False if none does.
    """
    before = head(X)
    for t in range(1, len(X)):
        changed = X.copy()
        changed[t] = changed[t] + 1
        after = head(changed)
        if not np.allclose(after[:t], before[:t]):
            return True
    return False


def permutation_gap(layer, X, order):
    """Measure whether a layer knows more of its tokens than which they are.

    Args:
        layer: function from (T, d_model) to (T, d), a row for each token.
        X: (T, d_model) tokens.
        order: (T,) the new order: row t of the reordered tokens is row order[t] of X.

    Returns:
        A number: the largest absolute difference between what the layer answers to the reordered
        tokens, and its answer to X, reordered the same way. 0 if the layer ignores order.
    """
    after_reordering = layer(X[order])
    reordered_after = layer(X)[order]
    return np.abs(after_reordering - reordered_after).max()


def attention(Q, K, V, mask=None):
    """Compute softmax(Q K^T / sqrt(d_k)) V.

    Args:
        Q: (..., T, d_k) queries.
        K: (..., S, d_k) keys.
        V: (..., S, d_v) values.
        mask: (T, S) booleans, True where a query may not look; None hides nothing.

    Returns:
        output (..., T, d_v) and weights (..., T, S); a query that may look nowhere gets zeros.
    """
    scores = attention_scores(Q, K)
    scaled = scale_scores(scores, K.shape[-1])
    if mask is not None:
        scaled = np.where(mask, -np.inf, scaled)
    weights = attention_weights(scaled)
    output = attend(weights, V)
    return output, weights


def attention_backward(dout, Q, K, V, weights):
    """Carry dout, (..., T, d_v), back to dQ, dK and dV, shaped as Q, K and V.

    Args:
        dout: (..., T, d_v) gradient of attention's output.
        Q, K, V: (..., T, d_k), (..., S, d_k), (..., S, d_v), with the same leading axes.
        weights: (..., T, S) attention's weights; a hidden key has weight 0, so its score gets
            gradient 0 and the mask is not needed again.

    Returns:
        dQ, dK, dV.
    """
    dV = weights.swapaxes(-1, -2) @ dout
    dweights = dout @ V.swapaxes(-1, -2)
    dscaled = softmax_backward(dweights, weights)
    dscores = dscaled / K.shape[-1] ** 0.5  # the forward pass divided by sqrt(d_k)
    dQ = dscores @ K
    dK = dscores.swapaxes(-1, -2) @ Q
    return dQ, dK, dV
