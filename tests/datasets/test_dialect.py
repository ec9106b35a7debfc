"""CSV files as people have them: encodings, delimiters, decimal marks."""

import pytest

from labelkin.datasets import parse_table
from labelkin.datasets.formats._dialect import find_delimiter
from labelkin.datasets.formats._numbers import is_number, parse_number
from support.damaged import cpu_limit

pytest.importorskip("pyarrow")


def read(tmp_path, text, written="utf-8", **options):
    """Return the columns as lists, and the texts of the guesses."""
    table = parse_table(text.encode(written), str(tmp_path / "t.csv"), **options)
    return table.data.to_dict("list"), [guess.text for guess in table.guesses]


@pytest.mark.parametrize(
    ("encoding", "found"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8"),
        ("cp1252", "cp1252"),
        ("latin-1", "cp1252"),
        ("utf-16", "utf-16"),
    ],
)
def test_encodings_are_found(tmp_path, encoding, found):
    columns, guesses = read(tmp_path, "größe,wort\n1,für\n", encoding)
    assert columns == {"größe": [1], "wort": ["für"]}
    assert guesses == ([found] if found != "utf-8" else [])


@pytest.mark.parametrize(
    ("encoding", "review", "city"),
    [
        ("gb18030", "质量很好，但是送货太慢", "北京"),
        ("cp949", "배송이 너무 늦었습니다", "서울"),
        ("cp932", "商品がまだ届きません", "東京"),
        ("cp950", "品質很好，可是送貨太慢", "台北"),
        ("cp1251", "Товар пришёл вовремя", "МОСКВА"),
        ("koi8-r", "Товар пришел вовремя", "Тула"),
        ("cp1253", "Η ποιότητα είναι καλή", "Αθήνα"),
        ("cp1250", "Drukarka nie działa, proszę o pomoc", "Łódź"),
        ("iso8859-2", "Żądam zwrotu pieniędzy, ponieważ jest złe", "Łódź"),
        ("cp1250", "Žádám o přístup k účtu, křehké zboží", "Plzeň"),
        ("cp1250", "Törött áru érkezett, sürgős ügyintézést kérek", "Győr"),
        (
            "cp1254",
            "Rengi soluk çıktı, hiç beğenmedim, fiyatı çok yüksek, kargo yavaş, kutusu kırık geldi",
            "Muğla",
        ),
        ("cp1252", "¿Cuándo llegará el envío? «Mañana», según dijo", "Cádiz"),
        ("cp1252", "Perché così è più difficile: l’età è là", "Forlì"),
        ("cp1252", "Þetta er gott mál og ég vil fá það", "Reykjavík"),
        ("mac-roman", "Das Gerät läuft, größer als früher", "Köln"),
        ("cp1252", "“L’été” coûte 5 €, né à …", "Ödenbüll"),
        ("cp1252", "vielä N:ää ja Y:tä", "Töölö"),
        ("cp1252", "größer, 20 °C, ½ m²", "Århus"),
    ],
)
def test_encodings_of_scripts_are_found(tmp_path, encoding, review, city):
    text = f"id,review,city\n1,fine,Rome\n2,{review.replace(',', '')},{city}\n"
    columns, guesses = read(tmp_path, text, encoding)
    assert (columns["review"][1], columns["city"][1]) == (review.replace(",", ""), city)
    assert guesses == [encoding]


@pytest.mark.parametrize(
    ("encoding", "cells"),
    [
        ("latin-1", ["Bühler Vögel", "traité de géologie", "santé publique"]),
        ("cp1254", ["çok güzel", "görüntü"]),
        ("cp1252", [*["Über Götter und Bücher", "préface, éditions"] * 20, "très êtes là"]),
    ],
)
def test_western_windows_is_found_where_others_read_the_same(tmp_path, encoding, cells):
    columns, guesses = read(tmp_path, "a;b\n" + "".join(f"{c};1\n" for c in cells * 3), encoding)
    assert (columns["a"], guesses[1:]) == (cells * 3, ["cp1252"])


@pytest.mark.parametrize("sign", [*"äéñøßÅÜœ€£§°²³½«“”’–…¿•©"])
def test_a_single_sign_of_western_windows_is_found(tmp_path, sign):
    for cell in (f"7{sign}", f"a{sign}b", f"{sign}llo", f"5 {sign}"):
        columns, guesses = read(tmp_path, f"a,b\n{cell},1\nx,2\n", "cp1252")
        assert (columns["a"], guesses) == ([cell, "x"], ["cp1252"])


@pytest.mark.parametrize("encoding", ["cp1252", "cp1250", "mac-roman"])
@pytest.mark.parametrize("cell", ["5,50 €", "€ 5", "don’t", "a – b", "wait…", "Kin™", "für 5 €"])
def test_a_sign_in_each_row_is_no_letter(tmp_path, encoding, cell):
    columns, _ = read(tmp_path, "x;y\n" + f"{cell};1\n" * 200, encoding, as_strings=["x"])
    assert {*columns["x"]} == {cell}


