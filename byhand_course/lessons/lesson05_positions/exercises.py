# mypy: allow-untyped-defs
"""What is graded in lesson 5, and the wrong answers it knows.

The layers that `permutation_gap` is tried on are functions of this file whose text travels to
learners; none of them is a piece of the course's model.
"""

import numpy as np

from byhand_course.lessons.cases import code_of
from byhand_course.lessons.exercise import (
    ByHand,
    Exercise,
    Lesson,
    Mistake,
    Prediction,
    Slip,
    two_decimals,
)
from byhand_course.reference.attention import attention, permutation_gap
from byhand_course.reference.embedding import embed, embed_with_positions
from byhand_course.reference.positions import sinusoidal_positions
from byhand_course.reference.tokens import ids_of

REORDERED, OTHER_WORD, WORD_MORE, WORD_TWICE = (
    "I like transformers / transformers like I",
    "the cat sat / the mat sat",
    "I like transformers / I like the transformers",
    "the cat sat / the cat sat sat",
)


def _outputs(sentence) -> np.ndarray:
    """What attention without positions says of each word, in an order that is not the words'."""
    vectors = embed(ids_of(sentence), np.random.default_rng(5).normal(size=(10, 4)))
    output, _ = attention(vectors, vectors, vectors)
    return output[np.lexsort(output.T)]


def _told_apart(pair) -> bool:
    """Whether the outputs for the two sentences of a pair differ in more than their order."""
    first, second = map(_outputs, pair.split(" / "))
    return first.shape != second.shape or not np.allclose(first, second)


PAIRS = (OTHER_WORD, REORDERED, WORD_MORE, WORD_TWICE)

INDISTINGUISHABLE_PAIR = Prediction(
    name="indistinguishable-pair",
    objective="Find two sentences that a model without positions cannot tell apart.",
    minutes=4,
    points=1,
    answer=next(pair for pair in PAIRS if not _told_apart(pair)),
    options=PAIRS,
    hints=(
        "Such a model sees which vectors there are, and how often each. What does it not see?",
        "For each pair, write down the words of both sentences in alphabetical order.",
        "In one pair the two lists in alphabetical order are the same list. Only the order of "
        "the words was different.",
    ),
    slips=(
        Slip(
            name="another-word",
            answer=OTHER_WORD,
            says="*cat* and *mat* have different rows in the table, so different vectors go in. "
            "In which pair do the very same vectors go in?",
        ),
        Slip(
            name="one-word-more",
            answer=WORD_MORE,
            says="The second sentence has one more vector for the others to look at, and that "
            "changes their weights. In which pair do the very same vectors go in?",
        ),
        Slip(
            name="a-word-twice",
            answer=WORD_TWICE,
            says="A word that stands there twice gets two shares of the weight. In which pair "
            "does every word come as often in both sentences?",
        ),
    ),
)


def look_at_all_tokens(X):
    """Mix all tokens by how alike they are, as attention does; nothing tells where they stand."""
    alike = np.exp(X @ X.T / 3)
    return (alike / alike.sum(axis=1)[:, None]) @ X


def treat_each_token_alone(X):
    return np.tanh(2 * X) - X**2


def compare_with_the_mean(X):
    return np.arange(1, X.shape[1] + 1) * (X - X.mean(axis=0))


def add_where_it_stands(X):
    """As look_at_all_tokens, but first every token is moved by its place."""
    moved = X + np.cos(np.arange(len(X)))[:, None]
    alike = np.exp(moved @ moved.T / 3)
    return (alike / alike.sum(axis=1)[:, None]) @ moved


def look_back_only(X):
    """The mean of each token and those before it."""
    return np.cumsum(X, axis=0) / np.arange(1, len(X) + 1)[:, None]


def look_at_the_neighbour(X):
    return X - 2 * np.roll(X, 1, axis=0)


def _around(rng, n):
    """A new order of n tokens in one circle; done twice it is another order."""
    circle = rng.permutation(n)
    order = np.empty(n, dtype=int)
    order[circle] = np.roll(circle, 1)
    return order


def _largest_below_zero(layer, X, order):
    """X or -X: the one for which a linear layer's largest difference is negative."""
    difference = layer(X[order]) - layer(X)[order]
    return X if -difference.min() > difference.max() else -X


