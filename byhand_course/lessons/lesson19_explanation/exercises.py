# mypy: allow-untyped-defs
"""What is graded in lesson 19, the wrong answers it knows, and the rubrics of its answers in words.

Sources of what heads were found to do: Clark et al. 2019 (arXiv:1906.04341), Voita et al. 2019
(arXiv:1905.09418), Jain and Wallace 2019 (arXiv:1902.10186).
"""

import numpy as np

from byhand_course.lessons.exercise import (
    ByHand,
    Exercise,
    FreeAnswer,
    Lesson,
    Mistake,
    Prediction,
    Slip,
)
from byhand_course.reference.attention import (
    attention_scores,
    masked_attention_head,
    qkv,
    worked_row,
)

# The sizes of the course's model, and its sentence.
WORDS = ("<BOS>", "I", "like", "transformers", "<EOS>")
T, D_MODEL, NUM_HEADS = len(WORDS), 16, 2
D_K = D_MODEL // NUM_HEADS
LIKE = WORDS.index("like")


def _board() -> list[float]:
    """The facts of the sheet, read off a head whose scores are all equal."""
    X, W = np.zeros((T, D_MODEL)), np.zeros((D_MODEL, D_K))
    Q, _, _ = qkv(X, W, W, W)
    _, weights = masked_attention_head(X, W, W, W)
    return [
        X.shape[0],
        Q.shape[1],
        round(D_K**0.5, 2),
        weights.size,
        round(float(weights[LIKE].sum())),
        int((weights == 0).sum()),
        int((weights[LIKE] > 0).sum()),
        round(float(weights[LIKE].max()), 2),
    ]


def _board_but(**wrong: float) -> list[float]:
    """The facts with some of them wrong, by place: `_0`, `_1` and so on."""
    facts = _board()
    for place, fact in wrong.items():
        facts[int(place.strip("_"))] = fact
    return facts


