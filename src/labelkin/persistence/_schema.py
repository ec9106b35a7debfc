"""The schema of a model file, validated before anything is built from it.

The schema is a tree of nodes: each names a loader of skops and a type. Only pairs of both that
labelkin's own models hold are accepted, so that no type is built in another way than it was
saved. Arrays are read here once, because compiled code trusts what they declare.

A node that occurs several times is written out each time with the same id, and built once. Here
an id must stand for the same content everywhere: a reference to other content would make cycles,
or a small file that takes exponential time.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from labelkin._utils.untrusted import read_npy, read_sparse

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
    ours: set[str],
    trusted: set[str],
    max_bytes: int,
    max_depth: int,
) -> tuple[list[str], dict[str, Any]]:
    """Return the types that are not accepted, and the arrays by the names of their files.

    ValueError is raised where the schema or an array is invalid. `parts` are the contents of the
    files that the nodes refer to; `ours` the full names of labelkin's types that a model may hold,
    `trusted` those of further ones; `max_bytes` is the most that the arrays may take together.
    """
    check = _Check(parts, ours, trusted, max_bytes, max_depth)
    check.visit(schema, 0)
    return sorted(check.unknown), check.arrays


class _Check:
    """One walk through a schema."""

    def __init__(
        self,
        parts: Mapping[str, bytes],
        ours: set[str],
        trusted: set[str],
        max_bytes: int,
        max_depth: int,
    ) -> None:
        self.parts, self.trusted = parts, trusted
        self.objects = _TYPES["ObjectNode"] | ours - _TYPES["FunctionNode"]
        self.max_bytes = self.bytes_left = max_bytes
        self.max_depth = max_depth
        self.unknown: set[str] = set()
        self.contents: dict[int, int] = {}
        self.owners: dict[str, int] = {}
        self.arrays: dict[str, Any] = {}

    def visit(self, node: Any, depth: int) -> int:
        """Check a node and those below it; return a hash of all they contain."""
        if depth > self.max_depth:
            raise ValueError(
                f"it is nested more than {self.max_depth} deep; if you trust it, raise max_depth="
            )
        if not isinstance(node, dict):
            raise ValueError("a node of the schema is not an object")
        loader, module, last = (node.get(f"__{key}__") for key in ("loader", "module", "class"))
        if not (isinstance(loader, str) and isinstance(module, str) and isinstance(last, str)):
            raise ValueError("a node of the schema has no type or no loader")
        ident = node.get("__id__")
        if type(ident) is not int:
            raise ValueError("a node of the schema has no id")
        name = f"{module}.{last}"
        if not self._accepts(loader, name):
            self.unknown.add(name)
        inner = [self.visit(child, depth + 1) for child in _children(node, loader)]
        content = hash((loader, name, self._own_content(node, loader, last), *inner))
        if self.contents.setdefault(ident, content) != content:
            raise ValueError("an id of the schema stands for two different objects")
        return content

    def _accepts(self, loader: str, name: str) -> bool:
        if name in self.trusted and loader in _FOR_TRUSTED:
            return True
        return name in (self.objects if loader == "ObjectNode" else _TYPES.get(loader, ()))

    def _own_content(self, node: dict[str, Any], loader: str, name: str) -> Any:
        """Check what a node holds besides other nodes; return it in a form to be hashed."""
        content: Any = node.get("content")
        if loader == "JsonNode":
            value = json.loads(content) if isinstance(content, str) else []
            if isinstance(value, (list, dict)):
                raise ValueError("a value of the schema is not a plain one")
            return content
        if loader == "SliceNode":
            bounds = [content.get(key) for key in ("start", "stop", "step")]
            if not all(bound is None or type(bound) is int for bound in bounds):
                raise ValueError("a slice of the schema is not one of whole numbers")
            return tuple(bounds)
        if loader == "DictNode":
            return tuple(content)
        if loader in ("NdArrayNode", "SparseMatrixNode") and "file" in node:
            self._read(node["file"], node["__id__"], loader, name)
            return hash(self.parts[node["file"]])  # equal arrays may be in several files
        if loader == "TreeNode":
            self._check_tree(node)
        return node.get("type")

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


def _children(node: dict[str, Any], loader: str) -> Iterator[Any]:
    """Yield the nodes directly below a node."""
    content = node.get("content")
    if loader == "DictNode":
        if not isinstance(content, dict):
            raise ValueError("a dictionary of the schema has no content")
        yield node.get("key_types")
        yield from content.values()
    elif loader in ("ListNode", "TupleNode", "SetNode"):
        if not isinstance(content, list):
            raise ValueError("a list of the schema has no content")
        yield from content
    elif loader == "NdArrayNode":
        if node.get("type") == "json":
            yield node.get("shape")
            yield from content if isinstance(content, list) else [None]
        elif node.get("type") != "numpy" or "file" not in node:
            raise ValueError("an array of the schema has no content")
    elif loader in ("TreeNode", "LossNode"):
        reduced = node.get("__reduce__")
        yield reduced.get("args") if isinstance(reduced, dict) else None
        yield content
    elif loader in ("ConstructorFromReduceNode", "DTypeNode", "ObjectNode", "RandomStateNode"):
        if loader != "ObjectNode" or content is not None:
            yield content
    elif loader == "SliceNode" and not isinstance(content, dict):
        raise ValueError("a slice of the schema has no content")
    elif loader == "SparseMatrixNode" and (node.get("type") != "scipy" or "file" not in node):
        raise ValueError("a sparse matrix of the schema has no content")
