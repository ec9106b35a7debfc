"""Multi-label LibSVM files: ``label,label index:value index:value …``."""

import io
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.utils import Bunch

from labelkin._utils.files import FormatError, open_for_writing, read_unpacked, reason
from labelkin._utils.untrusted import check_json
from labelkin.datasets.formats._columns import Labels, check_unique, split_names
from labelkin.datasets.formats._content import (
    check_content,
    check_width,
    make_bunch,
    number_text,
    sparse_rows,
)

_MARK = b"# labelkin "
_COMMENT = {"n_features": int, "n_labels": int, "feature_names": [str], "label_names": [str]}
_SIZES = re.compile(rb"\s*([0-9]{1,9})\s+([0-9]{1,9})\s+([0-9]{1,9})\s*")


@dataclass
class _Head:
    """The first line of a file: our comment, or ``rows features labels``."""

    n_rows: int | None = None
    n_features: int | None = None
    n_labels: int | None = None
    zero_based: bool | str = "auto"
    feature_names: list[str] | None = None
    label_names: list[str] | None = None


class _Lines:
    """The lines of a file for scikit-learn's reader, counted for error messages."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.number = file, 1
        self.first = file.readline()

    def read(self, size: int = -1) -> bytes:
        """Make this a file for scikit-learn, which then iterates over the lines."""
        return self.file.read(size)

    def __iter__(self) -> Iterator[bytes]:
        if not self.first.startswith(b"#") and not _SIZES.fullmatch(self.first):
            yield self.first
        for line in self.file:
            self.number += 1
            yield line


def read_libsvm(
    path: str | Path, labels: Labels | None = None, *, n_features: int | None = None
) -> Bunch:
    """Read a multi-label LibSVM (SVMlight) file with scikit-learn's reader.

    The format has no place for the names and number of columns. Files by `write_libsvm` hold
    both in a comment; those of the extreme classification repository start with ``rows features
    labels``; in others the largest index is the number of features, and the labels are the ids
    that occur.

    Parameters
    ----------
    path : str or Path
        The file; ``.gz`` and ``.bz2`` are decompressed.
    labels : names, comma-separated string, or int, optional
        Names of the label ids in order, or how many ids there are. Ids count from 0, or from
        1 where 0 does not occur and the last one does.
    n_features : int, optional
        Number of features, where the file does not hold it.

    Returns
    -------
    Bunch
        As `read_arff` describes; ``data`` is CSR, ``feature_names`` is None where unknown.

    """
    lines = _Lines(io.BytesIO(read_unpacked(path)))
    head = _read_head(lines.first, path)
    width = n_features if n_features is not None else head.n_features
    try:
        data, ids = load_svmlight_file(
            lines, n_features=width, multilabel=True, zero_based=head.zero_based
        )
    except (ValueError, OverflowError, IndexError, MemoryError) as error:
        raise FormatError(path, f"not a LibSVM row ({reason(error)})", lines.number) from None
    if head.n_rows is not None and head.n_rows != data.shape[0]:
        raise FormatError(
            path, f"the first line declares {head.n_rows} rows, but {data.shape[0]} follow"
        )
    check_width(data.shape[1], "features", path)
    target, names = _indicator(ids, labels, head, path)
    data = sparse.csr_matrix(data)
    data.eliminate_zeros()
    return make_bunch(
        data,
        target,
        feature_names=head.feature_names,
        label_names=names,
        descr=Path(path).name,
    )


def _read_head(first: bytes, path: str | Path) -> _Head:
    if sizes := _SIZES.fullmatch(first):
        return _Head(int(sizes[1]), int(sizes[2]), int(sizes[3]), zero_based=True)
    if not first.startswith(_MARK):
        return _Head()
    try:
        found = json.loads(first[len(_MARK) :])
        check_json(found, _COMMENT)
        head = _Head(zero_based=False, **found)
        for names, size in (
            (head.feature_names, found["n_features"]),
            (head.label_names, found["n_labels"]),
        ):
            if names is not None and len(names) != size:
                raise ValueError("a name is missing")
    except (ValueError, KeyError, RecursionError):
        raise FormatError(path, "the labelkin comment is damaged; remove it", 1) from None
    check_unique(head.feature_names or [], "feature name", path, 1)
    check_unique(head.label_names or [], "label name", path, 1)
    return head


def _declared(labels: Labels | None, head: _Head) -> tuple[int | None, list[str] | None]:
    """Return the number and the names of the labels, where the caller or the file gives them."""
    if labels is None:
        return head.n_labels, head.label_names
    if isinstance(labels, str) and labels.strip().isdecimal():
        labels = int(labels)
    if isinstance(labels, (int, np.integer)):
        return int(labels), None
    names = split_names(labels)
    return len(names), names


def _indicator(
    ids: list[tuple[float, ...]], labels: Labels | None, head: _Head, path: str | Path
) -> tuple[sparse.csr_matrix, list[str] | None]:
    """Return the indicator matrix of the label ids, and the names of its columns."""
    flat = np.array([value for row in ids for value in row], dtype=np.float64)
    if not (np.isfinite(flat) & (flat == np.floor(flat)) & (np.abs(flat) < 2**53)).all():
        raise FormatError(path, "a label id is not an integer")
    classes = np.unique(flat).astype(np.int64)
    n_labels, names = _declared(labels, head)
    if n_labels is None:
        n_labels, names = classes.size, [str(label) for label in classes.tolist()]
    else:
        from_one = classes.size > 0 and classes[0] > 0 and classes[-1] == n_labels
        first = int(from_one and head.n_labels is None)
        outside = classes[(classes < first) | (classes >= n_labels + first)]
        if outside.size:
            raise FormatError(path, f"label id {outside[0]} is out of range for {n_labels} labels")
        check_width(n_labels, "labels", path)
        classes = np.arange(first, n_labels + first)
    if n_labels < 1:
        raise FormatError(
            path, "no label occurs; pass labels= (their names or number)", None, "labels"
        )
    encoder = MultiLabelBinarizer(classes=classes.tolist(), sparse_output=True)
    return sparse.csr_matrix(encoder.fit_transform(ids), dtype=np.uint8), names


def write_libsvm(
    path: str | Path,
    data: Any,
    target: Any,
    *,
    feature_names: Iterable[str] | None = None,
    label_names: Iterable[str] | None = None,
) -> None:
    """Write a multi-label LibSVM file: label ids from 0, feature indices from 1.

    A comment in the first line holds what the format has no place for: the number of features
    and labels, and their names. Scikit-learn's writer is not used, since it rounds to 16 digits.

    Parameters
    ----------
    path, data, target, feature_names, label_names
        As in `write_arff`; nominal features become plain numbers.

    """
    content = check_content(path, data, target, feature_names, label_names, one_table=False)
    n_features, n_labels = content.data.shape[1], content.target.shape[1]
    head: dict[str, Any] = {"n_features": n_features, "n_labels": n_labels}
    if content.named[0]:
        head["feature_names"] = content.feature_names
    if content.named[1]:
        head["label_names"] = content.label_names
    both = sparse_rows(content.target), sparse_rows(sparse.csr_matrix(content.data))
    with open_for_writing(path) as file:
        file.write(_MARK + json.dumps(head).encode("ascii") + b"\n")
        for labels, features in zip(*both, strict=True):
            ids = ",".join(str(label) for label, _ in labels)
            pairs = [f"{j + 1}:{number_text(value, missing='nan')}" for j, value in features]
            # A row without labels and features would be a blank line, which readers skip.
            file.write(" ".join([ids] * bool(ids) + (pairs or ["1:0"])).encode() + b"\n")
