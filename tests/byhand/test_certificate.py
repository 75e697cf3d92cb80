"""The certificate: what it says, that it never fails, and that it overwrites nothing."""

import json
import re
import shutil
import warnings
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import byhand
from byhand import show_certificate
from byhand.certificate import FILE
from byhand.cli import app
from byhand.desk import Desk, find_lessons, fingerprint, lay_out, lessons

FIRST = find_lessons("1")[0]


@pytest.fixture
def work(tmp_path, root, monkeypatch):
    """The learner's folder, laid out, and the learner in the folder of their first notebook."""
    folder = Path("release") / FIRST.assignment
    shutil.copytree(root / folder, tmp_path / folder)
    place = Desk(tmp_path / "work")
    lay_out(place, tmp_path / "release")
    monkeypatch.chdir(place.work / FIRST.assignment)
    return place.work


def remember(work, lesson=FIRST, **status):
    """As if `byhand check` had found everything right, but for what is said of some exercises."""
    each = lesson.points / len(lesson.exercises)
    found = [
        {
            "exercise": name,
            "status": status.get(name.replace("-", "_"), "right"),
            "score": 0.0 if name.replace("-", "_") in status else each,
            "points": each,
        }
        for name in lesson.exercises
    ]
    path = work / lesson.path
    Desk(work).remember_check(path, found, fingerprint(path))


