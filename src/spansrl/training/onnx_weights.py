"""How an exported model stores its weights: full, half, or as int8 with a scale per channel.

Only files get smaller. ONNX Runtime turns stored weights into single precision once, when it loads a graph,
and computes everything as before, so labels do not depend on batching.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from spansrl.inference.directory import ARGUMENTS_GRAPH, ENCODER_GRAPH, write_bytes

Precision = Literal["full", "half", "int8"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
LARGEST_FILE = 95_000_000  # bytes; repository hosts reject files of more than 100 MB
_SMALLEST = 1024  # elements of a tensor that is worth converting

Array = npt.NDArray[Any]


def store_weights(directory: Path, precision: Precision) -> None:
    """Rewrite the graphs of an exported model with their weights in this precision."""
    for name in (ENCODER_GRAPH, ARGUMENTS_GRAPH):
        store_graph(directory / name, precision)


def store_graph(path: Path, precision: Precision) -> None:
    """Rewrite one graph."""
    import onnx

    proto = onnx.load(path)
    set_precision(proto, precision)
    save_graph(proto, path)


def stored_arrays(path: Path) -> dict[str, Array]:
    """The constants of a graph by name, in single precision."""
    import onnx
    from onnx import numpy_helper

    proto = onnx.load(path)
    _restore(proto.graph)
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in proto.graph.initializer}


def save_graph(proto: Any, path: Path, limit: int = LARGEST_FILE) -> None:
    """Write a graph; one that is larger than the limit has its weights in further files beside it."""
    from onnx.external_data_helper import set_external_data

    size = proto.ByteSize()
    if size > limit:
        n_files = -(-size // limit)
        contents = [bytearray() for _ in range(n_files)]
        for tensor in sorted(proto.graph.initializer, key=lambda tensor: -len(tensor.raw_data)):
            if len(tensor.raw_data) >= _SMALLEST:
                number, content = min(enumerate(contents), key=lambda item: len(item[1]))
                where = f"{path.stem}.{number + 1}.bin"
                set_external_data(tensor, where, offset=len(content), length=len(tensor.raw_data))
                content += tensor.raw_data
                tensor.ClearField("raw_data")
        for number, content in enumerate(contents):
            write_bytes(path.with_name(f"{path.stem}.{number + 1}.bin"), bytes(content))
    write_bytes(path, proto.SerializeToString())


def set_precision(proto: Any, precision: Precision) -> None:
    """Store the weights of a graph in this precision, whatever their current one."""
    _restore(proto.graph)
    if precision == "half":
        _replace(proto.graph, _as_half)
    elif precision == "int8":
        _replace(proto.graph, _as_int8)


def quantized(values: Array) -> tuple[Array, Array, int]:
    """A matrix as int8 with one scale per row or per column, whichever is closer: values, scales, axis."""
    candidates = []
    for axis in {0, values.ndim - 1}:
        others = tuple(k for k in range(values.ndim) if k != axis)
        scale = np.maximum(np.abs(values).max(axis=others, keepdims=True) / 127, 1e-12).astype(np.float32)
        stored = np.rint(values / scale).astype(np.int8)
        error = float(np.square(stored * scale - values).sum())
        candidates.append((error, axis, stored, scale.reshape(-1)))
    _, axis, stored, scale = min(candidates, key=lambda item: item[:2])
    return stored, scale, axis


def _as_half(values: Array, name: str) -> tuple[list[Any], list[Any]]:
    from onnx import TensorProto, helper, numpy_helper

    with np.errstate(over="ignore"):
        half = values.astype(np.float16)
    if not np.isfinite(half).all():
        return [], []
    stored = f"{name}.half"
    node = helper.make_node("Cast", [stored], [name], to=TensorProto.FLOAT)
    return [numpy_helper.from_array(half, stored)], [node]


def _as_int8(values: Array, name: str) -> tuple[list[Any], list[Any]]:
    from onnx import helper, numpy_helper

    if values.ndim < 2:
        return [], []
    stored, scale, axis = quantized(values)
    arrays = {f"{name}.int8": stored, f"{name}.scale": scale}
    node = helper.make_node("DequantizeLinear", list(arrays), [name], axis=axis)
    return [numpy_helper.from_array(array, key) for key, array in arrays.items()], [node]


def _replace(graph: Any, store: Callable[[Array, str], tuple[list[Any], list[Any]]]) -> None:
    """Replace large float tensors by stored ones, each with a node that loading folds away.

    `store` returns stored tensors and nodes, or nothing for a tensor that cannot be stored.
    """
    from onnx import TensorProto, numpy_helper

    kept, nodes = [], []
    for tensor in graph.initializer:
        is_large = tensor.data_type == TensorProto.FLOAT and np.prod(tensor.dims) >= _SMALLEST
        stored, added = store(numpy_helper.to_array(tensor), tensor.name) if is_large else ([], [])
        kept += stored or [tensor]
        nodes += added
    _set(graph, kept, [*nodes, *graph.node])


def _restore(graph: Any) -> None:
    """Turn weights that are stored as half or int8 back into single precision."""
    from onnx import numpy_helper

    tensors = {tensor.name: tensor for tensor in graph.initializer}
    nodes = []
    for node in graph.node:
        if node.op_type not in ("Cast", "DequantizeLinear") or not all(
            name in tensors for name in node.input
        ):
            nodes.append(node)
            continue
        values = [numpy_helper.to_array(tensors.pop(name)) for name in node.input]
        full = values[0].astype(np.float32)
        if node.op_type == "DequantizeLinear":
            axis = next(attribute.i for attribute in node.attribute if attribute.name == "axis")
            full = full * values[1].reshape([-1 if k == axis else 1 for k in range(full.ndim)])
        tensors[node.output[0]] = numpy_helper.from_array(full, node.output[0])
    _set(graph, list(tensors.values()), nodes)


def _set(graph: Any, initializers: list[Any], nodes: list[Any]) -> None:
    # The old ones are deleted afterwards, because the new ones refer to them.
    n_initializers, n_nodes = len(graph.initializer), len(graph.node)
    graph.initializer.extend(initializers)
    graph.node.extend(nodes)
    del graph.initializer[:n_initializers]
    del graph.node[:n_nodes]
