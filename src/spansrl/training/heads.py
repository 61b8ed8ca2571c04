"""New heads for the frozen encoder of an exported model: senses by prototypes, roles that know the frame.

Everything is learned from cached vectors of the encoder: first the prototypes (a projection of predicates and
definitions, and weights of what else is known of a candidate), then what the frames say about roles, together
with the layers that score arguments, which start as they are. The encoder's graph is copied as it is.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize, softplus

from spansrl.arrays import IntArray, offsets_of
from spansrl.errors import DataError
from spansrl.inference.directory import (
    ARGUMENTS_GRAPH,
    DESCRIPTION,
    MANIFEST,
    ModelDirectory,
    read_json,
    write_bytes,
    write_json,
    write_manifest,
)
from spansrl.inference.lexicon import LEXICON, lexicon_to_dict
from spansrl.inference.prototypes import (
    NUMBERS,
    PROTOTYPES,
    Prototypes,
    encode,
    encode_descriptions,
    encode_glosses,
    normalized_glosses,
    prototypes,
    role_inputs,
    role_width,
)
from spansrl.inference.runtime import FRAME_ROLES, OnnxModel
from spansrl.inventory.frame_files import Roleset
from spansrl.inventory.frame_index import FrameIndex, propbank_role
from spansrl.inventory.senses import FEATURES, SenseInventory
from spansrl.language.english.lemmas import Lemmatizer, predicate_type
from spansrl.nn.batch import Gold
from spansrl.nn.embedders.base import SENTENCES_TOKENS, Examples, Graph
from spansrl.nn.encoders.predicate_encoders import PredicateHead
from spansrl.nn.outputs.boundaries import boundary_scores
from spansrl.nn.outputs.span import span_logits, span_loss
from spansrl.structures import PREDICATE_TYPES, Proposition, Sentence
from spansrl.training.export import to_onnx
from spansrl.training.onnx_weights import store_graph, stored_arrays

Arrays = npt.NDArray[np.float32]
Report = Callable[[str], None]
_COUNTED = [FEATURES.index(name) for name in ("seen", "lemma_prior", "form_prior")]
_CORE_COLUMN = len(NUMBERS)  # of roles without a number, to which the frames add nothing


@dataclass(frozen=True, slots=True)
class LabeledCorpus:
    """A labeled corpus to learn from."""

    name: str
    sentences: Sequence[Sentence]
    is_natural: bool = False  # its senses are as frequent as in texts, so they count for the prior
    share: float = 1.0  # of its sentences, which the arguments are learned from


@dataclass(frozen=True, slots=True)
class HeadSettings:
    """How the heads are trained."""

    width: int = 256  # of prototypes
    role_width: int = 64  # of role vectors
    sense_epochs: int = 3
    sense_rate: float = 2e-3
    no_prior: float = 0.3  # of predicates, for which the counts are hidden
    rate: float = 1.5e-4  # of the layers that score arguments
    frame_rate: float = 2e-3  # of what frames add
    batch_size: int = 32  # propositions
    other_sense: float = 0.12  # of propositions that are learned with another sense of their word
    no_sense: float = 0.08  # … without a sense
    seed: int = 1


def train_heads(
    source: Path,
    out: Path,
    work: Path,
    parts: Sequence[LabeledCorpus],
    rolesets: Sequence[Roleset],
    settings: HeadSettings | None = None,
    *,
    provenance: Mapping[str, Any] | None = None,
    report: Report = lambda line: None,
) -> None:
    """Write the model directory `out`: that of `source` with new heads.

    Vectors, prototypes and the trained layers are kept in `work`; the same call continues where it stopped.
    """
    settings = settings or HeadSettings()
    directory = ModelDirectory.read(source)
    config = directory.network_config
    if (config.output.kind, config.encoder.kind) != ("span", "none"):
        raise DataError(f"{directory.path}: new heads need output.kind = 'span' and encoder.kind = 'none'")
    model = OnnxModel(directory, threads=1)
    work.mkdir(parents=True, exist_ok=True)
    rolesets = list({roleset.id: roleset for roleset in reversed(rolesets)}.values())
    frames = FrameIndex.of(rolesets)
    vectors = [_vectors(work / f"{part.name}.npz", model, part.sentences, report) for part in parts]
    lemmatizer = Lemmatizer.from_dict(read_json(source / LEXICON)["lemmas"])
    natural = SenseInventory.of(
        [sent for part in parts if part.is_natural for sent in part.sentences], lemmatizer
    )
    labeled = {prop.sense for part in parts for sent in part.sentences for prop in sent.props if prop.sense}
    senses = natural.with_senses(sorted(labeled | {roleset.id for roleset in rolesets}))
    own = {roleset.id: roleset for roleset in rolesets}
    described = [own.get(sense, Roleset(sense, "")) for sense in senses.senses]
    cache = work / PROTOTYPES
    if not cache.exists():
        _learn_senses(model, parts, vectors, senses, frames, described, settings, report).save(cache)
    table = Prototypes.read(cache)
    torch.manual_seed(settings.seed)
    network = FrameArguments(directory, table.role_input.shape)
    texts = encode_descriptions(model, described)
    inputs, index = role_inputs(described, *texts, table.role_center)
    trained = work / "arguments.safetensors"
    if not trained.exists():
        _learn_arguments(network, parts, vectors, senses, frames, (inputs, index), settings, report)
        save_file({name: part.contiguous() for name, part in network.state_dict().items()}, trained)
    network.load_state_dict(load_file(trained))
    with torch.no_grad():
        role_vectors = (torch.from_numpy(inputs) @ network.frames_in).numpy()
    table = replace(
        table, role_input=network.frames_in.detach().numpy(), role_vectors=role_vectors, role_index=index
    )
    _write(source, out, directory, network, table, senses, provenance or {})


def _vectors(path: Path, model: OnnxModel, sentences: Sequence[Sentence], report: Report) -> Arrays:
    """The vectors of all tokens of a corpus, one after the other, in half precision on disk."""
    total = sum(map(len, sentences))
    if path.exists():
        with np.load(path, allow_pickle=False) as file:
            found = file["vectors"]
        if len(found) != total:
            raise DataError(f"{path}: made from other sentences; give another --work directory")
        return np.asarray(found)
    report(f"encoding {len(sentences):,} sentences for {path.name}")
    found = np.concatenate(encode(model, [sent.tokens for sent in sentences])).astype(np.float16)
    partial = path.with_suffix(".partial.npz")
    np.savez(partial, vectors=found)
    partial.replace(path)
    return np.asarray(found)


# Senses.


@dataclass(frozen=True, slots=True)
class _Choices:
    """P predicates with their candidates, flat."""

    vectors: Arrays  # (P, D) of unit length
    sense: IntArray  # (P,)
    gold: IntArray  # (P,) among the candidates; −1 where it is not one of them
    offsets: IntArray  # (P + 1,)
    candidates: IntArray  # (total,)
    features: Arrays  # (total, F)


def type_of(sent: Sentence, prop: Proposition, frames: FrameIndex, lemmatizer: Lemmatizer) -> str | None:
    """The type of a predicate; where it is not labeled, what the frames say of the word with this sense."""
    if (known := predicate_type(sent, prop)) is not None or prop.sense is None:
        return known
    word = sent.tokens[prop.pred]
    types = {
        type
        for alias, type in frames.words(prop.sense)
        if alias.partition("_")[0] in (word.lower(), lemmatizer.lemma(word, type))
    }
    return next((type for type in PREDICATE_TYPES if type in types), None)


def _choices(
    parts: Sequence[LabeledCorpus], vectors: Sequence[Arrays], senses: SenseInventory, frames: FrameIndex
) -> _Choices:
    rows: list[Arrays] = []
    sense, gold, ids, features = [], [], [], []
    for part, own in zip(parts, vectors, strict=True):
        starts = offsets_of([len(sent) for sent in part.sentences])
        for sent, start in zip(part.sentences, starts, strict=False):
            for prop in sent.props:
                if not prop.sense:
                    continue
                type = type_of(sent, prop, frames, senses.lemmatizer)
                left_out = prop.sense if part.is_natural else None
                names, known = senses.offers(sent.tokens, prop.pred, type, frames, left_out)
                rows.append(own[start + prop.pred])
                sense.append(senses.index[prop.sense])
                gold.append(names.index(prop.sense) if prop.sense in names else -1)
                ids.append([senses.index[name] for name in names])
                features.append(known)
    found = np.stack(rows).astype(np.float32)
    return _Choices(
        vectors=found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-6),
        sense=np.array(sense),
        gold=np.array(gold),
        offsets=offsets_of([len(own) for own in ids]),
        candidates=np.array([k for own in ids for k in own], dtype=np.int64),
        features=np.concatenate(features).astype(np.float32),
    )


class SenseNetwork(nn.Module):
    """Compares predicates with prototypes; see `Prototypes`."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.projection = nn.Linear(width, out)
        self.gloss = nn.Linear(2 * width, out, bias=False)
        self.weights = nn.Linear(len(FEATURES), 1, bias=False)
        self.scale = nn.Parameter(torch.tensor(10.0))
        self.kappa = nn.Parameter(torch.tensor(0.5))  # a definition counts for softplus of it
        self.known = nn.Parameter(torch.zeros(2))  # for having occurrences, and for the log of their number
        nn.init.zeros_(self.projection.bias)
        nn.init.zeros_(self.weights.weight)

    def forward(self, x: Tensor, means: Tensor, counts: Tensor, glosses: Tensor, features: Tensor) -> Tensor:
        """x (N, D), means (N, C, D), counts (N, C), glosses (N, C, 2D), features (N, C, F) -> (N, C)"""
        n, kappa = counts[..., None], softplus(self.kappa)
        near = self.projection(means) * (n > 0) * n / (n + kappa) + self.gloss(glosses) * (
            kappa / (n + kappa)
        )
        cosine = (normalize(self.projection(x), dim=-1)[:, None] * normalize(near, dim=-1, eps=1e-6)).sum(-1)
        known = self.known[0] * (counts > 0) + self.known[1] * torch.log1p(counts)
        found: Tensor = self.scale * cosine + known + self.weights(features).squeeze(-1)
        return found


