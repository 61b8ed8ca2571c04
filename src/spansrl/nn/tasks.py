"""What labeling text needs besides arguments: which tokens are predicates, their types and their senses.

Both are read from the token vectors of the one pass per sentence, and learned with the arguments, as further
terms of one joint likelihood.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from spansrl.arrays import IntArray, Ragged, offsets_of
from spansrl.inference.model import NO_PREDICATE
from spansrl.inventory.senses import SenseInventory
from spansrl.language.english.lemmas import predicate_type
from spansrl.nn.lessons import Lessons
from spansrl.structures import PREDICATE_TYPES, Proposition, Sentence

IGNORED = -100  # no class
N_CLASSES = 1 + len(PREDICATE_TYPES)
FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class TaskGold:
    """A batch's predicates and senses, by gold or by teachers; C is the largest number of candidates."""

    types: Tensor  # (S, T, K) probability of each token's classes; zero at padding and where nothing is known
    sense: Tensor  # (N, C) probability of the candidates; zero where there is nothing to choose
    candidates: Tensor  # (N, C) senses to choose from; −1 beyond a predicate's own


@dataclass(frozen=True, slots=True)
class TaskLabels:
    """A corpus's gold predicates and senses as arrays."""

    types: Ragged  # a row per sentence: (T,) the tokens' classes; IGNORED where nothing is known
    sense: IntArray  # (P,) the gold sense's index among its candidates; IGNORED where there is none
    candidates: IntArray  # (P, C)
    raw: Lessons | None = None  # on the sentences at the end, which have no gold

    @classmethod
    def of(
        cls, sentences: Sequence[Sentence], inventory: SenseInventory, partial: Sequence[Sentence] = ()
    ) -> TaskLabels:
        """Types by part of speech; a predicate's candidates are those that labeling will offer.

        The sentences `partial` follow the others. Their tokens have no class: a model that sees only labeled
        predicates learns that every token is one.
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
        lengths = self.types.lengths[rows]
        classes = self.types.padded(rows)  # (S, T)
        classes = np.where(np.arange(classes.shape[1]) < lengths[:, None], classes, IGNORED)
        types = _one_hot(classes, N_CLASSES)
        sense = _one_hot(self.sense[props], self.candidates.shape[1])
        if self.raw is not None:
            self._add_raw(self.raw, types, sense, rows, props)
        return TaskGold(*map(torch.from_numpy, (types, sense, self.candidates[props])))

    def _add_raw(
        self, raw: Lessons, types: FloatArray, sense: FloatArray, rows: IntArray, props: IntArray
    ) -> None:
        """Fill in the teachers' predictions for sentences without gold."""
        row, prop = rows - (len(self.types) - len(raw.classes)), props - (len(self.sense) - raw.n_props)
        if (row >= 0).any():
            lengths = raw.classes.lengths[row[row >= 0]]
            found = raw.classes.padded(row[row >= 0])  # (raw sentences, their longest, K)
            found = np.where((np.arange(found.shape[1]) < lengths[:, None])[:, :, None], found, 0)
            types[row >= 0, : found.shape[1]] = found
            sense[prop >= 0, : raw.senses.shape[1]] = raw.senses[prop[prop >= 0]]

    def with_raw(self, lessons: Lessons) -> TaskLabels:
        """Add sentences for which there are only teachers' predictions."""
        widest = max(self.candidates.shape[1], lessons.candidates.shape[1])
        candidates = [
            np.pad(part, ((0, 0), (0, widest - part.shape[1])), constant_values=-1)
            for part in (self.candidates, lessons.candidates)
        ]
        values = np.full(len(lessons.classes.values), IGNORED, dtype=np.int64)
        return TaskLabels(
            types=Ragged(
                np.concatenate([self.types.values, values]),
                offsets_of(np.concatenate([self.types.lengths, lessons.classes.lengths])),
            ),
            sense=np.pad(self.sense, (0, lessons.n_props), constant_values=IGNORED),
            candidates=np.concatenate(candidates),
            raw=lessons,
        )


def _one_hot(index: IntArray, size: int) -> FloatArray:
    """(…, size): one at the index, or zeros for IGNORED"""
    return np.asarray(index[..., None] == np.arange(size), dtype=np.float32)


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
        self.predicate = _mlp(width, N_CLASSES, dropout)
        self.sense = _mlp(width, n_senses, dropout)

    def predicates(self, x: Tensor) -> Tensor:
        """Token vectors (S, T, D) -> classes (S, T, 1 + types)"""
        return self.predicate(x)

    def senses(self, x: Tensor, sentence: Tensor, pred: Tensor) -> Tensor:
        """Token vectors (S, T, D) -> senses of the predicates (N, V)"""
        return self.sense(x[sentence, pred])

    def candidate_senses(self, x: Tensor, sentence: Tensor, pred: Tensor, candidates: Tensor) -> Tensor:
        """Scores of the candidates (N, C) among the senses; candidates are −1 beyond a predicate's own."""
        logits = self.senses(x, sentence, pred).gather(1, candidates.clamp(min=0))
        return logits.masked_fill(candidates < 0, -1e9)

    def loss(self, x: Tensor, sentence: Tensor, pred: Tensor, gold: TaskGold) -> Tensor:
        """Negative log-likelihood of the gold classes and senses, summed over the batch."""
        total: Tensor = cross_entropy(
            self.predicates(x).flatten(0, 1), gold.types.flatten(0, 1), reduction="sum"
        )
        if len(pred):
            logits = self.candidate_senses(x, sentence, pred, gold.candidates)
            total = total + cross_entropy(logits, gold.sense, reduction="sum")
        return total


def _mlp(width: int, out: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(nn.Dropout(dropout), nn.Linear(width, width), nn.GELU(), nn.Linear(width, out))
