import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from labelkin.datasets import FormatError, read, read_table, write
from support.damaged import cpu_limit
from support.data import DATA, needs_data
from support.datasets import assert_same, dense
from support.resources import peak_memory


def arff(tmp_path, text, name="small.arff", **options):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return read(path, **options)


def error(tmp_path, text, name="small.arff", **options):
    with pytest.raises(FormatError) as caught:
        arff(tmp_path, text, name, **options)
    message = str(caught.value)
    assert message.startswith(str(tmp_path / name))
    assert "\n" not in message
    return message


# --- the real files -----------------------------------------------------------------------


def real(kind, name, **options):
    return read(DATA / "arff" / kind / f"{name}.arff.gz", **options)


@needs_data
@pytest.mark.parametrize("name", ["yeast", "enron", "genbase", "medical"])
def test_mulan_files_equal_the_npz(name):
    got = real("mulan", name, drop="protein" if name == "genbase" else ())
    expected = read(DATA / f"{name}.npz")
    assert_same(got, expected.data, expected.target)
    assert got.feature_names == expected.feature_names
    assert got.label_names == expected.label_names
    np.testing.assert_array_equal(got.feature_n_values, expected.feature_n_values)
    assert sparse.issparse(got.data) == (name in ("enron", "medical"))


@needs_data
def test_mulan_scene_parts_find_their_common_xml():
    train, test = real("mulan", "scene-train"), real("mulan", "scene-test")
    expected = read(DATA / "scene.npz")
    np.testing.assert_array_equal(np.vstack([train.data, test.data]), dense(expected.data))
    np.testing.assert_array_equal(np.vstack([train.target, test.target]), expected.target)


@needs_data
@pytest.mark.parametrize("part", ["train", "test"])
@pytest.mark.parametrize("name", ["yeast", "enron", "medical"])
def test_mulan_parts_equal_the_npz_as_multisets(name, part):
    got = real("mulan", f"{name}-{part}")
    whole = read(DATA / f"{name}.npz")
    rows = whole.split == ("train", "test").index(part)
    expected = np.hstack([dense(whole.data)[rows], whole.target[rows]])
    both = np.hstack([dense(got.data), got.target])
    np.testing.assert_array_equal(*(m[np.lexsort(m.T)] for m in (both, expected)))


@needs_data
@pytest.mark.parametrize(("name", "mulan"), [("Enron", "enron"), ("Scene", "scene")])
def test_meka_files_equal_the_npz(name, mulan):
    got, expected = real("meka", name), read(DATA / f"{mulan}.npz")
    by_name = {feature: at for at, feature in enumerate(got.feature_names)}
    order = [by_name.get(feature, at) for at, feature in enumerate(expected.feature_names)]
    np.testing.assert_array_equal(dense(got.data)[:, order], dense(expected.data))
    assert got.target.sum() == expected.target.sum()
    assert got.target.shape == expected.target.shape


@needs_data
def test_meka_yeast_holds_the_npz_rows():
    got, expected = real("meka", "Yeast"), read(DATA / "yeast.npz")
    left, right = (np.hstack([b.data, b.target]) for b in (got, expected))
    np.testing.assert_array_equal(*(m[np.lexsort(m.T)] for m in (left, right)))


@needs_data
def test_solar_flare_is_refused_with_a_sentence():
    with pytest.raises(ValueError, match=r"solar_flare.*: label 'c-class'.*binary labels"):
        real("meka", "solar_flare")


# --- the language -------------------------------------------------------------------------


def test_quotes_escapes_missing_and_labels_anywhere(tmp_path):
    text = r"""% about
% this file
@relation 'odd one'
@attribute 'la, bel' {0,1}
@attribute "it's \"x\"" REAL
@attribute b\c{'a b', 'c,d' , "e'f",?}
@attribute yes {NO,YES}
@attribute 'l\'2' {1,0}
@attribute 'tab\there' integer
@DATA

% a row
1, -1.5e-3 ,'a b',YES,1,?
0,?,"c,d",NO,0,3
1	7 ?,maybe 0	4
"""
    assert "line 15: attribute 'yes': 'maybe' is not one of its declared values" in error(
        tmp_path, text, labels=["l'2", "la, bel"]
    )
    rows = text.replace("1\t7 ?,maybe 0\t4", '1\t7 "?" YES 0\t4\n0,1,?,NO,1,+.5')
    got = arff(tmp_path, rows, labels=["l'2", "la, bel"])
    assert got.label_names == ["l'2", "la, bel"]
    assert got.feature_names == ['it\'s "x"', "b\\c", "yes", "tab\there"]
    np.testing.assert_array_equal(got.feature_n_values, [0, 4, 2, 0])
    nan = np.nan
    expected = [[-0.0015, 0, 1, nan], [nan, 1, 0, 3], [7, 3, 1, 4], [1, nan, 0, 0.5]]
    np.testing.assert_array_equal(got.data, expected)
    np.testing.assert_array_equal(got.target, [[1, 1], [0, 0], [0, 1], [1, 0]])


