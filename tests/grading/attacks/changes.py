"""Harming by changes: files of the instructor's, and what the next notebook would find."""

from .harms import harms, says

CHANGES = (
    harms(
        name="changing a file",
        tries="overwrites a file of the instructor's",
        seen="a canary file",
        through=lambda sight: sight.world.canary_touched(),
        cells=("open(KNOWN['canary'], 'w').write('gone')",),
    ),
    harms(
        name="deleting a file",
        tries="deletes a file of the instructor's",
        seen="a canary file",
        through=lambda sight: sight.world.canary_touched(),
        cells=("import os\nos.unlink(KNOWN['canary'])",),
    ),
    harms(
        name="hard link to a file",
        tries="links a file of the instructor's into its folder and writes to the link",
        seen="a canary file",
        through=lambda sight: sight.world.canary_touched(),
        cells=(
            "import os\nos.link(KNOWN['canary'], KNOWN['folder'] + '/loot-link')\n"
            "open(KNOWN['folder'] + '/loot-link', 'w').write('gone')",
        ),
    ),
    harms(
        name="path traversal",
        tries="climbs out of its folder with ../ and writes there",
        seen="a canary file",
        through=lambda sight: sight.world.canary_touched(),
        cells=("open('../' * 40 + KNOWN['canary'].lstrip('/'), 'w').write('gone')",),
    ),
    harms(
        name="the whole class's grades",
        tries="rewrites all grades in the gradebook",
        seen="the grades in it",
        through=lambda sight: sight.world.grades_touched(),
        cells=(
            "import sqlite3\nbook = sqlite3.connect(KNOWN['gradebook'])\n"
            "book.execute('UPDATE grade SET score = 0')\nbook.commit()",
        ),
    ),
    harms(
        name="startup files",
        tries="puts a file where Python runs it at every start",
        seen="whether the folders of this Python can be written",
        through=says("WRITABLE"),
        cells=(
            "import os, sys, site, numpy\n"
            "folders = [os.path.dirname(os.__file__), *site.getsitepackages(),\n"
            "           os.path.dirname(os.path.dirname(numpy.__file__))]\n"
            "for folder in folders:\n"
            "    try:\n"
            "        os.close(os.open(folder, os.O_TMPFILE | os.O_RDWR))\n"
            "        print('WRITABLE', folder)\n"
            "    except OSError as error:\n        print(error)",
        ),
    ),
    harms(
        name="settings of IPython and matplotlib",
        tries="writes startup files and settings that the next notebook would read",
        seen="whether the next notebook finds them",
        through=lambda sight: sight.later is not None and "FOUND" in sight.later.printed,
        cells=(
            "import os\n"
            "folder = os.path.join(os.environ['IPYTHONDIR'], 'profile_default', 'startup')\n"
            "os.makedirs(folder, exist_ok=True)\n"
            "open(os.path.join(folder, '00.py'), 'w').write('print(1)')\n"
            "os.makedirs(os.environ['MPLCONFIGDIR'], exist_ok=True)\n"
            "open(os.environ['MPLCONFIGDIR'] + '/matplotlibrc', 'w').write('# mine')",
        ),
        later=(
            "import os\n"
            "for path in (os.environ['IPYTHONDIR'] + '/profile_default/startup/00.py',\n"
            "             os.environ['MPLCONFIGDIR'] + '/matplotlibrc'):\n"
            "    if os.path.exists(path):\n        print('FOUND', path)",
        ),
    ),
    harms(
        name="shadowing modules",
        tries="writes numpy.py, byhand.py and sitecustomize.py into its folder",
        seen="whether the next notebook imports them",
        through=lambda sight: sight.later is not None and "SHADOW" in sight.later.printed,
        cells=(
            "for name in ('numpy', 'byhand', 'sitecustomize', 'usercustomize', 'IPython'):\n"
            "    open(f'{name}.py', 'w').write('SHADOW = 1')",
        ),
        later=(
            "import sys, byhand\n"
            "for name in ('sitecustomize', 'usercustomize'):\n"
            "    try:\n        print(vars(__import__(name)))\n"
            "    except ImportError:\n        pass\n"
            "print(hasattr(np, 'SHADOW') and 'SHADOW', getattr(byhand, 'SHADOW', ''))",
        ),
        fails_bare="each notebook has a folder of its own, and it is on no path",
        live=lambda sight: sight.states == (True,),
    ),
    harms(
        name="link for the clean-up",
        tries="leaves a link in its folder, so that the clean-up deletes what it points to",
        seen="a canary file",
        through=lambda sight: sight.world.canary_touched(),
        cells=(
            "import os\nos.symlink(KNOWN['folder'], 'link')\n"
            "os.symlink(KNOWN['canary'], 'link2')\n"
            "print(os.path.islink('link'))",
        ),
        fails_bare="the clean-up follows no links; with walls there is nothing to clean up",
        live=says("True"),
    ),
    harms(
        name="folders a thousand deep",
        tries="leaves folders that are too deep to be removed, and names that are no text",
        seen="what is left in the host's temporary folder",
        through=lambda sight: bool(sight.extra.get("left")),
        cells=(
            "import os\n"
            "open(b'\\xff\\n\\x1b[31m', 'w').close()\n"
            "for _ in range(1100):\n"
            "    os.mkdir('d')\n    os.chdir('d')\n"
            "os.chdir('/')",
        ),
        fails_bare="the engine removes folders of any depth that it can",
        live=lambda sight: sight.states == (True,),
    ),
    harms(
        name="the instructor's terminal",
        tries="writes control codes to the terminal that the grader was started in",
        seen="what arrives there",
        through=lambda sight: bool(sight.world.typed()),
        cells=("open(KNOWN['terminal'], 'w').write('\\x1b]0;owned\\x07')",),
    ),
    harms(
        name="FIFO",
        tries="puts a FIFO where a grader might read a file, to make it wait for ever",
        seen="the time until the notebook has ended",
        through=lambda sight: sight.seconds > 6,
        cells=(
            "import os\nfor name in ('softmax', 'answer.npy', 'x.ipynb'):\n    os.mkfifo(name)",
        ),
        fails_bare="no file of a notebook's is ever read",
        live=lambda sight: sight.states == (True,),
    ),
)
