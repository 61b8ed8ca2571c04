"""A model: embedder, encoder and output put together as the config says; its loss, and scores to decode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from spansrl.arrays import IntArray
from spansrl.decoding import SpanScores, TagScores
from spansrl.inference.config import Config, EncoderConfig
from spansrl.inference.inputs.pieces import PieceStore
from spansrl.inference.model import Encoding, PredicateScores, Prepared, Tokens, lengths_of, narrowed
from spansrl.language.vocabulary import Vocabulary
from spansrl.nn.batch import Batch
from spansrl.nn.embedders.embed import Embedder, LayeredEmbedder
from spansrl.nn.encoders.bilstm import InterleavedLSTM, PredicateHead, PredicateMark
from spansrl.nn.outputs.crf import CrfOutput, TagLogits, crf_loss, gold_tags
from spansrl.nn.outputs.span import SpanLogits, SpanOutput, distillation_loss, span_loss
from spansrl.nn.tasks import TaskHeads


class MarkedEncoder(nn.Module):
    """The paper's way: the predicate is marked at the input, one pass a proposition."""

    out_width: int

    def __init__(self, in_width: int, config: EncoderConfig) -> None:
        super().__init__()
        self.mark = PredicateMark(config.mark_width)
        self.lstm = InterleavedLSTM(in_width + config.mark_width, config.width, config.layers, config.dropout)
        self.out_width = self.lstm.out_width

    def forward(self, x: Tensor, batch: Batch) -> Tensor:
        """x (S, T, D) -> (N, T, out_width)"""
        out: Tensor = self.lstm(self.mark(x, batch.sentence, batch.pred), batch.lengths)
        return out


class OnePassEncoder(nn.Module):
    """The fast way: one pass a sentence, and every predicate conditioned on afterwards."""

    out_width: int

    def __init__(self, in_width: int, config: EncoderConfig) -> None:
        super().__init__()
        self.lstm = (
            InterleavedLSTM(in_width, config.width, config.layers, config.dropout)
            if config.kind == "bilstm"
            else None
        )
        head_width = in_width if self.lstm is None else self.lstm.out_width
        self.head = PredicateHead(head_width, config)
        self.out_width = self.head.out_width

    def forward(self, x: Tensor, batch: Batch) -> Tensor:
        """x (S, T, D) -> (N, T, out_width)"""
        if self.lstm is not None:
            x = self.lstm(x, batch.sentence_lengths)
        out: Tensor = self.head(x, batch.sentence, batch.pred, batch.mask())
        return out


class Network(nn.Module):
    """Scores and loss of a batch; N propositions, T tokens, R roles."""

    encoder: MarkedEncoder | OnePassEncoder
    output: SpanOutput | CrfOutput

    def __init__(
        self, config: Config, roles: Sequence[str], embedder: Embedder, senses: Sequence[str] = ()
    ) -> None:
        super().__init__()
        self.config = config
        self.roles = Vocabulary(roles)
        self.senses = Vocabulary(senses) if config.tasks.any else None
        self.embedder = embedder
        marked = config.encoder.predicate == "input"
        self.encoder = (MarkedEncoder if marked else OnePassEncoder)(embedder.width, config.encoder)
        width = self.encoder.out_width
        self.output = (
            SpanOutput(width, len(roles), config.output.span_end)
            if config.output.kind == "span"
            else CrfOutput(width, len(roles), config.output.transitions)
        )
        self.tasks = (
            None if self.senses is None else TaskHeads(embedder.width, len(senses), config.encoder.dropout)
        )

    def token_features(self, batch: Batch, inputs: Any) -> Tensor:
        """h of the paper's Eq. 4: (N, T, D)"""
        h: Tensor = self.encoder(self.embedder(inputs), batch)
        return h

    def forward(self, batch: Batch, inputs: Any) -> SpanLogits | TagLogits:
        """Scores of all spans, or of all tag sequences."""
        return self.logits(self.token_features(batch, inputs), batch)

    def logits(self, h: Tensor, batch: Batch) -> SpanLogits | TagLogits:
        """Scores from h (N, T, D)."""
        logits: SpanLogits | TagLogits = (
            self.output(h, batch.mask()) if isinstance(self.output, SpanOutput) else self.output(h)
        )
        return logits

    def loss(self, batch: Batch, inputs: Any) -> Tensor:
        """Mean negative log-likelihood of the batch's propositions: arguments and, where learnt, the rest."""
        x = self.embedder(inputs)  # (S, T, D)
        total = x.new_zeros(()) if not batch.n_props else self._argument_loss(x, batch)
        if self.tasks is not None and batch.tasks is not None:
            total = total + self.tasks.loss(x, batch.sentence, batch.pred, batch.tasks) / max(
                1, batch.n_props
            )
        return total

    def _argument_loss(self, x: Tensor, batch: Batch) -> Tensor:
        logits = self.logits(self.encoder(x, batch), batch)
        if isinstance(logits, SpanLogits):
            gold = span_loss(logits, batch.pred, batch.gold)
            if batch.teacher is None:
                return gold
            weight = self.config.distillation.weight
            return (1 - weight) * gold + weight * distillation_loss(logits, batch.teacher, batch.mask())
        mask = batch.mask()
        return crf_loss(logits, gold_tags(batch.gold, mask, batch.pred), mask)


