"""A fitted model as JSON and one block of numbers, and back.

None, booleans, numbers, strings and lists stand for themselves. Everything else is a JSON object
with one key, which is one of `_TAGS`. The numbers of all arrays follow each other in the block, in
the order in which the JSON mentions them, so that no array can be read twice or beyond its end.
An object, array or tree that occurs again is the number of its first occurrence, counted from 0:
there are no cycles.
"""

import math
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.tree._tree import NODE_DTYPE, Tree

from labelkin._utils.untrusted import array_of, check_compressed
from labelkin.persistence._types import (
    OBJECTS,
    VALUES,
    check_nodes,
    check_object,
    check_vector,
    object_path,
)

_PLAIN = frozenset({type(None), bool, int, float, str})
_SPARSE = {"csr_array": sparse.csr_array, "csr_matrix": sparse.csr_matrix}
# What can be shared by several parts of a model.
_SHARED = frozenset({"array", "tree", "random_state", "object", *_SPARSE})
# A small file could make a model of 2^60 parts by mentioning each part twice in the next.
_MAX_PARTS = 10**7
_MAX_DEPTH = 100
_MAX_DIMENSIONS = 64
_MT19937_WORDS = 624


class Encoder:
    """Encodes one model; `unknown` are the names of types that would not be loaded."""

    def __init__(self, trusted: Iterable[str] = ()) -> None:
        self.unknown: set[str] = set()
        self._trusted = set(trusted)
        self._names = {path: name for name, (path, _) in OBJECTS.items()}
        self._names |= {path: name for name, path in VALUES.items()}
        self.blocks: list[bytes] = []
        self._shared: list[Any] = []  # held, so that no id is used twice
        self._numbers: dict[int, int] = {}

    def encode(self, value: Any) -> Any:
        """Return a value as JSON."""
        if type(value) in _PLAIN:
            return value
        if type(value) is list:
            return [self.encode(item) for item in value]
        if id(value) in self._numbers:
            return {"again": self._numbers[id(value)]}
        tag, content = self._encode(value, type(value))
        if tag in _SHARED:
            self._numbers[id(value)] = len(self._shared)
            self._shared.append(value)
        return {tag: content}

    def _encode(self, value: Any, kind: Any) -> tuple[str, Any]:
        """Return tag and content."""
        if kind is dict:
            return "dict", [self.encode([*value]), self.encode([*value.values()])]
        if kind is tuple:
            return "tuple", self.encode([*value])
        if kind is slice:
            return "slice", self.encode([value.start, value.stop, value.step])
        if isinstance(value, np.generic):
            return "scalar", [value.dtype.str, value.item()]
        if isinstance(value, np.dtype):
            return "dtype", value.str
        if isinstance(value, np.ndarray) and value.dtype == object:
            return "objects", [list(value.shape), self.encode(value.ravel().tolist())]
        if isinstance(value, np.ndarray):
            return "array", self._encode_array(value)
        if kind.__name__ in _SPARSE and sparse.issparse(value):
            parts = value.data, value.indices, value.indptr
            return kind.__name__, [list(map(int, value.shape)), *map(self.encode, parts)]
        if kind is np.random.RandomState:
            state: Any = value.get_state(legacy=False)
            words = state["state"]["key"], int(state["state"]["pos"])
            return "random_state", self.encode([*words, state["has_gauss"], state["gauss"]])
        if kind is Tree:
            state = value.__getstate__()
            return "tree", self.encode(
                [int(value.n_features), value.n_classes, state["nodes"], state["values"]]
            )
        if isinstance(value, np.ufunc):
            if vars(np).get(name := value.__name__) is not value:
                raise ValueError(f"the ufunc {name} is not NumPy's; call it in a function of yours")
            return "name", f"numpy.{name}"  # before NumPy 2.2 it has no qualified name
        if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
            return "name", self._name(value)
        state = value.__getstate__() or {}
        if not (isinstance(state, dict) and hasattr(value, "__dict__")):
            raise ValueError(f"{kind.__name__} has a state that is not a dictionary")
        state = {key: self.encode(part) for key, part in state.items() if key != "_sklearn_version"}
        return "object", [self._name(kind), state]

    def _encode_array(self, array: np.ndarray) -> list[Any]:
        spec: Any = array.dtype.str
        if array.dtype.names is not None:  # without the gaps between fields
            spec = [(name, array.dtype[name].str) for name in array.dtype.names]
            array = array.astype(np.dtype(spec))
        order: Any = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
        self.blocks.append(array.tobytes(order))
        return [spec, list(array.shape), order]

    def _name(self, kind: Any) -> str:
        path = f"{kind.__module__}.{kind.__qualname__}"
        public = kind.__name__ if object_path(kind.__name__) == path else None
        name = self._names.get(path, public)
        if name is None:
            module, _, attribute = path.rpartition(".")
            is_found = getattr(sys.modules.get(module), attribute, None) is kind
            if path not in self._trusted:
                self.unknown.add(path)
                is_found = is_found and module != "__main__"  # which is another one elsewhere
            if not is_found:  # a lambda, or a method of an object
                cure = "import a function or class from a module"
                raise ValueError(f"{path} would not be found when it is loaded; {cure}")
        return name or path


