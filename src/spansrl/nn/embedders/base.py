"""What every embedder offers. One file per embedder; the table is in `spansrl.nn.embedders`.

An embedder works in two steps, so that the training loop never touches a token in Python: `prepare` turns
sentences into arrays once, `take` cuts a batch from them, and the module itself maps that to (S, T, width).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from spansrl.arrays import IntArray
from spansrl.inference.config import EmbedderConfig
from spansrl.nn.embedders.features import FeatureSource, Progress, Tokens
from spansrl.nn.tasks import TaskHeads

Examples = dict[str, tuple[Tensor, dict[int, str]]]  # input -> an example, and its axes that vary by name

SENTENCES_TOKENS = {0: "sentences", 1: "tokens"}
WINDOWS_PIECES = {0: "windows", 1: "pieces"}


@dataclass(frozen=True, slots=True)
class Graph:
    """A module with the inputs and outputs that its export needs."""

    module: nn.Module
    inputs: Examples
    outputs: list[str]


class Embedder(nn.Module, ABC):
    """What all embedders offer; `files` is the directory of what `weights.safetensors` does not hold."""

    width: int
    source: FeatureSource | None = None  # the frozen encoder whose features it reads, where it has one
    dropout: nn.Dropout  # on the token vectors
    provenance: Mapping[str, str] = {}  # entries of the model directory about its origin

    @abstractmethod
    def prepare(
        self, sentences: Sequence[Tokens], cache: Path | None = None, progress: Progress | None = None
    ) -> Any:
        """The sentences as arrays; with `cache`, what is costly to compute is kept there."""

    def take(self, store: Any, rows: IntArray) -> Any:
        """The chosen sentences of a store as a batch (what `nn.devices` can move)."""
        return torch.from_numpy(store.padded(rows))

    def save_files(self, files: Path) -> None:
        """Write what the embedder needs besides its parameters."""

    def costs(self, store: Any) -> IntArray | None:
        """(S,) what sentences are batched by, where it is not their number of tokens."""
        return None

    @abstractmethod
    def graph(self, tasks: TaskHeads | None) -> Graph:
        """The embedder, and scores of tokens as predicates, as a module that torch can export.

        Its inputs are those that `inference.runtime` makes for this kind of embedder.
        """


class EmbedderKind(Protocol):
    """What an embedder's module offers besides its class."""

    def build(self, config: EmbedderConfig, sentences: Sequence[Tokens]) -> Embedder:
        """A new embedder for training on the sentences."""

    def load(self, config: EmbedderConfig, files: Path) -> Embedder:
        """The embedder of a trained model, from its files; its parameters are loaded by the caller."""


class EncoderGraph(nn.Module):
    """Embedder inputs -> token vectors (S, T, D) and, where learned, scores of tokens as predicates."""

    def __init__(self, tasks: TaskHeads | None) -> None:
        super().__init__()
        self.tasks = tasks

    def outputs(self, x: Tensor) -> tuple[Tensor, ...]:
        """vectors (S, T, D), classes (S, T, 1 + types)"""
        return (x,) if self.tasks is None else (x, self.tasks.predicates(x))

    def names(self) -> list[str]:
        return ["vectors"] if self.tasks is None else ["vectors", "classes"]
