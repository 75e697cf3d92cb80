"""What was handed in, before anything else sees it: opened once, bounded, and put to its lesson.

A submission is a folder that somebody else wrote. Only plain files with one name and at most 2 MB
are read, through descriptors that follow no link; everything else is left alone and said.
"""

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from byhand_course.lessons import FreeAnswer, Lesson, folder_of

from .handed_in import Cell, Unreadable, read_cells
from .restore import bound_names, likest_lesson

MAX_FILE_BYTES = 2_000_000
MAX_NOTEBOOKS = 20
MAX_ENTRIES = 500  # in one submission, folders included
MAX_DEPTH = 3
MAX_STUDENT_CHARS = 128  # what nbgrader's gradebook has room for
NAME = re.compile(r"[^\x00-\x1f\x7f/\\]{1,200}\.ipynb")
PASSED_OVER = {".ipynb_checkpoints", "__MACOSX", "__pycache__", ".git"}
TIMESTAMP = "timestamp.txt"
FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class File:
    """A notebook file that was read.

    Attributes:
        path: below the submission's folder.
        raw: its bytes.
    """

    path: str
    raw: bytes


@dataclass
class Submission:
    """All that a student handed in for an assignment.

    Attributes:
        notebooks: the file to grade, by lesson's notebook.
        refused: why a lesson's notebook, or a file of that name, cannot be graded.
        remarks: what had to be repaired and what was left aside, by notebook, or "" for all.
        timestamp: the text of timestamp.txt, or None.
        in_gradebook: whether its owner's name can be entered there.
    """

    notebooks: dict[str, File] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    remarks: dict[str, list[str]] = field(default_factory=dict)
    timestamp: str | None = None
    in_gradebook: bool = True

    def remark(self, notebook: str, sentence: str) -> None:
        self.remarks.setdefault(notebook, []).append(sentence)


def students_in(folder: Path, assignment: str) -> Iterator[str]:
    """Who handed the assignment in: folders below submitted/, in the order of their names."""
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries)
        for name in names:
            if not name.startswith(".") and os.path.isdir(folder / name / assignment):
                yield name


def receive(folder: Path, student: str, assignment: str, lessons: Iterable[Lesson]) -> Submission:
    """Read a submission, and find which file is which lesson's notebook.

    Args:
        folder: the course's submitted/.
        student, assignment: name the submission.
        lessons: all lessons of the assignment.
    """
    submission = Submission(in_gradebook=_is_good_name(student))
    if not submission.in_gradebook:
        submission.refused[""] = (
            "its folder's name has spaces at its ends, characters that cannot be printed, or more "
            f"than {MAX_STUDENT_CHARS} of them: rename it"
        )
        return submission
    files: list[File] = []
    with contextlib.ExitStack() as stack:
        try:
            place = stack.enter_context(_opened_folder(folder, None))
            for name in (student, assignment):
                place = stack.enter_context(_opened_folder(name, place))
        except OSError as error:
            submission.refused[""] = f"its folder cannot be opened: {_why(error)}"
            return submission
        _read_folder(place, "", submission, files, [0])
    _put_to_lessons(files, list(lessons), submission)
    if not submission.notebooks and not submission.refused:
        submission.refused[""] = "no notebook lies in its folder"
    return submission


def _is_good_name(student: str) -> bool:
    """Whether a gradebook and a terminal can hold a name; half a character is not printable."""
    fits = len(student) <= MAX_STUDENT_CHARS
    return fits and student.isprintable() and student == student.strip()


# Files


@contextlib.contextmanager
def _opened_folder(name: str | Path, inside: int | None) -> Iterator[int]:
    """A folder's descriptor; only the outermost one, the instructor's own, may be a link."""
    follow = 0 if inside is None else os.O_NOFOLLOW
    descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | follow, dir_fd=inside)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _read_folder(
    place: int, prefix: str, submission: Submission, files: list[File], seen: list[int]
) -> None:
    """Read the notebooks of an open folder and of those below it."""
    with os.scandir(place) as entries:
        names = []
        for entry in entries:
            seen[0] += 1
            if seen[0] > MAX_ENTRIES:
                submission.remark("", f"more than {MAX_ENTRIES} files: the rest was not looked at")
                break
            names.append((entry.name, entry.is_dir(follow_symlinks=False)))
    for name, is_folder in sorted(names):
        path = prefix + name
        if name in PASSED_OVER or name.startswith("._") or name == ".DS_Store":
            continue
        if is_folder:
            _read_subfolder(place, name, path, submission, files, seen)
        elif path == TIMESTAMP:
            with contextlib.suppress(OSError, Unreadable):
                raw = read_file(place, name, most_bytes=200)
                submission.timestamp = raw.decode("utf-8", "replace").strip()
        elif not name.endswith(".ipynb"):
            submission.remark("", f"{shown(path)} is no notebook and was not read")
        elif len(files) >= MAX_NOTEBOOKS:
            submission.refused[shown(path)] = f"only {MAX_NOTEBOOKS} notebooks are read"
        else:
            _read_notebook(place, name, path, submission, files)


def _read_subfolder(
    place: int, name: str, path: str, submission: Submission, files: list[File], seen: list[int]
) -> None:
    if path.count("/") >= MAX_DEPTH:
        submission.remark("", f"{shown(path)} lies too deep and was not looked at")
        return
    try:
        with _opened_folder(name, place) as inner:
            _read_folder(inner, f"{path}/", submission, files, seen)
    except OSError as error:
        submission.remark("", f"{shown(path)} cannot be opened: {_why(error)}")


