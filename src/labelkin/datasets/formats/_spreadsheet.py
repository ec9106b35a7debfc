"""Spreadsheets: Excel's ``.xlsx`` and LibreOffice's ``.ods``, both of them zipped XML.

A small file can declare any number of cells and repeat any text in them. Each cell is counted by
the budget before it is stored; document types, in which entities are declared, are refused.
"""

import io
import math
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any
from xml.etree import ElementTree

from labelkin._utils.errors import ArgumentError
from labelkin._utils.files import FormatError, reason
from labelkin._utils.limits import check_archive, read_part
from labelkin._utils.names import did_you_mean, join_names
from labelkin.datasets.formats._around import count_above
from labelkin.datasets.formats._budget import Budget
from labelkin.datasets.formats._cells import NumberText, make_column, with_points
from labelkin.datasets.formats._columns import normal_form
from labelkin.datasets.formats._header import FIRST_ROWS, take_header
from labelkin.datasets.formats._raw_table import Guess, Options, RawTable, as_string

_TAG_BYTES, _ATTRIBUTE_BYTES = 40, 10  # for a tag and an attribute: bounds the time, too
_HELD_BYTES = 400  # of an element of a row while the row is read
_MAX_DEPTH = 100  # of elements in each other
# What is refused before it is parsed. Without NUL bytes no < is part of another character or of an
# attribute: what lies between two of them bounds a tag, which is read again with each block of it.
# The name of every element repeats its namespace.
_REFUSED = {
    rb"\0": "characters that are not UTF-8",
    rb"<!DOCTYPE": "a document type",
    rb"<[^<]{262144}": "a very long tag or text",
    rb"""xmlns(?::[^\s:=<>]*+)?\s*+=\s*+(?:"[^"]{200}|'[^']{200})""": "a very long namespace",
}
# Empty cells, which are not parsed at the end of a row: formats can make millions of them.
_EMPTY_CELLS = re.compile(rb"(?:<c(?:\s[^<>]*+)?/>\s*+)++(</row>)?")
_STORED_BYTES = 100  # of a cell besides its text: its number and its place in a dictionary
_OLE = bytes.fromhex("D0CF11E0A1B11AE1")  # of .xls files, and of all that have a password
_REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")
# Numbers of the formats of Excel for dates, times and percentages, and what others have outside of
# quotes.
_DATE_FORMATS = {*range(14, 18), 22}
_TIME_FORMATS = {*range(18, 22), *range(45, 48)}
_MAX_TIME = 10_000  # days; what is longer is a date of which only the time is shown
_PERCENT_FORMATS = {9, 10}
_NOT_FORMAT = re.compile(r'"[^"]*"|\[(?!h+\]|m+\]|s+\])[^\]]*\]|\\.', re.IGNORECASE)
_DURATION = re.compile(r"PT(\d+)H(\d+)M([\d.]+)S")
_MAX_ROWS, _MAX_COLUMNS = 2**20, 2**14

# The row and column of a cell, its text, and how often it is repeated below and beside itself;
# None stands for the text of the cell that is there.
_Cells = Iterator[tuple[int, int, str | None, int, int]]
_Rows = dict[int, dict[int, str]]


