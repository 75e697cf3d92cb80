"""What must hold whatever the numbers are: identities, known values, sizes of things."""

import math

import numpy as np
import pytest

from byhand_course.reference import (
    COURSE_SIZES,
    adamw_update,
    attention,
    attention_head,
    attention_scores,
    attention_weights,
    backward,
    block_params,
    causal_mask,
    cosine_similarity,
    cross_entropy,
    cross_entropy_backward,
    dot,
    embed,
    embed_with_positions,
    embedding_backward,
    entropy,
    forward,
    gelu,
    gelu_exact,
    init_params,
    layer_norm,
    layer_norm_backward,
    leaks,
    masked_attention_head,
    merge_heads,
    multi_head_attention,
    one_hot,
    parameter_count,
    permutation_gap,
    project,
    project_batch,
    qkv,
    rank_by_similarity,
    residual_backward,
    scale_scores,
    sinusoidal_positions,
    soft_lookup,
    softmax,
    softmax_backward,
    softmax_with_temperature,
    split_heads,
    transformer_block,
    worked_row,
)

EXACT = 0  # the same operations on the same numbers
ROUNDING = 1e-13  # a few float64 operations on numbers of order 1, in another order


def test_dot_adds_up_products(rng, witness):
    """A dot product is what Python's exact sum of products gives."""
    a, b = rng.normal(size=(2, 9))
    expected = math.fsum(x * y for x, y in zip(a, b, strict=True))
    witness("identity: dot", dot(a, b), expected, ROUNDING)


def test_cosine_is_the_cosine_of_the_angle(witness):
    """Vectors at 0, 60, 90 and 180 degrees, of any length, have the cosines of these angles."""
    for degrees in (0, 60, 90, 180):
        angle = math.radians(degrees)
        other = 7 * np.array([math.cos(angle), math.sin(angle)])
        found = cosine_similarity(np.array([0.2, 0]), other)
        witness("identity: cosine_similarity", np.array([1, found]), [1, math.cos(angle)], ROUNDING)


def test_ranking_goes_by_direction_and_keeps_ties(witness):
    """Length does not count, and equally similar rows stay in the order given."""
    vectors = np.array([[0.0, 9], [1, 0], [-1, 0], [2, 0], [1, 1], [4, 0]])
    ranked = rank_by_similarity(np.array([3.0, 0]), vectors)
    witness("identity: rank_by_similarity", ranked, np.array([1, 3, 5, 4, 0, 2]), EXACT)


def test_projection_takes_dot_products_with_columns(rng, witness):
    """Entry (t, j) is row t's dot product with column j; a batch is its sequences."""
    X, W = rng.normal(size=(2, 3, 5)), rng.normal(size=(5, 4))
    expected = np.array([[dot(row, column) for column in W.T] for row in X[0]])
    witness("identity: project", project(X[0], W), expected, ROUNDING)
    expected = np.stack([project(sequence, W) for sequence in X])
    witness("identity: project_batch", project_batch(X, W), expected, ROUNDING)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_softmax_sums_to_one_along_its_axis(axis, rng, witness):
    """So it does along every axis, with scores of thousands."""
    weights = softmax(rng.normal(0, 1e3, (2, 3, 5)), axis=axis)
    sums = weights.sum(axis=axis)
    witness("identity: softmax sums to 1", sums, np.ones_like(sums), ROUNDING)
    assert (weights >= 0).all()


def test_softmax_ignores_a_shift(rng, witness):
    """Adding a number to a row of scores changes nothing, and ratios are e to the difference."""
    scores = rng.normal(size=(3, 5))
    shifted = softmax(scores + np.array([[100], [-3], [0.5]]))
    witness("identity: softmax shift invariance", shifted, softmax(scores), ROUNDING)
    ratios = softmax(scores)[:, 1:] / softmax(scores)[:, :-1]
    witness("identity: softmax ratios", ratios, np.exp(np.diff(scores)), ROUNDING)


