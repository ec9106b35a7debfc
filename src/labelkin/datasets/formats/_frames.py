"""Datasets in DataFrames, which CSV and Parquet files are read into: columns of numbers only."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from labelkin._utils.files import FormatError, shorten
from labelkin._utils.optional import import_optional
from labelkin.datasets.formats._columns import Labels, find_features, find_labels
from labelkin.datasets.formats._content import make_bunch

_NUMBERS = ("integer", "floating", "mixed-integer-float", "boolean", "decimal", "empty")


def bunch_of_frame(
    frame: Any, labels: Labels | None, drop: str | Iterable[str], path: str | Path
) -> Bunch:
    """Return a DataFrame as a dataset; columns that hold no numbers are refused by name."""
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
