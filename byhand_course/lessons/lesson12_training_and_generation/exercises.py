# mypy: allow-untyped-defs
"""What is graded in lesson 12, and the wrong answers it knows.

Any right way of drawing counts, so drawn ids are judged by how often each comes (`draw_often`) and
a drawn text only by whether it varies (`continue_often`).
"""

import numpy as np

from byhand.tree import Seeded
from byhand_course.lessons.exercise import ByHand, Exercise, Lesson, Mistake, Prediction, Slip
from byhand_course.reference.generation import generate, sample
from byhand_course.reference.loss import cross_entropy
from byhand_course.reference.model import forward
from byhand_course.reference.softmax import softmax_with_temperature
from byhand_course.reference.tokens import VOCABULARY, ids_of


def _model(rng, *, V, max_len, d_model, num_heads, d_k, d_v, d_ff, num_layers=1):
    """A small model's parameters, everything random; heads need not fill d_model."""

    def weights(rows, columns):
        return rng.normal(0, 1.2 * rows**-0.5, size=(rows, columns))

    def norm(name):
        gamma, beta = rng.normal(1, 0.4, size=d_model), rng.normal(0, 0.4, size=d_model)
        return {f"{name}_gamma": gamma, f"{name}_beta": beta}

    params = {
        "token_embedding": rng.normal(size=(V, d_model)),
        "position_embedding": rng.normal(size=(max_len, d_model)),
    }
    for layer in range(num_layers):
        block = {
            **norm("ln1"),
            "W_q": weights(d_model, num_heads * d_k),
            "W_k": weights(d_model, num_heads * d_k),
            "W_v": weights(d_model, num_heads * d_v),
            "W_o": weights(num_heads * d_v, d_model),
            **norm("ln2"),
            "W_1": weights(d_model, d_ff),
            "b_1": rng.normal(0, 0.5, size=d_ff),
            "W_2": weights(d_ff, d_model),
            "b_2": rng.normal(0, 0.5, size=d_model),
        }
        params |= {f"blocks.{layer}.{name}": array for name, array in block.items()}
    return params | norm("lnf") | {"W_out": weights(d_model, V)}


ONE_BLOCK = {"V": 7, "max_len": 6, "d_model": 4, "num_heads": 2, "d_k": 3, "d_v": 1, "d_ff": 8}
TWO_BLOCKS = {"V": 6, "max_len": 5, "d_model": 3, "num_heads": 3, "d_k": 2, "d_v": 2, "d_ff": 4}
TWO_BLOCKS["num_layers"] = 2


def one_block(rng):
    return rng.permutation(7)[:3], _model(rng, **ONE_BLOCK), 2


def two_blocks_with_three_heads(rng):
    """A repeated token, at two places."""
    first, second, third = rng.permutation(6)[:3]
    return np.array([first, second, first, third]), _model(rng, **TWO_BLOCKS), 3


def a_batch(rng):
    sizes = {"V": 7, "max_len": 6, "d_model": 5, "num_heads": 2, "d_k": 1, "d_v": 2, "d_ff": 6}
    ids = np.stack([rng.permutation(7)[:3], rng.permutation(7)[:3]])
    return ids, _model(rng, **sizes), 2


def square_weights(rng):
    """As many tokens in the vocabulary as features, and as many positions as ids."""
    sizes = {"V": 4, "max_len": 5, "d_model": 4, "num_heads": 2, "d_k": 2, "d_v": 2, "d_ff": 7}
    return np.append(rng.permutation(4), rng.integers(4)), _model(rng, **sizes), 2


LOOP = "for layer in range(num_layers):"
BLOCK = "x = transformer_block(x, **block_params(params, layer), num_heads=num_heads)"
LAST_NORM = 'normed = layer_norm(x, params["lnf_gamma"], params["lnf_beta"])'
EMBEDDED = 'x = embed_with_positions(ids, params["token_embedding"], params["position_embedding"])'

