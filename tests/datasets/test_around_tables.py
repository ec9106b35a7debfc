"""What stands around the table in a file of an office: titles, totals, notes, merged cells."""

import re

import pytest

from labelkin.datasets import parse_table, read_table

pytest.importorskip("pyarrow")

ROWS = "Nr;Text;Anteil;Tags\n" + "".join(f"{i};text {i};{i}%;a\n" for i in range(1, 6))
FILES = {
    "title": "Fälle, erstes Quartal;;;\n;;;\n" + ROWS,
    "ragged title": "Report of May\n\n" + ROWS,
    "a title with a date": "Fälle;1.3.2026;;\n" + ROWS,
    "words and values": "Stand:;1.3.2026;;\nVon:;Meier;;\n;;;\n" + ROWS,
    "ragged words": "Fälle\nStand:;1.3.2026\nVon:;Meier\n" + ROWS,
    "totals": ROWS + "Summe:;;15%;5\n",
    "means of a year": ROWS + "Durchschnitt 2025:;;2,7%;5\n",
    "a balance": ROWS + "Saldo final;;9,5%;\n",
    "totals of SAP": re.sub("(?m)^(?=.)", ";", ROWS) + "*;;;15%;5\n**;;;15%;5\n",
    "totals of SAP in a column of others": ROWS + "*;;15%;\n",
    "lines of dashes": re.sub("(?m)^.+$", r"|\g<0>|", f"---\n{ROWS}---".replace(";", "  |")),
    "totals below": ROWS + ";;;\nGrand Total;;15%;5\n",
    "notes": ROWS + ";;;\nSource: the register;;;\n as of May;;;\n",
    "both": ROWS + "total;;15%;5\n;;;\nSource: the register;;;\n",
    "totals between": ROWS + ";;;\nSumme;;15%;5\n;;;\nSource: the register;;;\n",
    "a note below totals": ROWS + "Summe;;15%;5\nSource: the register;;;\n",
    "a note below the rows": ROWS + "Source: the register;;;\n",
    "ragged notes": ROWS + "\n______\n1) as of May; revised\nSource: the register",
    "a ragged note with commas": ROWS.replace(";", ",") + "Source: the register, 2026, Bonn\n",
    "ragged notes of few rows": "Report, 2026\n" + ROWS.replace(";", "\t") + "-- = none; x\nend\n",
    "a ragged note below totals": ROWS + "Summe;;15%;5\nSource: the register\n",
    "a ragged note below a line break": ROWS.replace("text 5", '"a;\nb"') + '"Source:\nof us"',
    "a mean without a word": ROWS + "3;;;\n",
    "a sum and a mean": ROWS + "15;;;\n;;;\n3;;;\n",
    "an empty row between": ROWS.replace("\n3;", "\n;;;\n3;"),
    "rows that end in delimiters": "Report\n\n" + re.sub(r"(?m)^(?=\d).*", r"\g<0>;;", ROWS),
    "margins": ";;;;\n" + "".join(f";{line}\n" for line in ROWS.splitlines()),
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_rows_around_the_table_are_left_out(text, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    found = read_table(tmp_path / "t.csv")
    assert found.names[-4:] == ["Nr", "Text", "Anteil", "Tags"]
    assert found.n_rows == 5
    assert found.data["Anteil"].tolist() == [0.01, 0.02, 0.03, 0.04, 0.05]
    said = [guess.text for guess in found.guesses]
    assert any("left out" in text for text in said), said


@pytest.mark.parametrize("last", [";;1.002,50;", "*;;1.002,50;", ";;200,50;"])
def test_totals_with_a_decimal_comma(last, tmp_path):
    rows = "".join(
        f"{i};text;{cost};a\n" for i, cost in enumerate(["1,5", "2", "3,75", "7", "988,25"])
    )
    (tmp_path / "t.csv").write_text(f"no;what;cost;tags\n{rows}{last}\n")
    assert read_table(tmp_path / "t.csv").data["cost"].tolist() == [1.5, 2, 3.75, 7, 988.25]


@pytest.mark.parametrize("form", ["Subtotal {}", "{} total", "Zwischensumme {}"])
def test_subtotals_within_a_table(form, tmp_path):
    rows = [f"{i},text {i},{i * i},a" for i in range(12)]
    rows[6:6] = [f"{form.format('May')},,55,"]
    rows += [f"{form.format('June')},,451,", "Total,,506,"]
    (tmp_path / "t.csv").write_text("\n".join(["id,what,cost,tags", *rows]))
    found = read_table(tmp_path / "t.csv")
    assert found.data["id"].tolist() == [*range(12)]
    assert "3 rows of subtotals left out" in [guess.text for guess in found.guesses]
    full = [row.replace(",,", ",film,") + "b" for row in rows]  # titles such as Total Recall
    (tmp_path / "t.csv").write_text("\n".join(["id,what,cost,tags", *full]))
    assert read_table(tmp_path / "t.csv").n_rows == 15
    texts = [f"text {i},a,b" for i in range(9)] + ["wrong balance,,b", "please check my balance,,"]
    (tmp_path / "t.csv").write_text("\n".join(["what,tags,more", *texts]))
    assert read_table(tmp_path / "t.csv").n_rows == 11


@pytest.mark.parametrize("form", ["{:,}", "{}"])
def test_named_totals_where_rows_lack_labels(form, tmp_path):
    views = [1_426 * i for i in range(1, 9)]
    rows = [f"campaign {i}\t{form.format(n)}\t{'a' * (i % 2)}" for i, n in enumerate(views)]
    rows += [f"Total: account\t{form.format(sum(views))}\t"]
    (tmp_path / "t.csv").write_text("\n".join(["campaign\tviews\ttags", *rows]))
    assert read_table(tmp_path / "t.csv").n_rows == len(views)
    (tmp_path / "t.csv").write_text("\n".join(["campaign\tviews\ttags", *rows, "Total\t7\t"]))
    assert read_table(tmp_path / "t.csv").n_rows == len(views) + 2


@pytest.mark.parametrize("last", ["Headcount:;5;;;", ";By:;A. Meier;;", "Note:;a = yes;;;"])
def test_words_beside_values_below_the_table(last, tmp_path):
    wide = re.sub("(?m)^(?=.)", "x;", ROWS.replace("Nr", "x;Nr", 1).removeprefix("x;"))
    (tmp_path / "t.csv").write_text(f"{wide};;;;\n{last}\n")
    found = read_table(tmp_path / "t.csv")
    assert found.n_rows == 5
    assert "1 row of totals or notes at the end left out" in [one.text for one in found.guesses]
    (tmp_path / "t.csv").write_text(f"{wide}\n{last}\n")  # an empty line
    assert read_table(tmp_path / "t.csv").n_rows == 5
    (tmp_path / "t.csv").write_text(f"{wide}{last}\n")  # it may be a row with gaps
    assert read_table(tmp_path / "t.csv").n_rows == 6


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (ROWS + "6;text 6", 7),  # a file that is cut
        (ROWS + "6", 7),
        (ROWS + "6;text 6\nSource: the register\n", 7),
        (ROWS.replace("3;text", "text\n3;text"), 4),  # a line between the rows
        ("Nr;Text\n1;a\n2;b\nc\n", 4),  # maybe a row without tags
        ("Nr;Text;Anteil;Tags\ntext\n", 2),
    ],
)
def test_short_lines_that_are_no_notes_are_refused(text, line, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ValueError, match=f"line {line}: not a CSV table with ';' between columns"):
        read_table(tmp_path / "t.csv")


