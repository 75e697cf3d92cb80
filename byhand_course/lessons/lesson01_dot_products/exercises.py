# mypy: allow-untyped-defs
"""What is graded in lesson 1, and the wrong answers it knows."""

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
from byhand_course.reference.vectors import cosine_similarity, dot, rank_by_similarity

# The vectors of the exercise by hand, and those that the prose works through.
HAND_A = np.array([2, -1, 3])
HAND_B = np.array([4, 5, -2])
SHOWN_A = np.array([1, 3, -2])
SHOWN_B = np.array([5, 2, 4])


def _listed(numbers: np.ndarray) -> str:
    *most, last = map(str, numbers.tolist())
    return f"{', '.join(most)} and {last}"


DOT_BY_HAND = ByHand(
    name="dot-by-hand",
    objective="Work out a dot product with pencil and paper.",
    minutes=4,
    points=1,
    form="a whole number",
    answer=int(dot(HAND_A, HAND_B)),
    hints=(
        "Write the two vectors one above the other. Which numbers now stand in the same column?",
        "Multiply down each column. You should have three products, two of them below zero.",
        f"The products are {_listed(HAND_A * HAND_B)}. One operation is left.",
    ),
    slips=(
        Slip(
            name="sum-of-all-numbers",
            answer=int(HAND_A.sum() + HAND_B.sum()),
            says="This is the sum of all six numbers. What happens to the two numbers of one "
            "feature before anything is added up?",
        ),
        Slip(
            name="product-of-the-sums",
            answer=int(HAND_A.sum() * HAND_B.sum()),
            says="This adds up each vector first and multiplies the two sums, so every number "
            f"of a meets every number of b. Which number of b should the {HAND_A[0]} in a meet?",
        ),
        Slip(
            name="signs-lost",
            answer=int(np.abs(HAND_A * HAND_B).sum()),
            says="This counts all three products as positive. What is the sign of a product of "
            "a negative and a positive number?",
        ),
        Slip(
            name="second-sign-lost",
            answer=int(dot(np.abs(HAND_A), HAND_B)),
            says=f"One minus sign got lost on the way. What is {HAND_A[1]} times {HAND_B[1]}?",
        ),
        Slip(
            name="third-sign-lost",
            answer=int(dot(HAND_A, np.abs(HAND_B))),
            says=f"One minus sign got lost on the way. What is {HAND_A[2]} times {HAND_B[2]}?",
        ),
        Slip(
            name="sign-of-the-result",
            answer=-int(dot(HAND_A, HAND_B)),
            says="The size is right and the sign is not. Which are larger in sum, the positive "
            "products or the negative ones?",
        ),
    ),
)


def whole_number_vectors(rng):
    """Three features, none of them 0, so that each product counts."""
    a, b = rng.integers(1, 7, size=(2, 3)) * rng.choice([-1, 1], size=(2, 3))
    if a @ b == 0:  # a cosine of 0 would hang on the last digit of a length
        a[0] = -a[0]
    return a, b


def plain_vectors(rng):
    return rng.normal(size=7), rng.normal(size=7)


def vectors_at_a_right_angle(rng):
    """Whole numbers, so that the products cancel to exactly 0 in any order."""
    x, y, z = rng.integers(1, 9, size=3).astype(float)
    return np.array([x, 0.0, y, z, 0.0]), np.array([-y, 3.0, x, 0.0, z])


def float32_vectors(rng):
    """All above 0, so that rounding in float32 stays small beside the sum."""
    return tuple(rng.uniform(0.5, 1.5, size=(2, 6)).astype(np.float32))