FORWARD = Exercise(
    name="forward",
    objective="Join embeddings, blocks, last norm and output layer into a whole model.",
    minutes=7,
    solution=forward,
    inputs=(one_block, two_blocks_with_three_heads, a_batch, square_weights),
    returns=("logits",),
    points=(2,),
    properties={
        "there is one logit for each token of the vocabulary": lambda logits, ids, params, h: (
            logits.shape == (*ids.shape, len(params["token_embedding"]))
        ),
        "the last token changes no logits before it": lambda logits, ids, params, h: np.allclose(
            logits[..., :-1, :], forward(ids[..., :-1], params, h)
        ),
    },
    hints=(
        "Four stages: look up, run through the blocks, norm, multiply. Which parameters does each "
        "need?",
        "The stream x goes into a block, and what comes out is the x of the next. The number of "
        "blocks is not given: how many names end with .W_q?",
        "In the loop, block_params(params, layer) with two stars before it fills in twelve "
        "arguments of transformer_block; num_heads is the one that is left. The last norm has "
        "gamma and beta of its own, under names that begin with lnf.",
    ),
    mistakes=(
        Mistake(
            name="positions-forgotten",
            swap=EMBEDDED,
            into='x = params["token_embedding"][ids]',
            says="The model does not know where a token stands. Which of your functions adds what "
            "a token is to its place?",
        ),
        Mistake(
            name="no-blocks",
            swap=LOOP,
            into="for layer in range(0):",
            says="The embeddings go straight to the last norm. What should happen to the stream "
            "between the two?",
        ),
        Mistake(
            name="first-block-only",
            swap=LOOP,
            into="for layer in range(1):",
            says="Only one block runs. A model may have more: how do the names in params tell how "
            "many?",
        ),
        Mistake(
            name="same-block-each-time",
            swap="block_params(params, layer)",
            into="block_params(params, 0)",
            says="Every round uses the parameters of block 0. What changes from round to round?",
        ),
        Mistake(
            name="blocks-in-reverse",
            swap=LOOP,
            into="for layer in reversed(range(num_layers)):",
            says="The last block runs first. In which order do the numbers in the names go?",
        ),
        Mistake(
            name="blocks-side-by-side",
            swap=LOOP,
            into=f"embedded = x\n    {LOOP}\n        x = embedded",
            says="Each block starts from the embeddings again, so only the last one counts. What "
            "should go into block 1?",
        ),
        Mistake(
            name="block-added-once-more",
            swap=BLOCK,
            into=BLOCK.replace("x = ", "x = x + "),
            says="You add each block's answer to the stream. The block has done that itself, in "
            "two sums: what does transformer_block return?",
        ),
        Mistake(
            name="last-norm-forgotten",
            swap=LAST_NORM,
            into="normed = x",
            says="The stream goes to W_out as it is. Which two parameters have you not used yet?",
        ),
        Mistake(
            name="norm-after-every-block",
            swap=BLOCK,
            into=f"{BLOCK}\n        "
            'x = layer_norm(x, params["lnf_gamma"], params["lnf_beta"])\n    normed = x\n'
            '    return normed @ params["W_out"]',
            says="The last norm stands inside the loop, so it runs after every block. How far is "
            "that line indented?",
        ),
        Mistake(
            name="last-norm-without-its-parameters",
            swap=LAST_NORM,
            into="normed = layer_norm(x, 1.0, 0.0)",
            says="The last norm neither scales nor shifts. Under which names does params hold its "
            "gamma and beta?",
        ),
        Mistake(
            name="output-layer-forgotten",
            swap='return normed @ params["W_out"]',
            into="return normed",
            says="These are the normed features, d_model for each token. What turns them into one "
            "score for each token of the vocabulary?",
        ),
        Mistake(
            name="scored-by-the-embedding",
            swap='return normed @ params["W_out"]',
            into='return normed @ params["token_embedding"].T',
            says="You score with the embedding table, as models with tied weights do. Ours has a "
            "matrix of its own for that: which one?",
        ),
        Mistake(
            name="probabilities-returned",
            swap='return normed @ params["W_out"]',
            into='powers = np.exp(normed @ params["W_out"])\n'
            "    return powers / powers.sum(axis=-1, keepdims=True)",
            says="These are probabilities: softmax has run already. What is a score called before "
            "that, and which of the two does the docstring promise?",
        ),
        Mistake(
            name="last-position-only",
            swap='return normed @ params["W_out"]',
            into='return normed[..., -1, :] @ params["W_out"]',
            says="Only the last position is scored. Training learns from every position: how many "
            "rows should T tokens give?",
        ),
        Mistake(
            name="num-heads-ignored",
            swap="num_heads=num_heads)",
            into="num_heads=2)",
            says="Every block runs with two heads, whatever num_heads says. Where does that "
            "argument go?",
        ),
    ),
)

V = len(VOCABULARY)
SENTENCE = ids_of("I like transformers")
TARGETS = SENTENCE[1:]
EQUAL_LOGITS = np.zeros((len(TARGETS), V))
UNTRAINED = float(cross_entropy(EQUAL_LOGITS, TARGETS))


def _two_decimals(number: float) -> float:
    return round(float(number), 2)


