"""From text to token ids: the course's ten words, and byte-pair encoding for any text.

Sizes: a text becomes a list of tokens; ids have shape (..., T), each from 0 to vocab_size - 1.
Source: Sennrich, Haddow and Birch 2016, arXiv:1508.07909, on bytes as in GPT-2 (Radford et al.
2019); used on worked page 1.
"""

import numpy as np

VOCABULARY = (
    "<PAD>",
    "<BOS>",
    "<EOS>",
    "I",
    "like",
    "transformers",
    "the",
    "cat",
    "sat",
    "mat",
)


def ids_of(text, vocabulary=VOCABULARY):
    """Look up the id of every word of a text, between <BOS> and <EOS>.

    Args:
        text: words of the vocabulary, separated by spaces.
        vocabulary: tokens in the order of their ids.

    Returns:
        (T,) integers, T two more than there are words.
    """
    words = ["<BOS>", *text.split(), "<EOS>"]
    for word in words:
        if word not in vocabulary:
            raise ValueError(f"{word!r} is not in the vocabulary: {' '.join(vocabulary)}.")
    return np.array([vocabulary.index(word) for word in words])


def one_hot(ids, vocab_size):
    """Write each id as a row of zeros with a single 1 in its own column.

    Args:
        ids: (...) integers from 0 to vocab_size - 1.

    Returns:
        (..., vocab_size) zeros and ones.
    """
    rows = np.eye(vocab_size)  # row i is the one-hot of id i
    return rows[ids]


def merge_pair(tokens, pair):
    """Join the two tokens of a pair wherever they stand side by side.

    Args:
        tokens: list of tokens, all strings or all bytes.
        pair: (left, right), the two tokens to join.

    Returns:
        A new list, read from left to right: of three equal tokens, the first two join.
    """
    left, right = pair
    merged = []
    position = 0
    while position < len(tokens):
        if tuple(tokens[position : position + 2]) == (left, right):
            merged.append(left + right)
            position += 2
        else:
            merged.append(tokens[position])
            position += 1
    return merged


def learn_merges(text, num_merges):
    """Find the pairs worth joining: again and again the most frequent one.

    Args:
        text: any string; it is split into bytes and read as one piece, spaces included.
        num_merges: how many pairs to find, fewer if the text shrinks to one token before.

    Returns:
        List of pairs (left, right) of bytes, in the order found; of equally frequent pairs the
        one that stands first in the text.
    """
    tokens = [bytes([value]) for value in text.encode("utf-8")]
    merges = []
    while len(merges) < num_merges and len(tokens) > 1:
        counts = {}
        for position in range(len(tokens) - 1):
            pair = (tokens[position], tokens[position + 1])
            counts[pair] = counts.get(pair, 0) + 1
        most_frequent = max(counts, key=counts.get)  # the first of equals: dicts keep order
        merges.append(most_frequent)
        tokens = merge_pair(tokens, most_frequent)
    return merges


def encode(text, merges):
    """Split a text into subword tokens.

    Args:
        text: any string, words never seen included.
        merges: list of pairs of bytes, applied in the order learned.

    Returns:
        List of bytes, whose concatenation is the text in UTF-8.
    """
    tokens = [bytes([value]) for value in text.encode("utf-8")]
    for pair in merges:
        tokens = merge_pair(tokens, pair)
    return tokens


def decode(tokens):
    """Put tokens back together as a text.

    Args:
        tokens: list of bytes.

    Returns:
        A string; bytes that are no whole character, as when a list is cut short, become U+FFFD.
    """
    joined = b"".join(tokens)
    return joined.decode("utf-8", errors="replace")
