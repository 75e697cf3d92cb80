# mypy: allow-untyped-defs
"""What is graded in lesson 17, and the wrong answers it knows.

One step of an optimiser hides most mistakes, so `take_steps` takes several in a row, each from the
parameter, m and v that the one before left, and all that they leave is judged.
"""

import numpy as np

from byhand_course.lessons.cases import mistaken_function
from byhand_course.lessons.exercise import ByHand, Exercise, Lesson, Mistake, Prediction, Slip
from byhand_course.reference.model import COURSE_SIZES, backward, init_params, parameter_count
from byhand_course.reference.optimizer import adamw_update
from byhand_course.reference.tokens import ids_of


def take_steps(answer, parameter, gradient, m, v, t, *settings):
    """What one step for each entry of gradient leaves; steps are counted on from t."""
    left = []
    for one in gradient:
        after = answer(parameter, one, m, v, t, *settings)
        if not isinstance(after, (tuple, list)) or len(after) != 3:
            return after
        parameter, m, v = after
        left.append([np.array(part) for part in after])
        t += 1
    return tuple(np.array(parts) for parts in zip(*left, strict=True))


def one_number(rng):
    """Gradients of one decimal and another size at each step, to be checked on paper."""
    gradient = rng.permutation([2.0, -1.0, 0.5, -0.2])[:3]
    return float(rng.integers(1, 4)), gradient, 0.0, 0.0, 1, 0.1, 0.9, 0.999, 1e-8, 0.5


def changing_gradients(rng):
    """All settings left at their defaults."""
    start = np.zeros((2, 3))
    return rng.normal(size=(2, 3)), 2 * rng.normal(size=(4, 2, 3)), start, start.copy(), 1


def tiny_gradients(rng):
    start = np.zeros(4)
    gradient = 1e-5 * rng.uniform(0.5, 1.5, size=(3, 4)) * rng.choice([-1, 1], size=(3, 4))
    return rng.normal(size=4), gradient, start, start.copy(), 1, 0.01


def zero_gradients(rng):
    """One parameter's gradient is always 0, another's from the second step on."""
    gradient = rng.normal(size=(3, 5))
    silent, falling_silent = rng.permutation(5)[:2]
    gradient[:, silent] = 0
    gradient[1:, falling_silent] = 0
    parameter = rng.uniform(0.5, 2, size=5) * rng.choice([-1, 1], size=5)
    return parameter, gradient, np.zeros(5), np.zeros(5), 1, 0.1, 0.9, 0.999, 1e-8, 0.5


def strong_decay(rng):
    start = np.zeros((3, 2))
    gradient = rng.normal(size=(3, 3, 2))
    return 3 * rng.normal(size=(3, 2)), gradient, start, start.copy(), 1, 0.1, 0.8, 0.9, 1e-6, 0.7


def taken_up_later(rng):
    """At step 5 or later; m and v are those of the steps before."""
    m = rng.normal(size=(2, 4))
    v = m**2 + rng.uniform(0.1, 1, size=(2, 4))
    gradient = rng.normal(size=(3, 2, 4))
    t = int(rng.integers(5, 9))
    return rng.normal(size=(2, 4)), gradient, m, v, t, 0.05, 0.7, 0.95, 1e-3, 0.1


DECAYED = "decayed = parameter * (1 - lr * weight_decay)"
MEAN = "m = beta1 * m + (1 - beta1) * gradient\n"
SQUARES = "v = beta2 * v + (1 - beta2) * gradient**2"
STEPPED = "stepped = decayed - lr * m_hat / (np.sqrt(v_hat) + eps)"

