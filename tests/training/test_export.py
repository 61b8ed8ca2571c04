"""What exporting does to the graphs that torch writes."""

from __future__ import annotations

import numpy as np
import pytest

from spansrl.training.export import drop_guards


def test_an_attention_s_guard_against_nan_is_taken_out_and_nothing_else():
    onnx = pytest.importorskip("onnx")
    import onnxruntime

    make = onnx.helper.make_node
    nodes = [
        make("Where", ["mask", "x", "low"], ["masked"]),
        make("Softmax", ["masked"], ["shares"], axis=-1),
        make("IsNaN", ["shares"], ["is_nan"]),
        make("Where", ["is_nan", "low", "shares"], ["guarded"]),
        make("Neg", ["guarded"], ["y"]),
    ]
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        nodes,
        "attention",
        [value("x", onnx.TensorProto.FLOAT, [2, 3]), value("mask", onnx.TensorProto.BOOL, [2, 3])],
        [value("y", onnx.TensorProto.FLOAT, [2, 3])],
        [onnx.numpy_helper.from_array(np.array(-np.inf, np.float32), "low")],
    )
    opsets = [onnx.helper.make_opsetid("", 20)]
    feed = {"x": np.eye(2, 3, dtype=np.float32), "mask": np.array([[1, 1, 0], [1, 1, 1]], bool)}

    def run():
        content = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
        return onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"]).run(None, feed)[0]

    before = run()
    drop_guards(graph)
    assert [node.op_type for node in graph.node] == ["Where", "Softmax", "Neg"]
    np.testing.assert_array_equal(run(), before)
