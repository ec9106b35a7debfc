"""Views of the features."""

import numpy as np
from scipy import sparse

from labelkin.kin._plan import Limits
from labelkin.kin._views import (
    Words,
    as_floats,
    is_text,
    is_weighted,
    learn_views,
)
from labelkin.rows import as_rows


def learn(X, **limits):
    return learn_views(as_rows(X), Limits(**limits), 0)


def test_texts_are_recognised_by_their_zeros():
    sparse_rows = np.where(np.random.RandomState(0).rand(20, 9) < 0.2, 1.0, 0.0)
    assert is_text(as_rows(sparse_rows), Limits())
    assert is_text(as_rows(sparse.csr_matrix(sparse_rows)), Limits())
    assert not is_text(as_rows(-sparse_rows), Limits())
    beside = np.hstack([np.tile(sparse_rows, 6), np.random.RandomState(1).normal(size=(20, 1))])
    assert is_text(as_rows(beside), Limits())
    assert not is_text(as_rows(1 - sparse_rows), Limits())


def test_word_weights():
    X = np.array([[4.0, 0, 0, 1], [1, 2, 0, 1], [0, 0, 0, 1]])
    idf = np.log(4 / (np.array([2, 1, 0, 3]) + 1))
    view, raw = Words(np.sqrt(idf), 0.5), np.sqrt(X * idf)
    length = np.linalg.norm(raw, axis=1, keepdims=True)
    expected = raw / np.where(length > 0, length, 1)
    np.testing.assert_allclose(view(X), expected)
    np.testing.assert_allclose(view(sparse.csr_matrix(X)).toarray(), expected)
    assert np.isfinite(view(-X)).all()


def test_values_that_differ_by_rounding_have_one_rank():
    """As weights of a text do in ``fit`` and ``predict``, or new rows in single precision."""
    column = np.array([[0.1], [0.3], [0.3], [0.3], [0.7]])
    view = learn(column)["ranks"]
    for beside in (np.nextafter(column, 1), column.astype(np.float32).astype(float)):
        np.testing.assert_array_equal(view(beside), view(column))


def test_ranks_and_standard():
    X = np.array([[1.0, 5], [3, 5], [3, 5], [9, 5]])
    views = learn(X, sample_rows=10)
    view = views["ranks"]
    np.testing.assert_allclose(view(X)[:, 0], [0.125, 0.5, 0.5, 0.875])
    np.testing.assert_allclose(view(np.array([[-1e9, 0], [1e9, 9]])), [[0, 0], [1, 1]])
    np.testing.assert_allclose(view(X**3), learn(X, sample_rows=4)["ranks"](X**3))
    np.testing.assert_allclose(views["linear"](X)[:, 0], X[:, 0] / X[:, 0].std())


def test_rows_are_brought_to_double_precision():
    S = sparse.random(10, 8, 0.3, format="csr", random_state=0, dtype=np.float32)
    dense, kept = (as_floats(S, dense) for dense in (True, False))
    assert dense.dtype == kept.dtype == np.float64
    assert sparse.issparse(kept)
    np.testing.assert_array_equal(dense, S.toarray())


def test_weights_of_words_are_told_from_counts():
    counts = np.random.RandomState(0).poisson(0.3, size=(30, 20)).astype(float)
    assert not is_weighted(as_rows(counts))
    assert not is_weighted(as_rows(sparse.csr_matrix(counts)))
    rarity = np.log(31 / ((counts > 0).sum(axis=0) + 1))
    weights = Words(rarity, 1.0)(counts)
    assert is_weighted(as_rows(weights))
    np.testing.assert_allclose(learn(counts)["linear"](counts), weights)
    np.testing.assert_array_equal(learn(weights)["linear"](weights), weights)
    table = np.random.RandomState(0).normal(size=(9, 3))
    np.testing.assert_allclose(learn(table)["linear"](table), table / table.std(axis=0))


def test_topics_bring_words_together_that_occur_together():
    rng = np.random.RandomState(0)
    topic = rng.randint(0, 3, 200)
    words = (rng.rand(200, 60) < 0.02) | (
        (np.arange(60) % 3 == topic[:, None]) & (rng.rand(200, 60) < 0.2)
    )
    rows = sparse.csr_matrix(words.astype(float))
    views = learn(rows, topics=3)
    Z = views["topics"](rows)
    np.testing.assert_allclose(np.linalg.norm(Z, axis=1), 1, atol=1e-9)
    near = Z @ Z.T
    same = topic[:, None] == topic
    assert near[same].mean() > near[~same].mean() + 0.3