def test_sparse_rows(tmp_path):
    text = """@relation s
@attribute a numeric
@attribute b {x,y,z}
@attribute c {YES,NO}
@attribute y1 {0,1}
@attribute y2 {1,0}
@data
{}
{0 2.5, 1 z,2 NO}
{ 4 0 , 0 ? }
{3 1,2 YES}
{4 1,1 'y',0 1e3}
"""
    got = arff(tmp_path, text, labels=-2)
    assert sparse.isspmatrix_csr(got.data)
    assert got.data.has_canonical_format
    # Omitted: 0 for a number, the first value for a nominal one; yes is coded 1.
    expected = [[0, 0, 1], [2.5, 2, 0], [np.nan, 0, 1], [0, 0, 1], [1000, 1, 1]]
    np.testing.assert_array_equal(got.data.toarray(), expected)
    np.testing.assert_array_equal(got.target, [[0, 1], [0, 1], [0, 0], [1, 1], [0, 1]])


NUMERIC = "@relation r\n@attribute a numeric\n@attribute b numeric\n@attribute y {0,1}\n@data\n"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("1,2,1\n", [[1, 2]]),
        ("1,2,1", [[1, 2]]),
        ("1,2,1\r\n3,4,0\r\n", [[1, 2], [3, 4]]),
        ("\n% no\n1 , 2,1.0\n", [[1, 2]]),
        ("", np.empty((0, 2))),
        ("Infinity,-inf,0\n", [[np.inf, -np.inf]]),
        (
            "12345678901234567890,0.1234567890123456789,0\n",
            [[12345678901234567890, 0.1234567890123456789]],
        ),
    ],
)
def test_dense_spellings(tmp_path, rows, expected):
    np.testing.assert_array_equal(arff(tmp_path, NUMERIC + rows, labels="y").data, expected)


def test_many_values_in_another_spelling_take_linear_time(tmp_path):
    values = range(20_000)
    head = f"@relation x\n@attribute a {{{','.join(map(str, values))}}}\n@attribute y {{0,1}}\n"
    rows = "".join(f"{value}.0,'1'\n" for value in values)
    with cpu_limit(20):
        found = arff(tmp_path, f"{head}@data\n{rows}", labels="y")
    np.testing.assert_array_equal(found.data[:, 0], values)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1,2\n", "line 6: 2 values for 3 attributes"),
        ("1,2,1\n1,2\n1,2,1,1\n", "line 7: 2 values for 3 attributes"),
        ("1,2,1\n\n1,two,1\n", "line 8: attribute 'b': 'two' is not a number"),
        ("1,1_0,1\n", "line 6: attribute 'b': '1_0' is not a number"),
        ("1,2,2\n", "line 6: attribute 'y': '2' is not one of its declared values '0, 1'"),
        ("1,,1\n", "line 6: no value can be read at ',1'"),
        ("1,2,'1\n", 'line 6: no value can be read at "\'1"'),
        ("1,2,1\n{0 1}\n", "line 7: a sparse row among dense ones"),
        ("{0 1}\n1,2,1\n", "line 7: a dense row among sparse ones"),
        ("{0 1\n", "line 6: the row has no closing brace"),
        ("{\n", "line 6: the row has no closing brace"),
        ("{0 1}\n{3 1}\n", "line 7: index 3 is out of range: 3 attributes"),
        ("{99999999999 1}\n", "line 6: 'index value' expected at '99999999999'"),
        ("{-1 1}\n", "line 6: 'index value' expected at '-1'"),
        ("{0 1,0 2}\n", "line 6: index 0 occurs twice"),
        ("{1 1,0 2,1 0}\n", "line 6: index 1 occurs twice"),
        ("{0 1,1}\n", "line 6: 'index value' expected at '1'"),
        ("{0 1,}\n", "line 6: no value can be read at ''"),
        ("{0 x}\n", "line 6: attribute 'a': 'x' is not a number"),
        (b"1,\xff,1\n", "line 6: attribute 'b': 'ÿ' is not a number"),
        ("1,\0,1\n", "this is not text (it holds NUL characters)"),
    ],
)
def test_bad_rows_name_their_line(tmp_path, rows, message):
    rows = rows if isinstance(rows, bytes) else rows.encode()
    assert message in error(tmp_path, NUMERIC.encode() + rows, labels="y")


