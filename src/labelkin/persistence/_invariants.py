"""What must hold of the parts of a model that was built from a file: the table `INVARIANTS`.

Only types that the schema check accepts occur here. Of these, the ones in the table hand indices
from the file to compiled code of SciPy or scikit-learn; NumPy checks indices itself, and our own
compiled trees compare theirs with the width of the rows on each call.
"""

import inspect
import json
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np
from joblib import cpu_count
from scipy import sparse

from labelkin._utils.untrusted import check_json, check_sparse
from labelkin.persistence._packing import PackedTrees, PackedWords, iterate_parts, vars_of


def check_model(model: Any, trusted: Iterable[str] = ()) -> None:
    """Visit every part of a model; raise ValueError for one that could not have been saved.

    Numbers of jobs become at most that of the cores. `trusted` are full names of types that are not
    checked, because the caller trusts them.
    """
    exempt = set(trusted)
    for part in iterate_parts(model):
        kind: Any = type(part)
        if sparse.issparse(part):
            check_sparse(part)
        elif _full_name(kind) not in exempt:
            for name in vars_of(part):
                _check_attribute(kind, name)
            for check in _checks_of(kind):
                check(part)
            _limit_jobs(part)


def _limit_jobs(part: Any) -> None:
    """Lower the number of jobs to that of the cores: joblib starts as many processes as it says."""
    n_jobs = vars_of(part).get("n_jobs")
    if n_jobs is None:
        return
    if not isinstance(n_jobs, (int, np.integer)):
        raise ValueError(f"{type(part).__name__} has an invalid n_jobs")
    part.n_jobs = min(n_jobs, cpu_count())


def _full_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__name__}"


@cache
def _check_attribute(kind: type, name: str) -> None:
    """Refuse a name in the state of an object that hides a method or a property of its class."""
    if name.startswith("__"):
        raise ValueError(f"{kind.__name__} has a state named {name}")
    found = inspect.getattr_static(kind, name, None)
    if isinstance(found, property) and found.fset is not None:
        return  # it keeps its value in the state, which cannot hide it
    if callable(found) or hasattr(found, "__get__"):
        raise ValueError(f"{kind.__name__} has a state that hides its {name}")


@cache
def _checks_of(kind: type) -> list[Callable[[Any], None]]:
    """Return the checks of a type, found by name: most models need few of these modules."""
    names = [_full_name(base) for base in kind.__mro__]
    return [INVARIANTS[name] for name in names if name in INVARIANTS]


def _check_nodes(arrays: Iterable[Any], starts: np.ndarray, n_features: int) -> None:
    """Raise ValueError for decision trees, ours or scikit-learn's, with an invalid node.

    `arrays` are feature, left child, right child, threshold and value of the nodes of one or more
    trees, one after the other; children are counted from a tree's root, at one of `starts`.
    """
    feature, left, right, *others = arrays
    all_arrays = (feature, left, right, *others)
    valid = all(isinstance(array, np.ndarray) and array.ndim for array in all_arrays)
    valid = valid and len({len(array) for array in all_arrays}) == 1 and len(left) > 0
    valid = valid and all(array.ndim == 1 and array.dtype.kind in "iu" for array in all_arrays[:3])
    if valid:
        # Every node but the roots is the child of one node before it in the same tree, so that
        # every walk ends.
        node = np.flatnonzero(left != -1)
        tree = np.searchsorted(starts, node, side="right") - 1
        end = np.append(starts[1:], len(left))[tree]
        children = np.concatenate([side[node] + starts[tree] for side in (left, right)])
        valid = (
            bool(((feature[node] >= 0) & (feature[node] < n_features)).all())
            and bool(((children > np.tile(node, 2)) & (children < np.tile(end, 2))).all())
            and np.array_equal(np.union1d(children, starts), np.arange(len(left)))
            and len(children) + len(starts) == len(left)
        )
    if not valid:
        raise ValueError("a decision tree has invalid nodes")


def _check_tree(tree: Any, n_features: int) -> None:
    """Check one tree, ours or scikit-learn's."""
    children = tree.children_left, tree.children_right
    arrays = (tree.feature, *children, tree.threshold, tree.value)
    _check_nodes(arrays, np.zeros(1, dtype=int), n_features)


def _check_tree_width(estimator: Any) -> None:
    """Check that rows of the estimator's width are what its tree was grown on."""
    if hasattr(estimator, "tree_"):
        _check_equal(estimator, _width(estimator), estimator.tree_.n_features)


def _check_forest(forest: Any) -> None:
    """Check that all trees are of the forest's width: it hands its rows to them unchecked."""
    trees: Any = getattr(forest, "estimators_", ())
    packed = isinstance(trees, PackedTrees)
    for tree in [trees.template] if packed else trees:
        if not _is_tree(tree) or not (packed or hasattr(tree, "tree_")):
            raise ValueError(f"{type(forest).__name__} holds a {type(tree).__name__}")
        _check_equal(forest, _width(forest), _width(tree))


