# mypy: allow-untyped-defs
"""What is graded in lesson 9, and the wrong answers it knows."""

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
from byhand_course.lessons.lesson08_attention_head.exercises import (
    a_batch_of_sentences,
    a_sentence,
    a_sentence_with_a_repeated_token,
    everything_of_one_size,
    float32_tokens,
    head_weights,
)
from byhand_course.reference.attention import (
    attention_weights,
    causal_mask,
    leaks,
    masked_attention_head,
)

# Scaled scores of four tokens. Row 1 is worked in the prose, row 2 is the exercise by hand.
HAND_SCALED = np.array([[2, 1, 0, 1], [1, 0, 2, 1], [0, 1, 0, 2], [1, 2, 0, 1]])
HAND_ROW = 2
HIDDEN = causal_mask(len(HAND_SCALED))


def _row(hidden: np.ndarray, hidden_score: float = -np.inf, row: int = HAND_ROW) -> list[float]:
    """Weights of one query, if the scores of what is hidden are replaced."""
    scores = np.where(hidden, hidden_score, HAND_SCALED)
    return two_decimals(attention_weights(scores)[row])


UNMASKED = attention_weights(HAND_SCALED)
OWN_HIDDEN = HIDDEN | np.eye(len(HIDDEN), dtype=bool)

MASKED_ROW_BY_HAND = ByHand(
    name="masked-row-by-hand",
    objective="Work out one row of causally masked weights by hand.",
    minutes=4,
    points=1,
    form="a list of four numbers to two decimals, such as [0.25, 0.25, 0.50, 0.00]",
    answer=_row(HIDDEN),
    tolerance=0.01,
    hints=(
        "Which tokens may this one look at, and which may it not? Cross those out first.",
        "Token 2 may look at tokens 0, 1 and 2. Apply softmax to those three scores alone; what "
        "weight is left for token 3?",
        f"The powers of e are {', '.join(f'{x:.2f}' for x in np.exp(HAND_SCALED[HAND_ROW, :3]))} "
        f"and 0; they sum to {np.exp(HAND_SCALED[HAND_ROW, :3]).sum():.2f}. Divide each by that.",
    ),
    slips=(
        Slip(
            name="nothing-hidden",
            answer=two_decimals(UNMASKED[HAND_ROW]),
            says="Token 3 comes after token 2, and most of the weight went there. Which of the "
            "four may token 2 look at?",
        ),
        Slip(
            name="masked-score-of-0",
            answer=_row(HIDDEN, 0),
            says="The hidden score became 0, and e to the power of 0 is 1, so the future still "
            "gets weight. Which score has a power of e of exactly 0?",
        ),
        Slip(
            name="erased-after-softmax",
            answer=two_decimals(np.where(HIDDEN, 0, UNMASKED)[HAND_ROW]),
            says="The last weight was erased after softmax, and what it had is lost: add up the "
            "four. What should a row of weights sum to?",
        ),
        Slip(
            name="itself-hidden",
            answer=_row(OWN_HIDDEN),
            says="Token 2 does not look at itself here. Is a token its own future?",
        ),
        Slip(
            name="past-hidden",
            answer=_row(HIDDEN.T),
            says="Token 2 looks at itself and at token 3 here. On which side of a token does its "
            "past stand?",
        ),
        Slip(
            name="future-only",
            answer=_row(~HIDDEN),
            says="All weight went to the only token that should be hidden. Which tokens has the "
            "model read already when it comes to token 2?",
        ),
        Slip(
            name="counted-from-1",
            answer=_row(HIDDEN, row=HAND_ROW - 1),
            says="This is row 1, the one that is worked out above. We count from 0: which scores "
            "belong to token 2?",
        ),
        Slip(
            name="not-divided",
            answer=two_decimals(np.where(HIDDEN, 0, np.exp(HAND_SCALED))[HAND_ROW]),
            says="These are powers of e, and the right ones. Which division makes them sum to 1?",
        ),
    ),
)


