# mypy: allow-untyped-defs
"""What is graded in lesson 4, and the wrong answers it knows."""

import numpy as np

from byhand_course.lessons.exercise import ByHand, Exercise, Lesson, Mistake, Prediction, Slip
from byhand_course.reference.embedding import embed
from byhand_course.reference.tokens import (
    VOCABULARY,
    encode,
    ids_of,
    learn_merges,
    merge_pair,
    one_hot,
)

# The merges that the prose learns in a cell, and the word that it splits with them.
SHOWN_MERGES = (("a", "t"), ("t", "h"), ("th", "e"))
SHOWN_WORD = "theatre"

# The merges and the word of the exercise by hand: twice a later merge comes too late.
HAND_MERGES = (("t", "h"), ("th", "e"), ("e", "r"), ("a", "t"))
HAND_WORD = "weather"


def _merged(word, merges) -> list[str]:
    tokens = list(word)
    for pair in merges:
        tokens = merge_pair(tokens, pair)
    return tokens


MERGES_BY_HAND = ByHand(
    name="merges-by-hand",
    objective="Split a word into subwords by hand, with merges in the order learned.",
    minutes=5,
    points=1,
    form='a list of tokens in quotes, such as ["th", "e", "at", "re"]',
    answer=_merged(HAND_WORD, HAND_MERGES),
    hints=(
        "Write the seven letters with gaps between them. Take the first merge: where do its two "
        "tokens stand side by side?",
        "Finish one merge for the whole word before you look at the next, and never cut apart "
        "what is joined. Two of the four merges will find nothing.",
        f"After the second merge there are {len(_merged(HAND_WORD, HAND_MERGES[:2]))} tokens, the "
        f'longest of them "{max(_merged(HAND_WORD, HAND_MERGES[:2]), key=len)}". Is there still '
        "a lone e before the r, and a lone t behind the a?",
    ),
    slips=(
        Slip(
            name="er-before-the",
            answer=_merged(HAND_WORD, [HAND_MERGES[0], *HAND_MERGES[2:]]),
            says='You gave the e to "er". Two merges want that e: which of them was learned first?',
        ),
        Slip(
            name="last-learned-first",
            answer=_merged(HAND_WORD, HAND_MERGES[::-1]),
            says="You began at the end of the list. Which merge was learned first, and what does "
            "it do to the t?",
        ),
        Slip(
            name="from-left-to-right",
            answer=["w", "e", "at", "he", "r"],
            says="You read the word from left to right and joined what came first. Is h, e a "
            "merge at all, and which merge of the list has the first say?",
        ),
        Slip(
            name="letters-moved",
            answer=["w", "e", "a", "er", "th"],
            says="The tokens do not spell the word any more. Put together in your order, what do "
            "they read?",
        ),
    ),
)


def a_word_in_letters(rng):
    """The pair stands in it once or twice; letters around it are drawn."""
    before, after = rng.choice(list("bcfmps"), size=2, replace=False)
    return [str(before), "a", "t", str(after), "a", "t", "e"], ("a", "t")


def a_pair_in_both_orders(rng):
    letters = [*rng.permutation(list("xyz")), "e", "r", "e", "e", "r", "r", "e"]
    return [str(letter) for letter in letters], ("r", "e")


def runs_of_one_letter(rng):
    """Three or five in a row: the first two join, and the next two."""
    letter, other = (str(one) for one in rng.choice(list("abcdklmn"), size=2, replace=False))
    return [*[letter] * 3, other, *[letter] * 5, other, letter], (letter, letter)


def tokens_that_only_spell_alike(rng):
    """ "c" + "at" is the pair; "ca" + "t" spells the same and is not."""
    head = str(rng.choice(list("bcfmprsv")))
    tail = str(rng.choice(["at", "in", "on"]))
    return [head + tail[0], tail[1], head, tail, "s", head, tail[0], tail[1]], (head, tail)


def a_pair_that_is_not_there(rng):
    letters = rng.permutation(list("transfom"))
    return [str(letter) for letter in letters], (str(letters[2]), str(letters[0]))


def tokens_that_are_bytes(rng):
    start = [bytes([value]) for value in rng.integers(97, 109, size=3).tolist()]
    return [*start, b"\xc3", b"\xa9", b"t", b"\xc3", b"\xa8", b"\xc3", b"\xa9"], (b"\xc3", b"\xa9")


