"""How far a figure moves with rounding: docs/readings.md states the bounds.

BLAS with another number of threads sums in another order. So it does for another order of the
features, without threads that would wait for each other on a busy machine.
"""

import numpy as np
import pytest

from labelkin.experiments.run.plan import Cell, Protocol
from labelkin.experiments.run.sources import find_source
from labelkin.methods import METHODS
from labelkin.metrics import average_precision
from support.data import DATA, needs_data

FOLD = 1  # of the first repeat: rounding moves it most


@needs_data
def test_average_precision_on_medical_by_the_order_of_features(monkeypatch):
    monkeypatch.setenv("LABELKIN_DATA", str(DATA))
    data = find_source("medical").load()
    test = Protocol().test_rows("medical", 0, len(data.Y))[FOLD]
    train = np.delete(np.arange(len(data.Y)), test)
    n_features = data.X.shape[1]
    figures = []
    for order in (np.arange(n_features), np.random.default_rng(0).permutation(n_features)):
        X = data.X[:, order]
        model = METHODS["vpcme"].make(Cell("medical", "vpcme", 0, FOLD).seed)
        model.set_params(n_estimators=4)  # the mean of more members moves less
        model.fit(X[train], data.Y[train])
        figures.append(average_precision(data.Y[test], model.predict_proba(X[test])))
    assert figures[0] == pytest.approx(figures[1], abs=0.005)
