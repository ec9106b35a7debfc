"""A real Dask cluster: a scheduler and two worker processes, started here."""

import os
import subprocess
import sys
import time

import pytest

from labelkin.cli import main
from labelkin.experiments.run.cluster import _ClusterRun, run_on_cluster
from labelkin.experiments.run.store import Store
from support.experiments import LABELKIN, OWN_METHODS, figures

distributed = pytest.importorskip("distributed", reason="needs the extra labelkin[cluster]")
pytest.importorskip("typer")


class Cluster:
    """A scheduler, and as many worker processes as are asked for."""

    def __init__(self, folder):
        self.file, self.folder = folder / "scheduler.json", folder / "elsewhere"
        self.folder.mkdir()
        self.processes = []
        self._dask("scheduler", "--port", "0")

    def _dask(self, *words):
        where = ["--scheduler-file", str(self.file), "--host", "127.0.0.1", "--no-dashboard"]
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *words, *where],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
        )
        self.processes.append(process)
        return process

    def worker(self):
        """Start a worker: one process, one thread, nobody to restart it."""
        return self._dask("worker", "--no-nanny", "--nthreads", "1")

    def wait(self, workers):
        """Wait for so many workers; return the scheduler's address."""
        _until(self.file.exists)
        with distributed.Client(scheduler_file=str(self.file), set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=60)
            return client.scheduler.address

    def stop(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait(timeout=20)


@pytest.fixture
def cluster(tmp_path):
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.stop()


def test_killed_workers_cost_time_not_results(cluster, tmp_path, monkeypatch):
    """One of two workers is killed, then the other, and the data with it; a new one comes.

    None of them has ever seen the user's module.
    """
    first, second = cluster.worker(), cluster.worker()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_methods.py").write_text(OWN_METHODS)
    command = ["reproduce", "figure2", "--quick", "--methods", "mlknn"]
    command += ["--method", "slow=own_methods:Slow", "--repeats", "3"]
    assert main([*command, "--store", "here.db", "--jobs", "1"]) == 0

    far = ["--store", "far.db", "--cluster", cluster.wait(2)]
    running = subprocess.Popen([*LABELKIN, *command, *far], stderr=subprocess.PIPE, text=True)
    try:
        for victim, after in ((first, 4), (second, 10)):
            _until(lambda after=after: _stored("far.db") >= after or running.poll() is not None)
            assert running.poll() is None, running.communicate()
            victim.kill()
        stored = _stored("far.db")
        cluster.worker()
        _, said = running.communicate(timeout=90)
    finally:
        running.kill()
    assert running.returncode == 0, said
    assert stored < 25, "the workers were killed too late to matter"
    assert figures("far.db") == figures("here.db")


def test_no_cluster_there(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OSError, match=r"tcp://127\.0\.0\.1:9: no Dask scheduler answers"):
        next(run_on_cluster([], "tcp://127.0.0.1:9", timeout=1))
    command = ["reproduce", "figure2", "--quick", "--methods", "mlknn"]
    assert main([*command, "--cluster", "nonsense://x"]) == 2
    assert "cluster nonsense://x: no Dask scheduler" in capsys.readouterr().err


def _until(true, seconds=60):
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        time.sleep(0.02)


def _stored(path):
    if not os.path.exists(path):
        return 0
    try:
        with Store(path) as store:
            return len(store.done())
    except (ValueError, OSError):
        return 0


def test_an_outcome_that_went_with_its_worker_is_computed_again():
    """Finished, but lost before it was fetched: that is no result, and no failure."""
    distributed = pytest.importorskip("distributed")

    class Lost:
        status = "finished"

        def result(self):
            raise distributed.CancelledError

    assert _ClusterRun(None, distributed)._outcome(Lost(), None) is None
