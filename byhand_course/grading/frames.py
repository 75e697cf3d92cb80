"""Frames: what travels between the grader and a learner's process, read as if it were hostile.

A frame is one JSON value with arrays beside it:

    4 bytes        MAGIC
    4 bytes        length of the JSON in bytes, little endian, as every number here
    4 bytes        number of arrays
    8 bytes each   length of each array in bytes
    the JSON, in UTF-8
    the arrays, each written as a .npy file of version 1.0

Every length is compared with a limit before anything is allocated. Arrays are read by the small
grammar below: `np.load` runs no code, but a header of 128 bytes can make it reserve 16 GB.
"""

import base64
import binascii
import io
import json
import math
import re
import socket
import struct
import time
from collections.abc import Sequence

import numpy as np

MAGIC = b"BYH1"
MAX_JSON_BYTES = 4 << 20
MAX_ARRAYS = 4096
MAX_ARRAY_BYTES = 64 << 20
MAX_FRAME_BYTES = 128 << 20  # all arrays of one frame together
MAX_HEADER_BYTES = 512
MAX_DIMENSIONS = 8
MAX_OUTPUTS = 250  # of one cell
MAX_NAME_CHARS = 200
MAX_PIXELS = 20_000_000  # of one picture

DTYPES = frozenset(
    ["|b1", "|i1", "|u1", "<i2", "<i4", "<i8", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8"]
)  # what NumPy writes for real numbers on every machine we grade on

_HEAD = struct.Struct("<4sII")
_NPY_START = b"\x93NUMPY\x01\x00"
_NPY_HEADER = re.compile(
    rb"\{'descr': '([<|][a-z][0-9])', 'fortran_order': (True|False), "
    rb"'shape': \((|[0-9]{1,9},|[0-9]{1,9}(?:, [0-9]{1,9})+)\), \} *\n"
)


class Hostile(Exception):
    """What arrived is not a frame that our own code writes."""


class Gone(Exception):
    """The other end has closed the channel, as a process does when it dies."""


def pack(obj: object, arrays: Sequence[np.ndarray] = ()) -> bytes:
    """Write one frame: obj as JSON, and the arrays beside it."""
    text = json.dumps(obj).encode()
    blobs = [_npy(array) for array in arrays]
    lengths = struct.pack(f"<{len(blobs)}Q", *map(len, blobs))
    return b"".join((_HEAD.pack(MAGIC, len(text), len(blobs)), lengths, text, *blobs))


def _npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def send(channel: socket.socket, frame: bytes, deadline: float) -> None:
    """Send a whole frame before deadline, an instant of `time.monotonic()`.

    Raises:
        TimeoutError: if the other end does not take it in time.
        Gone: if the other end has closed the channel.
    """
    channel.settimeout(_left_s(deadline))
    try:
        channel.sendall(frame)  # its timeout is for the whole frame, not for each piece
    except TimeoutError:
        raise
    except OSError as error:
        raise Gone("the channel was closed while a frame was sent") from error


def receive(channel: socket.socket, deadline: float) -> tuple[object, list[np.ndarray]]:
    """Read one frame before deadline, an instant of `time.monotonic()` for the frame as a whole.

    Returns:
        the JSON value, and the arrays, read-only and without a copy.

    Raises:
        Hostile: if it is not a frame, or exceeds a limit.
        TimeoutError: if it is not complete in time, however steadily it drips.
        Gone: if the channel ends before the frame does.
    """
    magic, json_bytes, count = _HEAD.unpack(_read(channel, _HEAD.size, deadline))
    if magic != MAGIC:
        raise Hostile("the frame does not begin as a frame does")
    if json_bytes > MAX_JSON_BYTES:
        raise Hostile(f"the frame announces {json_bytes} bytes of JSON")
    if count > MAX_ARRAYS:
        raise Hostile(f"the frame announces {count} arrays")
    lengths = struct.unpack(f"<{count}Q", _read(channel, 8 * count, deadline))
    if sum(lengths) > MAX_FRAME_BYTES or max(lengths, default=0) > MAX_ARRAY_BYTES:
        raise Hostile(f"the frame announces {sum(lengths)} bytes of arrays")
    obj = read_json(_read(channel, json_bytes, deadline))
    return obj, [read_npy(_read(channel, length, deadline)) for length in lengths]


def _read(channel: socket.socket, size: int, deadline: float) -> memoryview:
    """Read exactly size bytes; the caller has already compared size with a limit."""
    buffer = bytearray(size)
    unread = memoryview(buffer)
    while unread:
        channel.settimeout(_left_s(deadline))
        try:
            got = channel.recv_into(unread)
        except TimeoutError:
            raise
        except OSError as error:
            raise Gone("the channel broke while a frame was read") from error
        if got == 0:
            raise Gone("the channel was closed before the frame was complete")
        unread = unread[got:]
    return memoryview(buffer).toreadonly()


def _left_s(deadline: float) -> float:
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        raise TimeoutError("the deadline has passed")
    return left_s


def read_json(data: bytes | memoryview) -> object:
    """Read a JSON value; nan and infinities may stand where numbers do.

    Raises:
        Hostile: if it is not JSON, or holds half a character, which no file could store later.
    """
    try:
        obj: object = json.loads(str(data, "utf-8"))
        json.dumps(obj, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise Hostile("the frame's JSON cannot be read") from error
    return obj


def read_npy(data: bytes | memoryview) -> np.ndarray:
    """Read a .npy file of version 1.0 as a read-only array over the same memory.

    Raises:
        Hostile: if it is not an array of real numbers, to the byte as NumPy writes it.
    """
    start = len(_NPY_START) + 2
    if len(data) < start or data[: len(_NPY_START)] != _NPY_START:
        raise Hostile("an array does not begin as a .npy file does")
    header_bytes = int.from_bytes(data[len(_NPY_START) : start], "little")
    if header_bytes > MAX_HEADER_BYTES or start + header_bytes > len(data):
        raise Hostile(f"an array announces a header of {header_bytes} bytes")
    header = _NPY_HEADER.fullmatch(data[start : start + header_bytes])
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


def read_outputs(value: object, text_chars: int, picture_chars: int) -> list[dict]:
    """Read a cell's outputs: plain text, PNG pictures and errors, as nbformat 4 writes them.

    Args:
        value: what the learner's process sent as a list of outputs.
        text_chars: how many characters of text they may hold together.
        picture_chars: how many characters of base64 their pictures may hold together.

    Raises:
        Hostile: if there is anything else in it, or too much.
    """
    if not isinstance(value, list) or len(value) > MAX_OUTPUTS:
        raise Hostile("a cell's outputs are not a short list")
    outputs = [_output(output) for output in value]
    if sum(map(_text_chars, outputs)) > text_chars + 10 * MAX_OUTPUTS:  # room for a note at its end
        raise Hostile("a cell's outputs hold too much text")
    pictures = [output["data"].get("image/png", "") for output in outputs if "data" in output]
    if sum(map(len, pictures)) > picture_chars:
        raise Hostile("a cell's pictures are too large")
    for picture in filter(None, pictures):
        _check_picture(picture)
    return outputs


_OUTPUT_KEYS = {
    "stream": {"output_type", "name", "text"},
    "display_data": {"output_type", "data", "metadata"},
    "execute_result": {"output_type", "data", "metadata", "execution_count"},
    "error": {"output_type", "ename", "evalue", "traceback"},
}


def _output(value: object) -> dict:
    kind = value.get("output_type") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(kind, str):
        raise Hostile("an output has no type")
    if set(value) != _OUTPUT_KEYS.get(kind):
        raise Hostile("an output has other fields than its type has")
    if kind == "stream":
        good = value["name"] in ("stdout", "stderr") and isinstance(value["text"], str)
    elif kind == "error":
        lines = value["traceback"]
        good = isinstance(lines, list) and all(
            isinstance(text, str) for text in (value["ename"], value["evalue"], *lines)
        )
        good = good and len(value["ename"]) <= MAX_NAME_CHARS
    else:
        good = value["metadata"] == {} and _is_data(value["data"])
        good = good and type(value.get("execution_count", 0)) is int
    if not good:
        raise Hostile(f"an output of type {kind} holds something else")
    return value


def _is_data(data: object) -> bool:
    return (
        isinstance(data, dict)
        and len(data) > 0
        and data.keys() <= {"text/plain", "image/png"}
        and all(isinstance(content, str) for content in data.values())
    )


def _text_chars(output: dict) -> int:
    if output["output_type"] == "stream":
        return len(output["text"])
    if output["output_type"] == "error":
        return len(output["evalue"]) + sum(len(line) + 1 for line in output["traceback"])
    return len(output["data"].get("text/plain", ""))


def _check_picture(picture: str) -> None:
    try:
        png = base64.b64decode(picture, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Hostile("a picture is not in base64") from error
    if png[:16] != b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" or len(png) < 24:
        raise Hostile("a picture is not a PNG")
    if math.prod(struct.unpack(">II", png[16:24])) > MAX_PIXELS:
        raise Hostile("a picture has too many pixels")