def a_layer_that_looks_at_all_tokens(rng):
    return code_of(look_at_all_tokens), rng.normal(size=(3, 2)), np.array([2, 0, 1])


def a_layer_that_treats_each_token_alone(rng):
    return code_of(treat_each_token_alone), rng.normal(size=(5, 3)), _around(rng, 5)


def a_layer_that_adds_positions(rng):
    return code_of(add_where_it_stands), rng.normal(size=(4, 3)), _around(rng, 4)


def a_layer_that_looks_back_only(rng):
    X, order = rng.normal(size=(5, 2)), _around(rng, 5)
    return code_of(look_back_only), _largest_below_zero(look_back_only, X, order), order


def a_layer_that_looks_at_the_neighbour(rng):
    """As many tokens as features. If all moved equally far, they would keep their neighbours."""
    X, order = rng.normal(size=(5, 5)), _around(rng, 5)
    while len(set((order - np.arange(5)) % 5)) == 1:
        order = _around(rng, 5)
    X = _largest_below_zero(look_at_the_neighbour, X, order)
    return code_of(look_at_the_neighbour), X, order


def a_layer_that_compares_with_the_mean(rng):
    return code_of(compare_with_the_mean), rng.normal(size=(4, 4)), _around(rng, 4)


IN_FIRST = "after_reordering = layer(X[order])"
OUT_LAST = "reordered_after = layer(X)[order]"
LARGEST = "np.abs(after_reordering - reordered_after).max()"

PERMUTATION_GAP = Exercise(
    name="permutation-gap",
    objective="Show that attention without positions only permutes its outputs when its inputs "
    "are permuted.",
    minutes=8,
    solution=permutation_gap,
    inputs=(
        a_layer_that_looks_at_all_tokens,
        a_layer_that_adds_positions,
        a_layer_that_treats_each_token_alone,
        a_layer_that_looks_back_only,
        a_layer_that_looks_at_the_neighbour,
        a_layer_that_compares_with_the_mean,
    ),
    returns=("gap",),
    points=(2,),
    properties={
        "the gap is one number, and not negative": lambda gap, layer, X, order: (
            np.ndim(gap) == 0 and gap >= 0
        ),
    },
    hints=(
        "There are two ways to go: reorder, then apply the layer; or apply it, then reorder. "
        "Write both.",
        "X[order] are the rows of X in the new order. What a layer returns is an array like X, "
        "with a row for each token, so its rows can be reordered likewise.",
        "Subtract one result from the other. Of the differences take the sizes, without their "
        "signs, and of those the largest.",
    ),
    mistakes=(
        Mistake(
            name="outputs-not-reordered",
            swap=OUT_LAST,
            into="reordered_after = layer(X)",
            says="You ask whether the outputs stay in place. They may move, if they only move "
            "along with their tokens: what must happen to layer(X) before you compare?",
        ),
        Mistake(
            name="inputs-not-reordered",
            swap=IN_FIRST,
            into="after_reordering = layer(X)",
            says="The layer only ever sees the old order. In which of the two ways are the "
            "tokens reordered before it works?",
        ),
        Mistake(
            name="same-way-twice",
            swap=OUT_LAST,
            into="reordered_after = layer(X[order])",
            says="Both ways are the same way, so the gap is always 0. In which of the two does "
            "the layer come first?",
        ),
        Mistake(
            name="order-applied-instead-of-undone",
            swap=f"{IN_FIRST}\n    {OUT_LAST}",
            into="after_reordering = layer(X[order])[order]\n    reordered_after = layer(X)",
            says="Inputs and outputs are reordered in opposite directions, or once more instead of "
            "back. Where does row 0 of X end up on each of your two ways?",
        ),
        Mistake(
            name="features-reordered",
            swap=f"{IN_FIRST}\n    {OUT_LAST}",
            into="after_reordering = layer(X[:, order])\n    reordered_after = layer(X)[:, order]",
            says="You reorder columns, which are features. Which axis of X runs over the tokens?",
        ),
        Mistake(
            name="largest-without-abs",
            swap=LARGEST,
            into="(after_reordering - reordered_after).max()",
            says="A large negative difference gets lost. What should be done to the differences "
            "before the largest is taken?",
        ),
        Mistake(
            name="mean-instead-of-largest",
            swap=LARGEST,
            into="np.abs(after_reordering - reordered_after).mean()",
            says="This is the mean of the differences. Which of them does the docstring ask for?",
        ),
        Mistake(
            name="summed",
            swap=LARGEST,
            into="np.abs(after_reordering - reordered_after).sum()",
            says="This adds all differences up. Which of them does the docstring ask for?",
        ),
        Mistake(
            name="length-of-the-difference",
            swap=LARGEST,
            into="np.sqrt(((after_reordering - reordered_after) ** 2).sum())",
            says="This is the length of the difference, as np.linalg.norm gives it. Which single "
            "difference does the docstring ask for?",
        ),
        Mistake(
            name="tokens-reordered-in-place",
            swap=f"{IN_FIRST}\n    {OUT_LAST}",
            into="reordered_after = layer(X)[order]\n"
            "    X[:] = X[order]\n"
            "    after_reordering = layer(X)",
            says="The gap is right, but X[:] = ... has reordered the caller's own tokens. How do "
            "you get reordered tokens in a new array?",
        ),
    ),
)

