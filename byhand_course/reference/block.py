"""One transformer block: attention and feed-forward, each normed before and added after.

Sizes: B sequences of T tokens with d_model features. A gradient dy has the shape of y.
Source: Radford et al. 2019 (GPT-2), pre-norm as in Xiong et al. 2020, arXiv:2002.04745; derived
on worked pages 6, 10 and 11.
"""

from byhand_course.reference.feed_forward import feed_forward, feed_forward_backward
from byhand_course.reference.layer_norm import layer_norm, layer_norm_backward
from byhand_course.reference.multi_head import (
    multi_head_attention,
    multi_head_attention_backward,
)


def transformer_block(
    x,
    ln1_gamma,
    ln1_beta,
    W_q,
    W_k,
    W_v,
    W_o,
    ln2_gamma,
    ln2_beta,
    W_1,
    b_1,
    W_2,
    b_2,
    num_heads,
):
    """Add to every token what attention found, then what the feed-forward network made of it.

    Args:
        x: (..., T, d_model) the residual stream.
        ln1_gamma, ln1_beta: (d_model,) of the norm before attention.
        W_q, W_k, W_v, W_o, num_heads: as multi_head_attention takes them.
        ln2_gamma, ln2_beta: (d_model,) of the norm before feed_forward.
        W_1, b_1, W_2, b_2: as feed_forward takes them.

    Returns:
        (..., T, d_model), as x.
    """
    normed_1 = layer_norm(x, ln1_gamma, ln1_beta)
    attended = multi_head_attention(normed_1, W_q, W_k, W_v, W_o, num_heads)
    middle = x + attended
    normed_2 = layer_norm(middle, ln2_gamma, ln2_beta)
    fed = feed_forward(normed_2, W_1, b_1, W_2, b_2)
    return middle + fed


def residual_backward(dout, dbranch):
    """Carry dout back through x + f(x): the gradients of the two ways add.

    Args:
        dout: gradient of x + f(x), shaped as x.
        dbranch: what f's own backward pass made of dout, shaped as x.

    Returns:
        dx, shaped as x; where f does nothing, dx is dout.
    """
    return dout + dbranch


def transformer_block_backward(
    dout,
    x,
    ln1_gamma,
    ln1_beta,
    W_q,
    W_k,
    W_v,
    W_o,
    ln2_gamma,
    ln2_beta,
    W_1,
    b_1,
    W_2,
    b_2,
    num_heads,
):
    """Carry dout, shaped as x, back to the input and the twelve parameters.

    Args:
        dout: (..., T, d_model) gradient of transformer_block's answer.
        x, ln1_gamma, ..., num_heads: as transformer_block took them.

    Returns:
        dx, shaped as x, and a dict of gradients with the parameters' names.
    """
    normed_1 = layer_norm(x, ln1_gamma, ln1_beta)
    attended = multi_head_attention(normed_1, W_q, W_k, W_v, W_o, num_heads)
    middle = x + attended
    normed_2 = layer_norm(middle, ln2_gamma, ln2_beta)

    dnormed_2, dW_1, db_1, dW_2, db_2 = feed_forward_backward(dout, normed_2, W_1, b_1, W_2, b_2)
    dbranch_2, dln2_gamma, dln2_beta = layer_norm_backward(dnormed_2, middle, ln2_gamma)
    dmiddle = residual_backward(dout, dbranch_2)
    dnormed_1, dW_q, dW_k, dW_v, dW_o = multi_head_attention_backward(
        dmiddle, normed_1, W_q, W_k, W_v, W_o, num_heads
    )
    dbranch_1, dln1_gamma, dln1_beta = layer_norm_backward(dnormed_1, x, ln1_gamma)
    dx = residual_backward(dmiddle, dbranch_1)
    gradients = {
        "ln1_gamma": dln1_gamma,
        "ln1_beta": dln1_beta,
        "W_q": dW_q,
        "W_k": dW_k,
        "W_v": dW_v,
        "W_o": dW_o,
        "ln2_gamma": dln2_gamma,
        "ln2_beta": dln2_beta,
        "W_1": dW_1,
        "b_1": db_1,
        "W_2": dW_2,
        "b_2": db_2,
    }
    return dx, gradients
