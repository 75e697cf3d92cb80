"""The learner's commands, on a folder of their own: the released notebooks, written in."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from typer.testing import CliRunner

from byhand import headless
from byhand.cli import app, start_jupyterlab
from byhand.headless import UNWRITTEN, check_notebook

LESSON = Path("week1_maths/lesson03_softmax.ipynb")
EXERCISES = [
    "softmax-by-hand",
    "shift-invariance",
    "softmax",
    "what-scaling-does",
    "softmax-with-temperature",
    "entropy",
]


@pytest.fixture
def folder(tmp_path, root, monkeypatch):
    """A course folder with the released notebooks only, and the learner in it."""
    shutil.copytree(root / "release", tmp_path / "release")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def work(folder):
    """The learner's folder, laid out."""
    assert byhand("learn", "--prepare-only").exit_code == 0
    return folder / "work"


def byhand(*words, **more):
    return CliRunner().invoke(app, words, **more)


def says(result):
    """All that a person reads, on one line."""
    return " ".join((result.stdout + result.stderr).split())


def solve(work, root, lesson=LESSON):
    shutil.copyfile(root / "solutions" / lesson, work / lesson)


def rewrite(path, **sources):
    """Replace the sources of exercises' own cells."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "").replace("-", "_")
        if name in sources:
            cell.source = sources.pop(name)
    assert not sources, f"no cell for {sources}"
    nbformat.write(notebook, path)


def leave_only_exercises(path):
    """Take out what is only looked at: plots take time, and cells that call exercises lose too."""
    notebook = nbformat.read(path, as_version=4)
    graded = [cell for cell in notebook.cells if "nbgrader" in cell.metadata]
    imports = nbformat.v4.new_code_cell("import numpy as np\nfrom byhand import check")
    notebook.cells = [imports, *graded]
    nbformat.write(notebook, path)


def newer_edition(folder, lesson=LESSON):
    """Change one sentence of a released notebook."""
    path = folder / "release" / lesson
    path.write_text(path.read_text().replace("Attention scores can be", "Scores can be"))
    return path.read_bytes()


def edit(path):
    """Write a line of one's own into a notebook, and return its bytes."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell("my = 1"))
    nbformat.write(notebook, path)
    return path.read_bytes()


# learn


def test_learn_copies_every_released_notebook(folder):
    done = byhand("learn", "--prepare-only")
    released = sorted(p.relative_to("release") for p in Path("release").rglob("*.ipynb"))
    assert f"{len(released)} notebooks copied to work." in done.stdout
    for path in released:
        assert (folder / "work" / path).read_bytes() == (folder / "release" / path).read_bytes()
    assert "Begin with lesson 1" in (folder / "work/START.md").read_text()


def test_learn_overwrites_nothing_that_was_written(work):
    """Without a new edition the second time is silent, and keeps notebooks and start page."""
    mine = edit(work / LESSON)
    (work / "START.md").write_text("my notes")
    assert byhand("learn", "--prepare-only").stdout == ""
    assert (work / LESSON).read_bytes() == mine
    assert (work / "START.md").read_text() == "my notes"


def test_a_new_edition_renews_what_was_only_opened(work):
    """Outputs and metadata are no writing: such a copy is renewed, with one sentence."""
    notebook = nbformat.read(work / LESSON, as_version=4)
    notebook.metadata.language_info["version"] = "3.99"
    notebook.cells[2].execution_count = 7
    nbformat.write(notebook, work / LESSON)
    new = newer_edition(work.parent)
    assert "lesson03_softmax.ipynb is renewed" in byhand("learn", "--prepare-only").stdout
    assert (work / LESSON).read_bytes() == new


def test_a_new_edition_lies_beside_what_was_written_in(work):
    """The learner's stays; the new one is offered once, and never over another file of theirs."""
    mine, new = edit(work / LESSON), newer_edition(work.parent)
    beside = work / "week1_maths/lesson03_softmax.new.ipynb"
    beside.write_text("something of the learner's")
    said = says(byhand("learn", "--prepare-only"))
    assert "yours is kept" in said and "lesson03_softmax.new-2.ipynb" in said
    assert (work / LESSON).read_bytes() == mine
    assert beside.read_text() == "something of the learner's"
    assert beside.with_name("lesson03_softmax.new-2.ipynb").read_bytes() == new
    assert byhand("learn", "--prepare-only").stdout == ""


