"""Weights in other precisions, in graphs made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spansrl.training.onnx_weights import PRECISIONS, quantized, save_graph, set_precision

onnx = pytest.importorskip("onnx")


def make_graph(matrix: np.ndarray):
    """y = x @ matrix + bias"""
    from onnx import TensorProto, helper, numpy_helper

    bias = np.linspace(-1, 1, matrix.shape[1]).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["z"]), helper.make_node("Add", ["z", "b"], ["y"])],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, matrix.shape[0]])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, matrix.shape[1]])],
        [numpy_helper.from_array(matrix, "w"), numpy_helper.from_array(bias, "b")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def run(proto, x: np.ndarray) -> np.ndarray:
    import onnxruntime

    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0]


MATRIX = np.random.default_rng(1).normal(size=(64, 48)).astype(np.float32) * np.linspace(0.01, 3, 48)
MATRIX = MATRIX.astype(np.float32)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_stored_graph_computes_with_rounded_weights(precision):
    proto, x = make_graph(MATRIX), np.eye(64, dtype=np.float32)
    expected = run(proto, x)
    set_precision(proto, precision)
    onnx.checker.check_model(proto)
    step = np.abs(MATRIX).max(axis=0) / 127 / 2  # half of what int8 can tell apart in a column
    tolerance = {"full": 0.0, "half": 1e-2, "int8": step * 1.01}[precision]
    assert (np.abs(run(proto, x) - expected) <= tolerance + 1e-6).all()


def test_sizes_follow_the_precision_and_a_change_back_keeps_the_graph():
    proto = make_graph(MATRIX)
    sizes = []
    for precision in (*PRECISIONS, "full"):
        set_precision(proto, precision)
        sizes.append(len(proto.SerializeToString()))
    assert sizes[2] < 0.7 * sizes[1] < 0.49 * sizes[0]
    assert sizes[3] == sizes[0]
    assert [node.op_type for node in proto.graph.node] == ["MatMul", "Add"]


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 99))
def test_quantized_values_are_within_half_a_step_of_their_row_or_column(rows, columns, seed):
    values = np.random.default_rng(seed).normal(0, 10, (rows, columns)).astype(np.float32)
    stored, scale, axis = quantized(values)
    assert stored.dtype == np.int8
    steps = scale[:, None] if axis == 0 else scale[None]
    assert (np.abs(stored * steps - values) <= 0.51 * steps + 1e-6).all()


def test_a_graph_over_the_limit_has_its_weights_in_several_files_and_computes_the_same(tmp_path):
    from onnx import numpy_helper

    from spansrl.inference.runtime import OnnxGraph

    proto, x = make_graph(MATRIX), np.eye(64, dtype=np.float32)
    more = [numpy_helper.from_array(MATRIX * k, f"w{k}") for k in range(3)]
    proto.graph.initializer.extend(more)
    set_precision(proto, "int8")
    expected = run(proto, x)
    whole = proto.ByteSize()
    save_graph(proto, tmp_path / "encoder.onnx", whole // 2)
    files = sorted(tmp_path.iterdir())
    assert len(files) > 2
    assert max(path.stat().st_size for path in files) < whole
    found = OnnxGraph(tmp_path / "encoder.onnx", {"y"})({"x": x})["y"]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    again = onnx.load(tmp_path / "encoder.onnx")
    np.testing.assert_array_equal(run(again, x), expected)
