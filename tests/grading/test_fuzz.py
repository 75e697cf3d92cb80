"""60,000 replies that no honest process would send give only arrays, or one clear error.

Three kinds of 20,000 each, from seeded generators: whole frames with bytes changed, arrays with
every field of their header spoiled, and answers and outputs of the right form with wrong content.
They take the road of real replies: from a socket through frames.py and tree.py to an answer.
"""

import json
import random
import resource
import socket
import struct
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from byhand.ask import Answer
from byhand.tree import NotATree, Other
from byhand_course.grading import wire
from byhand_course.grading.engine import Limits, _read_answer, _serve_call
from byhand_course.grading.frames import Gone, read_outputs, receive
from byhand_course.grading.wire import Hostile, pack

COUNT = 20_000  # of each kind
MAX_GROWTH_MB = 300  # a frame may hold 128 MB, and is held once
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


def arrived(data: bytes) -> tuple[object, list[np.ndarray]]:
    """What the grader receives if a process writes these bytes and dies."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            theirs.settimeout(5)
            theirs.sendall(data)
        return receive(ours, time.monotonic() + 5)


def understood(data: bytes) -> object:
    """What the grader makes of a reply: an answer, a cell's outputs, or what it says to a call."""
    reply, arrays = arrived(data)
    if not isinstance(reply, dict):
        raise Hostile("a reply is no object")
    if reply.get("op") == "call":
        return _serve_call({"f": lambda *given, **named: given}, reply, arrays, Limits())
    if "outputs" in reply:
        return read_outputs(reply["outputs"], 1000, 1000)
    return _read_answer(reply, arrays, 2, 50)


