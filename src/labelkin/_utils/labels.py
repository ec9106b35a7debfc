"""Validation of label matrices: arrays, sparse matrices, DataFrames, one dimension."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import RegressorMixin

MANY_LABELS = 2_000
"""From this many labels on, labels and scores are sparse, and `LabelTreeClassifier` is the default.

Below, all labels are fitted together by the Kin ensemble, with dense scores.
"""


class LabelClasses(np.ndarray):
    """0 and 1 for each label, (q, 2); one label's are a tuple.

    scikit-learn's partial dependence refuses arrays in the place of a class, and searches for the
    number of a label, its ``target``, as for that of a class.
    """

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, _LabelNumber):
            return int(key)
        found = super().__getitem__(key)
        is_label = self.ndim == 2 and isinstance(key, int | np.integer)
        return tuple(found.tolist()) if is_label else found

    def searchsorted(self, v: Any, side: Any = "left", sorter: Any = None) -> Any:
        """Return the number of a label as the place of its classes."""
        return _LabelNumber(v)


class _LabelNumber(int):
    """The number of a label that was searched for, and found in its place."""


def count_without_labels(y: Any) -> int:
    """Return the number of rows whose known labels, at least one, are all 0; NaN is unknown."""
    if sparse.issparse(y):
        return int((y.sum(axis=1) == 0).sum())
    return int(((y == 0).any(axis=1) & ~(y == 1).any(axis=1)).sum())


def has_one_label_each(y: Any) -> bool:
    """Return whether each row has one label of several, as the classes of one column."""
    return y.shape[1] > 1 and bool((np.asarray((y == 1).sum(axis=1)) == 1).all())


def as_matrix(values: Any, name: str) -> Any:
    """Return `values` as a two-dimensional ndarray or CSR array; one dimension is one label."""
    if sparse.issparse(values):
        array = sparse.csr_array(values, copy=True)
        array.sum_duplicates()
        array.eliminate_zeros()
    else:
        try:
            array = np.asarray(values)
        except ValueError:  # rows of unequal length
            raise ValueError(
                f"{name} must be a matrix of shape (n, q), one column per label: encode label "
                "sets with sklearn.preprocessing.MultiLabelBinarizer."
            ) from None
    if array.ndim == 1:
        array = array.reshape((-1, 1))
    if array.ndim != 2:
        raise ValueError(
            f"{name} must have the shape (n, q), one column per label, not {array.ndim} dimensions."
        )
    if 0 in array.shape:
        raise ValueError(f"{name} is empty: its shape is {array.shape}.")
    return array


def check_target_given(estimator: Any, y: Any) -> None:
    """Raise scikit-learn's error where the target is None."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )


def as_target(Y: Any) -> Any:
    """Return a target as an array, unchanged if it is one; raise an error for lists of sets."""
    cure = (
        "y must be a matrix of 0 and 1, one column per label, not a list of label sets: "
        "encode them with sklearn.preprocessing.MultiLabelBinarizer or "
        "labelkin.tabular.split_labels."
    )
    try:
        array = Y if hasattr(Y, "ndim") else np.asarray(Y)
    except ValueError:  # rows of unequal length
        raise ValueError(cure) from None
    if array.ndim == 1 and array.dtype == object and len(array):
        first = np.asarray(array)[0]
        if isinstance(first, set | frozenset | list | tuple | np.ndarray):
            raise ValueError(cure)
    return array


def check_no_regressor(estimator: Any) -> None:
    """Raise ValueError for a regressor, whose predictions are no labels."""
    if isinstance(estimator, RegressorMixin):
        raise ValueError(f"{type(estimator).__name__} is a regressor: pass a classifier.")


@contextmanager
def named_if_single(classifier: Any) -> Iterator[None]:
    """Name the cure where a classifier of one label per sample is fitted to a matrix of labels."""
    check_no_regressor(classifier)
    try:
        yield
    except ValueError as error:
        if "should be a 1d array" not in str(error):
            raise
        raise ValueError(
            f"{type(classifier).__name__} takes one label per sample: put it into a "
            "BinaryRelevanceClassifier, which fits one for each label."
        ) from error