def test_temperature_divides_the_scores(rng, witness):
    """Temperature 1 is softmax; a ratio of weights is taken to the power 1 / temperature."""
    scores = rng.normal(size=(2, 5))
    witness(
        "identity: temperature 1", softmax_with_temperature(scores, 1.0), softmax(scores), EXACT
    )
    powers = softmax(scores) ** (1 / 0.4)
    expected = powers / powers.sum(axis=-1, keepdims=True)
    witness("identity: temperature", softmax_with_temperature(scores, 0.4), expected, ROUNDING)


def test_entropy_runs_from_zero_to_ln_n(rng, witness):
    """A sure choice has entropy 0, n equal ones ln n, two halves ln 2; warmth raises it."""
    weights = np.array([[1.0, 0, 0, 0], [0.25, 0.25, 0.25, 0.25], [0.5, 0, 0.5, 0]])
    expected = np.array([0, math.log(4), math.log(2)])
    witness("identity: entropy", entropy(weights), expected, ROUNDING)
    scores = rng.normal(size=5)
    heated = [entropy(softmax_with_temperature(scores, t)) for t in (0.1, 1, 10)]
    assert heated == sorted(heated)


def test_softmax_gradient_rows_sum_to_zero(rng, witness):
    """A shift of the scores changes nothing, so the gradient has no part along it."""
    dscores = softmax_backward(rng.normal(size=(2, 3, 5)), softmax(rng.normal(size=(2, 3, 5))))
    sums = dscores.sum(axis=-1)
    witness("identity: softmax_backward rows sum to 0", sums, np.zeros((2, 3)), ROUNDING)


def test_one_hot_times_a_table_is_a_lookup(rng, witness):
    """one_hot(ids) @ table is embed(ids, table)."""
    table, ids = rng.normal(size=(7, 4)), rng.integers(7, size=(2, 5))
    witness("identity: one-hot look-up", one_hot(ids, 7) @ table, embed(ids, table), EXACT)


def test_embedding_adds_token_and_position(rng, witness):
    """Row t is its token's vector plus position t's, in every sequence."""
    tokens, positions = rng.normal(size=(7, 4)), rng.normal(size=(6, 4))
    ids = rng.integers(7, size=(2, 5))
    expected = [[tokens[ids[b, t]] + positions[t] for t in range(5)] for b in range(2)]
    found = embed_with_positions(ids, tokens, positions)
    witness("identity: embed_with_positions", found, np.array(expected), EXACT)


def test_embedding_gradients_share_one_total(rng, witness):
    """All of dX arrives in each table, repeated ids or not, and unused rows get nothing."""
    ids, dX = np.array([[3, 3, 0], [3, 1, 1]]), rng.normal(size=(2, 3, 5))
    dtokens, dpositions = embedding_backward(dX, ids, vocab_size=6, max_len=4)
    total = dX.sum(axis=(0, 1))
    sums = [dtokens.sum(axis=0), dpositions.sum(axis=0)]
    witness("identity: embedding gradients' total", sums, [total, total], ROUNDING)
    unused = np.vstack([dtokens[[2, 4, 5]], dpositions[3:]])
    witness("identity: unused embeddings", unused, np.zeros((4, 5)), EXACT)


@pytest.mark.parametrize("d_model", [1, 6, 7])
def test_positions_are_sines_and_cosines(d_model, witness):
    """Every entry is the paper's formula, for odd d_model as well."""
    expected = np.zeros((5, d_model))
    for p in range(5):
        for column in range(d_model):
            angle = p / math.exp(math.log(10000) * (column - column % 2) / d_model)
            expected[p, column] = math.cos(angle) if column % 2 else math.sin(angle)
    witness("identity: positions", sinusoidal_positions(5, d_model), expected, ROUNDING)


def test_a_step_in_position_is_a_rotation(witness):
    """Products of two encodings depend on their distance alone."""
    encoding = sinusoidal_positions(12, 8)
    products = encoding @ encoding.T
    witness("identity: positions rotate", products[1:, 1:], products[:-1, :-1], ROUNDING)


