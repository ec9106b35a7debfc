"""CSV and Parquet tables with named label columns, through pyarrow."""

import csv
import io
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from labelkin._utils.files import FormatError, open_for_reading, open_for_writing, reason, shorten
from labelkin._utils.optional import import_optional
from labelkin.datasets._bunch import Content, check_content, make_bunch
from labelkin.datasets.formats._columns import (
    Labels,
    check_unique,
    find_columns,
    find_labels,
    split_names,
)
from labelkin.datasets.formats._text import number_text

_KEY = b"labelkin"
_ROWS = 10_000  # written at once
_MISSING = ["", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None"]
_ROW_NUMBER = re.compile(r"Row #(\d+): ")


def read_csv(
    path: str | Path,
    labels: Labels | None = None,
    *,
    drop: str | Iterable[str] = (),
    delimiter: str = ",",
) -> Bunch:
    """Read a CSV table with a head line; needs the ``data`` extra.

    Parameters
    ----------
    path : str or Path
        The file; ``.gz`` and ``.bz2`` are decompressed.
    labels : names, comma-separated string, or int
        The label columns, by name or by count (negative: the last ones). Their values are
        0 and 1, or false and true.
    drop : names or comma-separated string, default=()
        Columns to leave out, such as an identifier.
    delimiter : str, default=","

    Returns
    -------
    Bunch
        As `read_arff` describes; ``data`` is dense, empty cells are NaN. A feature column
        of text is refused by name: encode it as numbers first, or drop it.

    """
    arrow_csv = import_optional("pyarrow.csv")
    with open_for_reading(path) as file:
        text = file.read()
    try:
        table = arrow_csv.read_csv(
            io.BytesIO(text),
            # One block: a row wider than a block would be refused.
            read_options=arrow_csv.ReadOptions(
                block_size=min(len(text) + 1, 2**31 - 1), use_threads=False
            ),
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                null_values=_MISSING, strings_can_be_null=True
            ),
        )
        names = table.column_names
    except Exception as error:  # pyarrow's kinds vary
        raise _csv_error(path, error) from None
    check_unique(names, "column", path, 1)
    if labels is None:
        raise FormatError(path, "a CSV table does not say which columns are labels; pass labels=")
    data, target, features, columns = _split(table, find_labels(labels, names, path), drop, path)
    return make_bunch(
        data, target, feature_names=features, label_names=columns, descr=Path(path).name
    )


def _csv_error(path: str | Path, error: Exception) -> FormatError:
    message = reason(error)
    found = _ROW_NUMBER.search(message)
    line = int(found[1]) if found else None
    return FormatError(path, f"not a CSV table ({_ROW_NUMBER.sub('', message)})", line)


def read_parquet(
    path: str | Path, labels: Labels | None = None, *, drop: str | Iterable[str] = ()
) -> Bunch:
    """Read a Parquet table; needs the ``data`` extra.

    Parameters
    ----------
    path : str or Path
    labels : names, comma-separated string, or int, optional
        As in `read_csv`. Files by `write_parquet` know their labels.
    drop : names or comma-separated string, default=()
        Columns to leave out.

    Returns
    -------
    Bunch
        As `read_arff` describes; ``data`` is CSR where `write_parquet` was given a sparse
        matrix, else dense. Missing values are NaN; columns of text are refused by name.

    """
    parquet = import_optional("pyarrow.parquet")
    with open_for_reading(path) as file:
        raw = io.BytesIO(file.read())
    try:
        source = parquet.ParquetFile(raw)
        names = source.schema_arrow.names
        said = _metadata(source.schema_arrow.metadata)
    except Exception as error:  # pyarrow's kinds vary
        raise FormatError(path, f"not a readable Parquet file ({reason(error)})") from None
    check_unique(names, "column", path)
    if labels is None:
        labels = said.get("label_names")
        if labels is None:
            raise FormatError(path, "the table does not say which columns are labels; pass labels=")
    label_columns = find_labels(labels, names, path)
    data, target = [], []
    features: list[str] = []
    columns: list[str] = []
    for group in range(max(source.num_row_groups, 1)):
        try:
            table = source.read_row_group(group) if source.num_row_groups else source.read()
        except Exception as error:
            raise FormatError(path, f"a damaged Parquet file ({reason(error)})") from None
        block, block_target, features, columns = _split(table, label_columns, drop, path)
        data.append(sparse.csr_matrix(block) if said.get("sparse") else block)
        target.append(block_target)
    n_values = said.get("feature_n_values", {})
    return make_bunch(
        sparse.vstack(data, format="csr") if said.get("sparse") else np.vstack(data),
        np.vstack(target),
        feature_names=features,
        label_names=columns,
        feature_n_values=np.array([n_values.get(name, 0) for name in features], dtype=np.int32),
        descr=Path(path).name,
    )


def _metadata(metadata: dict[bytes, bytes] | None) -> dict[str, Any]:
    """Read what `write_parquet` left in the schema; anything else counts as nothing."""
    said = json.loads((metadata or {}).get(_KEY, b"{}"))
    names = said.get("label_names")
    counts = said.get("feature_n_values", {})
    if names is not None and not all(isinstance(name, str) for name in names):
        raise ValueError("damaged labelkin metadata")
    if not all(isinstance(count, int) and 0 <= count < 2**31 for count in counts.values()):
        raise ValueError("damaged labelkin metadata")
    return said


