"""How far figures move with the number of BLAS threads: docs/readings.md states the bounds."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from labelkin.experiments.run.protocol import Cell, Protocol
from labelkin.experiments.run.sources import find_source
from labelkin.metrics import average_precision
from labelkin.registry import METHODS
from support.data import DATA, needs_data


@needs_data
def test_average_precision_on_medical_by_blas_threads(monkeypatch):
    monkeypatch.setenv("LABELKIN_DATA", str(DATA))
    data = find_source("medical").load()
    figures = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            for fold, test in enumerate(Protocol().test_rows("medical", 0, data.Y)):
                train = np.delete(np.arange(len(data.Y)), test)
                model = METHODS["vpcme"].make(Cell("medical", "vpcme", 0, fold).seed)
                model.fit(data.X[train], data.Y[train])
                figures.append(average_precision(data.Y[test], model.predict_proba(data.X[test])))
    one, two = np.reshape(figures, (2, -1))
    assert one == pytest.approx(two, abs=0.005)
    assert one.mean() == pytest.approx(two.mean(), abs=0.001)
