"""The worked pages in a browser: accessible, printable, fit for a phone, followed by keys."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import SITES, open_page, pages_of
from pypdf import PdfReader

ALL = [(site, name) for site in ("course", "published", "large") for name in pages_of(site)]
PHONE = {"width": 360, "height": 740}
SHEET = {"width": 1039, "height": 710}  # A4 landscape less 11 mm on each side, in CSS pixels


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("site", "name"), ALL)
def test_accessible(browser, site, name, scheme):
    """axe-core finds nothing critical or serious, in light and in dark."""
    page = open_page(browser, site, name, color_scheme=scheme)
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    grave = [
        (rule["id"], rule["impact"], [node["html"][:120] for node in rule["nodes"]][:3])
        for rule in found
        if rule["impact"] in ("critical", "serious")
    ]
    page.context.close()
    assert grave == []


@pytest.mark.parametrize(("site", "name"), ALL)
def test_fits_a_phone_and_asks_for_nothing(browser, site, name):
    """At 360 pixels only tables and formulas scroll; the console is silent; one file is asked."""
    page = open_page(browser, site, name, viewport=PHONE)
    width = page.evaluate("document.documentElement.scrollWidth")
    page.context.close()
    assert width <= PHONE["width"]
    assert page.said == []
    assert [url.rpartition("/")[2] for url in page.asked] == [name]


@pytest.mark.parametrize(("site", "name"), ALL)
def test_fits_a_sheet(browser, site, name):
    """Printed on A4 landscape, no table and no formula reaches beyond the margin."""
    page = open_page(browser, site, name, viewport=SHEET)
    page.emulate_media(media="print")
    right = page.evaluate(
        "Math.max(...[...document.querySelectorAll('table, math, figcaption, li')]"
        ".map(e => e.getBoundingClientRect().right))"
    )
    page.context.close()
    assert right <= SHEET["width"]


def lit(page):
    return page.evaluate(
        "[...document.querySelectorAll('td.source')].map(cell => cell.dataset.from)"
    )


ROW_AND_COLUMN = {f"normed_1[2,{k}]" for k in range(16)} | {f"W_q[{k},3]" for k in range(16)}


def test_pointing_lights_up_row_and_column(browser):
    """Under the pointer, what made the entry lights up; away from it, nothing does."""
    page = open_page(browser, "course", "02-queries-keys-values.html")
    page.hover('td[data-from="Q[2,3]"]')
    assert set(lit(page)) == ROW_AND_COLUMN
    assert page.inner_text("#follow").startswith("Q [like, 3] = ")
    page.hover("h1")
    assert lit(page) == []
    page.context.close()


def test_tapping_keeps_it_lit(browser):
    """A tap pins the entry, a second tap lets it go."""
    page = open_page(browser, "course", "02-queries-keys-values.html")
    page.click('td[data-from="Q[2,3]"]')
    page.hover("h1")
    assert set(lit(page)) == ROW_AND_COLUMN
    page.click('td[data-from="Q[2,3]"]')
    page.hover("h1")
    page.evaluate("document.activeElement.blur()")
    assert lit(page) == []
    page.context.close()


def test_the_keyboard_reaches_every_entry(browser):
    """Tab comes to the table once, arrows move in it, Escape leaves it."""
    page = open_page(browser, "course", "02-queries-keys-values.html")
    page.focus("#Q .scroll")
    page.keyboard.press("Tab")
    for key in ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight"]:
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.dataset.from") == "Q[2,3]"
    assert set(lit(page)) == ROW_AND_COLUMN
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.dataset.from") == "Q[2,15]"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")  # there is no row below the last: it stays
    assert page.evaluate("document.activeElement.dataset.from") == "Q[3,15]"
    page.keyboard.press("Escape")
    assert lit(page) == []
    tabs = page.evaluate("document.querySelectorAll('td[tabindex]').length")
    tables = page.evaluate("document.querySelectorAll('table[data-name]').length")
    assert tabs == tables
    page.context.close()


@pytest.mark.parametrize(
    ("page", "entry", "sources"),
    [
        ("01-tokens-and-embeddings.html", "token_vectors[2,3]", {"token_embedding[4,3]"}),
        ("04-multi-head.html", "concat[1,11]", {"out_heads[1,1,3]"}),
        (
            "04-multi-head.html",
            "head_parts[1,2,3]",
            {f"out_heads[1,2,{k}]" for k in range(8)} | {f"W_o[{k},3]" for k in range(8, 16)},
        ),
        (
            "11-attention-gradients.html",
            "dV_heads[1,2,3]",
            {f"weights[1,{t},2]" for t in range(4)} | {f"dout_heads[1,{t},3]" for t in range(4)},
        ),
        (
            "10-feed-forward-and-layer-norm-gradients.html",
            "dhidden[2,40]",
            {f"dout[2,{k}]" for k in range(16)} | {f"W_2[40,{k}]" for k in range(16)},
        ),
        ("12-embedding-gradients.html", "dtoken_embedding[4,3]", {"dX[2,3]"}),
        ("12-embedding-gradients.html", "dtoken_embedding[0,3]", set()),
        ("03-attention.html", "Q_heads[1,2,3]", set()),  # Q itself stands on page 2
    ],
)
def test_every_kind_of_source_lights_up(browser, page, entry, sources):
    """Rows, columns, slices of heads, looked-up and collected rows."""
    page = open_page(browser, "course", page)
    page.hover(f'td[data-from="{entry}"]')
    assert set(lit(page)) == sources
    page.context.close()


def test_complete_without_scripts(browser):
    """Without JavaScript every number is there, and a line says what is missing."""
    name = "11-attention-gradients.html"
    count = "document.querySelectorAll('[data-from]').length"
    page = open_page(browser, "course", name)
    with_scripts = page.evaluate(count)
    page.context.close()
    page = open_page(browser, "course", name, java_script_enabled=False)
    assert page.locator("[data-from]").count() == with_scripts > 3000
    assert "This page is complete as it stands" in page.inner_text("main")
    page.context.close()


def test_light_and_dark_follow_the_system(browser):
    """The paper is bright in one and dark in the other, and white in print."""
    colours = {}
    for scheme in ("light", "dark"):
        page = open_page(browser, "course", "13-adamw.html", color_scheme=scheme)
        get = "getComputedStyle(document.documentElement).backgroundColor"
        colours[scheme] = page.evaluate(get)
        page.emulate_media(media="print", color_scheme=scheme)
        colours[f"print {scheme}"] = page.evaluate(get)
        page.context.close()
    assert colours["light"] == "rgb(255, 255, 255)"
    assert colours["dark"] == "rgb(22, 24, 28)"
    assert colours["print light"] == colours["print dark"] == "rgb(255, 255, 255)"


@pytest.mark.parametrize("site", ["course", "large"])
def test_one_pdf_holds_the_summary_and_thirteen_pages(site):
    """Each begins on a sheet of its own, in order."""
    sheets = [sheet.extract_text() for sheet in PdfReader(SITES / f"{site}.pdf").pages]
    begins = [
        number
        for number, text in enumerate(sheets)
        if text.lstrip().startswith(("One whole training step", *(f"{n} · " for n in range(1, 14))))
    ]
    assert len(begins) == 14
    titles = [sheets[number].lstrip().split("\n")[0] for number in begins]
    assert [title.split(" · ")[0] for title in titles[1:]] == [str(n) for n in range(1, 14)]
    assert begins[0] == 0
