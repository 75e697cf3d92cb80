"""How long a notebook takes to grade, by every way there is, on the same submissions.

    python benchmarks/grading.py [--json] [--plot FILE] [--submissions 20] [--otter BIN]

    nbgrader            stock `nbgrader autograde`: a Jupyter kernel for each notebook
    nbgrader, ours      the same command with this course's nbgrader_config.py
    otter               `otter run` of otter-grader, where it is installed
    ours, 1 worker      `byhand-course grade`, sandboxed
    ours, 2 workers     the same with two
    floor               fork a warm process and exec the same cells: no walls, no questions

What starting costs is left out: a way grades one submission, then all; the difference counts.
The floor is per core; the others run on what the machine has. Only ours and the floor are told how
well a notebook did by somebody outside it.
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

from byhand_course.grading.course import ensure_assignment, load_course
from byhand_course.grading.sample_class import hand_in, partly_right, solved, wrong

ROOT = Path(__file__).parents[1]
ASSIGNMENT, NOTEBOOK = "week1_maths", "lesson01_dot_products"
ANSWERS = (solved, wrong, partly_right)
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


def make_course(folder, submissions):
    """A course of one lesson, entered in its gradebook, with a class handed in."""
    name = f"{NOTEBOOK}.ipynb"
    for step in ("source", "release"):
        (folder / step / ASSIGNMENT).mkdir(parents=True)
        shutil.copyfile(ROOT / step / ASSIGNMENT / name, folder / step / ASSIGNMENT / name)
    shutil.copyfile(ROOT / "nbgrader_config.py", folder / "nbgrader_config.py")
    whole = folder / "whole"
    shutil.copytree(ROOT / "release" / ASSIGNMENT, whole / "release" / ASSIGNMENT)
    for count in range(submissions):
        student = f"student{count:03}"
        hand_in(whole, ASSIGNMENT, student, ANSWERS[count % len(ANSWERS)])
        target = folder / "submitted" / student / ASSIGNMENT
        target.mkdir(parents=True)
        (whole / "submitted" / student / ASSIGNMENT / name).rename(target / name)
    shutil.rmtree(whole)
    ensure_assignment(load_course(folder), ASSIGNMENT)
    return folder


def run(command, cwd):
    """Seconds that a command takes; it must succeed."""
    began = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    took = time.perf_counter() - began
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr[-3000:]}")
    return took


def marginal_ms(command, fresh, folder, submissions):
    """Milliseconds that each further submission takes, after the first."""
    times = []
    for count in (1, submissions):
        course = folder / f"course{count}"
        shutil.copytree(fresh, course)
        for path in sorted((course / "submitted").iterdir())[count:]:
            shutil.rmtree(path)
        times.append(run(command, course))
        shutil.rmtree(course)
    return (times[1] - times[0]) / (submissions - 1) * 1000


def nbgrader_ms(fresh, folder, submissions, stock):
    """`nbgrader autograde`, with the configuration that a new course has, or with ours."""
    if stock:
        course = folder / "stock"
        shutil.copytree(fresh, course)
        (course / "nbgrader_config.py").write_text(STOCK_CONFIG)
        fresh = course
    command = [sys.executable, "-m", "nbgrader", "autograde", ASSIGNMENT]
    return marginal_ms(command, fresh, folder, submissions)


def ours_ms(fresh, folder, submissions, workers):
    """`byhand-course grade` with its sandbox."""
    command = [sys.executable, "-m", "byhand_course.cli", "grade", ASSIGNMENT, "--json"]
    return marginal_ms([*command, "--workers", str(workers)], fresh, folder, submissions)


def first_result_s(fresh, folder):
    """Seconds from the command to the first submission that is in the gradebook and printed."""
    course = folder / "first"
    shutil.copytree(fresh, course)
    command = [sys.executable, "-m", "byhand_course.cli", "grade", ASSIGNMENT, "--json"]
    began = time.perf_counter()
    with subprocess.Popen(
        command, cwd=course, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as grader:
        while "student0" not in grader.stdout.readline():
            pass
        took = time.perf_counter() - began
        grader.stdout.read()
    shutil.rmtree(course)
    return took


def otter_ms(fresh, folder, binary):
    """`otter run` of one notebook, the median of 3; its tests ask only for an answer's presence."""
    from byhand_course.grading.marking import lesson_of
    from byhand_course.lessons import FreeAnswer, total_points

    place = folder / "otter"
    (place / "tests").mkdir(parents=True)
    for task in lesson_of(NOTEBOOK).exercises:
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
    submission = fresh / "submitted" / "student000" / ASSIGNMENT / f"{NOTEBOOK}.ipynb"
    shutil.copyfile(submission, place / "submission.ipynb")
    command = [str(Path(binary) / "otter"), "run", "-a", "autograder.zip", "submission.ipynb"]
    return statistics.median(run(command, place) for _ in range(3)) * 1000


