"""The trees of a forest in two arrays and the words of a vocabulary in one, as they are stored.

A file describes a tree of its own in 27 nodes of schema. The thousand trees of a forest would
take megabytes and seconds, whatever their size.
"""

import inspect
import json
from collections.abc import Iterator
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import hash as hash_content
from scipy import sparse


@dataclass
class PackedWords:
    """The vocabulary of a vectoriser of texts: a file would describe each word in two nodes."""

    words: str
    """A list in JSON."""
    columns: np.ndarray
    """Column of each word."""

    def unpack(self) -> dict[str, int]:
        """Return the vocabulary."""
        return dict(zip(json.loads(self.words), self.columns.tolist(), strict=True))


@dataclass
class PackedTrees:
    """Fitted trees of scikit-learn that differ in nothing but their nodes and seeds."""

    template: Any
    """One of the trees, without its nodes."""
    n_classes: np.ndarray
    """Number of classes per output."""
    nodes: np.ndarray
    values: np.ndarray
    """Nodes and values of all trees, one tree after the other."""
    counts: np.ndarray
    depths: np.ndarray
    seeds: np.ndarray
    """Number of nodes, depth and ``random_state`` of each tree."""

    def unpack(self) -> list[Any]:
        """Return the trees."""
        from sklearn.tree._tree import NODE_DTYPE, Tree

        nodes = self.nodes
        if nodes.dtype.names == NODE_DTYPE.names:
            nodes = nodes.astype(NODE_DTYPE)  # at once, in a tenth of the time it takes per tree
        ends = np.cumsum(self.counts)
        shape = self.template.n_features_in_, self.n_classes, len(self.n_classes)
        trees = []
        for i, end in enumerate(ends.tolist()):
            part = slice(end - int(self.counts[i]), end)
            tree = copy(self.template)
            tree.random_state = int(self.seeds[i])
            tree.tree_ = Tree(*shape)
            tree.tree_.__setstate__(
                {
                    "max_depth": int(self.depths[i]),
                    "node_count": int(self.counts[i]),
                    "nodes": np.ascontiguousarray(nodes[part]),
                    "values": np.ascontiguousarray(self.values[part]),
                }
            )
            trees.append(tree)
        return trees


def pack_model(model: Any) -> Any:
    """Return a copy of a model with its trees and vocabularies packed; arrays are shared."""
    replacements: dict[int, Any] = {}  # by the ids of what they stand for, as deepcopy takes them
    for part in iterate_parts(model):
        if isinstance(part, np.ndarray) or sparse.issparse(part):
            replacements[id(part)] = part
        words = vars_of(part).get("vocabulary_")
        if type(words) is dict and all(map(_is_word, words.items())):
            columns = np.array([*words.values()], dtype=np.int64)
            replacements[id(words)] = PackedWords(json.dumps([*words]), columns)
        if _is_forest(part) and (trees := _pack(part.estimators_)) is not None:
            replacements[id(part.estimators_)] = trees
    return deepcopy(model, replacements)


def unpack_model(model: Any) -> None:
    """Give a model, packed by `pack_model` and checked, its trees and vocabularies."""
    for part in iterate_parts(model):
        state = vars_of(part)
        for name, value in state.items():
            if isinstance(value, PackedTrees | PackedWords):
                state[name] = value.unpack()


def iterate_parts(model: Any) -> Iterator[Any]:
    """Yield a model and everything inside it, each object once."""
    waiting, seen = [model], {id(model)}
    while waiting:
        part = waiting.pop()
        yield part
        for item in _inner(part):
            if id(item) not in seen:
                seen.add(id(item))
                waiting.append(item)


def _inner(part: Any) -> Any:
    if isinstance(part, np.ndarray):
        return part.ravel() if part.dtype == object else ()
    if isinstance(part, dict):
        return part.values()
    if isinstance(part, (list, tuple, set)):
        return part
    return vars_of(part).values()


def vars_of(part: Any) -> dict[str, Any]:
    """Return the state of an object; that of a type or a function is its own."""
    state = getattr(part, "__dict__", None)
    return state if state and not (isinstance(part, type) or inspect.isroutine(part)) else {}


def _is_word(item: tuple[Any, Any]) -> bool:
    word, column = item
    return type(word) is str and isinstance(column, (int, np.integer))


def _is_forest(part: Any) -> bool:
    return type(part).__module__ == "sklearn.ensemble._forest" and "estimators_" in vars_of(part)


def _pack(trees: Any) -> PackedTrees | None:
    """Return trees in their packed form, None where they differ in more than nodes and seeds."""
    if not isinstance(trees, list) or len({_all_but_nodes(tree) for tree in trees}) != 1:
        return None
    first, states = trees[0], [tree.tree_.__getstate__() for tree in trees]
    template = copy(first)
    del template.tree_
    template.random_state = None
    return PackedTrees(
        template,
        first.tree_.n_classes,
        _without_padding(np.concatenate([state["nodes"] for state in states])),
        np.concatenate([state["values"] for state in states]),
        np.array([state["node_count"] for state in states]),
        np.array([state["max_depth"] for state in states]),
        np.array([tree.random_state for tree in trees]),
    )


def _all_but_nodes(tree: Any) -> Any:
    """Return a hash of a tree without its nodes and seed; unique where it cannot be packed."""
    state = dict(vars_of(tree))
    nodes, seed = state.pop("tree_", None), state.pop("random_state", None)
    whole = nodes is not None and isinstance(seed, (int, np.integer))
    if not whole or nodes.n_features != tree.n_features_in_:
        return object()
    return hash_content((type(tree), state, nodes.n_outputs, nodes.n_classes))


def _without_padding(records: np.ndarray) -> np.ndarray:
    """Return records with zeros between their fields, where random memory would be stored."""
    found = np.zeros_like(records)
    for name in records.dtype.names or ():
        found[name] = records[name]
    return found
