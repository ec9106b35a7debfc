"""A model built from a schema that was checked; skops is needed for writing only.

`labelkin.persistence._schema` has accepted every type with its loader and read every array, so
that nothing is imported or called here that it did not accept.
"""

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

_MT19937_WORDS = 624


def build(node: dict[str, Any], arrays: Mapping[str, Any]) -> Any:
    """Return the object that a node stands for; nodes of the same id are one object.

    `node` is the root of a schema that `check_schema` accepted, `arrays` what that check read.
    """
    return _Builder(arrays).build(node)


class _Builder:
    """One walk through a schema."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self.arrays = arrays
        self.built: dict[int, Any] = {}

    def build(self, node: dict[str, Any]) -> Any:
        ident = node["__id__"]
        if ident not in self.built:
            self.built[ident] = _LOADERS[node["__loader__"]](self, node)
        return self.built[ident]

    def items(self, node: dict[str, Any]) -> list[Any]:
        return [self.build(item) for item in node["content"]]

    def dictionary(self, node: dict[str, Any]) -> dict[Any, Any]:
        pairs = zip(self.build(node["key_types"]), node["content"].items(), strict=True)
        return {kind(key): self.build(value) for kind, (key, value) in pairs}

    def array(self, node: dict[str, Any]) -> Any:
        if node["type"] == "numpy":
            array = self.arrays[node["file"]]
            kind = _type_of(node)
            return array if kind is np.ndarray else kind(array)
        items, shape = self.items(node), self.build(node["shape"])
        if len(shape) != 1:
            return np.array(items, dtype=object)
        found = np.empty(len(items), dtype=object)
        found[:] = items
        return found

    def random_state(self, node: dict[str, Any]) -> np.random.RandomState:
        state = self.build(node["content"])
        # NumPy follows the position without a check.
        if not 0 <= state["state"]["pos"] <= _MT19937_WORDS:
            raise ValueError("a random state has an invalid position")
        found = np.random.RandomState(0)  # a seed of its own, which is faster than the system's
        found.set_state(state)
        return found

    def called(self, node: dict[str, Any]) -> Any:
        return _type_of(node)(*self.build(node["content"]))

    def reduced(self, node: dict[str, Any]) -> Any:
        found = _type_of(node)(*self.build(node["__reduce__"]["args"]))
        if state := self.build(node["content"]):
            found.__setstate__(state)
        return found

    def instance(self, node: dict[str, Any]) -> Any:
        kind = _type_of(node)
        found = kind.__new__(kind)
        state = None if node.get("content") is None else self.build(node["content"])
        if state is not None:
            if hasattr(found, "__setstate__"):
                found.__setstate__(state)
            else:
                found.__dict__.update(state)
        return found


def _type_of(node: dict[str, Any]) -> Any:
    return getattr(import_module(node["__module__"]), node["__class__"])


_LOADERS: dict[str, Callable[[_Builder, dict[str, Any]], Any]] = {
    "ConstructorFromReduceNode": _Builder.called,
    "DTypeNode": lambda builder, node: builder.build(node["content"]).dtype,
    "DictNode": _Builder.dictionary,
    "FunctionNode": lambda _, node: _type_of(node),
    "JsonNode": lambda _, node: json.loads(node["content"]),
    "ListNode": _Builder.items,
    "LossNode": _Builder.reduced,
    "NdArrayNode": _Builder.array,
    "ObjectNode": _Builder.instance,
    "RandomStateNode": _Builder.random_state,
    "SetNode": lambda builder, node: set(builder.items(node)),
    "SliceNode": lambda _, node: slice(*map(node["content"].get, ("start", "stop", "step"))),
    "SparseMatrixNode": lambda builder, node: builder.arrays[node["file"]],
    "TreeNode": _Builder.reduced,
    "TupleNode": lambda builder, node: tuple(builder.items(node)),
    "TypeNode": lambda _, node: _type_of(node),
}