def check_labels(Y: Any, name: str) -> Any:
    """Return a matrix of 0 and 1 as int8: CSR if it is sparse, else dense."""
    array = as_matrix(Y, name)
    values = array.data if sparse.issparse(array) else array
    wrong = (values != 0) & (values != 1)
    if wrong.any():
        raise ValueError(_not_binary(values, values[wrong].flat[0], name))
    return array.astype(np.int8)


def split_unknown(Y: Any, name: str) -> tuple[Any, np.ndarray | None]:
    """Return labels as `check_labels` does, with 0 for unknown ones, and which are known.

    Unknown labels are NaN, None or pandas' NA. The second result is a boolean array of shape
    (n, q), or None where all labels are known. Of a sparse matrix with NaN both are dense.
    """
    array = as_matrix(Y, name)
    if sparse.issparse(array):
        if not (array.dtype.kind == "f" and np.isnan(array.data).any()):
            return check_labels(array, name), None
        array = array.toarray()
    unknown = unknown_cells(array)
    if unknown is None:
        return check_labels(array, name), None
    known, labels = ~unknown, np.zeros(array.shape, dtype=np.int8)
    if known.any():
        labels[known] = check_labels(array[known], name)[:, 0]
    return labels, known


def unknown_cells(array: np.ndarray) -> np.ndarray | None:
    """Return which cells of an array hold NaN, None or pandas' NA; None where none does."""
    if array.dtype.kind == "f":
        unknown = np.isnan(array)
    elif array.dtype.kind == "O":
        unknown = np.frompyfunc(is_missing, 1, 1)(array).astype(bool)
    else:
        return None
    return unknown if unknown.any() else None


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or pandas' NA, without importing pandas."""
    # pandas.NA is neither equal to itself nor unequal.
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def _not_binary(values: Any, wrong: Any, name: str) -> str:
    """Return the error for a matrix that holds a `wrong` value, with the cure for its kind."""
    found, cure = str(wrong), "turn scores into labels with a threshold"
    if isinstance(wrong, str | list | tuple | set):
        words = sorted({str(value) for value in np.ravel(values)})
        cure = "encode label sets with sklearn.preprocessing.MultiLabelBinarizer or "
        cure += "labelkin.tabular.split_labels"
        if len(words) <= 2 and isinstance(wrong, str):
            found, yes = " and ".join(words), repr(words[-1])
            cure = (
                f"use ({name} == {yes}).astype(int), if {yes} means that a label applies, or {cure}"
            )
    elif np.isin(values, (-1, 0, 1)).all():
        found, cure = "-1", f"use ({name} > 0).astype(int)"
        if (values == 0).any():
            cure += f", or numpy.where({name} < 0, numpy.nan, {name}) if it means unknown"
    elif wrong != wrong:
        cure = "leave out the rows with unknown labels, or write 0 where a label does not apply"
    return f"{name} must hold only 0 and 1, but holds {found}: {cure}."


def fits_unknown(estimator: Any) -> bool:
    """Return whether a classifier, or the last step of a pipeline, takes unknown labels in fit."""
    if hasattr(estimator, "steps"):
        estimator = estimator.steps[-1][1]
    return bool(getattr(estimator, "_fits_unknown", False))


def label_names_of(model: Any) -> list[str] | None:
    """Return the label names of a fitted model, or of a pipeline's last step, where known."""
    while not hasattr(model, "label_names_"):
        if hasattr(model, "steps"):
            model = model.steps[-1][1]
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            return None
    return [str(name) for name in model.label_names_]


def check_label_order(model: Any, y: Any) -> None:
    """Raise a ValueError where a DataFrame has the labels of a fitted model in another order."""
    names, own = label_names_of(model), [str(name) for name in getattr(y, "columns", ())]
    if names and own != names and sorted(own) == sorted(names):
        raise ValueError("y has the labels of the model in another order: reorder its columns.")


def label_names(model: Any) -> list[str]:
    """Return the label names of a fitted classifier: columns of its y, else numbers from 0.

    After a one-dimensional target there is one label: the second class.
    """
    if hasattr(model, "label_names_"):
        return [str(name) for name in model.label_names_]
    if getattr(model, "_one_target", False):
        return [str(model.classes_[-1])]
    return [str(number) for number in range(len(model.classes_))]
