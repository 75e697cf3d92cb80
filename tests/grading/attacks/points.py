"""What attacks that forge points have in common."""

from functools import partial

from .attack import ZEROS, Attack, Sight

FIND_CHANNELS = """
import json, os, stat, struct
def shout(*frames):
    for fd in range(3, 256):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                for frame in frames:
                    os.write(fd, frame)
        except OSError:
            pass
def frame(message, blobs=()):
    text = json.dumps(message).encode()
    lengths = struct.pack(f"<{len(blobs)}Q", *map(len, blobs))
    return b"BYH1" + struct.pack("<II", len(text), len(blobs)) + lengths + text + b"".join(blobs)
"""

OUTERMOST = """
import sys
def outermost():
    frame = sys._getframe()
    while frame.f_back:
        frame = frame.f_back
    return frame.f_globals
"""


def earned(sight: Sight) -> bool:
    return sight.score > 0


forged = partial(
    Attack,
    seen="the points of softmax",
    through=earned,
    softmax=ZEROS,
    bare="tests inside",
    forges=True,
)