def a_pair_at_the_very_end(rng):
    letters = rng.permutation(list("xyzuvw"))[:4]
    return [*map(str, letters), "s", "at"], ("s", "at")


TAKE_PAIR = "left, right = pair"
FOUND = "tuple(tokens[position : position + 2]) == (left, right)"

MERGE_PAIR = Exercise(
    name="merge-pair",
    objective="Write one merge of byte-pair encoding.",
    minutes=7,
    solution=merge_pair,
    inputs=(
        a_word_in_letters,
        a_pair_in_both_orders,
        runs_of_one_letter,
        tokens_that_only_spell_alike,
        a_pair_that_is_not_there,
        tokens_that_are_bytes,
        a_pair_at_the_very_end,
    ),
    returns=("merged",),
    points=(2,),
    properties={
        "the tokens still spell the same": lambda merged, tokens, pair: (
            pair[0][:0].join(merged) == pair[0][:0].join(tokens)
        ),
        "the list never grows": lambda merged, tokens, pair: len(merged) <= len(tokens),
    },
    hints=(
        "Read the tokens from left to right with an index, and collect a new list as you go. "
        "Which two things can happen at each index?",
        "If this token and the next are the pair, the new list gets one joined token, and the "
        "index has used up two. Otherwise it gets the token as it is.",
        "A while loop suits better than a for loop, because the index moves by 1 or by 2. Mind "
        "the last token, which has no neighbour; a slice past the end is only shorter.",
    ),
    mistakes=(
        Mistake(
            name="right-token-kept-too",
            swap="position += 2",
            into="position += 1",
            says="After a joined token its right half comes again, so the text has grown. How "
            "many of the old tokens has the joined one used up?",
        ),
        Mistake(
            name="only-the-first-place",
            swap="merged.append(left + right)\n            position += 2",
            into="return merged + [left + right] + list(tokens[position + 2 :])",
            says="Only the first place is joined. What should happen when the pair stands in "
            "the list again further on?",
        ),
        Mistake(
            name="in-either-order",
            swap=FOUND,
            into="sorted(tokens[position : position + 2]) == sorted((left, right))",
            says="The two tokens are joined in the wrong order too, which changes the spelling. "
            "Is (e, r) the same pair as (r, e)?",
        ),
        Mistake(
            name="joined-text-compared",
            swap=FOUND,
            into="len(tokens) > position + 1 and tokens[position] + tokens[position + 1] == "
            "left + right",
            says='You compare what two tokens spell together. "ca" and "t" spell "cat" as "c" '
            'and "at" do: which of them is the pair?',
        ),
        Mistake(
            name="only-the-left-compared",
            swap=FOUND,
            into="position + 1 < len(tokens) and tokens[position] == left",
            says="The left token alone decides here. What if another token than the right one "
            "of the pair comes after it?",
        ),
        Mistake(
            name="pair-not-joined",
            swap="merged.append(left + right)",
            into="merged.append((left, right))",
            says="The pair itself stands in your list, as a tuple of two. How do two strings "
            "become one?",
        ),
        Mistake(
            name="joined-the-wrong-way-round",
            swap="merged.append(left + right)",
            into="merged.append(right + left)",
            says="Each joined token is spelled backwards. Which half comes first?",
        ),
        Mistake(
            name="last-token-lost",
            swap="position < len(tokens)",
            into="position < len(tokens) - 1",
            says="A last token that belongs to no pair gets lost. Where does your loop stop, and "
            "who takes care of the token there?",
        ),
        Mistake(
            name="joined-from-the-right",
            swap=TAKE_PAIR,
            into=f"{TAKE_PAIR}\n"
            "    merged, position = [], len(tokens)\n"
            "    while position > 0:\n"
            "        start = position - 1\n"
            "        if tuple(tokens[max(start - 1, 0) : position]) == (left, right):\n"
            "            start -= 1\n"
            "        merged.insert(0, left[:0].join(tokens[start:position]))\n"
            "        position = start\n"
            "    return merged",
            says="You read from the right. Of three equal tokens in a row, which two does the "
            "docstring join?",
        ),
        Mistake(
            name="tokens-changed-in-place",
            swap=TAKE_PAIR,
            into=f"{TAKE_PAIR}\n"
            "    place = 0\n"
            "    while place < len(tokens) - 1:\n"
            "        if (tokens[place], tokens[place + 1]) == (left, right):\n"
            "            tokens[place : place + 2] = [left + right]\n"
            "        place += 1\n"
            "    return tokens",
            says="The answer is right, but the caller's own list has been shortened. How do you "
            "collect the tokens in a new list instead?",
        ),
        Mistake(
            name="joins-overlap",
            swap=TAKE_PAIR,
            into=f"{TAKE_PAIR}\n"
            "    merged = list(tokens[:1])\n"
            "    for before, token in zip(tokens, tokens[1:]):\n"
            "        if (before, token) == (left, right):\n"
            "            merged[-1] = merged[-1] + token\n"
            "        else:\n"
            "            merged.append(token)\n"
            "    return merged",
            says="A run of equal tokens grows into one. A token that has just been joined is "
            "used up: can it be the left half of the next pair?",
        ),
    ),
)