UNTRAINED_LOSS = ByHand(
    name="untrained-loss",
    objective="Predict the loss of a model that has learned nothing yet.",
    minutes=3,
    points=1,
    form="a number to two decimals",
    answer=_two_decimals(UNTRAINED),
    tolerance=0.01,
    hints=(
        "If all logits of a row are equal, which probability does each token get?",
        f"Each of the {V} tokens gets 1/{V}, the right one too. What is the surprise at that?",
        f"It is the same surprise at all {len(TARGETS)} positions, so their mean is that too: ln "
        f"{V}. As {V} = 2 times 5, its logarithm is a sum of the two that are given.",
    ),
    slips=(
        Slip(
            name="sum-of-the-positions",
            answer=_two_decimals(len(TARGETS) * UNTRAINED),
            says="This is the sum over the four positions. Which average of four equal numbers is "
            "asked for?",
        ),
        Slip(
            name="probability-itself",
            answer=_two_decimals(1 / V),
            says="This is the probability of the right token. What is the surprise at it?",
        ),
        Slip(
            name="sign-lost",
            answer=_two_decimals(-UNTRAINED),
            says="The size is right. A probability below 1 has a negative logarithm: what does the "
            "surprise make of that?",
        ),
        Slip(
            name="bits",
            answer=_two_decimals(np.log2(V)),
            says="This is the surprise in bits, with the logarithm to base 2. Which base has ln?",
        ),
        Slip(
            name="base-10",
            answer=_two_decimals(np.log10(V)),
            says="This is the logarithm to base 10. Which base has ln?",
        ),
        Slip(
            name="divided-by-the-vocabulary",
            answer=_two_decimals(UNTRAINED / V),
            says="You divided by the size of the vocabulary as well. Over how many numbers does "
            "the mean run, one for each position or one for each token?",
        ),
        Slip(
            name="targets-counted",
            answer=_two_decimals(np.log(len(TARGETS))),
            says="You took the number of positions for the number of choices. Among how many "
            "tokens does the model choose at each position?",
        ),
        Slip(
            name="no-loss",
            answer=0.0,
            says="A loss of 0 would mean that the model is certain of every right token. How "
            f"certain is it, if {V} tokens share the probability?",
        ),
    ),
)


def two_targets(rng):
    """Whole numbers, to be checked on paper."""
    return rng.permuted(np.arange(1, 5)[None].repeat(2, axis=0), axis=1), rng.permutation(4)[:2]


def rows_of_logits(rng):
    """One target stands twice."""
    targets = rng.permutation(7)[:5]
    targets[4] = targets[1]
    return 1.5 * rng.normal(size=(5, 7)), targets


def a_batch_of_logits(rng):
    return 1.5 * rng.normal(size=(2, 3, 5)), rng.integers(5, size=(2, 3))


def equal_logits(rng):
    return np.full((3, 6), rng.normal()), rng.permutation(6)[:3]


def large_logits(rng):
    """e to the power of 1000 is beyond float64."""
    return 1000 + rng.normal(size=(3, 5)), rng.permutation(5)[:3]


def logits_of_ten_thousand(rng):
    """So far apart that probabilities become 0; no target is the likeliest, one is large."""
    logits = rng.permuted(np.linspace(-1e4, 1e4, 6)[None].repeat(3, axis=0), axis=1)
    order = np.argsort(logits, axis=-1)
    targets = order[np.arange(3), rng.permutation([0, 2, 4])]
    return logits + rng.normal(size=(3, 6)), targets


def float32_logits(rng):
    return rng.normal(size=(3, 7)).astype(np.float32), rng.integers(7, size=3)


SHIFTED = "shifted = logits - logits.max(axis=-1, keepdims=True)"
LOG_PROBABILITIES = "log_probabilities = shifted - log_totals"
MEAN = "return -right.mean()"
SOFTMAXED = "log_probabilities = np.log(softmax(logits))"

