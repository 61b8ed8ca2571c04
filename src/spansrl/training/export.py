"""A trained network as two ONNX graphs, and a comparison of their scores with torch's.

The graphs are those that `inference.runtime` describes; `onnx_weights` makes them smaller.
"""

from __future__ import annotations

import logging
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from spansrl.arrays import IntArray
from spansrl.decoding import ARRAYS
from spansrl.errors import MissingExtraError
from spansrl.inference.directory import (
    ARGUMENTS_GRAPH,
    DESCRIPTION,
    ENCODER_GRAPH,
    WORDS,
    ModelDirectory,
    write_bytes,
    write_json,
)
from spansrl.inference.model import Model, encode_all
from spansrl.inference.pipeline import Pipeline
from spansrl.nn.embedders.base import SENTENCES_TOKENS, Examples, Graph
from spansrl.nn.network import Network, TorchModel
from spansrl.structures import Sentence
from spansrl.training.checkpoint import load_network

OPSET = 20
# Settings with paths of the machine on which a model was made, one or several.
PATHS = (
    ("embedder", "path"),
    ("embedder", "words_path"),
    ("embedder", "precomputed"),
    ("distillation", "teachers"),
    ("distillation", "raw"),
    ("training", "start"),
    ("training", "partial"),
)
MAX_DIFFERENCE = 1e-4  # between the scores of torch and ONNX Runtime
LARGE = 10.0  # scores from here on may differ in proportion


def export_model(source: Path, out: Path) -> Network:
    """Write a trained model's directory for ONNX Runtime; returns the network, for `compare`."""
    directory = ModelDirectory.read(source, kind="network")
    network = load_network(directory)
    (out / "embedder").mkdir(parents=True, exist_ok=True)
    write_json(out / DESCRIPTION, portable(directory.description))
    for name in ("lexicon.json", "calibration.json"):
        if (source / name).is_file():
            shutil.copyfile(source / name, out / name)
    for name in ("config.json", "tokenizer.json", WORDS):
        if (source / "embedder" / name).is_file():
            shutil.copyfile(source / "embedder" / name, out / "embedder" / name)
    write_bytes(out / ENCODER_GRAPH, to_onnx(network.embedder.graph(network.tasks)))
    write_bytes(out / ARGUMENTS_GRAPH, to_onnx(arguments_graph(network)))
    return network


def portable(description: Mapping[str, Any]) -> dict[str, Any]:
    """A model's description with file names instead of the paths of what it was made from."""
    config = {section: dict(settings) for section, settings in description["config"].items()}
    for section, key in PATHS:
        if value := config.get(section, {}).get(key):
            if isinstance(value, str):  # in older models, a list is a string with commas
                config[section][key] = ",".join(Path(part.strip()).name for part in value.split(","))
            else:
                config[section][key] = [Path(part).name for part in value]
    config.get("tasks", {}).pop("syntax", None)  # its layers are not exported
    return {**description, "config": config}


@dataclass(frozen=True, slots=True)
class _Predicates:
    """What the encoders need of a batch."""

    sentence: Tensor
    pred: Tensor
    lengths: Tensor
    sentence_lengths: Tensor
    size: int

    def mask(self) -> Tensor:
        return torch.arange(self.size) < self.lengths[:, None]


