"""Excel's and LibreOffice's files, also hostile ones."""

import datetime
import io
import zipfile

import numpy as np
import pytest

from labelkin.datasets import FormatError, parse_table, read, read_table
from support.damaged import cpu_limit, outcome
from support.mutations import inputs

pytest.importorskip("pyarrow")

WORKBOOK = """<?xml version="1.0"?><workbook xmlns="m" xmlns:r="r"><sheets>
<sheet name="films" sheetId="1" r:id="a"/><sheet name="other" sheetId="2" r:id="b"/>
</sheets></workbook>"""
LINKS = """<Relationships><Relationship Id="a" Target="worksheets/sheet1.xml"/>
<Relationship Id="b" Target="/xl/worksheets/sheet2.xml"/></Relationships>"""
STRINGS = """<sst><si><t>plot</t></si><si><r><t>a cop </t></r><r><t>hunts</t></r><rPh><t>z</t>
</rPh></si><si><t>crime;drama</t></si><si><t>tags</t></si></sst>"""
STYLES = """<styleSheet><numFmts><numFmt numFmtId="170" formatCode="dd/mm/yyyy"/>
<numFmt numFmtId="171" formatCode="0.00&quot;days&quot;"/></numFmts><cellStyleXfs>
<xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="170"/>
<xf numFmtId="171"/></cellXfs></styleSheet>"""
SHEET = """<worksheet><sheetData>
<row r="2"><c r="B2" t="s"><v>0</v></c><c r="C2" t="inlineStr"><is><t>day</t></is></c>
<c r="D2" t="str"><v>n</v></c><c r="E2" t="s"><v>3</v></c></row>
<row r="3"><c r="B3" t="s"><v>1</v></c><c r="C3" s="1"><v>45000</v></c>
<c r="D3" s="3"><v>1.5</v></c><c r="E3" t="s"><v>2</v></c></row>
<row r="4"><c r="B4" t="s"><v>1</v></c><c r="C4" s="2"><v>45000.5</v></c><c r="D4" t="e"><v>#N/A</v>
</c><c r="E4" t="s"><v>2</v></c></row>
<row r="9"><c r="B9"/></row></sheetData></worksheet>"""
OTHER = '<worksheet><row><c t="str"><v>a</v></c><c t="str"><v>y</v></c></row><row><c><v>1</v></c><c><v>1</v></c></row></worksheet>'  # noqa: E501


def xlsx(**changes):
    parts = {
        "xl/workbook.xml": WORKBOOK,
        "xl/_rels/workbook.xml.rels": LINKS,
        "xl/sharedStrings.xml": STRINGS,
        "xl/styles.xml": STYLES,
        "xl/worksheets/sheet1.xml": SHEET,
        "xl/worksheets/sheet2.xml": OTHER,
    }
    return archive(parts | changes)


def archive(parts):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in parts.items():
            file.writestr(name, text)
    return buffer.getvalue()


def ods(rows, name="s"):
    return archive(
        {
            "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
            "content.xml": '<office:document-content xmlns:office="o" xmlns:table="t" '
            'xmlns:text="x"><office:body><office:spreadsheet>'
            f'<table:table table:name="{name}">{rows}</table:table>'
            "</office:spreadsheet></office:body></office:document-content>",
        }
    )


def cell(text, **values):
    named = "".join(
        f' {key.replace("__", ":").replace("_", "-")}="{v}"' for key, v in values.items()
    )
    return f"<table:table-cell{named}><text:p>{text}</text:p></table:table-cell>"


def row(*cells, repeated=1):
    times = f'table:number-rows-repeated="{repeated}"'
    return f"<table:table-row {times}>{''.join(cells)}</table:table-row>"


def write_bytes(path, raw):
    path.write_bytes(raw)
    return path


def test_a_sheet_of_excel(tmp_path):
    path = write_bytes(tmp_path / "films.xlsx", xlsx())
    found = read_table(path)
    assert found.names == ["plot", "day", "n", "tags"]
    assert found.data["plot"].tolist() == ["a cop hunts"] * 2
    assert found.data["day"].tolist() == ["2023-03-15", "2023-03-15 12:00:00"]
    np.testing.assert_array_equal(found.data["n"], [1.5, np.nan])
    assert [guess.text for guess in found.guesses] == ["sheet films, one of 2"]
    assert read_table(path, expected=["y"]).names == ["a", "y"]
    assert read_table(path, sheet="other").names == ["a", "y"]
    with pytest.raises(ValueError, match=r"sheet=films2: .* Did you mean films\?"):
        read_table(path, sheet="films2")
    assert read(path, sheet="other", labels="y").target.tolist() == [[1]]