STEMS = ("the", "cat", "sat", "mat", "that", "then", "heat", "weather", "theatre", "cater")


def _text(rng, words, number):
    return " ".join(str(word) for word in rng.choice(words, size=number))


def a_word_of_the_text(rng):
    words = rng.permutation(STEMS)
    return str(words[0]), learn_merges(" ".join(words[:4].tolist()), 4)


def words_never_seen(rng):
    merges = learn_merges(_text(rng, STEMS, 8), 8)
    letters = rng.choice(list("theatrs"), size=(3, 5))
    return " ".join("".join(letters[row].tolist()) + "that" for row in range(3)), merges


def merges_that_compete(rng):
    """All four want the same letters; only the order decides. The longest is not the first."""
    merges = [(b"t", b"h"), (b"e", b"r"), (b"th", b"e"), (b"a", b"t"), (b"h", b"e"), (b"r", b"s")]
    words = rng.choice(["there", "weather", "gather", "others", "hers", "athens"], size=3)
    order = np.array([0, 1, 2, 3, 4, 5])
    order[3:] = rng.permutation([3, 4, 5])
    return "theaters " + " ".join(words.tolist()), [merges[place] for place in order]


def accents_and_emoji(rng):
    """Letters of two, three and four bytes, of which no merge knows anything."""
    signs = rng.permutation(list("éüñłж€漢字🙂🚀"))[:4].tolist()
    return f"the {signs[0]}at {signs[1]}{signs[2]} sat{signs[3]}", learn_merges(
        "the cat sat that", 4
    )


def merges_of_bytes_beyond_ascii(rng):
    """Here a merge joins the two bytes of a letter, or the last of one with the first of another.

    So the bytes of a letter may end up in two tokens.
    """
    text = "".join(str(letter) for letter in rng.choice(list("éèàtc"), size=9))
    return f"été à {text}", [(b"t", b"\xc3"), (b"\xc3", b"\xa9"), (b"\xa9", b"t"), (b" ", b"\xc3")]


def capitals_and_spaces(rng):
    first, second = rng.choice(STEMS, size=2)
    text = f"  The CAT  {first!s}\n{str(second).title()} "
    return text, learn_merges("the cat sat, the mat sat", 7)


def no_merges_yet(rng):
    return _text(rng, STEMS, 2), []


SPLIT = 'tokens = [bytes([value]) for value in text.encode("utf-8")]'
MERGE = "tokens = merge_pair(tokens, pair)"

