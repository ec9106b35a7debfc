"""Folds of an evaluation: groups, time, and equal rows."""

import numpy as np
import pandas as pd
import pytest

from labelkin import MLkNNClassifier, TableClassifier
from labelkin.evaluation import compare
from labelkin.evaluation._page import _measure_growth
from labelkin.tabular._dates import as_times

KNN = MLkNNClassifier(3)


def data(n=120, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, :2] + rng.normal(size=(n, 2)) > 0).astype(int)


def run(X, y, **options):
    return compare(KNN, X, y, **{"folds": 3, "metrics": ["micro_f1"], **options})


def test_groups_are_in_one_fold():
    X, y = data()
    groups = np.arange(120) // 5
    found = run(X, y, groups=groups, repeats=2)
    assert len(found.splits) == 6
    for train, test in found.splits:
        assert not set(groups[train]) & set(groups[test])
    assert (
        "rows with the same group (24 groups of up to 5 rows) are in one fold" in found.remarks[0]
    )
    assert "in random folds" in found.remarks[0]


def test_rows_without_a_group_and_a_large_group():
    X, y = data()
    groups = pd.Series([None, ""] + ["a"] * 80 + [f"p{i}" for i in range(38)], name="patient")
    found = run(X, y, groups=groups)
    remarks = " ".join(found.remarks)
    assert "rows with the same patient (41 groups of up to 80 rows)" in remarks
    assert "patient is missing in 2 rows, each a group by itself" in remarks
    assert "the largest group has 80 of 120 rows" in remarks
    with pytest.raises(
        ValueError, match="group has 2 groups, which cannot fill 3 folds: choose at"
    ):
        run(X, y, groups=np.arange(120) % 2)
    with pytest.raises(ValueError, match="group has the same value in all rows"):
        run(X, y, groups=np.zeros(120))


def test_the_past_predicts_the_future():
    X, y = data()
    times = np.random.RandomState(1).permutation(120) // 2  # pairs of the same time
    found = run(X, y, time=times)
    assert len(found.splits) == 3
    for train, test in found.splits:
        assert times[train].max() < times[test].min()
    assert [len(test) for _, test in found.splits] == [30, 30, 30]
    assert "each fold is predicted from earlier rows only (by time)" in found.remarks[0]
    groups = np.arange(120) % 30
    both = run(X, y, time=times, groups=groups)
    assert "are never trained on and tested in one fold" in both.remarks[0]
    assert "the first 30 rows are for training only" in both.remarks[1]
    kept = [len(train) for train, _ in both.splits]
    assert f"{kept[0]} of 30, {kept[1]} of 60, {kept[2]} of 90 rows remain" in both.remarks[2]
    for train, test in both.splits:
        assert not set(groups[train]) & set(groups[test])
        assert times[train].max() < times[test].min()


def test_unequal_moments_and_bad_times():
    X, y = data()
    found = run(X, y, time=np.repeat([0, 1, 2, 3], [3, 110, 4, 3]))
    assert [len(test) for _, test in found.splits] == [110, 4, 3]
    with pytest.raises(ValueError, match=r"time has 3 different values.* choose at most 2 folds"):
        run(X, y, time=np.arange(120) % 3)
    with pytest.raises(ValueError, match="repeats has no effect"):
        run(X, y, time=np.arange(120), repeats=2)
    with pytest.raises(ValueError, match="time has 5 entries"):
        run(X, y, time=np.arange(5))
    with pytest.raises(ValueError, match="all rows before a fold have groups of that fold"):
        run(X, y, time=np.arange(120), groups=np.arange(120) % 3)


def test_times_as_people_write_them():
    dates = pd.Series(["2024-03-01", "2023-12-31", "2024-03-01 10:00"])
    for values in (
        dates,
        pd.to_datetime(dates, format="mixed"),
        ["1.3.2024", "31.12.2023", "2.3.2024"],
    ):
        assert as_times(values, "day").argsort().tolist() == [1, 0, 2]
    assert as_times(["3", "1.5", "10"], "day").tolist() == [3, 1.5, 10]
    with pytest.raises(ValueError, match="day holds 'soon' in row 2, which cannot be read"):
        as_times(["2024-03-01", "soon"], "day")
    for missing in ([1.0, np.nan], ["2024-03-01", None], np.array(["2024-03-01", "NaT"], "M8[D]")):
        with pytest.raises(ValueError, match="day is missing in row 2"):
            as_times(missing, "day")


def test_equal_rows_are_in_one_fold():
    X, y = data()
    X, y = np.vstack([X] * 4), np.vstack([y] * 4)
    found = run(X, y)
    for train, test in found.splits:
        assert not {*map(tuple, X[train])} & {*map(tuple, X[test])}
    assert "480 of 480 rows are equal to another one in all features" in found.remarks[0]
    few = run((X > 0).astype(float), y)
    assert "there are only 8 different rows" in few.remarks[0]
    assert not run(*data()).split_remarks


def test_columns_of_a_table():
    X, y = data(60)
    table = pd.DataFrame(X, columns=list("abc")).assign(
        red=y[:, 0], blue=y[:, 1], patient=np.arange(60) // 3, day=np.arange(60)
    )
    found = compare(KNN, table, labels=["red", "blue"], groups="patient", time="day", folds=2)
    assert "patient" not in found.X.columns
    assert len(found.split_remarks) == 3
    with pytest.raises(ValueError, match=r"time dey: X has no such column. Did you mean day"):
        compare(KNN, table, labels=["red", "blue"], time="dey")
    with pytest.raises(ValueError, match="with y, pass their values"):
        run(X, y, groups="patient")


def test_estimators_of_another_form_get_one_sentence():
    X, y = data()
    for wrong in ([KNN], "kin", {}, {"kin": "kin"}):
        with pytest.raises(ValueError, match="estimators must be a classifier, or a dict such as"):
            compare(wrong, X, y)


def test_a_table_in_every_form_of_an_estimator():
    X, y = data()
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(patient=np.arange(120) // 5)
    table = table.join(pd.DataFrame(y, columns=["red", "blue"]))
    forms = {
        "plain": KNN,
        "function": lambda fold: KNN,
        "table": TableClassifier(KNN, columns={"patient": "ignore"}),
    }
    how = {"labels": ["red", "blue"], "groups": "patient", "folds": 3, "metrics": ["micro_f1"]}
    found = compare(forms, table, **how)
    figures = [one.figures["micro_f1"] for one in found.results.values()]
    assert figures[0] == figures[1] == figures[2]


def test_parts_of_the_rows_of_a_fold():
    """Folds by time have more and more training rows; their halves are halves of each."""
    X, y = data(600)
    found = run(X, y, time=np.arange(600), folds=5)
    sizes = []
    fit_part = found.fit_part

    def fit(name, number, rows):
        sizes.append(len(rows))
        return fit_part(name, number, rows)

    found.fit_part = fit
    growth = _measure_growth(found, lambda **_: None)
    assert sizes[1::2] == [50, 100, 150, 200, 250]
    assert [size for size, *_ in growth["points"]] == [75, 150, 300]
    text = "from 150 to 300 training rows (on average of the folds), micro F1"
    assert text in growth["sentence"]
    assert growth["points"][-1][1] == pytest.approx(
        np.mean(found.results[found.best].figures["micro_f1"])
    )
