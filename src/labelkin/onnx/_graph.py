"""An ONNX graph, written as arithmetic on tensors: ``(rows - mean) / scale``."""

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from labelkin._utils.optional import import_optional
from labelkin.base import Array, Matrix

# The set of operators by domain, old ones so that older runtimes can run the files. A graph with
# an operator that came later requires the later set.
_OPSETS = {"": 17, "ai.onnx.ml": 3, "com.microsoft": 1}
_SINCE = {"StringConcat": 20}
_IR_VERSION = 8
# The size limit of a protocol buffer, and so of an ONNX file.
_LIMIT = 2**31 - 2**20

Shape = Sequence[int | str | None]


def _operator(kind: str, dtype: DTypeLike | None = None) -> Callable[["Tensor", Any], "Tensor"]:
    """Return a method for an operator with two inputs; `dtype` is the output's, if it differs."""

    def apply(self: "Tensor", other: Any) -> "Tensor":
        if not isinstance(other, Tensor):
            other = np.asarray(other, dtype=self.dtype)
        return self.op(kind, other, dtype=dtype)

    return apply


class Tensor:
    """A tensor of a graph. Numbers and arrays that it is combined with take its type.

    Strings have the type object, as in NumPy. Integers are divided towards zero.
    """

    __array_ufunc__ = None  # array + tensor is computed here, not by NumPy

    def __init__(self, graph: "Graph", name: str, dtype: DTypeLike) -> None:
        self.graph, self.name, self.dtype = graph, name, np.dtype(dtype)

    __add__, __sub__ = _operator("Add"), _operator("Sub")
    __mul__, __truediv__ = _operator("Mul"), _operator("Div")
    __mod__, __matmul__ = _operator("Mod"), _operator("MatMul")
    __gt__, __lt__ = _operator("Greater", bool), _operator("Less", bool)
    __and__, __or__ = _operator("And"), _operator("Or")
    equals = _operator("Equal", bool)
    at_least, at_most = _operator("Max"), _operator("Min")

    def op(
        self, kind: str, *others: Any, dtype: DTypeLike | None = None, **attributes: Any
    ) -> "Tensor":
        """Apply an operator of ONNX; arrays among its inputs are stored as they are."""
        dtype = self.dtype if dtype is None else dtype
        return self.graph.ops(kind, self, *others, dtypes=[dtype], **attributes)[0]

    def astype(self, dtype: DTypeLike) -> "Tensor":
        """Change the type."""
        if np.dtype(dtype) == self.dtype:
            return self
        return self.op("Cast", dtype=dtype, to=self.graph.type_number(dtype))

    def promote(self, dtype: DTypeLike) -> "Tensor":
        """Return the values in the wider of two types, as NumPy's arithmetic does."""
        return self.astype(np.result_type(self.dtype, dtype))

    def sum(self, axis: int, *, keepdims: bool = False) -> "Tensor":
        """Sum over an axis."""
        return self.op("ReduceSum", np.array([axis]), keepdims=int(keepdims))

    def reshape(self, *shape: int) -> "Tensor":
        """Return the same values in another shape; -1 stands for the size that is left."""
        return self.op("Reshape", np.array(shape))

    def columns(self, places: Sequence[int] | Array) -> "Tensor":
        """Return some columns."""
        return self.op("Gather", np.asarray(places, dtype=np.int64), axis=1)

    def take_from(self, values: "Array | Tensor") -> "Tensor":
        """Return the rows of `values` whose numbers this tensor holds."""
        known = values if isinstance(values, Tensor) else self.graph.constant(values)
        return known.op("Gather", self)

    def choose(self, yes: Any, no: Any) -> "Tensor":
        """Return the value of `yes` where this one is true, else of `no`; one is a tensor."""
        dtype = (yes if isinstance(yes, Tensor) else no).dtype
        parts = [v if isinstance(v, Tensor) else np.asarray(v, dtype=dtype) for v in (yes, no)]
        return self.op("Where", *parts, dtype=dtype)

    def unit_rows(self) -> "Tensor":
        """Scale rows to length 1; rows of zeros stay as they are."""
        norms = (self * self).sum(1, keepdims=True).op("Sqrt")
        return self / (norms > 0).choose(norms, 1)


def hstack(parts: Sequence[Tensor]) -> Tensor:
    """Concatenate columns, in the widest of their types."""
    dtype = np.result_type(*(part.dtype for part in parts))
    first, *others = (part.astype(dtype) for part in parts)
    return first.op("Concat", *others, axis=1) if others else first


def total(parts: Sequence[Tensor]) -> Tensor:
    """Add tensors up, in their order."""
    return parts[0].op("Sum", *parts[1:])


def look_up(strings: Tensor, values: dict[str, Any], other: Any) -> Tensor:
    """Return the value of each string, an integer or a string; `other` where there is none."""
    kind, dtype = ("string", object) if isinstance(other, str) else ("int64", np.int64)
    table = {f"values_{kind}s": list(values.values()), f"default_{kind}": other}
    keys = list(values)
    return strings.op("LabelEncoder", dtype=dtype, domain="ai.onnx.ml", keys_strings=keys, **table)


