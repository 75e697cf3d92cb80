"""A model learns its sentence, completes it, and writes reproducibly."""

import numpy as np
import pytest
from reference.witnesses import SENTENCE

from byhand_course.reference import (
    COURSE_SIZES,
    adamw_update,
    backward,
    cross_entropy,
    forward,
    generate,
    init_params,
    init_state,
    sample,
    softmax,
    train_step,
)

BAD_TEMPERATURES = [-1, -1e-9, np.nan, np.inf, -np.inf]


def test_a_train_step_is_loss_gradients_and_adamw(rng, witness):
    """train_step returns the loss before it, and the parameters after one update of each."""
    params = init_params(COURSE_SIZES, 0)
    state = init_state(params)
    ids, targets = SENTENCE[:-1], SENTENCE[1:]
    for t in (1, 2, 3):
        loss = cross_entropy(forward(ids, params), targets)
        gradients = backward(params, ids, targets)
        expected = {
            name: adamw_update(
                params[name], gradients[name], state["m"][name], state["v"][name], t, lr=0.01
            )[0]
            for name in params
        }
        params, state, told = train_step(params, state, ids, targets, lr=0.01)
        assert state["t"] == t
        witness("training: loss told", told, loss, 0)
        witness("training: step", params, expected, 0)


@pytest.mark.parametrize("seed", range(3))
def test_200_steps_teach_the_sentence(seed, witness):
    """The loss falls below a tenth of its start, and <BOS> is continued to the end."""
    params = init_params(COURSE_SIZES, seed)
    state, losses = init_state(params), []
    for _ in range(200):
        params, state, loss = train_step(params, state, SENTENCE[:-1], SENTENCE[1:])
        losses.append(loss)
    assert (np.diff(losses) < 0).mean() > 0.9
    witness("training: loss after 200 steps / before", losses[-1] / losses[0], 0, 0.1)
    written = generate([1], params, 10, 0, None)
    witness("training: sentence completed", written, SENTENCE, 0)


def test_greedy_takes_the_largest(witness):
    """Temperature 0 is argmax, the first of equals, and asks no generator."""
    witness("generation: greedy", sample(np.array([0.1, 3, 3, -1]), 0, None), 1, 0)


def test_a_tiny_temperature_is_greedy_too(rng, witness):
    """As the temperature nears 0, sampling becomes greedy, without overflow."""
    logits = np.array([1e4, 9999, -1e4])
    picks = [sample(logits, 1e-300, rng) for _ in range(20)]
    witness("generation: tiny temperature", picks, [0] * 20, 0)


def test_samples_follow_the_weights(rng, witness):
    """Frequencies approach softmax(logits / temperature).

    3 % of the largest weight: four standard deviations of a share of 20,000 draws.
    """
    logits = np.array([2.0, 0.5, -1, 1])
    picks = [sample(logits, 1.5, rng) for _ in range(20_000)]
    shares = np.bincount(picks, minlength=4) / len(picks)
    witness("generation: frequencies", shares, softmax(logits / 1.5), 0.03)


def test_a_sample_is_one_draw(witness):
    """sample asks rng once, and picks where the draw falls among the summed weights."""
    logits = np.array([0.3, -0.2, 0.9, 0.1])
    ours, theirs = np.random.default_rng(4), np.random.default_rng(4)
    sums = np.cumsum(softmax(logits / 0.8))
    expected = [int(np.searchsorted(sums, theirs.random(), side="right")) for _ in range(50)]
    witness("generation: one draw", [sample(logits, 0.8, ours) for _ in range(50)], expected, 0)


@pytest.mark.parametrize("temperature", BAD_TEMPERATURES)
def test_a_bad_temperature_is_refused(temperature, rng):
    """One clear sentence says what a temperature may be."""
    message = r"^temperature must be 0 or a positive number, not .*\.$"
    with pytest.raises(ValueError, match=message):
        sample(np.zeros(3), temperature, rng)
    with pytest.raises(ValueError, match=message):
        generate([1], init_params(COURSE_SIZES, 0), 3, temperature, rng)


def test_generation_repeats_from_its_seed(witness):
    """The same seed writes the same ids, another seed others."""
    params = init_params({**COURSE_SIZES, "max_len": 40}, 0)

    def written(seed):
        return generate([1, 3], params, 30, 1.5, np.random.default_rng(seed), stop_id=None)

    witness("generation: repeats from its seed", written(1), written(1), 0)
    assert (written(1) != written(2)).any()


def test_greedy_generation_feeds_back_what_it_picks(witness):
    """Each id is the likeliest after those before it."""
    params = init_params({**COURSE_SIZES, "num_layers": 2, "max_len": 12}, 1)
    written = generate([1, 3], params, 9, 0, None, num_heads=4, stop_id=None)
    expected = forward(written[:-1], params, num_heads=4).argmax(axis=-1)[1:]
    witness("generation: greedy chain", written[2:], expected, 0)


def test_generation_knows_when_to_stop(rng):
    """It stops after max_new_tokens, at the last position, and at the stop id."""
    params = init_params(COURSE_SIZES, 0)
    assert len(generate([1, 3], params, 1, 1.0, rng, stop_id=None)) == 3
    assert len(generate([1, 3], params, 0, 1.0, rng)) == 2
    assert len(generate([1, 3], params, 99, 1.0, rng, stop_id=None)) == COURSE_SIZES["max_len"]
    assert generate([1, 2], params, 3, 1.0, rng).tolist() == [1, 2]
    greedy = int(forward(np.array([1, 3]), params)[-1].argmax())
    assert generate([1, 3], params, 3, 0, rng, stop_id=greedy).tolist() == [1, 3, greedy]


def test_a_prompt_is_left_alone(rng):
    """generate returns new ids and leaves the prompt as it was."""
    prompt = np.array([1, 3])
    prompt.flags.writeable = False
    generate(prompt, init_params(COURSE_SIZES, 0), 3, 1.0, rng)
    assert prompt.tolist() == [1, 3]


def test_too_long_a_text_is_an_error():
    """A text longer than max_len is refused, not silently cut or repeated."""
    with pytest.raises(IndexError, match="out of bounds"):
        forward(np.ones(6, dtype=int), init_params(COURSE_SIZES, 0))
