"""Trained models on ONNX Runtime: no torch, no transformers.

A model is two graphs. `encoder.onnx` reads a batch of sentences and returns a vector for each token and,
where the model learned it, scores of the token as a predicate. `arguments.onnx` takes these vectors with
any number of predicates and returns the scores of their arguments and senses. `spansrl export` writes them.

Where arguments depend on senses, these are scored by a table of prototypes (`prototypes.npz`), and
`arguments.onnx` has an input `frame_roles` with vectors of the roles of each predicate's sense.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

from spansrl.arrays import UNKNOWN, IntArray, Ragged, Vocabulary
from spansrl.decoding import ARRAYS, Scores, make_scores
from spansrl.errors import DataError, ModelError
from spansrl.inference.config import EmbedderConfig
from spansrl.inference.directory import (
    ARGUMENTS_GRAPH,
    ENCODER_GRAPH,
    ModelDirectory,
    read_json,
    read_words,
)
from spansrl.inference.inputs.characters import CharacterBatch
from spansrl.inference.inputs.pieces import SPECIAL_PIECES, PieceStore, PieceTokenizer, load_tokenizer
from spansrl.inference.inputs.word_vectors import Vectors
from spansrl.inference.int8 import with_int8_products
from spansrl.inference.model import Encoding, Floats, Prepared, Senses, Tokens, lengths_of, narrowed
from spansrl.inference.prototypes import PROTOTYPES, Prototypes
from spansrl.inventory.frame_files import Roleset
from spansrl.structures import Sentence

Feed = dict[str, npt.NDArray[Any]]
Precision = Literal["full", "int8"]  # of matrix products
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
FRAME_ROLES = "frame_roles"  # input of arguments that depend on the senses


class OnnxModel:
    """An exported model."""

    def __init__(
        self, directory: ModelDirectory, *, threads: int | None = None, precision: Precision = "full"
    ) -> None:
        config = directory.network_config
        self.directory = directory
        self.roles = directory.roles
        self.finds_predicates = config.tasks.any
        self._threads = threads
        self.precision = precision
        self._inputs = token_inputs(config.embedder, directory.path / "embedder")
        classes = {"classes"} if self.finds_predicates else set()
        self._encoder = OnnxGraph(directory.path / ENCODER_GRAPH, {"vectors", *classes}, threads, precision)
        self._senses = {sense: k for k, sense in enumerate(directory.senses)}
        self._learned: tuple[Sequence[Roleset], Sequence[Sentence]] = (), ()
        has_table = (directory.path / PROTOTYPES).is_file()
        self.prototypes = Prototypes.read(directory.path / PROTOTYPES) if has_table else None
        if self.prototypes is not None and len(self.prototypes.bias) != len(directory.senses):
            raise ModelError(f"{directory.path / PROTOTYPES}: not the model's senses; get the model again")
        senses = {"senses"} if directory.senses and not has_table else set()
        self._output = config.output.kind
        names = {*ARRAYS[self._output], *senses}
        self._arguments = OnnxGraph(directory.path / ARGUMENTS_GRAPH, names, threads, precision)
        for graph, output, expected in (
            (self._arguments, "start", self.roles),
            (self._arguments, "senses", directory.senses),
        ):
            if graph.widths.get(output, len(expected)) != len(expected):
                found = f"'{output}' has {graph.widths[output]} columns for {len(expected)} roles or senses"
                raise ModelError(f"{graph.path}: {found}; get the model again")

    @classmethod
    def load(
        cls,
        path: Path,
        threads: int | None = None,
        precision: Precision = "full",
        learned: tuple[Sequence[Roleset], Sequence[Sentence]] = ((), ()),
    ) -> OnnxModel:
        model = cls(ModelDirectory.read(path), threads=threads, precision=precision)
        model.learn(*learned)
        return model

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied as the name of its directory: sessions of ONNX Runtime can be neither."""
        return OnnxModel.load, (
            *(self.directory.path.absolute(), self._threads, self.precision),
            self._learned,
        )

    def learn(self, rolesets: Sequence[Roleset], examples: Sequence[Sentence]) -> None:
        """Add rolesets that training did not see, from their examples and descriptions."""
        new = [roleset for roleset in rolesets if roleset.id not in self._senses]
        if self.prototypes is not None and new:
            self._learned = new, examples
            self.prototypes = self.prototypes.extended(self, new, examples)
            self._senses |= {roleset.id: len(self._senses) + k for k, roleset in enumerate(new)}

    @property
    def senses(self) -> tuple[str, ...]:
        """The senses in the order of their scores."""
        return tuple(self._senses)

    def roles_of(self, sense: str | None) -> Sequence[str]:
        return self.roles

    def prepare(self, sentences: Sequence[Tokens]) -> Prepared:
        inputs, costs = self._inputs.prepare(sentences)
        return Prepared(sentences, costs, inputs)

    def encode(self, prepared: Prepared, rows: IntArray) -> Encoding:
        sentences = [prepared.sentences[row] for row in rows.tolist()]
        out = self._encoder(self._inputs.take(prepared.inputs, rows))
        return Encoding(sentences, lengths_of(sentences), out["vectors"], out.get("classes"))

    def score_senses(self, encoding: Encoding, sentence: IntArray, pred: IntArray) -> Floats | None:
        if not self._senses:
            return None
        if self.prototypes is not None:
            return self.prototypes.scores(encoding.vectors[sentence, pred])
        out = self._arguments(_predicate_inputs(encoding, sentence, pred))  # has both, so it runs once
        encoding.kept[_key(sentence, pred)] = out
        return out["senses"]

    def score_arguments(
        self, encoding: Encoding, sentence: IntArray, pred: IntArray, senses: Senses
    ) -> Scores:
        out = encoding.kept.pop(_key(sentence, pred), None)
        if out is None:
            feed = _predicate_inputs(encoding, sentence, pred)
            if self.prototypes is not None:
                ids = np.array([self._senses.get(sense or "", -1) for sense in senses], dtype=np.int64)
                feed[FRAME_ROLES] = self.prototypes.roles(ids)
            out = self._arguments(feed)
        try:
            return make_scores(self._output, out, encoding.lengths[sentence], pred)
        except (KeyError, ValueError, IndexError, TypeError, DataError) as error:
            reason = f"not scores of output.kind = '{self._output}' ({_first_line(error)})"
            raise ModelError(f"{self._arguments.path}: {reason}; get the model again") from error