# The position that is worked out by hand, and the one that the prose shows.
SHOWN_POSITION, HAND_POSITION, HAND_FEATURES = 1, 2, 4
HAND_ANGLES = HAND_POSITION / 10000 ** (np.array([0, 0, 2, 2]) / HAND_FEATURES)


POSITION_BY_HAND = ByHand(
    name="position-by-hand",
    objective="Work out one row of the sinusoidal position encoding.",
    minutes=4,
    points=1,
    form="a list of four numbers to two decimals, such as [0.25, -0.25, 0.50, 1.00]",
    answer=two_decimals(sinusoidal_positions(HAND_POSITION + 1, HAND_FEATURES)[HAND_POSITION]),
    tolerance=0.01,
    hints=(
        "Find the two angles first. One belongs to columns 0 and 1, the other to columns 2 and 3.",
        "The first angle is the position itself, because 10000 to the power of 0 is 1. In the "
        "second the power is 10000 to 2/4, the square root of 10000.",
        f"The angles are {HAND_ANGLES[0]:g} and {HAND_ANGLES[2]:g}, in radians. Each gives a "
        "sine and a cosine, in this order.",
    ),
    slips=(
        Slip(
            name="sine-and-cosine-swapped",
            answer=two_decimals(
                [function(x) for x in HAND_ANGLES[::2] for function in (np.cos, np.sin)]
            ),
            says="Cosines stand where sines belong. What should row 0 begin with, if its first "
            "column is the sine of 0?",
        ),
        Slip(
            name="degrees",
            answer=two_decimals(
                [function(np.radians(x)) for x in HAND_ANGLES[::2] for function in (np.sin, np.cos)]
            ),
            says="These are sines and cosines of degrees. What is half a turn in radians, and is "
            f"{HAND_POSITION} a small angle then?",
        ),
        Slip(
            name="counted-from-1",
            answer=two_decimals(
                sinusoidal_positions(HAND_POSITION, HAND_FEATURES)[HAND_POSITION - 1]
            ),
            says=f"This is the row of position {HAND_POSITION - 1}. Positions are counted from 0: "
            "which number goes into the angle?",
        ),
        Slip(
            name="an-angle-for-each-column",
            answer=two_decimals(
                [
                    (np.sin, np.cos)[column % 2](HAND_POSITION / 10000 ** (column / HAND_FEATURES))
                    for column in range(HAND_FEATURES)
                ]
            ),
            says="Each column got an angle of its own. Which two columns share one?",
        ),
        Slip(
            name="sines-first",
            answer=two_decimals([*np.sin(HAND_ANGLES[::2]), *np.cos(HAND_ANGLES[::2])]),
            says="Both sines come first, then both cosines. In which order do the columns stand "
            "in the formula?",
        ),
        Slip(
            name="angles-left",
            answer=two_decimals(HAND_ANGLES),
            says="These are the angles, each twice. What is done to an angle in even columns, and "
            "what in odd ones?",
        ),
    ),
)


def few_positions(rng):
    return int(2 * rng.integers(1, 6) + 1), int(2 * rng.integers(1, 6))


