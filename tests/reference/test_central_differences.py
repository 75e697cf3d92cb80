"""Every backward function against the slopes that central differences measure.

Sizes are all different from each other, h * d_v is not d_model, and batch axes come first.
"""

import numpy as np
import pytest
from reference.witnesses import SENTENCE, numeric_gradient, odd_params

from byhand_course.reference import (
    COURSE_SIZES,
    attention,
    attention_backward,
    backward,
    causal_mask,
    cross_entropy,
    cross_entropy_backward,
    embed_with_positions,
    embedding_backward,
    feed_forward,
    feed_forward_backward,
    forward,
    gelu,
    gelu_backward,
    init_params,
    layer_norm,
    layer_norm_backward,
    linear,
    linear_backward,
    multi_head_attention,
    multi_head_attention_backward,
    numerical_gradient,
    output_projection_backward,
    residual_backward,
    softmax,
    softmax_backward,
    transformer_block,
    transformer_block_backward,
)

BOUND = 1e-9  # five-point differences reach 1e-10 or better here; a missing term is off by 0.1
LEADING = [(), (2,), (2, 4)]  # no batch axis, one, two


def slopes(function, dout, *variables):
    """Measure the gradient of (dout * function(*variables)).sum() for each variable."""

    def loss():
        return (dout * function(*variables)).sum()

    return [numeric_gradient(loss, variable) for variable in variables]


@pytest.mark.parametrize("leading", LEADING)
def test_softmax_backward_is_the_slope_of_softmax(leading, rng, witness):
    """softmax_backward returns the slopes of softmax."""
    dout, scores = rng.normal(size=(2, *leading, 3, 5))
    measured = slopes(softmax, dout, scores)
    found = [softmax_backward(dout, softmax(scores))]
    witness("central differences: softmax_backward", found, measured, BOUND)


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("masked", [False, True])
def test_attention_backward_is_the_slope_of_attention(masked, leading, rng, witness):
    """dQ, dK and dV are the slopes of attention, with a mask and without."""
    T, S, d_k, d_v = 3, 4, 2, 5
    Q, K, V = (rng.normal(size=(*leading, *n)) for n in [(T, d_k), (S, d_k), (S, d_v)])
    dout = rng.normal(size=(*leading, T, d_v))
    mask = causal_mask(S)[:T] if masked else None
    measured = slopes(lambda Q, K, V: attention(Q, K, V, mask)[0], dout, Q, K, V)
    _, weights = attention(Q, K, V, mask)
    found = attention_backward(dout, Q, K, V, weights)
    witness("central differences: attention_backward", list(found), measured, BOUND)


@pytest.mark.parametrize("leading", LEADING)
def test_multi_head_backward_is_the_slope_of_multi_head(leading, rng, witness):
    """All five gradients are slopes, where d_k, d_v, T, h and d_model all differ."""
    T, d_model, h, d_k, d_v = 4, 7, 2, 3, 5
    shapes = [(*leading, T, d_model), (d_model, h * d_k), (d_model, h * d_k), (d_model, h * d_v)]
    variables = [rng.normal(0, 0.6, n) for n in [*shapes, (h * d_v, d_model)]]
    dout = rng.normal(size=(*leading, T, d_model))
    measured = slopes(lambda *v: multi_head_attention(*v, num_heads=h), dout, *variables)
    found = multi_head_attention_backward(dout, *variables, num_heads=h)
    witness("central differences: multi_head_attention_backward", list(found), measured, BOUND)


@pytest.mark.parametrize("leading", LEADING)
@pytest.mark.parametrize("eps", [1e-5, 0.3])
def test_layer_norm_backward_is_the_slope_of_layer_norm(eps, leading, rng, witness):
    """dx, dgamma and dbeta are slopes, with a small eps and with one that shows."""
    dout, x = rng.normal(1, 2, (2, *leading, 3, 5))
    gamma, beta = rng.normal(1, 2, (2, 5))
    measured = slopes(lambda *v: layer_norm(*v, eps=eps), dout, x, gamma, beta)
    found = layer_norm_backward(dout, x, gamma, eps=eps)
    witness("central differences: layer_norm_backward", list(found), measured, BOUND)


@pytest.mark.parametrize("leading", LEADING)
def test_linear_backward_is_the_slope_of_linear(leading, rng, witness):
    """dX, dW and db are slopes."""
    X, W, b = (rng.normal(size=n) for n in [(*leading, 3, 5), (5, 7), 7])
    dout = rng.normal(size=(*leading, 3, 7))
    measured = slopes(linear, dout, X, W, b)
    witness("central differences: linear_backward", linear_backward(dout, X, W), measured, BOUND)


@pytest.mark.parametrize("leading", LEADING)
def test_output_projection_backward_is_the_slope_of_the_projection(leading, rng, witness):
    """output_projection_backward returns the slopes of concat @ W_o.T, and so does linear's."""
    dout, concat = rng.normal(size=(*leading, 3, 5)), rng.normal(size=(*leading, 3, 4))
    W_o = rng.normal(size=(5, 4))
    measured = slopes(lambda concat, W_o: concat @ W_o.T, dout, concat, W_o)
    found = output_projection_backward(dout, concat, W_o)
    witness("central differences: output_projection_backward", found, measured, BOUND)
    dconcat, dW, _ = linear_backward(dout, concat, W_o.T)
    witness("identities: output projection is a linear layer", found, (dconcat, dW.T), 1e-14)