class Read(HTMLParser):
    """What a page holds: its tags with attributes, and its text."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def page(work):
    return Read((work / FILE).read_text("utf-8"))


def test_it_tells_scores_loss_parameters_date_and_edition(work):
    """All of it on the page, and in short below the cell, with a link from the notebook."""
    remember(work, why_normalise="in words")
    shown = show_certificate(final_loss=np.float64(0.01234567), parameters_checked=np.int64(3648))
    each = FIRST.points / len(FIRST.exercises)
    score = f"{FIRST.points - each:g} of {FIRST.points:g}"
    text = page(work).text
    for fact in ["0.01235", "3,648", f"edition {byhand.__version__}", f"{score} points"]:
        assert fact in text
    assert f"{each:g} more in words" in text
    assert "a record that the learner made themselves" in text and "Nobody issued it" in text
    assert re.search(r"Written on \d+ [A-Z][a-z]+ \d{4} ", text)
    for fact in ["0.01235", "3,648", f"1: {score}", byhand.__version__, "made yourself"]:
        assert fact in repr(shown) and fact in shown.html
    assert ("a", {"href": f"../{FILE}"}) in Read(shown.html).tags


def test_a_lesson_that_was_not_checked_says_how(work):
    """With the command for it, on the page; one that changed since its check is told apart."""
    remember(work)
    path = work / FIRST.path
    path.write_text(path.read_text("utf-8").replace("Attention asks", "Somebody asks"), "utf-8")
    shown = repr(show_certificate())
    text = page(work).text
    for lesson in lessons()[1:]:
        assert f"{lesson.title} 0 of {len(lesson.exercises)} not checked yet: " in text
        assert f"byhand check {lesson.number}" in text
    assert "changed since" in text
    assert "Not checked yet: lessons 2, 3" in shown
    assert "Changed since the last check: lesson 1; `byhand check 1` checks it." in shown


def test_what_was_given_once_is_still_known_later(work):
    """Lesson 19 asks without arguments; a check that began before does not wipe the memory."""
    begun = Desk(work)
    show_certificate(final_loss=0.5, parameters_checked=3648, name="Grace")
    begun.remember_check(work / FIRST.path, [], "words")
    shown = repr(show_certificate())
    assert "final loss: 0.5" in shown and "parameters checked: 3,648" in shown
    assert "Grace" in page(work).text
    show_certificate(name="")
    assert "Grace" not in page(work).text


def test_before_lesson_18_loss_and_parameters_are_not_known(work):
    """The page says so, and invents nothing."""
    shown = repr(show_certificate())
    assert "final loss: not known yet, parameters checked: not known yet" in shown


def test_names_are_text_and_nothing_else(work):
    """A name with tags in it is shown as it was typed, and one of any length fits."""
    name = "<script>alert(1)</script> & {{ 7 * 7 }} \udcff\x00" + "x" * 200
    shown = repr(show_certificate(name=name))
    found = page(work)
    assert not [tag for tag, _ in found.tags if tag == "script"]
    assert "<script>alert(1)</script> & {{ 7 * 7 }} x" in found.text
    assert "x" * 80 not in found.text and "cut after 80 letters" in shown


def test_the_page_fetches_and_runs_nothing(work):
    """No script, no address, and a policy that forbids both; a language, a title, table headers."""
    show_certificate()
    found = page(work)
    assert not {tag for tag, _ in found.tags} & {"script", "link", "img", "iframe", "a", "form"}
    html = (work / FILE).read_text("utf-8")
    assert not re.search(r"https?:|url\(|@import|\son\w+=", html)
    assert ("html", {"lang": "en"}) in found.tags and "<title>" in html
    assert {a.get("scope") for tag, a in found.tags if tag == "th"} == {"row", "col"}
    policy = next(a for _, a in found.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'"


WRONG = [[1, 2], "0.5", np.nan, float("inf"), True, np.array([0.5]), object(), 10**400, {}]


@pytest.mark.parametrize("given", WRONG, ids=lambda given: f"{given!r:.12}")
def test_what_is_no_number_is_told_and_left_out(work, given):
    """In one sentence; the page is written all the same, with what was known before."""
    show_certificate(final_loss=0.25, parameters_checked=12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown = repr(show_certificate(final_loss=given, parameters_checked=given))
    assert "final_loss is " in shown and "parameters_checked is " in shown
    assert "final loss: 0.25, parameters checked: 12." in shown


@pytest.mark.parametrize("count", [-1, 0.5])
def test_a_count_is_whole_and_not_below_0(work, count):
    """Anything else is no number of parameters."""
    assert f"parameters_checked is {count:g}, not a count" in repr(
        show_certificate(parameters_checked=count)
    )


def test_it_may_be_written_as_often_as_you_like(work):
    """Its own page is renewed in place; nothing is left beside it."""
    for loss in (0.5, 0.25, 0.25):
        show_certificate(final_loss=loss)
    assert [path.name for path in work.glob("certificate*")] == [FILE]
    assert "0.25" in page(work).text


@pytest.mark.parametrize("lose_memory", [False, True])
def test_an_edited_one_is_kept_beside(work, lose_memory):
    """Also when the desk has forgotten which page was its own."""
    (work / FILE).write_text("mine") if lose_memory else show_certificate()
    (work / FILE).write_text("edited by hand")
    shown = repr(show_certificate())
    kept = list(work.glob("certificate.*.html"))
    assert [path.read_text() for path in kept] == ["edited by hand"]
    assert f"kept as {kept[0]}" in shown.replace("../", f"{work}/")
    assert "Attention by Hand" in page(work).text
    assert "kept as" not in repr(show_certificate())


def test_outside_a_desk_it_says_what_it_needs(tmp_path, monkeypatch):
    """In grading and beside the solutions there is no work folder: one sentence, and no file."""
    monkeypatch.chdir(tmp_path)
    shown = show_certificate(final_loss=0.5, parameters_checked=3648)
    assert repr(shown).startswith("The certificate needs your work folder")
    assert "<code>byhand learn</code>" in shown.html
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_to_is_told(work):
    """As here, where a folder has taken the name."""
    (work / FILE).mkdir()
    assert repr(show_certificate()).startswith("The certificate cannot be written")


DAMAGED = [
    {"checks": {FIRST.path.as_posix(): {"when": "now"}}},
    {"checks": {FIRST.path.as_posix(): [1]}},
    {"checks": {FIRST.path.as_posix(): {"words": "", "exercises": [{"status": 1}]}}},
    {"record": {"final_loss": "low", "parameters_checked": [], "name": 7}},
    {"record": [], "checks": 3},
]


@pytest.mark.parametrize("state", DAMAGED, ids=lambda state: next(iter(state)))
def test_a_damaged_memory_counts_as_none(work, state):
    """The page is written all the same."""
    (work / ".byhand.json").write_text(json.dumps(state))
    assert "lessons checked: 0" in repr(show_certificate()).lower()


def test_the_command_writes_the_same_page(work):
    """`byhand certificate`, with a name that is remembered."""
    show_certificate(final_loss=0.5)
    done = CliRunner().invoke(app, ["certificate", "--name", "Grace", "--work", str(work)])
    assert done.exit_code == 0 and "final loss: 0.5" in done.stdout
    assert "Grace" in page(work).text
    nowhere = CliRunner().invoke(app, ["certificate", "--work", str(Path(work) / "none")])
    assert nowhere.exit_code == 1 and "There is no folder" in nowhere.stderr
