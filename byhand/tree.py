"""Values as plain data: a JSON tree for structure, and a list of arrays beside it.

Probes are stored this way, and answers travel this way between a learner's process and the
grader. Nothing here runs code: no pickle, no eval. `unflatten` accepts only what `flatten` writes.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

MAX_DEPTH = 8
MAX_ITEMS = 100_000
MAX_BITS = 1_000  # of a whole number; still a float's size


class NotATree(ValueError):
    """The data is not something that `flatten` wrote."""


@dataclass(frozen=True)
class Seeded:
    """An argument that stands for a fresh `np.random.default_rng(seed)` at each call."""

    seed: int


@dataclass(frozen=True)
class Code:
    """An argument that stands for a function: its name, and a source text that defines it."""

    name: str
    source: str


@dataclass(frozen=True)
class Other:
    """A value that is no number, text, array or container of them; only its type's name is kept."""

    type_name: str


def flatten(value: object, arrays: list[np.ndarray], depth: int = 0) -> list:
    """Write value as a JSON tree, appending its arrays to `arrays`.

    Args:
        value: numbers, text, bytes, arrays, `Seeded`, `Code`, and tuples, lists or dicts of them.
            NumPy's numbers become arrays without axes, and Python's own as keys of a dict.
        arrays: the list that the tree's ["array", index] entries point into; it grows.

    Returns:
        a list such as ["tuple", [["array", 0], ["plain", -1]]].
    """
    if depth > MAX_DEPTH:
        return ["other", "too deeply nested value"]
    if type(value) is int and value.bit_length() > MAX_BITS:
        return ["other", "whole number of hundreds of digits"]
    if value is None or type(value) in (bool, int, float, str):
        return ["plain", value]
    if isinstance(value, str):  # np.str_ too
        return ["plain", str(value)]
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            return ["other", f"array of {_name_of(array.dtype)}"]
        arrays.append(array)
        return ["array", len(arrays) - 1]
    if isinstance(value, Seeded):
        return ["seeded", value.seed]
    if isinstance(value, Other):
        return ["other", value.type_name]
    if isinstance(value, Code):
        return ["code", [value.name, value.source]]
    if isinstance(value, bytes):
        return ["bytes", value.hex()]
    if isinstance(value, (tuple, list, dict)) and len(value) > MAX_ITEMS:
        return ["other", f"{_name_of(value)} of {len(value)} entries"]
    if isinstance(value, (tuple, list)):
        return [_name_of(value), [flatten(item, arrays, depth + 1) for item in value]]
    if isinstance(value, dict):
        pairs = [
            [flatten(_key(key), arrays, depth + 1), flatten(item, arrays, depth + 1)]
            for key, item in value.items()
        ]
        return ["dict", pairs]
    return ["other", type(value).__name__]


def _name_of(value: object) -> str:
    """What the grown-up class of a value is called: a named tuple is a tuple, `<U5` is str."""
    if isinstance(value, np.dtype):
        return {"U": "str", "S": "bytes"}.get(value.kind, value.name)
    return next(kind.__name__ for kind in (tuple, list, dict) if isinstance(value, kind))


def _key(key: object) -> object:
    """A dict's key with NumPy's numbers turned into Python's, to which they are equal."""
    if isinstance(key, tuple):
        return tuple(_key(item) for item in key)
    return key.item() if isinstance(key, np.generic) else key


def unflatten(
    tree: object, array_at: Callable[[int], np.ndarray], stand_ins: bool = False, depth: int = 0
) -> object:
    """Read a tree back; `array_at(index)` supplies its arrays.

    Args:
        tree: what was read from JSON.
        array_at: gives the array of an index, or raises LookupError.
        stand_ins: whether it may hold `Code` and `Seeded`, which `byhand.ask` brings to life. Only
            a question of the course's own may; an answer never.
        depth: of this tree in a larger one.

    Raises:
        NotATree: if anything in it is not as `flatten` writes it.
    """
    if depth > MAX_DEPTH + 1 or not isinstance(tree, list) or len(tree) != 2:
        raise NotATree("a tree is a list of a kind and its content")
    kind, content = tree
    if kind == "plain" and _is_plain(content):
        return content
    if kind == "array" and type(content) is int and content >= 0:
        try:
            return array_at(content)
        except LookupError as error:
            raise NotATree("a tree points to an array that did not come with it") from error
    if stand_ins and kind == "seeded" and type(content) is int and content >= 0:
        return Seeded(content)
    if kind == "other" and isinstance(content, str):
        return Other(content[:100])
    if (
        stand_ins
        and kind == "code"
        and isinstance(content, list)
        and [type(text) for text in content] == [str] * 2
    ):
        return Code(*content)
    if kind == "bytes" and isinstance(content, str):
        try:
            return bytes.fromhex(content)
        except ValueError as error:
            raise NotATree("bytes are written in hexadecimal") from error
    if kind in ("tuple", "list", "dict") and isinstance(content, list):
        if len(content) > MAX_ITEMS:
            raise NotATree("too many items")
        if kind == "dict":
            return _unflatten_pairs(content, array_at, stand_ins, depth)
        items = [unflatten(item, array_at, stand_ins, depth + 1) for item in content]
        return tuple(items) if kind == "tuple" else items
    raise NotATree("unknown kind of value")


def _is_plain(content: object) -> bool:
    if type(content) is int:
        return content.bit_length() <= MAX_BITS
    return content is None or type(content) in (bool, float, str)


def _unflatten_pairs(
    pairs: list, array_at: Callable[[int], np.ndarray], stand_ins: bool, depth: int
) -> dict:
    result = {}
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2:
            raise NotATree("a dict is a list of pairs")
        key = unflatten(pair[0], array_at, stand_ins, depth + 1)
        try:
            hash(key)
        except TypeError as error:
            raise NotATree("a dict's key is or holds something that cannot be a key") from error
        result[key] = unflatten(pair[1], array_at, stand_ins, depth + 1)
    return result
