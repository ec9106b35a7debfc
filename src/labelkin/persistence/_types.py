"""The types that a model file may contain, and the invariants that compiled code relies on.

NumPy checks every index and SciPy every shape that it is given. These do not:

- SciPy's and scikit-learn's sparse matrices follow ``indptr`` and ``indices``: checked wherever one
  is built (`labelkin._utils.untrusted.check_compressed`). Of the transformers that make sparse
  matrices from fitted state, `OneHotEncoder` and `TfidfVectorizer` must have as many columns as
  they claim. They also follow ``data``, which no code may replace by an array that depends on
  fitted state: it is assigned in place, so that its length stays.
- Decision trees, ours and scikit-learn's, follow the children and features of their nodes, and
  `decision_path` reserves memory by the depth.
- NumPy's `RandomState` follows its position.
- Neighbours that are found become the indices of a sparse matrix.
- NumPy's functions with ``where=`` leave out entries, whose memory is returned as it was.
- Arrays that two parts share are read-only, so that neither can change the other after its check.

`OBJECTS` lists each type with the check of its objects. A type whose invariants are not known here
is not listed, and a file cannot contain it. Names in a file are stable: when a class is moved or
renamed, its path changes in this table and its name stays, so that old files can still be read.
"""

import inspect
import unicodedata
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from joblib import cpu_count

import labelkin
from labelkin._utils.untrusted import check_json


def check_object(part: Any, name: str) -> None:
    """Raise ValueError for an object that could not have been saved; its parts were checked.

    A number of jobs becomes at most that of the cores, since joblib starts as many processes.
    """
    kind: Any = type(part)
    state = vars(part)
    for attribute in state:
        _check_attribute(kind, attribute)
    n_jobs = state.get("n_jobs")
    if n_jobs is not None:
        if not isinstance(n_jobs, (int, np.integer)):
            raise ValueError(f"{kind.__name__} has an invalid n_jobs")
        state["n_jobs"] = min(n_jobs, cpu_count())
    _, check = OBJECTS.get(name, ("", _check_estimator))
    check(part)


@cache
def _check_attribute(kind: type, name: str) -> None:
    """Refuse a name in the state of an object that hides a method or a property of its class."""
    if name.startswith("__"):
        raise ValueError(f"{kind.__name__} has a state named {name}")
    found = inspect.getattr_static(kind, name, None)
    if isinstance(found, property) and found.fset is not None:
        return  # a property with a setter takes precedence over the state
    if callable(found) or hasattr(found, "__get__"):
        raise ValueError(f"{kind.__name__} has a state that hides its {name}")


# ----------------------------------------------------------------------------------- checks


def check_vector(values: Any, kinds: str, length: int | None = None) -> None:
    """Raise ValueError unless values are an array of one dimension with a dtype of some kinds."""
    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind not in kinds:
        raise ValueError("an array of the model is not a vector of the expected type")
    if length is not None and len(values) != length:
        raise ValueError(f"an array of the model has {len(values)} entries, not {length}")


def check_nodes(nodes: Any, n_classes: Any, values: Any, width: int) -> tuple[int, int]:
    """Check the state of a tree of scikit-learn; return the number of its nodes and its depth."""
    check_vector(nodes, "V")
    check_vector(n_classes, "iu")
    depth = _check_links(nodes["feature"], nodes["left_child"], nodes["right_child"], width)
    if len(n_classes) == 0 or n_classes.min() < 1:
        raise ValueError("a decision tree has no classes")
    shape = len(nodes), len(n_classes), int(n_classes.max())
    if not isinstance(values, np.ndarray) or (values.shape, values.dtype.kind) != (shape, "f"):
        raise ValueError("a decision tree has invalid values")
    return len(nodes), depth


def _check_links(feature: Any, left: Any, right: Any, width: int) -> int:
    """Check that the nodes are a tree which tests columns of rows of a width; return its depth.

    Every node but the root, the first one, is the child of one node before it, so that every walk
    ends.
    """
    for array in (feature, left, right):
        check_vector(array, "iu", len(left))
    inner = np.flatnonzero(left != -1)
    children = np.concatenate([left[inner], right[inner]])
    valid = (
        np.array_equal(np.sort(children), np.arange(1, len(left)))
        and bool((children > np.tile(inner, 2)).all())
        and bool(((feature[inner] >= 0) & (feature[inner] < width)).all())
    )
    if not valid or len(left) == 0:
        raise ValueError("a decision tree has invalid nodes")
    depth, level = 0, np.zeros(1, dtype=np.intp)
    while len(level := level[left[level] != -1]):
        depth, level = depth + 1, np.concatenate([left[level], right[level]])
    return depth


