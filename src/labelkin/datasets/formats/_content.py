"""What readers return and writers write, validated once for all formats."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch, check_array

from labelkin._utils.files import FormatError
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
        ensure_min_samples=0,
        input_name="data",
    )
    if sparse.issparse(data):
        data = sparse.csr_matrix(data)
        if not data.has_canonical_format:
            data = data.copy()
            data.sum_duplicates()
    labels = _check_target(target)
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


def _check_target(target: Any) -> sparse.csr_matrix:
    if not sparse.issparse(target):
        target = np.asarray(target)
        target = target[:, None] if target.ndim == 1 else target
        if target.ndim != 2 or target.dtype.kind not in "biuf":
            raise ValueError("target must be a matrix of 0 and 1, one column per label")
    values = target.data if sparse.issparse(target) else target
    if not np.isin(values, (0, 1)).all():
        raise ValueError("target holds values other than 0 and 1; labels must be binary")
    if target.shape[1] == 0:
        raise ValueError("target has no column; there must be at least one label")
    labels = sparse.csr_matrix(target, dtype=np.uint8)
    labels.eliminate_zeros()
    labels.sort_indices()
    return labels


def _check_names(names: list[str] | None, count: int, what: str, path: str | Path) -> list[str]:
    if names is None:
        return [f"{'x' if what == 'feature' else 'y'}{index + 1}" for index in range(count)]
    if len(names) != count:
        raise ValueError(f"{what}_names has {len(names)} names for {count} columns")
    check_unique(names, what, path)
    return names


def _check_codes(data: Any, n_values: np.ndarray, names: list[str]) -> None:
    """Refuse nominal features that hold anything but codes 0..k-1 or NaN."""
    nominal = np.flatnonzero(n_values)
    if not nominal.size:
        return
    if sparse.issparse(data):
        keep = n_values[data.indices] > 0
        column, values = data.indices[keep], data.data[keep]
    else:
        column, values = np.tile(nominal, data.shape[0]), data[:, nominal].ravel()
    code = (values >= 0) & (values < n_values[column]) & (values == np.floor(values))
    bad = ~(np.isnan(values) | code)
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"feature {names[column[at]]!r} is nominal with {n_values[column[at]]} values, "
            f"coded from 0, but holds {values[at]:g}"
        )


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


def overflows(text: str) -> bool:
    """Return whether a number as written, such as 1e400, is beyond the range of doubles.

    >>> overflows("1e400"), overflows("1e40"), overflows("-inf")
    (True, False, False)
    """
    return math.isinf(float(text)) and "i" not in text.lower()
