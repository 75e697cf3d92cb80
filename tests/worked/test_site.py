"""The site: complete, light, quiet, honest about its source, and never over somebody's files."""

import inspect
import re
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner
from worked.conftest import read_site
from worked.reading import Page, look_up, rounds_to

import byhand_course.reference as reference
from byhand_course.cli import app
from byhand_course.errors import Refused
from byhand_course.lessons import PAGE_NAMES, WORKED_PAGES, load_lessons
from byhand_course.worked import find_stale_pages, settle, write_pages
from byhand_course.worked.site import DEFAULT, TRACE, VALUES

SHARED = Path(__file__).parents[3] / "shared" / "attention_to_detail" / "published.npz"
MOST_BYTES = 300_000
MOST_SECONDS = 10


def worked(*words):
    done = CliRunner().invoke(app, ["worked", *map(str, words)])
    if isinstance(done.exception, Refused):
        return str(done.exception)
    assert done.exit_code == 0, done.output
    return done.output


def test_thirteen_pages_and_a_summary(course, published):
    """The published set has one page more, which explains the difference."""
    assert len(WORKED_PAGES) == 13
    assert set(course.texts) == set(PAGE_NAMES)
    assert set(published.texts) == {*PAGE_NAMES, "difference.html"}


def test_pages_are_light_and_quickly_written(site, course):
    """Under 300 KB a page, and the default site in under 10 s."""
    sizes = {path.name: path.stat().st_size for path in site.folder.glob("*.html")}
    assert max(sizes.values()) < MOST_BYTES, sizes
    assert course.seconds < MOST_SECONDS


def test_every_section_is_on_every_page(site):
    """Map, formula, matrices, arithmetic, what to notice, a check; a derivation going backward."""
    for page in WORKED_PAGES:
        text = site.texts[page.file]
        heads = re.findall(r"<h2>(.*?)</h2>", text)
        backward = ["Derivation"] if page.number >= 8 else []
        assert heads == [
            "Formula",
            "Every matrix",
            "One entry, term by term",
            *backward,
            "What to notice",
            "Check it by eye",
            "Write it yourself",
        ], page.file
        assert text.count('aria-current="step"') == len(page.places)
        assert "<math" in text and "<table" in text


def test_every_link_leads_somewhere(site, root):
    """To a file that is there, and to a place on it."""
    for name, page in site.pages.items():
        assert len(set(page.ids)) == len(page.ids), name
        for link in page.links:
            path, _, place = link.partition("#")
            target = site.folder / (path or name)
            assert target.is_file(), f"{name}: {link}"
            if place:
                assert place in site.pages[target.name].ids, f"{name}: {link}"


def test_pages_ask_for_nothing_from_outside(site):
    """No address, no source of anything, and a policy that would forbid it."""
    for name, page in site.pages.items():
        text = site.texts[name].replace("https://github.com", "")
        assert "http:" not in text and "https:" not in text, name
        assert not [have for _, have in page.tags if "src" in have], name
        policy = re.search(r'Content-Security-Policy" content="(.*?)"', text)[1]
        assert policy.startswith("default-src &#39;none&#39;"), name


def test_pages_hold_no_code_of_the_reference(course):
    """No line of a reference function's body is on a page, in the trace, or both."""
    lines = set()
    for name in reference.__all__:
        thing = getattr(reference, name)
        if inspect.isfunction(thing):
            body = inspect.getsource(thing).rpartition('"""')[2]
            lines |= {line.strip() for line in body.splitlines() if len(line.strip()) > 15}
    assert len(lines) > 100
    texts = "\n".join([*course.texts.values(), (course.folder / TRACE).read_text("utf-8")])
    assert not [line for line in lines if line in texts]


def test_every_page_names_reference_functions():
    """The functions of a page exist, so that its exercises can be found."""
    for page in WORKED_PAGES:
        assert all(hasattr(reference, name) for name in page.functions), page


def test_pages_and_notebooks_lead_to_each_other(tmp_path, root):
    """Lessons name pages that exist, and the pages of their exercises lead to their notebooks."""
    shutil.copytree(root / "release", tmp_path / "release")
    write_pages(settle(), tmp_path / DEFAULT, tmp_path)
    site = read_site(tmp_path / DEFAULT)
    for lesson in load_lessons():
        for file in lesson.worked_pages:
            assert file in site.pages, lesson.title
        notebooks = list(tmp_path.glob(f"release/*/lesson{lesson.number:02}_*.ipynb"))
        link = f"../{lesson.assignment}/{notebooks[0].name}"
        functions = {task.variable for task in lesson.exercises}
        for page in WORKED_PAGES:
            if functions & set(page.functions):
                assert link in site.pages[page.file].links, f"{page.file}: {link}"


