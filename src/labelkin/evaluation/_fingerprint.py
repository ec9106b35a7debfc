"""A few hashes of the training rows, to recognise them in other data."""

from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

# Hashes that a model file keeps: of more rows than this, those with the smallest hashes.
_KEPT = 1000


def fingerprint(X: Any) -> list[str]:
    """Return the smallest hashes of the rows, sorted."""
    return sorted(set(_hashes(X)))[:_KEPT]


def count_known_rows(X: Any, known: list[str] | None) -> int:
    """Return how many rows are among those of a fingerprint.

    If the fingerprint holds all training rows the count is exact. Otherwise it is estimated by
    the rows whose hashes are no larger than the largest of the fingerprint.
    """
    if not known:
        return 0
    hashes = _hashes(X)
    kept = set(known)
    found = sum(one in kept for one in hashes)
    if len(known) < _KEPT or not found:
        return found
    return round(len(hashes) * found / sum(one <= known[-1] for one in hashes))


def _hashes(X: Any) -> list[str]:
    if isinstance(X, list) or hasattr(X, "itertuples"):  # texts, or a table
        rows = X if isinstance(X, list) else X.itertuples(index=False, name=None)
        parts = (repr(row).encode() for row in rows)
    else:
        X = sparse.csr_matrix(X, dtype=np.float64, copy=True)  # of dense rows, too
        X.eliminate_zeros()
        X.sort_indices()
        ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        parts = (X.indices[a:b].astype(np.int64).tobytes() + X.data[a:b].tobytes() for a, b in ends)
    return [blake2b(part, digest_size=8).hexdigest() for part in parts]
