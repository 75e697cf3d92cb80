"""Handing in: files, links and metadata that are to mislead whoever opens a submission.

One class is graded once for all of these, by `byhand-course grade` as an instructor types it, with
an honest student in it. Without protection means what nbgrader does with the same folder.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from byhand_course.grading.engine import Engine
from byhand_course.grading.sample_class import blank, hand_in, solved
from byhand_course.lessons import FreeAnswer, load_lessons, total_points

from .attack import Attack, Room, Sight
from .pages import ASSIGNMENT
from .world import ROOT, World, memory_mb

HONEST, NOTEBOOK = "honest", "lesson03_softmax.ipynb"
TITLE = "\x1b]0;owned"
CANARY = "open({canary!r}, 'w').write('gone')\n"


def place(course: Path, student: str) -> Path:
    return course / "submitted" / student / ASSIGNMENT / NOTEBOOK


def linked(course: Path, student: str) -> None:
    """In place of a notebook, a link to the honest student's."""
    place(course, student).unlink()
    place(course, student).symlink_to(place(course, HONEST))


def hard_linked(course: Path, student: str) -> None:
    """In place of a notebook, a second name of the solutions."""
    place(course, student).unlink()
    os.link(course / "solutions" / ASSIGNMENT / NOTEBOOK, place(course, student))


def folder_linked(course: Path, student: str) -> None:
    """In place of the whole folder, a link to the honest student's."""
    shutil.rmtree(course / "submitted" / student)
    (course / "submitted" / student).symlink_to(course / "submitted" / HONEST)


def fifo(course: Path, student: str) -> None:
    place(course, student).unlink()
    os.mkfifo(place(course, student))


def device(course: Path, student: str) -> None:
    place(course, student).unlink()
    place(course, student).symlink_to("/dev/zero")


def huge(course: Path, student: str) -> None:
    """A notebook of 60 MB, nearly all of it one output."""
    notebook = json.loads(place(course, student).read_text("utf-8"))
    code = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    text = "x" * 60_000_000
    code["outputs"] = [{"output_type": "stream", "name": "stdout", "text": text}]
    place(course, student).write_text(json.dumps(notebook))


def deep(course: Path, student: str) -> None:
    place(course, student).write_text('{"cells": ' + "[" * 200_000)


def metadata(course: Path, student: str) -> None:
    """A blank notebook whose metadata claims 1,000 points for each check, unlocked."""
    changed(
        place(course, student),
        lambda told: told.update(points=1000, locked=False),
    )


def changed(path: Path, change: Callable[[dict], object], source: str = "") -> None:
    """Change nbgrader's metadata, or the source, of every check cell."""
    notebook = json.loads(path.read_text("utf-8"))
    for cell in notebook["cells"]:
        told = cell["metadata"].get("nbgrader", {})
        if told.get("grade_id", "").startswith("check-"):
            change(told)
            cell["source"] = source or cell["source"]
    path.write_text(json.dumps(notebook), encoding="utf-8")


def outputs(course: Path, student: str) -> None:
    """A blank notebook whose check cells were never run, hold a score, and are not to be run."""
    notebook = json.loads(place(course, student).read_text("utf-8"))
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id", "").startswith("check-"):
            score = {"output_type": "execute_result", "data": {"text/plain": "1.0"}}
            cell["outputs"] = [score | {"metadata": {}, "execution_count": 1}]
            cell["metadata"]["tags"] = ["skip-execution"]
    place(course, student).write_text(json.dumps(notebook), encoding="utf-8")


def checks(course: Path, student: str) -> None:
    """Check cells that print a score."""
    changed(place(course, student), lambda told: told, source="1.0")


def modules(course: Path, student: str, canary: str) -> None:
    """Files beside the notebook that Python or IPython might run."""
    folder = place(course, student).parent
    for name in ("numpy.py", "IPython.py", "byhand.py", "sitecustomize.py", "nbformat.py"):
        (folder / name).write_text(CANARY.format(canary=canary))
    startup = folder / ".ipython/profile_default/startup"
    startup.mkdir(parents=True)
    (startup / "00.py").write_text(CANARY.format(canary=canary))


@dataclass(frozen=True)
class Class:
    """What came of the one run.

    Attributes:
        scores: by student.
        full: what the honest student should have.
        said: all that the command wrote.
    """

    scores: dict[str, float]
    full: float
    said: str


