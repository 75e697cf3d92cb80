"""Probes: written and read without pickle, found by name, and near names for a wrong one."""

import json
from dataclasses import replace

import numpy as np
import pytest

from byhand.ask import ask
from byhand.compare import judge_function
from byhand.probe import FOLDER, FunctionProbe, NoSuchExercise, course, load, save
from byhand_course.lessons import Exercise, Mistake, probe_of
from byhand_course.reference.softmax import softmax


def some_scores(rng):
    return (rng.normal(size=(3, 4)),)


TASK = Exercise(
    name="softmax",
    objective="",
    minutes=1,
    solution=softmax,
    inputs=(some_scores, some_scores),
    returns=("weights",),
    points=(1,),
    mistakes=(
        Mistake(name="axis-0", swap="axis=-1", into="axis=0", says="Which?"),
        Mistake(name="raises", swap="np.exp(scores - largest)", into="scores @ scores", says="?"),
    ),
)


@pytest.fixture
def folder(tmp_path):
    lessons = [{"number": 1, "exercises": ["softmax", "soft-lookup", "layer-norm"]}]
    (tmp_path / "course.json").write_text(json.dumps(lessons))
    save(probe_of(TASK, 1), tmp_path)
    return tmp_path


def test_a_probe_comes_back_as_it_was_written(folder):
    """Inputs, answers and mistakes, to the bit, and verdicts as before."""
    before, after = probe_of(TASK, 1), load("softmax", folder)
    assert isinstance(after, FunctionProbe)
    assert replace(after, cases=()) == replace(before, cases=())
    for one, other in zip(before.cases, after.cases, strict=True):
        assert np.array_equal(one.inputs[0], other.inputs[0])
        assert np.array_equal(one.expected, other.expected)
        assert other.mistaken["raises"].raised == "ValueError"
    wrong = [ask(lambda s: softmax(s, axis=0), case.inputs) for case in after.cases]
    assert judge_function(after, wrong).mistake == "axis-0"


def test_probes_hold_no_pickle(folder):
    """An array of objects in the file is refused, whatever it would run."""
    with np.load(folder / "softmax.npz", allow_pickle=False) as file:
        arrays = dict(file)
    arrays["0"] = np.array([print], dtype=object)
    np.savez(folder / "softmax.npz", **arrays)
    with pytest.raises(ValueError, match="pickle"):
        load("softmax", folder)
    for path in FOLDER.glob("*.npz"):
        with np.load(path, allow_pickle=False) as file:
            assert all(file[name].dtype.kind in "biuf" for name in file.files)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("sofmax", "Did you mean softmax"),
        ("layernorm", "Did you mean layer-norm?"),
        ("soft-max", "softmax"),
        ("zebra", ""),
        ("course", ""),
        ("", ""),
        ("<lambda>", ""),
        ("../softmax", "softmax"),
        ("softmax\0", "softmax"),
        ("x" * 10_000, ""),
    ],
)
def test_an_unknown_name_lists_near_ones(folder, name, near):
    """A slip of the pen finds its exercise; no name reaches a file that is no probe."""
    with pytest.raises(NoSuchExercise) as caught:
        load(name, folder)
    says = str(caught.value)
    assert says.startswith("There is no exercise called ") and len(says) < 160
    assert near in says and bool(near) == ("Did you mean" in says)


def test_every_probe_of_the_course_can_be_loaded():
    """Each exercise that the course lists has a probe of its name, with points and minutes."""
    names = [name for lesson in course() for name in lesson["exercises"]]
    assert len(names) > 10
    for name in names:
        probe = load(name)
        assert (probe.name, probe.variable) == (name, name.replace("-", "_"))
        assert sum(probe.points) > 0 and probe.minutes > 0
