"""The engine runs what learners hand in, and whatever it does, only its own part suffers.

Real processes throughout, in the sandbox unless a test is about processes that see each other. The
timeouts are short, so that a loop for ever costs the test little.
"""

import contextlib
import os
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from byhand_course.grading.engine import Engine, Limits, Notebook
from byhand_course.grading.sandbox import Sandbox

QUICK = Limits(cell_timeout_s=1.0, question_timeout_s=0.7, notebook_timeout_s=20.0)

SOFTMAX = """
def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()
"""

FIND_CHANNELS = """
import os, stat
def channels():
    found = []
    for fd in range(3, 256):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                found.append(fd)
        except OSError:
            pass
    return found
def shout(noise):
    for fd in channels():
        os.write(fd, noise)
"""


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """One engine for all tests that leave its warm parent alone."""
    with Engine(QUICK) as engine:
        yield engine


@pytest.fixture(scope="module")
def bare() -> Iterator[Engine]:
    """An engine without a sandbox, whose notebooks can see their warm parent."""
    with Engine(QUICK, Sandbox.NONE) as engine:
        yield engine


def states(notebook: Notebook) -> list[str | bool]:
    """For each cell its failure, or else whether it ran well."""
    return [outcome.failure or outcome.ok for outcome in notebook.outcomes]


def printed(notebook: Notebook, place: int) -> str:
    return "".join(output.get("text", "") for output in notebook.outcomes[place].outputs)


def is_still_graded(engine: Engine) -> bool:
    """Whether the next learner's notebook is run and answers."""
    with engine.open(["import numpy as np", SOFTMAX]) as notebook:
        answer = notebook.ask("softmax", (np.zeros(2),))
        return states(notebook) == [True, True] and np.array_equal(answer.value, [0.5, 0.5])


def exists(pid: int) -> bool:
    """Whether there is such a process, be it a zombie."""
    return Path(f"/proc/{pid}").exists()


def ends_soon(pid: int) -> bool:
    """Whether a process ends within two seconds; whoever adopted it may not have reaped it yet."""
    status = Path(f"/proc/{pid}/status")
    ends = time.monotonic() + 2
    while time.monotonic() < ends:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if "State:\tZ" not in status.read_text():
                time.sleep(0.01)
                continue
        return True
    return False


# Cells


def test_cells_run_in_order_and_functions_answer(engine: Engine) -> None:
    """A later cell sees what an earlier one made, and a function answers with its array."""
    with engine.open(["import numpy as np", SOFTMAX, "y = softmax(np.zeros(4))"]) as notebook:
        assert states(notebook) == [True, True, True]
        answer = notebook.ask("softmax", (np.array([0.0, np.log(3.0)]),))
        np.testing.assert_allclose(answer.value, [0.25, 0.75])
        assert (answer.raised, answer.failure, answer.changed) == (None, None, ())
        np.testing.assert_array_equal(notebook.read("y").value, np.full(4, 0.25))


def test_outputs_are_caught_in_their_order(engine: Engine) -> None:
    """Prints, displays, warnings on stderr and the last value come out as they went in."""
    cell = (
        "import sys\nprint('a')\nprint('b')\ndisplay(1)\nprint('c', file=sys.stderr)\nprint('d')\n2"
    )
    with engine.open(["0", cell]) as notebook:
        plain = {"output_type": "display_data", "data": {"text/plain": "1"}, "metadata": {}}
        assert notebook.outcomes[1].outputs == [
            {"output_type": "stream", "name": "stdout", "text": "a\nb\n"},
            plain,
            {"output_type": "stream", "name": "stderr", "text": "c\n"},
            {"output_type": "stream", "name": "stdout", "text": "d\n"},
            {
                "output_type": "execute_result",
                "data": {"text/plain": "2"},
                "metadata": {},
                "execution_count": 2,
            },
        ]