CROSS_ENTROPY = Exercise(
    name="cross-entropy",
    objective="Write the mean cross-entropy of the next token so that it survives huge logits.",
    minutes=7,
    solution=cross_entropy,
    inputs=(
        two_targets,
        rows_of_logits,
        a_batch_of_logits,
        equal_logits,
        large_logits,
        logits_of_ten_thousand,
        float32_logits,
    ),
    returns=("loss",),
    points=(2,),
    properties={
        "the loss is one number, not below 0": lambda loss, *_: np.ndim(loss) == 0 and loss >= 0,
        "equal logits give ln V": lambda loss, logits, targets: (
            bool(np.ptp(logits)) or np.isclose(loss, np.log(logits.shape[-1]))
        ),
    },
    hints=(
        "Three steps: logarithms of the probabilities, the one of the right token from each row, "
        "then minus their mean.",
        "The logarithm of a quotient is a difference: the logit minus the ln of the sum of all "
        "powers. First take the largest logit of each row away, as in softmax.",
        "np.take_along_axis picks one entry from each row, if targets get one more axis at their "
        "end. (Or make all but the last axis one, and index with two arrays.)",
    ),
    mistakes=(
        Mistake(
            name="mean-over-the-vocabulary-too",
            swap=MEAN,
            into="return -right.mean() / logits.shape[-1]",
            says="You divide by N times V. Only one token of each row is looked at: how many "
            "numbers does the mean run over?",
        ),
        Mistake(
            name="sum-not-mean",
            swap=MEAN,
            into="return -right.sum()",
            says="The surprises are added up, so twice as much text has twice the loss. What does "
            "the docstring promise?",
        ),
        Mistake(
            name="not-averaged",
            swap=MEAN,
            into="return -right[..., 0]",
            says="The surprise at each position comes back by itself. Which one number does the "
            "docstring promise?",
        ),
        Mistake(
            name="averaged-sequence-by-sequence",
            swap=MEAN,
            into="return -right[..., 0].mean(axis=-1)",
            says="A batch gets one loss for each sequence. Over which axes should the mean run, so "
            "that one number is left?",
        ),
        Mistake(
            name="minus-forgotten",
            swap=MEAN,
            into="return right.mean()",
            says="Your loss is negative. What is the sign of the logarithm of a probability, and "
            "what turns it around?",
        ),
        Mistake(
            name="bits-not-nats",
            swap=MEAN,
            into="return -right.mean() / np.log(2)",
            says="This is the loss in bits, with the logarithm to base 2. Which base does a nat "
            "use?",
        ),
        Mistake(
            name="logarithm-forgotten",
            swap=MEAN,
            into="return -np.exp(right).mean()",
            says="These are probabilities with a minus, averaged. Which function makes a surprise "
            "of a probability?",
        ),
        Mistake(
            name="logarithm-after-the-mean",
            swap=MEAN,
            into="return -np.log(np.exp(right).mean())",
            says="You average the probabilities and then take the logarithm. In which order do the "
            "two stand, if one position that was given no chance should count fully?",
        ),
        Mistake(
            name="softmax-forgotten",
            swap=LOG_PROBABILITIES,
            into="log_probabilities = logits",
            says="These are the logits of the right tokens, not their probabilities. What do the "
            "other tokens' logits have to do with it?",
        ),
        Mistake(
            name="softmax-over-the-positions",
            swap=SHIFTED,
            into="logits = logits.swapaxes(-1, -2)\n"
            "    shifted = logits - logits.max(axis=-1, keepdims=True)\n"
            "    shifted = (shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))\n"
            "    return -np.take_along_axis(\n"
            "        shifted.swapaxes(-1, -2), np.expand_dims(targets, -1), axis=-1\n"
            "    ).mean()",
            says="The positions compete with each other here, not the tokens of the vocabulary. "
            "Which axis of logits is the vocabulary?",
        ),
        Mistake(
            name="likeliest-not-right",
            swap="np.expand_dims(targets, -1)",
            into="logits.argmax(axis=-1, keepdims=True)",
            says="This is the surprise at the token that the model likes best. Where do the "
            "targets enter your function?",
        ),
        Mistake(
            name="shifted-once-more",
            swap=SHIFTED,
            into="logits, targets = logits[..., :-1, :], targets[..., 1:]\n"
            "    shifted = logits - logits.max(axis=-1, keepdims=True)",
            says="You shift the targets by one position. They are the next tokens already: which "
            "target belongs to row 0 of the logits?",
        ),
        Mistake(
            name="powers-overflow",
            swap=SHIFTED,
            into="powers = np.exp(logits)\n"
            "    log_probabilities = np.log(powers / powers.sum(axis=-1, keepdims=True))\n"
            "    right = np.take_along_axis(log_probabilities, targets[..., None], axis=-1)\n"
            "    return -right.mean()",
            says="The power of a large logit is infinite, and inf / inf is nan. What can you take "
            "away from every logit of a row without changing its probabilities?",
        ),
        Mistake(
            name="sum-of-powers-overflows",
            swap=SHIFTED,
            into="shifted = logits",
            says="The sum of the powers is infinite, and so is the loss. What can you take away "
            "from every logit of a row without changing its probabilities?",
        ),
        Mistake(
            name="logarithm-of-zero",
            swap=LOG_PROBABILITIES,
            into=SOFTMAXED,
            says="A probability too small for float64 is 0, and ln 0 is -inf. Could the logarithm "
            "be worked out from the logits, without the probability in between?",
        ),
        Mistake(
            name="small-number-under-the-logarithm",
            swap=LOG_PROBABILITIES,
            into="log_probabilities = np.log(softmax(logits) + 1e-12)",
            says="A small number under the logarithm keeps the loss finite, and makes it wrong: "
            "no surprise can be larger than its own. What is ln p, written with logits alone?",
        ),
        Mistake(
            name="logits-changed-in-place",
            swap=SHIFTED,
            into="logits -= logits.max(axis=-1, keepdims=True)\n    shifted = logits",
            says="-= writes into the caller's own logits, which are other logits after the call. "
            "How do you get a new array instead?",
        ),
    ),
)

# A lead of ln 8 of one logit over another: 8 to 1 at temperature 1.
LEAD = np.log(8.0)


