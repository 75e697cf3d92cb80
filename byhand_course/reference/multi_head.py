"""Multi-head causal attention, forward and backward.

Sizes: T tokens of d_model features; h = num_heads heads, with d_k features in each query and
key and d_v in each value. A gradient dy has the shape of y.
Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2; derived on worked pages 4 and 11.
"""

from byhand_course.reference.attention import attention, attention_backward, causal_mask, qkv
from byhand_course.reference.feed_forward import linear_backward


def split_heads(X, num_heads):
    """Cut every token's features into one slice for each head.

    Args:
        X: (..., T, num_heads * d_head) tokens; head i owns the i-th d_head features.
        num_heads: number of heads.

    Returns:
        (..., num_heads, T, d_head).
    """
    *leading, T, d_model = X.shape
    slices = X.reshape(*leading, T, num_heads, d_model // num_heads)
    return slices.swapaxes(-2, -3)  # heads before tokens


def merge_heads(heads):
    """Put the heads' slices side by side again, undoing split_heads.

    Args:
        heads: (..., num_heads, T, d_head).

    Returns:
        (..., T, num_heads * d_head).
    """
    slices = heads.swapaxes(-2, -3)  # tokens before heads
    *leading, T, num_heads, d_head = slices.shape
    return slices.reshape(*leading, T, num_heads * d_head)


def multi_head_attention(X, W_q, W_k, W_v, W_o, num_heads):
    """Let every head attend to the past in its own way, then mix what they found.

    Args:
        X: (..., T, d_model) tokens.
        W_q, W_k: (d_model, h * d_k) weights of all heads' queries and keys, side by side.
        W_v: (d_model, h * d_v) weights of all heads' values.
        W_o: (h * d_v, d_model) output projection.
        num_heads: h.

    Returns:
        (..., T, d_model); row t depends on tokens 0 to t.
    """
    Q, K, V = qkv(X, W_q, W_k, W_v)
    Q_heads = split_heads(Q, num_heads)
    K_heads = split_heads(K, num_heads)
    V_heads = split_heads(V, num_heads)
    hidden = causal_mask(X.shape[-2])
    out_heads, _ = attention(Q_heads, K_heads, V_heads, hidden)
    concat = merge_heads(out_heads)  # (..., T, h * d_v)
    return concat @ W_o


def multi_head_attention_backward(dout, X, W_q, W_k, W_v, W_o, num_heads):
    """Carry dout, shaped as X, back to the input and the four weight matrices.

    Args:
        dout: (..., T, d_model) gradient of multi_head_attention's answer.
        X, W_q, W_k, W_v, W_o, num_heads: as multi_head_attention took them.

    Returns:
        dX, dW_q, dW_k, dW_v, dW_o, each shaped as what it is the gradient of.
    """
    Q, K, V = qkv(X, W_q, W_k, W_v)
    Q_heads = split_heads(Q, num_heads)
    K_heads = split_heads(K, num_heads)
    V_heads = split_heads(V, num_heads)
    hidden = causal_mask(X.shape[-2])
    out_heads, weights = attention(Q_heads, K_heads, V_heads, hidden)
    concat = merge_heads(out_heads)

    dconcat, dW_o, _ = linear_backward(dout, concat, W_o)
    dout_heads = split_heads(dconcat, num_heads)
    dQ_heads, dK_heads, dV_heads = attention_backward(
        dout_heads, Q_heads, K_heads, V_heads, weights
    )
    dX_from_Q, dW_q, _ = linear_backward(merge_heads(dQ_heads), X, W_q)
    dX_from_K, dW_k, _ = linear_backward(merge_heads(dK_heads), X, W_k)
    dX_from_V, dW_v, _ = linear_backward(merge_heads(dV_heads), X, W_v)
    dX = dX_from_Q + dX_from_K + dX_from_V  # X was used three times
    return dX, dW_q, dW_k, dW_v, dW_o
