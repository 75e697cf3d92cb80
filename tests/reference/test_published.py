"""The published calculation: what of it is right, what is wrong, and the one slip between.

Witnesses: its model written again for autograd; central differences; figures recorded from it;
and, where the file of all its numbers lies beside the repository, every array of that file.
"""

import hashlib
from pathlib import Path

import autograd
import autograd.numpy as anp
import numpy as np
import pytest
from reference.witnesses import SENTENCE, numeric_gradient

from byhand_course.reference import (
    PUBLISHED_BLOCKS,
    PUBLISHED_TOKENS,
    published_backward,
    published_backward_to_attention,
    published_forward,
    published_params,
    published_step,
    softmax,
)

FILE = Path(__file__).parents[3] / "shared" / "attention_to_detail" / "published.npz"
LOSS = 7.459931694851013  # as published, to the last digit
WEIGHTS_SHA256 = "eb37edb154358f2decc08c217dd6802c71648f011ba0f19cf8f45eb26007e00c"
WRONG = ("W_q", "W_k", "W_v", "E_token", "E_pos")
RIGHT = tuple(name for name in PUBLISHED_BLOCKS if name not in WRONG)
WRONG_LARGEST = {
    "W_q": 0.000882525908884213,
    "W_k": 0.0007618788055131858,
    "W_v": 0.3110974053345044,
    "E_token": 0.46208119909185313,
    "E_pos": 0.46208119909185313,
}  # largest entry of each published wrong gradient, in absolute value


def own_model(params):
    """Compute every array of the published forward pass, with formulas of this test's own."""
    X = np.eye(6)[SENTENCE] @ params["E_token"] + params["E_pos"]
    Q, K, V = (anp.einsum("td,hdk->htk", X, params[name]) for name in ("W_q", "W_k", "W_v"))
    unnormed = anp.exp(anp.einsum("htk,hsk->hts", Q, K) / np.sqrt(8)) * np.tril(np.ones((5, 5)))
    weights = unnormed / anp.sum(unnormed, -1, keepdims=True)
    heads = anp.einsum("hts,hsv->htv", weights, V)
    concat = anp.concatenate([heads[0], heads[1]], axis=1)
    return {"X": X, "Q": Q, "K": K, "V": V, "weights": weights, "heads": heads, "concat": concat}


def own_tail(params, attended):
    """Compute what follows attention, up to the sum of four losses."""
    wide = anp.einsum("td,fd->tf", attended, params["W1"]) + params["b1"]
    gelu = wide / (1 + anp.exp(-anp.sqrt(8 / anp.pi) * (wide + 0.044715 * wide**3)))
    fed = anp.einsum("tf,df->td", gelu, params["W2"]) + params["b2"]
    summed = attended + fed
    centered = summed - anp.mean(summed, -1, keepdims=True)
    normed = centered / anp.sqrt(anp.var(summed, -1, keepdims=True) + 1e-5)
    normed = normed * params["gamma"] + params["beta"]
    return {"fed": fed, "summed": summed, "normed": normed, "loss": own_loss(params, normed)}


def own_loss(params, normed):
    """Compute the sum of four losses from the block's output."""
    logits = anp.einsum("td,vd->tv", normed, params["W_lm"])[:4]
    right = anp.sum(logits * np.eye(6)[SENTENCE[1:]], -1, keepdims=True)
    return anp.sum(anp.log(anp.sum(anp.exp(logits - right), -1)))


def own_total(params):
    """Compute the published loss from the parameters."""
    attended = anp.einsum("tc,dc->td", own_model(params)["concat"], params["W_o"])
    return own_tail(params, attended)["loss"]


@pytest.fixture(scope="module")
def params():
    """The published weights, by their recipe."""
    return published_params()


def test_the_recipe_gives_the_published_weights(params):
    """3,456 weights follow from random.gauss after seed 42, bit for bit."""
    assert tuple(params) == PUBLISHED_BLOCKS
    assert sum(parameter.size for parameter in params.values()) == 3456
    assert (PUBLISHED_TOKENS == SENTENCE).all()
    digest = hashlib.sha256(b"".join(params[name].tobytes() for name in PUBLISHED_BLOCKS))
    assert digest.hexdigest() == WEIGHTS_SHA256  # of the file's arrays, in the same order


