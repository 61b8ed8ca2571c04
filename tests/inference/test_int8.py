"""int8 products: close to those in full precision, whatever the weights are stored in and row by row."""

from __future__ import annotations

import pickle
import random
import shutil

import numpy as np
import pytest

from fake_model import assert_same_labels
from spansrl.errors import ConfigError, ModelError
from spansrl.inference.directory import ENCODER_GRAPH
from spansrl.inference.loading import load, shipped_model
from spansrl.inference.runtime import OnnxGraph
from spansrl.structures import Sentence
from spansrl.training.onnx_weights import save_graph, set_precision

onnx = pytest.importorskip("onnx")
SENTENCES = [
    Sentence(tuple(text.split()))
    for text in (
        "The committee that met on Tuesday decided to give the money back to those who had paid .",
        "She left .",
        "Nobody knows why the prices of used cars rose so quickly last year , but dealers were happy .",
        "Go !",
        "He said that his sister , who lives in Boston , sold her house and bought a boat in order to sail .",
    )
]


@pytest.fixture(scope="module")
def srl():
    return load(threads=1, precision="int8")


def make_graph():
    """A matrix product with a bias, and a Gemm of its transposed weights; the input is read twice."""
    rng = np.random.default_rng(1)
    weights = {
        "square": rng.standard_normal((48, 48)),
        "narrow": rng.standard_normal((32, 48)),  # transposed
        "bias": rng.standard_normal(32),
    }
    nodes = [
        onnx.helper.make_node("MatMul", ["x", "square"], ["product"]),
        onnx.helper.make_node("Add", ["product", "x"], ["sum"]),
        onnx.helper.make_node("Gemm", ["sum", "narrow", "bias"], ["y"], transB=1),
        onnx.helper.make_node("Gemm", ["x", "narrow"], ["z"], transB=1),
        onnx.helper.make_node("MatMul", ["y", "z_transposed"], ["attention"]),
        onnx.helper.make_node("Transpose", ["z"], ["z_transposed"], perm=[1, 0]),
    ]
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [*nodes[:4], nodes[5], nodes[4]],
        "products",
        [value("x", onnx.TensorProto.FLOAT, ["rows", 48])],
        [value(name, onnx.TensorProto.FLOAT, None) for name in ("y", "attention")],
        [onnx.numpy_helper.from_array(w.astype(np.float32), name) for name, w in weights.items()],
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=9)


@pytest.mark.parametrize("stored", ["full", "half", "int8"])
@pytest.mark.parametrize("limit", [10**9, 2000], ids=["one file", "several files"])
def test_products_are_close_to_those_in_full_precision_however_weights_are_stored(tmp_path, stored, limit):
    model = make_graph()
    set_precision(model, stored)
    save_graph(model, tmp_path / "graph.onnx", limit)
    full, int8 = (OnnxGraph(tmp_path / "graph.onnx", {"y"}, 1, precision) for precision in ("full", "int8"))
    x = np.random.default_rng(2).standard_normal((7, 48)).astype(np.float32)
    expected, found = full({"x": x}), int8({"x": x})
    for name in ("y", "attention"):
        error = np.abs(found[name] - expected[name]).max() / np.abs(expected[name]).max()
        assert 0 < error < 0.03


def test_weights_that_only_a_subgraph_reads_are_kept(tmp_path):
    value, node = onnx.helper.make_tensor_value_info, onnx.helper.make_node
    branches = [
        onnx.helper.make_graph(
            [node(operator, ["x", "weights"], [operator])],
            operator,
            [],
            [value(operator, onnx.TensorProto.FLOAT, None)],
        )
        for operator in ("MatMul", "Add")
    ]
    graph = onnx.helper.make_graph(
        [node("If", ["condition"], ["y"], then_branch=branches[0], else_branch=branches[1])],
        "subgraphs",
        [value("x", onnx.TensorProto.FLOAT, [4, 4]), value("condition", onnx.TensorProto.BOOL, [])],
        [value("y", onnx.TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(np.eye(4, dtype=np.float32), "weights")],
    )
    opset = [onnx.helper.make_opsetid("", 20)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=9), tmp_path / "graph.onnx")
    int8 = OnnxGraph(tmp_path / "graph.onnx", {"y"}, 1, "int8")
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    assert int8({"x": x, "condition": np.array(True)})["y"].tolist() == x.tolist()


