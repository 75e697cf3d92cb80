"""Judging: how often a function is asked, and that asking at once changes no verdict."""

import inspect

import pytest

from byhand_course.grading import judging
from byhand_course.grading.engine import Engine, Notebook
from byhand_course.grading.judging import judge_task
from byhand_course.lessons import find_exercise, mistaken_function

CHANGES_ITS_INPUT = "def dot(a, b):\n    a *= 1\n    a[0] = a[0] + 1\n    return a @ b - b[0]\n"
RIGHT_ONLY_ONCE = (
    "calls = []\ndef dot(a, b):\n    calls.append(1)\n    return np.dot(a, b) * (len(calls) == 1)\n"
)


@pytest.fixture(scope="module")
def engine():
    with Engine() as engine:
        yield engine


def asked(engine, monkeypatch, source, name="dot"):
    """The verdict on a function, and how many questions it took."""
    lesson, task = find_exercise(name)
    count = 0
    stock = Notebook.ask

    def ask(self, *args):
        nonlocal count
        count += 1
        return stock(self, *args)

    monkeypatch.setattr(Notebook, "ask", ask)
    with engine.open(["import numpy as np", source]) as notebook:
        verdict = judge_task(notebook, lesson, task, source, 3, {})
    return verdict, count


def test_a_right_function_is_asked_once(engine, monkeypatch):
    """All its inputs in one fork, one call after another, as a check at home does."""
    _, task = find_exercise("dot")
    verdict, count = asked(engine, monkeypatch, inspect.getsource(task.solution))
    assert verdict.passed and count == 1


@pytest.mark.parametrize("name", ["one-hot", "adamw-update"])
def test_a_question_of_its_own_is_put_once_too(engine, monkeypatch, name):
    """Exercises that put their question by a function of their own."""
    _, task = find_exercise(name)
    assert task.asks is not None
    verdict, count = asked(engine, monkeypatch, inspect.getsource(task.solution), name)
    assert verdict.passed and count == 1


@pytest.mark.parametrize("kind", ["mistake", "changes its input", "right only once", "raises"])
def test_what_is_amiss_is_judged_case_by_case(engine, monkeypatch, kind):
    """A function that is wrong anywhere gets the verdict that it gets when each case is alone."""
    _, task = find_exercise("dot")
    source = {
        "mistake": inspect.getsource(mistaken_function(task.solution, task.mistakes[0])),
        "changes its input": CHANGES_ITS_INPUT,
        "right only once": RIGHT_ONLY_ONCE,
        "raises": "def dot(a, b):\n    raise ValueError('no')\n",
    }[kind]
    verdict, count = asked(engine, monkeypatch, source)
    monkeypatch.setattr(judging, "_answers_at_once", lambda *_: None)
    alone, fewer = asked(engine, monkeypatch, source)
    assert verdict == alone
    assert count > 1 and fewer > 1