ENCODE = Exercise(
    name="encode",
    objective="Write a subword tokeniser that splits any text, words never seen included.",
    minutes=7,
    solution=encode,
    inputs=(
        a_word_of_the_text,
        words_never_seen,
        merges_that_compete,
        accents_and_emoji,
        merges_of_bytes_beyond_ascii,
        capitals_and_spaces,
        no_merges_yet,
    ),
    returns=("tokens",),
    points=(2,),
    properties={
        "the tokens put together are the text": lambda tokens, text, merges: (
            b"".join(tokens).decode("utf-8") == text
        ),
        "every token is a single byte or made by a merge": lambda tokens, text, merges: all(
            len(token) == 1 or token in [left + right for left, right in merges] for token in tokens
        ),
    },
    hints=(
        "Two steps: split the text into single bytes, then do with each merge what you did by "
        "hand. One of your functions does a whole merge.",
        "text.encode gives all bytes in one piece, and a loop over that gives numbers. The cell "
        "above shows how a number becomes a token again.",
        "Loop over merges in the order in which they stand. In each round merge_pair returns a "
        "new list; give it the name of the old one, so that the next round goes on from there.",
    ),
    mistakes=(
        Mistake(
            name="characters-not-bytes",
            swap=SPLIT,
            into='tokens = [character.encode("utf-8") for character in text]',
            says="You split into characters. There are more than 150,000 of those, and the "
            "docstring promises bytes: how many bytes has an é?",
        ),
        Mistake(
            name="text-not-bytes",
            swap=SPLIT,
            into="tokens = list(text)",
            says="Your tokens are strings, so no merge, which is a pair of bytes, ever finds its "
            'place. Is "t" == b"t"?',
        ),
        Mistake(
            name="numbers-not-bytes",
            swap=SPLIT,
            into='tokens = list(text.encode("utf-8"))',
            says="A list of bytes gives numbers, and no merge, which is a pair of bytes, ever "
            "finds its place. What turns 116 back into a token?",
        ),
        Mistake(
            name="unknown-characters-dropped",
            swap=SPLIT,
            into='tokens = [bytes([value]) for value in text.encode("ascii", "ignore")]',
            says="Letters beyond ASCII are dropped, so the text cannot be put together again. "
            "Which encoding writes every character as one to four bytes?",
        ),
        Mistake(
            name="unknown-characters-replaced",
            swap=SPLIT,
            into='tokens = [bytes([value]) for value in text.encode("ascii", "replace")]',
            says="Letters beyond ASCII become question marks. How would the text be put together "
            "again, and which encoding knows every character?",
        ),
        Mistake(
            name="spaces-lost",
            swap=SPLIT,
            into='tokens = [bytes([value]) for value in "".join(text.split()).encode("utf-8")]',
            says="The spaces are gone, so the text cannot be put together again. What is a space "
            "to a tokeniser that works on bytes?",
        ),
        Mistake(
            name="lower-cased",
            swap=SPLIT,
            into='tokens = [bytes([value]) for value in text.lower().encode("utf-8")]',
            says="Capitals have become small letters. Would b''.join(tokens) still give the text?",
        ),
        Mistake(
            name="merge-thrown-away",
            swap=MERGE,
            into="merge_pair(tokens, pair)",
            says="No merge has any effect: single bytes come back. merge_pair returns a new list; "
            "where does it go?",
        ),
        Mistake(
            name="only-the-first-merge",
            swap=f"{MERGE}\n    return tokens",
            into="return merge_pair(tokens, pair)\n    return tokens",
            says="Only the first merge is applied. How far is your return indented?",
        ),
        Mistake(
            name="each-merge-from-the-bytes",
            swap=f"for pair in merges:\n        {MERGE}\n    return tokens",
            into="merged = tokens\n"
            "    for pair in merges:\n"
            "        merged = merge_pair(tokens, pair)\n"
            "    return merged",
            says="Only the last merge shows, because each starts from the single bytes again. On "
            "which list should the next merge work?",
        ),
        Mistake(
            name="last-learned-first",
            swap="for pair in merges:",
            into="for pair in reversed(merges):",
            says="The merges run from the last to the first. A late one joins what an early one "
            "has made: can it find that already?",
        ),
        Mistake(
            name="longest-piece-first",
            swap="for pair in merges:\n",
            into="pieces = [left + right for left, right in merges]\n"
            '    data, tokens = text.encode("utf-8"), []\n'
            "    while data:\n"
            "        fits = [piece for piece in pieces if data.startswith(piece)]\n"
            "        tokens.append(max([data[:1], *fits], key=len))\n"
            "        data = data[len(tokens[-1]) :]\n"
            "    for pair in []:\n",
            says="You take the longest known piece at each place, as some other tokenisers do. "
            "In byte-pair encoding, what decides when two merges want the same letter?",
        ),
    ),
)