@pytest.mark.parametrize("rows", ["1,2,0\n1,2,?\n1,2,1\n", "{0 1}\n{0 1,2 ?}\n{0 1,2 1}\n"])
def test_question_marks_are_unknown_labels(tmp_path, rows):
    path = tmp_path / "partial.arff"
    path.write_bytes(NUMERIC.encode() + rows.encode())
    np.testing.assert_array_equal(read(path, labels="y").target, [[0], [np.nan], [1]])
    np.testing.assert_array_equal(
        read(path, labels="y", missing_labels="no").target, [[0], [0], [1]]
    )


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("", "the file ends before @data"),
        ("@relation x\n", "line 2: the file ends before @data"),
        ("@relation x\n@data\n", "line 2: @data comes before any @attribute"),
        ("@relation x\nfoo\n", "line 2: @relation, @attribute with a name, or @data expected"),
        ("@attribute a\n@data\n", "line 1: unknown attribute type ''"),
        ("@attribute a complex\n@data\n", "line 1: unknown attribute type 'complex'"),
        ("@attribute a {0,1\n@data\n", "line 1: the list of values has no closing brace"),
        ("@attribute a {}\n@data\n", "line 1: a nominal attribute declares no value"),
        ("@attribute a {x,x}\n@data\n", "line 1: a nominal value occurs twice"),
        ("@attribute 'a numeric\n@data\n", "line 1: @relation, @attribute with a name"),
        ("@attribute a {'x}\n@data\n", "line 1: no value can be read at"),
        ("@attribute '\\ud800' numeric\n@data\n", "line 1: "),
        (
            "@attribute a numeric\n@attribute b real\n@attribute 'a' real\n@data\n",
            "line 3: two attributes are named 'a'",
        ),
        ("@attribute a numeric\n@attribute y {0,1}\n@data\n", "the label columns are unknown"),
        ("@relation 'x: -C 2'\n@attribute a real\n@attribute y {0,1}\n@data\n", "2 label columns"),
        ("@relation 'x: -C 0'\n@attribute a real\n@attribute y {0,1}\n@data\n", "0 label columns"),
        ("@relation 'x: -C -1'\n@attribute a string\n@attribute y {0,1}\n@data\n",
         "column 'a' holds text, not numbers; encode the column as numbers, or leave it out"),
        ("@relation 'x: -C -1'\n@attribute a real\n@attribute y {a,b}\n@data\n",
         "label 'y' takes the values 'a, b'"),
    ],
)  # fmt: skip
def test_bad_heads(tmp_path, head, message):
    assert message in error(tmp_path, head)


def test_encoding(tmp_path):
    text = "@relation r\n@attribute é numeric\n@attribute ü {0,1}\n@data\n1,1\n"
    for encoding in ("latin-1", "cp1252", "utf-8", "utf-8-sig", "utf-16"):
        got = arff(tmp_path, text.encode(encoding), labels="ü")
        assert (got.feature_names, got.label_names) == (["é"], ["ü"])
    message = error(tmp_path, text.encode("latin-1"), labels="ü", encoding="utf-8")
    assert "the text is not utf-8" in message
    with pytest.raises(ValueError, match="encoding=klingon is unknown"):
        arff(tmp_path, text, labels="ü", encoding="klingon")


@pytest.mark.parametrize(("count", "labels"), [(2, ["a", "b"]), (-1, ["c"]), ("-1", ["c"])])
def test_meka_and_counted_labels(tmp_path, count, labels):
    head = "".join(f"@attribute {name} {{0,1}}\n" for name in "abc") + "@data\n1,0,1\n"
    for relation in (f"'x: -C {count}'", f'"x:-C {count} -split-number 3"', f"x: -R -C {count}"):
        got = arff(tmp_path, f"@relation {relation}\n" + head)
        assert got.label_names == labels
    assert arff(tmp_path, "@relation 'x: -C 1'\n" + head, labels=count).label_names == labels


