"""The methods of the comparison beyond the paper."""

import sys

import numpy as np
import pytest
from scipy import sparse

from labelkin.experiments.run import jobs
from labelkin.experiments.run.groups import GROUPS
from labelkin.experiments.run.peers import (
    COMPARED,
    PEERS,
    TunedChainsClassifier,
)
from labelkin.experiments.run.plan import Cell
from labelkin.experiments.run.sources import Dataset
from support.data import make_data

NAMES = GROUPS["frontier"].methods

# Numbers of members, of projections, of trees, and of rounds of histogram boosting.
SIZES = {"n_estimators", "n_projections", "n_trees"}
SIZES |= {"binaryrelevanceclassifier__estimator__max_iter"}


def fast(name):
    """Return a method with three members, trees or rounds of boosting, if it has any."""
    method = COMPARED[name]

    def make(seed):
        try:
            model = method.make(seed)
        except ImportError as error:
            pytest.skip(str(error))
        return model.set_params(**dict.fromkeys(SIZES & model.get_params().keys(), 3))

    return type(method)(name, method.title, make, method.settings)


def predictions(method, X, Y, test, monkeypatch):
    """Run one cell; return the scores and labels that were measured in it."""
    seen = []

    def measure(y_true, scores, labels, **options):
        seen.append((np.array(scores), np.array(labels)))
        return evaluate(y_true, scores, labels, **options)

    evaluate = jobs.evaluate
    with monkeypatch.context() as patch:
        patch.setattr(jobs, "evaluate", measure)
        cell = Cell("d", method.name, 0, 0)
        row = jobs.execute(jobs.Job(cell, method, Dataset("d", X, Y), test))
    assert row["status"] == "ok", row["error"]
    return seen[0]


@pytest.mark.parametrize("name", NAMES)
def test_labels_of_test_rows_reach_no_prediction(name, monkeypatch):
    X, Y = make_data(70, 6, 4)
    rng = np.random.RandomState(0)
    test = np.sort(rng.permutation(70)[:20])
    shuffled = Y.copy()
    shuffled[test] = 1 - Y[test][rng.permutation(20)]
    method = fast(name)
    scores, labels = predictions(method, X, Y, test, monkeypatch)
    other_scores, other_labels = predictions(method, X, shuffled, test, monkeypatch)
    np.testing.assert_array_equal(scores, other_scores)
    np.testing.assert_array_equal(labels, other_labels)
    assert scores.shape == labels.shape == (20, 4)


@pytest.mark.parametrize("name", PEERS)
def test_constant_labels_and_sparse_rows_are_taken(name, monkeypatch):
    X, Y = make_data(70, 6, 4)
    test = np.arange(50, 70)
    X = sparse.csr_matrix(np.where(X > 0, X, 0))
    Y[:, 1], Y[:50, 2], Y[1:50, 3] = 0, 1, 0  # never, always in training, once in training
    Y[0, 3] = 1
    scores, labels = predictions(fast(name), X, Y, test, monkeypatch)
    assert np.isfinite(scores).all()
    assert scores.min() >= 0
    assert scores.max() <= 1
    assert not labels[:, 1].any()
    assert labels[:, 2].all()


@pytest.mark.parametrize(("name", "package"), [("lgbm", "lightgbm"), ("boomer", "mlrl")])
def test_a_missing_package_is_told_in_one_sentence(name, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"{package} is needed .*labelkin\[compare\]"):
        COMPARED[name].make(0)


def test_settings_are_chosen_on_training_rows_that_were_left_out():
    """Noise rewards no flexible fit: on held-out rows the small C must win."""
    rng = np.random.RandomState(0)
    X = rng.standard_normal((150, 40))
    Y = (X[:, :3] + 2 * rng.standard_normal((150, 3)) > 0).astype(int)
    Y[:, 0] |= ~Y.any(axis=1)
    assert TunedChainsClassifier(2, random_state=0).fit(X, Y).C_ == 0.1


def test_chains_average_several_orders():
    X, Y = make_data(80, 5, 4)
    model = TunedChainsClassifier(random_state=0).fit(X, Y)
    assert len({tuple(order) for order in model.chains_.orders_}) > 1
    assert len(model.chains_.orders_) == 10
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X) >= 0.5)