def floor_ms(fresh):
    """Fork this process, warm, and exec the cells of a solved notebook; the median of 15."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # warm
    import numpy as np  # noqa: F401

    import byhand  # noqa: F401

    path = fresh / "submitted" / "student000" / ASSIGNMENT / f"{NOTEBOOK}.ipynb"
    cells = json.loads(path.read_text("utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    plt.figure().savefig(os.devnull, format="png")  # the first figure loads fonts
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
                plt.gcf().savefig(os.devnull, format="png")  # as a notebook shows its figure
            os._exit(0)
        os.waitpid(pid, 0)
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


def measure(submissions, otter):
    """Milliseconds a notebook by way, and seconds to the first result."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fresh = make_course(folder / "fresh", submissions)
        found = {}

        def say(way, milliseconds):
            found[way] = milliseconds
            print(f"{way:16} {milliseconds:8.0f} ms", file=sys.stderr, flush=True)

        say("floor", floor_ms(fresh))
        for workers in (1, 2):
            plural = "s" if workers > 1 else ""
            say(f"ours, {workers} worker{plural}", ours_ms(fresh, folder, submissions, workers))
        say("nbgrader, ours", nbgrader_ms(fresh, folder, submissions, stock=False))
        say("nbgrader", nbgrader_ms(fresh, folder, submissions, stock=True))
        if otter:
            say("otter", otter_ms(fresh, folder, otter))
        return found, first_result_s(fresh, folder)


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON for a script to read")
    parser.add_argument("--plot", type=Path, help="where to draw the result")
    parser.add_argument("--submissions", type=int, default=20)
    parser.add_argument("--otter", default=None, help="the folder of otter-grader's commands")
    given = parser.parse_args()
    otter = given.otter or (shutil.which("otter") and str(Path(shutil.which("otter")).parent))
    if not otter:
        print(OTTER_HELP, file=sys.stderr)
    found, first_s = measure(given.submissions, otter)
    if given.plot:
        draw(found, given.plot)
    to_nbgrader, to_otter = ratios(found, "nbgrader"), ratios(found, "otter")
    if given.json:
        result = {
            "ms_per_notebook": found,
            "ratio_to_nbgrader": to_nbgrader,
            "ratio_to_otter": to_otter,
            "ratio_to_floor": {way: ms / found["floor"] for way, ms in found.items()},
            "first_result_s": first_s,
            "submissions": given.submissions,
            "processors": os.cpu_count(),
            "machine": platform.processor() or platform.machine(),
            "load": os.getloadavg()[1],
        }
        print(json.dumps(result, indent=1))
        return
    print("\nway              ms a notebook  times nbgrader  times otter  of the floor")
    for way, ms in sorted(found.items(), key=lambda pair: pair[1]):
        otter_ratio = f"{to_otter[way]:13.1f}" if to_otter else f"{'-':>13}"
        floor = ms / found["floor"]
        print(f"{way:16} {ms:13.0f} {to_nbgrader[way]:15.1f} {otter_ratio} {floor:13.1f}")
    print(f"first result {first_s:.1f} s after the command")
    print(f"on {os.cpu_count()} processors, load {os.getloadavg()[1]:.1f} (other work slows all)")


if __name__ == "__main__":
    main()
