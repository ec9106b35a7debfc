"""ML-kNN with unknown labels: each label as if fitted to its known samples alone."""

import numpy as np
import pandas as pd
import pytest

from labelkin import IBLRClassifier, MLkNNClassifier
from labelkin.neighbors import _counts
from support.data import make_data


def hidden(share, n=150, q=5, seed=0):
    X, Y = make_data(n=n, q=q, seed=seed)
    y = Y.astype(float)
    y[np.random.default_rng(seed).random(y.shape) < share] = np.nan
    return X, y


@pytest.mark.parametrize("share", [0.3, 0.75, 0.9])
@pytest.mark.parametrize("often", [0.5, 1 / 32])  # 0.5: rare ones are searched for one by one
def test_each_label_is_learned_from_its_known_samples(share, often, monkeypatch):
    monkeypatch.setattr(_counts, "_OFTEN_KNOWN", often)
    X, y = hidden(share)
    model = MLkNNClassifier(n_neighbors=4).fit(X, y)
    proba, loo = model.predict_proba(X), MLkNNClassifier(4).fit_loo_proba(X, y)
    strict = MLkNNClassifier(4).fit_loo_proba(X, y, strict=True)
    for j in range(y.shape[1]):
        rows = np.flatnonzero(~np.isnan(y[:, j]))
        alone = MLkNNClassifier(4)
        alone_loo = alone.fit_loo_proba(X[rows], y[rows, j : j + 1])
        np.testing.assert_allclose(model.prior_[j], alone.prior_[0])
        np.testing.assert_allclose(proba[:, j], alone.predict_proba(X)[:, 0])
        np.testing.assert_allclose(loo[rows, j], alone_loo[:, 0])
        others = np.setdiff1d(np.arange(len(X)), rows)
        np.testing.assert_allclose(loo[others, j], alone.predict_proba(X[others])[:, 0])
        alone_strict = MLkNNClassifier(4).fit_loo_proba(X[rows], y[rows, j : j + 1], strict=True)
        np.testing.assert_allclose(strict[rows, j], alone_strict[:, 0])


def test_unknown_cells_of_any_kind():
    X, y = hidden(0.5)
    expected = MLkNNClassifier().fit(X, y).predict_proba(X)
    frame = pd.DataFrame(y, columns=list("abcde")).astype("Int8")
    model = MLkNNClassifier().fit(X, frame)
    np.testing.assert_array_equal(model.predict_proba(X), expected)
    assert model.label_names_.tolist() == list("abcde")
    objects = np.where(np.isnan(y), None, y)
    np.testing.assert_array_equal(MLkNNClassifier().fit(X, objects).predict_proba(X), expected)


def test_labels_and_samples_of_which_nothing_is_known():
    X, y = hidden(0.3)
    y[:, 2], y[7] = np.nan, np.nan
    for smoothing in (1.0, 0.0):
        model = MLkNNClassifier(smoothing=smoothing).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X)[:, 2], 0.5)
        assert not model.predict(X)[:, 2].any()
    kept = np.arange(len(X)) != 7
    same = MLkNNClassifier(smoothing=0.0).fit(X[kept], y[kept])
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))


def test_few_known_samples():
    X, y = hidden(0.0)
    y[3:, 0] = np.nan
    model = MLkNNClassifier(n_neighbors=10).fit(X, y)
    positives = int(np.nansum(y[:, 0]))
    np.testing.assert_allclose(model.prior_[0], (1 + positives) / 5)
    assert np.isfinite(model.predict_proba(X)).all()


def test_dask_rows_with_unknown_labels_are_brought_into_memory():
    dask = pytest.importorskip("dask.array")
    X, y = hidden(0.5)
    expected = MLkNNClassifier().fit(X, y).predict_proba(X)
    rows, labels = dask.from_array(X, chunks=(50, -1)), dask.from_array(y, chunks=(50, -1))
    for target in (labels, y):
        model = MLkNNClassifier().fit(rows, target)
        np.testing.assert_allclose(np.asarray(model.predict_proba(rows)), expected)


def test_iblr_refuses_in_one_sentence():
    X, y = hidden(0.5)
    with pytest.raises(
        ValueError, match="IBLRClassifier cannot learn from unknown labels: use Kin"
    ):
        IBLRClassifier().fit(X, y)
