"""Estimates of performance from training rows, where there is nothing to learn.

The labels of made-up rows are permuted: they are still correlated with each other, and have nothing
to do with the features. No estimate may be clearly better than the labels' frequencies are on new
rows. For the Kin ensemble see tests/kin.
"""

import numpy as np
import pytest

from labelkin import DecisionClassifier, KernelRidgeLOOClassifier, VPCMEClassifier
from labelkin.metrics import METRICS, average_precision
from support.members import weak_labels

N = 300


@pytest.fixture(scope="module")
def permuted():
    X, Y = weak_labels(5, n=1500, n_labels=60)
    return X, Y[np.random.RandomState(0).permutation(len(Y))]


def chance(Y):
    return average_precision(Y[N:], np.tile(Y[:N].mean(axis=0), (len(Y) - N, 1)))


def test_leave_one_out_probabilities_of_kernel_ridge(permuted):
    """Two parameters per label are those of all rows, which flatters by a point at most."""
    X, Y = permuted
    model = KernelRidgeLOOClassifier(random_state=0).fit(X[:N], Y[:N])
    assert average_precision(Y[:N], model.loo_proba_) < chance(Y) + 0.02
    assert average_precision(Y[N:], model.predict_proba(X[N:])) > chance(Y) - 0.02


def test_out_of_bag_probabilities_of_vpcme(permuted):
    X, Y = permuted
    model = VPCMEClassifier(n_estimators=20, bag=0.55, calibrate=True, random_state=0).fit(
        X[:N], Y[:N]
    )
    assert model.oob_score_ < chance(Y) + 0.02
    assert average_precision(Y[:N], model.oob_proba_) < chance(Y) + 0.02
    assert average_precision(Y[N:], model.predict_proba(X[N:])) > chance(Y) - 0.03


def test_cuts_that_were_chosen_out_of_sample(permuted):
    """The F1 score of the chosen cuts on training rows is about that on new rows."""
    X, Y = permuted
    base = KernelRidgeLOOClassifier(random_state=0)
    model = DecisionClassifier(base, "f1").fit(X[:N], Y[:N])
    scores = KernelRidgeLOOClassifier(random_state=0).fit(X[:N], Y[:N]).loo_proba_
    estimate = METRICS["f1"](Y[:N], model.decision_.apply(scores))
    assert abs(estimate - METRICS["f1"](Y[N:], model.predict(X[N:]))) < 0.03
