"""Harming by quantity: processes, memory, files, output, time."""

import subprocess
import sys
from collections.abc import Callable
from functools import partial

from byhand_course.grading.engine import Engine

from .attack import Attack, Sight
from .harms import harms, says
from .points import FIND_CHANNELS
from .world import World


def unbounded(world: World, engine: Engine, code: str) -> Sight:
    """Run code in a process whose output nobody bounds."""
    code = f"from IPython.display import display\n{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    lines = done.stdout.count("\n")
    return Sight(world, said=done.stdout + done.stderr, extra={"displayed": lines})


def floods(name: str, tries: str, code: str, through: Callable[[Sight], bool]) -> Attack:
    return harms(
        name=name,
        tries=tries,
        seen="how much comes out",
        through=through,
        cells=(code,),
        bare="output not bounded",
        run_bare=partial(unbounded, code=code),
    )


BOMBS = (
    harms(
        name="fork bomb",
        tries="starts 120 processes",
        seen="how many it gets",
        through=says("STARTED 120"),
        cells=(
            "import os, signal, time\n"
            "children = []\n"
            "try:\n"
            "    for _ in range(120):\n"
            "        pid = os.fork()\n"
            "        if pid == 0:\n"
            "            time.sleep(5)\n"
            "            os._exit(0)\n"
            "        children.append(pid)\n"
            "except OSError as error:\n    print(error)\n"
            "print('STARTED', len(children))\n"
            "for pid in children:\n"
            "    os.kill(pid, signal.SIGKILL)\n"
            "    os.waitpid(pid, 0)",
        ),
    ),
    harms(
        name="thread bomb",
        tries="starts 120 threads",
        seen="how many it gets",
        through=says("STARTED 120"),
        cells=(
            "import threading\n"
            "started, stop = 0, threading.Event()\n"
            "try:\n"
            "    for _ in range(120):\n"
            "        threading.Thread(target=stop.wait, daemon=True).start()\n"
            "        started += 1\n"
            "except RuntimeError as error:\n    print(error)\n"
            "stop.set()\n"
            "print('STARTED', started)",
        ),
    ),
    harms(
        name="memory bomb",
        tries="takes 3 GiB of memory",
        seen="whether it gets them",
        through=says("GOT"),
        cells=("block = np.empty(3 << 30, np.uint8)\nprint('GOT', block.size)\ndel block",),
    ),
    harms(
        name="memory bomb in a question",
        tries="takes 3 GiB when softmax is called",
        seen="the verdict",
        through=lambda sight: sight.score > 0,
        softmax="def softmax(scores, axis=-1):\n"
        "    block = np.empty(3 << 30, np.uint8)\n"
        "    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))\n"
        "    return exponentials / exponentials.sum(axis=axis, keepdims=True)",
    ),
    harms(
        name="large file",
        tries="writes a file of 40 MB",
        seen="how large it becomes",
        through=says("WROTE 40"),
        cells=(
            "import os, signal\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "try:\n"
            "    with open('large', 'wb') as file:\n"
            "        for _ in range(40):\n            file.write(bytes(1 << 20))\n"
            "except OSError as error:\n    print(error)\n"
            "print('WROTE', os.path.getsize('large') >> 20)\n"
            "os.unlink('large')",
        ),
    ),
    *(
        harms(
            name=f"full disk in {folder}",
            tries=f"writes 12 files of 12 MB into {folder}",
            seen="how many fit",
            through=says("WROTE 12"),
            cells=(
                "import os\n"
                "written = []\n"
                "try:\n"
                "    for number in range(12):\n"
                f"        path = os.path.join({folder!r}, f'byhand-attack-{{number}}')\n"
                "        with open(path, 'wb') as file:\n"
                "            written.append(path)\n            file.write(bytes(12 << 20))\n"
                "    print('WROTE', len(written))\n"
                "except OSError as error:\n    print(error)\n"
                "for path in written:\n    os.unlink(path)",
            ),
        )
        for folder in ("/tmp", "/dev/shm", ".")
    ),
    harms(
        name="too many files",
        tries="makes 9,000 empty files",
        seen="how many it gets",
        through=says("MADE 9000"),
        cells=(
            "import os, shutil\n"
            "os.mkdir('many')\n"
            "made = 0\n"
            "try:\n"
            "    for made in range(1, 9001):\n"
            "        os.close(os.open(f'many/{made}', os.O_CREAT))\n"
            "except OSError as error:\n    print(error)\n"
            "print('MADE', made)\nshutil.rmtree('many')",
        ),
    ),
    floods(
        "output bomb",
        "prints 20 MB",
        "for _ in range(200):\n    print('x' * 100_000)",
        lambda sight: len(sight.said) > 10_000_000,
    ),
    floods(
        "display bomb",
        "displays 5,000 things",
        "for number in range(5000):\n    display(number)",
        lambda sight: max(sight.said.count("display_data"), sight.extra.get("displayed", 0)) > 4000,
    ),
    floods(
        "a huge error",
        "raises an error with 20 MB of words",
        "raise ValueError('x' * 20_000_000)",
        lambda sight: len(sight.said) > 10_000_000,
    ),
    harms(
        name="a huge value",
        tries="returns an array of 96 MB",
        seen="by how much the grader's memory grows",
        through=lambda sight: sight.grown_mb > 80,
        softmax="def softmax(scores, axis=-1):\n    return np.zeros(12_000_000)",
        fails_bare="an array above 64 MB is refused before it is read",
        live=lambda sight: "cannot be read as numbers or arrays" in sight.verdicts,
    ),
    harms(
        name="endless loop",
        tries="never ends a cell",
        seen="whether it gets its 4 seconds",
        through=says("HAD 4 SECONDS"),
        cells=(
            "import time\n"
            "ends = time.time() + 4\n"
            "while time.time() < ends:\n    pass\n"
            "print('HAD 4 SECONDS')",
        ),
    ),
    harms(
        name="endless question",
        tries="never returns from softmax, deaf to every signal that can be ignored",
        seen="whether it gets its 4 seconds",
        through=lambda sight: sight.score > 0,
        softmax="import signal, time\n"
        "def softmax(scores, axis=-1):\n"
        "    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGXCPU):\n"
        "        signal.signal(number, signal.SIG_IGN)\n"
        "    ends = time.time() + 4\n"
        "    while time.time() < ends and scores.ndim == 2:\n        pass\n"
        "    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))\n"
        "    return exponentials / exponentials.sum(axis=axis, keepdims=True)",
    ),
    harms(
        name="endless call in C",
        tries="stays in C and keeps the interpreter's lock, where Python looks at no signal",
        seen="whether it gets its 4 seconds",
        through=says("HAD 4 SECONDS"),
        cells=("import ctypes\nctypes.PyDLL(None).usleep(4_000_000)\nprint('HAD 4 SECONDS')",),
    ),
    harms(
        name="stopped process",
        tries="stops itself with SIGSTOP, so that nothing ends",
        seen="the time until the next cell",
        through=lambda sight: sight.seconds > 6,
        cells=("import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",),
    ),
    harms(
        name="drip-feed",
        tries="sends its answer one byte every 50 ms",
        seen="whether the grader waits for the end",
        through=lambda sight: sight.seconds > 6,
        softmax=f"{FIND_CHANNELS}\nimport time\n"
        "def softmax(scores, axis=-1):\n"
        "    text = frame({'op': 'answer', 'x': 'x' * 400})\n"
        "    for place in range(140):\n"
        "        shout(text[place:place + 1])\n"
        "        time.sleep(0.05)\n"
        "    return scores",
    ),
    harms(
        name="half an answer",
        tries="sends half an answer, closes nothing and sleeps",
        seen="whether the grader waits",
        through=lambda sight: sight.seconds > 6,
        softmax=f"{FIND_CHANNELS}\nimport time\n"
        "def softmax(scores, axis=-1):\n"
        "    shout(frame({'op': 'answer'})[:-4])\n"
        "    time.sleep(7)",
    ),
    harms(
        name="channel held open",
        tries="dies, and leaves a child behind that holds the channel",
        seen="whether the grader waits",
        through=lambda sight: sight.seconds > 6,
        softmax="import os, time\n"
        "def softmax(scores, axis=-1):\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n        time.sleep(7)\n"
        "    os._exit(0)",
    ),
    harms(
        name="flood of calls",
        tries="calls the grader back without end",
        seen="whether the grader goes on answering",
        through=lambda sight: sight.seconds > 6,
        softmax="from byhand import mine\n"
        "dot = mine('dot')\n"
        "import time\n"
        "def softmax(scores, axis=-1):\n"
        "    ends = time.time() + 7\n"
        "    while time.time() < ends:\n        dot(np.ones(3), np.ones(3))",
    ),
)
