"""Forging: points for a softmax that is wrong.

Each attacker hands in a softmax that returns zeros, and something that is to make it pass. Without
protection means here what nbgrader does: hidden tests are cells of the learner's own notebook.
"""

from .attack import Room
from .channel import ON_THE_SOCKET, REPLAYED
from .points import FIND_CHANNELS, OUTERMOST, forged

NOT_BELIEVED = "whatever the process sends is an answer, and is judged outside"

IN_THE_SHELL = (
    forged(
        name="exception hook",
        tries="swallows failing tests with IPython's set_custom_exc",
        cells=("get_ipython().set_custom_exc((Exception,), lambda *failed, **more: [])",),
    ),
    forged(
        name="traceback method",
        tries="replaces the shell's showtraceback, so that no error is ever shown",
        cells=(
            "shell = get_ipython()\n"
            "shell.showtraceback = shell._showtraceback = lambda *failed, **more: None",
        ),
    ),
    forged(
        name="syntax-tree transformer",
        tries="takes every assert out of later cells",
        cells=(
            "import ast\n"
            "class NoAsserts(ast.NodeTransformer):\n"
            "    def visit_Assert(self, node):\n"
            "        return ast.copy_location(ast.Pass(), node)\n"
            "get_ipython().ast_transformers.append(NoAsserts())",
        ),
    ),
    forged(
        name="input transformer",
        tries="empties every later cell before it runs",
        cells=("get_ipython().transform_cell = lambda source: ''",),
    ),
    forged(
        name="run_cell",
        tries="replaces the method that runs cells by one that reports success",
        cells=(
            "class Fine:\n"
            "    success, error_in_exec, error_before_exec, result = True, None, None, None\n"
            "get_ipython().run_cell = lambda *cell, **more: Fine()",
        ),
    ),
    forged(
        name="event before each cell",
        tries="puts the expected array into softmax before a test cell runs",
        cells=(
            "import re\n"
            "def before(info):\n"
            "    found = re.search(r'expected = (np.array\\(.*?\\))', info.raw_cell, re.S)\n"
            "    if found:\n"
            "        answer = eval(found.group(1))\n"
            "        get_ipython().user_ns['softmax'] = lambda *given: answer\n"
            "get_ipython().events.register('pre_run_cell', before)",
        ),
    ),
    forged(
        name="lying namespace",
        tries="runs cells in a namespace that hands out what was expected",
        cells=(
            "class Lying(dict):\n"
            "    def __setitem__(self, name, value):\n"
            "        super().__setitem__(name, self['expected'] if name == 'got' else value)\n"
            "shell = get_ipython()\n"
            "shell.user_ns = Lying(shell.user_ns)",
        ),
    ),
    forged(
        name="redefined check",
        tries="replaces check by a function that finds everything right",
        cells=("check = lambda *answers, **more: None",),
        test="from byhand.check import judge\ncheck(softmax)",
    ),
    forged(
        name="patched byhand",
        tries="replaces the comparison in byhand by one that is always content",
        cells=(
            "import byhand.ruler, byhand.compare, byhand.problems, sys\n"
            "for module in [m for n, m in sys.modules.items() if n.startswith('byhand')]:\n"
            "    for name in ('close', 'agree', 'find_problems'):\n"
            "        if hasattr(module, name):\n"
            "            setattr(module, name, lambda *given, **more: [])\n",
        ),
        test="from byhand.check import judge\nfrom byhand.probe import load\n"
        "assert judge(load('softmax'), softmax).passed",
    ),
    forged(
        name="patched grader's side of the process",
        tries="replaces the functions of the program that answers the grader",
        cells=(
            OUTERMOST,
            "def written(*given):\n"
            "    return {'op': 'answer', 'value': ['plain', True], 'raised': None,\n"
            "            'line_number': None, 'changed': [], 'failure': None}, []\n"
            "outermost()['written'] = written",
        ),
        bare="no walls",
        fails_bare=NOT_BELIEVED,
        live=lambda sight: "is True or False" in sight.verdicts,
        spoils_itself=True,
    ),
)