def _check_c45(tree: Any) -> None:
    """Check one of our trees; rows of another width are refused when they come."""
    n_nodes = len(tree.children_left)
    width = np.iinfo(np.int32).max
    _check_links(tree.feature, tree.children_left, tree.children_right, width)
    check_vector(tree.threshold, "f", n_nodes)
    _check_equal(tree, (np.ndim(tree.value), len(tree.value)), (2, n_nodes))


def _check_tree_estimator(estimator: Any) -> None:
    """Check that rows of the estimator's width are what its tree was grown on."""
    if "tree_" in vars(estimator):
        _check_equal(estimator, type(estimator.tree_).__name__, "Tree")
        _check_equal(estimator, _width(estimator), estimator.tree_.n_features)


def _check_forest(forest: Any) -> None:
    """Check that all trees are of the forest's width: it hands its rows to them unchecked."""
    for tree in vars(forest).get("estimators_", ()):
        if not type(tree).__module__.startswith("sklearn.tree.") or "tree_" not in vars(tree):
            raise ValueError(f"{type(forest).__name__} holds a {type(tree).__name__}")
        _check_equal(forest, _width(forest), _width(tree))


def _check_function(transformer: Any) -> None:
    """Check that a function has no options, such as where its results are written."""
    if transformer.kw_args or transformer.inv_kw_args:
        raise ValueError("a FunctionTransformer has arguments, kw_args or inv_kw_args")


def _check_words(vectorizer: Any) -> None:
    """Check that words have the numbers of columns: they become indices of a sparse matrix."""
    if vectorizer.input != "content":
        raise ValueError("a text vectoriser is set to read files")
    words = vars(vectorizer).get("vocabulary_", {})
    _check_equal(vectorizer, type(words), dict)
    _check_equal(vectorizer, sorted(words.values(), key=int), list(range(len(words))))


def _check_categories(encoder: Any) -> None:
    """Check that codes are columns: they become indices of a sparse matrix.

    Codes are found by bisection, so that categories must be sorted; only those of strings among
    objects are found in a dictionary. A missing value comes last.
    """
    if "categories_" not in vars(encoder):
        return
    merges = getattr(encoder, "_infrequent_enabled", False) or encoder.drop_idx_ is not None
    merges = merges or getattr(encoder, "_drop_idx_after_grouping", None) is not None
    if merges or hasattr(encoder, "_default_to_infrequent_mappings"):
        raise ValueError("an encoder of categories merges or drops some")
    for values in encoder.categories_:
        check_vector(values, "OUSbiuf")
        known = [value for value in values.tolist() if value is not None and value == value]
        if values.dtype == object:
            known = [value for value in known if not isinstance(value, str)]
        missing_last = len(values) < 2 or not (values[:-1] != values[:-1]).any()
        if not missing_last or any(a >= b for a, b in pairwise(known)):
            raise ValueError("the categories of an encoder are not sorted")
    sizes = [len(values) for values in encoder.categories_]
    _check_equal(encoder, type(getattr(encoder, "_n_features_outs", sizes)), list)
    _check_equal(encoder, sizes, getattr(encoder, "_n_features_outs", sizes))
    _check_equal(encoder, len(sizes), _width(encoder))


def _check_shares(encoder: Any) -> None:
    """Check that there is one share per category."""
    _check_categories(encoder)
    if "categories_" in vars(encoder):
        check_vector(encoder.shares_, "f", sum(map(len, encoder.categories_)))


def _check_date_encoder(encoder: Any) -> None:
    """Check the years of an encoder of dates; those of version 0.1 have their default."""
    if (n := vars(encoder).get("n_features_in_")) is not None:
        years = vars(encoder).setdefault("first_years_", [1970] * n)
        check_json(years, [int])
        _check_equal(encoder, len(years), n)


def _check_counts(counts: Any) -> None:
    """Check that there are labels of every row that a search can find."""
    search, n_rows = counts.search, counts.Y.shape[0]
    check_vector(search.squared_norms, "f", n_rows)
    _check_equal(counts, search.X.shape[0], n_rows)
    if not 0 <= search.n_neighbors <= n_rows:
        raise ValueError("a neighbour search has more neighbours than rows")
    if (known := counts.known) is not None:
        if not isinstance(known, np.ndarray) or known.dtype != bool:
            raise ValueError("the mask of known labels is not an array of booleans")
        _check_equal(counts, known.shape, counts.Y.shape)


