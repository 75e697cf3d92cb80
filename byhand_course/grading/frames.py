"""Frames as the grader reads them: whatever a learner's process sends may be hostile.

wire.py says what a frame is. Every length is compared with a limit before anything is allocated.
"""

import base64
import binascii
import json
import math
import socket
import struct
import time

import numpy as np

from .wire import HEAD, MAGIC, MAX_ARRAY_BYTES, Hostile, read_npy

MAX_JSON_BYTES = 4 << 20
MAX_ARRAYS = 4096
MAX_FRAME_BYTES = 128 << 20  # all arrays of one frame together
MAX_OUTPUTS = 250  # of one cell
MAX_NAME_CHARS = 200
MAX_PIXELS = 20_000_000  # of one picture


class Gone(Exception):
    """The other end has closed the channel, as a process does when it dies."""


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
    magic, json_bytes, count = HEAD.unpack(_read(channel, HEAD.size, deadline))
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