def _split(
    table: Any, label_columns: np.ndarray, drop: str | Iterable[str], path: str | Path
) -> tuple[np.ndarray, np.ndarray, list[str], list[str]]:
    """Features and labels of an Arrow table, and their names."""
    names = table.column_names
    kept = np.ones(len(names), dtype=bool)
    kept[find_columns(split_names(drop, names), names, path)] = False
    if not kept[label_columns].all():
        raise FormatError(path, "a column is both a label and dropped")
    kept[label_columns] = False
    features = np.flatnonzero(kept).tolist()
    if not features:
        raise FormatError(path, "no feature column is left besides the labels")
    data = np.empty((table.num_rows, len(features)))
    for at, column in enumerate(features):
        data[:, at] = _numbers(table.column(column), names[column], path)
    target = np.empty((table.num_rows, label_columns.size), dtype=np.uint8)
    for at, column in enumerate(label_columns.tolist()):
        values = _numbers(table.column(column), names[column], path)
        bad = np.flatnonzero((values != 0) & (values != 1))
        if bad.size:
            value = values[bad[0]]
            found = "is missing" if np.isnan(value) else f"holds {value:g}"
            raise FormatError(
                path,
                f"label {shorten(names[column])} {found} in data row {bad[0] + 1}; "
                "it must be 0 or 1",
            )
        target[:, at] = values
    return data, target, [names[i] for i in features], [names[i] for i in label_columns]


def _numbers(column: Any, name: str, path: str | Path) -> np.ndarray:
    """Column as float64 with NaN for missing cells; text and dates are refused."""
    pyarrow = import_optional("pyarrow")
    kinds, kind = pyarrow.types, column.type
    if kinds.is_null(kind):
        return np.full(len(column), np.nan)
    if not (
        kinds.is_integer(kind)
        or kinds.is_floating(kind)
        or kinds.is_boolean(kind)
        or kinds.is_decimal(kind)
    ):
        example = next((str(cell) for cell in column if cell.is_valid), "")
        raise FormatError(
            path,
            f"column {shorten(name)} holds {kind} values such as {shorten(example, 30)}, not "
            "numbers; encode it as numbers, or leave it out with drop=",
        )
    if kinds.is_boolean(kind):
        column = column.cast(pyarrow.uint8())
    return column.cast(pyarrow.float64(), safe=False).to_numpy()


def write_csv(
    path: str | Path,
    data: Any,
    target: Any,
    *,
    feature_names: Iterable[str] | None = None,
    label_names: Iterable[str] | None = None,
) -> None:
    """Write a CSV table: features, then labels; missing values are empty cells.

    Parameters
    ----------
    path, data, target, feature_names, label_names
        As in `write_arff`; nominal features become plain numbers. Give the label names to
        `read_csv` to read the file back.

    """
    content = check_content(path, data, target, feature_names, label_names)
    with open_for_writing(path) as file:
        names = content.feature_names + content.label_names
        # csv leaves a carriage return unquoted, where readers see the end of a line.
        file.write(_csv_text([names], quote_all=any("\r" in name for name in names)))
        for first in range(0, content.target.shape[0], _ROWS):
            features, labels = content.rows(first, first + _ROWS)
            file.write(
                _csv_text(
                    [number_text(value, missing="") for value in row] + marks
                    for row, marks in zip(features.tolist(), labels.tolist(), strict=True)
                ),
            )


def _csv_text(rows: Iterable[list[Any]], quote_all: bool = False) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(
        text, lineterminator="\n", quoting=csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL
    )
    writer.writerows(rows)
    return text.getvalue().encode("utf-8")


def write_parquet(
    path: str | Path,
    data: Any,
    target: Any,
    *,
    feature_names: Iterable[str] | None = None,
    label_names: Iterable[str] | None = None,
    feature_n_values: Any = None,
) -> None:
    """Write a Parquet table that remembers its labels; needs the ``data`` extra.

    Parameters
    ----------
    path, data, target, feature_names, label_names, feature_n_values
        As in `write_arff`.

    """
    pyarrow, parquet = import_optional("pyarrow"), import_optional("pyarrow.parquet")
    content = check_content(path, data, target, feature_names, label_names, feature_n_values)
    names = content.feature_names + content.label_names
    kinds = [pyarrow.float64()] * len(content.feature_names)
    kinds += [pyarrow.uint8()] * len(content.label_names)
    schema = pyarrow.schema(list(zip(names, kinds, strict=True)), metadata={_KEY: _said(content)})
    with open_for_writing(path) as file, parquet.ParquetWriter(file, schema) as writer:
        for first in range(0, max(content.target.shape[0], 1), _ROWS):
            features, labels = content.rows(first, first + _ROWS)
            columns = [pyarrow.array(column) for part in (features, labels) for column in part.T]
            writer.write_table(pyarrow.Table.from_arrays(columns, schema=schema))


def _said(content: Content) -> bytes:
    pairs = zip(content.feature_names, content.feature_n_values.tolist(), strict=True)
    return json.dumps(
        {
            "label_names": content.label_names,
            "feature_n_values": {name: count for name, count in pairs if count},
            "sparse": sparse.issparse(content.data),
        }
    ).encode("ascii")
