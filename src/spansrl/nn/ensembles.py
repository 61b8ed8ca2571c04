"""Ensembles of trained span models: mixture of experts (Section 3.2 and Appendix C.2) and product of experts.

The mixture's Eqs. 9 and 10 are linear in the experts' token vectors, so W_sᵀ W[r] on Σ_m α_m h^(m) scores
spans by a start and an end as a single model does: the experts' spans never have to be written out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from spansrl.arrays import IntArray, Ragged
from spansrl.decoding import SCORES, Scores, make_scores
from spansrl.errors import ModelError
from spansrl.inference.model import Encoding, Prepared, Senses, Tokens, lengths_of
from spansrl.nn.batch import Batch, Corpus
from spansrl.nn.embedders.features import Progress, cached_rows, corpus_fingerprint, hash_of
from spansrl.nn.network import Network, evaluating, to_scores
from spansrl.nn.outputs.boundaries import BoundaryOutput, boundary_scores
from spansrl.nn.outputs.span import SpanLogits, span_logits, span_loss


def check_experts(experts: Sequence[Network], *, same_width: bool) -> None:
    """Raise unless the experts can be combined: one kind of output, and equal roles."""
    if not experts:
        raise ModelError("an ensemble needs at least one expert")
    first = experts[0]
    for number, expert in enumerate(experts, start=1):
        kinds = expert.config.output.kind, first.config.output.kind
        if kinds[0] != kinds[1]:
            raise ModelError(f"expert {number} has {kinds[0]} output, expert 1 has {kinds[1]} output")
        if set(expert.roles.items) != set(first.roles.items):
            raise ModelError(f"expert {number} has other roles than expert 1; train them on the same data")
        if expert.config.output.span_end != first.config.output.span_end:
            raise ModelError(f"expert {number} has another output.span_end than expert 1")
        if same_width and expert.encoder.out_width != first.encoder.out_width:
            raise ModelError(
                f"expert {number} has width {expert.encoder.out_width}, expert 1 {first.encoder.out_width}; "
                "a mixture needs equal widths"
            )


class Mixture(nn.Module):
    """The trained part of a mixture of M experts over token vectors of width D."""

    def __init__(self, n_experts: int, width: int, n_roles: int, span_end: str) -> None:
        super().__init__()
        self.gate = nn.Parameter(torch.zeros(n_experts))  # α before the softmax (M,)
        self.transform = nn.Parameter(torch.eye(2 * width))  # W_s (2D, 2D)
        self.roles = nn.Parameter(torch.zeros(n_roles, 2 * width))  # W (R, 2D)
        self.span_end = span_end

    @classmethod
    def of(cls, experts: Sequence[Network]) -> Mixture:
        """Initialized as in Appendix C.2: zero gates, identity, and the mean of the experts' role rows."""
        check_experts(experts, same_width=True)
        first = experts[0]
        if not first.output.can_be_mixed:
            kind = first.config.output.kind
            raise ModelError(f"a mixture cannot have {kind} output; combine these models as a product")
        mixture = cls(len(experts), first.encoder.out_width, len(first.roles), first.config.output.span_end)
        rows = [role_rows(expert, first.roles.items) for expert in experts]
        mixture.roles.data.copy_(torch.stack(rows).mean(dim=0))
        return mixture

    def forward(self, features: Sequence[Tensor], mask: Tensor) -> SpanLogits:
        """The experts' token vectors (N, T, D) each, mask (N, T) -> scores of all spans"""
        h = self.mixed(features)
        roles = self.roles @ self.transform  # W[r]·W_s x = (W_sᵀ W[r])·x: (R, 2D)
        return span_logits(*boundary_scores(h, roles), mask, self.span_end)

    def mixed(self, features: Sequence[Tensor]) -> Tensor:
        """The weighted sum of vectors of the same shape, one from each expert."""
        weights = self.gate.softmax(dim=0)
        return torch.stack([weight * part for weight, part in zip(weights, features, strict=True)]).sum(dim=0)

    def loss(self, batch: Batch, inputs: tuple[Tensor, ...]) -> Tensor:
        """Mean negative log-likelihood of the batch's gold arguments; inputs as for `forward`"""
        return span_loss(self(inputs, batch.mask()), batch.pred, batch.gold)