def _odds(temperature: float) -> str:
    likely, unlikely = softmax_with_temperature(np.array([LEAD, 0.0]), temperature)
    return f"{likely / unlikely:.2g} to 1"


TWICE = f"{2 * np.exp(LEAD):.2g} to 1"
HALVED = f"{np.exp(LEAD) / 2:.2g} to 1"

ODDS_AT_HALF = Prediction(
    name="odds-at-half",
    objective="Predict what a temperature does to the odds of two tokens.",
    minutes=3,
    points=1,
    answer=_odds(0.5),
    options=(_odds(2.0), HALVED, _odds(1.0), TWICE, _odds(0.5)),
    hints=(
        "Is a temperature below 1 cautious or adventurous? That leaves two options.",
        "The ratio of two probabilities is e to the power of the difference of their logits. What "
        "does dividing by 1/2 do to that difference?",
        "The difference is doubled. What is e to the power of 2x, if e to the power of x is 8?",
    ),
    slips=(
        Slip(
            name="odds-doubled",
            answer=TWICE,
            says="The difference of the logits is doubled, and it stands in an exponent. What does "
            "doubling an exponent do to a power?",
        ),
        Slip(
            name="odds-halved",
            answer=HALVED,
            says="This makes the choice more even. Does a temperature below 1 sharpen or flatten?",
        ),
        Slip(
            name="multiplied-by-the-temperature",
            answer=_odds(2.0),
            says="You multiplied the logits by 1/2: those are the odds at temperature 2. What does "
            "a temperature do to the logits?",
        ),
        Slip(
            name="odds-unchanged",
            answer=_odds(1.0),
            says="Which token is likelier does not change, but by how much does. What becomes of "
            "the difference of the two logits?",
        ),
    ),
)


def draw_often(answer, logits, temperature, rng):
    """How often each id is drawn, and whether a generator in the same state draws the same.

    At temperature 0 there is one id to name, and below 0 an error. 100 draws show what is always
    alike and what -inf does; other frequencies take 400.
    """
    if temperature < 0:
        try:
            answer(logits, temperature, rng)
        except ValueError:
            return {"frequency": "raises ValueError", "same_seed": True}
        return {"frequency": "raises no error", "same_seed": True}
    again = np.random.default_rng(0)
    again.bit_generator.state = rng.bit_generator.state
    before = np.random.get_state()
    np.random.seed(12)
    try:
        first = answer(logits, temperature, rng)
        if first is None:
            return None
        if np.ndim(first):  # no id
            return {"frequency": np.array([first]), "same_seed": True}
        drawn = [first] + [answer(logits.copy(), temperature, rng) for _ in range(99)]
        if temperature and len(set(drawn)) > 1 and np.isfinite(logits).all():
            drawn += [answer(logits.copy(), temperature, rng) for _ in range(300)]
        same = [answer(logits.copy(), temperature, again) for _ in range(40)] == drawn[:40]
    except ValueError:
        if temperature:
            raise
        return {"frequency": "raises ValueError", "same_seed": True}
    finally:
        np.random.set_state(before)
    several = len(set(drawn)) > 1
    if not temperature:
        found = "now this id, now that" if several else f"always {first}"
        return {"frequency": found, "same_seed": same}
    frequency = np.bincount(drawn, minlength=len(logits)) / len(drawn)
    return {"frequency": frequency, "same_seed": same and several}  # one id only proves nothing


def _seed(rng):
    return Seeded(int(rng.integers(1000)))


def _logits(rng, length, ratio):
    """Logits in which each id is about `ratio` times as likely as the one before, shuffled."""
    steps = np.arange(length) + rng.uniform(-0.05, 0.05, size=length)
    return rng.permutation(np.log(ratio) * steps) + rng.normal()


def temperature_1(rng):
    return _logits(rng, 4, ratio=0.35), 1.0, _seed(rng)


def a_low_temperature(rng):
    return _logits(rng, 6, ratio=0.5**0.25), 0.25, _seed(rng)


def a_high_temperature(rng):
    return _logits(rng, 3, ratio=0.5), 4.0, _seed(rng)


def large_logits_and_a_masked_one(rng):
    """One id, none of the two likeliest, has logit -inf."""
    logits = 900 + _logits(rng, 5, ratio=0.35)
    logits[np.argsort(logits)[rng.integers(3)]] = -np.inf
    return logits, 0.5, _seed(rng)


def temperature_0(rng):
    """All above 20, so that no logit could pass for an id."""
    return 30 + _logits(rng, 7, ratio=0.5), 0.0, _seed(rng)


def a_temperature_below_0(rng):
    return _logits(rng, 5, ratio=0.5), -float(rng.uniform(0.5, 2)), _seed(rng)


GREEDY = "return int(np.argmax(logits))"
WEIGHED = "softmax_with_temperature(shifted, temperature)"
CHOSEN = "rng.choice(len(probabilities), p=probabilities)"