@pytest.mark.parametrize("unit", ["µm", "m³", "±", "§"])
@pytest.mark.parametrize("words", ["pièce fêlée, à revoir", "låda för många"])
def test_a_unit_in_each_row_is_no_letter(tmp_path, unit, words):
    rows = "".join(f"{i} {unit};{words if i % 8 == 1 else ''}\n" for i in range(60))
    columns, _ = read(tmp_path, f"x;y\n{rows}", "cp1252", as_strings=["x"])
    assert (columns["x"][1], columns["y"][1]) == (f"1 {unit}", words)


def test_a_given_encoding_is_kept(tmp_path):
    with pytest.raises(ValueError, match=r"NUL characters.*encoding=utf-16-le"):
        read(tmp_path, "a,b\n1,2\n", "utf-16-le")
    columns, _ = read(tmp_path, "a,b\n1,2\n", "utf-16-le", encoding="utf-16-le")
    assert columns == {"a": [1], "b": [2]}
    with pytest.raises(ValueError, match="the text is not utf-8"):
        read(tmp_path, "größe\n1\n", "cp1252", encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2\n", ";"),
        ("size, cm;tags\n1,5;x|y\n2;z\n", ";"),
        ("text;tags, all\nhello, you;a\nwell;b\n", ";"),
        ("a\tb\n1\t2\n", "\t"),
        ("a|b\n1|2\n", "|"),
        ('text,tags\n"one; two","a;b"\n', ","),
        ("a\n1;2\n", ","),
        ("", ","),
        ("a;1\u2028,b,c\n1,2,3\n", ","),  # no end of a line
        ("a;1\x0b\x85,b\n1,2\n", ","),
        ("a b c\nx 1 NA\ny 2 3\n", " "),
        ('"site" "pH"\n"1" "Alt Ried" 5,7\n"2" "Au" 4\n', " "),
        ("  id  n\n 1   9 8\n 20 10 7\n", " "),  # aligned
        ("review text here\nI like it\nI hate it\n", ","),
        ("a text\nI ate 3\nwe were 4 there\n", ","),
        ("a b\n1 2\n", ","),
    ],
)
def test_delimiters_are_found(text, delimiter):
    assert find_delimiter(text) == delimiter


@pytest.mark.parametrize("mark", ["\t", " ", ",", ";"])
@pytest.mark.parametrize("names", ["pH y", "site pH y"])
def test_row_names_without_a_name_are_an_index(tmp_path, mark, names):
    site = ['"Ried" ', '"Au" '] if "site" in names else ["", ""]
    rows = [f'"1" {site[0]}5.7 0', f'"2" {site[1]}NA 1', f'"11" {site[1]}4.1 1']
    columns, guesses = read(tmp_path, "\n".join([names, *rows]).replace(" ", mark))
    assert list(columns) == ["index", *names.split()]
    assert (columns["index"], columns["y"]) == ([1, 2, 11], [0, 1, 1])
    assert "row names in the first column, which has no name" in guesses


@pytest.mark.parametrize(
    "text",
    [
        "text,x,y\nHello, you,1,1\nWell, I,2,0\n",
        "a,b,c\n12,50,1,0\n",
        "a,b,c\n1,2,3,0\n1,4,5,0\n",
        "a,b,c\n1,2,3,0\n2\n",
    ],
)
def test_rows_that_do_not_fit_have_no_index(tmp_path, text):
    with pytest.raises(ValueError, match="not a CSV table"):
        read(tmp_path, text)


@pytest.mark.parametrize("ends", [(";", ";;"), ("", ";")])
def test_rows_may_end_in_more_delimiters_than_the_names(tmp_path, ends):
    columns, _ = read(tmp_path, "a;b;c\n1,5;2,5;x{}\n3;4,5;y{}\n".format(*ends))
    assert columns == {"a": [1.5, 3], "b": [2.5, 4.5], "c": ["x", "y"]}


def test_the_line_that_excel_writes(tmp_path):
    columns, guesses = read(tmp_path, "sep=;\r\na;b\r\n1;2\r\n", "utf-8-sig")
    assert columns == {"a": [1], "b": [2]}
    assert guesses == ["';' between columns"]


