"""What trained models predict on a corpus, for another model to learn from.

The targets of an output (`DistillableOutput.targets`) are all that a student needs from a teacher; those of
several teachers are averaged, which gives the targets of their mixture. A corpus is processed in chunks, each
of which is cached as a file: interrupted work continues after the last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from spansrl.arrays import IntArray, Ragged, offsets_of
from spansrl.errors import ConfigError, ModelError
from spansrl.formats.storage import replacing
from spansrl.inference.batching import batches_by_length
from spansrl.inference.model import NO_PREDICATE, lengths_of
from spansrl.language.senses import SenseInventory
from spansrl.nn.batch import Batch
from spansrl.nn.embedders.features import Progress, corpus_fingerprint, hash_of
from spansrl.nn.ensembles import fingerprint
from spansrl.nn.lessons import Lessons
from spansrl.nn.network import Network
from spansrl.nn.outputs import OUTPUTS
from spansrl.nn.outputs.base import DistillableOutput
from spansrl.structures import PREDICATE_TYPES, Sentence
from spansrl.training.distributed import ALONE, Workers

CHUNK = 1000  # sentences
BATCH = 1024  # positions, padding included


class Teachers:
    """Trained networks with the same roles and kind of output, whose predictions are averaged."""

    def __init__(
        self,
        networks: Sequence[Network],
        *,
        inventory: SenseInventory | None = None,
        in_bfloat16: bool = False,
    ) -> None:
        """With an inventory of senses, teachers find predicates; without, they use those of the corpus."""
        self.outputs = [_distillable(network) for network in networks]
        for network in networks:
            network.eval()
            if inventory is not None and (
                network.senses is None or list(network.senses.items) != list(inventory.senses)
            ):
                raise ModelError(
                    "distillation.teachers: a teacher has other senses than the training data; "
                    "train both on the same data, training.partial included"
                )
        self.networks = networks
        self.inventory = inventory
        self.in_bfloat16 = in_bfloat16

    def lessons(
        self, sentences: Sequence[Sentence], cache: Path, progress: Progress | None, workers: Workers = ALONE
    ) -> Lessons:
        """Lessons on a corpus, cached; several processes share the work."""
        directory = cache / f"lessons-{self._fingerprint()[:16]}"
        directory.mkdir(parents=True, exist_ok=True)
        chunks = [sentences[k : k + CHUNK] for k in range(0, len(sentences), CHUNK)]
        paths = [directory / f"{_fingerprint_of(chunk)[:16]}.npz" for chunk in chunks]
        for k in range(workers.rank, len(chunks), workers.size):
            if not paths[k].exists():
                with replacing(paths[k]) as (partial,), partial.open("wb") as file:
                    np.savez(file, allow_pickle=False, **self._ask(chunks[k]).arrays())
            if progress is not None:
                progress("running the teachers", min(len(sentences), (k + 1) * CHUNK), len(sentences))
        workers.wait()
        return Lessons.joined([_read(path) for path in paths])

    def _fingerprint(self) -> str:
        senses = [] if self.inventory is None else self.inventory.senses
        return hash_of("\n".join([*senses, *map(fingerprint, self.networks)]))

    def _ask(self, sentences: Sequence[Sentence]) -> Lessons:
        """Lessons on one chunk, computed in batches of similar length and returned in the original order."""
        tokens = [sent.tokens for sent in sentences]
        stores = [network.embedder.prepare(tokens) for network in self.networks]
        costs = self.networks[0].embedder.costs(stores[0])
        batches = list(batches_by_length(lengths_of(tokens) if costs is None else costs, limit=BATCH))
        found = [self._ask_batch([sentences[k] for k in rows], stores, np.array(rows)) for rows in batches]
        return Lessons.joined(found).taken(np.argsort(np.concatenate(batches)))

    @torch.inference_mode()
    def _ask_batch(self, sentences: list[Sentence], stores: Sequence[Any], rows: IntArray) -> Lessons:
        lengths = lengths_of([sent.tokens for sent in sentences])
        with self._precision():
            vectors = [  # (S, T, D) of each teacher
                network.embedder(network.embedder.take(store, rows)).float()
                for network, store in zip(self.networks, stores, strict=True)
            ]
        classes = self._classes(vectors)  # (S, T, K)
        sentence, pred = _own(sentences) if self.inventory is None else _found(classes, lengths)
        words = [sentences[s].tokens[p] for s, p in zip(sentence, pred, strict=True)]
        candidates, senses = self._senses(words, classes, vectors, sentence, pred)
        targets = self._targets(vectors, lengths, sentence, pred)
        of_props = lengths[sentence]
        return Lessons(
            classes=Ragged(_flat(classes, lengths), offsets_of(lengths)),
            prop_offsets=offsets_of(np.bincount(sentence, minlength=len(sentences))),
            pred=pred,
            candidates=candidates,
            senses=senses.astype(np.float16),
            targets=Ragged(_flat(targets, of_props), offsets_of(of_props)),
        )

    def _classes(self, vectors: Sequence[Tensor]) -> Tensor:
        """(S, T, K) probabilities of each token's classes; K is 0 where predicates are given."""
        if self.inventory is None:
            return vectors[0][:, :, :0]
        return _mean([self._heads(k).predicates(x).softmax(-1) for k, x in enumerate(vectors)])

    def _targets(
        self, vectors: Sequence[Tensor], lengths: IntArray, sentence: IntArray, pred: IntArray
    ) -> Tensor:
        """(N, T, C) targets of the predicates' arguments"""
        if not len(pred):
            return torch.zeros(0, int(lengths.max()), self.outputs[0].n_targets)
        batch = Batch.of_predicates(lengths, sentence, pred)
        each = []
        for network, output, x in zip(self.networks, self.outputs, vectors, strict=True):
            with self._precision():
                h = network.encoder(x, batch).float()
            each.append(output.targets(h, batch.mask(), batch.pred))
        return _mean(each)

    def _senses(
        self,
        words: Sequence[str],
        classes: Tensor,
        vectors: Sequence[Tensor],
        sentence: IntArray,
        pred: IntArray,
    ) -> tuple[IntArray, npt.NDArray[Any]]:
        """The candidates (N, C) of the predicates' senses; their probabilities where there is a choice."""
        if self.inventory is None or not words:
            return np.zeros((len(pred), 0), np.int64), np.zeros((len(pred), 0), np.float16)
        types = classes[sentence, pred, 1:].argmax(-1).tolist()
        choices = [
            self.inventory.candidates(word, PREDICATE_TYPES[k]) for word, k in zip(words, types, strict=True)
        ]
        candidates = np.full((len(words), max(map(len, choices))), -1, dtype=np.int64)
        for row, choice in zip(candidates, choices, strict=True):
            row[: len(choice)] = choice
        offered, at = torch.from_numpy(candidates), (torch.from_numpy(sentence), torch.from_numpy(pred))
        each = [self._heads(k).candidate_senses(x, *at, offered).softmax(1) for k, x in enumerate(vectors)]
        is_choice = (candidates >= 0).sum(axis=1, keepdims=True) > 1
        return candidates, np.where(is_choice, _mean(each).numpy(), 0)

    def _heads(self, k: int) -> Any:
        return self.networks[k].tasks

    def _precision(self) -> torch.autocast:
        device = next(self.networks[0].parameters()).device.type
        return torch.autocast(device, dtype=torch.bfloat16, enabled=self.in_bfloat16)