# What the state of a table's schema and of its labels may hold, tuples as lists.
_SCHEMA = {
    "columns": (None, {str: {"number", "category", "text", "date", "day_first_date", "raw"}}),
    "names": (None, [str]),
    "n_features": int,
    "missing": {"impute", "refuse"},  # in files of version 0.1
    "scale": {"auto", "none", "robust", "standard", "minmax"},
    "max_words": int,
    "embedding": {"auto", "none"},
    "ngrams": [str],
    "unspaced": [str],
    "gaps": bool,
    "zero_based": (None, bool),
    "ignored": [str],
    "constant": (None, {str: str}),
    "title": str,
    "decimal": (None, {".", ","}),
    "trend": bool,
    "measured": (None, {str: object}),
    "n_rows": int,
    "identifiers": [str],
    "encoding": (None, str),
}
_MEASURED = {
    "range": (None, [float]),
    "unit": str,
    "zone": str,
    "is_year_first": bool,
    "first_year": int,
    "words": [str],
    "gaps": bool,
    "is_given": bool,
}
_LABELS = {
    "names": [str],
    "column": (None, str),
    "separator": str,
    "ignore_case": bool,
    "no_label": [str],
    "missing": (None, {"no", "unknown", "drop"}),
    "more": [str],
    "are_integers": bool,
    "other_separators": [str],
    "field": str,
}


def _check_hierarchy(hierarchy: Any) -> None:
    """Check that edges lead from label to label, without a cycle: they are followed."""
    check_json(list(hierarchy.names), [str])
    edges = hierarchy.edges
    if not isinstance(edges, np.ndarray) or edges.dtype.kind != "i" or edges.shape[1:] != (2,):
        raise ValueError("the edges of a hierarchy are not pairs of numbers")
    hierarchy.check()


def _check_schema(schema: Any) -> None:
    _check_state(schema, _SCHEMA)
    for column in (schema.measured or {}).values():
        _check_equal(schema, type(column).__name__, "Measured")


def _check_measured(column: Any) -> None:
    _check_state(column, _MEASURED)
    _check_equal(column, len(column.range or (0, 0)), 2)


def _check_label_columns(labels: Any) -> None:
    _check_state(labels, _LABELS)
    check_label_names(labels.names)


def _check_state(part: Any, form: dict[str, Any]) -> None:
    """Check the types of an object's attributes."""
    state = vars(part).items()
    check_json({name: list(x) if isinstance(x, tuple) else x for name, x in state}, form)


def _check_estimator(estimator: Any) -> None:
    """Check one of our estimators: no label has the name of another, and its tree was checked.

    Parameters that are newer than the file have their defaults.
    """
    for name, parameter in inspect.signature(type(estimator)).parameters.items():
        if parameter.default is not inspect.Parameter.empty:
            vars(estimator).setdefault(name, parameter.default)
    check_label_names(vars(estimator).get("label_names_", ()))
    if "tree_" in vars(estimator):
        _check_equal(estimator, type(estimator.tree_).__name__, "C45Tree")


def check_label_names(names: Any) -> None:
    """Raise ValueError where two labels have the same name, also in different normal forms."""
    if len({unicodedata.normalize("NFC", str(name)) for name in names}) < len(names):
        raise ValueError("two labels have the same name")


def _width(estimator: Any) -> int:
    width = vars(estimator).get("n_features_in_")
    if not isinstance(width, (int, np.integer)) or isinstance(width, bool):
        raise ValueError(f"{type(estimator).__name__} has no number of features")
    return int(width)


def _check_equal(part: Any, found: Any, expected: Any) -> None:
    if found != expected:
        raise ValueError(f"the parts of {type(part).__name__} do not fit together")


def _none(part: Any) -> None:
    """Check nothing: NumPy and SciPy check all that such an object gives to them."""


# ------------------------------------------------------------------------------------ tables

Check = Callable[[Any], None]

