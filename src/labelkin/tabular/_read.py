"""Files of any known format, and datasets known by name, as tables."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from labelkin import datasets
from labelkin._utils.files import FormatError, open_for_reading
from labelkin._utils.limits import max_unpacked, too_large
from labelkin._utils.optional import import_optional
from labelkin.datasets.formats._columns import Labels
from labelkin.datasets.formats._csv import parse_csv_table
from labelkin.datasets.formats._dispatch import format_of
from labelkin.tabular._tables import ArrowTable, MatrixTable, RawTable

SCENES = "digit-scenes"
"""Name of the bundled dataset in experiments and on the command line."""


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file, as far as its format leaves that open."""

    delimiter: str | None = None
    """Of a CSV table; None: guessed."""
    encoding: str | None = None
    """Of a CSV table or ARFF file; None: guessed, for ARFF UTF-8."""
    decimal: str | None = None
    """Decimal mark of a CSV table; None: guessed."""
    as_strings: frozenset[str] = frozenset()
    """Columns kept as they are written: text, categories, tags."""
    ignore: frozenset[str] = frozenset()
    """Columns that are not used, and so may hold anything."""


def read_raw_table(
    source: str,
    options: ReadOptions = ReadOptions(),  # noqa: B008 (immutable)
    *,
    labels: Labels | None = None,
    n_features: int | None = None,
) -> RawTable:
    """Read a file of any known format, or load a dataset by a name that `dataset_names` lists.

    `labels` and `n_features` are for LibSVM files, which name neither.
    """
    path = Path(source)
    if not path.exists() and source in (SCENES, *datasets.dataset_names()):
        if source == SCENES:
            return _from_bunch(source, datasets.load_digit_scenes(600, random_state=0))
        return _from_bunch(source, datasets.load_dataset(source))
    if path.is_dir():
        raise FormatError(source, "this is a folder, not a file")
    if not path.exists():
        may_be_name = not path.suffix and len(path.parts) == 1
        known = " nor a dataset of that name; `labelkin datasets` lists those known"
        raise FileNotFoundError(f"There is no file {source}{known if may_be_name else ''}.")
    file_format = format_of(path)
    if file_format == "csv":
        import_optional("pyarrow")  # a missing extra is reported before the file is read
        with open_for_reading(path) as file:
            return parse_raw_table(file.read(), source, options)
    if file_format == "parquet":
        from labelkin.datasets.formats._parquet import read_parquet_table

        return ArrowTable(source, *read_parquet_table(path))
    if file_format == "arff":
        return _read_arff(path, options)
    if file_format == "libsvm":
        return _from_bunch(source, datasets.read_libsvm(path, labels, n_features=n_features))
    return _from_bunch(source, datasets.read(path, labels=labels))


def parse_raw_table(
    content: bytes,
    source: str,
    options: ReadOptions = ReadOptions(),  # noqa: B008 (immutable)
) -> RawTable:
    """Return the content of a CSV file as a table; errors name it by `source`."""
    table, dialect = parse_csv_table(
        content,
        source,
        delimiter=options.delimiter,
        encoding=options.encoding,
        decimal=options.decimal,
        as_strings=options.as_strings,
    )
    return ArrowTable(source, table, decimal=dialect.decimal, guesses=dialect.guesses)


def _from_bunch(source: str, bunch: Any) -> MatrixTable:
    target = bunch.target
    if sparse.issparse(target):
        path = Path(source)
        limit = max_unpacked(path.stat().st_size if path.exists() else target.nnz)
        if target.shape[0] * target.shape[1] > limit:
            raise FormatError(source, too_large(limit, f"a table of {target.shape[1]:,} labels"))
        target = target.toarray()
    names = bunch.label_names or [f"y{i + 1}" for i in range(target.shape[1])]
    return MatrixTable(source, bunch.data, bunch.feature_names, list(names), np.asarray(target))


def _read_arff(path: Path, options: ReadOptions) -> RawTable:
    from labelkin.datasets.formats._arff import read_arff_table
    from labelkin.datasets.formats._arff_header import is_binary

    table = read_arff_table(path, encoding=options.encoding or "utf-8", ignore=options.ignore)
    names = [attribute.name for attribute in table.attributes]
    # The codes of a no/yes pair mean the same in every file; those of other nominal values
    # depend on the order in which the file declares them, so the values themselves are kept.
    nominal = [bool(one.values) and not is_binary(one.values) for one in table.attributes]
    if not any(nominal) or sparse.issparse(table.matrix):
        return MatrixTable(str(path), table.matrix, names, table.label_names)
    columns: dict[str, Any] = dict(zip(names, table.matrix.T, strict=True))
    for one, is_nominal in zip(table.attributes, nominal, strict=True):
        if is_nominal:
            codes = columns[one.name]
            columns[one.name] = [None if np.isnan(c) else one.values[int(c)] for c in codes]
    return ArrowTable(str(path), import_optional("pyarrow").table(columns), table.label_names)
