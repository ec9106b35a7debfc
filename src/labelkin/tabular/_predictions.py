"""Predictions of a table's rows as a person uses them: which row is which, its labels, how sure."""

import csv
import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from labelkin._utils.labels import label_names_of
from labelkin._utils.names import abbreviate
from labelkin._utils.optional import import_optional
from labelkin.datasets import RawTable
from labelkin.datasets.formats._columns import find_columns, respell
from labelkin.datasets.formats._numbers import is_number, other_mark, plain_number
from labelkin.datasets.formats._quantities import split_unit
from labelkin.datasets.formats._raw_table import CsvForm
from labelkin.metrics._estimators import estimator_labels, estimator_scores
from labelkin.rows import as_dense
from labelkin.tabular._labels import LabelColumns
from labelkin.tabular._schema import Schema

if TYPE_CHECKING:
    import pandas as pd

CONFIDENCE = "the probability that the decision on the row's least certain label is right"
"""What the column ``confidence`` holds."""

_TEXT = 60  # characters of the start of a text
# What a spreadsheet takes for the beginning of a formula, unless it is a number.
_FORMULA = re.compile(r"(?![-+][\d.,]+(?:[eE][-+]?\d+)?\Z)[=+\-@\t\r＝＋－＠]")

# What a workbook holds as a number, of which it keeps 15 digits, or as a date, from 1900 on.
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]+)?(?:e-[0-9]+)?")
_CODE = re.compile(r"0\d")
_DATE = re.compile(r"(?:19|[2-9][0-9])[0-9]{2}-[0-9]{2}-[0-9]{2}(?: [0-9]{2}(?::[0-9]{2}){2})?")
_NOT_IN_SHEET = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_MAX_CELL = 32_767  # characters


def predict_frame(
    model: Any, X: Any, *, proba: bool = False, label_names: Sequence[Any] | None = None
) -> "pd.DataFrame":
    """Return the predictions of a multi-label classifier as a DataFrame.

    scikit-learn's ``set_output(transform="pandas")`` covers transformers only: ``predict`` and
    ``predict_proba`` return arrays. This function works with every multi-label classifier of
    labelkin and scikit-learn, and with pipelines and searches that end in one.

    Parameters
    ----------
    model : estimator
        Fitted to a label matrix.
    X : DataFrame, array-like or sparse matrix
        Samples. The index of a DataFrame becomes the index of the result.
    proba : bool, default=False
        Whether to return P(label = 1) instead of 0 and 1.
    label_names : sequence, optional
        Columns of the result. By default the columns of the DataFrame that `model` was fitted
        to, as strings (``label_names=y.columns`` keeps numbers), or numbers from 0 if it was
        fitted to an array.

    Returns
    -------
    DataFrame of shape (n_samples, n_labels)

    Examples
    --------
    >>> import pandas as pd
    >>> from labelkin import MLkNNClassifier
    >>> from labelkin.tabular import predict_frame
    >>> films = pd.DataFrame(
    ...     {"length": [97, 121, 88, 140], "drama": [1, 0, 1, 0], "comedy": [0, 1, 1, 1]},
    ...     index=["Alma", "Bruno", "Carla", "Dora"],
    ... )
    >>> model = MLkNNClassifier(n_neighbors=1).fit(films[["length"]], films[["drama", "comedy"]])
    >>> predict_frame(model, films[["length"]].head(2))
           drama  comedy
    Alma       1       1
    Bruno      0       1
    """
    pd = import_optional("pandas", "data")
    names = label_names_of(model) if label_names is None else list(label_names)
    if proba:
        values = estimator_scores(model, X, n_labels=len(names) if names else 2)
    else:
        values = estimator_labels(model, X).astype(np.int64)  # differences are signed
    if names is not None and len(names) != values.shape[1]:
        raise ValueError(
            f"label_names has {len(names)} names, but the model predicts {values.shape[1]} labels."
        )
    index = X.index if isinstance(X, pd.DataFrame | pd.Series) else None
    return pd.DataFrame(values, index=index, columns=names)


