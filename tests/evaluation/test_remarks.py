"""What a reader of the figures is told: rows of training, few rows, rare labels, thresholds."""

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from labelkin import MLkNNClassifier, MultiLabelLogisticRegression, TableClassifier
from labelkin.decisions import LabelDecision
from labelkin.evaluation import compare, evaluate_model
from labelkin.metrics import METRICS
from support.data import make_data


def make_table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "text": [
                " ".join(rng.choice(["sun", "rain", "fog", "hail", "wind"], 6)) for _ in range(n)
            ],
            "kind": rng.choice(["red", "blue", ""], n),
            "day": [f"2025-{rng.integers(1, 13):02}-{rng.integers(1, 28):02}" for _ in range(n)],
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "warm": rng.integers(0, 2, n),
            "wet": rng.integers(0, 2, n),
        }
    )


KINDS = {"text": "text", "kind": "category", "day": "date"}


def test_training_rows_are_recognised_in_every_table(tmp_path):
    from labelkin.persistence import load_model, save_model

    table = make_table()
    y = table[["warm", "wet"]]
    model = TableClassifier(MLkNNClassifier(3), columns=KINDS).fit(table, y)
    save_model(model, tmp_path / "m.labelkin")
    model = load_model(tmp_path / "m.labelkin")
    # The same rows, as another program would write them.
    other = table.assign(
        day=pd.to_datetime(table["day"]),
        text=table["text"].str.replace(" ", "  "),
        kind=table["kind"].astype("category"),
        size=table["size"].astype("Float64"),
    ).sample(frac=1, random_state=0)[[*reversed(table.columns)]]
    found = evaluate_model(model, other, other[["warm", "wet"]])
    assert found.n_seen == 60
    assert "60 of 60 rows are among those the model was trained on" in found.remarks[0]
    new = make_table(seed=1)
    found = evaluate_model(model, new, new[["warm", "wet"]])
    assert found.n_seen == 0
    assert not any("trained on" in remark for remark in found.remarks)


def test_a_fitted_model_predicts_in_blocks():
    from labelkin import MultiLabelLogisticRegression

    rng = np.random.default_rng(0)
    X = rng.normal(size=(4100, 3))
    y = (X[:, :2] + rng.normal(size=(4100, 2)) > 0).astype(int)
    model, seen = MultiLabelLogisticRegression().fit(X[:200], y[:200]), []
    found = evaluate_model(model, X, y, progress=lambda completed: seen.append(completed))
    assert seen == [2000, 4000, 4100]
    (result,) = found.results.values()
    np.testing.assert_allclose(result.scores[0], model.predict_proba(X))
    np.testing.assert_array_equal(result.labels[0], model.predict(X))


def test_few_rows_and_rare_labels_are_said():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8, 3)), np.zeros((8, 4), dtype=int)
    y[0, 0] = 1  # one positive
    y[:5, 1] = 1
    y[:, 2] = 1
    names = ["single", "some", "always", "never"]
    remarks = compare(MLkNNClassifier(2), X, y, folds=4, label_names=names).remarks
    assert remarks[0].startswith("with only 8 rows")
    assert "±35 points" in remarks[0]
    assert remarks[1].startswith("1 label occurs in the rows of one fold only (single)")
    assert "2 labels occur in fewer than 10 rows (some, always)" in remarks[2]
    assert remarks[3] == "no row has the label never, so it has no figures"
    assert "every row has the label always" in remarks[4]
    n = 200
    X, y = rng.normal(size=(n, 3)), rng.integers(0, 2, (n, 2))
    found = compare(MLkNNClassifier(2), X, y, folds=2)
    remarks = " ".join(found.remarks)
    assert not any(word in remarks for word in ("only", "few", "fold"))


def test_labels_that_no_row_has_and_some_are_predicted_for():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X > 0).astype(int)
    found = evaluate_model(MLkNNClassifier(3).fit(X, y), X, y * [1, 0], label_names=["a", "b"])
    (remark,) = (one for one in found.remarks if "no row has the label" in one)
    assert remark.startswith("no row has the label b, but it is predicted for some: its F1 is 0")
    own = METRICS["macro_f1"](y[:, :1], found.predictions().labels[:, :1])
    assert found.results[found.best].figures["macro_f1"] == [pytest.approx(own / 2)]


def test_what_predicting_nothing_scores_is_said():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = ((X > 1) & (X[:, :1] > 0)).astype(int)
    n_empty = int((y.sum(axis=1) == 0).sum())
    (remark,) = (one for one in compare(MLkNNClassifier(), X, y).remarks if "no label" in one)
    assert remark == (
        f"{n_empty} of 200 rows have no label: predicting nothing has a subset accuracy of "
        f"{n_empty / 2:.1f} %, and average precision is 100 % for them, however labels rank"
    )
    y[:, 0] = np.arange(200) > 9  # a twentieth of the rows, at most, has no label
    (remark,) = (one for one in compare(MLkNNClassifier(), X, y).remarks if "no label" in one)
    assert "predicting nothing" not in remark


