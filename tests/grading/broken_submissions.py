"""Every kind of broken submission that instructors report, and what grading makes of it.

Each row breaks a solved lesson 1 in one way. `make broken` prints the table; test_intake.py holds
every row to what it promises.
"""

import codecs
import copy
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from byhand_course.grading.book import Graded
from byhand_course.grading.course import ensure_assignment, load_course
from byhand_course.grading.fleet import local_pool
from byhand_course.grading.grade import grade, submitted
from byhand_course.grading.intake import shown
from byhand_course.grading.marking import lesson_of
from byhand_course.grading.sample_class import solved
from byhand_course.lessons import FreeAnswer, total_points

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "broken-submissions.md"
ASSIGNMENT = "week1_maths"
NAME = "lesson01_dot_products"
FILE = f"{NAME}.ipynb"
LESSON = lesson_of(NAME)
AUTOMATIC = sum(total_points(t) for t in LESSON.exercises if not isinstance(t, FreeAnswer))
IN_WORDS = sum(total_points(t) for t in LESSON.exercises if isinstance(t, FreeAnswer))
DOT = total_points(next(task for task in LESSON.exercises if task.name == "dot"))


@dataclass(frozen=True)
class Broken:
    """One row.

    Attributes:
        what: what is wrong, in a few words.
        hand_in: writes the submission into its folder, given a solved notebook to spoil.
        says: a piece of what is said about it; "" where nothing needs to be said.
        points: what it earns by itself, or None if it cannot be judged.
        waiting: points of the answer in words that wait for a reader.
        student: the owner's name, if that is the point.
    """

    what: str
    hand_in: Callable[[Path, dict], None]
    says: str = ""
    points: float | None = AUTOMATIC
    waiting: float = IN_WORDS
    student: str = ""


def solved_notebook() -> dict:
    """The released lesson 1 with every answer filled in."""
    notebook = json.loads((ROOT / "release" / ASSIGNMENT / FILE).read_text("utf-8"))
    answers = {task.name: solved(LESSON, task) for task in LESSON.exercises}
    for cell in notebook["cells"]:
        cell["source"] = answers.get(grade_id(cell), "".join(cell["source"]))
    return notebook


def grade_id(cell: dict) -> str:
    return cell["metadata"].get("nbgrader", {}).get("grade_id", "")


def place(notebook: dict, name: str) -> int:
    """Where the cell with that name stands."""
    return [grade_id(cell) or cell.get("id") for cell in notebook["cells"]].index(name)


def cell(notebook: dict, name: str) -> dict:
    return notebook["cells"][place(notebook, name)]


def code(source: str) -> dict:
    """A new code cell, as a learner adds one."""
    return {
        "cell_type": "code",
        "id": f"new-{abs(hash(source)) % 10**8}",
        "metadata": {},
        "execution_count": None,
        "outputs": [],
        "source": source,
    }


def save(folder: Path, notebook: object, name: str = FILE, **how: object) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(notebook, **how), "utf-8")  # type: ignore[arg-type]


def edited(change: Callable[[dict], object]) -> Callable[[Path, dict], None]:
    """Hand in the notebook after a change to it."""

    def hand_in(folder: Path, notebook: dict) -> None:
        change(notebook)
        save(folder, notebook)

    return hand_in


def as_bytes(raw: Callable[[dict], bytes]) -> Callable[[Path, dict], None]:
    """Hand in a file of these bytes under the notebook's name."""
    return lambda folder, notebook: (folder / FILE).write_bytes(raw(notebook)) and None


# Cells


def stub(name: str) -> str:
    released = json.loads((ROOT / "release" / ASSIGNMENT / FILE).read_text("utf-8"))
    return "".join(cell(released, name)["source"])


def duplicate(name: str) -> Callable[[dict], None]:
    def change(notebook: dict) -> None:
        where = place(notebook, name)
        notebook["cells"].insert(where, copy.deepcopy(notebook["cells"][where]))

    return change