def read_spreadsheet(raw: bytes, budget: Budget, options: Options) -> RawTable:
    """Return a sheet as a table, by default the first."""
    path, sheet = budget.source, options.sheet
    if raw.startswith(_OLE):
        text = "an old .xls file or one with a password; save it as .xlsx without a password"
        raise FormatError(path, text)
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            check_archive(archive, budget.limit)
            is_excel = "xl/workbook.xml" in archive.namelist()
            parse = partial(_parse, archive, budget)
            sheets = _open_excel(parse) if is_excel else _open_document(parse)
            chosen, rows = _choose(sheets, sheet, {*options.expected}, budget)
    except (FormatError, ArgumentError):
        raise
    except Exception as error:  # zip, deflate and XML raise errors of many kinds
        raise FormatError(path, f"not a readable spreadsheet ({reason(error)})") from None
    guesses = []
    if sheet is None and len(sheets) > 1:
        guesses.append(Guess(f"sheet {chosen}, one of {len(sheets)}", ("sheet",)))
    if not rows:
        text = f"the sheet {chosen!r} is empty; choose one with sheet="
        raise FormatError(path, text, None, "sheet")
    # A title above the table: rows of one cell before wider ones.
    top = start = min(rows)
    columns = _columns_of(rows)
    if len(columns) > 2:
        start = min((number for number, cells in rows.items() if len(cells) > 1), default=top)
    if options.header is not False:
        shown = range(start, min(start + FIRST_ROWS, max(rows) + 1))
        first_rows = [[rows.get(i, {}).get(column) for column in columns] for i in shown]
        start += count_above(first_rows, {*options.expected})
    if start > top:
        guesses.append(Guess(f"the names in row {start + 1}, the rows above left out", ()))
        rows = {number: cells for number, cells in rows.items() if number >= start}
        columns = _columns_of(rows)
    numbers = range(start, max(rows) + 1)
    budget.take_cells(len(numbers) * len(columns), len(columns))
    first = [rows[start].get(column) for column in columns]
    strings, cells, commas = {*map(normal_form, options.as_strings)}, [], list[str]()
    for name, column in zip(first, columns, strict=True):
        heading, *values = (rows.get(i, {}).get(column) for i in numbers)
        name = " ".join(normal_form(name or "").split())
        if name not in strings and (pointed := with_points(values, options.mark)) != values:
            commas.append(name)
            values = pointed
        cells.append(make_column([heading, *values]))
    if commas and not options.mark:
        guesses.append(Guess(f"',' decimal in texts of {join_names(commas)}", ("decimal",)))
    table = take_header(cells, first, str(path), guesses, replace(options, decimal="."))
    return replace(table, decimal="," if commas else options.mark)


def _columns_of(rows: _Rows) -> list[int]:
    return sorted({column for cells in rows.values() for column in cells})


def _choose(
    sheets: dict[str, Callable[[], _Cells]], sheet: str | None, expected: set[str], budget: Budget
) -> tuple[str, _Rows]:
    """Return the sheet that the user names, or the first with a column that is expected.

    Its name is better not below a row with as many cells, as in a list of columns and what they
    mean. Without any, it is the first sheet with several columns, or else the first. Returned are
    its name, and its cells that hold something.
    """
    if not sheets:
        raise ValueError("it has no sheet")
    if sheet is not None and sheet not in sheets:
        text = f"sheet={sheet}: there is no such sheet.{did_you_mean(sheet, sheets)}"
        raise ArgumentError(f"{text} The sheets are {join_names([*sheets])}.", "sheet")
    found: list[tuple[int, int, str, _Rows]] = []
    for name in sheets if sheet is None else [sheet]:
        rows = _store(sheets[name](), budget)
        is_table = len(_columns_of(rows)) > 1  # and no cover
        first = [rows[i] for i in sorted(rows)[:10]]
        named = [i for i, cells in enumerate(first) if expected & {*cells.values()}]
        on_top = any(all(len(above) < len(first[i]) for above in first[:i]) for i in named)
        if on_top or (is_table and not expected):
            return name, rows
        found.append((0 if named else 2 - is_table, len(found), name, rows))
    return min(found, key=lambda one: one[:2])[2:]


def _store(cells: _Cells, budget: Budget) -> _Rows:
    """Return cells by row and column, and as many like each as the file repeats it."""
    rows: _Rows = {}
    last = 0
    for row, column, given, n_rows, n_columns in cells:
        text, last = given or "", max(last, row)
        if given is None:
            text, n_rows = rows.get(row, {}).get(column, ""), max(1, min(n_rows, last + 1 - row))
        is_inside = 0 <= row <= _MAX_ROWS - n_rows and 0 <= column <= _MAX_COLUMNS - n_columns
        if not is_inside or min(n_rows, n_columns) < 1:
            raise ValueError("a cell lies outside of any sheet")
        budget.take(n_rows * n_columns * (_STORED_BYTES + 4 * len(text)))
        repeated = dict.fromkeys(range(column, column + n_columns), text)
        for i in range(row, row + n_rows) if text else ():
            rows.setdefault(i, {}).update(repeated)
    return rows


# ------------------------------------------------------------------------------------- XML


