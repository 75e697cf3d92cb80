"""The published calculation as learners load it."""

import numpy as np
import pytest

from byhand.published import FILE, published_calculation


def test_arrays_come_back_by_name(tmp_path):
    """Parameters and gradients stand in two dicts under the names of their blocks."""
    arrays = {"tokens": np.array([1, 3]), "dattended": np.ones((2, 3)), "loss": np.array(7.5)}
    blocks = {"parameter W_o": np.eye(2), "gradient W_o": 3 * np.eye(2), "gradient b1": np.ones(4)}
    np.savez(tmp_path / FILE, **arrays, **blocks)
    book = published_calculation(tmp_path)
    assert book.tokens.tolist() == [1, 3] and book.dattended.shape == (2, 3)
    assert type(book.loss) is float and book.loss == 7.5
    assert list(book.params) == ["W_o"] and list(book.gradients) == ["W_o", "b1"]
    assert (book.gradients["W_o"] == 3 * np.eye(2)).all()


def test_an_edition_without_them_says_so(tmp_path):
    """One sentence says which file is missing and what to do."""
    with pytest.raises(FileNotFoundError, match=r"^this edition lacks published-calculation\.npz"):
        published_calculation(tmp_path)
