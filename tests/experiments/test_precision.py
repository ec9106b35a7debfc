"""How far a figure moves with the number of BLAS threads: docs/readings.md states the bounds."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from labelkin.experiments.run.protocol import Cell, Protocol
from labelkin.experiments.run.sources import find_source
from labelkin.metrics import average_precision
from labelkin.registry import METHODS
from support.data import DATA, needs_data

FOLD = 1  # of the first repeat: rounding moves it most


@needs_data
def test_average_precision_on_medical_by_blas_threads(monkeypatch):
    monkeypatch.setenv("LABELKIN_DATA", str(DATA))
    data = find_source("medical").load()
    test = Protocol().test_rows("medical", 0, data.Y)[FOLD]
    train = np.delete(np.arange(len(data.Y)), test)
    figures = []
    for threads in (1, 2):
        model = METHODS["vpcme"].make(Cell("medical", "vpcme", 0, FOLD).seed)
        model.set_params(n_estimators=4)  # the mean of more members moves less
        with threadpool_limits(threads):
            model.fit(data.X[train], data.Y[train])
            figures.append(average_precision(data.Y[test], model.predict_proba(data.X[test])))
    assert figures[0] == pytest.approx(figures[1], abs=0.005)