def _predicate_inputs(encoding: Encoding, sentence: IntArray, pred: IntArray) -> Feed:
    encoding, sentence = narrowed(encoding, sentence)
    return {
        "vectors": encoding.vectors,
        "sentence_lengths": encoding.lengths,
        "sentence": sentence,
        "pred": pred,
    }


def _key(sentence: IntArray, pred: IntArray) -> bytes:
    return sentence.tobytes() + pred.tobytes()


class OnnxGraph:
    """An ONNX file as a function of named arrays."""

    def __init__(
        self, path: Path, outputs: set[str], threads: int | None = None, precision: Precision = "full"
    ) -> None:
        self.path = path
        self._session = _session(path, threads, precision)
        self._outputs = [item.name for item in self._session.get_outputs()]
        self._inputs = [item.name for item in self._session.get_inputs()]
        shapes = {item.name: item.shape for item in self._session.get_outputs()}
        # The last dimension of each output that has a fixed one.
        self.widths = {name: dims[-1] for name, dims in shapes.items() if dims and isinstance(dims[-1], int)}
        if missing := sorted(outputs - set(self._outputs)):
            raise ModelError(f"{path}: the graph has no output '{missing[0]}'; get the model again")

    def __call__(self, feed: Feed) -> Mapping[str, Floats]:
        """Outputs by name; inputs that the graph does not have are left out."""
        if missing := [name for name in self._inputs if name not in feed]:
            raise ModelError(
                f"{self.path}: the graph has an unknown input '{missing[0]}'; get the model again"
            )
        try:
            found = self._session.run(self._outputs, {name: feed[name] for name in self._inputs})
        except Exception as error:  # ONNX Runtime's exceptions have no common base class
            raise ModelError(f"{self.path}: cannot be run: {_first_line(error)}") from error
        if any(array.dtype.kind == "f" and np.isnan(array).any() for array in found):
            raise ModelError(f"{self.path}: its outputs are not numbers; get the model again")
        return dict(zip(self._outputs, found, strict=True))