def test_a_sharp_lookup_finds_the_matching_value(rng, witness):
    """A query far along one key returns that key's value; equal scores return the average."""
    keys, values = np.eye(3), rng.normal(size=(3, 4))
    witness("identity: sharp look-up", soft_lookup(1e3 * keys[1], keys, values), values[1], EXACT)
    found = soft_lookup(np.zeros(3), keys, values)
    witness("identity: even look-up", found, values.mean(axis=0), ROUNDING)


def test_scores_are_dot_products(rng, witness):
    """Entry (t, s) is the dot product of query t and key s, in every head of every sequence."""
    Q, K = rng.normal(size=(2, 4, 3, 5)), rng.normal(size=(2, 4, 6, 5))
    expected = np.einsum("bhtd,bhsd->bhts", Q, K)
    witness("identity: attention_scores", attention_scores(Q, K), expected, ROUNDING)


def test_scaled_scores_have_variance_one(rng, witness):
    """Scores of random vectors have variance d_k, scaled ones 1.

    20 %: the 40,000 scores share 200 queries and 200 keys, so their variance spreads by 7 %.
    """
    for d_k in (2, 8, 32):
        Q, K = rng.normal(size=(2, 200, d_k))
        scores = attention_scores(Q, K)
        witness("identity: variance of scores / d_k", scores.var() / d_k, 1.0, 0.2)
        scaled = scale_scores(scores, d_k)
        witness("identity: scaled scores", scaled * math.sqrt(d_k), scores, ROUNDING)


def test_heads_are_the_formula_in_one_line(rng, witness):
    """A head is softmax(QK^T / sqrt(d_k)) V; a masked one is attention under causal_mask."""
    X, W_q, W_k = rng.normal(size=(2, 5, 6)), *rng.normal(size=(2, 6, 3))
    W_v = rng.normal(size=(6, 4))
    Q, K, V = qkv(X, W_q, W_k, W_v)
    weights = attention_weights(Q @ K.transpose(0, 2, 1) / math.sqrt(3))
    found = attention_head(X, W_q, W_k, W_v)
    witness("identity: attention_head", found, (weights @ V, weights), ROUNDING)
    found = masked_attention_head(X, W_q, W_k, W_v)
    witness("identity: masked head", found, attention(Q, K, V, causal_mask(5)), ROUNDING)
    witness("identity: head rows sum to 1", found[1].sum(axis=-1), np.ones((2, 5)), ROUNDING)


def test_a_worked_row_is_a_row_of_the_masked_head(rng, witness):
    """Leaving the future out, a row of scores, weights and output is what a mask makes of it."""
    X, W_q, W_k = rng.normal(size=(5, 6)), *rng.normal(size=(2, 6, 3))
    W_v = rng.normal(size=(6, 4))
    output, weights = masked_attention_head(X, W_q, W_k, W_v)
    for t in range(5):
        scores = [(X[t] @ W_q) @ (X[s] @ W_k) / math.sqrt(3) for s in range(t + 1)]
        found = worked_row(X, W_q, W_k, W_v, t)
        expected = (np.array(scores), weights[t, : t + 1], output[t])
        witness("identity: worked_row", found, expected, ROUNDING)


def test_attention_without_positions_is_blind_to_order(rng, witness):
    """Permuting the tokens permutes the outputs, and does nothing else."""
    X, *weights = rng.normal(size=(5, 6)), *rng.normal(size=(3, 6, 6))
    order = rng.permutation(5)
    found, _ = attention_head(X[order], *weights)
    expected = attention_head(X, *weights)[0][order]
    witness("identity: permutation equivariance", found, expected, ROUNDING)


def test_the_mask_hides_the_future_and_nothing_else(witness):
    """Query i may look at key j where j <= i."""
    expected = np.array([[j > i for j in range(5)] for i in range(5)])
    witness("identity: causal_mask", causal_mask(5), expected, EXACT)


