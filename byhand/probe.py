"""Probes: what the course recorded of an exercise, so that an answer can be checked without it.

A probe holds recorded inputs and answers, and sentences; no formula. `build` writes one JSON file
(structure, sentences) and one NPZ file (arrays) for each exercise; both are read without pickle.
"""

import hashlib
import json
import math
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from .ask import Answer
from .tree import Code, flatten, unflatten

FOLDER = Path(__file__).parent / "probes"
COURSE = "course"  # the list of lessons, which lies among the probes
NAME = re.compile(r"(?=.{1,80}\Z)[a-z0-9]+(-[a-z0-9]+)*")


class NoSuchExercise(LookupError):
    """No exercise has that name; the message lists near ones."""


@dataclass(frozen=True)
class Case:
    """One recorded question.

    Attributes:
        label: what is special about the inputs, in two or three words.
        inputs: the arguments, by position.
        expected: what the reference returned.
        mistaken: for each known mistake, what it answered.
        public: whether a learner may be shown its numbers.
    """

    label: str
    inputs: tuple
    expected: object
    mistaken: dict[str, Answer]
    public: bool = True


@dataclass(frozen=True)
class Told:
    """What every kind of exercise tells a learner.

    Attributes:
        name: as in "layer-norm-backward"; the function or variable is the same with underscores.
        objective: what a learner can do who has solved it.
        minutes: how long it should take.
        hints: from a nudge to nearly there.
        says: for each known mistake, the sentence for the learner.
    """

    name: str
    lesson: int
    kind: str
    objective: str
    minutes: int
    points: tuple[float, ...]
    hints: tuple[str, ...]
    says: dict[str, str]

    @property
    def variable(self) -> str:
        """The name of the function or value in the notebook."""
        return self.name.replace("-", "_")


@dataclass(frozen=True)
class FunctionProbe(Told):
    """A function and what it should answer. Points are given for each name in `returns`.

    Attributes:
        asks: how to put a question, where one call is not enough.
        table: names of the answer's arrays, if there are so many that the verdict lists them.
        in_turn: whether each of them is computed from those before it.
    """

    arguments: tuple[str, ...] = ()
    returns: tuple[str, ...] = ()
    tolerance: float = 1e-7
    cases: tuple[Case, ...] = ()
    asks: Code | None = None
    table: tuple[str, ...] = ()
    in_turn: bool = True


@dataclass(frozen=True)
class ValueProbe(Told):
    """A value worked out by hand or predicted: a number, some numbers, words, a choice, a shape.

    The right value itself is not here, only a digest of each of its entries, so that nobody reads
    it by accident. (Somebody who wants to cheat themselves can try all choices.)

    Attributes:
        form: what to write, for a learner who wrote something else ("a number", "a tuple").
        options: the choices, for a prediction; otherwise empty.
        tolerance: how far a number may be off.
        in_any_order: whether the right value is a list whose order does not count.
        shape: the shape of the right value; () for a single one.
        digests: one for each entry.
        mistaken: for each known mistake, its digests.
    """

    form: str = "a number"
    options: tuple[str, ...] = ()
    tolerance: float = 0.0
    in_any_order: bool = False
    shape: tuple[int, ...] = ()
    digests: tuple[str, ...] = ()
    mistaken: dict[str, tuple[str, ...]] = field(default_factory=dict)


def digest(name: str, place: int, entry: object) -> str:
    """A short fingerprint of one entry of the answer to the exercise `name`."""
    text = f"{name}/{place}/{entry!r}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def course(folder: Path = FOLDER) -> tuple[dict[str, Any], ...]:
    """The lessons in order: each a dict of number, name, title, assignment and exercises."""
    return tuple(json.loads((folder / f"{COURSE}.json").read_text(encoding="utf-8")))