# The sizes of the course's model, with two sequences in a batch.
IDS = np.stack([ids_of("I like transformers"), ids_of("the cat sat")])
TABLE = np.zeros((len(VOCABULARY), 16))
BATCH, SEQ_LEN = IDS.shape
VOCAB_SIZE, D_MODEL = TABLE.shape

EMBEDDED_SHAPE = Prediction(
    name="embedded-shape",
    objective="Predict the shape that comes out of an embedding table.",
    minutes=2,
    points=1,
    answer=embed(IDS, TABLE).shape,
    hints=(
        "What does a single id become? And a row of five ids?",
        "Each id is replaced by one row of the table, and stands where it stood.",
        "The two axes of ids stay in front. How long is the vector that takes the place of "
        "each number?",
    ),
    slips=(
        Slip(
            name="vocabulary-as-last-axis",
            answer=(BATCH, SEQ_LEN, VOCAB_SIZE),
            says=f"{VOCAB_SIZE} is the number of rows of the table. One of them is picked for "
            "each id: how long is one row?",
        ),
        Slip(
            name="table-in-place-of-the-tokens",
            answer=(BATCH, VOCAB_SIZE, D_MODEL),
            says="This would be the whole table for each sentence. How many rows of it does a "
            "sentence of five ids pick?",
        ),
        Slip(
            name="features-before-tokens",
            answer=(BATCH, D_MODEL, SEQ_LEN),
            says="All three lengths are right, and the last two stand the wrong way round. A "
            "vector takes the place of each id: which axis comes last?",
        ),
        Slip(
            name="tokens-before-sentences",
            answer=(SEQ_LEN, BATCH, D_MODEL),
            says="All three lengths are right. Which axis comes first in ids, and why should the "
            "look-up move it?",
        ),
    ),
)


def a_short_sentence(rng):
    """A repeated id and the id 0 among them, and not in order."""
    return np.array([4, 1, 4, 0, 2]), rng.normal(size=(7, 3))


def two_sentences(rng):
    return rng.integers(0, 8, size=(2, 3)), rng.normal(size=(8, 5))


def more_features_than_words(rng):
    """Here an id is a column's number too."""
    return rng.permutation(4)[[2, 0, 0]], rng.normal(size=(4, 6))


def as_many_words_as_features(rng):
    return np.array([3, 0, 2, 3]), rng.normal(size=(4, 4))


def one_id(rng):
    return rng.integers(1, 5, size=1), rng.normal(size=(5, 3))


def three_axes_of_ids(rng):
    return rng.integers(0, 6, size=(2, 1, 4)), rng.normal(size=(6, 3))


def float32_table(rng):
    return rng.integers(0, 5, size=6), rng.normal(size=(5, 4)).astype(np.float32)


LOOK_UP = "return table[ids]"

