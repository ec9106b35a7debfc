"""Parquet tables, through pyarrow."""

import io
from typing import Any

from labelkin._utils.files import FormatError, reason
from labelkin._utils.optional import import_optional
from labelkin.datasets.formats._budget import Budget
from labelkin.datasets.formats._nested import open_objects
from labelkin.datasets.formats._raw_table import Options, RawTable, name_columns

_ROWS = 10_000  # read at once
# What pandas takes for a missing value, and for one that is a Python object, such as a decimal.
_NULL_BYTES, _OBJECT_BYTES = 8, 60


def read_parquet(raw: bytes, budget: Budget, options: Options) -> RawTable:
    """Return a file as a table; it is read in batches, within a limit of memory.

    A value that repeats takes a few bytes in a file, whatever its size and number: texts are read
    as codes and a dictionary first, and the memory that they take is counted before they are
    decoded.
    """
    pyarrow, parquet = import_optional("pyarrow"), import_optional("pyarrow.parquet")
    path = budget.source
    try:
        schema = parquet.ParquetFile(io.BytesIO(raw)).schema
        leaves = [schema.column(i) for i in range(len(schema))]
        texts = [
            leaf.path
            for leaf in leaves
            if leaf.physical_type == "BYTE_ARRAY" and leaf.logical_type.type != "DECIMAL"
        ]
        file = parquet.ParquetFile(io.BytesIO(raw), read_dictionary=texts)
        n_rows = file.metadata.num_rows
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
        pages = max((group.total_byte_size for group in groups), default=0)
        budget.check(pages)
        # One row may hold any number of values, which are read at once. Where what is declared of
        # a column is damaged, pyarrow would abort the process at `column`, and scanning it fails.
        lists = [i for i, leaf in enumerate(leaves) if leaf.max_repetition_level]
        for i in lists:
            file.reader.scan_contents([i], _ROWS)
        listed = sum(group.column(i).num_values for group in groups for i in lists)
    except FormatError:
        raise
    except Exception as error:  # pyarrow raises errors of many kinds
        raise FormatError(path, f"not a readable Parquet file ({reason(error)})") from None
    given = [name or None for name in file.schema_arrow.names]
    names, guesses, repeats = name_columns(given, str(path), options.known)
    # Values of a fixed size, of which the first batch could take too much.
    budget.check(sum(max(8, leaf.length) for leaf in leaves) * min(n_rows, _ROWS))
    budget.check(8 * listed)
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
        budget.take(batch.nbytes + sum(_text_bytes(one) + _extra_bytes(one) for one in batch))
        tables.append(_decode_texts(pyarrow.Table.from_batches([batch])))
    try:
        # Without pandas' own metadata, which would hide the columns of an index.
        table = pyarrow.concat_tables(tables).rename_columns(names)
        frame = open_objects(table.to_pandas(ignore_metadata=True))
    except Exception as error:
        raise FormatError(path, f"pandas cannot hold this table ({reason(error)})") from None
    names, renamed, _ = name_columns(frame.columns, str(path), options.known)
    frame, guesses = frame.set_axis(names, axis=1), guesses + renamed
    return RawTable(
        str(path),
        frame,
        names,
        decimal=options.mark,
        guesses=guesses,
        repeats=repeats,
        has_types=True,
    )


def _extra_bytes(array: Any) -> int:
    """Return what the values of an array take in pandas, besides what they take in Arrow."""
    types = import_optional("pyarrow").types
    kinds = "null", "boolean", "integer", "floating", "timestamp", "duration", "dictionary"
    if any(getattr(types, f"is_{kind}")(array.type) for kind in kinds):
        return _NULL_BYTES * array.null_count
    return _OBJECT_BYTES * len(array)


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
