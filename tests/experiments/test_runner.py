import random
from types import SimpleNamespace

import numpy as np
import pytest

from labelkin.experiments.run import runner
from labelkin.experiments.run.plan import Cell, Plan, Protocol
from labelkin.experiments.run.sources import Dataset, Source, file_source, find_source
from labelkin.experiments.run.store import Store
from labelkin.methods import METHODS, Method, user_method
from support.data import make_data
from support.experiments import figures, write_own_methods


class Made(Source):
    """A dataset made on the spot."""

    def load(self, *, with_test=False):
        X, Y = make_data(n=60, q=3, seed=len(self.name))
        return Dataset(self.name, X, Y)


def plan(methods=("mlknn", "vpcme@size=1", "vpcme@size=3"), repeats=2, registry=METHODS, **more):
    sources = (Made("small"), Made("other"))
    return Plan(sources, methods, registry, Protocol(repeats, 3, **more))


def run(plan, path, **options):
    """Run a plan; return how many cells were stored before and computed, and those that failed."""
    done = []
    rows = runner.run(plan, path, stored=lambda n, row: done.append(n), **options)
    failures = [row for row in rows if row["status"] != "ok"]
    return SimpleNamespace(before=done[0], computed=done[-1] - done[0], failures=failures)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    path = tmp_path_factory.mktemp("expected") / "results.db"
    summary = run(plan(), path)
    assert (summary.before, summary.computed, len(summary.failures)) == (0, 36, 0)
    return figures(path)


def test_same_results_in_processes(expected, tmp_path):
    run(plan(), tmp_path / "results.db", jobs=2)
    assert figures(tmp_path / "results.db") == expected


class ShuffledPlan(Plan):
    def cells(self):
        cells = super().cells()
        random.Random(0).shuffle(cells)
        return cells


def test_same_results_in_any_order(expected, tmp_path):
    run(ShuffledPlan(**vars(plan())), tmp_path / "results.db")
    assert figures(tmp_path / "results.db") == expected


def test_same_results_in_pieces(expected, tmp_path):
    path = tmp_path / "results.db"
    assert run(plan(("mlknn",), repeats=1), path).computed == 6
    assert run(plan(("vpcme@size=3",), repeats=2), path).computed == 12
    summary = run(plan(), path)
    assert (summary.before, summary.computed) == (18, 18)
    assert figures(path) == expected
    assert run(plan(), path).computed == 0


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Return a registry with the user's methods that fail and die."""
    write_own_methods(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "own_methods", raising=False)
    made = [user_method(f"{n.lower()}=own_methods:{n}") for n in ("Fails", "Dies")]
    return {**METHODS, **{method.name: method for method in made}}


def test_a_cell_that_fails_is_stored_and_the_rest_goes_on(own, tmp_path):
    path = tmp_path / "results.db"
    failing = plan(("fails", "mlknn"), repeats=1, registry=own)
    assert len(run(failing, path).failures) == 6
    with Store(path) as store:
        assert [r["status"] for r in store.rows()].count("ok") == 6
        errors = {row["error"] for row in store.rows() if row["method"] == "fails"}
    assert errors == {"RuntimeError: cannot predict"}
    assert run(failing, path).computed == 0, "failures are results: not repeated unasked"
    own["fails"] = Method("fails", "fails", METHODS["mlknn"].make, "")
    # With other settings, cells that failed are replaced, and others refused.
    assert (found := run(failing, path)).computed == 6
    assert not found.failures
    own["fails"] = Method("fails", "fails", METHODS["br"].make, "")
    with pytest.raises(ValueError, match="differ in the settings of fails"):
        run(failing, path, retry=True)


def test_retry(own, tmp_path, monkeypatch):
    path = tmp_path / "results.db"
    run(plan(("fails",), repeats=1, registry=own), path)
    own_methods = __import__("sys").modules["own_methods"]
    monkeypatch.delattr(own_methods.Fails, "predict")  # the bug is found
    summary = run(plan(("fails",), repeats=1, registry=own), path, retry=True)
    assert (summary.computed, summary.failures) == (6, [])


def test_a_cell_that_kills_its_process_fails_alone(own, tmp_path):
    path = tmp_path / "results.db"
    summary = run(plan(("dies", "mlknn"), repeats=1, registry=own), path, jobs=2)
    folds = Protocol(1, 3)
    guilty = set()
    for source in plan().sources:
        Y = source.load().Y
        for fold, test in enumerate(folds.test_rows(source.name, 0, len(Y))):
            if np.delete(Y, test, axis=0)[:, 0].sum() % 4 == 1:
                guilty.add(Cell(source.name, "dies", 0, fold))
    assert 0 < len(guilty) < 4
    assert summary.computed == 12
    assert {Cell.of(row) for row in summary.failures} == guilty
    assert {row["error"] for row in summary.failures} == {
        "the worker process died: out of memory, or killed"
    }


