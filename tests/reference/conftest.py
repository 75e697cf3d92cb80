"""Fixtures for the reference's witnesses, and the table of their worst errors."""

import numpy as np
import pytest
from reference.witnesses import relative_error

WORST = {}  # name of a witness: (worst error, bound, sign), in the order first heard


def worse(error, name, bound, sign):
    """Keep the error that is nearest to breaking its bound."""
    if name in WORST:
        before = WORST[name][0]
        error = max(before, error) if sign == "<=" else min(before, error)
    WORST[name] = (error, bound, sign)


@pytest.fixture
def rng():
    """A generator that gives every test the same numbers every time."""
    return np.random.default_rng(20250117)


@pytest.fixture
def witness():
    """Assert that actual is what a witness expects, and record the error for the table.

    witness(name, actual, expected, bound) holds the error, as relative_error measures it, to at
    most bound; with differs=True to at least bound. A recorded figure is an asserted one.
    """

    def heard(name, actual, expected, bound, differs=False):
        error = relative_error(actual, expected)
        sign = ">=" if differs else "<="
        worse(error, name, bound, sign)
        if differs:
            assert error >= bound, f"{name}: {error:.3g} off, should be at least {bound:.3g}"
        else:
            assert error <= bound, f"{name}: {error:.3g} off, bound {bound:.3g}"

    return heard


def pytest_terminal_summary(terminalreporter):
    """Print one table: every witness, the worst error it found, and its bound."""
    if not WORST:
        return
    terminalreporter.section("witnesses of the reference")
    width = max(len(name) for name in WORST)
    terminalreporter.write_line(f"{'witness':<{width}} | worst error | bound")
    terminalreporter.write_line(f"{'-' * width}-+-------------+-----------")
    for name, (error, bound, sign) in WORST.items():
        terminalreporter.write_line(f"{name:<{width}} | {error:11.1e} | {sign} {bound:.2g}")
