"""Writing datasets of numbers: ARFF for Mulan and MEKA, CSV, and labelkin's own ``.npz``."""

import csv
import io
import math
import re
import warnings
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from labelkin._utils.errors import ArgumentError
from labelkin._utils.files import open_for_writing, shorten, strip_compression
from labelkin._utils.labels import split_unknown
from labelkin._utils.names import join_names
from labelkin._utils.optional import import_optional
from labelkin._utils.progress import counted
from labelkin.datasets.formats._columns import check_unique
from labelkin.datasets.formats._raw_table import as_string

_SUFFIXES = (".arff", ".csv", ".tsv", ".tab", ".npz")
_ROWS = 1000  # made dense and written at once
# The characters XML 1.0 cannot hold, escaped or not.
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(
    path: str | Path,
    data: Any,
    target: Any,
    *,
    feature_names: Iterable[str] | None = None,
    label_names: Iterable[str] | None = None,
    feature_n_values: Any = None,
    split: Any = None,
) -> None:
    """Write a multi-label dataset to a file, whole or not at all.

    Parameters
    ----------
    path : str or Path
        Its suffix determines the format: ``.arff`` (for Mulan, with an ``.xml`` beside it that
        lists the labels), ``.csv``, ``.tsv`` or ``.npz``; ``.gz`` or ``.bz2`` may follow.
    data : array-like, sparse matrix or DataFrame of shape (n, d)
        Features; NaN is written as missing. Columns of strings and of categories can be in a
        DataFrame: in ``.arff`` categories are nominal attributes, in ``.npz`` their codes.
    target : array-like, sparse matrix or DataFrame of shape (n, q)
        Labels, 0 or 1, or NaN where unknown, which ``.npz`` cannot store.
    feature_names, label_names : iterable of str, optional
        Otherwise the DataFrames' columns, or ``x1, …`` and ``y1, …``; in ``.npz`` none.
    feature_n_values : array-like of int, optional
        0 for a numeric feature, k for a nominal one with codes 0..k-1. CSV cannot store it.
    split : array-like, optional
        Original training (0) and test (1) rows. Only ``.npz`` can store it.

    """
    suffix = find_suffix(path)
    given = (data, feature_names), (target, label_names)
    data, words, texts = _encode(data)
    if texts and suffix == ".npz":
        text = f"{path}: it would hold numbers only, and column {shorten(texts[0])} holds text; "
        raise ArgumentError(text + "leave the column out, or write CSV or ARFF.")
    data = check_array(
        data, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, input_name="data"
    )
    if sparse.issparse(data):
        data = sparse.csr_matrix(data, copy=True)
        data.sum_duplicates()
        data.eliminate_zeros()
    labels, known = split_unknown(target, "target")
    if known is not None and suffix == ".npz":
        text = f"{path}: it would hold 0 and 1 only, and some labels are unknown: leave out their "
        raise ArgumentError(text + "rows with missing_labels=drop, or write CSV.", "missing_labels")
    labels = labels.astype(np.uint8) if known is None else np.where(known, labels, np.nan)
    target = sparse.csr_matrix(labels)
    if target.shape[0] != data.shape[0]:
        raise ValueError(
            f"data has {data.shape[0]} rows but target has {target.shape[0]}; they must agree"
        )
    features = _names_of(*given[0], data.shape[1], "feature", path)
    labels = _names_of(*given[1], target.shape[1], "label", path)
    n_values = np.zeros(data.shape[1], dtype=np.int32)
    if feature_n_values is not None:
        n_values = np.array(feature_n_values, dtype=np.int32)
        if n_values.shape != (data.shape[1],) or (n_values < 0).any():
            raise ValueError("feature_n_values takes one count of at least 0 per feature")
        _check_codes(data, n_values)
    if suffix == ".npz":
        for j, values in words.items():
            n_values[j] = len(values)
            if values != [str(code) for code in range(len(values))]:
                name = features[j] if features else f"column {j + 1}"
                text = f"{name}: the categories {join_names(values)} are written as 0, 1, …"
                warnings.warn(text, stacklevel=2)
        _write_npz(path, data, target, features, labels, n_values, split)
        return
    features = features or [f"x{j + 1}" for j in range(data.shape[1])]
    labels = labels or [f"y{j + 1}" for j in range(target.shape[1])]
    check_unique(features + labels, "column", path)
    if suffix == ".arff":
        _write_arff(path, data, target, features, labels, n_values, words, texts)
    else:
        _write_csv(path, data, target, features + labels, words, "," if suffix == ".csv" else "\t")