class Decoder:
    """Builds one model, part by part; each part is checked as soon as it is complete.

    Nothing is imported or called that `labelkin.persistence._types` or `trusted` does not name.
    """

    def __init__(self, block: bytes, trusted: Iterable[str] = ()) -> None:
        self._trusted = set(trusted)
        self._block, self._at = memoryview(block), 0
        self._n_parts = 0
        self._shared: list[tuple[Any, int]] = []  # with the number of parts

    def decode_all(self, value: Any) -> Any:
        """Return the model; the whole block must be used."""
        model = self.decode(value)
        if self._at != len(self._block):
            raise ValueError("the block of numbers is longer than the arrays")
        return model

    def decode(self, value: Any, depth: int = 0) -> Any:
        """Return what a value of JSON stands for."""
        if depth > _MAX_DEPTH:
            raise ValueError(f"it is nested more than {_MAX_DEPTH} deep")
        self._count(1)
        if type(value) in _PLAIN:
            return value
        if isinstance(value, list):
            return [self.decode(item, depth + 1) for item in value]
        ((tag, content),) = value.items()
        if tag == "again":
            found, size = self._shared[_index(content)]
            self._count(size)
            if isinstance(found, np.ndarray):
                found.flags.writeable = False  # or one part could change another after its check
            return found
        before = self._n_parts
        found = _TAGS[tag](self, content, depth + 1)
        if tag in _SHARED:
            self._shared.append((found, self._n_parts - before))
        return found

    def _count(self, number: int) -> None:
        self._n_parts += number
        if self._n_parts > _MAX_PARTS:
            raise ValueError(f"it has more than {_MAX_PARTS:,} parts")

    def _items(self, content: Any, depth: int) -> list[Any]:
        if not isinstance(content, list):
            raise ValueError("a part of the model is not a list")
        return self.decode(content, depth)

    def _dict(self, content: Any, depth: int) -> dict[Any, Any]:
        keys, values = self._items(content, depth)
        # Others can be chosen to have the same hash: n of them would take n² steps.
        for key in keys:
            plain = type(key) in _PLAIN or isinstance(key, np.generic)
            if not plain or (type(key) is int and abs(key) >= 2**63):
                raise ValueError("a key of a dictionary is not a name or a number")
        return dict(zip(keys, values, strict=True))

    def _slice(self, content: Any, depth: int) -> slice:
        start, stop, step = content
        if not all(bound is None or type(bound) is int for bound in content):
            raise ValueError("a slice has bounds that are not whole numbers")
        return slice(start, stop, step)

    def _scalar(self, content: Any, depth: int) -> Any:
        spec, value = content
        dtype = _dtype(spec)
        if type(value) not in _PLAIN or dtype.kind not in "biufU":  # others have the value as size
            raise ValueError("a number has an unknown form")
        return dtype.type(value)

    def _objects(self, content: Any, depth: int) -> np.ndarray:
        shape, items = content
        found = np.empty(len(items), dtype=object)
        found[:] = self._items(items, depth)
        return found.reshape(_shape(shape))

    def _array(self, content: Any, depth: int) -> np.ndarray:
        spec, shape, order = content
        dtype, shape = _dtype(spec), _shape(shape)
        start, self._at = self._at, self._at + math.prod(shape) * dtype.itemsize
        if order not in ("C", "F"):
            raise ValueError("an array has an unknown order")
        return array_of(self._block[start : self._at], dtype, shape, order)

    def _sparse(self, content: Any, depth: int, kind: Any) -> Any:
        shape, *parts = content
        data, indices, indptr = (self.decode(part, depth) for part in parts)
        check_compressed(data, indices, indptr, shape)
        found = kind((data, indices, indptr), shape=tuple(shape))
        # The arrays themselves in place of SciPy's views: those that are shared become read-only.
        for name, array in (("data", data), ("indices", indices), ("indptr", indptr)):
            if getattr(found, name).dtype == array.dtype:
                setattr(found, name, array)
        return found

    def _random_state(self, content: Any, depth: int) -> np.random.RandomState:
        words, position, has_gauss, gauss = self._items(content, depth)
        check_vector(words, "u", _MT19937_WORDS)
        if _index(position) > _MT19937_WORDS:  # NumPy follows it without a check
            raise ValueError("a random state has an invalid position")
        found = np.random.RandomState(0)  # a seed of its own, which is faster than the system's
        found.set_state(("MT19937", words, position, int(has_gauss), float(gauss)))
        return found

    def _tree(self, content: Any, depth: int) -> Tree:
        width, n_classes, nodes, values = self._items(content, depth)
        # NumPy casts records by position: their fields have other values before.
        nodes = np.ascontiguousarray(nodes.astype(NODE_DTYPE))
        n_nodes, max_depth = check_nodes(nodes, n_classes, values, _index(width))
        tree = Tree(width, n_classes.astype(np.intp), len(n_classes))
        values = np.ascontiguousarray(values)
        state = {"max_depth": max_depth, "node_count": n_nodes, "nodes": nodes, "values": values}
        tree.__setstate__(state)
        return tree

    def _value(self, name: Any, depth: int) -> Any:
        return self._find(name, VALUES.get(name))

    def _object(self, content: Any, depth: int) -> Any:
        name, state = content
        kind = self._find(name, object_path(name))
        found = kind.__new__(kind)
        found.__dict__.update({key: self.decode(part, depth) for key, part in state.items()})
        if name not in self._trusted:
            check_object(found, name)
        return found

    def _find(self, name: str, path: str | None) -> Any:
        if path is None and name not in self._trusted:
            raise UnknownTypeError(name)
        module, _, attribute = (path or name).rpartition(".")
        return getattr(import_module(module), attribute)