def test_finished_cells_are_stored_when_a_run_is_cut_off(tmp_path):
    def cut_off(done, row):
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner.run(plan(("mlknn",)), tmp_path / "results.db", stored=cut_off)
    with Store(tmp_path / "results.db") as store:
        assert len(store.cells()) == 5


def test_a_full_disk_ends_the_run(tmp_path, monkeypatch):
    def full(self, *args):
        raise OSError("results.db: database or disk is full.")

    monkeypatch.setattr(Store, "add", full)
    with pytest.raises(OSError, match="disk is full"):
        run(plan(("mlknn",)), tmp_path / "results.db")


def test_cells_are_on_disk_when_they_are_reported(tmp_path):
    path, seen = tmp_path / "results.db", []

    def stored(done, row):
        seen.extend([row] if row else [])
        assert done == len(seen)
        with Store(path) as store:
            assert {Cell.of(row) for row in seen} <= store.cells().keys()

    runner.run(plan(repeats=1), path, stored=stored)
    assert len(seen) == 18


def test_environment_is_stored(tmp_path):
    run(plan(("mlknn",), repeats=1), tmp_path / "results.db", command="labelkin …")
    with Store(tmp_path / "results.db") as store:
        environment = store.runs()[-1]["environment"]
        assert store.runs()[0]["command"] == "labelkin …"
        assert store.facts()["folds"] == "3 random folds"
        assert store.facts()["settings of mlknn"] == "MLkNNClassifier()"
        assert store.facts()["data of small"] == Made("small").load().fingerprint
    assert {"python", "system", "cores", "packages", "revision"} <= set(environment)
    assert environment["blas_threads"] == 1
    assert environment["packages"]["numpy"] == np.__version__


def test_nothing_to_run():
    with pytest.raises(ValueError, match="nothing to run"):
        plan(())
    twice = (Made("d"), Made("d"))
    with pytest.raises(ValueError, match="Two datasets are called 'd'"):
        Plan(twice, ("mlknn",), METHODS, Protocol())


# ------------------------------------------------------------------ sources


def test_fingerprint_sees_every_value():
    X, Y = make_data()
    base = Dataset("d", X, Y).fingerprint
    assert Dataset("e", X.copy(), Y).fingerprint == base
    X[3, 2] += 1e-9
    assert Dataset("d", X, Y).fingerprint != base
    assert Dataset("d", make_data()[0], 1 - Y).fingerprint != base


def test_sources(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "films.v2.csv").write_text("x,a,b\n" + "1,0,1\n2,1,0\n" * 5)
    assert find_source("films.v2.csv").name == "films"
    source = file_source("mine=films.v2.csv", "a,b")
    assert source.name == "mine"
    assert source.load().Y.tolist()[:2] == [[0, 1], [1, 0]]
    assert np.array_equal(file_source("films.v2.csv", "-2").load().Y, source.load().Y)
    assert find_source("Yeast").name == "yeast"
    assert find_source("digit-scenes").load().Y.shape == (600, 10)
    with pytest.raises(ValueError, match=r"No dataset is called 'yeats'\. Did you mean yeast"):
        find_source("yeats")
    with pytest.raises(ValueError, match=r"nowhere\.csv: there is no such file"):
        file_source("nowhere.csv")
    (tmp_path / "yeast.csv").write_text("x,a\n1,0\n")
    with pytest.raises(ValueError, match="my-yeast=yeast"):
        file_source("yeast.csv")


def test_labels_of_a_file_may_be_unknown(tmp_path):
    rows = [f"{i},{i % 7},{i % 2},{'' if i % 4 == 0 else i % 3 // 2}" for i in range(40)]
    (tmp_path / "own.csv").write_text("\n".join(["a,b,big,warm", *rows]))
    source = file_source(str(tmp_path / "own.csv"), "big,warm")
    found = run(Plan((source,), ("mlknn",), METHODS, Protocol(1, 2)), tmp_path / "results.db")
    assert (found.computed, found.failures) == (2, [])


def test_every_cell_has_figures_by_index_and_a_revision(tmp_path):
    run(plan(("mlknn",), repeats=1), tmp_path / "results.db")
    with Store(tmp_path / "results.db") as store:
        rows = store.rows()
        revision = store.runs()[-1]["environment"]["revision"]
    for row in rows:
        assert row["ranking_loss_index"] <= row["ranking_loss"] + 1e-12
        assert row["average_precision_index"] is not None
        assert row["revision"] == revision