def test_a_title_above_long_texts(tmp_path):
    long = "\n" * 300  # lines, more than are looked at to find the table
    (tmp_path / "t.csv").write_text(f'Report\n{ROWS}6;"{long}";6%;a\n')
    found = read_table(tmp_path / "t.csv")
    assert (found.names[0], found.n_rows) == ("Nr", 6)


@pytest.mark.parametrize(
    "last",
    [
        "total eclipse;seen;6%;a",  # a text that begins with the word
        "Total;a film;6%;a",  # a row like the others
        "7;;;",  # a row with an identifier only
    ],
)
def test_rows_that_may_be_data_are_kept(last, tmp_path):
    (tmp_path / "t.csv").write_text(f"{ROWS}{last}\n")
    assert read_table(tmp_path / "t.csv").n_rows == 6


@pytest.mark.parametrize(
    "rows",
    [
        "one;x;\ntwo;;x\n;;\nthree;;\nfour;;\n",
        "one;1;0\ntwo;0;1\nthree;1;1\nfour;;\n",  # without labels
    ],
)
def test_rows_of_text_alone_are_no_notes(rows, tmp_path):
    (tmp_path / "t.csv").write_text("Text;a;b\n" + rows)
    assert read_table(tmp_path / "t.csv").data["Text"].tolist() == ["one", "two", "three", "four"]