def identifiers_of(table: RawTable, schema: Schema) -> dict[str, list[str]]:
    """Return the column of identifiers with the fewest gaps, the first of several."""
    present = getattr(table.data, "columns", ())
    known = [name for name in schema.identifiers if name in present]
    known = sorted(known, key=lambda name: table.column(name).isna().sum())[:1]
    return {name: as_written(table, name) for name in known}


def identify_rows(table: RawTable, schema: Schema) -> dict[str, list[str]]:
    """Return the columns by which a reader knows the rows: the identifier, the start of a text.

    Each is left out where the table has none.
    """
    found, present = identifiers_of(table, schema), getattr(table.data, "columns", ())
    names = [schema.title, *schema.of_kind("text")]
    texts = [name for name in names if name in present][:1]
    for name in texts:
        cells = as_written(table, name)
        found[name] = [abbreviate(" ".join(cell.split()), _TEXT) for cell in cells]
    return found


def name_rows(table: RawTable, schema: Schema, kept: Any = None) -> list[str]:
    """Return number and, where the table has one, identifier of the rows, or of those kept."""
    ids = next(iter(identifiers_of(table, schema).values()), [""] * table.n_rows)
    numbers = range(table.n_rows) if kept is None else kept
    return [f"row {i + 1}" + f" ({ids[i]})" * bool(ids[i]) for i in numbers]


def kept_columns(
    table: RawTable,
    schema: Schema,
    id_column: str | None,
    wanted: list[str] | None,
    format: str = "csv",
) -> dict[str, Any]:
    """Return the columns before the predictions: what identifies a row, and those to keep.

    By default rows have their identifier or, without one, their number, and the start of a text.
    `wanted` may be ``["all"]`` or ``["none"]``. The columns are strings for the format ``csv``;
    for others, those of numbers and of dates are such.
    """
    names = table.names or []
    # Columns that differ little from those of training have the names of these.
    id_column = None if id_column is None else respell([id_column], names)[0][0]
    wanted = None if wanted is None else [str(name) for name in respell(wanted, names)[0]]
    if wanted in (["all"], ["none"]) and wanted[0] not in names:
        wanted = names if wanted == ["all"] else []
    for option, given in (("id", [id_column] if id_column else []), ("keep", wanted or [])):
        if given and table.names is None:
            raise ValueError(f"--{option} {given[0]}: {table.source} has no column names.")
        find_columns(dict.fromkeys(given), names, table.source)
    ids: dict[str, list[Any]] = identify_rows(table, schema)
    texts = {name: ids.pop(name) for name in [*ids] if name not in schema.identifiers}
    if id_column is not None:
        ids = {id_column: as_written(table, id_column)}
    others = texts if wanted is None else {name: as_written(table, name) for name in wanted}
    found = ids | others
    if format != "csv":
        found = {name: _typed(table, name, cells, format) for name, cells in found.items()}
    return found if ids else {"row": list(range(1, table.n_rows + 1))} | found


def _typed(table: RawTable, name: str, cells: list[str], format: str) -> Any:
    """Return a column as numbers or dates if all of its cells are such; in JSON dates are strings.

    The type is found once, as rows are written in blocks. A workbook holds fewer digits. Texts of
    files that have numbers, too, such as Parquet, are none.
    """
    pandas, column = import_optional("pandas"), table.column(name)
    kind, is_written = table.kind(name), name in table.written
    if kind in ("list", "dict") and format == "jsonl":
        return [json.loads(cell) if cell else None for cell in _as_json(table, name)]
    is_typed = format == "parquet" and kind in ("number", "date") and not is_written
    if format == "jsonl" and not is_written and pandas.api.types.is_numeric_dtype(column.dtype):
        is_typed = np.isfinite(column.dropna().to_numpy(float)).all()  # others are not in JSON
    if is_typed and column.dtype == float and column.isna().any() and not (column % 1).any():
        column = column.astype("Int64")  # which pandas reads as floats where one is missing
    elif not is_typed:
        column = _parse_cells(table, name, cells, format)
    if format == "parquet":
        values = import_optional("pyarrow").array(column, from_pandas=True)
        return pandas.arrays.ArrowExtensionArray(values)
    return column if format == "xlsx" else pandas.array(column)


