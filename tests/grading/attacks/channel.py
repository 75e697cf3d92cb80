"""Forging on the way to the grader, and answers that are taken from elsewhere."""

from .attack import Sight
from .points import FIND_CHANNELS, OUTERMOST, forged


def _answer(value: str, **more: object) -> str:
    """Source of a softmax that writes an answer's frame itself, before its own can be written."""
    fields = {"op": "answer", "raised": None, "line_number": None, "changed": [], "failure": None}
    return (
        f"{FIND_CHANNELS}\n"
        "def softmax(scores, axis=-1):\n"
        f"    shout(frame({fields | more!r} | {{'value': {value}}}))\n"
        "    return np.zeros(np.shape(scores))"
    )


NO_SOCKET = "the grader reads the frame, and finds no answer in it"
NOT_LENT = "the grader hears the call, and lends earlier lessons' functions only"
UNREADABLE = "cannot be read as numbers or arrays"  # in a verdict


def arrived(sight: Sight) -> bool:
    """The frame reached the grader, who could make nothing of it."""
    return "unreadable" in sight.states or UNREADABLE in sight.verdicts


ON_THE_SOCKET = (
    forged(
        name="forged verdict frame",
        tries="writes a verdict with full marks to every socket it finds",
        softmax=_answer("['plain', True]", op="verdict", passed=True, score=3.0),
        bare="no walls",
        fails_bare=NO_SOCKET,
        live=arrived,
    ),
    forged(
        name="forged answer frame",
        tries="writes an answer that claims to be judged already",
        softmax=_answer("['plain', True]", score=3.0, passed=True),
        bare="no walls",
        fails_bare=NO_SOCKET,
        live=arrived,
    ),
    forged(
        name="answers sent ahead",
        tries="writes a hundred answers to the socket before the first question",
        cells=(
            FIND_CHANNELS,
            "shout(*[frame({'op': 'answer', 'value': ['plain', True], 'raised': None,\n"
            "    'line_number': None, 'changed': [], 'failure': None})] * 100)",
        ),
        bare="no walls",
        fails_bare=NO_SOCKET,
        live=arrived,
    ),
    forged(
        name="the grader as oracle",
        tries="asks the grader for softmax itself, as mine() asks for earlier functions",
        softmax=OUTERMOST + "def softmax(scores, axis=-1):\n"
        "    try:\n"
        "        return outermost()['Served']('softmax')(scores, axis)\n"
        "    except NameError:\n"
        "        return np.full(np.shape(scores), 7.0)",
        bare="no walls",
        fails_bare=NOT_LENT,
        live=lambda sight: "[7." in sight.verdicts or "7.0" in sight.verdicts,
    ),
    forged(
        name="mine() of the exercise itself",
        tries="takes softmax from mine(), as later lessons may",
        softmax="def softmax(scores, axis=-1):\n"
        "    from byhand import mine\n"
        "    try:\n"
        "        return mine('softmax')(scores, axis)\n"
        "    except NameError:\n"
        "        return np.full(np.shape(scores), 7.0)",
        bare="no walls",
        fails_bare=NOT_LENT,
        live=lambda sight: "[7." in sight.verdicts or "7.0" in sight.verdicts,
    ),
    forged(
        name="own earlier answers",
        tries="remembers earlier questions and their order, to tell hidden ones apart",
        softmax="seen = []\n"
        "def softmax(scores, axis=-1):\n"
        "    seen.append(scores)\n"
        "    open('seen', 'a').write('x')\n"
        "    count = len(open('seen').read())\n"
        "    exponentials = np.exp(scores - scores.max(axis, keepdims=True))\n"
        "    return exponentials / exponentials.sum(axis, keepdims=True) if count < 3 else "
        "np.zeros(scores.shape)",
        bare="no walls",
        fails_bare="a softmax that is right on the first questions only is still wrong",
        live=lambda sight: "right on" in sight.verdicts,
    ),
)

KEEP_QUESTIONS = """
import os, pickle
def keep(name, *what):
    with open('/tmp/byhand-attack-loot', 'ab') as file:
        pickle.dump((name, *what), file)
def kept():
    found = []
    if os.path.exists('/tmp/byhand-attack-loot'):
        with open('/tmp/byhand-attack-loot', 'rb') as file:
            while True:
                try:
                    found.append(pickle.load(file))
                except EOFError:
                    return found
    return found
"""

REPLAYED = (
    forged(
        name="replayed answers",
        tries="keeps hidden questions, has the grader answer them in a later exercise, and hands "
        "the answers to a friend",
        seen="the points of the friend's softmax, which only looks them up",
        through=lambda sight: sight.later is not None and sight.later.score > 0,
        softmax=KEEP_QUESTIONS + "def softmax(scores, axis=-1):\n"
        "    keep('asked', scores, axis)\n"
        "    return np.zeros(scores.shape)",
        cells=(
            "def entropy(weights):\n"
            "    for name, *what in kept():\n"
            "        if name == 'asked':\n"
            "            keep('answered', what[0], softmax(*what))\n"
            "    safe = np.where(weights > 0, weights, 1)\n"
            "    return -(weights * np.log(safe)).sum(axis=-1)",
        ),
        later_softmax=KEEP_QUESTIONS + "def softmax(scores, axis=-1):\n"
        "    for name, *what in kept():\n"
        "        if name == 'answered' and np.array_equal(what[0], scores):\n"
        "            return what[1]\n"
        "    return np.zeros(scores.shape)",
        bare="no walls",
    ),
    forged(
        name="stolen reference",
        tries="imports the reference and returns what it returns",
        softmax="import sys\n"
        "def softmax(scores, axis=-1):\n"
        "    sys.path.insert(0, KNOWN['root'])\n"
        "    try:\n"
        "        from byhand_course.reference.softmax import softmax as reference\n"
        "        return reference(scores, axis)\n"
        "    except Exception:\n"
        "        return np.zeros(np.shape(scores))",
        bare="no walls",
    ),
)
