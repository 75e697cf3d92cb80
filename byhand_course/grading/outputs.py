"""The outputs of one cell, caught and bounded. Runs beside inside.py; imports nothing of ours."""

import base64
import re

PICTURE = "image/png"
PLAIN = "text/plain"
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
MAX_OUTPUTS = 200  # in one cell
CUT = "\n[The rest of this cell's output is left out: there is too much of it.]\n"


class Capture:
    """The outputs of one cell, in their order and as nbformat 4 writes them, bounded on arrival.

    Args:
        text_chars: room for text of every kind.
        picture_chars: room for pictures, as base64.
    """

    def __init__(self, text_chars: int = 0, picture_chars: int = 0) -> None:
        self.outputs: list[dict] = []
        self._text_room = text_chars
        self._picture_room = picture_chars
        self._cut = False  # something did not fit; nothing is taken after it but errors
        self._named: dict[str, dict] = {}  # displays that may be renewed, by display_id

    def write(self, name: str, text: str) -> None:
        """Take what was printed on "stdout" or "stderr"."""
        if self._cut:
            return
        text = self._fit(text)
        last = self.outputs[-1] if self.outputs else {}
        if last.get("name") == name:
            last["text"] += text
        elif text:
            self._append({"output_type": "stream", "name": name, "text": text})
        self._say_if_cut()

    def show(
        self,
        output_type: str,
        data: dict,
        name: str | None = None,
        update: bool = False,
        **more: object,
    ) -> None:
        """Take a display_data or execute_result; only its plain text and its picture are kept.

        Args:
            output_type: as nbformat calls it.
            data: contents by MIME type.
            name: the display_id, if it has one.
            update: whether it takes the place of what this cell showed under that name, if it did.
            more: other fields of the output.
        """
        if self._cut:
            return
        shown = self._named.get(name or "") if update else None
        if update and shown is None:
            return  # another cell's output, which is written already
        if shown is not None:
            self._text_room += len(shown["data"].get(PLAIN, ""))
            self._picture_room += len(shown["data"].get(PICTURE, ""))
        kept = {}
        if isinstance(data.get(PLAIN), str):
            kept[PLAIN] = self._fit(data[PLAIN])
        if isinstance(data.get(PICTURE), (bytes, str)):
            picture = _base64(data[PICTURE])
            self._cut = self._cut or len(picture) > self._picture_room
            if not self._cut:
                self._picture_room -= len(picture)
                kept[PICTURE] = picture
        if shown is not None:
            shown["data"] = kept or {PLAIN: ""}
        elif kept:
            self._append({"output_type": output_type, "data": kept, "metadata": {}, **more})
            if name and not self._cut:
                self._named[name] = self.outputs[-1]
        self._say_if_cut()

    def fail(self, name: str, words: str, traceback: list[str]) -> None:
        """Take an exception: its type's name, its words, and the traceback."""
        was_cut = self._cut
        trace = self._fit(_plain("\n".join(traceback)))
        output = {"output_type": "error", "ename": name[:200], "evalue": self._fit(_plain(words))}
        self._append({**output, "traceback": trace.split("\n")})
        if not was_cut:
            self._say_if_cut()

    def _fit(self, text: str) -> str:
        """As much of text as there is room for, every character one that a file can hold."""
        fitting = text[: self._text_room].encode("utf-8", "replace").decode()
        self._text_room -= len(fitting)
        self._cut = self._cut or len(fitting) < len(text)
        return fitting

    def _append(self, output: dict) -> None:
        if len(self.outputs) < MAX_OUTPUTS:
            self.outputs.append(output)
        else:
            self._cut = True

    def _say_if_cut(self) -> None:
        if self._cut:
            self.outputs.append({"output_type": "stream", "name": "stdout", "text": CUT})


def _plain(text: str) -> str:
    return ANSI.sub("", text)  # colours of IPython's, or of the learner's own words


def _base64(picture: bytes | str) -> str:
    if isinstance(picture, bytes):
        return base64.b64encode(picture).decode()
    return "".join(picture.split())  # IPython's own Image comes encoded, in lines
