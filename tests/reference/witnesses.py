"""What several witnesses share: how far off, slopes by measurement, models of odd sizes.

Nothing here shares code with the reference.
"""

import numpy as np

SENTENCE = np.array([1, 3, 4, 5, 2])  # <BOS> I like transformers <EOS>


def relative_error(actual, expected):
    """Measure how far actual is from expected, over all arrays in it.

    An error counts relative to the largest entry of its array: entries that cancel to nearly
    nothing carry the rounding of their neighbours.

    Args:
        actual, expected: numbers or arrays of one shape, or tuples, lists or dicts of them.

    Returns:
        A number, inf where shapes differ or anything is not finite.
    """
    if isinstance(expected, dict):
        assert set(actual) == set(expected)
        return max(relative_error(actual[name], expected[name]) for name in expected)
    if isinstance(expected, tuple | list):
        assert len(actual) == len(expected)
        return max(relative_error(a, e) for a, e in zip(actual, expected, strict=True))
    actual, expected = np.asarray(actual), np.asarray(expected)
    if actual.shape != expected.shape or not np.isfinite(actual).all():
        return np.inf
    largest = np.abs(expected).max(initial=0)
    difference = np.abs(np.subtract(actual, expected, dtype=float)).max(initial=0)
    return float(difference / largest if largest > 0 else difference)


def numeric_gradient(loss, variable, h=5e-4):
    """Measure the slope of loss() for every entry of variable with five-point differences.

    The error is h^4 times the fifth derivative, plus rounding of 1e-16 / h: both about 1e-12
    here, where two points and h = 1e-5 stop at 1e-10.

    Args:
        loss: function of nothing that reads variable and returns a number.
        variable: float64 array; every entry is moved in place and put back.

    Returns:
        The gradient, shaped as variable.
    """
    gradient = np.empty(variable.shape)
    for index in np.ndindex(variable.shape):
        center = variable[index]
        values = []
        for steps in (-2, -1, 1, 2):
            variable[index] = center + steps * h
            values.append(loss())
        variable[index] = center
        far_left, left, right, far_right = values
        gradient[index] = (8 * (right - left) - (far_right - far_left)) / (12 * h)
    return gradient


def odd_params(rng, d_model, d_ff, vocab_size, num_layers, max_len):
    """Draw parameters for a model whose norms and biases are far from 1 and 0.

    Returns:
        Dict from name to array, flat, a block's parameters as "blocks.0.W_q".
    """

    def draw(*shape, mean=0.0, std=1.0):
        return rng.normal(mean, std, shape)

    params = {
        "token_embedding": draw(vocab_size, d_model),
        "position_embedding": draw(max_len, d_model),
    }
    for layer in range(num_layers):
        block = {
            "ln1_gamma": draw(d_model, mean=1, std=0.5),
            "ln1_beta": draw(d_model, std=0.5),
            "W_q": draw(d_model, d_model, std=d_model**-0.5),
            "W_k": draw(d_model, d_model, std=d_model**-0.5),
            "W_v": draw(d_model, d_model, std=d_model**-0.5),
            "W_o": draw(d_model, d_model, std=d_model**-0.5),
            "ln2_gamma": draw(d_model, mean=1, std=0.5),
            "ln2_beta": draw(d_model, std=0.5),
            "W_1": draw(d_model, d_ff, std=d_model**-0.5),
            "b_1": draw(d_ff, std=0.5),
            "W_2": draw(d_ff, d_model, std=d_ff**-0.5),
            "b_2": draw(d_model, std=0.5),
        }
        params |= {f"blocks.{layer}.{name}": parameter for name, parameter in block.items()}
    params |= {
        "lnf_gamma": draw(d_model, mean=1, std=0.5),
        "lnf_beta": draw(d_model, std=0.5),
        "W_out": draw(d_model, vocab_size, std=d_model**-0.5),
    }
    return params
