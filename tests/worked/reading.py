"""Reads finished pages as a reader does: numbers, tables, sums, shapes, links.

Nothing here is shared with the code that writes the pages.
"""

import re
from decimal import ROUND_HALF_EVEN, Decimal
from html.parser import HTMLParser

import numpy as np

CELLS = ("td", "th")
ENDS_A_CELL = ("td", "th", "tr", "thead", "tbody", "table")


class Page(HTMLParser):
    """What stands on one page.

    Attributes:
        numbers: (reference, text) of every number, in order.
        loose: all other text, formulas left out.
        formula_numbers: numbers in formulas.
        tables: dicts with name, made, columns (labels) and rows (label, [(reference, text)]).
        sums: dicts with answer, divided, and terms, each a list of references.
        shapes: (name, text).
        links, ids: as they stand.
    """

    def __init__(self, text):
        super().__init__()
        self.numbers, self.loose, self.formula_numbers = [], [], []
        self.tables, self.sums, self.shapes = [], [], []
        self.links, self.ids, self.tags = [], [], []
        self._span, self._cell, self._quiet, self._mn = None, None, 0, False
        self._terms_open, self._term = False, None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        have = dict(attributes)
        self.tags.append((tag, have))
        if "id" in have:
            self.ids.append(have["id"])
        if tag in ("style", "script", "math"):
            self._quiet += 1
        if tag == "mn":
            self._mn = True
        if tag == "a" and "href" in have:
            self.links.append(have["href"])
        if tag in ENDS_A_CELL:
            self._cell = None
        if tag == "table":
            name, made = have.get("data-name"), have.get("data-made", "")
            self.tables.append({"name": name, "made": made, "columns": [], "rows": []})
        if tag == "tr" and self.tables:
            self.tables[-1]["rows"].append(["", []])
        if tag in CELLS:
            self._cell = {"tag": tag, "from": have.get("data-from"), "text": ""}
            self._keep_cell()
        if tag == "span" and "data-from" in have:
            self._span = ["data-from", have["data-from"], ""]
        if tag == "span" and "data-shape" in have:
            self._span = ["data-shape", have["data-shape"], ""]
        if "data-sum" in have:
            divided = int(have["data-divided"])
            self.sums.append({"answer": have["data-sum"], "divided": divided, "terms": []})
        if tag == "li" and "data-term" in have:
            self._term = []

    def handle_endtag(self, tag):
        if tag in ("style", "script", "math"):
            self._quiet -= 1
        if tag == "mn":
            self._mn = False
        if tag in ENDS_A_CELL:
            self._cell = None
        if tag == "span" and self._span:
            kind, reference, text = self._span
            (self.numbers if kind == "data-from" else self.shapes).append((reference, text))
            if self._term is not None and kind == "data-from":
                self._term.append(reference)
            self._span = None
        if tag == "li" and self._term is not None:
            self.sums[-1]["terms"].append(self._term)
            self._term = None

    def handle_data(self, text):
        if self._mn:
            self.formula_numbers.append(text)
        elif self._quiet:
            return
        elif self._span:
            self._span[2] += text
        elif self._cell and self._cell["from"]:
            self._cell["text"] += text
            self._cell["entry"][1] = self._cell["text"]
            self._cell["number"][1] = self._cell["text"]
        else:
            self.loose.append(text)
            if self._cell:
                self._cell["text"] += text
                if self._cell["tag"] == "th":
                    self._label(self._cell)

    def _keep_cell(self):
        cell, table = self._cell, self.tables[-1]
        if cell["from"]:
            cell["entry"], cell["number"] = [cell["from"], ""], [cell["from"], ""]
            table["rows"][-1][1].append(cell["entry"])
            self.numbers.append(cell["number"])
        elif cell["tag"] == "th" and len(table["rows"]) == 1:
            table["columns"].append("")
            cell["column"] = len(table["columns"]) - 1

    def _label(self, cell):
        table = self.tables[-1]
        if "column" in cell:
            table["columns"][cell["column"]] = cell["text"]
        else:
            table["rows"][-1][0] = cell["text"]


def look_up(values, reference):
    """The number that "W_q[3,1]" means in a dict of arrays; "a[0]*b[1]" is a product."""
    product = 1
    for entry in reference.split("*"):
        name, places = re.fullmatch(r"(\w+)(?:\[([\d,]+)\])?", entry).groups()
        product = product * values[name][tuple(map(int, places.split(","))) if places else ()]
    return product


def rounds_to(number, text):
    """Whether a text shows a number: whole, at 4 decimals, as a power of ten, or a setting."""
    if np.asarray(number).dtype.kind in "biu":
        return text == str(int(number))
    if np.isneginf(number):
        return text == "−∞"
    if text == "0":  # among powers of ten
        return number == 0
    exact = Decimal(float(number))  # every digit of the double
    if re.fullmatch(r"-?\d\.\d{4}e[+-]\d\d", text):
        digits, power = text.split("e")
        exact, text = exact.scaleb(-int(power)), digits
    if not re.fullmatch(r"-?\d+\.\d{4}", text):
        return False
    rounded = exact.quantize(Decimal("0.0001"), ROUND_HALF_EVEN)
    return rounded == Decimal(text) and not (text.startswith("-") and rounded == 0)


def entries(source, i, j, values, ids, targets):
    """The numbers that one source such as "X[i,:]" means for entry [i, j]."""
    name, parts = re.fullmatch(r"(\w+)\[(.+)\]", source).groups()
    places = []
    for axis, part in enumerate(parts.split(",")):
        length = values[name].shape[axis]
        if part == ":":
            places.append(list(range(length)))
        elif re.fullmatch(r"\d+:\d+", part):
            places.append(list(range(*map(int, part.split(":")))))
        elif part[0] == "@":
            places.append([ids[i]])
        elif part[0] == "*":
            places.append([targets[i]])
        elif part[0] == "~":
            places.append([place for place, token in enumerate(ids) if token == i])
        else:  # "3", "i", "8+j", "j/8", "j%8"
            place = eval(part.replace("/", "//"), {"i": i, "j": j})
            places.append([place] if place < length else [])  # a position beyond the sentence
    return values[name][np.ix_(*places)].ravel()
