"""Tables to features: what a column is taken for, and what the pipeline makes of it."""

import json
from datetime import datetime

import numpy as np
import pytest
from scipy import sparse

from labelkin import MLkNNClassifier
from labelkin.datasets import FormatError, RawTable, read_table
from labelkin.datasets.formats._raw_table import Guess
from labelkin.tabular import (
    DateEncoder,
    LabelColumns,
    Schema,
    StringConverter,
    find_training_data,
    table_of_records,
)
from labelkin.tabular._dates import parse_date, parse_dates
from labelkin.tabular._measured import Measured
from labelkin.tabular._pipeline import make_pipeline
from support.damaged import cpu_limit
from support.data import make_data

pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")


def table(**columns):
    frame = pd.DataFrame(columns)
    return RawTable("t.csv", frame, list(frame.columns))


def find(data, labels="y", columns=None, **options):
    return Schema.find(data, LabelColumns.find(data, labels).columns, columns, **options)


def test_strings_of_any_cells():
    cells = [["a", None], [np.nan, pd.NA], [1, "nan"]]
    expected = [["a", ""], ["", ""], ["1", "nan"]]
    assert StringConverter().fit_transform(np.array(cells, dtype=object)).tolist() == expected
    series = pd.Series(["x", None, np.nan], dtype=object)
    assert StringConverter().fit_transform(series).tolist() == ["x", "", ""]
    assert StringConverter().fit_transform(pd.Series(["x", None], dtype="string")).tolist() == [
        "x",
        "",
    ]