EMBED = Exercise(
    name="embed",
    objective="Look up the vectors of token ids in an embedding table.",
    minutes=4,
    solution=embed,
    inputs=(
        a_short_sentence,
        two_sentences,
        more_features_than_words,
        as_many_words_as_features,
        one_id,
        three_axes_of_ids,
        float32_table,
    ),
    returns=("vectors",),
    points=(1,),
    properties={
        "equal ids get equal vectors": lambda vectors, ids, table: all(
            np.ptp(vectors[ids == one], axis=0).max() == 0 for one in np.unique(ids)
        ),
        "every id becomes a vector of d_model numbers": lambda vectors, ids, table: (
            vectors.shape == (*ids.shape, table.shape[1])
        ),
    },
    hints=(
        "You know how to pick one row of a matrix by its number. NumPy can be given many "
        "numbers at once.",
        "An array of whole numbers may stand between the square brackets. Try it with "
        "np.array([0, 0, 1]) on a small table, and look at the shape.",
        "Put the whole array of ids where you would put the number of one row. No loop is "
        "needed, for any number of axes.",
    ),
    mistakes=(
        Mistake(
            name="columns-not-rows",
            swap=LOOK_UP,
            into="return table[:, ids]",
            says="You picked columns: one feature of every word. In which direction does the "
            "vector of one word run?",
        ),
        Mistake(
            name="columns-as-rows",
            swap=LOOK_UP,
            into="return table.T[ids]",
            says="The table is turned over first, so ids pick features instead of words. Which "
            "axis of the table counts the vocabulary?",
        ),
        Mistake(
            name="take-without-axis",
            swap=LOOK_UP,
            into="return np.take(table, ids)",
            says="np.take without an axis counts single numbers through the flattened table. "
            "What should each id pick, a number or a row?",
        ),
        Mistake(
            name="counted-from-1",
            swap=LOOK_UP,
            into="return table[ids - 1]",
            says="Each id gets the row before its own. Which row belongs to the id 0?",
        ),
        Mistake(
            name="the-first-rows",
            swap=LOOK_UP,
            into="return table[: len(ids)]",
            says="These are the first rows of the table, whatever the ids are. Does the vector "
            "depend on where a token stands, or on which token it is?",
        ),
        Mistake(
            name="repeats-lost",
            swap=LOOK_UP,
            into="return table[np.unique(ids)]",
            says="Each id comes out once, in order of size. What should happen to a word that "
            "stands in the sentence twice?",
        ),
        Mistake(
            name="sentences-run-together",
            swap=LOOK_UP,
            into="return table[ids.ravel()]",
            says="All ids stand in one long row, so sequences run together. Which shape does the "
            "docstring promise for ids of shape (2, 3)?",
        ),
        Mistake(
            name="summed-over-tokens",
            swap=LOOK_UP,
            into="return table[ids].sum(axis=-2)",
            says="The vectors of a sequence are added up, and its tokens cannot be told apart any "
            "more. How many vectors should five ids give?",
        ),
        Mistake(
            name="padding-set-to-zero",
            swap=LOOK_UP,
            into="return table[ids] * (ids[..., None] > 0)",
            says="The id 0 gets a vector of zeros. Does the docstring make an exception for it, "
            "or is row 0 a row like any other?",
        ),
        Mistake(
            name="scaled-by-the-root",
            swap=LOOK_UP,
            into="return table[ids] * np.sqrt(table.shape[1])",
            says="Your vectors are longer by the square root of d_model. Some models scale so; "
            "does this docstring ask for more than the rows themselves?",
        ),
    ),
)


def put_as_floats(answer, ids, vocab_size):
    """Take zeros and ones of any type: floats, whole numbers, True and False."""
    found = answer(ids, vocab_size)
    return found if found is None else np.asarray(found) * 1.0


def ids_of_a_sentence(rng):
    """Repeated ids, the id 0, and not the largest id."""
    return np.array([3, 0, 3, 1])[rng.permutation(4)], int(rng.integers(5, 40))


def a_batch_of_ids(rng):
    return rng.integers(0, 5, size=(2, 3)), 7


def as_many_ids_as_words(rng):
    return rng.permutation([0, 1, 1, 3, 3, 4]), 6


def every_id_once(rng):
    return rng.permutation(7), 7


def a_single_id(rng):
    return rng.integers(2, 9, size=1), int(rng.integers(10, 40))


def ids_with_three_axes(rng):
    return rng.integers(0, 4, size=(2, 1, 3)), 5


ROWS = "return rows[ids]"