@dataclass(frozen=True, slots=True)
class ExpertFeatures:
    """Every expert's token vectors of a corpus's propositions, computed once, memory-mapped."""

    corpus: Corpus
    stores: tuple[Ragged, ...]  # one row per proposition

    def take(self, props: IntArray) -> tuple[Tensor, ...]:
        """Each expert's token vectors (N, T, D) of the chosen propositions."""
        return tuple(torch.from_numpy(store.padded(props)).float() for store in self.stores)


@dataclass(frozen=True, slots=True)
class DroppedFeatures:
    """Every expert's token vectors, computed for each batch with the experts' own dropout."""

    corpus: Corpus
    experts: Sequence[Network]
    inputs: Sequence[Any]  # each expert's prepared sentences

    def take(self, props: IntArray) -> tuple[Tensor, ...]:
        """Each expert's token vectors (N, T, D) of the chosen propositions."""
        batch = self.corpus.batch(props)
        vectors = []
        with torch.no_grad():
            for expert, inputs in zip(self.experts, self.inputs, strict=True):
                was_training = expert.training
                expert.train()
                vectors.append(expert.token_features(batch, expert.embedder.take(inputs, batch.rows)))
                expert.train(was_training)
        return tuple(vectors)


def expert_features(
    experts: Sequence[Network], corpus: Corpus, cache: Path, progress: Progress | None = None
) -> ExpertFeatures:
    """The experts' features of a corpus, cached."""
    # The tokens, and where the predicates are.
    indices = corpus.prop_sentence.tobytes() + corpus.prop_pred.tobytes()
    data = hash_of(corpus_fingerprint(corpus.tokens) + hash_of(indices))
    lengths = corpus.lengths[corpus.prop_sentence].tolist()
    stores = []
    for expert in experts:
        path = cache / f"expert-{fingerprint(expert)[:16]}-{data[:16]}.npy"
        inputs = None if path.exists() else expert.embedder.prepare(corpus.tokens, cache)

        def compute(rows: list[int], expert: Network = expert, inputs: Any = inputs) -> list[Any]:
            batch = corpus.batch(np.array(rows))
            with torch.inference_mode(), evaluating(expert):
                taken = expert.embedder.take(inputs, batch.rows)
                h = expert.token_features(batch, taken).numpy()  # (N, T, D)
            return [h[k, : lengths[row]] for k, row in enumerate(rows)]

        stores.append(cached_rows(path, lengths, (expert.encoder.out_width,), compute, progress))
    return ExpertFeatures(corpus, tuple(stores))


class Ensemble(ABC):
    """What ensembles of networks share as models: an encoding holds each expert's token vectors."""

    finds_predicates = False

    def __init__(self, networks: Sequence[Network]) -> None:
        share_sources(networks)
        self.networks = networks

    @property
    def roles(self) -> Sequence[str]:
        return self.networks[0].roles.items

    def roles_of(self, sense: str | None) -> Sequence[str]:
        return self.roles

    def prepare(self, sentences: Sequence[Tokens]) -> Prepared:
        """Nothing yet: each expert makes its own inputs when it encodes."""
        return Prepared(sentences, lengths_of(sentences))

    def encode(self, prepared: Prepared, rows: IntArray) -> Encoding:
        sentences = [tuple(prepared.sentences[row]) for row in rows.tolist()]
        return Encoding(sentences, lengths_of(sentences), self.token_vectors(sentences))

    def score_senses(self, encoding: Encoding, sentence: IntArray, pred: IntArray) -> None:
        return None  # ensembles are of models of arguments alone

    @torch.inference_mode()
    def score_arguments(
        self, encoding: Encoding, sentence: IntArray, pred: IntArray, senses: Senses
    ) -> Scores:
        return self.scores(encoding, Batch.of_predicates(encoding.lengths, sentence, pred))

    @abstractmethod
    def scores(self, encoding: Encoding, batch: Batch) -> Scores:
        """The combined scores."""

    @torch.inference_mode()
    def token_vectors(self, sentences: Sequence[Tokens]) -> list[Tensor] | None:
        """Each expert's embedded tokens (S, T, D); experts that share a frozen encoder share its features."""
        prepared: dict[int, Any] = {}
        vectors = []
        for expert in self.networks:
            embedder = expert.embedder
            key = id(embedder.source or embedder)
            if key not in prepared:
                prepared[key] = embedder.prepare(sentences)
            with evaluating(expert):
                vectors.append(embedder(embedder.take(prepared[key], np.arange(len(sentences)))))
        return vectors

    def features(self, encoding: Encoding, batch: Batch) -> Iterator[Tensor]:
        """Each expert's token features (N, T, D)."""
        for expert, x in zip(self.networks, encoding.vectors, strict=True):
            with evaluating(expert):
                yield expert.encoder(x, batch)


