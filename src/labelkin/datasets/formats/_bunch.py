"""Datasets of numbers that are made of tables."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from labelkin._utils.errors import ArgumentError
from labelkin._utils.files import FormatError, shorten
from labelkin._utils.optional import import_optional
from labelkin.datasets.formats._budget import Budget
from labelkin.datasets.formats._columns import (
    Labels,
    fill_missing_labels,
    find_columns,
    find_labels,
    open_names,
    split_names,
)
from labelkin.datasets.formats._numbers import strip_units
from labelkin.datasets.formats._raw_table import (
    NO_LABELS,
    NO_YES,
    Guess,
    RawTable,
    as_string,
)

# A target with more entries than this (100 MB) stays sparse when it was read sparse.
_MAX_DENSE_TARGET = 100_000_000


def make_bunch(
    table: RawTable,
    labels: Labels | None = None,
    drop: str | Iterable[str] = (),
    missing_labels: str | None = None,
) -> Bunch:
    """Return a table as a dataset; columns that hold no numbers are refused by name."""
    data, target = table.data, table.target
    features: list[str] | None
    label_names: list[str] | None
    if target is None:
        data, target, features, label_names = _split_columns(table, labels, drop, missing_labels)
    elif drop:
        text = f"{table.source}: its labels are not among its columns; leave out drop="
        raise ArgumentError(text, "drop")
    else:
        features, label_names = table.names, table.label_names
        if target.ndim == 1:
            target, label_names = spread_classes(target, Budget(table.source))
    if sparse.issparse(target) and target.shape[0] * target.shape[1] <= _MAX_DENSE_TARGET:
        target = target.toarray()
    bunch = Bunch(
        data=data,
        target=target,
        feature_names=features,
        label_names=label_names,
        feature_n_values=table.count_values(features, data.shape[1]),
        split=table.split,
        DESCR=Path(table.source).name,
    )
    if guesses := [one.text for one in table.guesses if "missing_labels" in one.arguments]:
        bunch.guesses = guesses
    return bunch


def _split_columns(
    table: RawTable, labels: Labels | None, drop: str | Iterable[str], missing_labels: str | None
) -> tuple[Any, Any, list[str], list[str]]:
    """Return features, labels, and the names of both."""
    if table.names is None:
        raise table.error(NO_LABELS, "y")
    names, is_declared = table.names, labels is None
    labels = table.label_names if labels is None else labels
    if labels is None:
        text = "the label columns are unknown; pass labels= (names, or a count: -3 for the last 3)"
        raise table.error(text, "labels")
    label_columns = find_labels(labels, names, table.source)
    if is_declared:
        label_columns.sort()  # the order of the columns, as in Mulan
    dropped = find_columns(open_names(split_names(drop, names), names), names, table.source)
    if (both := np.intersect1d(label_columns, dropped)).size:
        raise table.error(f"{shorten(names[both[0]])} is both a label and dropped")
    features = np.setdiff1d(np.arange(len(names)), np.union1d(label_columns, dropped))
    if not features.size:
        raise table.error("no feature column is left besides labels and dropped columns")
    label_names = [names[i] for i in label_columns]
    for name in label_names:
        if table.nominal.get(name, NO_YES) != NO_YES:
            raise table.not_binary(name)
    data, target = _matrix_of(table, features), _matrix_of(table, label_columns)
    if np.isnan(target.data if sparse.issparse(target) else target).any():
        dense = target.toarray() if sparse.issparse(target) else target
        # A matrix with names is that of an ARFF file, in which ? means unknown.
        missing_labels = missing_labels or ("unknown" if table.is_matrix else None)
        target, guesses = fill_missing_labels(dense, label_names, missing_labels)
        table.guesses += [Guess(text, ("missing_labels",)) for text in guesses]
        if missing_labels == "drop":
            known = np.flatnonzero(~np.isnan(target).any(axis=1))
            data, target = data[known], target[known]
    entries = sparse.coo_array(target)
    unknown = np.isnan(entries.data)
    for i in np.flatnonzero((entries.data != 1) & ~unknown):
        name, row = shorten(label_names[entries.col[i]]), entries.row[i] + 1
        raise table.error(
            f"label {name} holds {entries.data[i]:g} in data row {row}; it must be 0 or 1"
        )
    target = target if unknown.any() else target.astype(np.uint8)
    return data, target, [names[i] for i in features], label_names


def _unit_of(table: RawTable, name: str) -> str:
    """Return the unit that stands beside some of the numbers of a column."""
    is_text = table.kind(name) == "string"
    return strip_units({cell for cell in table.strings(name) if cell})[1] if is_text else ""


def _matrix_of(table: RawTable, columns: np.ndarray) -> Any:
    """Return columns as an array or a CSR matrix of numbers."""
    names = [(table.names or [])[i] for i in columns]
    try:
        if not table.is_matrix:
            return np.column_stack([table.numbers(name, _unit_of(table, name)) for name in names])
        if texts := [name for name in names if name in table.texts]:
            raise table.error(f"column {shorten(texts[0])} holds text, not numbers")
    except FormatError as error:
        text = f"{error.message}; encode the column as numbers, or leave it out with drop="
        raise table.error(text, "drop") from None
    return table.data[:, columns]


def spread_classes(classes: np.ndarray, budget: Budget) -> tuple[np.ndarray, list[str]]:
    """Return the class of each row as a matrix of 0 and 1, and names; an empty text is no class."""
    distinct, codes = np.unique(classes, return_inverse=True)
    budget.take_columns(len(distinct), "labels", each=len(classes))
    names = [as_string(value) for value in distinct.tolist()]
    matrix = (codes.reshape(-1, 1) == np.arange(len(names))).view(np.uint8)
    is_class = [name != "" for name in names]
    return matrix[:, is_class], [*filter(None, names)]


def complete(table: RawTable) -> RawTable:
    """Return a table with what its columns and labels stand for.

    Columns of nominal values hold these, which are strings, for their indices; those of no and yes
    stay 0 and 1. Labels apart from the columns are dense and have names; texts are a column of
    tags.
    """
    if table.target is not None and table.target.ndim == 1:
        tags = import_optional("pandas").DataFrame({"y": table.target}, dtype=object)
        own = RawTable(table.source, tags, ["y"], guesses=table.guesses)
        table = replace(table, target=None, label_table=own)
    if table.target is not None:
        n, q = table.target.shape
        if sparse.issparse(table.target):
            Budget(table.source).take_columns(q, "labels", each=n)
            table.target = table.target.toarray()
        table.label_names = table.label_names or [f"y{i + 1}" for i in range(q)]
    values = {name: values for name, values in table.nominal.items() if values != NO_YES}
    if not values:
        return table
    data = table.data
    if sparse.issparse(data):
        Budget(table.source).take_columns(data.shape[1], each=8 * data.shape[0])
        data = data.toarray()
    columns: dict[str, Any] = dict(zip(table.names or (), data.T, strict=True))
    for name, known in values.items():
        columns[name] = [None if np.isnan(code) else known[int(code)] for code in columns[name]]
    frame = import_optional("pandas").DataFrame(columns)
    return replace(table, data=frame)


def present(bunch: Bunch, *, return_X_y: bool, as_frame: bool) -> Any:
    """Return a dataset as a Bunch or as the pair ``(data, target)``, of arrays or DataFrames.

    A feature or label without a name is called ``x1, x2, …`` or ``y1, y2, …`` in a DataFrame;
    the columns of sparse data are sparse.
    """
    bunch.frame = None
    if as_frame:
        pandas = import_optional("pandas")
        bunch.data = _as_frame(bunch.data, bunch.feature_names, "x")
        bunch.target = _as_frame(bunch.target, bunch.label_names, "y")
        bunch.frame = pandas.concat([bunch.data, bunch.target], axis=1)
    return (bunch.data, bunch.target) if return_X_y else bunch


def _as_frame(matrix: Any, names: list[str] | None, prefix: str) -> Any:
    frame = import_optional("pandas").DataFrame
    make = frame.sparse.from_spmatrix if sparse.issparse(matrix) else frame
    numbered = [f"{prefix}{i + 1}" for i in range(matrix.shape[1])]
    return make(matrix, columns=numbered if names is None else names)