def test_every_lesson_has_a_worked_page():
    """Each leads from its notebook to the page of its piece."""
    assert not [lesson.number for lesson in load_lessons() if not lesson.worked_pages]


def test_committed_pages_are_current(root):
    """What is published with the course is what would be written now."""
    assert find_stale_pages(root) == []


def test_stale_pages_are_found(tmp_path, root):
    """A changed number, a changed word, a missing and a superfluous file."""
    write_pages(settle(), tmp_path / DEFAULT, tmp_path)
    assert find_stale_pages(tmp_path) == []
    folder = tmp_path / DEFAULT
    page = folder / WORKED_PAGES[2].file
    page.write_text(page.read_text().replace("softmax", "hardmax", 1))
    (folder / WORKED_PAGES[3].file).unlink()
    (folder / "notes.txt").write_text("")
    assert find_stale_pages(tmp_path) == [
        "release/pages/03-attention.html: out of date",
        "release/pages/04-multi-head.html: missing",
        "release/pages/notes.txt: no longer part of the course",
    ]
    with np.load(folder / VALUES) as file:
        arrays = dict(file)
    np.savez(folder / VALUES, **{**arrays, "Q": arrays["Q"] * (1 + 1e-9)})
    assert find_stale_pages(tmp_path) == ["release/pages/values.npz: out of date"]
    shutil.rmtree(folder)
    assert find_stale_pages(tmp_path) == ["release/pages/values.npz: missing"]


def test_last_digits_are_no_change(tmp_path):
    """Numbers of another processor, and the pages drawn from them, are current."""
    write_pages(settle(), tmp_path / DEFAULT, tmp_path)
    path = tmp_path / DEFAULT / VALUES
    with np.load(path) as file:
        arrays = dict(file)
    near = {name: a * (1 + 1e-15) if a.dtype.kind == "f" else a for name, a in arrays.items()}
    np.savez(path, **near)
    assert [found for found in find_stale_pages(tmp_path) if VALUES in found] == []


# Other sentences and sizes


def test_a_sentence_of_new_words(tmp_path):
    """Pages for words that the course does not know say which vocabulary they use."""
    worked("--sentence", 'a "quoted" <b>word</b> & more', "--out", tmp_path / "site")
    site = read_site(tmp_path / "site")
    first = site.texts[WORKED_PAGES[0].file]
    assert "was chosen for this run" in first
    assert "<b>word</b>" not in first and "&lt;b&gt;word&lt;/b&gt;" in first
    for page in site.pages.values():
        for reference_, text in page.numbers:
            if "[" in reference_:
                assert rounds_to(look_up(site.values, reference_), text)


@pytest.mark.parametrize(
    "words",
    [
        ("--sentence", "Hello"),
        ("--sentence", "the cat the cat the cat", "--seed", 7, "--num-heads", 1),
        ("--d-model", 4, "--num-heads", 4, "--d-ff", 3, "--max-len", 9),
        ("--sentence", "one two three four five six seven", "--num-heads", 4),
        ("--d-model", 2, "--num-heads", 1, "--d-ff", 1, "--sentence", "I"),
    ],
)
def test_small_and_odd_sizes(tmp_path, words):
    """One word, repeated words, one head, as many heads as features: all pages are right."""
    worked(*words, "--out", tmp_path / "site")
    site = read_site(tmp_path / "site")
    assert len(site.pages) == 14
    for page in site.pages.values():
        for reference_, text in page.numbers:
            if "[" in reference_:
                assert rounds_to(look_up(site.values, reference_), text)


def test_large_matrices_are_shown_without_their_middle(tmp_path):
    """Beyond 32 columns 4 stand at each end, beyond 5 rows 3 and 2; the .npz has them all."""
    sentence = " ".join(f"word{place}" for place in range(40))
    start = time.perf_counter()
    worked("--sentence", sentence, "--d-model", 48, "--out", tmp_path / "site")
    assert time.perf_counter() - start < MOST_SECONDS
    site = read_site(tmp_path / "site")
    assert site.values["W_1"].shape == (48, 192)
    page = site.pages[WORKED_PAGES[4].file]
    shown = {r for t in page.tables if t["name"] == "W_1" for _, row in t["rows"] for r, _ in row}
    kept = [*range(3), *range(46, 48)], [*range(4), *range(188, 192)]
    assert shown == {f"W_1[{i},{j}]" for i in kept[0] for j in kept[1]}
    assert "are shown without their middle" in site.texts[WORKED_PAGES[4].file]
    sizes = {path.name: path.stat().st_size for path in site.folder.glob("*.html")}
    assert max(sizes.values()) < MOST_BYTES, sizes


