"""Features in one file, and their labels in a table beside it."""

import json

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

from labelkin import MLkNNClassifier, TableClassifier
from labelkin.cli import main
from labelkin.datasets import read_table
from labelkin.tabular import split_labels

N = 60
X = np.random.default_rng(0).normal(size=(N, 5)).astype(np.float32).round(2)
Y = (X[:, :2] > 0).astype(int)
SETS = [[name for name, has in zip(["cat", "dog"], row, strict=True) if has] for row in Y]
IDS = [f"{i}.jpg" for i in range(N)]
TRUTH = pd.DataFrame(Y, columns=["cat", "dog"])


def arrays(path):
    np.save(path.with_suffix(".npy"), X)
    return path.with_suffix(".npy")


def sparse_matrix(path):
    sparse.save_npz(path.with_suffix(".npz"), sparse.csr_matrix(X * (np.abs(X) > 0.9)))
    return path.with_suffix(".npz")


def archive(path):
    np.savez(path.with_suffix(".npz"), X=X, y=np.arange(N) % 3)
    return path.with_suffix(".npz")


def own_archive(path):
    from labelkin.datasets import write

    write(path.with_suffix(".npz"), X, Y[:, :1], label_names=["old"])
    return path.with_suffix(".npz")


def table(path):
    pd.DataFrame(X, columns=list("abcde")).to_csv(path.with_suffix(".csv"), index=False)
    return path.with_suffix(".csv")


@pytest.fixture
def run(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments, code=0):
        found = main([str(word) for word in arguments])
        out, err = capfd.readouterr()
        assert found == code, err
        return json.loads(out) if "--json" in arguments else out + err

    return run


def write_labels(path, **columns):
    """Write a table of labels in the form that its suffix tells."""
    frame = pd.DataFrame(columns)
    if path.suffix == ".xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(path, index=False)
    elif path.suffix == ".json":
        frame.to_json(path, orient="records")
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep=";" if path.stem == "german" else ",")
    return path


@pytest.mark.parametrize("make", [arrays, sparse_matrix, archive, own_archive, table])
def test_columns_of_zero_and_one_are_labels(run, tmp_path, make):
    data = make(tmp_path / "emb")
    if data.suffix == ".npy":  # the labels that are named come before those of a pair
        data = data.rename(tmp_path / "X_train.npy")
        np.save(tmp_path / "y_train.npy", np.arange(N) % 3)
    write_labels(tmp_path / "labels.csv", image=IDS, cat=Y[:, 0], dog=Y[:, 1])
    said = run("fit", data, "--y", "labels.csv", "-m", "logistic")
    assert "labels cat, dog; other columns of labels.csv left out: image (--labels)" in said
    assert "2 labels" in said
    assert "classes" not in said  # which the file itself may hold
    assert "image: numbers in jpg" not in said  # it is no feature
    found = run("evaluate", "model.labelkin", data, "--y", "labels.csv", "--json")
    assert found["results"]["model.labelkin"]["micro_f1"]["mean"] > 0.5
    rows = run("predict", "model.labelkin", data, "-q").splitlines()
    assert rows[0] == "row,labels,confidence,cat,dog"
    assert len(rows) == N + 1


@pytest.mark.parametrize("name", ["german.csv", "l.xlsx", "l.json", "l.parquet"])
def test_a_column_of_tags(run, tmp_path, name):
    data = arrays(tmp_path / "emb")
    path = write_labels(tmp_path / name, image=IDS, tags=["|".join(one) for one in SETS])
    said = run("fit", data, "--y", path, "--labels", "tags", "-m", "logistic")
    assert "labels: cat (" in said
    assert "empty cells of tags mean no label" in said
    assert run("evaluate", "model.labelkin", data, "--y", path, "--json")["rows"] == N
    said = run("evaluate", data, "--y", path, "-l", "tags", "-m", "mlknn", "--folds", 2)
    assert f"labelkin fit {data} --labels tags --y {path}" in said


def test_labels_by_name_and_by_count(run, tmp_path):
    data = arrays(tmp_path / "emb")
    write_labels(tmp_path / "l.csv", cat=Y[:, 0], dog=Y[:, 1], bird=Y[:, 0])
    pd.read_csv("l.csv").replace({"bird": {0: "absent", 1: "present"}}).to_csv("l.csv", index=False)
    assert "3 labels" in run("fit", data, "--y", "l.csv", "-m", "mlknn")
    for labels, n in (("dog,bird", 2), ("-2", 2), ("dog", 1)):
        said = run("fit", data, "--y", "l.csv", "--labels", labels, "-m", "mlknn", "-f")
        assert f"{n} label" in said


def test_unknown_labels_are_read_as_those_of_tables(run, tmp_path):
    data = arrays(tmp_path / "emb")
    cat = [None, *Y[1:, 0]]
    write_labels(tmp_path / "l.csv", cat=cat, dog=Y[:, 1])
    said = run("fit", data, "--y", "l.csv", "-m", "logistic", "--missing-labels", "drop")
    assert f"{N - 1} rows" in said
    assert "1 row with empty label cells left out" in said
    said = run("evaluate", "model.labelkin", data, "--y", "l.csv")
    assert f"{N - 1} rows" in said


def test_errors_name_the_file_of_the_labels(run, tmp_path):
    data = arrays(tmp_path / "emb")
    write_labels(tmp_path / "l.csv", image=IDS, tags=["|".join(one) for one in SETS])
    said = run("fit", data, "--y", "l.csv", code=2)
    assert "l.csv: the label columns are unknown; name them with --labels" in said
    assert "Its columns are image, tags." in said
    said = run("fit", data, "--y", "l.csv", "--labels", "tag", code=2)
    assert "l.csv: no column 'tag'. Columns that could be meant: tags." in said
    write_labels(tmp_path / "short.csv", cat=Y[1:, 0])
    said = run("fit", data, "--y", "short.csv", code=2)
    assert f"short.csv: it has 59 rows, and {data} has 60; " in said
    assert "There is no file none.csv." in run("fit", data, "--y", "none.csv", code=2)
    said = run("fit", data, "--labels", "tags", code=2)
    assert (
        "arrays have no named columns; leave out --labels, or name a file of labels with --y"
        in said
    )


def test_in_python(tmp_path):
    data = arrays(tmp_path / "emb")
    path = write_labels(tmp_path / "l.csv", image=IDS, cat=Y[:, 0], dog=Y[:, 1])
    found = read_table(data, y=str(path))
    model = TableClassifier(MLkNNClassifier(n_neighbors=1)).fit(found)
    assert model.label_names_.tolist() == ["cat", "dog"]
    assert model.score(found) == 1.0
    np.testing.assert_array_equal(model.predict(X), Y)
    matrix, y = split_labels(found)
    np.testing.assert_array_equal(matrix, X)
    assert y.equals(TRUTH)
    # Columns with the names of the labels are no features.
    both = tmp_path / "both.csv"
    pd.DataFrame(X, columns=list("abcde")).assign(cat=Y[:, 0]).to_csv(both, index=False)
    model = TableClassifier(MLkNNClassifier(n_neighbors=1)).fit(read_table(both, y=str(path)))
    assert [*model.columns_] == list("abcde")