def answer_beside_empty_cell(notebook: dict, above: bool) -> None:
    """The answer in a new cell, the cell that was meant for it left empty."""
    where = place(notebook, "dot")
    answer = notebook["cells"][where]["source"]
    notebook["cells"][where]["source"] = stub("dot")
    notebook["cells"].insert(where if above else where + 1, code(answer))


def without(*names: str) -> Callable[[dict], None]:
    def change(notebook: dict) -> None:
        for name in names:
            del notebook["cells"][place(notebook, name)]

    return change


def without_kind(keep: Callable[[dict], bool]) -> Callable[[dict], None]:
    return lambda notebook: notebook.update(cells=[c for c in notebook["cells"] if keep(c)])


def move_to_end(name: str) -> Callable[[dict], None]:
    return lambda notebook: notebook["cells"].append(notebook["cells"].pop(place(notebook, name)))


def split(name: str, lines: int) -> Callable[[dict], None]:
    """As Ctrl-Shift-Minus does: the rest in a new cell with the same metadata."""

    def change(notebook: dict) -> None:
        where = place(notebook, name)
        first, rest = notebook["cells"][where], copy.deepcopy(notebook["cells"][where])
        text = first["source"].splitlines(True)
        first["source"] = "".join(text[:lines])
        rest.update(source="".join(text[lines:]), id=f"{first['id']}-rest")
        notebook["cells"].insert(where + 1, rest)

    return change


def split_words(notebook: dict) -> None:
    cell(notebook, "why-normalise")["source"] = "Length drops out.\nOnly direction is left."
    split("why-normalise", 1)(notebook)


def merge_dot_into_the_next_answer(notebook: dict) -> None:
    cell(notebook, "cosine-similarity")["source"] = (
        cell(notebook, "dot")["source"] + "\n\n" + cell(notebook, "cosine-similarity")["source"]
    )
    without("dot")(notebook)


def rename_all(notebook: dict) -> None:
    for count, found in enumerate(notebook["cells"]):
        found["id"] = f"cell-{count}"
        if grade_id(found):
            found["metadata"]["nbgrader"]["grade_id"] = f"mine-{count}"


def retype(name: str, kind: str) -> Callable[[dict], None]:
    def change(notebook: dict) -> None:
        found = cell(notebook, name)
        found["cell_type"] = kind
        if kind == "code":
            found.update(outputs=[], execution_count=None)
        else:
            found.pop("outputs", None), found.pop("execution_count", None)

    return change


def rewrite(name: str, source: str) -> Callable[[dict], None]:
    return lambda notebook: cell(notebook, name).update(source=source)


def change_locked_metadata(notebook: dict) -> None:
    cell(notebook, "check-dot")["metadata"]["nbgrader"].update(
        points=100, locked=False, solution=True, grade=False
    )


def answer_in_the_check_cell(notebook: dict) -> None:
    cell(notebook, "check-dot")["source"] = cell(notebook, "dot")["source"] + "\ncheck(dot)"
    cell(notebook, "dot")["source"] = stub("dot")


def strip_metadata(notebook: dict) -> None:
    """As Colab leaves a notebook: no ids, names of its own in metadata, no outputs."""
    for count, found in enumerate(notebook["cells"]):
        found.pop("id")
        found["metadata"] = {"id": f"kQ3xZ{count}"}
    notebook.update(metadata={"colab": {"provenance": []}}, nbformat_minor=0)


def strip_everything_but_code(notebook: dict) -> None:
    strip_metadata(notebook)
    without_kind(lambda c: c["cell_type"] == "code")(notebook)


# Formats


def minor(version: int) -> Callable[[dict], None]:
    def change(notebook: dict) -> None:
        notebook["nbformat_minor"] = version
        for found in notebook["cells"]:
            if version < 5:
                found.pop("id")

    return change


