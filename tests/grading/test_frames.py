"""Frames arrive whole or not at all: hostile bytes give arrays or one clear error."""

import io
import json
import random
import socket
import struct
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from byhand_course.grading import frames, wire
from byhand_course.grading.frames import Gone, read_outputs, receive
from byhand_course.grading.wire import Hostile, pack, read_npy

DTYPES = sorted(wire.DTYPES)
PNG = (  # of one pixel
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two ends of a channel."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def soon(seconds: float = 2.0) -> float:
    return time.monotonic() + seconds


def arrived(data: bytes) -> tuple[object, list[np.ndarray]]:
    """Receive bytes after which the other end is closed."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            theirs.sendall(data)
        return receive(ours, soon())


def npy(header: bytes, payload: bytes, version: bytes = b"\x01\x00") -> bytes:
    return b"\x93NUMPY" + version + struct.pack("<H", len(header)) + header + payload


def header(descr: str = "<f8", shape: str = "(2,)", fortran: str = "False") -> bytes:
    return f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n".encode()


@given(hnp.arrays(st.sampled_from(DTYPES), hnp.array_shapes(min_dims=0, max_dims=4, min_side=0)))
def test_an_array_is_a_file_that_numpy_reads(array):
    """In rows, in columns, and as a view; to the bit, nan included."""
    for given_array in (array, np.asfortranarray(array), array[..., ::-1] if array.ndim else array):
        found = np.load(io.BytesIO(wire.npy(given_array)), allow_pickle=False)
        assert (found.dtype, found.shape) == (given_array.dtype, given_array.shape)
        assert found.tobytes() == given_array.tobytes()


@given(
    st.lists(
        hnp.arrays(
            st.sampled_from(DTYPES),
            hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3),
        ),
        max_size=3,
    ),
    st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_what_is_packed_arrives(arrays: list[np.ndarray], transpose: bool) -> None:
    """A frame carries its JSON and arrays of every allowed dtype, bit for bit and read-only."""
    given_arrays = [array.T if transpose else array for array in arrays]
    obj, got = arrived(pack({"a": [1, None, "ä"]}, given_arrays))
    assert obj == {"a": [1, None, "ä"]}
    for before, after in zip(given_arrays, got, strict=True):
        assert (after.dtype, after.shape) == (before.dtype, before.shape)
        assert after.tobytes() == before.tobytes()
        assert not after.flags.writeable


def test_nan_and_infinity_may_stand_in_json() -> None:
    """A learner's function may return them, and that is an answer like any other."""
    obj, _ = arrived(pack([float("nan"), float("inf")]))
    assert np.isnan(obj[0]) and obj[1] == float("inf")


@given(st.data())
@settings(max_examples=1500, deadline=None)
def test_mutated_frames_give_a_frame_or_one_clear_error(data: st.DataObject) -> None:
    """Bytes changed, cut, repeated or put in never raise anything but Hostile or Gone."""
    frame = bytearray(pack({"op": "x"}, [np.arange(6.0).reshape(2, 3), np.array([True])]))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(frame) - 1))
        piece = data.draw(st.binary(max_size=4))
        frame[place : place + data.draw(st.integers(0, 4))] = piece
        if not frame:
            break
    _accept_or_refuse(bytes(frame))


def test_random_bytes_give_one_clear_error() -> None:
    """Noise behind a good beginning, a few thousand times, is refused or is a frame."""
    rng = random.Random(0)
    for _ in range(1500):
        noise = rng.randbytes(rng.randrange(200))
        _accept_or_refuse(noise)
        _accept_or_refuse(wire.MAGIC + struct.pack("<II", 2, 1) + noise)
        blob = npy(header(), noise)
        _accept_or_refuse(wire.MAGIC + struct.pack("<IIQ", 2, 1, len(blob)) + b"{}" + blob)


def _accept_or_refuse(data: bytes) -> None:
    try:
        _, arrays = arrived(data)
    except (Hostile, Gone) as error:
        assert str(error)
    else:
        assert all(type(array) is np.ndarray for array in arrays)


@pytest.mark.parametrize(
    "blob",
    [
        pytest.param(npy(header("|O"), bytes(16)), id="objects"),
        pytest.param(npy(header("<c8"), bytes(16)), id="complex"),
        pytest.param(npy(header(">f8"), bytes(16)), id="big endian"),
        pytest.param(npy(header("|V8"), bytes(16)), id="void"),
        pytest.param(npy(header(shape="(3,)"), bytes(16)), id="more shape than bytes"),
        pytest.param(npy(header(shape="(1,)"), bytes(16)), id="more bytes than shape"),
        pytest.param(npy(header(shape="(-2,)"), bytes(16)), id="negative"),
        pytest.param(npy(header(shape="(2)"), bytes(16)), id="no tuple"),
        pytest.param(npy(header(shape="(" + "1, " * 8 + "2)"), bytes(16)), id="nine axes"),
        pytest.param(npy(header(shape="(999999999, 999999999, 0)"), b""), id="empty yet huge"),
        pytest.param(npy(header(shape="(4611686018427387906,)"), bytes(16)), id="overflow"),
        pytest.param(npy(header() + b" " * 600, bytes(16)), id="long header"),
        pytest.param(npy(header()[:-1] + b" " * 3, bytes(16)), id="no newline"),
        pytest.param(npy(header(), bytes(16), version=b"\x02\x00"), id="version 2"),
        pytest.param(npy(header("|b1"), b"\x01\x02"), id="boolean of 2"),
        pytest.param(b"\x93NUMPY\x01\x00", id="cut"),
        pytest.param(b"\x80\x04N.", id="pickle"),
    ],
)
def test_only_arrays_as_numpy_writes_them_are_read(blob: bytes) -> None:
    """Every other array is refused."""
    with pytest.raises(Hostile):
        read_npy(blob)


