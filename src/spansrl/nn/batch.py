"""A corpus as flat arrays, and batches of propositions cut from it.

Everything per token or per argument happens once, in `Corpus.of`; making a batch is indexing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from spansrl.arrays import IntArray, Ragged, Vocabulary, offsets_of
from spansrl.inference.model import Tokens
from spansrl.inventory.senses import SenseInventory
from spansrl.nn.lessons import Lessons, ranges
from spansrl.nn.syntax import SyntaxGold, SyntaxLabels
from spansrl.nn.tasks import TaskGold, TaskLabels
from spansrl.structures import Sentence


@dataclass(frozen=True, slots=True)
class Gold:
    """Gold arguments of a batch, flat: K labeled spans, ends inclusive."""

    prop: Tensor  # (K,) which of the batch's N propositions
    role: Tensor  # (K,)
    first: Tensor  # (K,)
    last: Tensor  # (K,)


@dataclass(frozen=True, slots=True)
class Teacher:
    """The teachers' predictions of the arguments of a batch."""

    targets: Tensor  # (N, T, C) see `outputs.base`; undefined at padding
    # (N,) the teachers' share of the loss, gold has the rest: 0 without predictions, 1 without gold
    weight: Tensor


@dataclass(frozen=True, slots=True)
class Batch:
    """S sentences with N propositions; T is the longest sentence's length."""

    rows: IntArray  # (S,) the sentences' indices in the corpus, which the embedder needs
    lengths: Tensor  # (N,) tokens of each proposition's sentence
    sentence_lengths: Tensor  # (S,)
    sentence: Tensor  # (N,) which of the S sentences
    pred: Tensor  # (N,)
    gold: Gold
    longest: int  # T, known without asking the device
    syntax: SyntaxGold | None = None  # where heads and relations are learned too
    tasks: TaskGold | None = None  # where predicates and senses are learned too
    teacher: Teacher | None = None

    @classmethod
    def of_predicates(cls, sentence_lengths: IntArray, sentence: IntArray, pred: IntArray) -> Batch:
        """Predicates at tokens `pred` (N,) of the sentences `sentence` (N,), without gold arguments."""
        none = torch.zeros(0, dtype=torch.long)
        return cls(
            rows=np.arange(len(sentence_lengths)),
            lengths=torch.from_numpy(sentence_lengths[sentence]),
            sentence_lengths=torch.from_numpy(sentence_lengths),
            sentence=torch.from_numpy(sentence),
            pred=torch.from_numpy(pred),
            gold=Gold(none, none, none, none),
            longest=int(sentence_lengths.max(initial=0)),
        )

    @property
    def n_props(self) -> int:
        return len(self.pred)

    def mask(self) -> Tensor:
        """(N, T) true at tokens, false at padding."""
        return torch.arange(self.longest, device=self.lengths.device) < self.lengths[:, None]


@dataclass(frozen=True, slots=True)
class Taught:
    """The teachers' predictions of the arguments of a corpus; the targets may be on disk."""

    # First proposition of each part of the corpus, and the targets (T, C) of its propositions.
    parts: tuple[tuple[int, Ragged], ...]
    weight: npt.NDArray[np.float32]  # (P,)

    def take(self, props: IntArray, longest: int) -> Teacher:
        """The targets of a batch's propositions; the longest sentence has `longest` tokens."""
        out = np.zeros((len(props), longest, self.parts[0][1].values.shape[1]), dtype=np.float32)
        for first, targets in self.parts:
            is_here = (props >= first) & (props < first + len(targets))  # (N,)
            if is_here.any():
                found = targets.padded(props[is_here] - first)
                out[is_here, : found.shape[1]] = found
        return Teacher(torch.from_numpy(out), torch.from_numpy(self.weight[props]))


