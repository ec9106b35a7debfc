"""Parquet tables."""

import datetime
import subprocess
import sys

import numpy as np
import pytest

from labelkin.datasets import FormatError, RawTable, parse_table, read, read_table
from support.datasets import assert_same

pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")


def test_foreign_parquet(tmp_path):
    import pyarrow.parquet

    columns = {"a": [1, None], "b": [1.5, 2.5], "y": [True, False], "t": ["x", "y"]}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "f.parquet")
    got = read(tmp_path / "f.parquet", labels="y", drop="t")
    assert_same(got, [[1, 1.5], [np.nan, 2.5]], np.array([[1], [0]]))
    with pytest.raises(FormatError, match="column 't' holds 'x' in row 1"):
        read(tmp_path / "f.parquet", labels="y")
    with pytest.raises(FormatError, match="the label columns are unknown"):
        read(tmp_path / "f.parquet")
    pyarrow.parquet.write_table(pyarrow.table([[1], [2]], names=["a", "a"]), tmp_path / "d.parquet")
    assert read(tmp_path / "d.parquet", labels="a").feature_names == ["a_2"]


def repeated(path, value, count, in_list=False):
    """Write a column of one value, which takes a few bytes whatever the count."""
    import pyarrow.parquet

    codes = pyarrow.array(np.zeros(count, dtype=np.int32))
    column = pyarrow.DictionaryArray.from_arrays(codes, pyarrow.array([value]))
    table = pyarrow.table({"a": column, "y": pyarrow.DictionaryArray.from_arrays(codes, [1])})
    if in_list:
        table = pyarrow.table({"a": pyarrow.ListArray.from_arrays([0, 0, count], column)})
    pyarrow.parquet.write_table(table, path, store_schema=False, write_statistics=False)
    return path


@pytest.mark.parametrize(("value", "count"), [(1.5, 2_000_000), ("x" * 100_000, 500)])
def test_a_small_file_that_takes_much_memory(value, count, tmp_path, monkeypatch):
    path = repeated(tmp_path / "b.parquet", value, count)
    assert path.stat().st_size < 20_000
    monkeypatch.setenv("LABELKIN_MAX_UNPACKED", "20000000")
    with pytest.raises(FormatError, match="unpacks to more than 19 MiB"):
        read_table(path)
    monkeypatch.setenv("LABELKIN_MAX_UNPACKED", "200000000")
    assert read_table(path).data["a"].iloc[-1] == value


@pytest.mark.parametrize(("value", "count"), [(1.5, 3_000_000), ("x" * 100_000, 500)])
def test_a_small_list_that_takes_much_memory(value, count, tmp_path, monkeypatch):
    path = repeated(tmp_path / "b.parquet", value, count, in_list=True)
    monkeypatch.setenv("LABELKIN_MAX_UNPACKED", "20000000")
    with pytest.raises(FormatError, match="unpacks to more than 19 MiB"):
        read_table(path)
    monkeypatch.setenv("LABELKIN_MAX_UNPACKED", "200000000")
    values = read_table(path).data["a"][1]
    assert len(values) == count
    assert values[-1] == value


def test_the_limit_is_that_of_the_file_not_of_its_codes(tmp_path):
    """A dictionary of one text and millions of codes for it unpacks to gigabytes."""
    path = repeated(tmp_path / "b.parquet", "x" * 400, 9_000_000)
    assert path.stat().st_size < 50_000
    with pytest.raises(FormatError, match="unpacks to more than 256 MiB"):
        read_table(path)


@pytest.mark.parametrize("kind", [pyarrow.null(), pyarrow.bool_(), pyarrow.decimal128(5, 2)])
def test_values_that_take_more_memory_in_pandas(kind, tmp_path, monkeypatch):
    """Those of a column without values take none in Arrow."""
    import pyarrow.parquet

    path, count = tmp_path / "n.parquet", 500_000
    column = pyarrow.nulls(3 * count, kind)
    if pyarrow.types.is_decimal(kind):
        column = pyarrow.array(np.ones(count, np.int8)).cast(kind)
    pyarrow.parquet.write_table(pyarrow.table({"a": column}), path)
    monkeypatch.setenv("LABELKIN_MAX_UNPACKED", str(10_000_000))
    with pytest.raises(FormatError, match="unpacks to more than 10 MiB"):
        read_table(path)


