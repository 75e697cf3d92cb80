"""`check`: one call, one verdict, in plain Python, in IPython and in a real notebook."""

import io
from contextlib import redirect_stdout

import nbclient
import nbformat
import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from byhand import CheckFailed, check
from byhand.check import judge
from byhand.probe import load
from byhand_course.reference.softmax import softmax

NUMPY_ONLY = "import numpy as np\nfrom byhand import check\n"
WRONG = NUMPY_ONLY + "def softmax(scores, axis=-1):\n    return np.exp(scores)\n"
RIGHT = NUMPY_ONLY + "from byhand_course.reference.softmax import softmax\n"


def named(name, function):
    function.__name__ = name
    return function


class Softmax:
    """Not a function."""


MISUSED = [
    ((), {}, "Check one thing at a time: check(softmax), or check(guess=guess)."),
    ((softmax, softmax), {}, "Check one thing at a time: check(softmax), or check(guess=guess)."),
    ((softmax,), {"guess": 3}, "Check one thing at a time: check(softmax), or check(guess=guess)."),
    ((), {"guess": 3, "other": 4}, "Check one thing at a time: check(softmax), or"),
    ((3,), {}, "This is not a function. A value is checked under its name: check(guess=guess)."),
    (("softmax",), {}, "This is not a function."),
    ((None,), {}, "This is not a function."),
    ((np.ones(3),), {}, "This is not a function."),
    ((np,), {}, "This is not a function."),
    ((lambda x: x,), {}, "A lambda has no name to be checked under: write the function with def."),
    ((Softmax,), {}, "Softmax is a class. Write a function, with def, and check that."),
    ((named("sofmax", lambda x: x),), {}, "no exercise called 'sofmax'. Did you mean softmax"),
    ((named("course", lambda x: x),), {}, "There is no exercise called 'course'."),
    ((named("../softmax", lambda x: x),), {}, "There is no exercise called '../softmax'."),
    ((), {"gues": 3}, "There is no exercise called 'gues'."),
    ((), {"softmax": 3}, "softmax should be a function, written with def."),
]


@pytest.mark.parametrize(("functions", "values", "says"), MISUSED)
def test_each_misuse_gets_one_clear_sentence(functions, values, says):
    """Nothing is shown but the exception, which has no other exception behind it."""
    out = io.StringIO()
    with redirect_stdout(out), pytest.raises(CheckFailed) as caught:
        check(*functions, **values)
    assert says in str(caught.value)
    assert str(caught.value).endswith(".") and len(str(caught.value)) < 200
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    assert out.getvalue() == ""


def test_a_right_answer_is_cheered_in_few_words(capsys):
    """Two short lines: that it is right everywhere, and the points."""
    check(softmax)
    assert capsys.readouterr().out == (
        "softmax: right on all 12 inputs. Well done!\n\n3 of 3 points.\n"
    )


def test_a_wrong_answer_is_told_before_it_fails(capsys):
    """The verdict is printed, then a short exception says where to look."""

    def wrong(scores, axis=-1):
        return np.exp(scores)

    with pytest.raises(CheckFailed, match=r"^softmax: not right yet; the reason stands above\.$"):
        check(named("softmax", wrong))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("softmax: ") and "    weights[" in "\n".join(lines)


def test_a_value_is_checked_by_name(capsys):
    """Under the exercise's name, with its dots, a wrong kind, or a wrong number."""
    for value, says in [(..., "not answered yet"), ("x", "expected"), ([9, 9, 9], "not right yet")]:
        with pytest.raises(CheckFailed):
            check(softmax_by_hand=value)
        assert says in capsys.readouterr().out


def test_an_exercise_in_words_is_for_a_person():
    """What only a person can judge is not judged."""
    with pytest.raises(CheckFailed, match="read by a person"):
        check(why_normalise="because")


def test_an_answer_in_one_array_is_not_overwritten():
    """A function may give out the same array at each call; each answer is judged as it was."""
    buffers = {}

    def reusing(scores, axis=-1):
        right = softmax(scores, axis)
        kept = buffers.setdefault((right.shape, right.dtype), np.empty_like(right))
        kept[...] = right
        return kept

    probe = load("softmax")
    shapes = [case.expected.shape for case in probe.cases]
    assert len(set(shapes)) < len(shapes)
    assert judge(probe, reusing).passed


def test_leaving_python_is_told_like_any_exception():
    """exit() inside a function does not end the notebook."""

    def leaving(scores, axis=-1):
        raise SystemExit

    verdict = judge(load("softmax"), leaving)
    assert "SystemExit" in verdict.headline


@pytest.fixture
def shell():
    shell = InteractiveShell.instance(colors="nocolor")
    yield shell
    InteractiveShell.clear_instance()


@pytest.mark.parametrize(
    "line",
    ["check()", "check(3)", "check(lambda x: x)", "check(sofmax=1)", "check(np)", "check(softmax)"],
)
def test_ipython_shows_no_traceback(shell, line):
    """One line with the exception's name and sentence, and no frame of ours or of theirs."""
    with capture_output() as caught:
        result = shell.run_cell(WRONG + line)
    assert isinstance(result.error_in_exec, CheckFailed)
    printed = caught.stdout + caught.stderr
    assert printed.rstrip().splitlines()[-1].startswith("CheckFailed: ")
    assert "Traceback" not in printed and "check.py" not in printed and "-->" not in printed


@pytest.fixture(scope="module")
def notebook():
    """A real kernel that has run: wrong, right, a wrong use, and a function that raises."""
    raising = "def softmax(scores, axis=-1):\n    y = scores\n    return y @ np.ones((7, 9, 9))\n"
    sources = [WRONG, "check(softmax)", RIGHT, "check(softmax)", "check(3)", raising]
    cells = [nbformat.v4.new_code_cell(source) for source in [*sources, "check(softmax)"]]
    ran = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(ran, kernel_name="python3", allow_errors=True).execute()
    return ran


def test_a_failing_cell_shows_the_verdict_then_one_line(notebook):
    """display_data in HTML and in text, then an error whose traceback is one short line."""
    shown, error = notebook.cells[1].outputs
    assert shown.output_type == "display_data"
    assert set(shown.data) == {"text/html", "text/plain"}
    assert shown.data["text/html"].startswith('<section role="status" ')
    assert shown.data["text/plain"].startswith("softmax: ")
    assert (error.output_type, error.ename) == ("error", "CheckFailed")
    assert error.traceback == ["CheckFailed: softmax: not right yet; the reason stands above."]


def test_a_passing_cell_shows_the_verdict_only(notebook):
    """No error, no value, nothing on stderr."""
    (shown,) = notebook.cells[3].outputs
    assert shown.output_type == "display_data"
    assert "✓" in shown.data["text/html"] and "3 of 3 points." in shown.data["text/plain"]


def test_a_misuse_in_a_notebook_is_one_line(notebook):
    """Nothing is displayed beside it."""
    (error,) = notebook.cells[4].outputs
    assert len(error.traceback) == 1 and "check(guess=guess)" in error.traceback[0]


def test_a_line_is_counted_in_its_own_cell(notebook):
    """The third line of the cell that defines the function, quoted as it stands there."""
    text = " ".join(notebook.cells[6].outputs[0].data["text/plain"].split())
    assert "on plain scores, in its line 3, `return y @ np.ones((7, 9, 9))`. Python says" in text
