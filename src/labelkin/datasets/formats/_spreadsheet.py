"""Spreadsheets: Excel's ``.xlsx`` and LibreOffice's ``.ods``, both of them zipped XML.

A small file can declare any number of cells and repeat any text in them. Each cell is counted by
the budget before it is stored, and document types, in which entities are declared, are refused.
"""

import io
import math
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

from labelkin._utils.errors import ArgumentError
from labelkin._utils.files import FormatError, read_unpacked, reason
from labelkin._utils.limits import check_archive
from labelkin._utils.names import did_you_mean, join_names
from labelkin._utils.optional import import_optional
from labelkin.datasets.formats._budget import Budget
from labelkin.datasets.formats._cells import CELL_BYTES, COLUMN_BYTES, MISSING, table_of_cells
from labelkin.datasets.formats._raw_table import Guess, RawTable, as_string

_ELEMENT_BYTES = 40  # for an element, whose time is to be limited, too
_STORED_BYTES = 100  # of a cell besides its text: its number and its place in a dictionary
_OLE = bytes.fromhex("D0CF11E0A1B11AE1")  # of .xls files, and of all that have a password
_REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")
# Numbers of Excel's own formats of dates, and what others have outside of quotes.
_DATE_FORMATS = {*range(14, 23), *range(45, 48)}
_NOT_FORMAT = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.')
_MAX_ROWS, _MAX_COLUMNS = 2**20, 2**14


