"""Feedback pages show what the grader made and the learner's source; nothing on them is alive."""

import base64
import hashlib
import json
import os
import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path
from subprocess import run

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output, new_raw_cell
from nbgrader.api import Gradebook
from traitlets.config import Config

from byhand_course.build.cells import total_points
from byhand_course.errors import Refused
from byhand_course.grading.feedback import CUT, Places, feedback_page, write_pages
from byhand_course.grading.nbgrader_pages import ShowAsText, fenced
from byhand_course.grading.visible import one_line, visible
from byhand_course.lessons import FreeAnswer, load_lessons

ASSIGNMENT, NOTEBOOK = "week1_maths", "lesson03_softmax"
LESSON = next(lesson for lesson in load_lessons() if lesson.number == 3)
WORDS = next(  # a lesson with a free answer
    lesson
    for lesson in load_lessons()
    if lesson.assignment == ASSIGNMENT
    and any(isinstance(task, FreeAnswer) for task in lesson.exercises)
)
ALIVE = "</code></pre><script>alert(1)</script><img src=x onerror=alert(2)>{{7*7}}\x1b[31m\u202e"
TAGS = re.compile(
    "html|head|meta|title|style|body|header|main|section|h1|h2|h3|p|table|thead|tbody|tfoot|tr|th"
    "|td|a|code|pre|strong|span|bdi"
)
ATTRIBUTES = re.compile(
    "lang|charset|http-equiv|content|name|class|id|scope|colspan|href|aria-labelledby|aria-hidden"
)
BIN = Path(sys.executable).parent


class Reader(HTMLParser):
    """Notes the tags, attributes and text of a page."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course with one graded student, "ann", whose every text tries to come alive."""
    from conftest import ROOT

    course = tmp_path_factory.mktemp("course")
    shutil.copy(ROOT / "nbgrader_config.py", course)
    shutil.copytree(ROOT / "source" / ASSIGNMENT, course / "source" / ASSIGNMENT)
    os.environ["PATH"] = f"{BIN}:{os.environ['PATH']}"
    with Gradebook(f"sqlite:///{course}/gradebook.db", "attention-by-hand") as book:
        book.add_assignment(ASSIGNMENT)
        for lesson in (LESSON, WORDS):
            enter(book, lesson)
        book.add_student("ann", first_name=ALIVE, last_name="O'Neil & <b>Söhne</b>")
        book.add_submission(ASSIGNMENT, "ann")
        for lesson in (LESSON, WORDS):
            give_points(book, lesson)
    for lesson in (LESSON, WORDS):
        write_graded(course, "ann", lesson)
    return course


def places(course):
    return Places(f"sqlite:///{course}/gradebook.db", course / "autograded", course / "feedback")


def name_of(lesson):
    return {3: NOTEBOOK, 1: "lesson01_dot_products"}[lesson.number]


def enter(book, lesson):
    book.add_notebook(name_of(lesson), ASSIGNMENT)
    for task in lesson.exercises:
        place = {"notebook": name_of(lesson), "assignment": ASSIGNMENT, "cell_type": "code"}
        if isinstance(task, FreeAnswer):
            book.add_grade_cell(task.name, max_score=total_points(task), **place)
        else:
            book.add_grade_cell(f"check-{task.name}", max_score=total_points(task), **place)
        book.add_solution_cell(task.name, name_of(lesson), ASSIGNMENT)


def give_points(book, lesson):
    """Full marks by the grader, but a person's 0.5 for softmax and a person's comment."""
    submitted = book.find_submission_notebook(name_of(lesson), ASSIGNMENT, "ann")
    for grade in submitted.grades:
        grade.needs_manual_grade = not grade.name.startswith("check-")
        grade.auto_score = None if grade.needs_manual_grade else grade.max_score
        if grade.name == "check-softmax":
            grade.manual_score = 0.5
    for comment in submitted.comments:
        if comment.name == "softmax":
            comment.manual_comment = "Nearly: <b>see</b>\nthe second line." + ALIVE
    book.db.commit()


def write_graded(course, student, lesson, source=ALIVE, says=ALIVE):
    cells = [new_markdown_cell(ALIVE, metadata={}), new_raw_cell(ALIVE)]
    for task in lesson.exercises:
        new = new_markdown_cell if isinstance(task, FreeAnswer) else new_code_cell
        cell = new(f"# {task.name}\n{source}", metadata={"nbgrader": {"grade_id": task.name}})
        if cell.cell_type == "code":
            html = {"text/html": "<script>alert(3)</script>", "text/plain": "my own output"}
            cell.outputs = [new_output("display_data", data=html)]
        verdict = {
            "text/plain": f"{task.variable}: {says}\n\n    x  yours     [1]\n       expected  [2]"
        }
        verdict["text/html"] = "<script>alert(4)</script>"
        check = new_code_cell("", metadata={"nbgrader": {"grade_id": f"check-{task.name}"}})
        check.outputs = [new_output("display_data", data=verdict)]
        cells += [cell] if isinstance(task, FreeAnswer) else [cell, check]
    path = course / "autograded" / student / ASSIGNMENT / f"{name_of(lesson)}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def page_of(course, lesson=LESSON, student="ann"):
    path = course / "autograded" / student / ASSIGNMENT / f"{name_of(lesson)}.ipynb"
    with Gradebook(f"sqlite:///{course}/gradebook.db", "attention-by-hand") as book:
        return feedback_page(book, ASSIGNMENT, student, name_of(lesson), path)