def load(name: str, folder: Path = FOLDER) -> FunctionProbe | ValueProbe | Told:
    """Read the probe of an exercise.

    Raises:
        NoSuchExercise: if there is none of that name.
    """
    path = folder / f"{name}.json"
    if not NAME.fullmatch(name) or name == COURSE or not path.is_file():
        raise _no_such_exercise(name, folder)
    told = json.loads(path.read_text(encoding="utf-8"))
    told = {key: tuple(item) if isinstance(item, list) else item for key, item in told.items()}
    if told["kind"] == "function":
        with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
            arrays = _unpacked(told.pop("arrays"), file)
        told["cases"] = tuple(_case(case, arrays) for case in told["cases"])
        told["asks"] = Code(*told["asks"]) if told.get("asks") else None
        return FunctionProbe(**told)
    if told["kind"] == "free answer":
        return Told(**told)
    told["mistaken"] = {mistake: tuple(entries) for mistake, entries in told["mistaken"].items()}
    return ValueProbe(**told)


def _no_such_exercise(name: str, folder: Path) -> NoSuchExercise:
    import difflib

    known = [exercise for lesson in course(folder) for exercise in lesson["exercises"]]
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    close = f" Did you mean {' or '.join(near)}?" if near else ""
    return NoSuchExercise(f"There is no exercise called {name[:40]!r}.{close}")


def save(probe: Told, folder: Path) -> None:
    """Write a probe as `load` reads it; the same probe gives the same bytes."""
    told = {key: value for key, value in vars(probe).items() if key != "cases"}
    if isinstance(probe, FunctionProbe):
        arrays: list[np.ndarray] = []
        told["cases"] = [_case_tree(case, arrays) for case in probe.cases]
        told["asks"] = [probe.asks.name, probe.asks.source] if probe.asks else None
        told["arrays"] = [[str(array.dtype), array.shape] for array in arrays]
        np.savez(folder / f"{probe.name}.npz", allow_pickle=False, **_packed(arrays))
    lines = (f"{json.dumps(key)}: {json.dumps(told[key], ensure_ascii=False)}" for key in told)
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    (folder / f"{probe.name}.json").write_text(text, encoding="utf-8")


def _packed(arrays: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Arrays end to end, one long one for each dtype: a file entry for each would weigh more."""
    return {
        str(dtype): np.concatenate([array.ravel() for array in arrays if array.dtype == dtype])
        for dtype in dict.fromkeys(array.dtype for array in arrays)
    }


def _unpacked(index: tuple[list, ...], file: Any) -> list[np.ndarray]:
    """The arrays of `_packed`, from the dtype and shape of each."""
    long = {dtype: file[dtype] for dtype in file.files}
    start = dict.fromkeys(long, 0)
    arrays = []
    for dtype, shape in index:
        stop = start[dtype] + math.prod(shape)
        arrays.append(long[dtype][start[dtype] : stop].reshape(shape))
        start[dtype] = stop
    return arrays


def _case_tree(case: Case, arrays: list[np.ndarray]) -> dict[str, Any]:
    mistaken = {
        name: {"raised": answer.raised}
        if answer.raised
        else {"value": flatten(answer.value, arrays), "changed": list(answer.changed)}
        for name, answer in case.mistaken.items()
    }
    return {
        "label": case.label,
        "inputs": flatten(case.inputs, arrays),
        "expected": flatten(case.expected, arrays),
        "mistaken": mistaken,
    }


def _case(told: dict[str, Any], arrays: list[np.ndarray]) -> Case:
    array_at = arrays.__getitem__
    mistaken = {
        name: Answer(raised=answer["raised"])
        if "raised" in answer
        else Answer(unflatten(answer["value"], array_at), changed=tuple(answer["changed"]))
        for name, answer in told["mistaken"].items()
    }
    inputs = unflatten(told["inputs"], array_at, stand_ins=True)
    assert isinstance(inputs, tuple)
    return Case(told["label"], inputs, unflatten(told["expected"], array_at), mistaken)
