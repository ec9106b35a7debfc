"""Fixtures of the tests of model files."""

import pytest

from labelkin import MLkNNClassifier
from labelkin.persistence import save_model
from support.data import make_data


@pytest.fixture
def saved(tmp_path):
    """Return the path of a small valid model."""
    X, Y = make_data(30)
    path = tmp_path / "model.skops"
    save_model(MLkNNClassifier(n_neighbors=3).fit(X, Y), path, label_names="abcd")
    return path
