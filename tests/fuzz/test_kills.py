"""``kill -9`` amid writing, again and again: the old file or the new one is there, whole.

``LABELKIN_SOAK_KILLS`` sets how often each writer is killed; `make soak` kills a thousand times.
"""

import multiprocessing
import os
import random
import time

import pytest

from labelkin.datasets import read
from labelkin.experiments.run.store import Store
from labelkin.persistence import load_model
from support.kills import BATCH, write_models, write_results, write_tables

KILLS = int(os.environ.get("LABELKIN_SOAK_KILLS", "12"))
SECONDS = 0.08  # within which a process is killed once it writes


@pytest.fixture(scope="module")
def processes():
    try:
        context = multiprocessing.get_context("forkserver")
    except ValueError:
        pytest.skip("no fork server here")
    # Modules that take long to import: each process is a copy of the server.
    slow = ["labelkin.persistence", "labelkin.neighbors", "labelkin.datasets"]
    context.set_forkserver_preload([*slow, "labelkin.experiments.run.store"])
    return context


def killed(processes, write, path, rng):
    """Start a process that writes, and kill it."""
    ready = processes.Event()
    process = processes.Process(target=write, args=(path, ready))
    process.start()
    assert ready.wait(300)
    time.sleep(rng.uniform(0, SECONDS))
    process.kill()
    process.join()
    assert process.exitcode == -9


def test_models(processes, tmp_path):
    path, rng = tmp_path / "m.labelkin", random.Random(0)
    found = set()
    for _ in range(KILLS):
        killed(processes, write_models, path, rng)
        if path.exists():
            found.add(load_model(path).n_neighbors)
    assert found <= {1, 3}
    assert found


@pytest.mark.parametrize("name", ["t.npz", "t.arff"])
def test_tables(name, processes, tmp_path):
    path, rng = tmp_path / name, random.Random(0)
    found = set()
    for _ in range(KILLS):
        killed(processes, write_tables, path, rng)
        if path.exists():
            found.add(len(read(path).target))
    assert found <= {100, 500}
    assert found


def test_results(processes, tmp_path):
    path, rng = tmp_path / "results.db", random.Random(0)
    before = 0
    for _ in range(KILLS):
        killed(processes, write_results, path, rng)
        with Store(path) as store:
            after = len(store.cells())
        assert after >= before
        assert after % BATCH == 0
        before = after
    assert before
