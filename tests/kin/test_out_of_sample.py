"""The ensemble's estimate of its own performance, where nothing or little can be learned."""

import numpy as np

from labelkin import KinEnsembleClassifier
from labelkin.metrics import average_precision
from support.members import weak_labels


def frequency_score(Y, T):
    """Average precision on T of the labels' frequencies in Y."""
    return average_precision(T, np.tile(Y.mean(axis=0), (len(T), 1)))


def test_weak_features_and_many_labels():
    """Leave-one-out scores gave an estimate of 0.8, and lost a point of average precision."""
    X, Y = weak_labels(0)
    model = KinEnsembleClassifier(4, 60, random_state=0, n_jobs=2).fit(X[:400], Y[:400])
    new = average_precision(Y[400:], model.predict_proba(X[400:]))
    assert abs(model.oob_score_ - new) < 0.025  # ten draws, in the benchmark: 0.015 on average
    assert max(model.member_scores_.values()) < new + 0.025
    assert new > frequency_score(Y[:400], Y[400:])


def test_labels_that_have_nothing_to_do_with_the_features():
    X, Y = weak_labels(3, n=1000, n_labels=60)
    Y = Y[np.random.RandomState(0).permutation(len(Y))]  # still correlated with each other
    train, test = slice(0, 200), slice(200, None)
    model = KinEnsembleClassifier(4, 60, random_state=0, n_jobs=2).fit(X[train], Y[train])
    chance = frequency_score(Y[train], Y[test])
    new = average_precision(Y[test], model.predict_proba(X[test]))
    assert new > chance - 0.02
    assert model.oob_score_ < chance + 0.03
    assert max(model.member_scores_.values()) < chance + 0.04
