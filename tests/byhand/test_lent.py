"""What the course lends: a gradient checker, where the learner's own is not right."""

import numpy as np
from numpy.testing import assert_allclose

from byhand.lent import numerical_gradient
from byhand.mine import mine, serve_from


def test_it_measures_slopes(rng):
    """On functions whose slopes are known it is right to 1e-10, and leaves x alone."""
    x = rng.normal(size=(2, 3))
    before = x.copy()
    assert_allclose(numerical_gradient(lambda x: (x**3).sum(), x), 3 * x**2, rtol=1e-9, atol=1e-10)
    assert_allclose(numerical_gradient(lambda x: np.sin(x).prod(), np.array(0.5)), np.cos(0.5))
    np.testing.assert_array_equal(x, before)


def test_each_measurement_gets_an_array_of_its_own():
    """A function that changes what it is handed spoils nothing."""

    def rude(x):
        total = (x**2).sum()
        x[:] = 0
        return total

    assert_allclose(numerical_gradient(rude, np.array([1, 2, 3])), [2, 4, 6])


def test_without_one_of_their_own_a_learner_gets_the_courses_and_is_told(
    tmp_path, monkeypatch, capsys
):
    """mine("numerical_gradient") always gives a checker; a sentence says whose it is, and why."""
    monkeypatch.chdir(tmp_path)
    assert mine("numerical_gradient") is numerical_gradient
    said = capsys.readouterr().out
    assert said.startswith("numerical_gradient: the course's own, until yours is right.")
    assert said.partition("right. ")[2].strip().endswith(".")  # and why


def test_in_grading_it_runs_in_the_learners_own_process():
    """It is handed functions, which cannot travel; so the grader is not asked for it."""
    serve_from(lambda name: None)
    try:
        assert mine("numerical_gradient") is numerical_gradient
    finally:
        serve_from(None)