class Sheet:
    """The cells of a sheet that hold something, by row and column."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.rows: dict[int, dict[int, str]] = {}

    def add(self, row: int, column: int, text: str, n_rows: int = 1, n_columns: int = 1) -> None:
        """Store a cell, and as many like it as the file repeats it below and beside it."""
        is_inside = 0 <= row <= _MAX_ROWS - n_rows and 0 <= column <= _MAX_COLUMNS - n_columns
        if not is_inside or min(n_rows, n_columns) < 1:
            raise ValueError("a cell lies outside of any sheet")
        self.budget.take(n_rows * n_columns * (_STORED_BYTES + 4 * len(text)))
        for i in range(row, row + n_rows):
            self.rows.setdefault(i, {}).update(
                dict.fromkeys(range(column, column + n_columns), text)
            )


def read_spreadsheet(path: str | Path, sheet: str | None = None, **options: Any) -> RawTable:
    """Return a sheet of a file as a table; the arguments are those of `parse_spreadsheet`."""
    import_optional("pyarrow")  # a missing extra is reported before a missing file
    return parse_spreadsheet(read_unpacked(path), str(path), sheet, **options)


def parse_spreadsheet(raw: bytes, path: str, sheet: str | None = None, **options: Any) -> RawTable:
    """Return a sheet as a table, by default the first; `options` are those of `table_of_cells`."""
    pyarrow = import_optional("pyarrow")
    budget = Budget(path, len(raw))
    if raw.startswith(_OLE):
        text = "an old .xls file or one with a password; save it as .xlsx without a password"
        raise FormatError(path, text)
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            check_archive(archive, len(raw))
            is_excel = "xl/workbook.xml" in archive.namelist()
            book = (_Excel if is_excel else _OpenDocument)(archive, budget)
            names = book.sheet_names()
            found, chosen = _choose(book, names, sheet, {*options.get("expected", ())}, budget)
    except (FormatError, ArgumentError):
        raise
    except Exception as error:  # zip, deflate and XML raise errors of many kinds
        raise FormatError(path, f"not a readable spreadsheet ({reason(error)})") from None
    guesses = []
    if sheet is None and len(names) > 1:
        guesses.append(Guess(f"sheet {chosen}, one of {len(names)}", ("sheet",)))
    rows = [number for number, cells in found.rows.items() if cells]
    if not rows:
        raise FormatError(
            path, f"the sheet {chosen!r} is empty; choose one with sheet=", None, "sheet"
        )
    columns = sorted({column for cells in found.rows.values() for column in cells})
    # A title above the table: rows of one cell before wider ones.
    widths = [(number, len(found.rows[number])) for number in sorted(rows)]
    start = next((number for number, width in widths if width > 1), min(rows))
    if start > min(rows) and len(columns) > 2:
        guesses.append(Guess(f"what stands above row {start + 1} left out", ()))
        rows = [number for number in rows if number >= start]
        columns = sorted({column for number in rows for column in found.rows[number]})
    n_rows = max(rows) + 1 - min(rows)
    budget.take_columns(len(columns), each=COLUMN_BYTES)
    budget.take(CELL_BYTES * n_rows * len(columns))
    missing = {*MISSING}

    def column_cells(column: int) -> Iterator[str | None]:
        for row in range(min(rows), max(rows) + 1):
            cell = found.rows.get(row, {}).get(column)
            yield None if cell is None or cell.strip() in missing else cell

    first = [found.rows[min(rows)].get(column) for column in columns]
    arrays = [pyarrow.array(column_cells(column), pyarrow.string()) for column in columns]
    table = pyarrow.table(arrays, names=[f"c{number}" for number in range(1, len(columns) + 1)])
    return table_of_cells(table, first, path, guesses, decimal=".", **options)


def _choose(
    book: Any, names: list[str], sheet: str | None, expected: set[str], budget: Budget
) -> tuple[Sheet, str]:
    """Return the sheet that the user names, the first with a column that is expected, or the first.

    Its name is returned, too.
    """
    if not names:
        raise ValueError("it has no sheet")
    if sheet is not None and sheet not in names:
        text = f"sheet={sheet}: there is no such sheet.{did_you_mean(sheet, names)}"
        raise ArgumentError(f"{text} The sheets are {join_names(names)}.", "sheet")

    def read(name: str) -> Sheet:
        found = Sheet(budget)
        book.read(names.index(name), found)
        return found

    if sheet is None and len(names) > 1:
        for name in names if expected else ():
            found = read(name)
            if any(expected & {*found.rows[row].values()} for row in sorted(found.rows)[:10]):
                return found, name
    return read(sheet or names[0]), sheet or names[0]


def _parse(
    archive: zipfile.ZipFile,
    part: str,
    budget: Budget,
    start: Callable[[str, dict[str, str]], None],
    end: Callable[[str], None] = lambda name: None,
    text: Callable[[str], None] | None = None,
) -> None:
    """Call functions for the elements of a part, by their names without a namespace."""
    content = archive.read(part)
    budget.check(_ELEMENT_BYTES * content.count(b"<"))

    def refuse(*_: object) -> NoReturn:
        raise ValueError("its XML declares a document type")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = lambda name, values: start(name.rpartition(":")[2], values)
    parser.EndElementHandler = lambda name: end(name.rpartition(":")[2])
    parser.CharacterDataHandler = text
    parser.Parse(content, True)


class _Excel:
    """A workbook of Excel: sheets with numbers of shared strings, and styles that make dates."""

    def __init__(self, archive: zipfile.ZipFile, budget: Budget) -> None:
        self.archive, self.budget, self.parts = archive, budget, {*archive.namelist()}
        self.sheets: list[tuple[str, str]] = []
        self.epoch = datetime(1899, 12, 30)
        _parse(archive, "xl/workbook.xml", budget, self._start_workbook)

    def _start_workbook(self, name: str, values: dict[str, str]) -> None:
        if name == "sheet":
            link = next((v for key, v in values.items() if key.endswith(":id")), "")
            self.sheets.append((values["name"], link))
        elif name == "workbookPr" and values.get("date1904") in ("1", "true"):
            self.epoch = datetime(1904, 1, 1)

    def sheet_names(self) -> list[str]:
        return [name for name, _ in self.sheets]

    def read(self, number: int, sheet: Sheet) -> None:
        """Store the cells of a sheet."""
        targets: dict[str, str] = {}

        def start_link(name: str, values: dict[str, str]) -> None:
            if name == "Relationship":
                targets[values["Id"]] = posixpath.normpath(
                    posixpath.join("/xl", values["Target"])
                ).lstrip("/")

        _parse(self.archive, "xl/_rels/workbook.xml.rels", self.budget, start_link)
        strings, dates = self._shared_strings(), self._date_styles()
        row, column, kind, style = -1, -1, "n", 0
        parts: list[str] = []
        inside = ""

        def start(name: str, values: dict[str, str]) -> None:
            nonlocal row, column, kind, style, inside
            if name == "row":
                row, column = int(values.get("r", row + 2)) - 1, -1
            elif name == "c":
                place = _REFERENCE.fullmatch(values.get("r", ""))
                column = _column_number(place[1]) if place else column + 1
                kind, style = values.get("t", "n"), int(values.get("s", 0))
                parts.clear()
            elif name in ("v", "t", "rPh"):
                inside = name

        def end(name: str) -> None:
            nonlocal inside
            inside = "" if name == inside else inside
            if name == "c" and parts:
                text = "".join(parts)
                if kind == "s":
                    text = strings[int(text)] if int(text) >= 0 else ""
                elif kind == "b":
                    text = "true" if text.strip() == "1" else "false"
                elif kind == "e":
                    text = ""
                elif kind == "n":
                    text = self._number(float(text), style in dates)
                if text:
                    sheet.add(row, column, text)

        def add_text(text: str) -> None:
            if inside in ("v", "t"):
                parts.append(text)

        part = targets[self.sheets[number][1]]
        _parse(self.archive, part, self.budget, start, end, add_text)

    def _number(self, value: float, is_date: bool) -> str:
        if is_date and 1 <= value < 3_000_000:
            date = self.epoch + timedelta(seconds=round(86_400 * value))
            return str(date.date() if date.time() == datetime.min.time() else date)
        return as_string(value) if math.isfinite(value) else ""

    def _shared_strings(self) -> list[str]:
        found: list[str] = []
        parts: list[str] = []
        inside = ""

        def start(name: str, _: dict[str, str]) -> None:
            nonlocal inside
            inside = name if name in ("t", "rPh") and inside != "rPh" else inside

        def end(name: str) -> None:
            nonlocal inside
            inside = "" if name == inside else inside
            if name == "si":
                found.append("".join(parts))
                parts.clear()

        def add_text(text: str) -> None:
            if inside == "t":
                parts.append(text)

        if "xl/sharedStrings.xml" in self.parts:
            _parse(self.archive, "xl/sharedStrings.xml", self.budget, start, end, add_text)
        return found

    def _date_styles(self) -> set[int]:
        """Return the numbers of the styles whose numbers are dates."""
        formats, found = {*_DATE_FORMATS}, set()
        is_style, n_styles = False, 0

        def start(name: str, values: dict[str, str]) -> None:
            nonlocal is_style, n_styles
            if name == "numFmt":
                code = _NOT_FORMAT.sub("", values.get("formatCode", "")).lower()
                if set(code) & {"y", "d"}:
                    formats.add(int(values["numFmtId"]))
            elif name == "cellXfs":
                is_style = True
            elif name == "xf" and is_style:
                if int(values.get("numFmtId", 0)) in formats:
                    found.add(n_styles)
                n_styles += 1

        def end(name: str) -> None:
            nonlocal is_style
            is_style = is_style and name != "cellXfs"

        if "xl/styles.xml" in self.parts:
            _parse(self.archive, "xl/styles.xml", self.budget, start, end)
        return found


def _column_number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number - 1


class _OpenDocument:
    """A spreadsheet of LibreOffice, in which equal cells and rows are written once."""

    def __init__(self, archive: zipfile.ZipFile, budget: Budget) -> None:
        self.archive, self.budget = archive, budget

    def sheet_names(self) -> list[str]:
        found: list[str] = []

        def start(name: str, values: dict[str, str]) -> None:
            if name == "table":
                found.append(values.get("table:name", f"Sheet{len(found) + 1}"))

        _parse(self.archive, "content.xml", self.budget, start)
        return found

    def read(self, number: int, sheet: Sheet) -> None:
        """Store the cells of a sheet."""
        table, row, n_rows, column = -1, 0, 1, 0
        cell: dict[str, str] = {}
        paragraphs: list[str] = []
        depth_note, in_paragraph = 0, False

        def start(name: str, values: dict[str, str]) -> None:
            nonlocal table, row, n_rows, column, cell, depth_note, in_paragraph
            if name == "table":
                table, row = table + 1, 0
            elif name == "table-row":
                n_rows, column = int(values.get("table:number-rows-repeated", 1)), 0
            elif name in ("table-cell", "covered-table-cell"):
                cell = values
                paragraphs.clear()
            elif name == "annotation":
                depth_note += 1
            elif name == "p" and not depth_note:
                paragraphs.append("")
                in_paragraph = True
            elif name in ("s", "tab", "line-break") and in_paragraph:
                paragraphs[-1] += "\n" if name == "line-break" else " "

        def end(name: str) -> None:
            nonlocal row, column, depth_note, in_paragraph
            if name == "table-row":
                row += n_rows
            elif name in ("table-cell", "covered-table-cell"):
                repeated = int(cell.get("table:number-columns-repeated", 1))
                text = _value_of(cell, paragraphs)
                if text and table == number:
                    sheet.add(row, column, text, n_rows, repeated)
                column += repeated
            elif name == "annotation":
                depth_note -= 1
            elif name == "p":
                in_paragraph = False

        def add_text(text: str) -> None:
            if in_paragraph and not depth_note:
                paragraphs[-1] += text

        _parse(self.archive, "content.xml", self.budget, start, end, add_text)


def _value_of(cell: dict[str, str], paragraphs: list[str]) -> str:
    """Return the value of a cell of an OpenDocument file as text."""
    kind = cell.get("office:value-type", cell.get("calcext:value-type", ""))
    if kind in ("float", "percentage", "currency"):
        value = float(cell["office:value"])
        return as_string(value) if math.isfinite(value) else ""
    if kind == "date":
        return cell["office:date-value"].replace("T", " ").removesuffix(" 00:00:00")
    if kind == "boolean":
        return cell["office:boolean-value"]
    return "" if kind == "error" else "\n".join(paragraphs)
