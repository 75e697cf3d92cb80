"""The bytes that travel between the grader and a learner's process; both sides write them here.

A frame is one JSON value with arrays beside it:

    4 bytes        MAGIC
    4 bytes        length of the JSON in bytes, little endian, as every number here
    4 bytes        number of arrays
    8 bytes each   length of each array in bytes
    the JSON, in UTF-8
    the arrays, each written as a .npy file of version 1.0

Arrays have a small grammar of their own: `np.load` runs no code, but a header of 128 bytes can make
it reserve 16 GB, and it takes ten times as long. Lies beside inside.py, so it imports nothing of
ours.
"""

import json
import math
import re
import struct
from collections.abc import Sequence

import numpy as np

MAGIC = b"BYH1"
HEAD = struct.Struct("<4sII")
MAX_ARRAY_BYTES = 64 << 20
MAX_HEADER_BYTES = 512
MAX_DIMENSIONS = 8
DTYPES = frozenset(
    ["|b1", "|i1", "|u1", "<i2", "<i4", "<i8", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8"]
)  # real numbers on every machine we grade on
NPY_START = b"\x93NUMPY\x01\x00"
NPY_ALIGNMENT = 64
NPY_HEADER = re.compile(
    rb"\{'descr': '([<|][a-z][0-9])', 'fortran_order': (True|False), "
    rb"'shape': \((|[0-9]{1,9},|[0-9]{1,9}(?:, [0-9]{1,9})+)\), \} *\n"
)


class Hostile(Exception):
    """What arrived is nothing that our own code writes."""


def pack(obj: object, arrays: Sequence[np.ndarray] = ()) -> bytes:
    """Write one frame: obj as JSON, and the arrays beside it."""
    text = json.dumps(obj).encode()
    blobs = [npy(array) for array in arrays]
    lengths = struct.pack(f"<{len(blobs)}Q", *map(len, blobs))
    return b"".join((HEAD.pack(MAGIC, len(text), len(blobs)), lengths, text, *blobs))


def npy(array: np.ndarray) -> bytes:
    """An array as a .npy file in this machine's byte order, its float128 numbers as float64."""
    dtype = array.dtype.newbyteorder("=") if array.dtype.itemsize <= 8 else np.dtype(np.float64)
    plain = np.asarray(array).astype(dtype, copy=False)
    fortran = plain.flags.fnc
    header = (
        f"{{'descr': '{dtype.str}', 'fortran_order': {fortran}, 'shape': {plain.shape}, }}"
    ).encode()
    blank = -(len(NPY_START) + 2 + len(header) + 1) % NPY_ALIGNMENT
    header += b" " * blank + b"\n"
    payload = plain.tobytes("F" if fortran else "C")
    return b"".join((NPY_START, len(header).to_bytes(2, "little"), header, payload))


def read_npy(data: bytes | memoryview) -> np.ndarray:
    """Read a .npy file of version 1.0 as a read-only array over the same memory.

    Raises:
        Hostile: if it is not an array of real numbers, to the byte as NumPy writes it.
    """
    start = len(NPY_START) + 2
    if len(data) < start or data[: len(NPY_START)] != NPY_START:
        raise Hostile("an array does not begin as a .npy file does")
    header_bytes = int.from_bytes(data[len(NPY_START) : start], "little")
    if header_bytes > MAX_HEADER_BYTES or start + header_bytes > len(data):
        raise Hostile(f"an array announces a header of {header_bytes} bytes")
    header = NPY_HEADER.fullmatch(data[start : start + header_bytes])
    if header is None:
        raise Hostile("an array's header is not as NumPy writes it")
    descr, fortran, dimensions = (group.decode() for group in header.groups())
    if descr not in DTYPES:
        raise Hostile(f"an array has dtype {descr}")
    shape = tuple(int(size) for size in re.findall(r"[0-9]+", dimensions))
    return _array(data[start + header_bytes :], np.dtype(descr), shape, fortran == "True")


def _array(
    payload: bytes | memoryview, dtype: np.dtype, shape: tuple[int, ...], fortran: bool
) -> np.ndarray:
    if len(shape) > MAX_DIMENSIONS:
        raise Hostile(f"an array has {len(shape)} dimensions")
    if math.prod(shape) * dtype.itemsize != len(payload):
        raise Hostile(f"an array of shape {shape} comes with {len(payload)} bytes")
    if math.prod(max(size, 1) for size in shape) * dtype.itemsize > MAX_ARRAY_BYTES:
        raise Hostile(f"an array has shape {shape}")  # no bytes, yet too large for NumPy
    array: np.ndarray = np.frombuffer(payload, np.uint8)
    if dtype.kind == "b" and array.size and array.max() > 1:
        raise Hostile("an array of booleans holds something else")  # comparing it is undefined
    return array.view(dtype).reshape(shape, order="F" if fortran else "C")
