"""What several test modules share."""

import os
from pathlib import Path

import numpy as np
import pytest

_SHARED = Path(__file__).resolve().parents[2] / "shared"
DATA = Path(os.environ.get("LABELKIN_DATA", _SHARED / "datasets"))
REFERENCE = _SHARED / "reference" / "mulan.json"


def make_data(n=60, k=5, q=4, seed=0):
    """Small multi-label data in which the labels depend on the features."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, k))
    Y = (X @ rng.standard_normal((k, q)) + 0.3 * rng.standard_normal((n, q)) > 0).astype(int)
    return X, Y


@pytest.fixture
def data():
    return make_data()


@pytest.fixture(scope="session")
def paper_data():
    """Return a loader of the paper's datasets: name -> X, Y, folds (test rows)."""
    if not (DATA / "yeast.npz").exists():
        pytest.skip("the paper's datasets are not here (set LABELKIN_DATA)")
    from scipy import sparse

    def load(name):
        with np.load(DATA / f"{name}.npz", allow_pickle=False) as z:
            parts = (z["X_data"], z["X_indices"], z["X_indptr"])
            X = sparse.csr_matrix(parts, shape=tuple(z["X_shape"]))
            Y, split = z["Y"], z["split"]
        if X.nnz > 0.5 * X.shape[0] * X.shape[1]:
            X = X.toarray()
        if "label_names" not in z:  # the Yahoo sets: the paper's 2000 documents
            X, Y = X[split == 0], Y[split == 0]
        folds = np.array_split(np.random.default_rng(0).permutation(len(Y)), 5)
        return X, Y, folds

    return load


@pytest.fixture(scope="session")
def mulan():
    """Return Mulan's figures: dataset -> learner -> metric -> five folds."""
    if not REFERENCE.exists():
        pytest.skip("Mulan's reference figures are not here")
    import json

    return json.loads(REFERENCE.read_text())
