"""Ensembles and averages as model directories, training of mixtures, torch models from any directory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from spansrl.errors import ModelError
from spansrl.evaluation import score
from spansrl.formats.atomic import atomic_directory
from spansrl.inference.config import OutputConfig
from spansrl.inference.directory import DESCRIPTION, FORMAT, WEIGHTS, ModelDirectory, file_hash, write_json
from spansrl.inference.lexicon import LEXICON
from spansrl.inference.pipeline import Pipeline
from spansrl.nn.batch import Corpus
from spansrl.nn.embedders.features import Progress
from spansrl.nn.embedders.layered import LayeredEmbedder
from spansrl.nn.embedders.precomputed import read_precomputed_features
from spansrl.nn.ensembles import (
    DroppedFeatures,
    ExpertFeatures,
    Mixture,
    MixtureModel,
    ProductModel,
    expert_features,
    share_sources,
)
from spansrl.nn.network import Network, TorchModel
from spansrl.structures import Sentence
from spansrl.training.checkpoint import load_network, load_weights, save_description, save_weights
from spansrl.training.recovery import load_trained
from spansrl.training.run_config import TrainingConfig
from spansrl.training.runs import CorpusExamples, Run, Splits

# The files of an expert that are copied; its state and log stay with the run.
EXPERT_FILES = ("config.json", WEIGHTS, "embedder")


def load_torch_model(
    directory: Path | ModelDirectory, *, device: str = "cpu"
) -> tuple[TorchModel | MixtureModel | ProductModel, OutputConfig]:
    """A model from any directory, and the settings of its decoder; ensembles stay on the CPU."""
    directory = ModelDirectory.read(directory)
    if directory.kind == "network":
        return TorchModel(load_network(directory, device)), directory.network_config.output
    if directory.kind not in ("mixture", "product"):
        raise ModelError(
            f"{directory.path / DESCRIPTION}: 'kind' is {directory.kind!r}; "
            "expected network, mixture or product"
        )
    experts = load_experts(directory)
    if directory.kind == "product":
        return ProductModel(experts), experts[0].config.output
    mixture = Mixture.of(experts)
    load_weights(directory.path / WEIGHTS, mixture)
    return MixtureModel(mixture.eval(), experts), experts[0].config.output


def remember_precomputed(networks: Sequence[Network], path: Path, sentences: Sequence[Sentence]) -> None:
    """Give networks the precomputed vectors (HDF5, keyed by index) of the sentences to be labeled."""
    tokens = [sent.tokens for sent in sentences]
    features = read_precomputed_features(path, tokens)
    for network in networks:
        if not isinstance(network.embedder, LayeredEmbedder):
            raise ModelError(
                "precomputed vectors are for models over ELMo; this model embeds tokens by itself"
            )
        network.embedder.remember(tokens, features)


def load_experts(directory: ModelDirectory) -> list[Network]:
    """The experts of an ensemble's directory."""
    names = directory.description.get("experts")
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise ModelError(f"{directory.path / DESCRIPTION}: 'experts' must be a list of directories")
    return [load_network(directory.path / name) for name in names]


def save_ensemble(out: Path, kind: str, sources: Sequence[Path], provenance: Mapping[str, Any]) -> None:
    """Write an ensemble's directory with copies of its experts; equal files are hard links where possible."""
    experts = [f"experts/{number}" for number in range(1, len(sources) + 1)]
    stored: dict[str, Path] = {}
    for source, name in zip(sources, experts, strict=True):
        _copy_expert(source, out / name, stored)
        if not (source / WEIGHTS).exists():  # an exported model has graphs instead
            network = load_trained(ModelDirectory.read(source, kind="network"))
            save_weights(out / name, network, epoch=0)
    roles = ModelDirectory.read(sources[0], kind="network").roles
    write_json(
        out / DESCRIPTION,
        {
            "format": FORMAT,
            "kind": kind,
            "roles": list(roles),
            "experts": experts,
            "provenance": dict(provenance),
        },
    )