def test_worked_pages_come_along_unannounced(folder):
    """They are copied and renewed, but only notebooks are counted; a changed page is kept."""
    page = Path("release/pages/03-attention.html")
    shutil.rmtree(page.parent, ignore_errors=True)
    page.parent.mkdir()
    page.write_text("first edition")
    notebooks = len(list(Path("release").rglob("*.ipynb")))
    assert says(byhand("learn", "--prepare-only")) == f"{notebooks} notebooks copied to work."
    mine = folder / "work/pages/03-attention.html"
    assert mine.read_text() == "first edition"
    assert "pages/index.html" not in (folder / "work/START.md").read_text()
    page.with_name("index.html").write_text("the summary")
    page.write_text("second edition")
    assert byhand("learn", "--prepare-only").stdout == ""
    assert mine.read_text() == "second edition"
    assert "(pages/index.html)" in (folder / "work/START.md").read_text()
    mine.write_text("my notes")
    page.write_text("third edition")
    assert "yours is kept" in says(byhand("learn", "--prepare-only"))
    assert mine.read_text() == "my notes"


def test_a_lost_memory_loses_no_work(work):
    """Without .byhand.json a written notebook counts as written."""
    mine = edit(work / LESSON)
    (work / ".byhand.json").write_text("{not json")
    assert "yours is kept" in says(byhand("learn", "--prepare-only"))
    assert (work / LESSON).read_bytes() == mine


def test_jupyterlab_starts_with_the_courses_settings(root, tmp_path, monkeypatch):
    """JupyterLab opens the start page in the work folder, under the settings of the repository."""
    started = []
    monkeypatch.setattr("os.execve", lambda *words: started.append(words))
    monkeypatch.delenv("JUPYTER_CONFIG_PATH", raising=False)
    start_jupyterlab(tmp_path, root / "jupyter", port=8931, browser=False)
    [(program, command, environment)] = started
    assert program == sys.executable and command[1:3] == ["-m", "jupyterlab"]
    assert "--LabApp.default_url=/lab/tree/START.md" in command
    assert f"--ServerApp.root_dir={tmp_path}" in command
    assert environment["JUPYTER_CONFIG_PATH"] == str(root / "jupyter")
    assert environment["PATH"].startswith(str(Path(sys.executable).parent))