def a_few_tokens(rng):
    return (int(rng.integers(3, 7)),)


def more_tokens(rng):
    return (int(rng.integers(7, 11)),)


def many_tokens(rng):
    return (int(rng.integers(11, 19)),)


ABOVE = "np.triu(np.ones((n, n), dtype=bool), k=1)"

CAUSAL_MASK = Exercise(
    name="causal-mask",
    objective="Mark for n tokens which of them each may not look at.",
    minutes=4,
    solution=causal_mask,
    inputs=(a_few_tokens, more_tokens, many_tokens),
    returns=("hidden",),
    points=(1,),
    properties={
        "no token is hidden from itself": lambda hidden, n: not np.diagonal(hidden).any(),
        "the last token may look everywhere": lambda hidden, n: not hidden[-1].any(),
        "the first token may look at itself alone": lambda hidden, n: hidden[0, 1:].all(),
        "of two different tokens, exactly one may look at the other": lambda hidden, n: (
            np.array_equal(hidden ^ hidden.T, ~np.eye(n, dtype=bool))
        ),
    },
    hints=(
        "Draw it for three tokens: a row for each that looks, a column for each that is looked "
        "at. Cross out what lies in the future.",
        "Entry [t, s] is crossed out if s comes after t. You can compare a column of numbers "
        "with a row of the same numbers, or let NumPy keep one triangle of a matrix.",
        "np.triu keeps the upper triangle and takes an argument k that says where it starts. A "
        "token may see itself: should the diagonal be in it? Mind the type: True and False.",
    ),
    mistakes=(
        Mistake(
            name="inverted",
            swap=ABOVE,
            into="np.tril(np.ones((n, n), dtype=bool))",
            says="This marks where a token may look. What does True mean in the docstring?",
        ),
        Mistake(
            name="inverted-numbers",
            swap=ABOVE,
            into="np.tril(np.ones((n, n)))",
            says="This holds 1 where a token may look. What does the docstring want to be marked, "
            "and with which two values?",
        ),
        Mistake(
            name="own-token-hidden",
            swap=ABOVE,
            into="np.triu(np.ones((n, n), dtype=bool))",
            says="The diagonal is marked too, so no token may look at itself, and the first has "
            "nothing at all to look at. Where should the triangle start?",
        ),
        Mistake(
            name="next-token-open",
            swap=ABOVE,
            into="np.triu(np.ones((n, n), dtype=bool), k=2)",
            says="Each token may still look at the very next one, which is just what it should "
            "learn to predict. Where should the triangle start?",
        ),
        Mistake(
            name="past-hidden",
            swap=ABOVE,
            into="np.tril(np.ones((n, n), dtype=bool), k=-1)",
            says="The past is hidden and the future open. A row belongs to the token that looks: "
            "in which columns of its row do later tokens stand?",
        ),
        Mistake(
            name="only-the-next-hidden",
            swap=ABOVE,
            into="np.eye(n, k=1, dtype=bool)",
            says="Only the very next token is hidden. What about those that come after it?",
        ),
        Mistake(
            name="all-others-hidden",
            swap=ABOVE,
            into="~np.eye(n, dtype=bool)",
            says="Each token sees itself and nothing else. Is the past to be hidden as well?",
        ),
        Mistake(
            name="nothing-hidden",
            swap=ABOVE,
            into="np.zeros((n, n), dtype=bool)",
            says="Nothing is marked. Which tokens come after token 0?",
        ),
        Mistake(
            name="numbers-not-booleans",
            swap=ABOVE,
            into="np.triu(np.ones((n, n)), k=1)",
            says="The right entries are marked, with 1 instead of True. np.where and ~ need "
            "booleans: which dtype has your matrix of ones?",
        ),
        Mistake(
            name="scores-not-booleans",
            swap=ABOVE,
            into=f"np.where({ABOVE}, -np.inf, 0.0)",
            says="This holds minus infinity, ready to be added to scores. The docstring asks for "
            "one step less: what are the only two values in it?",
        ),
    ),
)