OBJECTS: dict[str, tuple[str, Check]] = {
    "calibration.SlopeCalibration": ("labelkin.calibration._curves.SlopeCalibration", _none),
    "decisions.LabelDecision": ("labelkin.decisions._label_decision.LabelDecision", _none),
    "hierarchy.LabelHierarchy": (
        "labelkin.hierarchy._hierarchy.LabelHierarchy",
        _check_hierarchy,
    ),
    "kernel.DirectKernelRidge": ("labelkin.kernel._direct.DirectKernelRidge", _none),
    "kernel.KernelRidge": ("labelkin.kernel._regression.KernelRidge", _none),
    "kin.Beside": ("labelkin.kin._views.Beside", _none),
    "kin.Columns": ("labelkin.kin._views.Columns", _none),
    "kin.Combination": ("labelkin.kin._combination.Combination", _none),
    "kin.LabelTreesLearner": ("labelkin.kin._learners.LabelTreesLearner", _none),
    "kin.Limits": ("labelkin.kin._plan.Limits", _none),
    "kin.LogisticLearner": ("labelkin.linear._learner.LogisticLearner", _none),
    "kin.Member": ("labelkin.kin._learners.Member", _none),
    "kin.PartLearner": ("labelkin.kin._learners.PartLearner", _none),
    "kin.ProjectionLearner": ("labelkin.kin._learners.ProjectionLearner", _none),
    "kin.Ranks": ("labelkin.kin._views.Ranks", _none),
    "kin.Raw": ("labelkin.kin._views.Raw", _none),
    "kin.Standard": ("labelkin.kin._views.Standard", _none),
    "kin.Topics": ("labelkin.kin._views.Topics", _none),
    "kin.TreesLearner": ("labelkin.kin._learners.TreesLearner", _none),
    "kin.Words": ("labelkin.kin._views.Words", _none),
    "many.Forest": ("labelkin.many._sources.Forest", _none),
    "many.LabelTree": ("labelkin.many._tree.LabelTree", _none),
    "many.Logistic": ("labelkin.many._ranker.Logistic", _none),
    "many.Names": ("labelkin.many._sources.Names", _none),
    "many.Neighbors": ("labelkin.many._sources.Neighbors", _none),
    "many.Ranker": ("labelkin.many._ranker.Ranker", _none),
    "many.Words": ("labelkin.many._sources.Words", _none),
    "neighbors.ExactSearch": ("labelkin.neighbors._exact.ExactSearch", _none),
    "neighbors.NeighborCounts": ("labelkin.neighbors._counts.NeighborCounts", _check_counts),
    "tabular.CategoryEncoder": ("labelkin.tabular._categories.CategoryEncoder", _check_shares),
    "tabular.DateEncoder": ("labelkin.tabular._dates.DateEncoder", _check_date_encoder),
    "tabular.LabelColumns": ("labelkin.tabular._labels.LabelColumns", _check_label_columns),
    "tabular.Measured": ("labelkin.tabular._measured.Measured", _check_measured),
    "tabular.NGrams": ("labelkin.tabular._text.NGrams", _none),
    "tabular.RobustLogScaler": ("labelkin.tabular._scaling.RobustLogScaler", _check_estimator),
    "tabular.Schema": ("labelkin.tabular._schema.Schema", _check_schema),
    "tabular.StringConverter": ("labelkin.tabular._pipeline.StringConverter", _none),
    "tabular.TextEmbedding": ("labelkin.tabular._text.TextEmbedding", _none),
    "tabular.TextFeatures": ("labelkin.tabular._text.TextFeatures", _none),
    "tree.C45Tree": ("labelkin.tree._classifier.C45Tree", _check_c45),
} | {
    "sklearn." + path.rpartition(".")[2]: ("sklearn." + path, check)
    for path, check in (
        ("compose._column_transformer.ColumnTransformer", _none),
        ("dummy.DummyClassifier", _none),
        ("ensemble._forest.ExtraTreesClassifier", _check_forest),
        ("ensemble._forest.ExtraTreesRegressor", _check_forest),
        ("ensemble._forest.RandomForestClassifier", _check_forest),
        ("ensemble._forest.RandomForestRegressor", _check_forest),
        ("feature_extraction.text.TfidfTransformer", _none),
        ("feature_extraction.text.TfidfVectorizer", _check_words),
        ("frozen._frozen.FrozenEstimator", _none),
        ("impute._base.MissingIndicator", _none),
        ("impute._base.SimpleImputer", _none),
        ("linear_model._logistic.LogisticRegression", _none),
        ("pipeline.Pipeline", _none),
        ("preprocessing._data.MaxAbsScaler", _none),
        ("preprocessing._data.MinMaxScaler", _none),
        ("preprocessing._data.StandardScaler", _none),
        ("preprocessing._encoders.OneHotEncoder", _check_categories),
        ("preprocessing._function_transformer.FunctionTransformer", _check_function),
        ("tree._classes.DecisionTreeClassifier", _check_tree_estimator),
        ("tree._classes.DecisionTreeRegressor", _check_tree_estimator),
        ("tree._classes.ExtraTreeClassifier", _check_tree_estimator),
        ("tree._classes.ExtraTreeRegressor", _check_tree_estimator),
    )
}
"""Name in a file → where the type is now, and the check of its objects.

labelkin's public estimators are permitted besides, under the names by which they are imported.
"""

VALUES: dict[str, str] = {"methods.to_dense": "labelkin.methods.to_dense"} | {
    path: path
    for path in (
        *(f"builtins.{name}" for name in ("bool", "float", "int", "str")),
        *(f"numpy.{name}" for name in ("float32", "float64", "int8", "int32", "int64", "uint8")),
        # Functions of numbers alone, such as log1p of a FunctionTransformer.
        *(f"numpy.{name}" for name, value in vars(np).items() if isinstance(value, np.ufunc)),
    )
}
"""Types and functions that are values of parameters."""


def object_path(name: str) -> str | None:
    """Return where the type of an object is now, by its name in a file; None for other names."""
    if name in OBJECTS:
        return OBJECTS[name][0]
    found = getattr(labelkin, name) if name in labelkin.__all__ else None
    return f"{found.__module__}.{found.__name__}" if isinstance(found, type) else None