def more_positions_than_features(rng):
    return int(rng.integers(12, 40)), 4


def more_features_than_positions(rng):
    return int(rng.integers(2, 5)), int(2 * rng.integers(6, 20))


def as_many_positions_as_features(rng):
    n = int(2 * rng.integers(3, 8))
    return n, n


def an_odd_number_of_features(rng):
    return int(rng.integers(3, 9)), int(2 * rng.integers(2, 6) + 1)


POSITIONS = "positions = np.arange(n)[:, None]"
PAIRED = "np.arange(d_model) // 2 * 2"
SINES = "encoding[:, 0::2] = np.sin(angles[:, 0::2])"
COSINES = "encoding[:, 1::2] = np.cos(angles[:, 1::2])"
POWER = "10000 ** (pairs / d_model)"

SINUSOIDAL_POSITIONS = Exercise(
    name="sinusoidal-positions",
    objective="Write the sinusoidal position encoding.",
    minutes=9,
    solution=sinusoidal_positions,
    inputs=(
        few_positions,
        more_positions_than_features,
        more_features_than_positions,
        as_many_positions_as_features,
        an_odd_number_of_features,
    ),
    returns=("encoding",),
    points=(3,),
    properties={
        "row 0 is 0, 1, 0, 1, ...": lambda encoding, n, d_model: np.allclose(
            encoding[0], np.arange(d_model) % 2
        ),
        "sine squared plus cosine squared is 1 in every pair": lambda encoding, n, d_model: (
            np.allclose(encoding[:, : d_model - 1 : 2] ** 2 + encoding[:, 1::2] ** 2, 1)
        ),
    },
    hints=(
        "Make the angles first: a matrix with a row for each position. A column of positions and "
        "a row of divisors broadcast to it.",
        "Both columns of a pair share one exponent: 0, 0, 2, 2, 4, 4 and so on, divided by "
        "d_model. Whole-number division by 2 makes equal neighbours.",
        "Start from zeros of shape (n, d_model). Every second column, from 0 on, gets sines of "
        "its angles; every second one, from 1 on, cosines. The slices 0::2 and 1::2 name them.",
    ),
    mistakes=(
        Mistake(
            name="sine-and-cosine-swapped",
            swap=f"{SINES}\n    {COSINES}",
            into="encoding[:, 0::2] = np.cos(angles[:, 0::2])\n"
            "    encoding[:, 1::2] = np.sin(angles[:, 1::2])",
            says="Row 0 of yours is 1, 0, 1, 0: cosines stand where sines belong. Which columns "
            "does the formula give to the sine?",
        ),
        Mistake(
            name="cosine-with-its-own-index",
            swap=PAIRED,
            into="np.arange(d_model)",
            says="Your sines are right and your cosines turn too slowly: each column has an "
            "angle of its own. Which exponent do columns 2i and 2i + 1 share?",
        ),
        Mistake(
            name="i-instead-of-2i",
            swap=PAIRED,
            into="np.arange(d_model) // 2",
            says="The exponents run to one half only, so the slow waves are missing. Is it i or "
            "2i that is divided by d_model?",
        ),
        Mistake(
            name="2i-doubled",
            swap=PAIRED,
            into="np.arange(d_model) // 2 * 4",
            says="Your waves slow down too fast. If a loop already runs over 0, 2, 4, ..., is its "
            "variable the i of the formula, or the 2i?",
        ),
        Mistake(
            name="2i-doubled-and-own-index",
            swap=PAIRED,
            into="np.arange(d_model) * 2",
            says="Every column's own number is doubled here. For column 3, which number is the "
            "2i of the formula?",
        ),
        Mistake(
            name="positions-from-1",
            swap=POSITIONS,
            into="positions = np.arange(1, n + 1)[:, None]",
            says="Your rows begin with position 1. Which position has the first token in NumPy's "
            "way of counting?",
        ),
        Mistake(
            name="sines-first",
            swap="return encoding",
            into="return np.concatenate([encoding[:, 0::2], encoding[:, 1::2]], axis=1)",
            says="All sines stand in the left half and all cosines in the right. Some programs "
            "order them so; in which columns does the docstring put them?",
        ),
        Mistake(
            name="sines-only",
            swap="np.cos(angles[:, 1::2])",
            into="np.sin(angles[:, 1::2])",
            says="Both columns of a pair hold the sine, so they tell the same thing twice. What "
            "belongs into the odd columns?",
        ),
        Mistake(
            name="odd-columns-empty",
            swap=COSINES,
            into="pass",
            says="The odd columns are all 0. What belongs into them?",
        ),
        Mistake(
            name="multiplied-not-divided",
            swap=f"positions / {POWER}",
            into=f"positions * {POWER}",
            says="The angles grow from pair to pair, so the waves get faster. Is the position "
            "multiplied by the power, or divided?",
        ),
        Mistake(
            name="another-base",
            swap="10000 **",
            into="1000 **",
            says="The power has 1000 for its base. How many zeros has the number in the formula?",
        ),
        Mistake(
            name="whole-number-division",
            swap=POWER,
            into="10000 ** (pairs // d_model)",
            says="Every pair turns at the same speed. What does 2 // 8 give?",
        ),
        Mistake(
            name="times-instead-of-power",
            swap=POWER,
            into="(10000 * (pairs / d_model))",
            says="10000 is multiplied by the fraction, and in the first pair that is 0, by which "
            "you divide. What is the fraction to 10000 in the formula?",
        ),
    ),
)


