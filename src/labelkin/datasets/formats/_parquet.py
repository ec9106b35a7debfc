"""Parquet tables with named label columns, through pyarrow."""

import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from labelkin._utils.files import FormatError, open_for_reading, open_for_writing, reason
from labelkin._utils.limits import max_unpacked, too_large
from labelkin._utils.optional import import_optional
from labelkin.datasets.formats._arrow import split_table
from labelkin.datasets.formats._columns import Labels, check_unique, find_labels
from labelkin.datasets.formats._content import Content, check_content, make_bunch
from labelkin.datasets.formats._parquet_pages import count_values

_KEY = b"labelkin"  # of our metadata in the schema
_ROWS = 10_000  # written at once
_TEXTS = {"string", "large_string", "binary", "large_binary"}


def read_parquet(
    path: str | Path, labels: Labels | None = None, *, drop: str | Iterable[str] = ()
) -> Bunch:
    """Read a Parquet table; needs the ``data`` extra.

    Parameters
    ----------
    path : str or Path
    labels : names, comma-separated string, or int, optional
        As in `read_csv`. Files by `write_parquet` hold the names of their labels.
    drop : names or comma-separated string, default=()
        Columns to leave out.

    Returns
    -------
    Bunch
        As `read_arff` describes; ``data`` is CSR where `write_parquet` was given a sparse
        matrix, else dense. Missing values are NaN; columns of text are refused by name.

    """
    source, metadata = open_parquet(path)
    if labels is None:
        labels = metadata.get("label_names")
        if labels is None:
            raise FormatError(
                path,
                "the label columns of the table are unknown; pass labels=",
                None,
                "labels",
            )
    label_columns = find_labels(labels, source.schema_arrow.names, path)
    data, target = [], []
    features: list[str] = []
    columns: list[str] = []
    # One row group at a time, so that a sparse matrix is never dense as a whole.
    for group in range(max(source.num_row_groups, 1)):
        table = read_row_group(source, group, path)
        block, block_target, features, columns = split_table(table, label_columns, drop, path)
        data.append(sparse.csr_matrix(block) if metadata.get("sparse") else block)
        target.append(block_target)
    n_values = metadata.get("feature_n_values", {})
    return make_bunch(
        sparse.vstack(data, format="csr") if metadata.get("sparse") else np.vstack(data),
        np.vstack(target),
        feature_names=features,
        label_names=columns,
        feature_n_values=np.array([n_values.get(name, 0) for name in features], dtype=np.int32),
        descr=Path(path).name,
    )


def read_parquet_table(path: str | Path) -> tuple[Any, list[str] | None]:
    """Return a file as an Arrow table, and the names of its labels if `write_parquet` wrote it."""
    source, metadata = open_parquet(path)
    return read_row_group(source, None, path), metadata.get("label_names")


def open_parquet(path: str | Path) -> tuple[Any, dict[str, Any]]:
    """Return an open ParquetFile with unique column names, and our metadata."""
    parquet = import_optional("pyarrow.parquet")
    with open_for_reading(path) as file:
        raw = file.read()
    try:
        source = parquet.ParquetFile(io.BytesIO(raw))
        leaves = [source.schema.column(i) for i in range(len(source.schema))]
        # Texts as codes at first: a text of a megabyte that repeats a million times is small then.
        texts = [leaf.path for leaf in leaves if _holds_text(leaf)]
        source = parquet.ParquetFile(io.BytesIO(raw), read_dictionary=texts)
        metadata = _parse_metadata(source.schema_arrow.metadata)
        size = _size_of(source.metadata, leaves, raw, metadata.get("sparse", False))
    except Exception as error:  # pyarrow raises errors of many kinds
        raise FormatError(path, f"not a readable Parquet file ({reason(error)})") from None
    check_unique(source.schema_arrow.names, "column", path)
    if size > (limit := max_unpacked(len(raw))):
        raise FormatError(path, too_large(limit))
    return source, metadata


def _holds_text(leaf: Any) -> bool:
    return leaf.physical_type == "BYTE_ARRAY" and leaf.logical_type.type != "DECIMAL"