def test_a_future_token_changes_nothing_earlier(rng, witness):
    """Head, heads, block and model answer the same up to t, whatever comes after t."""
    d_model, T = 6, 5
    X, later = rng.normal(size=(2, T, d_model))
    W_q, W_k, W_v, W_o = rng.normal(size=(4, d_model, d_model))
    sizes = {**COURSE_SIZES, "d_model": d_model, "num_layers": 2, "max_len": T}
    params = init_params(sizes, rng)
    block = block_params(params, 0)
    functions = {
        "masked_attention_head": lambda X: masked_attention_head(X, W_q, W_k, W_v)[0],
        "multi_head_attention": lambda X: multi_head_attention(X, W_q, W_k, W_v, W_o, 3),
        "transformer_block": lambda X: transformer_block(X, **block, num_heads=3),
    }
    for t in range(T):
        changed = np.concatenate([X[: t + 1], later[t + 1 :]])
        for name, function in functions.items():
            found, expected = function(changed)[: t + 1], function(X)[: t + 1]
            witness(f"identity: no leak, {name}", found, expected, ROUNDING)
        ids = np.array([1, 3, 4, 5, 2])
        other = np.where(np.arange(T) > t, ids + 4, ids)
        found, expected = forward(other, params, 3)[: t + 1], forward(ids, params, 3)[: t + 1]
        witness("identity: no leak, forward", found, expected, ROUNDING)


def test_heads_own_their_slices(witness):
    """Feature f of token t goes to head f // d_head, and merging puts it back."""
    X = 100 * np.arange(2)[:, None, None] + 10 * np.arange(4)[:, None] + np.arange(6)
    heads = split_heads(X, 3)
    expected = np.stack([X[..., :2], X[..., 2:4], X[..., 4:]], axis=1)
    witness("identity: split_heads", heads, expected, EXACT)
    witness("identity: merge_heads", merge_heads(heads), X, EXACT)


def test_heads_work_alone(rng, witness):
    """Multi-head attention is the sum of single masked heads, each through its rows of W_o."""
    h, d_model, d_k, d_v = 3, 8, 2, 5
    X, W_q, W_k = rng.normal(size=(4, d_model)), *rng.normal(size=(2, d_model, h * d_k))
    W_v, W_o = rng.normal(size=(d_model, h * d_v)), rng.normal(size=(h * d_v, d_model))
    expected = 0
    for i in range(h):
        k, v = slice(i * d_k, (i + 1) * d_k), slice(i * d_v, (i + 1) * d_v)
        expected = expected + masked_attention_head(X, W_q[:, k], W_k[:, k], W_v[:, v])[0] @ W_o[v]
    found = multi_head_attention(X, W_q, W_k, W_v, W_o, h)
    witness("identity: multi_head_attention", found, expected, ROUNDING)


def test_layer_norm_gives_mean_zero_and_variance_one(rng, witness):
    """With gamma 1, beta 0 and no eps; gamma and beta then scale and shift each feature."""
    x, gamma, beta = rng.normal(3, 5, (2, 3, 7)), rng.normal(size=7), rng.normal(size=7)
    normed = layer_norm(x, np.ones(7), np.zeros(7), eps=0)
    witness("identity: layer_norm mean", normed.mean(axis=-1), np.zeros((2, 3)), ROUNDING)
    witness("identity: layer_norm variance", normed.var(axis=-1), np.ones((2, 3)), ROUNDING)
    found = layer_norm(x, gamma, beta, eps=0)
    witness("identity: layer_norm affine", found, normed * gamma + beta, ROUNDING)


def test_layer_norm_gradient_rows_sum_to_zero(rng, witness):
    """Adding a number to a whole token changes nothing, so dx sums to 0 over its features."""
    dout, x = rng.normal(1, 2, (2, 2, 3, 7))
    dx, _, _ = layer_norm_backward(dout, x, rng.normal(size=7))
    sums = dx.sum(axis=-1)
    witness("identity: layer_norm dx sums to 0", sums, np.zeros((2, 3)), ROUNDING)


