"""Checks of a model that was built, for what compiled code would follow unchecked.

Only types that the schema check accepts occur here. Of these, the ones below hand indices from
the file to compiled code of SciPy or scikit-learn; NumPy checks indices itself, and our own
compiled trees compare theirs with the width of the rows on each call.
"""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.ensemble._forest import BaseForest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree

from labelkin._utils.untrusted import check_sparse
from labelkin.neighbors._counts import NeighborCounts
from labelkin.tree._tree import C45Tree


def check_model(model: Any, trusted: Iterable[str] = ()) -> None:
    """Visit every part of a model; raise ValueError for one that could not have been saved.

    `trusted` are full names of types that are not checked, because the caller trusts them.
    """
    exempt = set(trusted)
    waiting, seen = [model], {id(model)}
    while waiting:
        part = waiting.pop()
        inner: Iterable[Any] = ()
        if sparse.issparse(part):
            check_sparse(part)
        elif isinstance(part, np.ndarray):
            inner = part.ravel() if part.dtype == object else ()
        elif isinstance(part, dict):
            inner = part.values()
        elif isinstance(part, (list, tuple, set)):
            inner = part
        elif not isinstance(part, type) and not inspect.isroutine(part):
            inner = getattr(part, "__dict__", {}).values()
            if f"{type(part).__module__}.{type(part).__name__}" not in exempt:
                _check_attributes(part)
                for kind, check in _CHECKS:
                    if isinstance(part, kind):
                        check(part)
        for item in inner:
            if id(item) not in seen:
                seen.add(id(item))
                waiting.append(item)


def _check_attributes(part: Any) -> None:
    """Refuse an object whose state hides a method or a property of its class."""
    for name in getattr(part, "__dict__", ()):
        if name.startswith("__"):
            raise ValueError(f"{type(part).__name__} has a state named {name}")
        found = inspect.getattr_static(type(part), name, None)
        if callable(found) or hasattr(found, "__get__"):
            raise ValueError(f"{type(part).__name__} has a state that hides its {name}")


def _check_tree(tree: Any, n_features: int) -> None:
    """Raise ValueError for a decision tree, ours or scikit-learn's, with an invalid node."""
    feature, left, right = tree.feature, tree.children_left, tree.children_right
    arrays = (feature, left, right, tree.threshold, tree.value)
    valid = all(isinstance(array, np.ndarray) and array.ndim for array in arrays)
    valid = valid and len({len(array) for array in arrays}) == 1 and len(left) > 0
    valid = valid and all(array.ndim == 1 and array.dtype.kind in "iu" for array in arrays[:3])
    if valid:
        leaf = left == -1
        # Every node but the root is the child of one node before it, so that every walk ends.
        node = np.flatnonzero(~leaf)
        children = np.concatenate([left[node], right[node]])
        valid = (
            (left[node] > node).all()
            and (right[node] > node).all()
            and np.array_equal(np.sort(children), np.arange(1, len(left)))
            and bool(((feature[node] >= 0) & (feature[node] < n_features)).all())
        )
    if not valid:
        raise ValueError("a decision tree has invalid nodes")


def _check_tree_width(estimator: Any) -> None:
    """Check that rows of the estimator's width are what its tree was grown on."""
    if hasattr(estimator, "tree_"):
        _check_equal(estimator, _width(estimator), estimator.tree_.n_features)


def _check_forest(forest: Any) -> None:
    """Check that all trees are of the forest's width: it hands its rows to them unchecked."""
    for tree in getattr(forest, "estimators_", ()):
        if not isinstance(tree, BaseDecisionTree) or not hasattr(tree, "tree_"):
            raise ValueError(f"{type(forest).__name__} holds a {type(tree).__name__}")
        _check_equal(forest, _width(forest), _width(tree))


def _check_words(vectorizer: Any) -> None:
    """Check that words have the numbers of columns: they become indices of a sparse matrix."""
    if vectorizer.input != "content":
        raise ValueError("a vectoriser of texts would read files")
    words = getattr(vectorizer, "vocabulary_", {})
    numbers = sorted(words.values(), key=int)
    _check_equal(vectorizer, numbers, list(range(len(words))))


def _check_categories(encoder: Any) -> None:
    """Check the number of columns per category: codes become indices of a sparse matrix."""
    if not hasattr(encoder, "categories_"):
        return
    grouped = getattr(encoder, "_infrequent_enabled", False)
    dropped = getattr(encoder, "drop_idx_", None) is not None
    if grouped or dropped or hasattr(encoder, "_default_to_infrequent_mappings"):
        raise ValueError("an encoder of categories merges or drops some")
    sizes = [len(values) for values in encoder.categories_]
    _check_equal(encoder, sizes, list(getattr(encoder, "_n_features_outs", sizes)))
    _check_equal(encoder, len(sizes), _width(encoder))


def _check_rows(counts: Any) -> None:
    """Check that there are labels of every row that a search can find."""
    search = counts.search
    if hasattr(search, "order"):  # an approximate search finds what its order holds
        order = np.asarray(search.order)
        _check_equal(counts, sorted(order.tolist()), list(range(counts.Y.shape[0])))
    else:
        _check_equal(counts, search.X.shape[0], counts.Y.shape[0])
    if not 0 <= search.n_neighbors <= counts.Y.shape[0]:
        raise ValueError("a search finds more rows than there are")


def _width(estimator: Any) -> int:
    width = getattr(estimator, "n_features_in_", None)
    if not isinstance(width, (int, np.integer)) or isinstance(width, bool):
        raise ValueError(f"{type(estimator).__name__} has no number of features")
    return int(width)


def _check_equal(part: Any, found: Any, expected: Any) -> None:
    if found != expected:
        raise ValueError(f"the parts of {type(part).__name__} do not fit together")


_CHECKS: list[tuple[type, Callable[[Any], None]]] = [
    (Tree, lambda tree: _check_tree(tree, tree.n_features)),
    (C45Tree, lambda tree: _check_tree(tree, np.iinfo(np.int32).max)),
    (BaseDecisionTree, _check_tree_width),
    (BaseForest, _check_forest),
    (CountVectorizer, _check_words),
    (OneHotEncoder, _check_categories),
    (NeighborCounts, _check_rows),
]
