"""The trace: what the reference computes, and nothing computed a second time."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from byhand_course.reference import (
    COURSE_SIZES,
    PUBLISHED_BLOCKS,
    VOCABULARY,
    backward,
    cross_entropy,
    forward,
    ids_of,
    init_params,
    init_state,
    layer_norm,
    published_backward,
    published_forward,
    published_params,
    published_step,
    softmax,
    train_step,
)
from byhand_course.worked import settle, trace_published, trace_training_step
from byhand_course.worked.published import OURS, _in_our_layout
from byhand_course.worked.recorder import record
from byhand_course.worked.trace import short

IDS = np.array([1, 3, 4, 5, 2])  # <BOS> I like transformers <EOS>


@pytest.fixture(scope="module")
def trace():
    return trace_training_step(settle())


def test_it_ends_where_the_reference_ends(trace):
    """Loss, logits, every gradient, moment and parameter are those of backward and train_step."""
    params = init_params(COURSE_SIZES, 0)
    logits = forward(IDS[:-1], params)
    assert_array_equal(trace["logits"], logits)
    assert trace["loss"] == cross_entropy(logits, IDS[1:])
    gradients = backward(params, IDS[:-1], IDS[1:])
    new, state, loss = train_step(params, init_state(params), IDS[:-1], IDS[1:])
    assert trace["loss"] == loss
    assert len(params) == 17
    for name in params:
        assert_array_equal(trace[short(name)], params[name])
        assert_array_equal(trace[f"d{short(name)}"], gradients[name])
        assert_array_equal(trace[f"m_{short(name)}"], state["m"][name])
        assert_array_equal(trace[f"v_{short(name)}"], state["v"][name])
        assert_array_equal(trace[f"new_{short(name)}"], new[name])


def test_the_published_trace_is_the_references(trace):
    """Right gradients as published_backward gives them, and the slip's beside them."""
    trace, params = trace_published(), published_params()
    assert trace["loss"] == published_forward(params)["loss"]
    for transpose, prefix in ((True, ""), (False, "pub_")):
        gradients = published_backward(params, transpose_w_o=transpose)
        new = published_step(params, gradients)[0]
        for theirs in PUBLISHED_BLOCKS:
            for made, arrays in (("d", gradients), ("new_", new)):
                key = f"{prefix}{made}{OURS[theirs]}"
                key = key if key in trace else f"{made}{OURS[theirs]}"
                assert_array_equal(trace[key], _in_our_layout(theirs, arrays[theirs]), err_msg=key)


def test_published_differs_in_exactly_five_gradients():
    """And those five are off by more than their largest entry, where ours are as measured."""
    trace = trace_published()
    differ = {name for name in trace.parameters if f"pub_d{name}" in trace}
    assert differ == {"W_q", "W_k", "W_v", "token_embedding", "position_embedding"}
    columns = ("update_mean_move", "update_largest_move", "update_largest_gradient")
    for place, name in enumerate(trace.parameters):
        moved = [trace[f"pub_{column}"][place] != trace[column][place] for column in columns]
        assert any(moved) == (name in differ), name
    late = {name.removeprefix("pub_") for name in trace.values if name.startswith("pub_")}
    assert late >= {"dconcat", "dQ", "dX", "loss_after"}
    assert not late & {"dW_o", "W_o", "new_W_o", "dout", "dlogits", "dconcat_untransposed"}
    ours, theirs = trace["error_ours"][:5], trace["error_published"][:5]
    assert (ours < 1e-6).all() and (theirs > 1.5).all()
    assert np.isnan(trace["error_ours"][5:]).all()


def test_the_published_slip_is_what_forgetting_the_transpose_gives(trace):
    """What page 11 calls "without the transpose" is the published number."""
    published = trace_published()
    assert_array_equal(published["dconcat_untransposed"], published["pub_dconcat"])
    assert not np.allclose(trace["dconcat_untransposed"], trace["dconcat"])


def test_a_record_holds_calls_within_calls_and_their_locals():
    """softmax's own local variables, found by the way to it."""
    scores = np.array([[1.0, 2.0, 4.0]])
    call = record(softmax, scores)
    assert call.function == "softmax"
    assert_array_equal(call["largest"], [[4.0]])
    assert_array_equal(call.answer, softmax(scores))
    step = record(forward, IDS, init_params(COURSE_SIZES, 0))
    inner = step.call("transformer_block").call("layer_norm", 1)
    expected = layer_norm(inner["x"], inner["gamma"], inner["beta"])
    assert_array_equal(inner.answer, expected)


def test_a_record_says_what_it_lacks():
    """A renamed local or function of the reference stops the pages, and names what there is."""
    call = record(softmax, np.array([1.0, 2.0]))
    with pytest.raises(KeyError, match="softmax has no 'biggest'; it has scores, axis, largest"):
        call["biggest"]
    with pytest.raises(KeyError, match="softmax calls 'exp' 0 times"):
        call.call("exp")


def test_recording_leaves_no_trace_behind():
    """The profiler is put back, also when the function fails."""
    import sys

    before = sys.getprofile()
    with pytest.raises(AttributeError):
        record(softmax, None)
    assert sys.getprofile() is before


@pytest.mark.parametrize(
    ("sentence", "vocabulary"),
    [
        ("the cat sat", VOCABULARY),
        ("a dog barks", ("<PAD>", "<BOS>", "<EOS>", "a", "dog", "barks")),
        ("dog eat dog", ("<PAD>", "<BOS>", "<EOS>", "dog", "eat")),
    ],
)
def test_any_sentence_has_a_vocabulary(sentence, vocabulary):
    """The course's if it has all words; else the sentence's own, each word once."""
    settings = settle(sentence)
    assert settings.vocabulary == vocabulary
    assert_array_equal(trace_training_step(settings)["ids"], ids_of(sentence, vocabulary)[:-1])


def test_a_repeated_word_collects_its_gradients():
    """Its row of the table gets the sum of the rows where it stands, and labels tell them apart."""
    trace = trace_training_step(settle("dog eat dog"))
    assert trace.labels("token") == ["<BOS>", "dog (1)", "eat", "dog (3)"]
    assert_array_equal(trace["dtoken_embedding"][3], trace["dX"][1] + trace["dX"][3])