def test_gelu_forms_lie_close_to_each_other(witness):
    """gelu_exact is x Phi(x), to 1e-15; the tanh form is within 4.8e-4 of it, but not equal."""
    x = np.linspace(-6, 6, 2401)
    expected = np.array([0.5 * value * (1 + math.erf(value / math.sqrt(2))) for value in x])
    witness("identity: gelu_exact", gelu_exact(x), expected, 1e-15)
    distance = np.abs(gelu(x) - expected).max()
    witness("identity: gelu's distance from gelu_exact", distance, 4.73e-4, 1e-2)
    witness("identity: gelu(x) - gelu(-x) is x", gelu(x) - gelu(-x), x, ROUNDING)


def test_a_block_that_adds_nothing_returns_its_input(rng, witness):
    """With W_o, W_2 and b_2 zero, a block is the residual alone, and so is its gradient."""
    block = block_params(init_params(COURSE_SIZES, 3), 0)
    for name in ("W_o", "W_2", "b_2"):
        block[name] = np.zeros_like(block[name])
    x = rng.normal(size=(2, 5, 16))
    witness("identity: idle block", transformer_block(x, **block, num_heads=2), x, EXACT)
    witness("identity: idle residual", residual_backward(x, np.zeros_like(x)), x, EXACT)


def test_uniform_logits_cost_ln_v(witness):
    """A model that knows nothing loses ln V; one that is sure and right loses nothing."""
    loss = cross_entropy(np.full((2, 3, 7), 4.0), np.ones((2, 3), dtype=int))
    witness("identity: ln V for uniform logits", loss, math.log(7), ROUNDING)
    loss = cross_entropy(1e4 * one_hot([2, 0], 3), np.array([2, 0]))
    witness("identity: no loss when sure", loss, 0, EXACT)


def test_loss_gradient_rows_sum_to_zero(rng, witness):
    """Only differences of logits count; the gradient pulls up the target and nothing else."""
    logits, targets = rng.normal(size=(2, 3, 7)), rng.integers(7, size=(2, 3))
    dlogits = cross_entropy_backward(logits, targets)
    sums = dlogits.sum(axis=-1)
    witness("identity: loss gradient rows sum to 0", sums, np.zeros((2, 3)), ROUNDING)
    assert ((dlogits < 0) == (targets[..., None] == np.arange(7))).all()


def test_the_first_adam_step_has_size_lr(witness):
    """At t = 1 every entry with a gradient moves by lr, however large it is.

    1e-2: the smallest gradient is 100 times eps.
    """
    gradient = np.array([5, -0.1, 1e-6, -1e4])
    zeros = np.zeros(4)
    after, _, _ = adamw_update(zeros, gradient, zeros, zeros, 1, lr=0.5)
    witness("identity: first AdamW step", after, -0.5 * np.sign(gradient), 1.01e-2)


def test_weight_decay_is_decoupled(witness):
    """Without a gradient a parameter shrinks by lr * weight_decay a step, and nothing else."""
    parameter, zeros = np.array([4.0, -2.0]), np.zeros(2)
    after, m, v = adamw_update(parameter, zeros, zeros, zeros, 1, lr=0.1, weight_decay=0.5)
    witness("identity: AdamW decay", [after, m, v], [0.95 * parameter, zeros, zeros], 1e-15)


def test_the_course_model_has_3648_parameters(witness):
    """The count is 3,648 at the course's sizes, and the sum over shapes at others."""
    count = parameter_count(init_params(COURSE_SIZES, 0))
    witness("identity: parameter_count, course", count, 3648, EXACT)
    sizes = {"d_model": 6, "d_ff": 7, "vocab_size": 11, "num_layers": 4, "max_len": 9}
    expected = 11 * 6 + 9 * 6 + 4 * (4 * 6 + 4 * 36 + 2 * 42 + 7 + 6) + 12 + 66
    witness("identity: parameter_count", parameter_count(init_params(sizes, 0)), expected, EXACT)


def test_the_same_seed_gives_the_same_weights(witness):
    """A seed and a generator started from it draw the same parameters."""
    params = init_params(COURSE_SIZES, 5)
    again = init_params(COURSE_SIZES, np.random.default_rng(5))
    witness("identity: init_params", again, params, EXACT)