def two_short_sentences(rng):
    """Repeated ids; the table of positions is longer than the sentences."""
    ids = np.array([[4, 1, 4], [2, 2, 0]])
    return ids, rng.normal(size=(6, 4)), rng.normal(size=(5, 4))


def one_sentence(rng):
    return np.array([3, 0, 3, 1]), rng.normal(size=(6, 3)), rng.normal(size=(5, 3))


def a_batch_of_one_sentence(rng):
    return rng.integers(0, 5, size=(1, 3)), rng.normal(size=(6, 5)), rng.normal(size=(8, 5))


def as_many_sentences_as_tokens(rng):
    return rng.integers(0, 4, size=(3, 3)), rng.normal(size=(4, 5)), rng.normal(size=(10, 5))


def a_single_token(rng):
    return rng.integers(1, 4, size=1), rng.normal(size=(5, 3)), rng.normal(size=(4, 3))


def sentences_of_full_length(rng):
    return rng.integers(0, 7, size=(2, 4)), rng.normal(size=(7, 3)), rng.normal(size=(4, 3))


def float32_tables(rng):
    tables = [rng.normal(size=size).astype(np.float32) for size in [(6, 3), (7, 3)]]
    return rng.integers(0, 6, size=(2, 4)), *tables


COUNTED = "positions = np.arange(np.shape(ids)[-1])"
SUM = "return embed(ids, token_embedding) + embed(positions, position_embedding)"

