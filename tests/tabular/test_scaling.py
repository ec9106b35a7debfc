"""Scaling by quartiles, and the encoding of categories."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from labelkin import MLkNNClassifier, MultiLabelLogisticRegression, TableClassifier
from labelkin.datasets import RawTable
from labelkin.persistence import load_model, save_model
from labelkin.tabular import RobustLogScaler, Schema, find_training_data, table_of_records
from labelkin.tabular._categories import CategoryEncoder, find_spellings
from labelkin.tabular._pipeline import make_pipeline


@parametrize_with_checks([RobustLogScaler(), RobustLogScaler(2, 5)])
def test_estimator(estimator, check):
    check(estimator)


def test_formula():
    column = np.arange(9.0)[:, None]  # quartiles 2 and 6
    scaler = RobustLogScaler().fit(column)
    assert (scaler.center_, scaler.scale_) == (4, 2)
    expected = np.log([3, 2, 1, 2, 3]) * [-1, -1, 0, 1, 1]
    assert scaler.transform([[0], [2], [4], [6], [1e9]]).ravel() == pytest.approx(expected)


def test_formula_with_a_linear_part():
    column = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 30, 1e9])[:, None]  # quartiles 2.5 and 7.5
    found = RobustLogScaler(linear=2, largest=5).fit_transform(column).ravel()
    expected = [2 + np.log(1 + 10 - 2), 5]  # 30 is 10 times 2.5 above the median
    assert found == pytest.approx([-2, -1.6, -1.2, -0.8, -0.4, 0, 0.4, 0.8, 1.2, *expected])


def test_equal_values():
    constant, rare = np.ones(50), np.repeat([0.0, 1.0], [47, 3])
    scaler = RobustLogScaler().fit(np.column_stack([constant, rare]))
    assert scaler.scale_.tolist() == [1, 0.25]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extreme_values_stay_small(dtype):
    column = np.append(np.arange(100), np.finfo(dtype).max).astype(dtype)[:, None]
    scaler = RobustLogScaler().fit(column)
    assert scaler.scale_ == pytest.approx(25)
    scaled = scaler.transform(np.vstack([column, -column]))
    assert scaled.dtype == dtype
    assert np.isfinite(scaled).all()
    assert np.abs(scaled[:100]).max() < 2


def test_a_huge_value_does_not_drive_the_labels():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    size = rng.lognormal(6, 1.5, 300)
    kind = rng.choice(["a", "b", "c"], 300)
    y = np.column_stack([kind == "a", (kind == "b") | (size > 1500), rng.random(300) < 0.1])
    rows = pandas.DataFrame({"size": size, "kind": kind})
    schema = Schema({"size": "number", "kind": "category"}, scale="robust")
    model = make_pipeline(schema, MultiLabelLogisticRegression()).fit(rows, y.astype(int))
    new = pandas.DataFrame({"size": [500.0, 1e9], "kind": ["c", "c"]})
    proba = model.predict_proba(new)
    assert proba[0, 1] < 0.5 < proba[1, 1]  # size matters for this label
    assert (proba[:, [0, 2]] < 0.5).all()  # and for no other


@pytest.mark.parametrize("method", [MultiLabelLogisticRegression(), MLkNNClassifier()])
def test_columns_of_numbers_in_different_units_are_comparable(method):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    rows = pandas.DataFrame(rng.normal(size=(300, 3)), columns=["income", "score", "share"])
    y = (rows.to_numpy() + rng.normal(size=(300, 3)) > 0.5).astype(int)
    proba = TableClassifier(clone(method)).fit(rows, y).predict_proba(rows)
    other = rows * [1e6, 1, 1e-4]
    same = TableClassifier(clone(method)).fit(other, y).predict_proba(other)
    np.testing.assert_allclose(same, proba, atol=1e-3)


def test_counts_of_words_stay_as_they_are():
    pandas = pytest.importorskip("pandas")
    counts = pandas.DataFrame(np.random.default_rng(0).poisson(0.3, (60, 8))).add_prefix("word ")
    assert Schema.find(RawTable.of(counts)).scale == "none"
    counts["word 0"] += 50_000  # an income
    assert Schema.find(RawTable.of(counts)).scale == "auto"


def test_a_category_that_no_training_row_has_is_that_of_most_rows():
    encoder = CategoryEncoder(handle_unknown="ignore")
    encoder.fit([["red", "no"], ["red", "no"], ["blue", "no"], ["blue", "yes"]])
    known, unknown = encoder.transform([["blue", "yes"], ["green", ""]]).toarray()
    assert known.tolist() == [1, 0, 0, 1]
    assert unknown.tolist() == [0, 0, 1, 0]  # neither colour has more than half


def test_spellings_of_a_category_in_the_training_rows_are_one():
    pandas = pytest.importorskip("pandas")
    team = ["Sales", "sales ", "SALES", "Sales", "a", "A"] * 20
    table = pandas.DataFrame({"team": team, "y": [0, 1] * 60})
    training = find_training_data(table, "y")
    assert [guess.text for guess in training.guesses] == [
        "spellings of team read as one: 'SALES' as 'Sales', 'sales' as 'Sales'"
    ]
    encoder = CategoryEncoder(handle_unknown="ignore").fit([[cell] for cell in team])
    assert encoder.categories_[0].tolist() == ["A", "Sales", "a"]
    assert encoder.transform([["sALES"], ["a"]]).toarray().tolist() == [[0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize("estimator", [MultiLabelLogisticRegression(random_state=0), None])
def test_that_a_value_is_missing_is_learned(estimator, tmp_path):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    missing = rng.random((2, 200)) < 0.3
    table = pandas.DataFrame({"age": rng.normal(50, 9, 200), "whole": rng.normal(size=200)})
    table["left"] = pandas.date_range("2024-01-01", periods=200).astype(str)
    table.loc[missing[0], "age"], table.loc[missing[1], "left"] = np.nan, None
    order = rng.permutation(200)
    table, missing = table.iloc[order], missing[:, order]
    model = TableClassifier(estimator).fit(table[:150], missing.T[:150].astype(int))
    assert (model.predict(table[150:]) == missing.T[150:]).mean() > 0.95
    indicators = model.pipeline_[0].named_transformers_
    assert indicators["gaps"].n_features_in_ == 1  # no column that is whole
    save_model(model, tmp_path / "m.labelkin")
    loaded = load_model(tmp_path / "m.labelkin")
    np.testing.assert_array_equal(loaded.predict_proba(table), model.predict_proba(table))
    features = dict(model.explain(table[150:151]).strongest_features(0))
    assert {name.split(" = ")[0] for name in features} <= {*table}


def test_letters_for_yes_and_no_are_other_spellings():
    assert find_spellings(["Yes", "No"], ["Y", "n", "nein", "?", "Yes"]) == {
        "Y": "Yes",
        "n": "No",
        "nein": "No",
    }
    assert find_spellings(["yes", "no", "maybe"], ["Y", "No"]) == {"No": "no"}


def test_codes_without_their_leading_zeros_are_the_same():
    pandas = pytest.importorskip("pandas")
    codes = ["04103", "10115", "007", "07"]
    assert find_spellings(codes, ["4103", "10115", "7", "410"]) == {"4103": "04103"}
    table = pandas.DataFrame({"code": codes * 20, "size": np.arange(80) % 7})
    y = np.array([[1, 0], [0, 1], [1, 1], [0, 0]] * 20)
    model = TableClassifier(MultiLabelLogisticRegression(random_state=0)).fit(table, y)
    expected = model.predict_proba(table.head(2))
    for cells in ([4103, 10115], [4103.0, 10115.0], ["4103", "10115"], [4103, "10115"]):
        new, notes = table.head(2).assign(code=cells), []
        records = table_of_records(new.to_dict("records"), model.schema_)
        for rows in (RawTable.of(new), records):
            found = model.read_rows(rows, notes)
            assert notes.pop().endswith("are read as those of training rows: '4103' as '04103'")
            np.testing.assert_array_equal(model.pipeline_.predict_proba(found), expected)


def test_a_category_in_another_spelling_is_the_same():
    pandas = pytest.importorskip("pandas")
    plan = np.resize(["Gold plus", "Silver", "a", "A"], 80)
    table = pandas.DataFrame({"plan": plan, "size": np.arange(80) % 7})
    y = np.column_stack([plan == "Gold plus", plan == "a"]).astype(int)
    model = TableClassifier(MultiLabelLogisticRegression(random_state=0)).fit(table, y)
    assert model.categories_["plan"] == ["A", "Gold plus", "Silver", "a"]
    new = table.head(4).assign(plan=["GOLDPLUS", "silver", " A", None])
    known = table.head(4).assign(plan=["Gold plus", "Silver", "A", None])
    np.testing.assert_array_equal(model.predict_proba(new), model.predict_proba(known))
    notes = []
    model.read_rows(RawTable.of(new), notes)
    shown = "'GOLDPLUS' as 'Gold plus', 'silver' as 'Silver'"
    assert notes[1] == f"X: values of plan are read as those of training rows: {shown}"
    model.read_rows(RawTable.of(new.tail(2).assign(plan="other")), notes)
    assert notes[-1].endswith("it is not used there: 'other'")
    most = table.assign(plan=["Silver"] * 60 + ["Gold plus"] * 20)
    model = TableClassifier(MultiLabelLogisticRegression(random_state=0)).fit(most, y)
    other = "that no training row has; it counts as 'Silver': 'other'"
    model.read_rows(RawTable.of(new.tail(2).assign(plan="other")), notes)
    assert notes[-1].endswith(other)
    with pytest.warns(UserWarning, match=other):  # in Python, too
        model.predict(new.tail(2).assign(plan="other"))


@pytest.mark.filterwarnings("ignore:.* lead that no training row has")
def test_rows_without_a_category_have_the_usual_labels(tmp_path):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    lead = rng.random(200) < 0.2
    age = rng.integers(20, 60, 200)
    table = pandas.DataFrame({"lead": np.where(lead, "yes", "no"), "age": age})
    y = np.column_stack([lead ^ (rng.random(200) < 0.02), age > 40]).astype(int)
    for estimator in (MultiLabelLogisticRegression(random_state=0), None):
        model = TableClassifier(estimator).fit(table, y)
        for lead in (None, "maybe"):
            new = table.head(50).assign(lead=lead)
            proba = model.predict_proba(new)
            assert proba[:, 0].mean() < 0.35
            np.testing.assert_array_equal(proba[:, 1] > 0.5, y[:50, 1] > 0)
        save_model(model, tmp_path / "m.labelkin")
        np.testing.assert_array_equal(load_model(tmp_path / "m.labelkin").predict_proba(new), proba)
    notes = []
    model.read_rows(RawTable.of(new.assign(lead=[None, *["no"] * 49])), notes)
    assert notes == ["X: 1 of 50 rows has no value of lead, and all training rows have one"]
