"""Groups, time and equal rows in ``labelkin evaluate``."""

import json

import numpy as np
import pandas as pd
import pytest

from labelkin.cli import main


@pytest.fixture
def visits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.RandomState(0)
    X = rng.normal(size=(120, 3)).round(3)
    table = pd.DataFrame(X, columns=list("xyz")).assign(
        red=(X[:, 0] > 0).astype(int),
        blue=(X[:, 1] > 0).astype(int),
        patient=[f"p{i // 4}" for i in range(120)],
        seen=pd.date_range("2024-01-01", periods=120).astype(str),
    )
    table.to_csv("v.csv", index=False)
    return ["evaluate", "v.csv", "-l", "red,blue", "-m", "mlknn", "--folds", "2"]


def test_groups_and_time(visits, capsys):
    assert main([*visits, "--group", "patient"]) == 0
    captured = capsys.readouterr()
    assert "rows with the same patient (30 groups of up to 4 rows) are in one fold" in captured.err
    assert "--ignore patient" in captured.out  # of the command to fit it
    assert main([*visits, "--time", "seen", "--json"]) == 0
    captured = capsys.readouterr()
    assert "patient: 30 categories (--text or --ignore or --group)" in captured.err
    found = json.loads(captured.out)
    assert any("predicted from earlier rows only (by seen)" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--group", "patent"], "patient"),
        (["--time", "patient"], "patient holds 'p0' in row 1, which cannot be read as a date"),
        (["--time", "sen"], "--time sen: v.csv has no such column. Did you mean seen"),
        (["--group", "red", "--folds", "5"], "is a label"),
        (["--time", "0.5"], "--time 0.5: it must be at least one second"),
    ],
)
def test_bad_columns_get_one_sentence(visits, capsys, words, message):
    assert main([*visits, *words]) == 2
    assert message in capsys.readouterr().err


def test_fit_takes_seconds_only(visits, capsys):
    assert main(["fit", "v.csv", "-l", "red,blue", "--time", "seen"]) == 2
    assert "--time seen: here it takes the seconds for --model auto" in capsys.readouterr().err