EMBED_WITH_POSITIONS = Exercise(
    name="embed-with-positions",
    objective="Tell a model where its tokens stand, with learned position vectors.",
    minutes=6,
    solution=embed_with_positions,
    inputs=(
        two_short_sentences,
        one_sentence,
        a_batch_of_one_sentence,
        as_many_sentences_as_tokens,
        a_single_token,
        sentences_of_full_length,
        float32_tables,
    ),
    returns=("X",),
    points=(2,),
    properties={
        "one vector for each id": lambda X, ids, token_embedding, position_embedding: (
            X.shape == (*ids.shape, token_embedding.shape[1])
        ),
        "every sequence starts at position 0": lambda X, ids, token_embedding, position_embedding: (
            np.allclose(
                X[..., 0, :] - token_embedding[ids[..., 0]], position_embedding[0], atol=1e-5
            )
        ),
    },
    hints=(
        "Two look-ups and one sum. You have the function for a look-up already.",
        "In the table of tokens you look up ids. In the table of positions you look up 0, 1, 2 "
        "and so on: how far?",
        "np.arange makes these numbers; ids.shape[-1] says how many tokens a sequence has. "
        "Broadcasting repeats the positions for every sequence of a batch.",
    ),
    mistakes=(
        Mistake(
            name="positions-left-out",
            swap=SUM,
            into="return embed(ids, token_embedding)",
            says="These are the vectors of the tokens alone. What tells the first token from the "
            "third?",
        ),
        Mistake(
            name="positions-looked-up-by-id",
            swap="embed(positions, position_embedding)",
            into="embed(ids, position_embedding)",
            says="The table of positions is asked for token ids. Which numbers count where a "
            "token stands?",
        ),
        Mistake(
            name="whole-table-added",
            swap="embed(positions, position_embedding)",
            into="position_embedding",
            says="The whole table of positions is added, which fits only a sequence of full "
            "length. How many of its rows does this one need?",
        ),
        Mistake(
            name="positions-from-1",
            swap=COUNTED,
            into="positions = np.arange(1, np.shape(ids)[-1] + 1)",
            says="Your first token has position 1, and row 0 is never used. Where does the "
            "docstring of your look-up start to count?",
        ),
        Mistake(
            name="sequences-counted",
            swap=COUNTED,
            into="positions = np.arange(len(ids))",
            says="len(ids) counts the sequences of a batch. Which axis of ids runs over the "
            "tokens?",
        ),
        Mistake(
            name="counted-on-through-the-batch",
            swap=COUNTED,
            into="positions = np.arange(np.size(ids)).reshape(np.shape(ids))",
            says="The second sequence counts on where the first one stopped. At which position "
            "does every sequence start?",
        ),
        Mistake(
            name="from-the-end-of-the-table",
            swap="embed(positions, position_embedding)",
            into="position_embedding[-len(positions) :]",
            says="You take the last rows of the table of positions. Which row belongs to the "
            "first token?",
        ),
        Mistake(
            name="one-position-for-all",
            swap="embed(positions, position_embedding)",
            into="position_embedding[0]",
            says="Every token is given position 0. How does token 2 differ from token 0 now?",
        ),
        Mistake(
            name="multiplied",
            swap="embed(ids, token_embedding) + ",
            into="embed(ids, token_embedding) * ",
            says="Token and position are multiplied. Which operation does the docstring name?",
        ),
        Mistake(
            name="side-by-side",
            swap=SUM,
            into="places = np.broadcast_to(embed(positions, position_embedding), "
            "(*np.shape(ids), position_embedding.shape[1]))\n"
            "    return np.concatenate([embed(ids, token_embedding), places], axis=-1)",
            says="Token and position stand side by side, so each vector is twice as long. Which "
            "shape does the docstring promise?",
        ),
        Mistake(
            name="tokens-scaled-by-the-root",
            swap="return embed(ids, token_embedding)",
            into="return np.sqrt(token_embedding.shape[1]) * embed(ids, token_embedding)",
            says="The token's vector is multiplied by the square root of d_model, as in the first "
            "transformer. Does this docstring say more than to add the two?",
        ),
        Mistake(
            name="table-changed-in-place",
            swap=SUM,
            into="token_embedding[ids] += embed(positions, position_embedding)\n"
            "    return embed(ids, token_embedding)",
            says="+= writes positions into the caller's own table, where they stay, and a "
            "repeated id gets only its last one. How do you add without changing a table?",
        ),
    ),
)


def _row(position) -> str:
    encoding = sinusoidal_positions(position + 1, HAND_FEATURES)[position]
    return f"({', '.join(f'{number:.2f}' for number in encoding)})"


LESSON = Lesson(
    number=5,
    title="Why position must be encoded",
    assignment="week1_text",
    objective="show that attention without positions only permutes its outputs when its inputs "
    "are permuted, and give a model positions, sinusoidal or learned.",
    needs="softmax (lesson 3) and the embedding table (lesson 4)",
    place="positions",
    exercises=(
        INDISTINGUISHABLE_PAIR,
        PERMUTATION_GAP,
        POSITION_BY_HAND,
        SINUSOIDAL_POSITIONS,
        EMBED_WITH_POSITIONS,
    ),
    worked={
        "shown_position": SHOWN_POSITION,
        "hand_position": HAND_POSITION,
        "features": HAND_FEATURES,
        "fast_angle": SHOWN_POSITION / 10000 ** (0 / HAND_FEATURES),
        "slow_angle": SHOWN_POSITION / 10000 ** (2 / HAND_FEATURES),
        "shown_row": _row(SHOWN_POSITION),
        "sin_hand": np.sin(HAND_ANGLES[0]),
        "cos_hand": np.cos(HAND_ANGLES[0]),
    },
)
