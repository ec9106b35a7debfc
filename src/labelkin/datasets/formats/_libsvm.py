"""Multi-label LibSVM files: ``label,label index:value index:value …``."""

import io
import re
from collections.abc import Iterator

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import MultiLabelBinarizer

from labelkin._utils.files import FormatError, reason
from labelkin.datasets.formats._budget import Budget
from labelkin.datasets.formats._columns import split_names
from labelkin.datasets.formats._raw_table import Options, RawTable

_SIZES = re.compile(rb"\s*([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,9})\s*")
# What scikit-learn's reader takes for a row, a label and an entry.
_ROW_BYTES, _LABEL_BYTES, _ENTRY_BYTES = 120, 40, 32


class _Lines(io.BytesIO):
    """The lines of a file for scikit-learn's reader: counted, with the memory that they take."""

    def __init__(self, raw: bytes, budget: Budget) -> None:
        super().__init__(raw)
        self.budget = budget
        self.sizes = _SIZES.fullmatch(self.readline())
        self.number = 1
        if self.sizes is None:
            self.number = self.seek(0)

    def __iter__(self) -> Iterator[bytes]:
        while line := self.readline():
            self.number += 1
            n_labels, n_entries = 1 + line.count(b","), line.count(b":")
            self.budget.take(_ROW_BYTES + _LABEL_BYTES * n_labels + _ENTRY_BYTES * n_entries)
            yield line


def read_libsvm(raw: bytes, budget: Budget, options: Options) -> RawTable:
    """Return a LibSVM (SVMlight) file as a dataset, read by scikit-learn.

    The format has no place for the names and number of columns. Files of the extreme
    classification repository start with ``rows features labels``; in others the largest index is
    the number of features, and the labels are the ids that occur.

    The option `labels` has names of the ids in order, or how many there are. Ids count from 0, or
    from 1 where 0 does not occur and the last one does.
    """
    path = budget.source
    budget.check_lines(raw)
    lines = _Lines(raw, budget)
    n_rows, width, n_labels = map(int, lines.sizes.groups()) if lines.sizes else (None,) * 3
    width = width if options.n_features is None else options.n_features
    zero_based = True if lines.sizes else "auto"
    try:
        data, ids = load_svmlight_file(
            lines, n_features=width, multilabel=True, zero_based=zero_based
        )
    except FormatError:
        raise
    except (ValueError, OverflowError, IndexError, MemoryError) as error:
        raise FormatError(path, f"not a LibSVM row ({reason(error)})", lines.number) from None
    if n_rows is not None and n_rows != data.shape[0]:
        text = f"the first line declares {n_rows} rows, but {data.shape[0]} follow"
        raise FormatError(path, text)
    budget.take_columns(data.shape[1], "features")
    names, labels = None, options.labels
    if isinstance(labels, str) and labels.strip().isdecimal():
        labels = int(labels)
    if isinstance(labels, (int, np.integer)):
        n_labels = int(labels)
    elif labels is not None:
        names = split_names(labels)
        n_labels = len(names)
    classes = _find_classes(ids, n_labels, budget)
    if n_labels is None:
        names = [str(label) for label in classes]
    encoder = MultiLabelBinarizer(classes=classes, sparse_output=True)
    target = sparse.csr_matrix(encoder.fit_transform(ids), dtype=np.uint8)
    data = sparse.csr_matrix(data)
    data.eliminate_zeros()
    return RawTable(str(path), data, None, names, target)


def _find_classes(ids: list[tuple[float, ...]], n_labels: int | None, budget: Budget) -> list[int]:
    """Return the label ids: all that are declared, else those that occur."""
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
    if not classes.size:
        raise FormatError(
            path, "no label occurs; pass labels= (their names or number)", None, "labels"
        )
    return classes.tolist()
