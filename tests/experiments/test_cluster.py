"""A real Dask cluster: a scheduler and two worker processes, started here."""

import shutil
import subprocess
import sys

import pytest

from labelkin.cli import main
from labelkin.experiments.run.cluster import run_on_cluster
from support.experiments import (
    LABELKIN,
    figures,
    give_permits,
    wait_for_cells,
    write_own_methods,
)

distributed = pytest.importorskip("distributed", reason="needs the extra labelkin[cluster]")
pytest.importorskip("typer")


class Cluster:
    """A scheduler and its worker processes."""

    def __init__(self, folder):
        self.file, self.folder = folder / "scheduler.json", folder / "elsewhere"
        self.folder.mkdir()
        self.processes = []
        self._dask("scheduler", "--port", "0", "--dashboard-address", "127.0.0.1:0")

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
        """Start a worker: one process with one thread, which is not restarted."""
        return self._dask("worker", "--no-nanny", "--nthreads", "1")

    def wait(self, workers):
        """Wait until there are as many workers; return the scheduler's address."""
        with distributed.Client(
            scheduler_file=str(self.file), set_as_default=False, timeout=300
        ) as client:
            client.wait_for_workers(workers, timeout=300)
            return client.scheduler.address

    def stop(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait()


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
    write_own_methods(tmp_path)
    command = ["reproduce", "figure2", "--quick", "--methods", "mlknn"]
    command += ["--method", "waits=own_methods:Waits", "--repeats", "2"]
    assert main([*command, "--store", "here.db", "--jobs", "1"]) == 0

    far = ["--store", "far.db", "--cluster", cluster.wait(2)]
    give_permits(tmp_path, 1)
    running = subprocess.Popen([*LABELKIN, *command, *far], stderr=subprocess.PIPE, text=True)
    try:
        wait_for_cells(running, 1, "far.db")
        first.kill()
        first.wait()
        give_permits(tmp_path, 3)
        # The second worker has at most 14 cells to store before it waits as well.
        stored = wait_for_cells(running, 3, "far.db")
        second.kill()
        second.wait()
        shutil.rmtree(tmp_path / "permits")
        cluster.worker()
        _, error = running.communicate(timeout=600)
    finally:
        running.kill()
    assert running.returncode == 0, error
    assert stored < 20
    assert figures("far.db") == figures("here.db")


def test_no_cluster_there(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OSError, match=r"tcp://127\.0\.0\.1:9: no Dask scheduler answers"):
        next(run_on_cluster([], "tcp://127.0.0.1:9", timeout=1))
    command = ["reproduce", "figure2", "--quick", "--methods", "mlknn"]
    assert main([*command, "--cluster", "nonsense://x"]) == 2
    assert "cluster nonsense://x: no Dask scheduler" in capsys.readouterr().err
