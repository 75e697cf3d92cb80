"""The course's ten words, and byte-pair encoding against a second implementation."""

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byhand_course.reference import (
    VOCABULARY,
    decode,
    encode,
    ids_of,
    learn_merges,
    merge_pair,
    one_hot,
)

CORPUS = "the cat sat on the mat, the cat that sat there; ein Käfer, zwei Käfer, 猫 and 🐈"
QUICK = settings(deadline=None, max_examples=100)


def test_the_vocabulary_has_its_order(witness):
    """Ids 0 to 9 are fixed, and "I like transformers" is 1 3 4 5 2 in training."""
    words = "<PAD> <BOS> <EOS> I like transformers the cat sat mat"
    assert " ".join(VOCABULARY) == words
    assert len(VOCABULARY) == 10
    witness("text: ids_of", ids_of("I like transformers"), np.array([1, 3, 4, 5, 2]), 0)
    witness("text: ids_of, no words", ids_of(""), np.array([1, 2]), 0)


def test_an_unknown_word_is_named_in_one_sentence():
    """The message says which word, and which are known."""
    with pytest.raises(ValueError, match=r"^'dog' is not in the vocabulary: .* mat\.$"):
        ids_of("the dog sat")


def test_one_hot_has_a_single_one(witness):
    """Row t has its 1 in column ids[t], for any leading axes."""
    ids = np.array([[2, 0], [1, 2]])
    expected = np.array([[[0, 0, 1, 0], [1, 0, 0, 0]], [[0, 1, 0, 0], [0, 0, 1, 0]]])
    witness("text: one_hot", one_hot(ids, 4), expected, 0)


def replaced(text, merges):
    """Apply merges with str.replace, every token a single character of its own.

    Returns:
        The tokens, as bytes.
    """
    meaning = {chr(256 + i): bytes([i]) for i in range(256)}
    written = "".join(chr(256 + i) for i in text.encode())
    for left, right in merges:
        sign = {token: char for char, token in meaning.items()}
        if left + right not in sign:
            new = chr(1024 + len(meaning))
            meaning[new] = left + right
            sign[left + right] = new
        written = written.replace(sign[left] + sign[right], sign[left + right])
    return [meaning[char] for char in written]


@QUICK
@given(st.text())
def test_any_text_survives_encoding(text):
    """decode(encode(text)) is text, whatever script it is written in."""
    merges = learn_merges(CORPUS, 30)
    assert decode(encode(text, merges)) == text
    assert decode(encode(text, learn_merges(text, 5))) == text


@QUICK
@given(st.text("abc ä", max_size=60), st.integers(0, 12))
def test_merging_is_replacing(text, num_merges):
    """encode does what replacing pairs of characters does, in the order learned."""
    merges = learn_merges(text, num_merges)
    assert encode(text, merges) == replaced(text, merges)


@QUICK
@given(st.text("ab", min_size=2, max_size=40))
def test_the_first_merge_is_the_most_frequent_pair(text):
    """It is one that a regular expression counts most often, overlaps included."""
    counts = Counter(m.group(1) for m in re.finditer(r"(?=(..))", text))
    ((left, right),) = learn_merges(text, 1)
    first = next(pair for pair, count in counts.items() if count == max(counts.values()))
    assert (left + right).decode() == first


def test_merging_by_hand():
    """The pairs of a small text are found and joined as on paper."""
    assert merge_pair(list("aaabaa"), ("a", "a")) == ["aa", "a", "b", "aa"]
    assert merge_pair([b"l", b"o", b"lo", b"l"], (b"l", b"o")) == [b"lo", b"lo", b"l"]
    assert merge_pair(["a"], ("a", "a")) == ["a"]
    assert learn_merges("low lower lowest", 3) == [(b"l", b"o"), (b"lo", b"w"), (b" ", b"low")]
    assert encode("slow low", [(b"l", b"o"), (b"lo", b"w")]) == [b"s", b"low", b" ", b"low"]


def test_learning_stops_at_one_token():
    """More merges than the text allows are not invented."""
    assert learn_merges("abab", 99) == [(b"a", b"b"), (b"ab", b"ab")]
    assert learn_merges("", 3) == learn_merges("a", 3) == []


def test_a_list_cut_short_still_decodes():
    """Bytes that are no whole character become the replacement character."""
    assert decode(encode("ä", [])[:1]) == "\ufffd"


def test_tokens_are_left_alone():
    """merge_pair returns a new list."""
    tokens = ["a", "b"]
    assert merge_pair(tokens, ("a", "b")) == ["ab"]
    assert tokens == ["a", "b"]
