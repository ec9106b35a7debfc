"""New rows that lack some of the columns that a model was fitted on, or differ in others."""

import json
import re

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

from labelkin import MLkNNClassifier, TableClassifier
from labelkin.datasets import RawTable, read_table
from labelkin.persistence import load_model, save_model
from labelkin.tabular import Schema, find_training_data, table_of_records

N = 40
ROWS = {"size": [i % 30 + 0.5 for i in range(N)], "team": ["red", "blue"] * (N // 2)}
NOTE = "no column size, words: their values are missing"


@pytest.fixture(scope="module")
def model():
    data = pd.DataFrame(ROWS | {"words": [f"the word{i % 3} of row {i}" for i in range(N)]})
    data["a"], data["b"] = [0, 1] * (N // 2), [1, 1, 0, 0] * (N // 4)
    return TableClassifier(MLkNNClassifier(n_neighbors=3), labels=["a", "b"]).fit(data)


def test_a_file_without_some_columns(model, tmp_path):
    (tmp_path / "new.csv").write_text("id,team\n1,red\n2,blue\n")
    notes = []
    found = model.read_rows(read_table(tmp_path / "new.csv"), notes)
    assert notes == [f"{tmp_path / 'new.csv'}: {NOTE}"]
    assert np.isnan(found["size"]).all()
    assert found["words"].isna().all()
    assert model.predict(found).shape == (2, 2)


def test_records_without_some_columns_are_read_as_files_are(model):
    notes = []
    found = model.read_rows(table_of_records([{"team": "red"}], model.schema_), notes)
    assert notes == [f"rows: {NOTE}"]
    assert list(found.columns) == list(model.schema_.columns)
    model.read_rows(table_of_records([{"size": 3}], model.schema_), notes)
    assert notes[1:] == ["rows: no column team, words: their values are missing"]


def test_names_may_differ_by_case_and_spaces(model, tmp_path):
    (tmp_path / "new.csv").write_text(" SIZE,Team,w ords,extra\n3.5,red,the word1,1\n")
    table, notes = read_table(tmp_path / "new.csv", **model.schema_.reading), []
    read = [guess.text for guess in table.guesses]
    assert read[:2] == ["column SIZE read as size", "column Team read as team"]
    found = model.read_rows(table, notes)
    assert found.iloc[0].tolist() == [3.5, "red", "the word1"]
    assert notes == []
    (tmp_path / "new.json").write_text('[{"SIZE": 3.5, "team": "red", "W ords": "the word1"}]')
    table = read_table(tmp_path / "new.json", **model.schema_.reading)
    assert model.read_rows(table, notes).equals(found)
    record = {"Size": 3.5, "team": "red", "Words": "the word1"}
    assert model.read_rows(table_of_records([record], model.schema_), notes).equals(found)
    assert notes == []
    # Two columns that could be meant are not guessed at.
    (tmp_path / "new.csv").write_text("SIZE,Size,Team,words\n3.5,1,red,the word1\n")
    with pytest.raises(ValueError, match="no column 'size'"):
        model.read_rows(read_table(tmp_path / "new.csv", **model.schema_.reading), [])


@pytest.mark.parametrize("header", ["a,b", "team,sizes", "id"])
def test_other_tables_and_misspelt_columns_are_refused(model, header, tmp_path):
    cells = ",".join("1" for _ in header.split(","))
    (tmp_path / "new.csv").write_text(f"{header}\n{cells}\n")
    with pytest.raises(ValueError, match="no column 'size'") as caught:
        model.read_rows(read_table(tmp_path / "new.csv"), [])
    assert ("add an empty column" in str(caught.value)) == (header == "team,sizes")


def test_rows_of_other_columns_are_refused_with_all_names(model, tmp_path):
    words = "no column 'size'. Its columns are a, b. It also lacks team, words."
    (tmp_path / "new.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=re.escape(words)):
        model.read_rows(read_table(tmp_path / "new.csv"), [])
    with pytest.raises(ValueError, match=re.escape(words)):
        table_of_records([{"a": 1}, {"b": 2}], model.schema_)
    many = Schema(dict.fromkeys("abcdefghi", "number"))
    with pytest.raises(ValueError, match="It also lacks b, c, d, e, f and 3 more"):
        table_of_records([{"y": 1}], many)


def test_a_tag_fewer_and_columns_that_were_left_out_are_no_misspelt_names(tmp_path):
    header = "Part/s,Part/s,Comment,Comment,a,b"
    rows = [f"p{i % 3},{'q' if i % 2 else ''},{'ok' if i % 4 else ''},,{i % 2},1" for i in range(N)]
    (tmp_path / "old.csv").write_text("\n".join([header, *rows]))
    schema = find_training_data(read_table(tmp_path / "old.csv"), ["a", "b"]).schema
    assert [*schema.columns] == ["Part/s", "Part/s_2", "Comment"]  # Comment_2 is empty
    (tmp_path / "new.csv").write_text("Part/s,Comment,Comment\np1,,\n")
    notes = []
    schema.read(read_table(tmp_path / "new.csv", **schema.reading), notes)
    schema.read(table_of_records([{"Part/s": "p1", "Comment_2": "ok"}], schema), notes)
    assert notes[0].endswith("no column Part/s_2: its values are missing")
    assert notes[1].endswith("no column Part/s_2, Comment: their values are missing")


def test_without_a_place_for_the_note_a_missing_column_is_an_error(model):
    with pytest.raises(ValueError, match="no column 'size'"):
        model.predict(pd.DataFrame({"team": ["red"]}))
    data = pd.DataFrame({"team": ["red", "blue"], "a": [0, 1], "b": [1, 0]})
    assert find_training_data(data, ["a", "b"], columns=model.schema_).notes == [f"X: {NOTE}"]


def test_the_advice_for_a_missing_column_works():
    X, Y = np.random.default_rng(0).normal(size=(20, 3)), np.eye(20, 2, dtype=np.uint8)
    new = pd.DataFrame(X[:5, 1:], columns=["b", "c"])
    full = Schema.find(RawTable("full.npz", X, list("abc"), ["p", "q"], Y))
    cure = "fit the model on a table, such as a CSV file, to allow for missing values"
    with pytest.raises(ValueError, match="no column 'a'") as caught:
        full.read(new)
    assert "add an empty column" not in str(caught.value)
    assert f"The model needs all columns of its matrix; {cure}." in str(caught.value)
    for cells, n in ((np.nan, "5 values are"), ([0, 0, 0, 0, np.nan], "1 value is")):
        with pytest.raises(ValueError, match=f"{n} missing, and .* without any; .* or {cure}"):
            full.read(new.assign(a=cells))
    X[0, 0] = np.nan
    with_gaps = Schema.find(RawTable("gaps.npz", X, list("abc"), ["p", "q"], Y))
    with pytest.raises(ValueError, match="known, add an empty column of that name"):
        with_gaps.read(new)
    assert with_gaps.read(new.assign(a=np.nan)).shape == (5, 3)


@pytest.mark.parametrize("row", [{}, {"sender": "ann"}])
def test_records_without_any_column_are_refused(model, row):
    with pytest.raises(ValueError, match="row 2 has none of the columns size, team, words"):
        table_of_records([{"team": "red"}, row], model.schema_)


@pytest.mark.parametrize("empty", [None, "", []])
def test_an_object_that_is_empty_in_all_rows(empty, tmp_path):
    plan = [None, {"title": "beta", "due": {"days": 3}}, {"title": "final", "due": {"days": 8}}]
    rows = [{"n": i, "plan": plan[i % 3], "a": i % 2, "b": i // 20} for i in range(N)]
    path = tmp_path / "t.json"
    path.write_text(json.dumps(rows))
    training = find_training_data(read_table(path), ["a", "b"], columns={"n": "number"})
    schema, notes = training.schema, []
    assert [*schema.columns] == ["n", "plan.title", "plan.due.days"]
    new = [{"n": 1, "plan": empty}, {"n": 2, "plan": {"title": "beta", "due": empty}}]
    for some, titles in ((new[:1], [None]), (new, [None, "beta"])):
        path.write_text(json.dumps(some))
        for found in (read_table(path, **schema.reading), table_of_records(some, schema)):
            X = schema.read(found, notes)
            assert [title if title == "beta" else None for title in X["plan.title"]] == titles
            assert X["plan.due.days"].isna().all()
    assert not [note for note in notes if "no column" in note]
    # Both fields, as a table of nested objects has them.
    both = [{"n": 1, "plan.title": "beta", "plan": empty}]
    assert table_of_records(both, schema).data["plan.title"].tolist() == ["beta"]


def test_records_with_fields_in_a_list(tmp_path):
    rows = [
        {"custom": [{"name": "n", "value": i}], "who": [{"login": "ann"}], "a": i % 2, "b": i // 20}
        for i in range(N)
    ]
    (tmp_path / "t.json").write_text(json.dumps(rows))
    training = find_training_data(
        read_table(tmp_path / "t.json"), ["a", "b"], columns={"custom.n": "number"}
    )
    assert training.schema.columns == {"custom.n": "number"}
    assert "who left out: it holds lists" in [guess.text for guess in training.guesses]
    found = training.schema.read(table_of_records(rows[7:9], training.schema), [])
    assert found["custom.n"].tolist() == [7, 8]


def test_other_values_of_columns_that_were_the_same_are_noted(tmp_path):
    """From files, requests and DataFrames; not those of columns that are ignored or were empty."""
    same = {"unit": "kg", "year": 2024, "day": pd.Timestamp("2025-01-31"), "load": "5 kg"}
    table = pd.DataFrame({"x": np.arange(40) % 7, **same, "empty": None, "own": "a"})
    classifier = TableClassifier(MLkNNClassifier(3), columns={"own": "ignore"})
    save_model(classifier.fit(table, [[0, 1], [1, 0]] * 20), tmp_path / "m.labelkin")
    model, notes = load_model(tmp_path / "m.labelkin"), []
    alike = table[:3].assign(unit=[" KG", "kg", None], year=["2024", None, 2024.0], own="b")
    model.read_rows(RawTable.of(alike.assign(day="2025-01-31", empty=1)), notes)
    assert notes == []
    new = table[:4].assign(unit=["lb", "kg", "oz", "lb"], year=[2024, None, 2024, 2025], load="5 g")
    new.to_csv(tmp_path / "new.csv", index=False)
    form = "{} is '{}' in all training rows and not used; {} others: {}"
    expected = [
        form.format("unit", "kg", "3 of 4 rows have", "'lb', 'oz'"),
        form.format("year", "2024", "1 of 4 rows has", "'2025'"),
        form.format("load", "5 kg", "4 of 4 rows have", "'5 g'"),
    ]
    records = json.loads(new.to_json(orient="records", date_format="iso"))
    forms = [read_table(tmp_path / "new.csv", **model.schema_.reading), new]
    for rows in [*forms, table_of_records(records, model.schema_)]:
        model.read_rows(RawTable.of(rows), notes := [])
        assert [note.partition(": ")[2] for note in notes] == expected
    with pytest.warns(UserWarning, match="unit is 'kg' in all training rows"):
        model.predict(new[["x", "unit"]])
