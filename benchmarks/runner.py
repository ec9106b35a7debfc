"""Overhead of the runner: cells per second with a method that costs nothing, on one core.

    python benchmarks/runner.py [--cells 1000] [--rows 100] [--labels 5]

Everything but the method is real: the folds, the seven metrics, a durable transaction per
cell, the running means.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from _common import machine, seconds

from labelkin.experiments.run.jobs import execute, make_jobs
from labelkin.experiments.run.plan import Plan, Protocol
from labelkin.experiments.run.runner import run
from labelkin.experiments.run.sources import Dataset, Source
from labelkin.experiments.run.store import Store
from labelkin.methods import Method


class Nothing:
    """A classifier that has nothing to learn."""

    def fit(self, X, Y):
        """Remember the number of labels."""
        self.shape = Y.shape[1:]
        return self

    def predict(self, X):
        """Predict no label."""
        return np.zeros((len(X), *self.shape), dtype=np.uint8)

    def predict_proba(self, X):
        """Rank all labels in the same way."""
        return np.broadcast_to(np.linspace(0.4, 0, *self.shape), (len(X), *self.shape))


class Random(Source):
    """A dataset that is nothing but chance."""

    def load(self, *, with_test=False):
        """Make as many rows and labels as are requested."""
        rng = np.random.RandomState(0)
        rows, labels = map(int, self.labels.split(","))
        Y = (rng.random_sample((rows, labels)) < 0.3).astype(np.int64)
        return Dataset(self.name, rng.standard_normal((rows, 5)), Y)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--labels", type=int, default=5)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    plan = Plan(
        sources=(Random("chance", None, f"{options.rows},{options.labels}"),),
        methods=("nothing",),
        registry={"nothing": Method("nothing", "Nothing", lambda seed: Nothing(), "")},
        protocol=Protocol(repeats=options.cells // 5),
    )
    print(machine() + ", one core\n")
    with tempfile.TemporaryDirectory(dir=".") as folder:
        used = time.process_time()
        taken, rows = seconds(lambda: run(plan, Path(folder) / "results.db"))
        used = time.process_time() - used
        few = list(make_jobs(plan, set(plan.cells()), {"chance": plan.sources[0].load()}))[:100]
        computing, outcomes = seconds(lambda: [execute(job) for job in few])
        with Store(Path(folder) / "other.db", write=True) as store:
            store.begin(started="", command="", environment={}, facts={})
            writing, _ = seconds(lambda: [store.add(outcome) for outcome in outcomes])
    cells = len(rows)
    print(f"run and stored    {cells / taken:6.0f} cells per second")
    print(f"processor time    {used / cells * 1e3:6.2f} ms per cell")
    print(
        f"computing alone   {computing / len(few) * 1e3:6.2f} ms per cell, mostly for the metrics"
    )
    print(f"writing alone     {writing / len(few) * 1e3:6.2f} ms per cell, mostly for the disk")


if __name__ == "__main__":
    main()
