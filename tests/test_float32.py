"""Single precision stays single: no large array of doubles is made of float32 samples."""

import numpy as np
import pytest

from labelkin import MLkNNClassifier, VPCMEClassifier
from labelkin.neighbors._exact import ExactSearch
from labelkin.projection._pairwise import TrainingRows
from support.resources import peak_memory

N, K = 20_000, 150


@pytest.fixture
def quick_search(monkeypatch):
    """Leave the search out, whose blocks of distances have a bounded size."""

    def query(self, Q=None, n_jobs=None):
        n = len(self.X)
        rows = n if Q is None else Q.shape[0]
        return np.random.RandomState(0).randint(0, n, (rows, self.n_neighbors))

    monkeypatch.setattr(ExactSearch, "query", query)


def samples(dtype):
    rng = np.random.RandomState(0)
    X = (rng.standard_normal((N, K)) + 3).astype(dtype)  # away from zero: rows are moved
    return X, (X[:, :5] > 3).astype(np.uint8)


def peak_over_samples(function, X, *args):
    """Return the peak of new memory, in sizes of X."""
    return peak_memory(function, X, *args) / X.nbytes


def scatter(X, Y):
    pairs = np.random.RandomState(0).randint(0, N, (2, N, 2))
    training = TrainingRows(X)
    for kind in pairs:
        training.scatter(kind)


STEPS = {
    "scatter": scatter,
    "project": lambda X, Y: TrainingRows(X).project(np.ones((K, K), dtype=X.dtype)),
    "ML-kNN": lambda X, Y: MLkNNClassifier(n_jobs=1).fit(X, Y),
    "VPCME": lambda X, Y: VPCMEClassifier(n_estimators=2, n_jobs=1, random_state=0).fit(X, Y),
}


@pytest.mark.parametrize("step", list(STEPS))
def test_float32_takes_half_the_memory_of_float64(step, quick_search):
    single, double = (
        peak_over_samples(STEPS[step], *samples(dtype)) for dtype in (np.float32, np.float64)
    )
    # A copy in doubles would add 2 sizes of X. (Indices and pairs weigh twice as much.)
    assert single < double + 0.6


def test_what_is_fitted_is_float32():
    X, Y = samples(np.float32)
    model = VPCMEClassifier(n_estimators=2, random_state=0).fit(X[:500], Y[:500])
    for member, projection in zip(model.estimators_, model.projections_, strict=True):
        assert projection.components_.dtype == np.float32
        assert member._counts.search.X.dtype == np.float32
        assert member._counts.search.squared_norms.dtype == np.float32
        assert member._posterior.dtype == member.prior_.dtype == np.float32
    assert model.predict_proba(X[:9]).dtype == np.float32
