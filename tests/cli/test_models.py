"""fit, predict, evaluate, export: from tables of every format to predictions."""

import csv
import gzip
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from labelkin import MLkNNClassifier
from labelkin.cli import evaluate, explain, export, fit, main, predict
from labelkin.cli._options import make_classifier, parse_settings
from labelkin.datasets import write
from labelkin.methods import METHODS
from labelkin.persistence import load_model, model_info, save_model
from labelkin.tabular._fingerprint import count_known_rows, fingerprint
from support.arrays import import_library
from support.data import make_data
from support.tables import VOCABULARY, films, write_films, write_numbers, write_posts

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

LABELS = list(VOCABULARY)
FILMS = ["--text", "plot", "--ignore", "id", "--labels", ",".join(LABELS)]
FAST = ["--model", "mlknn"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Run in a folder with films to learn from and new ones to predict."""
    monkeypatch.chdir(tmp_path)
    write_films("movies.csv", 60)
    write_films("new.csv", 20, seed=1, first=60)
    write_posts("posts.csv", 60)
    write_numbers("numbers.csv")
    return tmp_path


def run(*words):
    return main([str(word) for word in words])


def ok(*words):
    assert run(*words) == 0


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


# --------------------------------------------------------------------- the whole journey


def test_from_a_table_to_predictions(here, capsys):
    ok("fit", "movies.csv", *FILMS, "--set", "n_trees=20")
    shown = capsys.readouterr()
    assert "written: model.labelkin (Kin" in shown.out
    assert "labelkin predict model.labelkin" in shown.out
    assert (
        "60 rows, 3 columns (text: plot; category: country; numeric: runtime), 3 labels"
        in shown.err
    )
    assert "5 missing values in runtime" in shown.err
    ok("predict", "model.labelkin", "new.csv", "--id", "id", "--out", "predictions.csv")
    assert "20 rows" in capsys.readouterr().out
    head, *rows = rows_of("predictions.csv")
    assert head == ["id", "plot", "labels", "confidence", *LABELS]
    truth = films(20, seed=1, first=60)
    assert [row[0] for row in rows] == [row[0] for row in truth]
    right = np.array([row[4:] for row in rows], int) == np.array([row[4:] for row in truth], int)
    assert right.mean() > 0.7
    for row in rows:
        marked = [label for label, mark in zip(LABELS, row[4:], strict=True) if mark == "1"]
        assert row[2] == ";".join(marked)


def test_the_loaded_pipeline_takes_raw_rows(here):
    ok("fit", "movies.csv", *FILMS, *FAST)
    ok("predict", "model.labelkin", "new.csv", "--proba", "--out", "p.csv")
    model = load_model("model.labelkin")
    proba = model.predict_proba(pd.read_csv("new.csv"))
    written = np.array([row[4:] for row in rows_of("p.csv")[1:]], dtype=float)
    np.testing.assert_allclose(written, proba, atol=1e-6)
    assert list(model.label_names_) == LABELS
    info = model_info("model.labelkin")
    assert info.label_names == LABELS
    assert info.details["model"] == "mlknn"


def examples():
    for module in (fit, predict, evaluate, explain, export):
        for line in module.EXAMPLES.splitlines():
            if line.startswith("labelkin "):
                yield line


@pytest.mark.parametrize("line", list(examples()))
def test_examples_of_the_help(line, here):
    command, *words = shlex.split(line)
    assert command == "labelkin"
    if words[0] == "export":
        pytest.importorskip("onnx", reason="needs the extra 'onnx'")
    if "model.labelkin" in words and words[0] != "fit":
        ok("fit", "movies.csv", *FILMS, *FAST, "--embedding", "none")
    if "scenes.labelkin" in words and words[0] != "fit":
        X, Y = make_data()
        from labelkin import MLkNNClassifier

        save_model(MLkNNClassifier().fit(X, Y), "scenes.labelkin")
    # Kin, but a small one; two folds; a second for comparing methods.
    if not {"-m", "--model", "--set", "model.labelkin"} & {*words}:
        words += ["--set", "n_trees=10", "--set", "n_projections=1"]
    if words[0] == "evaluate" and not {"--folds", "model.labelkin"} & {*words}:
        words += ["--folds", "2"]
    if "auto" in words:
        words += ["--time", "1"]  # of two, the last counts
    ok(*words)


@pytest.mark.parametrize("command", ["fit", "predict", "evaluate", "export", ""])
def test_help_shows_the_examples_whole(command, capsys, monkeypatch):
    """What stands in the help can be copied: no line of it is broken at 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    ok(*([command] if command else []), "--help")
    shown = {line.strip() for line in capsys.readouterr().out.splitlines()}
    module = {"fit": fit, "predict": predict, "evaluate": evaluate, "export": export}.get(command)
    text = (
        module.EXAMPLES
        if module
        else "labelkin predict model.labelkin new.csv --out predictions.csv"
    )
    for line in text.splitlines():
        assert any(line.strip() in seen for seen in shown), line


# ------------------------------------------------------------------------------- formats


def write_any(path, X, Y, feature_names, label_names):
    """Write a dataset by labelkin or, in formats that it only reads, by other libraries."""
    if path.endswith(".svm"):
        dump_svmlight_file(X, Y, path, zero_based=False, multilabel=True)
    elif path.endswith(".parquet"):
        columns = np.hstack([X.toarray() if hasattr(X, "toarray") else X, Y])
        pd.DataFrame(columns, columns=[*feature_names, *label_names]).to_parquet(path)
    else:
        write(path, X, Y, feature_names=feature_names, label_names=label_names)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arff", ".svm", ".npz", ".csv.gz"])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_every_format_gives_the_same(suffix, form, here):
    from scipy import sparse

    X, Y = make_data(40)
    X = np.where(X > 0.5, np.round(X, 3), 0)
    names = {"feature_names": [f"f{i}" for i in range(5)], "label_names": list("abcd")}
    data = sparse.csr_matrix(X) if form == "sparse" else X
    write_any(f"train{suffix}", data, Y, **names)
    write_any(f"test{suffix}", data[:9], Y[:9], **names)
    labels = ["--labels", "a,b,c,d"] if suffix.startswith((".csv", ".parquet")) else []
    ok("fit", f"train{suffix}", *labels, *FAST)
    ok("predict", "model.labelkin", f"test{suffix}", "--proba", "--out", "p.csv")
    from labelkin import MLkNNClassifier

    expected = MLkNNClassifier(n_neighbors=10).fit(X, Y).predict_proba(X[:9])
    written = rows_of("p.csv")
    shown = "0123" if suffix == ".svm" else "abcd"  # the format has no names
    assert written[0] == ["row", "labels", "confidence", *shown]
    np.testing.assert_allclose(np.array([r[3:] for r in written[1:]], float), expected, atol=1e-6)
    ok("evaluate", "model.labelkin", f"test{suffix}")


def test_new_rows_of_libsvm_are_read_as_those_of_training(here, capsys):
    """Features count from 0 as in training, though no new row has feature 0 or a label."""
    Path("old.svm").write_text("0 0:1 1:5\n1 1:3 2:1\n0 0:2 2:1\n1 1:4\n0 0:1\n1 1:2 2:1\n")
    Path("new.svm").write_text("1 1:3 2:1\n1 1:4\n")
    Path("unlabelled.svm").write_text(" 1:3 2:1\n 1:4\n")
    ok("fit", "old.svm", *FAST, "--set", "n_neighbors=1")
    for name in ("new", "unlabelled"):
        ok("predict", "model.labelkin", f"{name}.svm", "--out", f"{name}.p.csv")
        assert [row[1] for row in rows_of(f"{name}.p.csv")[1:]] == ["1", "1"]
    assert run("fit", "unlabelled.svm", "--out", "other.labelkin") == 2
    assert "it holds no labels" in capsys.readouterr().err
    # Features that no training row has do not count.
    Path("more.svm").write_text("1 1:3 2:1 7:9\n1 1:4 5:2 7:1\n")
    ok("predict", "model.labelkin", "more.svm", "--out", "more.csv")
    assert Path("more.csv").read_text() == Path("new.p.csv").read_text()
    ok("evaluate", "model.labelkin", "more.svm")
    note = "note: more.svm: 2 features unknown to the model: left out\n"
    assert capsys.readouterr().err.count(note) == 2
    Path("more.svm").write_text("1 5:3 7:9\n")
    assert run("predict", "model.labelkin", "more.svm") == 2
    assert "none of its features is one of the 3 of the model" in capsys.readouterr().err


def test_a_model_reads_other_formats_than_it_was_fitted_on(here):
    X, Y = make_data(40)
    names = {"feature_names": [f"f{i}" for i in range(5)], "label_names": list("abcd")}
    for suffix in (".csv", ".arff", ".npz", ".parquet"):
        write_any(f"d{suffix}", X, Y, **names)
    found = []
    for trained in (".csv", ".npz", ".arff"):
        out = f"m{trained}.labelkin"
        labels = ["--labels", "-4", "--scale", "none"] if trained == ".csv" else []
        ok("fit", f"d{trained}", *labels, *FAST, "--out", out)
        for asked in (".csv", ".arff", ".npz", ".parquet"):
            ok("predict", out, f"d{asked}", "--proba", "--out", "p.csv", "--force")
            found.append(rows_of("p.csv"))
    assert all(one == found[0] for one in found)


def test_new_rows_need_no_labels(here):
    ok("fit", "movies.csv", *FILMS, *FAST)
    write_films("unlabelled.csv", 20, seed=1, first=60, labels=False)
    ok("predict", "model.labelkin", "new.csv", "--out", "a.csv")
    ok("predict", "model.labelkin", "unlabelled.csv", "--out", "b.csv")
    assert rows_of("a.csv") == rows_of("b.csv")


def test_nominal_attributes_mean_their_words(here):
    """Another file may list the same words in another order."""
    head = "@relation r\n@attribute c {%s}\n@attribute x numeric\n@attribute y {0,1}\n@data\n"
    rows = "".join(
        f"{c},{i},{int(c == 'red')}\n" for i, c in enumerate(["red", "green", "blue"] * 8)
    )
    (here / "a.arff").write_text(head % "red,green,blue" + rows)
    (here / "b.arff").write_text(head % "blue,red,green" + rows.replace(",1\n", ",?\n"))
    ok("fit", "a.arff", "--labels", "y", *FAST, "--set", "n_neighbors=1")
    for name in ("a", "b"):
        ok("predict", "model.labelkin", f"{name}.arff", "--out", f"{name}.csv")
    assert rows_of("a.csv") == rows_of("b.csv")
    assert {row[1] for row in rows_of("a.csv")[1:]} == {"y", ""}


def test_one_column_of_tags(here, capsys):
    ok("fit", "posts.csv", "--text", "body", "--labels", "tags", *FAST, "--json")
    shown = json.loads(capsys.readouterr().out)
    assert shown["labels"] == sorted(LABELS)
    ok("evaluate", "model.labelkin", "posts.csv", "--metrics", "f1", "--json")
    assert json.loads(capsys.readouterr().out)["results"]["model.labelkin"]["f1"]["mean"] > 0.6
    text = (here / "posts.csv").read_text().replace("drama", "tragedy")
    (here / "other.csv").write_text(text)
    ok("evaluate", "model.labelkin", "other.csv", "--metrics", "f1", "--json")
    assert "unknown to the model are left out: tragedy" in capsys.readouterr().err
    # Columns of 0 and 1 only on request, since there were none in training.
    ok("predict", "model.labelkin", "posts.csv", "--out", "a.csv")
    assert rows_of("a.csv")[0] == ["row", "body", "labels", "confidence"]
    ok("predict", "model.labelkin", "posts.csv", "--per-label", "--out", "b.csv")
    assert rows_of("b.csv")[0] == ["row", "body", "labels", "confidence", *sorted(LABELS)]


def test_predictions_in_a_workbook(here):
    openpyxl = pytest.importorskip("openpyxl")
    ok("fit", "posts.csv", "--labels", "tags", *FAST)
    texts = ["=1+1 a cop", "a\x07 gang", "two\nlines", "x" * 40_000, *["a plot"] * 2500]
    pd.DataFrame({"body": texts}).to_csv("new.csv", index=False)
    ok("predict", "model.labelkin", "new.csv", "--keep", "all", "--out", "p.xlsx")
    sheet = openpyxl.load_workbook("p.xlsx").active
    assert [cell.value for cell in sheet[1]] == ["row", "body", "labels", "confidence"]
    assert sheet.max_row == 2505  # written in more than one block
    assert [sheet.cell(i, 2).value for i in (2, 3, 4)] == ["=1+1 a cop", "a\ufffd gang", texts[2]]
    assert {sheet.cell(i, 2).data_type for i in range(2, 2506)} == {"s"}  # none is a formula
    assert len(sheet["B5"].value) == 32_767
    assert sheet["D2"].data_type == "n"
    ok("predict", "model.labelkin", "new.csv", "--out", "p.csv")
    assert [sheet.cell(i + 1, 3).value or "" for i in range(1, 6)] == [
        row[2] for row in rows_of("p.csv")[1:6]
    ]


def test_labels_may_be_one_column_of_tags(here, capsys):
    for out, more in (("a.labelkin", []), ("b.labelkin", ["--separator", ";"])):
        ok("fit", "posts.csv", "--labels", "tags", *FAST, *more, "--out", out)
        ok("predict", out, "posts.csv", "--proba", "--out", f"{out}.csv")
    assert rows_of("a.labelkin.csv") == rows_of("b.labelkin.csv")
    # A guess about the file names only options that the command has.
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("reading")]
    shown = [("--category" in line, "--separator" in line) for line in lines]
    assert shown == [(True, True), (True, False)]