def test_nothing_on_a_page_is_alive(course):
    """Only plain tags and attributes, links only within the page, whatever a text contained."""
    for lesson in (LESSON, WORDS):
        read = Reader(page_of(course, lesson))
        assert all(map(TAGS.fullmatch, read.tags))
        assert all(ATTRIBUTES.fullmatch(name) for name, _ in read.attributes)
        links = [value for name, value in read.attributes if name == "href"]
        assert links and all(re.fullmatch(r"#exercise-\d+", link) for link in links)
        assert read.text.count("<script>alert(1)</script>") >= 2 * len(lesson.exercises)
        assert "{{7*7}}" in read.text and "49" not in read.text.replace("{{7*7}}", "")
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", read.text)
        assert "\\x1b[31m\\u202e" in read.text
        assert "my own output" not in read.text and "alert(3)" not in read.text
        assert "alert(4)" not in read.text


def test_the_policy_allows_the_pages_own_style_and_nothing_else(course):
    """The one style element is named by its digest; scripts, pictures and forms are forbidden."""
    html = page_of(course)
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy.replace("&#39;", "'") == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert "url(" not in style and "@import" not in style
    assert html.index("Content-Security-Policy") < html.index("<style>")


def test_points_are_those_of_the_gradebook(course):
    """A person's score counts before the grader's, and the sum is the notebook's."""
    text = " ".join(Reader(page_of(course)).text.split())
    softmax = next(task for task in LESSON.exercises if task.name == "softmax")
    total = sum(total_points(task) for task in LESSON.exercises)
    assert f"◐ Partly right: 0.5 of {total_points(softmax)} points" in text
    assert f"Together{total - total_points(softmax) + 0.5:g}{total}" in text
    assert "Nearly: <b>see</b> the second line." in text
    assert text.count("Comment") == 1


def test_an_answer_in_words_waits_for_a_reader(course):
    """Until a person gave points, it is neither right nor wrong."""
    text = " ".join(Reader(page_of(course, WORDS)).text.split())
    assert "… Waits for a reader: 0 of" in text
    assert "some answers still wait for a reader" in text


def test_evidence_keeps_its_columns_and_sentences_do_not(course):
    html = page_of(course)
    assert '<pre class="evidence">x  yours     [1]\n   expected  [2]</pre>' in html


def test_headings_and_tables_are_labelled(course):
    """One h1, sections named by their headings, table heads with a scope: for a screen reader."""
    html = page_of(course)
    read = Reader(html)
    assert read.tags.count("h1") == 1 and ("lang", "en") in read.attributes
    named = [value for name, value in read.attributes if name == "aria-labelledby"]
    ids = [value for name, value in read.attributes if name == "id"]
    assert named and set(named) <= set(ids) and len(ids) == len(set(ids))
    assert read.tags.count("th") == sum(name == "scope" for name, _ in read.attributes)


COLOURS = re.compile(r"--(\w+): (#[0-9a-f]{6});")


def test_colours_are_far_enough_apart_to_read():
    """Every text colour has a contrast of at least 4.5 with page and panel, light and dark."""
    style = Path(sys.modules[feedback_page.__module__].__file__).parent / "pages/feedback.css"
    light, dark = style.read_text().split("@media print")[0].split("@media (prefers-color")
    for theme in (light, dark):
        colours = dict(COLOURS.findall(theme))
        for name in ("text", "soft", "link", "right", "partly", "wrong", "waiting"):
            for ground in ("page", "panel"):
                assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)