def _distillable(network: Network) -> DistillableOutput:
    if isinstance(network.output, DistillableOutput):
        return network.output
    kinds = " or ".join(kind for kind, output in OUTPUTS.items() if issubclass(output, DistillableOutput))
    raise ConfigError(
        f"distillation.teachers: models with {network.config.output.kind} output cannot teach; "
        f"set output.kind = {kinds}, and train the teachers with it too"
    )


def _own(sentences: Sequence[Sentence]) -> tuple[IntArray, IntArray]:
    """The sentence and the token of each predicate that the sentences have."""
    pairs = [(s, prop.pred) for s, sent in enumerate(sentences) for prop in sent.props]
    sentence, pred = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return sentence, pred


def _found(classes: Tensor, lengths: IntArray) -> tuple[IntArray, IntArray]:
    """The sentence and the token of each predicate that is more probable than not."""
    inside = torch.arange(classes.shape[1]) < torch.from_numpy(lengths)[:, None]
    sentence, pred = ((classes[:, :, NO_PREDICATE] < 0.5) & inside).nonzero(as_tuple=True)
    return sentence.numpy(), pred.numpy()


def _mean(parts: Sequence[Tensor]) -> Tensor:
    return torch.stack(list(parts)).mean(0)


def _flat(x: Tensor, lengths: IntArray) -> npt.NDArray[Any]:
    """(rows, T, C) without padding: (tokens, C), in half precision"""
    inside = np.arange(x.shape[1]) < lengths[:, None]
    kept: npt.NDArray[Any] = x.cpu().half().numpy()[inside]
    return kept


def _fingerprint_of(sentences: Sequence[Sentence]) -> str:
    """A hash of the tokens and of where the predicates are."""
    preds = ";".join(",".join(str(prop.pred) for prop in sent.props) for sent in sentences)
    return hash_of(corpus_fingerprint([sent.tokens for sent in sentences]) + preds)


def _read(path: Path) -> Lessons:
    with np.load(path, allow_pickle=False) as arrays:
        return Lessons.from_arrays(dict(arrays))
