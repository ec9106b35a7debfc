"""Checks of a model that was read, for what compiled code would follow unchecked.

skops builds arrays as the file has them. An index that points outside its array would be
followed by SciPy's and scikit-learn's compiled code without a check. Further checks of untrusted
content belong here; sizes are checked where the archive is read.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse


def check_model(model: Any) -> None:
    """Visit every part of a model; raise ValueError for one with indices out of range."""
    waiting, seen = [model], {id(model)}
    while waiting:
        part = waiting.pop()
        inner: Iterable[Any] = ()
        if sparse.issparse(part):
            if part.format in ("csr", "csc"):
                part.check_format(full_check=True)
        elif isinstance(part, np.ndarray):
            inner = part.ravel() if part.dtype == object else ()
        elif isinstance(part, dict):
            inner = part.values()
        elif isinstance(part, (list, tuple, set)):
            inner = part
        elif hasattr(part, "__dict__"):
            if hasattr(part, "tree_"):
                _check_tree(part.tree_, getattr(part, "n_features_in_", np.inf))
            inner = vars(part).values()
        for item in inner:
            if id(item) not in seen:
                seen.add(id(item))
                waiting.append(item)


def _check_tree(tree: Any, n_features: float) -> None:
    """Raise ValueError for a decision tree, ours or scikit-learn's, with an invalid node."""
    feature, left, right = tree.feature, tree.children_left, tree.children_right
    n = len(left)
    node = np.arange(n)
    # A child comes after its parent, so that every walk down ends.
    inner = (left > node) & (left < n) & (right > node) & (right < n)
    inner &= (feature >= 0) & (feature < n_features)
    lengths = {len(part) for part in (feature, left, right, tree.threshold, tree.value)}
    if not n or lengths != {n} or not (inner | (left == -1)).all():
        raise ValueError("a decision tree has invalid nodes")
