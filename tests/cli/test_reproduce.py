"""``labelkin reproduce`` as a person uses it, and as a machine that loses power does."""

import os
import shutil
import signal
import subprocess
import time

import pytest

from labelkin import MLkNNClassifier
from labelkin.cli import main
from labelkin.datasets import load_digit_scenes
from labelkin.experiments.report.page import count_cells
from labelkin.experiments.run.results import read_results
from labelkin.experiments.run.store import Store
from labelkin.metrics import average_precision
from support.experiments import (
    LABELKIN,
    figures,
    give_permits,
    wait_for_cells,
    write_own_methods,
)

pytest.importorskip("typer")

QUICK = ["reproduce", "figure2", "--quick", "--methods", "mlknn"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    write_own_methods(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "own_methods", raising=False)
    monkeypatch.setenv("LABELKIN_DATA", str(tmp_path / "no-data"))
    monkeypatch.setenv("PYTHONWARNINGS", "ignore:resource_tracker:UserWarning")
    return tmp_path


def test_quick_needs_no_files(capsys):
    assert main([*QUICK, "--jobs", "1"]) == 0
    shown = capsys.readouterr().out
    assert "1 dataset × 1 method × 1 × 5 folds = 5 cells · store results.db\n" in shown
    assert "5/5 cells" in shown
    assert "precision" in shown
    assert "labelkin report results.db" in shown
    assert main([*QUICK, "--jobs", "1"]) == 0
    assert "(5 already stored)" in capsys.readouterr().out
    with Store("results.db") as store:
        assert store.runs()[0]["command"] == "labelkin " + " ".join([*QUICK, "--jobs", "1"])


def test_the_frontier_has_fixed_folds(capsys):
    command = ["reproduce", "frontier", "--quick", "--methods", "mlknn", "--jobs", "1"]
    assert main(command) == 0
    assert "= 5 cells" in capsys.readouterr().out
    with Store("results.db") as store:
        assert store.facts()["folds"] == "5 random folds of seed 0"
    assert main([*QUICK, "--jobs", "1"]) == 2  # other folds: not into this store
    assert (
        "holds cells that differ in the folds (5 random folds of seed 0)" in capsys.readouterr().err
    )


def test_published_test_rows(capsys):
    command = ["reproduce", "holdout", "--quick", "--methods", "mlknn", "--jobs", "1"]
    assert main(command) == 0
    assert "1 dataset × 1 method × 1 repeat = 1 cells" in capsys.readouterr().out
    with Store("results.db") as store:
        assert store.facts()["folds"] == "the published test rows"
        [row] = store.rows()
    scenes = load_digit_scenes(600, random_state=0)
    train, test = scenes.split == 0, scenes.split == 1
    model = MLkNNClassifier().fit(scenes.data[train], scenes.target[train])
    scores = model.predict_proba(scenes.data[test])
    assert row["average_precision"] == average_precision(scenes.target[test], scores)


def test_data_without_published_test_rows(capsys):
    with open("films.csv", "w") as file:
        file.write("a,b,drama\n" + "1,2,1\n3,4,0\n" * 9)
    words = ["--data", "films.csv", "--labels", "drama", "--methods", "mlknn", "--folds", "1"]
    assert main(["reproduce", "table3", *words]) == 2
    assert "films has no published test rows; leave it out, or set --folds 5." in (
        capsys.readouterr().err
    )


def test_ones_own_data_and_method_join(capsys):
    rows = [f"{x},{x * 7 % 5},{int(x % 5 > 2)},{int(x % 3 == 0)}" for x in range(40)]
    with open("films.csv", "w") as file:
        file.write("\n".join(["length,score,drama,comedy", *rows]))
    command = [*QUICK, "--jobs", "1", "--data", "films.csv", "--labels", "drama,comedy"]
    command += ["--method", "plain=own_methods:ready", "--datasets", "digit-scenes"]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "2 datasets × 2 methods" in shown
    with Store("results.db") as store:
        found = {(c.dataset, c.method) for c, row in store.cells().items() if row["status"] == "ok"}
        assert store.facts()["settings of plain"].startswith("OneVsRestClassifier(")
    assert found == {(d, m) for d in ("films", "digit-scenes") for m in ("mlknn", "plain")}
    with open("films.csv", "a") as file:
        file.write("\n1,1,1,1\n")
    assert main([*command, "--repeats", "2"]) == 2
    assert "holds cells that differ in the data of films" in capsys.readouterr().err


def test_the_readmes_own_table(capsys):
    """Words, gaps and two labels are prepared as `labelkin fit` does."""
    rows = ["97;1999;US;1;0", "121;;FR;0;1", ";2011;;1;1", "88;1960;US;0;0"] * 8
    with open("films.csv", "w") as file:
        file.write("\n".join(["length;year;country;drama;comedy", *rows]))
    words = ["--repeats", "1", "--data", "films.csv", "--labels", "drama,comedy", "--jobs", "1"]
    assert main(["reproduce", "table3", *words]) == 0
    shown = capsys.readouterr()
    assert "1 dataset × 6 methods × 1 × 5 folds = 30 cells" in shown.out
    assert "reading films.csv: ';' between columns\n" in shown.err
    with Store("results.db") as store:
        chains = [row["f1"] for row in store.rows() if row["method"] == "cchains"]
    assert chains == [1.0] * 5


def test_failures_are_shown_and_counted(capsys):
    assert main([*QUICK, "--jobs", "1", "--method", "fails=own_methods:Fails"]) == 1
    shown = capsys.readouterr().out
    assert "failed: fails digit-scenes r0f0: RuntimeError: cannot predict" in shown
    assert "10 cells in results.db" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tabel3"], "Did you mean table3"),
        (["table3", "--datasets", "yeats"], "Did you mean yeast"),
        (["table3", "--methods", "vpmce"], "Did you mean vpcme"),
        (["table3", "--quick", "--methods", "mlknn@nearest=3"], "Invalid parameter 'nearest'"),
        (["table3", "--quick", "--method", "x"], "name=module:factory"),
        (["table3", "--quick", "--methods", "mlknn", "--labels", "a"], "none is given"),
        (["table3", "--quick", "--methods", "mlknn", "--data", "no.csv"], "no such file"),
        (["figure2", "--datasets", "yeast", "--methods", "mlknn"], "yeast"),
        (["table3", "--folds", "0"], "folds"),
    ],
)
def test_bad_input_gets_one_sentence(words, message, capsys, monkeypatch):
    def offline(*args, **options):
        raise OSError("yeast could not be downloaded")

    monkeypatch.setattr("labelkin.datasets.known._load.fetch", offline)
    assert main(["reproduce", *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
    assert not os.path.exists("results.db")


def start(*words):
    return subprocess.Popen(
        [*LABELKIN, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


WAITING = [*QUICK, "--method", "waits=own_methods:Waits", "--methods", "mlknn,vpcme@size=2"]


@pytest.mark.parametrize(("number", "jobs"), [(signal.SIGINT, "2"), (signal.SIGTERM, "1")])
def test_an_interrupted_run_tells_how_to_resume(number, jobs, folder):
    give_permits(folder, 2)
    process = start(*WAITING, "--jobs", jobs)
    wait_for_cells(process, 2, "results.db")
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    _, error = process.communicate(timeout=300)
    assert process.returncode == 130, error
    with Store("results.db") as store:
        stored = len(store.cells())
    # On a busy machine, the time that is left may be announced.
    [line] = [line for line in error.splitlines() if not line.startswith("note: this will take")]
    assert line.startswith(f"interrupted: {stored} of 15 cells are stored in results.db; resume")
    assert line.endswith("labelkin " + " ".join([*WAITING, "--jobs", jobs]))


def test_two_runs_share_a_store(folder):
    give_permits(folder, 1)
    process = start(*WAITING, "--jobs", "1")
    wait_for_cells(process, 1, "results.db")
    assert main([*QUICK, "--jobs", "1"]) == 0
    shutil.rmtree(folder / "permits")
    shown = process.communicate()
    assert process.returncode == 0, shown
    with Store("results.db") as store:
        assert [row["status"] for row in store.rows()] == ["ok"] * 15


def test_killed_again_and_again_the_results_are_the_same(folder):
    """``kill -9`` the coordinating process at start-up and amid the cells, then run it again."""
    command = [*WAITING, "--jobs", "2"]
    assert main([*WAITING, "--jobs", "1", "--store", "whole.db"]) == 0
    give_permits(folder, 0)
    process = start(*command)
    time.sleep(0.5)
    process.kill()
    process.communicate()
    give_permits(folder, 2)
    process = start(*command)
    stored = wait_for_cells(process, 2, "results.db")
    process.kill()
    process.communicate()
    assert stored < 15
    shutil.rmtree(folder / "permits")
    assert main(command) == 0
    assert figures("results.db") == figures("whole.db")


def test_workers_do_not_outlive_a_killed_run(folder):
    give_permits(folder, 0)
    module = folder / "own_methods.py"
    note = "open(f'{FOLDER}/{os.getpid()}.pid', 'w')"
    module.write_text(
        module.read_text().replace("while not self._may", f"{note}\n        while not self._may")
    )
    process = start(*WAITING, "--jobs", "2")
    while not (workers := [int(path.stem) for path in folder.glob("*.pid")]):
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 120
    while any(_alive(pid) for pid in workers):
        assert time.monotonic() < deadline, "a worker goes on without its parent"
        time.sleep(0.1)


def _alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_range_of_repeats_in_a_store_of_its_own(capsys):
    for repeats in ("1", "1-2"):
        command = [*QUICK, "--repeats", repeats, "--jobs", "1", "--store", f"{repeats}.db"]
        assert main(command) == 0
    assert "2 × 5 folds = 10 cells" in capsys.readouterr().out
    together = read_results("1.db", "1-2.db").results
    assert together.groupby("repeat").size().to_dict() == {0: 5, 1: 5, 2: 5}


@pytest.mark.parametrize("text", ["0", "9-5", "x"])
def test_bad_repeats_are_refused(text, capsys):
    assert main([*QUICK, "--repeats", text]) == 2
    assert f"--repeats {text}: write" in capsys.readouterr().err


def test_cells_of_changed_code_are_told_apart(monkeypatch):
    assert main([*QUICK, "--jobs", "1"]) == 0
    monkeypatch.setattr(
        "labelkin.experiments.run.runner.source_revision", lambda: "another-revision"
    )
    assert main([*QUICK, "--jobs", "1", "--repeats", "2"]) == 0
    found = read_results("results.db").results
    assert found["revision"].eq("another-revision").sum() == 5
    assert "up to 2 × 5 folds, by 2 revisions of the code" in count_cells(found)


PRIOR = """
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB


class Prior(ClassifierMixin, BaseEstimator):
    def fit(self, X, Y):
        self.p_ = np.asarray(Y).mean(axis=0)
        return self

    def predict_proba(self, X):
        return np.tile(self.p_, (len(X), 1))

    def predict(self, X):
        return (self.predict_proba(X) > 0.5).astype(int)
"""


def test_a_class_without_tags_gets_the_label_matrix(folder, capsys):
    (folder / "mymeth.py").write_text(PRIOR)
    words = [*QUICK, "--folds", "2", "--jobs", "1"]
    assert main([*words, "--method", "prior=mymeth:Prior"]) == 0
    assert "is fitted for each label" not in capsys.readouterr().err
    with Store("results.db") as store:
        assert store.facts()["settings of prior"] == "Prior()"


def test_what_is_wrapped_is_said(folder, capsys):
    (folder / "mymeth.py").write_text(PRIOR)
    words = [*QUICK, "--folds", "2", "--jobs", "1"]
    assert main([*words, "--method", "nb=mymeth:GaussianNB"]) == 0
    shown = capsys.readouterr().err
    assert "note: nb: one copy of GaussianNB is fitted for each label" in shown
    assert "a fit on two labels fails: ValueError: y should be a 1d array" in shown


def test_a_changed_method_or_file_is_not_mixed_with_old_cells(folder, capsys, monkeypatch):
    """A method that only failed is computed again once its code is changed; others are refused."""
    monkeypatch.setattr("sys.dont_write_bytecode", True)  # the file is changed within a second
    plain = PRIOR.replace("(ClassifierMixin, BaseEstimator)", "")
    (folder / "repaired.py").write_text(plain.replace("(len(X), 1)", "(len(X), 2)"))
    words = ["reproduce", "table3", "--methods", "mlknn", "--repeats", "1", "--jobs", "1"]
    rows = "".join(f"{i % 7},{i % 2},{i % 3 // 2}\n" for i in range(60))
    (folder / "own.csv").write_text("x,a,b\n" + rows)
    words += ["--data", "own.csv", "--labels", "a,b", "--method", "prior=repaired:Prior"]
    assert main(words) == 1
    shown = capsys.readouterr().out
    assert "ValueError: Prior predicts the shape (12, 4) for 12 rows and 2 labels." in shown
    assert f"the failed cells again: labelkin {' '.join(words)} --retry" in shown.replace("\n", " ")

    sys = __import__("sys")
    for text, code in ((plain, 0), (f"# a comment\n{plain}", 0), (plain.replace("0.5", "0.1"), 2)):
        (folder / "repaired.py").write_text(text)
        del sys.modules["repaired"]
        assert main(words) == code
    assert "differ in the code of prior" in capsys.readouterr().err

    (folder / "repaired.py").write_text(plain)
    (folder / "own.csv").write_text("x,a,b\n" + rows.replace("6,", "9,"))
    assert main(words) == 2
    assert "differ in the data of own" in capsys.readouterr().err


def test_labels_that_are_no_0_and_1_fail(folder, capsys):
    (folder / "ratios.py").write_text(PRIOR.replace("> 0.5).astype(int)", ")"))
    words = [*QUICK, "--folds", "2", "--jobs", "1", "--method", "prior=ratios:Prior"]
    assert main(words) == 1
    assert "Prior.predict must return 0 and 1, but returns 0." in capsys.readouterr().out
