"""Records in JSON, one per line or in an array, also hostile ones."""

import json

import numpy as np
import pytest

from labelkin.datasets import FormatError, parse_table, read, read_table
from support.damaged import cpu_limit, outcome
from support.mutations import inputs

pytest.importorskip("pyarrow")

RECORDS = [
    {"x": 1.5, "n": "2", "text": "hello", "user": {"age": 3}, "tags": ["a", "b"], "ok": True},
    {"x": None, "n": "NA", "text": "1 = one", "tags": [], "ok": False},
    {"n": "7", "text": "", "user": {"age": 4, "city": "Rome"}, "tags": None},
]


def write_text(path, text):
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", ["t.json", "t.jsonl", "t.ndjson", "lines.json"])
def test_records(tmp_path, name):
    array = name == "t.json"
    text = json.dumps(RECORDS) if array else "\n".join(map(json.dumps, RECORDS)) + "\n"
    found = read_table(write_text(tmp_path / name, text))
    assert found.names == ["x", "n", "text", "user.age", "tags", "ok", "user.city"]
    np.testing.assert_array_equal(found.numbers("x"), [1.5, np.nan, np.nan])
    np.testing.assert_array_equal(found.numbers("n"), [2, np.nan, 7])
    assert found.strings("text").tolist() == ["hello", "1 = one", None]
    assert found.lists("tags") == [["a", "b"], [], []]
    np.testing.assert_array_equal(found.numbers("ok"), [1, 0, np.nan])
    assert parse_table(text.encode(), "upload").names == found.names


def test_names_in_another_normal_form(tmp_path):
    path = write_text(tmp_path / "t.json", r'{"e\u0301": 1, "y": 1} {"\u00e9": 0, "y": 0}')
    assert read(path, labels="y").data.tolist() == [[1], [0]]


def test_numbers_of_a_dataset(tmp_path):
    path = write_text(tmp_path / "t.jsonl", '{"a": 1e-3, "y": 1}\n{"a": -4, "y": 0}\n')
    found = read(path, labels="y")
    assert found.data.tolist() == [[0.001], [-4]]
    assert found.target.tolist() == [[1], [0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty|not JSON|no records"),
        ("[]", "it holds no records"),
        ("[1, 2]", "record 1 is '1', not an object; write one object per line"),
        ('"a"', "record 1 is .*, not an object"),
        ('{"a": 1}\n{"a": \n', "line 3: not JSON"),
        ('{"a": 1}\n{"a" 1}\n', "line 2: not JSON"),
        ('[{"a": ' + "[" * 200_000 + "]" * 200_000 + "}]", "nested too deeply"),
        ('{"a":' * 5000 + "1" + "}" * 5000, "nested too deeply"),
        ('[{"a": "\\ud800"}]', "not valid Unicode"),
        ('[{"\\ud800": 1}]', "not valid Unicode"),
        ("[" + ",".join(f'{{"k{i}": 1}}' for i in range(20_000)) + "]", "unpacks to more than"),
        (
            '[{"' + "k" * 500_000 + '": {' + ",".join(f'"a{i}": 1' for i in range(2000)) + "}}]",
            "unpacks to more than",
        ),
    ],
)
def test_bad_json(tmp_path, text, message):
    path = write_text(tmp_path / "t.json", text)
    with cpu_limit(20), pytest.raises(FormatError, match=message) as caught:
        read_table(path)
    assert len(str(caught.value).replace(str(path), "")) < 300