class TorchModel:
    """A network as the model of a pipeline."""

    def __init__(self, network: Network) -> None:
        self.network = network

    @property
    def networks(self) -> Sequence[Network]:
        """The networks that it is made of."""
        return [self.network]

    @property
    def roles(self) -> Sequence[str]:
        """The names of the scores' role axis."""
        return self.network.roles.items

    @property
    def finds_predicates(self) -> bool:
        """Whether the network has learned which tokens are predicates."""
        return self.network.tasks is not None

    def prepare(self, sentences: Sequence[Tokens]) -> Prepared:
        """Tokenize sentences; features of a frozen encoder are large, and computed batch by batch."""
        if isinstance(self.network.embedder, LayeredEmbedder):
            return Prepared(sentences, lengths_of(sentences))
        store = self.network.embedder.prepare(sentences)
        costs = store.piece_counts if isinstance(store, PieceStore) else lengths_of(sentences)
        return Prepared(sentences, costs, store)

    @torch.inference_mode()
    def encode(self, prepared: Prepared, rows: IntArray) -> Encoding:
        """Compute the token vectors of a batch; the network is in eval mode meanwhile."""
        embedder, tasks = self.network.embedder, self.network.tasks
        sentences = [prepared.sentences[row] for row in rows.tolist()]
        if prepared.inputs is None:
            inputs = embedder.take(embedder.prepare(sentences), np.arange(len(rows)))
        else:
            inputs = embedder.take(prepared.inputs, rows)
        with evaluating(self.network):
            x = embedder(inputs.to(self._device))
            classes = None if tasks is None else tasks.predicates(x).cpu().numpy()
        return Encoding(sentences, lengths_of(sentences), x.cpu().numpy(), classes)

    @torch.inference_mode()
    def score(self, encoding: Encoding, sentence: IntArray, pred: IntArray) -> PredicateScores:
        """Score predicates, one row each; the network is in eval mode meanwhile."""
        network = self.network
        encoding, sentence = narrowed(encoding, sentence)
        batch = Batch.of_predicates(encoding.lengths, sentence, pred).to(self._device)
        x = torch.from_numpy(encoding.vectors).to(self._device)
        with evaluating(network):
            scores = to_scores(network.logits(network.encoder(x, batch), batch), batch)
            if network.tasks is None:
                return PredicateScores(scores)
            return PredicateScores(scores, network.tasks.senses(x, batch.sentence, batch.pred).cpu().numpy())

    @property
    def _device(self) -> torch.device:
        return next(self.network.parameters()).device


class evaluating:  # noqa: N801 (a context manager that reads as a word)
    """A block in which a module is in eval mode; afterwards it is as it was."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module

    def __enter__(self) -> None:
        self.was_training = self.module.training
        self.module.eval()

    def __exit__(self, *_: object) -> None:
        self.module.train(self.was_training)


def to_scores(logits: SpanLogits | TagLogits, batch: Batch) -> SpanScores | TagScores:
    """The network's output as NumPy arrays for decoding."""
    lengths, pred = batch.lengths.cpu().numpy(), batch.pred.cpu().numpy()
    if isinstance(logits, SpanLogits):
        start, end, log_z = (part.cpu().numpy() for part in (logits.start, logits.end, logits.log_z))
        return SpanScores(start=start, end=end, log_z=log_z, lengths=lengths, pred=pred)
    emissions, transitions, first = (
        part.cpu().numpy() for part in (logits.emissions, logits.transitions, logits.first)
    )
    return TagScores(emissions=emissions, transitions=transitions, first=first, lengths=lengths, pred=pred)
