"""`mine`: the learner's own function from an earlier notebook, or one sentence on why not."""

import os
import shutil
from pathlib import Path

import nbformat
import numpy as np
import pytest

from byhand.mine import NotFinished, mine, serve_from

LESSON = Path("week1_maths/lesson03_softmax.ipynb")
SCORES = np.array([[1.0, 3.0, -1.0], [1000.0, 1002.0, 1001.0]])

RIGHT = """
def softmax(scores, axis=-1):
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)
"""
HELPED = """
def softmax(scores, axis=-1):
    return divided(np.exp(shifted(scores, axis)), axis)
"""
WARMED = """
def softmax_with_temperature(scores, temperature):
    return softmax(scores / temperature)
"""


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A work folder; the learner is in the folder of a later lesson."""
    later = tmp_path / "work/week2_attention"
    later.mkdir(parents=True)
    monkeypatch.chdir(later)
    return tmp_path / "work"


@pytest.fixture(autouse=True)
def no_hook():
    """No test leaves the grader's hook behind."""
    yield
    serve_from(None)


def write(path, *cells, metadata=True):
    """A notebook of these cells; one that defines an exercise carries nbgrader's name for it."""
    notebook = nbformat.v4.new_notebook()
    for source in cells:
        cell = nbformat.v4.new_code_cell(source)
        for name in ("softmax", "softmax_with_temperature"):
            if metadata and f"def {name}(" in source:
                cell.metadata["nbgrader"] = {"grade_id": name.replace("_", "-"), "solution": True}
        notebook.cells.append(cell)
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)
    return path


def refusal(name, **more):
    """The one sentence that mine refuses with."""
    with pytest.raises(NotFinished) as caught:
        mine(name, **more)
    assert caught.value._render_traceback_() == [f"NotFinished: {caught.value}"]
    return str(caught.value)


def test_it_is_the_learners_own_function(work):
    write(work / LESSON, "import numpy as np", RIGHT)
    softmax = mine("softmax")
    np.testing.assert_allclose(softmax(SCORES).sum(axis=-1), 1)
    assert softmax.__code__.co_filename.startswith("<lesson03_softmax.ipynb")


@pytest.mark.parametrize("metadata", [True, False])
def test_only_what_the_function_needs_is_run(work, metadata):
    """Imports and helpers are, even with metadata stripped; plots, prints and magics are not."""
    write(
        work / LESSON,
        "%matplotlib inline\nimport numpy as np\nimport no_such_module",
        "scores = 1 / 0",
        "def shifted(numbers, axis):\n    return numbers - numbers.max(axis=axis, keepdims=True)",
        "%%time\n" + HELPED + "\nraise SystemExit",
        "weights = softmax(1 / 0)\nthis is not Python",
        "def divided(powers, axis):\n    return powers / powers.sum(axis=axis, keepdims=True)",
        metadata=metadata,
    )
    np.testing.assert_allclose(mine("softmax")(SCORES).sum(axis=-1), 1)


def test_an_earlier_exercise_of_the_same_notebook_must_be_right_too(work):
    """softmax_with_temperature brings its softmax along; while that is wrong, it is named."""
    write(work / LESSON, "from numpy import *\nimport numpy as np", RIGHT, WARMED)
    np.testing.assert_allclose(mine("softmax_with_temperature")(SCORES, 2.0).sum(axis=-1), 1)
    write(work / LESSON, "import numpy as np", RIGHT.replace("keepdims=True", ""), WARMED)
    said = refusal("softmax_with_temperature")
    assert said.startswith("softmax: ") and "Finish exercise softmax in lesson 3" in said


@pytest.mark.parametrize(
    ("cell", "found"),
    [
        (RIGHT.replace("np.exp", "np.exp2"), "softmax: "),
        ("def softmax(scores, axis=-1):\n    raise NotImplementedError", "not written yet"),
        ("def softmax(scores, axis=-1):\nreturn 1", "IndentationError in line 2"),
        ("def softmax(scores, axis=no_such_axis):\n    pass", "raises NameError"),
        ("softmax = 3", "should be a function"),
        ("", "has no function softmax"),
    ],
)
def test_what_is_not_right_is_refused_in_one_sentence(work, cell, found):
    """What was found, which lesson to finish, and that this edition carries no solutions."""
    write(work / LESSON, "import numpy as np", cell)
    said = refusal("softmax")
    assert found in said
    assert "Finish exercise softmax in lesson 3 (Softmax: scores into weights)" in said
    assert "this edition carries no solutions" in said
    assert "\n" not in said
    assert refusal("softmax", solution=True) == said


def test_a_missing_or_damaged_notebook_is_said(work):
    assert "lesson03_softmax.ipynb is not in your folder" in refusal("softmax")
    write(work / LESSON).write_text("<<<<<<< HEAD")
    assert "cannot be read as a notebook" in refusal("softmax")


def test_other_names_are_refused(work):
    assert "Did you mean softmax" in refusal("sofmax")
    assert "only functions are taken along" in refusal("softmax_by_hand")
    assert 'mine("softmax")' in refusal(np.sum)


def test_the_solution_is_taken_only_when_asked_for(work, root, capsys):
    """Where the edition carries solutions, they are offered; the learner's own goes first."""
    solved = work.parent / "solutions" / LESSON
    solved.parent.mkdir(parents=True)
    shutil.copyfile(root / "solutions" / LESSON, solved)
    write(work / LESSON, "import numpy as np", "def softmax(scores, axis=-1):\n    pass")
    assert 'or take the course\'s with mine("softmax", solution=True)' in refusal("softmax")
    softmax = mine("softmax", solution=True)
    np.testing.assert_allclose(softmax(SCORES).sum(axis=-1), 1)
    assert "the course's solution, until yours is right" in capsys.readouterr().out
    write(work / LESSON, "import numpy as np", RIGHT)
    assert mine("softmax", solution=True).__code__.co_consts != softmax.__code__.co_consts
    assert capsys.readouterr().out == ""


def test_the_solved_notebooks_find_each_other(root, monkeypatch):
    """A solved notebook that says mine(...) takes it from the solved notebook before it."""
    monkeypatch.chdir(root / "solutions/week1_maths")
    assert mine("softmax").__code__.co_filename.startswith("<lesson03_softmax.ipynb")


def test_a_file_is_read_again_only_when_it_has_changed(work):
    path = write(work / LESSON, "import numpy as np", RIGHT)
    first = mine("softmax")
    assert mine("softmax") is first
    write(path, "import numpy as np", RIGHT)
    os.utime(path, ns=(1, 1))
    assert mine("softmax") is not first


def test_while_the_grader_lends_no_file_is_read(work, monkeypatch):
    """The hook answers, under the function's own name, and nothing is opened."""

    def proxy(*arguments):
        raise RuntimeError("only inside the functions that are graded")

    asked = []
    serve_from(lambda name: asked.append(name) or proxy)
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: pytest.fail("a file was read"))
    monkeypatch.setattr("builtins.open", lambda *_, **__: pytest.fail("a file was opened"))
    assert mine("layer-norm-backward") is proxy
    assert mine("softmax", solution=True) is proxy
    assert asked == ["layer_norm_backward", "softmax"]
