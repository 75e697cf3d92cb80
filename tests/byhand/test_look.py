"""Things to look at: readable on every shade, in words too, and the same when run twice."""

import re
import xml.etree.ElementTree as ET

import matplotlib
import numpy as np
import pytest

from byhand import show_matrix, show_plot
from byhand.look import luminance
from byhand.map import draw_map

matplotlib.use("Agg")


def cells(page):
    """Each number of a table as its text, background and ink."""
    pattern = r"background:rgb\((\d+),(\d+),(\d+)\);color:(#\w{6})\">([^<]*)</td>"
    return [
        (text, tuple(map(int, shade)), tuple(int(ink[k : k + 2], 16) for k in (1, 3, 5)))
        for *shade, ink, text in re.findall(pattern, page._repr_html_())
    ]


@pytest.mark.parametrize("sign", [1, -1])
def test_text_stands_out_on_every_shade(sign):
    """4.5 to 1 at least, from white to the darkest blue and the darkest brown."""
    shades = cells(show_matrix(sign * np.linspace(0, 1, 1001)))
    assert len({shade for _, shade, _ in shades}) > 150
    for text, shade, ink in shades:
        light, dark = sorted((luminance(shade), luminance(ink)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, text


def test_luminance_is_that_of_the_standard():
    """Black, white and the three primaries, as WCAG 2 defines relative luminance."""
    primaries = [luminance(c) for c in [(0, 0, 0), (255, 255, 255), (255, 0, 0), (0, 255, 0)]]
    assert np.allclose(primaries, [0, 1, 0.2126, 0.7152])
    assert np.isclose(luminance((119, 119, 119)), 0.1845, atol=1e-4)


MATRICES = [
    np.arange(3),
    np.arange(6.0).reshape(2, 3),
    np.array(2.5),
    np.zeros((2, 2)),
    np.zeros((0, 3)),
    np.array([[np.nan, -np.inf, np.inf], [-1e300, 1e-300, -0.001]]),
    np.array([[True, False]]),
    [[1, 2], [3, 4]],
    np.float32([[0.5, -0.5]]),
]


@pytest.mark.parametrize("matrix", MATRICES, ids=repr)
def test_any_matrix_is_a_table(matrix):
    """Well-formed, a cell for each number, headers on both sides; the same when run twice."""
    page = show_matrix(matrix, caption="<b>look</b> & see")
    root = ET.fromstring(page._repr_html_())
    assert len(cells(page)) == np.size(matrix)
    assert root.find("caption").text == "<b>look</b> & see"
    assert {cell.get("scope") for cell in root.iter("th")} <= {"row", "col"}
    assert max(map(len, repr(page).splitlines())) < 80
    again = show_matrix(matrix, caption="<b>look</b> & see")
    assert (page.html, page.text) == (again.html, again.text)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (np.nan, "nan"),
        (-np.inf, "-inf"),
        (-0.25, "-0.25"),
        (-0.001, "0.00"),
        (1234.5, "1234.50"),
        (-1e12, "-1.00e+12"),
        (7, "7"),
    ],
)
def test_numbers_are_written_so_that_they_can_be_read(number, text):
    """Whole ones without decimals, huge ones as powers of ten, no minus before zero."""
    assert [cell[0] for cell in cells(show_matrix(np.array([number])))] == [text]


def test_labels_stand_beside_the_numbers():
    """In the table and in the text, escaped, whatever they are."""
    page = show_matrix(np.eye(2), rows=["<i>", 7], columns=("a", "b"), caption="seen")
    assert "&lt;i&gt;" in page.html and "<i>" not in page.html
    assert repr(page).splitlines() == [
        "seen",
        "        a     b",
        "<i>  1.00  0.00",
        "  7  0.00  1.00",
    ]


def test_shade_tells_size_and_sign():
    """The largest is darkest, zero and nan are white, negative numbers have the other hue."""
    shades = [cell[1] for cell in cells(show_matrix(np.array([4.0, 2.0, 0.0, -4.0, np.nan])))]
    assert luminance(shades[0]) < luminance(shades[1]) < luminance(shades[2])
    assert shades[2] == shades[4] == (255, 255, 255)
    assert shades[0] != shades[3]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"matrix": np.zeros((2, 3, 4))}, "takes one or two axes, this array has 3"),
        ({"matrix": np.zeros((2, 3)), "rows": ["a"]}, "1 labels were given for 2 rows"),
        ({"matrix": np.zeros(3), "columns": "ab"}, "2 labels were given for 3 columns"),
    ],
)
def test_what_does_not_fit_is_said(arguments, says):
    """Too many axes, too few labels."""
    with pytest.raises(ValueError, match=says):
        show_matrix(**arguments)


def test_a_plot_carries_words():
    """A picture inside the page, with its sentence, shown once, and again when run again."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(2, 1))
    axes.plot([1, 2])
    page = show_plot(figure, alt='A line that rises from "1" to 2.')
    assert plt.get_fignums() == []
    assert repr(page) == 'A line that rises from "1" to 2.'
    assert 'alt="A line that rises from &quot;1&quot; to 2."' in page.html
    assert page.html.count("data:image/png;base64,") == 1 and "http" not in page.html
    assert show_plot(figure, alt="again").html.startswith("<img ")


@pytest.mark.parametrize("alt", ["", "  \n"])
def test_a_plot_without_words_is_refused(alt):
    """Nobody should be shown a picture that some cannot see."""
    with pytest.raises(ValueError, match="needs alt"):
        show_plot(None, alt=alt)


def test_a_map_may_mark_several_pieces():
    """Both are marked for eyes, for ears and in plain text; nothing else is."""
    page = draw_map(("mask", "softmax"), "page 3")
    assert page.html.count('aria-current="step"') == 2
    assert "page 3 is about: mask, softmax" in page.html
    assert "[MASK] → [SOFTMAX]" in repr(page) and repr(page).count("[") == 2