def test_a_display_that_is_updated_takes_the_place_of_the_old_one(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A progress bar is one output, its last state, however often it is renewed."""
    monkeypatch.setattr(engine, "limits", Limits())  # time enough on a busy machine
    cells = [
        "from IPython.display import display, update_display\n"
        "bar = display('0 %', display_id='bar')\nprint('below')\ndisplay('other')",
        "bar = display('0 %', display_id=True)\nprint('below')\n"
        "for i in range(1000): bar.update('%d %%' % i + ' ' * 100)\nbar.update('done')",
        "update_display('late', display_id='bar')\nupdate_display('nothing', display_id='?')",
    ]
    with engine.open(cells) as notebook:
        assert states(notebook) == [True] * 3
        first, renewed, late = (outcome.outputs for outcome in notebook.outcomes)
    assert [output.get("data", {}).get("text/plain") for output in first] == [
        "'0 %'",
        None,
        "'other'",
    ]
    assert [output["output_type"] for output in renewed] == ["display_data", "stream"]
    assert renewed[0]["data"] == {"text/plain": "'done'"}
    assert late == []  # the other cell's output is written already


@pytest.mark.parametrize("first", ["", "%matplotlib inline\n"])
def test_figures_come_out_as_pictures(engine: Engine, first: str) -> None:
    """A figure is shown once, whether plt.show is called or forgotten."""
    plot = first + "import matplotlib.pyplot as plt\nplt.plot([1, 2]);\n"
    with engine.open([plot + "plt.show()\nprint('after')", plot]) as notebook:
        shown, forgotten = (outcome.outputs for outcome in notebook.outcomes)
    assert [output["output_type"] for output in shown] == ["display_data", "stream"]
    assert [output["output_type"] for output in forgotten] == ["display_data"]
    assert shown[0]["data"].keys() == {"text/plain", "image/png"}


def test_only_text_and_pictures_come_out(engine: Engine) -> None:
    """HTML that a learner displays stays inside, and its plain text comes out."""
    raw = "display({'text/html': '<script>', 'text/plain': 'x'}, raw=True)"
    with engine.open(["from IPython.display import HTML\nHTML('<script>')", raw]) as notebook:
        for outcome in notebook.outcomes:
            (output,) = outcome.outputs
            assert output["data"].keys() == {"text/plain"}


def test_a_cell_that_raises_does_not_stop_the_next(engine: Engine) -> None:
    """Its error comes out with a plain traceback, and later cells run."""
    with engine.open(["x = 1", "def f():\n    return 1 / 0\nf()", "def g(:", "x + 1"]) as notebook:
        assert states(notebook) == [True, False, False, True]
        (error,) = notebook.outcomes[1].outputs
        assert (error["ename"], error["evalue"]) == ("ZeroDivisionError", "division by zero")
        trace = "\n".join(error["traceback"])
        assert "\x1b" not in trace and "line 2 in f\n    return 1 / 0" in trace
        assert "inside.py" not in trace
        assert notebook.outcomes[2].outputs[0]["ename"] == "SyntaxError"


def test_a_learners_own_colours_are_taken_out_of_an_error(engine: Engine) -> None:
    """Neither its words nor its traceback hold terminal codes."""
    with engine.open(["raise ValueError(chr(27) + '[31mred')"]) as notebook:
        (error,) = notebook.outcomes[0].outputs
        assert error["evalue"] == "red"
        assert "\x1b" not in "".join(error["traceback"])


def test_exiting_or_reading_input_fails_like_any_cell(engine: Engine) -> None:
    """sys.exit() and input() cost the cell only, and at once."""
    with engine.open(["import sys\nsys.exit()", "input()", "exit()", "3"]) as notebook:
        assert states(notebook)[0] is False
        assert states(notebook)[1] is False
        assert states(notebook)[3] is True


@pytest.mark.parametrize(
    ("cell", "failure"),
    [
        ("while True: pass", "timeout"),
        ("import signal; signal.pause()", "timeout"),
        ("import os; os._exit(0)", "died"),
        ("import ctypes; ctypes.string_at(0)", "died"),
        ("import os; os.closerange(3, 256)", "died"),
    ],
)
def test_a_cell_that_hangs_or_dies_costs_only_itself(
    engine: Engine, cell: str, failure: str
) -> None:
    """The cells before and after it count, in a process that never ran it."""
    cells = ["n = 1", "n += 1", cell, "n += 1", "print(n)"]
    with engine.open(cells) as notebook:
        assert states(notebook) == [True, True, failure, True, True]
        assert printed(notebook, 4) == "3\n"
        assert notebook.read("n").value == 3


def test_a_cell_that_stops_its_process_costs_only_itself(bare: Engine) -> None:
    """A stopped process is killed like any other. In the sandbox nothing inside can stop it."""
    stop = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"
    with bare.open(["n = 1", stop, "n"]) as notebook:
        assert states(notebook) == [True, "timeout", True]


def test_several_such_cells_cost_only_themselves(engine: Engine) -> None:
    """Each is left out in turn."""
    die = "import os; os._exit(1)"
    with engine.open([die, "n = 1", die, "n += 1", die]) as notebook:
        assert states(notebook) == ["died", True, "died", True, "died"]
        assert notebook.read("n").value == 2


def test_the_whole_notebook_has_a_limit_too(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When its time is up, what is left is skipped and questions find nobody."""
    limits = Limits(cell_timeout_s=0.3, notebook_timeout_s=0.5)
    monkeypatch.setattr(engine, "limits", limits)
    began = time.monotonic()
    with engine.open(["n = 1", *["while True: pass"] * 9, "n"]) as notebook:
        assert states(notebook)[:2] == [True, "timeout"]
        assert states(notebook)[-1] == "skipped"
        assert notebook.ask("n", ()).failure == "timeout"
    assert time.monotonic() - began < 1


def test_a_flood_of_output_is_bounded_and_says_so(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The beginning is kept, a note says that the rest is not, and the cell still counts."""
    monkeypatch.setattr(engine, "limits", Limits())  # time enough on a busy machine
    flood = "for i in range(200_000): print('flood')"
    displays = "for i in range(10_000): display(i)"
    pictures = "import os\nfrom IPython.display import Image\n" + (
        "for i in range(50): display(Image(data=b'\\x89PNG\\r\\n\\x1a\\n' + bytes(100_000)))"
    )
    error = "raise ValueError('x' * 10_000_000)"
    with engine.open([flood, displays, error, pictures, "print('dry')"]) as notebook:
        assert states(notebook)[:3] == [True, True, False]
        for place in (0, 1, 2):
            assert "left out" in printed(notebook, place)
            assert len(str(notebook.outcomes[place].outputs)) < 2 * QUICK.text_chars
        assert printed(notebook, 0).startswith("flood\nflood\n")
        assert notebook.outcomes[2].outputs[0]["ename"] == "ValueError"
        assert notebook.outcomes[3].failure == "unreadable"  # of 0 by 0 pixels: not a picture
        assert printed(notebook, 4) == "dry\n"


def test_memory_is_bounded(engine: Engine) -> None:
    """More than 2 GiB is refused to the learner, as an error of their own."""
    with engine.open(["import numpy as np\nnp.ones(1 << 29)", "1"]) as notebook:
        assert states(notebook) == [False, True]
        assert "MemoryError" in notebook.outcomes[0].outputs[0]["ename"]


# Questions


def test_a_question_leaves_no_trace(engine: Engine) -> None:
    """A function that counts its calls sees the same state at every question."""
    cells = [
        "calls = 0\ndef f():\n    global calls\n    calls += 1\n    return calls",
        "import os\npid = os.getpid()",
    ]
    with engine.open(cells) as notebook:
        assert [notebook.ask("f", ()).value for _ in range(3)] == [1, 1, 1]
        assert notebook.read("calls").value == 0
        pids = [notebook.read("pid").value for _ in range(3)]
        assert pids[0] == pids[1] == pids[2]  # in a fork, not by running all cells again


def test_a_function_that_hangs_on_one_question_answers_the_next(engine: Engine) -> None:
    """The question times out; the notebook comes back with the state it had."""
    cells = ["n = 5\ndef f(x):\n    while x < 0: pass\n    return x + n"]
    with engine.open(cells) as notebook:
        assert notebook.ask("f", (-1,)).failure == "timeout"
        assert notebook.ask("f", (1,)).value == 6
        assert states(notebook) == [True]


def test_a_function_that_kills_itself_or_its_notebook_answers_the_next(engine: Engine) -> None:
    """Death is told from a timeout, and at once."""
    cells = [
        "import os\n"
        "def f(x):\n"
        "    if x == 1: os._exit(0)\n"
        "    if x == 2: os.kill(os.getppid(), 9)\n"
        "    if x == 3: raise SystemExit\n"
        "    return x"
    ]
    with engine.open(cells) as notebook:
        began = time.monotonic()
        assert notebook.ask("f", (1,)).failure == "died"
        assert notebook.ask("f", (2,)).failure in ("died", None)  # it may still answer, then die
        assert notebook.ask("f", (3,)).raised == "SystemExit"
        assert notebook.ask("f", (4,)).value == 4
        assert time.monotonic() - began < QUICK.question_timeout_s


def test_an_exception_is_told_without_its_words(engine: Engine) -> None:
    """Its type and the learner's line come out; words, or a type's invented name, could carry."""
    cells = [
        "def f(x):\n    y = x\n    raise ValueError(f'{x}')",
        "def g(x):\n    raise type('stolen_%s' % x, (Exception,), {'__module__': 'builtins'})",
    ]
    with engine.open(cells) as notebook:
        answer = notebook.ask("f", (7,))
        assert (answer.raised, answer.message, answer.line) == ("ValueError", "", "")
        assert answer.line_number == 3
        assert notebook.ask("g", (7,)).raised == "Exception"


def test_inputs_arrive_as_they_were_and_changes_are_noted(engine: Engine) -> None:
    """Arrays keep dtype, shape and order; an input that is changed in place is named."""
    cells = ["def f(x, ids, pair):\n    ids[0] = 9\n    return x, ids, pair"]
    x = np.arange(6, dtype=np.float32).reshape(2, 3).T
    ids = np.array([1, 2])
    with engine.open(cells) as notebook:
        answer = notebook.ask("f", (x, ids, [True, "b"]))
    np.testing.assert_array_equal(answer.value[0], x)
    assert answer.value[0].dtype == np.float32
    assert answer.value[1].tolist() == [9, 2]
    assert answer.value[2] == [True, "b"]
    assert answer.changed == (1,)
    assert ids.tolist() == [1, 2]


def test_odd_numbers_still_arrive(engine: Engine) -> None:
    """float128 and big-endian arrays come out as plain ones, scalars and empty arrays as such."""
    cells = [
        "import numpy as np",
        "def f(kind):\n    return np.arange(3).astype(kind)",
        "def g():\n    return np.float64(2), np.zeros((0, 3)), np.nan",
    ]
    with engine.open(cells) as notebook:
        for kind in ("longdouble", ">f8", ">i2"):
            assert notebook.ask("f", (kind,)).value.tolist() == [0, 1, 2]
        scalar, empty, nan = notebook.ask("g", ()).value
        assert (scalar.shape, empty.shape, np.isnan(nan)) == ((), (0, 3), True)


def test_a_name_that_is_not_there_is_missing(engine: Engine) -> None:
    """No such name, or one that cannot be called: missing, not wrong."""
    with engine.open(["n = 3"]) as notebook:
        assert notebook.ask("softmax", ()).failure == "missing"
        assert notebook.ask("n", ()).failure == "missing"
        assert notebook.read("m").failure == "missing"
        assert notebook.read("n").value == 3


# Functions of earlier lessons


def test_a_served_function_is_answered_by_the_grader(engine: Engine) -> None:
    """The learner's own broken version is not used, with arguments by place or by name."""
    cells = [
        "import numpy as np",
        "def double(x, times=0):\n    return None",
        "def f(x):\n    return double(x, times=2) + double(double(x))",
    ]
    asked = []

    def double(x: np.ndarray, times: int = 1) -> np.ndarray:
        asked.append((x.tolist(), times))
        return 2 * x * times

    with engine.open(cells) as notebook:
        answer = notebook.ask("f", (np.array([1.0, 2.0]),), serve={"double": double})
        assert answer.value.tolist() == [8.0, 16.0]
        assert asked == [([1.0, 2.0], 2), ([1.0, 2.0], 1), ([2.0, 4.0], 1)]
        assert notebook.ask("f", (1.0,)).raised == "TypeError"  # unserved: their own again


def test_an_error_of_the_served_function_reaches_the_learner_by_its_type_only(
    engine: Engine,
) -> None:
    """Its words stay outside, and the learner's code may catch it."""
    cells = [
        "def f(x):\n    try:\n        return g(x)\n    except KeyError as error:\n"
        "        return str(error)"
    ]

    def g(x: object) -> object:
        raise KeyError("expected 42")

    with engine.open(cells) as notebook:
        words = notebook.ask("f", (1,), serve={"g": g}).value
        assert "42" not in words and "KeyError" in words


def test_mine_borrows_from_the_grader(engine: Engine) -> None:
    """What `mine` lends is answered here, in cells and in questions, and only if it is earlier."""
    cells = [
        "from byhand import mine\nmy_exp, my_log = mine('exp'), mine('log')",
        "my_exp(0.0)",
        "def f(x):\n    return my_exp(x) + 1",
        "my_log(1.0)",
    ]
    with engine.open(cells, earlier={"exp": np.exp}) as notebook:
        assert states(notebook) == [True, True, True, False]
        assert notebook.outcomes[1].outputs[0]["data"]["text/plain"] == "array(1.)"
        assert notebook.outcomes[3].outputs[0]["ename"] == "NameError"
        assert notebook.ask("f", (0.0,)).value == 2.0
        assert notebook.ask("f", (0.0,), serve={"exp": lambda x: x * 0}).value == 1.0


def test_calls_to_the_grader_are_bounded(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither many calls nor huge arguments wear the grader out."""
    monkeypatch.setattr(engine, "limits", Limits(served_calls=50))
    sizes = []

    def mask(size: int) -> np.ndarray:
        sizes.append(size)
        return np.zeros((2, 2))

    cells = [
        "import numpy as np",
        "def often():\n    while True: mask(3)",
        "def large():\n    return mask(10**9)",
        "def long():\n    return mask([{'a': np.zeros((5000, 1))}])",
    ]
    with engine.open(cells) as notebook:
        assert notebook.ask("often", (), serve={"mask": mask}).failure == "unreadable"
        assert sizes == [3] * 50
        assert notebook.ask("large", (), serve={"mask": mask}).raised == "ValueError"
        assert notebook.ask("long", (), serve={"mask": mask}).raised == "ValueError"
        assert sizes == [3] * 50


def test_calls_to_the_grader_do_not_extend_the_deadline(engine: Engine) -> None:
    """A question that calls back for ever times out like one that loops."""
    cells = ["import time\ndef f():\n    while True:\n        time.sleep(0.01)\n        g()"]
    with engine.open(cells) as notebook:
        began = time.monotonic()
        assert notebook.ask("f", (), serve={"g": lambda: 1}).failure == "timeout"
        assert time.monotonic() - began < 2


# Hostile replies


@pytest.mark.parametrize(
    "noise",
    [
        "b'garbage' * 10",
        "b'BYH1' + bytes([255] * 8)",
        "b'BYH1' + bytes([2, 0, 0, 0, 0, 0, 0, 0]) + b'{}'",
        "b'BYH1' + bytes([2, 0, 0, 0, 0, 0, 0, 0]) + b'[]'",
    ],
)
def test_noise_on_the_channel_costs_only_its_writer(engine: Engine, noise: str) -> None:
    """A cell or function that writes to the sockets it finds is unreadable; nobody else is."""
    cells = [FIND_CHANNELS, f"shout({noise})", f"def f():\n    shout({noise})", "def g(): return 1"]
    with engine.open(cells) as notebook:
        assert states(notebook) == [True, "unreadable", True, True]
        assert notebook.ask("f", ()).failure == "unreadable"
        assert notebook.ask("g", ()).value == 1
    assert is_still_graded(engine)


@pytest.mark.parametrize(
    "reply",
    [
        {"op": "answer"},
        {"value": ["array", 0]},
        {"value": ["array", 5]},
        {"value": ["pickle", "x"]},
        {"value": 3},
        {"failure": "timeout"},
        {"raised": 3},
        {"changed": [7]},
        {"changed": "all"},
        {"more": 1},
    ],
)
def test_answers_that_are_none_are_unreadable(engine: Engine, reply: dict) -> None:
    """A frame that is well formed is not yet an answer."""
    if reply != {"op": "answer"}:
        good = {"op": "answer", "value": ["plain", None], "raised": None, "line_number": None}
        reply = {**good, "changed": [], "failure": None, **reply}
    forge = (
        "import json, struct\n"
        "def f(x):\n"
        f"    text = json.dumps({reply!r}).encode()\n"
        "    shout(b'BYH1' + struct.pack('<II', len(text), 0) + text)"
    )
    with engine.open([FIND_CHANNELS, forge]) as notebook:
        assert notebook.ask("f", (1,)).failure == "unreadable"


@pytest.mark.parametrize("tree", [["code", ["f", "def f(): pass"]], ["seeded", 3]], ids=str)
@pytest.mark.parametrize("wrap", ["tree", "['list', [tree]]", "['dict', [[['plain', 1], tree]]]"])
def test_a_reply_brings_no_code_to_the_grader(engine: Engine, tree: list, wrap: str) -> None:
    """What stands for a function or a generator is for the grader to send, never to be sent."""
    forge = (
        "import json, struct\n"
        f"tree = {tree!r}\n"
        f"tree = {wrap}\n"
        "def say(message):\n"
        "    text = json.dumps(message).encode()\n"
        "    shout(b'BYH1' + struct.pack('<II', len(text), 0) + text)\n"
        "def answers():\n"
        "    say({'op': 'answer', 'value': tree, 'raised': None, 'line_number': None,\n"
        "         'changed': [], 'failure': None})\n"
        "def calls():\n"
        "    say({'op': 'call', 'name': 'g', 'args': ['tuple', [tree]], 'kwargs': ['dict', []]})"
    )
    reached: list[object] = []
    with engine.open([FIND_CHANNELS, forge]) as notebook:
        assert notebook.ask("answers", ()).failure == "unreadable"
        assert notebook.ask("calls", (), serve={"g": reached.append}).failure == "unreadable"
    assert reached == []


def test_a_notebook_that_kills_the_warm_parent_costs_only_itself(bare: Engine) -> None:
    """Without a sandbox it can; the engine starts another, and the next notebook is graded."""
    kill = "import os\nos.kill(os.getppid(), 9)\nimport time; time.sleep(5)"
    with bare.open(["n = 1", kill, "n"]) as notebook:
        assert states(notebook) == [True, "died", True]
    assert is_still_graded(bare)


def test_a_warm_parent_that_died_unnoticed_is_replaced(bare: Engine) -> None:
    """The next notebook does not suffer for it."""
    with bare.open(["import os\nparent = os.getppid()"]) as notebook:
        parent = notebook.read("parent").value
    assert isinstance(parent, int) and parent > 1
    os.kill(parent, 9)
    assert is_still_graded(bare)


# What is inside, and what is left


def test_what_a_notebook_finds_around_it_without_a_sandbox(bare: Engine) -> None:
    """A fixed environment, an empty folder, null streams, its own sockets, and no course code."""
    cells = [
        "import os, sys, random, numpy as np",
        "environment = dict(os.environ)\nfolder = os.getcwd()\nfiles = os.listdir('.')",
        "ours = sorted(name for name in sys.modules if name.startswith('byhand'))",
        "streams = [os.readlink(f'/proc/self/fd/{fd}') for fd in range(3)]",
        "path = list(sys.path)",
        "drawn = random.random(), np.random.rand()",
        FIND_CHANNELS + "sockets = len(channels())",
    ]
    with bare.open(cells) as notebook, bare.open(cells) as another:
        assert states(notebook) == [True] * len(cells)
        folder = notebook.read("folder").value
        assert isinstance(folder, str) and folder != another.read("folder").value
        environment = notebook.read("environment").value
        assert isinstance(environment, dict)
        assert environment.pop("HOME") == environment.pop("TMPDIR") == folder
        assert environment.keys() == {
            "IPYTHONDIR",
            "LANG",
            "MPLBACKEND",
            "MPLCONFIGDIR",
            "OMP_NUM_THREADS",
            "OPENBLAS_NUM_THREADS",
        }
        assert notebook.read("files").value == []
        names = notebook.read("ours").value
        assert "byhand.ask" in names and not any("course" in name for name in names)
        assert notebook.read("streams").value == ["/dev/null"] * 3
        assert notebook.read("sockets").value == 2  # where requests arrive, and this one's channel
        assert str(Path(__file__).parents[2]) not in notebook.read("path").value
        drawn = zip(notebook.read("drawn").value, another.read("drawn").value, strict=True)
        assert all(mine != theirs for mine, theirs in drawn)


def test_nothing_is_left_without_a_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After close: no process, not even a zombie, no descriptor, no file."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    descriptors = sorted(os.listdir("/proc/self/fd"))
    cells = [
        "import os, subprocess, time\npids = [os.getpid(), os.getppid()]",
        "open('file.txt', 'w').write('x')\nos.makedirs('a/b')",
        "pids.append(subprocess.Popen(['/bin/sleep', '60']).pid)",
        "def f():\n    while True: pass",
        "def g():\n    os._exit(1)",
        "import os; os._exit(0)",
        "while True: pass",
    ]
    unclosed = warnings.catch_warnings(record=True)
    with unclosed as noted, Engine(QUICK, Sandbox.NONE) as engine:
        warnings.simplefilter("always", ResourceWarning)
        with engine.open(cells) as notebook:
            for _ in range(2):
                pid, parent, sleeper = notebook.read("pids").value
                assert exists(pid) and exists(parent) and exists(sleeper)
                assert notebook.ask("f", ()).failure == "timeout"
                assert not exists(pid) and not exists(sleeper)
                assert notebook.ask("g", ()).failure == "died"
            assert len(list(tmp_path.glob("*/notebook-*"))) <= 1
        assert list(tmp_path.glob("*/notebook-*")) == []
        engine.open(cells[:1])  # and left open: the engine closes it
    assert not exists(parent)
    assert [str(warning.message) for warning in noted] == []
    assert sorted(os.listdir("/proc/self/fd")) == descriptors
    assert list(tmp_path.iterdir()) == []
    with contextlib.suppress(ChildProcessError):
        assert os.waitpid(-1, os.WNOHANG) == (0, 0)


def test_notebooks_end_when_the_grader_is_killed_without_a_sandbox(tmp_path: Path) -> None:
    """A grader that dies without a word takes its processes with it."""
    read_end, write_end = os.pipe()
    grader = os.fork()
    if grader == 0:  # a grader of its own, that opens a notebook and is killed
        tempfile.tempdir = str(tmp_path)
        notebook = Engine(QUICK, Sandbox.NONE).open(
            ["import os\npids = [os.getpid(), os.getppid()]"]
        )
        os.write(write_end, repr(notebook.read("pids").value).encode())
        time.sleep(60)
        os._exit(0)
    pids = [int(word) for word in os.read(read_end, 100).decode().strip("[]").split(",")]
    os.kill(grader, 9)
    os.waitpid(grader, 0)
    os.close(read_end)
    os.close(write_end)
    assert all(ends_soon(pid) for pid in pids)
