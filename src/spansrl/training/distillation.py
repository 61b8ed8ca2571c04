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

from spansrl.arrays import IntArray, Ragged, offsets_of
from spansrl.decoding import Scores
from spansrl.errors import ConfigError
from spansrl.formats.atomic import atomic_write
from spansrl.inference.batching import batches_by_length
from spansrl.inference.directory import ARGUMENTS_GRAPH, ENCODER_GRAPH, file_hash
from spansrl.inference.model import NO_PREDICATE, Encoding, Floats, Prepared
from spansrl.inference.prototypes import PROTOTYPES
from spansrl.inference.runtime import OnnxModel, Precision
from spansrl.inventory.senses import SenseInventory
from spansrl.nn.batch import Gold
from spansrl.nn.embedders.features import Progress, corpus_fingerprint, hash_of
from spansrl.nn.ensembles import fingerprint
from spansrl.nn.lessons import Lessons, joined_arrays
from spansrl.nn.network import Network, TorchModel
from spansrl.nn.outputs import OUTPUTS
from spansrl.nn.outputs.output_base import DistillableOutput
from spansrl.structures import PREDICATE_TYPES, Sentence
from spansrl.training.distributed import ALONE, Workers
from spansrl.training.recovery import find_trained, load_trained
from spansrl.training.run_config import DistillationConfig

CHUNK = 1000  # sentences
EMPTY_FILE = 128  # bytes of a .npy file without rows, which cannot be mapped into memory
BATCH = 512  # positions, padding included

TrainedModel = OnnxModel | TorchModel


def load_teachers(config: DistillationConfig, student: Network) -> list[TrainedModel]:
    """The teachers of a student, which must have its roles and output; exported ones run on ONNX Runtime."""
    teachers: list[TrainedModel] = []
    for name in config.teachers:
        directory = find_trained(name, "distillation.teachers")
        kind = directory.network_config.output.kind
        if list(directory.roles) != list(student.roles.items):
            raise ConfigError(
                f"distillation.teachers: {name} has other roles than the training data; "
                "train both on the same data"
            )
        if kind != student.config.output.kind:
            raise ConfigError(
                f"distillation.teachers: {name} has {kind} output, but output.kind is "
                f"{student.config.output.kind!r}; a teacher and its student need the same kind"
            )
        if directory.is_exported:
            threads = torch.get_num_threads()
            precision: Precision = "int8" if config.precision == "int8" else "full"
            teachers.append(OnnxModel(directory, threads=threads, precision=precision))
        elif config.precision == "full":
            teachers.append(TorchModel(load_trained(directory)))
        else:
            raise ConfigError(
                f"distillation.precision = 'int8' needs exported teachers; write one with "
                f"`spansrl export {name}`"
            )
    return teachers


