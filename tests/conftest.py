"""What all tests share."""

from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def rng():
    """A generator that is the same in every run."""
    return np.random.default_rng(20_260)


@pytest.fixture
def root():
    """The repository."""
    return ROOT