NO_CHANGE, SHORT, SEEN, NAN = (
    "nothing, the weights are the same",
    "most rows sum to less than 1",
    "the future still gets weight",
    "most rows become nan",
)


def _effect_of_erasing() -> str:
    """What erasing weights after softmax does, found by trying it."""
    erased = np.where(HIDDEN, 0, UNMASKED)
    found = {
        NAN: np.isnan(erased).any(),
        SEEN: erased[HIDDEN].any(),
        NO_CHANGE: np.allclose(erased, attention_weights(np.where(HIDDEN, -np.inf, HAND_SCALED))),
        SHORT: (erased.sum(axis=-1) < 0.999).mean() > 0.5,
    }
    return next(words for words, is_so in found.items() if is_so)


ZERO_AFTER_SOFTMAX = Prediction(
    name="zero-after-softmax",
    objective="Explain why scores are masked before softmax and not weights after it.",
    minutes=3,
    points=1,
    answer=_effect_of_erasing(),
    options=(NO_CHANGE, SHORT, SEEN, NAN),
    hints=(
        "Take one row of four equal scores, which belongs to token 1. What are its weights before "
        "anything is hidden?",
        "Each weight is 0.25. Two of them are set to 0. Which weights should a token have that "
        "sees two tokens with equal scores?",
        "It should have 0.5 and 0.5; it has 0.25 and 0.25. What do you say of that row?",
    ),
    slips=(
        Slip(
            name="expects-no-change",
            answer=NO_CHANGE,
            says="The hidden weights are 0 both ways. But softmax had already divided by a sum: "
            "which scores were in that sum?",
        ),
        Slip(
            name="expects-a-leak",
            answer=SEEN,
            says="A weight of 0 gives nothing away. But who had a share of that row before, and "
            "where did the share go?",
        ),
        Slip(
            name="expects-nan",
            answer=NAN,
            says="nan comes from -inf times 0, or from -inf minus -inf. Is there any -inf here, "
            "if only finished weights are set to 0?",
        ),
    ),
)


def a_batch_of_one(rng):
    """A mask of one token would fit any scores here."""
    return rng.normal(size=(1, 5, 4)), *head_weights(rng, 4, 2, 3)


def one_token(rng):
    """It sees nobody but itself."""
    return rng.normal(size=(1, 5)), *head_weights(rng, 5, 2, 3)


MASKED = "masked = np.where(hidden, -np.inf, scaled)"
LENGTH = "X.shape[-2]"
WEIGHTS = "weights = attention_weights(masked)"
OUTPUT = "output = attend(weights, V)"
RETURNED = "return output, weights"


def _nan_where_all_is_hidden(hidden: str) -> str:
    """In place of WEIGHTS: as for a learner whose softmax gives nan to a row that is all -inf."""
    return (
        f"weights = attention_weights(np.where({hidden}, -np.inf, scaled))\n"
        f"    weights = np.where(({hidden}).all(axis=-1, keepdims=True), np.nan, weights)"
    )


INVERTED_SAYS = (
    "Each token sees only what comes after it, and the last one nothing at all. What does True "
    "mean in your mask, and which of its two cases does np.where name first?"
)
ITSELF_SAYS = (
    "No token sees itself here, and token 0 has nothing at all to look at. Which entry of the mask "
    "hides a token from itself?"
)