def contrast(first, second):
    """As WCAG 2 defines it."""

    def luminance(colour):
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        red, green, blue = (
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, light = sorted((luminance(first), luminance(second)))
    return (light + 0.05) / (dark + 0.05)


def test_a_very_long_answer_is_cut_and_says_so(course):
    path = write_graded(course, "ann", LESSON, source="x" * 1_900_000)
    try:
        assert CUT.strip() in Reader(page_of(course)).text
        assert len(page_of(course)) < 200_000
    finally:
        write_graded(course, "ann", LESSON)
    assert path.exists()


@pytest.mark.parametrize(
    "text", [None, "", "{", "[]", '{"cells": 3}', '{"cells": [3]}', "[" * 100_000, "\0"]
)
def test_a_spoiled_notebook_gets_one_sentence(course, tmp_path, text):
    file = tmp_path / "graded.ipynb"
    if text is not None:
        file.write_text(text)
    with (
        Gradebook(f"sqlite:///{course}/gradebook.db", "attention-by-hand") as book,
        pytest.raises(Refused, match="grade it again"),
    ):
        feedback_page(book, ASSIGNMENT, "ann", NOTEBOOK, file)


def test_both_commands_write_the_same_pages(course):
    """`byhand-course feedback` and `nbgrader generate_feedback` write the same files and bytes."""
    beside = course / "autograded/ann" / ASSIGNMENT / "sub"
    beside.mkdir()
    (beside.parent / "evil.html").write_text("<script>alert(5)</script>")
    (beside / "grades").symlink_to(course / "gradebook.db")
    count, steps = write_pages(places(course), ASSIGNMENT)
    written = {page.notebook: page for page in steps}
    assert count == len(written) == 3
    assert "no graded lesson02" in written["lesson02_matrix_multiplication"].failure
    ours = {
        page.file.relative_to(course / "feedback"): page.file.read_bytes()
        for page in written.values()
        if page.file
    }
    assert len(ours) == 2
    shutil.rmtree(course / "feedback")
    done = run(
        [str(BIN / "nbgrader"), "generate_feedback", ASSIGNMENT],
        cwd=course, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    theirs = {
        path.relative_to(course / "feedback"): path.read_bytes()
        for path in (course / "feedback").rglob("*")
        if not path.is_dir()
    }
    assert theirs == ours
    shutil.rmtree(beside)
    (beside.parent / "evil.html").unlink()


def test_a_page_that_cannot_be_written_says_so_and_stops_no_other(course):
    """A file stands where a folder should be: one sentence, and the rest is written."""
    shutil.rmtree(course / "feedback", ignore_errors=True)
    (course / "feedback/ann").mkdir(parents=True)
    (course / "feedback/ann" / ASSIGNMENT).write_text("in the way")
    _, steps = write_pages(places(course), ASSIGNMENT)
    assert all("cannot be written" in page.failure or "no graded" in page.failure for page in steps)
    shutil.rmtree(course / "feedback")


def test_nobody_graded_yet_gets_one_sentence(course, tmp_path):
    shutil.copy(course / "nbgrader_config.py", tmp_path)
    shutil.copytree(course / "source", tmp_path / "source")
    shutil.copy(course / "gradebook.db", tmp_path)
    with Gradebook(f"sqlite:///{tmp_path}/gradebook.db", "attention-by-hand") as book:
        book.remove_submission(ASSIGNMENT, "ann")
    with pytest.raises(Refused, match="Nobody has been graded"):
        write_pages(places(tmp_path), ASSIGNMENT)


# Formgrader, and the terminal


def test_formgrader_shows_learners_text_as_text(course):
    """Formgrader's own exporter renders no Markdown or raw cell that the course did not write."""
    from nbconvert.exporters import HTMLExporter

    own = next(
        "".join(cell["source"])
        for cell in json.loads((course / f"source/{ASSIGNMENT}/{NOTEBOOK}.ipynb").read_text())[
            "cells"
        ]
        if cell["cell_type"] == "markdown"
    )
    hostile = [
        ALIVE,
        "[link](javascript:alert(1))",
        "```\n</code></pre><script>alert(1)</script>\n```\n<script>alert(1)</script>",
        r"$\href{javascript:alert(1)}{x}$",
    ]
    cells = [new_markdown_cell(text) for text in [own, *hostile]] + [new_raw_cell(ALIVE)]
    nb = nbformat.v4.new_notebook(cells=cells)
    config = Config()
    config.CourseDirectory.root = str(course)
    told = {"assignment_id": ASSIGNMENT, "notebook_id": NOTEBOOK}

    def shown(preprocessors):
        exporter = HTMLExporter(config=config, template_name="basic")
        for preprocessor in preprocessors:
            exporter.register_preprocessor(preprocessor, enabled=True)
        return exporter.from_notebook_node(nb, resources=dict(told))[0]

    assert "<script>alert" in shown([])  # nbconvert alone brings it to life
    page = shown([ShowAsText])
    assert "<script>alert" not in page and "<img src=x" not in page
    assert 'href="javascript:' not in page
    assert "&lt;script&gt;alert(1)" in page
    assert re.search("<h1[^>]*>Lesson 3", page)  # the course's own text is still rendered


def test_the_configuration_puts_that_in_place(root):
    """nbgrader_config.py names it for the exporter that Formgrader makes."""
    text = (root / "nbgrader_config.py").read_text()
    assert f'c.HTMLExporter.preprocessors = ["{ShowAsText.__module__}.ShowAsText"]' in text


def test_a_fence_is_longer_than_any_in_the_text():
    assert fenced("a\n````\nb").splitlines()[0] == "`````text"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("a\u202eb\u2066c", "a\\u202eb\\u2066c"),
        ("a\r\nb\tc\n", "a\nb\tc\n"),
        ("over\rwritten", "over\\x0dwritten"),
        ("\ud800", "\\ud800"),
        ("Zoë 李 👩‍🔬", "Zoë 李 👩‍🔬"),
    ],
)
def test_what_steers_is_spelled_out(text, shown):
    assert visible(text) == shown


def test_one_line_is_one_line():
    assert one_line("a\nb" * 200, 10) == "a ba ba b…"