def test_percentages_have_their_sign(tmp_path):
    number = '<row><c t="str"><v>a</v></c><c t="str"><v>b</v></c><c t="str"><v>c</v></c></row>'
    for value in ("0.07", "1", "1E-3"):
        number += f'<row><c s="1"><v>{value}</v></c><c s="2"><v>{value}</v></c>'
        number += f'<c s="3"><v>{value}</v></c></row>'
    styles = """<s><numFmts><numFmt numFmtId="170" formatCode="#,##0.0 %"/><numFmt numFmtId="171"
    formatCode="0.00&quot;%&quot;"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="9"/>
    <xf numFmtId="170"/><xf numFmtId="171"/></cellXfs></s>"""
    parts = {"xl/styles.xml": styles, "xl/worksheets/sheet1.xml": f"<w>{number}</w>"}
    found = read_table(write_bytes(tmp_path / "t.xlsx", xlsx(**parts)))
    assert found.percentages == {"a", "b"}
    assert found.data["a"].tolist() == found.data["c"].tolist() == [0.07, 1, 0.001]
    share = {"office__value_type": "percentage", "office__value": "0.07"}
    rows = row(cell("a"), cell("b")) + row(cell("7 %", **share), cell("x")) * 2
    found = read_table(write_bytes(tmp_path / "t.ods", ods(rows)))
    assert (found.percentages, found.data["a"].tolist()) == ({"a"}, [0.07, 0.07])


def test_times_and_durations(tmp_path):
    """Those of more than a day, too, which are no dates; a date may show its time only."""
    top = "".join(f'<c t="str"><v>{name}</v></c>' for name in "abcd")
    values = [(1, 0.25), (1, 1.5), (2, 0.75), (2, 2), (3, 0.5), (3, 1.25), (4, 45000.5), (4, 45001)]
    cells = [f'<c s="{style}"><v>{value}</v></c>' for style, value in values]
    rows = "".join(f"<row>{''.join(cells[i::2])}</row>" for i in (0, 1))
    styles = """<s><numFmts><numFmt numFmtId="170" formatCode="[h]:mm;@"/></numFmts><cellXfs>
    <xf numFmtId="0"/><xf numFmtId="46"/><xf numFmtId="170"/><xf numFmtId="20"/><xf numFmtId="20"/>
    </cellXfs></s>"""
    parts = {"xl/styles.xml": styles, "xl/worksheets/sheet1.xml": f"<w><row>{top}</row>{rows}</w>"}
    found = read_table(write_bytes(tmp_path / "t.xlsx", xlsx(**parts)))
    assert found.data[["a", "b", "c"]].to_numpy().T.tolist() == [[6, 36], [18, 48], [12, 30]]
    assert found.data["d"].tolist() == ["2023-03-15 12:00:00", "2023-03-16"]
    assert [one.text for one in found.guesses][-1] == "c: times, in hours"
    time = {"office__value_type": "time", "office__time_value": "PT36H00M00.0000S"}
    rows = row(cell("a"), cell("b")) + row(cell("12:00 PM", **time), cell("x")) * 2
    assert read_table(write_bytes(tmp_path / "t.ods", ods(rows))).data["a"].tolist() == [36, 36]


def test_a_sheet_of_libreoffice(tmp_path):
    number = {"office__value_type": "float", "office__value": "2"}
    note = "<office:annotation><text:p>mind</text:p></office:annotation>"
    raw = ods(
        row(cell("a"), cell("b"), cell("c"), cell("d"))
        + row(cell("two", **number), cell("x" + note), cell("<text:s/>y"),
              cell("", office__value_type="date", office__date_value="2024-02-01T10:00:00"))
        + row(cell("7", **number, table__number_columns_repeated="2"), cell("z"), repeated=2)
        + row("<table:table-cell table:number-columns-repeated='1024'/>", repeated=1_048_000)
    )  # fmt: skip
    table = read_table(write_bytes(tmp_path / "t.ods", raw))
    found = table.data
    assert found["a"].tolist() == [2, 2, 2]
    assert found["b"].tolist() == ["x", "2", "2"]
    assert found["c"].tolist() == [" y", "z", "z"]
    assert table.strings("d").tolist() == ["2024-02-01 10:00:00", None, None]


