"""Files of any known format, and datasets known by name, as tables of columns of any kind.

`read` returns matrices of numbers. A user's table holds more: text, categories, dates,
identifiers. `read_table` returns it as it is, for `labelkin.TableClassifier`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from labelkin._utils.files import FormatError, open_for_reading
from labelkin._utils.guesses import Guess
from labelkin._utils.limits import max_unpacked, too_large
from labelkin._utils.optional import import_optional
from labelkin.datasets._digit_scenes import load_digit_scenes
from labelkin.datasets.formats._arff import read_arff_table
from labelkin.datasets.formats._arff_header import is_binary
from labelkin.datasets.formats._columns import Labels
from labelkin.datasets.formats._csv import parse_csv_table
from labelkin.datasets.formats._dispatch import format_of, read
from labelkin.datasets.formats._libsvm import read_libsvm
from labelkin.datasets.formats._parquet import read_parquet_table
from labelkin.datasets.registry._known import dataset_names
from labelkin.datasets.registry._load import load_dataset

SCENES = "digit-scenes"
"""Name of the bundled dataset in experiments and on the command line."""


@dataclass
class RawTable:
    """The rows of a file, before features are made of them."""

    source: str
    """The file, as errors name it."""
    data: Any
    """All columns: a DataFrame or, of a file that holds only numbers, an array or CSR matrix."""
    names: list[str] | None
    """Names of the columns; None where the format has none."""
    label_names: list[str] | None = None
    """Names of the labels, if the file declares them."""
    target: np.ndarray | None = None
    """Labels that the file holds apart from its columns; None: they are among the columns."""
    decimal: str = "."
    """Decimal mark of numbers in columns of strings."""
    guesses: list[Guess] = field(default_factory=list)
    """What was guessed about the file and its columns."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.data.shape[0]

    @property
    def is_matrix(self) -> bool:
        """Whether all columns are numbers, in an array or a sparse matrix."""
        return not hasattr(self.data, "columns")

    def select(self, names: Iterable[str]) -> Any:
        """Return columns by name, as a DataFrame or a matrix like `data`."""
        if not self.is_matrix:
            return self.data[list(names)]
        place = {name: i for i, name in enumerate(self.names or ())}
        chosen = [place[name] for name in names]
        everything = chosen == list(range(self.data.shape[1]))
        return self.data if everything else self.data[:, chosen]

    def column(self, name: str) -> Any:
        """Return one column as a pandas Series."""
        column = self.select([name])
        if not self.is_matrix:
            return column[name]
        dense = column.toarray() if sparse.issparse(column) else np.asarray(column)
        return import_optional("pandas").Series(dense.ravel().astype(np.float64), name=name)


def read_table(
    source: str | Path,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    as_strings: Iterable[str] = (),
    ignore: Iterable[str] = (),
    labels: Labels | None = None,
    n_features: int | None = None,
) -> RawTable:
    r"""Read a table with columns of any kind; needs the ``data`` extra.

    Parameters
    ----------
    source : str or Path
        A file of any format that `read` knows, or a name that `dataset_names` lists.
    delimiter, encoding, decimal : str, optional
        How a CSV file is written; guessed if not given. An ARFF file has an encoding, too.
    as_strings : iterable of str, default=()
        Columns of a CSV file to keep as they are written, such as codes with leading zeros.
    ignore : iterable of str, default=()
        Columns of an ARFF file that may hold anything.
    labels : names, comma-separated string, or int, optional
        The labels of a LibSVM file, which does not declare them.
    n_features : int, optional
        Number of features of a LibSVM file, whose last ones may be zero in all rows.

    Returns
    -------
    RawTable
        ``data`` is a DataFrame of all columns or, of a file that holds only numbers, a matrix;
        ``guesses`` is what was guessed. `TableClassifier` takes it in place of a DataFrame.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from labelkin.datasets import read_table
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "films.csv"
    ...     _ = path.write_text("length;tags\n97,5;drama|crime\n121,0;comedy\n")
    ...     table = read_table(path)
    >>> table.data
       length         tags
    0    97.5  drama|crime
    1   121.0       comedy
    >>> [guess.text for guess in table.guesses]
    ["';' between columns", "',' decimal"]
    """
    path, name = Path(source), str(source)
    if not path.exists() and name in (SCENES, *dataset_names()):
        known = load_digit_scenes(600, random_state=0) if name == SCENES else load_dataset(name)
        return _from_bunch(name, known)
    if path.is_dir():
        raise FormatError(name, "this is a folder, not a file")
    if not path.exists():
        may_be_name = not path.suffix and len(path.parts) == 1
        cure = " nor a dataset of that name; `labelkin datasets` lists those known"
        raise FileNotFoundError(f"There is no file {name}{cure if may_be_name else ''}.")
    match format_of(path):
        case "csv":
            import_optional("pyarrow")  # a missing extra is reported before the file is read
            with open_for_reading(path) as file:
                content = file.read()
            return parse_table(
                content,
                name,
                delimiter=delimiter,
                encoding=encoding,
                decimal=decimal,
                as_strings=as_strings,
            )
        case "parquet":
            table, label_names = read_parquet_table(path)
            return _from_frame(name, table.to_pandas(), label_names)
        case "arff":
            return _read_arff(path, encoding or "utf-8", ignore)
        case "libsvm":
            return _from_bunch(name, read_libsvm(path, labels, n_features=n_features))
        case _:
            return _from_bunch(name, read(path, labels=labels))


def parse_table(content: bytes, source: str, **options: Any) -> RawTable:
    """Return the content of a CSV file as a table; errors name it by `source`.

    `options` are delimiter, encoding, decimal and as_strings, as in `read_table`.
    """
    table, dialect = parse_csv_table(content, source, **options)
    frame = table.to_pandas()
    return RawTable(
        source, frame, list(frame.columns), decimal=dialect.decimal, guesses=dialect.guesses
    )


def _from_frame(source: str, frame: Any, label_names: list[str] | None) -> RawTable:
    return RawTable(source, frame, [str(name) for name in frame.columns], label_names)


def _from_bunch(source: str, bunch: Any) -> RawTable:
    target = bunch.target
    if sparse.issparse(target):
        path = Path(source)
        limit = max_unpacked(path.stat().st_size if path.exists() else target.nnz)
        if target.shape[0] * target.shape[1] > limit:
            raise FormatError(source, too_large(limit, f"a table of {target.shape[1]:,} labels"))
        target = target.toarray()
    names = bunch.label_names or [f"y{i + 1}" for i in range(target.shape[1])]
    features = None if bunch.feature_names is None else list(bunch.feature_names)
    return RawTable(source, bunch.data, features, list(names), np.asarray(target))


def _read_arff(path: Path, encoding: str, ignore: Iterable[str]) -> RawTable:
    table = read_arff_table(path, encoding=encoding, ignore=frozenset(ignore))
    names = [attribute.name for attribute in table.attributes]
    # The codes of a no/yes pair mean the same in every file; those of other nominal values
    # depend on the order in which the file declares them, so the values themselves are kept.
    nominal = [one for one in table.attributes if one.values and not is_binary(one.values)]
    if not nominal or sparse.issparse(table.matrix):
        return RawTable(str(path), table.matrix, names, table.label_names)
    columns: dict[str, Any] = dict(zip(names, table.matrix.T, strict=True))
    for one in nominal:
        codes = columns[one.name]
        columns[one.name] = [None if np.isnan(c) else one.values[int(c)] for c in codes]
    frame = import_optional("pandas").DataFrame(columns)
    return _from_frame(str(path), frame, table.label_names)
