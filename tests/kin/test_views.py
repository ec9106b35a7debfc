"""Views of the features."""

import numpy as np
from scipy import sparse
from sklearn.datasets import make_multilabel_classification

from labelkin.kin._limits import Limits
from labelkin.kin._views import (
    Ranks,
    Standard,
    Words,
    as_float_rows,
    is_text,
    is_weighted,
    learn_views,
    word_view,
)


def test_texts_are_recognised_by_their_zeros():
    X, _ = make_multilabel_classification(
        120, n_features=60, n_classes=5, length=12, random_state=0
    )
    X[X < 1] = 0
    assert is_text(X) == (np.mean(X == 0) > 0.5)
    sparse_rows = np.where(np.random.RandomState(0).rand(20, 9) < 0.2, 1.0, 0.0)
    assert is_text(sparse_rows)
    assert is_text(sparse.csr_matrix(sparse_rows))
    assert not is_text(-sparse_rows)
    beside = np.hstack([np.tile(sparse_rows, 6), np.random.RandomState(1).normal(size=(20, 1))])
    assert is_text(beside)
    assert not is_text(1 - sparse_rows)


def test_word_weights():
    X = np.array([[4.0, 0, 0, 1], [1, 2, 0, 1], [0, 0, 0, 1]])
    view = Words(X, 0.5)
    idf = np.log(4 / (np.array([2, 1, 0, 3]) + 1))
    raw = np.sqrt(X * idf)
    length = np.linalg.norm(raw, axis=1, keepdims=True)
    expected = raw / np.where(length > 0, length, 1)
    np.testing.assert_allclose(view(X), expected)
    np.testing.assert_allclose(view(sparse.csr_matrix(X)).toarray(), expected)
    assert np.isfinite(view(-X)).all()


def test_ranks_and_standard():
    X = np.array([[1.0, 5], [3, 5], [3, 5], [9, 5]])
    view = Ranks(X, 10)
    np.testing.assert_allclose(view(X)[:, 0], [0.125, 0.5, 0.5, 0.875])
    np.testing.assert_allclose(view(np.array([[-1e9, 0], [1e9, 9]])), [[0, 0], [1, 1]])
    np.testing.assert_allclose(view(X**3), Ranks(X, 4)(X**3))
    np.testing.assert_allclose(Standard(X)(X)[:, 0], X[:, 0] / X[:, 0].std())


def test_views_of_unit_rows_need_no_unit_view():
    X = np.random.RandomState(0).standard_normal((20, 3))
    assert "unit" in learn_views(X)
    assert "unit" not in learn_views(X / np.linalg.norm(X, axis=1, keepdims=True))


def test_a_reduced_view_keeps_distances_where_possible():
    X = np.random.RandomState(0).standard_normal((20, 50))
    views = learn_views(X, seed=0)
    Z, last = views["reduced"](X), views["ranks"](X)
    assert Z.shape[1] <= 20
    np.testing.assert_allclose(Z @ Z.T, last @ last.T, rtol=1e-3)  # in half precision
    assert "reduced" not in learn_views(X, projected=False)
    assert "reduced" not in learn_views(X.T, seed=0)


def test_rows_are_brought_to_double_precision():
    S = sparse.random(10, 8, 0.3, format="csr", random_state=0, dtype=np.float32)
    assert as_float_rows(S, dense=True).dtype == np.float64
    assert sparse.issparse(as_float_rows(S, dense=False))
    np.testing.assert_array_equal(as_float_rows(S, dense=True), S.toarray())


def test_weights_of_words_are_told_from_counts():
    counts = np.random.RandomState(0).poisson(0.3, size=(30, 20)).astype(float)
    assert not is_weighted(counts)
    assert not is_weighted(sparse.csr_matrix(counts))
    views = learn_views(counts)
    assert word_view(views, is_weighted(counts)) == "idf"
    weights = Words(counts, 1.0)(counts)
    assert is_weighted(weights)
    assert word_view(learn_views(weights), True) == "raw"
    assert word_view(learn_views(np.random.RandomState(0).normal(size=(9, 3))), True) == "standard"


def test_topics_bring_words_together_that_occur_together():
    rng = np.random.RandomState(0)
    topic = rng.randint(0, 3, 200)
    words = (rng.rand(200, 60) < 0.02) | (
        (np.arange(60) % 3 == topic[:, None]) & (rng.rand(200, 60) < 0.2)
    )
    rows = sparse.csr_matrix(words.astype(float))
    views = learn_views(rows, limits=Limits(topics=3))
    Z = views["topics"](rows)
    np.testing.assert_allclose(np.linalg.norm(Z, axis=1), 1, atol=1e-9)
    near = Z @ Z.T
    same = topic[:, None] == topic
    assert near[same].mean() > near[~same].mean() + 0.3
    assert "topics" not in learn_views(rows)