def _is_tree(estimator: Any) -> bool:
    kind: Any = type(estimator)
    return _check_tree_width in _checks_of(kind)


def _check_packed(trees: PackedTrees) -> None:
    """Check that the arrays of packed trees fit together, and all their nodes."""
    vectors = trees.n_classes, trees.counts, trees.depths, trees.seeds
    valid = all(
        isinstance(vector, np.ndarray) and vector.ndim == 1 and vector.dtype.kind in "iu"
        for vector in vectors
    )
    fields = {"feature", "left_child", "right_child", "threshold"}
    valid = valid and isinstance(trees.nodes, np.ndarray)
    valid = valid and fields <= {*(trees.nodes.dtype.names or ())}
    valid = valid and len({len(vector) for vector in vectors[1:]}) == 1
    valid = valid and bool((trees.counts > 0).all())
    valid = valid and int(trees.counts.sum()) == len(trees.nodes)
    if not valid or not _is_tree(trees.template) or hasattr(trees.template, "tree_"):
        raise ValueError("the parts of a forest do not fit together")
    nodes = trees.nodes
    arrays = *(nodes[name] for name in ("feature", "left_child", "right_child")), trees.values
    _check_nodes(arrays, np.cumsum(trees.counts) - trees.counts, _width(trees.template))


def _check_words(vectorizer: Any) -> None:
    """Check that words have the numbers of columns: they become indices of a sparse matrix."""
    if vectorizer.input != "content":
        raise ValueError("a text vectoriser is set to read files")
    words = getattr(vectorizer, "vocabulary_", {})
    if isinstance(words, PackedWords):
        texts = json.loads(words.words)
        strings = isinstance(texts, list) and all(isinstance(text, str) for text in texts)
        _check_equal(vectorizer, (strings, words.columns.dtype.kind), (True, "i"))
        words = words.unpack()
        _check_equal(vectorizer, len(words), len(texts))
    _check_equal(vectorizer, sorted(words.values(), key=int), list(range(len(words))))


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
    n_rows = counts.Y.shape[0]
    _check_equal(counts, (search.X.shape[0], np.shape(search.squared_norms)), (n_rows, (n_rows,)))
    if not 0 <= search.n_neighbors <= counts.Y.shape[0]:
        raise ValueError("a neighbour search has more neighbours than rows")


# What the state of a table's schema and of its labels may hold, tuples as lists.
_SCHEMA = {
    "columns": (None, {str: {"number", "category", "text", "date", "day_first_date", "raw"}}),
    "names": (None, [str]),
    "n_features": int,
    "missing": {"impute", "refuse"},
    "scale": {"auto", "none", "robust", "standard", "minmax"},
    "max_words": int,
    "gaps": bool,
    "ignored": [str],
    "decimal": {".", ","},
}
_LABELS = {"names": [str], "column": (None, str), "separator": str}


def _check_state(part: Any, form: dict[str, Any]) -> None:
    """Check the types of an object's attributes."""
    state = vars(part).items()
    check_json({name: list(x) if isinstance(x, tuple) else x for name, x in state}, form)


def _width(estimator: Any) -> int:
    width = getattr(estimator, "n_features_in_", None)
    if not isinstance(width, (int, np.integer)) or isinstance(width, bool):
        raise ValueError(f"{type(estimator).__name__} has no number of features")
    return int(width)


def _check_equal(part: Any, found: Any, expected: Any) -> None:
    if found != expected:
        raise ValueError(f"the parts of {type(part).__name__} do not fit together")


INVARIANTS: dict[str, Callable[[Any], None]] = {
    "sklearn.tree._classes.BaseDecisionTree": _check_tree_width,
    "sklearn.tree._tree.Tree": lambda tree: _check_tree(tree, tree.n_features),
    "sklearn.ensemble._forest.BaseForest": _check_forest,
    "sklearn.feature_extraction.text.CountVectorizer": _check_words,
    "sklearn.preprocessing._encoders.OneHotEncoder": _check_categories,
    "labelkin.neighbors._counts.NeighborCounts": _check_rows,
    "labelkin.persistence._packing.PackedTrees": _check_packed,
    "labelkin.tabular._labels.LabelColumns": lambda labels: _check_state(labels, _LABELS),
    "labelkin.tabular._schema.Schema": lambda schema: _check_state(schema, _SCHEMA),
    "labelkin.tree._tree.C45Tree": lambda tree: _check_tree(tree, np.iinfo(np.int32).max),
}
"""Full name of a type → the check of its objects, which raises ValueError; also for subclasses."""
