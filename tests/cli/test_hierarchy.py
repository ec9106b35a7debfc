"""Nested labels on the command line: given, guessed, and refused."""

import json

import numpy as np
import pandas as pd
import pytest

from labelkin.cli import main


@pytest.fixture
def tags(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.RandomState(0)
    X = rng.normal(size=(150, 3)).round(3)
    is_science, is_art = (X[:, 0] > 0).tolist(), (X[:, 2] > 0).tolist()
    rows = [
        ";".join(filter(None, [s * ("science/physics" if p else "science"), a * "art"])) or "art"
        for s, p, a in zip(is_science, X[:, 1] > 0, is_art, strict=True)
    ]
    pd.DataFrame(X, columns=list("xyz")).assign(tags=rows).to_csv("t.csv", index=False)
    return "t.csv"


def run(capsys, *words):
    code = main([str(word) for word in words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_guessed_hierarchy_is_printed_and_kept_to(tags, capsys):
    code, _, err = run(capsys, "fit", tags, "-l", "tags", "-m", "logistic", "--decide", "macro_f1")
    assert code == 0
    assert "labels are nested, such as science > science/physics (--hierarchy)" in err
    _, out, _ = run(capsys, "evaluate", "model.labelkin", tags, "--json", "--metrics", "macro_f1")
    counts = {one["label"]: one["rows"] for one in json.loads(out)["per_label"]}
    assert counts["science"] > counts["science/physics"] > 0  # every physics is a science


def test_given_files_and_separators(tags, capsys, tmp_path):
    words = ["evaluate", tags, "-l", "tags", "-m", "logistic", "--folds", "2", "--hierarchy"]
    one = "1 parent–child pair, for example science > "
    (tmp_path / "h.csv").write_text("parent,child\nscience,art\n")
    assert f"{one}art\n" in run(capsys, *words, "h.csv")[2]
    (tmp_path / "h.csv").write_text("child,parent\nart,science\n")
    assert f"{one}art\n" in run(capsys, *words, "h.csv")[2]
    assert f"{one}science/physics\n" in run(capsys, *words, "/")[2]
    assert "parent–child" not in run(capsys, *words, "none")[2]
    (tmp_path / "bad.csv").write_text("science,art\nart,science\n")
    for value, message in {
        "bad.csv": "hierarchy has a cycle, art → science → art: take out one of these pairs.",
        "no.csv": "no.csv cannot be read as a hierarchy: No such file or directory.",
        "#": "--hierarchy '#' separates no label from its parent",
    }.items():
        code, _, err = run(capsys, *words, value)
        assert code == 2
        assert message in err


def test_parents_that_no_row_has(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    tags = ["art/film", "art/music", "art/film;sport", "art/music;sport"] * 10
    lines = [f"{i % 7},{row}\n" for i, row in enumerate(tags)]
    (tmp_path / "t.csv").write_text("x,tags\n" + "".join(lines))
    words = ["fit", "t.csv", "--labels", "tags", "-m", "mlknn", "--overwrite"]
    assert main(words) == 0
    note = "2 labels not split at '/', such as 'art/film' "
    note += "(set --separator ';' --separator '/' or --hierarchy)"
    assert note in capsys.readouterr().err
    assert main([*words, "--hierarchy", "/"]) == 0
    err = capsys.readouterr().err
    assert "2 parent–child pairs, for example art > art/" in err
    assert "(not predicted, as no row has it: art)" in err
    assert "not split" not in err
