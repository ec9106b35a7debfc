"""Tables with columns of any kind, and the datasets of numbers that are made of them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from labelkin._utils.files import FormatError, shorten
from labelkin._utils.limits import max_unpacked, too_large
from labelkin._utils.optional import import_optional
from labelkin.datasets.formats._columns import Labels, find_features, find_labels
from labelkin.datasets.formats._content import make_bunch

_NUMBERS = ("integer", "floating", "mixed-integer-float", "boolean", "decimal", "empty")


@dataclass(frozen=True)
class Guess:
    """What was guessed about a file, in a few words, and the arguments that override it, if any."""

    text: str
    arguments: tuple[str, ...]


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


def table_of_bunch(source: str, bunch: Bunch) -> RawTable:
    """Return a dataset of numbers as a table, with its labels apart."""
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


def bunch_of_table(table: RawTable, labels: Labels | None, drop: str | Iterable[str]) -> Bunch:
    """Return a DataFrame's columns as a dataset; those that hold no numbers are refused by name."""
    frame, path = table.data, table.source
    labels = table.label_names if labels is None else labels
    if labels is None:
        raise FormatError(
            path, "the label columns of the table are unknown; pass labels=", None, "labels"
        )
    names = list(frame.columns)
    label_columns = find_labels(labels, names, path)
    features = find_features(names, label_columns, drop, path)
    data = np.empty((len(frame), features.size))
    for at, column in enumerate(features.tolist()):
        data[:, at] = _numbers(frame.iloc[:, column], names[column], path)
    target = np.empty((len(frame), label_columns.size), dtype=np.uint8)
    for at, column in enumerate(label_columns.tolist()):
        values = _numbers(frame.iloc[:, column], names[column], path)
        for row in np.flatnonzero((values != 0) & (values != 1)):
            found = "is missing" if np.isnan(values[row]) else f"holds {values[row]:g}"
            raise FormatError(
                path,
                f"label {shorten(names[column])} {found} in data row {row + 1}; it must be 0 or 1",
            )
        target[:, at] = values
    return make_bunch(
        data,
        target,
        feature_names=[names[i] for i in features],
        label_names=[names[i] for i in label_columns],
        descr=Path(path).name,
    )


def _numbers(column: Any, name: str, path: str | Path) -> np.ndarray:
    """Return a column as float64, NaN where a value is missing."""
    kind = import_optional("pandas").api.types.infer_dtype(column, skipna=True)
    if kind not in _NUMBERS and not column.isna().all():
        example = str(column[column.first_valid_index()])
        raise FormatError(
            path,
            f"column {shorten(name)} holds {kind} values such as {shorten(example, 30)}, not "
            "numbers; encode it as numbers, or leave it out with drop=",
            None,
            "drop",
        )
    return column.to_numpy(dtype=np.float64, na_value=np.nan)
