"""An ONNX graph, built by operations on the names of tensors and on NumPy arrays."""

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from labelkin._utils.optional import import_optional
from labelkin.base import Array, Matrix

# Opset 17 and IR version 8 are of 2022, so that older runtimes can run the files. A graph with an
# operator that came later requires the later set.
OPSET = 17
_SINCE = {"StringConcat": 20}
_IR_VERSION = {17: 8, 20: 9}
_DOMAINS = {"ai.onnx.ml": 3, "com.microsoft": 1}

# The size limit of a protocol buffer, and so of an ONNX file.
_LIMIT = 2**31 - 2**20


class Tensor(NamedTuple):
    """A tensor with one row per sample, (N, d): its name in the graph, and its type.

    Strings have the type object, as in NumPy.
    """

    name: str
    dtype: np.dtype


class Columns(NamedTuple):
    """Samples of which some features are strings: one tensor (N, 1) per feature."""

    columns: list[Tensor]


class Graph:
    """An ONNX graph to which nodes are added.

    Equal arrays are stored once: the members of an ensemble have the same label matrix. Generated
    names differ from those of the inputs. `max_bytes` bounds the size of all constants.
    """

    def __init__(self, inputs: Sequence[str] = (), max_bytes: int = _LIMIT) -> None:
        onnx = import_optional("onnx", "onnx")
        self._helper, self._arrays = onnx.helper, onnx.numpy_helper
        self._nodes: list[Any] = []
        self._constants: dict[bytes, Any] = {}
        self._bytes, self._max_bytes = 0, max_bytes
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
            self.reserve(array.nbytes)
            name = f"{self._prefix}constant_{len(self._constants)}"
            self._constants[key] = self._arrays.from_array(array, name)
        return self._constants[key].name

    def reserve(self, n_bytes: int) -> None:
        """Count the bytes of a constant; raise ValueError where a file cannot hold them all."""
        self._bytes += n_bytes
        if self._bytes > self._max_bytes:
            raise ValueError(
                "The model is too large for an ONNX file, which holds at most 2 GB: train it "
                "with fewer members, or on fewer samples."
            )

    def op(
        self, kind: str, *inputs: str | Array | np.generic, output: str = "", **attributes: Any
    ) -> str:
        """Add a node and return the name of its output; arrays among the inputs are stored."""
        return self.ops(kind, *inputs, outputs=[output], **attributes)[0]

    def ops(
        self,
        kind: str,
        *inputs: str | Array | np.generic,
        outputs: Sequence[str],
        **attributes: Any,
    ) -> list[str]:
        """Add a node with several outputs; an empty name is replaced by a generated one."""
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

    def split(self, strings: str, **how: Any) -> str:
        """Add the parts of each string, one row per string, by an operator of ONNX Runtime."""
        domain = "com.microsoft"
        name = self.op("Tokenizer", strings, domain=domain, mark=0, mincharnum=1, **how)
        # The type and shape are unknown after a runtime's own operator.
        self._declared.append(self._described(name, object, [None, None]))
        return name

    def _described(self, name: str, dtype: DTypeLike, shape: Sequence[Any]) -> Any:
        kind = self._helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self._helper.make_tensor_value_info(name, kind, shape)

    def loop(
        self, step: Callable[[str, str], tuple[str | None, str]], rows: Tensor, count: str = ""
    ) -> str:
        """Add a loop: `step` takes a round's number, from 0, and a matrix, at first `rows`.

        It returns whether to continue, None for always, and the next matrix. `count` is the largest
        number of rounds; without it there is at least one.
        """
        outer, self._nodes = self._nodes, []
        number, go, matrix = (f"{self._prefix}loop_{self._count}_{name}" for name in "ngx")
        again, after = step(number, matrix)
        again = again or self.op("Identity", np.array(True))
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
        return self.op("Loop", count, np.array(True), rows.name, body=body)

    def matrix(self, values: Matrix) -> str:
        """Store a matrix, dense or CSR, and return the name of its numbers, dense and in double.

        The file holds only the numbers that are not zero where these are few, and each in the
        smallest type in which it is exact.
        """
        if values.dtype == np.float16:  # not known to SciPy
            values = values.astype(np.float32)
        known = sparse.csr_array(values)
        known.sum_duplicates()
        n, k = known.shape
        if 2 * known.nnz > n * k:
            return self.double(_smallest_type(known.toarray()))
        rows = np.repeat(np.arange(n), np.diff(known.indptr))
        places = rows * k + known.indices
        places = places.astype(np.int32 if n * k < 2**31 else np.int64)
        zeros = self.zeros(np.array([n * k]))
        found = self.double(_smallest_type(known.data))
        filled = self.op("ScatterElements", zeros, self.cast(self.constant(places), "i8"), found)
        return self.op("Reshape", filled, np.array([n, k]))

    def zeros(self, shape: str | Array) -> str:
        """Add zeros in double."""
        return self.op("ConstantOfShape", shape, value=self.attribute(np.zeros(1)))

    def attribute(self, array: Array) -> Any:
        """Return an array as the attribute of a node."""
        self.reserve(array.nbytes)
        return self._arrays.from_array(array)

    def double(self, array: Array) -> str:
        """Store an array in its own type, and return the name of its numbers in double."""
        array = np.asarray(array)
        name = self.constant(array)
        return name if array.dtype == np.float64 else self.cast(name, np.float64)

    def promote(self, rows: Tensor, dtype: DTypeLike) -> Tensor:
        """Return rows in the wider of two types, as NumPy's arithmetic does."""
        wider = np.result_type(rows.dtype, dtype)
        return rows if wider == rows.dtype else Tensor(self.cast(rows.name, wider), wider)

    def apply(self, kind: str, rows: Tensor, *values: Any) -> Tensor:
        """Combine each row with values in the type of the rows, as scikit-learn does."""
        inputs = [np.asarray(value, dtype=rows.dtype) for value in values]
        return rows._replace(name=self.op(kind, rows.name, *inputs))

    def unit_rows(self, rows: Tensor, norm: str = "l2") -> Tensor:
        """Scale rows to length 1; rows of zeros stay as they are."""
        zero, one = np.array(0, dtype=rows.dtype), np.array(1, dtype=rows.dtype)
        sizes = self.op("Abs", rows.name) if norm == "l1" else self.op("Mul", rows.name, rows.name)
        norms = self.op("ReduceSum", sizes, np.array([1]), keepdims=1)
        norms = norms if norm == "l1" else self.op("Sqrt", norms)
        norms = self.op("Where", self.op("Greater", norms, zero), norms, one)
        return rows._replace(name=self.op("Div", rows.name, norms))

    def project(self, rows: Tensor, components: Array) -> Tensor:
        """Return X Wᵀ."""
        rows = self.promote(rows, components.dtype)
        return self.apply("MatMul", rows, components.T)

    def hstack(self, parts: Sequence[Tensor]) -> Tensor:
        """Concatenate columns, in the widest of their types."""
        if len(parts) == 1:
            return parts[0]
        dtype = np.result_type(*(part.dtype for part in parts))
        names = [self.promote(part, dtype).name for part in parts]
        return Tensor(self.op("Concat", *names, axis=1), dtype)

    def columns(self, rows: Tensor | Columns, places: Sequence[int]) -> Tensor | Columns:
        """Return some columns: as one matrix, unless they are of different types."""
        if isinstance(rows, Tensor):
            return rows._replace(name=self.op("Gather", rows.name, np.array(places), axis=1))
        found = [rows.columns[place] for place in places]
        kinds = {column.dtype for column in found}
        return self.hstack(found) if len(kinds) == 1 else Columns(found)

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


def _smallest_type(values: Array) -> Array:
    """Return numbers in the smallest type in which all of them are exact."""
    if values.size and values.min() >= 0 and (values.astype(np.uint8) == values).all():
        return values.astype(np.uint8)
    single = values.astype(np.float32)
    return single if (single == values).all() else values
