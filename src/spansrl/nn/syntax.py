"""Syntax as a scaffold: the head and relation of each token, learned with the arguments, dropped at export.

Strubell et al. 2018 and Swayamdipta et al. 2018 are the models; here heads are scored from the encoder's
token features by a bilinear product, and relations from a token with its gold head. The root is its own head.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, gelu

from spansrl.arrays import IntArray, Ragged
from spansrl.errors import DataError
from spansrl.structures import Sentence

IGNORED = -100
HEADS, RELATIONS = "heads", "deprels"  # token-level keys of sentences: indices (−1 for the root), and names
# The universal relations; subtypes such as nsubj:pass count as these.
UNIVERSAL = (
    *("acl", "advcl", "advmod", "amod", "appos", "aux", "case", "cc", "ccomp", "clf", "compound", "conj"),
    *("cop", "csubj", "dep", "det", "discourse", "dislocated", "expl", "fixed", "flat", "goeswith", "iobj"),
    *("list", "mark", "nmod", "nsubj", "nummod", "obj", "obl", "orphan", "parataxis", "punct", "reparandum"),
    *("root", "vocative", "xcomp"),
)
WIDTH = 128  # of the vectors that heads and dependents are compared by


@dataclass(frozen=True, slots=True)
class SyntaxGold:
    """The gold heads and relations of a batch; IGNORED where unknown, and at padding."""

    heads: Tensor  # (S, T)
    relations: Tensor  # (S, T)


@dataclass(frozen=True, slots=True)
class SyntaxLabels:
    """A corpus's gold heads and relations, one row per sentence."""

    labels: Ragged  # (T, 2)

    @classmethod
    def of(cls, sentences: Sequence[Sentence]) -> SyntaxLabels:
        """The labels of the sentences that have them; at least one must."""
        rows = [_labels(sent) for sent in sentences]
        if not any((row != IGNORED).any() for row in rows):
            raise DataError(
                f"tasks.syntax needs '{HEADS}' and '{RELATIONS}' in the training data; "
                "`spansrl data ewt` writes them"
            )
        return cls(Ragged.of(rows, like=np.zeros((0, 2), np.int64)))

    def take(self, rows: IntArray) -> SyntaxGold:
        found = self.labels.padded(rows)  # (S, T, 2)
        inside = np.arange(found.shape[1]) < self.labels.lengths[rows][:, None]
        heads, relations = np.moveaxis(np.where(inside[:, :, None], found, IGNORED), 2, 0)
        return SyntaxGold(torch.from_numpy(heads.copy()), torch.from_numpy(relations.copy()))


def _labels(sent: Sentence) -> IntArray:
    heads, names = sent.extra.get(HEADS), sent.extra.get(RELATIONS)
    out = np.full((len(sent), 2), IGNORED, dtype=np.int64)
    if heads is None or names is None:
        return out
    if (
        not isinstance(heads, list)
        or not isinstance(names, list)
        or not len(heads) == len(names) == len(sent)
    ):
        raise DataError(
            f"{sent.id or 'a sentence'}: '{HEADS}' and '{RELATIONS}' must have one entry per token"
        )
    for t, (head, name) in enumerate(zip(heads, names, strict=True)):
        if type(head) is not int or not -1 <= head < len(sent):
            raise DataError(
                f"{sent.id or 'a sentence'}: the head of token {t} is {head!r}, not a token index"
            )
        universal = str(name).partition(":")[0]
        out[t] = t if head < 0 else head, UNIVERSAL.index(universal) if universal in UNIVERSAL else IGNORED
    return out


class SyntaxHead(nn.Module):
    """Scores of heads and relations from token features."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.dependent = nn.Linear(width, WIDTH)
        self.head = nn.Linear(width, WIDTH)
        self.relation = nn.Linear(2 * WIDTH, len(UNIVERSAL))
        self.dropout = nn.Dropout(dropout)

    def forward(self, h: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """h (N, T, D), mask (N, T) -> scores of heads (N, T, T), dependents and heads (N, T, WIDTH)"""
        dependent, head = (self.dropout(gelu(part(h))) for part in (self.dependent, self.head))
        scores = dependent @ head.transpose(1, 2) / WIDTH**0.5
        return scores.masked_fill(~mask[:, None], -1e9), dependent, head

    def loss(self, h: Tensor, mask: Tensor, heads: Tensor, relations: Tensor) -> Tensor:
        """−log P of the gold heads and relations (N, T), as the mean over propositions."""
        scores, dependent, head = self(h, mask)
        total = cross_entropy(scores.flatten(0, 1), heads.flatten(), ignore_index=IGNORED, reduction="sum")
        chosen = head.gather(1, heads.clamp(min=0)[:, :, None].expand_as(head))  # (N, T, WIDTH)
        logits = self.relation(torch.cat([dependent, chosen], dim=2))  # (N, T, relations)
        total = total + cross_entropy(
            logits.flatten(0, 1), relations.flatten(), ignore_index=IGNORED, reduction="sum"
        )
        return total / len(h)
