"""CSV tables."""

import gzip
import sys

import numpy as np
import pytest

from labelkin.datasets import FormatError, RawTable, read, read_table
from support.datasets import assert_same

pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")


def table(tmp_path, text, **options):
    path = tmp_path / "films.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(path, **options)


def test_csv(tmp_path):
    text = 'drama,"a ""q"", b",n,comedy\n1,0.5,3,false\n0,,4,true\n1,nan,-1e-3,false\n'
    got = table(tmp_path, text, labels="drama,comedy")
    assert got.feature_names == ['a "q", b', "n"]
    assert got.label_names == ["drama", "comedy"]
    assert_same(got, [[0.5, 3], [np.nan, 4], [np.nan, -1e-3]], np.array([[1, 0], [0, 1], [1, 0]]))


@pytest.mark.parametrize("top", ["# made by hand; 2024\r\n", "# one\n# two, three and, four\n"])
@pytest.mark.parametrize("first", ["a", "#a"])
def test_comments_on_top_are_left_out(tmp_path, top, first):
    got = table(tmp_path, f"\ufeff{top}{first};b;drama\n1;2;0\n3;4;1\n", labels="drama")
    assert got.feature_names == [first, "b"]
    np.testing.assert_array_equal(got.data, [[1, 2], [3, 4]])


def test_empty_rows_at_the_end_are_left_out(tmp_path):
    got = table(tmp_path, "a,b,y\n1,2,0\n,,1\n3,4,1\n,,\n,,\n", labels="y")
    assert_same(got, [[1, 2], [np.nan, np.nan], [3, 4]], np.array([[0], [1], [1]]))


def test_marks_of_missing_numbers(tmp_path):
    marks = ["", "NA", "n/a", "-", "–", "#N/A", "?", "#DIV/0!", "#WERT!", r"\N"]
    got = table(tmp_path, "a,y\n1,0\n" + "".join(f"{m},1\n" for m in marks), labels="y")
    assert np.isnan(got.data[:, 0]).tolist() == [False] + [True] * len(marks)


def test_types_are_told_by_the_whole_column(tmp_path):
    rows = "".join(f"{i},{i % 2}\n" for i in range(200_000)) + "0.5,1\n"
    got = table(tmp_path, "x,y\n" + rows, labels=-1)
    assert got.data[-1, 0] == 0.5
    assert got.data[7, 0] == 7


def test_rows_may_be_wider_than_any_block(tmp_path):
    rows = f"1,{'n' * 3_000_000},0\n2,n,1\n"
    assert table(tmp_path, f"a,t,y\n{rows}", labels="y", drop="t").data.tolist() == [[1], [2]]


def test_numbers_round_as_float_does(tmp_path):
    words = ["0.1", "1e-320", "123456789012345678901", "9007199254740993", "3.141592653589793238"]
    got = table(tmp_path, "x,y\n" + "".join(f"{w},1\n" for w in words), labels="y")
    np.testing.assert_array_equal(got.data[:, 0], [float(w) for w in words])


@pytest.mark.parametrize(
    ("text", "labels", "message"),
    [
        ("a,comedy\n1,1\n", "comdy", "no column 'comdy'. Columns that could be meant: comedy."),
        (
            "item1,item2,item3,a\n1,1,1,1\n",
            "item9",
            "no column 'item9'. Columns that could be meant: item1, item2, item3.",
        ),
        ("a,comedy\n1,1\n", "zzz", "no column 'zzz'. Its columns are a, comedy."),
        ("a,y\n1,1\n", None, "pass labels="),
        ("a,y\n1,1\n", 2, "2 label columns are requested, but the file has 2 columns"),
        ("a,y\n1,2\n", "y", "label 'y' holds 2 in data row 1; it must be 0 or 1"),
        ("a,y\nx,1\n", "y", "column 'a' holds 'x' in row 1, not a number; encode"),
        ("a,y\n2020-01-01,1\n", "y", "column 'a' holds '2020-01-01' in row 1"),
        (
            "a,y\n1,1\n1\n",
            "y",
            "line 3: not a CSV table with ',' between columns (the header has 2 columns, and this",
        ),
        ("a,y\n1,1\n1,0,3\n", "y", "line 3: not a CSV table"),
        ("", "y", "not a CSV table"),
        ("y\n1\n", "y", "no feature column is left"),
        (b"a,y\n1,\xff\n", "y", "films.csv"),
        ('a,y\n1,"1\n', "y", "films.csv"),
    ],
)
def test_bad_csv(tmp_path, text, labels, message):
    with pytest.raises(FormatError) as caught:
        table(tmp_path, text, labels=labels)
    assert message in str(caught.value)
    assert str(tmp_path / "films.csv") in str(caught.value)


def test_label_columns_by_their_beginning(tmp_path):
    text = "a,q1,q7_1,q7_2,z*\n1,2,0,1,1\n3,4,1,0,0\n"
    got = table(tmp_path, text, labels="q7_*, z*")
    assert (got.feature_names, got.label_names) == (["a", "q1"], ["q7_1", "q7_2", "z*"])


