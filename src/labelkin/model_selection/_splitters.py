"""Splitting multi-label data so that every label is as frequent in one part as in another.

Scikit-learn's stratified splitters take one class per row, not label sets. The splitters here
have the same interface and use iterative stratification (Sechidis, Tsoumakas and Vlahavas 2011).

The labels ``y`` are an indicator matrix of shape (n, q), dense, sparse or a DataFrame. One
dimension is read as one class per row, as in scikit-learn. Rows without labels are spread by the
sizes of the parts. Unknown labels (NaN) are not stratified by: of each label the rows that are
known to have it are spread evenly. A label with fewer rows than there are parts is missing in
some of them, which no split can avoid, and no warning is given.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import BaseShuffleSplit
from sklearn.model_selection._split import _BaseKFold, _RepeatedSplits, _validate_shuffle_split
from sklearn.utils import _safe_indexing, check_random_state, indexable
from sklearn.utils.multiclass import type_of_target

from labelkin._utils.labels import split_unknown, unknown_cells
from labelkin.model_selection._groups import number_groups, stratify_groups
from labelkin.model_selection._stratify import stratify


def _label_matrix(y: Any, name: str) -> sparse.csr_array:
    """Return the labels as an indicator matrix; of a one-dimensional `y`, one column per class."""
    if y is None:
        raise ValueError(f"{name} is needed: the split is stratified by the labels.")
    if not sparse.issparse(y):
        with suppress(ValueError):  # rows of unequal length: refused below
            y = np.asarray(y)
        # With unknown rows it is one label.
        if getattr(y, "ndim", 0) == 1 and len(y) and unknown_cells(y) is None:
            if type_of_target(y) not in ("binary", "multiclass"):
                raise ValueError(
                    f"{name} must be an indicator matrix of shape (n, q), or classes in one "
                    f"dimension; its type is {type_of_target(y)}."
                )
            classes, code = np.unique(y, return_inverse=True)
            if len(classes) == len(y) > 2:
                raise ValueError(f"{name} must hold labels, but each row has a value of its own.")
            return sparse.csr_array((np.ones(len(y)), code, np.arange(len(y) + 1)))
    return sparse.csr_array(split_unknown(y, name)[0], dtype=float)


class _SplitsByLabels:
    """Gives scikit-learn's splitters label matrices."""

    # With metadata routing, groups are passed where they are given.
    __metadata_request__split = {"groups": True}

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the training and the test rows of each split.

        Parameters
        ----------
        X : array-like of shape (n, k)
            The samples; only their number matters.
        y : array-like or sparse matrix of shape (n, q) or (n,)
            The labels.
        groups : array-like of shape (n,), optional
            The group of each row, such as the patient; its rows are all for training or all for
            testing. A group that is larger than a fold makes that fold larger.
        """
        labels = _label_matrix(y, "y")
        if groups is not None:
            groups = number_groups(groups, labels.shape[0])
        return super().split(X, labels, groups)  # type: ignore[misc]


def _assign(
    Y: sparse.csr_array, groups: np.ndarray | None, shares: np.ndarray, rng: Any
) -> np.ndarray:
    """Return the number of the part that each row is assigned to."""
    if groups is None or len(np.unique(groups)) == len(groups):
        return stratify(Y, shares, rng)
    return stratify_groups(Y, groups, shares, rng)


class IterativeStratifiedKFold(_SplitsByLabels, _BaseKFold):
    """K folds with every label spread evenly over them.

    Each row is in exactly one test fold. The sizes of the folds differ by one at most; with
    ``groups``, by what whole groups allow.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    shuffle : bool, default=True
        Whether ties between rows and between folds are broken at random. Without it, the split
        depends only on the labels and on the order of the rows.
    random_state : int, RandomState instance or None, default=None
        An integer gives the same folds each time, None different ones. Only with `shuffle`.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[1, 0], [1, 0], [1, 1], [1, 1], [0, 1], [0, 1], [0, 0], [0, 0]])
    >>> folds = IterativeStratifiedKFold(n_splits=2, random_state=0)
    >>> for train, test in folds.split(Y, Y):
    ...     print(len(test), "rows, of each label", Y[test].sum(axis=0))
    4 rows, of each label [2 2]
    4 rows, of each label [2 2]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = True,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(n_splits=n_splits, shuffle=shuffle, random_state=random_state)

    def _iter_test_masks(
        self, X: Any = None, y: Any = None, groups: np.ndarray | None = None
    ) -> Iterator[np.ndarray]:
        rng = check_random_state(self.random_state) if self.shuffle else None
        fold = _assign(y, groups, np.full(self.n_splits, 1 / self.n_splits), rng)
        return (fold == number for number in range(self.n_splits))


