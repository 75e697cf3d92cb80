"""What a set of worked pages is about: a sentence, a seed and the sizes of the model."""

from dataclasses import dataclass

from byhand_course.errors import Refused
from byhand_course.reference import COURSE_SIZES, VOCABULARY

SENTENCE = "I like transformers"
SPECIAL = VOCABULARY[:3]  # <PAD> <BOS> <EOS>
MOST_PARAMETERS = 2_000_000  # the pages of so large a run take a minute and a gigabyte
MOST_WORDS = 200
SHORT = 7  # words whose matrices are shown in full; a page stays under 300 KB
MOST_HEADS = 4


@dataclass(frozen=True, kw_only=True)
class Settings:
    """A run that can be traced; `settle` makes one from what a person typed.

    Attributes:
        sentence: its words, separated by single spaces.
        vocabulary: the tokens that the model knows, in the order of their ids.
        is_course_vocabulary: whether that is the course's own.
    """

    sentence: str
    seed: int
    d_model: int
    num_heads: int
    d_ff: int
    max_len: int
    vocabulary: tuple[str, ...]

    @property
    def is_course_vocabulary(self) -> bool:
        return self.vocabulary == VOCABULARY

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes as init_params takes them."""
        return {
            "d_model": self.d_model,
            "num_heads": self.num_heads,
            "d_ff": self.d_ff,
            "vocab_size": len(self.vocabulary),
            "num_layers": 1,
            "max_len": self.max_len,
        }

    @property
    def is_large(self) -> bool:
        """Whether it is larger than the course's own runs, whose matrices are shown in full."""
        return (
            self.d_model > COURSE_SIZES["d_model"]
            or self.d_ff > COURSE_SIZES["d_ff"]
            or self.num_heads > MOST_HEADS
            or len(self.sentence.split()) > SHORT
        )


def settle(
    sentence: str = SENTENCE,
    *,
    seed: int = 0,
    d_model: int = COURSE_SIZES["d_model"],
    num_heads: int = COURSE_SIZES["num_heads"],
    d_ff: int | None = None,
    max_len: int | None = None,
    vocabulary: str | None = None,
) -> Settings:
    """Settings from what a person typed.

    Args:
        d_ff: by default four times d_model.
        max_len: by default the course's, or as many positions as the sentence needs.
        vocabulary: words; by default the course's vocabulary if it has all words of the sentence,
            else a vocabulary of those words.

    Raises:
        Refused: if that is no model, or the sentence does not fit it.
    """
    words = sentence.split()
    _hold_words(words)
    if d_ff is None:
        d_ff = 4 * d_model
    length = len(words) + 2
    if max_len is None:
        max_len = max(COURSE_SIZES["max_len"], length)
    _hold_sizes(seed, d_model, num_heads, d_ff, max_len)
    if length > max_len:
        raise Refused(
            f"The sentence does not fit: with <BOS> and <EOS> it has {length} tokens, and max_len "
            f"is {max_len}. Shorten it, or give --max-len {length}."
        )
    settings = Settings(
        sentence=" ".join(words),
        seed=seed,
        d_model=d_model,
        num_heads=num_heads,
        d_ff=d_ff,
        max_len=max_len,
        vocabulary=_vocabulary(words, vocabulary),
    )
    _hold_to_limit(settings)
    return settings


def _hold_words(words: list[str]) -> None:
    if not words:
        raise Refused("There is no sentence: give at least one word with --sentence.")
    if len(words) > MOST_WORDS:
        raise Refused(
            f"The sentence has {len(words)} words, and a page can show {MOST_WORDS}: shorten it."
        )
    special = next((word for word in words if word in SPECIAL), None)
    if special:
        raise Refused(
            f"{special} is put in by the course itself: leave it out of the sentence, <BOS> and "
            "<EOS> are added around it."
        )


def _hold_sizes(seed: int, d_model: int, num_heads: int, d_ff: int, max_len: int) -> None:
    sizes = {"d-model": d_model, "num-heads": num_heads, "d-ff": d_ff, "max-len": max_len}
    for name, size in sizes.items():
        if size < 1:
            raise Refused(f"--{name} must be at least 1, not {size}.")
    if d_model < 2:
        raise Refused("--d-model must be at least 2: layer norm has nothing to norm in 1 feature.")
    if d_model % num_heads:
        below = d_model // num_heads * num_heads
        raise Refused(
            f"{d_model} features cannot be shared among {num_heads} heads: --d-model must be a "
            f"multiple of --num-heads, such as {below or below + num_heads}."
        )
    if seed < 0:
        raise Refused(f"--seed must be 0 or more, not {seed}.")


def _vocabulary(words: list[str], given: str | None) -> tuple[str, ...]:
    """The tokens that the model knows.

    Raises:
        Refused: if a vocabulary is given that lacks a word of the sentence.
    """
    if given is None:
        if set(words) <= set(VOCABULARY):
            return VOCABULARY
        return SPECIAL + tuple(dict.fromkeys(words))
    known = SPECIAL + tuple(dict.fromkeys(word for word in given.split() if word not in SPECIAL))
    unknown = next((word for word in words if word not in known), None)
    if unknown is not None:
        raise Refused(
            f"{unknown!r} is an unknown token: it is not in the vocabulary {' '.join(known)}. Add "
            "it to --vocabulary, or leave that option out."
        )
    return known


def _hold_to_limit(settings: Settings) -> None:
    d_model, d_ff = settings.d_model, settings.d_ff
    rows = 2 * len(settings.vocabulary) + settings.max_len
    parameters = rows * d_model + 4 * d_model**2 + 2 * d_model * d_ff + d_ff + 7 * d_model
    if parameters > MOST_PARAMETERS:
        raise Refused(
            f"That model would have {parameters:,} parameters; the pages can be made for "
            f"{MOST_PARAMETERS:,} at most. Choose a smaller --d-model or --d-ff."
        )
