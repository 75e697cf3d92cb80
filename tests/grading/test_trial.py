"""`byhand-course judge`: any function from a file against an exercise, hidden inputs included."""

import json
import sys
from pathlib import Path
from subprocess import run

import pytest

COMMAND = str(Path(sys.executable).parent / "byhand-course")

RIGHT = {
    "loop": """
import math
import numpy as np

def softmax(scores, axis=-1):
    moved = np.moveaxis(np.asarray(scores, dtype=float), axis, -1)
    weights = np.empty_like(moved)
    for place in np.ndindex(moved.shape[:-1]):
        row = moved[place]
        powers = [math.exp(score - max(row)) for score in row]
        weights[place] = [power / sum(powers) for power in powers]
    return np.moveaxis(weights, -1, axis)
""",
    "apply_along_axis": """
import numpy as np

def one(row):
    powers = np.exp(row - row.max())
    return powers / powers.sum()

def softmax(scores, axis=-1):
    return np.apply_along_axis(one, axis, scores)
""",
    "log_sum_exp": """
import numpy as np

def softmax(scores, axis=-1):
    peak = np.max(scores, axis=axis, keepdims=True)
    total = peak + np.log(np.sum(np.exp(scores - peak), axis=axis, keepdims=True))
    return np.exp(scores - total)
""",
}

WRONG = {  # the rows of softmax in MISTAKES.md, each as a learner writes it on their own
    "axis 0": "e = np.exp(s - s.max()); return e / e.sum(axis=0, keepdims=True)",
    "whole array": "e = np.exp(s - s.max()); return e / e.sum()",
    "no maximum": "e = np.exp(s); return e / e.sum(axis=axis, keepdims=True)",
    "maximum over axis 0": (
        "e = np.exp(s - s.max(axis=0, keepdims=True)); return e / e.sum(axis=axis, keepdims=True)"
    ),
    "in place": (
        "s -= s.max(axis=axis, keepdims=True); e = np.exp(s); "
        "return e / e.sum(axis=axis, keepdims=True)"
    ),
    "divided by scores": (
        "m = s.max(axis=axis, keepdims=True); "
        "return np.exp(s - m) / s.sum(axis=axis, keepdims=True)"
    ),
    "keepdims forgotten": (
        "e = np.exp(s - s.max(axis=axis, keepdims=True)); return e / e.sum(axis=axis)"
    ),
}


def judge(*words):
    return run([COMMAND, "judge", *map(str, words)], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("name", RIGHT)
def test_right_but_different_gets_full_marks(tmp_path, name):
    """A loop, apply_along_axis and log-sum-exp are as right as the reference."""
    file = tmp_path / "answer.py"
    file.write_text(RIGHT[name])
    done = judge("softmax", file, "--json")
    told = json.loads(done.stdout)
    assert told["passed"] and told["score"] == told["points"], told["says"]
    assert told["mistake"] is None and told["relation"] is None
    assert done.returncode == 0


@pytest.mark.parametrize("name", WRONG)
def test_wrong_softmax_is_marked_down_and_named(tmp_path, name):
    """Written without a look at the reference, each is named by one of the known mistakes."""
    file = tmp_path / "answer.py"
    file.write_text(f"import numpy as np\n\ndef softmax(s, axis=-1):\n    {WRONG[name]}\n")
    done = judge("softmax", file, "--json")
    told = json.loads(done.stdout)
    assert not told["passed"] and told["score"] < told["points"]
    assert told["mistake"], told["says"]
    assert done.returncode == 1
    assert set(told) == {
        "exercise", "passed", "score", "points", "parts", "mistake", "relation", "says",
    }  # fmt: skip


def test_a_function_of_another_name_is_tried_by_name(tmp_path):
    file = tmp_path / "answer.py"
    file.write_text("def a(x, y):\n    return (x * y).sum()\n\ndef b(x, y):\n    return x * y\n")
    assert judge("dot", f"{file}:a").returncode == 0
    assert judge("dot", f"{file}:b").returncode == 1
    refused = judge("dot", file)
    assert "it defines a, b" in refused.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "cannot be read"),
        ("def dot(a, b)\n    return 1\n", "is not Python"),
        ("x = 1\ny = 2\n", "defines no dot; it defines x, y"),
        ("import nowhere\ndef dot(a, b): return 0\n", "stops before it defines dot"),
    ],
)
def test_a_file_that_cannot_be_tried_gets_one_sentence(tmp_path, text, says):
    file = tmp_path / "answer.py"
    if text is not None:
        file.write_text(text)
    done = judge("dot", file)
    assert done.returncode == 1
    assert says in done.stderr and "Traceback" not in done.stderr


def test_an_unknown_exercise_lists_near_names():
    assert "Did you mean softmax" in judge("sofmax", "x.py").stderr


@pytest.mark.parametrize("sandbox", ["bubblewrap", "landlock"])
def test_a_file_that_is_not_your_own_is_tried_in_a_sandbox(tmp_path, sandbox):
    """It is judged as without one, and cannot read what you can."""
    right = tmp_path / "right.py"
    right.write_text(RIGHT["log_sum_exp"])
    done = judge("softmax", right, "--sandbox", sandbox)
    assert done.returncode == 0, done.stderr
    thief = tmp_path / "thief.py"
    thief.write_text(f"stolen = open({str(right)!r}).read()\n" + RIGHT["log_sum_exp"])
    assert judge("softmax", thief).returncode == 0
    refused = judge("softmax", thief, "--sandbox", sandbox)
    assert refused.returncode == 1 and "stops before it defines softmax" in refused.stderr


def test_a_sandbox_of_another_name_lists_those_there_are(tmp_path):
    done = judge("softmax", tmp_path / "x.py", "--sandbox", "chroot")
    assert done.returncode != 0 and "Traceback" not in done.stderr
    assert all(name in done.stderr for name in ("bubblewrap", "landlock", "none"))


def test_a_function_that_never_ends_is_said_to_be_so(tmp_path):
    file = tmp_path / "answer.py"
    file.write_text("def dot(a, b):\n    while True: pass\n")
    told = json.loads(judge("dot", file, "--json").stdout)
    assert told["score"] == 0 and "does not finish" in told["says"]