class Teachers:
    """Trained models with the same roles and kind of output, whose predictions are averaged."""

    def __init__(
        self,
        models: Sequence[TrainedModel],
        student: Network,
        *,
        inventory: SenseInventory | None = None,
    ) -> None:
        """With an inventory of senses, teachers find predicates; without, they use those of the corpus.

        A single teacher may have fewer roles and senses than the student.
        """
        self.models = models
        self.output = _distillable(student)
        self.inventory = inventory
        self.roles = student.roles

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
                with atomic_write(paths[k]) as (partial,), partial.open("wb") as file:
                    np.savez(file, allow_pickle=False, **self._ask(chunks[k]).arrays())
            if progress is not None:
                progress("running the teachers", min(len(sentences), (k + 1) * CHUNK), len(sentences))
        workers.wait()
        joined = directory / f"{hash_of(' '.join(path.stem for path in paths))[:16]}.npy"
        if workers.is_first and not joined.exists():
            _join_targets(paths, joined, self.output.n_targets)
        workers.wait()
        return _read(paths, joined)

    def _fingerprint(self) -> str:
        senses = [] if self.inventory is None else self.inventory.senses
        others = [] if self._has_all_roles() else self.roles.items
        return hash_of("\n".join([*senses, *others, *map(_fingerprint_of_model, self.models)]))

    def _has_all_roles(self) -> bool:
        return list(self.models[0].roles) == list(self.roles.items)

    def _ask(self, sentences: Sequence[Sentence]) -> Lessons:
        """Lessons on one chunk, computed in batches of similar length and returned in the original order."""
        prepared = [model.prepare([sent.tokens for sent in sentences]) for model in self.models]
        batches = list(batches_by_length(prepared[0].costs, limit=BATCH))
        found = [self._ask_batch(sentences, prepared, np.array(rows)) for rows in batches]
        return Lessons.joined(found).taken(np.argsort(np.concatenate(batches)))

    def _ask_batch(
        self, sentences: Sequence[Sentence], prepared: Sequence[Prepared], rows: IntArray
    ) -> Lessons:
        batch = [sentences[row] for row in rows.tolist()]
        encodings = [model.encode(own, rows) for model, own in zip(self.models, prepared, strict=True)]
        lengths = encodings[0].lengths
        classes = self._classes(encodings)  # (S, T, K)
        sentence, pred = _own(batch) if self.inventory is None else _found(classes, lengths)
        pairs = list(zip(self.models, encodings, strict=True)) if len(pred) else []
        logits = [
            self._by_own_senses(model, model.score_senses(encoding, sentence, pred))
            for model, encoding in pairs
        ]
        words = [batch[s].tokens[p] for s, p in zip(sentence, pred, strict=True)]
        candidates, senses = self._senses(words, classes[sentence, pred], logits)
        names = self._best_senses(candidates, senses)
        scores = [model.score_arguments(encoding, sentence, pred, names) for model, encoding in pairs]
        of_props = lengths[sentence]
        return Lessons(
            classes=Ragged(_flat(classes, lengths), offsets_of(lengths)),
            prop_offsets=offsets_of(np.bincount(sentence, minlength=len(batch))),
            pred=pred,
            candidates=candidates,
            senses=senses.astype(np.float16),
            targets=Ragged(_flat(self._targets(scores, pred, of_props), of_props), offsets_of(of_props)),
        )

    def _classes(self, encodings: Sequence[Encoding]) -> Floats:
        """(S, T, K) probabilities of each token's classes; K is 0 where predicates are given."""
        if self.inventory is None:
            return np.zeros((*encodings[0].vectors.shape[:2], 0), np.float32)
        return _mean([_softmax(encoding.classes) for encoding in encodings])

    def _best_senses(self, candidates: IntArray, probs: Floats) -> list[str | None]:
        """The most probable candidates of N predicates; None for words without any."""
        if self.inventory is None or not candidates.shape[1]:
            return [None] * len(candidates)
        best = candidates[np.arange(len(candidates)), probs.argmax(axis=1)]
        return [None if k < 0 else self.inventory.senses[k] for k in best.tolist()]

    def _targets(self, scores: Sequence[Scores], pred: IntArray, lengths: IntArray) -> Floats:
        """(N, T, C) targets of the predicates' arguments; no argument has a role that is new to a teacher."""
        if not scores:
            return np.zeros((0, 1, self.output.n_targets), np.float32)
        found = _mean([self.output.targets(own).numpy() for own in scores])
        if self._has_all_roles():
            return found
        none = torch.zeros(0, dtype=torch.long)
        mask = torch.arange(found.shape[1]) < torch.from_numpy(lengths)[:, None]
        targets = self.output.gold_targets(mask, torch.from_numpy(pred), Gold(none, none, none, none)).numpy()
        n_roles, index = len(self.roles), np.array([self.roles.index[name] for name in self.models[0].roles])
        starts_and_ends = np.concatenate([index, n_roles + index])
        others = np.arange(2 * n_roles, self.output.n_targets)
        targets[:, :, np.concatenate([starts_and_ends, others])] = found
        return targets

    def _by_own_senses(self, model: TrainedModel, logits: Floats | None) -> Floats | None:
        """A teacher's scores (N, V) of the student's senses; those that it does not know get no share."""
        known = model.network.senses if isinstance(model, TorchModel) else None
        if logits is None or self.inventory is None or known is None or known.items == self.inventory.senses:
            return logits
        out = np.full((len(logits), len(self.inventory)), -1e9, dtype=np.float32)
        out[:, [self.inventory.index[sense] for sense in known.items]] = logits
        return out

    def _senses(
        self, words: Sequence[str], classes: Floats, logits: Sequence[Floats | None]
    ) -> tuple[IntArray, Floats]:
        """The candidates (N, C) of the predicates' senses; their probabilities where there is a choice."""
        if self.inventory is None or not words:
            return np.zeros((len(words), 0), np.int64), np.zeros((len(words), 0), np.float32)
        types = classes[:, 1:].argmax(-1).tolist()  # classes (N, K)
        own_senses = [_columns(model, self.inventory.senses) for model in self.models]
        is_known = np.all([columns >= 0 for columns in own_senses], axis=0)
        choices = [
            [c for c in self.inventory.candidates(word, PREDICATE_TYPES[k]) if is_known[c]]
            for word, k in zip(words, types, strict=True)
        ]
        candidates = np.full((len(words), max(map(len, choices))), -1, dtype=np.int64)
        for row, choice in zip(candidates, choices, strict=True):
            row[: len(choice)] = choice
        is_offered = candidates >= 0
        each = [
            np.where(is_offered, np.take_along_axis(own, columns[candidates], axis=1), -1e9)
            for own, columns in zip(logits, own_senses, strict=True)
            if own is not None
        ]
        is_choice = is_offered.sum(axis=1, keepdims=True) > 1
        return candidates, np.where(is_choice, _mean([_softmax(own) for own in each]), 0)