DOT = Exercise(
    name="dot",
    objective="Write the dot product of two vectors in NumPy.",
    minutes=5,
    solution=dot,
    inputs=(whole_number_vectors, plain_vectors, vectors_at_a_right_angle, float32_vectors),
    returns=("score",),
    points=(1,),
    properties={
        "the order of the two vectors does not matter": lambda score, a, b: np.isclose(
            score, dot(b, a)
        ),
        "the score is one number": lambda score, a, b: np.ndim(score) == 0,
    },
    hints=(
        "You did this by hand two cells above. Which two steps did you take?",
        "NumPy multiplies two arrays of one shape entry by entry with a single sign.",
        "Keep the products in an array of shape (d,). An array has a method that adds up its "
        "entries; return what it gives.",
    ),
    mistakes=(
        Mistake(
            name="added-not-multiplied",
            swap="a * b",
            into="a + b",
            says="This adds the two numbers of each feature where it should combine them in "
            "another way. What did you do with 2 and 4 when you worked by hand?",
        ),
        Mistake(
            name="products-not-added",
            swap="products.sum()",
            into="products",
            says="These are the products, one for each feature. How do they become one number?",
        ),
        Mistake(
            name="mean-of-the-products",
            swap="products.sum()",
            into="products.mean()",
            says="This averages the products, so a vector with more features gets no larger "
            "score. Does a dot product divide by anything?",
        ),
        Mistake(
            name="product-of-the-sums",
            swap="a * b",
            into="np.outer(a, b)",
            says="Every number of a is multiplied by every number of b here. How many products "
            "should there be for two vectors of three features?",
        ),
        Mistake(
            name="signs-lost",
            swap="a * b",
            into="np.abs(a * b)",
            says="All products count as positive here, so no two vectors can disagree. What "
            "should a feature add in which a is 2 and b is -3?",
        ),
        Mistake(
            name="squared-distance",
            swap="a * b",
            into="(a - b) ** 2",
            says="This is the squared distance of the two points, which is small for similar "
            "vectors. Should the score of a vector with itself be 0?",
        ),
        Mistake(
            name="vector-with-itself",
            swap="a * b",
            into="a * a",
            says="The answer does not depend on b: this is the dot product of a with itself. "
            "Where does b enter your function?",
        ),
        Mistake(
            name="overwritten-in-a-loop",
            swap="products.sum()",
            into="products[-1]",
            says="Only the last feature counts here, as when a loop overwrites its result in "
            "each round. What should happen to the sum so far when the next product comes?",
        ),
        Mistake(
            name="returned-too-early",
            swap="products.sum()",
            into="products[0]",
            says="Only the first feature counts here, as when a loop returns in its first "
            "round. How far is your return indented?",
        ),
        Mistake(
            name="last-feature-left-out",
            swap="products.sum()",
            into="products[:-1].sum()",
            says="The last feature is left out. Which is the last index that your loop or slice "
            "reaches?",
        ),
        Mistake(
            name="first-feature-left-out",
            swap="products.sum()",
            into="products[1:].sum()",
            says="The first feature is left out. From which index do you start?",
        ),
    ),
)

BOTH, DOT_ONLY, COSINE_ONLY, NEITHER = (
    "both triple",
    "only the dot product triples",
    "only the cosine similarity triples",
    "neither changes",
)


def _effect_of_tripling() -> str:
    """Which of the two scores triples with b, found by trying it."""
    dot_triples = np.isclose(dot(SHOWN_A, 3 * SHOWN_B), 3 * dot(SHOWN_A, SHOWN_B))
    cosine_stays = np.isclose(
        cosine_similarity(SHOWN_A, 3 * SHOWN_B), cosine_similarity(SHOWN_A, SHOWN_B)
    )
    return {
        (True, True): DOT_ONLY,
        (True, False): BOTH,
        (False, True): NEITHER,
        (False, False): COSINE_ONLY,
    }[bool(dot_triples), bool(cosine_stays)]


THREE_TIMES_AS_LONG = Prediction(
    name="three-times-as-long",
    objective="Predict how the length of a vector enters the dot product and the cosine.",
    minutes=3,
    points=1,
    answer=_effect_of_tripling(),
    options=(BOTH, DOT_ONLY, COSINE_ONLY, NEITHER),
    hints=(
        "Take the simplest case: vectors of one feature, a = 2 and b = 5.",
        "The lengths of those two are 2 and 5. Work out the dot product, and the same divided "
        "by both lengths. Then put 15 for b.",
        "The dot product went from 10 to 30. In the other score, 3 stands above and below the "
        "line. What is left of it?",
    ),
    slips=(
        Slip(
            name="length-not-divided-out",
            answer=BOTH,
            says="The cosine similarity is divided by the length of b. How long is b after it "
            "was made three times as long?",
        ),
        Slip(
            name="the-wrong-one",
            answer=COSINE_ONLY,
            says="One of the two is divided by both lengths, the other is not. Which of them is "
            "free to grow?",
        ),
        Slip(
            name="dot-ignores-length",
            answer=NEITHER,
            says="Right for one of the two. Each product of the dot product has a number of b "
            "in it. What becomes of 2 times 5 when the 5 is tripled?",
        ),
    ),
)


def vectors_of_different_length(rng):
    """One vector some fifty times as long as the other."""
    return 7 * rng.normal(size=6), 0.15 * rng.normal(size=6)


def nearly_opposite_vectors(rng):
    """Not quite opposite: at -1 exactly, rounding would decide whether arccos gives nan."""
    a = rng.uniform(0.5, 2.0, size=5)
    return a, -3 * a + rng.uniform(0.1, 0.3, size=5)