BUILDERS: dict[str, Callable] = {
    "linked": linked,
    "hard-linked": hard_linked,
    "folder-linked": folder_linked,
    "fifo": fifo,
    "device": device,
    "huge": huge,
    "deep": deep,
    "metadata": metadata,
    "outputs": outputs,
    "checks": checks,
    "modules": modules,
    f"{TITLE}\x07": lambda course, student: None,
}


@contextlib.contextmanager
def class_of(world: World, *students: str):
    """A course in which the honest student and some others have handed in."""
    with tempfile.TemporaryDirectory(prefix="byhand-attacked-") as folder:
        course = Path(folder)
        shutil.copy(ROOT / "nbgrader_config.py", course)
        for part in ("source", "release", "solutions"):
            shutil.copytree(ROOT / part / ASSIGNMENT, course / part / ASSIGNMENT)
        hand_in(course, ASSIGNMENT, HONEST, solved)
        for student in students:
            hand_in(course, ASSIGNMENT, student, blank)
            for other in place(course, student).parent.glob("lesson0[12]*"):
                other.unlink()
            more = {"canary": world.known["canary"]} if student == "modules" else {}
            BUILDERS[student](course, student, **more)
        yield course


@cache
def graded(world: World) -> Class:
    """Grade all of them with the honest student, as an instructor does."""
    from nbgrader.api import Gradebook

    with class_of(world, *BUILDERS) as course:
        command = [sys.executable, "-m", "byhand_course.cli", "grade", ASSIGNMENT]
        done = subprocess.run(
            command, cwd=course, capture_output=True, text=True, timeout=120, errors="replace",
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        with Gradebook(f"sqlite:///{course}/gradebook.db", "attention-by-hand") as book:
            scores = {
                found.student_id: found.score for found in book.assignment_submissions(ASSIGNMENT)
            }
    tasks = [
        task for one in load_lessons() if one.assignment == ASSIGNMENT for task in one.exercises
    ]
    full = sum(total_points(task) for task in tasks if not isinstance(task, FreeAnswer))
    return Class(scores, full, done.stdout + done.stderr)


def _in_class(world: World, engine: Engine, student: str) -> Sight:
    found = graded(world)
    assert found.scores.get(HONEST) == found.full, found.said
    return Sight(world, said=found.said, score=found.scores.get(student, 0.0))


def _read(world: World, engine: Engine, student: str) -> Sight:
    """What a grader gets that opens a notebook by its path."""
    with class_of(world, student) as course:
        solved_there = "return exponentials" in place(course, student).read_text()
        return Sight(world, score=1.0 if solved_there else 0.0)


def _waits(world: World, engine: Engine, student: str) -> Sight:
    """Whether whoever reads the file by its path is kept waiting."""
    limited = "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))\n"
    with class_of(world, student) as course:
        reader = [sys.executable, "-c", f"{limited}open(sys.argv[1]).read()"]
        try:
            done = subprocess.run(
                [*reader, str(place(course, student))], timeout=2, capture_output=True, text=True
            )
        except subprocess.TimeoutExpired:
            return Sight(world, score=1.0)
        return Sight(world, score=1.0 if "MemoryError" in done.stderr else 0.0)


def _loads(world: World, engine: Engine, student: str) -> Sight:
    """What becomes of a grader that reads a notebook with json."""
    with class_of(world, student) as course:
        before = memory_mb()
        try:
            notebook = json.loads(place(course, student).read_text())
        except RecursionError as error:
            return Sight(world, score=1.0, said=str(error))
        return Sight(world, score=1.0 if memory_mb() - before > 50 and notebook else 0.0)


def _by_nbgrader(world: World, engine: Engine, student: str) -> Sight:
    """What nbgrader with its own settings gives for a notebook."""
    from nbgrader.api import Gradebook

    with class_of(world, student) as course:
        (course / "nbgrader_config.py").write_text("c = get_config()\n")
        shutil.rmtree(course / "release")
        scripts = Path(sys.executable).parent
        path = f"{scripts}{os.pathsep}{os.environ['PATH']}"  # it starts alembic by its name
        environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
        for words in (["generate_assignment"], ["autograde", "--student", student]):
            subprocess.run(
                [str(scripts / "nbgrader"), *words, "--assignment", ASSIGNMENT],
                cwd=course, env=environment, capture_output=True, check=True, timeout=120,
            )  # fmt: skip
        with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
            return Sight(
                world, score=book.find_submission(ASSIGNMENT, student).score, said="graded"
            )


def _listed(world: World, engine: Engine) -> Sight:
    """What a terminal gets when the names of folders are printed as they are."""
    with class_of(world, f"{TITLE}\x07") as course:
        code = "import os\nprint(*os.listdir('submitted'), sep='\\n')"
        done = subprocess.run([sys.executable, "-c", code], cwd=course, capture_output=True)
        return Sight(world, said=done.stdout.decode())


def _started_there(world: World, engine: Engine) -> Sight:
    """What a kernel does that is started in the submission's folder."""
    with class_of(world, "modules") as course:
        folder = place(course, "modules").parent
        command = [sys.executable, "-c", "import numpy"]
        subprocess.run(command, cwd=folder, capture_output=True, timeout=60)
    return Sight(world)


def handed(
    student: str,
    name: str,
    tries: str,
    seen: str = "the points of whoever handed it in",
    through: Callable[[Sight], bool] = lambda sight: sight.score > 0,
    **more: object,
) -> Attack:
    return Attack(
        name=name,
        tries=tries,
        seen=seen,
        through=through,
        run=partial(_in_class, student=student),
        **more,  # type: ignore[arg-type]
    )


by_path: dict = {"bare": "opened by its path"}
RESTORED = "nbgrader restores them too"

ATTACKS = (
    handed("linked", "symbolic link", "hands in a link to another learner's notebook", **by_path,
           run_bare=partial(_read, student="linked")),
    handed("hard-linked", "hard link", "hands in a second name of the solutions",
           **by_path, run_bare=partial(_read, student="hard-linked")),
    handed("folder-linked", "linked folder", "has a link to another learner's folder for its own",
           **by_path, run_bare=partial(_read, student="folder-linked")),
    handed("fifo", "FIFO for a notebook", "hands in a FIFO, on which a reader waits for ever",
           "whether the class was graded", lambda sight: not sight.said, **by_path,
           run_bare=lambda world, engine: _empty(_waits(world, engine, "fifo"))),
    handed("device", "device for a notebook", "hands in a link to /dev/zero, which has no end",
           "whether the class was graded", lambda sight: not sight.said, **by_path,
           run_bare=lambda world, engine: _empty(_waits(world, engine, "device"))),
    handed("huge", "notebook of 60 MB", "hands in a notebook with an output of 60 MB",
           "whether its size is given as the reason, or memory is taken for it",
           lambda sight: " MB" not in sight.said, bare="read as JSON",
           run_bare=partial(_loads, student="huge")),
    handed("deep", "deep notebook", "hands in a text of 200,000 brackets",
           "a traceback", lambda sight: "Traceback" in sight.said or "recursion" in sight.said,
           bare="read as JSON", run_bare=partial(_loads, student="deep")),
    handed("metadata", "forged metadata", "claims 1,000 points for each check, and unlocks it",
           fails_bare=RESTORED, live=lambda sight: sight.said == "graded",
           bare="nbgrader", run_bare=partial(_by_nbgrader, student="metadata")),
    handed("outputs", "forged outputs", "leaves scores in check cells, tagged not to be run",
           bare="nbgrader", run_bare=partial(_by_nbgrader, student="outputs")),
    handed("checks", "changed checks", "replaces every check by a score",
           fails_bare=RESTORED, live=lambda sight: sight.said == "graded",
           bare="nbgrader", run_bare=partial(_by_nbgrader, student="checks")),
    handed("modules", "modules beside the notebook",
           "hands in numpy.py, sitecustomize.py and startup files beside the notebook",
           "a canary file", lambda sight: sight.world.canary_touched(),
           bare="a kernel in that folder", run_bare=_started_there),
    handed(f"{TITLE}\x07", "control codes in the folder's name",
           "steers the terminal of whoever grades by its folder's name",
           "them in what the command wrote", lambda sight: TITLE in sight.said,
           bare="printed as it is", run_bare=_listed),
)  # fmt: skip


def _empty(sight: Sight) -> Sight:
    """A reader that is kept waiting says nothing."""
    return Sight(sight.world, said="" if sight.score else "read")


ROOM = Room("Handing in: files that are not what they seem", ATTACKS)
