"""Multi-label LibSVM files: ``label,label index:value index:value …``."""

import io
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import MultiLabelBinarizer

from labelkin._utils.files import FormatError, reason
from labelkin._utils.names import plural
from labelkin.datasets.formats._budget import Budget
from labelkin.datasets.formats._columns import split_names
from labelkin.datasets.formats._raw_table import Guess, Options, RawTable

SIZES = re.compile(rb"\s*([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,9})\s*")
"""Matches the first line of a file of the extreme classification repository."""
# What scikit-learn's reader takes for a row, a label and an entry.
_ROW_BYTES, _LABEL_BYTES, _ENTRY_BYTES = 120, 40, 32
# A row without labels and features is written as a space, which scikit-learn's reader would skip.
_EMPTY_ROW = b"qid:0\n"


class _Lines(io.BytesIO):
    """The lines of a file for scikit-learn's reader: counted, with the memory that they take."""

    def __init__(self, raw: bytes, budget: Budget) -> None:
        super().__init__(raw)
        self.budget = budget
        self.sizes = SIZES.fullmatch(self.readline())
        self.number, self.n_empty = 1, 0
        if self.sizes is None:
            self.number = self.seek(0)

    def __iter__(self) -> Iterator[bytes]:
        while line := self.readline():
            self.number += 1
            n_labels, n_entries = 1 + line.count(b","), line.count(b":")
            self.budget.take(_ROW_BYTES + _LABEL_BYTES * n_labels + _ENTRY_BYTES * n_entries)
            is_empty = line.isspace()
            self.n_empty += is_empty and not line.strip(b"\r\n")
            yield _EMPTY_ROW if is_empty and line.strip(b"\r\n") else line


def read_libsvm(raw: bytes, budget: Budget, options: Options) -> RawTable:
    """Return a LibSVM (SVMlight) file as a dataset, read by scikit-learn.

    The format has no place for the names and number of columns. Files of the extreme
    classification repository start with ``rows features labels``; in others the largest index is
    the number of features, the lowest tells whether features count from 0 or 1, and the labels are
    the ids that occur; a file without any holds no labels.

    The option `labels` has names of the ids in order, or how many there are. Ids count from 0, or
    from 1 where 0 does not occur and the last one does.
    """
    path = budget.source
    budget.check_lines(raw)
    lines = _Lines(raw, budget)
    n_rows, width, n_labels = map(int, lines.sizes.groups()) if lines.sizes else (None,) * 3
    width = width if options.n_features is None else options.n_features
    zero_based = True if lines.sizes else options.zero_based
    try:
        data, ids = load_svmlight_file(lines, multilabel=True, zero_based=True)
    except FormatError:
        raise
    except (ValueError, OverflowError, IndexError, MemoryError) as error:
        raise FormatError(path, f"not a LibSVM row ({reason(error)})", lines.number) from None
    if n_rows is not None and n_rows != data.shape[0]:
        text = f"the first line declares {n_rows} rows, but {data.shape[0]} follow"
        raise FormatError(path, text)
    guesses = []
    if zero_based is None:
        zero_based = bool((data.indices == 0).any())
        if data.nnz:
            guesses.append(Guess(f"features counted from {1 - zero_based}", ("zero_based",)))
    if zero_based is False:
        if (data.indices == 0).any():
            text = "it has a feature 0, but features count from 1; if those that the model was "
            text += "fitted on count from 0, fit it with zero_based=True"
            raise FormatError(path, text, None, "zero_based")
        data = data[:, 1:]
    if lines.n_empty:
        guesses.append(Guess(f"{plural(lines.n_empty, 'empty line')} left out", ()))
    if width is not None:
        if data.shape[1] > width:
            text = f"it has {data.shape[1]:,} features, more than the {width:,} that are expected"
            raise FormatError(path, text)
        data.resize(data.shape[0], width)
    budget.take_columns(data.shape[1], "features")
    names, labels = None, options.labels
    if isinstance(labels, str) and labels.strip().isdecimal():
        labels = int(labels)
    if isinstance(labels, (int, np.integer)):
        n_labels = int(labels)
    elif labels is not None:
        names = split_names(labels)
        n_labels = len(names)
    target = None
    if n_labels is not None or any(ids):
        target, names = _read_labels(ids, names, n_labels, budget)
    data = sparse.csr_matrix(data)
    data.eliminate_zeros()
    return RawTable(str(path), data, None, names, target, guesses=guesses, zero_based=zero_based)


def _read_labels(
    ids: list[tuple[float, ...]], names: list[str] | None, n_labels: int | None, budget: Budget
) -> tuple[Any, list[str]]:
    """Return the labels as a sparse matrix, and their names, by default their ids.

    They are all that are declared, else those that occur.
    """
    path = budget.source
    flat = np.array([value for row in ids for value in row], dtype=np.float64)
    if not (np.isfinite(flat) & (flat == np.floor(flat)) & (np.abs(flat) < 2**53)).all():
        raise FormatError(path, "a label id is not an integer")
    classes = np.unique(flat).astype(np.int64)
    if n_labels is not None:
        first = int(classes.size > 0 and classes[0] > 0 and classes[-1] == n_labels)
        outside = classes[(classes < first) | (classes >= n_labels + first)]
        if outside.size:
            raise FormatError(path, f"label id {outside[0]} is out of range for {n_labels} labels")
        budget.take_columns(n_labels, "labels")
        classes = np.arange(first, n_labels + first)
    names = names or [str(label) for label in classes]
    encoder = MultiLabelBinarizer(classes=classes.tolist(), sparse_output=True)
    return sparse.csr_matrix(encoder.fit_transform(ids), dtype=np.uint8), names