def _distillable(network: Network) -> DistillableOutput:
    if isinstance(network.output, DistillableOutput):
        return network.output
    kinds = " or ".join(kind for kind, output in OUTPUTS.items() if issubclass(output, DistillableOutput))
    raise ConfigError(
        f"distillation.teachers: models with {network.config.output.kind} output cannot teach; "
        f"set output.kind = {kinds}, and train the teachers with it too"
    )


def _fingerprint_of_model(model: TrainedModel) -> str:
    if isinstance(model, TorchModel):
        return fingerprint(model.network)
    paths = (model.directory.path / name for name in (ENCODER_GRAPH, PROTOTYPES, ARGUMENTS_GRAPH))
    return " ".join((model.precision, *(file_hash(path) for path in paths if path.exists())))


def _columns(model: TrainedModel, senses: Sequence[str]) -> IntArray:
    """(V,) where a model has the senses among its own; −1 for those that it does not know."""
    if isinstance(model, TorchModel):
        names = [] if model.network.senses is None else model.network.senses.items
    else:
        names = model.directory.senses
    index = {name: k for k, name in enumerate(names)}
    return np.array([index.get(sense, -1) for sense in senses], dtype=np.int64)


def _own(sentences: Sequence[Sentence]) -> tuple[IntArray, IntArray]:
    """The sentence and the token of each predicate that the sentences have."""
    pairs = [(s, prop.pred) for s, sent in enumerate(sentences) for prop in sent.props]
    sentence, pred = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return sentence, pred


def _found(classes: Floats, lengths: IntArray) -> tuple[IntArray, IntArray]:
    """The sentence and the token of each predicate that is more probable than not."""
    inside = np.arange(classes.shape[1]) < lengths[:, None]
    sentence, pred = np.nonzero((classes[:, :, NO_PREDICATE] < 0.5) & inside)
    return sentence, pred


def _softmax(scores: Any) -> Floats:
    return torch.from_numpy(scores).softmax(-1).numpy()


def _mean(parts: Sequence[Floats]) -> Floats:
    return np.asarray(np.mean(parts, axis=0))


def _flat(x: Floats, lengths: IntArray) -> npt.NDArray[np.float16]:
    """(rows, T, C) without padding: (tokens, C), in half precision"""
    inside = np.arange(x.shape[1]) < lengths[:, None]
    return x[inside].astype(np.float16)


def _fingerprint_of(sentences: Sequence[Sentence]) -> str:
    """A hash of the tokens and of where the predicates are."""
    preds = ";".join(",".join(str(prop.pred) for prop in sent.props) for sent in sentences)
    return hash_of(corpus_fingerprint([sent.tokens for sent in sentences]) + preds)


def _join_targets(paths: Sequence[Path], joined: Path, width: int) -> None:
    """Write the targets of all chunks to one file: there may be more of them than fit into memory."""
    counts = [_target_rows(path) for path in paths]
    with atomic_write(joined) as (partial,), partial.open("wb") as file:
        header = {"descr": "<f2", "fortran_order": False, "shape": (sum(counts), width)}
        np.lib.format.write_array_header_1_0(file, header)
        for path in paths:
            with np.load(path, allow_pickle=False) as arrays:
                file.write(arrays["targets"].astype("<f2", copy=False).tobytes())


def _target_rows(path: Path) -> int:
    with np.load(path, allow_pickle=False) as arrays:
        return int(np.repeat(arrays["lengths"], np.diff(arrays["prop_offsets"])).sum())


def _read(paths: Sequence[Path], joined: Path) -> Lessons:
    """The lessons of all chunks; the targets stay on disk."""
    chunks = []
    for path in paths:
        with np.load(path, allow_pickle=False) as arrays:
            small = {name: arrays[name] for name in arrays.files if name != "targets"}
        chunks.append(small)
    is_empty = joined.stat().st_size <= EMPTY_FILE
    targets = np.load(joined, mmap_mode=None if is_empty else "r", allow_pickle=False)
    return Lessons.from_arrays({**joined_arrays(chunks), "targets": targets})