class Graph:
    """An ONNX graph to which operators are added. Equal arrays are stored once."""

    def __init__(self) -> None:
        onnx = import_optional("onnx", "onnx")
        self._helper, self.attribute = onnx.helper, onnx.numpy_helper.from_array
        self._nodes: list[Any] = []
        self._constants: dict[bytes, Any] = {}
        self._bytes = self._count = 0
        self._opsets = {"": _OPSETS[""]}

    def ops(
        self, kind: str, *inputs: Any, dtypes: Sequence[DTypeLike], **attributes: Any
    ) -> list[Tensor]:
        """Add an operator, and return its outputs; arrays among the inputs are stored."""
        given = [i if isinstance(i, Tensor) else self.constant(i) for i in inputs]
        outputs = self._new(kind, dtypes)
        names = [[tensor.name for tensor in tensors] for tensors in (given, outputs)]
        self._nodes.append(self._helper.make_node(kind, *names, **attributes))
        domain = attributes.get("domain", "")
        known = self._opsets.get(domain, _OPSETS[domain])
        self._opsets[domain] = max(known, _SINCE.get(kind, 0))
        return outputs

    def _new(self, what: str, dtypes: Sequence[DTypeLike]) -> list[Tensor]:
        """Return tensors with names that no column of a table has."""
        self._count += 1
        return [Tensor(self, f"labelkin/{what}/{self._count}/{i}", t) for i, t in enumerate(dtypes)]

    def constant(self, array: Array | np.generic) -> Tensor:
        """Store an array."""
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
            (tensor,) = self._new("constant", [array.dtype])
            self._constants[key] = self.attribute(array, tensor.name)
        return Tensor(self, self._constants[key].name, array.dtype)

    def matrix(self, values: Matrix) -> Tensor:
        """Store a matrix, dense or CSR; the tensor is dense and in double precision.

        The file holds only the numbers that are not zero where these are few, and each in the
        smallest type in which it is exact.
        """
        n, k = values.shape
        stored = values.nnz if sparse.issparse(values) else np.count_nonzero(values)
        if 2 * stored > n * k:
            dense = values.toarray() if sparse.issparse(values) else values
            return self.constant(_smallest_type(dense)).astype(np.float64)
        known = sparse.csr_array(values, dtype=np.float64)
        known.sum_duplicates()
        places = np.repeat(np.arange(n), np.diff(known.indptr)) * k + known.indices
        places = self.constant(places.astype(np.int32 if n * k < 2**31 else np.int64))
        found = self.constant(_smallest_type(known.data)).astype(np.float64)
        zeros = self.zeros(self.constant(np.array([n * k])))
        filled = zeros.op("ScatterElements", places.astype(np.int64), found)
        return filled.reshape(n, k)

    def zeros(self, shape: Tensor) -> Tensor:
        """Return zeros in double precision."""
        return shape.op("ConstantOfShape", dtype="f8", value=self.attribute(np.zeros(1)))

    def loop(
        self,
        step: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]],
        start: Tensor,
        count: Array | None = None,
    ) -> Tensor:
        """Repeat a step, which takes the round's number, from 0, and a matrix, at first `start`.

        It returns whether to continue, and the next matrix. `count` is the largest number of
        rounds; without it there is at least one.
        """
        outer, self._nodes = self._nodes, []
        shapes: list[Shape] = [[], [], [None, None]]
        number, go, matrix = self._new("loop", [np.int64, bool, start.dtype])
        outputs = step(number, matrix)
        body = self._helper.make_graph(
            self._nodes,
            "step",
            [self._described(t, s) for t, s in zip((number, go, matrix), shapes, strict=True)],
            [self._described(t, s) for t, s in zip(outputs, shapes[1:], strict=True)],
        )
        self._nodes = outer
        rounds = Tensor(self, "", np.int64) if count is None else count
        return self.ops("Loop", rounds, np.array(True), start, dtypes=[start.dtype], body=body)[0]

    def type_number(self, dtype: DTypeLike) -> int:
        """Return ONNX's number of a type."""
        return int(self._helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def _described(self, tensor: Tensor, shape: Shape, name: str = "") -> Any:
        number = self.type_number(tensor.dtype)
        return self._helper.make_tensor_value_info(name or tensor.name, number, shape)

    def model(
        self,
        inputs: Sequence[tuple[Tensor, Shape]],
        outputs: Mapping[str, tuple[Tensor, Shape]],
        metadata: Mapping[str, str],
        **about: Any,
    ) -> Any:
        """Return the checked model of these inputs and outputs."""
        for name, (tensor, _) in outputs.items():
            self._nodes.append(self._helper.make_node("Identity", [tensor.name], [name]))
        graph = self._helper.make_graph(
            self._nodes,
            "labelkin",
            [self._described(*kind) for kind in inputs],
            [self._described(*kind, name) for name, kind in outputs.items()],
            list(self._constants.values()),
        )
        model = self._helper.make_model(
            graph,
            opset_imports=[self._helper.make_opsetid(*item) for item in self._opsets.items()],
            ir_version=_IR_VERSION,
            producer_name="labelkin",
            **about,
        )
        self._helper.set_model_props(model, dict(metadata))
        import_optional("onnx.checker", "onnx").check_model(model)
        return model


def _smallest_type(values: Array) -> Array:
    """Return numbers in the smallest type in which all of them are exact."""
    with np.errstate(all="ignore"):
        for dtype in (np.uint8, np.float16, np.float32):
            short = values.astype(dtype)
            if (short == values).all():
                return short
    return values