SAMPLE = Exercise(
    name="sample",
    objective="Draw the next token from its logits at any temperature.",
    minutes=7,
    solution=sample,
    inputs=(
        temperature_1,
        a_low_temperature,
        a_high_temperature,
        large_logits_and_a_masked_one,
        temperature_0,
        a_temperature_below_0,
    ),
    returns=("frequency", "same_seed"),
    points=(1.5, 0.5),
    tolerance=0.22,
    asks=draw_often,
    hints=(
        "Three cases: a temperature that makes no sense, 0, and all others. Deal with the first "
        "two before anything is divided.",
        "For the others you need probabilities at that temperature, which you wrote in lesson 3, "
        "and then one draw from them. At 0 there is nothing to draw.",
        "rng.choice takes how many ids there are, and p, their probabilities. np.argmax gives a "
        "place, np.max a value: which of them is an id? An error is raised with raise "
        "ValueError(...).",
    ),
    mistakes=(
        Mistake(
            name="temperature-multiplied",
            swap=WEIGHED,
            into="softmax_with_temperature(shifted, 1 / temperature)",
            says="The temperature works the wrong way round: low ones flatten, high ones sharpen. "
            "Are logits multiplied or divided by it?",
        ),
        Mistake(
            name="temperature-ignored",
            swap=WEIGHED,
            into="softmax_with_temperature(shifted, 1)",
            says="Above 0 the temperature changes nothing. Does it act on the logits, before "
            "softmax? A factor on the probabilities is lost when they are made to sum to 1.",
        ),
        Mistake(
            name="always-the-likeliest",
            swap=CHOSEN,
            into="np.argmax(probabilities)",
            says="The likeliest token comes every time, at every temperature. Where does chance "
            "enter?",
        ),
        Mistake(
            name="all-alike",
            swap=CHOSEN,
            into="rng.choice(len(probabilities))",
            says="All ids come equally often. What does rng.choice know of the probabilities?",
        ),
        Mistake(
            name="softmax-twice",
            swap=WEIGHED,
            into="softmax_with_temperature(softmax_with_temperature(shifted, 1), temperature)",
            says="Softmax runs twice, and probabilities serve as logits the second time. What "
            "should the temperature divide?",
        ),
        Mistake(
            name="another-generator",
            swap=CHOSEN,
            into="np.random.choice(len(probabilities), p=probabilities)",
            says="The frequencies are right, but the draws do not come from rng, so nobody can "
            "repeat them. Where does the argument rng enter?",
        ),
        Mistake(
            name="generator-made-anew",
            swap=CHOSEN,
            into="np.random.default_rng(0).choice(len(probabilities), p=probabilities)",
            says="The same id comes in every draw, as when a generator is made anew from the same "
            "seed in each call. Which generator should be asked?",
        ),
        Mistake(
            name="nothing-at-temperature-0",
            swap="if temperature == 0:",
            into="if False:",
            says="Temperature 0 ends in a ValueError. Dividing by 0 leaves no probabilities to "
            "draw from: which token does the docstring ask for?",
        ),
        Mistake(
            name="least-likely-at-0",
            swap=GREEDY,
            into="return int(np.argmin(logits))",
            says="At temperature 0 the least likely token comes. Which end of the logits is meant?",
        ),
        Mistake(
            name="value-for-place",
            swap=GREEDY,
            into="return np.max(logits)",
            says="At temperature 0 you return the largest logit itself. Which function tells where "
            "it stands?",
        ),
        Mistake(
            name="drawn-at-temperature-0",
            swap=GREEDY,
            into="temperature = 1",
            says="At temperature 0 the token is drawn as at temperature 1. What is left to chance "
            "when the temperature goes to 0?",
        ),
        Mistake(
            name="below-0-accepted",
            swap="if not 0 <= temperature < np.inf:",
            into="if False:",
            says="A temperature below 0 is accepted, and makes the unlikeliest token the "
            "likeliest. Which error should tell the caller?",
        ),
        Mistake(
            name="no-special-cases",
            swap="if not 0 <= temperature < np.inf:",
            into="if True:\n"
            f"        shifted = logits - logits.max()\n"
            f"        probabilities = {WEIGHED}\n"
            f"        return int({CHOSEN})",
            says="Temperatures of 0 and below go the way of all others. What does the docstring "
            "say of 0, and which error should tell the caller of a negative one?",
        ),
        Mistake(
            name="probabilities-returned",
            swap="return int(rng.choice(len(probabilities), p=probabilities))",
            into="return probabilities",
            says="You return the probabilities. One step is left: which function of rng draws an "
            "id by them?",
        ),
        Mistake(
            name="logits-changed-in-place",
            swap="shifted = logits - logits.max()",
            into="logits -= logits.max()\n    shifted = logits",
            says="-= or /= writes into the caller's own logits, which are other logits after the "
            "call. How do you get a new array instead?",
        ),
    ),
)