def as_nbformat_3(notebook: dict) -> None:
    cells = notebook.pop("cells")
    for found in cells:
        found.pop("id")
        if found["cell_type"] == "code":
            found.update(input=found.pop("source"), language="python", collapsed=False)
            found["prompt_number"] = found.pop("execution_count")
    notebook.update(nbformat=3, nbformat_minor=0, worksheets=[{"cells": cells, "metadata": {}}])


def drop_ids(notebook: dict) -> None:
    for found in notebook["cells"]:
        del found["id"]


def same_id_everywhere(notebook: dict) -> None:
    for found in notebook["cells"]:
        found["id"] = "one"


def text(notebook: dict) -> str:
    return json.dumps(notebook, indent=1, ensure_ascii=False)


def windows_line_ends(notebook: dict) -> bytes:
    for found in notebook["cells"]:
        found["source"] = found["source"].replace("\n", "\r\n")
    return text(notebook).replace("\n", "\r\n").encode()


def big_outputs(size: int) -> Callable[[dict], None]:
    def change(notebook: dict) -> None:
        cell(notebook, "check-dot")["outputs"] = [
            {"output_type": "stream", "name": "stdout", "text": "x" * size}
        ]

    return change


def hundred_megabytes(folder: Path, notebook: dict) -> None:
    big_outputs(100_000_000)(notebook)
    save(folder, notebook)


def odd_cells(notebook: dict) -> None:
    """Fields of the wrong type, wherever nothing depends on them."""
    notebook["metadata"] = ["none"]
    for found in notebook["cells"]:
        found["outputs"] = "none"
    cell(notebook, "dot")["source"] = [7, *cell(notebook, "dot")["source"].splitlines(True)]
    notebook["cells"].append({"cell_type": "spreadsheet", "metadata": 3, "source": {"a": 1}})
    notebook["cells"].append(code("half = '\ud800'"))


# Files and folders


def another_lesson(name: str) -> dict:
    path = next((ROOT / "release").glob(f"*/{name}.ipynb"))
    return json.loads(path.read_text("utf-8"))


def empty_notebook() -> dict:
    return json.loads((ROOT / "release" / ASSIGNMENT / FILE).read_text("utf-8"))


def several(**files: Callable[[dict], object]) -> Callable[[Path, dict], None]:
    """Hand in files: for each name (with .ipynb), what stands in it."""

    def hand_in(folder: Path, notebook: dict) -> None:
        for name, content in files.items():
            save(folder, content(copy.deepcopy(notebook)), f"{name}.ipynb")

    return hand_in


def named(path: str) -> Callable[[Path, dict], None]:
    return lambda folder, notebook: save(folder, notebook, path)


def with_files(**files: str) -> Callable[[Path, dict], None]:
    def hand_in(folder: Path, notebook: dict) -> None:
        save(folder, notebook)
        for name, content in files.items():
            (folder / name.replace("__", ".")).write_text(content)

    return hand_in


def with_a_link(folder: Path, notebook: dict) -> None:
    save(folder.parents[2] / "elsewhere", notebook)
    (folder / FILE).symlink_to(folder.parents[2] / "elsewhere" / FILE)


def with_a_hard_link(folder: Path, notebook: dict) -> None:
    save(folder.parents[2] / "elsewhere", notebook, "twin.ipynb")
    os.link(folder.parents[2] / "elsewhere" / "twin.ipynb", folder / FILE)


def linked_folder(folder: Path, notebook: dict) -> None:
    target = folder.parents[2] / "elsewhere" / "folder"
    save(target, notebook)
    folder.rmdir()
    folder.symlink_to(target)