def _encode(data: Any) -> tuple[Any, dict[int, list[str]], list[str]]:
    """Return a table with codes for its words, the words by column, and which columns are text."""
    words: dict[int, list[str]] = {}
    texts: list[str] = []
    if not hasattr(data, "iloc"):
        return data, words, texts
    pandas, found = import_optional("pandas"), data.copy()
    for j, (name, dtype) in enumerate(data.dtypes.items()):
        is_text = pandas.api.types.is_string_dtype(dtype)
        if is_text:
            is_text = pandas.api.types.infer_dtype(data.iloc[:, j], skipna=True) == "string"
        if is_text or dtype == "category":
            column = pandas.Categorical(data.iloc[:, j])
            words[j] = [as_string(value) for value in column.categories]
            found.isetitem(j, np.where(column.codes < 0, np.nan, column.codes))
            texts += [str(name)] if is_text else []
    return found, words, texts


def find_suffix(path: str | Path) -> str:
    """Return the suffix of a file to write; one of no known format is refused."""
    suffix = strip_compression(path).suffix.lower()
    if suffix not in _SUFFIXES:
        raise ArgumentError(
            f"{path}: this format cannot be written; end the name in {', '.join(_SUFFIXES)}."
        )
    return suffix


def _names_of(
    table: Any, names: Iterable[str] | None, count: int, what: str, path: str | Path
) -> list[str] | None:
    """Return the names that are given, or those of a DataFrame's columns; None: there are none."""
    names = getattr(table, "columns", None) if names is None else names
    found = None if names is None else [str(name) for name in names]
    if found is not None and len(found) != count:
        raise ValueError(f"{what}_names has {len(found)} names for {count} columns")
    check_unique(found or [], what, path)
    return found


def _check_codes(data: Any, n_values: np.ndarray) -> None:
    """Refuse nominal features that hold anything but codes 0..k-1 or NaN."""
    columns = sparse.csc_array(data)
    for j in np.flatnonzero(n_values):
        values = columns[:, [j]].data
        wrong = values[~np.isnan(values) & ~np.isin(values, np.arange(n_values[j]))]
        if wrong.size:
            raise ValueError(
                f"feature {j + 1} is nominal with {n_values[j]} values, coded from 0, but holds "
                f"{wrong[0]:g}"
            )


def _dense_rows(
    data: Any, target: sparse.csr_matrix, words: dict[int, list[str]], missing: str
) -> Iterator[list[str]]:
    for first in counted(range(0, data.shape[0], _ROWS), "blocks"):
        block = data[first : first + _ROWS]
        block = block.toarray() if sparse.issparse(block) else block
        for row in np.hstack([block, target[first : first + _ROWS].toarray()]).tolist():
            cells = [_number_text(value, missing) for value in row]
            for j, values in words.items():
                cells[j] = missing if math.isnan(row[j]) else values[int(row[j])]
            yield cells


def _number_text(value: float, missing: str) -> str:
    """Return the shortest text that ``float`` reads back exactly."""
    if math.isfinite(value):
        return repr(float(value)).removesuffix(".0")
    return missing if math.isnan(value) else repr(float(value)).replace("inf", "Infinity")


