"""The published calculation that lesson 18 audits, as plain numbers.

Source: "Attention to Detail", Z. Hubert 2025, MIT licence.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .probe import FOLDER

FILE = "published-calculation.npz"
PARAMETER, GRADIENT = "parameter ", "gradient "  # before the names of the 13 blocks


@dataclass(frozen=True)
class PublishedCalculation:
    """One training step of a small transformer, worked out and published by hand.

    Attributes:
        tokens: (5,) ids of <BOS> I like transformers <EOS>.
        params: the 13 parameter blocks by name.
        gradients: the published gradient of each.
        dattended: (5, 16) the published gradient that arrives at the attention's output.
        loss: the published loss, a sum over four positions.
    """

    tokens: np.ndarray
    params: dict[str, np.ndarray]
    gradients: dict[str, np.ndarray]
    dattended: np.ndarray
    loss: float


def published_calculation(folder: Path = FOLDER) -> PublishedCalculation:
    """The numbers of "Attention to Detail", a published training step of this very sentence.

    Returns:
        its tokens, parameters, gradients and loss, as arrays of your own.

    Raises:
        FileNotFoundError: if this edition does not carry them.
    """
    try:
        with np.load(folder / FILE, allow_pickle=False) as file:
            arrays = dict(file)
    except FileNotFoundError:
        says = f"this edition lacks {FILE}, which lesson 18 reads; install byhand once more"
        raise FileNotFoundError(says) from None
    return PublishedCalculation(
        tokens=arrays["tokens"],
        params=_named(PARAMETER, arrays),
        gradients=_named(GRADIENT, arrays),
        dattended=arrays["dattended"],
        loss=float(arrays["loss"]),
    )


def _named(kind: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {
        name.removeprefix(kind): array for name, array in arrays.items() if name.startswith(kind)
    }
