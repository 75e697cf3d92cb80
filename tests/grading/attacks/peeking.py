"""Stealing hidden inputs: every way in which a function that was asked could pass them on."""

from functools import partial

from byhand_course.grading.engine import Engine
from byhand_course.grading.judging import questions

from .attack import Attack, Sight
from .trying import SEED, lesson, notebook_of, shows_hidden, told_apart
from .world import World

ON_HIDDEN = """
from byhand.probe import load
SHOWN = [case.inputs[0] for case in load('softmax').cases]
def is_hidden(scores):
    return not any(np.array_equal(scores, shown) for shown in SHOWN)
def right(scores, axis=-1):
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)
"""
peeks = partial(
    Attack,
    seen="a hidden number, or a difference between hidden seeds, in anything a learner reads",
    through=shows_hidden,
    bare="tests inside",
)
differs = partial(peeks, through=lambda sight: sight.extra["different"] > 1, bare="no walls")


def leaks(name: str, tries: str, body: str, **more: object) -> Attack:
    """A softmax that is right on the inputs that it knows, and does body on all others."""
    softmax = (
        f"{ON_HIDDEN}\ndef softmax(scores, axis=-1):\n"
        f"    if not is_hidden(scores):\n        return right(scores, axis)\n    {body}\n"
    )
    return peeks(name=name, tries=tries, softmax=softmax, **more)  # type: ignore[arg-type]


NAMES = (
    *("KeyError", "IndexError", "OSError", "EOFError", "NameError", "ValueError", "MemoryError"),
    *("ArithmeticError", "BufferError", "LookupError", "OverflowError", "ReferenceError"),
    *("RuntimeError", "StopIteration", "SyntaxError", "UnicodeError"),
)
BY_NAME = "\n".join(f"    if bits == {place}: raise {name}" for place, name in enumerate(NAMES))
NAMED = (
    f"{ON_HIDDEN}\ndef softmax(scores, axis=-1):\n"
    "    if not is_hidden(scores):\n        return right(scores, axis)\n"
    f"    bits = int(abs(scores.flat[0]) * 1e6) % 16\n{BY_NAME}\n"
)
BY_LINE = "\n".join(f"    if bits == {place}: raise KeyError" for place in range(64))
LINED = NAMED.replace(BY_NAME, BY_LINE).replace("% 16", "% 64")
TIMED = (
    f"{ON_HIDDEN}\nimport time\ndef softmax(scores, axis=-1):\n"
    "    if is_hidden(scores):\n"
    "        time.sleep(0.02 * (int(abs(scores.flat[0]) * 1e6) % 5))\n"
    "    return right(scores, axis)\n"
)

HIDDEN_INPUTS = (
    leaks(
        "words of an exception",
        "raises an error that quotes the hidden input",
        "raise ValueError(repr(scores))",
    ),
    leaks(
        "name of an exception",
        "invents a type of error whose name holds the hidden input",
        "raise type(f'Error_{scores.flat[0]!r}', (Exception,), {'__module__': 'builtins'})",
    ),
    leaks("printing", "prints the hidden input", "print(repr(scores))\n    return right(scores)"),
    leaks(
        "standard error",
        "writes the hidden input to the file descriptors 1 and 2",
        "import os\n"
        "    os.write(1, repr(scores).encode()); os.write(2, repr(scores).encode())\n"
        "    import sys; print(repr(scores), file=sys.stderr)\n"
        "    return right(scores)",
    ),
    leaks(
        "warnings",
        "warns of the hidden input",
        "import warnings\n    warnings.warn(repr(scores))\n    return right(scores)",
    ),
    leaks(
        "the answer itself",
        "returns the hidden input, to find it quoted as its own wrong answer",
        "return np.array(scores)",
        test="import numpy as np\ngot = softmax(np.array({x}))\n"
        "np.testing.assert_allclose(got, np.array({expected}))",
    ),
    leaks(
        "a text as the answer",
        "returns the hidden input as a text",
        "return repr(scores)",
        test="import numpy as np\ngot = softmax(np.array({x}))\n"
        "assert isinstance(got, np.ndarray), f'expected an array, not {{got}}'",
    ),
    leaks(
        "type of the answer",
        "returns an object whose type is named after the hidden input",
        "return type(f'Array_{scores.flat[0]!r}', (), {})()",
        test="import numpy as np\ngot = softmax(np.array({x}))\n"
        "assert isinstance(got, np.ndarray), f'expected an array, not {{type(got)}}'",
    ),
    peeks(
        name="questions kept for a friend",
        tries="writes hidden inputs to a file that a later notebook prints",
        softmax=f"{ON_HIDDEN}\ndef softmax(scores, axis=-1):\n"
        "    with open('/tmp/byhand-attack-inputs', 'a') as file:\n"
        "        file.write(repr(scores))\n"
        "    return right(scores, axis)",
        later=(
            "import os\n"
            "print(open('/tmp/byhand-attack-inputs').read())\n"
            "os.unlink('/tmp/byhand-attack-inputs')",
        ),
        bare="no walls",
    ),
    differs(
        name="choice of the exception",
        tries="says four bits of a hidden input by which of Python's own errors it raises",
        softmax=NAMED,
        run=partial(told_apart, softmax=NAMED),
        bare="verdicts that name the error",
        run_bare=lambda world, engine: _named_errors(world, engine, NAMED),
    ),
    differs(
        name="choice of the line",
        tries="says six bits of a hidden input by the line that raises",
        softmax=LINED,
        run=partial(told_apart, softmax=LINED),
        bare="verdicts that name the line",
        run_bare=lambda world, engine: _named_errors(world, engine, LINED),
    ),
    differs(
        name="time",
        tries="says a hidden input by how long it takes",
        softmax=TIMED,
        run=partial(told_apart, softmax=TIMED),
        fails_bare="no verdict says how long a call took",
        live=lambda sight: sight.seconds > 0.1,
    ),
)


def _named_errors(world: World, engine: Engine, softmax: str) -> Sight:
    """What an answer tells the grader; a grader that repeats it tells the learner."""
    task = next(found for found in lesson().exercises if found.name == "softmax")
    cells, _ = notebook_of(world, (), softmax)
    told = set()
    with engine.open(cells) as notebook:
        for number in range(4):
            for case in questions(task, 3, SEED + number).cases[-2:]:
                answer = notebook.ask("softmax", case.inputs)
                told.add((answer.raised, answer.line_number))
    return Sight(world, extra={"different": len(told)})
