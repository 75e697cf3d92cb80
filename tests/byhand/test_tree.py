"""Values as plain data: there and back, and nothing else comes back."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from byhand.ruler import agree
from byhand.tree import MAX_DEPTH, MAX_ITEMS, Code, NotATree, Other, Seeded, flatten, unflatten

DTYPES = ["?", "i1", "i4", "i8", "u1", "u8", "f2", "f4", "f8"]
ARRAYS = hnp.arrays(st.sampled_from(DTYPES).map(np.dtype), hnp.array_shapes(min_dims=0, min_side=0))
KEYS = st.recursive(
    st.text() | st.integers(-(2**70), 2**70) | st.binary(max_size=4) | st.booleans(),
    lambda inner: st.lists(inner, max_size=2).map(tuple),
    max_leaves=3,
)
PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-(2**200), 2**200)
    | st.floats()
    | st.text()
    | st.binary(max_size=8)
    | st.builds(Seeded, st.integers(0, 2**40))
    | st.builds(Code, st.text(), st.text())
)
VALUES = st.recursive(
    PLAIN | ARRAYS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=3)
    ),
    max_leaves=12,
)


def there_and_back(value):
    """As it travels: the tree as JSON text, the arrays beside it."""
    arrays = []
    text = json.dumps(flatten(value, arrays))
    return unflatten(json.loads(text), arrays.__getitem__, stand_ins=True)


def same_value(one, other):
    if isinstance(one, np.ndarray):
        assert type(other) is np.ndarray and one.dtype == other.dtype
        return one.shape == other.shape and one.tobytes() == other.tobytes()
    if type(one) is not type(other):
        return False
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(same_value, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same_value(one[k], other[k]) for k in one)
    return one == other or (one != one and other != other)


@settings(max_examples=150, deadline=None)
@given(VALUES)
def test_every_supported_value_comes_back(value):
    """Numbers, text, bytes, arrays of all kinds, seeds, code, and nests of them, to the bit."""
    assert same_value(value, there_and_back(value))


@pytest.mark.parametrize(
    ("value", "back"),
    [
        (np.float64(0.5), np.array(0.5)),
        (np.bool_(True), np.array(True)),
        ((np.int64(2), np.int32(3)), (np.array(2), np.array(3, dtype=np.int32))),
        (np.str_("word"), "word"),
        ([np.str_("a")], ["a"]),
        ({np.int64(3): 1, (np.int8(1), "x"): 2}, {3: 1, (1, "x"): 2}),
        ({None: 1, 0.5: 2}, {None: 1, 0.5: 2}),
        (np.zeros((2, 3), order="F"), np.zeros((2, 3))),
        (np.ones((1, 2)).view(np.matrix), np.ones((1, 2))),
        (..., Other("ellipsis")),
        (np.array(["a", 1], dtype=object), Other("array of object")),
        (np.array(["a", "b"]), Other("array of str")),
        (np.array([1j]), Other("array of complex128")),
        (1j, Other("complex")),
        ({1, 2}, Other("set")),
        (10**400, Other("whole number of hundreds of digits")),
        ([0] * (MAX_ITEMS + 1), Other("list of 100001 entries")),
    ],
)
def test_near_relatives_come_back_as_the_plain_thing(value, back):
    """NumPy's scalars, subclasses and keys become plain ones; what is none of ours, an Other."""
    found = there_and_back(value)
    if isinstance(back, np.ndarray):
        assert type(found) is np.ndarray and found.dtype == back.dtype
    else:
        assert type(found) is type(back)
    assert agree(found, back, 0)


def test_a_value_that_contains_itself_ends():
    """A list in itself is cut off, where it is too deep."""
    endless = [1]
    endless.append(endless)
    found = there_and_back(endless)
    for _ in range(MAX_DEPTH):
        found = found[1]
    assert found == [Other("too deeply nested value")] * 2


def nested(depth):
    tree = ["plain", 1]
    for _ in range(depth):
        tree = ["list", [tree]]
    return tree


HOSTILE = [
    None,
    1,
    "plain",
    {},
    [],
    ["plain"],
    ["plain", 1, 2],
    ["plain", [1]],
    ["plain", {}],
    ["plain", 10**400],
    ["array", -1],
    ["array", 1],
    ["array", 10**30],
    ["array", True],
    ["array", 0.0],
    ["array", "0"],
    ["seeded", -1],
    ["seeded", 1.5],
    ["other", 3],
    ["bytes", "zz"],
    ["bytes", 3],
    ["code", "f"],
    ["code", ["f", 3]],
    ["code", ["f", "g", "h"]],
    ["tuple", 3],
    ["list", {"a": 1}],
    ["list", [["plain", 1], None]],
    ["list", [None] * (MAX_ITEMS + 1)],
    ["dict", [[["list", []], ["plain", 1]]]],
    ["dict", [[["tuple", [["list", []]]], ["plain", 1]]]],
    ["dict", [[["array", 0], ["plain", 1]]]],
    ["dict", [[["plain", 1]]]],
    ["dict", [1]],
    ["pickle", "x"],
    [["plain"], 1],
    [{}, 1],
    nested(MAX_DEPTH + 3),
    nested(100_000),
]


@pytest.mark.parametrize(
    "tree", HOSTILE, ids=lambda tree: repr(tree)[:40] if tree != HOSTILE[-1] else "deep"
)
def test_a_hostile_tree_is_not_a_tree(tree):
    """Whatever arrives, the only error is NotATree."""
    with pytest.raises(NotATree):
        unflatten(tree, [np.zeros(2)].__getitem__, stand_ins=True)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(
        ["plain", "array", "tuple", "list", "dict", "bytes", "other", "seeded", "code"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(st.lists(JSON, min_size=2, max_size=2))
def test_random_json_gives_a_value_or_not_a_tree(tree):
    """No other error, and a value that can be written again."""
    arrays = [np.zeros(2)]
    try:
        value = unflatten(tree, arrays.__getitem__, stand_ins=True)
    except NotATree:
        return
    flatten(value, [])


@pytest.mark.parametrize("value", [Seeded(3), Code("f", "def f(): pass")], ids=["seeded", "code"])
@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: [1, (v,)], lambda v: {"k": v}])
def test_an_answer_cannot_hold_what_comes_to_life(value, wrap):
    """Stand-ins for code are read only where the course itself wrote them."""
    tree = flatten(wrap(value), [])
    unflatten(tree, list.__getitem__, stand_ins=True)
    with pytest.raises(NotATree):
        unflatten(tree, list.__getitem__)


def test_a_long_name_of_a_type_is_cut():
    """Only 100 characters of a name that a learner may have made up come through."""
    assert unflatten(["other", "x" * 10_000], list.__getitem__) == Other("x" * 100)