def test_a_german_export(tmp_path):
    text = "größe;preis;y\n1,5;1.234,50;1\n2,5;7;0\n".encode("cp1252")
    got = table(tmp_path, text, labels="y")
    assert got.feature_names == ["größe", "preis"]
    assert_same(got, [[1.5, 1234.5], [2.5, 7]], np.array([[1], [0]]))


def test_csv_drop(tmp_path):
    got = table(tmp_path, "id,a,y\nfoo,1,1\n", labels="y", drop="id")
    assert got.feature_names == ["a"]


def test_missing_extra_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for name in ("x.csv", "x.parquet"):
        (tmp_path / name).write_text("a,y\n1,0\n")
        with pytest.raises(ImportError, match=r"pip install 'labelkin\[data\]'"):
            read(tmp_path / name, labels="y")


def test_csv_in_another_encoding(tmp_path):
    text = "größe,y\n1,1\n2,0\n".encode("latin-1")
    assert table(tmp_path, text, labels="y", encoding="latin-1").feature_names == ["größe"]
    assert table(tmp_path, text, labels="y").feature_names == ["größe"]
    with pytest.raises(FormatError, match=r"the text is not utf-8.*encoding=latin-1") as caught:
        table(tmp_path, text, labels="y", encoding="utf-8")
    assert caught.value.arguments == ("encoding",)
    with pytest.raises(ValueError, match="encoding=klingon is unknown"):
        table(tmp_path, text, labels="y", encoding="klingon")


def test_a_short_header_of_many_columns(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text('\n"a\nb",' + ",".join(f"c{i}" for i in range(2000)) + "\n")
    monkeypatch.setenv("LABELKIN_MAX_UNPACKED", "1000000")
    with pytest.raises(FormatError, match="a table of 2,001 columns unpacks to more than 1 MiB"):
        read(path, labels="c1")


def test_a_small_file_of_one_cell(tmp_path, monkeypatch):
    """The csv module takes four bytes for a character of it, and a Python string up to four."""
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,y\n" + b"x" * (2**24 + 1) + b",0\n"))
    with pytest.raises(FormatError, match=r"line 2: a cell has more than 16,777,216 characters"):
        read(path, labels="y")
    path.write_bytes(gzip.compress("a,y\n😀".encode() + b"x" * 2**20 + b",0\n"))
    monkeypatch.setenv("LABELKIN_MAX_UNPACKED", str(2**21))
    with pytest.raises(FormatError, match="unpacks to more than 2 MiB"):
        read(path, labels="y")


def test_a_small_file_of_many_comments(tmp_path, monkeypatch):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"#\n" * 50_000 + b"a,y\n1,0\n2,1\n"))
    monkeypatch.setenv("LABELKIN_MAX_UNPACKED", str(2**20))
    with pytest.raises(FormatError, match="unpacks to more than 1 MiB"):
        read(path, labels="y")


def test_a_small_file_of_many_cells(tmp_path, monkeypatch):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,y\n" + b"1,0\n" * 500_000))
    monkeypatch.setenv("LABELKIN_MAX_UNPACKED", "10000000")
    with pytest.raises(FormatError, match="unpacks to more than 10 MiB"):
        read(path, labels="y")
    monkeypatch.setenv("LABELKIN_MAX_UNPACKED", "20000000")
    assert read(path, labels="y").data.shape == (500_000, 1)