BOARD_FACTS = ByHand(
    name="board-facts",
    objective="State the shapes, the divisor, the mask and the row sums of a worked sentence.",
    minutes=5,
    points=2,
    form="a list of eight numbers, decimals to two places, such as [1, 2, 1.41, 4, 0, 7, 1, 0.50]",
    answer=_board(),
    tolerance=0.01,
    hints=(
        "Draw the sentence as a column of tokens. Which of the eight numbers count tokens, and "
        "which count features?",
        "A weight belongs to a pair: a row for the token that asks, a column for the one that is "
        "looked at. The mask hides every pair whose column is the later one.",
        f"The heads share the {D_MODEL} columns of the model evenly. Numbers 3 and 5 count pairs: "
        f"all {T} times {T}, and those above the diagonal.",
    ),
    slips=(
        Slip(
            name="width-of-the-model",
            answer=_board_but(_1=D_MODEL, _2=D_MODEL**0.5),
            says=f"Entries 1 and 2 take all {D_MODEL} columns. How many are left for one head, "
            f"when {NUM_HEADS} heads share them?",
        ),
        Slip(
            name="no-root",
            answer=_board_but(_2=D_K),
            says="Entry 2 is d_k itself. What does the formula take of it before it divides?",
        ),
        Slip(
            name="shape-of-the-values",
            answer=_board_but(_3=T * D_K),
            says="Entry 3 counts the numbers in Q, K or V. A weight stands between two tokens: how "
            "many pairs of tokens are there?",
        ),
        Slip(
            name="all-rows-summed",
            answer=_board_but(_4=T),
            says="Entry 4 is the sum of the whole table. What does a single row of it sum to?",
        ),
        Slip(
            name="diagonal-hidden-too",
            answer=_board_but(_5=T * (T + 1) // 2),
            says="Entry 5 counts the diagonal as well. May a token look at itself?",
        ),
        Slip(
            name="does-not-see-itself",
            answer=_board_but(_5=T * (T + 1) // 2, _6=LIKE, _7=round(1 / LIKE, 2)),
            says="Entries 5 to 7 hide a token from itself. Then the first token would have nothing "
            "to look at: where does the mask begin?",
        ),
        Slip(
            name="future-in-sight",
            answer=_board_but(_6=T, _7=1 / T),
            says="Entries 6 and 7 let the token see the whole sentence. What does the mask do with "
            "the tokens after it?",
        ),
        Slip(
            name="marks-left-out",
            answer=[3, D_K, round(D_K**0.5, 2), 9, 1, 3, 2, 0.5],
            says="These numbers fit three tokens. The model also reads <BOS> and <EOS>: how many "
            "rows has X then?",
        ),
    ),
)


def _work(length: int) -> tuple[int, int]:
    """Multiplications for the projections of a head, and for its scores, at a length."""
    W = np.zeros((D_MODEL, D_K))
    Q, K, V = qkv(np.zeros((length, D_MODEL)), W, W, W)
    projections = sum(array.size for array in (Q, K, V)) * D_MODEL
    return projections, attention_scores(Q, K).size * D_K


TIMES = {2: "twice", 4: "four times"}


def _growth(projections: int, scores: int) -> str:
    return f"{TIMES[projections]} for the projections, {TIMES[scores]} for the scores"


COST_OF_TWICE_THE_LENGTH = Prediction(
    name="cost-of-twice-the-length",
    objective="Predict how the work of each part of attention grows with the length of a text.",
    minutes=3,
    points=1,
    answer=_growth(*(b // a for a, b in zip(_work(8), _work(16), strict=True))),
    options=(_growth(2, 2), _growth(2, 4), _growth(4, 2), _growth(4, 4)),
    hints=(
        "Take a text of 2 tokens, and one of 4. How many rows has X, and how many scores are "
        "there?",
        "Each token is projected once, whatever the others are. But with how many tokens is each "
        "one compared?",
        "The projections cost a fixed amount for each token; the scores cost one for each pair of "
        "tokens. Twice the tokens make how many pairs?",
    ),
    slips=(
        Slip(
            name="all-in-proportion",
            answer=_growth(2, 2),
            says="Each of twice as many tokens asks, but it also has twice as many tokens to ask. "
            "How many pairs is that?",
        ),
        Slip(
            name="everything-squared",
            answer=_growth(4, 4),
            says="Does a token's projection need to know how long the text is? Count what one more "
            "token costs there.",
        ),
        Slip(
            name="the-wrong-part",
            answer=_growth(4, 2),
            says="One of the two parts compares tokens with each other, the other takes them one "
            "by one. Which of them gets more to do for each token when the text grows?",
        ),
    ),
)


def head_weights(rng, d_model, d_k, d_v):
    """Weights that keep queries, keys and values of order 1, so that scores are too."""
    return tuple(
        rng.normal(size=(d_model, columns)) * 1.2 / d_model**0.5 for columns in (d_k, d_k, d_v)
    )


def a_token_in_the_middle(rng):
    return rng.normal(size=(5, 6)), *head_weights(rng, 6, 3, 4), 2


def the_first_token(rng):
    """It sees only itself, so its weight is 1."""
    return rng.normal(size=(4, 6)), *head_weights(rng, 6, 2, 5), 0


def the_last_token(rng):
    """Here nothing is hidden."""
    return rng.normal(size=(4, 7)), *head_weights(rng, 7, 3, 5), 3


def everything_of_one_size(rng):
    """Here tokens could pass for values; only the numbers tell."""
    return rng.normal(size=(4, 4)), *head_weights(rng, 4, 4, 4), 2


def whole_number_tokens(rng):
    return rng.integers(-3, 4, size=(5, 4)), *head_weights(rng, 4, 2, 3), 3


def huge_scores(rng):
    """The power of e of the largest is beyond float64."""
    X = rng.normal(size=(5, 6))
    X[1:3] *= 200
    W_q, _, W_v = head_weights(rng, 6, 4, 3)
    return X, W_q, W_q * rng.uniform(0.5, 1.5, size=4), W_v, 2


def float32_tokens(rng):
    arrays = rng.normal(size=(5, 6)), *head_weights(rng, 6, 3, 2)
    return *(array.astype(np.float32) for array in arrays), 3


SEEN = "keys, values = K[: t + 1], V[: t + 1]"
SCORES = "scores = keys @ query / K.shape[-1] ** 0.5"
WEIGHTS = "weights = softmax(scores)"
RETURNED = "return scores, weights, output"

WORKED_ROW = Exercise(
    name="worked-row",
    objective="Follow one token through a masked head, from its query to what it takes home.",
    minutes=13,
    solution=worked_row,
    inputs=(
        a_token_in_the_middle,
        the_first_token,
        the_last_token,
        everything_of_one_size,
        whole_number_tokens,
        huge_scores,
        float32_tokens,
    ),
    returns=("scores", "weights", "output"),
    points=(1, 1, 1),
    properties={
        "the weights sum to 1": lambda answer, X, W_q, W_k, W_v, t: np.isclose(
            answer[1].sum(), 1, rtol=1e-5
        ),
        "there is a score and a weight for each token that may be seen": (
            lambda answer, X, W_q, W_k, W_v, t: answer[0].shape == answer[1].shape == (t + 1,)
        ),
        "what comes after the token does not matter": lambda answer, X, W_q, W_k, W_v, t: (
            np.allclose(answer[2], worked_row(X[: t + 1], W_q, W_k, W_v, t)[2], rtol=1e-5)
        ),
        "the output lies within the values": lambda answer, X, W_q, W_k, W_v, t: (
            answer[2] <= (X @ W_v)[: t + 1].max(axis=0) + 1e-5
        ).all(),
    },
    hints=(
        "One token asks, so there is one query: a single row of Q. Which tokens may it look at?",
        "Cut keys and values off behind token t; then no mask is needed. What is left is score, "
        "root, softmax and mix, for a single row.",
        "A slice up to t leaves token t itself out: mind its end. The root is that of d_k, the "
        "number of columns of K. All three results have one axis.",
    ),
    mistakes=(
        Mistake(
            name="not-scaled",
            swap=SCORES,
            into="scores = keys @ query",
            says="The scores are bare dot products. Which division did the docstring promise?",
        ),
        Mistake(
            name="divided-by-d-k",
            swap="K.shape[-1] ** 0.5",
            into="K.shape[-1]",
            says="The scores are divided by d_k itself. In lesson 7 the variance of a score was "
            "d_k: what is then its typical size?",
        ),
        Mistake(
            name="root-of-d-model",
            swap="K.shape[-1] ** 0.5",
            into="X.shape[-1] ** 0.5",
            says="This takes the root of d_model. Over how many features does the dot product of "
            "a query and a key run?",
        ),
        Mistake(
            name="whole-sentence",
            swap=SEEN,
            into="keys, values = K, V",
            says="Token t is compared with the whole sentence, later tokens too. In a model that "
            "predicts the next token, what must it not see?",
        ),
        Mistake(
            name="itself-hidden",
            swap=SEEN,
            into="keys, values = K[:t], V[:t]",
            says="Token t sees what stands before it, but not itself. With how many keys should "
            "the first token of a sentence be compared?",
        ),
        Mistake(
            name="the-key-asks",
            swap=SEEN,
            into="query = K[t]\n    keys, values = Q[: t + 1], V[: t + 1]",
            says="The key of token t is compared with queries. Who asks in this row, and who is "
            "looked at?",
        ),
        Mistake(
            name="the-first-query",
            swap="query = Q[t]",
            into="query = Q[0]",
            says="The query is always that of token 0. Whose row is wanted?",
        ),
        Mistake(
            name="tokens-mixed",
            swap=SEEN,
            into="keys, values = K[: t + 1], X[: t + 1]",
            says="The tokens themselves are mixed, and W_v has no effect. Which vector does a "
            "token hand over when it is looked at?",
        ),
        Mistake(
            name="keys-mixed",
            swap=SEEN,
            into="keys, values = K[: t + 1], K[: t + 1]",
            says="The keys are mixed: they say how a token is found. Which vector says what it "
            "hands over?",
        ),
        Mistake(
            name="softmax-forgotten",
            swap=WEIGHTS,
            into="weights = scores",
            says="The scores serve as weights, and need not sum to 1. Which step is missing?",
        ),
        Mistake(
            name="exponentials-by-hand",
            swap=WEIGHTS,
            into="weights = np.exp(scores) / np.exp(scores).sum()",
            says="Powers of e of huge scores are infinite, and inf / inf is nan. What did your "
            "softmax of lesson 3 do first?",
        ),
        Mistake(
            name="rows-of-full-length",
            swap=RETURNED,
            into="hidden = len(X) - t - 1\n"
            "    scores = np.pad(scores, (0, hidden), constant_values=-np.inf)\n"
            "    return scores, np.pad(weights, (0, hidden)), output",
            says="Scores and weights have an entry for every token of the sentence, hidden ones "
            "included. How many tokens does the docstring list?",
        ),
        Mistake(
            name="bare-scores-returned",
            swap=RETURNED,
            into="return keys @ query, weights, output",
            says="The weights are right, but the scores that come back are bare dot products. "
            "What does the docstring say they are divided by?",
        ),
    ),
)

WHY_NOT_RNNS = FreeAnswer(
    name="why-not-rnns",
    objective="Explain what attention does that a recurrent network cannot, and at what price.",
    minutes=6,
    points=3,
    hints=(
        "An RNN carries one state vector from token to token. What does the last step have to wait "
        "for?",
        "Follow one piece of information from the first token to the hundredth: how many steps "
        "does it take in an RNN, and how many in attention?",
        "Two reasons, then: what can be computed at the same time, and how far apart two tokens "
        "are. And what grows in attention that does not grow in an RNN?",
    ),
    model_answer="An RNN reads one token after the other and keeps all it has read in a single "
    "state vector. So step 100 has to wait for step 99, and training cannot use hardware that does "
    "many things at once; attention computes all positions together, in a few matrix products. And "
    "what the first token said reaches the hundredth only through a hundred updates of that one "
    "vector, in which it fades, and its gradient with it; in attention any two tokens are one dot "
    "product apart. The price: a score for every pair of tokens, so the cost grows with the square "
    "of the length, where an RNN's grows in proportion.",
    rubric=(
        (
            3,
            "Both reasons with their causes, and a price. The reasons: an RNN's steps wait for "
            "each other, so it cannot compute all positions at once; and what a far token said "
            "passes through many updates of one state, where attention links any two tokens "
            "directly. A price: the square of the length, the need for positions, or the memory "
            "that generation takes.",
        ),
        (
            2,
            "Both reasons with their causes but no price; or one reason with its cause, and a "
            "price.",
        ),
        (
            1,
            "One reason with its cause and nothing else; or bare claims, such as that RNNs are "
            "slow and forgetful, without saying why.",
        ),
        (
            0,
            "No reason, or only wrong ones, for instance that RNNs cannot handle the order of "
            "words, or that transformers are simply larger.",
        ),
    ),
    examples=(
        "In an RNN every step needs the state of the step before, so a hundred words take a "
        "hundred steps in a row, however many processors you have. Attention does all words in one "
        "matrix product. Also, the first word gets to the hundredth through a hundred overwritings "
        "of the same vector, so little of it arrives; with attention the hundredth word looks "
        "straight at it. You pay with one score for each pair of words, which hurts in long texts.",
        "An RNN has to go through the text word by word, because each state is made from the one "
        "before. So it cannot be trained in parallel. And everything it has read must fit into one "
        "state vector, so old words get overwritten. Attention has neither problem.",
        "RNNs are slow to train, and they forget the beginning of a long text. Transformers are "
        "faster and have a better memory.",
        "RNNs are the older technology. Transformers have many more parameters, and they "
        "understand the order of words, which RNNs do not.",
    ),
)

WHAT_HEADS_LEARN = FreeAnswer(
    name="what-heads-learn",
    objective="Explain what makes heads differ, who decides what they look for, and how far that "
    "can be read.",
    minutes=6,
    points=3,
    hints=(
        "Which matrices does a head have for itself? What do they decide?",
        "Nobody writes into the code what a head should look for. Where does it come from? Give an "
        "example of what one may come to look at.",
        "You have seen heat maps of weights. What does a heat map leave out, and would you expect "
        "to be able to name the job of every head?",
    ),
    model_answer="Each head has its own W_q, W_k and W_v, so it has its own idea of who should "
    "look at whom, and of what is handed over; several heads let a token look at several places at "
    "once, where a single head could only blend them into one average. Nobody assigns these jobs: "
    "the weights start at random, and training keeps what lowers the loss. In trained models "
    "people found heads that look at the token before, from a verb to its object, or from a "
    "pronoun to the noun it stands for. But many heads have no job that can be named, many can be "
    "removed with little harm, and a large weight only says that much of a value was taken, not "
    "what it did later.",
    rubric=(
        (
            3,
            "All three: (a) a head has projections of its own, and so a pattern of its own of who "
            "looks at whom, beside those of other heads; (b) training decides the pattern and "
            "nobody assigns it, with a plausible example; (c) a caution: many heads cannot be "
            "named or are not needed, or a heat map does not show what a value does later.",
        ),
        (2, "Two of the three."),
        (1, "One of the three; or only an example or two of what heads look at."),
        (
            0,
            "None of them, or something wrong: that the roles are programmed, or that each head "
            "reads its own part of the sentence.",
        ),
    ),
    examples=(
        "Every head has its own small W_q, W_k and W_v, so each can look for something else, and a "
        "word can look at several others at the same time. What a head looks for is not "
        "programmed: it starts out random and is shaped by the loss. One may end up linking verbs "
        "to their objects. But for many heads nobody can say what they do, and a dark cell in a "
        "heat map does not prove that the model used it.",
        "A head's own three matrices decide which tokens match in it, so different heads look at "
        "different things. They are learned with everything else, by gradient descent. For "
        "example, one head may look at the word before, and another from a pronoun to its noun.",
        "Some heads look at the previous word, some find the subject of a verb.",
        "The first head reads the beginning of the sentence and the second head the end, so that "
        "the work is shared out.",
    ),
)

WHY_THE_SQUARE = FreeAnswer(
    name="why-the-square",
    objective="Explain why the cost of attention grows with the square of the length, and what "
    "does not grow so.",
    minutes=6,
    points=3,
    hints=(
        "Which table of the worked sentence has as many columns as rows? What would it look like "
        "for a text of a thousand tokens?",
        "Give numbers: how many scores have 1,000 tokens, and how many have 2,000?",
        "Three things make the answer whole: what is counted, what a doubled text does to it, and "
        "which parts of the model grow only in proportion to the length.",
    ),
    model_answer="Every token asks every token: T queries meet T keys, so a head has a table of "
    "T times T scores, and each costs a dot product and a place in memory. With 1,000 tokens that "
    "is a million scores, with 2,000 it is four million: twice the text, four times the work. A "
    "causal mask hides nearly half of them, but half of a square still grows like a square. The "
    "projections, the feed-forward part and the logits take each token by itself, so they only "
    "double; in short texts they are most of the cost.",
    rubric=(
        (
            3,
            "All three: (a) the cause, that every token is compared with every token, so that "
            "there are T times T scores; (b) the consequence in numbers, twice the length for four "
            "times the work; (c) what does not grow so: projections, feed-forward or logits grow "
            "in proportion to the length, or the square only dominates in long texts.",
        ),
        (2, "The cause, and one of the other two."),
        (1, "The cause alone; or the consequence alone, without a cause."),
        (
            0,
            "Neither, or a wrong cause: the exponentials of softmax, the square matrices of "
            "weights, or the number of layers or heads.",
        ),
    ),
    examples=(
        "Each of T tokens has a query, and it is compared with the keys of all T tokens, which "
        "makes T² scores. 1,000 tokens have a million of them, 2,000 have four million. Only "
        "attention does this. Q, K, V and the feed-forward layer work token by token, so they "
        "take twice as long for twice the text, and for short texts they are the larger part.",
        "Every word looks at every other word, so the table of weights is T by T. If the text "
        "gets twice as long, the table has four times as many cells.",
        "If you double the text, attention takes four times as long.",
        "Because W_q, W_k and W_v are square matrices, and multiplying square matrices costs a "
        "square.",
    ),
)

# What the two pictures show, for those who cannot see them.
COST_PLOT = (
    "Two straight lines. That of scores and mix rises twice as steeply: it begins below that of "
    "the projections and ends far above it."
)
HEADS_PLOT = (
    "Two triangles: white wherever a later token would be looked at. The cell of <BOS> looking at "
    "itself is darkest. Below, the two heads are shaded differently."
)

LESSON = Lesson(
    number=19,
    title="Rehearsing the explanation",
    assignment="week2_explain",
    objective="explain attention at a whiteboard in five minutes, with one sentence worked in "
    "numbers, and answer the three questions that come next.",
    needs="positions, one masked head and several heads (lessons 5 to 10)",
    place="attention",
    worked_pages=("03-attention.html", "index.html"),
    exercises=(
        BOARD_FACTS,
        COST_OF_TWICE_THE_LENGTH,
        WORKED_ROW,
        WHY_NOT_RNNS,
        WHAT_HEADS_LEARN,
        WHY_THE_SQUARE,
    ),
    worked={
        "d_model": D_MODEL,
        "num_heads": NUM_HEADS,
        "plot_alt": COST_PLOT,
        "heads_alt": HEADS_PLOT,
    },
)
