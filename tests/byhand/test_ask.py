"""Asking a function: on copies, with all that came of it noted and nothing raised."""

import functools
import inspect
import sys
import warnings

import numpy as np
import pytest

from byhand.ask import ask, fresh, same
from byhand.tree import Seeded


def test_arguments_are_copied_deeply(rng):
    """What a function does to its arguments, however deep, the recorded inputs never feel."""
    inputs = (rng.normal(size=3), {"w": rng.normal(size=2), "rest": [rng.normal(size=2), (1, 2)]})
    before = fresh(inputs)

    def spoil(x, parameters):
        x[:] = 0
        parameters["w"][:] = 0
        parameters["rest"][0][:] = 0
        parameters["rest"].append(1)
        parameters["new"] = 1
        return x

    answer = ask(spoil, inputs)
    assert answer.changed == (0, 1)
    assert same(before, inputs)


def shift(x):
    x -= 1


@pytest.mark.parametrize(
    ("spoil", "argument"),
    [
        (shift, np.array([1.0, np.nan])),
        (lambda p: shift(p["w"]), {"w": np.ones(3)}),
        (lambda p: shift(p[1]), [np.zeros(2), np.ones(3)]),
        (lambda p: shift(p[0]["w"]), ({"w": np.ones(3)},)),
        (lambda p: p.pop("w"), {"w": 1}),
        (lambda p: p.reverse(), [1, 2]),
        (lambda x: x.resize((3, 2), refcheck=False), np.zeros((2, 3))),
    ],
)
def test_a_change_in_place_is_noticed(spoil, argument):
    """Also inside dicts, lists and tuples, and beside nan; the same call without it is clean."""
    assert ask(spoil, (1, argument)).raised == "TypeError"  # two arguments are one too many
    assert ask(spoil, (argument,)).changed == (0,)
    assert ask(lambda x: 1, (argument,)).changed == ()


def test_nan_and_generators_count_as_unchanged():
    """nan is equal to nan here, and a generator that was used is no change, even in a list."""
    inputs = (np.array([np.nan]), float("nan"), Seeded(3), [Seeded(4), {"rng": Seeded(5)}])
    answer = ask(lambda x, y, rng, more: (rng.random(), more[1]["rng"].random()), inputs)
    assert answer.changed == ()


def test_a_generator_is_fresh_for_each_call():
    """The same seed gives the same numbers to each call; the generator itself is not shared."""
    first, second = (ask(lambda rng: rng.random(3), (Seeded(7),)).value for _ in range(2))
    assert np.array_equal(first, np.random.default_rng(7).random(3))
    assert np.array_equal(first, second)


def test_layout_and_named_tuples_survive_the_copy():
    """A Fortran-ordered argument stays so; a named tuple comes as a tuple, not as an error."""
    from collections import namedtuple

    point = namedtuple("point", "x y")
    answer = ask(
        lambda a, p: (a.flags.f_contiguous, p[1]), (np.zeros((2, 3), order="F"), point(1, 2))
    )
    assert answer.value == (True, 2)


def test_warnings_are_silent():
    """Neither NumPy's nor Python's own warnings reach the learner or become errors."""

    def loud(x):
        warnings.warn("hear me", stacklevel=1)
        return np.log(x) / 0

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert ask(loud, (np.zeros(2),)).raised is None
    assert caught == []


def fails(x):
    y = x + 1
    return helper(y)


def helper(y):
    return np.zeros(2) @ np.zeros(3)


def test_the_line_is_the_learners_own():
    """The last line in the function's own file, wherever NumPy or the standard library raised."""
    answer = ask(fails, (1,))
    assert answer.raised == "ValueError"
    assert answer.line_number == inspect.getsourcelines(helper)[1] + 1
    assert answer.line.startswith("return np.zeros(2) @ np.zeros(3)")
    answer = ask(lambda x: functools.reduce(fails, [1], x), (1,))
    assert answer.raised == "TypeError"
    assert "functools.reduce" in answer.line


def test_the_line_counts_from_the_top_of_a_cell():
    """A function from a cell has its line counted in that cell, and quoted from it."""
    import linecache

    source = "import numpy as np\n\ndef f(x):\n    y = np.ones(2)\n    return y @ np.ones(3)\n"
    linecache.cache["<cell 7>"] = (len(source), None, source.splitlines(True), "<cell 7>")
    namespace = {}
    exec(compile(source, "<cell 7>", "exec"), namespace)
    answer = ask(namespace["f"], (1,))
    assert (answer.line_number, answer.line) == (5, "return y @ np.ones(3)")


class Callable:
    def __call__(self, x):
        raise ValueError("from a method")


HELPER = """
import functools

def wrapped(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)
    return wrapper
"""
ELSEWHERE: dict = {}
exec(compile(HELPER, "<another file>", "exec"), ELSEWHERE)
WRAPPED = ELSEWHERE["wrapped"](fails)


@pytest.mark.parametrize(
    "function", [Callable(), functools.partial(fails), WRAPPED, Callable().__call__]
)
def test_objects_that_can_be_called_have_lines_too(function):
    """An instance with __call__, a partial, a decorated function, a method."""
    answer = ask(function, (1,))
    assert answer.raised == "ValueError"
    assert answer.line_number is not None and answer.line


def test_a_wrong_number_of_arguments_has_no_line():
    """The call itself failed, so no line of the learner's is blamed; Python's words are kept."""
    answer = ask(lambda x: x, (1, 2))
    assert (answer.raised, answer.line_number, answer.line) == ("TypeError", None, "")
    assert "2 were given" in answer.message


def test_every_exception_is_noted_but_an_interrupt():
    """exit() is a mistake like others; Ctrl-C belongs to the learner and passes through."""

    def interrupted():
        raise KeyboardInterrupt

    def endless(n):
        return endless(n + 1)

    assert ask(lambda: sys.exit(3), ()).raised == "SystemExit"
    assert ask(endless, (0,)).raised == "RecursionError"
    with pytest.raises(KeyboardInterrupt):
        ask(interrupted, ())


class Odd(ValueError):
    def __str__(self):
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("cause", "name"),
    [
        (lambda: (_ for _ in ()).throw(Odd()), "ValueError"),
        (lambda: np.ones(2) + np.array(["a", "b"]), "TypeError"),  # NumPy's UFuncTypeError
        (lambda: np.ones(2).sum(axis=3), "AxisError"),
        (lambda: np.linalg.inv(np.zeros((2, 2))), "LinAlgError"),
        (lambda: {}["x"], "KeyError"),
    ],
)
def test_exceptions_bear_the_names_that_grading_knows(cause, name):
    """A type of somebody's own goes by Python's or NumPy's public one, as it does in grading."""
    from byhand_course.grading.engine import EXCEPTION_NAMES

    assert ask(cause, ()).raised == name
    assert name in EXCEPTION_NAMES
