"""Empty label cells on the command line: what is guessed is printed, and an option decides."""

import json

import numpy as np
import pytest

from labelkin.cli import main

N = 60


def write_table(path, no, yes, share):
    """Write two features and two labels; a share of the label cells is empty."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 2))
    cells = np.where(X > 0, yes, no)
    cells = np.where(rng.random(X.shape) < share, "", cells)
    lines = [f"{a:.3f},{b:.3f},{p},{r}" for (a, b), (p, r) in zip(X, cells, strict=True)]
    path.write_text("a,b,hot,wet\n" + "\n".join(lines) + "\n")
    return int((cells != "").sum())


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def call(words, code=0):
        found = main(words.split())
        out, err = capsys.readouterr()
        assert found == code, err
        return out, err

    return call


KNN = "--labels hot,wet --model mlknn"


@pytest.mark.parametrize(
    ("no", "yes", "share", "guess"),
    [
        ("0", "1", 0.4, "empty cells of hot, wet are unknown labels (--missing-labels)"),
        ("no", "yes", 0.4, "empty cells of hot, wet are unknown labels (--missing-labels)"),
        ("", "1", 0, "empty cells of hot, wet mean no (--missing-labels)"),
        ("", "yes", 0, "empty cells of hot, wet mean no (--missing-labels)"),
        ("", "x", 0, "empty cells of hot, wet mean no (--missing-labels)"),
    ],
)
def test_the_guess_is_printed(no, yes, share, guess, run, tmp_path):
    n_known = write_table(tmp_path / "data.csv", no, yes, share)
    _, err = run(f"fit data.csv {KNN} --out m.labelkin")
    assert f"reading data.csv: {guess}\n" in err
    assert (f"{n_known} of {2 * N} labels known" in err) == (share > 0)
    out, err = run("datasets describe data.csv --labels hot,wet")
    assert f"reading data.csv: {guess}\n" in err
    assert ("known labels" in out) == (share > 0)
    _, err = run(f"evaluate data.csv {KNN} --folds 2 --report r.html")
    assert f"reading data.csv: {guess}\n" in err
    page = (tmp_path / "r.html").read_text()
    assert guess.removesuffix(" (--missing-labels)") in page
    assert (f"{n_known} of {2 * N} labels are known" in page) == (share > 0)


def test_the_option_decides(run, tmp_path):
    n_known = write_table(tmp_path / "data.csv", "0", "1", 0.4)
    evaluate = f"evaluate data.csv {KNN} --folds 2 --json"
    unknown, no, drop = (
        json.loads(run(f"{evaluate} {option}")[0])
        for option in ("", "--missing-labels no", "--missing-labels drop")
    )
    assert unknown["known_cells"] == unknown["known_labels"] == n_known
    assert "known_cells" not in no
    assert drop["rows"] < no["rows"] == unknown["rows"] == N
    out, _ = run(f"evaluate data.csv {KNN} --folds 2 --missing-labels drop")
    assert "--missing-labels drop" in out  # in the command to run next
    run(f"fit data.csv {KNN} --missing-labels drop --out m.labelkin")


def test_models_on_new_data(run, tmp_path):
    write_table(tmp_path / "whole.csv", "0", "1", 0)
    n_known = write_table(tmp_path / "part.csv", "0", "1", 0.4)
    run(f"fit whole.csv {KNN} --out m.labelkin")
    _, err = run("evaluate m.labelkin part.csv")
    assert (
        "reading labels of part.csv: empty cells of hot, wet are unknown labels (--missing-labels)"
        in err
    )
    assert f"{n_known} of {2 * N} labels are known" in err
    found = json.loads(run("evaluate m.labelkin part.csv --missing-labels drop --json")[0])
    assert found["rows"] < N
    found = json.loads(run("evaluate m.labelkin part.csv --missing-labels no --json")[0])
    assert "known_cells" not in found


def test_what_the_training_was_told_holds_for_new_data(run, tmp_path):
    write_table(tmp_path / "part.csv", "0", "1", 0.4)
    run(f"fit part.csv {KNN} --missing-labels no --out m.labelkin")
    out, err = run("evaluate m.labelkin part.csv --json")
    assert "known_cells" not in json.loads(out)
    assert "missing-labels" not in err


def test_methods_that_need_all_labels(run, tmp_path):
    write_table(tmp_path / "part.csv", "0", "1", 0.4)
    _, err = run("fit part.csv --labels hot,wet --model rakel", code=2)
    assert "RAkELClassifier cannot learn from unknown labels: use KinEnsembleClassifier" in err
    run("fit part.csv --labels hot,wet --model rakel --missing-labels drop")