ROWS = (
    Broken("nothing at all", edited(lambda notebook: None)),
    # duplicated
    Broken("an answer's cell duplicated", edited(duplicate("dot")), "2 cells; the last one counts"),
    Broken("a check cell duplicated", edited(duplicate("check-dot")), "second copy of the locked"),
    Broken(
        "the answer in a new cell, its own left empty above",
        edited(lambda notebook: answer_beside_empty_cell(notebook, above=False)),
        "an empty copy of the cell of dot was left out",
    ),
    Broken(
        "the answer in a new cell, its own left empty below",
        edited(lambda notebook: answer_beside_empty_cell(notebook, above=True)),
        "an empty copy of the cell of dot was left out",
    ),
    # deleted
    Broken("a check cell deleted", edited(without("check-dot")), "check-dot was deleted"),
    Broken(
        "all check cells deleted",
        edited(without_kind(lambda c: not grade_id(c).startswith("check-"))),
        "locked cells were deleted (check-dot-by-hand, check-dot,",
    ),
    Broken(
        "an answer's cell deleted",
        edited(without("dot")),
        "the cell of dot was deleted",
        points=AUTOMATIC - DOT,
    ),
    Broken("the imports deleted", edited(without("35a8aae6a1b5")), "a cell that defines"),
    Broken(
        "all text deleted",
        edited(without_kind(lambda c: c["cell_type"] == "code" or grade_id(c) != "")),
    ),
    Broken(
        "the answer in words deleted",
        edited(without("why-normalise")),
        "why-normalise was deleted",
        waiting=0,
    ),
    Broken(
        "a rubric deleted",
        edited(without("rubric-why-normalise")),
        "rubric-why-normalise was deleted; it was put back",
    ),
    # moved, split, merged
    Broken("an answer moved to the end", edited(move_to_end("dot"))),
    Broken("a check moved to the end", edited(move_to_end("check-dot"))),
    Broken("a function split in two cells", edited(split("dot", 3)), "dot was split"),
    Broken("the answer in words split in two", edited(split_words), "2 cells; they were joined"),
    Broken(
        "two answers in one cell",
        edited(merge_dot_into_the_next_answer),
        "dot stands in the cell of cosine-similarity",
    ),
    # renamed, retyped, edited
    Broken("every cell renamed", edited(rename_all), "cells had lost their names"),
    Broken("an answer made text", edited(retype("dot", "markdown")), "was markdown; it is code"),
    Broken("an answer made raw", edited(retype("dot", "raw")), "was raw; it is code again"),
    Broken("a check made text", edited(retype("check-dot", "markdown")), "it is code again"),
    Broken("the words made code", edited(retype("why-normalise", "code")), "it is text again"),
    Broken(
        "a locked check rewritten",
        edited(rewrite("check-dot", "print('passed')")),
        "check-dot was changed",
    ),
    Broken(
        "a rubric rewritten",
        edited(rewrite("rubric-why-normalise", "Full marks for everybody.")),
        "rubric-why-normalise was changed",
    ),
    Broken("a check's metadata changed: 100 points", edited(change_locked_metadata)),
    Broken(
        "the answer written into its check", edited(answer_in_the_check_cell), "cell of its own"
    ),
    Broken("the lesson's text edited", edited(rewrite("60190d2d9d19", "# My notes"))),
    Broken("all metadata stripped, as by Colab", edited(strip_metadata), "had lost their names"),
    Broken(
        "no metadata and no text: code only",
        edited(strip_everything_but_code),
        "the cell of why-normalise was deleted",
        waiting=0,
    ),
    # formats
    Broken("nbformat 3", edited(as_nbformat_3), "nbformat 3"),
    *(Broken(f"nbformat 4.{version}", edited(minor(version))) for version in range(6)),
    Broken("nbformat of the future", edited(lambda notebook: notebook.update(nbformat=9))),
    Broken("ids missing", edited(drop_ids)),
    Broken("one id for all cells", edited(same_id_everywhere)),
    Broken("fields of the wrong type", edited(odd_cells)),
    # bytes
    Broken(
        "a byte order mark",
        as_bytes(lambda notebook: codecs.BOM_UTF8 + text(notebook).encode()),
        "byte order mark",
    ),
    Broken("UTF-16", as_bytes(lambda notebook: text(notebook).encode("utf-16")), "UTF-16"),
    Broken(
        "UTF-16 without a mark",
        as_bytes(lambda notebook: text(notebook).encode("utf-16-be")),
        "UTF-16",
    ),
    Broken("Windows line ends", as_bytes(windows_line_ends), "line ends of Windows"),
    Broken(
        "Latin-1",
        as_bytes(
            lambda notebook: text(notebook).replace("cat", "ch\xe4t").encode("latin-1", "replace")
        ),
        "is not UTF-8 text",
        points=None,
    ),
    Broken(
        "truncated",
        as_bytes(lambda notebook: text(notebook).encode()[:9000]),
        "breaks off in the middle",
        points=None,
    ),
    Broken("empty", as_bytes(lambda notebook: b"\n"), "it is empty", points=None),
    Broken(
        "a web page",
        as_bytes(lambda notebook: b"<!DOCTYPE html>\n<html><body>Log in</body></html>"),
        "it is a web page",
        points=None,
    ),
    Broken("not JSON", as_bytes(lambda notebook: b"import numpy"), "it is not JSON", points=None),
    Broken("a zip file", as_bytes(lambda notebook: b"PK\3\4\xff\xfe\0"), "not UTF-8", points=None),
    Broken("a JSON list", as_bytes(lambda notebook: b"[1, 2]"), "not a notebook", points=None),
    Broken("no cells", as_bytes(lambda notebook: b'{"nbformat": 4}'), "no list of", points=None),
    Broken("cells that are none", edited(lambda n: n.update(cells=[3])), "no cell", points=None),
    Broken("an empty list of cells", edited(lambda n: n.update(cells=[])), "nothing", points=None),
    Broken(
        "nested a million deep",
        as_bytes(lambda notebook: b"[" * 1_000_000),
        "nested too deep",
        points=None,
    ),
    Broken("outputs of 1.5 MB", edited(big_outputs(1_500_000))),
    Broken("outputs of 100 MB", hundred_megabytes, "100.0 MB", points=None),
    Broken(
        "3,000 cells",
        edited(lambda notebook: notebook["cells"].extend(code("1") for _ in range(3000))),
        "at most 500",
        points=None,
    ),
    Broken(
        "a cell of 200,000 characters",
        edited(lambda notebook: notebook["cells"].append(code("#" * 200_000))),
        "200,000 characters",
        points=None,
    ),
    # files and folders
    Broken("the notebook renamed", named("my lesson 1 (final).ipynb"), "found in my lesson 1"),
    Broken("the notebook in a subfolder", named(f"homework/{FILE}"), f"found in homework/{FILE}"),
    Broken(
        "two notebooks: an old empty copy",
        several(**{NAME: lambda n: n, f"{NAME}-Copy1": lambda n: empty_notebook()}),
        f"{FILE} counts, not {NAME}-Copy1.ipynb",
    ),
    Broken(
        "two notebooks: the copy is the one filled in",
        several(**{NAME: lambda n: empty_notebook(), f"{NAME}-Copy1": lambda n: n}),
        f"{NAME}-Copy1.ipynb counts, not {FILE}",
    ),
    Broken(
        "its own name on another lesson",
        several(**{NAME: lambda n: another_lesson("lesson05_positions")}),
        "it holds lesson 5",
        points=None,
    ),
    Broken(
        "a notebook of another assignment",
        several(lesson05_positions=lambda n: another_lesson("lesson05_positions")),
        "it holds lesson 5, of week1_text",
        points=None,
    ),
    Broken(
        "a notebook of somebody's own beside it",
        several(**{NAME: lambda n: n, "scratch": lambda n: {"cells": [code("1 + 1")]}}),
        "scratch.ipynb holds no lesson",
    ),
    Broken(
        "files that shadow modules beside it",
        with_files(numpy__py="raise SystemExit", sitecustomize__py="raise SystemExit"),
        "numpy.py is no notebook and was not read",
    ),
    Broken("only an editor's checkpoint", named(f".ipynb_checkpoints/{FILE}"), "no notebook", None),
    Broken("no file at all", lambda folder, notebook: None, "no notebook lies", points=None),
    Broken("a link instead of a file", with_a_link, "it is a link", points=None),
    Broken("a hard link instead of a file", with_a_hard_link, "hard link", points=None),
    Broken("a link instead of the folder", linked_folder, "it is a link", points=None),
    Broken(
        "a named pipe instead of a file",
        lambda folder, notebook: os.mkfifo(folder / FILE),
        "not a plain file",
        points=None,
    ),
    Broken(
        "a folder of the notebook's name",
        lambda folder, notebook: (folder / FILE).mkdir(),
        "no notebook lies",
        points=None,
    ),
    Broken("name with spaces", edited(lambda n: None), student="Anna Maria van der Berg"),
    Broken("name with accents", edited(lambda n: None), student="Zoë Łukasiewicz-Ōe"),
    Broken("name with +, [ and {", edited(lambda n: None), student="a+b [c] {d}"),
    Broken("name that looks like an option", edited(lambda n: None), student="--help"),
    Broken(
        "name with a line break",
        edited(lambda n: None),
        "rename it",
        points=None,
        student="two\nlines",
    ),
)