def continue_often(answer, ids, params, max_new_tokens, temperature, rng, num_heads, stop_id):
    """The text at temperature 0, and whether eight at the given temperature differ."""
    greedy = answer(ids, params, max_new_tokens, 0, rng, num_heads, stop_id)
    if greedy is None:
        return None
    texts = [
        answer(ids, params, max_new_tokens, temperature, rng, num_heads, stop_id) for _ in range(8)
    ]
    varied = {tuple(np.ravel(text).tolist()) for text in texts}
    continued = all(text[: len(ids)] == tuple(ids.tolist()) for text in varied)
    return {"greedy": np.array(greedy), "varies": continued and len(varied) > 1}


def _prompt(rng, sizes, length, max_new_tokens, stops_after=None):
    """generate's arguments, chosen so that the new tokens all differ, from each other and the last.

    With stops_after, the id that comes in that place is the one to stop at; otherwise none does.
    """
    while True:
        params = _model(rng, **sizes)
        ids = rng.permutation(sizes["V"])[:length]
        given = (ids, params, max_new_tokens, 0, rng, sizes["num_heads"])
        chain = generate(*given, stop_id=-1)
        if sizes["num_heads"] != 2 and np.array_equal(chain, generate(*given[:5], stop_id=-1)):
            continue  # the number of heads must show
        new = chain[length:].tolist()
        unseen = sorted({*range(sizes["V"])} - {*chain.tolist(), 2})
        if len({*new, int(ids[-1])}) <= len(new) or not unseen:
            continue
        stop_id = new[stops_after - 1] if stops_after else unseen[0]
        if stop_id != 2 and stop_id not in ids:
            return ids, params, max_new_tokens, 6.0, _seed(rng), sizes["num_heads"], stop_id


def two_new_tokens(rng):
    return _prompt(rng, ONE_BLOCK, length=3, max_new_tokens=2)


def a_token_to_stop_at(rng):
    """It comes second, and there would be room for two more."""
    return _prompt(rng, ONE_BLOCK, length=2, max_new_tokens=4, stops_after=2)


def no_position_left(rng):
    return _prompt(rng, {**ONE_BLOCK, "V": 8, "max_len": 5}, length=2, max_new_tokens=7)


def two_blocks_and_three_heads(rng):
    return _prompt(rng, TWO_BLOCKS, length=2, max_new_tokens=2)


FED_BACK = "ids = np.append(ids, next_id)"
SCORED = "logits = forward(ids, params, num_heads)"
DRAWN = "sample(logits[-1], temperature, rng)"
ENDED = "if len(ids) >= max_len or ids[-1] == stop_id:"
ROUNDS = "for _ in range(max_new_tokens):"
PROMPT = "ids = np.array(ids)"


def _loop(ends="len(ids) >= max_len or ids[-1] == stop_id", seen="ids", kept="ids"):
    """In place of PROMPT: the whole loop once more, with other pieces."""
    return (
        "prompt = ids = np.array(ids)\n"
        '    max_len = len(params["position_embedding"])\n'
        f"    {ROUNDS}\n"
        f"        if {ends}:\n"
        "            break\n"
        f"        logits = forward({seen}, params, num_heads)\n"
        "        ids = np.append(ids, sample(logits[-1], temperature, rng))\n"
        f"    return {kept}"
    )


