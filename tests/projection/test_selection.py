"""Shares of features, the selector, and random subsets."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from labelkin import BaggingVPCPClassifier, MLkNNClassifier, PairwiseConstraintProjection
from labelkin.projection import SelectByConstraints, feature_importances
from labelkin.projection._pairwise import TrainingRows
from labelkin.projection._selection import feature_shares
from support.data import make_data


def informative(n=200, k=8, seed=0):
    """Features 1 and 4 make the labels; 6 is a copy of 4 but for noise."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, k))
    X[:, 6] = X[:, 4] + 0.05 * rng.standard_normal(n)
    return X, np.column_stack([X[:, 1] > 0, X[:, 4] > 0.5]).astype(int)


# ---------------------------------------------------------------------------------- shares


def test_shares_are_the_diagonal_of_the_positive_part():
    X, Y = make_data(80, 6)
    projection = PairwiseConstraintProjection(random_state=0).fit(X, Y)
    pairs = projection.must_link_, projection.cannot_link_
    S_M, S_C = map(TrainingRows(X).scatter, pairs)
    values, vectors = np.linalg.eigh(S_C - projection.scaling_ * S_M)
    positive = vectors @ np.diag(np.maximum(values, 0)) @ vectors.T
    expected = np.diag(positive) / np.trace(positive)
    np.testing.assert_allclose(feature_shares(projection), expected, atol=1e-10)


def test_more_features_than_samples_change_nothing_but_the_way():
    X, Y = make_data(30, 6)
    wide = np.hstack([X, np.zeros((30, 40))])  # learned in the row space
    shares = feature_shares(PairwiseConstraintProjection(random_state=0).fit(wide, Y))
    plain = feature_shares(PairwiseConstraintProjection(random_state=0).fit(X, Y))
    np.testing.assert_allclose(shares[:6], plain, atol=1e-10)
    np.testing.assert_allclose(shares[6:], 0, atol=1e-12)


def test_importances_of_an_ensemble_are_the_mean_over_its_members():
    X, Y = informative()
    model = BaggingVPCPClassifier(n_estimators=4, random_state=0).fit(X, Y)
    importances = feature_importances(model)
    expected = sum(feature_shares(p) for p in model.projections_) / 4
    np.testing.assert_allclose(importances, expected)
    assert importances.sum() == pytest.approx(1)
    assert set(np.argsort(importances)[-3:]) == {1, 4, 6}


@pytest.mark.filterwarnings("ignore:No two samples are a cannot-link:UserWarning")
def test_without_cannot_links_all_features_are_equal():
    X, _ = make_data(20, 4)
    selector = SelectByConstraints(2).fit(X, np.ones((20, 2), dtype=int))
    np.testing.assert_allclose(selector.scores_, 0.25)
    assert selector.transform(X).shape == (20, 2)


# -------------------------------------------------------------------------------- selector


@parametrize_with_checks([SelectByConstraints()])
@pytest.mark.filterwarnings("ignore:No two samples are a (cannot|must)-link:UserWarning")
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_it_finds_the_features_that_make_the_labels():
    X, Y = informative()
    selector = SelectByConstraints(3, random_state=0).fit(X, Y)
    assert selector.get_support(indices=True).tolist() == [1, 4, 6]
    assert sorted(selector.ranking_) == list(range(1, 9))
    assert (np.argsort(selector.ranking_) == np.argsort(-selector.scores_)).all()
    assert selector.scores_.sum() == pytest.approx(1)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_standardised_shares_do_not_depend_on_units(factor):
    X, Y = make_data(100, 5)
    units = X * np.array([factor, 1, 1, 1, 1])
    scores = [SelectByConstraints(scale=1, random_state=0).fit(A, Y).scores_ for A in (X, units)]
    np.testing.assert_allclose(*scores, rtol=1e-6)
    as_given = SelectByConstraints(scale=0, random_state=0).fit(units, Y).scores_
    assert np.abs(as_given - scores[0]).max() > 0.02


def test_sparse_equals_dense_and_frames_keep_their_names():
    pd = pytest.importorskip("pandas")
    X, Y = informative()
    X = np.rint(X)
    dense = SelectByConstraints(3, random_state=0).fit(X, Y)
    sparse_model = SelectByConstraints(3, random_state=0).fit(
        sparse.csr_array(X), sparse.csr_array(Y)
    )
    np.testing.assert_allclose(sparse_model.scores_, dense.scores_, atol=1e-10)
    kept = sparse_model.transform(sparse.csr_array(X))
    assert sparse.issparse(kept)
    np.testing.assert_array_equal(kept.toarray(), dense.transform(X))
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    framed = SelectByConstraints(3, random_state=0).set_output(transform="pandas")
    columns = framed.fit_transform(frame, Y).columns
    assert list(columns) == [
        c for c, kept in zip("abcdefgh", dense.get_support(), strict=True) if kept
    ]
    assert list(framed.get_feature_names_out()) == list(columns)
    np.testing.assert_array_equal(
        dense.inverse_transform(dense.transform(X)) != 0, X * dense.get_support() != 0
    )


@pytest.mark.parametrize(
    ("size", "count"), [(None, 4), (3, 3), (100, 8), (0.25, 2), (1.0, 8), (0.01, 1)]
)
def test_how_many_are_kept(size, count):
    X, Y = informative()
    assert SelectByConstraints(size, random_state=0).fit(X, Y).get_support().sum() == count


def test_in_a_pipeline():
    X, Y = informative()
    model = make_pipeline(SelectByConstraints(3, random_state=0), MLkNNClassifier())
    assert model.fit(X[:150], Y[:150]).predict(X[150:]).shape == (50, 2)


def test_bad_input():
    X, Y = informative()
    with pytest.raises(ValueError, match="requires y"):
        SelectByConstraints().fit(X, None)
    with pytest.raises(ValueError, match="must hold only 0 and 1"):
        SelectByConstraints().fit(X, Y + 1)
    with pytest.raises(ValueError, match="n_features_to_select"):
        SelectByConstraints(0).fit(X, Y)


# --------------------------------------------------------------------------------- subsets
