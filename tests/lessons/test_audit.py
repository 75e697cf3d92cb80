"""Lesson 18's audit: its answers proved by the reference and, where it lies, by the published file.

Where the published file is, see tests/reference/test_published.py.
"""

import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from byhand.published import FILE, published_calculation
from byhand_course.lessons import load_lessons
from byhand_course.reference import (
    attention_backward,
    backward,
    cross_entropy,
    embedding_backward,
    forward,
    generate,
    ids_of,
    init_params,
    init_state,
    merge_heads,
    numerical_gradient,
    output_projection_backward,
    published_backward,
    published_forward,
    split_heads,
    train_step,
)
from byhand_course.reference.model import COURSE_SIZES

PUBLISHED_FILE = Path(__file__).parents[3] / "shared" / "attention_to_detail" / "published.npz"
KEYS = {  # of the published gradients in that file
    "W_lm": "grad_output.dL_dW_lm",
    **{name: f"grad_ffn.dL_d{name}" for name in ("gamma", "beta", "W1", "b1", "W2", "b2")},
    **{f"W_{one}": f"grad_all.dL_dW{one}" for one in "oqkv"},
    "E_token": "grad_all.dL_dE_token",
    "E_pos": "grad_all.dL_dE_pos",
}
OFF = 0.9  # a wrong block is off by at least this share of its largest entry; a right one by 1e-9
lesson18 = import_module("byhand_course.lessons.lesson18_training_and_audit.exercises")


def off_by(found, right):
    """The worst error as a share of the largest right entry."""
    return float(np.abs(found - right).max() / np.abs(right).max())


@pytest.fixture
def book(tmp_path):
    """The calculation as a learner loads it, from the file that the build writes."""
    (arrays,) = lesson18.LESSON.data.values()
    np.savez(tmp_path / FILE, allow_pickle=False, **arrays)
    return published_calculation(tmp_path)


def test_the_lesson_hands_out_one_file():
    """The build writes the file that byhand reads, and no other lesson has data."""
    data = {name for lesson in load_lessons() for name in lesson.data}
    assert data == {FILE.removesuffix(".npz")}


def test_the_wrong_blocks_are_those_that_the_reference_finds(book):
    """The graded set is what differs from the right gradients, and nothing comes near the line."""
    right = published_backward(book.params)
    errors = {name: off_by(book.gradients[name], right[name]) for name in right}
    wrong = {name for name, error in errors.items() if error > OFF}
    assert wrong == set(lesson18.WRONG_BLOCKS.answer)
    assert wrong == {"W_q", "W_k", "W_v", "E_token", "E_pos"}
    assert max(error for name, error in errors.items() if name not in wrong) < 1e-9


def test_the_wrong_blocks_are_those_that_measuring_finds(book):
    """Central differences along random directions, as the learner takes them, tell the same set."""
    assert published_forward(book.params)["loss"] == pytest.approx(book.loss, rel=1e-14)
    errors = {}
    for name, block in book.params.items():
        D = np.random.default_rng(18).normal(size=(3, *block.shape))

        def along(s, name=name, block=block, D=D):
            moved = book.params | {name: block + np.tensordot(s, D, axes=1)}
            return published_forward(moved)["loss"]

        claimed = (D * book.gradients[name]).reshape(3, -1).sum(axis=1)
        errors[name] = off_by(claimed, numerical_gradient(along, np.zeros(3)))
    found = {name for name, error in errors.items() if error > OFF}
    assert found == set(lesson18.WRONG_BLOCKS.answer)
    assert max(error for name, error in errors.items() if name not in found) < 1e-6


def five_gradients(book, dconcat):
    """What the way back from the heads' outputs gives, right from there on."""
    trace, p = published_forward(book.params), book.params
    back = attention_backward(
        split_heads(dconcat, 2), trace["Q"], trace["K"], trace["V"], trace["weights"]
    )
    found, dX = {}, 0
    for name, gradient in zip(("W_q", "W_k", "W_v"), back, strict=True):
        found[name] = trace["X"].T @ gradient
        dX = dX + merge_heads(gradient) @ merge_heads(p[name]).T
    found["E_token"], found["E_pos"] = embedding_backward(dX, book.tokens, 6, 5)
    return found


def test_the_first_wrong_operation_is_the_way_back_through_w_o(book):
    """What arrives is right; with W_o.T once more all else follows as published, with W_o right."""
    assert lesson18.FIRST_WRONG_OPERATION.answer == lesson18.THROUGH_W_O
    trace, W_o = published_forward(book.params), book.params["W_o"]
    dconcat, dW_o = output_projection_backward(book.dattended, trace["concat"], W_o)
    assert off_by(dW_o, published_backward(book.params)["W_o"]) < 1e-12
    slipped = five_gradients(book, book.dattended @ W_o.T)
    repaired, right = five_gradients(book, dconcat), published_backward(book.params)
    for name in lesson18.WRONG_BLOCKS.answer:
        assert off_by(slipped[name], book.gradients[name]) < 1e-12
        assert off_by(repaired[name], right[name]) < 1e-12


@pytest.mark.skipif(
    not PUBLISHED_FILE.exists(), reason="published.npz is not beside the repository"
)
def test_what_learners_load_is_what_was_published(book):
    """Every gradient, the loss, and what arrives at the attention are those of the file."""
    with np.load(PUBLISHED_FILE) as file:
        for name, key in KEYS.items():
            assert off_by(book.gradients[name], file[key]) < 1e-9
        assert off_by(book.dattended, file["grad_ffn.dL_dmulti_head_output"]) < 1e-9
        assert book.loss == pytest.approx(float(file["loss.total_loss"]), rel=1e-14)
        assert (book.tokens == file["loss.tokens"]).all()


@pytest.mark.skipif(
    not PUBLISHED_FILE.exists(), reason="published.npz is not beside the repository"
)
def test_the_published_file_is_wrong_in_the_graded_blocks(book):
    """The file itself, held against the right gradients, gives the graded set."""
    right = published_backward(book.params)
    with np.load(PUBLISHED_FILE) as file:
        wrong = {name for name, key in KEYS.items() if off_by(file[key], right[name]) > OFF}
    assert wrong == set(lesson18.WRONG_BLOCKS.answer)


def test_200_steps_are_quick_and_teach_the_sentence():
    """As the lesson trains: under 5 s, from a wrong text to the right one."""
    sentence = ids_of("I like transformers")
    params = init_params(COURSE_SIZES, 0)
    state = init_state(params)
    assert generate(sentence[:1], params, 4, 0, None).tolist() != sentence.tolist()
    began = time.monotonic()
    for _ in range(200):
        params, state, _ = train_step(params, state, sentence[:-1], sentence[1:])
    assert time.monotonic() - began < 5
    assert generate(sentence[:1], params, 4, 0, None).tolist() == sentence.tolist()


def test_the_first_drop_is_nearly_what_it_is_foretold_to_be():
    """lr times the sum of the gradients' sizes is the fall of the loss, to 5 %."""
    sentence = ids_of("I like transformers")
    params = init_params(COURSE_SIZES, 0)
    after, _, before = train_step(params, init_state(params), sentence[:-1], sentence[1:])
    fall = before - cross_entropy(forward(sentence[:-1], after), sentence[1:])
    gradients = backward(params, sentence[:-1], sentence[1:])
    foretold = 1e-3 * sum(np.abs(gradient).sum() for gradient in gradients.values())
    assert fall == pytest.approx(foretold, rel=0.05)
    assert lesson18.FIRST_DROP.answer == pytest.approx(foretold, abs=5e-4)