IN_NUMPY = (
    forged(
        name="patched allclose",
        tries="replaces NumPy's comparisons by functions that say yes",
        cells=(
            "for module in (np, np.testing):\n"
            "    for name in ('allclose', 'array_equal', 'isclose', 'assert_allclose',\n"
            "                 'assert_array_equal', 'assert_almost_equal'):\n"
            "        setattr(module, name, lambda *given, **more: True)",
        ),
    ),
    forged(
        name="swapped numpy module",
        tries="puts a module of its own in numpy's place",
        cells=(
            "import sys, types\n"
            "fake = types.ModuleType('numpy')\n"
            "fake.__dict__.update(np.__dict__)\n"
            "fake.allclose = fake.array_equal = lambda *given, **more: True\n"
            "sys.modules['numpy'] = fake",
        ),
    ),
    forged(
        name="import hook",
        tries="rewrites numpy's comparisons whenever anything is imported",
        cells=(
            "import builtins\n"
            "real = builtins.__import__\n"
            "def hooked(*given, **more):\n"
            "    module = real(*given, **more)\n"
            "    if module.__name__ == 'numpy':\n"
            "        module.allclose = lambda *pair, **more: True\n"
            "    return module\n"
            "builtins.__import__ = hooked",
        ),
    ),
    forged(
        name="patched array writer",
        tries="replaces what is written of an array by other bytes",
        cells=(
            "import sys\n"
            "wire = sys.modules['wire']\n"
            "real = wire.npy\n"
            "wire.npy = lambda array: real(np.full(np.shape(array), np.nan))\n"
            "np.asarray = lambda array, *given, **more: array",
        ),
        bare="no walls",
        fails_bare=NOT_BELIEVED,
        live=lambda sight: "nan" in sight.verdicts,
        spoils_itself=True,
    ),
    forged(
        name="patched built-ins",
        tries="replaces abs and all by functions that find no difference",
        cells=(
            "import builtins\nbuiltins.all = lambda values: True\nbuiltins.abs = lambda value: 0.0",
        ),
        test="x, expected = {x}, {expected}\n"
        "assert all(abs(a - b) < 1e-6 for a, b in zip(softmax(x), expected))",
    ),
)

LYING_ANSWERS = (
    forged(
        name="always-equal object",
        tries="returns an object that equals everything",
        softmax="class Yes:\n"
        "    shape = property(lambda self: Yes())\n"
        "    __eq__ = __le__ = __ge__ = lambda self, other: True\n"
        "    __ne__ = __lt__ = __gt__ = lambda self, other: False\n"
        "    __array_priority__ = 1000\n"
        "    all = __bool__ = lambda self, *given: True\n"
        "def softmax(scores, axis=-1):\n"
        "    return Yes()",
        test="import numpy as np\nexpected = np.array({expected})\ngot = softmax(np.array({x}))\n"
        "assert got.shape == expected.shape and (got == expected)",
    ),
    forged(
        name="array subclass",
        tries="returns an array whose class answers every NumPy function with True",
        softmax="class Yes(np.ndarray):\n"
        "    def __array_function__(self, function, types, args, kwargs):\n"
        "        return np.ndarray.shape.__get__(self) if function is np.shape else True\n"
        "    def __array_ufunc__(self, *given, **more):\n"
        "        return True\n"
        "def softmax(scores, axis=-1):\n"
        "    return np.zeros(scores.shape).view(Yes)",
    ),
    forged(
        name="array that changes its mind",
        tries="returns an object that becomes an array only when compared, and then the right one",
        softmax="import sys\n"
        "class Late:\n"
        "    def __init__(self, shape):\n"
        "        self.shape = shape\n"
        "    def __array__(self, *given, **more):\n"
        "        frame = sys._getframe()\n"
        "        while frame:\n"
        "            for name in ('expected', 'b', 'wanted'):\n"
        "                found = frame.f_locals.get(name)\n"
        "                if type(found) is np.ndarray:\n"
        "                    return found\n"
        "            frame = frame.f_back\n"
        "        return np.zeros(self.shape)\n"
        "def softmax(scores, axis=-1):\n"
        "    return Late(scores.shape)",
    ),
    forged(
        name="not-a-number answers",
        tries="returns nan, which is never further off than a tolerance",
        softmax="def softmax(scores, axis=-1):\n    return np.full(np.shape(scores), np.nan)",
        test="import numpy as np\ngot = softmax(np.array({x}))\n"
        "assert not (np.abs(got - np.array({expected})) > 1e-6).any()",
    ),
    forged(
        name="empty answers",
        tries="returns an array without entries, all of which are right",
        softmax="def softmax(scores, axis=-1):\n    return np.zeros((0, 1))",
        test="import numpy as np\ngot = softmax(np.array({x}))\n"
        "assert np.allclose(got, np.array({expected}))",
    ),
)

