"""Trained models on ONNX Runtime: no torch, no transformers.

A model is two graphs. `encoder.onnx` reads a batch of sentences once and gives a vector for each token and,
where the model learnt it, scores of the token as a predicate. `arguments.onnx` takes these vectors with any
number of predicates and gives the scores of their arguments and senses. `spansrl export` writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from spansrl.arrays import IntArray, Ragged
from spansrl.decoding import SpanScores, TagScores, log_partition
from spansrl.errors import ModelError
from spansrl.inference.config import Config, EmbedderConfig
from spansrl.inference.directory import (
    check_manifest,
    description_config,
    read_description,
    read_json,
    read_words,
)
from spansrl.inference.inputs.characters import CharacterBatch
from spansrl.inference.inputs.pieces import SPECIAL_PIECES, PieceTokenizer, load_tokenizer
from spansrl.inference.inputs.vectors import Vectors
from spansrl.language.vocabulary import Vocabulary
from spansrl.structures import Sentence

NO_PREDICATE = 0  # class of a token; class k is PREDICATE_TYPES[k - 1]
ENCODER_GRAPH = "encoder.onnx"
ARGUMENTS_GRAPH = "arguments.onnx"
UNKNOWN = "<unknown>"

Floats = npt.NDArray[np.float32]
Tokens = Sequence[str]
Feed = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Encoding:
    """A batch of S sentences after its one pass through the encoder."""

    sentences: Sequence[Tokens]
    lengths: IntArray  # (S,)
    vectors: Floats  # (S, T, D)
    classes: Floats | None = None  # (S, T, 1 + types) scores of being no predicate, and one of each type


@dataclass(frozen=True, slots=True)
class PredicateScores:
    """What is known of N predicates: scores of their arguments and, where learnt, of their senses."""

    arguments: SpanScores | TagScores
    senses: Floats | None = None  # (N, V)


class FrameModel(Protocol):
    """What labels text: `OnnxModel` here, or a network on torch."""

    @property
    def roles(self) -> Sequence[str]:
        """The names behind the scores' role axis."""

    def encode(self, sentences: Sequence[Tokens]) -> Encoding:
        """The one pass through the encoder; every sentence must have a token."""

    def score_predicates(self, encoding: Encoding, sentence: IntArray, pred: IntArray) -> PredicateScores:
        """Scores of the predicates at tokens `pred` (N,) of the sentences `sentence` (N,)."""


def score_given(model: FrameModel, sentences: Sequence[Sentence]) -> SpanScores | TagScores:
    """A model as the scorer of a Labeler: scores with one row a proposition."""
    sentence = np.repeat(np.arange(len(sentences)), [len(sent.props) for sent in sentences])
    pred = np.array([prop.pred for sent in sentences for prop in sent.props], dtype=np.int64)
    encoding = model.encode([sent.tokens for sent in sentences])
    return model.score_predicates(encoding, sentence, pred).arguments


def lengths_of(sentences: Sequence[Tokens]) -> IntArray:
    """(S,) tokens of each sentence."""
    return np.array([len(tokens) for tokens in sentences], dtype=np.int64)


class OnnxModel:
    """An exported model; also the scorer of a Labeler, for predicates that are given."""

    def __init__(
        self, config: Config, roles: Sequence[str], senses: Sequence[str], inputs: TokenInputs, graphs: Graphs
    ) -> None:
        self.config = config
        self.roles = tuple(roles)
        self.senses = tuple(senses)
        self._inputs = inputs
        self._graphs = graphs

    @classmethod
    def load(cls, directory: Path, *, threads: int | None = None) -> OnnxModel:
        """An exported model from its directory, checked against its manifest."""
        check_manifest(directory)
        description = read_description(directory, kind="network")
        config = description_config(description, directory)
        return cls(
            config,
            description["roles"],
            description.get("senses", ()),
            token_inputs(config.embedder, directory / "embedder"),
            Graphs.load(directory, threads),
        )

    def encode(self, sentences: Sequence[Tokens]) -> Encoding:
        """The one pass through the encoder; every sentence must have a token."""
        out = self._graphs.encoder(self._inputs(sentences))
        return Encoding(sentences, lengths_of(sentences), out["vectors"], out.get("classes"))

    def score_predicates(self, encoding: Encoding, sentence: IntArray, pred: IntArray) -> PredicateScores:
        """Scores of the predicates at tokens `pred` (N,) of the sentences `sentence` (N,)."""
        lengths = encoding.lengths[sentence]
        out = self._graphs.arguments(
            {
                "vectors": encoding.vectors,
                "sentence_lengths": encoding.lengths,
                "sentence": sentence,
                "pred": pred,
            }
        )
        if "emissions" in out:
            arguments: SpanScores | TagScores = TagScores(
                out["emissions"], out["transitions"], out["first"], lengths=lengths, pred=pred
            )
        else:
            log_z = log_partition(out["start"], out["end"], lengths)
            arguments = SpanScores(out["start"], out["end"], log_z, lengths=lengths, pred=pred)
        return PredicateScores(arguments, out.get("senses"))

    def score(self, sentences: Sequence[Sentence]) -> SpanScores | TagScores:
        """Scores with one row a proposition."""
        return score_given(self, sentences)


