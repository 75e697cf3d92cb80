"""Text of unknown origin, made harmless to look at: on a page, in a terminal, in a log."""

import re

# What steers a terminal or turns text around: control characters but line ends and tabs, half
# characters, line and paragraph separators, and the marks that change the direction of writing.
STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def visible(text: str) -> str:
    """Text in which every character that steers instead of showing is spelled out, as in \\x1b."""
    return STEERING.sub(lambda found: _spelled(found.group()), text.replace("\r\n", "\n"))


def one_line(text: str, most_chars: int = 200) -> str:
    """The same on one line and cut to a length that fits a table or a sentence."""
    line = " ".join(visible(text).split())
    return line if len(line) <= most_chars else f"{line[: most_chars - 1]}…"


def _spelled(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
