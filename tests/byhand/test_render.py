"""Verdicts on a page: well-formed, escaped, readable by everybody, and under 80 columns."""

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

from byhand.render import RIGHT, UNJUDGED, WRONG, earned, to_html, to_text
from byhand.verdict import Evidence, Verdict

HOSTILE = "<script>alert('x')</script> & \"quotes\" <img src=x onerror=alert(1)>"

PASSED = Verdict("dot", "dot", None, {"sum": True}, 3, 3, "right on all 4 inputs. Well done!")
PARTLY = Verdict(
    exercise="layer-norm-backward",
    function="layer_norm_backward",
    stage="value",
    parts={"dx": False, "dgamma": True, "dbeta": True},
    score=2,
    points=4,
    headline="dx differs; dgamma and dbeta are right.",
    evidence=(Evidence("dx[0, 0, :3]", "[-1.05  0.49]", "[-0.60  0.94]"),),
    given="x = [1, 2], gamma = [3, 4]",
    cause="This dx holds each token's mean still. What should it be?",
)
UNJUDGED_ONE = Verdict("dot", "dot", "unjudged", {"sum": False}, 0, 1, "the grader stumbled.")
NASTY = Verdict(
    exercise=HOSTILE,
    function=HOSTILE,
    stage="raises",
    parts={HOSTILE: False, "b": True},
    score=1,
    points=2,
    headline=HOSTILE * 5,
    evidence=(Evidence(HOSTILE[:30], HOSTILE[:30], HOSTILE[:30]),),
    given=HOSTILE,
    cause=HOSTILE,
    question=HOSTILE,
)
ALL = [PASSED, PARTLY, UNJUDGED_ONE, NASTY]


class Collector(HTMLParser):
    """Tags and attributes as a browser's parser sees them."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs


@pytest.mark.parametrize("verdict", ALL)
def test_html_is_well_formed_and_holds_nothing_active(verdict):
    """An XML parser takes it; there is no script, handler, link or picture, whatever is in it."""
    html = to_html(verdict)
    root = ET.fromstring(html)
    collector = Collector()
    collector.feed(html)
    allowed = {
        "section",
        "p",
        "strong",
        "span",
        "code",
        "table",
        "thead",
        "tbody",
        "tr",
        "td",
        "th",
    }
    assert set(collector.tags) <= allowed
    names = {name for name, _ in collector.attributes}
    assert names <= {"role", "aria-label", "aria-hidden", "style", "scope"}
    assert "url(" not in html and "http" not in html
    text = "".join(root.itertext())
    for words in (verdict.cause, verdict.question, verdict.given):
        assert words in text


@pytest.mark.parametrize(
    ("verdict", "word"), [(PASSED, "Right"), (PARTLY, "Not yet"), (UNJUDGED_ONE, "Not judged")]
)
def test_html_speaks_to_a_screen_reader(verdict, word):
    """It announces itself with the outcome in words; signs are hidden; tables have headers."""
    root = ET.fromstring(to_html(verdict))
    assert root.get("role") == "status"
    assert root.get("aria-label") == f"Check of {verdict.function}: {word}"
    (sign,) = root.findall(".//span")
    assert sign.get("aria-hidden") == "true"
    assert root.find(".//strong").text is None  # the sign comes first, the word after it
    assert sign.tail.strip() == f"{word}."
    if verdict.evidence:
        assert {cell.get("scope") for cell in root.iter("th")} == {"row", "col"}


def luminance(colour):
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("mark", [RIGHT, WRONG, UNJUDGED])
def test_colours_can_be_told_from_the_page(mark):
    """The fallback has 4.5 to 1 on white; in JupyterLab the colour is the theme's own."""
    variable, fallback = re.fullmatch(
        r"var\((--jp-[a-z]+-color0), (#[0-9a-f]{6})\)", mark[2]
    ).groups()
    assert variable in ("--jp-success-color0", "--jp-error-color0", "--jp-warn-color0")
    assert contrast(fallback, "#ffffff") >= 4.5


@pytest.mark.parametrize("verdict", ALL)
def test_words_have_the_colour_of_the_page(verdict):
    """Only the sign and the border are coloured, so words are readable in every theme."""
    coloured = re.findall(r'<(\w+)[^>]*style="color:', to_html(verdict))
    assert coloured == ["span"]
    assert "background" not in to_html(verdict)


def test_text_is_as_the_house_style_shows():
    """Verdict, evidence indented by four, the arguments, the cause, what was earned."""
    assert to_text(PARTLY) == (
        "layer_norm_backward: dx differs; dgamma and dbeta are right.\n"
        "\n"
        "    dx[0, 0, :3]  yours     [-1.05  0.49]\n"
        "                  expected  [-0.60  0.94]\n"
        "\n"
        "    with x = [1, 2], gamma = [3, 4]\n"
        "\n"
        "This dx holds each token's mean still. What should it be?\n"
        "\n"
        "2 of 4 points so far, for dgamma and dbeta."
    )


@pytest.mark.parametrize("verdict", ALL)
def test_text_stays_under_80_columns(verdict):
    """Long words, arguments and messages are wrapped."""
    assert max(map(len, to_text(verdict).splitlines())) < 80


def test_what_was_earned():
    """All, some with the parts that earned it, or no word of it."""
    assert to_text(PASSED) == "dot: right on all 4 inputs. Well done!\n\n3 of 3 points."
    assert earned(UNJUDGED_ONE) == ""
    assert "2 of 4 points so far, for dgamma and dbeta." in to_html(PARTLY)