def vectors_with_no_feature_in_common(rng):
    """Wherever one has a feature, the other has 0: the answer is exactly 0 in any order."""
    a, b = rng.uniform(0.5, 2.0, size=(2, 7))
    a[[1, 4, 5]] = 0
    b[[0, 2, 3, 6]] = 0
    return a, b


COSINE_SIMILARITY = Exercise(
    name="cosine-similarity",
    objective="Write the cosine similarity, which compares directions whatever the lengths.",
    minutes=7,
    solution=cosine_similarity,
    inputs=(
        whole_number_vectors,
        plain_vectors,
        vectors_of_different_length,
        nearly_opposite_vectors,
        vectors_with_no_feature_in_common,
        float32_vectors,
    ),
    returns=("similarity",),
    points=(2,),
    properties={
        "the similarity lies between -1 and 1": lambda similarity, a, b: abs(similarity) <= 1.00001,
        "the similarity is one number": lambda similarity, a, b: np.ndim(similarity) == 0,
    },
    hints=(
        "How long is a vector? Its dot product with itself tells you the square of that.",
        "You need three dot products: a with b, a with itself, b with itself. Two of them need a "
        "square root.",
        "Divide the first by both lengths, and mind the brackets: Python works through / and * "
        "from left to right.",
    ),
    mistakes=(
        Mistake(
            name="lengths-not-divided-out",
            swap=" / (length_a * length_b)",
            into="",
            says="This is the dot product itself, so long vectors still win. What takes their "
            "lengths out of it?",
        ),
        Mistake(
            name="square-root-forgotten",
            swap="(length_a * length_b)",
            into="(length_a * length_b) ** 2",
            says="You divide by the squared lengths. What does your function say of a vector "
            "of length 3 and itself, and what should it say?",
        ),
        Mistake(
            name="one-square-root-forgotten",
            swap="np.sqrt(dot(a, a))",
            into="dot(a, a)",
            says="One of the two lengths is still squared. What do you get for the length of a, "
            "if a is (3, 0)?",
        ),
        Mistake(
            name="only-the-length-of-a",
            swap="(length_a * length_b)",
            into="length_a",
            says="The length of b still counts. What should happen to the answer when b is made "
            "three times as long, and what does yours do?",
        ),
        Mistake(
            name="only-the-length-of-b",
            swap="(length_a * length_b)",
            into="length_b",
            says="The length of a still counts. What should happen to the answer when a is made "
            "three times as long, and what does yours do?",
        ),
        Mistake(
            name="brackets-forgotten",
            swap="/ (length_a * length_b)",
            into="/ length_a * length_b",
            says="This divides by one length and multiplies by the other. In which order does "
            "Python work out 12 / 3 * 2?",
        ),
        Mistake(
            name="lengths-added",
            swap="(length_a * length_b)",
            into="(length_a + length_b)",
            says="You divide by the sum of the two lengths. For two vectors of length 3 that "
            "point the same way the dot product is 9; what turns 9 into 1?",
        ),
        Mistake(
            name="number-of-features-as-length",
            swap="length_a = np.sqrt(dot(a, a))\n    length_b = np.sqrt(dot(b, b))",
            into="length_a = len(a)\n    length_b = len(b)",
            says="len counts the features of a vector. How far does the arrow (3, 4) reach, and "
            "what is its len?",
        ),
        Mistake(
            name="sum-as-length",
            swap="length_a = np.sqrt(dot(a, a))\n    length_b = np.sqrt(dot(b, b))",
            into="length_a = np.abs(a).sum()\n    length_b = np.abs(b).sum()",
            says="You take the sum of a vector's numbers, without their signs, for its length. "
            "By Pythagoras, how long is the arrow (3, 4)?",
        ),
        Mistake(
            name="longest-feature-as-length",
            swap="length_a = np.sqrt(dot(a, a))\n    length_b = np.sqrt(dot(b, b))",
            into="length_a = np.abs(a).max()\n    length_b = np.abs(b).max()",
            says="You take a vector's largest number for its length. By Pythagoras, how long is "
            "the arrow (3, 4)?",
        ),
        Mistake(
            name="cosine-distance",
            swap="return dot(a, b)",
            into="return 1 - dot(a, b)",
            says="This is 1 minus the similarity, a distance: 0 for vectors that point the same "
            "way. Which number does the docstring promise for them?",
        ),
        Mistake(
            name="sign-dropped",
            swap="return dot(a, b)",
            into="return abs(dot(a, b))",
            says="Opposite vectors come out as similar as equal ones. Where does the sign of "
            "the dot product go?",
        ),
        Mistake(
            name="angle-not-cosine",
            swap="return dot(a, b) / (length_a * length_b)",
            into="return np.arccos(dot(a, b) / (length_a * length_b))",
            says="This is the angle itself, in radians: it grows as vectors part. Which number "
            "does the docstring promise at a right angle?",
        ),
        Mistake(
            name="means-taken-out",
            swap="length_a = np.sqrt(dot(a, a))",
            into="a, b = a - a.mean(), b - b.mean()\n    length_a = np.sqrt(dot(a, a))",
            says="Each vector's mean is taken out first, which gives the correlation. Does the "
            "angle between two arrows ask for that?",
        ),
        Mistake(
            name="vectors-changed-in-place",
            swap="return dot(a, b) / (length_a * length_b)",
            into="a /= length_a\n    b /= length_b\n    return dot(a, b)",
            says="The number is right, but a /= ... writes into the caller's own vector: after "
            "the call it has length 1. How do you get a new array instead?",
        ),
    ),
)