def paths_of(names: Iterable[str]) -> set[str]:
    """Return names of types and functions, and the paths of the modules that define them."""
    found = {*names}
    for name in [*found]:
        module, _, attribute = name.rpartition(".")
        with suppress(Exception):  # another name than that of a type or function
            kind = getattr(import_module(module), attribute)
            found.add(f"{kind.__module__}.{kind.__qualname__}")
    return found


class UnknownTypeError(ValueError):
    """A file names a type that is not on the list; the message is the name."""


def _index(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError("a size or position in the model is not a whole number from 0")
    return value


def _shape(lengths: Any) -> list[int]:
    if len(lengths) > _MAX_DIMENSIONS:  # their product would take as long as the file wants
        raise ValueError("an array has too many dimensions")
    return [_index(length) for length in lengths]


def _dtype(spec: Any) -> np.dtype:
    """Return a dtype of plain values, or a record of such."""
    dtype = np.dtype(spec if isinstance(spec, str) else [(name, form) for name, form in spec])
    parts = [dtype] if isinstance(spec, str) else [dtype[name] for name in dtype.names or ()]
    if any(part.kind not in "biufUS" for part in parts):
        raise ValueError(f"{dtype} is not a type of numbers or strings")
    return dtype


_TAGS: dict[str, Any] = {
    "array": Decoder._array,
    "dict": Decoder._dict,
    "dtype": lambda _, spec, depth: np.dtype(object) if spec == "|O" else _dtype(spec),
    "name": Decoder._value,
    "object": Decoder._object,
    "objects": Decoder._objects,
    "random_state": Decoder._random_state,
    "scalar": Decoder._scalar,
    "slice": Decoder._slice,
    "tree": Decoder._tree,
    "tuple": lambda decoder, content, depth: tuple(decoder._items(content, depth)),
} | {
    name: lambda decoder, content, depth, kind=kind: decoder._sparse(content, depth, kind)
    for name, kind in _SPARSE.items()
}
