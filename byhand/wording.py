"""Values, places and texts in a learner's words."""

import numpy as np

from .ruler import as_array, close, is_numeric
from .tree import Code, Other, Seeded

DIGITS = (4, 6, 8, 10, 12, 15)  # after the point, until a difference shows
WIDEST = 40  # of text shown as evidence
LONGEST = 12  # numbers in the arguments that a learner still reads
LONGEST_TEXT = 120  # all arguments, written out


def describe(value: object) -> str:
    """A value's type in a learner's words."""
    if isinstance(value, Other):
        return a(one_line(value.type_name, WIDEST))
    if value is None:
        return "None"
    if isinstance(value, (np.ndarray, np.generic)) and np.ndim(value):
        return f"an array of shape {np.shape(value)}"
    if is_numeric(value):
        return "True or False" if as_array(value).dtype.kind == "b" else "a single number"
    if isinstance(value, tuple) and len(value) == 1:
        return "a tuple of one (a comma after a value makes it so)"
    names = {str: "text", list: "a list", tuple: "a tuple", dict: "a dict", bytes: "bytes"}
    named = (name for kind, name in names.items() if isinstance(value, kind))
    return next(named, None) or a(one_line(type(value).__name__, WIDEST))


def a(noun: str) -> str:
    """A noun with its article."""
    return f"{'an' if noun[:1].lower() in set('aeiou') else 'a'} {noun}"


def count(number: int, noun: str, plural: str) -> str:
    """As in "1 entry" and "2 entries"."""
    return f"{number} {noun if number == 1 else plural}"


def join(words: list[str]) -> str:
    """As in "dx, dgamma and dbeta"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def shorten(text: str, width: int = 72) -> str:
    """Text cut in its middle to fit a line."""
    return text if len(text) <= width else f"{text[: width // 2 - 2]} … {text[2 - width // 2 :]}"


def one_line(text: str, width: int = 72) -> str:
    """Text on one line, without what cannot be printed, cut in its middle."""
    words = "".join(letter if letter.isprintable() else " " for letter in text[: 100 * width])
    return shorten(" ".join(words.split()), width)


def difference(yours: object, expected: object, tolerance: float) -> tuple[str, str, str]:
    """The smallest difference of two answers of one shape: its index, and both sides as text."""
    if is_numeric(yours) and is_numeric(expected):
        numbers, wanted = as_array(yours), as_array(expected)
        if numbers.shape != wanted.shape:
            return "", describe(numbers), describe(wanted)
        if not close(numbers, wanted, tolerance).all():
            return _numeric_difference(numbers, wanted, tolerance)
    return "", *_texts(yours, expected)


def _numeric_difference(
    yours: np.ndarray, expected: np.ndarray, tolerance: float
) -> tuple[str, str, str]:
    """The first differing entry with up to two neighbours; alone, if it takes many decimals."""
    if not yours.ndim:
        return "", *_alike(yours, expected, DIGITS)
    first = tuple(np.argwhere(~close(yours, expected, tolerance))[0].tolist())
    axes, at, length = first[:-1], first[-1], yours.shape[-1]
    start = max(0, min(at, length - 3))
    window = slice(start, min(start + 3, length))
    texts = _alike(yours[(*axes, window)], expected[(*axes, window)], DIGITS[:1])
    if texts[0] != texts[1] and length > 1:
        last = f"{start or ''}:{window.stop}"
    else:
        last, texts = str(at), _alike(yours[first], expected[first], DIGITS)
    return f"[{', '.join([*map(str, axes), last])}]", *texts


def _alike(yours: np.ndarray, expected: np.ndarray, digits: tuple[int, ...]) -> tuple[str, str]:
    """Both as text in the same style, with as many decimals as it takes to see that they differ."""
    numbers = np.atleast_1d(yours).tolist(), np.atleast_1d(expected).tolist()
    sizes = [abs(x) for x in (*numbers[0], *numbers[1]) if np.isfinite(x) and x != 0]
    style = "f" if not sizes or 1e-3 < max(sizes) < 1e5 else "e"
    for decimals in digits:
        entries = [[_number(x, decimals, style) for x in side] for side in numbers]
        if entries[0] != entries[1]:
            break
    width = max(map(len, (*entries[0], *entries[1])))
    if len(entries[0]) == 1:
        return entries[0][0], entries[1][0]
    padded = [" ".join(entry.rjust(width) for entry in side) for side in entries]
    return f"[{padded[0]}]", f"[{padded[1]}]"


def _number(x: float | bool, decimals: int, style: str) -> str:
    return f"{x:.{decimals}{style}}" if isinstance(x, float) else str(x)


def _texts(yours: object, expected: object) -> tuple[str, str]:
    """Two values as text, long ones from shortly before the place where they part."""
    texts = _written(yours), _written(expected)
    shortest = min(map(len, texts))
    parting = next((i for i in range(shortest) if texts[0][i] != texts[1][i]), shortest)
    start = max(0, parting - WIDEST // 3) if max(map(len, texts)) > WIDEST else 0
    return _window(texts[0], start), _window(texts[1], start)


def _window(text: str, start: int) -> str:
    before, room = ("…", WIDEST - 1) if start else ("", WIDEST)
    shown = text[start:]
    return before + (shown if len(shown) <= room else f"{shown[: room - 1]}…")


def arguments_text(names: tuple[str, ...], inputs: tuple) -> str:
    """The arguments as a learner would type them, or nothing if they are too many to read."""
    arrays = [argument for argument in inputs if isinstance(argument, np.ndarray)]
    if sum(array.size for array in arrays) > LONGEST:
        return ""
    text = ", ".join(
        f"{name} = {_written(item)}" for name, item in zip(names, inputs, strict=False)
    )
    return text if len(text) <= LONGEST_TEXT else ""


def _written(value: object) -> str:
    """A value on one line, as a learner would type it."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, float):
        return repr(float(f"{value:.5g}"))
    if isinstance(value, Seeded):
        return f"np.random.default_rng({value.seed})"
    if isinstance(value, Code):
        return value.name
    if isinstance(value, Other):
        return describe(value)
    if isinstance(value, (tuple, list)):
        inside = ", ".join(map(_written, value))
        if isinstance(value, list):
            return f"[{inside}]"
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, dict):
        pairs = (f"{_written(key)}: {_written(item)}" for key, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    return repr(value)