MASKED_ATTENTION_HEAD = Exercise(
    name="masked-attention-head",
    objective="Write a causal attention head: no token looks at a later one.",
    minutes=7,
    solution=masked_attention_head,
    inputs=(
        a_sentence,
        a_sentence_with_a_repeated_token,
        a_batch_of_sentences,
        a_batch_of_one,
        everything_of_one_size,
        one_token,
        float32_tokens,
    ),
    returns=("output", "weights"),
    points=(2, 1),
    properties={
        "no weight stands above the diagonal": lambda answer, X, W_q, W_k, W_v: (
            not np.triu(answer[1], k=1).any()
        ),
        "each row of weights sums to 1": lambda answer, X, W_q, W_k, W_v: np.allclose(
            answer[1].sum(axis=-1), 1, rtol=1e-5
        ),
        "the first token keeps its own value": lambda answer, X, W_q, W_k, W_v: np.allclose(
            answer[0][..., 0, :], X[..., 0, :] @ W_v, rtol=1e-4
        ),
    },
    hints=(
        "It is your attention head with one step more. Between which two of its steps?",
        "The mask needs the number of tokens, which is the last axis of X but one. It acts on "
        "scaled scores, before softmax sees them.",
        "np.where takes a mask and two choices: what to write where it is True, and what to keep "
        "where it is False. Which score gets a power of e of exactly 0?",
    ),
    mistakes=(
        Mistake(
            name="not-masked",
            swap=MASKED,
            into="masked = scaled",
            says="Nothing is hidden: this is the head of lesson 8. If you wrote np.where(...) on "
            "a line of its own, where does its result go?",
        ),
        Mistake(
            name="score-of-0",
            swap=MASKED,
            into="masked = np.where(hidden, 0, scaled)",
            says="Hidden scores become 0 (or a number as good as 0, such as 1e-9), and e to the "
            "power of 0 is 1: the future still gets weight. Which score gets none?",
        ),
        Mistake(
            name="not-far-enough",
            swap=MASKED,
            into="masked = np.where(hidden, -10, scaled)",
            says="A hidden score of -10 still leaves the future a little weight. How far down "
            "must a score be for its power of e to be exactly 0?",
        ),
        Mistake(
            name="erased-after-softmax",
            swap=WEIGHTS,
            into="weights = np.where(hidden, 0, attention_weights(scaled))",
            says="The weights are erased after softmax, so the future took its share before it "
            "was hidden. Print weights.sum(axis=-1): what is missing?",
        ),
        Mistake(
            name="minus-infinity-times-0",
            swap=MASKED,
            into="masked = scaled + hidden * -np.inf",
            says="-inf times 0 is nan, and that is what a visible entry gets from this product. "
            "What picks one of two values without multiplying?",
        ),
        Mistake(
            name="plus-infinity",
            swap=MASKED,
            into="masked = np.where(hidden, np.inf, scaled)",
            says="An infinite score would get all the weight, and softmax answers nan. Towards "
            "which end must a score go to get none?",
        ),
        Mistake(
            name="inverted",
            swap=MASKED,
            into="masked = np.where(hidden, scaled, -np.inf)",
            says=INVERTED_SAYS,
        ),
        Mistake(
            name="inverted-nan",
            swap=WEIGHTS,
            into=_nan_where_all_is_hidden("~hidden"),
            says=INVERTED_SAYS,
        ),
        Mistake(
            name="itself-hidden",
            swap=MASKED,
            into="masked = np.where(hidden | np.eye(len(hidden), dtype=bool), -np.inf, scaled)",
            says=ITSELF_SAYS,
        ),
        Mistake(
            name="itself-hidden-nan",
            swap=WEIGHTS,
            into=_nan_where_all_is_hidden("hidden | np.eye(len(hidden), dtype=bool)"),
            says=ITSELF_SAYS,
        ),
        Mistake(
            name="past-hidden",
            swap=MASKED,
            into="masked = np.where(hidden.T, -np.inf, scaled)",
            says="The past is hidden and the future open. In which triangle of the scores does "
            "a query meet later keys?",
        ),
        Mistake(
            name="length-of-axis-0",
            swap=LENGTH,
            into="X.shape[0]",
            says="Axis 0 of X counts tokens for one sentence only. What does it count in a batch, "
            "and which axis counts tokens in both?",
        ),
        Mistake(
            name="softmax-over-queries",
            swap=WEIGHTS,
            into="weights = softmax(masked, axis=-2)",
            says="Your columns sum to 1 instead of your rows. Over what should one query's "
            "weights be spread?",
        ),
        Mistake(
            name="not-scaled",
            swap="scaled = scale_scores(scores, K.shape[-1])",
            into="scaled = scores",
            says="The mask is right and the root is gone: the scores go into softmax unscaled. "
            "Which step of lesson 8 is missing?",
        ),
        Mistake(
            name="mix-of-unmasked-weights",
            swap=OUTPUT,
            into="output = attend(attention_weights(scaled), V)",
            says="The weights that you return are masked, but the output was mixed with others. "
            "Which weights does the mix use?",
        ),
        Mistake(
            name="unmasked-weights-returned",
            swap=RETURNED,
            into="return output, attention_weights(scaled)",
            says="The output is masked, but the weights that come back are those from before. "
            "Which weights made your output?",
        ),
    ),
)