def test_32_columns_are_shown_in_full(tmp_path):
    """No column is left out up to 32, and the pages stay light."""
    sentence = " ".join(f"word{place}" for place in range(30))
    worked("--sentence", sentence, "--d-model", 32, "--num-heads", 4, "--out", tmp_path / "site")
    site = read_site(tmp_path / "site")
    page = site.pages[WORKED_PAGES[1].file]
    shown = {r for t in page.tables if t["name"] == "W_q" for _, row in t["rows"] for r, _ in row}
    rows = [*range(3), *range(30, 32)]
    assert shown == {f"W_q[{i},{j}]" for i in rows for j in range(32)}
    sizes = {path.name: path.stat().st_size for path in site.folder.glob("*.html")}
    assert max(sizes.values()) < MOST_BYTES, sizes


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--sentence", "  "), "There is no sentence"),
        (
            ("--sentence", "I like cats very much", "--max-len", 5),
            "it has 7 tokens, and max_len is 5. Shorten it, or give --max-len 7.",
        ),
        (
            ("--sentence", "I like dogs", "--vocabulary", "I like cats"),
            "'dogs' is an unknown token: it is not in the vocabulary <PAD> <BOS> <EOS> I like cats",
        ),
        (("--sentence", "I <EOS>"), "<EOS> is put in by the course itself"),
        (("--num-heads", 3), "16 features cannot be shared among 3 heads"),
        (("--d-ff", 0), "--d-ff must be at least 1, not 0."),
        (("--d-model", 1, "--num-heads", 1), "layer norm has nothing to norm"),
        (("--seed", -1), "--seed must be 0 or more, not -1."),
        (("--d-model", 4096), "parameters; the pages can be made for 2,000,000 at most"),
        (("--sentence", "a " * 300), "The sentence has 300 words"),
        (("--published", "--seed", 1), "--published has a sentence, a seed and sizes of its own"),
    ],
)
def test_what_cannot_be_is_told_in_one_sentence(tmp_path, words, says):
    """And nothing is written."""
    told = worked(*words, "--out", tmp_path / "site")
    assert says in told and "\n" not in told
    assert not (tmp_path / "site").exists()


def test_nothing_of_anybody_is_overwritten(tmp_path):
    """A folder with anything else in it is refused and left as it is; an earlier set is renewed."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "index.html").write_text("my home page")
    assert "holds index.html, which is no worked page" in worked("--out", folder)
    (folder / "thesis.txt").write_text("years of work")
    assert "holds thesis.txt" in worked("--out", folder)
    assert (folder / "index.html").read_text() == "my home page"
    assert "is a file" in worked("--out", folder / "thesis.txt")
    worked("--out", tmp_path / "pages", "--published")
    worked("--out", tmp_path / "pages")
    assert not (tmp_path / "pages/difference.html").exists()


# The published calculation


def test_published_stands_beside_ours_where_they_differ(published):
    """Pages 11 to 13 show both, no other page of the thirteen does."""
    both = [
        page.number
        for page in WORKED_PAGES
        if any("pub_" in reference_ for reference_, _ in published.pages[page.file].numbers)
    ]
    assert both == [11, 12, 13]
    text = published.texts[WORKED_PAGES[10].file]
    assert text.count("<strong>ours</strong>") == text.count("<strong>published</strong>") > 10


@pytest.mark.skipif(not SHARED.exists(), reason="published.npz is not beside the repository")
def test_published_numbers_are_the_published_ones(published):
    """Every gradient shown as published is the file's, to 1e-9 of its largest entry."""
    names = {
        "pub_dtoken_embedding": "grad_all.dL_dE_token",
        "pub_dposition_embedding": "grad_all.dL_dE_pos",
    }
    with np.load(SHARED) as file:
        for ours, theirs in names.items():
            expected = file[theirs]
            error = np.abs(published.values[ours] - expected).max() / np.abs(expected).max()
            assert error < 1e-9, ours


def test_without_a_browser_the_pdf_is_refused_in_one_sentence(tmp_path):
    """The pages are written all the same."""
    words = (
        "--out",
        tmp_path / "site",
        "--pdf",
        tmp_path / "x.pdf",
        "--browser",
        "no-such-browser",
    )
    assert worked(*words).startswith("no-such-browser was not found: install Chromium")
    assert (tmp_path / "site/index.html").exists()


def test_all_pages_join_into_one_document(course):
    """Fourteen articles, no id twice, no script."""
    from byhand_course.worked.pdf import joined

    text = joined(course.folder)
    assert text.count("<article>") == 14 and "<script>" not in text
    ids = Page(text).ids
    assert len(set(ids)) == len(ids) > 100