def a_few_vectors(rng):
    return rng.normal(size=3), rng.normal(size=(5, 3))


def vectors_of_very_different_length(rng):
    """All within a right angle of the query; their lengths differ by up to a hundred times."""
    query, vectors = rng.uniform(0.1, 2.0, size=5), rng.uniform(0.1, 2.0, size=(7, 5))
    return query, vectors * 10.0 ** rng.permutation(np.linspace(-1, 1, 7))[:, None]


def whole_number_features(rng):
    """None of them 0."""
    return rng.integers(1, 10, size=7), rng.integers(1, 10, size=(6, 7)) * rng.choice(
        [-1, 1], size=(6, 7)
    )


def equal_similarities_that_must_keep_their_order(rng):
    """Vectors along the axes, of lengths 1/4 to 4: the tied similarities are equal to the bit.

    There are more than 16, because below that some machines happen to sort ties in order.
    """
    directions = np.eye(3)[np.concatenate([rng.permutation(3), rng.integers(0, 3, size=16)])]
    return rng.normal(size=3), directions * 2.0 ** rng.integers(-2, 3, size=(19, 1))


RANK_BY_SIMILARITY = Exercise(
    name="rank-by-similarity",
    objective="Rank words by how similar their vectors are to the vector of another word.",
    minutes=8,
    solution=rank_by_similarity,
    inputs=(
        a_few_vectors,
        vectors_of_very_different_length,
        whole_number_features,
        equal_similarities_that_must_keep_their_order,
    ),
    returns=("ranking",),
    points=(2,),
    tolerance=1e-7,
    properties={
        "each row is named once": lambda ranking, query, vectors: np.array_equal(
            np.sort(ranking), np.arange(len(vectors))
        ),
    },
    hints=(
        "Two steps: one similarity for each row, then an order. Print the similarities first.",
        "Call cosine_similarity once for each row and put the results into an array. "
        "np.argsort then gives row numbers instead of sorted values.",
        "np.argsort begins with the smallest. Change the sign of what you give it, and ask for "
        'kind="stable", which keeps ties in the order given.',
    ),
    mistakes=(
        Mistake(
            name="least-similar-first",
            swap="-similarities",
            into="similarities",
            says="The order is upside down: the least similar vector comes first. With which end "
            "does np.argsort begin?",
        ),
        Mistake(
            name="ranked-by-dot-product",
            swap="cosine_similarity(query, vector)",
            into="dot(query, vector)",
            says="This ranks by the dot product, which long vectors win, or divides by the "
            "length of the query only. Which score leaves the lengths of the rows out?",
        ),
        Mistake(
            name="ranked-by-distance",
            swap="cosine_similarity(query, vector)",
            into="-dot(query - vector, query - vector)",
            says="This ranks by the distance between the points. How far from the query is a "
            "vector that points the same way and is ten times as long?",
        ),
        Mistake(
            name="sign-ignored",
            swap="-similarities",
            into="-np.abs(similarities)",
            says="A vector opposite to the query ranks as high as one that points its way. What "
            "becomes of the sign of a similarity?",
        ),
        Mistake(
            name="sorted-values",
            swap='np.argsort(-similarities, kind="stable")',
            into="-np.sort(-similarities)",
            says="These are the similarities in order. Which rows do they belong to? The "
            "docstring asks for row indices.",
        ),
        Mistake(
            name="not-sorted",
            swap='np.argsort(-similarities, kind="stable")',
            into="similarities",
            says="These are the similarities, in the order of the rows. Which row should come "
            "first, and how do you get its index?",
        ),
        Mistake(
            name="ranks-not-indices",
            swap='np.argsort(-similarities, kind="stable")',
            into='np.argsort(np.argsort(-similarities, kind="stable"))',
            says="This gives each row its rank. Should the first entry be the rank of row 0, or "
            "the index of the most similar row?",
        ),
        Mistake(
            name="rows-not-indices",
            swap='np.argsort(-similarities, kind="stable")',
            into='vectors[np.argsort(-similarities, kind="stable")]',
            says="These are the vectors in the right order. Which array holds their order "
            "itself, as whole numbers?",
        ),
        Mistake(
            name="only-the-best",
            swap='np.argsort(-similarities, kind="stable")',
            into="np.argmax(similarities)",
            says="This names the most similar row only. How many indices should come back for "
            "five vectors?",
        ),
        Mistake(
            name="counted-from-1",
            swap='np.argsort(-similarities, kind="stable")',
            into='np.argsort(-similarities, kind="stable") + 1',
            says="The order is right and each number is 1 too large. Which index does NumPy give "
            "the first row?",
        ),
        Mistake(
            name="ties-reversed",
            swap='np.argsort(-similarities, kind="stable")',
            into='np.argsort(similarities, kind="stable")[::-1]',
            says="Turning a finished ranking around turns equal similarities around too: the "
            "later row comes first. What could you turn before you sort instead?",
        ),
    ),
)

