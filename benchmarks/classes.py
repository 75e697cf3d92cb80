"""The classes that benchmarks grade: one notebook of the course, handed in by any number."""

import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from byhand_course.grading.course import ensure_assignment, load_course
from byhand_course.grading.sample_class import blank, hand_in, partly_right, solved, wrong
from byhand_course.grading.seeds import set_hidden_seed
from byhand_course.lessons import folder_of, load_lessons

ROOT = Path(__file__).parents[1]
ANSWERS = (solved, wrong, partly_right, blank)
SEED = 20_170_612


def make_class(
    course: Path,
    students: int,
    lesson: int = 2,
    db_url: str = "",
    answers: Sequence[Callable] = ANSWERS,
) -> Path:
    """A course of one notebook with a class handed in, entered and seeded.

    Args:
        course: a new folder.
        students: how many hand in.
        lesson: whose notebook.
        db_url: of the gradebook; by default the course's own.
        answers: how it is filled in, by one student after another and then again.
    """
    chosen = next(found for found in load_lessons() if found.number == lesson)
    assignment, notebook = chosen.assignment, f"{folder_of(chosen).name}.ipynb"
    shutil.copytree(ROOT / "release" / assignment, course / "release" / assignment)
    for answer in answers:
        hand_in(course, assignment, answer.__name__, answer)
    made = [course / "submitted" / answer.__name__ / assignment / notebook for answer in answers]
    texts = [path.read_bytes() for path in made]
    for folder in ("submitted", "release"):
        shutil.rmtree(course / folder)
    for folder in ("source", "release"):
        (course / folder / assignment).mkdir(parents=True)
        shutil.copy(ROOT / folder / assignment / notebook, course / folder / assignment)
    settings = (ROOT / "nbgrader_config.py").read_text("utf-8")
    if db_url:
        settings += f"\nc.CourseDirectory.db_url = {db_url!r}\n"
    (course / "nbgrader_config.py").write_text(settings, "utf-8")
    for count in range(students):
        folder = course / "submitted" / f"student{count:07}" / assignment
        folder.mkdir(parents=True)
        (folder / notebook).write_bytes(texts[count % len(texts)])
    known = load_course(course)
    ensure_assignment(known, assignment)
    set_hidden_seed(known.db_url, assignment, SEED)
    return course


def assignment_in(course: Path) -> str:
    """The name of the one assignment that a course of ours has."""
    return next((course / "source").iterdir()).name


def notebooks_of(course: Path, step: str, students: Iterable[str]) -> list[Path]:
    """The notebooks of some students below one of nbgrader's folders."""
    found = [course / step / student / assignment_in(course) for student in students]
    return [path for folder in found for path in folder.glob("*.ipynb")]
