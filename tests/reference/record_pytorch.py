"""Record what PyTorch computes, in float64, for the tests to hold the reference against.

    python tests/reference/record_pytorch.py

writes pytorch_*.npz beside this file; running it again gives the same files. The model is put
together from PyTorch's own layers: nothing in it comes from the reference.
Recorded with torch 2.13.0 on a CPU.
"""

from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

FOLDER = Path(__file__).parent
STEPS = 5

CONFIGURATIONS = {
    "course": {
        "d_model": 16,
        "num_heads": 2,
        "d_ff": 64,
        "vocab_size": 10,
        "num_layers": 1,
        "max_len": 5,
        "ids_shape": (4,),
        "lr": 1e-3,
        "betas": (0.9, 0.999),
        "eps": 1e-8,
        "weight_decay": 0.01,
    },
    "two_layers": {
        "d_model": 12,
        "num_heads": 3,
        "d_ff": 10,
        "vocab_size": 7,
        "num_layers": 2,
        "max_len": 6,
        "ids_shape": (2, 5),
        "lr": 3e-2,
        "betas": (0.8, 0.95),
        "eps": 1e-3,
        "weight_decay": 0.5,
    },
    "three_layers": {
        "d_model": 6,
        "num_heads": 1,
        "d_ff": 9,
        "vocab_size": 11,
        "num_layers": 3,
        "max_len": 4,
        "ids_shape": (2, 5, 3),
        "lr": 1e-2,
        "betas": (0.7, 0.99),
        "eps": 1e-6,
        "weight_decay": 0.1,
    },
}


class Block(nn.Module):
    """A pre-norm transformer block."""

    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.num_heads = num_heads
        self.ln1, self.ln2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(4)
        )
        self.mlp = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.GELU(approximate="tanh"), nn.Linear(d_ff, d_model)
        )

    def forward(self, x):
        normed = self.ln1(x)
        query, key, value = (
            layer(normed).unflatten(-1, (self.num_heads, -1)).transpose(-3, -2)
            for layer in (self.W_q, self.W_k, self.W_v)
        )
        heads = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.W_o(heads.transpose(-3, -2).flatten(-2))
        return x + self.mlp(self.ln2(x))


class Model(nn.Module):
    """A small GPT with learned positions and an output layer of its own."""

    def __init__(self, sizes):
        super().__init__()
        d_model = sizes["d_model"]
        self.token_embedding = nn.Embedding(sizes["vocab_size"], d_model)
        self.position_embedding = nn.Embedding(sizes["max_len"], d_model)
        self.blocks = nn.ModuleList(
            Block(d_model, sizes["num_heads"], sizes["d_ff"]) for _ in range(sizes["num_layers"])
        )
        self.lnf = nn.LayerNorm(d_model)
        self.W_out = nn.Linear(d_model, sizes["vocab_size"], bias=False)

    def forward(self, ids):
        positions = torch.arange(ids.shape[-1])
        x = self.token_embedding(ids) + self.position_embedding(positions)
        for block in self.blocks:
            x = block(x)
        return self.W_out(self.lnf(x))


def our_name(name):
    """Translate a name of PyTorch's to the course's, and say whether the array is transposed."""
    for theirs, ours in {
        "mlp.0.weight": "W_1",
        "mlp.0.bias": "b_1",
        "mlp.2.weight": "W_2",
        "mlp.2.bias": "b_2",
        ".weight": "",
        ".bias": "",
    }.items():
        if name.endswith(theirs):
            short = name.removesuffix(theirs) + ours
            break
    if ".ln" in f".{name}":
        short += "_gamma" if name.endswith("weight") else "_beta"
    return short, short.split(".")[-1].startswith("W_")  # nn.Linear keeps (out, in)


def ours(model, gradient=False):
    """Read all parameters, or their gradients, under the course's names and shapes."""
    arrays = {}
    for name, parameter in model.named_parameters():
        tensor = parameter.grad if gradient else parameter.detach()
        short, transposed = our_name(name)
        arrays[short] = (tensor.T if transposed else tensor).numpy().copy()
    return arrays


