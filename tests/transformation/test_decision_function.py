"""Bases without probabilities are ranked by their decision function."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, LinearSVC

from labelkin import (
    BinaryRelevanceClassifier,
    ChainClassifier,
    LabelPowersetClassifier,
    RAkELClassifier,
    VPCMEClassifier,
)
from labelkin.metrics._estimators import squash
from support.data import make_data

X, Y = make_data(200, 8, 4, seed=1)
TRAIN, TEST = slice(0, 120), slice(120, 200)


def test_binary_relevance_ranks_as_one_vs_rest():
    ours = BinaryRelevanceClassifier(LinearSVC()).fit(X[TRAIN], Y[TRAIN])
    theirs = OneVsRestClassifier(LinearSVC()).fit(X[TRAIN], Y[TRAIN])
    proba, decision = ours.predict_proba(X[TEST]), theirs.decision_function(X[TEST])
    for score in (roc_auc_score, average_precision_score):
        assert score(Y[TEST], proba) == pytest.approx(score(Y[TEST], decision), abs=1e-12)
    np.testing.assert_array_equal(ours.predict(X[TEST]), theirs.predict(X[TEST]))
    np.testing.assert_array_equal(ours.predict(X[TEST]), proba > 0.5)


def test_squash_keeps_the_order_of_large_values_and_the_side_of_small_ones():
    decision = np.array([-1e6, -500.0, -40.0, -1.0, -1e-20, 0.0, 1e-20, 1.0, 40.0, 500.0, 1e6])
    proba = squash(decision)
    assert (np.diff(proba[[0, 1, 2, 3, 5, 7, 8, 9, 10]]) > 0).all()
    np.testing.assert_array_equal(proba > 0.5, decision > 0)
    assert proba.min() > 0
    assert proba.max() < 1


@pytest.mark.parametrize("base", [LinearSVC(), RidgeClassifier(), SVC()])
def test_label_sets_are_those_that_the_base_predicts(base):
    model = LabelPowersetClassifier(base).fit(X[TRAIN], Y[TRAIN])
    expected = model.label_sets_[model.estimator_.predict(X[TEST])]
    np.testing.assert_array_equal(model.predict(X[TEST]), expected)
    assert len(np.unique(model.predict_proba(X[TEST]))) > 50


@pytest.mark.parametrize(
    "model",
    [
        ChainClassifier(LinearSVC()),
        RAkELClassifier(LinearSVC(), labelset_size=2, overlapping=False, random_state=0),
        VPCMEClassifier(OneVsRestClassifier(LinearSVC()), 5, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_meta_estimators_rank_better_than_by_labels(model):
    model.fit(X[TRAIN], Y[TRAIN])
    by_proba = roc_auc_score(Y[TEST], model.predict_proba(X[TEST]))
    by_labels = roc_auc_score(Y[TEST], model.predict(X[TEST]))
    assert by_proba > by_labels