def _parse_cells(table: RawTable, name: str, cells: list[str], format: str) -> list[Any]:
    """Return strings as numbers or as dates if all are such, and none is a code such as 007.

    A column of a workbook may have words beside its numbers.
    """
    if table.has_types and table.kind(name) not in ("number", "date"):
        return [cell or None for cell in cells]
    mark = "." if table.csv is None else table.decimal or table.csv.decimal
    with suppress(ValueError):  # 2024-02-30
        if format != "jsonl" and all(map(_DATE.fullmatch, filter(None, cells))):
            kind = datetime if any(len(cell) > 10 for cell in cells) else date
            return [kind.fromisoformat(cell) if cell else None for cell in cells]
    for decimal in (mark, other_mark(mark)):
        found = [_as_number(cell, decimal) for cell in cells]
        if not any(isinstance(value, str) for value in found):
            return found
    are_mixed = format == "xlsx" and not any(map(_CODE.match, cells))
    return [_as_number(cell, mark) if are_mixed else cell or None for cell in cells]


def _as_number(cell: str, decimal: str) -> Any:
    """Return a cell as the number that it is with a decimal mark, None if it is empty.

    Thousands may be apart, and the minus may stand at the end; others are returned as they are.
    """
    number, unit = split_unit(cell)
    plain = plain_number(number, decimal)
    if unit or not is_number(number, decimal) or not _NUMBER.fullmatch(plain):
        return cell or None
    return int(plain) if plain.lstrip("-").isdigit() else float(plain)


def as_written(table: RawTable, name: str) -> list[str]:
    """Return the cells of a column as strings, empty ones where missing; lists as JSON."""
    if name in table.written:
        return table.written[name].fill_null("").to_pylist()
    if (kind := table.kind(name)) == "dict" or (kind == "list" and not table.holds_words(name)):
        return _as_json(table, name)
    cells = ["" if cell is None else str(cell) for cell in table.strings(name)]
    if table.csv is not None and table.csv.decimal == "," and table.kind(name) == "number":
        return [cell.replace(".", ",") for cell in cells]
    return cells


def _as_json(table: RawTable, name: str) -> list[str]:
    """Return lists or objects as JSON."""
    column = table.column(name).astype(object)
    encode = json.JSONEncoder(ensure_ascii=False, default=np.ndarray.tolist).encode
    cells = zip(column, column.isna(), strict=True)
    return ["" if gone else encode(cell) for cell, gone in cells]


def row_confidence(labels: np.ndarray, scores: np.ndarray) -> list[float]:
    """Return the probability that the decision on each row's least certain label is right."""
    least = np.where(labels, scores, 1 - scores).min(axis=1)
    return [round(float(p), 4) for p in least]


def frame_predictions(
    where: LabelColumns,
    kept: dict[str, list[Any]],
    labels: Any,
    scores: Any,
    *,
    nested: bool = False,
    proba: bool = False,
    top: int = 0,
    per_label: bool = False,
) -> "pd.DataFrame":
    """Return one row per row: the columns `kept` of the input, predicted labels, confidence.

    Label sets are joined by the separator of the training data or, if a label contains it, by
    another; with `nested`, cells hold lists and dicts, as in JSON, with labels as they were in the
    lists of the training data. The `top` most likely labels
    have columns of their own; with `per_label` each label has one of 0 and 1, with `proba` one of
    its probabilities. If true labels are kept, columns of predictions are named ``predicted_…``.
    Another column gets a "_" if a label has its name.
    """
    names = list(where.names)
    labels, scores = as_dense(labels), as_dense(scores)  # sparse with thousands of labels
    shown: list[Any] = [*map(int, names)] if nested and where.are_integers else names
    sets = [[shown[j] for j in row.nonzero()[0]] for row in labels]
    likely = (-scores).argsort(axis=1, kind="stable")[:, :top]
    confidence, scores = row_confidence(labels, scores), scores.astype(np.float64).round(6)
    true = {"labels", *where.columns, *(names if proba or per_label else ())}
    beside = "" if true.isdisjoint(kept) else "predicted_"
    columns, own, found = dict[str, Any](kept), dict[str, Any](), f"{beside}labels"
    if nested:
        columns |= {found: sets, "confidence": confidence}
        if top:
            columns["top"] = [
                [{"label": shown[j], "probability": p[j]} for j in order]
                for p, order in zip(scores, likely, strict=True)
            ]
        if proba:
            columns["probabilities"] = [dict(zip(names, p, strict=True)) for p in scores]
    else:
        marks = (mark for mark in (where.separator, ";", "|") if mark not in "\n".join(names))
        mark = next(marks, None)  # None: a list, in JSON
        joined = [mark.join(labels) if mark else json.dumps(labels) for labels in sets]
        columns |= {found: joined, "confidence": confidence}
        for rank, order in enumerate(likely.T, start=1):
            columns[f"{beside}label_{rank}"] = [names[j] for j in order]
            cells = [p[j] for p, j in zip(scores, order, strict=True)]
            columns[f"probability_{rank}"] = cells
        if proba or per_label:
            values = (scores if proba else labels).T
            own = dict(zip((beside + name for name in names), values, strict=True))
    table: dict[str, Any] = {}
    for name, cells in columns.items():
        while name in own or name in table:
            name += "_"
        table[name] = cells
    return import_optional("pandas").DataFrame(table | own)


