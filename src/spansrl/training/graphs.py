"""A trained network cut into the two graphs that `runtime` describes, as modules that torch can export."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from spansrl.errors import ModelError
from spansrl.nn.embedders.elmo import Elmo, batch_char_ids
from spansrl.nn.embedders.embed import (
    ElmoSource,
    Embedder,
    LayeredEmbedder,
    TransformerEmbedder,
    TransformerSource,
)
from spansrl.nn.embedders.scalar_mix import ScalarMix
from spansrl.nn.embedders.transformer import Transformer
from spansrl.nn.network import Network
from spansrl.nn.tasks import TaskHeads

Examples = dict[str, tuple[Tensor, dict[int, str]]]  # input -> an example, and its axes that vary by name

SENTENCES_TOKENS = {0: "sentences", 1: "tokens"}
WINDOWS_PIECES = {0: "windows", 1: "pieces"}


@dataclass(frozen=True, slots=True)
class Graph:
    """A module, and what the exporter must know about its inputs and outputs."""

    module: nn.Module
    inputs: Examples
    outputs: list[str]


class EncoderGraph(nn.Module):
    """Embedder inputs -> token vectors (S, T, D) and, where learnt, scores of tokens as predicates."""

    def __init__(self, tasks: TaskHeads | None) -> None:
        super().__init__()
        self.tasks = tasks

    def outputs(self, x: Tensor) -> tuple[Tensor, ...]:
        """vectors (S, T, D), classes (S, T, 1 + types)"""
        return (x,) if self.tasks is None else (x, self.tasks.predicates(x))


class WordsGraph(EncoderGraph):
    """For vectors of whole words."""

    def __init__(self, embedder: Embedder, tasks: TaskHeads | None) -> None:
        super().__init__(tasks)
        self.embedder = embedder

    def forward(self, ids: Tensor) -> tuple[Tensor, ...]:
        """ids (S, T)"""
        return self.outputs(self.embedder(ids))


class PiecesGraph(EncoderGraph):
    """For transformers: the layers of all pieces, mixed."""

    def __init__(self, transformer: Transformer, mix: ScalarMix, tasks: TaskHeads | None) -> None:
        super().__init__(tasks)
        self.encoder = transformer.encoder
        self.mix = mix

    def mixed(self, pieces: Tensor, mask: Tensor) -> Tensor:
        """pieces (W, P), mask (W, P) -> (W, P, D)"""
        states = self.encoder(pieces, attention_mask=mask, output_hidden_states=True).hidden_states
        mixed: Tensor = self.mix(torch.stack(states))
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


class CharactersGraph(EncoderGraph):
    """For ELMo: its layers, mixed."""

    def __init__(self, elmo: Elmo, mix: ScalarMix, tasks: TaskHeads | None) -> None:
        super().__init__(tasks)
        self.elmo = elmo
        self.mix = mix

    def forward(self, chars: Tensor, words: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        """chars (W, 50), words (S, T + 2), mask (S, T + 2), as in a `CharacterBatch`"""
        layers, _ = self.elmo.read(self.elmo.char_cnn(chars)[words], mask)  # (L, S, T, D)
        return self.outputs(self.mix(layers))


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
        out = tuple(self.output.arrays(h, batch.mask()).values())
        return out if self.tasks is None else (*out, self.tasks.senses(vectors, sentence, pred))


def encoder_graph(network: Network) -> Graph:
    """What reads sentences: its inputs are those that `runtime.token_inputs` makes for the embedder."""
    embedder, tasks = network.embedder, network.tasks
    pretrained = pretrained_part(embedder)
    module: EncoderGraph
    inputs: Examples
    if isinstance(embedder, LayeredEmbedder) and isinstance(pretrained, Elmo):
        module, inputs = CharactersGraph(pretrained, embedder.mix, tasks), _character_examples()
    elif isinstance(embedder, LayeredEmbedder | TransformerEmbedder) and isinstance(pretrained, Transformer):
        pooling = network.config.embedder.pooling
        kind = FirstPieceGraph if pooling == "first" else MeanPieceGraph
        module, inputs = kind(pretrained, embedder.mix, tasks), _piece_examples(pooling)
    else:
        module = WordsGraph(embedder, tasks)
        inputs = {"ids": (torch.zeros(2, 5, dtype=torch.long), SENTENCES_TOKENS)}
    return Graph(module, inputs, ["vectors"] if tasks is None else ["vectors", "classes"])


def pretrained_part(embedder: Embedder) -> Transformer | Elmo | None:
    """The pretrained network inside an embedder, where it has one."""
    if isinstance(embedder, TransformerEmbedder):
        return embedder.transformer
    if not isinstance(embedder, LayeredEmbedder):
        return None
    if isinstance(embedder.source, TransformerSource):
        return embedder.source.transformer
    if isinstance(embedder.source, ElmoSource):
        return embedder.source.elmo
    raise ModelError(
        "a model over precomputed vectors cannot be exported, for ELMo itself is not in it; "
        "train it with embedder.path instead of embedder.precomputed"
    )


def _piece_examples(pooling: str) -> Examples:
    examples: Examples = {
        "pieces": (torch.arange(21).view(3, 7) % 5, WINDOWS_PIECES),
        "mask": (torch.ones(3, 7, dtype=torch.bool), WINDOWS_PIECES),
    }
    if pooling == "first":
        return examples | {"first": (torch.arange(10).view(2, 5), SENTENCES_TOKENS)}
    return examples | {
        "shares": (torch.ones(3, 5, 7), {0: "windows", 1: "tokens", 2: "pieces"}),
        "windows": (torch.ones(2, 3), {0: "sentences", 1: "windows"}),
    }


def _character_examples() -> Examples:
    chars, words, mask = batch_char_ids([["Birds", "sing", "."], ["Why", "?"]])
    places = {0: "sentences", 1: "words"}  # words are tokens and boundaries
    return {"chars": (chars, {0: "distinct"}), "words": (words, places), "mask": (mask, places)}


def arguments_graph(network: Network) -> Graph:
    """What scores the arguments and senses of predicates."""
    inputs: Examples = {
        "vectors": (torch.randn(2, 5, network.embedder.width), SENTENCES_TOKENS),
        "sentence_lengths": (torch.tensor([5, 4]), {0: "sentences"}),
        "sentence": (torch.tensor([0, 1, 1]), {0: "predicates"}),
        "pred": (torch.tensor([4, 0, 2]), {0: "predicates"}),
    }
    h, mask = torch.zeros(1, 1, network.encoder.out_width), torch.ones(1, 1, dtype=torch.bool)
    outputs = list(network.output.arrays(h, mask))
    return Graph(ArgumentsGraph(network), inputs, outputs if network.tasks is None else [*outputs, "senses"])