ONE_HOT = Exercise(
    name="one-hot",
    objective="Show that a look-up is the product of one-hot rows with the table.",
    minutes=6,
    solution=one_hot,
    inputs=(
        ids_of_a_sentence,
        a_batch_of_ids,
        as_many_ids_as_words,
        every_id_once,
        a_single_id,
        ids_with_three_axes,
    ),
    returns=("rows",),
    points=(2,),
    asks=put_as_floats,
    properties={
        "each row sums to 1": lambda rows, ids, vocab_size: (rows.sum(axis=-1) == 1).all(),
        "the 1 stands in the column of the id": lambda rows, ids, vocab_size: np.array_equal(
            rows.argmax(axis=-1), ids
        ),
    },
    hints=(
        "Write down the rows for the ids 0, 1 and 2 with vocab_size 3, one below the other. You "
        "know that matrix.",
        "np.eye makes it. The row of id i is its row i, and you wrote a function today that "
        "picks rows.",
        "So this is a look-up too, in a table of vocab_size rows and as many columns that has "
        "ones on its diagonal.",
    ),
    mistakes=(
        Mistake(
            name="counted-from-1",
            swap=ROWS,
            into="return rows[ids - 1]",
            says="Every 1 stands one column too far left, and that of id 0 in the last. In which "
            "column is the 1 of id 0?",
        ),
        Mistake(
            name="as-wide-as-the-largest-id",
            swap="np.eye(vocab_size)",
            into="np.eye(ids.max() + 1)",
            says="Your rows end at the largest id of this sentence. Which argument says how many "
            "columns there are, so that all sentences fit one table?",
        ),
        Mistake(
            name="bag-of-words",
            swap=ROWS,
            into="return rows[ids].sum(axis=-2)",
            says="This counts how often each word occurs in the sequence. How many rows should "
            "four ids give?",
        ),
        Mistake(
            name="all-ids-in-every-row",
            swap=ROWS,
            into="return np.ones_like(rows[ids]) * rows[ids].max(axis=-2, keepdims=True)",
            says="Every row carries the ones of all ids of its sequence, as out[:, ids] = 1 "
            "would write them. How do you say that row t gets only the id of token t?",
        ),
        Mistake(
            name="id-instead-of-1",
            swap=ROWS,
            into="return rows[ids] * ids[..., None]",
            says="Each row holds the id itself instead of a 1. What would the product with the "
            "table then be for id 3, and for id 0?",
        ),
        Mistake(
            name="turned-over",
            swap=ROWS,
            into="return rows[ids].swapaxes(-1, -2)",
            says="Each token has a column of its own instead of a row. Which axis must the table "
            "meet in one_hot(ids, vocab_size) @ table?",
        ),
        Mistake(
            name="identity-itself",
            swap=ROWS,
            into="return rows",
            says="This is the identity matrix, whatever the ids are. Where do they come in?",
        ),
        Mistake(
            name="place-instead-of-id",
            swap=ROWS,
            into="rows = np.zeros((*ids.shape, vocab_size))\n"
            "    rows[..., np.arange(ids.shape[-1]), np.arange(ids.shape[-1])] = 1\n"
            "    return rows",
            says="Token t has its 1 in column t, whatever its id is. What should the column say: "
            "where the token stands, or which it is?",
        ),
        Mistake(
            name="sentences-run-together",
            swap=ROWS,
            into="return rows[ids.ravel()]",
            says="All ids stand in one long row, so sequences run together. Which shape does the "
            "docstring promise for ids of shape (2, 3)?",
        ),
        Mistake(
            name="ones-for-smaller-ids",
            swap=ROWS,
            into="return np.tri(vocab_size)[ids]",
            says="All columns up to the id hold a 1, so the product would add up several rows of "
            "the table. How many ones belong into a row?",
        ),
    ),
)


def _worked_merges() -> str:
    """Markdown: SHOWN_WORD after each of SHOWN_MERGES."""
    lines = ["| merge | tokens |", "|---|---|", f"| | `{'·'.join(SHOWN_WORD)}` |"]
    for number, (left, right) in enumerate(SHOWN_MERGES, 1):
        tokens = "·".join(_merged(SHOWN_WORD, SHOWN_MERGES[:number]))
        lines.append(f"| {number}. `{left}` + `{right}` | `{tokens}` |")
    return "\n".join(lines)


LESSON = Lesson(
    number=4,
    title="Tokenisation and the embedding table",
    assignment="week1_text",
    objective="say how a subword tokeniser splits any text into tokens and ids, turn ids into "
    "vectors by a look-up, and predict the shape of the result.",
    needs="lists and loops in Python, matrix products (lesson 2)",
    place="tokens",
    worked_pages=("01-tokens-and-embeddings.html",),
    exercises=(MERGES_BY_HAND, MERGE_PAIR, ENCODE, EMBEDDED_SHAPE, EMBED, ONE_HOT),
    worked={
        "shown_word": SHOWN_WORD,
        "shown_merges": _worked_merges(),
        "hand_word": HAND_WORD,
        "hand_merges": ", ".join(
            f"{number}. `{left}` + `{right}`" for number, (left, right) in enumerate(HAND_MERGES, 1)
        ),
        "ids_shape": IDS.shape,
        "table_shape": TABLE.shape,
        "cat_id": VOCABULARY.index("cat"),
        "i_id": VOCABULARY.index("I"),
        "vocab_size": VOCAB_SIZE,
        "d_model": D_MODEL,
        "gpt2_millions": 50_257 * 768 / 1e6,  # its vocabulary and the width of the smallest
    },
)