def _read_notebook(
    place: int, name: str, path: str, submission: Submission, files: list[File]
) -> None:
    try:
        if not NAME.fullmatch(name) or not name.isprintable():
            raise Unreadable("its name is too long, or not text: rename it")
        files.append(File(path, read_file(place, name)))
    except Unreadable as refused:
        submission.refused[_lesson_name(path)] = str(refused)
    except OSError as error:
        submission.refused[_lesson_name(path)] = f"it cannot be opened: {_why(error)}"


def read_file(place: int, name: str, most_bytes: int = MAX_FILE_BYTES) -> bytes:
    """The bytes of a plain file in an open folder, opened once and following no link.

    Raises:
        Unreadable: if it is anything else, has a second name, or is too long.
        OSError: if it cannot be opened.
    """
    descriptor = os.open(name, FLAGS, dir_fd=place)
    with os.fdopen(descriptor, "rb") as file:
        told = os.fstat(file.fileno())
        if not stat.S_ISREG(told.st_mode):
            raise Unreadable("it is not a plain file: hand in the notebook itself")
        if told.st_nlink != 1:
            raise Unreadable("it is a second name (hard link) of another file: hand in a copy")
        if told.st_size > most_bytes:
            raise Unreadable(_too_long(told.st_size, most_bytes))
        raw = file.read(most_bytes + 1)
    if len(raw) > most_bytes:
        raise Unreadable(_too_long(len(raw), most_bytes))
    return raw


def _too_long(size: int, most_bytes: int) -> str:
    return (
        f"it is {size / 1e6:.1f} MB long, and at most {most_bytes / 1e6:.1f} MB are read: "
        "clear all outputs, save, and hand it in again"
    )


def _why(error: OSError) -> str:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return "it is a link, not a file or folder of its own"
    return (error.strerror or "unknown reason").lower()


def shown(path: str) -> str:
    """A path as it may be printed, whatever its owner called it."""
    plain = path if path.isprintable() else ascii(path)[1:-1]
    return plain if len(plain) <= 80 else f"{plain[:60]}...{plain[-15:]}"


# Which file is which lesson's


def _lesson_name(path: str) -> str:
    """The lesson that a file in its place and under its own name belongs to; else the path."""
    return path.removesuffix(".ipynb") if "/" not in path else shown(path)


def _put_to_lessons(files: list[File], lessons: list[Lesson], submission: Submission) -> None:
    """Put each file to its lesson: by its name if that is the lesson's, else by what is in it."""
    by_name = {folder_of(lesson).name: lesson for lesson in lessons}
    claims: dict[str, list[File]] = {}
    for file in files:
        name = _lesson_name(file.path)
        if name not in by_name:
            name = _lesson_inside(file, by_name, submission)
        if name:
            claims.setdefault(name, []).append(file)
    for name, claimants in claims.items():
        chosen = claimants[0]
        if len(claimants) > 1:
            chosen = _fullest(name, by_name[name], claimants)
            others = ", ".join(shown(file.path) for file in claimants if file is not chosen)
            submission.remark(
                name,
                f"there were {len(claimants)} files: {shown(chosen.path)} counts, not {others}",
            )
        elif _lesson_name(chosen.path) != name:
            submission.remark(name, f"found in {shown(chosen.path)}")
        submission.notebooks[name] = chosen
        if submission.refused.pop(name, None):
            submission.remark(name, f"{name}.ipynb itself could not be read")


def _lesson_inside(file: File, by_name: Mapping[str, Lesson], submission: Submission) -> str:
    """The notebook's name of the lesson that a file with another name holds, or nothing."""
    name = shown(file.path)
    try:
        cells, _ = read_cells(file.raw)
    except Unreadable as refused:
        submission.refused[name] = str(refused)
        return ""
    lesson = likest_lesson(cells)
    if lesson is None:
        submission.remark("", f"{name} holds no lesson of this course and was left aside")
    elif folder_of(lesson).name not in by_name:
        submission.refused[name] = f"it holds lesson {lesson.number}, of {lesson.assignment}"
    else:
        return folder_of(lesson).name
    return ""


def _fullest(name: str, lesson: Lesson, files: list[File]) -> File:
    """Of files that hold the same lesson: its own one if anything is in it, else the fullest."""

    def filled(file: File) -> tuple[int, bool]:
        try:
            cells, _ = read_cells(file.raw)
        except Unreadable:
            return -1, False
        return _answered(cells, lesson), _lesson_name(file.path) == name

    own = [file for file in files if _lesson_name(file.path) == name]
    if own and filled(own[0])[0] > 0:
        return own[0]
    return max(files, key=filled)


def _answered(cells: list[Cell], lesson: Lesson) -> int:
    """How many exercises of a lesson have something of the learner's own in them, roughly."""
    count = 0
    for task in lesson.exercises:
        if isinstance(task, FreeAnswer):
            continue
        texts = [
            cell.source
            for cell in cells
            if cell.kind == "code" and task.variable in bound_names(cell.source)
        ]
        empty = f"{task.variable} = ...", "raise NotImplementedError"
        count += any(not any(stub in text for stub in empty) for text in texts)
    return count
