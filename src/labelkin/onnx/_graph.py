"""Write an ONNX graph as one writes NumPy: operations on names and arrays."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from labelkin.base import Array
from labelkin.datasets._io import import_extra

# Old enough for the runtimes of the last years: operators of 2022 in a file of the same year.
OPSET, IR_VERSION = 17, 8

# A protocol buffer holds no more, and ONNX files are such.
_LIMIT = 2**31 - 2**20


class Rows(NamedTuple):
    """A tensor of samples in the graph: its name, and the type of its numbers."""

    name: str
    dtype: np.dtype


class Graph:
    """An ONNX graph that grows node by node.

    Equal arrays are stored once: the members of an ensemble share their label matrix.
    """

    def __init__(self) -> None:
        onnx = import_extra("onnx", "onnx")
        self._helper, self._arrays = onnx.helper, onnx.numpy_helper
        self._nodes: list[Any] = []
        self._constants: dict[bytes, Any] = {}
        self._bytes = 0

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
            name = f"constant_{len(self._constants)}"
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
        place = f"{kind.lower()}_{len(self._nodes)}"
        names = [name or f"{place}_{number}" for number, name in enumerate(outputs)]
        given = [item if isinstance(item, str) else self.constant(item) for item in inputs]
        self._nodes.append(self._helper.make_node(kind, given, names, place, **attributes))
        return names

    def cast(self, name: str, dtype: DTypeLike, output: str = "") -> str:
        """Change the type of the numbers."""
        to = self._helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.op("Cast", name, to=to, output=output)

    def promote(self, rows: Rows, dtype: DTypeLike) -> Rows:
        """Return rows in the wider of two types, as NumPy's arithmetic does."""
        wider = np.result_type(rows.dtype, dtype)
        return rows if wider == rows.dtype else Rows(self.cast(rows.name, wider), wider)

    def project(self, rows: Rows, components: Array) -> Rows:
        """Return X Wᵀ."""
        rows = self.promote(rows, components.dtype)
        return Rows(self.op("MatMul", rows.name, components.T.astype(rows.dtype)), rows.dtype)

    def model(
        self,
        inputs: Mapping[str, tuple[Any, Sequence[Any]]],
        outputs: Mapping[str, tuple[Any, Sequence[Any]]],
        metadata: dict[str, str],
        **about: Any,
    ) -> Any:
        """Return the checked model; inputs and outputs by name: NumPy type and shape."""

        def described(tensors: Mapping[str, tuple[Any, Sequence[Any]]]) -> list[Any]:
            types = self._helper.np_dtype_to_tensor_dtype
            return [
                self._helper.make_tensor_value_info(name, types(np.dtype(dtype)), shape)
                for name, (dtype, shape) in tensors.items()
            ]

        constants = list(self._constants.values())
        graph = self._helper.make_graph(
            self._nodes, "labelkin", described(inputs), described(outputs), constants
        )
        opset = [self._helper.make_opsetid("", OPSET)]
        model = self._helper.make_model(
            graph, opset_imports=opset, ir_version=IR_VERSION, producer_name="labelkin", **about
        )
        self._helper.set_model_props(model, metadata)
        import_extra("onnx.checker", "onnx").check_model(model, full_check=True)
        return model
