"""A trained network as two ONNX graphs, checked against torch before they count.

The graphs are those that `runtime` describes. Weights may be stored in half precision: they are then turned
into single precision once, when the graph is loaded, and everything is computed as before.
"""

from __future__ import annotations

import logging
import shutil
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from spansrl.checkpoint import load_network
from spansrl.decode import SpanScores
from spansrl.ensembles import labeler_of
from spansrl.errors import MissingExtraError, ModelError
from spansrl.labeler import Labeler
from spansrl.model.embed import LayeredEmbedder, TransformerEmbedder, TransformerSource
from spansrl.model.network import Network, TorchScorer
from spansrl.model.span import SpanOutput, boundary_scores, with_ends
from spansrl.model.transformer import Transformer
from spansrl.model_directory import DESCRIPTION, write_bytes
from spansrl.ragged import IntArray
from spansrl.runtime import ARGUMENTS_GRAPH, ENCODER_GRAPH, FrameModel, OnnxModel
from spansrl.structures import Sentence

OPSET = 20
MAX_DIFFERENCE = 1e-4  # between the scores of torch and ONNX Runtime

Examples = dict[str, tuple[Tensor, dict[int, str]]]  # input -> an example, and its axes that vary by name


class EncoderGraph(nn.Module):
    """Embedder inputs -> token vectors (S, T, D) and, where learnt, scores of tokens as predicates."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.embedder = network.embedder
        self.tasks = network.tasks

    def outputs(self, x: Tensor) -> tuple[Tensor, ...]:
        """vectors (S, T, D), classes (S, T, 1 + types)"""
        return (x,) if self.tasks is None else (x, self.tasks.predicates(x))


class WordsGraph(EncoderGraph):
    """For vectors of whole words."""

    def forward(self, ids: Tensor) -> tuple[Tensor, ...]:
        """ids (S, T)"""
        return self.outputs(self.embedder(ids))


class PiecesGraph(EncoderGraph):
    """For transformers: the layers of all pieces, mixed."""

    def mixed(self, pieces: Tensor, mask: Tensor) -> Tensor:
        """pieces (W, P), mask (W, P) -> (W, P, D)"""
        embedder = self.embedder
        assert isinstance(embedder, (TransformerEmbedder, LayeredEmbedder))
        encoder = transformer_of(embedder).encoder
        states = encoder(pieces, attention_mask=mask, output_hidden_states=True).hidden_states
        mixed: Tensor = embedder.mix(torch.stack(states))
        return mixed


class FirstPieceGraph(PiecesGraph):
    """A token is its first piece."""

    def forward(self, pieces: Tensor, mask: Tensor, first: Tensor) -> tuple[Tensor, ...]:
        """pieces (W, P), mask (W, P), first (S, T) places in the flat (W · P) pieces"""
        return self.outputs(self.mixed(pieces, mask).flatten(0, 1)[first])


class MeanPieceGraph(PiecesGraph):
    """A token is the mean of its pieces."""

    def forward(self, pieces: Tensor, mask: Tensor, shares: Tensor, windows: Tensor) -> tuple[Tensor, ...]:
        """pieces (W, P), mask (W, P), shares (W, T, P), windows (S, W)"""
        tokens = shares @ self.mixed(pieces, mask)  # (W, T, D)
        return self.outputs(torch.einsum("sw,wtd->std", windows, tokens))


@dataclass(frozen=True, slots=True)
class _Predicates:
    """What the encoders ask of a batch."""

    sentence: Tensor
    pred: Tensor
    lengths: Tensor
    sentence_lengths: Tensor
    size: int

    def mask(self) -> Tensor:
        return torch.arange(self.size) < self.lengths[:, None]


class ArgumentsGraph(nn.Module):
    """Token vectors and predicates -> scores of arguments and, where learnt, of senses."""

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
        out: tuple[Tensor, ...]
        if isinstance(self.output, SpanOutput):
            start, end = boundary_scores(h, self.output.roles)
            out = (start, with_ends(end, batch.mask(), self.output.span_end))
        else:
            tags = self.output(h)
            out = (tags.emissions, tags.transitions, tags.first)
        return out if self.tasks is None else (*out, self.tasks.senses(vectors, sentence, pred))


def transformer_of(embedder: TransformerEmbedder | LayeredEmbedder) -> Transformer:
    """The transformer inside an embedder; a model over ELMo has none."""
    if isinstance(embedder, TransformerEmbedder):
        return embedder.transformer
    if isinstance(embedder.source, TransformerSource):
        return embedder.source.transformer
    raise ModelError("models over ELMo cannot be exported; label with them through torch")


def export_model(source: Path, out: Path, *, half: bool = False) -> Network:
    """Write a trained model's directory for ONNX Runtime; returns the network, for `compare`."""
    network = load_network(source)
    if half:
        round_to_half(network)
    if isinstance(network.embedder, LayeredEmbedder):
        transformer_of(network.embedder)
    (out / "embedder").mkdir(parents=True, exist_ok=True)
    for name in (DESCRIPTION, "lexicon.json", "calibration.json"):
        if (source / name).is_file():
            shutil.copyfile(source / name, out / name)
    for name in ("config.json", "tokenizer.json", "words.json"):
        if (source / "embedder" / name).is_file():
            shutil.copyfile(source / "embedder" / name, out / "embedder" / name)
    write_bytes(out / ENCODER_GRAPH, encoder_graph(network, half=half))
    write_bytes(out / ARGUMENTS_GRAPH, arguments_graph(network, half=half))
    return network