# Heads to be tested. Their texts travel to learners, so they are no solution of anything: they mix
# tokens by nearness or by age, they take sentences of any length, and their weights never die out.
# A leak is large, and is there whatever the tokens are.


def only_itself(X):
    return 2 * X + X**2


def younger_counts_half(X):
    """Causal: the youngest token counts 1, older ones 2, later ones 0."""
    places = np.arange(len(X))
    weights = np.clip(places[:, None] - places + 1, 0, 2)
    return weights @ X


def nearest_of_the_past(X):
    """Causal: each token mixes what it has read so far, near ones more."""
    rows = []
    for t, token in enumerate(X):
        past = X[: t + 1]
        weights = 1 / (1 + ((past - token) ** 2).sum(axis=1))
        rows.append(weights @ past / weights.sum())
    return np.stack(rows)


def nearest_of_all(X):
    """Leaks: each token mixes the whole sequence, near ones more."""
    rows = []
    for token in X:
        weights = 1 / (1 + ((X - token) ** 2).sum(axis=1))
        rows.append(weights @ X / weights.sum())
    return np.stack(rows)


def own_and_next(X):
    """Leaks: each token sees itself and the very next one."""
    following = np.concatenate([X[1:], X[-1:]])
    return X + following


def last_to_first(X):
    """Leaks at one place: token 0 sees the last one."""
    output = np.cumsum(X, axis=0)
    output[0] = output[0] + X[-1]
    return output


def third_to_second(X):
    """Leaks at one place: token 1 sees token 2."""
    output = np.cumsum(X, axis=0)
    if len(X) > 2:
        output[1] = output[1] + X[2]
    return output


def normalised_over_time(X):
    """Leaks: every feature is normalised over all tokens before a causal mix."""
    normal = (X - X.mean(axis=0)) / (1 + X.std(axis=0))
    return np.cumsum(normal, axis=0)


def _tokens(rng):
    """Five tokens of three features; none of them near 0, so that no change is lost."""
    return rng.uniform(0.5, 1.5, size=(5, 3)) * rng.choice([-1, 1], size=(5, 3))


def a_head_in_which_tokens_see_only_themselves(rng):
    return code_of(only_itself), _tokens(rng)


def a_causal_head_with_fixed_weights(rng):
    return code_of(younger_counts_half), _tokens(rng)


def a_causal_head_that_prefers_near_tokens(rng):
    return code_of(nearest_of_the_past), _tokens(rng)


def a_head_that_sees_the_next_token(rng):
    return code_of(own_and_next), _tokens(rng)


def a_head_that_sees_the_whole_sequence(rng):
    return code_of(nearest_of_all), _tokens(rng)


def a_leak_from_the_last_token_to_the_first(rng):
    return code_of(last_to_first), _tokens(rng)


def a_leak_from_token_2_to_token_1(rng):
    return code_of(third_to_second), _tokens(rng)


def a_leak_through_a_normalisation_over_time(rng):
    return code_of(normalised_over_time), _tokens(rng)


ROUND = "for t in range(1, len(X)):"
CHANGED = "changed[t] = changed[t] + 1"
COPIED = "changed = X.copy()"
MOVED = "not np.allclose(after[:t], before[:t])"