NO_CORRECTION = Mistake(
    name="no-bias-correction",
    swap=STEPPED,
    into="stepped = decayed - lr * m / (np.sqrt(v) + eps)",
    says="m and v are used as they are, and both begin at 0. After one step with gradient g, how "
    "far from g is m, and how far from g squared is v?",
)
L2 = Mistake(
    name="decay-added-to-the-gradient",
    swap=DECAYED,
    into="gradient = gradient + weight_decay * parameter\n    decayed = parameter",
    says="You add the decay to the gradient: that is Adam with L2. It then runs through m and v "
    "and is rescaled there. In AdamW the decay never meets m or v: which number does it act on?",
)
DECAY_AFTER = Mistake(
    name="decay-after-the-step",
    swap=STEPPED,
    into="stepped = parameter - lr * m_hat / (np.sqrt(v_hat) + eps)\n"
    "    stepped = stepped * (1 - lr * weight_decay)",
    says="You decay after the step, so the step itself decays too, by lr squared times "
    "weight_decay. That is small at usual settings, and still not AdamW: which value does the "
    "formula decay, the one before the step or the one after?",
)
NO_DECAY = Mistake(
    name="decay-forgotten",
    swap=DECAYED,
    into="decayed = parameter",
    says="Nothing decays. What should happen to a parameter whose gradient is always 0?",
)
DECAY_WITHOUT_LR = Mistake(
    name="decay-without-lr",
    swap=DECAYED,
    into="decayed = parameter * (1 - weight_decay)",
    says="The parameter loses the whole share weight_decay in every step. What does the docstring "
    "say that share is multiplied by?",
)
UPHILL = Mistake(
    name="uphill",
    swap="decayed - lr",
    into="decayed + lr",
    says="The parameter moves with its gradient, so the loss grows. In which direction does the "
    "gradient point, and where do you want to go?",
)
NO_MOMENTUM = Mistake(
    name="newest-gradient-only",
    swap="lr * m_hat /",
    into="lr * gradient /",
    says="The step takes the newest gradient alone; m is kept, but never used. What does a running "
    "mean do to gradients that point now here, now there?",
)

ADAMW_UPDATE = Exercise(
    name="adamw-update",
    objective="Write one step of AdamW, with its two moments, both corrections and its own decay.",
    minutes=11,
    solution=adamw_update,
    asks=take_steps,
    inputs=(
        one_number,
        changing_gradients,
        tiny_gradients,
        zero_gradients,
        strong_decay,
        taken_up_later,
    ),
    returns=("parameter", "m", "v"),
    points=(2, 1, 1),
    properties={
        "v is never below 0": lambda left, *_: (left[2] >= 0).all(),
        "one step after the other is left, each shaped as the parameter": (
            lambda left, parameter, gradient, *_: all(
                part.shape == (len(gradient), *np.shape(parameter)) for part in left
            )
        ),
    },
    hints=(
        "Six lines, one a formula, in the order of the text: decay, two means, two corrections, "
        "the step. Return the means as they are before they are corrected.",
        "If only parameter is wrong, m and v are fine: look at the corrections, at where eps "
        "stands, and at what decays. beta to the power of t is written beta**t.",
        "Divide m by 1 minus beta1 to the power of t, and v likewise with beta2. Take the root of "
        "the corrected v alone, and add eps to it afterwards. The decay touches the old parameter, "
        "with lr times weight_decay, and nothing else.",
    ),
    mistakes=(
        NO_CORRECTION,
        Mistake(
            name="only-m-corrected",
            swap="(np.sqrt(v_hat) + eps)",
            into="(np.sqrt(v) + eps)",
            says="m is corrected, v is not. v begins at 0 as well, and climbs even more slowly. "
            "What should it be divided by?",
        ),
        Mistake(
            name="only-v-corrected",
            swap="lr * m_hat /",
            into="lr * m /",
            says="v is corrected, m is not. Work out m after one step with gradient 1: is that the "
            "mean of the gradients so far?",
        ),
        Mistake(
            name="step-counted-from-0",
            swap=DECAYED,
            into=f"t = t - 1\n    {DECAYED}",
            says="Your corrections are one step behind: at the first step they divide by 0. What "
            "does the docstring call the first step?",
        ),
        Mistake(
            name="eps-inside-the-root",
            swap="(np.sqrt(v_hat) + eps)",
            into="np.sqrt(v_hat + eps)",
            says="eps stands under the root. For a gradient of 1e-5 the corrected v is 1e-10: what "
            "does adding 1e-8 to that do to the step?",
        ),
        Mistake(
            name="eps-before-the-correction",
            swap=STEPPED,
            into="rate = lr * np.sqrt(1 - beta2**t) / (1 - beta1**t)\n"
            "    stepped = decayed - rate * m / (np.sqrt(v) + eps)",
            says="Both corrections sit in the learning rate, a shortcut of the Adam paper. There "
            "eps is added to the root of v before it is corrected, and weighs more. Which v does "
            "the formula here take the root of?",
        ),
        Mistake(
            name="betas-swapped",
            swap=DECAYED,
            into=f"beta1, beta2 = beta2, beta1\n    {DECAYED}",
            says="beta1 and beta2 have changed places: the step follows a long memory, the size a "
            "short one. Which of them belongs to m?",
        ),
        Mistake(
            name="one-beta-for-both",
            swap=SQUARES,
            into="v = beta1 * v + (1 - beta1) * gradient**2",
            says="v forgets as fast as m does. Which beta is its own?",
        ),
        Mistake(
            name="gradient-not-squared",
            swap="gradient**2",
            into="np.abs(gradient)",
            says="v averages sizes, not squares, and still has its root taken. Of what is v the "
            "running mean?",
        ),
        Mistake(
            name="mean-squared",
            swap=SQUARES,
            into="v = beta2 * v + (1 - beta2) * m**2",
            says="v averages the square of m. Gradients of +1 and -1 in turn: what is m then, and "
            "what should v be?",
        ),
        Mistake(
            name="root-forgotten",
            swap="(np.sqrt(v_hat) + eps)",
            into="(v_hat + eps)",
            says="You divide by the mean square itself. If all gradients were 10 times as large, "
            "what would happen to your step, and what should?",
        ),
        NO_MOMENTUM,
        UPHILL,
        L2,
        Mistake(
            name="decay-rescaled",
            swap=STEPPED,
            into="stepped = parameter - lr * (m_hat + weight_decay * parameter) / "
            "(np.sqrt(v_hat) + eps)",
            says="The decay is divided by the root of v as well, so that parameters with large "
            "gradients hardly decay. Which part of the formula does that root belong to?",
        ),
        DECAY_AFTER,
        DECAY_WITHOUT_LR,
        NO_DECAY,
        Mistake(
            name="corrected-means-kept",
            swap="return stepped, m, v",
            into="return stepped, m_hat, v_hat",
            says="The corrected means come back, and the next step would correct them once more. "
            "Which m does the next step go on from?",
        ),
        Mistake(
            name="moments-changed-in-place",
            swap=MEAN,
            into="m *= beta1\n    m += (1 - beta1) * gradient\n",
            says="*= and += write into the caller's own m. How do you get a new array instead?",
        ),
    ),
)


