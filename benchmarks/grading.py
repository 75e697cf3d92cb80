"""How long a notebook takes to grade, by every way there is, on the same submissions.

    python benchmarks/grading.py [--lessons 2 1] [--submissions 20] [--otter BIN]
                                 [--json] [--text FILE] [--plot FILE]

    nbgrader            stock `nbgrader autograde`: a Jupyter kernel for each notebook
    nbgrader, ours      the same command with this course's nbgrader_config.py
    otter               `otter run` of otter-grader, where it is installed
    ours, 1 worker      `byhand-course grade`, sandboxed
    ours, 2 workers     the same with two
    floor               fork a warm process and exec the same cells: no walls, no questions

What starting costs is left out: a way grades one submission, then all; the difference counts. The
class is a third solved, a third wrong and a third half done; ours grades one ten times as large, of
the same notebooks, because it is too quick to measure on 20. The floor is one core's, and it judges
nothing and keeps nothing out; ours with two workers has two cores.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from classes import assignment_in, make_class, notebooks_of

from byhand_course.grading.sample_class import partly_right, solved, wrong
from byhand_course.lessons import FreeAnswer, load_lessons, total_points

ANSWERS = (solved, wrong, partly_right)
OURS = ("byhand_course.cli", "grade", "--json")
NBGRADER = ("nbgrader", "autograde")
STOCK_CONFIG = 'c = get_config()\nc.CourseDirectory.course_id = "attention-by-hand"\n'
OTTER_HELP = (
    "otter is left out: it is not installed. To measure it too, make it an environment of its own\n"
    "(python -m venv otter && otter/bin/pip install 'otter-grader>=7' ipykernel matplotlib "
    "./byhand), and say --otter otter/bin"
)
OTTER_TEST = """OK_FORMAT = True
test = {{
    "name": "{name}", "points": {points},
    "suites": [{{"cases": [{{"code": ">>> {variable} is not ...\\nTrue", "hidden": False}}],
                "scored": True, "setup": "", "teardown": "", "type": "doctest"}}],
}}
"""


def run(command, cwd):
    """Seconds that a command takes; it must succeed."""
    began = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    took = time.perf_counter() - began
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr[-3000:]}")
    return took


def marginal_ms(fresh, submissions, words, settings=""):
    """Milliseconds that each further submission takes, after the first.

    Args:
        fresh: a course that nobody has graded yet.
        submissions: how many of its class.
        words: a command of Python's, but for the assignment.
        settings: what nbgrader_config.py holds; ours if it is empty.
    """
    times = []
    for count in (1, submissions):
        course = fresh.with_name("course")
        shutil.copytree(fresh, course)
        if settings:
            (course / "nbgrader_config.py").write_text(settings)
        for path in sorted((course / "submitted").iterdir())[count:]:
            shutil.rmtree(path)
        times.append(run([sys.executable, "-m", *words, assignment_in(fresh)], course))
        shutil.rmtree(course)
    return (times[1] - times[0]) / (submissions - 1) * 1000


def solved_notebook(fresh):
    """A notebook of the class that is solved: the first one."""
    (found,) = notebooks_of(fresh, "submitted", sorted(os.listdir(fresh / "submitted"))[:1])
    return found


def first_result_s(fresh):
    """Seconds from the command to the first submission that is in the gradebook and printed."""
    command = [sys.executable, "-m", *OURS, assignment_in(fresh)]
    began = time.perf_counter()
    with subprocess.Popen(
        command, cwd=fresh, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as grader:
        while "student0" not in grader.stdout.readline():
            pass
        took = time.perf_counter() - began
        grader.stdout.read()
    return took


def otter_ms(fresh, lesson, binary):
    """`otter run` of one notebook, the median of 3; its tests ask only for an answer's presence."""
    place = fresh.with_name("otter")
    (place / "tests").mkdir(parents=True)
    for task in lesson.exercises:
        if not isinstance(task, FreeAnswer):
            text = OTTER_TEST.format(
                name=task.name, points=total_points(task), variable=task.variable
            )
            (place / "tests" / f"{task.variable}.py").write_text(text)
    with zipfile.ZipFile(place / "autograder.zip", "w") as archive:
        for path in (place / "tests").iterdir():
            archive.write(path, f"tests/{path.name}")
        archive.writestr("otter_config.json", json.dumps({"show_stdout": False}))
        archive.writestr("run_otter.py", "")
    shutil.copyfile(solved_notebook(fresh), place / "submission.ipynb")
    command = [str(Path(binary) / "otter"), "run", "-a", "autograder.zip", "submission.ipynb"]
    return statistics.median(run(command, place) for _ in range(3)) * 1000