def student_of(row: Broken) -> str:
    """Whose submission a row is."""
    return row.student or f"row{ROWS.index(row):02}"


def make_course(course: Path, rows: Sequence[Broken] = ROWS) -> Path:
    """A course of lesson 1 only, with every row handed in."""
    course.mkdir(exist_ok=True)
    shutil.copyfile(ROOT / "nbgrader_config.py", course / "nbgrader_config.py")
    for folder in ("source", "release"):
        (course / folder / ASSIGNMENT).mkdir(parents=True)
        shutil.copyfile(ROOT / folder / ASSIGNMENT / FILE, course / folder / ASSIGNMENT / FILE)
    for row in rows:
        folder = course / "submitted" / student_of(row) / ASSIGNMENT
        folder.mkdir(parents=True)
        row.hand_in(folder, solved_notebook())
    return course


def grade_rows(course: Path, workers: int = 2) -> dict[str, Graded]:
    """What our road makes of every row, by student."""
    opened = load_course(course)
    ensure_assignment(opened, ASSIGNMENT)
    students = submitted(opened, ASSIGNMENT)
    start = local_pool(workers, opened.limits)
    return {g.student: g for g in grade(opened, ASSIGNMENT, students, start, 2 * workers)}


def told_of(graded: Graded) -> str:
    """All that was said of a submission."""
    return "; ".join([*([graded.failure] if graded.failure else []), *graded.remarks])


INTRODUCTION = """\
# Broken submissions

Written by `make broken`, which hands in every kind below and grades them as one class. `make test`
does the same and compares; some it grades with `nbgrader autograde` too. Points are "automatic +
waiting for a reader"; a dash means that the submission could not be judged and has no grade, so
that somebody looks at it. In the row "nothing at all" nothing was broken.

| what was wrong | points | what was said |
|---|---|---|
"""


def main() -> None:
    """Print the table, and write the page."""
    from rich.console import Console
    from rich.table import Table

    with tempfile.TemporaryDirectory() as folder:
        found = grade_rows(make_course(Path(folder)))
    table = Table("what was wrong", "points", "what was said", title="Broken submissions")
    lines = []
    for row in ROWS:
        graded = found[shown(student_of(row))]
        points = "-" if row.points is None else f"{graded.score:g} + {graded.waiting:g}"
        cells = (row.what, points, told_of(graded).replace(f"{NAME}: ", ""))
        table.add_row(*cells)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n")
    Console(width=None if sys.stdout.isatty() else 160).print(table, markup=False)
    PAGE.write_text(INTRODUCTION + "".join(lines), encoding="utf-8")
    print(f"Written: {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
