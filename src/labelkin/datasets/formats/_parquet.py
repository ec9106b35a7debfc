"""Parquet tables with named label columns, through pyarrow."""

import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from scipy import sparse
from sklearn.utils import Bunch

from labelkin._utils.files import FormatError, open_for_writing, read_unpacked, reason
from labelkin._utils.limits import max_unpacked, too_large
from labelkin._utils.optional import import_optional
from labelkin._utils.untrusted import check_json
from labelkin.datasets.formats._columns import Labels, check_unique
from labelkin.datasets.formats._content import Content, check_content
from labelkin.datasets.formats._raw_table import RawTable, bunch_of_table

_KEY = b"labelkin"  # of our metadata in the schema
_METADATA = {"label_names": [str], "feature_n_values": {str: int}, "sparse": bool}
_ROWS = 10_000  # read and written at once


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
    table, metadata = _read(path)
    bunch = bunch_of_table(table, labels, drop)
    n_values = metadata.get("feature_n_values", {})
    for at, name in enumerate(bunch.feature_names):
        bunch.feature_n_values[at] = n_values.get(name, 0)
    if metadata.get("sparse"):
        bunch.data = sparse.csr_matrix(bunch.data)
    return bunch


def read_parquet_table(path: str | Path) -> RawTable:
    """Return a file as a table; it has the names of its labels if `write_parquet` wrote it."""
    return _read(path)[0]


def _read(path: str | Path) -> tuple[RawTable, dict[str, Any]]:
    """Return a file as a table, and our metadata.

    It is read in batches, within a limit of memory. A value that repeats takes a few bytes in a
    file, whatever its size and number: texts are read as codes and a dictionary first, and the
    memory that they take is counted before they are decoded.
    """
    pyarrow, parquet = import_optional("pyarrow"), import_optional("pyarrow.parquet")
    raw = read_unpacked(path)
    limit = left = max_unpacked(len(raw))
    try:
        schema = parquet.ParquetFile(io.BytesIO(raw)).schema
        leaves = [schema.column(i) for i in range(len(schema))]
        texts = [leaf.path for leaf in leaves if _holds_text(leaf)]
        file = parquet.ParquetFile(io.BytesIO(raw), read_dictionary=texts)
        metadata = _parse_metadata(file.schema_arrow.metadata)
        n_rows = file.metadata.num_rows
    except Exception as error:  # pyarrow raises errors of many kinds
        raise FormatError(path, f"not a readable Parquet file ({reason(error)})") from None
    names = file.schema_arrow.names
    check_unique(names, "column", path)
    # Values of a fixed size, of which the first batch could take too much.
    width = sum(max(8, leaf.length) for leaf in leaves)
    if width * min(n_rows, _ROWS) > limit:
        raise FormatError(path, too_large(limit))
    tables = [_decode_texts(file.schema_arrow.empty_table())]
    batches = file.iter_batches(_ROWS)
    while True:
        try:
            batch = next(batches, None)
            if batch is None:
                break
            batch.validate(full=True)  # codes within range, and texts that are UTF-8
        except Exception as error:
            raise FormatError(path, f"a damaged Parquet file ({reason(error)})") from None
        left -= batch.nbytes + sum(map(_text_bytes, batch.columns))
        if left < 0:
            raise FormatError(path, too_large(limit))
        tables.append(_decode_texts(pyarrow.Table.from_batches([batch])))
    try:
        # Without pandas' own metadata, which would hide the columns of an index.
        frame = pyarrow.concat_tables(tables).to_pandas(ignore_metadata=True)
    except Exception as error:
        raise FormatError(path, f"no table for pandas ({reason(error)})") from None
    return RawTable(str(path), frame, names, metadata.get("label_names")), metadata


def _holds_text(leaf: Any) -> bool:
    return leaf.physical_type == "BYTE_ARRAY" and leaf.logical_type.type != "DECIMAL"


def _text_bytes(array: Any) -> int:
    """Return the bytes of the texts in an array of codes, also inside lists and the like."""
    types, compute = import_optional("pyarrow").types, import_optional("pyarrow.compute")
    if types.is_map(array.type):
        return _text_bytes(array.keys) + _text_bytes(array.items)
    if types.is_struct(array.type):
        return sum(map(_text_bytes, array.flatten()))
    if types.is_list(array.type) or types.is_large_list(array.type):
        return _text_bytes(array.flatten())
    if not _is_coded_text(array.type):
        return 0
    lengths = compute.binary_length(array.dictionary).take(array.indices)
    return compute.sum(lengths).as_py() or 0


def _is_coded_text(kind: Any) -> bool:
    texts = ("string", "large_string", "binary", "large_binary")
    return import_optional("pyarrow").types.is_dictionary(kind) and str(kind.value_type) in texts


def _decode_texts(table: Any) -> Any:
    """Return a table with the texts that were read as codes."""
    for at, field in enumerate(table.schema):
        if _is_coded_text(field.type):
            texts = table.column(at).cast(field.type.value_type)
            table = table.set_column(at, field.name, texts)
    return table


def _parse_metadata(metadata: dict[bytes, bytes] | None) -> dict[str, Any]:
    """Return the metadata that `write_parquet` wrote; empty for other files."""
    found = json.loads((metadata or {}).get(_KEY, b"{}"))
    check_json(found, _METADATA)
    if not all(0 <= count < 2**31 for count in found.get("feature_n_values", {}).values()):
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
        for first in range(0, content.target.shape[0], _ROWS):
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