def write_predictions(
    parts: "Iterable[pd.DataFrame]",
    stream: Any,
    format: str,
    *,
    formulas: bool = True,
    form: CsvForm | None = None,
) -> None:
    """Write parts of a table as they come: ``csv``, in this form, and ``jsonl`` as text.

    ``parquet`` and ``xlsx`` are written as bytes. Without `formulas`, a text of a CSV file that a
    spreadsheet would compute gets a single quote before it; in ``xlsx`` texts are texts.
    """
    if format == "parquet":
        _write_parquet(parts, stream)
        return
    if format == "xlsx":
        _write_excel(parts, stream)
        return

    csv_form = form or CsvForm()
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

    def escaped(value: Any) -> Any:
        return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value

    for number, part in enumerate(parts):
        if format == "jsonl":
            # pandas' to_json would write 10 digits, or cut numbers at the 15th decimal.
            rows = np.where(part.notna(), part.astype(object), np.array(None)).tolist()
            records = (dict(zip(part.columns, row, strict=True)) for row in rows)
            stream.write("".join(f"{encode(record)}\n" for record in records))
        else:
            part = part if formulas else part.map(escaped).rename(columns=escaped)
            how: Any = {"index": False, "lineterminator": "\n", "header": number == 0}
            how |= {"sep": csv_form.delimiter, "decimal": csv_form.decimal}
            text = part.to_csv(**how)
            if "\r" in text:  # which pandas does not quote, and readers take for the end of a line
                text = part.to_csv(**how, quoting=csv.QUOTE_NONNUMERIC)
            stream.write(text)
        stream.flush()  # these rows can be read at once


def _write_parquet(parts: "Iterable[pd.DataFrame]", stream: Any) -> None:
    arrow, parquet = import_optional("pyarrow"), import_optional("pyarrow.parquet")
    writer: Any = None
    for part in parts:
        schema = None if writer is None else writer.schema
        rows = arrow.Table.from_pandas(part, schema, preserve_index=False)
        rows = rows.replace_schema_metadata()  # or pandas would read columns of Arrow's types
        writer = writer or parquet.ParquetWriter(stream, rows.schema)
        writer.write_table(rows)
    writer.close()


def _write_excel(parts: "Iterable[pd.DataFrame]", stream: Any) -> None:
    """Write a workbook of one sheet, in which no text is a formula."""
    openpyxl = import_optional("openpyxl", "excel")
    cells = import_optional("openpyxl.cell", "excel")
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("predictions")
    sheet.freeze_panes = "A2"

    def as_cell(value: Any) -> Any:
        if not (value and isinstance(value, str)):
            return None if value == "" else value
        cell = cells.WriteOnlyCell(sheet)
        # openpyxl refuses control characters, and a cell holds 32,767 characters at most.
        cell.value = _NOT_IN_SHEET.sub("\N{REPLACEMENT CHARACTER}", value)[:_MAX_CELL]
        cell.data_type = "s"
        return cell

    for number, part in enumerate(parts):
        rows = part.itertuples(index=False, name=None)
        for row in rows if number else [tuple(part.columns), *rows]:
            sheet.append([as_cell(value) for value in row])
    book.save(stream)
