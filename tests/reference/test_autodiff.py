"""The whole model against an independent automatic differentiation, HIPS autograd.

The model is written again here, from the paper's formulas and in another way: one-hot products
for look-ups, one head at a time, a multiplied mask, a logistic GELU, a loss of logit differences.
"""

import autograd
import autograd.numpy as anp
import numpy as np
import pytest
from reference.witnesses import SENTENCE, odd_params

from byhand_course.reference import (
    COURSE_SIZES,
    backward,
    cross_entropy,
    forward,
    gelu,
    gelu_backward,
    init_params,
    layer_norm,
    layer_norm_backward,
    multi_head_attention,
    multi_head_attention_backward,
)

BOUND = 1e-12  # float64 rounding through up to three blocks; about 1e-15 for most arrays

MODELS = {  # sizes, heads, shape of ids
    "2 layers, 3 heads, batch 2": ({"d_model": 6, "d_ff": 7, "num_layers": 2}, 3, (2, 4)),
    "3 layers, 1 head, no batch": ({"d_model": 5, "d_ff": 3, "num_layers": 3}, 1, (4,)),
    "1 layer, 4 heads, batch (2, 3)": ({"d_model": 8, "d_ff": 11, "num_layers": 1}, 4, (2, 3, 5)),
    "no layer at all": ({"d_model": 4, "d_ff": 2, "num_layers": 0}, 1, (2, 3)),
}


def norm(x, gamma, beta, eps=1e-5):
    """Layer norm from NumPy's own mean and variance."""
    return (x - anp.mean(x, -1, keepdims=True)) * gamma / anp.sqrt(
        anp.var(x, -1, keepdims=True) + eps
    ) + beta


def logistic_gelu(x):
    """GELU's tanh form, written with the logistic function: (1 + tanh u) / 2 = 1 / (1 + e^-2u)."""
    return x / (1 + anp.exp(-anp.sqrt(8 / anp.pi) * (x + 0.044715 * x**3)))


def causal_heads(x, W_q, W_k, W_v, W_o, h):
    """Causal multi-head attention, one head after the other, its share of W_o at once."""
    T, d_k, d_v = x.shape[-2], W_q.shape[1] // h, W_v.shape[1] // h
    allowed = np.tril(np.ones((T, T)))
    total = 0
    for i in range(h):
        ks, vs = slice(i * d_k, (i + 1) * d_k), slice(i * d_v, (i + 1) * d_v)
        scores = anp.einsum("...td,de,fe,...sf->...ts", x, W_q[:, ks], W_k[:, ks], x)
        unnormed = anp.exp(scores / np.sqrt(d_k)) * allowed
        weights = unnormed / anp.sum(unnormed, -1, keepdims=True)
        total = total + anp.einsum("...ts,...sd,de,ef->...tf", weights, x, W_v[:, vs], W_o[vs])
    return total


def logits_of(params, ids, h):
    """The whole model."""
    V, T = len(params["token_embedding"]), ids.shape[-1]
    x = np.eye(V)[ids] @ params["token_embedding"] + params["position_embedding"][:T]
    layer = 0
    while f"blocks.{layer}.W_q" in params:
        p = {n.split(".")[-1]: a for n, a in params.items() if n.startswith(f"blocks.{layer}.")}
        heads = norm(x, p["ln1_gamma"], p["ln1_beta"]), p["W_q"], p["W_k"], p["W_v"], p["W_o"]
        x = x + causal_heads(*heads, h)
        wide = anp.dot(norm(x, p["ln2_gamma"], p["ln2_beta"]), p["W_1"]) + p["b_1"]
        x = x + anp.dot(logistic_gelu(wide), p["W_2"]) + p["b_2"]
        layer += 1
    return anp.dot(norm(x, params["lnf_gamma"], params["lnf_beta"]), params["W_out"])


def loss_of(params, ids, targets, h):
    """Mean over all targets of ln sum exp(logit - right logit)."""
    logits = logits_of(params, ids, h)
    right = anp.sum(logits * np.eye(logits.shape[-1])[targets], -1, keepdims=True)
    return anp.mean(anp.log(anp.sum(anp.exp(logits - right), -1)))


def hear(witness, name, params, ids, targets, h):
    """Compare logits, loss and every gradient."""
    logits = forward(ids, params, h)
    witness(f"autograd: logits, {name}", logits, logits_of(params, ids, h), BOUND)
    loss = cross_entropy(logits, targets)
    witness(f"autograd: loss, {name}", loss, loss_of(params, ids, targets, h), BOUND)
    expected = autograd.grad(loss_of)(params, ids, targets, h)
    witness(f"autograd: gradients, {name}", backward(params, ids, targets, h), expected, BOUND)


def test_the_course_model_agrees_with_autograd(witness):
    """Logits, loss and all 3,648 gradients agree at the course's sizes."""
    params = init_params(COURSE_SIZES, 1)
    hear(witness, "course", params, SENTENCE[:-1], SENTENCE[1:], 2)


@pytest.mark.parametrize("name", MODELS)
def test_odd_models_agree_with_autograd(name, rng, witness):
    """So they do for models of other depths, heads and batch axes, T below max_len."""
    sizes, h, shape = MODELS[name]
    params = odd_params(rng, **sizes, vocab_size=9, max_len=7)
    ids, targets = rng.integers(9, size=(2, *shape))
    hear(witness, name, params, ids, targets, h)


def test_heads_with_wide_values_agree_with_autograd(rng, witness):
    """Multi-head attention may have values wider than its keys."""
    T, d_model, h, d_k, d_v = 5, 8, 2, 3, 7
    shapes = [(2, T, d_model), (d_model, h * d_k), (d_model, h * d_k), (d_model, h * d_v)]
    variables = [rng.normal(0, 0.5, n) for n in [*shapes, (h * d_v, d_model)]]
    dout = rng.normal(size=(2, T, d_model))
    expected = causal_heads(*variables, h)
    witness("autograd: wide values", multi_head_attention(*variables, h), expected, BOUND)
    gradient = autograd.grad(lambda v: anp.sum(dout * causal_heads(*v, h)))
    found = multi_head_attention_backward(dout, *variables, h)
    witness("autograd: wide values, gradients", list(found), gradient(variables), BOUND)


def test_gelu_and_its_slope_agree_with_autograd(witness):
    """GELU and its slope agree from -8 to 8."""
    x = np.linspace(-8, 8, 161)
    witness("autograd: gelu", gelu(x), logistic_gelu(x), BOUND)
    slope = autograd.elementwise_grad(logistic_gelu)(x)
    witness("autograd: gelu_backward", gelu_backward(np.ones(161), x), slope, BOUND)


def test_a_nearly_flat_token_agrees_with_autograd(rng, witness):
    """Layer norm is right where eps matters, which central differences cannot resolve."""
    x, dout = rng.normal(1.5, 2, (2, 2, 3, 5))
    x[1, 2] = 1.5 + 1e-3 * rng.normal(size=5)
    gamma, beta = rng.normal(2, 0.5, (2, 5))
    bound = 1e-11  # the flat token keeps 13 of its 16 digits when its mean is taken off
    witness("autograd: flat token", layer_norm(x, gamma, beta), norm(x, gamma, beta), bound)
    gradient = autograd.grad(lambda v: anp.sum(dout * norm(*v)))([x, gamma, beta])
    found = layer_norm_backward(dout, x, gamma)
    witness("autograd: flat token, gradients", list(found), gradient, bound)