def test_the_forward_pass_is_the_published_one(params, witness):
    """Every intermediate value is what a model written apart computes, and the loss as published.

    The bound is float64 rounding summed in another order.
    """
    trace = published_forward(params)
    witness("published: loss", trace["loss"], LOSS, 1e-15)
    expected = own_model(params)
    expected["attended"] = expected["concat"] @ params["W_o"].T
    expected |= own_tail(params, expected["attended"])
    expected["logits"] = expected["normed"] @ params["W_lm"].T
    witness("published: forward pass, against autograd's model", trace, expected, 1e-14)


def test_the_right_gradients_are_the_slopes_of_the_published_loss(params, witness):
    """With W_o transposed, all 13 blocks are what autograd finds, to float64 rounding."""
    expected = autograd.grad(own_total)(params)
    witness("published: 13 blocks, against autograd", published_backward(params), expected, 1e-12)


def test_the_right_gradients_pass_central_differences(params, witness):
    """With W_o transposed, all 3,456 entries are measured slopes.

    1e-7: those of W_q and W_k are below 5e-4, where the rounding of a loss of 7.5 shows. A
    wrong block is off by more than 1.
    """
    moved = {name: parameter.copy() for name, parameter in params.items()}
    measured = {
        name: numeric_gradient(lambda: published_forward(moved)["loss"], moved[name])
        for name in PUBLISHED_BLOCKS
    }
    found = published_backward(params)
    witness("published: 13 blocks, central differences", found, measured, 1e-7)


def test_what_arrives_at_the_attention_is_the_slope_there(params, witness):
    """The gradient of the attention's output is right: the slip comes only after it."""
    trace = published_forward(params)
    found, _ = published_backward_to_attention(params, trace)
    expected = autograd.grad(lambda attended: own_tail(params, attended)["loss"])(trace["attended"])
    witness("published: gradient of the attention's output", found, expected, 1e-12)


def test_one_slip_spoils_exactly_five_blocks(params, witness):
    """Without the transpose, eight blocks stay as they are, and five are off by 155 % or more."""
    right, slipped = published_backward(params), published_backward(params, transpose_w_o=False)
    for name in RIGHT:
        witness("published: eight blocks untouched by the slip", slipped[name], right[name], 0)
    for name in WRONG:
        witness(f"published: {name} off by the slip", slipped[name], right[name], 1.5, differs=True)


def test_the_slip_gives_the_published_wrong_numbers(params, witness):
    """The largest entries of the five wrong blocks are the published ones."""
    slipped = published_backward(params, transpose_w_o=False)
    found = {name: np.abs(slipped[name]).max() for name in WRONG}
    witness("published: largest wrong entries", found, WRONG_LARGEST, 1e-9)


def test_the_step_is_plain_adamw(params, witness):
    """At t = 1 a step decays by lr * wd, then moves lr * g / (|g| + eps).

    1e-12: m_hat and sqrt(v_hat) are rounded, so 0.1 g / 0.1 need not be g to the last digit.
    """
    gradients = published_backward(params, transpose_w_o=False)
    after, m, v = published_step(params, gradients)
    for name, g in gradients.items():
        expected = params[name] * (1 - 1e-3 * 0.01) - 1e-3 * g / (np.abs(g) + 1e-8)
        witness("published: AdamW step", after[name], expected, 1e-12)
        witness("published: AdamW moments", [m[name], v[name]], [0.1 * g, 0.001 * g**2], 1e-12)