def test_lists_in_parquet(here):
    frame = pd.read_csv("posts.csv")
    frame["tags"] = [tags.split("; ") for tags in frame["tags"]]
    frame.to_parquet("posts.parquet")
    ok(
        "fit",
        "posts.parquet",
        "--text",
        "body",
        "--labels",
        "tags",
        *FAST,
        "--out",
        "a.labelkin",
    )
    ok("fit", "posts.csv", "--text", "body", "--labels", "tags", *FAST, "--out", "b.labelkin")
    for name in "ab":
        ok("predict", f"{name}.labelkin", "posts.csv", "--proba", "--out", f"{name}.csv")
    assert rows_of("a.csv") == rows_of("b.csv")


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_delimiters_are_found(delimiter, here):
    write_films("d.csv", 60, delimiter=delimiter)
    ok("fit", "d.csv", *FILMS, *FAST)
    ok("predict", "model.labelkin", "new.csv", "--out", "p.csv")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252"])
def test_encodings(encoding, here):
    text = (here / "movies.csv").read_text().replace("family", "famílía")
    (here / "e.csv").write_bytes(text.encode(encoding))
    ok("fit", "e.csv", *FILMS, *FAST, "--encoding", encoding)


def test_the_encoding_of_the_training_file_is_kept(here, capsys):
    text = "Město;délka;tagy\n" + "".join(
        f"{('Plzeň', 'Žilina', 'Ústí')[i % 3]};{i * i % 11};{('Síť', 'Účet|Síť')[i % 2]}\n"
        for i in range(30)
    )
    (here / "e.csv").write_bytes(text.encode("cp1250"))
    ok("fit", "e.csv", "--labels", "tagy", *FAST)
    # Alone, the few letters of new rows look like another encoding.
    new, predict_new = "Město;délka\nPlzeň;5\n", ["predict", "model.labelkin", "s.csv", "--out"]
    for encoding in ("cp1250", "utf-8"):
        (here / "s.csv").write_bytes(new.encode(encoding))
        ok(*predict_new, f"{encoding}.csv")
    (here / "s.csv").write_bytes(new.encode("mac-latin2"))
    capsys.readouterr()
    assert main(["predict", "model.labelkin", "s.csv"]) == 2
    cure = "Its encoding is guessed as cp1250: if letters are wrong, pass --encoding."
    assert cure in " ".join(capsys.readouterr().err.split())
    ok(*predict_new, "mac.csv", "--encoding", "mac-latin2")


