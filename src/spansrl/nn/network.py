"""A model: embedder, encoder and output as the config describes them; its loss, and scores to decode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from spansrl.arrays import IntArray, Vocabulary
from spansrl.decoding import Scores, make_scores
from spansrl.inference.config import ModelConfig
from spansrl.inference.model import Encoding, Floats, Prepared, Senses, Tokens, lengths_of, narrowed
from spansrl.nn.batch import Batch
from spansrl.nn.devices import on_device
from spansrl.nn.embedders import Embedder
from spansrl.nn.embedders.transformer import TransformerEmbedder
from spansrl.nn.encoders import build_encoder, dropout_before_encoder
from spansrl.nn.encoders.predicate_encoders import MarkedEncoder, OnePassEncoder
from spansrl.nn.outputs import OUTPUTS, Output
from spansrl.nn.syntax import SyntaxHead
from spansrl.nn.tasks import TaskHeads


class Network(nn.Module):
    """Scores and loss of a batch; N propositions, T tokens, R roles."""

    encoder: MarkedEncoder | OnePassEncoder
    output: Output

    def __init__(
        self, config: ModelConfig, roles: Sequence[str], embedder: Embedder, senses: Sequence[str] = ()
    ) -> None:
        super().__init__()
        self.config = config
        self.roles = Vocabulary(roles)
        self.senses = Vocabulary(senses) if config.tasks.any else None
        self.embedder = embedder
        top = None
        if config.encoder.top_layers:
            assert isinstance(embedder, TransformerEmbedder)  # the config has checked it
            top = embedder.take_top(config.encoder.top_layers)
        self.encoder = build_encoder(embedder.width, config.encoder, top)
        embedder.dropout.p = dropout_before_encoder(config.embedder.dropout, config.encoder)
        self.output = OUTPUTS[config.output.kind].of(config.output, self.encoder.out_width, len(roles))
        self.syntax = (
            SyntaxHead(self.encoder.out_width, config.encoder.dropout) if config.tasks.syntax else None
        )
        self.tasks = (
            None if self.senses is None else TaskHeads(embedder.width, len(senses), config.encoder.dropout)
        )

    def token_features(self, batch: Batch, inputs: Any) -> Tensor:
        """h of the paper's Eq. 4: (N, T, D)"""
        return self.encoder(self.embedder(inputs), batch)

    def scores(self, h: Tensor, batch: Batch) -> Scores:
        """Scores to decode from h (N, T, D)."""
        return to_scores(self.config.output.kind, self.output.arrays(h, batch.mask()), batch)

    def loss(self, batch: Batch, inputs: Any) -> Tensor:
        """Mean negative log-likelihood of the propositions: of arguments and, where learned, the rest."""
        x = _single(self.embedder(inputs))  # (S, T, D)
        h = _single(self.encoder(x, batch)) if batch.n_props else None  # (N, T, width)
        # Mixed precision ends here: differences between scores are smaller than bfloat16's steps.
        with torch.autocast(x.device.type, enabled=False):
            total: Tensor = x.new_zeros(())
            if h is not None:
                total = self.output.loss(h, batch)
                if self.syntax is not None and batch.syntax is not None:
                    labels = batch.syntax.heads[batch.sentence], batch.syntax.relations[batch.sentence]
                    total = total + self.config.tasks.syntax * self.syntax.loss(h, batch.mask(), *labels)
            if self.tasks is not None and batch.tasks is not None:
                total = total + self.tasks.loss(x, batch.sentence, batch.pred, batch.tasks) / max(
                    1, batch.n_props
                )
            return total


class TorchModel:
    """A network as the model of a pipeline."""

    def __init__(self, network: Network) -> None:
        self.network = network

    @property
    def networks(self) -> Sequence[Network]:
        return [self.network]

    @property
    def roles(self) -> Sequence[str]:
        return self.network.roles.items

    def roles_of(self, sense: str | None) -> Sequence[str]:
        return self.roles

    @property
    def finds_predicates(self) -> bool:
        return self.network.tasks is not None

    def prepare(self, sentences: Sequence[Tokens]) -> Prepared:
        """Tokenize sentences; features of a frozen encoder are large, and computed batch by batch."""
        if self.network.embedder.source is not None:
            return Prepared(sentences, lengths_of(sentences))
        store = self.network.embedder.prepare(sentences)
        costs = self.network.embedder.costs(store)
        return Prepared(sentences, lengths_of(sentences) if costs is None else costs, store)

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
            x = embedder(on_device(inputs, self._device))
            classes = None if tasks is None else tasks.predicates(x).cpu().numpy()
        return Encoding(sentences, lengths_of(sentences), x.cpu().numpy(), classes)

    @torch.inference_mode()
    def score_senses(self, encoding: Encoding, sentence: IntArray, pred: IntArray) -> Floats | None:
        """Score the senses of predicates, one row each; the network is in eval mode meanwhile."""
        tasks = self.network.tasks
        if tasks is None:
            return None
        batch, x = self._batch(encoding, sentence, pred)
        with evaluating(self.network):
            return np.asarray(tasks.senses(x, batch.sentence, batch.pred).cpu().numpy())

    @torch.inference_mode()
    def score_arguments(
        self, encoding: Encoding, sentence: IntArray, pred: IntArray, senses: Senses
    ) -> Scores:
        """Score the arguments of predicates, one row each; the network is in eval mode meanwhile."""
        batch, x = self._batch(encoding, sentence, pred)
        with evaluating(self.network):
            return self.network.scores(self.network.encoder(x, batch), batch)

    def _batch(self, encoding: Encoding, sentence: IntArray, pred: IntArray) -> tuple[Batch, Tensor]:
        """The predicates, and the vectors (S, T, D) of the sentences that they need."""
        encoding, sentence = narrowed(encoding, sentence)
        batch = Batch.of_predicates(encoding.lengths, sentence, pred)
        found: tuple[Batch, Tensor] = on_device((batch, torch.from_numpy(encoding.vectors)), self._device)
        return found

    @property
    def _device(self) -> torch.device:
        return next(self.network.parameters()).device


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """A block in which a module is in eval mode; afterwards its mode is restored."""
    was_training = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(was_training)


def to_scores(kind: str, arrays: Mapping[str, Tensor], batch: Batch) -> Scores:
    """An output's arrays as NumPy scores."""
    found = {name: array.detach().cpu().numpy() for name, array in arrays.items()}
    return make_scores(kind, found, batch.lengths.cpu().numpy(), batch.pred.cpu().numpy())


def _single(x: Tensor) -> Tensor:
    """Vectors of mixed precision in single precision."""
    return x.float() if x.dtype == torch.bfloat16 else x
