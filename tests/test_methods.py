import numpy as np
import pytest
from conftest import make_data
from sklearn.base import clone

from labelkin.experiments.methods import METHODS
from labelkin.metrics import average_precision


@pytest.mark.parametrize("name", METHODS)
def test_every_method_learns_and_repeats(name):
    X, Y = make_data(150, 5, 4)
    Y[:, 0] |= ~Y.any(axis=1)  # a row without labels would rank anything right
    train, test = np.arange(100), np.arange(100, 150)
    method = METHODS[name]
    scores = [
        clone(method.make(seed)).fit(X[train], Y[train]).predict_proba(X[test]) for seed in (0, 0)
    ]
    np.testing.assert_array_equal(*scores)
    assert average_precision(Y[test], scores[0]) > 0.75
    assert method.name == name
    assert method.title
    assert method.settings
    assert method.reference


def test_the_papers_methods_are_all_here():
    table3 = ["rakel", "iblr", "clr", "cchains", "mlknn", "vpcme"]
    figure2 = ["adaboost_pdt", "bagging_vpcp", "mddm", "vpcme"]
    assert set(table3) | set(figure2) <= set(METHODS)
    assert [name for name in METHODS if name in table3] == table3


def test_the_papers_settings():
    assert METHODS["vpcme"].make(0).get_params()["n_estimators"] == 30
    assert METHODS["vpcme"].make(0).get_params()["threshold"] == 0.6
    assert METHODS["mddm"].make(0).get_params()["mddm__n_components"] == 0.99
    assert METHODS["rakel_k3"].make(0).get_params()["labelset_size"] == 3
