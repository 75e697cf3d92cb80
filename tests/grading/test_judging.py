"""Judging: how many forks it takes, and that asking many questions in one changes no verdict."""

import inspect

import numpy as np
import pytest

from byhand.ask import Answer
from byhand_course.grading import judging
from byhand_course.grading.engine import Engine, Notebook, Session
from byhand_course.grading.judging import judge_notebook, judge_task
from byhand_course.lessons import Exercise, find_exercise, load_lessons, mistaken_function

CHANGES_ITS_INPUT = "def dot(a, b):\n    a *= 1\n    a[0] = a[0] + 1\n    return a @ b - b[0]\n"
RIGHT_ONLY_ONCE = (
    "calls = []\ndef dot(a, b):\n    calls.append(1)\n    return np.dot(a, b) * (len(calls) == 1)\n"
)


@pytest.fixture(scope="module")
def engine():
    with Engine() as engine:
        yield engine


@pytest.fixture(scope="module")
def first_lesson():
    """The lesson, and a right text for each of its functions by the exercise's name."""
    lesson = next(lesson for lesson in load_lessons() if lesson.number == 1)
    tasks = [task for task in lesson.exercises if isinstance(task, Exercise)]
    return lesson, {task.name: inspect.getsource(task.solution) for task in tasks}


@pytest.fixture
def forks(monkeypatch):
    """A list that grows by one with each fork that is asked anything."""
    made = []
    stock = Notebook.converse

    def converse(self, channel, *more):
        if channel is None:
            made.append(self)
        return stock(self, channel, *more)

    monkeypatch.setattr(Notebook, "converse", converse)
    return made


def judged(engine, source, name="dot"):
    """The verdict on a function."""
    lesson, task = find_exercise(name)
    with engine.open(["import numpy as np", source]) as notebook:
        return judge_task(notebook, lesson, task, source, 3, {})


@pytest.mark.parametrize("name", ["dot", "one-hot", "adamw-update"])
def test_a_right_function_costs_one_fork(engine, forks, name):
    """All its inputs one after another, as a check at home does; also where a question of its own
    is put."""
    _, task = find_exercise(name)
    assert judged(engine, inspect.getsource(task.solution), name).passed
    assert len(forks) == 1


@pytest.mark.parametrize(
    ("kind", "most_forks"),
    [("mistake", 2), ("changes its input", 2), ("raises", 2), ("right only once", 100)],
)
def test_what_is_amiss_gets_the_verdict_of_each_case_alone(
    engine, forks, monkeypatch, kind, most_forks
):
    """Two forks do where both orders agree; else each case gets its own."""
    _, task = find_exercise("dot")
    source = {
        "mistake": inspect.getsource(mistaken_function(task.solution, task.mistakes[0])),
        "changes its input": CHANGES_ITS_INPUT,
        "right only once": RIGHT_ONLY_ONCE,
        "raises": "def dot(a, b):\n    raise ValueError('no')\n",
    }[kind]
    verdict, count = judged(engine, source), len(forks)
    assert 2 <= count <= most_forks and (count > 2) == (most_forks > 2)
    monkeypatch.setattr(Session, "ask", one_at_a_time(Session.ask))
    assert verdict == judged(engine, source)


def one_at_a_time(stock):
    """A `Session.ask` that brings nothing for more than one case."""

    def ask(self, function, cases, *more):
        if len(cases) > 1:
            return [Answer(failure="died")]
        return stock(self, function, cases, *more)

    return ask


def test_no_memory_of_a_hidden_input_reaches_a_verdict(engine, first_lesson):
    """One function keeps what it was asked, the next one answers with that: it is not heard."""
    lesson, _ = first_lesson
    thief = (
        "seen = [0.5]\n"
        "def dot(a, b):\n    seen.append(float(a[0]))\n    return float(np.dot(a, b))\n"
        "def cosine_similarity(a, b):\n    return seen[-1]\n"
    )
    verdicts = judge_notebook(engine, lesson, ["import numpy as np", thief], {}, 3).verdicts
    assert verdicts["dot"].passed and verdicts["cosine-similarity"].score == 0
    assert {found.yours for found in verdicts["cosine-similarity"].evidence} == {"0.5000"}


def test_one_fork_for_a_solved_notebook_and_two_for_a_wrong_one(engine, first_lesson, forks):
    """However many exercises it has; a wrong function does not spoil those that use it."""
    lesson, right = first_lesson
    found = judge_notebook(engine, lesson, ["import numpy as np", *right.values()], right, 3)
    assert all(found.verdicts[name].passed for name in right) and len(forks) == 1
    del forks[:]
    wrong = {**right, "dot": "def dot(a, b):\n    return 3.0\n"}
    found = judge_notebook(engine, lesson, ["import numpy as np", *wrong.values()], wrong, 3)
    assert [name for name in right if not found.verdicts[name].passed] == ["dot"]
    assert len(forks) == 2


def test_what_one_function_spoils_costs_no_other(engine, first_lesson):
    """A function that leaves NumPy broken is wrong; the next is asked as if it had not run."""
    lesson, right = first_lesson
    spoils = "def dot(a, b):\n    np.sqrt = np.argsort = np.linalg.norm = None\n    return 3.0\n"
    texts = {**right, "dot": spoils}
    found = judge_notebook(engine, lesson, ["import numpy as np", *texts.values()], texts, 3)
    assert [name for name in right if not found.verdicts[name].passed] == ["dot"]


def test_a_notebook_that_dies_in_one_question_is_asked_the_others(engine, first_lesson):
    """Values, and functions before and after."""
    lesson, right = first_lesson
    dies = "import os\ndef cosine_similarity(a, b):\n    os._exit(1)\n"
    texts = {**right, "cosine-similarity": dies}
    cells = ["import numpy as np", "dot_by_hand = -3", *texts.values()]
    verdicts = judge_notebook(engine, lesson, cells, texts, 3).verdicts
    assert verdicts["dot"].passed and verdicts["rank-by-similarity"].passed
    assert verdicts["dot-by-hand"].passed and verdicts["cosine-similarity"].score == 0


def test_two_answers_that_differ_in_the_last_bit_differ():
    """What makes two orders agree: all of an answer, to the last bit, nan included."""
    answers = [
        Answer(value=1.0),
        Answer(value=1),
        Answer(value=np.nextafter(1.0, 2.0)),
        Answer(value=np.array(1.0)),
        Answer(value=np.array([1.0])),
        Answer(value=np.array([1.0], np.float32)),
        Answer(raised="ValueError"),
        Answer(raised="ValueError", line_number=2),
        Answer(value=1.0, changed=(0,)),
        Answer(failure="died"),
    ]
    assert len({judging._imprint(answer) for answer in answers}) == len(answers)
    nan = [judging._imprint(Answer(value=np.array([np.nan]))) for _ in range(2)]
    assert nan[0] == nan[1]