def encoder_graph(network: Network, *, half: bool) -> bytes:
    """The encoder's graph as the bytes of an ONNX file."""
    tokens, pieces = {0: "sentences", 1: "tokens"}, {0: "windows", 1: "pieces"}
    examples: Examples
    if network.config.embedder.kind != "transformer":
        module: EncoderGraph = WordsGraph(network)
        examples = {"ids": (torch.zeros(2, 5, dtype=torch.long), tokens)}
    else:
        examples = {
            "pieces": (torch.arange(21).view(3, 7) % 5, pieces),
            "mask": (torch.ones(3, 7, dtype=torch.bool), pieces),
        }
        if network.config.embedder.pooling == "first":
            module = FirstPieceGraph(network)
            examples["first"] = (torch.arange(10).view(2, 5), tokens)
        else:
            module = MeanPieceGraph(network)
            examples["shares"] = (torch.ones(3, 5, 7), {0: "windows", 1: "tokens", 2: "pieces"})
            examples["windows"] = (torch.ones(2, 3), {0: "sentences", 1: "windows"})
    outputs = ["vectors"] if network.tasks is None else ["vectors", "classes"]
    return _to_onnx(module, examples, outputs, half=half)


def arguments_graph(network: Network, *, half: bool) -> bytes:
    """The arguments' graph as the bytes of an ONNX file."""
    examples = {
        "vectors": (torch.randn(2, 5, network.embedder.width), {0: "sentences", 1: "tokens"}),
        "sentence_lengths": (torch.tensor([5, 4]), {0: "sentences"}),
        "sentence": (torch.tensor([0, 1, 1]), {0: "predicates"}),
        "pred": (torch.tensor([4, 0, 2]), {0: "predicates"}),
    }
    spans = isinstance(network.output, SpanOutput)
    outputs = ["start", "end"] if spans else ["emissions", "transitions", "first"]
    if network.tasks is not None:
        outputs.append("senses")
    return _to_onnx(ArgumentsGraph(network), examples, outputs, half=half)


def _to_onnx(module: nn.Module, examples: Examples, outputs: list[str], *, half: bool) -> bytes:
    _require_onnx()
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # the exporter warns of its own internals
            program = torch.onnx.export(
                module.eval(),
                tuple(example for example, _ in examples.values()),
                dynamo=True,
                opset_version=OPSET,
                input_names=list(examples),
                output_names=outputs,
                dynamic_shapes=tuple(axes for _, axes in examples.values()),
                verbose=False,
            )
    finally:
        logger.setLevel(level)
    assert program is not None
    proto = program.model_proto
    forget_origin(proto)
    if half:
        store_in_half(proto)
    content: bytes = proto.SerializeToString()
    return content


def forget_origin(proto: Any) -> None:
    """Take out what the exporter notes of its own: stack traces, with the paths of the machine it ran on."""
    graph = proto.graph
    for item in (
        proto,
        graph,
        *graph.node,
        *graph.initializer,
        *graph.value_info,
        *graph.input,
        *graph.output,
    ):
        del item.metadata_props[:]
        item.doc_string = ""


def round_to_half(network: Network) -> None:
    """Round the parameters to what half precision can hold."""
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(parameter.half())


def store_in_half(proto: Any) -> None:
    """Store weights that lose nothing by it in half precision, each with a cast that loading folds away."""
    from onnx import TensorProto, helper, numpy_helper

    graph = proto.graph
    casts = []
    for k, tensor in enumerate(graph.initializer):
        if tensor.data_type != TensorProto.FLOAT or np.prod(tensor.dims) < 1024:
            continue
        values, name = numpy_helper.to_array(tensor), tensor.name
        half = values.astype(np.float16)
        if not np.array_equal(half.astype(np.float32), values):
            continue
        graph.initializer[k].CopyFrom(numpy_helper.from_array(half, f"{name}.half"))
        casts.append(helper.make_node("Cast", [f"{name}.half"], [name], to=TensorProto.FLOAT))
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)


@dataclass(frozen=True, slots=True)
class Difference:
    """How far an exported model is from the network it was made of, on some sentences."""

    scores: float  # the largest difference of two scores
    propositions: int
    other_labels: int  # propositions whose arguments differ


def compare(network: Network, model: OnnxModel, sentences: Sequence[Sentence]) -> Difference:
    """Score and label the same sentences (with their predicates) by torch and by ONNX Runtime."""
    torch_model = TorchScorer(network)
    ours = labeler_of(torch_model, network)
    theirs = Labeler(model, method=ours.method, order=ours.order)
    worst = max((_difference(torch_model, model, sent) for sent in sentences if sent.props), default=0.0)
    pairs = zip(ours.label(sentences), theirs.label(sentences), strict=True)
    props = [(p, q) for a, b in pairs for p, q in zip(a.props, b.props, strict=True)]
    other = sum(
        [(arg.role, arg.span) for arg in p.args] != [(arg.role, arg.span) for arg in q.args] for p, q in props
    )
    return Difference(worst, len(props), other)


def _difference(ours: FrameModel, theirs: FrameModel, sent: Sentence) -> float:
    """The largest difference of any two scores: of arguments, senses and tokens as predicates."""
    pred = np.array([prop.pred for prop in sent.props], dtype=np.int64)
    own, other = (_all_scores(model, sent, pred) for model in (ours, theirs))
    return max(float(np.abs(a - b).max(initial=0.0)) for a, b in zip(own, other, strict=True))


def _all_scores(model: FrameModel, sent: Sentence, pred: IntArray) -> list[npt.NDArray[Any]]:
    encoding = model.encode([sent.tokens])
    found = model.score_predicates(encoding, np.zeros_like(pred), pred)
    scores = found.arguments
    arguments = [scores.start, scores.end] if isinstance(scores, SpanScores) else [scores.emissions]
    return [*arguments, *(part for part in (encoding.classes, found.senses) if part is not None)]


def _require_onnx() -> None:
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("spansrl export", "train") from error
