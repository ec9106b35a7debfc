"""Tables of metrics on the terminal."""

import numpy as np
import pytest
from rich.console import Console

from labelkin.evaluation._figures import (
    PEOPLE_METRICS,
    OutOfSample,
    evaluate_judged,
    label_figures,
    print_figures,
)
from labelkin.metrics import METRICS, evaluate


def test_methods_that_do_not_fit_are_in_several_tables(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    names = ["Logistic regression, all labels at once", "Kin ensemble", "ML-kNN", "VPCME"]
    runs = {
        name: {key: [0.5 + 0.01 * j, 0.6 + 0.01 * j] for key in PEOPLE_METRICS}
        for j, name in enumerate(names)
    }
    print_figures(Console(), runs, PEOPLE_METRICS, "2 folds, mean ± std", None, True)
    out = capsys.readouterr().out
    assert "…" not in out
    assert all(len(line) <= 80 for line in out.splitlines())
    assert all(name in out for name in names)
    assert all(f"{55 + j}.00 ± 7.07" in out for j in range(4))
    # Each table names its metrics, and the meanings stand below once.
    assert out.count(f"{METRICS['micro_f1'].title} ↑") == 2
    assert out.count(f"{METRICS['micro_f1'].title}: ") == 1


def test_the_worst_labels_come_first_also_those_of_few_rows():
    y = np.repeat([[1, 1, 0, 1, 1], [0, 1, 0, 1, 0]], [3, 17], axis=0)
    y[0, 0] = 0
    labels = np.column_stack([np.zeros((20, 3)), y[:, 3:]]).astype(int)
    names = ["two", "twenty", "none", "found", "three found"]
    found = OutOfSample(names, np.arange(20), y, labels, labels * 0.9, np.full(5, 0.5))
    rows = label_figures(found)
    assert [row["label"] for row in rows] == ["twenty", "two", "found", "three found", "none"]


def test_means_over_labels_leave_out_those_that_cannot_be_judged():
    y, labels = np.array([[1, 0, 0], [1, 0, 0]]), np.array([[1, 0, 0], [0, 0, 1]])
    found = evaluate_judged(y, labels * 0.9, labels, ["micro_f1", "macro_f1", "hamming_loss"])
    assert list(found) == ["micro_f1", "macro_f1", "hamming_loss"]
    assert found["macro_f1"] == pytest.approx((2 / 3 + 0) / 2)
    whole = evaluate(y, labels * 0.9, labels, metrics=["micro_f1", "hamming_loss"])
    assert {key: found[key] for key in whole} == whole
