"""Rows that are equal in every bit."""

from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse


def first_of_equals(X: Any) -> np.ndarray | None:
    """Return for each row the first one equal to it; None where no two rows are equal."""
    if sparse.issparse(X):
        ends = pairwise(X.indptr)
        contents = (X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in ends)
    elif isinstance(X, np.ndarray):
        contents = (row.tobytes() for row in X)
    else:
        return None
    seen: dict[bytes, int] = {}
    digests = (blake2b(content, digest_size=16).digest() for content in contents)
    first = np.array([seen.setdefault(digest, i) for i, digest in enumerate(digests)], dtype=int)
    return None if len(seen) == X.shape[0] else first