GENERATE = Exercise(
    name="generate",
    objective="Let a model write: score, draw, append, and know when to stop.",
    minutes=7,
    solution=generate,
    inputs=(two_new_tokens, a_token_to_stop_at, no_position_left, two_blocks_and_three_heads),
    returns=("greedy", "varies"),
    points=(1.5, 0.5),
    asks=continue_often,
    hints=(
        "One round: score what there is, pick a token, append it. Which of the three has to do "
        "with all ids so far?",
        "forward gives a row of logits for each position. The row of the newest token scores what "
        "comes after it; the others were answered long ago.",
        "Three things end the loop: enough rounds, a last id that is stop_id, and as many ids as "
        "position_embedding has rows. np.append gives a new, longer array.",
    ),
    mistakes=(
        Mistake(
            name="first-row-scored",
            swap=DRAWN,
            into="sample(logits[0], temperature, rng)",
            says="You pick from the row of the first token, so the same choice comes again and "
            "again. Which row scores the token after the newest?",
        ),
        Mistake(
            name="never-fed-back",
            swap=PROMPT,
            into=_loop(seen="prompt"),
            says="Every round scores the same ids, those that were given, so the same choice comes "
            "again and again. What should the model read in the second round?",
        ),
        Mistake(
            name="past-forgotten",
            swap=SCORED,
            into="logits = forward(ids[-1:], params, num_heads)",
            says="Only the newest token goes into the model, as if it stood at place 0. What does "
            "attention need to look back at?",
        ),
        Mistake(
            name="new-tokens-only",
            swap=PROMPT,
            into=_loop(kept="ids[len(prompt) :]"),
            says="Only the new tokens come back. What does the docstring say stands before them?",
        ),
        Mistake(
            name="no-stop",
            swap=ENDED,
            into="if len(ids) >= max_len:",
            says="The text goes on after stop_id. What should happen in the round after that id "
            "was picked?",
        ),
        Mistake(
            name="stop-token-dropped",
            swap=FED_BACK,
            into=f"if next_id == stop_id:\n            break\n        {FED_BACK}",
            says="The text ends before stop_id, which is left out. What does the docstring say the "
            "answer ends with?",
        ),
        Mistake(
            name="stop-id-fixed",
            swap="ids[-1] == stop_id",
            into="ids[-1] == 2",
            says="The text stops at id 2 whatever stop_id is. Where does that argument enter?",
        ),
        Mistake(
            name="window-moved",
            swap=PROMPT,
            into=_loop(ends="ids[-1] == stop_id", seen="ids[-max_len:]"),
            says="When all positions are taken you drop the oldest tokens and go on. That is a "
            "way to write longer texts; what does the docstring want here?",
        ),
        Mistake(
            name="one-position-unused",
            swap="len(ids) >= max_len",
            into="len(ids) >= max_len - 1",
            says="The text ends one token early, though there is a position left for one more. How "
            "long may it be at most?",
        ),
        Mistake(
            name="one-token-too-many",
            swap=ROUNDS,
            into="for _ in range(max_new_tokens + 1):",
            says="One token too many is added. How many rounds does your loop take?",
        ),
        Mistake(
            name="one-token-too-few",
            swap=ROUNDS,
            into="for _ in range(max_new_tokens - 1):",
            says="One token too few is added. How many rounds does your loop take?",
        ),
        Mistake(
            name="length-for-new-tokens",
            swap=ROUNDS,
            into="for _ in range(max_new_tokens - len(ids)):",
            says="You stop when the whole text has max_new_tokens ids. Do the ids that were given "
            "count as new?",
        ),
        Mistake(
            name="temperature-not-handed-on",
            swap=DRAWN,
            into="sample(logits[-1], 0, rng)",
            says="The likeliest token is taken at every temperature. Where does the temperature "
            "go?",
        ),
        Mistake(
            name="temperature-fixed",
            swap=DRAWN,
            into="sample(logits[-1], 1, rng)",
            says="Tokens are drawn as at temperature 1, even at temperature 0. Where does the "
            "temperature go?",
        ),
        Mistake(
            name="num-heads-not-handed-on",
            swap=SCORED,
            into="logits = forward(ids, params)",
            says="The model runs with two heads, whatever num_heads says. Where does that argument "
            "go?",
        ),
    ),
)

# The probabilities of three right tokens, whose surprises the prose works out.
SHOWN_PROBABILITIES = np.array([0.5, 0.25, 0.125])


def _surprise_table() -> str:
    """Markdown: position, probability of the right token, surprise."""
    lines = ["| position | $p$ of the right token | $-\\ln p$ |", "|---:|---:|---:|"]
    for position, probability in enumerate(SHOWN_PROBABILITIES):
        lines.append(f"| {position} | {probability:g} | {-np.log(probability):.2f} |")
    return "\n".join(lines)


def _plot_in_words() -> str:
    """What the bars show: the likeliest token's probability after "I like" in the lesson's model.

    Its logits are 4 for the right token, 3 and 2 for two others, 0 for the rest.
    """
    logits = np.array([4.0, 3.0, 2.0] + (V - 3) * [0.0])
    low, middle, high = (softmax_with_temperature(logits, t)[0] for t in (0.5, 1.0, 3.0))
    return (
        f"The bar of transformers is {low:.2f} high at temperature 0.5, {middle:.2f} at 1 and "
        f"{high:.2f} at 3, where all tokens get a share."
    )


LESSON = Lesson(
    number=12,
    title="Training and generation in practice",
    assignment="week2_model",
    objective="join a whole model, measure its loss, predict that loss before training, and let "
    "the model write at any temperature.",
    needs="softmax, positions and a block (lessons 3, 5 and 11)",
    place="logits",
    exercises=(FORWARD, UNTRAINED_LOSS, CROSS_ENTROPY, ODDS_AT_HALF, SAMPLE, GENERATE),
    worked={
        "V": V,
        "N": len(TARGETS),
        "table": _surprise_table(),
        "mean": -np.log(SHOWN_PROBABILITIES).mean(),
        "ln_2": np.log(2.0),
        "ln_5": np.log(5.0),
        "untrained": UNTRAINED,
        "plot_alt": _plot_in_words(),
    },
)
