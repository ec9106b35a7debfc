"""The schema of a model file, validated before anything is built from it.

The schema is a tree of nodes: each names a loader of skops and a type. Only pairs of both that
labelkin's own models hold are accepted, so that no type is built in another way than it was
saved. Arrays are read here once, because compiled code trusts what they declare.

A node that occurs several times is written out each time with the same id, and built once. Here
an id must stand for the same content everywhere: a reference to other content would make cycles,
or a small file that takes exponential time.
"""

import json
from collections.abc import Mapping
from typing import Any

from labelkin._utils.untrusted import read_npy, read_sparse
from labelkin.persistence._names import import_path

_SKLEARN = {
    "compose._column_transformer.ColumnTransformer",
    "ensemble._forest.ExtraTreesClassifier",
    "ensemble._forest.ExtraTreesRegressor",
    "ensemble._forest.RandomForestClassifier",
    "ensemble._forest.RandomForestRegressor",
    "feature_extraction.text.TfidfTransformer",
    "feature_extraction.text.TfidfVectorizer",
    "impute._base.SimpleImputer",
    "linear_model._logistic.LogisticRegression",
    "pipeline.Pipeline",
    "preprocessing._data.MaxAbsScaler",
    "preprocessing._data.MinMaxScaler",
    "preprocessing._data.StandardScaler",
    "preprocessing._encoders.OneHotEncoder",
    "preprocessing._function_transformer.FunctionTransformer",
    "tree._classes.DecisionTreeClassifier",
    "tree._classes.DecisionTreeRegressor",
    "tree._classes.ExtraTreeClassifier",
    "tree._classes.ExtraTreeRegressor",
}
_SCALARS = {
    "numpy." + name
    for name in (
        *("bool", "bool_", "float16", "float32", "float64", "int8", "int16", "int32", "int64"),
        *("uint8", "uint16", "uint32", "uint64", "str_"),
    )
}
_SPARSE = {
    f"scipy.sparse._{format}.{format}_{kind}"
    for format in ("csr", "csc")
    for kind in ("array", "matrix")
}
_TYPES = {
    "DTypeNode": {"numpy.dtype"},
    "DictNode": {"builtins.dict"},
    "FunctionNode": {"labelkin.methods.to_dense"},
    "JsonNode": {"builtins.str"},
    "ListNode": {"builtins.list"},
    "NdArrayNode": {"numpy.ndarray", *_SCALARS},
    "ObjectNode": {f"sklearn.{name}" for name in _SKLEARN},
    "RandomStateNode": {"numpy.random.mtrand.RandomState"},
    "SetNode": {"builtins.set"},
    "SliceNode": {"builtins.slice"},
    "SparseMatrixNode": _SPARSE,
    "TreeNode": {"sklearn.tree._tree.Tree"},
    "TupleNode": {"builtins.tuple"},
    "TypeNode": {f"builtins.{name}" for name in ("bool", "float", "int", "str")} | _SCALARS,
}
# What a type that the caller trusts may be built by, besides.
_FOR_TRUSTED = {"ConstructorFromReduceNode", "FunctionNode", "LossNode", "ObjectNode", "TypeNode"}


def check_schema(
    schema: Any,
    parts: Mapping[str, bytes],
    *,
    trusted: set[str],
    max_bytes: int,
    max_depth: int,
) -> tuple[list[str], dict[str, Any]]:
    """Return the types that are not accepted, and the arrays by the names of their files.

    ValueError is raised where the schema or an array is invalid. The types of labelkin get the
    paths from which they are imported in place of their stable names. `parts` are the contents of
    the files that the nodes refer to, `trusted` the full names of further types that are accepted,
    `max_bytes` is the most that the arrays may take together.
    """
    check = _Check(parts, trusted, max_bytes, max_depth)
    check.visit(schema, 0)
    return sorted(check.unknown), check.arrays


