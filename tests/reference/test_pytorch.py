"""The reference against PyTorch's float64 numbers, recorded by record_pytorch.py.

Where torch can be imported, the recording is repeated in memory and compared with the files.
"""

from pathlib import Path

import numpy as np
import pytest

from byhand_course.reference import (
    attention,
    attention_backward,
    backward,
    cross_entropy,
    cross_entropy_backward,
    forward,
    gelu,
    gelu_backward,
    gelu_exact,
    init_state,
    layer_norm,
    layer_norm_backward,
    softmax,
    softmax_backward,
    train_step,
)

FOLDER = Path(__file__).parent
CONFIGURATIONS = ["course", "two_layers", "three_layers"]
BOUND = 1e-12  # float64 rounding, summed in another order; 1e-15 for a single operation


def recorded(name):
    """Read pytorch_NAME.npz as a dict, groups such as "params/W_q" as dicts of their own."""
    told = {}
    with np.load(FOLDER / f"pytorch_{name}.npz") as file:
        for key in file:
            group, _, short = key.partition("/")
            if short:
                told.setdefault(group, {})[short] = file[key]
            else:
                told[key] = file[key]
    return told


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_logits_loss_and_gradients_agree_with_pytorch(name, witness):
    """Logits, loss and the gradient of every parameter are PyTorch's."""
    told = recorded(name)
    ids, targets, num_heads = told["ids"][0], told["targets"][0], int(told["num_heads"])
    logits = forward(ids, told["params"], num_heads)
    witness(f"PyTorch: logits, {name}", logits, told["logits"], BOUND)
    loss = cross_entropy(logits, targets)
    witness(f"PyTorch: loss, {name}", loss, told["losses"][0], BOUND)
    gradients = backward(told["params"], ids, targets, num_heads)
    witness(f"PyTorch: gradients, {name}", gradients, told["gradients"], BOUND)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_five_adamw_steps_agree_with_pytorch(name, witness):
    """After five steps with changing batches, losses and every parameter are PyTorch's."""
    told = recorded(name)
    params, state, losses = told["params"], init_state(told["params"]), []
    beta1, beta2 = told["betas"].tolist()
    for ids, targets in zip(told["ids"], told["targets"], strict=True):
        params, state, loss = train_step(
            params,
            state,
            ids,
            targets,
            num_heads=int(told["num_heads"]),
            lr=float(told["lr"]),
            beta1=beta1,
            beta2=beta2,
            eps=float(told["eps"]),
            weight_decay=float(told["weight_decay"]),
        )
        losses.append(loss)
    assert state["t"] == 5
    witness(f"PyTorch: five losses, {name}", np.array(losses), told["losses"], BOUND)
    witness(f"PyTorch: five AdamW steps, {name}", params, told["after"], BOUND)


def test_single_functions_agree_with_pytorch(witness):
    """GELU in both forms, layer norm, softmax, attention and the loss, with their gradients."""
    with np.load(FOLDER / "pytorch_functions.npz") as file:
        told = dict(file)

    def hear(name, answer, gradients=()):
        witness(f"PyTorch: {name}", answer, told[name], BOUND)
        for variable, gradient in dict(gradients).items():
            expected = told[f"{name}/d{variable}"]
            witness(f"PyTorch: {name}, gradients", gradient, expected, BOUND)

    def given(name, *arguments):
        return [told[f"{name}/{argument}"] for argument in arguments]

    x, dout = given("gelu", "x", "upstream")
    hear("gelu", gelu(x), {"x": gelu_backward(dout, x)})
    (x,) = given("gelu_exact", "x")
    hear("gelu_exact", gelu_exact(x))

    x, gamma, beta, dout = given("layer_norm", "x", "gamma", "beta", "upstream")
    gradients = layer_norm_backward(dout, x, gamma, eps=0.1)
    answer = layer_norm(x, gamma, beta, eps=0.1)
    hear("layer_norm", answer, zip(("x", "gamma", "beta"), gradients, strict=True))

    scores, dout = given("softmax", "scores", "upstream")
    hear("softmax", softmax(scores), {"scores": softmax_backward(dout, softmax(scores))})

    Q, K, V, mask, dout = given("attention", "Q", "K", "V", "mask", "upstream")
    answer, weights = attention(Q, K, V, mask)
    gradients = attention_backward(dout, Q, K, V, weights)
    hear("attention", answer, zip("QKV", gradients, strict=True))

    logits, targets, dout = given("cross_entropy", "logits", "targets", "upstream")
    gradient = dout * cross_entropy_backward(logits, targets)
    hear("cross_entropy", cross_entropy(logits, targets), {"logits": gradient})


def test_recording_again_gives_the_same_numbers(witness):
    """The files hold what record_pytorch.py computes today, where torch is installed."""
    pytest.importorskip("torch", reason="torch is not installed: its recorded numbers are used")
    from reference import record_pytorch

    answers = {n: record_pytorch.record(c) for n, c in record_pytorch.CONFIGURATIONS.items()}
    answers["functions"] = record_pytorch.record_functions()
    for name, answer in answers.items():
        with np.load(FOLDER / f"pytorch_{name}.npz") as file:
            witness("PyTorch: recorded again", answer, dict(file), BOUND)