LEAKS = Exercise(
    name="leaks",
    objective="Write a test that finds out whether a head sees the future.",
    minutes=9,
    solution=leaks,
    inputs=(
        a_head_in_which_tokens_see_only_themselves,
        a_causal_head_with_fixed_weights,
        a_causal_head_that_prefers_near_tokens,
        a_head_that_sees_the_next_token,
        a_head_that_sees_the_whole_sequence,
        a_leak_from_the_last_token_to_the_first,
        a_leak_from_token_2_to_token_1,
        a_leak_through_a_normalisation_over_time,
    ),
    returns=("found",),
    points=(3,),
    properties={
        "the answer is True or False": lambda found, head, X: found in (True, False),
    },
    hints=(
        "You did it once above: change a token, run the head again, see who notices. Which rows "
        "of the output are allowed to notice?",
        "Changing one token tells about leaks from that token only, so let each take its turn. "
        "Work on a copy of X, and keep the output of the unchanged X to compare with.",
        "When token t is changed, compare rows 0 to t - 1 of both outputs; np.allclose forgives "
        "rounding. One difference is enough for True; False has to wait until all had a turn.",
    ),
    mistakes=(
        Mistake(
            name="later-rows-counted",
            swap=MOVED,
            into="not np.allclose(after, before)",
            says="Your test accuses every head. A token that changes may change its own output, "
            "and those after it. Which rows must stay as they were?",
        ),
        Mistake(
            name="wrong-side",
            swap=MOVED,
            into="not np.allclose(after[t + 1 :], before[t + 1 :])",
            says="You compare the tokens after the changed one: those may notice, it is their "
            "past. On which side of it would movement be a leak?",
        ),
        Mistake(
            name="turned-around",
            swap="return True\n    return False",
            into="return False\n    return True",
            says="The answer is the wrong way round: it calls leaking heads clean. What does the "
            "docstring promise for a head that leaks?",
        ),
        Mistake(
            name="never-finds-one",
            swap=CHANGED,
            into="changed[t] = X[t]",
            says="Your test finds no leak in any head. Print the largest difference between the "
            "X that you start from and the changed one: does the head see a change at all?",
        ),
        Mistake(
            name="returned-in-the-first-round",
            swap=ROUND,
            into="for t in range(1, 2):",
            says="Only the first change decides. How far is the line indented that returns False, "
            "and what of leaks from later tokens?",
        ),
        Mistake(
            name="last-token-only",
            swap=ROUND,
            into="for t in range(len(X) - 1, len(X)):",
            says="You change the last token only, so a leak from a token in the middle stays "
            "unseen. Whose turn is it next?",
        ),
        Mistake(
            name="last-against-first",
            swap=f"{ROUND}\n        {COPIED}\n        {CHANGED}\n"
            f"        after = head(changed)\n        if {MOVED}:",
            into=f"for t in range(1):\n        {COPIED}\n        changed[-1] = changed[-1] + 1\n"
            "        after = head(changed)\n        if not np.allclose(after[0], before[0]):",
            says="You change the last token and look at the first. Between which other pairs of "
            "tokens could there be a leak?",
        ),
        Mistake(
            name="neighbour-only",
            swap=MOVED,
            into="not np.allclose(after[t - 1], before[t - 1])",
            says="You look at the token just before the changed one only. Could a leak jump over "
            "it?",
        ),
        Mistake(
            name="tokens-changed-in-place",
            swap=COPIED,
            into="changed = X",
            says="A new name is not a new array: your changes go into X itself, pile up from "
            "token to token, and stay there after the call. What gives an array of its own?",
        ),
        Mistake(
            name="future-reordered",
            swap=CHANGED,
            into="changed[t:] = X[t:][::-1]",
            says="You only put the later tokens in another order. In lesson 5 you saw what "
            "attention makes of an order, and a mean does not feel it either. What would be a "
            "change that nobody can overlook?",
        ),
        Mistake(
            name="future-set-to-nan",
            swap=CHANGED,
            into="changed[t] = np.nan",
            says="nan is a poison, not a change: 0 times nan is nan, so a right head with weight "
            "0 on the future moves too. Which finite change would do?",
        ),
    ),
)