class _Check:
    """One walk through a schema."""

    def __init__(
        self, parts: Mapping[str, bytes], trusted: set[str], max_bytes: int, max_depth: int
    ) -> None:
        self.parts, self.trusted = parts, trusted
        self.max_bytes = self.bytes_left = max_bytes
        self.max_depth = max_depth
        self.unknown: set[str] = set()
        self.contents: dict[int, int] = {}
        self.owners: dict[str, int] = {}
        self.arrays: dict[str, Any] = {}

    def visit(self, value: Any, depth: int) -> int:
        """Check a value of the schema and all inside it; return a hash of what it contains.

        Whatever has a loader or an id is a node, wherever it stands: what is built later was
        visited here.
        """
        if depth > self.max_depth:
            raise ValueError(
                f"it is nested more than {self.max_depth} deep; if you trust it, raise max_depth="
            )
        if isinstance(value, dict) and ("__loader__" in value or "__id__" in value):
            return self._visit_node(value, depth)
        if isinstance(value, dict):
            return hash(tuple((key, self.visit(item, depth)) for key, item in value.items()))
        if isinstance(value, list):
            return hash(tuple(self.visit(item, depth) for item in value))
        return hash((type(value), value))

    def _visit_node(self, node: dict[str, Any], depth: int) -> int:
        loader, module, last = (node.get(f"__{key}__") for key in ("loader", "module", "class"))
        if not (isinstance(loader, str) and isinstance(module, str) and isinstance(last, str)):
            raise ValueError("a node of the schema has no type or no loader")
        ident = node.get("__id__")
        if type(ident) is not int:
            raise ValueError("a node of the schema has no id")
        name = f"{module}.{last}"
        path = import_path(name.removeprefix("labelkin.")) if module == "labelkin" else name
        if not self._accepts(loader, name, path):
            self.unknown.add(name)
        elif path is not None:
            node["__module__"], _, node["__class__"] = path.rpartition(".")
        inner = {key: item for key, item in node.items() if key != "__id__"}
        if loader in ("NdArrayNode", "SparseMatrixNode") and "file" in node:
            self._read(node["file"], ident, loader, last)
            inner["file"] = hash(self.parts[node["file"]])  # equal arrays may be in several files
        content = hash(
            tuple((key, self.visit(item, depth + 1)) for key, item in sorted(inner.items()))
        )
        if loader in _PLAIN:
            _PLAIN[loader](node["content"])
        if loader == "TreeNode":
            self._check_tree(node)
        if self.contents.setdefault(ident, content) != content:
            raise ValueError("an id of the schema stands for two different objects")
        return content

    def _accepts(self, loader: str, name: str, path: str | None) -> bool:
        if name in self.trusted and loader in _FOR_TRUSTED:
            return True
        if path is None or path in _TYPES.get(loader, ()):
            return path is not None
        # Objects of ours; none is accepted by the path of its module.
        return loader == "ObjectNode" and path != name and path not in _TYPES["FunctionNode"]

    def _read(self, file: Any, ident: int, loader: str, name: str) -> None:
        """Check the file of an array, once."""
        if not isinstance(file, str) or file not in self.parts:
            raise ValueError("an array is missing")
        if file in self.owners:
            if self.owners[file] != ident:
                raise ValueError("two arrays of the schema are in the same file")
            return
        self.owners[file] = ident
        if loader == "SparseMatrixNode":
            matrix = self.arrays[file] = read_sparse(self.parts[file], name, self.bytes_left)
            used = matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes
        else:
            self.arrays[file] = read_npy(self.parts[file], "biufUSV")
            used = self.arrays[file].nbytes
        self.bytes_left -= used
        if self.bytes_left < 0:
            raise ValueError(f"its arrays take more than {self.max_bytes:,} bytes")

    def _check_tree(self, node: dict[str, Any]) -> None:
        """Check that scikit-learn's tree has the nodes that it counts: it would read beyond."""
        state = node["content"]["content"]
        count = json.loads(state["node_count"]["content"])
        lengths = {len(self.arrays[state[key]["file"]]) for key in ("nodes", "values")}
        if type(count) is not int or count < 1 or lengths != {count}:
            raise ValueError("a decision tree has invalid nodes")


def _check_plain(content: Any) -> None:
    if not isinstance(content, str) or isinstance(json.loads(content), (list, dict)):
        raise ValueError("a value of the schema is not a plain one")


def _check_slice(content: Any) -> None:
    bounds = [content.get(key) for key in ("start", "stop", "step")]
    if not all(bound is None or type(bound) is int for bound in bounds):
        raise ValueError("a slice of the schema is not one of whole numbers")


# Nodes that hold values of JSON besides other nodes.
_PLAIN = {"JsonNode": _check_plain, "SliceNode": _check_slice}