@pytest.mark.parametrize("seed", range(5))
def test_attention_weights_visibly_differ(seed, witness):
    """In the untrained course model the last token prefers one token 2 to 1 at least."""
    params = init_params(COURSE_SIZES, seed)
    block = block_params(params, 0)
    ids = np.array([1, 3, 4, 5, 2])
    x = embed_with_positions(ids, params["token_embedding"], params["position_embedding"])
    normed = layer_norm(x, block["ln1_gamma"], block["ln1_beta"])
    heads = [split_heads(a, 2) for a in qkv(normed, block["W_q"], block["W_k"], block["W_v"])]
    _, weights = attention(*heads, causal_mask(5))
    last = weights[:, -1]
    spread = (last.max(axis=-1) / last.min(axis=-1)).min()
    witness("identity: largest weight / smallest, - 1", spread, 1.0, 1.0, differs=True)


@pytest.mark.parametrize("seed", range(5))
def test_an_untrained_model_loses_about_ln_v(seed, witness):
    """Before training the course's loss is within 15 % of ln 10."""
    ids = np.array([1, 3, 4, 5, 2])
    loss = cross_entropy(forward(ids[:-1], init_params(COURSE_SIZES, seed)), ids[1:])
    witness("identity: untrained loss / ln V", loss, math.log(10), 0.15)


@pytest.mark.parametrize("num_layers", [0, 1, 3])
def test_a_model_may_have_any_number_of_layers(num_layers, rng, witness):
    """Logits follow from the blocks one after the other, and every parameter has a gradient."""
    params = init_params({**COURSE_SIZES, "num_layers": num_layers}, rng)
    ids = np.array([1, 3, 4, 5])
    x = embed_with_positions(ids, params["token_embedding"], params["position_embedding"])
    for layer in range(num_layers):
        x = transformer_block(x, **block_params(params, layer), num_heads=2)
    expected = layer_norm(x, params["lnf_gamma"], params["lnf_beta"]) @ params["W_out"]
    witness("identity: blocks in order", forward(ids, params), expected, ROUNDING)
    gradients = backward(params, ids, np.array([3, 4, 5, 2]))
    assert list(gradients) == list(params)
    for name, gradient in gradients.items():
        assert gradient.shape == params[name].shape
        assert gradient.any(), f"{name} has no gradient"


def test_leaks_tells_causal_heads_from_leaking_ones(rng):
    """A head with the mask does not leak, without it it does; a single token never leaks."""
    X = rng.normal(size=(5, 6))
    W_q, W_k, W_v = (rng.normal(size=(6, n)) for n in (3, 3, 4))
    assert leaks(lambda X: masked_attention_head(X, W_q, W_k, W_v)[0], X) is False
    assert leaks(lambda X: attention_head(X, W_q, W_k, W_v)[0], X) is True
    assert leaks(lambda X: attention_head(X, W_q, W_k, W_v)[0], X[:1]) is False
    assert leaks(lambda X: X + (len(X) > 2) * X[[-1]], X) is True


def test_permutation_gap_tells_what_a_layer_knows_of_order(rng, witness):
    """Attention without a mask has none; adding p_t to token t, one has the largest difference."""
    X, positions, order = rng.normal(size=(5, 6)), rng.normal(size=(5, 6)), rng.permutation(5)
    W_q, W_k, W_v = (rng.normal(size=(6, n)) for n in (3, 3, 4))
    unmasked = permutation_gap(lambda X: attention_head(X, W_q, W_k, W_v)[0], X, order)
    witness("identity: permutation gap of attention", unmasked, 0.0, ROUNDING)
    masked = permutation_gap(lambda X: masked_attention_head(X, W_q, W_k, W_v)[0], X, order)
    assert masked > 0.1
    moved = max(abs(positions[t] - positions[order[t]]).max() for t in range(5))
    gap = permutation_gap(lambda X: X + positions, X, order)
    witness("identity: permutation gap of positions", gap, moved, ROUNDING)