def _size_of(declared: Any, leaves: list[Any], raw: bytes, by_group: bool) -> int:
    """Return the memory that a file takes: a repeated value takes a few bytes in it.

    `by_group` is whether only one row group is in memory at a time.
    """
    widths = [max(8, leaf.length) for leaf in leaves]
    nested = [i for i, leaf in enumerate(leaves) if leaf.max_repetition_level]
    # Not by column: pyarrow ends the process where the description of a column is damaged.
    groups = [declared.row_group(i) for i in range(declared.num_row_groups)]
    sizes = [max(sum(widths) * group.num_rows, group.total_byte_size) for group in groups] or [0]
    values = count_values(raw, nested) if nested else 0
    return (max if by_group else sum)(sizes) + max(widths, default=0) * values


def read_row_group(source: Any, group: int | None, path: str | Path) -> Any:
    """Return one row group of a ParquetFile as an Arrow table, or all of them."""
    try:
        if group is None or not source.num_row_groups:
            table = source.read()
        else:
            table = source.read_row_group(group)
        table.validate(full=True)  # codes within range, and texts that are UTF-8
    except Exception as error:
        raise FormatError(path, f"a damaged Parquet file ({reason(error)})") from None
    return _decode_texts(table, path)


def _decode_texts(table: Any, path: str | Path) -> Any:
    """Return a table with the texts that were read as codes."""
    pyarrow = import_optional("pyarrow")
    limit = left = max_unpacked(table.nbytes)
    for at, field in enumerate(table.schema):
        column = table.column(at)
        left -= sum(map(_text_bytes, column.chunks))
        if left < 0:
            raise FormatError(path, too_large(limit))
        kind = field.type
        if pyarrow.types.is_dictionary(kind) and str(kind.value_type) in _TEXTS:
            table = table.set_column(at, field.name, column.cast(kind.value_type))
    return table


def _text_bytes(array: Any) -> int:
    """Return the bytes of the texts in an array of codes, or in lists of such."""
    types, compute = import_optional("pyarrow").types, import_optional("pyarrow.compute")
    if types.is_list(array.type) or types.is_large_list(array.type):
        return _text_bytes(array.flatten())
    if not types.is_dictionary(array.type) or str(array.type.value_type) not in _TEXTS:
        return 0
    lengths = compute.binary_length(array.dictionary).take(array.indices)
    return compute.sum(lengths).as_py() or 0


def _parse_metadata(metadata: dict[bytes, bytes] | None) -> dict[str, Any]:
    """Return the metadata that `write_parquet` wrote; empty for other files."""
    found = json.loads((metadata or {}).get(_KEY, b"{}"))
    names = found.get("label_names")
    counts = found.get("feature_n_values", {})
    if names is not None and not all(isinstance(name, str) for name in names):
        raise ValueError("damaged labelkin metadata")
    if not all(isinstance(count, int) and 0 <= count < 2**31 for count in counts.values()):
        raise ValueError("damaged labelkin metadata")
    return found


def write_parquet(
    path: str | Path,
    data: Any,
    target: Any,
    *,
    feature_names: Iterable[str] | None = None,
    label_names: Iterable[str] | None = None,
    feature_n_values: Any = None,
) -> None:
    """Write a Parquet table that holds the names of its labels; needs the ``data`` extra.

    Parameters
    ----------
    path, data, target, feature_names, label_names, feature_n_values
        As in `write_arff`.

    """
    pyarrow, parquet = import_optional("pyarrow"), import_optional("pyarrow.parquet")
    content = check_content(path, data, target, feature_names, label_names, feature_n_values)
    names = content.feature_names + content.label_names
    types = [pyarrow.float64()] * len(content.feature_names)
    types += [pyarrow.uint8()] * len(content.label_names)
    schema = pyarrow.schema(
        list(zip(names, types, strict=True)), metadata={_KEY: _metadata_of(content)}
    )
    with open_for_writing(path) as file, parquet.ParquetWriter(file, schema) as writer:
        for first in range(0, max(content.target.shape[0], 1), _ROWS):
            features, labels = content.rows(first, first + _ROWS)
            columns = [pyarrow.array(column) for part in (features, labels) for column in part.T]
            writer.write_table(pyarrow.Table.from_arrays(columns, schema=schema))


def _metadata_of(content: Content) -> bytes:
    pairs = zip(content.feature_names, content.feature_n_values.tolist(), strict=True)
    return json.dumps(
        {
            "label_names": content.label_names,
            "feature_n_values": {name: count for name, count in pairs if count},
            "sparse": sparse.issparse(content.data),
        }
    ).encode("ascii")
