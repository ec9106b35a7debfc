"""What is a number in a file is one in every format."""

import numpy as np
import pytest
from scipy import sparse

from labelkin.datasets import FormatError, read, read_table

HEAD = (
    "@relation 'x: -C 1'\n@attribute y {0,1}\n@attribute a numeric\n@attribute b numeric\n@data\n"
)
FILES = {
    "dense.arff": HEAD + "0,3,4\n1,%s,2\n",
    "sparse.arff": HEAD + "{1 3,2 4}\n{0 1,1 %s}\n",
    "set.svm": "1 1:2\n0 1:%s 2:3\n",
    "set.csv": "a,b,y\n3,4,0\n%s,2,1\n",
    "quoted.csv": 'a,b,y\n3,4,0\n"%s","2","1"\n',
}


def read_cell(name, text, folder):
    """Return the value that a cell is read as."""
    path = folder / name
    path.write_text(FILES[name] % text, encoding="utf-8")
    found = read(path, labels="y" if path.suffix == ".csv" else None).data
    return float((found.toarray() if sparse.issparse(found) else found)[1, 0])


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("text", ["1_000", "0x1F", "-0X1f", "١٢", "1d5", "0b1", "1e5_0"])
def test_not_numbers(name, text, tmp_path):
    if name == "set.svm" and "_" in text:
        pytest.skip("scikit-learn reads it as Python does")
    with pytest.raises(FormatError, match="number"):
        read_cell(name, text, tmp_path)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("text", ["+5", "-1e-400", "1e400", "1e308", "inf", "-Infinity", "0.5"])
def test_numbers(name, text, tmp_path):
    assert read_cell(name, text, tmp_path) == float(text)


@pytest.mark.parametrize("text", ["0 9000000000:1\n", "0 1:1\n1 2147483640:1\n"])
def test_too_many_columns(text, tmp_path):
    path = tmp_path / "set.svm"
    path.write_text(text)
    with pytest.raises(FormatError):
        read(path)


# --------------------------------------------------------------------- quotes


def table(change=None, n=60):
    rows = [f'{i},"text {i}",{i % 2},{(i + 1) % 2}' for i in range(n)]
    if change:
        rows[4] = change
    return "a,t,y1,y2\n" + "\n".join(rows) + "\n"


@pytest.mark.parametrize(
    ("line", "texts"),
    [
        ('4,"text 4,0,1', {4: '"text 4'}),
        ('4,"text ""4"",0,1', {4: '"text ""4""'}),
        ('4,"text 4,0,1\n5,text 5",1,0', {4: '"text 4', 5: 'text 5"'}),
    ],
)
@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_unclosed_quotes(line, texts, delimiter, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(table(line).replace(",", delimiter))
    found = read_table(path)
    assert found.n_rows == 59 + len(texts)
    assert found.data["t"][[*texts]].tolist() == [*texts.values()]
    said = "quotes that are not closed read as part of the text"
    assert said in [guess.text for guess in found.guesses]


def test_unclosed_quotes_beside_quoted_commas(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(table('4,"text 4,0,1').replace('"text 7"', '"text, 7"'))
    with pytest.raises(FormatError, match=r"t.csv, line 6: a quote opens here and is not closed"):
        read(path, labels="y1,y2", drop="t")


@pytest.mark.parametrize("cell", ['"2"3', '""2', '"1.5"0', '"-"1', '"1,5"0', '"2"%'])
def test_numbers_behind_quotes(cell, tmp_path):
    """Arrow and Python's csv would join both: 23."""
    path = tmp_path / "t.csv"
    path.write_text(table(f"4,{cell},0,1"))
    with pytest.raises(FormatError, match=r"line 6: the cell '.*' is neither a number nor a text"):
        read_table(path)


@pytest.mark.parametrize("cell", ['"x" ', '"x"', ' "x"3', 'x"3', '"""x"""', '"a, ""b"""'])
def test_other_quotes(cell, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(table(f"4,{cell},0,1"))
    assert read_table(path).n_rows == 60


def test_unclosed_quote_in_the_last_row(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(table('4,"text, 4",0,1') + '60,"text,0,1')
    with pytest.raises(FormatError, match="line 62: a quote opens"):
        read(path, labels="y1,y2", drop="t")


QUOTED = {
    "lines": '4,"two\nlines, and ""quotes""",0,1',
    "inches": '4,5" pipe,0,1',
    "text after": '4,"5" pipe,0,1',
    "empty": '4,"",0,1',
}


@pytest.mark.parametrize("name", QUOTED)
def test_quotes_that_are_fine(name, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(table(QUOTED[name]))
    found = read(path, labels="y1,y2", drop="t")
    np.testing.assert_array_equal(found.data[:, 0], np.arange(60))
