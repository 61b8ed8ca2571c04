"""What the analysis needs of a model directory: scores, span representations, label embeddings.

The only module of the analysis that needs torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from spansrl.analysis.report_inputs import Vectors
from spansrl.decoding import Order
from spansrl.errors import ModelError
from spansrl.inference.directory import WEIGHTS, ModelDirectory
from spansrl.inference.model import Model
from spansrl.nn.batch import Corpus
from spansrl.nn.ensembles import Mixture, MixtureModel, expert_features, role_rows
from spansrl.nn.network import Network
from spansrl.nn.outputs.boundaries import BoundaryOutput, span_vectors
from spansrl.progress import Progress
from spansrl.structures import Sentence
from spansrl.training.ensemble_directories import load_torch_model

BLOCK = 4096  # arguments whose vectors are made at once


class NoSpanModelError(ModelError):
    """A model that can be loaded, but has no span representations."""


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A span model, or an ensemble of them.

    A mixture's representation is its own (Eq. 9). A product's is those of its experts side by side: the mean
    of the experts' scores is their product with the experts' label embeddings side by side.
    """

    model: Model
    order: Order
    experts: Sequence[Network]
    mixture: Mixture | None
    cache: Path

    def role_vectors(self) -> Vectors:
        if self.mixture is not None:
            return self.mixture.roles.detach().numpy()
        return torch.cat([role_rows(expert, self.model.roles) for expert in self.experts], dim=1).numpy()

    def argument_vectors(self, sentences: Sequence[Sentence], progress: Progress) -> Iterator[Vectors]:
        corpus = Corpus.of(sentences, self.experts[0].roles)
        features = expert_features(self.experts, corpus, self.cache, progress)
        props = [prop for sent in sentences for prop in sent.props]
        spans = np.array(
            [(p, arg.start, arg.end - 1) for p, prop in enumerate(props) for arg in prop.args], dtype=np.int64
        ).reshape(-1, 3)
        span_end = self.experts[0].config.output.span_end
        for begin in range(0, len(spans), BLOCK):
            prop, first, last = spans[begin : begin + BLOCK].T
            vectors = [_span_vectors(store, prop, first, last, span_end) for store in features.stores]
            yield self._combined(vectors)

    def _combined(self, parts: Sequence[Tensor]) -> Vectors:
        if self.mixture is None:
            return torch.cat(list(parts), dim=1).numpy()
        with torch.inference_mode():
            return (self.mixture.mixed(parts) @ self.mixture.transform.T).numpy()


def load_model(path: Path, cache: Path) -> LoadedModel:
    """Any model directory with span scores; raises NoSpanModelError for one without span representations."""
    directory = ModelDirectory.read(path)
    if directory.is_exported and not (path / WEIGHTS).exists():
        raise NoSpanModelError(f"{path} is an exported model; pass the run that it was exported from.")
    if directory.config is not None and directory.config.embedder.precomputed:
        advice = "use a model with ELMo's own weights."
        raise NoSpanModelError(f"{path} has precomputed vectors of its training data only; {advice}")
    model, output = load_torch_model(directory)
    if not all(isinstance(network.output, BoundaryOutput) for network in model.networks):
        raise NoSpanModelError(
            f"{path} holds a tagger, without span vectors and label embeddings; pass a span model."
        )
    mixture = model.mixture if isinstance(model, MixtureModel) else None
    return LoadedModel(model, cast(Order, output.order), model.networks, mixture, cache)


def _span_vectors(store: Any, prop: Any, first: Any, last: Any, span_end: str) -> Tensor:
    """Eq. 7 of the arguments `first` .. `last` of propositions, whose token vectors are rows of a store."""
    begin, end = store.offsets[prop], store.offsets[prop + 1]
    starts = _rows(store.values, begin + first)
    if span_end == "next":
        after = begin + last + 1
        ends = _rows(store.values, np.minimum(after, end - 1)) * (after < end)[:, None]
    else:
        ends = _rows(store.values, begin + last)
    n = torch.arange(len(starts))
    return span_vectors(torch.from_numpy(np.concatenate([starts, ends])), n, n + len(starts))


def _rows(values: Any, where: Any) -> NDArray[np.float32]:
    return np.asarray(values[where], dtype=np.float32)