def test_kinds_are_told_apart():
    n = 60
    data = table(
        number=np.arange(n) / 7,
        whole=[7 * i % n for i in range(n)],
        truth=[True, False] * (n // 2),
        colour=["red", "green", None] * (n // 3),
        code=[f"0{i % 4}" for i in range(n)],
        words=[f"all sorts of words {i}" for i in range(n)],
        y=[0, 1] * (n // 2),
    )
    schema = find(data, columns={"words": "text"})
    assert schema.columns == {
        "number": "number", "whole": "number", "truth": "number",
        "colour": "category", "code": "category", "words": "text",
    }  # fmt: skip
    assert schema.scale == "robust"
    assert find(data) == schema
    frame = schema.read(data, [])
    assert list(frame.columns) == list(schema.columns)
    assert frame["truth"].tolist()[:2] == [1.0, 0.0]
    assert frame["colour"][2] is None


@pytest.mark.parametrize(("distinct", "kind"), [(20, "category"), (21, "text")])
def test_many_words_are_no_category(distinct, kind):
    data = table(w=[f"w{i % distinct}" for i in range(41)], y=[0, 1] * 20 + [1])
    assert find(data).columns == {"w": kind}
    assert [guess.text for guess in data.guesses] == ["w: text"] * (kind == "text")


@pytest.mark.parametrize(
    ("numbers", "note"),
    [
        ([*range(18, 66), *[99] * 12], "12 cells of w are 99, and all others 65 at most"),
        ([*range(-20, 34), *[-99] * 6], "6 cells of w are -99, and all others -20 at least"),
        ([*range(18, 72), *[98] * 3, *[99] * 3], "6 cells of w are 98 or 99, and all others 71"),
        ([*range(5, 950, 20), *[999] * 12], None),  # prices
        ([*[19, 29, 49, 99, 199] * 11, *[999] * 5], None),
        ([*range(42, 96), *[99] * 6], None),  # percentages
    ],
)
def test_codes_that_may_mean_missing_are_named(numbers, note):
    data = table(w=numbers, y=[0, 1] * 30)
    assert find(data).measured["w"].words == ()
    found = guesses_of(data)
    assert not found if note is None else found[0].startswith(note)


def test_few_words_among_many_dates_are_missing_values():
    cells = ["open", *(f"{1 + i % 28}-MAR-1987 10:00:00.5" for i in range(38)), "unknown"]
    data = table(w=cells, y=[0, 1] * 20)
    schema = find(data)
    assert schema.columns == {"w": "date"}
    assert guesses_of(data)[0] == "2 cells of w read as missing: 'open', 'unknown'"
    new = pd.DataFrame({"w": ["3-MAR-1987", "open", "unknown", None]})
    assert schema.read(new)["w"].tolist() == ["3-MAR-1987", None, None, None]
    with pytest.raises(ValueError, match="holds 'soon' in row 1, not a date"):
        schema.read(pd.DataFrame({"w": ["soon"]}))
    notes = []  # of a command: other words are missing, too, if they are few
    schema.read(pd.DataFrame({"w": ["3-MAR-1987"] * 3 + ["soon"]}), notes)
    assert notes[0] == "X: cells of w read as missing: 'soon'"
    # One word may be frequent; of several, the user decides.
    frequent = table(w=["open"] * 30 + cells, y=[0, 1] * 35)
    assert find(frequent).columns == {"w": "date"}
    many = table(w=["open", "soon"] * 4 + cells, y=[0, 1] * 24)
    assert find(many).columns == {"w": "text"}
    given = find(many, columns={"w": "date"})
    assert given.read(many)["w"].tolist()[:9] == [None] * 9
    assert guesses_of(many)[-1] == "10 cells of w read as missing: 'open', 'soon', 'unknown'"


def test_few_words_among_many_numbers_are_missing_values():
    cells = ["rather not say", *(str(i % 30) for i in range(89))]
    data = table(w=cells, y=[0, 1] * 45)
    schema = find(data)
    assert schema.columns == {"w": "number"}
    assert guesses_of(data)[0] == "1 cell of w read as missing: 'rather not say'"
    assert data.guesses[0].doubtful
    new = pd.DataFrame({"w": ["3", "rather not say", "unknown"]})
    assert schema.read(new)["w"].tolist() == pytest.approx([3, np.nan, np.nan], nan_ok=True)
    with pytest.raises(ValueError, match="holds 'many' in row 1, not a number"):
        schema.read(pd.DataFrame({"w": ["many"]}))
    notes = []  # of a command: other words are missing, too, if they are few
    assert np.isnan(schema.read(pd.DataFrame({"w": ["3", "tbd", "4", "5"]}), notes)["w"][1])
    assert notes[0] == "X: cells of w read as missing: 'tbd'"
    assert notes[1].startswith("X: 1 missing value in w: in a model, each counts as the")
    with pytest.raises(ValueError, match="holds 'tbd' in row 1, not a number"):
        schema.read(pd.DataFrame({"w": ["tbd"]}), notes)
    assert find(data, columns={"w": "category"}).columns == {"w": "category"}


@pytest.mark.parametrize(
    ("numbers", "sentinels"),
    [
        ([*np.arange(57) / 7, *[-999] * 3], ["-999"]),
        ([*range(1, 6)] * 10 + [98] * 4 + [99] * 6, ["98", "99"]),
        ([*np.arange(-20, 34), *[9999] * 3, *[-999.9] * 3], ["9999", "-999.9"]),
        ([*range(54), *[-99] * 2, *[99] * 2, *[60] * 2], []),  # they hardly recur
        ([*range(95, 151), *[999] * 4], ["999"]),  # blood pressure
        ([*range(45, 99), *[100] * 4, *[999] * 2], ["999"]),
        ([*range(-5, 49), *[-99] * 6], []),  # one of several negative numbers, not far off
        ([*np.arange(54) / 10, *[99.99] * 6], []),  # a price
        ([1, 99] * 30, []),
    ],
)
def test_numbers_that_mean_missing_are_found(numbers, sentinels):
    data = table(w=np.random.default_rng(0).permutation(numbers), y=[0, 1] * 30)
    schema = find(data)
    assert {*schema.measured["w"].words} == {*sentinels}
    written = [str(float(number)) for number in numbers]
    for new in (numbers, written):
        read = schema.read(pd.DataFrame({"w": new}))["w"]
        expected = [number for number in numbers if f"{number:g}" not in sentinels]
        assert read.dropna().tolist() == expected
    assert all(guess.arguments == ("number", "ignore") for guess in data.guesses)
    assert find(data, columns={"w": "number"}).measured["w"].words == ()
    assert np.isfinite(find(data, columns={"w": "number"}).read(data)["w"]).all()


def test_many_words_among_numbers_are_asked_about():
    data = table(w=["many"] * 10 + [str(i % 30) for i in range(80)], y=[0, 1] * 45)
    with pytest.raises(ValueError, match=r"10 of 90 cells hold others, such as 'many' \(row 1\)"):
        find(data)
    chosen = find(data, columns={"w": "number"})
    assert np.isnan(chosen.read(data)["w"]).sum() == 10
    copies = {f"v{i}": [*data.data["w"]] for i in range(6)}
    with pytest.raises(ValueError, match=r"'v0': .*; column 'v4': .*; 1 more column cannot"):
        find(table(**copies, y=[0, 1] * 45))  # all in one message
    chosen = find(table(w=["a", "b", "1"] * 10, y=[0, 1] * 15), columns={"w": "number"})
    assert chosen.measured["w"].words == ("a", "b")
    booked = table(w=["8", "8-", "9"] * 10, y=[0, 1] * 15)
    assert find(booked, columns={"w": "number"}).read(booked)["w"].tolist()[:3] == [8, -8, 9]
    with pytest.raises(ValueError, match="holds 'a' in row 1, not a number"):
        find(table(w=["a", "b", "c"] * 10, y=[0, 1] * 15), columns={"w": "number"})


def test_codes_of_digits_and_letters_are_identifiers():
    data = table(key=[f"{i:012x}" for i in range(60)], x=np.arange(60) % 7, y=[0, 1] * 30)
    assert find(data).columns == {"x": "number"}
    assert guesses_of(data) == ["key left out: an identifier"]


@pytest.mark.parametrize(
    ("texts", "kind", "said"),
    [
        (
            ["荷物が届きません。返金してください", "ログインできません、住所が違います"],
            "text",
            "w: text",
        ),
        (["東京都", "大阪府"], "category", None),
        (["parcel is", "invoice is"], "category", "w: 22 categories"),
    ],
)
def test_repeated_texts_of_scripts_without_spaces(texts, kind, said):
    cells = [texts[i % 2] + (f" {chr(97 + i % 22)}" if said else "") for i in range(66)]
    data = table(w=cells, y=[0, 1] * 33)
    assert find(data).columns == {"w": kind}
    assert guesses_of(data) == [said] * bool(said)


def test_points_mean_day_first_whatever_the_training_rows_have():
    assert parse_date("02.04.2025", day_first=False) == parse_date("2025-04-02", day_first=False)
    assert parse_date("02/04/2025", day_first=False) == parse_date("2025-02-04", day_first=False)
    assert parse_date("04.13.2025", day_first=False) is None
    for text in ("2025年4月2日", "2025년 4월 2일"):
        assert parse_date(text, day_first=False) == parse_date("2025-04-02", day_first=False)


@pytest.mark.parametrize(
    "names",
    [
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre",
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro",
        "januari februari maart april mei juni juli augustus september oktober november",
        "gen feb mar apr mag giu lug ago set ott nov",
        "jan fev mar abr mai jun jul ago set out nov",
        "styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień październik listopad",
        "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopad",
        "sty lut mar kwi maj cze lip sie wrz paź lis",
        "leden únor březen duben květen červen červenec srpen září říjen listopad",
        "ledna února března dubna května června července srpna září října listopadu",
        "led úno bře dub kvě čvn čvc srp zář říj lis",
        "januára februára marca apríla mája júna júla augusta septembra októbra novembra",
        "január február március április május június július augusztus szeptember október november",
        "Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül EKİM KASIM",
        "январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь",
        "января февраля марта апреля мая июня июля августа сентября октября ноября",
        "січень лютий березень квітень травень червень липень серпень вересень жовтень листопад",
        "січня лютого березня квітня травня червня липня серпня вересня жовтня листопада",
        "januar februar marts april maj juni juli august september oktober november",
        "tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta heinäkuuta elokuuta "
        "syyskuuta lokakuuta marraskuuta",
        "tammi helmi maalis huhti touko kesä heinä elo syys loka marras",
        "Ιανουάριος Φεβρουάριος Μάρτιος Απρίλιος Μάιος Ιούνιος Ιούλιος Αύγουστος Σεπτέμβριος "
        "Οκτώβριος Νοέμβριος",
        "Ιανουαρίου Φεβρουαρίου Μαρτίου Απριλίου Μαΐου Ιουνίου Ιουλίου Αυγούστου Σεπτεμβρίου "
        "Οκτωβρίου Νοεμβρίου",
    ],
)
def test_months_of_languages(names):
    found = [parse_date(f"1 {name} 2025", day_first=False).month for name in names.split()]
    assert found == [*range(1, 12)]
    assert str(parse_date("1º de dezembro de 2025", day_first=False)) == "2025-12-01 00:00:00"


def test_html_in_texts_is_said():
    texts = [
        f"<p>Hello,<br>please help {i}</p>" if i % 6 == 0 else f"no tag in it {i}"
        for i in range(30)
    ]
    data = table(w=texts, y=[0, 1] * 15)
    assert find(data).columns == {"w": "text"}
    assert guesses_of(data) == ["w: text with HTML tags, which are read as words"]


def test_labels_may_name_one_column_of_tags():
    data = table(x=[1.5, 2, 3], tags=["a|b", None, "b"], y=["yes", "no", "maybe"])
    found = LabelColumns.find(data, "tags")
    assert (found.names, found.column, found.separator) == (("a", "b"), "tags", "|")
    # Words for yes and no make a column one label, with another word among them a wrong one.
    assert LabelColumns.find(data, "y").column is None
    with pytest.raises(
        ValueError, match=r"'y' holds 'maybe' in row 3.*empty cell where it is not k"
    ):
        LabelColumns.find(data, "y").read(data, [])


def test_a_few_sentences_are_no_category():
    data = table(w=["a dog ran home", "the cat sat down", "it was late again"], y=[0, 1, 1])
    assert find(data).columns == {"w": "text"}
    assert [guess.text for guess in data.guesses] == ["w: text"]
    assert find(data, columns={"w": "category"}).columns == {"w": "category"}


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_missing_values_of_a_matrix(form):
    X, Y = make_data(20)
    full = RawTable("full.npz", form(X), None, list("abcd"), Y)
    holed = X.copy()
    holed[3, 2] = np.nan
    gaps = RawTable("gaps.npz", form(holed), None, list("abcd"), Y)
    with pytest.raises(ValueError, match="fitted on data without any"):
        Schema.find(full).read(gaps)
    notes = []
    schema = Schema.find(gaps)
    pipeline = make_pipeline(schema, MLkNNClassifier())
    pipeline.fit(schema.read(gaps, notes), Y)
    assert "1 missing" in notes[0]
    assert pipeline.predict(schema.read(full, [])).shape == Y.shape


def test_the_median_is_the_training_rows():
    pipeline = make_pipeline(Schema({"x": "number"}), MLkNNClassifier(n_neighbors=1))
    frame = pd.DataFrame({"x": [1.0, 2.0, 9.0, np.nan]})
    pipeline.fit(frame, np.array([[1, 0], [0, 1], [1, 1], [0, 1]]))
    Z = pipeline[:-1].transform(pd.DataFrame({"x": [np.nan]}))
    assert Z.tolist() == [[2.0]]


def test_words_categories_and_numbers_side_by_side():
    kinds = {"t": "text", "c": "category", "x": "number"}
    schema = Schema(kinds, scale="standard", embedding="none")
    frame = pd.DataFrame(
        {"t": ["red car", "blue car", None], "c": ["p", None, "q"], "x": [0.0, 2.0, 1.0]}
    )
    pipeline = make_pipeline(schema, MLkNNClassifier(n_neighbors=1))
    pipeline.fit(frame, np.eye(3, dtype=int))
    Z = pipeline[:-1].transform(frame)
    names = list(pipeline[:-1].get_feature_names_out())
    assert names == ["x", "c_", "c_p", "c_q", "blue", "car", "red"]
    dense = Z.toarray() if sparse.issparse(Z) else Z
    assert dense[:, 1:4].tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
    assert dense[2, 4:].tolist() == [0, 0, 0]
    assert dense[:, 0].mean() == pytest.approx(0)
    assert pipeline.predict(frame).shape == (3, 3)


def test_a_model_that_encodes_its_input_itself_gets_a_frame():
    data = table(a=[1, 2], b=["p", "q"])
    frame = Schema({"b": "raw", "a": "raw"}).read(data)
    assert list(frame.columns) == ["b", "a"]


def test_two_text_columns_may_share_words():
    schema = Schema({"s": "text", "t": "text"}, embedding="none")
    frame = pd.DataFrame({"s": ["one two", "two"], "t": ["two", "three"]})
    pipeline = make_pipeline(schema, MLkNNClassifier(n_neighbors=1))
    pipeline.fit(frame, np.eye(2, dtype=int))
    assert pipeline[:-1].transform(frame).shape == (2, 4)


def test_a_matrix_is_left_as_it_is():
    X, Y = make_data(20)
    data = RawTable("m.npz", X, None, list("abcd"), Y)
    labels = LabelColumns.find(data)
    schema = Schema.find(data)
    assert schema.columns is None
    assert schema.read(data, []) is X
    assert [name for name, _ in make_pipeline(schema, MLkNNClassifier()).steps] == ["classifier"]
    np.testing.assert_array_equal(labels.read(data, []), Y)


def test_columns_of_a_matrix_are_found_by_name():
    X = sparse.csr_matrix(np.arange(12.0).reshape(3, 4))
    data = RawTable("m.arff", X, list("pqry"), ["y"])
    schema = Schema(columns=None, names=("r", "p"), n_features=2)
    np.testing.assert_array_equal(schema.read(data, []).toarray(), X.toarray()[:, [2, 0]])


def test_a_label_of_the_xml_that_the_file_lacks(tmp_path):
    head = "@relation x\n@attribute a numeric\n@attribute l {0,1}\n@attribute m {0,1}\n@data\n"
    (tmp_path / "d.arff").write_text(head + "1,0,1\n2,1,0\n")
    (tmp_path / "d.xml").write_text("<labels><label name='l'/><label name='n'/></labels>")
    data = read_table(tmp_path / "d.arff")  # rows to predict may lack all labels
    with pytest.raises(FormatError, match="no column 'n'"):
        LabelColumns.find(data)


def test_labels_by_name_where_files_list_others():
    target = np.array([[1, 0], [0, 1]])
    data = RawTable("m.svm", np.eye(2), None, ["b", "z"], target)
    notes = []
    found = LabelColumns(("a", "b")).read(data, notes)
    assert found.tolist() == [[0, 1], [0, 0]]
    assert len(notes) == 2


def test_tags():
    data = table(tags=["a; b", "", None, "b;;a;b", " c "], x=[1, 2, 3, 4, 5])
    labels = LabelColumns.find(data, "tags")
    assert labels.names == ("a", "b", "c")
    assert labels.read(data, []).tolist() == [[1, 1, 0], [0] * 3, [0] * 3, [1, 1, 0], [0, 0, 1]]


def test_yes_and_no_are_labels():
    data = table(y=["yes", "No", "TRUE", "0"], x=[1, 2, 3, 4])
    assert LabelColumns(("y",)).read(data, []).ravel().tolist() == [1, 0, 1, 0]
    data = table(y=["Sim", "não", "да", "нет", "是", "否", "☑", "☐"], x=range(8))
    assert LabelColumns(("y",)).read(data, []).ravel().tolist() == [1, 0] * 4


def test_strings_stay_as_written(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("zip,x\n007,1\n,2\n")
    data = read_table(path, as_strings={"zip", "absent"})
    assert data.strings("zip").tolist() == ["007", None]


# ----------------------------------------------------------------------- files as people have them


def guesses_of(data):
    return [guess.text for guess in data.guesses]


def test_identifiers_are_left_out():
    n = 40
    rng = np.random.default_rng(0)
    data = table(
        ticket_id=rng.permutation(n),
        running=np.arange(n) * 3 + 17,
        account=rng.permutation(n) + 483_920,
        mail=[f"user{i}@example.com" for i in range(n)],
        views=rng.permutation(n) * 37,
        empty=[None] * n,
        y=[0, 1] * (n // 2),
    )
    assert find(data).columns == {"views": "number"}
    left = {text.split()[0] for text in guesses_of(data) if "left out" in text}
    assert left == {"ticket_id", "running", "account", "mail", "empty"}
    kept = find(data, columns={"running": "number", "mail": "category"})
    assert kept.columns == {"running": "number", "mail": "category", "views": "number"}


def test_ids_with_a_point_are_identifiers():
    codes = [f"21{i % 12:02}.{10_007 + 30 * i}" for i in range(40)]
    for cells in (codes, [*map(float, codes)]):
        data = table(id=cells, ratio=cells, y=[0, 1] * 20)
        assert find(data).columns == {"ratio": "number"}
        assert "id left out: an identifier" in guesses_of(data)


def test_quantities_that_differ_by_chance_are_no_identifiers():
    rng = np.random.default_rng(0)
    n = 50
    years = table(
        year=np.arange(1950, 1950 + n),
        population=152_271 + np.cumsum(rng.integers(1_500, 3_000, n)),
        income=32_000 + rng.permutation(n) * 617,
        PID=rng.permutation(n),
        MRN=rng.permutation(n) * 1_837_291 + 10_000_000,
        y=[0, 1] * (n // 2),
    )
    assert find(years).columns == {"population": "number", "income": "number"}
    assert {*find(years).identifiers} == {"PID", "MRN", "year"}


def test_columns_that_are_the_same_in_all_rows_are_left_out():
    data = table(country=["de"] * 9, year=[2026] * 9, mark=["x", None, "x"] * 3, y=[0, 1, 1] * 3)
    assert find(data).columns == {"mark": "category"}
    assert guesses_of(data) == ["2 columns left out, which are the same in all rows: country, year"]
    assert find(data, columns={"year": "number"}).columns.keys() == {"year", "mark"}
    assert guesses_of(data)[1] == "country left out: it is the same in all rows"
    data = table(x=[1, 2, 2] * 3, **dict.fromkeys("abcdefg", [None] * 9), y=[0, 1, 1] * 3)
    assert find(data).columns == {"x": "number"}
    (guess,) = data.guesses
    assert guess.text == "7 columns left out, which are empty: a, b, c, d, e and 2 more"
    assert guess.arguments == ()  # no kind of column makes use of them
    with pytest.raises(ValueError, match=r"besides .* columns that are empty or the same in all"):
        find(table(country=["de"] * 9, y=[0, 1, 1] * 3))


def test_the_index_of_a_shuffled_frame_is_left_out(tmp_path):
    pytest.importorskip("openpyxl")
    frame = pd.DataFrame({"x": np.arange(30) % 7 / 7, "y": [0, 1] * 15}).sample(frac=1)
    frame.to_csv(tmp_path / "t.csv")
    frame.to_excel(tmp_path / "t.xlsx")
    frame.to_parquet(tmp_path / "t.parquet")
    files = [read_table(tmp_path / f"t.{form}") for form in ("csv", "xlsx", "parquet")]
    for data in (*files, RawTable.of(pd.read_csv(tmp_path / "t.csv"))):
        schema = find(data)
        assert schema.columns == {"x": "number"}
        assert schema.identifiers == tuple({*data.names} - {"x", "y"})
        assert all(data.names)


@pytest.mark.parametrize("make", [int, "SUP-{}".format])
def test_identifiers_of_repeated_rows_are_left_out(make):
    numbers = [*np.random.default_rng(0).permutation(40), 7, 8]
    cells = [make(number) for number in numbers]
    data = table(**{"Ticket ID": cells, "a": cells, "x": np.arange(42) % 5, "y": [0, 1] * 21})
    schema = find(data)
    assert "Ticket ID" not in schema.columns
    assert "Ticket ID" in schema.identifiers
    assert ("a" in schema.columns) == (make is int)  # some numbers may recur by chance


def test_identifiers_may_have_gaps_and_a_few_twice():
    rng = np.random.default_rng(0)
    running = 40_001 + 3.0 * np.arange(200)
    policy = rng.permutation(200) + 48_392_000.0
    running[77], policy[[5, 60, 111]] = np.nan, np.nan
    mail = [f"user{i}@example.com" for i in range(200)]
    url = [f"https://example.com/{'abcde'[i % 5]}{'fghij' * (i // 5)}" for i in range(200)]
    mail[150:156], url[3:6] = mail[:6], [None] * 3
    city = [f"{'abcdefghijklmnopqrst'[i % 20]}{'uvwxyz'[i // 20 % 6]}{'a' * i}" for i in range(200)]
    half = np.where(rng.random(200) < 0.5, running, np.nan)  # of those that paid, say
    data = table(
        running=running,
        policy=policy,
        mail=mail,
        url=url,
        city=[*city[:-3], *city[:3]],
        half=half,
        y=[0, 1] * 100,
    )
    assert find(data).columns == {"city": "text", "half": "number"}
    assert {*find(data).identifiers} == {"running", "policy", "mail", "url"}


def test_repeated_identifiers_and_folds_are_doubtful_features():
    rows = np.arange(120)
    data = table(
        patient_id=1000 + rows // 4,
        userId=[f"u{i // 3}" for i in rows],
        region_id=rows % 9,  # codes of a few categories
        grid=rows // 4,
        body_id=rows // 4 + 0.5,
        fold=rows % 5,
        split=np.where(rows % 5, "Train", "test"),
        test_split=np.where(rows % 2, "even", "odd"),
        y=rows % 2,
    )
    find(data)
    doubts = [guess for guess in data.guesses if guess.doubtful]
    assert [guess.text.split()[0] for guess in doubts] == ["patient_id", "userId", "fold", "split"]
    assert doubts[0].arguments == ("group", "ignore", "category")
    assert "if new rows have others than its 30 values, leave it out" in doubts[0].text
    data.guesses.clear()
    find(data, columns={"patient_id": "category", "userId": "category", "fold": "ignore"})
    assert [guess.text.split()[0] for guess in data.guesses if guess.doubtful] == ["split"]


@pytest.mark.parametrize(
    ("name", "form", "is_one"),
    [
        ("code", "HBBW {}", True),
        ("code", "RE 2025/{}", True),
        ("Kunden-Nr.", "{}", True),
        ("Rechnungsnummer", "{}", True),
        ("Invoice No.", "{}", True),
        ("InvoiceNo", "{}", True),
        ("size", "{} cm", False),
        ("casino", "{}", False),
        ("title", "all about the room {}", False),
    ],
)
@pytest.mark.parametrize("make", [str, int])
def test_numbered_names_are_identifiers(make, name, form, is_one):
    numbers = np.random.default_rng(0).permutation(400)[:40]
    cells = [form.format(number) for number in numbers]
    if make is int and form == "{}":
        cells = [make(cell) for cell in cells]
    data = table(**{name: cells, "x": np.arange(40) % 5, "y": [0, 1] * 20})
    assert find(data).identifiers == (name,) * is_one


@pytest.mark.parametrize("letters", ["ACDEFGHIKLMNPQRSTVWY", "ACGT-"])
def test_sequences_are_texts(letters):
    rng = np.random.default_rng(0)
    cells = ["".join(rng.choice([*letters], rng.integers(20, 90))) for _ in range(40)]
    for repeats in (1, 2):
        data = table(w=cells * repeats, y=[0, 1] * 20 * repeats)
        schema = find(data)
        assert (schema.columns, schema.unspaced) == ({"w": "text"}, ("w",))
        assert guesses_of(data) == ["w: text"]


def test_lists_of_words_are_texts():
    lists = [["olive oil", "rice"], [], None, ["sugar"]] * 5
    data = table(w=lists, pairs=[[{"a": 1}]] * 20, y=[0, 1] * 10)
    schema = find(data)
    assert schema.columns == {"w": "text"}
    assert guesses_of(data)[0] == "w: lists of words, read as text"
    assert schema.read(data)["w"].tolist()[:4] == ["olive oil, rice", None, None, "sugar"]
    new = table_of_records([{"w": ["olive oil", "rice"]}, {"w": "sugar"}, {"w": []}], schema)
    assert schema.read(new)["w"].tolist() == ["olive oil, rice", "sugar", None]


@pytest.mark.parametrize(
    ("cells", "kind", "words"),
    [
        (["31.12.2024", "01.02.2025", None], "day_first_date", "when: dates, day first"),
        (["2024-12-31", "1/2/2025", "01.02.2025"], "day_first_date", "when: dates, day first"),
        (["01.02.2025", "03.04.2025", None], "day_first_date", "when: dates, day first"),
        (["12/31/2024", "1/2/2025 13:05", None], "date", "when: dates, month first"),
        (["31/12/2024", "1/2/2025", None], "day_first_date", "when: dates, day first"),
        (["2024-12-31", "2025-01-02T10:00:00Z", None], "date", "when: dates"),
        (["3/14/2025 2:05 PM", "1/2/2025 12:10 AM", None], "date", "when: dates, month first"),
        (["14 Mar 2025", "March 3, 2025", "2-Sept-25"], "date", "when: dates, of 2025"),
        (["2025/03/14 2:05:33 PM GMT+1", "2025/10/01 9:00:00 AM", None], "date", "when: dates"),
    ],
)
def test_dates(cells, kind, words):
    n = 30
    data = table(when=cells * (n // 3), x=np.arange(n) / 7, y=[0, 1] * (n // 2))
    schema = find(data)
    assert schema.columns == {"when": kind, "x": "number"}
    assert guesses_of(data) == [words]
    X = schema.read(data, [])
    Y = np.array([[0, 1], [1, 0], [1, 1]] * (n // 3))
    model = make_pipeline(schema, MLkNNClassifier(n_neighbors=3)).fit(X, Y)
    names = model[0].get_feature_names_out()
    assert list(names)[:4] == ["x", "when month", "when weekday", "when hour"]
    trend = make_pipeline(find(data, trend=True), MLkNNClassifier(n_neighbors=3)).fit(X, Y)
    assert "when year" in trend[0].get_feature_names_out()
    other = table(when=["soon"], x=[1.0])
    with pytest.raises(ValueError, match="column 'when' holds 'soon' in row 1, not a date"):
        schema.read(other, [])


def test_a_date_before_many_spaces_takes_linear_time():
    with cpu_limit(20):
        assert parse_date(f"2020-01-31 10:30{' ' * 10**5}x", False) is None
        assert parse_date(f"Fri 14 Mar 2020{' ' * 10**5}x", False) is None
        assert parse_date("Mar " * 10**5, False) is None


@pytest.mark.parametrize(
    "text",
    [
        "3/14/2025 2:05 PM", "3/14/25 2:05:00 p.m.", "03/14/2025, 02:05 pm", "14 Mar 2025 14:05",
        "March 14, 2025 at 2:05 PM", "14-Mar-25 14:05", "14MAR2025 14:05", "14. März 2025, 14:05",
        "Fri, 14 Mar 2025 14:05:00 +0000", "Fri Mar 14 14:05:00 +0000 2025", "14 mars 2025 14:05",
        "Friday, March 14th, 2025 2:05 PM", "2025/03/14 2:05:00 PM GMT+1", "14/Mar/2025 14:05 CET",
        "venerdì 14 marzo 2025 14:05", "vrijdag 14 maart 2025 14:05", "14 mrt. 2025 14:05",
        "sexta-feira, 14 de março de 2025 14:05", "14 de marzo del 2025, 14:05",
        "2025. március 14. 14:05", "14 марта 2025 г., 14:05", "14. 3. 2025 14:05",
        "2025. 03. 14. 14:05", "Freitag, den 14. März 2025 14:05", "14 marca 2025 r. 14:05",
        "14.03.2025 р. 14:05", "Fr, 14.03.2025 14:05", "Fri 2025-03-14 14:05",
        "14/Mar/2025:14:05:00 +0000", "2025/03/14 2:05:00 p. m. GMT+2", "14.03.2025 à 14h05",
        "Mar 14, 2025 @ 14:05:00.000",
        "2025-03-14 2:05\u202fp.\xa0m.",
    ],
)  # fmt: skip
def test_dates_with_words(text):
    assert str(parse_date(text, day_first=False)) == "2025-03-14 14:05:00"


def test_months_and_unsure_dates_beside_others():
    cells = ["[21.5.1852]", "März 1848", "4/1856", "ca. 3.4.1850", "o. D.", "7.8.1849?", "1.2.1851"]
    data = table(sent=cells * 6, y=[0, 1, 1] * 14)
    schema = find(data)
    assert schema.columns == {"sent": "day_first_date"}
    found = [str(one)[:10] for one in parse_dates(schema.read(data)["sent"], True)[:7]]
    assert found[:4] == ["1852-05-21", "1848-03-01", "1856-04-01", "1850-04-03"]
    assert found[4:] == ["None", "1849-08-07", "1851-02-01"]
    months = table(month=["04/2024", "05/2024"] * 9, x=range(18), y=[0, 1, 1] * 6)
    assert find(months).columns["month"] == "category"
    assert find(months, columns={"month": "date"}).columns["month"] == "date"


@pytest.mark.parametrize(
    "text",
    [
        "14 de marzo",
        "Mar-25",
        "2025-03",
        "13/2025",
        "14 Marketing 2025",
        "3/14/2025 14:05 PM",
        "31 Feb 2025",
    ],
)
def test_no_dates(text):
    assert parse_date(text, day_first=False) is None


POSTCODES = [f"{i % 30 * 137 + 1:05}" for i in range(45)]


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".json", "frame"])
def test_codes_with_leading_zeros_are_no_numbers(suffix, tmp_path):
    if suffix == ".xlsx":
        pytest.importorskip("openpyxl")
    frame = pd.DataFrame({"zip": POSTCODES, "size": range(45), "part": ["0.5", "0.7", "1.5"] * 15})
    if suffix == "frame":
        table = RawTable.of(frame)
    else:
        path = tmp_path / f"t{suffix}"
        write = {".csv": frame.to_csv, ".xlsx": frame.to_excel}
        options = {"index": False} if suffix in write else {"orient": "records"}
        write.get(suffix, frame.to_json)(path, **options)
        table = read_table(path)
        assert table.kind("part") == "number"
    assert table.strings("zip").tolist() == POSTCODES
    schema = Schema.find(table, ["size"])
    assert schema.columns["zip"] == "category"
    assert "zip" in schema.reading["as_strings"]


def test_strings_of_numbers_in_a_frame():
    few, many = ["10.5", "2.5", "3"] * 15, [f"{i * 1.37:.2f}" for i in range(45)]
    table = RawTable.of(pd.DataFrame({"few": few, "many": many}))
    schema = Schema.find(table)
    assert schema.columns == {"few": "category", "many": "number"}
    assert [guess.text for guess in table.guesses] == ["many: numbers"]
    assert schema.read(table)["many"].tolist() == [float(cell) for cell in many]


def test_midnight_and_noon():
    hours = [parse_date(f"3/14/2025 12:00 {half}", False).hour for half in ("AM", "PM")]
    assert hours == [0, 12]


def test_parts_of_dates():
    encoder = DateEncoder(day_first=True, trend=True).fit([["1.1.1990"], ["31.12.2030"]])
    rows = encoder.transform([["03.04.2025 13:30"], [None], ["2025-04-03"], ["1/1/99"]])
    np.testing.assert_allclose(rows[0], [2025 + 92 / 366, 4, 3, 13.5])
    assert np.isnan(rows[1]).all()
    np.testing.assert_allclose(rows[2, :3], rows[0, :3])
    assert rows[3, 0] == 1999
    with pytest.raises(ValueError, match=r"'32\.1\.2025' is not a date"):
        encoder.transform([["32.1.2025"]])


def test_dates_outside_of_the_range_of_training():
    encoder = DateEncoder(trend=True).fit([["2024-11-05"], [None], ["2025-02-10 08:00"]])
    late, early, within = encoder.transform([["2025-07-04 13:00"], ["2024-06-03"], ["2025-01-07"]])
    np.testing.assert_allclose(late, [2025 + 40 / 366, 2, 4, 13])
    np.testing.assert_allclose(early, [2024 + 309 / 366, 11, 0, 0])
    np.testing.assert_allclose(within, [2025 + 6 / 366, 1, 1, 0])
    encoder.set_params(trend=False)
    assert encoder.transform([["2025-07-04 13:00"]]).tolist() == [[2, 4, 13]]
    assert encoder.get_feature_names_out(["d"]).tolist() == ["d month", "d weekday", "d hour"]


def test_later_dates_have_their_own_month_if_training_includes_it():
    encoder = DateEncoder(trend=True).fit([["2024-01-01", "2024-10-03"], ["2024-12-31", None]])
    [late, early] = encoder.transform([["2026-03-14", "2026-10-14"], ["2021-07-04", "2021-07-04"]])
    np.testing.assert_allclose(late, [2024 + 365 / 366, 3, 5, 0, 2024 + 276 / 366, 10, 2, 0])
    np.testing.assert_allclose(early[[0, 1, 4, 5]], [2024, 7, 2024 + 276 / 366, 10])
    encoder = DateEncoder().fit([["2023-10-05"], ["2024-02-10"]])
    months = [encoder.transform([[f"2025-{m:02d}-20"]])[0, 0] for m in range(1, 13)]
    assert months == [1, 2, *[2] * 7, 10, 11, 12]


def test_rows_outside_of_the_range_of_training_are_counted():
    n = 60
    days = [f"2025-01-{1 + i % 28:02d}" for i in range(n)]
    data = table(when=days, price=[7.0 * i % n for i in range(n)], y=[0, 1] * (n // 2))
    schema = find(data)
    notes = []
    schema.read(data, notes)
    assert notes == []
    new = table(when=["2025-02-03", "2025-01-07", "2024-12-31", "2025-04-01"], price=[5, 990, 7, 8])
    schema.read(new, notes)
    assert notes == [
        "t.csv: 2 of 4 rows have when later than any in training (1 earlier than any) "
        "(farthest: row 4), 1 has price above any in training (farthest: 990 in row 2); such "
        "predictions are less certain"
    ]


def test_a_value_far_outside_is_always_named():
    n = 60
    data = table(price=[7.0 * i % n for i in range(n)], y=[0, 1] * (n // 2))
    schema = find(data)
    for typo, way in ((590, "above"), (-590, "below")):
        notes = []
        schema.read(table(price=[*range(n), typo, np.nan]), notes)
        assert notes[0].startswith(
            f"t.csv: 1 of 62 rows has price {way} any in training (farthest: {typo} in row 61)"
        )
        notes = []
        schema.read(table(price=[typo]), notes)  # a single row may have been any of a file
        assert notes[0].startswith(
            f"t.csv: 1 of 1 row has price {way} any in training (farthest: {typo});"
        )


def test_rows_like_those_of_training_are_within_their_ranges():
    """Whatever the number of columns; a matrix has ranges as a table has."""
    rng, noted = np.random.default_rng(0), 0
    for _ in range(8):
        schema, notes = Schema.find(RawTable.of(rng.normal(size=(300, 1500)))), []
        new = rng.normal(size=(20, 1500))
        schema.read(new, notes)
        noted += len(notes)
    assert noted <= 1
    new[:18, 7], new[3, 11], notes = new[:18, 7] + 20, -90, []
    schema.read(new, notes)
    assert notes == [
        "X: 18 of 20 rows have feature 8 above any in training (farthest: "
        f"{new[:, 7].max():g} in row {new[:, 7].argmax() + 1}), 1 has feature 12 below any in "
        "training (farthest: -90 in row 4); such predictions are less certain"
    ]


@pytest.mark.parametrize(
    ("own", "new"), [(("owl", "dog"), ["y1", "y2"]), (("y1", "y2"), ["owl", "dog"])]
)
def test_labels_without_names_are_matched_by_their_order(own, new):
    data = RawTable("t.npz", np.eye(2), None, label_names=new, target=np.eye(2))
    np.testing.assert_array_equal(LabelColumns(own).read(data), np.eye(2))


@pytest.mark.parametrize(
    ("answers", "kind"),
    [
        ([*"12345" * 9, "don't know", "No answer", " Refused "], "number"),
        ([*"123" * 9, "weiß nicht"], "number"),
        ([*"123" * 9, "A"], "category"),
        ([*"12345" * 4, "don't know", "no answer", "refused"], "category"),  # more than a tenth
        ([*"12" * 9, "unknown"], "category"),
    ],
)
def test_answers_that_are_not_known_are_missing(answers, kind):
    data = table(q=answers, y=[0, 1] * (len(answers) // 2) + [0] * (len(answers) % 2))
    schema = find(data)
    assert schema.columns["q"] == kind
    assert any("of q read as missing" in guess for guess in guesses_of(data)) == (kind == "number")
    if kind == "number":
        missing = schema.read(data)["q"].isna()
        assert missing.tolist() == [not answer.isdigit() for answer in answers]


@pytest.mark.parametrize("mark", [";", "|", ",", "/"])
def test_the_separator_of_tags_is_found(mark):
    tags = [f"a{mark} b", "a", None, f"b{mark}c", "c d"]
    data = table(t=tags, x=np.arange(5) / 7)
    found = LabelColumns.find(data, "t")
    assert found.names == ("a", "b", "c", "c d")
    assert guesses_of(data) == [f"t split at {mark!r}"]


@pytest.mark.parametrize(
    "cells",
    [
        ["['a', 'b c']", "['a']", "[]", None],
        ['["a", "b c"]', '["a"]', "[]", None],
        ["['a' 'b c']", "['a']", "[]", None],
        ["[a, b c]", "[a]", "[]", None],
    ],
)
def test_tags_written_as_lists(cells):
    data = table(t=cells, x=np.arange(4) / 7)
    found = LabelColumns.find(data, "t")
    assert found.names == ("a", "b c")
    assert found.read(data, []).tolist() == [[1, 1], [1, 0], [0, 0], [0, 0]]
    guess, empty = data.guesses
    assert guess.text.startswith("t holds lists such as ")
    assert empty == Guess("empty cells of t mean no label", ("missing_labels",))
    LabelColumns.find(data, "t", missing_labels="no").read(data, [])
    assert data.guesses.count(empty) == 1


def test_a_list_of_unclosed_quotes_takes_linear_time():
    cell = "[" + "\\'" * 200_000 + "]"
    with cpu_limit(20):
        found = LabelColumns.find(table(t=[cell, "b"], x=[0.5, 1.5]), "t")
    assert found.names == (cell, "b")


def test_labels_of_minus_one_and_one():
    data = table(u=[-1, 1, 1], v=[0, 1, 0], w=["+1", "-1", "-1"], x=[1.0, 2.0, 3.0])
    found = LabelColumns.find(data, labels="u,v,w")
    assert found.read(data, []).tolist() == [[0, 0, 1], [1, 1, 0], [1, 0, 0]]
    assert guesses_of(data) == ["-1 means no in u, w"]
    mixed = table(u=[-1, 0, 1], x=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="label 'u' holds '-1' in row 1"):
        LabelColumns.find(mixed, labels="u").read(mixed, [])


def test_none_is_a_value_among_words_and_missing_among_numbers(tmp_path):
    lines = [
        f"{word},{i % 37},{i % 2}" for i, word in enumerate(["Pell", "None", "Waiver", ""] * 15)
    ]
    lines[7] = "Pell,None,1"
    (tmp_path / "t.csv").write_text("\n".join(["aid,n,y", *lines]))
    training = find_training_data(read_table(tmp_path / "t.csv"), "y")
    assert training.schema.columns == {"aid": "category", "n": "number"}
    assert training.X["aid"].tolist()[:4] == ["Pell", "None", "Waiver", None]
    assert np.isnan(training.X["n"][7])


def test_first_days_of_months_of_several_years():
    months = [f"01/{1 + i % 12:02}/{2015 + i % 5}" for i in range(60)]
    assert find(table(start=months, y=[0, 1] * 30)).columns == {"start": "day_first_date"}
    january = [f"01/{1 + i % 12:02}/2015" for i in range(60)]
    assert find(table(start=january, y=[0, 1] * 30)).columns == {"start": "date"}


def test_days_are_written_without_a_time():
    days = pd.to_datetime(["1984-12-14", "2001-03-05 08:30"], format="mixed")
    data = RawTable.of(pd.DataFrame({"born": days}))
    assert data.strings("born").tolist() == ["1984-12-14", "2001-03-05 08:30:00"]


def test_question_marks_in_labels_of_a_frame_are_missing():
    data = table(x=range(4), a=["Y", "?", "N", "Y"], b=["N", "Y", "n/a", "N"])
    labels = LabelColumns.find(data, ["a", "b"])
    np.testing.assert_array_equal(labels.read(data), [[1, 0], [np.nan, 1], [0, np.nan], [1, 0]])


def test_separators_in_doubt():
    data = table(t=["a|b,c", "b,d|a", "c"], x=[1.0, 2.0, 3.0])
    with pytest.raises(
        ValueError, match=r"4 different labels split at '\|' and as many split at ','"
    ):
        LabelColumns.find(data, "t")
    assert LabelColumns.find(data, "t", separator=",").names == (
        "a|b",
        "b",
        "c",
        "d|a",
    )


@pytest.mark.parametrize("words", ["✗✓", "✘✔", "NJ", "NO", "NS", ("[ ]", "[x]"), "OX"])
def test_pairs_of_marks_and_letters_are_labels(words):
    y = np.array([[0, 1], [1, 1], [0, 1], [1, 1]])  # the second has one word only
    data = table(n=range(4), **{name: [words[v] for v in y[:, j]] for j, name in enumerate("ab")})
    labels = LabelColumns.find(data, ["a", "b"])
    np.testing.assert_array_equal(labels.read(data), y)
    one = LabelColumns.find(table(a=list("JNJJ")), "a")  # and not tags
    assert one.column is None


@pytest.mark.parametrize(
    ("no", "yes"),
    [
        ("neg", "Pos"),
        ("negative", "positive"),
        ("absent", "present"),
        ("negativ", "positiv"),
        ("unchecked", "Checked"),
    ],
)
def test_pairs_of_findings_are_labels(no, yes):
    y = [[0, 1], [1, 1], [0, 1], [1, 1]]  # the second has one word only
    columns = {name: [(no, yes)[row[j]] for row in y] for j, name in enumerate("ab")}
    data = table(n=range(4), **columns)
    assert LabelColumns.find(data, ["a", "b"]).read(data).tolist() == y
    assert f"{yes.lower()!r} means yes" in data.guesses[0].text
    data = table(a=[yes, no, None, yes], b=[yes, yes, no, None])
    read = LabelColumns.find(data, ["a", "b"]).read(data)
    np.testing.assert_array_equal(read, [[1, 1], [0, 1], [np.nan, 0], [1, np.nan]])
    # One word beside nothing is a mark, as any other; other pairs and a third word are refused.
    data = table(a=[no, None, no, None], b=[0, 1, 0, 1])
    assert LabelColumns.find(data, ["a", "b"]).read(data)[:, 0].tolist() == [1, 0, 1, 0]
    for others in ([no, yes, "unclear", yes], [no, "yes", no, "yes"]):
        data = table(a=others, b=[0, 1, 0, 1])
        with pytest.raises(FormatError, match="replace all other words by 1, 0 or nothing"):
            LabelColumns.find(data, ["a", "b"]).read(data)
    # Such columns are no first and second tag, of which some rows have one.
    data = table(n=range(4), a=[yes, no, no, yes], b=[yes, None, None, no])
    assert LabelColumns.find(data, ["a", "b"]).column is None
    # A single column of them holds tags, also with a third word.
    data = table(a=[no, yes, "neutral", yes])
    assert LabelColumns.find(data, "a").column == "a"


@pytest.mark.parametrize("words", ["AB", ("perhaps", "yes"), ("N", "Jo"), ("n.a.", "x")])
def test_other_pairs_are_refused_with_the_cure(words):
    data = table(n=range(4), a=[words[i % 2] for i in range(4)], b=[0, 1, 0, 1])
    with pytest.raises(FormatError, match="replace all other words by 1, 0 or nothing"):
        LabelColumns.find(data, ["a", "b"]).read(data)


def test_marks_are_labels():
    data = table(u=["x", None, "X"], v=["ja", "nein", "ja"], z=[1.0, 2.0, 3.0])
    read = LabelColumns.find(data, "u,v").read(data, [])
    assert read.tolist() == [[1, 1], [0, 0], [1, 1]]


def test_more_labels_than_memory(tmp_path):
    path = tmp_path / "t.svm"
    path.write_text("".join(f"{10 * i} 1:1\n" for i in range(20_000)))
    with pytest.raises(FormatError, match=r"t\.svm: a table of 20,000 labels unpacks to more than"):
        read_table(path)


def test_nested_records_are_read_as_from_a_file(tmp_path):
    rows = [{"user": {"age": 20 + i, "home": {"city": "Ulm"}}, "old": i % 2} for i in range(9)]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    training = find_training_data(read_table(tmp_path / "rows.json"), "old")
    records = [{"user": {"age": 33, "home": {"city": "Bonn"}}, "old": 1}, {"user.age": 41}]
    found = training.schema.read(table_of_records(records, training.schema))
    np.testing.assert_array_equal(np.asarray(found["user.age"], dtype=float), [33, 41])
    for export in ({"people": records, "count": 2}, {"old": {"0": 1}, "user.age": {"0": 33}}):
        export = table_of_records([export], training.schema)
        assert training.schema.read(export)["user.age"].tolist()[0] == 33
    # A row that holds a list of objects, with a column in another case.
    row = {"User.Age": 33, "user.home.city": "Ulm", "friends": [{"user.age": 41}]}
    (tmp_path / "row.json").write_text(json.dumps(row))
    read = read_table(tmp_path / "row.json", **training.schema.reading)
    for one in (table_of_records([row], training.schema), read):
        assert training.schema.read(one, [])["user.age"].tolist() == [33]


def test_names_of_columns_may_differ_by_hyphens_and_underscores(tmp_path):
    frame = pd.DataFrame(
        {"Created at": range(0, 18, 2), "reply-time": range(9), "y": [0, 1, 1] * 3}
    )
    schema = find_training_data(frame, "y").schema
    (tmp_path / "new.csv").write_text("created_at,reply time,Created\n1,2,3\n")
    found = schema.read(read_table(tmp_path / "new.csv", **schema.reading))
    assert found[["Created at", "reply-time"]].to_numpy().tolist() == [[1, 2]]
    codes = pd.DataFrame({"q1_1": range(0, 18, 2), "size": range(9), "y": [0, 1, 1] * 3})
    other = pd.DataFrame({"q11": [1], "size": [2]})
    with pytest.raises(ValueError, match="no column 'q1_1'"):
        find_training_data(codes, "y").schema.read(other)


def test_records_may_have_decimal_commas():
    data = table(x=np.arange(9) / 7, z=np.arange(9) / 3, y=[0, 1, 1] * 3)
    schema = find(data)

    def numbers(*rows):
        return schema.read(table_of_records(rows, schema))["x"].tolist()

    assert numbers({"x": "55,5"}, {"x": 1.5}, {"x": "1.234,5"}) == [55.5, 1.5, 1234.5]
    assert numbers({"x": "55.5"}, {"x": "1,234"}, {"x": "12 €"}) == [55.5, 1234, 12]
    assert numbers({"x": "55,5"}, {"x": "1,234.5"}) == [55.5, 1234.5]


def test_texts_of_records_are_read_by_the_decimal_mark_of_the_model(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x;y\n" + "".join(f"1.0{i}2,5;{i % 2}\n" for i in range(9)))
    schema = find_training_data(read_table(path), "y").schema
    assert schema.decimal == ","
    rows = [{"x": "819.187"}, {"x": 819.187}, {"x": "1,5"}, {"x": 7}, {"x": "1.5"}]
    expected = [819187, 819.187, 1.5, 7, 1.5]
    assert schema.read(table_of_records(rows, schema))["x"].tolist() == expected
    assert schema.read(table_of_records(rows[:1], schema))["x"].tolist() == expected[:1]
    # A file of such records, and one cell of a table that has others.
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows[:4])))
    found = schema.read(read_table(tmp_path / "t.jsonl", **schema.reading))
    assert found["x"].tolist() == expected[:4]
    path.write_text('x\n"819.187"\n"7,5 %"\n')
    found = read_table(path, decimal=",").numbers("x")
    assert found.tolist() == [819187, 0.075]


def test_dates_that_begin_with_the_year_do_not_tell_the_order_of_others():
    def schema_of(cells, **columns):
        return find(table(when=cells * 3, x=np.arange(9) / 7, y=[0, 1, 1] * 3), columns=columns)

    new = {"x": [1.5, 2.5]}
    iso = ["2025-01-02", "2025-02-03 12:00", "2025-03-14"]
    words = "'when' holds '02/04/2025' in row 2, in which the day or the month may be first; write "
    with pytest.raises(FormatError, match=words + "the year first.*'day_first_date'"):
        schema_of(iso).read(table(when=["2025-04-02", "02/04/2025"], **new))
    with pytest.raises(FormatError, match="the day first and others with the month first; write"):
        schema_of(iso).read(table(when=["31/12/2025", "12/31/2025"], **new))
    # What can be read in one way only is read.
    plain = ["02.04.2025", "12/31/2025"]
    assert schema_of(iso).read(table(when=plain, **new))["when"].tolist() == plain
    # One date tells the order of the others.
    notes = []
    found = schema_of(iso).read(table(when=["02/04/2025", "25/03/2025"], **new), notes)
    assert [date[:10] for date in found["when"]] == ["2025-04-02", "2025-03-25"]
    found = schema_of(iso).read(table(when=["02/04/2025", "03/04/2025"], **new))
    assert [date[:10] for date in found["when"]] == ["2025-04-02", "2025-04-03"]
    assert notes[0].endswith("dates of when read with the day first")
    # The order is known of other models.
    both = ["02/04/2025", "2025-04-02"]
    for schema in (
        schema_of(iso, when="date"),
        schema_of(iso, when="day_first_date"),
        schema_of(["1/31/2025", "2/28/2025", "2025-03-14"]),
    ):
        assert schema.read(table(when=both, **new))["when"].tolist() == both


def test_percentages_keep_their_sign(tmp_path):
    """25.5 is never read as 2550 %, nor 25.5 % as 0.255 of another unit."""

    def read_new(schema, text, suffix="csv"):
        path = tmp_path / f"new.{suffix}"
        path.write_text(text)
        return schema.read(read_table(path, **schema.reading))["share"].tolist()

    def schema_of(sign):
        lines = [f"{i}.5{sign},{i % 2}\n" for i in range(9)]
        (tmp_path / "t.csv").write_text("share,y\n" + "".join(lines))
        return find_training_data(read_table(tmp_path / "t.csv"), "y").schema

    shares, numbers = schema_of(" %"), schema_of("")
    assert shares.measured["share"] == Measured((0.005, 0.085), unit="%")
    assert numbers.measured["share"].unit == ""
    assert read_new(shares, "share\n25.5%\n0\n3 %\n") == [0.255, 0, 0.03]
    assert read_new(numbers, "share\n25.5\n") == [25.5]
    assert shares.read(table_of_records([{"share": "25.5 %"}], shares))["share"].tolist() == [0.255]
    # A DataFrame has no signs: its numbers are what a table of percentages is read as.
    assert shares.read(pd.DataFrame({"share": [0.255]}))["share"].tolist() == [0.255]
    words = "'share' holds percentages, and 25.5 in row 2 has no percent sign; write it like 25 %"
    for read in (
        lambda: read_new(shares, "share\n0\n25.5\n"),
        lambda: read_new(shares, "share\n7 %\n25.5\n"),
        lambda: read_new(shares, '{"share": "7 %"}\n{"share": 25.5}', "jsonl"),
        lambda: shares.read(table_of_records([{"share": None}, {"share": 25.5}], shares)),
        lambda: shares.read(table_of_records([{"share": "7%"}, {"share": "25.5"}], shares)),
    ):
        with pytest.raises(FormatError, match=words):
            read()
    words = "no percentages, and 25.5 % in row 1 has a percent sign; write 0.255"
    for read in (
        lambda: read_new(numbers, "share\n25.5 %\n"),
        lambda: numbers.read(table_of_records([{"share": "25.5 %"}], numbers)),
    ):
        with pytest.raises(FormatError, match=words):
            read()
    (tmp_path / "t.csv").write_text("share,y\n" + "7 %,1\n5,0\n" * 5)
    with pytest.raises(FormatError, match="with and without a percent sign, such as '7 %' and '5'"):
        find_training_data(read_table(tmp_path / "t.csv"), "y")


@pytest.mark.parametrize(
    ("names", "title"),
    [
        (["keywords", "author", "body", "Email Subject"], "Email Subject"),
        (["author", "SEO title", "body", "Title"], "Title"),
        (["keywords", "author", "body", "note"], "note"),  # not long
        (["keywords", "author", "body"], "body"),
        (["keywords", "author"], "keywords"),
    ],
)
def test_the_column_by_which_rows_are_known(names, title):
    texts = {"author": [f"Berg, a{i} " for i in range(30)], "x": range(30), "a": [0, 1, 1] * 10}
    texts |= {"keywords": [["war", f"w{i}", "love"] for i in range(30)]}
    texts |= {"body": [f"the long text {i} " * 20 for i in range(30)]}
    short = [f"the short text {i}" for i in range(30)]
    frame = pd.DataFrame({name: texts.get(name, short) for name in [*names, "x", "a"]})
    schema = find_training_data(frame, ["a"], columns=dict.fromkeys(names, "text")).schema
    assert schema.title == title


def test_codes_beside_letters_are_no_broken_numbers():
    """Sections A to U and classes such as 01.11, as of NACE."""
    codes = [chr(65 + i % 21) if i % 9 == 0 else f"{i:02d}.{i % 9}{i % 7}" for i in range(90)]
    assert find(table(code=codes, x=[*range(9)] * 10, y=[0, 1] * 45)).columns["code"] != "number"


def test_numbers_that_may_be_codes_are_named():
    n = 60
    data = table(
        code=[(4021, 5100, 7300)[i % 3] for i in range(n)],
        stars=[1 + i % 5 for i in range(n)],
        year=[2019 + i % 4 for i in range(n)],
        phone=[f"0{30 + i % 7} {340_000 + 17 * i}" for i in range(n)],
        y=[0, 1] * (n // 2),
    )
    assert find(data).columns == dict.fromkeys(("code", "stars", "year"), "number")
    assert guesses_of(data)[:1] == ["code: numbers, of which only 3 differ"]
    assert "phone left out: an identifier" in guesses_of(data)


def test_the_year_of_dates_of_several_years_is_named():
    for n_days, is_said in ((3, False), (30, True)):
        data = table(when=pd.date_range("2022-01-01", periods=40, freq=f"{n_days}D"), y=[0, 1] * 20)
        assert find(data, trend=True).trend
        assert "the year of when is not used" not in guesses_of(data)
        find(data)
        assert ("the year of when is not used" in guesses_of(data)) == is_said


@pytest.mark.parametrize("kind", ["category", "text"])
def test_words_for_missing_values_are_such_from_any_source(kind, tmp_path):
    """A file, a DataFrame and a request hold the same rows."""
    cells = ["-", "NA", "red", "blue", " red", None] * 10
    frame = pd.DataFrame({"c": cells, "x": np.arange(60) / 7, "y": [0, 1] * 30})
    frame.to_csv(tmp_path / "t.csv", index=False)
    read = []
    for data in (frame, read_table(tmp_path / "t.csv")):
        schema = find_training_data(data, "y", columns={"c": kind}).schema
        records = [{"c": cell, "x": 1} for cell in cells]
        read += [schema.read(new)["c"] for new in (data, table_of_records(records, schema))]
    expected = [None, None, "red", "blue", " red" if kind == "text" else "red", None] * 10
    for column in read:
        assert [None if pd.isna(cell) else cell for cell in column] == expected


@pytest.mark.parametrize(
    ("digits", "years"),
    [
        ([25, 40, 60, 80, 99, 0, 4], [1925, 1940, 1960, 1980, 1999, 2000, 2004]),  # of birth
        ([38, 45, 51], [1938, 1945, 1951]),
        ([95, 99, 0, 5], [1995, 1999, 2000, 2005]),
        ([27, 28, 35], [2027, 2028, 2035]),  # ends of contracts
        ([26, 24], [2026, 2024]),
        (["1950", 38], [1950, 1938]),
        (["2021", 38], [2021, 2038]),
    ],
)
def test_years_of_two_digits(digits, years):
    """Rows of training, new rows, and the encoder, which sees the cells as they are written."""
    cells = [f"21.08.{year:0>2}" for year in digits]
    data = table(born=cells * 10, x=np.arange(10 * len(cells)) / 7, y=[0, 1] * (5 * len(cells)))
    schema = find(data)
    expected = [(datetime(year, 8, 21) - datetime.min).days for year in years]
    assert schema.measured["born"].range == (min(expected), max(expected))
    encoder = DateEncoder(day_first=True, trend=True).fit(schema.read(data)[["born"]])
    new = pd.DataFrame({"born": [f"21.08.{year % 100:02}" for year in years]})
    np.testing.assert_array_equal(np.floor(encoder.transform(new)[:, 0]), years)
    np.testing.assert_array_equal(encoder.transform(new), encoder.transform(new + " 00:00"))


def test_missing_dates_are_counted():
    data = table(
        when=[f"{1 + i % 28}.03.2025" for i in range(40)], x=np.arange(40) / 7, y=[0, 1] * 20
    )
    notes = []
    find(data).read(table(when=["unbekannt", None, "3.3.2025"], x=[1.5, 2, 3]), notes)
    assert any("2 missing values in when" in note for note in notes)


@pytest.mark.parametrize("size", [1, 10**3, 10**6, 10**9])
def test_times_since_1970_are_dates_where_dates_are_expected(size, tmp_path):
    """In training with the kind given, and in new rows, of a file, a request or a DataFrame."""
    times, y = pd.date_range("2025-01-01", periods=60, freq="31h"), [0, 1] * 30
    cells = [int(when.timestamp()) * size for when in times]
    (tmp_path / "t.csv").write_text("\n".join(["when,x,y", *(f"{c},{c % 7},0" for c in cells)]))
    dates = find(table(when=times, x=np.arange(60) / 7, y=y))
    numbers = find_training_data(table(when=cells, x=np.arange(60) / 7, y=y), "y")
    given = find(table(when=cells, x=np.arange(60) / 7, y=y), columns={"when": "date"})
    assert given.columns["when"] == "date"
    for schema in (dates, given):
        request = [{"when": cell, "x": 1} for cell in cells]
        file = read_table(tmp_path / "t.csv", **schema.reading)
        frame = table(when=np.array(cells, dtype=float), x=1.0)
        for new in (file, table_of_records(request, schema), frame):
            read = pd.to_datetime(schema.read(new, [])["when"], utc=True)
            assert (read == pd.Series(times.tz_localize("UTC"))).all()
    unit = {1: "seconds", 10**3: "milliseconds", 10**6: "microseconds", 10**9: "nanoseconds"}[size]
    assert Guess(f"when may be {unit} since 1970", ("date",)) in numbers.guesses
    with pytest.raises(
        FormatError, match=rf"{unit} since 1970: write .* columns={{'when': 'date'}}"
    ):
        numbers.schema.read(table(when=times, x=1.0))


def test_dates_without_hyphens_are_dates_where_dates_are_expected(tmp_path):
    """As times since 1970 are. Where numbers or texts may be such dates, a guess says so."""
    times = pd.date_range("2023-06-16", periods=60, freq="31D")
    texts = [f"{when:%Y%m%d}" for when in times]
    (tmp_path / "t.csv").write_text("\n".join(["when,x", *(f"{c},1" for c in [*texts, "?"])]))
    rest = {"x": np.arange(60) / 7, "y": [0, 1] * 30}
    given = find(table(when=[*map(int, texts)], **rest), columns={"when": "date"})
    for schema in (find(table(when=times, **rest)), given):
        file = read_table(tmp_path / "t.csv", **schema.reading)
        request = table_of_records([{"when": text, "x": 1} for text in texts], schema)
        for new in (file, request, table(when=np.array(texts, dtype=float), x=1.0)):
            read = pd.to_datetime(schema.read(new, [])["when"])[:60]
            assert (read == pd.Series(times)).all()
    for cells in (texts, [*map(int, texts)]):
        numbers = find_training_data(table(when=cells, **rest), "y")
        assert Guess("when may be dates such as 20230616", ("date",)) in numbers.guesses
    with pytest.raises(
        FormatError, match=r"dates such as 20230616: write .* columns={'when': 'dat"
    ):
        numbers.schema.read(table(when=times, x=1.0))
    with pytest.raises(ValueError, match="'20230631' in row 1, not a date"):
        given.read(table(when=[20230631], x=1.0))


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("phone", 1.5e9, 1.8e9),
        ("ean", 4e12, 4.4e12),
        ("user_id", 1.6e12, 1.7e12),
        ("code", 1e12, 2e12),
        ("tweet", 1e18, 1.7e18),
    ],
)
def test_long_numbers_are_not_taken_for_times(name, low, high):
    cells = np.random.default_rng(0).integers(int(low), int(high), 60)
    data = table(x=np.arange(60) / 7, y=[0, 1] * 30, **{name: cells})
    assert not any("1970" in guess.text for guess in find_training_data(data, "y").guesses)