NO_ROW, LAST_ROW, ALL_ROWS, FIRST_ROW = (
    "none of the first four",
    "only row 3, the one before it",
    "all of the first four",
    "only row 0, the first",
)


def _rows_that_move() -> str:
    """Which earlier rows of a causal head's output move when a token is appended: tried."""
    rng = np.random.default_rng(9)
    longer, weights = rng.normal(size=(5, 6)), rng.normal(size=(3, 6, 4))
    before, _ = masked_attention_head(longer[:4], *weights)
    after, _ = masked_attention_head(longer, *weights)
    moved = ~np.isclose(after[:4], before).all(axis=1)
    found = {
        NO_ROW: not moved.any(),
        ALL_ROWS: moved.all(),
        LAST_ROW: moved.tolist() == [False, False, False, True],
        FIRST_ROW: moved.tolist() == [True, False, False, False],
    }
    return next(words for words, is_so in found.items() if is_so)


APPENDED_TOKEN = Prediction(
    name="appended-token",
    objective="Predict what a causal head must compute anew when a token is appended.",
    minutes=3,
    points=1,
    answer=_rows_that_move(),
    options=(ALL_ROWS, LAST_ROW, FIRST_ROW, NO_ROW),
    hints=(
        "Which tokens does row 2 of the output depend on, with a mask?",
        "Row t depends on tokens 0 to t. Is the new token among them, for any t up to 3?",
        "The new token is later than all four. What does your leak test promise about changes "
        "that come later?",
    ),
    slips=(
        Slip(
            name="as-without-a-mask",
            answer=ALL_ROWS,
            says="That is so without a mask, where everybody looks at the new token. Who may look "
            "at it here?",
        ),
        Slip(
            name="the-neighbour-moves",
            answer=LAST_ROW,
            says="Row 3 is used to predict the new token, but it was computed before that token "
            "was there. May token 3 look at token 4?",
        ),
        Slip(
            name="the-first-moves",
            answer=FIRST_ROW,
            says="Row 0 sees token 0 alone, whatever follows. Which rows may look at the new "
            "token?",
        ),
    ),
)


def _vector(numbers) -> str:
    return "(" + ", ".join(f"{number:g}" for number in numbers) + ")"


def _decimals(numbers) -> str:
    return "(" + ", ".join(f"{number:.2f}" for number in numbers) + ")"


LESSON = Lesson(
    number=9,
    title="Causal masking and autoregressive generation",
    assignment="week2_attention",
    objective="explain why the future must be hidden from a model that predicts the next token, "
    "hide it with a mask, and prove with a test of your own that nothing leaks.",
    needs="one attention head (lesson 8) and softmax with scores of minus infinity (lesson 3)",
    place="mask",
    worked_pages=("03-attention.html",),
    exercises=(
        CAUSAL_MASK,
        MASKED_ROW_BY_HAND,
        ZERO_AFTER_SOFTMAX,
        MASKED_ATTENTION_HEAD,
        LEAKS,
        APPENDED_TOKEN,
    ),
    worked={
        "shown_row": _vector(HAND_SCALED[1]),
        "shown_masked": _vector(np.where(HIDDEN, -np.inf, HAND_SCALED)[1]).replace(
            "inf", r"\infty"
        ),
        "shown_powers": _decimals(np.where(HIDDEN, 0, np.exp(HAND_SCALED))[1]),
        "shown_weights": _decimals(attention_weights(np.where(HIDDEN, -np.inf, HAND_SCALED))[1]),
        "hand_row": _vector(HAND_SCALED[HAND_ROW]),
        "e_1": np.exp(1.0),
        "e_2": np.exp(2.0),
    },
)