class ArgumentsGraph(nn.Module):
    """Token vectors and predicates -> scores of arguments and, where learned, of senses."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.encoder = network.encoder
        self.output = network.output
        self.tasks = network.tasks

    def forward(
        self, vectors: Tensor, sentence_lengths: Tensor, sentence: Tensor, pred: Tensor
    ) -> tuple[Tensor, ...]:
        """vectors (S, T, D), sentence_lengths (S,), sentence (N,), pred (N,) -> scores with N rows"""
        batch = _Predicates(sentence, pred, sentence_lengths[sentence], sentence_lengths, vectors.shape[1])
        h = self.encoder(vectors, batch)  # (N, T, width)
        out = tuple(self.output.arrays(h, batch.mask()).values())
        return out if self.tasks is None else (*out, self.tasks.senses(vectors, sentence, pred))


def arguments_graph(network: Network) -> Graph:
    """The part of a network that scores the arguments and senses of predicates."""
    inputs: Examples = {
        "vectors": (torch.randn(2, 5, network.embedder.width), SENTENCES_TOKENS),
        "sentence_lengths": (torch.tensor([5, 4]), {0: "sentences"}),
        "sentence": (torch.tensor([0, 1, 1]), {0: "predicates"}),
        "pred": (torch.tensor([4, 0, 2]), {0: "predicates"}),
    }
    h, mask = torch.zeros(1, 1, network.encoder.out_width), torch.ones(1, 1, dtype=torch.bool)
    outputs = list(network.output.arrays(h, mask))
    return Graph(ArgumentsGraph(network), inputs, outputs if network.tasks is None else [*outputs, "senses"])


def to_onnx(graph: Graph) -> bytes:
    """The graph as the bytes of an ONNX file."""
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("spansrl export", "train") from error
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # about the exporter's own internals
            program = torch.onnx.export(
                graph.module.eval(),
                tuple(example for example, _ in graph.inputs.values()),
                dynamo=True,
                opset_version=OPSET,
                input_names=list(graph.inputs),
                output_names=graph.outputs,
                dynamic_shapes=tuple(axes for _, axes in graph.inputs.values()),
                verbose=False,
            )
    finally:
        logger.setLevel(level)
    assert program is not None
    proto = program.model_proto
    forget_origin(proto)
    drop_guards(proto.graph)
    content: bytes = proto.SerializeToString()
    return content


def forget_origin(proto: Any) -> None:
    """Remove the exporter's own notes: stack traces, with the paths of the machine it ran on."""
    for item in (proto, *_parts(proto.graph)):
        del item.metadata_props[:]
        item.doc_string = ""


def drop_guards(graph: Any) -> None:
    """Take out what replaces NaN after a softmax: no row is masked as a whole, and the test takes time."""
    makers = {name: node for node in graph.node for name in node.output}
    for guard in [node for node in graph.node if node.op_type == "Where"]:
        test = makers.get(guard.input[0])
        if test is not None and test.op_type == "IsNaN" and test.input[0] == guard.input[2]:
            for node in graph.node:
                node.input[:] = [guard.input[2] if name == guard.output[0] else name for name in node.input]
            graph.node.remove(guard)
            graph.node.remove(test)


def _parts(graph: Any) -> Iterator[Any]:
    """A graph with its parts, including the graphs inside its nodes."""
    yield from (graph, *graph.node, *graph.initializer, *graph.value_info, *graph.input, *graph.output)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _parts(attribute.g)


@dataclass(frozen=True, slots=True)
class Difference:
    """How an exported model differs from its network on some sentences."""

    scores: float  # the largest difference of two scores
    propositions: int
    other_labels: int  # propositions whose arguments differ


def compare(network: Network, model: Model, sentences: Sequence[Sentence]) -> Difference:
    """Score and label the same sentences (with their predicates) by torch and by ONNX Runtime."""
    models = TorchModel(network), model
    names = sorted(ARRAYS[network.config.output.kind])
    worst = max((_difference(*models, sent, names) for sent in sentences if sent.props), default=0.0)
    ours, theirs = (
        Pipeline.plain(own, network.config.output).label(sentences, predicates="given") for own in models
    )
    pairs = zip(ours, theirs, strict=True)
    props = [(p, q) for a, b in pairs for p, q in zip(a.props, b.props, strict=True)]
    other = sum(
        [(arg.role, arg.span) for arg in p.args] != [(arg.role, arg.span) for arg in q.args] for p, q in props
    )
    return Difference(worst, len(props), other)


def _difference(ours: Model, theirs: Model, sent: Sentence, names: Sequence[str]) -> float:
    """The largest difference of any two scores: of arguments, senses and tokens as predicates.

    Where scores are large it is relative: span selection does not change when a role's scores all move by the
    same amount, so training may take them anywhere, and single precision has seven digits.
    """
    pred = np.array([prop.pred for prop in sent.props], dtype=np.int64)
    own, other = (_all_scores(model, sent, pred, names) for model in (ours, theirs))
    pairs = ((a[a != b], b[a != b]) for a, b in zip(own, other, strict=True))  # equal ones may be infinite
    return max(float((np.abs(a - b) / np.maximum(1, np.abs(a) / LARGE)).max(initial=0.0)) for a, b in pairs)


def _all_scores(model: Model, sent: Sentence, pred: IntArray, names: Sequence[str]) -> list[npt.NDArray[Any]]:
    encoding = encode_all(model, [sent.tokens])
    sentence = np.zeros_like(pred)
    senses = model.score_senses(encoding, sentence, pred)
    scores = model.score_arguments(encoding, sentence, pred, [prop.sense for prop in sent.props])
    arguments = [getattr(scores, name) for name in names]
    return [*arguments, *(part for part in (encoding.classes, senses) if part is not None)]
