"""Harming the grader by what it is answered: arrays and texts that are not what they seem."""

import contextlib
from functools import partial

from byhand_course.grading.engine import Engine

from .attack import Attack, Sight
from .harms import harms
from .points import FIND_CHANNELS
from .world import World, memory_mb

NPY = "b'\\x93NUMPY\\x01\\x00' + len(head).to_bytes(2, 'little') + head"
REPLY = (
    "{'op': 'answer', 'value': ['array', 0], 'raised': None, 'line_number': None, 'changed': [],"
    " 'failure': None}"
)


def sends(name: str, tries: str, blob: str, message: str = REPLY, **more: object) -> Attack:
    """A softmax that writes a reply of its own making."""
    return harms(
        name=name,
        tries=tries,
        seen="the verdict, the grader's memory and its time",
        through=lambda sight: sight.score > 0 or sight.grown_mb > 150 or sight.seconds > 6,
        softmax=f"{FIND_CHANNELS}\n"
        "def softmax(scores, axis=-1):\n"
        f"    head = b''\n    blob = b''\n    {blob}\n"
        f"    shout({message if message.startswith('b') else f'frame({message}, [blob])'})\n"
        f"    os._exit(0)",
        **{"fails_bare": STRICT, "live": judged_wrong, **more},  # type: ignore[arg-type]
    )


STRICT = "our own parser stands on the grader's side of the walls, and needs none"


def judged_wrong(sight: Sight) -> bool:
    return "cannot be read as numbers or arrays" in sight.verdicts


def _np_load(world: World, engine: Engine, header: bytes) -> Sight:
    """What np.load does with such a header: it asks for all the memory that it names."""
    import io
    import tracemalloc

    import numpy as np

    tracemalloc.start()
    blob = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    with contextlib.suppress(ValueError, MemoryError):
        np.load(io.BytesIO(blob), allow_pickle=False)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return Sight(world, grown_mb=peak)


def _unpickle(world: World, engine: Engine) -> Sight:
    """What np.load does with an array of objects, where pickles are allowed."""
    import io

    import numpy as np

    class Code:
        def __reduce__(self):
            return exec, ("import builtins; builtins.byhand_attacked = 1",)

    import builtins

    stream = io.BytesIO()
    np.save(stream, np.array([Code()], dtype=object), allow_pickle=True)
    stream.seek(0)
    np.load(stream, allow_pickle=True)
    ran = hasattr(builtins, "byhand_attacked")
    if ran:
        del builtins.byhand_attacked
    return Sight(world, score=3.0 if ran else 0.0)


def _expand(world: World, engine: Engine) -> Sight:
    """What np.load does with a small compressed archive."""
    import io

    import numpy as np

    stream = io.BytesIO()
    np.savez_compressed(stream, x=np.zeros(200 << 20, np.uint8))
    stream.seek(0)
    before = memory_mb()
    loaded = np.load(stream, allow_pickle=False)["x"]
    grown = memory_mb() - before
    return Sight(world, grown_mb=grown if loaded.size else 0.0)


HUGE = b"{'descr': '<f8', 'fortran_order': False, 'shape': (40000000,), }\n"
REPLIES = (
    sends(
        "array of 16 GB in 128 bytes",
        "announces an array that is far larger than what follows",
        "head = b\"{'descr': '<f8', 'fortran_order': False, 'shape': (2000000000,), }\\n\"\n"
        f"    blob = {NPY}",
        bare="np.load",
        run_bare=partial(_np_load, header=HUGE),
        fails_bare="",
        live=None,
    ),
    sends(
        "pickle in an array",
        "sends an array of objects, which runs code when it is unpickled",
        "import io, pickle\n"
        "    class Code:\n"
        "        def __reduce__(self):\n"
        "            return exec, ('import builtins; builtins.byhand_attacked = 1',)\n"
        "    stream = io.BytesIO()\n"
        "    np.save(stream, np.array([Code()], dtype=object), allow_pickle=True)\n"
        "    blob = stream.getvalue()",
        bare="np.load with pickles",
        run_bare=_unpickle,
        fails_bare="",
        live=None,
    ),
    sends(
        "compressed archive",
        "sends a small .npz that unpacks to 200 MB",
        "import io\n    stream = io.BytesIO()\n"
        "    np.savez_compressed(stream, x=np.zeros(20 << 20, np.uint8))\n"
        "    blob = stream.getvalue()",
        bare="np.load",
        run_bare=_expand,
        fails_bare="",
        live=None,
    ),
    sends(
        "shape that overflows",
        "announces a shape whose product is 0 in 64 bits",
        "head = b\"{'descr': '<f8', 'fortran_order': False, "
        "'shape': (4294967296, 4294967296), }\\n\"\n"
        f"    blob = {NPY}",
    ),
    sends(
        "length of 2**63",
        "announces more bytes than there are",
        "pass",
        "b'BYH1' + struct.pack('<IIQ', 2, 1, 1 << 63) + b'{}'",
    ),
    sends("deep JSON", "sends a text of 100,000 brackets", "pass",
          "b'BYH1' + struct.pack('<II', 100_000, 0) + b'[' * 100_000"),
    sends(
        "deep tree",
        "sends an answer that is a list in a list, 300 times",
        "tree = ['plain', 1]\n    for _ in range(300):\n        tree = ['list', [tree]]",
        REPLY.replace("['array', 0]", "tree"),
    ),
    sends("number of a million digits", "sends a whole number of a million digits", "pass",
          "b'BYH1' + struct.pack('<II', 1_000_000, 0) + b'1' * 1_000_000"),
    sends("code in an answer", "answers with what stands for a function, for the grader to make",
          "pass", REPLY.replace("['array', 0]", "['code', ['f', 'raise SystemExit']]")),
    sends("5,000 arrays", "announces more arrays than any answer has", "pass",
          "b'BYH1' + struct.pack('<II', 2, 5000) + bytes(40_000)"),
)  # fmt: skip