def _learn_senses(
    model: OnnxModel,
    parts: Sequence[LabeledCorpus],
    vectors: Sequence[Arrays],
    senses: SenseInventory,
    frames: FrameIndex,
    described: Sequence[Roleset],
    settings: HeadSettings,
    report: Report,
) -> Prototypes:
    torch.manual_seed(settings.seed)
    order = np.random.default_rng(settings.seed)
    report("finding candidates of senses")
    data = _choices(parts, vectors, senses, frames)
    sums = np.zeros((len(senses), data.vectors.shape[1]), np.float32)
    np.add.at(sums, data.sense, data.vectors)
    counts = np.bincount(data.sense, minlength=len(senses)).astype(np.float32)
    raw = encode_glosses(model, described)
    raw_roles = encode_descriptions(model, described)[1]
    center = raw.mean(axis=0)
    glosses = normalized_glosses(raw, center)
    network = SenseNetwork(sums.shape[1], settings.width)
    tables = tuple(map(torch.from_numpy, (sums, counts, glosses)))
    fast = [network.scale, network.kappa, network.known, network.weights.weight]
    slow = [*network.projection.parameters(), network.gloss.weight]
    optimizer = torch.optim.AdamW(
        [{"params": slow, "weight_decay": 0.01}, {"params": fast, "lr": 5 * settings.sense_rate}],
        lr=settings.sense_rate,
        weight_decay=0.0,
    )
    usable = np.flatnonzero((data.gold >= 0) & (np.diff(data.offsets) > 1))
    batches: list[IntArray] = [
        batch
        for _ in range(settings.sense_epochs)
        for batch in np.array_split(order.permutation(usable), max(1, len(usable) // 256))
    ]
    for step, rows in enumerate(batches):
        _set_rate(optimizer, step, len(batches))
        logits, gold = _sense_logits(network, data, rows, tables, order.random(len(rows)) < settings.no_prior)
        loss = cross_entropy(logits, gold)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if step % 100 == 99 or step == len(batches) - 1:
            report(f"senses: step {step + 1} of {len(batches)}, loss {loss.item():.3f}")
    numbers = torch.stack([network.scale, softplus(network.kappa), *network.known])
    table = Prototypes(
        vectors=np.zeros((len(senses), settings.width), np.float32),
        bias=np.zeros(len(senses), np.float32),
        role_vectors=np.zeros((1, settings.role_width), np.float32),
        role_index=np.zeros((len(senses), len(NUMBERS)), np.int64),
        projection=_array(network.projection.weight.T),
        shift=_array(network.projection.bias),
        gloss=_array(network.gloss.weight.T),
        role_input=np.zeros((role_width(sums.shape[1]), settings.role_width), np.float32),
        gloss_center=center,
        role_center=raw_roles.mean(axis=0) if len(raw_roles) else np.zeros(sums.shape[1], np.float32),
        weights=_array(network.weights.weight[0]),
        numbers=_array(numbers),
    )
    means = np.asarray(sums / np.maximum(counts, 1)[:, None], dtype=np.float32)
    near, bias = prototypes(table, means, counts, glosses)
    return replace(table, vectors=near, bias=bias)


def _sense_logits(
    network: SenseNetwork,
    data: _Choices,
    rows: IntArray,
    tables: tuple[Tensor, ...],
    no_prior: npt.NDArray[np.bool_],
) -> tuple[Tensor, Tensor]:
    """Scores of the candidates (N, C), and the right ones; an occurrence is left out of its own prototype."""
    sizes = np.diff(data.offsets)[rows]
    column = np.arange(sizes.max())
    inside = column < sizes[:, None]
    at = data.offsets[rows][:, None] + np.minimum(column, sizes[:, None] - 1)
    ids = data.candidates[at]  # (N, C)
    features = data.features[at]
    features[..., _COUNTED] *= ~no_prior[:, None, None]
    x = torch.from_numpy(data.vectors[rows])
    is_own = torch.from_numpy(((ids == data.sense[rows][:, None]) & inside).astype(np.float32))
    sums, counts, glosses = (table[torch.from_numpy(ids)] for table in tables)
    sums, counts = sums - is_own[..., None] * x[:, None], counts - is_own
    means = sums / counts.clamp(min=1)[..., None] * (counts > 0)[..., None]
    logits = network(x, means, counts, glosses, torch.from_numpy(features))
    return logits.masked_fill(~torch.from_numpy(inside), -1e9), torch.from_numpy(data.gold[rows])


# Arguments.


class FrameArguments(nn.Module):
    """The shipped layers that score arguments, with what frames add to the weights of numbered roles.

    W[s, r] = W[r] + B·v(s, r), with a role's vector v = e·A from what the frame says of it: starts and ends
    remain a sum, so decoding stays exact and linear.
    """

    columns: Tensor  # (R,) the number of each role

    def __init__(self, directory: ModelDirectory, shape: tuple[int, int]) -> None:
        super().__init__()
        weights = _stored_weights(directory.path / ARGUMENTS_GRAPH)
        settings = directory.network_config.encoder
        self.head = PredicateHead(weights["pred.weight"].shape[1], settings)
        self.roles = nn.Parameter(weights.pop("roles"))
        self.head.load_state_dict(weights)
        self.span_end = directory.network_config.output.span_end
        self.frames_in = nn.Parameter(torch.randn(shape) * 0.15)  # A
        self.frames_out = nn.Parameter(torch.zeros(2, settings.width, shape[1]))  # B, of starts and of ends
        self.role_names = directory.roles
        bases = [propbank_role(role).base for role in directory.roles]
        number = [base[3:] if base[:3] == "ARG" and base[3:] in NUMBERS else "" for base in bases]
        columns = [NUMBERS.index(n) if n else _CORE_COLUMN for n in number]
        self.register_buffer("columns", torch.tensor(columns), persistent=False)

    def forward(
        self,
        vectors: Tensor,
        sentence_lengths: Tensor,
        sentence: Tensor,
        pred: Tensor,
        frame_roles: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """vectors (S, T, D), frame_roles (N, 6, r) -> scores of tokens as starts and as ends (N, T, R)"""
        mask = torch.arange(vectors.shape[1]) < sentence_lengths[sentence][:, None]
        h = self.head(vectors, sentence, pred, mask)
        start, end = boundary_scores(h, self.roles)
        added = [(h @ part) @ frame_roles.transpose(1, 2) for part in self.frames_out]  # (N, T, 6) each
        starts, ends = (nn.functional.pad(part, (0, 1)).index_select(2, self.columns) for part in added)
        return start + starts, end + ends


def _stored_weights(path: Path) -> dict[str, Tensor]:
    """The weights of a predicate head and of the roles in a graph, which keeps the names of most of them.

    The others are matrices of linear layers, in the order of the layers.
    """
    arrays = stored_arrays(path)
    prefix = "encoder.head."
    found = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    layers = sorted({name.rpartition(".")[0] for name in found if name.endswith("projection.bias")})
    kinds = ("projection", "attended", "inner", "outer")
    linear = ["token", *(f"{layer.rpartition('.')[0]}.{kind}" for layer in layers for kind in kinds)]
    unnamed = sorted(
        (name for name, array in arrays.items() if name.startswith("val_") and array.ndim == 2),
        key=lambda name: int(name.removeprefix("val_")),
    )
    wanted = [name for name in linear if f"{name}.weight" not in found]
    if "output.roles" not in arrays or len(wanted) != len(unnamed):
        raise DataError(f"{path}: not a graph with the layers that new heads start from")
    found |= {f"{name}.weight": arrays[k].T for name, k in zip(wanted, unnamed, strict=True)}
    found["roles"] = arrays["output.roles"]
    return {name: torch.from_numpy(np.array(array, dtype=np.float32)) for name, array in found.items()}


def _learn_arguments(
    network: FrameArguments,
    parts: Sequence[LabeledCorpus],
    vectors: Sequence[Arrays],
    senses: SenseInventory,
    frames: FrameIndex,
    roles: tuple[Arrays, IntArray],
    settings: HeadSettings,
    report: Report,
) -> None:
    order = np.random.default_rng(settings.seed)
    inputs, index = torch.from_numpy(roles[0]), np.concatenate([roles[1], np.zeros_like(roles[1][:1])])
    names = {role: k for k, role in enumerate(network.role_names)}
    used = [
        (p, s)
        for p, part in enumerate(parts)
        for s, sent in enumerate(part.sentences)
        if sent.props and order.random() < part.share
    ]
    starts = [offsets_of([len(sent) for sent in part.sentences]) for part in parts]
    lengths = np.array([len(parts[p].sentences[s]) for p, s in used]) + order.integers(0, 4, len(used))
    shuffled = order.permutation(len(used))
    batches = list(
        _batches([used[k] for k in shuffled[np.argsort(lengths[shuffled], kind="stable")]], parts, settings)
    )
    own = [network.frames_in, network.frames_out]
    others = [*network.head.parameters(), network.roles]
    groups: list[dict[str, Any]] = [{"params": own, "lr": settings.frame_rate}, {"params": others}]
    optimizer = torch.optim.AdamW(groups, lr=settings.rate, betas=(0.9, 0.98), weight_decay=0.0)
    total = 0.0
    for step, k in enumerate(order.permutation(len(batches)).tolist()):
        _set_rate(optimizer, step, len(batches))
        sents = [parts[p].sentences[s] for p, s in batches[k]]
        rows = [vectors[p][starts[p][s] : starts[p][s + 1]] for p, s in batches[k]]
        x = torch.nn.utils.rnn.pad_sequence([torch.from_numpy(row.astype(np.float32)) for row in rows], True)
        flat = [(n, prop) for n, sent in enumerate(sents) for prop in sent.props]
        sentence = torch.tensor([n for n, _ in flat])
        pred = torch.tensor([prop.pred for _, prop in flat])
        gold = [
            (n, names[arg.role], arg.start, arg.end - 1)
            for n, (_, prop) in enumerate(flat)
            for arg in prop.args
            if arg.role in names
        ]
        sense = [_taught_sense(sents[n].tokens, prop, senses, frames, settings, order) for n, prop in flat]
        frame_roles = (inputs @ network.frames_in)[torch.from_numpy(index[sense])]
        sizes = torch.tensor([len(sent) for sent in sents])
        start, end = network(x, sizes, sentence, pred, frame_roles)
        mask = torch.arange(x.shape[1]) < sizes[sentence][:, None]
        columns = torch.tensor(gold, dtype=torch.long).reshape(-1, 4).T
        loss = span_loss(span_logits(start, end, mask, network.span_end), pred, Gold(*columns))
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_([*own, *others], 5.0)
        optimizer.step()
        total += loss.item()
        if step % 100 == 99:
            report(f"arguments: step {step + 1} of {len(batches)}, mean loss {total / 100:.3f}")
            total = 0.0


def _batches(
    used: Sequence[tuple[int, int]], parts: Sequence[LabeledCorpus], settings: HeadSettings
) -> Iterator[list[tuple[int, int]]]:
    """Sentences of similar length with about `batch_size` propositions together."""
    batch: list[tuple[int, int]] = []
    size = 0
    for p, s in used:
        batch.append((p, s))
        size += len(parts[p].sentences[s].props)
        if size >= settings.batch_size:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _taught_sense(
    tokens: Sequence[str],
    prop: Proposition,
    senses: SenseInventory,
    frames: FrameIndex,
    settings: HeadSettings,
    order: np.random.Generator,
) -> int:
    """The gold sense, or sometimes none (−1) or another one, so that a wrong sense does not mislead."""
    draw = order.random()
    if prop.sense is None or draw < settings.no_sense:
        return -1
    if draw < settings.no_sense + settings.other_sense:
        others = [
            name
            for name in frames.beginning_with(prop.sense.partition(".")[0].partition("_")[0])
            if name != prop.sense
        ]
        if others:
            return senses.index[others[order.integers(len(others))]]
    return senses.index[prop.sense]


# The model directory.


def _write(
    source: Path,
    out: Path,
    directory: ModelDirectory,
    network: FrameArguments,
    table: Prototypes,
    senses: SenseInventory,
    provenance: Mapping[str, Any],
) -> None:
    shutil.copytree(source, out, dirs_exist_ok=True, ignore=shutil.ignore_patterns(MANIFEST, ".*", "__*"))
    (out / MANIFEST).unlink(missing_ok=True)
    table.save(out / PROTOTYPES)
    write_json(out / LEXICON, lexicon_to_dict(senses), indent=None)
    origin = directory.description.get("provenance", {})
    description = {
        **directory.description,
        "senses": list(senses.senses),
        "provenance": {**origin, "heads": dict(provenance)},
    }
    write_json(out / DESCRIPTION, description)
    inputs: Examples = {
        "vectors": (torch.randn(2, 5, table.projection.shape[0]), SENTENCES_TOKENS),
        "sentence_lengths": (torch.tensor([5, 4]), {0: "sentences"}),
        "sentence": (torch.tensor([0, 1, 1]), {0: "predicates"}),
        "pred": (torch.tensor([4, 0, 2]), {0: "predicates"}),
        FRAME_ROLES: (torch.randn(3, len(NUMBERS), table.role_input.shape[1]), {0: "predicates"}),
    }
    write_bytes(out / ARGUMENTS_GRAPH, to_onnx(Graph(network, inputs, ["start", "end"])))
    store_graph(out / ARGUMENTS_GRAPH, "half")
    write_manifest(out)


def _set_rate(optimizer: torch.optim.Optimizer, step: int, steps: int) -> None:
    """A linear schedule with a short warm-up."""
    factor = max(0.02, 1 - step / steps) * min(1.0, (step + 1) / min(100, 1 + steps // 10))
    for group in optimizer.param_groups:
        group.setdefault("initial", group["lr"])
        group["lr"] = group["initial"] * factor


def _array(tensor: Tensor) -> Arrays:
    return np.ascontiguousarray(tensor.detach().numpy())
