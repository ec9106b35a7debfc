"""Fixtures of the tests of model files."""

import pytest

from labelkin import MLkNNClassifier
from labelkin.persistence import save_model
from support.data import make_data


@pytest.fixture(scope="session")
def content(tmp_path_factory):
    """Return the bytes of a small valid model file."""
    X, Y = make_data(30)
    path = tmp_path_factory.mktemp("model") / "model.labelkin"
    save_model(MLkNNClassifier(n_neighbors=3).fit(X, Y), path, label_names="abcd")
    return path.read_bytes()


@pytest.fixture
def saved(content, tmp_path):
    """Return the path of a small valid model."""
    path = tmp_path / "model.labelkin"
    path.write_bytes(content)
    return path