def test_drop_and_suggestions(tmp_path):
    text = "@relation r\n@attribute id string\n@attribute a real\n@attribute comedy {0,1}\n@data\n"
    text += "'x, y',1,1\nz,2,0\n"
    got = arff(tmp_path, text, labels="comedy", drop="id")
    assert got.feature_names == ["a"]
    np.testing.assert_array_equal(got.data, [[1], [2]])
    message = error(tmp_path, text, labels="comdy")
    assert "no column 'comdy'. Columns that could be meant: comedy." in message
    assert "no column 'idd'" in error(tmp_path, text, labels="comedy", drop=["idd"])
    assert "both a label and dropped" in error(tmp_path, text, labels="comedy", drop="comedy")
    assert "no feature column is left" in error(tmp_path, text, labels="comedy", drop="id,a")
    assert "named twice" in error(tmp_path, text, labels=["comedy", "comedy"])


XML = (
    '<?xml version="1.0" encoding="utf-8"?>\n<labels xmlns="http://mulan.sourceforge.net/labels">\n'
)


def test_xml_wins_over_c_and_the_arff_gives_the_order(tmp_path):
    text = "@relation 'r: -C 1'\n" + "".join(f"@attribute {n} {{0,1}}\n" for n in "abc")
    text += "@data\n1,0,1\n"
    nested = XML + '<label name="c"><label name="b"/></label></labels>'
    (tmp_path / "set.xml").write_text(nested)
    for name in ("set.arff", "set-train.arff", "set_Test.arff"):
        got = arff(tmp_path, text, name)
        assert got.label_names == ["b", "c"]
        np.testing.assert_array_equal(got.target, [[0, 1]])
    with gzip.open(tmp_path / "other.xml.gz", "wb") as file:
        file.write(nested.encode())
    assert arff(tmp_path, text, "other.arff").label_names == ["b", "c"]
    assert arff(tmp_path, text, "x.arff", xml=tmp_path / "set.xml").label_names == ["b", "c"]
    assert arff(tmp_path, text, "set.arff", labels="a").label_names == ["a"]
    (tmp_path / "set.xml").write_text(XML + '<label name="d"/></labels>')
    assert "no column 'd'" in error(tmp_path, text, "set.arff")
    every = XML + "".join(f'<label name="{n}"/>' for n in "abc") + "</labels>"
    (tmp_path / "set.xml").write_text(every)
    assert "no feature column is left" in error(tmp_path, text, "set.arff")


def test_text_and_nominal_values_are_columns_of_a_table(tmp_path):
    pytest.importorskip("pandas")
    text = """@relation 't: -C -1'
@attribute plot string
@attribute day date 'yyyy-MM-dd'
@attribute kind {short,long}
@attribute seen {no,yes}
@attribute y {0,1}
@data
"""
    rows = ["'a cop, a gang',2020-01-31,long,yes,1", "?,'',short,no,0", "'a cop, a gang',?,?,?,1"]
    (tmp_path / "t.arff").write_text(text + "\n".join(rows))
    found = read_table(tmp_path / "t.arff")
    assert found.strings("plot").tolist() == ["a cop, a gang", None, "a cop, a gang"]
    assert found.strings("day").tolist() == ["2020-01-31", "", None]
    assert found.strings("kind").tolist() == ["long", "short", None]
    np.testing.assert_array_equal(found.numbers("seen"), [1, 0, np.nan])
    (tmp_path / "s.arff").write_text(text + "{0 'a gang',2 long,4 1}\n{}\n")
    found = read_table(tmp_path / "s.arff")
    assert found.strings("plot").tolist() == ["a gang", ""]
    assert found.strings("kind").tolist() == ["long", "short"]


def test_sparse_rows_that_take_much_memory(tmp_path, monkeypatch):
    """An empty row means the first value of every column, which may be 1."""
    head = "@relation r\n" + "".join(f"@attribute a{i} {{1,0}}\n" for i in range(1000))
    path = tmp_path / "b.arff"
    path.write_text(head + "@data\n" + "{}\n" * 1000)
    monkeypatch.setenv("LABELKIN_MAX_UNPACKED", "4000000")
    with pytest.raises(FormatError, match="unpacks to more than 4 MiB"):
        read(path, labels=1)


# --- rows with and without quotes, generated -----------------------------------------------

