"""The values of one training step, by name: what a page shows is looked up here.

Names are those of the notebooks: parameters as in the reference (without "blocks.0."); the gradient
of W_q is dW_q, its first moment m_W_q.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Value:
    """One array of the training step.

    Attributes:
        name: as in "W_q"; also its key in the .npz.
        axes: what runs along each axis, keys of `Trace.labels`.
        page: number of the page that makes it, 0 for a setting.
        function: the reference function that made it; empty for what is given.
        made: the entries that entry [i, j] was made from, as in "X[i,:] W_q[:,j]".
    """

    name: str
    array: np.ndarray
    axes: tuple[str, ...]
    page: int
    function: str = ""
    made: str = ""


@dataclass
class Trace:
    """The values of one training step, in the order in which they were made.

    Attributes:
        wiring: "course" or "published".
        vocabulary: tokens by id.
        tokens: those that go into the model, one a row.
        targets: the token that should follow each of the first rows.
        sizes: as init_params takes them.
        parameters: names of all parameters, in order.
    """

    wiring: str
    sentence: str
    seed: int
    vocabulary: tuple[str, ...]
    tokens: tuple[str, ...]
    targets: tuple[str, ...]
    sizes: dict[str, int]
    parameters: tuple[str, ...] = ()
    values: dict[str, Value] = field(default_factory=dict)

    def put(
        self,
        name: str,
        array: Any,
        axes: str = "",
        page: int = 0,
        function: str = "",
        made: str = "",
    ) -> None:
        """Keep a value; axes are separated by spaces.

        Raises:
            ValueError: if there are more or fewer axes than the array has, or the name is taken.
        """
        array, names = np.asarray(array), tuple(axes.split())
        if array.ndim != len(names) or name in self.values:
            raise ValueError(f"{name} of shape {array.shape} cannot be kept with axes {axes!r}")
        self.values[name] = Value(name, array, names, page, function, made)

    def __getitem__(self, name: str) -> np.ndarray:
        return self.values[name].array

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def labels(self, axis: str) -> list[str]:
        """What stands beside the rows, or above the columns, of an axis."""
        length = {
            "feature": self.sizes["d_model"],
            "wide": self.sizes["d_ff"],
            "slice": self.sizes["d_model"] // self.sizes["num_heads"],
            "head": self.sizes["num_heads"],
            "position": self.sizes["max_len"],
        }
        if axis in length:
            return [str(place) for place in range(length[axis])]
        if axis == "parameter":
            return list(self.parameters)
        words = {
            "token": self.tokens,
            "key": self.tokens,
            "vocabulary": self.vocabulary,
            "target": self.tokens[: len(self.targets)],
        }[axis]
        return [
            f"{word} ({place})" if words.count(word) > 1 else word
            for place, word in enumerate(words)
        ]
