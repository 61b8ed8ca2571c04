"""What a text needs beside arguments: which tokens are predicates, of which type, and in which sense.

Both are read from the token vectors of the one pass per sentence, and learned with the arguments, as further
terms of one joint likelihood.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from spansrl.arrays import IntArray, Ragged
from spansrl.inference.model import NO_PREDICATE
from spansrl.language.lemmas import predicate_type
from spansrl.language.senses import SenseInventory
from spansrl.structures import PREDICATE_TYPES, Proposition, Sentence

IGNORED = -100  # what cross_entropy leaves out


@dataclass(frozen=True, slots=True)
class TaskGold:
    """A batch's gold predicates and senses; C is the largest number of candidates."""

    types: Tensor  # (S, T) class of each token; IGNORED at padding
    sense: Tensor  # (N,) the gold sense's place among its candidates; IGNORED where there is none
    candidates: Tensor  # (N, C) senses to choose from; −1 beyond a predicate's own

    def to(self, device: torch.device) -> TaskGold:
        """The same on a device."""
        return TaskGold(self.types.to(device), self.sense.to(device), self.candidates.to(device))


@dataclass(frozen=True, slots=True)
class TaskLabels:
    """A corpus's gold predicates and senses as arrays."""

    types: Ragged  # a row per sentence
    sense: IntArray  # (P,)
    candidates: IntArray  # (P, C)

    @classmethod
    def of(
        cls, sentences: Sequence[Sentence], inventory: SenseInventory, partial: Sequence[Sentence] = ()
    ) -> TaskLabels:
        """Types by part of speech; a predicate's candidates are those that labeling will offer.

        The sentences `partial` follow the others. Their tokens have no class: to learn predicates from those
        alone that are labeled would be to learn that every token is one.
        """
        props = [
            *((sent, prop, _type(sent, prop)) for sent in sentences for prop in sent.props),
            *((sent, prop, predicate_type(sent, prop)) for sent in partial for prop in sent.props),
        ]
        choices = [inventory.candidates(sent.tokens[prop.pred], type) for sent, prop, type in props]
        candidates = np.full((len(props), max(map(len, choices), default=0)), -1, dtype=np.int64)
        sense = np.full(len(props), IGNORED, dtype=np.int64)
        for k, ((_, prop, _), choice) in enumerate(zip(props, choices, strict=True)):
            candidates[k, : len(choice)] = choice
            names = [inventory.senses[c] for c in choice]
            if len(names) > 1 and prop.sense in names:
                sense[k] = names.index(prop.sense)
        types = [_token_classes(sent) for sent in sentences]
        types += [np.full(len(sent), IGNORED, dtype=np.int64) for sent in partial]
        return cls(Ragged.of(types, like=np.zeros(0, np.int64)), sense, candidates)

    def take(self, rows: IntArray, props: IntArray) -> TaskGold:
        """The labels of a batch's sentences and propositions."""
        lengths = self.types.lengths[rows]
        types = self.types.padded(rows)  # (S, T)
        types = np.where(np.arange(types.shape[1]) < lengths[:, None], types, IGNORED)
        return TaskGold(*map(torch.from_numpy, (types, self.sense[props], self.candidates[props])))


def _token_classes(sent: Sentence) -> IntArray:
    out = np.full(len(sent), NO_PREDICATE, dtype=np.int64)
    for prop in sent.props:
        out[prop.pred] = 1 + PREDICATE_TYPES.index(_type(sent, prop))
    return out


def _type(sent: Sentence, prop: Proposition) -> str:
    return predicate_type(sent, prop) or "verb"


class TaskHeads(nn.Module):
    """Scores of tokens as predicates, and of predicates' senses."""

    def __init__(self, width: int, n_senses: int, dropout: float) -> None:
        super().__init__()
        self.predicate = _mlp(width, 1 + len(PREDICATE_TYPES), dropout)
        self.sense = _mlp(width, n_senses, dropout)

    def predicates(self, x: Tensor) -> Tensor:
        """Token vectors (S, T, D) -> classes (S, T, 1 + types)"""
        out: Tensor = self.predicate(x)
        return out

    def senses(self, x: Tensor, sentence: Tensor, pred: Tensor) -> Tensor:
        """Token vectors (S, T, D) -> senses of the predicates (N, V)"""
        out: Tensor = self.sense(x[sentence, pred])
        return out

    def loss(self, x: Tensor, sentence: Tensor, pred: Tensor, gold: TaskGold) -> Tensor:
        """Negative log-likelihood of the gold classes and senses, summed over the batch."""
        classes = self.predicates(x).flatten(0, 1)  # (S · T, classes)
        total = cross_entropy(classes, gold.types.flatten(), ignore_index=IGNORED, reduction="sum")
        if len(pred):
            logits = self.senses(x, sentence, pred).gather(1, gold.candidates.clamp(min=0))  # (N, C)
            logits = logits.masked_fill(gold.candidates < 0, -1e9)
            total = total + cross_entropy(logits, gold.sense, ignore_index=IGNORED, reduction="sum")
        return total


def _mlp(width: int, out: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(nn.Dropout(dropout), nn.Linear(width, width), nn.GELU(), nn.Linear(width, out))
