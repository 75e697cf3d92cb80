"""Every number on every page is the trace's, and says where it comes from."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from worked.reading import entries, look_up, rounds_to

from byhand_course.lessons import WORKED_PAGES

FORMULA_NUMBERS = {"0.044715"}  # GELU's own
WHOLE = 64 * 16  # the largest matrix of the default pages


def test_every_number_is_the_trace_rounded(site):
    """All numbers of all pages, against values.npz: at 4 decimals the true number rounded."""
    settings = {value["name"] for value in site.trace["values"] if value["page"] == 0}
    count = 0
    for name, page in site.pages.items():
        assert page.numbers, name
        for reference, text in page.numbers:
            number = look_up(site.values, reference)
            if reference in settings:
                assert float(text) == number, f"{name}: {reference} is {number}, not {text}"
            else:
                assert rounds_to(number, text), f"{name}: {reference} is {number}, not {text}"
            count += 1
    assert count > 15_000


def test_no_number_stands_without_its_reference(site):
    """Outside of references there is no decimal, and in formulas only those that belong there."""
    for name, page in site.pages.items():
        decimals = re.findall(r"\d+\.\d+|\d+e-\d+", " ".join(page.loose))
        assert decimals == [], name
        found = {number for number in page.formula_numbers if "." in number}
        assert found <= FORMULA_NUMBERS, name


def test_every_matrix_is_there_in_full(site):
    """A matrix that stands on a page stands there with all its entries, none twice in a table."""
    largest = 0
    for name, page in site.pages.items():
        shown = {}
        for table in page.tables:
            if table["name"]:
                for _, cells in table["rows"]:
                    shown.setdefault(table["name"], []).extend(ref for ref, _ in cells)
        for matrix, references in shown.items():
            array = site.values[matrix]
            every = {f"{matrix}[{','.join(map(str, place))}]" for place in np.ndindex(array.shape)}
            assert set(references) == every, f"{name}: {matrix}"
            largest = max(largest, array.size)
    assert largest == WHOLE


def labels(site, axis):
    """What should stand beside an axis, from the sentence and the sizes."""
    sizes, tokens = site.trace["sizes"], site.trace["tokens"]
    numbers = {
        "feature": sizes["d_model"],
        "wide": sizes["d_ff"],
        "slice": sizes["d_model"] // sizes["num_heads"],
        "position": sizes["max_len"],
    }
    if axis in numbers:
        return [str(place) for place in range(numbers[axis])]
    words = {
        "token": tokens,
        "key": tokens,
        "target": tokens[: len(site.trace["targets"])],
        "vocabulary": site.trace["vocabulary"],
    }
    return words[axis]


def test_rows_and_columns_carry_their_labels(site):
    """Each entry stands in the row and column whose labels are its token and its feature."""
    axes = {value["name"]: value["axes"] for value in site.trace["values"]}
    checked = 0
    for name, page in site.pages.items():
        for table in page.tables:
            if not table["name"]:
                continue
            own = axes[table["name"]]
            for label, cells in table["rows"][1:]:
                for place, (reference, _) in enumerate(cells):
                    at = [int(digit) for digit in re.findall(r"\d+", reference.partition("[")[2])]
                    assert table["columns"][place] == labels(site, own[-1])[at[-1]], name
                    if len(own) > 1:
                        assert label == labels(site, own[-2])[at[-2]], f"{name}: {reference}"
                    checked += 1
    assert checked > 15_000


def test_shapes_are_the_arrays(site):
    """Every shape on a page is that of the array it names."""
    count = 0
    for page in site.pages.values():
        for name, text in page.shapes:
            array = site.values[name.removesuffix("[0]")]
            shape = array.shape[1:] if name.endswith("[0]") else array.shape
            assert text == " × ".join(map(str, shape)), name
            count += 1
    assert count > 100


def test_spelled_out_arithmetic_adds_up(site):
    """The terms of each sum, unrounded, add up to the entry that they claim to make."""
    pages = {page.file for page in WORKED_PAGES} - {WORKED_PAGES[7].file, WORKED_PAGES[12].file}
    for name in pages:  # page 8 subtracts, page 13 has a table of steps: both are held below
        sums = site.pages[name].sums
        assert sums, name
        for spelled in sums:
            last = [look_up(site.values, term[-1]) for term in spelled["terms"]]
            for term in spelled["terms"]:
                assert len(term) in (1, 3)
                if len(term) == 3:
                    assert term[2] == f"{term[0]}*{term[1]}"
            total = sum(last) / spelled["divided"]
            answer = look_up(site.values, spelled["answer"])
            assert_allclose(total, answer, rtol=1e-12, atol=1e-14, err_msg=spelled["answer"])


PRODUCTS = [
    "Q",
    "K",
    "V",
    "scores",
    "out_heads",
    "attended",
    "head_parts",
    "wide",
    "fed",
    "logits",
    "dW_out",
    "dnormed_f",
    "dW_2",
    "dhidden",
    "dW_1",
    "dconcat",
    "dW_o",
    "dV_heads",
    "dweights",
    "dQ_heads",
    "dK_heads",
    "dW_q",
    "dX_from_Q",
    "dW_k",
    "dX_from_K",
    "dW_v",
    "dX_from_V",
]
SUMS = [
    "X",
    "middle",
    "out",
    "dmiddle",
    "dX",
    "token_vectors",
    "position_vectors",
    "concat",
    "Q_heads",
    "dtoken_embedding",
    "dposition_embedding",
    "db_1",
    "db_2",
    "dlnf_beta",
    "dln1_beta",
    "dln2_beta",
    "dout_heads",
    "dQ",
    "dnormed_1",
]
SINGLE_PRODUCTS = ["lnf_dxhat", "ln2_dxhat", "dwide", "dlnf_gamma"]


@pytest.mark.parametrize("kind", ["products", "sums", "single products"])
def test_what_lights_up_makes_the_entry(site, kind):
    """The entries that a page lights up for an entry do make it: multiplied, or added."""
    made = {value["name"]: value["made_from"] for value in site.trace["values"]}
    names = {"products": PRODUCTS, "sums": SUMS, "single products": SINGLE_PRODUCTS}[kind]
    targets, ids = site.values["targets"], site.values["ids"]
    found = 0
    for name in names:
        for key in (name, f"pub_{name}"):
            if key not in site.values or not made[key]:
                continue
            array = site.values[key]
            heads = range(len(array)) if array.ndim == 3 else [0]
            width = site.trace["sizes"]["d_model"] // site.trace["sizes"]["num_heads"]
            for head in heads:
                own = array[head] if array.ndim == 3 else np.atleast_2d(array)
                places = {"h": head, "start": head * width, "stop": (head + 1) * width}
                sources = made[key].format(**places).split()
                assert len(sources) > 1 or kind == "sums", key
                for i, j in np.ndindex(own.shape):
                    if array.ndim == 1:
                        i = j
                    parts = [entries(source, i, j, site.values, ids, targets) for source in sources]
                    if kind == "sums":
                        expected = sum(part.sum() for part in parts)
                    else:
                        expected = (parts[0] * parts[1]).sum() + sum(p.sum() for p in parts[2:])
                    got = own[0, j] if array.ndim == 1 else own[i, j]
                    assert_allclose(got, expected, rtol=1e-9, atol=1e-13, err_msg=f"{key}[{i},{j}]")
                    found += 1
    assert found > 50


def test_layer_norm_spelled_out(course):
    """(x - mean) x 1/std is x-hat, and 1/std is that of variance and epsilon."""
    values = course.values
    for norm, x in (("ln1", "X"), ("ln2", "middle"), ("lnf", "out")):
        centered = values[x] - values[f"{norm}_mean"][:, None]
        inverse = 1 / np.sqrt(values[f"{norm}_variance"] + values["norm_eps"])
        assert_allclose(values[f"{norm}_inverse_std"], inverse, rtol=1e-12)
        assert_allclose(values[f"{norm}_xhat"], centered * inverse[:, None], rtol=1e-11)


def test_page_13_spells_out_one_whole_update(course):
    """Weight, gradient, both moments, both corrected, decay and step, in this order."""
    page = course.pages[WORKED_PAGES[12].file]
    table = next(t for t in page.tables if t["columns"][:2] == ["step", "number"])
    numbers = dict(page.numbers)
    keys = ["W_q", "dW_q", "m_W_q", "v_W_q", "m_hat_W_q", "v_hat_W_q", "decayed_W_q", "new_W_q"]
    assert len(table["rows"]) == 1 + len(keys) + 1  # and how far it moved
    w, g, m, v, m_hat, v_hat, decayed, new = (
        look_up(course.values, f"{key}[2,3]") for key in keys if f"{key}[2,3]" in numbers
    )
    assert_allclose([m, v], [0.1 * g, 0.001 * g**2], rtol=1e-12)
    assert_allclose([m_hat, v_hat], [g, g**2], rtol=1e-12)
    assert_allclose(decayed, w * (1 - 1e-3 * 0.01), rtol=1e-15)
    assert_allclose(new, decayed - 1e-3 * g / (abs(g) + 1e-8), rtol=1e-12)


def test_page_13_lists_every_parameter(site):
    """All parameters with their sizes, and the sizes of their updates."""
    page = site.pages[WORKED_PAGES[12].file]
    table = next(t for t in page.tables if "mean move" in t["columns"])
    names = [row[0] for row in table["rows"][1:]]
    assert names == site.trace["parameters"]
    count = sum(site.values[name].size for name in names)
    assert count == site.values["parameter_count"] == (3648 if len(names) == 17 else 3456)
