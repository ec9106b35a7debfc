"""Logistic regression as a member: leave-fold-out log odds."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

from labelkin.linear._learner import LabelFitter, LogisticLearner
from labelkin.metrics import average_precision
from labelkin.rows import Labels, array_api_dispatch, as_rows
from support.arrays import import_library
from support.data import make_data


def test_log_odds_of_a_group_are_those_of_a_fit_without_it():
    X, Y = make_data(120, 5, 3)
    fold_of = np.arange(120) % 10
    scores = LogisticLearner(n_groups=5).fit_scores(as_rows(X), Labels(Y), 0, fold_of)
    group = fold_of % 5 == 3
    changed = Y.copy()
    changed[group] = 1 - changed[group]
    # One C for all groups depends a little on all labels.
    learner = LogisticLearner(n_groups=5)
    again = learner.fit_scores(as_rows(X), Labels(changed), 0, fold_of)
    same_order = [np.corrcoef(scores[group, j], again[group, j])[0, 1] for j in range(3)]
    assert min(same_order) > 0.9
    assert np.isfinite(scores).all()


def test_of_many_rows_few_are_left_out(monkeypatch):
    monkeypatch.setattr(LabelFitter, "choose_C", lambda self, fold: np.ones(3))
    X, Y = make_data(400, 5, 3)
    fold_of = np.full(400, -1)
    fold_of[:20] = np.arange(20) % 10
    group = np.arange(0, 20, 2)  # of two: the even folds
    changed = Y.copy()
    changed[group] = 1 - changed[group]
    before, after = (
        LogisticLearner(n_groups=5).fit_scores(as_rows(X), Labels(one), 0, fold_of)
        for one in (Y, changed)
    )
    np.testing.assert_allclose(before[group], after[group], rtol=1e-12)
    assert (np.abs(before - after)[1::2] > 0.01).all()


def test_it_learns_sparse_rows_and_keeps_half_precision():
    X, Y = make_data(300, 6, 3)
    rows = sparse.csr_matrix(np.where(np.abs(X) > 0.3, X, 0))
    learner = LogisticLearner()
    learner.fit_scores(as_rows(rows[:200]), Labels(Y[:200]), 0, np.arange(200) % 10)
    assert learner.coef_.dtype == np.float16
    assert average_precision(Y[200:], expit(learner.scores(rows[200:]))) > 0.8
    assert learner.C_ > 0


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("scale", [2.0**-20, 2.0**30])
def test_half_precision_suffices_for_any_scale_of_the_rows(scale, form):
    X, Y = make_data(120, 6, 3)
    found = []
    for rows in (form(X), form(scale * X)):
        learner = LogisticLearner()
        learner.fit_scores(as_rows(rows), Labels(Y), 0, np.arange(120) % 10)
        found.append(learner.scores(rows))
    np.testing.assert_allclose(*found, rtol=1e-12)


def test_one_row():
    learner = LogisticLearner()
    scores = learner.fit_scores(
        as_rows(np.ones((1, 2))), Labels(np.ones((1, 3))), 0, np.zeros(1, dtype=int)
    )
    assert scores.shape == (1, 3)
    assert np.isfinite(learner.scores(np.ones((2, 2)))).all()


def test_sparse_rows_are_in_single_precision():
    X, Y = make_data(100, 6, 3)
    rows = sparse.csr_matrix(np.where(np.abs(X) > 0.3, X, 0))
    scores, _ = _fitted(rows, Y)
    # The log odds of a group left out are those of weights in single precision.
    assert (scores == scores.astype(np.float32)).all()


def test_rows_on_a_device_are_fitted_as_on_the_host():
    strict = import_library()
    X, Y = make_data(60, 4, 3)
    expected, coef = _fitted(X, Y)
    with array_api_dispatch():
        scores, there = _fitted(as_rows(strict.asarray(X)), Y)
    assert isinstance(scores, np.ndarray)
    np.testing.assert_allclose(scores, expected, rtol=1e-6)
    np.testing.assert_allclose(there, coef, rtol=1e-3)


def _fitted(rows, Y):
    """Return leave-fold-out log odds and the weights."""
    learner = LogisticLearner()
    scores = learner.fit_scores(as_rows(rows), Labels(Y), 0, np.arange(len(Y)) % 10)
    return scores, learner.coef_.astype(np.float64)