def rare_labels(n=400, seed=0):
    """Labels that are rare and only half certain, so that none is likelier than not."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    rare = (X[:, :2] > 1) & (rng.random((n, 2)) < 0.3)
    return X, np.column_stack([X[:, 2] > 0, rare]).astype(int)


def test_decisions_are_cross_fitted():
    X, y = rare_labels()
    found = compare(MultiLabelLogisticRegression(C=1.0), X, y, folds=4, repeats=2)
    by_name = {one["decide"]: one["figures"] for one in found.decisions}
    assert by_name[""]["macro_f1"] == found.results[found.best].figures["macro_f1"]
    assert {"f1", "macro_f1", "cost:FN=5"} <= set(by_name)
    # The sixth fold by hand: thresholds of the other three folds of the second repeat.
    scores = found.results[found.best].scores
    others = [4, 6, 7]
    truth = [y[test] for _, test in found.splits]
    learned = LabelDecision("macro_f1").fit(
        np.concatenate([scores[i] for i in others]), np.concatenate([truth[i] for i in others])
    )
    expected = METRICS["macro_f1"](truth[5], learned.apply(scores[5]))
    assert by_name["macro_f1"]["macro_f1"][5] == pytest.approx(expected)
    assert np.mean(by_name["cost:FN=5"]["micro_recall"]) > np.mean(by_name[""]["micro_recall"])


def test_poor_threshold_is_said(tmp_path):
    pytest.importorskip("jinja2")
    X, y = rare_labels()
    found = compare(MultiLabelLogisticRegression(C=1.0), X, y, folds=4)
    remark = found.remarks[-1]
    text = "a threshold of one half is a poor choice for 2 of 3 labels with 10 rows or more"
    assert remark.startswith(text)
    assert ", and with decision=macro_f1 it is " in remark
    assert found.to_dict()["notes"][-1] == remark
    found.write_report(tmp_path / "r.html", decide_command="labelkin fit a.csv")
    page = (tmp_path / "r.html").read_text()
    assert "labelkin fit a.csv --decide macro_f1\n" in page
    assert "A threshold of one half is a poor choice" in page
    # No threshold helps a label that does not depend on the features.
    random = np.random.default_rng(1).random((len(X), 1)) < 0.25
    found = compare(MultiLabelLogisticRegression(C=1.0), X, np.column_stack([y, random]), folds=4)
    chance, threshold = found.remarks[-2:]
    assert chance.startswith("1 label is ranked no better than by chance (3; ")
    assert "is a poor choice for 2 of 4 labels" in threshold
    # Frequent labels that are found have no such remark.
    found = compare(MultiLabelLogisticRegression(C=1.0), X, y[:, :1], folds=4)
    assert not any("one half" in one or "chance" in one for one in found.remarks)


def test_rows_of_exactly_one_label_are_told_how_to_get_one(tmp_path, capsys):
    pytest.importorskip("typer")
    from labelkin.cli import main

    rng = np.random.default_rng(0)
    X, tag = rng.normal(size=(90, 2)), rng.integers(0, 3, 90)
    X[np.arange(90), tag % 2] += 1
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "tag": np.array(["x", "y", "z"])[tag]})
    table.to_csv(tmp_path / "one.csv", index=False)
    words = [str(tmp_path / "one.csv"), "--labels", "tag", "--separator", ";"]
    out = ["--out", str(tmp_path / "m.labelkin"), "--overwrite"]
    assert main(["evaluate", *words, "--folds", "2"]) == 0
    assert "with --decide subset_accuracy, rows get their most probable" in capsys.readouterr().err
    assert main(["fit", *words, *out]) == 0
    assert "predict with --decide subset_accuracy" in capsys.readouterr().err
    decided = ["--decide", "subset_accuracy"]
    predict = ["predict", out[1], words[0], "--out", str(tmp_path / "p.csv"), *decided]
    assert main(predict) == 0
    assert pd.read_csv(tmp_path / "p.csv")["labels"].notna().all()
    capsys.readouterr()
    assert main(["fit", *words, *out, *decided]) == 0
    assert "exactly one label" not in capsys.readouterr().err
    y = pd.DataFrame({"x": tag == 0, "others": tag >= 0}).astype(int)
    found = compare(MLkNNClassifier(3), X, y, folds=2)  # two labels in some rows
    assert not any("exactly one label" in remark for remark in found.remarks)


def test_notes_are_printed_in_python():
    X, y = make_data(n=30, q=3, seed=0)
    X, y = np.tile(X, (4, 1)), np.tile(y, (4, 1))
    shown = str(compare(MLkNNClassifier(), X, y, folds=3))
    assert "note: 120 of 120 rows are equal to another one in all features" in shown
    shown = str(evaluate_model(TableClassifier(MLkNNClassifier()).fit(X, y), X, y))
    assert shown.startswith("note: 120 of 120 rows are among those the model was trained on")