def record(configuration):
    """Compute logits, loss and gradients of one batch, and five AdamW steps of five batches.

    Returns:
        Dict of arrays: "params/NAME", "gradients/NAME", "after/NAME" (after five steps), "ids"
        and "targets" (steps, ...), "logits" of the first batch, "losses" (steps,), "num_heads",
        and the optimiser's settings.
    """
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)  # one order of summation
    rng = np.random.default_rng(7)
    model = Model(configuration)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            mean = 1.0 if ".ln" in f".{name}" and name.endswith("weight") else 0.0
            std = 1.0 if "embedding" in name else 0.4
            parameter.copy_(torch.from_numpy(rng.normal(mean, std, tuple(parameter.shape))))
    shape = (STEPS, *configuration["ids_shape"])
    ids = rng.integers(configuration["vocab_size"], size=shape)
    targets = rng.integers(configuration["vocab_size"], size=shape)
    told = {
        "ids": ids,
        "targets": targets,
        "num_heads": np.array(configuration["num_heads"]),
        "lr": np.array(configuration["lr"]),
        "betas": np.array(configuration["betas"]),
        "eps": np.array(configuration["eps"]),
        "weight_decay": np.array(configuration["weight_decay"]),
    }
    told |= {f"params/{name}": array for name, array in ours(model).items()}

    settings = {name: configuration[name] for name in ("lr", "betas", "eps", "weight_decay")}
    optimizer = torch.optim.AdamW(model.parameters(), **settings)
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        logits = model(torch.from_numpy(ids[step]))
        loss = functional.cross_entropy(
            logits.flatten(0, -2), torch.from_numpy(targets[step]).flatten()
        )
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            told["logits"] = logits.detach().numpy()
            told |= {f"gradients/{n}": a for n, a in ours(model, gradient=True).items()}
        optimizer.step()
    told["losses"] = np.array(losses)
    told |= {f"after/{name}": array for name, array in ours(model).items()}
    return told


def record_functions():
    """Compute single functions, and their gradients, on inputs of odd sizes.

    Returns:
        Dict of arrays: inputs, answers, and gradients "dNAME" of (answer * upstream).sum().
    """
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    rng = np.random.default_rng(8)
    told = {}

    def tensor(name, *shape, mean=0.0, std=1.0):
        told[name] = rng.normal(mean, std, shape)
        return torch.from_numpy(told[name]).requires_grad_()

    def tell(name, answer, **variables):
        """Keep an answer and the gradients of its product with a random upstream."""
        upstream = tensor(f"{name}/upstream", *answer.shape).detach()
        told[name] = answer.detach().numpy()
        gradients = torch.autograd.grad((answer * upstream).sum(), list(variables.values()))
        told.update({f"{name}/d{n}": g.numpy() for n, g in zip(variables, gradients, strict=True)})

    x = tensor("gelu/x", 40, std=3.0)
    tell("gelu", functional.gelu(x, approximate="tanh"), x=x)
    x = tensor("gelu_exact/x", 40, std=3.0)
    tell("gelu_exact", functional.gelu(x), x=x)

    x = tensor("layer_norm/x", 2, 3, 5, mean=1.5, std=2.0)
    gamma, beta = tensor("layer_norm/gamma", 5), tensor("layer_norm/beta", 5)
    answer = functional.layer_norm(x, (5,), gamma, beta, eps=0.1)
    tell("layer_norm", answer, x=x, gamma=gamma, beta=beta)

    scores = tensor("softmax/scores", 2, 3, 5, std=2.0)
    tell("softmax", functional.softmax(scores, dim=-1), scores=scores)

    Q, K, V = (
        tensor(f"attention/{n}", 2, 4, *s) for n, s in [("Q", (5, 3)), ("K", (6, 3)), ("V", (6, 7))]
    )
    mask = np.array([[j > i + 1 for j in range(6)] for i in range(5)])
    told["attention/mask"] = mask
    answer = functional.scaled_dot_product_attention(Q, K, V, attn_mask=torch.from_numpy(~mask))
    tell("attention", answer, Q=Q, K=K, V=V)

    logits = tensor("cross_entropy/logits", 2, 3, 7, std=1e4)
    targets = rng.integers(7, size=(2, 3))
    told["cross_entropy/targets"] = targets
    loss = functional.cross_entropy(logits.flatten(0, 1), torch.from_numpy(targets).flatten())
    tell("cross_entropy", loss, logits=logits)
    return told


def main():
    """Write one file for each configuration, and one for the single functions."""
    for name, configuration in CONFIGURATIONS.items():
        np.savez_compressed(FOLDER / f"pytorch_{name}.npz", **record(configuration))
    np.savez_compressed(FOLDER / "pytorch_functions.npz", **record_functions())


if __name__ == "__main__":
    main()