WHY_NORMALISE = FreeAnswer(
    name="why-normalise",
    objective="Explain why the dot product of normalised vectors measures how similar their "
    "directions are.",
    minutes=7,
    points=2,
    hints=(
        "The dot product of two vectors is the product of three things. Which?",
        "Normalising sets two of the three to 1. What is left, and when is it largest?",
        "Say what happens without normalising, too: which vector wins a comparison of raw dot "
        "products, although it points elsewhere?",
    ),
    model_answer=(
        r"The dot product is $a \cdot b = |a|\,|b|\cos\theta$, where $\theta$ is the angle between "
        "the two vectors. Normalised vectors have length 1, so only the cosine is left. It falls "
        "steadily as the angle grows: 1 for the same direction, 0 at a right angle, -1 for "
        "opposite directions. So a larger dot product can only mean a smaller angle, that is, more "
        "similar directions. Without normalising, a vector can also score high by being long: a "
        "long vector that points somewhat elsewhere beats a short one that points exactly the "
        "right way."
    ),
    rubric=(
        (
            2,
            "Says that the dot product depends on both lengths and the angle, that normalising "
            "fixes the lengths at 1 so that only the angle is left, and that the cosine falls as "
            "the angle grows, so that larger means more similar.",
        ),
        (
            1,
            "Has one half: either that normalising leaves only the angle (or takes the lengths "
            "out), or that the cosine falls from 1 over 0 to -1 as the angle grows. An example "
            "that shows how length misleads counts as the first half.",
        ),
        (
            0,
            "Repeats that larger means more similar without a reason, or gives the formula alone.",
        ),
    ),
)


def _tuple(vector: np.ndarray) -> str:
    return "(" + ", ".join(str(number) for number in vector.tolist()) + ")"


LESSON = Lesson(
    number=1,
    title="Dot products as similarity scores",
    assignment="week1_maths",
    objective="compute a dot product by hand, and explain why a larger dot product between "
    "normalised vectors means more similar directions.",
    needs="functions in Python and a first look at NumPy arrays",
    place="scores",
    worked_pages=("03-attention.html",),
    exercises=(
        DOT_BY_HAND,
        DOT,
        THREE_TIMES_AS_LONG,
        COSINE_SIMILARITY,
        RANK_BY_SIMILARITY,
        WHY_NORMALISE,
    ),
    worked={
        "hand_a": _tuple(HAND_A),
        "hand_b": _tuple(HAND_B),
        "shown_a": _tuple(SHOWN_A),
        "shown_b": _tuple(SHOWN_B),
        "shown_terms": " + ".join(
            f"{x} \\cdot {y}" if x >= 0 else f"({x}) \\cdot {y}"
            for x, y in zip(SHOWN_A.tolist(), SHOWN_B.tolist(), strict=True)
        ),
        "shown_products": " + ".join(
            str(x) if x >= 0 else f"({x})" for x in (SHOWN_A * SHOWN_B).tolist()
        ),
        "shown_dot": int(dot(SHOWN_A, SHOWN_B)),
    },
)