HAND_PARAMETER, HAND_GRADIENTS = 1.0, (2.0, -1.0)
SHOWN_PARAMETER, SHOWN_GRADIENT = 3.0, -0.5
LR, DECAY = 0.1, 0.5


def _three_decimals(numbers) -> list[float]:
    return [round(float(number), 3) for number in numbers]


def _two_steps(update, gradients=HAND_GRADIENTS) -> list[float]:
    """The parameter after each of two steps, as a learner writes it down."""
    parameter, m, v, after = HAND_PARAMETER, 0.0, 0.0, []
    for t, gradient in enumerate(gradients, 1):
        parameter, m, v = update(parameter, gradient, m, v, t, lr=LR, weight_decay=DECAY)
        after.append(parameter)
    return _three_decimals(after)


def _two_wrong_steps(mistake: Mistake) -> list[float]:
    return _two_steps(mistaken_function(adamw_update, mistake))


def _descent(parameter, gradient, m, v, t, lr, weight_decay):
    return parameter * (1 - lr * weight_decay) - lr * gradient, m, v


def _begun_anew() -> list[float]:
    parameter, after = HAND_PARAMETER, []
    for gradient in HAND_GRADIENTS:
        parameter, _, _ = adamw_update(parameter, gradient, 0, 0, 1, lr=LR, weight_decay=DECAY)
        after.append(parameter)
    return _three_decimals(after)


TWO_ADAMW_STEPS = ByHand(
    name="two-adamw-steps",
    objective="Carry one parameter through two steps of AdamW by hand.",
    minutes=9,
    points=2,
    form="a list of two numbers, to three decimals",
    answer=_two_steps(adamw_update),
    tolerance=0.001,
    hints=(
        "Make a table as above, with one row for each step. The second step begins with the m and "
        "v of the first, before they were corrected, and with the parameter that it left.",
        "Step 1 is easy: corrected, the means are g and g squared, so the step is lr, against the "
        "sign of g. Do not forget to take the decay off first.",
        "In step 2: m is 0.9 of the old one plus 0.1 times -1, v is 0.999 of the old one plus "
        "0.001. Divide them by 0.19 and 0.001999, and the first by the root of the second.",
    ),
    slips=(
        Slip(
            name="no-decay",
            answer=_two_wrong_steps(NO_DECAY),
            says="The steps are right, but nothing decays. What happens to the parameter before "
            "each step?",
        ),
        Slip(
            name="no-correction",
            answer=_two_wrong_steps(NO_CORRECTION),
            says="You took m and v as they are. Both are still close to their start, 0: what are "
            "they divided by?",
        ),
        Slip(
            name="decay-after-the-step",
            answer=_two_wrong_steps(DECAY_AFTER),
            says="You decayed after each step, and with it the step itself. Which of the two comes "
            "first here?",
        ),
        Slip(
            name="decay-added-to-the-gradient",
            answer=_two_wrong_steps(L2),
            says="You added the decay to the gradient. In AdamW it never meets m or v: which "
            "number does it act on?",
        ),
        Slip(
            name="decay-without-lr",
            answer=_two_wrong_steps(DECAY_WITHOUT_LR),
            says="The parameter lost half of itself in each step. By what is the 0.5 multiplied?",
        ),
        Slip(
            name="uphill",
            answer=_two_wrong_steps(UPHILL),
            says="Your parameter moves with its gradient. To which side should it go, so that the "
            "loss falls?",
        ),
        Slip(
            name="newest-gradient-only",
            answer=_two_wrong_steps(NO_MOMENTUM),
            says="The second step takes the newest gradient alone. What is m after two steps?",
        ),
        Slip(
            name="plain-descent",
            answer=_two_steps(_descent),
            says="This is lr times the gradient, as in plain gradient descent. By what does Adam "
            "divide?",
        ),
        Slip(
            name="second-sign-lost",
            answer=_two_steps(adamw_update, (2.0, 1.0)),
            says="The first step is right. In the second the gradient is negative: how does that "
            "change m?",
        ),
        Slip(
            name="begun-anew",
            answer=_begun_anew(),
            says="The first step is right. Your second begins with m and v at 0 again: what did "
            "the first leave there?",
        ),
    ),
)

