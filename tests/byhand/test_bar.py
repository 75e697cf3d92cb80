"""The progress bar: every step is gone through, and drawn in a notebook only."""

import re

import pytest

from byhand import show_progress
from byhand.bar import _bar


def test_elsewhere_it_only_goes_through_the_steps(capsys, monkeypatch):
    """Outside a notebook nothing is shown."""
    monkeypatch.setattr("byhand.bar.in_notebook", lambda: False)
    assert list(show_progress(range(5), "training")) == [0, 1, 2, 3, 4]
    assert capsys.readouterr().out == ""


def test_in_a_notebook_one_bar_is_drawn_and_renewed(capsys, monkeypatch):
    """It starts empty, ends full, and every drawing is of the same bar."""
    shown = []

    class Handle:
        def update(self, page):
            shown.append(page)

    monkeypatch.setattr("byhand.bar.in_notebook", lambda: True)
    monkeypatch.setattr("byhand.bar.EVERY_S", -1)
    monkeypatch.setattr(
        "IPython.display.display", lambda page, display_id: shown.append(page) or Handle()
    )
    assert list(show_progress(range(3), "training")) == [0, 1, 2]
    assert [repr(page) for page in shown] == [f"training: {done} of 3" for done in (0, 1, 2, 3, 3)]


def test_the_bar_has_words_beside_it():
    """A screen reader hears the label, and a hostile one is text."""
    html = _bar(3, 8, "<b>")._repr_html_()
    assert re.search(r'<label[^>]*>&lt;b&gt;: 3 of 8<progress value="3" max="8">', html)


def test_steps_need_a_length():
    """A generator has none, which is said at once and not at the first step."""
    with pytest.raises(TypeError, match="len"):
        show_progress((step for step in range(3)), "training")
