"""Values and places in a learner's words."""

import numpy as np

from .relations import close
from .tree import Other


def is_numeric(value: object) -> bool:
    return isinstance(value, (bool, int, float, np.ndarray, np.generic))


def describe(value: object) -> str:
    """A value's type in a learner's words."""
    if isinstance(value, Other):
        return f"a {value.type_name}"
    if isinstance(value, (np.ndarray, np.generic)) and np.ndim(value):
        return f"an array of shape {np.shape(value)}"
    if isinstance(value, (bool, np.bool_)):
        return "True or False"
    if is_numeric(value):
        return "a single number"
    names = {str: "text", list: "a list", tuple: "a tuple", dict: "a dict", bytes: "bytes"}
    return names.get(type(value), f"a {type(value).__name__}")


def join(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def telling_place(yours: np.ndarray, expected: np.ndarray, tolerance: float) -> tuple:
    """An index of up to three neighbouring entries of which the first differing one is one."""
    if not yours.ndim:
        return ()
    first = np.argwhere(~close(yours, expected, tolerance))[0]
    length = yours.shape[-1]
    start = int(max(0, min(first[-1], length - 3)))
    return (*(int(axis) for axis in first[:-1]), slice(start, min(start + 3, length)))


def index_words(place: tuple) -> str:
    """An index as a learner would type it: [0, 1, :3], or nothing for a single number."""
    if not place:
        return ""
    *axes, window = place
    start = window.start or ""
    return f"[{', '.join([*map(str, axes), f'{start}:{window.stop}'])}]"


def alike(yours: np.ndarray, expected: np.ndarray) -> tuple[str, str]:
    """Both as text, with as many decimals as it takes to see that they differ."""
    for digits in (4, 6, 8, 10, 12, 15):
        texts = numbers_text(yours, digits), numbers_text(expected, digits)
        if texts[0] != texts[1]:
            return texts
    return texts


def numbers_text(numbers: np.ndarray, digits: int) -> str:
    """A few numbers in brackets, or one without."""
    if numbers.dtype.kind == "f":
        magnitude = np.abs(numbers[np.isfinite(numbers) & (numbers != 0)])
        plain = not magnitude.size or (magnitude.max() < 1e5 and magnitude.max() > 1e-3)
        entries = [f"{x:.{digits}f}" if plain else f"{x:.{digits}e}" for x in numbers.tolist()]
    else:
        entries = [str(x) for x in numbers.tolist()]
    return entries[0] if len(entries) == 1 else f"[{' '.join(entries)}]"


def as_text(argument: object) -> str:
    """An argument of a small example, on one line, as a learner would type it."""
    if isinstance(argument, np.ndarray):
        text = np.array2string(argument, precision=4, separator=", ", max_line_width=1000)
        return " ".join(text.split())
    return repr(argument)


def shorten(text: str, width: int = 72) -> str:
    """Text cut in its middle to fit a line."""
    return text if len(text) <= width else f"{text[: width // 2 - 2]} … {text[2 - width // 2 :]}"