@pytest.mark.parametrize(
    "start",
    [
        struct.pack("<II", frames.MAX_JSON_BYTES + 1, 0),
        struct.pack("<II", 2, frames.MAX_ARRAYS + 1),
        struct.pack("<IIQ", 2, 1, wire.MAX_ARRAY_BYTES + 1),
        struct.pack("<II3Q", 2, 3, *[frames.MAX_FRAME_BYTES // 2] * 3),
        struct.pack("<II2Q", 2, 2, 2**63, 2**63),
    ],
)
def test_lengths_are_refused_before_anything_is_read(
    start: bytes, pair: tuple[socket.socket, socket.socket]
) -> None:
    """An announced length above its limit is refused at once, not waited or allocated for."""
    ours, theirs = pair
    theirs.sendall(wire.MAGIC + start)
    with pytest.raises(Hostile, match="announces"):
        receive(ours, soon())


@pytest.mark.parametrize(
    "text", [b"{", b"\xff", b"[" * 100_000, b'"\\ud800"', b"1" * 5000, b""], ids=repr
)
def test_json_that_cannot_be_read_is_refused(text: bytes) -> None:
    """Broken, too deep, not UTF-8, half a character, or a number of 5,000 digits: one error."""
    with pytest.raises(Hostile):
        arrived(wire.MAGIC + struct.pack("<II", len(text), 0) + text)


def test_dripping_does_not_extend_the_deadline(pair: tuple[socket.socket, socket.socket]) -> None:
    """The deadline is for the frame as a whole: a byte every 20 ms does not buy time."""
    ours, theirs = pair
    frame = pack(["x" * 1000])
    stop = threading.Event()

    def drip() -> None:
        for place in range(len(frame)):
            if stop.wait(0.02):
                return
            theirs.send(frame[place : place + 1])

    thread = threading.Thread(target=drip)
    thread.start()
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        receive(ours, soon(0.2))
    stop.set()
    thread.join()
    assert time.monotonic() - began < 1


def test_sending_to_one_who_does_not_read_ends_at_the_deadline(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    """A full channel is not waited for beyond the deadline."""
    ours, _ = pair
    with pytest.raises(TimeoutError):
        frames.send(ours, bytes(8 << 20), soon(0.1))


def test_a_closed_channel_is_told_from_a_hostile_one(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    """A process that dies in the middle of a frame is gone, not hostile."""
    ours, theirs = pair
    theirs.sendall(pack([1])[:-1])
    theirs.close()
    with pytest.raises(Gone):
        receive(ours, soon())
    with pytest.raises(Gone):
        frames.send(ours, b"x", soon())


def _display(**data: object) -> dict:
    return {"output_type": "display_data", "data": data, "metadata": {}}


def test_outputs_that_a_notebook_may_hold_are_read() -> None:
    """Streams, results, pictures and errors pass as they are."""
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": "x"},
        {**_display(**{"text/plain": "3"}), "output_type": "execute_result", "execution_count": 1},
        _display(**{"text/plain": "<Figure>", "image/png": PNG}),
        {"output_type": "error", "ename": "E", "evalue": "e", "traceback": ["a", "b"]},
    ]
    assert read_outputs(outputs, 100, 1000) == outputs


@pytest.mark.parametrize(
    "output",
    [
        pytest.param(_display(**{"text/html": "<script>"}), id="html"),
        pytest.param(_display(**{"image/png": "PHN2Zz4="}), id="no png"),
        pytest.param(_display(**{"image/png": PNG + "\n<script>"}), id="no base64"),
        pytest.param(_display(**{"image/png": "iVBORw0KGgoAAAANSUhEUv//////////"}), id="pixels"),
        pytest.param(_display(**{"text/plain": ["x"]}), id="list for text"),
        pytest.param(_display(), id="nothing"),
        pytest.param({**_display(**{"text/plain": ""}), "metadata": {"a": 1}}, id="metadata"),
        pytest.param({"output_type": "stream", "name": "stdin", "text": ""}, id="stdin"),
        pytest.param({"output_type": "stream", "name": ["x"], "text": ""}, id="unhashable"),
        pytest.param({"output_type": ["stream"]}, id="unhashable type"),
        pytest.param({"output_type": "stream", "name": "stdout", "text": "x" * 9999}, id="long"),
        pytest.param({"output_type": "stream", "name": "stdout"}, id="no text"),
        pytest.param(
            {"output_type": "error", "ename": "E", "evalue": "", "traceback": [1]}, id="trace"
        ),
        pytest.param(json.loads("null"), id="null"),
    ],
)
def test_other_outputs_are_refused(output: object) -> None:
    """Nothing but plain text, a PNG or an error comes through, and not too much of it."""
    with pytest.raises(Hostile):
        read_outputs([output], 100, 1000)