FIRST_LR = 0.01
SIZES = (5.0, 0.001)
SAME = f"both by about {FIRST_LR:g}"
IN_PROPORTION = "the first 5000 times as far as the second"
UNCORRECTED = f"both by about {FIRST_LR * 0.1 / 0.001**0.5:.4f}"
SQUARE_ROOTS = "the first about 70 times as far as the second"
TENTH = f"both by about {FIRST_LR * 0.1:g}"

FIRST_STEP_SIZE = Prediction(
    name="first-step-size",
    objective="Predict how far the first step of AdamW moves a parameter, and say why.",
    minutes=3,
    points=1,
    answer=SAME,
    options=(IN_PROPORTION, SQUARE_ROOTS, TENTH, SAME, UNCORRECTED),
    hints=(
        "Write down m and v after one step, for a gradient that you leave as the letter g.",
        "Corrected, m is g itself, and v is g squared. What is g divided by the root of its "
        "square?",
        "That quotient is +1 or -1, whatever the size of g, as long as eps is small beside it. "
        "By what is it multiplied?",
    ),
    slips=(
        Slip(
            name="in-proportion",
            answer=IN_PROPORTION,
            says="That would be plain gradient descent. What is each gradient divided by here?",
        ),
        Slip(
            name="square-roots",
            answer=SQUARE_ROOTS,
            says="The quotient of the two is 5000, and its root about 70. But m is divided by the "
            "root of a mean square: does that leave g, the root of g, or only its sign?",
        ),
        Slip(
            name="mean-not-corrected",
            answer=TENTH,
            says="The size of the gradient does cancel. But m is corrected before it is used: what "
            "becomes of its 0.1?",
        ),
        Slip(
            name="nothing-corrected",
            answer=UNCORRECTED,
            says="The size of the gradient does cancel. This is 0.1 divided by the root of 0.001, "
            "so m and v were not corrected: what are they after the correction?",
        ),
    ),
)

ALIKE = "they shrink alike"
LARGE_LESS = "the one with large gradients shrinks less"
LARGE_MORE = "the one with large gradients shrinks more"
NEITHER = "neither shrinks, as the gradients average out to 0"

DECAY_WITH_L2 = Prediction(
    name="decay-with-l2",
    objective="Tell decoupled weight decay from L2 inside Adam.",
    minutes=4,
    points=1,
    answer=LARGE_LESS,
    options=(ALIKE, LARGE_LESS, LARGE_MORE, NEITHER),
    hints=(
        "Whatever is added to the gradient goes through the whole of Adam. What does Adam divide "
        "by?",
        "For one weight the decay is divided by about 10, for the other by far less.",
        "Take a weight of 1 and a decay of 0.5. Beside gradients of size 10 the decay is hardly "
        "seen: 0.5 divided by 10. Beside gradients of size 0.01 it is all there is to see.",
    ),
    slips=(
        Slip(
            name="alike",
            answer=ALIKE,
            says="That is so in AdamW. Here the decay is part of the gradient: by what is it "
            "divided for each of the two?",
        ),
        Slip(
            name="other-way-round",
            answer=LARGE_MORE,
            says="It is divided by the root of v. Is that larger for large gradients or for small "
            "ones?",
        ),
        Slip(
            name="neither",
            answer=NEITHER,
            says="The loss's own part averages out, but the decay has the same sign at every step. "
            "What does a running mean do to that?",
        ),
    ),
)