def test_a_byte_order_mark_is_no_part_of_the_name(here):
    (here / "bom.csv").write_bytes(b"\xef\xbb\xbf" + (here / "numbers.csv").read_bytes())
    ok("fit", "bom.csv", "--labels", "a,b", *FAST)
    ok("predict", "model.labelkin", "numbers.csv", "--out", "p.csv")


# ------------------------------------------------------------------- columns of all kinds


def test_categories_keep_leading_zeros_and_unknown_ones_pass(here):
    rows = [["zip", "x", "a", "b"]]
    rows += [[f"0{i % 3}", i / 7, int(i % 3 == 0), int(i % 2)] for i in range(30)]
    (here / "z.csv").write_text("\n".join(",".join(map(str, row)) for row in rows))
    ok("fit", "z.csv", "--labels", "a,b", "--category", "zip", *FAST)
    encoder = (
        load_model("model.labelkin").pipeline_["features"].named_transformers_["category"]["encode"]
    )
    assert list(encoder.categories_[0]) == ["00", "01", "02"]
    (here / "new.csv").write_text("zip,x\n99,1\n,2\n")
    ok("predict", "model.labelkin", "new.csv", "--out", "p.csv")


def test_scale(here):
    text = (here / "numbers.csv").read_text().splitlines()
    wide = [
        text[0],
        *(f"{float(line.split(',')[0]) * 1e6},{line.split(',', 1)[1]}" for line in text[1:]),
    ]
    (here / "wide.csv").write_text("\n".join(wide))
    ok("fit", "wide.csv", "--labels", "a,b", *FAST, "--scale", "robust", "--out", "s.labelkin")
    ok("predict", "s.labelkin", "wide.csv", "--out", "s.csv")
    ok("fit", "digit-scenes", *FAST, "--scale", "minmax", "--out", "t.labelkin")


def test_missing_values_in_a_matrix(here):
    X, Y = make_data(30)
    X[3, 2] = np.nan
    write("gaps.npz", X, Y)
    ok("fit", "gaps.npz", *FAST)
    ok("predict", "model.labelkin", "gaps.npz", "--out", "p.csv")


def test_models_saved_in_python(here):
    from labelkin import MLkNNClassifier

    X, Y = make_data(30)
    frame = pd.DataFrame(X, columns=list("vwxyz"))
    save_model(
        MLkNNClassifier().fit(frame, pd.DataFrame(Y, columns=list("abcd"))), "named.labelkin"
    )
    save_model(MLkNNClassifier().fit(X, Y), "plain.labelkin")
    write("d.npz", X, Y, feature_names=list("vwxyz"))
    frame.to_csv("d.csv", index=False)
    for model, data in (("named", "d.csv"), ("named", "d.npz"), ("plain", "d.npz")):
        ok("predict", f"{model}.labelkin", data, "--proba", "--out", "p.csv", "-f")
        written = np.array([row[3:] for row in rows_of("p.csv")[1:]], float)
        np.testing.assert_allclose(written, MLkNNClassifier().fit(X, Y).predict_proba(X), atol=1e-6)


