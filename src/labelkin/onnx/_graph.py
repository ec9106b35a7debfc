"""Write an ONNX graph as one writes NumPy: operations on names and arrays."""

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from labelkin._utils.optional import import_optional
from labelkin.base import Array

# Old enough for the runtimes of the last years: operators of 2022 in a file of the same year.
# Some operators came later; only a graph that has one asks for the later set.
OPSET = 17
_SINCE = {"StringConcat": 20}
_IR_VERSION = {17: 8, 20: 9}
_DOMAINS = {"ai.onnx.ml": 3, "com.microsoft": 1}

# A protocol buffer holds no more, and ONNX files are such.
_LIMIT = 2**31 - 2**20


class Rows(NamedTuple):
    """A tensor of samples in the graph, (N, d): its name, and the type of its cells.

    Words have the type object, as in NumPy.
    """

    name: str
    dtype: np.dtype


class Table(NamedTuple):
    """Samples of which some columns are words: each column for itself, (N, 1)."""

    columns: list[Rows]


class Graph:
    """An ONNX graph that grows node by node.

    Equal arrays are stored once: the members of an ensemble share their label matrix.

    Parameters
    ----------
    inputs : sequence of str
        Names the graph's inputs will have; made-up names differ from them.
    """

    def __init__(self, inputs: Sequence[str] = ()) -> None:
        onnx = import_optional("onnx", "onnx")
        self._helper, self._arrays = onnx.helper, onnx.numpy_helper
        self._nodes: list[Any] = []
        self._constants: dict[bytes, Any] = {}
        self._bytes = 0
        self._count = 0
        self._prefix = "/"
        while any(name.startswith(self._prefix) for name in inputs):
            self._prefix += "/"
        self._opset, self._domains = OPSET, set[str]()
        self._declared: list[Any] = []

    def constant(self, array: Array | np.generic) -> str:
        """Store an array, and return its name."""
        array = np.asarray(array, order="C")
        content = repr(array.tolist()).encode() if array.dtype == object else array.tobytes()
        key = sha256(f"{array.dtype}{array.shape}".encode() + content).digest()
        if key not in self._constants:
            self._bytes += array.nbytes
            if self._bytes > _LIMIT:
                raise ValueError(
                    "The model is too large for an ONNX file, which holds at most 2 GB: train it "
                    "with fewer members, or on fewer samples."
                )
            name = f"{self._prefix}constant_{len(self._constants)}"
            self._constants[key] = self._arrays.from_array(array, name)
        return self._constants[key].name

    def op(
        self, kind: str, *inputs: str | Array | np.generic, output: str = "", **attributes: Any
    ) -> str:
        """Add a node; inputs are names, or arrays, which become constants. Return its name."""
        return self.ops(kind, *inputs, outputs=[output], **attributes)[0]

    def ops(
        self,
        kind: str,
        *inputs: str | Array | np.generic,
        outputs: Sequence[str],
        **attributes: Any,
    ) -> list[str]:
        """Add a node of several outputs; an empty name is made up."""
        place = f"{self._prefix}{kind.lower()}_{self._count}"
        self._count += 1
        self._opset = max(self._opset, _SINCE.get(kind, 0))
        self._domains |= {attributes["domain"]} if "domain" in attributes else set()
        names = [name or f"{place}_{number}" for number, name in enumerate(outputs)]
        given = [item if isinstance(item, str) else self.constant(item) for item in inputs]
        self._nodes.append(self._helper.make_node(kind, given, names, place, **attributes))
        return names

    def cast(self, name: str, dtype: DTypeLike, output: str = "") -> str:
        """Change the type of the numbers."""
        to = self._helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.op("Cast", name, to=to, output=output)

    def declare(self, name: str, dtype: DTypeLike, shape: Sequence[Any]) -> str:
        """Say what a tensor is where the checker cannot know: after a runtime's own operator."""
        self._declared.append(self._described(name, dtype, shape))
        return name

    def _described(self, name: str, dtype: DTypeLike, shape: Sequence[Any]) -> Any:
        kind = self._helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self._helper.make_tensor_value_info(name, kind, shape)

    def repeat(self, step: Callable[[str], tuple[str, str]], rows: Rows) -> str:
        """Add a loop: `step` takes a matrix and returns whether to go on, and the next one.

        It is taken at least once.
        """
        outer, self._nodes = self._nodes, []
        number, go, matrix = (f"{self._prefix}loop_{self._count}_{name}" for name in "ngx")
        again, after = step(matrix)
        inputs: list[Any] = [
            (number, np.int64, []),
            (go, np.bool_, []),
            (matrix, rows.dtype, [None, None]),
        ]
        outputs: list[Any] = [(again, np.bool_, []), (after, rows.dtype, [None, None])]
        body = self._helper.make_graph(
            self._nodes,
            "step",
            [self._described(*tensor) for tensor in inputs],
            [self._described(*tensor) for tensor in outputs],
        )
        self._nodes = outer
        return self.op("Loop", "", np.array(True), rows.name, body=body)

    def double(self, array: Array) -> str:
        """Store an array in its own type, and return the name of its numbers in double."""
        array = np.asarray(array)
        name = self.constant(array)
        return name if array.dtype == np.float64 else self.cast(name, np.float64)

    def promote(self, rows: Rows, dtype: DTypeLike) -> Rows:
        """Return rows in the wider of two types, as NumPy's arithmetic does."""
        wider = np.result_type(rows.dtype, dtype)
        return rows if wider == rows.dtype else Rows(self.cast(rows.name, wider), wider)

    def project(self, rows: Rows, components: Array) -> Rows:
        """Return X Wᵀ."""
        rows = self.promote(rows, components.dtype)
        return Rows(self.op("MatMul", rows.name, components.T.astype(rows.dtype)), rows.dtype)

    def hstack(self, parts: Sequence[Rows]) -> Rows:
        """Put columns side by side, in the widest of their types."""
        if len(parts) == 1:
            return parts[0]
        dtype = np.result_type(*(part.dtype for part in parts))
        names = [self.promote(part, dtype).name for part in parts]
        return Rows(self.op("Concat", *names, axis=1), dtype)

    def columns(self, rows: Rows | Table, places: Sequence[int]) -> Rows | Table:
        """Return some columns: as one matrix, unless they are of different kinds."""
        if isinstance(rows, Rows):
            return rows._replace(name=self.op("Gather", rows.name, np.array(places), axis=1))
        found = [rows.columns[place] for place in places]
        kinds = {column.dtype for column in found}
        return self.hstack(found) if len(kinds) == 1 else Table(found)

    def model(
        self,
        inputs: Mapping[str, tuple[Any, Sequence[Any]]],
        outputs: Mapping[str, tuple[Any, Sequence[Any]]],
        metadata: dict[str, str],
        **about: Any,
    ) -> Any:
        """Return the checked model; inputs and outputs by name: NumPy type and shape."""
        graph = self._helper.make_graph(
            self._nodes,
            "labelkin",
            [self._described(name, *kind) for name, kind in inputs.items()],
            [self._described(name, *kind) for name, kind in outputs.items()],
            list(self._constants.values()),
            value_info=self._declared,
        )
        sets = {"": self._opset, **{domain: _DOMAINS[domain] for domain in sorted(self._domains)}}
        model = self._helper.make_model(
            graph,
            opset_imports=[self._helper.make_opsetid(*item) for item in sets.items()],
            ir_version=_IR_VERSION[self._opset],
            producer_name="labelkin",
            **about,
        )
        self._helper.set_model_props(model, metadata)
        import_optional("onnx.checker", "onnx").check_model(model, full_check=True)
        return model
