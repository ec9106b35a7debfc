"""Evaluations where labels are unknown: figures of known labels, and the page says how many."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from labelkin import BinaryRelevanceClassifier, MLkNNClassifier
from labelkin.evaluation import compare, evaluate_model
from labelkin.evaluation._figures import OutOfSample, evaluate_judged, label_figures
from labelkin.evaluation._page import find_label_errors, worst_rows
from labelkin.metrics import evaluate
from support.data import make_data

METHODS = {"knn": MLkNNClassifier(), "logistic": BinaryRelevanceClassifier(LogisticRegression())}


@pytest.fixture(scope="module")
def data():
    X, Y = make_data(n=200)
    y = Y.astype(float)
    y[np.random.default_rng(0).random(y.shape) < 0.4] = np.nan
    y[:5] = np.nan
    return X, pd.DataFrame(y, columns=["a", "b", "c", "d"]).astype("Int8")


@pytest.fixture(scope="module")
def found(data):
    return compare(METHODS, *data, folds=3, metrics=["micro_f1", "average_precision", "macro_auc"])


def test_figures_are_those_of_known_labels(data, found):
    y = data[1].to_numpy(dtype=float, na_value=np.nan)
    for fold, (_, test) in enumerate(found.splits):
        result = found.results["knn"]
        expected = evaluate(
            y[test], result.scores[fold], result.labels[fold], metrics=found.metrics
        )
        assert {key: result.figures[key][fold] for key in found.metrics} == pytest.approx(expected)
    n_without = int((np.isfinite(y).any(axis=1) & ~(y == 1).any(axis=1)).sum())
    remark = f"{n_without} of {np.isfinite(y).any(axis=1).sum()} rows have no label among the known"
    assert any(one.startswith(remark) for one in found.remarks)
    assert found.to_dict()["known_cells"] == np.count_nonzero(~np.isnan(y))
    json.dumps(found.to_dict())


def test_rows_without_any_known_label_are_refused(data):
    X, y = data
    model = MLkNNClassifier().fit(X, y.fillna(0))
    with pytest.raises(ValueError, match="no label of these rows is known, so there is nothing"):
        evaluate_model(model, X[:5], y[:5])


def test_figures_of_a_label_are_those_of_its_known_rows(data, found):
    y = data[1].to_numpy(dtype=float, na_value=np.nan)
    once = found.predictions()
    for row in label_figures(once):
        j = "abcd".index(row["label"])
        known = ~np.isnan(y[once.rows, j])
        true, predicted = y[once.rows, j][known] == 1, once.labels[known, j] == 1
        assert row["rows"] == true.sum()
        assert row["precision"] == pytest.approx((true & predicted).sum() / predicted.sum())
        assert row["recall"] == pytest.approx((true & predicted).sum() / true.sum())


def test_remarks_and_page_say_how_many_labels_are_known(data, found, tmp_path):
    n_known = int(data[1].notna().to_numpy().sum())
    n_rows = int(data[1].notna().any(axis=1).sum())
    sentence = (
        f"{n_known} of 800 labels are known ({n_known / 8:.1f} %), in {n_rows} of 200 rows: the "
        "figures count known labels only"
    )
    assert sentence in found.remarks
    found.write_report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert sentence in page
    assert f"{n_known} of 800 cells" in page
    assert "NaN" not in re.sub(r"<script.*?</script>", "", page, flags=re.S)


def test_unknown_labels_are_no_mistakes():
    y = np.array([[1, np.nan], [0, np.nan], [np.nan, 1], [np.nan, np.nan]] * 30)
    labels, scores = np.ones((120, 2), dtype=int), np.full((120, 2), 0.9)
    once = OutOfSample(("a", "b"), np.arange(120), y, labels, scores, np.full(2, 0.5))
    assert (worst_rows(once, 200) % 4 == 1).all()
    y = np.where(np.arange(120)[:, None] == 1, [0.0, np.nan], np.where(y == 0, np.nan, y))
    once = OutOfSample(("a", "b"), np.arange(120), y, labels, scores, np.full(2, 0.5))
    suspects, _ = find_label_errors(once, 200)
    assert suspects
    assert not any(np.isnan(y[one["row"] - 1, "ab".index(one["label"])]) for one in suspects)


def test_a_fold_without_known_labels_has_no_figures():
    nothing = np.full((3, 2), np.nan)
    values = evaluate_judged(nothing, np.ones((3, 2)), np.ones((3, 2)), ["micro_f1", "jaccard"])
    assert np.isnan(list(values.values())).all()


def test_a_fitted_model(data):
    X, y = data
    model = MLkNNClassifier().fit(X[:100], y[:100])
    found = evaluate_model(model, X[100:], y[100:])
    expected = evaluate(
        y[100:], model.predict_proba(X[100:]), model.predict(X[100:]), metrics=["micro_f1"]
    )
    assert found.results["MLkNNClassifier"].figures["micro_f1"] == [expected["micro_f1"]]
    assert "labels are known" in " ".join(found.remarks)