# ------------------------------------------------------------------------- what is printed


@pytest.fixture
def model(here):
    ok("fit", "movies.csv", *FILMS, *FAST, "--quiet", "--embedding", "none")
    return "model.labelkin"


def test_top(model, capsys):
    capsys.readouterr()
    ok("predict", model, "new.csv", "--top", "2")
    head, *rows = csv.reader(capsys.readouterr().out.splitlines())
    assert head == [
        "id",
        "plot",
        "labels",
        "confidence",
        "label_1",
        "probability_1",
        "label_2",
        "probability_2",
    ]
    for row, (name, plot, *_) in zip(rows, films(20, seed=1, first=60), strict=True):
        assert row[0] == name
        assert row[1] == (plot if len(plot) <= 60 else f"{plot[:59]}…")
        assert 1 >= float(row[5]) >= float(row[7]) >= 0
        assert row[4] in LABELS
    ok("predict", model, "new.csv", "--top", "9", "--proba")
    assert len(capsys.readouterr().out.splitlines()[0].split(",")) == 4 + 2 * 3 + 3


def test_json_lines(model, capsys):
    capsys.readouterr()
    words = ["--top", "1", "--proba", "--quiet", "--keep", "none"]
    ok("predict", model, "new.csv", "--json", *words)
    shown = capsys.readouterr()
    assert shown.err == ""
    rows = [json.loads(line) for line in shown.out.splitlines()]
    assert len(rows) == 20
    assert set(rows[0]) == {"id", "labels", "confidence", "top", "probabilities"}
    assert rows[0]["top"][0]["probability"] == max(rows[0]["probabilities"].values())
    ok("predict", model, "new.csv", "--out", "p.jsonl", "--json")
    assert json.loads(capsys.readouterr().out)["rows"] == 20
    with open("p.jsonl", encoding="utf-8") as file:
        assert [json.loads(line)["labels"] for line in file] == [row["labels"] for row in rows]


def test_parquet(model):
    ok("predict", model, "new.csv", "--id", "id", "--proba", "--out", "p.parquet")
    ok("predict", model, "new.csv", "--id", "id", "--proba", "--out", "p.csv.gz")
    expected = pd.read_csv("p.csv.gz")
    expected["labels"] = expected["labels"].fillna("")
    found = pd.read_parquet("p.parquet")
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)


def test_labels_named_like_our_columns(here):
    text = (here / "numbers.csv").read_text().replace("x,z,a,b", "x,z,row,labels")
    (here / "n.csv").write_text(text)
    ok("fit", "n.csv", "--labels", "row,labels", *FAST)
    ok("predict", "model.labelkin", "n.csv", "--out", "p.csv")
    assert rows_of("p.csv")[0] == [
        "row",
        "predicted_labels_",
        "confidence",
        "predicted_row",
        "predicted_labels",
    ]


