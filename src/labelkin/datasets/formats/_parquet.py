"""Parquet tables with named label columns, through pyarrow."""

import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from labelkin._utils.files import FormatError, open_for_reading, open_for_writing, reason
from labelkin._utils.limits import max_unpacked, too_large
from labelkin._utils.optional import import_optional
from labelkin.datasets.formats._columns import Labels, check_unique
from labelkin.datasets.formats._content import Content, check_content, make_bunch
from labelkin.datasets.formats._raw_table import RawTable, bunch_of_table

_KEY = b"labelkin"  # of our metadata in the schema
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
    source = _ParquetSource(path)
    is_sparse = source.metadata.get("sparse", False)
    parts = []
    # In batches, so that a sparse matrix is never dense as a whole.
    for batch in source.batches(keep=not is_sparse):
        parts.append(bunch_of_table(source.table(batch), labels, drop))
        if is_sparse:
            parts[-1].data = sparse.csr_matrix(parts[-1].data)
    data, names = [part.data for part in parts], parts[0].feature_names
    n_values = source.metadata.get("feature_n_values", {})
    return make_bunch(
        sparse.vstack(data, format="csr") if is_sparse else np.vstack(data),
        np.vstack([part.target for part in parts]),
        feature_names=names,
        label_names=parts[0].label_names,
        feature_n_values=np.array([n_values.get(name, 0) for name in names], dtype=np.int32),
        descr=Path(path).name,
    )


def read_parquet_table(path: str | Path) -> RawTable:
    """Return a file as a table; it has the names of its labels if `write_parquet` wrote it."""
    source = _ParquetSource(path)
    return source.table(import_optional("pyarrow").concat_tables(source.batches()))


class _ParquetSource:
    """An open file with unique column names, read in batches within a limit of memory.

    A value that repeats takes a few bytes in a file, whatever its size and number. Texts are
    therefore read as codes and a dictionary first, and the memory that they take is counted
    before they are decoded.
    """

    def __init__(self, path: str | Path) -> None:
        parquet = import_optional("pyarrow.parquet")
        self.path = path
        with open_for_reading(path) as file:
            raw = file.read()
        self.limit = max_unpacked(len(raw))
        try:
            schema = parquet.ParquetFile(io.BytesIO(raw)).schema
            leaves = [schema.column(i) for i in range(len(schema))]
            texts = [leaf.path for leaf in leaves if _holds_text(leaf)]
            self.file = parquet.ParquetFile(io.BytesIO(raw), read_dictionary=texts)
            self.metadata = _parse_metadata(self.file.schema_arrow.metadata)
            self._check_size(leaves)
        except FormatError:
            raise
        except Exception as error:  # pyarrow raises errors of many kinds
            raise FormatError(path, f"not a readable Parquet file ({reason(error)})") from None
        check_unique(self.file.schema_arrow.names, "column", path)

    def _check_size(self, leaves: list[Any]) -> None:
        """Refuse values of a fixed size of which a batch takes more memory than there is."""
        width = sum(max(8, leaf.length) for leaf in leaves)
        if width * min(self.file.metadata.num_rows, _ROWS) > self.limit:
            raise FormatError(self.path, too_large(self.limit))

    def batches(self, *, keep: bool = True) -> Iterator[Any]:
        """Yield tables of some rows each, at least one.

        With `keep` their sizes count together, because the caller keeps them.
        """
        pyarrow = import_optional("pyarrow")
        left, found = self.limit, self.file.iter_batches(_ROWS)
        empty = self.file.schema_arrow.empty_table()
        n_read = 0
        while True:
            try:
                batch = next(found, None)
                if batch is None and n_read:
                    return
                table = empty if batch is None else pyarrow.Table.from_batches([batch])
                table.validate(full=True)  # codes within range, and texts that are UTF-8
            except Exception as error:
                raise FormatError(self.path, f"a damaged Parquet file ({reason(error)})") from None
            chunks = (chunk for column in table.columns for chunk in column.chunks)
            size = table.nbytes + sum(map(_text_bytes, chunks))
            left = (left if keep else self.limit) - size
            if left < 0:
                raise FormatError(self.path, too_large(self.limit))
            n_read += 1
            yield _decode_texts(table)

    def table(self, rows: Any) -> RawTable:
        """Return rows of the file as they are handed to others."""
        names = rows.column_names
        return RawTable(str(self.path), rows.to_pandas(), names, self.metadata.get("label_names"))


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