@pytest.mark.parametrize("engine", ["openpyxl", "odf"])
def test_what_other_programs_write(tmp_path, engine):
    pytest.importorskip(engine)
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "text": ["größe & <tags>", None, "two\nlines"],
            "number": [1.25, 2, None],
            "code": ["007", "1", "x"],
            "when": pd.to_datetime(["2024-01-05", "2024-02-29", None]),
            "yes": [True, False, True],
        }
    )
    path = tmp_path / ("t.xlsx" if engine == "openpyxl" else "t.ods")
    frame.to_excel(path, index=False, engine=engine)
    table = read_table(path)
    found = table.data
    assert table.strings("text").tolist() == ["größe & <tags>", None, "two\nlines"]
    np.testing.assert_array_equal(found["number"], [1.25, 2, np.nan])
    assert found["code"].tolist() == ["007", "1", "x"]
    assert table.strings("when").tolist() == ["2024-01-05", "2024-02-29", None]
    assert found["yes"].tolist() == [True, False, True]


LONG = "<sst><si><t>" + "x" * 200_000 + "</t></si></sst>"
MANY = '<worksheet><row r="1">' + '<c t="s"><v>0</v></c>' * 2000 + "</row></worksheet>"
DIAGONAL = "".join(
    f'<row r="{i}"><c r="{chr(65 + i // 676)}{chr(65 + i // 26 % 26)}{chr(65 + i % 26)}{i}">'
    "<v>1</v></c></row>"
    for i in range(1, 9000)
)
NAMES = "".join(f"<c{i}/>" for i in range(1000))  # each would be as long as its namespace


def sheet(content):
    return xlsx(**{"xl/worksheets/sheet1.xml": content})


BOMBS = {
    "long.xlsx": lambda: xlsx(**{"xl/sharedStrings.xml": LONG, "xl/worksheets/sheet1.xml": MANY}),
    "diagonal.xlsx": lambda: sheet(f"<worksheet>{DIAGONAL}</worksheet>"),
    "zip.xlsx": lambda: sheet(" " * 300_000_000),
    "entity.xlsx": lambda: sheet("<!DOCTYPE l [<!ENTITY e 'e'>]><l>&e;</l>"),
    "namespace.xlsx": lambda: sheet(f"<l xmlns='{'u' * 10**5}'><row>{NAMES}</row></l>"),
    "prefix.xlsx": lambda: sheet(f'<l xmlns:a = "{"u" * 10**5}"><a:row>{NAMES}</a:row></l>'),
    "attributes.xlsx": lambda: sheet("<l " + " ".join(f"a{i}=''" for i in range(2_000_000)) + "/>"),
    "tag.xlsx": lambda: sheet("<l a='" + ">" * 10**8 + "'/>"),
    "tag16.xlsx": lambda: sheet(f"<l a='{chr(0x3C00) * 300_000}'/>".encode("utf-16")),
    "deep.ods": lambda: ods("<a>" * 10**6 + "</a>" * 10**6),
    "rows.ods": lambda: ods(row(cell("a" * 1000), repeated=1_000_000)),
    "columns.ods": lambda: ods(row(cell("a", table__number_columns_repeated="900000000"))),
    "old.xlsx": lambda: bytes.fromhex("D0CF11E0A1B11AE1") + b"x" * 100,
    "text.xlsx": lambda: b"a,b\n1,2\n",
}


@pytest.mark.parametrize("name", BOMBS)
def test_hostile_spreadsheets(name, tmp_path):
    path = write_bytes(tmp_path / name, BOMBS[name]())
    with cpu_limit(5), pytest.raises(FormatError) as caught:
        read_table(path)
    message = str(caught.value).replace(str(path), "")
    assert len(message) < 300
    assert "is empty" not in message  # it was not read


def test_many_sheets_of_one_part(tmp_path, monkeypatch):
    """Each is read in search of a column: 60 kB took hours."""
    monkeypatch.setenv("LABELKIN_MAX_UNPACKED", "1000000")
    sheets = "".join(f'<sheet name="s{i}" r:id="a"/>' for i in range(500))
    book = f'<workbook xmlns:r="r"><sheets>{sheets}</sheets></workbook>'
    rows = f"<worksheet>{'<row/>' * 1000}</worksheet>"
    raw = xlsx(**{"xl/workbook.xml": book, "xl/worksheets/sheet1.xml": rows})
    path = write_bytes(tmp_path / "t.xlsx", raw)
    with pytest.raises(FormatError, match="unpacks to more than"):
        read_table(path, labels="y")


def test_a_spreadsheet_that_was_sent():
    """A server reads it within the time of a request: 10 kB of empty rows took a minute."""
    rows = f"<worksheet>{'<row/>' * 2_000_000}</worksheet>"
    with cpu_limit(5), pytest.raises(FormatError, match="more than 64 MiB"):
        parse_table(xlsx(**{"xl/worksheets/sheet1.xml": rows}), "The table")