@pytest.mark.parametrize(
    "text",
    [
        "0.5,3,1\n0.1,4,0\n2.5,9,1\n",
        "red,3,1\nblue,4,0\nred,9,1\n",
        "good phone,yes\nbad phone,no\nold phone,yes\n",
        "red,yes\nred,no\nred,yes\n",
    ],
)
def test_a_file_without_a_header(tmp_path, text):
    with pytest.raises(
        FormatError, match=r"first row .* looks like the others; pass header=False"
    ) as e:
        table(tmp_path, text, labels=-1)
    assert e.value.arguments == ("header",)
    found = read_table(tmp_path / "films.csv", header=False)
    assert found.names == ["c1", "c2", "c3"][: len(found.names)]
    assert found.n_rows == 3
    assert read_table(tmp_path / "films.csv", header=True).n_rows == 2
    # A model that was fitted on such a file knows.
    assert read_table(tmp_path / "films.csv", expected=["c1", "c2"]).n_rows == 3


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2\n3,4\n",
        "2019,2020,2021\n1,2,3\n3,4,5\n",
        "text,tags\nsome words,a\nmore words,b\ntext,tags\n",
        "colour,n\nred,1\nblue,2\n",
        "c1,c2\n1,2\n",
        "land,1970,1971,1973,1974,1980,1981\nde,3,4,5,5,6,7\nfr,2,3,3,1,2,1\n",  # some years
    ],
)
def test_a_file_with_a_header(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    assert read_table(
        tmp_path / "t.csv", expected=["c1"] if "c1" in text else ()
    ).names == text.split()[0].split(",")


def test_codes_and_numbers_with_leading_zeros(tmp_path):
    text = "zip,short,padded,n\n01234,0451,01,1\n987,123,02,05\n04567,99,100,12\n"
    (tmp_path / "t.csv").write_text(text)
    found = read_table(tmp_path / "t.csv")
    assert [found.kind(name) for name in found.names] == ["string", "string", "number", "number"]


def test_names_that_columns_share(tmp_path):
    (tmp_path / "t.csv").write_text("a,,a,a_2,a,\n1,2,3,4,5,6\n")
    found = read_table(tmp_path / "t.csv")
    assert found.names == ["a", "c2", "a_3", "a_2", "a_4", "c6"]
    assert found.data.iloc[0].tolist() == [1, 2, 3, 4, 5, 6]
    assert found.guesses[0].text.endswith("renamed: c2, a_3, a_4, c6")
    (tmp_path / "t.csv").write_text("a,,b,\n1,,2,\n")
    assert read_table(tmp_path / "t.csv").names == ["a", "b"]
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    assert RawTable.of(frame).names == ["a", "a_2"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,topics,\n,x,y\n1,0,1\n2,1,0\n3,0,0\n", ["a", "x", "y"]),
        ("who,,topics\nname,age,x\nBo,3,no\nAl,4,no\nCy,5,yes\n", ["name", "age", "x"]),
        ("a,a,b\n1,x,u\n2,y,v\n", ["a", "a_2", "b"]),
        # The choices of a survey, which are the answers, too:
        ("id,age,topics,\n,Answer,x,y\n1,31,x,\n2,47,,y\n3,50,x,y\n", ["id", "Answer", "x", "y"]),
        ("id,p,q,is,\n,Re,Re,x,y\n1,u,5,x,\n2,v,6,,y\n3,u,7,x,y\n", ["id", "p", "q", "x", "y"]),
        # Rows of data below a header that lacks a name:
        ("title,text,\nT1,one,seen\nT2,two,\nT3,six,\n", ["title", "text", "c3"]),
        (",b,c\nr1,,u\nr2,x,v\nr3,y,w\n", ["index", "b", "c"]),
        ("a,b,\nT1,p,x\nT2,q,\nT3,q,x\n", ["a", "b", "c3"]),
        ("a,b,\n1,x,u\n2,y,v\n", ["a", "b", "c3"]),
    ],
)
def test_names_in_two_rows(tmp_path, text, names):
    path = tmp_path / "t.csv"
    path.write_text(text)
    found = read_table(path)
    assert found.names == names
    n_headers = 1 + any("two rows of names" in guess.text for guess in found.guesses)
    assert n_headers == 1 + ("x" in names)
    assert found.n_rows == len(text.splitlines()) - n_headers


@pytest.mark.parametrize("name", [None, "no"])
def test_two_levels_of_columns_that_pandas_writes(tmp_path, name):
    pytest.importorskip("openpyxl")
    columns = [("f", "a"), ("label", "x"), ("label", "y")]
    pd = pytest.importorskip("pandas")
    levels = pd.MultiIndex.from_tuples(columns)
    frame = pd.DataFrame([[1.5, 0, 1], [2, 1, 0], [3, 1, 1]], columns=levels).rename_axis(name)
    frame.to_csv(tmp_path / "t.csv")
    frame.to_excel(tmp_path / "t.xlsx")
    frame.to_csv(tmp_path / "bare.csv", index=False)
    for file, index in (
        ("t.csv", [name or "index"]),
        ("t.xlsx", [name or "index"]),
        ("bare.csv", []),
    ):
        found = read_table(tmp_path / file)
        assert found.names == [*index, "a", "x", "y"]
        assert found.data["a"].tolist() == [1.5, 2, 3]


def test_text_behind_a_quote(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b\n"one" two,1\nx"y,2\n')
    assert read_table(path).data["a"].tolist() == ["one two", 'x"y']
    path.write_text('a,b\nx"y,"2"3\n')
    with pytest.raises(FormatError, match=r"line 2: the cell '\"2\"3' is neither a number nor"):
        read_table(path)


def test_spaces_around_names(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('" length\n(min)",drama ,comedy\n1,0,1\n2,1,0\n')
    assert read_table(path).names == ["length (min)", "drama", "comedy"]
    assert read(path, labels="comedy").feature_names == [" length\n(min)", "drama "]


def test_questions_below_the_names(tmp_path):
    """As Qualtrics writes them, with the identifiers of the questions in a third row."""
    path = tmp_path / "t.csv"
    ids = ",".join(f'"{{""ImportId"":""QID{i}""}}"' for i in (1, 2))
    path.write_text(f"Q1,Q2_1\nHow old are you?,How? - Web\n{ids}\n31,Web\n47,\n")
    found = read_table(path)
    assert found.data["Q1"].tolist() == [31, 47]
    assert found.strings("Q2_1").tolist() == ["Web", None]
    assert "the questions below the names left out" in [one.text for one in found.guesses]
