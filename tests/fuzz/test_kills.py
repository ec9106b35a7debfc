"""``kill -9`` amid writing, again and again: the old file or the new one is there, whole.

``LABELKIN_SOAK_KILLS`` sets how often each writer is killed; `make soak` kills a thousand times.
"""

import multiprocessing
import os
import random
import shutil
import time
from itertools import cycle

import pytest

from labelkin.datasets import read, write
from labelkin.experiments.run.store import Store
from labelkin.persistence import load_model
from support.data import make_data
from support.kills import (
    BATCH,
    can_intercept,
    reproduce,
    write_models,
    write_results,
    write_tables,
)

KILLS = int(os.environ.get("LABELKIN_SOAK_KILLS", "12"))
SECONDS = 0.08  # within which a process is killed once it writes


@pytest.fixture(scope="module")
def processes():
    try:
        context = multiprocessing.get_context("forkserver")
    except ValueError:
        pytest.skip("no fork server here")
    # Modules that take long to import: each process is a copy of the server.
    slow = ["labelkin.persistence", "labelkin.neighbors", "labelkin.datasets", "labelkin.cli._app"]
    context.set_forkserver_preload([*slow, "labelkin.experiments.run.runner"])
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


def stored(path):
    """Return what a run stored, without its times."""
    with Store(path) as store:
        rows = store.rows()
    return [
        {k: v for k, v in row.items() if k not in ("fit_s", "predict_s", "run")} for row in rows
    ]


@pytest.mark.skipif(not can_intercept(), reason="SQLite is a part of Python here")
def test_a_run_killed_at_any_write_is_resumed(processes, tmp_path):
    """By the same command, which may be killed again; the result is that of one run."""
    X, Y = make_data(40)
    data = tmp_path / "d.npz"
    write(data, X, Y)

    def run(folder, *at):
        process = processes.Process(target=reproduce, args=(folder, *at))
        process.start()
        process.join(300)
        return process.exitcode

    whole = tmp_path / "whole"
    whole.mkdir()
    shutil.copy(data, whole)
    assert run(whole) == 0
    expected, n_writes = stored(whole / "r.db"), int((whole / "writes").read_text())
    assert n_writes > 30
    places = [(at, half) for at in range(1, n_writes + 1) for half in (False, True)]
    rng = random.Random(0)
    rng.shuffle(places)
    kills, first = 0, cycle(places)
    while kills < KILLS:
        folder = tmp_path / str(kills)
        folder.mkdir()
        shutil.copy(data, folder)
        # The first kills are at all writes in turn, those of what is resumed at any one.
        place = next(first)
        while (code := run(folder, *place)) == -9:
            kills += 1
            place = (rng.randint(1, 2 * n_writes), rng.random() < 0.5)
        assert code == 0
        assert run(folder) == 0
        assert stored(folder / "r.db") == expected
        shutil.rmtree(folder)