def test_millions_of_empty_cells(tmp_path):
    """Formats out to the last column: 29 kB took half a minute."""
    ends = "".join(f'<c r="{letter}1" s="1"/>' for letter in "CDE") + "<c/>\n" * 16_000
    rows = [
        f'<row><c t="str"><v>{a}</v></c><c/><c t="str"><v>{b}</v></c>{ends}</row>'
        for a, b in [("a", "y"), *[(i, i % 2) for i in range(400)]]
    ]
    path = write_bytes(tmp_path / "t.xlsx", sheet(f"<worksheet>{''.join(rows)}</worksheet>"))
    with cpu_limit(5):
        assert read_table(path).data.shape == (400, 2)


def test_millions_of_empty_cells_before_others(tmp_path):
    rows = f"<row>{'<c/>' * 16_000}<c><v>1</v></c></row>" * 400
    path = write_bytes(tmp_path / "t.xlsx", sheet(f"<worksheet>{rows}</worksheet>"))
    with cpu_limit(5), pytest.raises(FormatError, match="unpacks to more than"):
        read_table(path)


def test_mutated_spreadsheets(tmp_path):
    corpus = [xlsx(), ods(row(cell("a"), cell("y")) + row(cell("1"), cell("1")))]
    found = {
        outcome(tmp_path / "t.xlsx", raw, labels=-1, drop="plot,day")
        for raw in inputs(corpus, count=150)
    }
    assert False in found


def test_an_empty_sheet_and_no_header(tmp_path):
    with pytest.raises(FormatError, match="the sheet 's' is empty"):
        read_table(write_bytes(tmp_path / "e.ods", ods("")))
    number = {"office__value_type": "float"}
    rows = "".join(
        row(*(cell("", **number, office__value=str(v / 7)) for v in (i, 9 - i))) for i in range(4)
    )
    path = write_bytes(tmp_path / "n.ods", ods(rows))
    with pytest.raises(FormatError, match="looks like the others"):
        read_table(path)
    assert read_table(path, header=False).data.shape == (4, 2)


def test_dates_since_1904(tmp_path):
    book = WORKBOOK.replace("<sheets>", '<workbookPr date1904="1"/><sheets>')
    path = write_bytes(tmp_path / "t.xlsx", xlsx(**{"xl/workbook.xml": book}))
    first = datetime.date(1904, 1, 1) + datetime.timedelta(days=45000)
    assert read_table(path).data["day"][0] == str(first)


def test_a_cover_is_no_table(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["Fill in the sheet staff only"])
    sheet = book.create_sheet("staff")
    for row in (["name", "age"], ["Ann", 30], ["Bob", 40]):
        sheet.append(row)
    book.save(tmp_path / "t.xlsx")
    for expected in ((), ["agge"]):
        assert read_table(tmp_path / "t.xlsx", expected=expected).names == ["name", "age"]


def test_a_list_of_columns_is_no_table(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["column", "meaning"], ["name", "of the person"], ["age", "in years"]):
        book.active.append(row)
    sheet = book.create_sheet("staff")
    for row in (["Staff of May"], ["name", "age", "note"], ["Ann", 30, "x"], ["Bob", 40, "y"]):
        sheet.append(row)
    book.save(tmp_path / "t.xlsx")
    for expected in (["age"], ["name", "age"]):
        found = read_table(tmp_path / "t.xlsx", expected=expected)
        assert found.names == ["name", "age", "note"]
    assert read_table(tmp_path / "t.xlsx", expected=["meaning"]).names == ["column", "meaning"]


def test_a_title_above_the_table(tmp_path):
    rows = [row(cell("Report of May")), row(), row(cell("a"), cell("b"), cell("c"))]
    rows += [row(cell(f"t{i}"), cell("x"), cell("y")) for i in range(3)]
    found = read_table(write_bytes(tmp_path / "t.ods", ods("".join(rows))))
    assert found.names == ["a", "b", "c"]
    assert found.n_rows == 3
    assert found.guesses[0].text == "the names in row 3, the rows above left out"


def test_merged_cells_of_opendocument(tmp_path):
    rows = [row(cell("region"), cell("share"), cell("note"))]
    for i in range(4):
        share = cell("", office__value_type="percentage", office__value=i / 100)
        region = (
            cell("N", table__number_rows_spanned=4) if i == 0 else "<table:covered-table-cell/>"
        )
        rows.append(row(region, share, cell(f"n{i}")))
    (tmp_path / "t.ods").write_bytes(ods("".join(rows)))
    data = read_table(tmp_path / "t.ods").data
    assert data["region"].tolist() == ["N"] * 4
    assert data["share"].tolist() == [0, 0.01, 0.02, 0.03]