def test_rows_are_rounded_each_by_itself(tmp_path):
    save_graph(make_graph(), tmp_path / "graph.onnx")
    graph = OnnxGraph(tmp_path / "graph.onnx", {"y"}, 1, "int8")
    rng = np.random.default_rng(3)
    x = (rng.standard_normal((9, 48)) * 10.0 ** np.arange(-4, 5)[:, None]).astype(np.float32)
    together = graph({"x": x})["y"]
    for row in range(len(x)):
        np.testing.assert_array_equal(graph({"x": x[row : row + 1]})["y"][0], together[row])
    np.testing.assert_array_equal(graph({"x": np.zeros_like(x)})["y"], np.zeros((9, 32)) + bias())


def bias():
    (tensor,) = (t for t in make_graph().graph.initializer if t.name == "bias")
    return onnx.numpy_helper.to_array(tensor)


def test_the_largest_integers_do_not_overflow(tmp_path):
    """Processors without VNNI add products in 16 bits, in pairs."""
    model = make_graph()
    for tensor in model.graph.initializer:
        ones = np.ones(tuple(tensor.dims), np.float32)
        tensor.CopyFrom(onnx.numpy_helper.from_array(ones, tensor.name))
    save_graph(model, tmp_path / "graph.onnx")
    found = OnnxGraph(tmp_path / "graph.onnx", {"y"}, 1, "int8")({"x": np.ones((3, 48), np.float32)})["y"]
    np.testing.assert_allclose(found, 49 * 48 + 1, rtol=1e-5)


def test_no_product_with_weights_is_left_in_the_shipped_model():
    from spansrl.inference.int8 import with_int8_products

    graph = onnx.load_from_string(with_int8_products(shipped_model() / ENCODER_GRAPH)).graph
    weights = {tensor.name for tensor in graph.initializer} | {
        node.output[0] for node in graph.node if node.op_type == "Cast"
    }
    products = [node for node in graph.node if node.op_type in ("MatMul", "Gemm")]
    assert not [node.name for node in products if node.input[1] in weights]
    assert sum(node.op_type == "MatMulIntegerToFloat" for node in graph.node) >= 36  # 6 layers
    assert sum(len(tensor.raw_data) for tensor in graph.initializer) < 36e6  # each weight is there once


def test_a_sentence_has_the_same_labels_alone_and_in_any_batch(srl):
    expected = [next(srl.label([sent])) for sent in SENTENCES]
    shuffled = random.Random(1).sample(range(len(SENTENCES)), len(SENTENCES))
    for order in (range(len(SENTENCES)), shuffled):
        found = list(srl.label([SENTENCES[k] for k in order]))
        assert_same_labels(found, [expected[k] for k in order])


def test_most_labels_are_those_of_full_precision(srl):
    def labels(pipeline):
        return {
            (s, prop.pred, arg.role, arg.start, arg.end)
            for s, sent in enumerate(pipeline.label(SENTENCES))
            for prop in sent.props
            for arg in prop.args
        }

    full, int8 = labels(load(threads=1)), labels(srl)
    assert len(full & int8) > 0.9 * len(full | int8)


def test_a_pickled_pipeline_keeps_its_precision(srl):
    again = pickle.loads(pickle.dumps(srl))
    assert_same_labels(list(again.label(SENTENCES[:1])), list(srl.label(SENTENCES[:1])))
    assert again.model.precision == "int8"


def test_an_unknown_precision_is_refused():
    with pytest.raises(ConfigError, match="unknown precision 'half'"):
        load(precision="half")


@pytest.mark.parametrize(
    "damage", [lambda graph: b"", lambda graph: graph[:-10_000], lambda graph: b"\x3a\x02\x08"]
)
def test_a_damaged_graph_is_refused(tmp_path, damage):
    model = tmp_path / "model"
    shutil.copytree(shipped_model(), model)
    (model / "manifest.json").unlink()
    graph = model / ENCODER_GRAPH
    graph.write_bytes(damage(graph.read_bytes()))
    with pytest.raises(ModelError, match=r"encoder\.onnx: not a graph that can be run"):
        load(model, precision="int8")
