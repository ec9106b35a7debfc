"""What readers return and writers write, validated once for all formats."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch, check_array

from labelkin._utils.files import FormatError
from labelkin._utils.labels import check_labels
from labelkin._utils.limits import max_unpacked, too_large
from labelkin.datasets.formats._columns import check_unique

# A target with more entries than this (100 MB) stays sparse when it was read sparse.
_MAX_DENSE_TARGET = 100_000_000
_COLUMN_BYTES = 100  # what a column without entries takes: its name, its sums


def check_width(n_columns: int, what: str, path: str | Path) -> None:
    """Refuse a width for which there is no memory: a sparse file of any size can declare it."""
    limit = max_unpacked(Path(path).stat().st_size)
    if n_columns > limit // _COLUMN_BYTES:
        raise FormatError(path, too_large(limit, f"a table of {n_columns:,} {what}"))


def make_bunch(
    data: Any,
    target: Any,
    *,
    feature_names: list[str] | None,
    label_names: list[str] | None,
    feature_n_values: np.ndarray | None = None,
    split: np.ndarray | None = None,
    descr: str = "",
) -> Bunch:
    """Return the parts of a dataset as a Bunch; a sparse target becomes dense unless it is huge."""
    if sparse.issparse(target) and target.shape[0] * target.shape[1] <= _MAX_DENSE_TARGET:
        target = target.toarray()
    if feature_n_values is None:
        feature_n_values = np.zeros(data.shape[1], dtype=np.int32)
    return Bunch(
        data=data,
        target=target,
        feature_names=feature_names,
        label_names=label_names,
        feature_n_values=feature_n_values,
        split=split,
        DESCR=descr,
    )


@dataclass(frozen=True)
class Content:
    """A valid dataset to write: shapes agree, names are unique strings."""

    data: Any
    target: sparse.csr_matrix
    feature_names: list[str]
    label_names: list[str]
    feature_n_values: np.ndarray
    named: tuple[bool, bool]  # whether the feature and the label names were given

    def rows(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Features and labels of a block of rows, dense."""
        block = self.data[first:last]
        return (
            block.toarray() if sparse.issparse(block) else block,
            self.target[first:last].toarray(),
        )


def check_content(
    path: str | Path,
    data: Any,
    target: Any,
    feature_names: Iterable[str] | None = None,
    label_names: Iterable[str] | None = None,
    feature_n_values: Any = None,
    *,
    one_table: bool = True,
) -> Content:
    """Validate a dataset before any file is written.

    A DataFrame's column names are used where no names are given, else ``x1, x2, …`` and ``y1, y2,
    …``. `feature_n_values` is 0 for a numeric feature, k for a nominal one coded 0..k-1. With
    `one_table`, features and labels share one set of column names, which must not clash.
    """
    feature_names = _names_of(data, feature_names)
    label_names = _names_of(target, label_names)
    named = (feature_names is not None, label_names is not None)
    data = check_array(
        data,
        accept_sparse="csr",
        dtype=np.float64,
        ensure_all_finite=False,
        input_name="data",
    )
    if sparse.issparse(data):
        data = sparse.csr_matrix(data, copy=True)
        data.sum_duplicates()
    labels = sparse.csr_matrix(check_labels(target, "target"), dtype=np.uint8)
    if labels.shape[0] != data.shape[0]:
        raise ValueError(
            f"data has {data.shape[0]} rows but target has {labels.shape[0]}; they must agree"
        )
    features = _check_names(feature_names, data.shape[1], "feature", path)
    columns = _check_names(label_names, labels.shape[1], "label", path)
    if one_table:
        check_unique(features + columns, "column", path)
    n_values = np.zeros(data.shape[1], dtype=np.int32)
    if feature_n_values is not None:
        n_values = np.asarray(feature_n_values, dtype=np.int32)
        if n_values.shape != (data.shape[1],) or (n_values < 0).any():
            raise ValueError("feature_n_values takes one count of at least 0 per feature")
    _check_codes(data, n_values, features)
    return Content(data, labels, features, columns, n_values, named)


def _names_of(table: Any, names: Iterable[str] | None) -> list[str] | None:
    if names is not None:
        return [str(name) for name in names]
    return [str(name) for name in table.columns] if hasattr(table, "columns") else None


def _check_names(names: list[str] | None, count: int, what: str, path: str | Path) -> list[str]:
    if names is None:
        return [f"{'x' if what == 'feature' else 'y'}{index + 1}" for index in range(count)]
    if len(names) != count:
        raise ValueError(f"{what}_names has {len(names)} names for {count} columns")
    check_unique(names, what, path)
    return names


def _check_codes(data: Any, n_values: np.ndarray, names: list[str]) -> None:
    """Refuse nominal features that hold anything but codes 0..k-1 or NaN."""
    columns = data.tocsc() if sparse.issparse(data) else data
    for j in np.flatnonzero(n_values):
        values = columns[:, [j]].data if sparse.issparse(data) else columns[:, j]
        wrong = values[~np.isnan(values) & ~np.isin(values, np.arange(n_values[j]))]
        if wrong.size:
            raise ValueError(
                f"feature {names[j]!r} is nominal with {n_values[j]} values, coded from 0, but "
                f"holds {wrong[0]:g}"
            )


def sparse_rows(matrix: sparse.csr_matrix) -> Iterator[list[tuple[int, float]]]:
    """Yield the columns and values of each row's entries that are not 0, in order."""
    matrix = matrix.copy()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    for start, end in pairwise(matrix.indptr.tolist()):
        columns, values = matrix.indices[start:end], matrix.data[start:end]
        yield list(zip(columns.tolist(), values.tolist(), strict=True))


def number_text(value: float, missing: str = "?") -> str:
    """Return the shortest text that ``float`` reads back exactly; ``missing`` for NaN.

    >>> number_text(1.0), number_text(0.1), number_text(float("nan"))
    ('1', '0.1', '?')
    """
    text = repr(float(value))
    if text.endswith(".0"):
        return text[:-2]
    if math.isfinite(value):
        return text
    return missing if math.isnan(value) else text.replace("inf", "Infinity")
