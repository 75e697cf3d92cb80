"""Matrix multiplication as a batch of projections.

Sizes: B sequences of T tokens with d_model features, projected to d_k features.
Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2; used on worked page 2.
"""


def project(X, W):
    """Give every token its d_k dot products with the columns of W.

    Args:
        X: (T, d_model) tokens, one a row.
        W: (d_model, d_k) weights, one new feature a column.

    Returns:
        (T, d_k); row t depends on token t alone.
    """
    return X @ W


def project_batch(X, W):
    """Project every token of every sequence with the same weights.

    Args:
        X: (B, T, d_model) tokens.
        W: (d_model, d_k) weights, shared by all sequences.

    Returns:
        (B, T, d_k).
    """
    return X @ W  # W is broadcast over B