class MixtureModel(Ensemble):
    """A trained mixture with its experts."""

    def __init__(self, mixture: Mixture, experts: Sequence[Network]) -> None:
        super().__init__(experts)
        self.mixture = mixture
        self._remembered: ExpertFeatures | None = None
        self._rows: dict[tuple[Tokens, int], int] = {}  # sentence and predicate -> row of remembered features

    def remember(self, features: ExpertFeatures) -> None:
        """Take these propositions' features from the store instead of computing them."""
        corpus = features.corpus
        pairs = zip(corpus.prop_sentence.tolist(), corpus.prop_pred.tolist(), strict=True)
        self._rows = {(corpus.tokens[s], pred): row for row, (s, pred) in enumerate(pairs)}
        self._remembered = features

    def token_vectors(self, sentences: Sequence[Tokens]) -> list[Tensor] | None:
        """Nothing yet where features are remembered: `scores` may not need it."""
        return None if self._rows else super().token_vectors(sentences)

    def scores(self, encoding: Encoding, batch: Batch) -> Scores:
        features = self._known(encoding, batch)
        if features is None:
            vectors = encoding.vectors or super().token_vectors(encoding.sentences)
            features = tuple(self.features(replace(encoding, vectors=vectors), batch))
        logits: SpanLogits = self.mixture(features, batch.mask())
        kind = self.networks[0].config.output.kind
        return to_scores(kind, {"start": logits.start, "end": logits.end}, batch)

    def _known(self, encoding: Encoding, batch: Batch) -> tuple[Tensor, ...] | None:
        """The remembered features of a batch, if those of all its propositions are."""
        pairs = zip(batch.sentence.tolist(), batch.pred.tolist(), strict=True)
        rows = [self._rows.get((encoding.sentences[s], pred), -1) for s, pred in pairs]
        if self._remembered is None or -1 in rows:
            return None
        found = self._remembered.take(np.array(rows))
        missing = batch.longest - found[0].shape[1]
        return tuple(nn.functional.pad(part, (0, 0, 0, missing)) for part in found)


class ProductModel(Ensemble):
    """A product of experts: the mean of their scores, normalized again."""

    def __init__(self, experts: Sequence[Network]) -> None:
        check_experts(experts, same_width=False)
        super().__init__(experts)

    def scores(self, encoding: Encoding, batch: Batch) -> Scores:
        """The mean of the experts' scores, from which the product's distribution is rebuilt."""
        kind = self.networks[0].config.output.kind
        parts = []
        for expert, h in zip(self.networks, self.features(encoding, batch), strict=True):
            arrays = expert.output.arrays(h, batch.mask())
            found = {name: array.numpy() for name, array in arrays.items()}
            parts.append(SCORES[kind].take_roles(found, expert.roles.ids(self.roles)))
        mean = {name: np.mean([part[name] for part in parts], axis=0) for name in parts[0]}
        return make_scores(kind, mean, batch.lengths.numpy(), batch.pred.numpy())


def share_sources(experts: Sequence[Network]) -> None:
    """Let experts over the same frozen encoder use one copy of it."""
    sources: dict[str, Any] = {}
    for expert in experts:
        source = expert.embedder.source
        if source is not None:
            expert.embedder.source = sources.setdefault(source.fingerprint(), source)


def role_rows(expert: Network, roles: Sequence[str]) -> Tensor:
    """W of an expert that scores spans, in the order of the given roles: (R, 2D)"""
    assert isinstance(expert.output, BoundaryOutput)  # callers have checked it
    return expert.output.roles.detach()[torch.from_numpy(expert.roles.ids(roles))]


def fingerprint(expert: Network) -> str:
    """A hash of the expert's parameters and of the frozen encoder below them."""
    source = expert.embedder.source
    below = "" if source is None else source.fingerprint()
    tensors = (f"{name}:{hash_of(tensor.numpy().tobytes())}" for name, tensor in expert.state_dict().items())
    return hash_of(below + "".join(tensors))