def test_wide_values_of_one_size(tmp_path, monkeypatch):
    import pyarrow.parquet

    path = tmp_path / "w.parquet"
    column = pyarrow.array([b"x" * 100_000] * 500, pyarrow.binary(100_000))
    pyarrow.parquet.write_table(pyarrow.table({"a": column}), path)
    assert path.stat().st_size < 20_000
    monkeypatch.setenv("LABELKIN_MAX_UNPACKED", "20000000")
    with pytest.raises(FormatError, match="unpacks to more than 19 MiB"):
        read_table(path)


def test_columns_that_are_not_read_may_hold_anything(tmp_path):
    import pyarrow.parquet

    path = tmp_path / "n.parquet"
    columns = {
        "y": pyarrow.array([0, 1]),
        "x": pyarrow.array([1.5, None]),
        "map": pyarrow.array([[("k", "v")], []], pyarrow.map_(pyarrow.string(), pyarrow.string())),
        "struct": pyarrow.array([{"a": "b", "c": ["d"]}, None]),
        "lists": pyarrow.array([[["a"], []], None]),
        "decimal": pyarrow.array([1, 2]).cast(pyarrow.decimal128(25, 2)),
        "json": pyarrow.array(["{}", "[]"]),
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    got = read(path, labels="y", drop="map,struct,lists,json")
    assert_same(got, [[1.5, 1], [np.nan, 2]], [[0], [1]])


def test_the_index_of_a_dataframe_is_a_column(tmp_path):
    pandas = pytest.importorskip("pandas")
    index = pandas.Index(["p", "q"], name="key")
    pandas.DataFrame({"x": [1.5, 2.5], "y": [0, 1]}, index=index).to_parquet(tmp_path / "i.parquet")
    table = read_table(tmp_path / "i.parquet")
    assert table.names == list(table.data.columns) == ["x", "y", "key"]


@pytest.mark.parametrize("in_list", [False, True])
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"\x02\x03\x24\x49", b"\x02\x03\xff\xff", "out of bounds|end of stream"),  # codes of texts
        (b"two", b"t\xe9o", "UTF8"),
    ],
)
def test_texts_that_cannot_be_decoded(old, new, message, in_list, tmp_path):
    import pyarrow.parquet

    path = tmp_path / "t.parquet"
    texts = ["one", "two", "six", "one", "two", "six", "one", "two"]
    column = pyarrow.array([[text] for text in texts] if in_list else texts)
    pyarrow.parquet.write_table(pyarrow.table({"a": column}), path, compression="none")
    raw = path.read_bytes()
    assert old in raw
    path.write_bytes(raw.replace(old, new))
    with pytest.raises(FormatError, match=f"Parquet file.*({message})"):
        read_table(path)


def test_a_parquet_file_that_is_sent_is_refused_with_the_cure():
    with pytest.raises(FormatError, match="a Parquet file cannot be sent; send CSV"):
        parse_table(b"PAR1\0\0PAR1", "The table")


READER = """
import sys
from contextlib import suppress
from pathlib import Path
from labelkin.datasets import read_table

path = Path(sys.argv[1])
raw = path.read_bytes()
for at in range(len(raw) - 600, len(raw)):
    path.write_bytes(raw[:at] + b"m" + raw[at + 1 :])
    with suppress(ValueError):
        read_table(path)
"""


def test_damaged_descriptions_of_columns(tmp_path):
    """pyarrow aborts the process where the sizes of a column do not fit its schema."""
    import pyarrow.parquet

    path = tmp_path / "t.parquet"
    columns = {"t": ["one", "two", None] * 3, "l": [["a"], [], ["b", "a"]] * 3}
    pyarrow.parquet.write_table(pyarrow.table(columns), path, compression="none")
    done = subprocess.run(
        [sys.executable, "-c", READER, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_times_and_durations(tmp_path):
    import pyarrow.parquet

    hours = [datetime.time(6), None, datetime.time(18, 30, 0, 500)]
    spans = [datetime.timedelta(hours=36), None, datetime.timedelta(minutes=-36)]
    columns = pyarrow.table({"at": hours, "for": spans})
    pyarrow.parquet.write_table(columns, tmp_path / "t.parquet")
    found = read_table(tmp_path / "t.parquet")
    assert [found.kind(name) for name in found.names] == ["number", "number"]
    np.testing.assert_allclose(found.numbers("at"), [6, np.nan, 18.5], rtol=1e-7)
    np.testing.assert_allclose(found.numbers("for"), [36, np.nan, -0.6])
    frame = found.data.astype(object)
    np.testing.assert_allclose(RawTable.of(frame).numbers("for"), [36, np.nan, -0.6])
