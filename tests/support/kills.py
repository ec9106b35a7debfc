"""Writers that never end, for a process that is killed at a random moment."""

from itertools import count, cycle

import numpy as np

from labelkin import MLkNNClassifier
from labelkin.datasets import write
from labelkin.experiments.run.protocol import Protocol
from labelkin.experiments.run.store import METRIC_COLUMNS, Store
from labelkin.persistence import save_model
from support.data import make_data

BATCH = 5


def write_models(path, ready):
    X, Y = make_data(30)
    models = [MLkNNClassifier(k).fit(X, Y) for k in (1, 3)]
    save_model(models[0], path)
    ready.set()
    for model in cycle(models):
        save_model(model, path)


def write_tables(path, ready):
    X, Y = make_data(500)
    write(path, X, Y)
    ready.set()
    for n in cycle([100, 500]):
        write(path, X[:n], Y[:n])


def write_results(path, ready):
    """Add batches of results after those that are there."""
    figures = dict.fromkeys(METRIC_COLUMNS, 0.5)
    figures |= {"fit_s": 1.0, "predict_s": 1.0, "status": "ok", "error": None}
    with Store(path, write=True) as store:
        store.begin(protocol=Protocol(), started="now", command="…", environment={})
        first = len(store.cells())
        for at in count(first, BATCH):
            places = [
                {"dataset": f"d{i}", "method": "m", "repeat": 0, "fold": 0}
                for i in np.arange(at, at + BATCH).tolist()
            ]
            store.add([{**place, **figures} for place in places])
            ready.set()