class Graphs:
    """The two graphs as functions of named arrays."""

    def __init__(self, encoder: Any, arguments: Any) -> None:
        self._encoder = encoder
        self._arguments = arguments

    @classmethod
    def load(cls, directory: Path, threads: int | None = None) -> Graphs:
        """The graphs of a directory; `threads` defaults to what ONNX Runtime thinks best."""
        return cls(*(open_graph(directory / name, threads) for name in (ENCODER_GRAPH, ARGUMENTS_GRAPH)))

    def encoder(self, feed: Feed) -> Mapping[str, Floats]:
        """Outputs of the encoder's graph by name."""
        return run_graph(self._encoder, feed)

    def arguments(self, feed: Feed) -> Mapping[str, Floats]:
        """Outputs of the arguments' graph by name."""
        return run_graph(self._arguments, feed)


def open_graph(path: Path, threads: int | None = None) -> Any:
    """An ONNX file as a session of ONNX Runtime."""
    import onnxruntime  # type: ignore[import-untyped]  # late: it takes longer than all the rest

    if not path.is_file():
        raise ModelError(f"{path}: no such graph; write it with `spansrl export`")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors only: what else it says is of no use to who labels text
    options.inter_op_num_threads = 1
    # Batches come in every shape: remembering a plan for each would make memory grow with the input.
    options.enable_mem_pattern = False
    if threads is not None:
        options.intra_op_num_threads = threads
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime's exceptions share no base of their own
        reason = str(error).strip().splitlines()[0]
        raise ModelError(f"{path}: not a graph that can be run: {reason}") from error


def run_graph(session: Any, feed: Feed) -> Mapping[str, Floats]:
    """Outputs by name; inputs that the graph does not ask for are left out."""
    wanted = {item.name for item in session.get_inputs()}
    names = [item.name for item in session.get_outputs()]
    found = session.run(names, {name: array for name, array in feed.items() if name in wanted})
    return dict(zip(names, found, strict=True))


# How sentences become the encoder's inputs: one function a kind of embedder.

TokenInputs = Callable[[Sequence[Tokens]], Feed]


def token_inputs(config: EmbedderConfig, files: Path) -> TokenInputs:
    """The function that makes the encoder's inputs, from the embedder's files."""
    if config.kind == "words":
        vocab = Vocabulary([UNKNOWN, *read_words(files)], unknown=0)
        return lambda sentences: _ids(
            [vocab.ids([token.lower() for token in tokens]) for tokens in sentences]
        )
    if config.kind == "vectors":
        words = read_words(files)
        vectors = Vectors(words, np.zeros((len(words), 1), np.float32))  # the graph holds the real matrix
        return lambda sentences: _ids([vectors.lookup(tokens) for tokens in sentences])
    if config.kind == "transformer":
        return _piece_inputs(config, files)
    return _character_inputs


def _piece_inputs(config: EmbedderConfig, files: Path) -> TokenInputs:
    settings = read_json(files / "config.json")
    positions = settings.get("max_position_embeddings") if isinstance(settings, dict) else None
    if not isinstance(positions, int) or positions <= SPECIAL_PIECES:
        raise ModelError(f"{files / 'config.json'}: 'max_position_embeddings' must be a number of positions")
    tokenizer = PieceTokenizer(load_tokenizer(files), positions - SPECIAL_PIECES)

    def inputs(sentences: Sequence[Tokens]) -> Feed:
        batch = tokenizer.prepare(sentences).take(np.arange(len(sentences)))
        feed: Feed = {"pieces": batch.pieces, "mask": batch.mask}
        if config.pooling == "first":
            feed["first"] = batch.first_pieces()
        else:
            feed["shares"], feed["windows"] = batch.shares(), batch.windows()
        return feed

    return inputs


def _character_inputs(sentences: Sequence[Tokens]) -> Feed:
    batch = CharacterBatch.of(sentences)
    return {"chars": batch.chars, "words": batch.words, "mask": batch.mask}


def _ids(rows: Sequence[IntArray]) -> Feed:
    return {"ids": Ragged.of(rows, like=np.zeros(0, np.int64)).padded(np.arange(len(rows)))}