numbers = st.floats(width=32).map(repr) | st.integers(-(10**9), 10**9).map(str) | st.just("?")
words = st.sampled_from(["x", "y", "'x'", '"y"', "?", "'?'", "zz"])
labels = st.sampled_from(["0", "1", "1.0", "'1'"])
spaces = st.sampled_from(["", "", "", " ", "\t", "   ", "      "])
KINDS = "@relation r\n@attribute a real\n@attribute w {x,y,'?'}\n@attribute y {0,1}\n@data\n"


@pytest.mark.parametrize("row", ["1,?,0", "{0 1,1 ?}"])
def test_a_bare_question_mark_is_missing_even_where_it_is_a_value(tmp_path, row):
    assert np.isnan(dense(arff(tmp_path, KINDS + row, labels="y").data)[0, 1])
    quoted = row.replace("?", "'?'")
    assert dense(arff(tmp_path, KINDS + quoted, labels="y").data)[0, 1] == 2


def both_ways(tmp_path, rows, quoted_rows):
    """Read rows as they are, and with a quoted value more, which is not split at commas."""
    outcomes = []
    more = KINDS.replace("@data", "@attribute more {q}\n@data")
    for head, lines, drop in ((KINDS, rows, ()), (more, quoted_rows, "more")):
        try:
            got = arff(tmp_path, head + "".join(lines), labels="y", drop=drop)
            outcomes.append((dense(got.data), dense(got.target)))
        except FormatError as caught:
            outcomes.append(caught.message)
    plain, quoted = outcomes
    if isinstance(quoted, str):
        assert plain == quoted
    else:
        np.testing.assert_array_equal(plain[0], quoted[0])
        np.testing.assert_array_equal(plain[1], quoted[1])


@settings(max_examples=40, deadline=None)
@given(rows=st.lists(st.tuples(numbers, words, labels, spaces, spaces), max_size=5))
def test_dense_rows_with_and_without_quotes_agree(tmp_path_factory, rows):
    lines = [f"{a}{s},{t}{w},{y}{t}" for a, w, y, s, t in rows]
    quoted = [f"{line},'q'\n" for line in lines]
    both_ways(tmp_path_factory.getbasetemp(), [f"{line}\n" for line in lines], quoted)


def test_large_sparse_file_stays_sparse(tmp_path):
    d, n = 20_000, 2_000  # dense: 320 MB
    text = "@relation 'r: -C 2'\n" + "@attribute y1 {0,1}\n@attribute y2 {0,1}\n"
    text += "".join(f"@attribute x{i} numeric\n" for i in range(d)) + "@data\n"
    text += "".join(f"{{{i % 2} 1,{2 + i % d} 0.5,{d} {i + 1}}}\n" for i in range(n))
    path = tmp_path / "big.arff"
    path.write_text(text)
    assert peak_memory(read, path) < 30e6
    got = read(path)
    assert got.data.shape == (n, d)
    assert got.data.nnz == 2 * n


# --- writing ------------------------------------------------------------------------------


def test_write_takes_dataframes(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"p": [1.0, 2.0], "q": [3.0, np.nan]})
    write(tmp_path / "f.arff", frame, pandas.DataFrame({"l": [1, 0]}))
    got = read(tmp_path / "f.arff")
    assert (got.feature_names, got.label_names) == (["p", "q"], ["l"])
    assert_same(got, frame, [[1], [0]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"data": [[1.0]], "target": [[2]]}, "target must hold only 0 and 1, but holds 2"),
        ({"data": [[1.0]], "target": [[1], [0]]}, "data has 1 rows but target has 2"),
        ({"data": [[1.0]], "target": [[1]], "feature_names": ["a", "b"]}, "2 names for 1 columns"),
        ({"data": [[1.0]], "target": [[1]], "feature_names": ["y1"]}, "two columns are named 'y1'"),
        ({"data": [[1.0]], "target": [[1]], "label_names": ["a\x01"]}, "control character"),
        (
            {"data": [[3.0]], "target": [[1]], "feature_n_values": [2]},
            "nominal with 2 values.*holds 3",
        ),
        ({"data": [[1.0]], "target": [["a"]]}, "target must hold only 0 and 1, but holds a"),
        ({"data": [[1.0]], "target": np.empty((1, 0))}, "target is empty"),
    ],
)
def test_nothing_is_written_for_bad_content(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        write(tmp_path / "a.arff", **arguments)
    assert not list(tmp_path.iterdir())
