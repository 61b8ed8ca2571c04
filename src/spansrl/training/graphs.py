"""The graph of a trained network that scores arguments, as a module that torch can export."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from spansrl.nn.embedders.base import SENTENCES_TOKENS, Examples, Graph
from spansrl.nn.network import Network


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