@pytest.mark.parametrize("method", ["mlknn", "krr", "logistic", "kin"])
def test_explain(method, here, capsys):
    few = ["--set", "n_trees=10", "--set", "n_projections=2"] if method == "kin" else []
    ok("fit", "movies.csv", *FILMS, "--model", method, "--decide", "cost:FN=2", *few)
    ok("predict", "model.labelkin", "new.csv", "--out", "p.csv")
    predicted = rows_of("p.csv")[3][2]
    capsys.readouterr()
    ok("explain", "model.labelkin", "new.csv", "--row", "3", "--json")
    found = json.loads(capsys.readouterr().out)
    assert ";".join(sorted(one["label"] for one in found["labels"] if one["predicted"])) == (
        ";".join(sorted(filter(None, predicted.split(";"))))
    )
    assert any(one["added"] for one in found["labels"])
    assert bool(found["nearest"]) == (method != "logistic")
    assert bool(found["members"]) == (method in ("krr", "kin"))
    for one in found["labels"] if found["members"] else ():
        assert all(1 <= row["row"] <= 60 for row in one["rows"])
        assert {row["score"] > 0 for row in one["rows"]} == {False, True}
    ok("explain", "model.labelkin", "new.csv", "--row", "3", "--training", "movies.csv")
    text = capsys.readouterr().out
    assert text.startswith('row 3 (tt0062) "')
    assert "training row " not in text
    ok("explain", "model.labelkin", "new.csv", "--row", "3")  # the file is where it was
    assert capsys.readouterr().out == text
    os.rename("movies.csv", "moved.csv")
    ok("explain", "model.labelkin", "new.csv", "--row", "3")
    shown = capsys.readouterr().out
    assert ("training row " in shown) == ("--training FILE" in shown) == (method != "logistic")
    assert ("training rows for and against" in text) == (method in ("krr", "kin"))
    assert ("\n  raw_rbf " in text) == (method == "kin")
    assert (": drama" in text) == (method != "logistic")
    ok("explain", "model.labelkin", "new.csv", "--out", "why.html")
    page = (here / "why.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "http" not in page
    ok("explain", "model.labelkin", "new.csv", "--out", "why.png")
    assert (here / "why.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("method", ["krr", "logistic"])
def test_explain_shows_words_as_they_are_written(method, here, capsys):
    rows = ["Größe zu klein hier,1,0", "Straße für Fußgänger gesperrt,0,1"]
    (here / "w.csv").write_text("t,a,b\n" + "\n".join(rows * 10), encoding="utf-8")
    ok("fit", "w.csv", "--labels", "a,b", "--model", method)
    ok("explain", "model.labelkin", "w.csv", "--row", "1", "--json")
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    parts = {part["part"] for label in found["labels"] for part in label["added"]}
    assert "Größe" in parts
    assert "große" not in parts


def test_other_rows_tell_the_order_of_the_dates_of_a_row(here, capsys):
    rows = [f"2025-{month:02}-{day:02},{month % 2},1" for month in (3, 4) for day in range(1, 9)]
    (here / "d.csv").write_text("when,a,b\n" + "\n".join(rows))
    ok("fit", "d.csv", "--labels", "a,b", "--model", "logistic", "-q")
    (here / "d.csv").write_text("when\n25/03/2025\n03/04/2025\n")
    ok("explain", "model.labelkin", "d.csv", "--row", "2")
    assert "2025-04-03" in capsys.readouterr().out


def test_explain_escapes_what_it_shows(here):
    rows = "".join(f"<b>x{i % 2}</b> some words here $a,{i % 2},1\n" for i in range(12))
    (here / "odd.csv").write_text("t,<i>,b\n" + rows)
    ok("fit", "odd.csv", "--text", "t", "--labels", "<i>,b", "-m", "mlknn", "-q")
    ok("explain", "model.labelkin", "odd.csv", "--out", "why.html")
    page = (here / "why.html").read_text(encoding="utf-8")
    assert "<b>" not in page
    assert "<i>" not in page
    ok("explain", "model.labelkin", "odd.csv", "--out", "why.png")


def test_columns_kept_and_confidence(model):
    words = ["predict", model, "new.csv", "--id", "id", "--keep", "country,runtime", "--proba"]
    ok(*words, "--out", "p.csv")
    head, *rows = rows_of("p.csv")
    assert head == ["id", "country", "runtime", "labels", "confidence", *LABELS]
    truth = films(20, seed=1, first=60)
    assert [row[1:3] for row in rows] == [[row[2], str(row[3])] for row in truth]
    for row in rows:
        proba = np.array(row[5:], dtype=float)
        assert float(row[4]) == pytest.approx(np.maximum(proba, 1 - proba).min(), abs=1e-4)
    ok("predict", model, "new.csv", "--keep", "all", "--out", "all.jsonl")
    with open("all.jsonl", encoding="utf-8") as file:
        first = json.loads(file.readline())
    assert first["plot"] == truth[0][1]
    assert isinstance(first["predicted_labels"], list)
    # If the true labels are kept, the columns of predictions have another name.
    ok("predict", model, "new.csv", "--keep", "drama", "--out", "beside.csv")
    predicted = [f"predicted_{name}" for name in LABELS]
    head = ["id", "drama", "predicted_labels", "confidence", *predicted]
    assert rows_of("beside.csv")[0] == head


def test_tables_with_tabs(model):
    ok("predict", model, "new.csv", "--out", "p.csv")
    for name, opened in (("p.tsv", open), ("p.tsv.gz", gzip.open)):
        ok("predict", model, "new.csv", "--out", name)
        with opened(name, "rt", encoding="utf-8") as file:
            assert list(csv.reader(file, delimiter="\t")) == rows_of("p.csv")


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_blocks_give_what_the_whole_gives(model, suffix, monkeypatch):
    words = ["predict", model, "new.csv", "--proba", "--top", "2"]
    ok(*words, "--out", f"a.{suffix}")
    monkeypatch.setattr(predict, "_BLOCK", 7)
    ok(*words, "--out", f"b.{suffix}")
    if suffix == "parquet":
        pd.testing.assert_frame_equal(pd.read_parquet("a.parquet"), pd.read_parquet("b.parquet"))
    else:
        with open(f"a.{suffix}", "rb") as a, open(f"b.{suffix}", "rb") as b:
            assert a.read() == b.read()


def test_rows_are_written_before_the_next_are_predicted(model, monkeypatch, capsys):
    from labelkin.cli._data import SavedModel

    monkeypatch.setattr(predict, "_BLOCK", 7)
    own, written = SavedModel.predict, []

    def predict_after_reading(self, X):
        written.append(capsys.readouterr().out.count("\n"))
        return own(self, X)

    monkeypatch.setattr(SavedModel, "predict", predict_after_reading)
    ok("predict", model, "new.csv", "-q")
    assert written[1:] == [8, 7]  # with the header; the last six follow


def test_identifiers_keep_their_zeros(here, capsys):
    lines = [f"{i:05},{i % 7},{i % 2}" for i in range(1, 41)]
    (here / "z.csv").write_text("\n".join(["customer_id,x,y", *lines]))
    ok("fit", "z.csv", "--labels", "y", *FAST)
    capsys.readouterr()
    ok("predict", "model.labelkin", "z.csv")
    shown = capsys.readouterr()
    assert shown.out.splitlines()[1].startswith("00001,")
    assert "confidence: the probability that the decision" in shown.err


def test_rows_are_named_by_the_identifier_without_gaps(here, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"url": [f"http://x.org/{i}" for i in range(60)]})
    frame.loc[frame.index % 5 < 2, "url"] = None
    frame = frame.assign(code=[f"c{i}" for i in range(60)], ID=rng.permutation(60) + 500)
    frame = frame.assign(x=rng.integers(5, size=60), y=[0, 1] * 30)
    for absent in ([], ["ID"], ["ID", "code"]):
        frame.drop(columns=absent).to_csv("t.csv", index=False)
        frame.drop(columns=absent).head(9).to_csv("new.csv", index=False)
        ok("fit", "t.csv", "--labels", "y", "--model", "mlknn", "--overwrite")
        ok("predict", "model.labelkin", "new.csv", "--out", "p.csv", "--overwrite")
        used = ["ID", "code", "url"][len(absent)]
        assert rows_of("p.csv")[0][0] == used
        assert rows_of("p.csv")[1][0] == str(frame[used][0] if len(absent) < 2 else "")
        capsys.readouterr()
        ok("explain", "model.labelkin", "new.csv")
        nearest = capsys.readouterr().out
        assert ("  training row " in nearest) == (used == "url")


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_identifiers_are_recognised_whatever_their_case(suffix, here, capsys):
    frame = pd.DataFrame({"respnr": np.arange(40) + 7000, "x": np.arange(40) % 7})
    frame.assign(y=frame["x"] % 2).to_csv("old.csv", index=False)
    ok("fit", "old.csv", "--labels", "y", *FAST)
    new = frame.rename(columns={"respnr": "Resp Nr", "x": "X"})
    new["Resp Nr"] = [f"{i:05}" for i in new["Resp Nr"]]
    write = {".csv": new.to_csv, ".jsonl": new.to_json, ".parquet": new.to_parquet}[suffix]
    how = {"orient": "records", "lines": True} if suffix == ".jsonl" else {"index": False}
    write(f"new{suffix}", **how)
    for options in ([], ["--id", "respnr"], ["--id", "Resp Nr"], ["--keep", "RESPNR"]):
        capsys.readouterr()
        ok("predict", "model.labelkin", f"new{suffix}", *options)
        shown = capsys.readouterr()
        assert [line.split(",")[0] for line in shown.out.splitlines()[:2]] == ["respnr", "07000"]
        assert "column Resp Nr read as respnr" in shown.err
    del new["Resp Nr"]
    write = {".csv": new.to_csv, ".jsonl": new.to_json, ".parquet": new.to_parquet}[suffix]
    write(f"new{suffix}", **how)
    capsys.readouterr()
    ok("predict", "model.labelkin", f"new{suffix}")
    shown = capsys.readouterr()
    assert shown.out.splitlines()[1].startswith("1,")
    assert "respnr" not in shown.err


def test_labels_that_are_whole_numbers_stay_such_in_json(here, capsys):
    rows = [{"x": i, "z": i % 3, "tags": [[0, 14], [3], []][i % 3]} for i in range(30)]
    (here / "n.jsonl").write_text("\n".join(map(json.dumps, rows)))
    ok("fit", "n.jsonl", "--labels", "tags", *FAST)
    capsys.readouterr()
    ok("predict", "model.labelkin", "n.jsonl", "--json", "--threshold", "0", "--proba")
    found = json.loads(capsys.readouterr().out.splitlines()[0])
    assert found["labels"] == [0, 3, 14]
    assert [*found["probabilities"]] == ["0", "3", "14"]


def test_labels_are_written_with_the_separator_of_training(here):
    text = (here / "posts.csv").read_text().replace("; ", "|")
    (here / "posts.csv").write_text(text)
    ok("fit", "posts.csv", "--labels", "tags", *FAST)
    ok("predict", "model.labelkin", "posts.csv", "--decide", "cost:FN=9", "--out", "p.csv")
    assert "|" in {letter for row in rows_of("p.csv")[1:] for letter in row[2]}


def test_labels_that_contain_the_separator_are_joined_by_another(here):
    text = (here / "numbers.csv").read_text().replace("x,z,a,b", "x,z,a;b,c")
    (here / "n.csv").write_text(text)
    ok("fit", "n.csv", "--labels", "a;b,c", *FAST)
    ok("predict", "model.labelkin", "n.csv", "--threshold", "0", "--out", "p.csv")
    assert rows_of("p.csv")[1][1] == "a;b|c"


def test_labels_have_the_order_of_the_option(here, capsys):
    listed = [*FILMS[:-1], ",".join(LABELS[::-1])]
    for words, order in ((FILMS, LABELS), (listed, LABELS[::-1])):
        ok("fit", "movies.csv", *words, *FAST, "--overwrite", "-q")
        ok("predict", "model.labelkin", "new.csv", "--out", "p.csv", "--overwrite", "-q")
        assert rows_of("p.csv")[0][-3:] == order
        capsys.readouterr()
        ok("evaluate", "model.labelkin", "movies.csv", "--json")
        if order == LABELS:
            expected = json.loads(capsys.readouterr().out)["results"]
    found = json.loads(capsys.readouterr().out)["results"]
    for metric, value in expected["model.labelkin"].items():
        assert found["model.labelkin"][metric] == pytest.approx(value)


def test_decisions_when_fitting_and_predicting(here):
    def labels(*words):
        ok("predict", "model.labelkin", "new.csv", "--out", "p.csv", "--overwrite", *words)
        return np.array([row[4:] for row in rows_of("p.csv")[1:]], dtype=int)

    ok("fit", "movies.csv", *FILMS, "--model", "krr")
    plain = labels()
    proba = load_model("model.labelkin").predict_proba(pd.read_csv("new.csv"))
    np.testing.assert_array_equal(plain, proba > 0.5)
    np.testing.assert_array_equal(labels("--threshold", "0.3"), proba > 0.3)
    np.testing.assert_array_equal(labels("--decide", "cost:FN=4"), proba > 0.2)
    np.testing.assert_array_equal(labels("--decide", "cost:FN=1,FP=3"), proba > 0.75)
    one = labels("--threshold", "0.3", "--threshold", "comedy=0.9")
    np.testing.assert_array_equal(one, proba > [0.3, 0.9, 0.3])
    by_f1 = labels("--decide", "f1")
    assert (by_f1 >= plain).all() or (by_f1 <= plain).all()
    ok("fit", "movies.csv", *FILMS, "--model", "krr", "--decide", "f1", "--overwrite")
    np.testing.assert_array_equal(labels(), by_f1)
    np.testing.assert_array_equal(labels("--decide", "fixed"), plain)
    np.testing.assert_array_equal(
        load_model("model.labelkin").predict(pd.read_csv("new.csv")), by_f1
    )
    ok("fit", "movies.csv", *FILMS, *FAST, "--threshold", "drama=0.1", "--overwrite")
    proba = load_model("model.labelkin").predict_proba(pd.read_csv("new.csv"))
    np.testing.assert_array_equal(labels(), proba > [0.1, 0.5, 0.5])


def test_evaluate_by_cross_validation(here, capsys):
    words = ["evaluate", "movies.csv", *FILMS, "--folds", "3", "--model", "mlknn,br"]
    ok(*words)
    shown = capsys.readouterr().out
    assert re.search(r"Micro F1 ↑\s+\d+\.\d\d ± \d+\.\d\d\s+\d+\.\d\d ± \d+\.\d\d", shown)
    assert "share of rows with every label right" in shown
    assert re.search(r"^(ML-kNN|BR), by label:$", shown, re.M)
    best = re.search(r"^best: (\w+), Micro F1 .* of 3 folds$", shown, re.M)[1]
    given = "fit movies.csv --labels drama,comedy,crime --text plot --ignore id"
    assert shown.endswith(f"next: labelkin {given} --model {best}\n")
    ok(*words, "--metrics", "paper", "--json")
    shown = json.loads(capsys.readouterr().out)
    assert {row["label"] for row in shown["per_label"]} == set(LABELS)
    f1 = [row["f1"] for row in shown["per_label"]]
    assert f1 == sorted(f1)
    assert list(shown["results"]) == ["mlknn", "br"]
    figures = shown["results"]["mlknn"]["average_precision"]
    assert len(figures["folds"]) == 3
    assert figures["mean"] == pytest.approx(np.mean(figures["folds"]))
    assert figures["std"] == pytest.approx(np.std(figures["folds"], ddof=1))
    words += ["--metrics", "paper"]
    ok(*words, "--json")
    again = json.loads(capsys.readouterr().out)
    assert again["results"]["br"]["f1"] == shown["results"]["br"]["f1"]
    ok(*words, "--json", "--seed", "5", "--repeats", "2")
    other = json.loads(capsys.readouterr().out)["results"]["br"]["f1"]
    assert len(other["folds"]) == 6


def test_auto_takes_the_best_within_the_time(here, capsys):
    ok("fit", "movies.csv", *FILMS, "--model", "auto", "--time", "1")
    shown = capsys.readouterr().out
    best = re.search(r"^best:    (\w+), Micro F1", shown, re.M)[1]
    assert model_info("model.labelkin").details["model"] == best
    ok("evaluate", "movies.csv", *FILMS, "--model", "auto", "--time", "1", "--json")
    found = json.loads(capsys.readouterr().out)
    assert found["best"] in found["results"]
    folds = {len(one["micro_f1"].get("folds", [0])) for one in found["results"].values()}
    assert folds == {found["folds_done"]}


def test_evaluating_on_training_rows_is_remarked_on(here, capsys):
    ok("fit", "movies.csv", *FILMS, *FAST)
    capsys.readouterr()
    ok("evaluate", "model.labelkin", "movies.csv", "--per-label")
    shown = capsys.readouterr()
    assert "60 of 60 rows are among those the model was trained on" in shown.err
    ok("evaluate", "model.labelkin", "movies.csv", "--json", "-q")
    assert json.loads(capsys.readouterr().out)["training_rows"] == 60
    first, *rows = (here / "movies.csv").read_text().splitlines()
    other = [row.replace(" ", " entirely ", 1) for row in rows[1:]]
    (here / "other.csv").write_text("\n".join([first, rows[0], *other]))
    ok("evaluate", "model.labelkin", "other.csv")
    assert "1 of 60 rows is among those" in (shown := capsys.readouterr().err)
    assert "may be slightly too good" in shown


def test_fingerprints_of_many_rows():
    from scipy import sparse

    rows = np.random.default_rng(0).random((4000, 3)) * [1, 0, 1]
    for form in (np.asarray, pd.DataFrame, sparse.csr_matrix):
        known = fingerprint(form(rows[:3000]))
        assert len(known) == 1000
        assert count_known_rows(form(rows[3000:]), known) == 0
        assert count_known_rows(form(rows[:3000]), known) == 3000
        assert count_known_rows(form(rows), known) == pytest.approx(3000, rel=0.1)


def test_fingerprints_without_the_last_digits():
    rows = np.random.default_rng(0).random((50, 3)) * [1, 1e9, 1]
    rows[:, 1] = rows[:, 1].round()
    hours = rows.astype(np.float32).astype(float)
    hours[:, 2] = rows[:, 2] + 1e-16
    hours[:, 1] = rows[:, 1]  # whole numbers, such as those of items, are compared exactly
    for form in (np.asarray, pd.DataFrame):
        known = fingerprint(form(rows))
        assert count_known_rows(form(hours), known) == 50
        assert count_known_rows(form(rows + np.eye(3)[1]), known) == 0


def test_rows_without_labels_are_counted(here, capsys):
    ok("fit", "numbers.csv", "--labels", "a,b", *FAST)
    with open("some.csv", "w") as file:
        file.write("x,z,a,b\n" + "".join(f"{i},{i % 3},{i % 4 == 0:d},0\n" for i in range(8)))
    capsys.readouterr()
    ok("evaluate", "model.labelkin", "some.csv", "--metrics", "paper")
    assert (
        "6 of 8 rows have no label: one-error cannot fall below 75.0 %" in capsys.readouterr().err
    )


def test_cross_validation_is_what_python_gives(here, capsys):
    from labelkin import MLkNNClassifier
    from labelkin.metrics import evaluate as figures_of
    from labelkin.model_selection import RepeatedIterativeStratifiedKFold

    X, Y = make_data(60)
    write("d.npz", X, Y)
    ok("evaluate", "d.npz", *FAST, "--folds", "4", "--json", "--seed", "3", "--metrics", "paper")
    shown = json.loads(capsys.readouterr().out)["results"]["mlknn"]
    splits = RepeatedIterativeStratifiedKFold(n_splits=4, n_repeats=1, random_state=3)
    for i, (train, test) in enumerate(splits.split(X, Y)):
        model = MLkNNClassifier(n_neighbors=10).fit(X[train], Y[train])
        expected = figures_of(Y[test], model.predict_proba(X[test]), model.predict(X[test]))
        for name, value in expected.items():
            assert shown[name]["folds"][i] == pytest.approx(value), name


def test_evaluate_a_scikit_learn_classifier(here, capsys):
    ok("evaluate", "numbers.csv", "--labels", "a,b", "--folds", "2", "--model",
       "sklearn.neighbors:KNeighborsClassifier", "--metrics", "all", "--json")  # fmt: skip
    assert "KNeighborsClassifier" in json.loads(capsys.readouterr().out)["results"]


def test_quiet(here, capsys):
    ok("fit", "movies.csv", *FILMS, *FAST, "-q")
    assert capsys.readouterr() == ("", "")
    ok("predict", "model.labelkin", "new.csv", "-q", "--out", "p.csv")
    assert capsys.readouterr() == ("", "")


def test_export(model, capsys):
    pytest.importorskip("onnx", reason="needs the extra 'onnx'")
    capsys.readouterr()
    ok("export", model, "m.onnx", "--json")
    shown = json.loads(capsys.readouterr().out)
    assert shown["out"] == "m.onnx"
    assert shown["labels"] == LABELS
    with open("m.onnx", "rb") as file:
        assert len(file.read()) == shown["bytes"]


# ------------------------------------------------------------------------------- settings


def test_settings_are_typed():
    given = ["a=1", "b=0.5", "c=soft", "d=true", "e=None", "f=(0.2, 1)", "g='x'", "h=-1"]
    assert parse_settings(given) == {
        "a": 1, "b": 0.5, "c": "soft", "d": True, "e": None, "f": (0.2, 1), "g": "x", "h": -1
    }  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_every_method_can_be_chosen(name, here):
    X, Y = make_data(30)
    write("d.csv", X, Y)
    sizes = {"n_estimators": 4, "n_projections": 1, "n_trees": 10}
    few = [f"{key}={sizes[key]}" for key in sizes.keys() & METHODS[name].make(0).get_params()]
    ok("fit", "d.csv", "--labels", "-4", "--model", name, *(f"--set={text}" for text in few))
    ok("predict", "model.labelkin", "d.csv", "--out", "p.csv")


def test_a_pipelines_last_step_takes_settings():
    model = make_classifier(METHODS["mlknn_scaled"], {"n_neighbors": 4}, 0)
    assert model[-1].n_neighbors == 4


def test_the_seed_matters_and_repeats(here):
    for out, seed in (("a", 0), ("b", 0), ("c", 1)):
        ok("fit", "numbers.csv", "-l", "a,b", "-m", "vpcme", "--set", "n_estimators=2",
           "--seed", seed, "--out", f"{out}.labelkin")  # fmt: skip
        ok("predict", f"{out}.labelkin", "numbers.csv", "--proba", "--out", f"{out}.csv")
    assert rows_of("a.csv") == rows_of("b.csv") != rows_of("c.csv")


def test_another_device(here, monkeypatch):
    """The same predictions, fitted there and loaded here, and the other way round."""
    strict = import_library()
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    from labelkin import rows
    from labelkin.tabular import _pipeline

    def move(X, Y, device):
        assert device == "cuda"
        parts = (part.toarray() if hasattr(part, "toarray") else part for part in (X, Y))
        return tuple(None if part is None else strict.asarray(part) for part in parts)

    for module in (rows, _pipeline):
        monkeypatch.setattr(module, "move_to_device", move)
    cuda = ["--device", "cuda"]
    for name, where in (("here", []), ("there", cuda)):
        ok("fit", "movies.csv", *FILMS, *FAST, *where, "-o", f"{name}.labelkin")
        for again, asked in (("here", []), ("there", cuda)):
            out = f"{name}-{again}.csv"
            ok("predict", f"{name}.labelkin", "new.csv", "--proba", *asked, "--out", out)
    tables = [rows_of(path) for path in sorted(here.glob("*here-*here.csv"))]
    assert len(tables) == 4
    expected = np.array([row[3:] for row in tables[0][1:]], float)
    for table in tables:
        np.testing.assert_allclose(
            np.array([row[3:] for row in table[1:]], float), expected, atol=1e-5
        )
    ok("evaluate", "movies.csv", *FILMS, *FAST, *cuda, "--folds", "2")


def test_completion(here):
    """The shell completes commands, options and methods."""
    for words, expected in (
        ("labelkin ev", "evaluate"),
        ("labelkin fit d.csv --model vp", "vpcme"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "labelkin"],
            capture_output=True,
            text=True,
            check=False,
            env={
                **os.environ,
                "_LABELKIN_COMPLETE": "complete_bash",
                "COMP_WORDS": words,
                "COMP_CWORD": str(len(words.split()) - 1),
            },
        )
        assert expected in done.stdout, done.stderr


# --------------------------------------------------------------------- spreadsheets, accents


def test_formulas(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = [
        "=1+2",
        "+cmd|' /C calc'!A0",
        "-2+3",
        "@SUM(A1)",
        "\ta",
        "-5",
        "+1.5e-3",
        "a=b",
        "x\ry",
    ]
    frame = pd.DataFrame({"x": range(36), "t": cells * 4, "=y": [0, 1] * 18, "z": [1, 0, 0] * 12})
    frame.to_csv("t.csv", index=False, quoting=csv.QUOTE_ALL)
    ok("fit", "t.csv", "--labels", "=y,z", "--category", "t", *FAST)
    ok("predict", "model.labelkin", "t.csv", "--keep", "t", "--out", "a.csv")
    head, *rows = rows_of("a.csv")
    assert [row[1] for row in rows] == cells * 4
    assert "=y" in head
    assert list(pd.read_csv("a.csv")["t"]) == [row[1] for row in rows]
    ok("predict", "model.labelkin", "t.csv", "--keep", "t", "--no-formulas", "--out", "b.csv")
    head, *rows = rows_of("b.csv")
    assert "'=y" in head
    assert [row[1] for row in rows[:9]] == [*(f"'{cell}" for cell in cells[:5]), *cells[5:]]
    assert all(not row[2].startswith("=") for row in rows)


def test_accents_in_both_normal_forms(tmp_path, monkeypatch):
    """A letter with an accent is one character, or two: which one, is not to be seen."""
    monkeypatch.chdir(tmp_path)
    one, two = "\u00e9t\u00e9", "e\u0301te\u0301"
    lines = [f"{i},{'ab'[i % 2]} {two},{i % 2},{i % 3 == 0:d}" for i in range(40)]
    (tmp_path / "t.csv").write_text(f"x,mot {two},{two},b\n" + "\n".join(lines), "utf-8")
    (tmp_path / "u.csv").write_text(
        (tmp_path / "t.csv").read_text("utf-8").replace(two, one), "utf-8"
    )
    for name in (one, two):
        command = ["fit", "t.csv", "--labels", f"{name},b", "--category", f"mot {name}", *FAST]
        ok(*command, "--overwrite")
        assert model_info("model.labelkin").label_names == [one, "b"]
        for data in ("t.csv", "u.csv"):
            keep = ["--keep", f"mot {name}", "--overwrite"]
            ok("predict", "model.labelkin", data, *keep, "--out", f"{data[0]}_p.csv")
        assert rows_of("t_p.csv")[1:] == rows_of("u_p.csv")[1:]
        assert rows_of("t_p.csv")[1][1] == f"a {one}"
    pd.read_csv("t.csv").to_parquet("t.parquet")
    ok("evaluate", "t.parquet", "--labels", f"{one},b", *FAST)


def test_a_model_of_a_list_of_texts_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    texts = ["red car", "blue car", "red bus", "blue bus"] * 5
    model = make_pipeline(TfidfVectorizer(), MLkNNClassifier(3)).fit(texts, [[1, 0], [0, 1]] * 10)
    save_model(model, "texts.labelkin")
    Path("new.csv").write_text("text\nred car\nblue car\n")
    assert main(["predict", "texts.labelkin", "new.csv"]) == 2
    assert "takes a list of texts, not a table; fit a TableClassifier" in capsys.readouterr().err


@pytest.mark.parametrize("model", [MLkNNClassifier(), make_pipeline(MLkNNClassifier())])
def test_an_unfitted_model_is_refused(model, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    save_model(model, "model.labelkin")
    Path("new.csv").write_text("x\n1\n2\n")
    assert main(["predict", "model.labelkin", "new.csv"]) == 2
    name = type(model).__name__
    assert f"model.labelkin holds a {name} that is not fitted." in capsys.readouterr().err
