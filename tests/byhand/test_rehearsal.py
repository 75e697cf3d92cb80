"""The rehearsal: a timer that stops nothing, and levels that nobody grades."""

import re
from html.parser import HTMLParser

import pytest

from byhand import show_levels, show_timer

SECTIONS = [
    ("The question", 1, "Why must a word look at others?"),
    ("Queries & keys", 1.5, "<b>Who asks</b>"),
    ("The end", 0.5, ""),
]


class WithoutScripts(HTMLParser):
    """What is left of a page where scripts may not run."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.words, self.inside = [], [], ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.inside = tag

    def handle_data(self, data):
        if self.inside != "script":
            self.words.append(data)


def test_without_scripts_it_is_a_list_with_minutes():
    """Every title, prompt and length is there, and no button that would do nothing."""
    found = WithoutScripts(show_timer(SECTIONS)._repr_html_())
    text = " ".join(found.words)
    assert found.tags.count("ol") == 1 and found.tags.count("li") == len(SECTIONS)
    assert not {"button", "b", "iframe", "img"} & set(found.tags)
    for part in ["3 minutes in 3 sections", "(1 minute)", "(90 seconds)", "Queries & keys"]:
        assert part in text
    assert "<b>Who asks</b>" in text


def test_elsewhere_it_is_text_with_the_time_at_which_each_section_begins():
    """For a terminal, and for an editor without HTML."""
    assert repr(show_timer(SECTIONS)).splitlines() == [
        "3 minutes in 3 sections",
        "0:00  The question (1 minute)",
        "      Why must a word look at others?",
        "1:00  Queries & keys (90 seconds)",
        "      <b>Who asks</b>",
        "2:30  The end (30 seconds)",
        "3:00  the end",
    ]


def test_it_needs_nothing_from_elsewhere_and_is_the_same_again():
    """No address, no library, no name that two timers on one page could share."""
    html = show_timer(SECTIONS).html
    assert not re.search(r"https?:|\bsrc=|\bimport\b|\bfetch\b|\bid=", html)
    assert html == show_timer(list(SECTIONS)).html


@pytest.mark.parametrize(
    ("sections", "says"),
    [
        ([], "at least one section"),
        ([("a", 1)], r"section 0 is \('a', 1\); write \(title, minutes, prompt\)"),
        (["abc"], "section 0 is 'abc'"),
        ([("a", 1, ""), ("b", "2", "")], "section 1 takes '2' minutes; write a number above 0"),
        ([("a", True, "")], "takes True minutes"),
        ([("a", 0, "")], "takes 0 minutes; write 600 at most, above 0"),
        ([("a", float("nan"), "")], "takes nan minutes"),
        ([("a", 1e9, "")], "write 600 at most"),
    ],
)
def test_what_is_no_section_is_said(sections, says):
    """Which one, and what to write."""
    with pytest.raises(ValueError, match=says):
        show_timer(sections)


def test_levels_are_summed_up_and_never_graded():
    """What was given, what is missing, and that it is the learner's own reading."""
    shown = show_levels({"Why not RNNs": 2, "What heads learn": 3, "Why squared": 1})
    assert repr(shown).splitlines() == [
        "Why not RNNs: 2 of 3",
        "What heads learn: 3 of 3",
        "Why squared: 1 of 3",
        "6 of 9 in sum, by your own reading. This is for you alone: it is not graded, and not sent "
        "anywhere.",
    ]
    assert "No level is given yet." in repr(show_levels({"a": ..., "b": None}))
    part = show_levels({"<a>": 0, "b": ...})
    assert "b: not yet" in repr(part) and "0 of 3 so far" in repr(part)
    assert "&lt;a&gt;" in part.html and "<a>" not in part.html
    assert part.html.count('scope="row"') == 2


@pytest.mark.parametrize("level", [4, -1, 1.5, True, "two", [1], float("nan")])
def test_what_is_no_level_is_said(level):
    """And not counted, and nothing stops."""
    shown = repr(show_levels({"a": level, "b": 3}))
    assert "is no level; write 0, 1, 2 or 3" in shown
    assert "3 of 3 so far" in shown
