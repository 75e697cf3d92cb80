"""Values as plain data: a JSON tree for structure, and a list of arrays beside it.

Probes are stored this way, and answers travel this way between a learner's process and the
grader. Nothing here runs code: no pickle, no eval. `unflatten` accepts only what `flatten` writes.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

MAX_DEPTH = 8
MAX_ITEMS = 100_000


class NotATree(ValueError):
    """The data is not something that `flatten` wrote."""


@dataclass(frozen=True)
class Seeded:
    """An argument that stands for a fresh `np.random.default_rng(seed)` at each call."""

    seed: int


@dataclass(frozen=True)
class Other:
    """A value that is no number, text, array or container of them; only its type's name is kept."""

    type_name: str


def flatten(value: object, arrays: list[np.ndarray], depth: int = 0) -> list:
    """Write value as a JSON tree, appending its arrays to `arrays`.

    Args:
        value: numbers, text, bytes, arrays, `Seeded`, and tuples, lists or dicts of them.
        arrays: the list that the tree's ["array", index] entries point into; it grows.

    Returns:
        a list such as ["tuple", [["array", 0], ["plain", -1]]].
    """
    if depth > MAX_DEPTH:
        return ["other", "too deeply nested value"]
    if value is None or type(value) in (bool, int, float, str):
        return ["plain", value]
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            return ["other", f"array of {array.dtype.name}"]
        arrays.append(array)
        return ["array", len(arrays) - 1]
    if isinstance(value, Seeded):
        return ["seeded", value.seed]
    if isinstance(value, bytes):
        return ["bytes", value.hex()]
    if isinstance(value, (tuple, list)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return [kind, [flatten(item, arrays, depth + 1) for item in value]]
    if isinstance(value, dict):
        pairs = [
            [flatten(key, arrays, depth + 1), flatten(item, arrays, depth + 1)]
            for key, item in value.items()
        ]
        return ["dict", pairs]
    return ["other", type(value).__name__]


def unflatten(tree: object, array_at: Callable[[int], np.ndarray], depth: int = 0) -> object:
    """Read a tree back; `array_at(index)` supplies its arrays.

    Raises:
        NotATree: if anything in it is not as `flatten` writes it.
    """
    if depth > MAX_DEPTH + 1 or not isinstance(tree, list) or len(tree) != 2:
        raise NotATree("a tree is a list of a kind and its content")
    kind, content = tree
    if kind == "plain" and (content is None or type(content) in (bool, int, float, str)):
        return content
    if kind == "array" and type(content) is int and content >= 0:
        return array_at(content)
    if kind == "seeded" and type(content) is int and content >= 0:
        return Seeded(content)
    if kind == "other" and isinstance(content, str):
        return Other(content[:100])
    if kind == "bytes" and isinstance(content, str):
        try:
            return bytes.fromhex(content)
        except ValueError as error:
            raise NotATree("bytes are written in hexadecimal") from error
    if kind in ("tuple", "list", "dict") and isinstance(content, list):
        if len(content) > MAX_ITEMS:
            raise NotATree("too many items")
        if kind == "dict":
            return _unflatten_pairs(content, array_at, depth)
        items = [unflatten(item, array_at, depth + 1) for item in content]
        return tuple(items) if kind == "tuple" else items
    raise NotATree("unknown kind of value")


def _unflatten_pairs(pairs: list, array_at: Callable[[int], np.ndarray], depth: int) -> dict:
    result = {}
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2:
            raise NotATree("a dict is a list of pairs")
        key = unflatten(pair[0], array_at, depth + 1)
        if type(key) not in (str, int, bytes, tuple):
            raise NotATree("a dict's key is text, bytes, a whole number or a tuple")
        try:
            result[key] = unflatten(pair[1], array_at, depth + 1)
        except TypeError as error:
            raise NotATree("a dict's key holds something that cannot be a key") from error
    return result
