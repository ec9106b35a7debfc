import numpy as np
import pytest
from sklearn.base import clone

from labelkin.experiments.run.groups import GROUPS
from labelkin.experiments.run.peers import COMPARED, PEERS
from labelkin.metrics import average_precision
from labelkin.metrics._estimators import estimator_scores
from support.data import make_data


@pytest.mark.parametrize("name", PEERS)
def test_every_method_learns_and_repeats(name):
    X, Y = make_data(110, 5, 4)
    Y[:, 0] |= ~Y.any(axis=1)  # a row without labels would rank anything right
    train, test = np.arange(60), np.arange(60, 110)
    method = COMPARED[name]
    try:
        models = [clone(method.make(seed)).fit(X[train], Y[train]) for seed in (0, 0)]
    except ImportError as error:
        pytest.skip(str(error))
    scores = [estimator_scores(model, X[test], 4) for model in models]
    np.testing.assert_array_equal(*scores)
    assert average_precision(Y[test], scores[0]) > 0.75
    assert method.name == name
    assert method.title
    assert method.settings


def test_every_group_runs_known_methods():
    for group in GROUPS.values():
        assert {name.partition("@")[0] for name in group.methods} <= set(COMPARED)
    assert set(GROUPS["table3"].methods) < set(GROUPS["frontier"].methods)