READING_THE_TEST = (
    forged(
        name="frames",
        tries="looks for the expected array in the frames that call it",
        softmax="import sys\n"
        "def softmax(scores, axis=-1):\n"
        "    frame = sys._getframe()\n"
        "    while frame:\n"
        "        for space in (frame.f_locals, frame.f_globals):\n"
        "            for name in ('expected', 'solution', 'case', 'probe', 'reference'):\n"
        "                found = space.get(name)\n"
        "                found = getattr(found, 'expected', found)\n"
        "                if isinstance(found, np.ndarray):\n"
        "                    return found\n"
        "        frame = frame.f_back\n"
        "    return np.zeros(np.shape(scores))",
    ),
    forged(
        name="garbage collector",
        tries="looks for the expected array in everything that is alive",
        softmax="import gc\n"
        "def softmax(scores, axis=-1):\n"
        "    gc.unfreeze()\n"
        "    for thing in gc.get_objects():\n"
        "        values = thing.values() if type(thing) is dict else ()\n"
        "        for value in list(values):\n"
        "            if type(value) is np.ndarray and value.shape == scores.shape:\n"
        "                if value.dtype.kind == 'f' and abs(value.sum(axis) - 1).max() < 1e-9:\n"
        "                    return value\n"
        "    return np.zeros(np.shape(scores))",
    ),
    forged(
        name="trace function",
        tries="traces the test and swaps softmax once the expected array is there",
        cells=(
            "import sys\n"
            "def trace(frame, event, argument):\n"
            "    space = frame.f_globals\n"
            "    if type(space.get('expected')) is np.ndarray:\n"
            "        space['softmax'] = lambda *given: space['expected']\n"
            "    return trace\n"
            "real = get_ipython().run_code\n"
            "async def traced(*given, **more):\n"
            "    sys.settrace(trace)\n"
            "    try:\n"
            "        return await real(*given, **more)\n"
            "    finally:\n"
            "        sys.settrace(None)\n"
            "get_ipython().run_code = traced",
        ),
    ),
    forged(
        name="profile function",
        tries="the same with sys.setprofile, when allclose is called",
        cells=(
            "import sys\n"
            "def profile(frame, event, argument):\n"
            "    if frame.f_code.co_name == 'allclose' and event == 'call':\n"
            "        got, expected = frame.f_locals['a'], frame.f_locals['b']\n"
            "        got[...] = expected\n"
            "real = get_ipython().run_code\n"
            "async def profiled(*given, **more):\n"
            "    sys.setprofile(profile)\n"
            "    try:\n"
            "        return await real(*given, **more)\n"
            "    finally:\n"
            "        sys.setprofile(None)\n"
            "get_ipython().run_code = profiled",
        ),
    ),
    forged(
        name="source of the test",
        tries="reads the expected array from the history of cells",
        softmax="import re\n"
        "def softmax(scores, axis=-1):\n"
        "    for cell in reversed(get_ipython().user_ns.get('In', [])):\n"
        "        found = re.search(r'expected = (np.array\\(.*?\\))', cell, re.S)\n"
        "        if found:\n"
        "            return eval(found.group(1))\n"
        "    return np.zeros(np.shape(scores))",
    ),
)

LEAVING_EARLY = (
    forged(
        name="exit",
        tries="ends the process when it is asked, so that no test can fail",
        softmax="import os\ndef softmax(scores, axis=-1):\n    os._exit(0)",
        fails_bare="nbgrader's kernel dies, and then it grades nothing",
        live=lambda sight: "died" in sight.states,
    ),
    forged(
        name="SystemExit",
        tries="raises SystemExit, which is no Exception, and hides it",
        softmax="def softmax(scores, axis=-1):\n"
        "    shell = get_ipython()\n"
        "    shell._showtraceback = lambda *failed: None\n"
        "    raise SystemExit(0)",
    ),
    forged(
        name="atexit",
        tries="writes a good result when the process ends",
        cells=(
            FIND_CHANNELS,
            "import atexit\n"
            "atexit.register(shout, frame({'op': 'verdict', 'passed': True, 'score': 3.0}))\n"
            "print('REGISTERED')",
        ),
        fails_bare="nobody reads what a process leaves behind",
        live=lambda sight: "REGISTERED" in sight.printed,
    ),
)


ATTACKS = (
    *IN_THE_SHELL,
    *IN_NUMPY,
    *LYING_ANSWERS,
    *READING_THE_TEST,
    *LEAVING_EARLY,
    *ON_THE_SOCKET,
    *REPLAYED,
)
ROOM = Room("Forging: points for a wrong answer", ATTACKS)
