"""A notebook as somebody handed it in: bytes of any kind to a list of cells, or one clear reason.

Only the kind and the source of each cell is kept, and what it is called. Outputs, attachments,
kernel and all other metadata are left behind; nothing here runs, and nothing trusts a field.
"""

import codecs
import json
from dataclasses import dataclass

from byhand_course.errors import Refused

MAX_CELLS = 500
MAX_SOURCE_CHARS = 100_000  # in one cell
KINDS = ("code", "markdown", "raw")


class Unreadable(Refused):
    """This file cannot be graded; the message says why, and what its owner can do."""


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        kind: "code", "markdown" or "raw".
        source: its text, lines ended by a line feed.
        name: what nbgrader's metadata or, failing that, its id calls it; or nothing. A hint, since
            anybody may have changed it.
    """

    kind: str
    source: str
    name: str = ""


def read_cells(raw: bytes) -> tuple[list[Cell], list[str]]:
    """The cells of a notebook file, and what had to be repaired to read them.

    Raises:
        Unreadable: if it is no notebook.
    """
    text, repairs = _decoded(raw)
    notebook = _parsed(text)
    cells = _cell_list(notebook, repairs)
    if len(cells) > MAX_CELLS:
        raise Unreadable(f"it has {len(cells)} cells; at most {MAX_CELLS} are read")
    read = [_cell(cell) for cell in cells]
    if any("\r" in cell.source for cell in read):
        repairs.append("line ends of Windows were changed to plain ones")
        read = [
            Cell(cell.kind, cell.source.replace("\r\n", "\n").replace("\r", "\n"), cell.name)
            for cell in read
        ]
    return read, repairs


def _decoded(raw: bytes) -> tuple[str, list[str]]:
    if not raw.strip():
        raise Unreadable("it is empty: save the notebook and hand it in again")
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if raw.startswith(mark):
            encoding = "utf-8-sig" if name == "utf-8" else name
            said = "a byte order mark was taken off" if name == "utf-8" else "read as UTF-16"
            return _text(raw, encoding), [said]
    if raw[1:2] == b"\0" or raw[:1] == b"\0":
        return _text(raw, "utf-16-be" if raw[:1] == b"\0" else "utf-16-le"), ["read as UTF-16"]
    return _text(raw, "utf-8"), []


def _text(raw: bytes, encoding: str) -> str:
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        name = encoding.removesuffix("-sig").upper()
        raise Unreadable(f"byte {error.start} is not {name} text: save it from Jupyter") from None


def _parsed(text: str) -> dict:
    start = text.lstrip()[:200].lower()
    if start.startswith("<"):
        raise Unreadable(
            "it is a web page, not a notebook: download the .ipynb file itself (File, Download)"
        )
    try:
        notebook = json.loads(text)
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()) - 1 or "Unterminated string" in error.msg:
            raise Unreadable("it breaks off in the middle: hand it in again, whole") from None
        raise Unreadable(f"it is not JSON: {error.msg} in line {error.lineno}") from None
    except (ValueError, RecursionError):
        raise Unreadable("it is not a notebook: its JSON is nested too deep or too large") from None
    if not isinstance(notebook, dict):
        raise Unreadable(
            f"it is JSON, but not a notebook: a {type(notebook).__name__} stands in it"
        )
    return notebook


def _cell_list(notebook: dict, repairs: list[str]) -> list:
    if isinstance(notebook.get("cells"), list):
        return notebook["cells"]
    sheets = notebook.get("worksheets")
    if isinstance(sheets, list):
        repairs.append("a notebook of nbformat 3 was read as one of today's")
        found = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
        return [cell for cells in found if isinstance(cells, list) for cell in cells]
    raise Unreadable("it is JSON, but not a notebook: it has no list of cells")


def _cell(cell: object) -> Cell:
    if not isinstance(cell, dict):
        raise Unreadable("one of its cells is no cell: open it in Jupyter and save it again")
    kind = cell.get("cell_type")
    source = _joined(cell.get("source", cell.get("input", "")))
    if kind == "heading":  # nbformat 3
        level = cell.get("level")
        signs = "#" * level if isinstance(level, int) and 1 <= level <= 6 else "#"
        kind, source = "markdown", f"{signs} {source}"
    if not isinstance(kind, str) or kind not in KINDS:
        kind = "raw"
    if len(source) > MAX_SOURCE_CHARS:
        raise Unreadable(
            f"one of its cells holds {len(source):,} characters, and at most "
            f"{MAX_SOURCE_CHARS:,} are read"
        )
    return Cell(kind, source, _name(cell))


def _joined(source: object) -> str:
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    if not isinstance(source, str):
        return ""
    return source.encode("utf-8", "replace").decode()  # half a surrogate pair cannot be written


def _name(cell: dict) -> str:
    metadata = cell.get("metadata")
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    for found in (nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None, cell.get("id")):
        if isinstance(found, str):
            return found[:100]
    return ""
