"""A few hashes of the training rows, to recognise them in other data.

Rows are compared by what their cells mean, so that a row is the same one in a CSV file and in a
DataFrame: numbers by value, dates by day and time, texts without regard to spaces. Fractions in a
fingerprint have the precision of float32, as the last digits depend on how they are written.
"""

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from labelkin._utils.labels import is_missing
from labelkin.tabular._dates import parse_date

# Hashes that a model keeps: of more rows than this, those with the smallest hashes.
_KEPT = 1000
_BLOCK = 1000  # rows of a matrix that are converted at a time


def fingerprint(X: Any, kinds: Mapping[str, str] | None = None) -> list[str]:
    """Return the smallest hashes of the rows, sorted; the parameters are those of `row_hashes`."""
    return sorted(set(row_hashes(X, kinds, is_exact=False)))[:_KEPT]


def count_known_rows(
    X: Any, known: list[str] | None, kinds: Mapping[str, str] | None = None
) -> int:
    """Return how many rows are among those of a fingerprint.

    If the fingerprint holds all training rows the count is exact. Otherwise it is estimated by
    the rows whose hashes are no larger than the largest of the fingerprint.
    """
    if not known:
        return 0
    hashes = row_hashes(X, kinds, is_exact=False)
    kept = set(known)
    found = sum(one in kept for one in hashes)
    if len(known) < _KEPT or not found:
        return found
    return round(len(hashes) * found / sum(one <= known[-1] for one in hashes))


def row_hashes(
    X: Any, kinds: Mapping[str, str] | None = None, *, is_exact: bool = True
) -> list[str]:
    """Return a hash of each row of a table or a matrix; `kinds` are those of a table's columns."""
    if isinstance(X, list) or hasattr(X, "columns"):
        columns = {"": X} if isinstance(X, list) else {name: X[name] for name in X.columns}
        cells = [
            [_as_text(cell, (kinds or {}).get(name, ""), is_exact) for cell in _values(column)]
            for name, column in columns.items()
        ]
        rows = zip(*cells, strict=True)
        parts: Iterator[bytes] = ("\0".join(row).encode(errors="replace") for row in rows)
    else:
        parts = _parts_of_matrix(X, is_exact)
    return [blake2b(part, digest_size=8).hexdigest() for part in parts]


def _values(column: Any) -> Any:
    """Return the cells of a column, as Python's types if it is one of numbers."""
    return column.tolist() if hasattr(column, "tolist") else column


def _as_text(cell: Any, kind: str, is_exact: bool) -> str:
    """Return a cell of a column of a kind in one notation, whichever type it has."""
    if type(cell) is float and cell == cell and is_exact:  # most often
        return repr(cell)
    if is_missing(cell):
        return ""
    if isinstance(cell, (bool, int, float, np.number, np.bool_)):
        number = float(cell)
        return repr(number if is_exact or number.is_integer() else float(np.float32(number)))
    text = " ".join(str(cell).split())
    date = parse_date(text, kind == "day_first_date") if "date" in kind else None
    return text if date is None else date.isoformat()


def _parts_of_matrix(X: Any, is_exact: bool) -> Iterator[bytes]:
    for block in gen_batches(X.shape[0], _BLOCK):
        rows = sparse.csr_matrix(X[block], dtype=np.float64, copy=True)  # of dense rows, too
        if not is_exact:
            fractions = rows.data != np.floor(rows.data)
            rows.data[fractions] = rows.data[fractions].astype(np.float32)
        rows.eliminate_zeros()
        rows.sort_indices()
        for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
            yield rows.indices[a:b].astype(np.int64).tobytes() + rows.data[a:b].tobytes()