def _session(path: Path, threads: int | None, precision: Precision) -> Any:
    import onnxruntime  # type: ignore[import-untyped]  # late: it takes longer than everything else

    if not path.is_file():
        raise ModelError(f"{path}: no such graph; write it with `spansrl export`")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # errors are raised, and need not be printed too
    options.inter_op_num_threads = 1
    # Batches come in every shape: remembering a plan for each would make memory grow with the input.
    options.enable_mem_pattern = False
    # Weights stored as int8 become single precision now, not in every run.
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    if threads is not None:
        options.intra_op_num_threads = threads
    try:
        session = onnxruntime.InferenceSession(
            with_int8_products(path) if precision == "int8" else str(path),
            options,
            providers=["CPUExecutionProvider"],
            # Fused with the addition before it, layer normalization takes several times as long.
            disabled_optimizers=["SkipLayerNormFusion"],
            enable_fallback=0,
        )
    except Exception as error:  # ONNX Runtime's exceptions have no common base class
        raise ModelError(f"{path}: not a graph that can be run: {_first_line(error)}") from error
    return session


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


# How sentences become the encoder's inputs: one class per kind of embedder.


class TokenInputs(Protocol):
    """Sentences as the arrays that an encoder reads."""

    def prepare(self, sentences: Sequence[Tokens]) -> tuple[Any, IntArray]:
        """The sentences as arrays, and the positions (S,) that each takes in a batch."""

    def take(self, inputs: Any, rows: IntArray) -> Feed:
        """The inputs of a batch."""


def token_inputs(config: EmbedderConfig, files: Path) -> TokenInputs:
    """What makes the encoder's inputs, from the embedder's files."""
    if config.kind == "words":
        vocab = Vocabulary([UNKNOWN, *read_words(files)], unknown=0)
        return _WordInputs(lambda tokens: vocab.ids([token.lower() for token in tokens]))
    if config.kind == "vectors":
        words = read_words(files)
        return _WordInputs(Vectors(words, np.zeros((len(words), 1), np.float32)).lookup)  # no matrix needed
    if config.kind == "transformer":
        return _PieceInputs(_piece_tokenizer(files), config.pooling)
    return _CharacterInputs()


@dataclass(frozen=True, slots=True)
class _WordInputs:
    lookup: Callable[[Tokens], IntArray]

    def prepare(self, sentences: Sequence[Tokens]) -> tuple[Ragged, IntArray]:
        ids = Ragged.of([self.lookup(tokens) for tokens in sentences], like=np.zeros(0, np.int64))
        return ids, ids.lengths

    def take(self, inputs: Ragged, rows: IntArray) -> Feed:
        return {"ids": inputs.padded(rows)}


@dataclass(frozen=True, slots=True)
class _PieceInputs:
    tokenizer: PieceTokenizer
    pooling: str

    def prepare(self, sentences: Sequence[Tokens]) -> tuple[PieceStore, IntArray]:
        store = self.tokenizer.prepare(sentences)
        return store, store.piece_counts

    def take(self, inputs: PieceStore, rows: IntArray) -> Feed:
        batch = inputs.take(rows)
        feed: Feed = {"pieces": batch.pieces, "mask": batch.mask, "cases": batch.cases}
        if self.pooling == "first":
            return feed | {"first": batch.first_pieces()}
        return feed | {"shares": batch.shares(), "windows": batch.windows()}


class _CharacterInputs:
    def prepare(self, sentences: Sequence[Tokens]) -> tuple[Sequence[Tokens], IntArray]:
        return sentences, lengths_of(sentences)

    def take(self, inputs: Sequence[Tokens], rows: IntArray) -> Feed:
        batch = CharacterBatch.of([inputs[row] for row in rows.tolist()])
        return {"chars": batch.chars, "words": batch.words, "mask": batch.mask}


def _piece_tokenizer(files: Path) -> PieceTokenizer:
    settings = read_json(files / "config.json")
    positions = settings.get("max_position_embeddings") if isinstance(settings, dict) else None
    if not isinstance(positions, int) or positions <= SPECIAL_PIECES:
        raise ModelError(f"{files / 'config.json'}: 'max_position_embeddings' must be a number of positions")
    return PieceTokenizer(load_tokenizer(files), positions - SPECIAL_PIECES)
