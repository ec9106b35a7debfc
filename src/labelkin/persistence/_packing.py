"""The trees of a forest in two arrays and the words of a vocabulary in one, as they are stored.

A file describes a tree of its own in 27 nodes of schema. The thousand trees of a forest would
take megabytes and seconds, whatever their size.
"""

import inspect
import json
from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np


class PackedWords:
    """The vocabulary of a vectoriser of texts: a file would describe each word in two nodes.

    `words` is a JSON list, `columns` an array with the column of each word.
    """

    def __init__(self, words: str, columns: np.ndarray) -> None:
        self.words, self.columns = words, columns

    def unpack(self) -> dict[str, int]:
        """Return the vocabulary; ValueError if it is not one of words and columns."""
        words = json.loads(self.words)
        strings = isinstance(words, list) and all(isinstance(word, str) for word in words)
        if not strings or self.columns.dtype.kind != "i" or self.columns.shape != (len(words),):
            raise ValueError("the words and columns of a vocabulary do not fit together")
        return dict(zip(words, self.columns.tolist(), strict=True))


class PackedTrees:
    """Fitted trees of scikit-learn that differ in nothing but their nodes and seeds.

    `template` is one of the trees, without its nodes; `n_classes` has the number of classes per
    output; `nodes` and `values` are those of all trees, one tree after the other; `counts`,
    `depths` and `seeds` have the number of nodes, the depth and the ``random_state`` of each tree.
    """

    def __init__(
        self,
        template: Any,
        n_classes: np.ndarray,
        nodes: np.ndarray,
        values: np.ndarray,
        counts: np.ndarray,
        depths: np.ndarray,
        seeds: np.ndarray,
    ) -> None:
        self.template, self.n_classes = template, n_classes
        self.nodes, self.values = nodes, values
        self.counts, self.depths, self.seeds = counts, depths, seeds

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
    """Return a model with its trees and vocabularies packed; the model itself is not changed."""
    return _Packing().visit(model)


def unpack_forests(model: Any) -> None:
    """Give the forests of a model, packed by `pack_model` and checked, their trees."""
    for part in iterate_parts(model):
        if _is_forest(part) and isinstance(part.estimators_, PackedTrees):
            part.estimators_ = part.estimators_.unpack()


def unpack_words(model: Any) -> None:
    """Give the vectorisers of a model, packed by `pack_model`, their vocabularies."""
    for part in iterate_parts(model):
        if isinstance(words := vars_of(part).get("vocabulary_"), PackedWords):
            part.vocabulary_ = words.unpack()


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


class _Packing:
    """One walk through a model, which copies what holds a forest and nothing else."""

    def __init__(self) -> None:
        self.visited: dict[int, Any] = {}

    def visit(self, part: Any) -> Any:
        if id(part) not in self.visited:
            self.visited[id(part)] = part  # until it is known, for an object inside itself
            self.visited[id(part)] = self._visit_inner(part)
        return self.visited[id(part)]

    def _visit_inner(self, part: Any) -> Any:
        if type(part) is dict:
            found = {key: self.visit(value) for key, value in part.items()}
            return found if any(found[key] is not part[key] for key in part) else part
        if type(part) in (list, tuple):
            items = [self.visit(item) for item in part]
            same = all(a is b for a, b in zip(items, part, strict=True))
            return part if same else type(part)(items)
        if type(part).__module__.partition(".")[0] not in ("labelkin", "sklearn"):
            return part
        state = vars_of(part)
        changed = self._visit_inner(state) if state else state
        if type(words := state.get("vocabulary_")) is dict and all(map(_is_word, words.items())):
            columns = np.array([*words.values()], dtype=np.int64)
            changed = {**changed, "vocabulary_": PackedWords(json.dumps([*words]), columns)}
        if _is_forest(part) and (trees := _pack(part.estimators_)) is not None:
            changed = {**changed, "estimators_": trees}
        if changed is state:
            return part
        found = copy(part)
        found.__dict__.update(changed)
        return found


def _is_word(item: tuple[Any, Any]) -> bool:
    word, column = item
    return type(word) is str and isinstance(column, (int, np.integer))


def _is_forest(part: Any) -> bool:
    return type(part).__module__ == "sklearn.ensemble._forest" and "estimators_" in vars_of(part)


def _pack(trees: Any) -> PackedTrees | None:
    """Return trees in their packed form, None where they differ in more than nodes and seeds."""
    first = trees[0] if isinstance(trees, list) and trees else None
    if first is None or not all(_alike(tree, first) for tree in trees):
        return None
    states = [tree.tree_.__getstate__() for tree in trees]
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


def _without_padding(records: np.ndarray) -> np.ndarray:
    """Return records with zeros between their fields, where random memory would be stored."""
    found = np.zeros_like(records)
    for name in records.dtype.names or ():
        found[name] = records[name]
    return found


def _alike(tree: Any, first: Any) -> bool:
    ours, theirs = vars_of(tree), vars_of(first)
    if type(tree) is not type(first) or ours.keys() != theirs.keys() or "tree_" not in ours:
        return False
    if not isinstance(tree.random_state, (int, np.integer)):
        return False
    shapes = [(t.n_features, t.n_outputs, *t.n_classes) for t in (tree.tree_, first.tree_)]
    if shapes[0] != (first.n_features_in_, *shapes[1][1:]):
        return False
    names = ours.keys() - {"tree_", "random_state"}
    return all(_equal(ours[name], theirs[name]) for name in names)


def _equal(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    plain = (bool, int, float, str, np.generic)
    return type(one) is type(other) and isinstance(one, plain) and bool(one == other)
