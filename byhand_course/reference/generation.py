"""Writing text with a model, one sampled token at a time.

Sizes: logits (V,) over a vocabulary of V tokens; ids (T,), T at most max_len.
Source: Radford et al. 2019 (GPT-2); temperature as in Ackley, Hinton and Sejnowski 1985.
"""

import numpy as np

from byhand_course.reference.model import forward
from byhand_course.reference.softmax import softmax_with_temperature


def sample(logits, temperature, rng):
    """Pick the next token: the likeliest at temperature 0, else at random.

    Args:
        logits: (V,) scores.
        temperature: 0, or a positive number; small is cautious, large is adventurous.
        rng: numpy Generator, asked for one rng.choice unless the temperature is 0.

    Returns:
        An integer id.
    """
    if not 0 <= temperature < np.inf:
        raise ValueError(f"temperature must be 0 or a positive number, not {temperature}.")
    if temperature == 0:
        return int(np.argmax(logits))
    shifted = logits - logits.max()  # at most 0, so a tiny temperature cannot make +inf
    probabilities = softmax_with_temperature(shifted, temperature)
    return int(rng.choice(len(probabilities), p=probabilities))


def generate(ids, params, max_new_tokens, temperature, rng, num_heads=2, stop_id=2):
    """Let a model continue a text, feeding every token it picks back in.

    Args:
        ids: (T,) token ids to continue, at least one.
        params: dict from name to array, of a model with any number of blocks.
        max_new_tokens: at most this many tokens are added.
        temperature, rng: as sample takes them.
        num_heads: number of heads in every block.
        stop_id: the token after which nothing follows, <EOS> in VOCABULARY.

    Returns:
        (T + new,) the ids and their continuation. It ends with stop_id, after max_new_tokens, or
        when there is no position left in position_embedding.
    """
    ids = np.array(ids)
    max_len = len(params["position_embedding"])
    for _ in range(max_new_tokens):
        if len(ids) >= max_len or ids[-1] == stop_id:
            break
        logits = forward(ids, params, num_heads)
        next_id = sample(logits[-1], temperature, rng)  # the last row scores what comes next
        ids = np.append(ids, next_id)
    return ids