COUNT = parameter_count(init_params(COURSE_SIZES, 0))

OPTIMISER_MEMORY = ByHand(
    name="optimiser-memory",
    objective="Say how much an optimiser must remember from step to step.",
    minutes=3,
    points=1,
    form="a whole number",
    answer=2 * COUNT,
    hints=(
        "What does adamw_update take that it also gives back?",
        "m and v come back from one step and go into the next. Which shape has each?",
        "Each is shaped as its parameter. So for one parameter that makes two numbers.",
    ),
    slips=(
        Slip(
            name="one-moment",
            answer=COUNT,
            says="That is one number for each parameter. How many running means are there?",
        ),
        Slip(
            name="parameters-counted-too",
            answer=3 * COUNT,
            says="You counted the parameters themselves too. Which of the three are the "
            "optimiser's own?",
        ),
        Slip(
            name="step-number-counted-too",
            answer=2 * COUNT + 1,
            says="You counted t as well, which the question leaves out. How many are left?",
        ),
        Slip(
            name="corrected-means-counted-too",
            answer=4 * COUNT,
            says="The corrected means are worked out anew in each step. Which two are kept?",
        ),
        Slip(
            name="two",
            answer=2,
            says="That is right for one parameter. How many parameters are there?",
        ),
    ),
)


def _size_table() -> str:
    """Markdown: largest gradient entry in some blocks of the untrained course model."""
    sentence = ids_of("I like transformers")
    gradients = backward(init_params(COURSE_SIZES, 0), sentence[:-1], sentence[1:])
    lines = ["| gradient of | largest entry |", "|:---|---:|"]
    for name in ("W_out", "blocks.0.W_2", "blocks.0.W_v", "blocks.0.W_q", "token_embedding"):
        lines.append(f"| `{name}` | {np.abs(gradients[name]).max():.4f} |")
    return "\n".join(lines)


def _step_table() -> str:
    """Markdown: one step of one number, line by line."""
    theta, g = SHOWN_PARAMETER, SHOWN_GRADIENT
    stepped, m, v = adamw_update(theta, g, 0.0, 0.0, 1, lr=LR, weight_decay=DECAY)
    kept, m_hat, v_hat = theta * (1 - LR * DECAY), m / (1 - 0.9), v / (1 - 0.999)
    rows = [
        ("decay", rf"{theta:g} \cdot (1 - {LR} \cdot {DECAY})", kept),
        ("$m$", rf"0.9 \cdot 0 + 0.1 \cdot ({g})", m),
        ("$v$", rf"0.999 \cdot 0 + 0.001 \cdot ({g})^2", v),
        (r"$\hat m$", rf"{m:.4g} / (1 - 0.9^1)", m_hat),
        (r"$\hat v$", rf"{v:.4g} / (1 - 0.999^1)", v_hat),
        ("step", rf"{kept:g} - {LR} \cdot ({m_hat:.4g}) / \sqrt{{{v_hat:.4g}}}", stepped),
    ]
    lines = ["| | how | gives |", "|:---|:---|---:|"]
    lines += [f"| {what} | ${how}$ | {result:.4g} |" for what, how, result in rows]
    return "\n".join(lines)


LESSON = Lesson(
    number=17,
    title="AdamW",
    assignment="week2_training_step",
    objective="carry a parameter through AdamW by hand, write the whole update, and say why its "
    "first step has the size of the learning rate and why its decay stays out of the gradient.",
    needs="gradients of every parameter (lesson 16)",
    place="adamw",
    exercises=(TWO_ADAMW_STEPS, FIRST_STEP_SIZE, ADAMW_UPDATE, DECAY_WITH_L2, OPTIMISER_MEMORY),
    worked={
        "sizes": _size_table(),
        "step": _step_table(),
        "count": f"{COUNT:,}",
        "hand_gradients": f"{HAND_GRADIENTS[0]:g} and then {HAND_GRADIENTS[1]:g}",
        "first_lr": f"{FIRST_LR:g}",
        "large": f"{SIZES[0]:g}",
        "small": f"{SIZES[1]:g}",
        "power_1": 1 - 0.9**2,
        "power_2": 1 - 0.999**2,
        "kept": (1 - 0.01 * 0.5) ** 300,
        "l2_alt": "Left, AdamW: both kinds of weight shrink along one curve. Right, Adam with L2: "
        "those with small gradients fall to 0 soon, those with large ones hardly shrink.",
    },
)