class RepeatedIterativeStratifiedKFold(_SplitsByLabels, _RepeatedSplits):
    """:class:`IterativeStratifiedKFold` several times, with another shuffle each time.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds.
    n_repeats : int, default=10
        Number of times the data is split into folds.
    random_state : int, RandomState instance or None, default=None
        An integer gives the same folds each time, None different ones.
    """

    def __init__(
        self,
        *,
        n_splits: int = 5,
        n_repeats: int = 10,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            IterativeStratifiedKFold,
            n_repeats=n_repeats,
            random_state=random_state,
            n_splits=n_splits,
        )


class IterativeStratifiedShuffleSplit(_SplitsByLabels, BaseShuffleSplit):
    """Random splits into training and test rows with every label spread evenly.

    The test parts of different splits may overlap. Sizes are exact, as in scikit-learn; with
    ``groups``, they are shares of the rows, as near as whole groups allow.

    Parameters
    ----------
    n_splits : int, default=10
        Number of splits.
    test_size, train_size : float or int, optional
        Share or number of rows. By default the test part is a tenth, or all rows outside
        the training part.
    random_state : int, RandomState instance or None, default=None
        An integer gives the same splits each time, None different ones.
    """

    def _iter_indices(
        self, X: Any, y: Any = None, groups: np.ndarray | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        n = y.shape[0]
        n_train, n_test = _validate_shuffle_split(
            n, self.test_size, self.train_size, default_test_size=self._default_test_size
        )
        sizes = np.array([n_train, n_test, n - n_train - n_test])
        rng = check_random_state(self.random_state)
        for _ in range(self.n_splits):
            part = _assign(y, groups, sizes[sizes > 0] / n, rng)
            train, test = (rng.permutation(np.flatnonzero(part == number)) for number in (0, 1))
            yield train, test


def train_test_split(
    *arrays: Any,
    test_size: float | int | None = None,
    train_size: float | int | None = None,
    random_state: int | np.random.RandomState | None = None,
    stratify: Any = None,
    groups: Any = None,
) -> list[Any]:
    """Split arrays into training and test rows with every label spread evenly.

    Parameters
    ----------
    *arrays : array-likes, sparse matrices or DataFrames with the same number of rows
        What to split. The last one holds the labels, unless `stratify` is given.
    test_size, train_size : float or int, optional
        Share or number of rows. By default the test part is a quarter, or all rows outside
        the training part.
    random_state : int, RandomState instance or None, default=None
        An integer gives the same split each time, None a different one.
    stratify : array-like or sparse matrix of shape (n, q) or (n,), optional
        The labels, where they are not the last of the arrays.
    groups : array-like of shape (n,), optional
        The group of each row; its rows are all in the training part or all in the test part.

    Returns
    -------
    list
        The training and the test part of each array in turn, of the same type as the array.

    Examples
    --------
    >>> import numpy as np
    >>> X, Y = np.arange(16).reshape(8, 2), np.repeat([[1, 0], [0, 1]], 4, axis=0)
    >>> X_train, X_test, Y_train, Y_test = train_test_split(X, Y, random_state=0)
    >>> Y_train.sum(axis=0), Y_test.sum(axis=0)
    (array([3, 3]), array([1, 1]))
    """
    if not arrays:
        raise ValueError("train_test_split needs at least one array, the labels last.")
    name = "the last array (the labels, unless stratify= is given)"
    labels = _label_matrix(arrays[-1], name) if stratify is None else stratify
    parts = indexable(*arrays)
    splitter = IterativeStratifiedShuffleSplit(
        1,
        test_size=0.25 if test_size is None and train_size is None else test_size,
        train_size=train_size,
        random_state=random_state,
    )
    train, test = next(splitter.split(parts[0], labels, groups))
    return [_safe_indexing(array, rows) for array in parts for rows in (train, test)]