def test_mutated_records(tmp_path):
    corpus = [b'[{"a": 1.5, "y": 0}, {"a": 2, "y": 1}]', b'{"a": 1, "y": 0}\n{"y": 1, "a": 1e9}']
    found = {outcome(tmp_path / "t.json", raw, labels="y") for raw in inputs(corpus, count=400)}
    assert found == {True, False}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"a":1,"a":2}', "a"),
        ('[{"a":1},{"b":1,"b":1}]', "b"),
        ('{"a":{"b":1},"a.b":2}', "a.b"),
        ('{"a":1}\n{"x":{"y":1,"y":2}}', "y"),
    ],
)
def test_two_fields_of_one_name(text, name, tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(text)
    with pytest.raises(FormatError, match=f"t.jsonl: an object has two fields named '{name}'"):
        read_table(path)


def test_fields_that_no_record_has_are_missing(tmp_path):
    path = write_text(tmp_path / "t.jsonl", '{"a": {"b": 1}, "c": "x"}\n{"c": "y"}\n')
    found = read_table(path, expected=["a.b", "c", "a.d"])
    assert found.data["a.d"].isna().all()
    assert [guess.text for guess in found.guesses] == ["no record has a.d: missing values"]
    assert read_table(path, labels="tags").names == ["a.b", "c"]
    assert read_table(path, expected=["text", "size"]).names == ["a.b", "c"]
    assert read_table(path, expected=["c", "a.bb"]).names == ["a.b", "c"]  # a misspelt name


def test_rows_in_a_field_of_an_object(tmp_path):
    """As web services send them; a single row may hold a list of objects, too."""
    path = tmp_path / "t.json"
    path.write_text('{"count": 2, "links": {"next": null}, "items": [{"a": 1}, {"a": 2}]}')
    found = read_table(path)
    assert found.data["a"].tolist() == [1, 2]
    assert [one.text for one in found.guesses] == ["the rows in items"]
    assert read_table(path, expected=["count"]).names == ["count", "links.next", "items"]
    path.write_text('{"data": {"page": 1, "items": [{"a": 1}, {"a": 2}]}}')
    found = read_table(path)
    assert found.data["a"].tolist() == [1, 2]
    assert [one.text for one in found.guesses] == ["the rows in data.items"]
    path.write_text('{"0": {"a": 1}, "7": {"a": 2}}')
    assert read_table(path).data["a"].tolist() == [1, 2]
    assert read_table(path, expected=["7.a"]).names == ["0.a", "7.a"]
    path.write_text('{"a": 1, "tags": ["x"]}')
    assert read_table(path).n_rows == 1
    assert read_table(path).names == ["a", "tags"]


@pytest.mark.parametrize("orient", ["columns", "index", "split", "records", "table"])
def test_what_pandas_writes(tmp_path, orient):
    frame = pytest.importorskip("pandas").DataFrame({"x": [1.5, 2, 4], "y": [0, 1, 0]})
    frame.sort_values("y").to_json(tmp_path / "t.json", orient=orient)
    found = read_table(tmp_path / "t.json", labels=["y"])
    assert found.data[["x", "y"]].to_numpy().tolist() == [[1.5, 0], [4, 0], [2, 1]]


def test_an_object_of_objects_is_a_row_of_a_model_with_such_columns():
    sent = b'{"a": {"1": 5, "2": 6}}'
    assert parse_table(sent, "upload", expected=["a.1", "a.2"]).names == ["a.1", "a.2"]
    assert parse_table(sent, "upload").n_rows == 2
    damaged = b'{"columns": ["a"], "index": [0], "data": 3}'
    assert parse_table(damaged, "upload").names == ["columns", "index", "data"]


def test_fields_in_a_list_are_columns(tmp_path):
    """As trackers send fields that their users have made."""
    fields = [
        {"id": 31, "name": "Platform", "value": "win"},
        {"id": 32, "value": 5, "name": "Days"},
    ]
    tags = [{"name": "bug", "value": 1}]
    path = write_text(tmp_path / "t.json", json.dumps([{"custom": fields, "tags": tags}] * 2))
    found = read_table(path, labels="tags")
    assert found.names == ["custom.Platform", "custom.Days", "tags"]
    assert found.data["custom.Days"].tolist() == [5, 5]
    bare = json.dumps([{"custom": [{"id": 31, "value": "win"}], "people": [{"name": "ann"}]}] * 2)
    found = read_table(write_text(path, bare))
    assert found.names == ["custom.31", "people"]
    assert found.lists("people") == [[{"name": "ann"}]] * 2
