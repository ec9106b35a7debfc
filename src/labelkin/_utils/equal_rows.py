"""Rows that are equal in every bit."""

from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse


def first_of_equals(X: Any) -> np.ndarray | None:
    """Return for each row the first one equal to it; None where no two rows are equal."""
    suspects = np.arange(X.shape[0])
    if sparse.issparse(X):
        ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        contents = (X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in ends)
    elif isinstance(X, np.ndarray):
        if X.shape[1]:
            # Equal rows begin equally; in projected data hardly any other rows do.
            suspects = _repeated(X[:, 0])
        contents = (X[i].tobytes() for i in suspects)
    else:
        return None
    first = np.arange(X.shape[0])
    seen: dict[bytes, int] = {}
    for i, content in zip(suspects.tolist(), contents, strict=True):
        first[i] = seen.setdefault(blake2b(content, digest_size=16).digest(), i)
    return None if len(seen) == len(suspects) else first


def _repeated(values: np.ndarray) -> np.ndarray:
    """Return the positions of values that occur more than once."""
    ordered = np.sort(values)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(twice):
        return np.empty(0, dtype=np.intp)
    place = np.minimum(np.searchsorted(twice, values), len(twice) - 1)
    return np.flatnonzero(twice[place] == values)