def _parse(
    archive: zipfile.ZipFile, budget: Budget, part: str, *held: str
) -> Iterator[tuple[str, Any]]:
    """Yield the elements of a part at their ends, with their names without a namespace.

    Those named in `held` have what they contain; all others are removed when they end. A file may
    lack strings and styles.
    """
    content = read_part(archive, part) if part in archive.namelist() else b"<none/>"
    content = _EMPTY_CELLS.sub(lambda found: found[1] or found[0], content)
    n_tags = content.count(b"<") + content.count(b"/>")  # one for an end, written or not
    size = _TAG_BYTES * n_tags + _ATTRIBUTE_BYTES * content.count(b"=")
    budget.check(size)
    # Sheets can be one part, which is read again for each; a document is read twice anyway.
    budget.take(size // 2)
    for pattern, what in _REFUSED.items():
        if re.search(pattern, content):
            raise ValueError(f"its XML has {what}")
    parents: list[Any] = []
    holder, n_held = None, 0
    for event, element in ElementTree.iterparse(io.BytesIO(content), ("start", "end")):
        if event == "start":
            parents.append(element)
            if len(parents) > _MAX_DEPTH:
                raise ValueError("its XML is nested too deeply")
            if holder is None and _name(element) in held:
                holder, n_held = element, 0
            elif holder is not None:
                n_held += 1
                budget.check(_HELD_BYTES * n_held)
            continue
        parents.pop()
        if holder is None or element is holder:
            holder = None
            yield _name(element), element
            if parents:
                parents[-1].remove(element)


def _name(element: Any) -> str:
    return element.tag.rpartition("}")[2]


# ----------------------------------------------------------------------------------- Excel


def _open_excel(parse: Callable[..., Any]) -> dict[str, Callable[[], _Cells]]:
    """Return the sheets of a workbook, whose cells hold numbers of strings and of styles."""
    links = {
        link.attrib["Id"]: posixpath.normpath(posixpath.join("/xl", link.attrib["Target"]))
        for name, link in parse("xl/_rels/workbook.xml.rels")
        if name == "Relationship"
    }
    sheets: dict[str, str] = {}
    hidden: dict[str, str] = {}  # come last
    epoch = datetime(1899, 12, 30)
    for name, element in parse("xl/workbook.xml"):
        if name == "sheet":
            link = next((value for key, value in element.items() if key.endswith("}id")), "")
            group = hidden if "idden" in element.get("state", "") else sheets
            group[element.attrib["name"]] = links.get(link, "").lstrip("/")
        elif name == "workbookPr" and element.get("date1904") in ("1", "true"):
            epoch = datetime(1904, 1, 1)
    items = parse("xl/sharedStrings.xml", "si")
    strings = [_string_of(item) for name, item in items if name == "si"]
    formats = {"date": {*_DATE_FORMATS}, "time": {*_TIME_FORMATS}}
    formats["percentage"] = {*_PERCENT_FORMATS}
    styles: dict[int, str] = {}
    for name, element in parse("xl/styles.xml", "numFmts", "cellXfs"):
        if name == "numFmts":
            for one in element:
                if kind := _kind_of_format(one):
                    formats[kind].add(int(one.attrib["numFmtId"]))
        elif name == "cellXfs":
            given = [int(style.get("numFmtId", 0)) for style in element]
            for kind, known in formats.items():
                styles |= {number: kind for number, one in enumerate(given) if one in known}

    def cells(part: str) -> _Cells:
        number = -1
        for name, row in parse(part, "row"):
            if name == "mergeCell":  # the first cell of merged ones holds what is in all rows
                corners = _REFERENCE.findall(row.get("ref", ""))
                top, end = (int(corners[i][1]) - 1 for i in (0, -1))
                yield top, _column_number(corners[0][0]), None, end + 1 - top, 1
            if name != "row":
                continue
            number, column = int(row.get("r", number + 2)) - 1, -1
            for cell in row:
                place = _REFERENCE.fullmatch(cell.get("r", ""))
                column = _column_number(place[1]) if place else column + 1
                if text := _excel_text(cell, strings, styles, epoch):
                    yield number, column, text, 1, 1

    return {name: partial(cells, part) for name, part in (sheets | hidden).items()}


def _string_of(item: Any) -> str:
    """Return a string without the hints on its pronunciation."""
    runs = [run for run in item if _name(run) != "rPh"]
    return "".join(one.text or "" for run in runs for one in run.iter() if _name(one) == "t")


def _kind_of_format(element: Any) -> str | None:
    code = _NOT_FORMAT.sub("", element.get("formatCode", "")).lower()
    if not {"y", "d"}.isdisjoint(code):
        return "date"
    if not {"h", "s"}.isdisjoint(code):
        return "time"
    return "percentage" if "%" in code else None


def _excel_text(cell: Any, strings: list[str], styles: dict[int, str], epoch: datetime) -> str:
    """Return the value of a cell as text."""
    kind = cell.get("t", "n")
    text = "".join(_string_of(part) for part in cell if _name(part) == "is")
    text += "".join(part.text or "" for part in cell if _name(part) == "v")
    if not text or kind == "e":
        return ""
    if kind == "s":
        return strings[int(text)] if int(text) >= 0 else ""
    if kind == "b":
        return "true" if text.strip() == "1" else "false"
    if kind != "n":
        return text
    value = float(text)
    style = styles.get(int(cell.get("s", 0)))
    if style == "time" and 0 <= value < _MAX_TIME:
        minutes, seconds = divmod(round(86_400 * value), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    if style in ("date", "time") and 1 <= value < 3_000_000:
        date = epoch + timedelta(seconds=round(86_400 * value))
        return str(date.date() if date.time() == datetime.min.time() else date)
    return _number_text(value, style)


def _number_text(value: float, style: str | None) -> str:
    """Return a number as text; one that is shown as a percentage has the sign."""
    if not math.isfinite(value):
        return ""
    if style == "percentage":  # 0.07 times 100 is not quite 7 in binary
        return NumberText(f"{Decimal(repr(value)).scaleb(2):f}%")
    return NumberText(as_string(value))


def _column_number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number - 1


# ----------------------------------------------------------------------------- LibreOffice


def _open_document(parse: Callable[..., Any]) -> dict[str, Callable[[], _Cells]]:
    """Return the sheets of an OpenDocument file, in which equal cells and rows are written once."""
    tables = (element for name, element in parse("content.xml") if name == "table")
    names = [_attributes(table).get("name", "") for table in tables]

    def cells(number: int) -> _Cells:
        table = row = 0
        for name, element in parse("content.xml", "table-row"):
            table += name == "table"
            if name != "table-row" or table != number:
                continue
            n_rows, column = int(_attributes(element).get("number-rows-repeated", 1)), 0
            for cell in element:
                values = _attributes(cell)
                repeated = int(values.get("number-columns-repeated", 1))
                if text := _document_text(cell, values):
                    spanned = int(values.get("number-rows-spanned", 1))
                    yield row, column, text, max(n_rows, spanned), repeated
                column += repeated
            row += n_rows

    return {name or f"Sheet{i + 1}": partial(cells, i) for i, name in enumerate(names)}


def _attributes(element: Any) -> dict[str, str]:
    return {key.rpartition("}")[2]: value for key, value in element.items()}


def _document_text(cell: Any, values: dict[str, str]) -> str:
    """Return the value of a cell as text."""
    kind = values.get("value-type", "")
    if kind in ("float", "percentage", "currency"):
        return _number_text(float(values["value"]), kind)
    if kind == "date":
        return values["date-value"].replace("T", " ").removesuffix(" 00:00:00")
    if kind == "time" and (time := _DURATION.fullmatch(values["time-value"])):
        return ":".join(time.groups())
    if kind == "boolean":
        return values["boolean-value"]
    return "" if kind == "error" else "\n".join(_text_of(p) for p in cell if _name(p) == "p")


def _text_of(element: Any) -> str:
    """Return the text of a paragraph, without notes."""
    name = _name(element)
    if name in ("s", "tab", "line-break", "annotation"):
        return {"line-break": "\n", "annotation": ""}.get(name, " ")
    parts = (_text_of(part) + (part.tail or "") for part in element)
    return (element.text or "") + "".join(parts)