def test_gelu_backward_is_the_slope_of_gelu(rng, witness):
    """gelu_backward returns slopes, at 0 and far out as well."""
    x = np.concatenate([[0, 1, -1, 6, -6], rng.normal(0, 2, 9)])
    dout = rng.normal(size=x.shape)
    measured = slopes(gelu, dout, x)
    witness("central differences: gelu_backward", [gelu_backward(dout, x)], measured, BOUND)


@pytest.mark.parametrize("leading", LEADING)
def test_feed_forward_backward_is_the_slope_of_feed_forward(leading, rng, witness):
    """dX and the four parameters' gradients are slopes."""
    variables = [rng.normal(0, 0.7, n) for n in [(*leading, 3, 5), (5, 7), 7, (7, 5), 5]]
    dout = rng.normal(size=(*leading, 3, 5))
    measured = slopes(feed_forward, dout, *variables)
    found = feed_forward_backward(dout, *variables)
    witness("central differences: feed_forward_backward", list(found), measured, BOUND)


def test_residual_backward_is_the_slope_of_a_sum(rng, witness):
    """The gradient of x + f(x) is the skip's plus the branch's."""
    dout, x = rng.normal(size=(2, 3, 5))
    measured = slopes(lambda x: x + gelu(x), dout, x)
    found = [residual_backward(dout, gelu_backward(dout, x))]
    witness("central differences: residual_backward", found, measured, BOUND)


@pytest.mark.parametrize("leading", LEADING[:2])
def test_block_backward_is_the_slope_of_the_block(leading, rng, witness):
    """dx and the twelve parameters' gradients are slopes."""
    params = odd_params(rng, d_model=6, d_ff=7, vocab_size=5, num_layers=1, max_len=4)
    block = {n.removeprefix("blocks.0."): p for n, p in params.items() if n.startswith("blocks")}
    x = rng.normal(size=(*leading, 4, 6))
    dout = rng.normal(size=x.shape)

    def loss():
        return (dout * transformer_block(x, **block, num_heads=3)).sum()

    measured = {name: numeric_gradient(loss, parameter) for name, parameter in block.items()}
    dx, found = transformer_block_backward(dout, x, **block, num_heads=3)
    name = "central differences: transformer_block_backward"
    witness(name, {"x": dx, **found}, {"x": numeric_gradient(loss, x), **measured}, BOUND)


@pytest.mark.parametrize("leading", LEADING)
def test_cross_entropy_backward_is_the_slope_of_cross_entropy(leading, rng, witness):
    """dlogits are slopes, one large N for all batch axes."""
    logits = rng.normal(0, 2, (*leading, 3, 7))
    targets = rng.integers(7, size=(*leading, 3))
    measured = numeric_gradient(lambda: cross_entropy(logits, targets), logits)
    found = cross_entropy_backward(logits, targets)
    witness("central differences: cross_entropy_backward", found, measured, BOUND)


@pytest.mark.parametrize("leading", LEADING)
def test_embedding_backward_is_the_slope_of_the_lookup(leading, rng, witness):
    """Both tables get their slopes, rows of repeated and of unused ids included."""
    tokens, positions = rng.normal(size=(6, 5)), rng.normal(size=(4, 5))
    ids = np.broadcast_to([2, 0, 2], (*leading, 3))
    dX = rng.normal(size=(*leading, 3, 5))
    measured = slopes(lambda *tables: embed_with_positions(ids, *tables), dX, tokens, positions)
    found = embedding_backward(dX, ids, vocab_size=6, max_len=4)
    witness("central differences: embedding_backward", list(found), measured, BOUND)


def model_slopes(params, ids, targets, num_heads):
    """Measure the slope of the loss for every parameter of a model."""

    def loss():
        return cross_entropy(forward(ids, params, num_heads), targets)

    return {name: numeric_gradient(loss, parameter) for name, parameter in params.items()}


def test_backward_gives_all_3648_slopes_of_the_course_model(witness):
    """Every one of the course model's parameters gets the slope of the loss."""
    params = init_params(COURSE_SIZES, 0)
    measured = model_slopes(params, SENTENCE[:-1], SENTENCE[1:], 2)
    assert sum(gradient.size for gradient in measured.values()) == 3648
    found = backward(params, SENTENCE[:-1], SENTENCE[1:], 2)
    witness("central differences: backward, all 3,648 parameters", found, measured, BOUND)


def test_backward_gives_every_slope_of_an_odd_model(rng, witness):
    """So does every parameter of two layers, three heads and two sequences."""
    params = odd_params(rng, d_model=6, d_ff=7, vocab_size=5, num_layers=2, max_len=4)
    ids, targets = rng.integers(5, size=(2, 2, 3))
    measured = model_slopes(params, ids, targets, 3)
    found = backward(params, ids, targets, 3)
    witness("central differences: backward, 2 layers, 3 heads, batch", found, measured, BOUND)


def test_the_learners_gradient_checker_measures_known_slopes(rng, witness):
    """numerical_gradient finds the gradient of a cubic, and leaves x as it was."""
    x = rng.normal(size=(2, 3))
    x.flags.writeable = False  # a write would raise
    found = numerical_gradient(lambda x: (x**3 + 2 * x).sum(), x)
    bound = 1e-9  # two points and h = 1e-5: h^2 and 1e-16 / h, both about 1e-10
    witness("known slopes: numerical_gradient", found, 3 * x**2 + 2, bound)
    whole = numerical_gradient(lambda x: (x**2).sum(), np.array([1, 2, -3]))
    witness("known slopes: numerical_gradient, integer x", whole, np.array([2, 4, -6]), bound)