def test_the_settings_keep_news_and_the_graders_panels_away(root):
    """Jupyter itself, given the folder, reads these settings from it."""
    code = """
import json
from jupyter_server.serverapp import ServerApp
from jupyterlab_server.config import get_page_config
from jupyterlab_server.settings_utils import _get_overrides
from jupyter_core.paths import jupyter_path
app = ServerApp()
app.load_config_file()
app.find_server_extensions()
print(json.dumps({
    "server": app.jpserver_extensions,
    "lab": get_page_config(jupyter_path("labextensions"))["disabledExtensions"],
    "settings": _get_overrides("/nowhere")[0],
}))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"JUPYTER_CONFIG_PATH": str(root / "jupyter"), "HOME": "/nowhere", "PATH": ""},
        capture_output=True,
        text=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["server"]["jupyterlab"] is True
    graders = {name: on for name, on in found["server"].items() if name.startswith("nbgrader")}
    assert len(graders) == 4 and not any(graders.values())
    assert "@jupyter/nbgrader" in found["lab"]
    news = found["settings"]["@jupyterlab/apputils-extension:notification"]
    assert news["fetchNews"] == "false"  # a word: the bare false asks again at every start
    assert found["settings"]["@jupyterlab/apputils-extension:themes"]["adaptive-theme"] is True


# check


def test_check_of_a_solved_lesson_is_all_right(work, root):
    """Exit status 0, full marks, and progress knows it, until a cell is changed."""
    solve(work, root)
    done = byhand("check", "lesson 3", "--json")
    assert done.exit_code == 0, says(done)
    [found] = json.loads(done.stdout)
    assert [one["exercise"] for one in found["exercises"]] == EXERCISES
    assert {one["status"] for one in found["exercises"]} == {"right"}
    row = json.loads(byhand("progress", "--json").stdout)[2]
    assert (row["done"], row["score"], row["changed"]) == (6, row["points"], False)
    edit(work / LESSON)
    assert json.loads(byhand("progress", "--json").stdout)[2]["changed"] is True
    assert "changed since" in says(byhand("progress"))


def test_check_goes_on_after_everything_that_can_go_wrong(work, root):
    """A syntax error, an endless loop and a crash each cost their own exercise, with a sentence."""
    solve(work, root)
    leave_only_exercises(work / LESSON)
    rewrite(
        work / LESSON,
        softmax_by_hand="softmax_by_hand = [0.09, 0.67,",
        shift_invariance="import numpy as np\nshift_invariance = 'larger weights'",
        softmax_with_temperature="def softmax_with_temperature(scores, temperature):\n"
        "    while True:\n        pass",
        entropy="import os\n\ndef entropy(weights):\n    os._exit(1)",
    )
    done = byhand("check", "3", "--timeout", "1", "--json")
    assert done.exit_code == 1
    [found] = json.loads(done.stdout)
    by_name = {one["exercise"]: (one["status"], one["why"]) for one in found["exercises"]}
    assert by_name["softmax"] == by_name["what-scaling-does"] == ("right", "")
    assert by_name["softmax-by-hand"][0] == "not yet"
    assert "SyntaxError in line 1" in by_name["softmax-by-hand"][1]
    assert by_name["shift-invariance"][0] == "not yet"
    assert by_name["softmax-with-temperature"] == ("not yet", "it does not finish within 1 s.")
    assert by_name["entropy"] == ("not yet", "it ends its whole process.")
    assert found["notes"] == []


def test_check_waits_only_once_for_a_function_that_never_ends(work, root, monkeypatch):
    """Cells that only look at its answers are left out with it; other exercises are judged."""
    solve(work, root)
    leave_only_exercises(work / LESSON)
    rewrite(work / LESSON, entropy="def entropy(weights):\n    while True:\n        pass")
    notebook = nbformat.read(work / LESSON, as_version=4)
    notebook.cells += [nbformat.v4.new_code_cell("print(entropy(1))") for _ in range(5)]
    nbformat.write(notebook, work / LESSON)
    kernels, once = [], headless._costs_the_kernel
    monkeypatch.setattr(headless, "_costs_the_kernel", lambda *a: kernels.append(1) or once(*a))
    found = headless.check_notebook(work / LESSON, timeout_s=1)
    assert [one.status for one in found.exercises] == ["right"] * 5 + ["not yet"]
    assert found.exercises[-1].why == "it does not finish within 1 s." and found.notes == []
    assert len(kernels) == 2


def test_check_names_a_lost_cell_that_is_no_exercise(work, root):
    """exit() in a cell of the learner's own is named, and costs no exercise."""
    solve(work, root)
    leave_only_exercises(work / LESSON)
    notebook = nbformat.read(work / LESSON, as_version=4)
    notebook.cells.insert(1, nbformat.v4.new_code_cell("exit()"))
    nbformat.write(notebook, work / LESSON)
    found = check_notebook(work / LESSON, timeout_s=30)
    assert {one.status for one in found.exercises} == {"right"}
    assert found.notes == [
        "The cell that begins with `exit()` ended its whole process, and was left out."
    ]


def test_check_tells_written_from_unwritten(work, root):
    """As released nothing is written; an answer in words counts as done once it differs."""
    lesson = work / "week1_maths/lesson01_dot_products.ipynb"
    rewrite(lesson, dot="def dot(a, b):\n    return None", why_normalise="Because of lengths.")
    done = byhand("check", "lesson01_dot_products")
    assert done.exit_code == 1
    lines = {
        line.split()[0]: " ".join(line.split()[1:]) for line in done.stdout.splitlines() if line
    }
    assert lines["dot"].startswith("✗ not yet returns None")
    assert lines["cosine-similarity"] == "· not written"
    assert lines["why-normalise"] == "✓ in words a person reads this one."
    assert "1 of 6 exercises done, 0 of 9 points" in done.stdout


def test_the_unwritten_words_are_those_of_the_build():
    from byhand_course.build.stubs import STUBS

    assert STUBS["text_stub"] == UNWRITTEN