def our_arrays(params):
    """Give our number for every array of the file, under the file's keys."""
    t = published_forward(params)
    gradients = published_backward(params, transpose_w_o=False)
    after, m, v = published_step(params, gradients)
    probs, targets = softmax(t["logits"]), SENTENCE[1:]
    losses = -np.log(probs[np.arange(4), targets])
    dlogits = probs[:4] - np.eye(6)[targets]
    dnormed = autograd.grad(lambda normed: own_loss(params, normed))(t["normed"])
    dattended = autograd.grad(lambda a: own_tail(params, a)["loss"])(t["attended"])
    pages = {
        "embeddings": {"E_token": params["E_token"], "E_pos": params["E_pos"]},
        "qkv": {
            "W_Q": params["W_q"],
            "W_K": params["W_k"],
            "W_V": params["W_v"],
            "Q": t["Q"],
            "K": t["K"],
            "V": t["V"],
        },
        "attention": {
            "Q": t["Q"],
            "K": t["K"],
            "V": t["V"],
            "attention_weights": t["weights"],
            "attention_output": t["heads"],
        },
        "multi_head": {
            "attention_outputs": t["heads"],
            "concat_output": t["concat"],
            "W_o": params["W_o"],
            "multi_head_output": t["attended"],
        },
        "feedforward": {
            "multi_head_output": t["attended"],
            "W1": params["W1"],
            "b1": params["b1"],
            "W2": params["W2"],
            "b2": params["b2"],
            "ffn_output": t["fed"],
        },
        "layernorm": {
            "multi_head_output": t["attended"],
            "ffn_output": t["fed"],
            "residual_output": t["summed"],
            "gamma": params["gamma"],
            "beta": params["beta"],
            "layer_norm_output": t["normed"],
        },
        "loss": {
            "targets": targets,
            "layer_norm_output": t["normed"],
            "W_lm": params["W_lm"],
            "logits": t["logits"],
            "probs": probs,
            "losses": losses,
            "total_loss": t["loss"],
            "avg_loss": t["loss"] / 4,
        },
        "grad_loss": {
            "targets": targets,
            "probs": probs,
            "logits": t["logits"],
            "dL_dlogits": dlogits,
        },
        "grad_output": {
            "targets": targets,
            "dL_dW_lm": gradients["W_lm"],
            "dL_dlayer_norm_output": dnormed,
            "W_lm": params["W_lm"],
        },
        "grad_ffn": {
            **{f"dL_d{name}": gradients[name] for name in ("W1", "b1", "W2", "b2")},
            "dL_dgamma": gradients["gamma"],
            "dL_dbeta": gradients["beta"],
            "dL_dmulti_head_output": dattended,
        },
        "grad_all": {
            "dL_dE_token": gradients["E_token"],
            "dL_dE_pos": gradients["E_pos"],
            "dL_dWq": gradients["W_q"],
            "dL_dWk": gradients["W_k"],
            "dL_dWv": gradients["W_v"],
            "dL_dWo": gradients["W_o"],
        },
        "optimizer": {},
    }
    for page in pages:
        if page != "optimizer":
            pages[page] |= {"X": t["X"], "tokens": SENTENCE}
    for name in PUBLISHED_BLOCKS:
        theirs = {"W_q": "Wq", "W_k": "Wk", "W_v": "Wv", "W_o": "Wo"}.get(name, name)
        pages["optimizer"] |= {
            theirs: after[name],
            f"m_{theirs}": m[name],
            f"v_{theirs}": v[name],
        }
    return {f"{page}.{name}": a for page, arrays in pages.items() for name, a in arrays.items()}


PARAMETER_PAGES = ("embeddings.E", "qkv.W", "multi_head.W", "feedforward.W", "feedforward.b")


@pytest.mark.skipif(not FILE.exists(), reason="published.npz is not beside the repository")
def test_every_published_array_is_reproduced(params, witness):
    """Every array of the file is ours: weights, forward pass, gradients with the slip, step."""
    found = our_arrays(params)
    with np.load(FILE) as file:
        published = dict(file)
    found = {key: found[key] for key in published}  # a KeyError names what we do not have
    for key, expected in published.items():
        page = key.split(".")[0]
        if page.startswith("grad_all"):
            witness("published file: attention and embedding gradients", found[key], expected, 1e-9)
        elif page.startswith("grad"):
            witness("published file: other gradients", found[key], expected, 1e-9)
        elif page == "optimizer":
            witness("published file: AdamW step", found[key], expected, 1e-9)
        elif key.startswith(PARAMETER_PAGES):
            witness("published file: weights", found[key], expected, 0)
        else:
            witness("published file: forward pass", found[key], expected, 1e-14)


@pytest.mark.skipif(not FILE.exists(), reason="published.npz is not beside the repository")
def test_the_file_is_wrong_in_exactly_five_blocks(params, witness):
    """Held against the right gradients, eight published blocks agree and five do not."""
    right, keys = published_backward(params), {}
    for name in PUBLISHED_BLOCKS:
        page = "grad_ffn" if name in ("gamma", "beta", "W1", "b1", "W2", "b2") else "grad_all"
        page = "grad_output" if name == "W_lm" else page
        short = name.replace("_", "") if name in ("W_q", "W_k", "W_v", "W_o") else name
        keys[name] = f"{page}.dL_d{short}"
    with np.load(FILE) as file:
        for name in RIGHT:
            witness("published file: eight right blocks", file[keys[name]], right[name], 1e-9)
        for name in WRONG:
            title = "published file: five wrong blocks"
            witness(title, file[keys[name]], right[name], 1.5, differs=True)