def test_empty_rows_are_left_out_but_not_empty_texts(tmp_path):
    (tmp_path / "t.csv").write_text("no,size\n1,2\n,\n2,3\n,\n")
    found = read_table(tmp_path / "t.csv")
    assert (found.n_rows, [guess.text for guess in found.guesses]) == (2, ["2 empty rows left out"])
    (tmp_path / "t.csv").write_text('text\na\n""\nb\n')
    assert read_table(tmp_path / "t.csv").n_rows == 3


def test_the_number_of_totals_and_notes_is_said(tmp_path):
    rows = "".join(f"P{i},{i * i},{i % 3}\n" for i in range(9))
    (tmp_path / "t.csv").write_text(f"name,size,n\n{rows},204,9\n,22.666666666667,1\nas of May,,\n")
    found = read_table(tmp_path / "t.csv")
    said = ["3 rows of totals or notes at the end left out"]
    assert (found.n_rows, [guess.text for guess in found.guesses]) == (9, said)


@pytest.mark.parametrize("text", ["a,\n1,0\n", "a,, \n1,0,1\n"])
def test_names_that_are_empty_are_no_title(text, tmp_path):
    (tmp_path / "t.csv").write_text(text)
    found = read_table(tmp_path / "t.csv", expected=["", " "])
    assert (found.names[0], found.n_rows) == ("a", 1)


def test_a_column_of_texts_is_no_title(tmp_path):
    (tmp_path / "t.csv").write_text("text\nhello\nplease, help, me\nmy, cat, died\n")
    with pytest.raises(ValueError, match="not a CSV table"):
        read_table(tmp_path / "t.csv", expected=["text"])