def _copy_expert(source: Path, target: Path, stored: dict[str, Path]) -> None:
    for name in EXPERT_FILES:
        paths = [source / name] if (source / name).is_file() else sorted((source / name).glob("*"))
        for path in paths:
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.unlink(missing_ok=True)
            _link_or_copy(stored.setdefault(file_hash(path), path), copy)


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def save_average(out: Path, sources: Sequence[ModelDirectory], provenance: Mapping[str, Any]) -> None:
    """Write one model with the mean of the weights of several; everything else is the first one's.

    The mean makes sense for models of one family, each trained from another: others are too far apart.
    """
    networks = [load_trained(source) for source in sources]
    first = networks[0]
    weights = [network.state_dict() for network in networks]
    for source, network, own in zip(sources, networks, weights, strict=True):
        names = (network.roles.items, network.senses and network.senses.items)
        if names != (first.roles.items, first.senses and first.senses.items):
            raise ModelError(
                f"{source.path}: other roles or senses than {sources[0].path}; train both on the same data"
            )
        if _shapes(own) != _shapes(weights[0]):
            raise ModelError(f"{source.path}: weights of other names or shapes than {sources[0].path}")
    first.load_state_dict(
        {name: torch.stack([own[name].float() for own in weights]).mean(dim=0) for name in weights[0]}
    )
    description = sources[0].description
    facts = {**provenance, "average": [source.path.name for source in sources]}
    with atomic_directory(out) as partial:
        save_description(partial, first, {})  # and the embedder's files
        # How the first was trained is in its description, but not in the network.
        write_json(
            partial / DESCRIPTION, {**description, "provenance": {**description["provenance"], **facts}}
        )
        save_weights(partial, first, epoch=0)
        if (sources[0].path / LEXICON).exists():
            shutil.copyfile(sources[0].path / LEXICON, partial / LEXICON)


def _shapes(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Size]:
    return {name: tensor.shape for name, tensor in tensors.items()}


def mixture_facts(sources: Sequence[Path], splits: Splits, config: TrainingConfig) -> dict[str, Any]:
    """What identifies a mixture's run: a directory with other facts holds another run."""
    weights = [file_hash(source / WEIGHTS) for source in sources]
    return {"config": {"training": asdict(config)}, "data": splits.hashes, "experts": weights}


def prepare_mixture(
    sources: Sequence[Path],
    splits: Splits,
    config: TrainingConfig,
    *,
    cache: Path,
    progress: Progress | None = None,
    provenance: Mapping[str, Any],
) -> Run:
    """A mixture of trained experts, ready to be trained on their cached features."""
    torch.manual_seed(config.seed)
    experts = [load_network(source) for source in sources]
    share_sources(experts)
    mixture = Mixture.of(experts)
    roles = experts[0].roles
    model = MixtureModel(mixture, experts)
    model.remember(expert_features(experts, Corpus.of(splits.dev, roles), cache, progress))
    corpus = Corpus.of(splits.train, roles)
    features: ExpertFeatures | DroppedFeatures
    if config.experts_dropout:
        inputs = [expert.embedder.prepare(corpus.tokens, cache, progress) for expert in experts]
        features = DroppedFeatures(corpus, experts, inputs)
    else:
        features = expert_features(experts, corpus, cache, progress)
    pipeline = Pipeline.plain(model, experts[0].config.output)
    return Run(
        model=mixture,
        examples=CorpusExamples(
            features.corpus,
            lambda _, props: features.take(props),
            config,
            by_sentence=False,
            device=torch.device("cpu"),
        ),
        evaluate=lambda: score(splits.dev, pipeline.label(splits.dev, predicates="given")),
        config=config,
        describe=lambda out: save_ensemble(out, "mixture", sources, provenance),
        facts=mixture_facts(sources, splits, config),
    )


def expert_settings(sources: Sequence[Path]) -> list[Mapping[str, Any]]:
    """The experts' settings, for the record."""
    return [ModelDirectory.read(source, kind="network").description["config"] for source in sources]