# hint, reset, submit


def test_hints_come_one_by_one(work):
    """From the first to the last, counted across calls, with how many are left."""
    hints = [says(byhand("hint", "softmax")) for _ in range(4)]
    assert [hint[:11] for hint in hints] == ["Hint 1 of 3", "Hint 2 of 3", "Hint 3 of 3"] + [
        "Hint 3 of 3"
    ]
    assert "2 more hints left" in hints[0] and "1 more hint left" in hints[1]
    assert "the last one" in hints[2]
    every = says(byhand("hint", "softmax", "--all"))
    assert all(f"Hint {number} of 3" in every for number in (1, 2, 3))


def test_reset_keeps_what_was_there(work):
    """The released notebook is back, the learner's lies beside it under a dated name."""
    mine = edit(work / LESSON)
    refused = byhand("reset", "3", input="n\n")
    assert refused.exit_code == 1 and (work / LESSON).read_bytes() == mine
    done = byhand("reset", "3", "--yes")
    assert done.exit_code == 0
    assert (work / LESSON).read_bytes() == (work.parent / "release" / LESSON).read_bytes()
    [backup] = (work / "week1_maths").glob("lesson03_softmax.2*.ipynb")
    assert backup.read_bytes() == mine and backup.name in says(done)


def test_submit_lays_out_what_nbgrader_reads(work):
    """submitted/NAME/ASSIGNMENT/*.ipynb; an earlier submission is kept; what is open is said."""
    first = (work / LESSON).read_bytes()
    done = byhand("submit", "week1_maths", "--as", "ada.l@example.org")
    assert done.exit_code == 0 and "3 notebooks handed in" in done.stdout
    assert "lesson03_softmax was never checked" in done.stdout
    place = work.parent / "submitted/ada.l@example.org/week1_maths"
    assert (place / LESSON.name).read_bytes() == first
    assert re.fullmatch(r"[-\d]+ [:\d]+\.\d+ UTC\n", (place / "timestamp.txt").read_text())
    second = edit(work / LESSON)
    done = byhand("submit", "week1_maths", "--as", "ada.l@example.org")
    assert (place / LESSON.name).read_bytes() == second
    [earlier] = place.parent.glob("week1_maths.until-*")
    assert (earlier / LESSON.name).read_bytes() == first and earlier.name in says(done)


# Wrong input


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("learn", "--release", "nowhere"), "There are no lessons in nowhere"),
        (("check", "30"), "There is no lesson 30: this edition has the lessons 1 to"),
        (("check", "lesson03_sofmax"), "Did you mean lesson03_softmax"),
        (("check", "--work", "nowhere"), "There is no folder nowhere"),
        (("hint", "sofmax"), "Did you mean softmax"),
        (("reset", "week1_maths", "--yes"), "reset them one by one"),
        (("reset", "3", "--yes", "--release", "nowhere"), "not among the released"),
        (("submit", "week1_math"), "Did you mean week1_maths"),
        (("submit", "week1_maths", "--as", "../ada"), "'../ada' cannot be handed in under"),
        (("submit", "week1_maths", "--as", ".."), "'..' cannot be handed in under"),
    ],
)
def test_wrong_input_gets_one_sentence(work, words, sentence):
    done = byhand(*words)
    assert done.exit_code == 1
    assert sentence in says(done) and "Traceback" not in says(done)
    assert done.stdout == ""
    assert not (work.parent / "submitted").exists()


@pytest.mark.parametrize("words", [("check",), ("progress",), ("hint", "dot"), ("reset", "3")])
def test_without_a_work_folder_learn_is_named(folder, words):
    done = byhand(*words)
    assert done.exit_code == 1 and "`byhand learn` makes one" in says(done)


def test_a_damaged_notebook_does_not_stop_the_others(work, root):
    """One sentence for the damaged one, verdicts for the rest, exit status 1."""
    for path in work.rglob("*.ipynb"):
        path.write_text("<<<<<<< HEAD")
    solve(work, root)
    done = byhand("check", "week1_maths")
    assert done.exit_code == 1
    assert "6 of 6 exercises done" in done.stdout
    assert says(done).count("cannot be read as a notebook") == 2
    assert "byhand reset lesson01_dot_products" in says(done)