@dataclass(frozen=True, slots=True)
class Corpus:
    """Sentences as arrays: P propositions, their predicates and their gold arguments."""

    tokens: tuple[tuple[str, ...], ...]  # S sentences
    lengths: IntArray  # (S,)
    prop_offsets: IntArray  # (S + 1,) propositions of sentence s
    prop_sentence: IntArray  # (P,)
    prop_pred: IntArray  # (P,)
    arg_offsets: IntArray  # (P + 1,) arguments of proposition p
    args: IntArray  # (A, 3) role, first token, last token
    tasks: TaskLabels | None = None
    syntax: SyntaxLabels | None = None
    costs: IntArray | None = None  # (S,) what batches are grouped by; by default the number of tokens
    more: tuple[int, ...] = ()  # sizes of the further corpora at the end, of which an epoch uses a share
    taught: Taught | None = None

    @classmethod
    def of(
        cls,
        sentences: Sequence[Sentence],
        roles: Vocabulary,
        *,
        inventory: SenseInventory | None = None,
        partial: Sequence[Sequence[Sentence]] = (),
    ) -> Corpus:
        """The sentences as arrays; arguments whose roles are not in `roles` are left out.

        With an inventory of senses, predicates and senses are labels too. The sentences `partial`, in which
        not every predicate is labeled, follow the others.
        """
        more = [sent for part in partial for sent in part]
        tasks = None if inventory is None else TaskLabels.of(sentences, inventory, more)
        sentences = [*sentences, *more]
        props = [(s, prop) for s, sent in enumerate(sentences) for prop in sent.props]
        known = [[arg for arg in prop.args if arg.role in roles.index] for _, prop in props]
        flat = [(roles.index[arg.role], arg.start, arg.end - 1) for args in known for arg in args]
        return cls(
            tokens=tuple(sent.tokens for sent in sentences),
            lengths=np.array([len(sent) for sent in sentences], dtype=np.int64),
            prop_offsets=offsets_of([len(sent.props) for sent in sentences]),
            prop_sentence=np.array([s for s, _ in props], dtype=np.int64),
            prop_pred=np.array([prop.pred for _, prop in props], dtype=np.int64),
            arg_offsets=offsets_of([len(args) for args in known]),
            args=np.array(flat, dtype=np.int64).reshape(-1, 3),
            tasks=tasks,
            more=tuple(map(len, partial)),
        )

    def with_raw(self, tokens: Sequence[Tokens], lessons: Lessons) -> Corpus:
        """Add sentences without gold labels, for which there are only the teachers' predictions."""
        lengths = lessons.classes.lengths
        counts = np.diff(lessons.prop_offsets)
        first = len(self.lengths)
        return replace(
            self,
            tokens=(*self.tokens, *map(tuple, tokens)),
            lengths=np.concatenate([self.lengths, lengths]),
            prop_offsets=np.concatenate([self.prop_offsets, self.n_props + lessons.prop_offsets[1:]]),
            prop_sentence=np.concatenate(
                [self.prop_sentence, np.repeat(np.arange(first, first + len(lengths)), counts)]
            ),
            prop_pred=np.concatenate([self.prop_pred, lessons.pred]),
            arg_offsets=np.pad(self.arg_offsets, (0, lessons.n_props), mode="edge"),
            tasks=None if self.tasks is None else self.tasks.with_raw(lessons),
            more=(*self.more, len(lengths)),
        )

    def taught_by(self, parts: Sequence[tuple[int, float, Lessons]]) -> Corpus:
        """Add the teachers' predictions of arguments: first proposition, weight and lessons of each part."""
        weight = np.zeros(self.n_props, dtype=np.float32)
        for first, share, lessons in parts:
            weight[first : first + lessons.n_props] = share
        targets = tuple((first, lessons.targets) for first, _, lessons in parts)
        return replace(self, taught=Taught(targets, weight))

    @property
    def n_props(self) -> int:
        return len(self.prop_pred)

    def batch(self, props: IntArray) -> Batch:
        """The given propositions with their sentences, each sentence once."""
        return self._batch(np.unique(self.prop_sentence[props]), props)

    def sentence_batch(self, rows: IntArray) -> Batch:
        """The given sentences with all of their propositions, if any."""
        rows = np.sort(rows)
        first = self.prop_offsets[rows]
        return self._batch(rows, ranges(first, self.prop_offsets[rows + 1] - first))

    def _batch(self, rows: IntArray, props: IntArray) -> Batch:
        first = self.arg_offsets[props]
        counts = self.arg_offsets[props + 1] - first
        args = torch.from_numpy(self.args[ranges(first, counts)])  # (K, 3)
        prop = torch.from_numpy(np.repeat(np.arange(len(props)), counts))
        gold = Gold(prop, role=args[:, 0], first=args[:, 1], last=args[:, 2])
        longest = int(self.lengths[rows].max(initial=0))
        return Batch(
            rows=rows,
            lengths=torch.from_numpy(self.lengths[self.prop_sentence[props]]),
            sentence_lengths=torch.from_numpy(self.lengths[rows]),
            sentence=torch.from_numpy(np.searchsorted(rows, self.prop_sentence[props])),
            pred=torch.from_numpy(self.prop_pred[props]),
            gold=gold,
            longest=longest,
            tasks=None if self.tasks is None else self.tasks.take(rows, props),
            syntax=None if self.syntax is None else self.syntax.take(rows),
            teacher=None if self.taught is None else self.taught.take(props, longest),
        )

    def epoch_items(
        self, batch_size: int, shares: Sequence[float] = (), *, seed: int, epoch: int, by_sentence: bool
    ) -> list[IntArray]:
        """The items of each batch of an epoch, grouped by length; seed and epoch determine the order.

        Items are propositions (for `batch`), or sentences with all of theirs (for `sentence_batch`).
        """
        items, lengths = self._items(by_sentence, shares, epoch)
        order = np.random.default_rng([seed, epoch])
        shuffled = order.permutation(len(items))
        by_length = items[shuffled[np.argsort(lengths[shuffled], kind="stable")]]
        batches = [by_length[k : k + batch_size] for k in range(0, len(by_length), batch_size)]
        return [batches[k] for k in order.permutation(len(batches))]

    def steps(self, batch_size: int, shares: Sequence[float] = (), *, by_sentence: bool) -> int:
        return -(-len(self._items(by_sentence, shares)[0]) // batch_size)

    def _items(
        self, by_sentence: bool, shares: Sequence[float] = (), epoch: int = 0
    ) -> tuple[IntArray, IntArray]:
        """The items of an epoch and their lengths; predicates are learned from all sentences."""
        costs = self.lengths if self.costs is None else self.costs
        used = self._used(shares, epoch)  # (S,)
        if not by_sentence:
            props = np.flatnonzero(used[self.prop_sentence])
            return props, costs[self.prop_sentence[props]]
        used &= np.diff(self.prop_offsets) >= (0 if self.tasks is not None else 1)
        return np.flatnonzero(used), costs[used]

    def _used(self, shares: Sequence[float], epoch: int) -> npt.NDArray[np.bool_]:
        """(S,) the sentences of an epoch: all fully labeled ones, and the next share of each further corpus.

        Every epoch has the same number of them, and 1 / share epochs together have all.
        """
        used = np.ones(len(self.lengths), dtype=bool)
        first = len(used) - sum(self.more)
        for size, share in zip(self.more, shares, strict=bool(shares)):
            count = max(1, round(share * size)) if size else 0
            chosen = np.arange(epoch * count, (epoch + 1) * count)
            order = np.random.default_rng(0).permutation(size)
            used[first : first + size] = False
            used[first + np.take(order, chosen, mode="wrap")] = True
            first += size
        return used
