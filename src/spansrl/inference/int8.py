"""int8 matrix products: a graph rewritten when it is loaded, from the same file as in full precision.

Each product of an activation with a weight matrix becomes one of integers. Every column of the weights has
its own scale, and so has every row of the activation, which is one token's vector: what else is in the batch
does not matter, and no scales have to be chosen on text beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spansrl.inference.protobuf import fields, integer, integers, message, part, text

Array = npt.NDArray[Any]

# Numbers of the fields of ONNX's messages.
MODEL_GRAPH, MODEL_OPSETS = 7, 8
GRAPH_NODE, GRAPH_TENSOR, GRAPH_VALUE = 1, 5, 13
NODE_INPUT, NODE_OUTPUT, NODE_OPERATOR, NODE_ATTRIBUTE, NODE_DOMAIN = 1, 2, 4, 5, 7
ATTRIBUTE_NAME, ATTRIBUTE_INTEGER, ATTRIBUTE_GRAPH, ATTRIBUTE_TYPE = 1, 3, 6, 20
TENSOR_DIMS, TENSOR_TYPE, TENSOR_NAME, TENSOR_RAW, TENSOR_EXTERNAL, TENSOR_LOCATION = 1, 2, 8, 9, 13, 14
KEY, VALUE = 1, 2

_TYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 7: np.int64, 10: np.float16}
_CODES = {np.dtype(kind): code for code, kind in _TYPES.items()}
# Processors multiply unsigned with signed integers, and older ones add two products in 16 bits. 255 · 63 · 2
# fits: 7 bits are enough for weights, while activations, with their outliers, need all 8.
_LARGEST_WEIGHT = 63
_LARGEST_ACTIVATION, _MIDDLE = 127, 128
_OF_ONNX_RUNTIME = "com.microsoft"  # the domain of its own operators

_ONE, _ZERO, _MOST, _LEAST, _AXIS = (f"int8.{name}" for name in ("one", "zero", "most", "least", "axis"))
_CONSTANTS: dict[str, Array] = {
    _ONE: np.array(1, np.float32),
    _ZERO: np.array(_MIDDLE, np.uint8),
    _MOST: np.array(_LARGEST_ACTIVATION, np.float32),
    _LEAST: np.array(1e-9, np.float32),  # for rows of zeros
    _AXIS: np.array([-1], np.int64),
}


@dataclass(frozen=True, slots=True)
class Node:
    """An operator of a graph."""

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[bytes, ...] = ()
    domain: str = ""

    @classmethod
    def read(cls, content: bytes) -> Node:
        found = _by_number(content)
        names = {number: [item.decode() for item in found.get(number, ())] for number in (1, 2, 4, 7)}
        return cls(
            (names[NODE_OPERATOR] or [""])[0],
            tuple(names[NODE_INPUT]),
            tuple(names[NODE_OUTPUT]),
            tuple(found.get(NODE_ATTRIBUTE, ())),
            (names[NODE_DOMAIN] or [""])[0],
        )

    def written(self) -> bytes:
        return message(
            *(text(NODE_INPUT, name) for name in self.inputs),
            *(text(NODE_OUTPUT, name) for name in self.outputs),
            text(NODE_OPERATOR, self.operator),
            *(part(NODE_ATTRIBUTE, content) for content in self.attributes),
            text(NODE_DOMAIN, self.domain),
        )

    def integer(self, name: str, default: int) -> int:
        """An attribute that is an integer."""
        for content in self.attributes:
            found = _by_number(content)
            if found.get(ATTRIBUTE_NAME) == [name.encode()]:
                return int(found.get(ATTRIBUTE_INTEGER, [default])[0])
        return default

    def reads(self) -> Iterator[str]:
        """The names of its inputs, and of what the nodes of its subgraphs read."""
        yield from self.inputs
        for content in self.attributes:
            for graph in _by_number(content).get(ATTRIBUTE_GRAPH, ()):
                for node in _by_number(graph).get(GRAPH_NODE, ()):
                    yield from Node.read(node).reads()


def with_int8_products(path: Path) -> bytes:
    """The ONNX file, with all of its products with weights in int8; ValueError if it is not an ONNX file."""
    model = list(fields(path.read_bytes()))
    opset = message(text(1, _OF_ONNX_RUNTIME), integer(2, 1))
    return message(
        *(item for item in model if item[0] != MODEL_GRAPH),
        part(MODEL_OPSETS, opset),
        *(part(MODEL_GRAPH, _rewritten(item[2], path.parent)) for item in model if item[0] == MODEL_GRAPH),
    )


def _rewritten(content: bytes, folder: Path) -> bytes:
    graph = list(fields(content))
    nodes = [Node.read(value) for number, _, value in graph if number == GRAPH_NODE]
    tensors = dict(_inlined(value, folder) for number, _, value in graph if number == GRAPH_TENSOR)
    kept, added = _products_in_int8(nodes, tensors)
    tensors |= {name: _tensor(name, values) for name, values in added.items()}
    used = {name for node in kept for name in node.reads()}
    return message(
        *(item for item in graph if item[0] not in (GRAPH_NODE, GRAPH_TENSOR)),
        *(part(GRAPH_NODE, node.written()) for node in kept),
        *(part(GRAPH_TENSOR, tensor) for name, tensor in tensors.items() if name in used),
    )


def _products_in_int8(nodes: list[Node], tensors: dict[str, bytes]) -> tuple[list[Node], dict[str, Array]]:
    """The nodes of a graph after the change, and the tensors that they need besides."""
    # Weights that are stored in other precisions are turned into floats by a node each.
    stored = {
        node.outputs[0]: node
        for node in nodes
        if node.operator in ("Cast", "DequantizeLinear") and all(name in tensors for name in node.inputs)
    }
    kept: list[Node] = []
    added = dict(_CONSTANTS)
    rounded: set[str] = set()
    for node in nodes:
        weights = _weights(node, stored, tensors)
        if weights is None:
            kept.append(node)
            continue
        activation, weight = node.inputs[:2]
        if activation not in rounded:
            rounded.add(activation)
            kept += _rounded_rows(activation)
        if f"{weight}.int8" not in added:
            scale = np.maximum(np.abs(weights).max(axis=0), 1e-9) / _LARGEST_WEIGHT
            added[f"{weight}.int8"] = np.rint(weights / scale).astype(np.int8)
            added[f"{weight}.scale"] = (scale / _LARGEST_ACTIVATION).astype(np.float32)
        kept += _product(node)
    needed = {name for node in kept for name in node.reads()}
    return [node for node in kept if node.outputs[0] not in stored or node.outputs[0] in needed], added


def _weights(node: Node, stored: dict[str, Node], tensors: dict[str, bytes]) -> Array | None:
    """The matrix (K, N) with which a node multiplies an activation; None for any other node."""
    if node.operator not in ("MatMul", "Gemm") or node.integer("transA", 0):
        return None
    activation, weight = node.inputs[:2]
    if activation in stored or activation in tensors:
        return None
    conversion = stored.get(weight)
    names = (weight,) if conversion is None else conversion.inputs
    values = [_values(tensors[name]) for name in names if name in tensors]
    found = values[0] if values else None
    if found is None or found.ndim != 2:
        return None
    if conversion is not None and conversion.operator == "DequantizeLinear":
        scale = values[1]
        if scale is None:
            return None
        found = found * scale.reshape([-1 if k == conversion.integer("axis", 1) else 1 for k in range(2)])
    return (found.T if node.integer("transB", 0) else found).astype(np.float32)


def _rounded_rows(name: str) -> list[Node]:
    """An activation as integers: the largest number of each row becomes 127."""
    return [
        Node("Abs", (name,), (f"{name}.abs",)),
        Node("ReduceMax", (f"{name}.abs", _AXIS), (f"{name}.largest",)),
        Node("Max", (f"{name}.largest", _LEAST), (f"{name}.scale",)),
        Node("Div", (_MOST, f"{name}.scale"), (f"{name}.factor",)),
        Node("Mul", (name, f"{name}.factor"), (f"{name}.scaled",)),
        Node("QuantizeLinear", (f"{name}.scaled", _ONE, _ZERO), (f"{name}.int8",)),
    ]


def _product(node: Node) -> Iterator[Node]:
    activation, weight, *bias = node.inputs
    (out,) = node.outputs
    whole, scaled = f"{out}.whole", f"{out}.scaled" if bias else out
    factors = f"{activation}.int8", f"{weight}.int8", _ONE, f"{weight}.scale", _ZERO
    yield Node("MatMulIntegerToFloat", factors, (whole,), domain=_OF_ONNX_RUNTIME)
    yield Node("Mul", (whole, f"{activation}.scale"), (scaled,))
    if bias:
        yield Node("Add", (scaled, bias[0]), (out,))


# Tensors.


def _inlined(content: bytes, folder: Path) -> tuple[str, bytes]:
    """The name of a tensor, and the tensor with its data in it, which may have been in another file."""
    found = _by_number(content)
    name = found[TENSOR_NAME][0].decode()
    if TENSOR_EXTERNAL not in found:
        return name, content
    pairs = (_by_number(item) for item in found[TENSOR_EXTERNAL])
    where = {pair[KEY][0].decode(): pair[VALUE][0].decode() for pair in pairs}
    with (folder / Path(where["location"]).name).open("rb") as file:
        file.seek(int(where.get("offset", 0)))
        data = file.read(int(where["length"]))
    rest = [item for item in fields(content) if item[0] not in (TENSOR_EXTERNAL, TENSOR_LOCATION)]
    return name, message(*rest, part(TENSOR_RAW, data))


def _tensor(name: str, values: Array) -> bytes:
    return message(
        *(integer(TENSOR_DIMS, size) for size in values.shape),
        integer(TENSOR_TYPE, _CODES[values.dtype]),
        text(TENSOR_NAME, name),
        part(TENSOR_RAW, np.ascontiguousarray(values).tobytes()),
    )


def _values(content: bytes) -> Array | None:
    """A tensor as an array; None if it is of another type, or its data are not bytes."""
    found = _by_number(content)
    kind = _TYPES.get(found[TENSOR_TYPE][0])
    if kind is None or TENSOR_RAW not in found:
        return None
    return np.frombuffer(found[TENSOR_RAW][0], kind).reshape(integers(found.get(TENSOR_DIMS, [])))


def _by_number(content: bytes) -> dict[int, list[Any]]:
    """The values of a message's fields, by their numbers."""
    found: dict[int, list[Any]] = {}
    for number, _, value in fields(content):
        found.setdefault(number, []).append(value)
    return found