@pytest.mark.parametrize(
    ("cells", "options", "values"),
    [
        (["12,5", "3,25"], {}, [12.5, 3.25]),
        (["1.234,50", "7"], {}, [1234.5, 7]),
        (["1,234", "2,500"], {}, [1.234, 2.5]),  # between semicolons a comma is decimal
        (["1,234", "2,500"], {"decimal": "."}, [1234, 2500]),
        (["1,234.5", "2"], {}, [1234.5, 2]),
        (["1'234.5", "2"], {}, [1234.5, 2]),
        (["1 234,5", "2"], {}, [1234.5, 2]),
        (["-1,5", "+2,5e3"], {}, [-1.5, 2500]),
        (["12,5", "n/a or so"], {}, ["12,5", "n/a or so"]),
        (["01234", "012,5"], {}, ["01234", "012,5"]),
        (["007", "7", "0012"], {}, ["007", "7", "0012"]),  # codes of unequal length
        (["€ 1.234,50", "-3,5 €"], {}, [1234.5, -3.5]),
        (["$1,234.50", "-$7", "12"], {"decimal": "."}, [1234.5, -7, 12]),
        (["12 %", "7.5%"], {}, [0.12, 0.075]),
        (["12,3 %", "5, %", "-,7%", "(1,1e1 %)"], {"decimal": ","}, [0.123, 0.05, -0.007, -0.11]),
        (["12 %", "7.5"], {}, ["12 %", "7.5"]),  # parts and percentages in one column
        (["€ 12", "$ 12"], {}, ["€ 12", "$ 12"]),
        (["($1,234.50)", "$7.25", "(3)"], {"decimal": "."}, [-1234.5, 7.25, -3]),
        (["CHF 1'234.-", "5.50", "CHF 7.–"], {}, [1234, 5.5, 7]),
        (["1.234,- €", "-5,50 €"], {}, [1234, -5.5]),
        (["(1", "(1)", "2.-3"], {}, ["(1", "(1)", "2.-3"]),
        (["06:00", "18:00:00", "0"], {}, [6, 18, 0]),
        (["6:00 AM", "6:00 p.m.", "12:00 am"], {}, [6, 18, 0]),
        (["36:00:00", "-0:00:04,5", "1 day 02:30:00"], {}, [36, -0.00125, 26.5]),
        (["06:00", "7"], {}, ["06:00", "7"]),
        (["06:00", "1:5", "3:75"], {}, ["06:00", "1:5", "3:75"]),
    ],
)
def test_numbers_as_people_write_them(tmp_path, cells, options, values):
    rows = "".join(f"{cell};w\n" for cell in cells)
    columns, _ = read(tmp_path, "x;y\n" + rows, **options)
    assert columns["x"] == values


def test_points_are_thousands_where_commas_are_decimal(tmp_path):
    columns, guesses = read(tmp_path, "a;b;c\n1,5;1.234;0.5\n2,5;2.500;0.7\n")
    assert columns == {"a": [1.5, 2.5], "b": [1234, 2500], "c": [0.5, 0.7]}
    assert guesses == [
        "';' between columns",
        "',' decimal",
        "thousands separated in b",
    ]


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["950", "1.026", "3.400"], [950, 1026, 3400]),
        (["950", "1.026", "0.400"], [950, 1.026, 0.4]),
        (["9", "1.026", "3.400"], [9, 1026, 3400]),
        (["164.000", "5.000", "1.200.000"], [164_000, 5000, 1_200_000]),
        (["1.026", "0.400", "2.125"], [1.026, 0.4, 2.125]),
        (["950", "1.026", "3.4"], [950, 1.026, 3.4]),
    ],
)
def test_points_are_thousands_where_other_numbers_end_below(tmp_path, cells, values):
    columns, guesses = read(tmp_path, "a;b\n" + "".join(f"{cell};x\n" for cell in cells))
    assert columns["a"] == values
    assert ("',' decimal" in guesses) == (values[1] > 1000)
    if "1.200.000" in cells:  # which has no decimal point
        return
    # Not in a file with decimal points.
    columns, _ = read(tmp_path, "a;b\n" + "".join(f"{cell};2.5\n" for cell in cells))
    assert columns["a"] == [*map(float, cells)]


def test_units_are_named(tmp_path):
    columns, guesses = read(tmp_path, "a,b,c,d\n$5,12 %,1,9:00 AM\n$6,13 %,2,3:00 PM\n")
    assert columns == {"a": [5, 6], "b": [0.12, 0.13], "c": [1, 2], "d": [9, 15]}
    assert guesses == [
        "a: numbers in $",
        "b: percentages, 10% is 0.1",
        "d: times, in hours",
    ]


def test_strings_stay_as_written(tmp_path):
    columns, _ = read(tmp_path, "a;b\n1,5;1.234\n", as_strings=["a", "b"])
    assert columns == {"a": ["1,5"], "b": ["1.234"]}


def test_numbers():
    assert is_number("1.234,5", ",")
    assert not is_number("1.23,5", ",")
    assert not is_number("1,2,3")
    assert not is_number("-$-5")
    assert not is_number("%")
    assert parse_number("1.234.567,25", ",") == 1234567.25


@pytest.mark.parametrize("cell", [f"{' ' * 10**5}1x", f"1${' ' * 10**5}x", f"${' ' * 10**5}x"])
def test_cells_of_spaces_take_linear_time(cell):
    with cpu_limit(20):
        assert not is_number(cell)


def test_files_of_excel_in_japan(tmp_path):
    text = "日付,感想\n2024年4月1日,すぐ壊れた。\n2024年4月2日,とても安い\n"
    columns, guesses = read(tmp_path, text, "cp932")
    assert columns["感想"] == ["すぐ壊れた。", "とても安い"]
    assert guesses == ["cp932"]
    columns, guesses = read(tmp_path, "a,b\n‚été’,1\nƒß,2\n", "cp1252")
    assert (columns["a"], guesses) == (["‚été’", "ƒß"], ["cp1252"])