def _write_arff(
    path: str | Path,
    data: Any,
    target: sparse.csr_matrix,
    features: list[str],
    labels: list[str],
    n_values: np.ndarray,
    words: dict[int, list[str]],
    texts: list[str],
) -> None:
    """Write sparse rows if `data` is sparse, and Mulan's XML beside the file."""
    words = {j: [_quote(word) for word in values] for j, values in words.items()}
    nominal = {j: map(str, range(k)) for j, k in enumerate(n_values) if k} | words
    types = [
        f"{{{','.join(nominal[j])}}}" if j in nominal else "numeric" for j in range(len(n_values))
    ]
    for j in words:
        types[j] = "string" if features[j] in texts else types[j]
    types += ["{0,1}"] * len(labels)
    pairs = zip(features + labels, types, strict=True)
    with open_for_writing(path) as file:
        head = ["@relation labelkin", "", *(f"@attribute {_quote(n)} {t}" for n, t in pairs)]
        file.write("\n".join([*head, "", "@data", ""]).encode())
        if sparse.issparse(data):
            rows = sparse.hstack([data, target], format="csr")
            rows.sort_indices()
            for first in counted(range(0, rows.shape[0], _ROWS), "blocks"):
                for start, end in pairwise(rows.indptr[first : first + _ROWS + 1]):
                    entries = zip(
                        rows.indices[start:end], rows.data[start:end].tolist(), strict=True
                    )
                    cells = [f"{j} {_number_text(value, '?')}" for j, value in entries]
                    file.write(f"{{{','.join(cells)}}}\n".encode())
        else:
            rows = _dense_rows(data, target, words, "?")
            file.writelines(f"{','.join(row)}\n".encode() for row in rows)
        # Inside, so that the ARFF file appears only after its XML.
        _write_labels_xml(strip_compression(path).with_suffix(".xml"), labels)


def _quote(name: str) -> str:
    """Write a name so that it reads back the same, quoted only where it must be."""
    if re.fullmatch(r"[A-Za-z0-9_.+/:;#$&*=~^|<>()\[\]-]+", name):
        return name
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    for letter, character in (("n", "\n"), ("r", "\r"), ("t", "\t")):
        escaped = escaped.replace(character, f"\\{letter}")
    return f"'{escaped}'"


def _write_labels_xml(path: Path, names: list[str]) -> None:
    """Write a Mulan XML list of labels; names with control characters are refused."""
    from xml.sax.saxutils import quoteattr  # imports urllib.request

    if wrong := [name for name in names if _NOT_IN_XML.search(name)]:
        raise ValueError(
            f"label name {shorten(wrong[0])} holds a control character, which XML cannot hold; "
            "rename the label"
        )
    lines = ['<?xml version="1.0" encoding="utf-8"?>']
    lines += ['<labels xmlns="http://mulan.sourceforge.net/labels">']
    lines += [f"<label name={quoteattr(name)}></label>" for name in names]
    with open_for_writing(path) as file:
        file.write("\n".join([*lines, "</labels>", ""]).encode("utf-8"))


def _write_csv(
    path: str | Path,
    data: Any,
    target: sparse.csr_matrix,
    names: list[str],
    words: dict[int, list[str]],
    delimiter: str,
) -> None:
    """Write features, then labels; missing values are empty cells."""
    if any("\0" in name for name in names):
        raise ValueError(f"{path}: a CSV table cannot hold a name with a NUL character")
    # csv leaves a carriage return unquoted, which readers take for the end of a line.
    returns = any("\r" in text for text in chain(names, *words.values()))
    with open_for_writing(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(
            text,
            delimiter=delimiter,
            quoting=csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL,
            lineterminator="\n",
        )
        writer.writerow(names)
        writer.writerows(_dense_rows(data, target, words, ""))
        text.detach()


def _write_npz(
    path: str | Path,
    data: Any,
    target: sparse.csr_matrix,
    features: list[str] | None,
    labels: list[str] | None,
    n_values: np.ndarray,
    split: Any,
) -> None:
    matrix = sparse.csr_matrix(data)
    arrays = {
        "X_data": matrix.data,
        "X_indices": matrix.indices,
        "X_indptr": matrix.indptr,
        "X_shape": np.array(matrix.shape, dtype=np.int64),
        "Y": target.toarray(),
        "feature_n_values": n_values,
    }
    for key, names in (("feature_names", features), ("label_names", labels)):
        if names is not None:
            arrays[key] = np.array(names, dtype=np.str_)
            if arrays[key].tolist() != names:
                raise ValueError(f"{key}: NumPy cannot store a name that ends with a NUL character")
    if split is not None:
        arrays["split"] = np.asarray(split).astype(np.uint8)
        if arrays["split"].shape != (matrix.shape[0],):
            raise ValueError(f"split takes one entry per row, {matrix.shape[0]}")
    buffer = io.BytesIO()  # a zip file seeks, which a compressed stream cannot
    np.savez_compressed(buffer, **arrays)
    with open_for_writing(path) as file:
        file.write(buffer.getbuffer())
