"""The picture of the house in STYLE and DESIGN, held against the code."""

import ast
import sys
import textwrap
import zipfile
from subprocess import run

import pytest

from byhand.check import judge
from byhand.probe import load
from byhand.render import to_text
from byhand_course.build.cells import function_source
from byhand_course.lessons import Exercise, find_exercise, load_lessons, mistaken_function

# Who may import whom, of ours; besides, everybody may import their own room and the errors.
FLOORS = {
    "byhand": (),
    "byhand_course.reference": (),
    "byhand_course.lessons": ("byhand", "byhand_course.reference"),
    "byhand_course.build": ("byhand", "byhand_course.lessons"),
    "byhand_course.worked": ("byhand", "byhand_course.reference", "byhand_course.lessons"),
    "byhand_course.grading": ("byhand", "byhand_course.lessons", "byhand_course.build"),
    "byhand_course.cli": (
        "byhand",
        "byhand_course.lessons",
        "byhand_course.build",
        "byhand_course.worked",
        "byhand_course.grading",
    ),
}


def room_of(module):
    """The room that a module of ours stands in, or None."""
    names = module.split(".")
    if names[0] == "byhand":
        return "byhand"
    if names[0] == "byhand_course" and len(names) > 1:
        return ".".join(names[:2])
    return None


def imports_of(path, root):
    """The modules of ours that a file imports, relative ones spelled out."""
    package = path.relative_to(root).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            yield ".".join([*base, *([node.module] if node.module else [])])


def files(root):
    for package in ("byhand", "byhand_course"):
        for path in sorted((root / package).rglob("*.py")):
            if path.name != "lesson.py":
                yield path


def test_imports_go_down_only(root):
    """No module imports from a floor above its own, or from a room that it must not know."""
    seen = set()
    for path in files(root):
        room = room_of(".".join(path.relative_to(root).with_suffix("").parts))
        for module in imports_of(path, root):
            other = room_of(module)
            if other in (None, room, "byhand_course.errors", "byhand_course.__init__"):
                continue
            seen.add((room, other))
            assert other in FLOORS[room], f"{path.relative_to(root)} imports {module}"
    assert ("byhand_course.lessons", "byhand_course.reference") in seen  # it does see imports


def test_reference_knows_numpy_only(root):
    """The ground floor imports NumPy, the standard library and itself."""
    for path in (root / "byhand_course/reference").glob("*.py"):
        for module in imports_of(path, root):
            name = module.split(".")[0]
            inside = module.startswith("byhand_course.reference")
            assert inside or name == "numpy" or name in sys.stdlib_module_names, f"{path}: {module}"


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The learner's wheel, built as anybody would build it."""
    from conftest import ROOT

    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    run(command, cwd=ROOT / "byhand", check=True, capture_output=True)
    return next(out.glob("byhand-*.whl"))


def test_the_readme_shows_what_a_check_says(root):
    """The verdict in the README is what a learner with that mistake reads."""
    _, task = find_exercise("softmax")
    mistake = next(known for known in task.mistakes if known.name == "always-axis-0")
    verdict = judge(load("softmax"), mistaken_function(task.solution, mistake))
    assert textwrap.indent(to_text(verdict), "    ") in (root / "README.md").read_text("utf-8")


def test_the_learners_wheel_holds_nothing_hidden(wheel, root):
    """No line of a solution, and nothing of the course maker's, is in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        text = b"\n".join(archive.read(name) for name in names).decode("utf-8", "replace")
    assert "byhand/check.py" in names and "byhand/probes/softmax.json" in names
    assert not [name for name in names if "byhand_course" in name or "solution" in name]
    assert "byhand_course" not in text.replace("byhand_course and", "")
    lines = {
        line.strip()
        for lesson in load_lessons()
        for task in lesson.exercises
        if isinstance(task, Exercise)
        for line in function_source(task.solution).partition("### BEGIN SOLUTION\n")[2].splitlines()
        if len(line.strip()) > 20 and "###" not in line
    }
    assert len(lines) > 10
    assert not [line for line in lines if line in text]