def assert_plain(value: object) -> None:
    """Nothing but arrays, numbers, text, bytes and containers of them."""
    if isinstance(value, (list, tuple)):
        for item in value:
            assert_plain(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            assert_plain(key)
            assert_plain(item)
    elif type(value) is np.ndarray:
        assert value.dtype.kind in "biuf" and not value.flags.writeable
    elif type(value) is Answer:
        assert_plain(value.value)
    else:
        assert value is None or type(value) in (bool, int, float, str, bytes, Other)


def hold(replies: Iterator[bytes]) -> dict[str, int]:
    """Hold replies to the claim, and count what came of them."""
    found: dict[str, int] = {}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for data in replies:
        began = time.monotonic()
        try:
            assert_plain(understood(data))
            kind = "read"
        except (Hostile, Gone, NotATree) as error:
            assert 0 < len(str(error)) < 200
            kind = type(error).__name__
        found[kind] = found.get(kind, 0) + 1
        assert time.monotonic() - began < 5
    grown_mb = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown_mb < MAX_GROWTH_MB
    return found


# Bytes


def honest(rng: random.Random) -> bytes:
    """A frame as an honest process writes one."""
    arrays = [
        np.arange(6.0).reshape(2, 3),
        np.array([True, False]),
        np.array(3, np.int32),
        np.zeros((0, 4), np.float32),
    ]
    if rng.random() < 0.2:
        output = {"output_type": "stream", "name": "stdout", "text": "x"}
        return pack({"op": "ran", "ok": True, "outputs": [output]})
    if rng.random() < 0.2:
        args = ["tuple", [["array", 0], ["plain", 1]]]
        return pack({"op": "call", "name": "f", "args": args, "kwargs": ["dict", []]}, arrays[:1])
    return pack(answer(["tuple", [["array", place] for place in range(4)]]), arrays)


def answer(value: object) -> dict:
    fields = {"op": "answer", "raised": None, "line_number": 3, "changed": [0], "failure": None}
    return fields | {"value": value}


def spoiled_bytes(rng: random.Random) -> bytes:
    """An honest frame with bytes changed, cut out, put in, repeated, or swapped with another's."""
    data = bytearray(honest(rng))
    for _ in range(rng.randint(1, 5)):
        place, length = rng.randrange(len(data) + 1), rng.choice([0, 1, 1, 2, 4, 8, 40])
        kind = rng.randrange(6)
        if kind == 0:
            data[place : place + length] = rng.randbytes(length)
        elif kind == 1:
            del data[place : place + length]
        elif kind == 2:
            data[place:place] = rng.randbytes(length)
        elif kind == 3:
            data[place:place] = data[place : place + length] * rng.randint(1, 30)
        elif kind == 4:
            other = honest(rng)
            data[place:] = other[place:]
        else:
            data[place : place + 8] = rng.choice(NUMBERS)
    return bytes(data)


NUMBERS = [
    struct.pack("<q", number)
    for number in (0, 1, -1, 2**31, 2**32, 2**62, -(2**63), 2**63 - 1, 4 << 20, 64 << 20)
]


# Arrays

DTYPES = [
    *sorted(wire.DTYPES),
    *("|O", "|V8", "<c8", "<c16", ">f8", "|S5", "<U3", "<M8[s]", "<f16", "=f8", "f8", "|b2"),
]
SIZES = ["0", "1", "2", "3", "6", "-1", "007", "999999999", "4294967296", "1e3", "0x3", "١", "2L"]
INSERTED = ["", "'", "(", "__import__('os')", "\0"]
VERSIONS = [b"\x02\x00", b"\x00\x00", b"\x09\x09"]
ENDS = ["", " ", "\n", " \n", "}\n", "\0", " " * 600 + "\n", "'x': 1, }\n", "# \n"]


def spoiled_array(rng: random.Random) -> bytes:
    """A frame with one array, of whose header anything may be wrong."""
    usual = SIZES[:5] if rng.random() < 0.7 else SIZES
    sizes = [rng.choice(usual) for _ in range(rng.randrange(5))]
    if rng.random() < 0.02:
        sizes *= 3
    shape = ", ".join(sizes) + ("," if len(sizes) == 1 or rng.random() < 0.1 else "")
    header = (
        f"{{'descr': '{rng.choice(DTYPES[:12] if rng.random() < 0.7 else DTYPES)}', "
        f"'fortran_order': {rng.choice(['True', 'False', 'False', 'None', '0'])}, "
        f"'shape': ({shape}), }}"
    )
    header += rng.choice(ENDS) if rng.random() < 0.5 else "\n"
    if rng.random() < 0.2:
        place = rng.randrange(len(header))
        header = header[:place] + rng.choice(INSERTED) + header[place:]
    text = header.encode()
    announced = len(text) if rng.random() < 0.9 else rng.choice([0, 1, 511, 512, 513, 65535])
    version = b"\x01\x00" if rng.random() < 0.95 else rng.choice(VERSIONS)
    blob = b"\x93NUMPY" + version + struct.pack("<H", announced) + text
    blob += rng.randbytes(_plausible(sizes, rng))
    length = len(blob) if rng.random() < 0.95 else rng.choice([0, 1, len(blob) - 1, len(blob) + 1])
    reply = json.dumps(answer(["array", 0])).encode()
    return wire.MAGIC + struct.pack("<IIQ", len(reply), 1, max(length, 0)) + reply + blob


def _plausible(sizes: list[str], rng: random.Random) -> int:
    """A number of bytes that often fits a shape."""
    count = 1
    for size in sizes:
        count *= int(size) if size.isascii() and size.isdigit() and len(size) < 4 else 1
    return min(count * rng.choice([1, 2, 4, 4, 8, 8, 8]), 4096)


# Trees and outputs

KINDS = ["plain", "array", "list", "tuple", "dict", "bytes", "other", "seeded", "code", "x", None]
WORDS = ["", "x", "é", "\u202e", "00", "zz", "a" * 300, "ValueError", "stdout", "stream", PNG]


def any_value(rng: random.Random, depth: int = 0) -> object:
    """Any JSON value, often one that looks like part of a tree."""
    kind = rng.randrange(9 if depth < 5 else 5)
    if kind == 0:
        return rng.choice([None, True, False])
    if kind == 1:
        return rng.choice([0, 1, -1, 2, 2**31, 2**63, -(2**70), 10**400])
    if kind == 2:
        return rng.choice([0.5, float("nan"), float("inf"), -0.0, 1e308])
    if kind in (3, 4):
        return rng.choice(WORDS)
    if kind == 5:
        return {rng.choice(WORDS): any_value(rng, depth + 1) for _ in range(rng.randrange(4))}
    if kind == 6:
        return [any_value(rng, depth + 1) for _ in range(rng.randrange(5))]
    return tree(rng, depth + 1)


def tree(rng: random.Random, depth: int = 0) -> list:
    """A tree as `flatten` writes it, or nearly."""
    kind = rng.choice(KINDS)
    if kind in ("list", "tuple") and depth < 12:
        return [kind, [tree(rng, depth + 1) for _ in range(rng.randrange(4))]]
    if kind == "dict" and depth < 12:
        pair = [tree(rng, depth + 1), tree(rng, depth + 1)]
        return [kind, [pair[: rng.choice([2, 2, 2, 1])] for _ in range(rng.randrange(3))]]
    if kind == "array":
        return [kind, rng.choice([0, 0, 0, 1, -1, 5, True, 0.0, "0", None])]
    return [kind, any_value(rng, depth + 1)]


def output(rng: random.Random) -> object:
    """An output as nbformat writes it, or nearly."""
    text = rng.choice(WORDS)
    made: dict = rng.choice(
        [
            {"output_type": "stream", "name": "stdout", "text": text},
            {"output_type": "display_data", "data": {"text/plain": text}, "metadata": {}},
            {"output_type": "display_data", "data": {"image/png": PNG}, "metadata": {}},
            {"output_type": "execute_result", "data": {"text/plain": text}, "metadata": {},
             "execution_count": 1},
            {"output_type": "error", "ename": "E", "evalue": text, "traceback": [text]},
        ]
    )  # fmt: skip
    for _ in range(rng.randrange(3)):
        key = rng.choice([*made, rng.choice(WORDS)])
        if rng.random() < 0.3:
            made.pop(key, None)
        else:
            made[key] = any_value(rng)
    return made if rng.random() < 0.95 else any_value(rng)


def spoiled_reply(rng: random.Random) -> bytes:
    """A frame that is well formed and says something odd."""
    if rng.random() < 0.01:
        text = rng.choice([b"[", b'{"a":', b"1", b'["list",[']) * rng.choice([400, 3000, 15_000])
        return wire.MAGIC + struct.pack("<II", len(text), 0) + text
    kind = rng.randrange(4)
    if kind == 0:
        reply = {"op": "ran", "ok": True, "outputs": [output(rng) for _ in range(rng.randrange(4))]}
    elif kind == 1:
        reply = {"op": "call", "name": "f", "args": tree(rng), "kwargs": tree(rng)}
        if rng.random() < 0.5:
            reply |= {"args": ["tuple", [tree(rng)]], "kwargs": ["dict", []]}
    else:
        reply = answer(tree(rng))
    for _ in range(rng.choice([0, 0, 1, 2])):
        key = rng.choice([*reply, rng.choice(WORDS)])
        if rng.random() < 0.2:
            reply.pop(key, None)
        else:
            reply[key] = any_value(rng)
    return pack(reply, [np.arange(3.0)] * rng.randrange(3))


@pytest.mark.parametrize("make", [spoiled_bytes, spoiled_array, spoiled_reply])
def test_fuzzed_replies_give_arrays_or_one_clear_error(
    make: Callable[[random.Random], bytes],
) -> None:
    """20,000 of each kind; many of each are read, and many refused, or it would tell little."""
    rng = random.Random(make.__name__)
    found = hold(make(rng) for _ in range(COUNT))
    assert sum(found.values()) == COUNT
    assert found["read"] > COUNT / 100 and COUNT - found["read"] > COUNT / 10, found