def floor_ms(fresh):
    """Fork this process, warm, and exec the cells of a solved notebook; the median of 15."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np  # noqa: F401

    import byhand  # noqa: F401

    cells = json.loads(solved_notebook(fresh).read_text("utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    plt.figure().savefig(os.devnull, format="png")  # the first figure loads fonts
    plt.close("all")
    times = []
    for _ in range(15):
        began = time.perf_counter()
        pid = os.fork()
        if pid == 0:
            names: dict = {}
            with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
                for source in sources:
                    try:
                        exec(compile(source, "cell", "exec"), names)
                    except Exception:
                        continue
            os._exit(0)
        os.waitpid(pid, 0)
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


def measure(lesson, submissions, otter):
    """Milliseconds a notebook by way, and seconds to the first result."""
    with tempfile.TemporaryDirectory() as name:
        fresh = make_class(Path(name) / "fresh", 10 * submissions, lesson.number, answers=ANSWERS)
        found = {}

        def say(way, milliseconds):
            found[way] = milliseconds
            print(f"{way:16} {milliseconds:8.1f} ms", file=sys.stderr, flush=True)

        say("floor", floor_ms(fresh))
        for workers in (1, 2):
            plural = "s" if workers > 1 else ""
            words = (*OURS, "--workers", str(workers))
            say(f"ours, {workers} worker{plural}", marginal_ms(fresh, 10 * submissions, words))
        say("nbgrader, ours", marginal_ms(fresh, submissions, NBGRADER))
        say("nbgrader", marginal_ms(fresh, submissions, NBGRADER, STOCK_CONFIG))
        if otter:
            say("otter", otter_ms(fresh, lesson, otter))
        return found, first_result_s(fresh)


def ratios(found, way):
    """How many times as fast each way is as one of them; nothing if that was not measured."""
    return {other: found[way] / ms for other, ms in found.items()} if way in found else {}


def draw(found, path):
    """A bar for each way, on a logarithmic scale."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    ways = sorted(found, key=found.get, reverse=True)
    figure, axes = plt.subplots(figsize=(7, 0.5 * len(ways) + 1), layout="constrained")
    bars = axes.barh(ways, [found[way] for way in ways], color="#1b5e20")
    axes.bar_label(bars, [f"{found[way]:.0f} ms" for way in ways], padding=3)
    axes.set(xscale="log", xlabel="milliseconds a notebook (less is better)")
    axes.set_xlim(right=max(found.values()) * 3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def result_of(lesson, submissions, otter):
    """All that was measured on one lesson, for a script to read."""
    found, first_s = measure(lesson, submissions, otter)
    return {
        "lesson": lesson.number,
        "ms_per_notebook": found,
        "ratio_to_nbgrader": ratios(found, "nbgrader"),
        "ratio_to_otter": ratios(found, "otter"),
        "ratio_to_floor": {way: ms / found["floor"] for way, ms in found.items()},
        "first_result_s": first_s,
        "submissions": submissions,
        "processors": os.cpu_count(),
        "machine": platform.processor() or platform.machine(),
        "load": os.getloadavg()[1],
    }


def table_of(result):
    """The same, for a person."""
    to_nbgrader, to_otter = result["ratio_to_nbgrader"], result["ratio_to_otter"]
    lines = [
        f"lesson {result['lesson']}, {result['processors']} processors ({result['machine']}), "
        f"load {result['load']:.1f} with this (other work slows all)",
        "way              ms a notebook  times nbgrader  times otter  of the floor",
    ]
    for way, ms in sorted(result["ms_per_notebook"].items(), key=lambda pair: pair[1]):
        otter = f"{to_otter[way]:13.1f}" if to_otter else f"{'-':>13}"
        floor = result["ratio_to_floor"][way]
        lines.append(f"{way:16} {ms:13.1f} {to_nbgrader[way]:15.1f} {otter} {floor:13.1f}")
    return "\n".join([*lines, f"first result {result['first_result_s']:.1f} s after the command\n"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON for a script to read")
    parser.add_argument("--text", type=Path, help="where to write the tables, too")
    parser.add_argument("--plot", type=Path, help="where to draw the first one")
    parser.add_argument("--lessons", type=int, nargs="+", default=[2], help="whose notebooks")
    parser.add_argument("--submissions", type=int, default=20)
    parser.add_argument("--otter", default=None, help="the folder of otter-grader's commands")
    given = parser.parse_args()
    otter = given.otter or (shutil.which("otter") and str(Path(shutil.which("otter")).parent))
    if not otter:
        print(OTTER_HELP, file=sys.stderr)
    lessons = {lesson.number: lesson for lesson in load_lessons()}
    if unknown := set(given.lessons) - set(lessons):
        sys.exit(f"There is no lesson {min(unknown)}.")
    if given.submissions < 2:
        sys.exit("Name at least two submissions: the first one pays for the start.")
    results = [result_of(lessons[number], given.submissions, otter) for number in given.lessons]
    text = "\n".join(map(table_of, results))
    if given.text:
        given.text.write_text(text)
    if given.plot:
        draw(results[0]["ms_per_notebook"], given.plot)
    if given.json:
        print(json.dumps({**results[0], "other_lessons": results[1:]}, indent=1))
    else:
        print(f"\n{text}", end="")


if __name__ == "__main__":
    main()