def workbook(path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["region", "share", "note"])
    book.active.sheet_state = "hidden"
    sheet = book.create_sheet("now")
    sheet.append(["region", "share", "note"])
    for i in range(6):
        sheet.append([None if i % 3 else "NS"[i // 3], i / 100, f"n{i}"])
        sheet.cell(i + 2, 2).number_format = "0%"
    sheet.merge_cells("A2:A4")
    sheet.merge_cells("A5:A1000")
    book.save(path)


def test_merged_and_hidden_cells_of_a_workbook(tmp_path):
    workbook(tmp_path / "t.xlsx")
    found = read_table(tmp_path / "t.xlsx")
    assert found.data["region"].tolist() == ["N"] * 3 + ["S"] * 3
    assert found.data["share"].tolist() == [i / 100 for i in range(6)]
    assert [one.text for one in found.guesses] == [
        "sheet now, one of 2",
        "share: percentages, 10% is 0.1",
    ]
    sheet = "region,share,note\n" + "".join(f"N,{i}%,n{i}\n" for i in range(6))
    same = parse_table(sheet.encode(), "t.csv")
    assert same.data["share"].tolist() == found.data["share"].tolist()


def save_sheet(path, rows, merged=()):
    sheet = (book := pytest.importorskip("openpyxl").Workbook()).active
    for row in rows:
        sheet.append(row)
    for cells in merged:
        sheet.merge_cells(cells)
    book.save(path)


@pytest.mark.parametrize(
    ("above", "names", "expected"),
    [
        ([["Export customers", "2026-03-01"]], ["id", "region", "size", "tags"], ()),
        ([["Created by:", "Meier"], ["Date:", "1.3.2026"], []], ["id", "region", "tags"], ()),
        ([["Customers"], ["Created by:", "Meier"]], ["id", "region", "tags"], ["tags"]),
        ([["From", "1.3.", "To", "31.3."], []], ["id", "region", "size", "tags"], ["tags"]),
        ([["Created by:", "Meier"], []], ["region", "tags"], ["tags"]),
    ],
)
def test_words_beside_values_above_a_sheet(above, names, expected, tmp_path):
    cells = {"id": "K{}", "region": "north {}", "size": "{}.5", "tags": "x"}
    rows = [[cells[name].format(i) for name in names] for i in range(6)]
    save_sheet(tmp_path / "t.xlsx", [*above, names, *rows])
    found = read_table(tmp_path / "t.xlsx", expected=expected)
    assert (found.names, found.n_rows) == (names, 6)
    said = f"the names in row {len(above) + 1}, the rows above left out"
    assert found.guesses[0].text == said


@pytest.mark.parametrize("above", [[], [["Created by:", "Meier"], []]])
@pytest.mark.parametrize("n_rows", [1, 9])
@pytest.mark.parametrize("header", [None, True])
def test_names_in_merged_cells(above, n_rows, header, tmp_path):
    """Some merged downwards, others over the names of a group."""
    names = [
        ["id", "region", "2024", None, "2025", None, "size", None, "tags", None],
        [None, None, "sales", "costs", "sales", "costs", 1, 2, "x", "y"],
    ]
    rows = [[f"K{i}", "NS"[i % 2], i, 2 * i, 3, i / 4, i, 1 - i, i % 2, 1] for i in range(n_rows)]
    top = len(above) + 1
    merged = [f"{cell}{top}:{cell}{top + 1}" for cell in "AB"]
    merged += [f"{cells[0]}{top}:{cells[1]}{top}" for cells in ("CD", "EF", "GH", "IJ")]
    save_sheet(tmp_path / "t.xlsx", [*above, *names, *rows], merged)
    names = ["id", "region", "2024 / sales", "2024 / costs", "2025 / sales", "2025 / costs"]
    names += ["size / 1", "size / 2", "x", "y"]
    found = read_table(tmp_path / "t.xlsx", header=header, expected=["id"])
    assert (found.names, found.n_rows) == (names, n_rows)
    assert found.kind("2025 / costs") == "number"
    full = read_table(tmp_path / "t.xlsx", header=header, expected=["id", "tags / x"])
    assert full.names[-2:] == ["tags / x", "y"]


LOG = "time,temp,rpm,fault\n{}" + "".join(
    f"2026-01-{i + 1:02},{20 + i}.5,{900 + i},\n" for i in range(9)
)


@pytest.mark.parametrize("units", [",degC,rpm,\n", "TS,°C,1/min,\n", ",[degC],[rpm],\n"])
def test_units_below_the_names(units, tmp_path):
    (tmp_path / "t.csv").write_text(LOG.format(units))
    found = read_table(tmp_path / "t.csv")
    assert found.n_rows == 9
    assert [found.kind(name) for name in ("temp", "rpm")] == ["number", "number"]
    assert found.units["temp"] in ("degC", "°C")
    assert "the units below the names left out" in [guess.text for guess in found.guesses]
    assert read_table(tmp_path / "t.csv", header=True).n_rows == 10
    (tmp_path / "new.csv").write_text("time,temp,rpm,fault\n" + units + "2026-03-01,21.5,900,\n")
    new = read_table(tmp_path / "new.csv", expected=found.names)
    assert new.data["temp"].tolist() == [21.5]


@pytest.mark.parametrize(
    "row", ["2026-01-31,error,900,\n", ",unknown,,\n", "2026-01-31,broken,,\n", ",,901,\n"]
)
def test_a_first_row_with_words_is_data(row, tmp_path):
    (tmp_path / "t.csv").write_text(LOG.format(row))
    assert read_table(tmp_path / "t.csv").n_rows == 10
