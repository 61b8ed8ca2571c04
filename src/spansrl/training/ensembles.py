"""Ensembles as model directories: experts copied in, a mixture trained on top; any directory as a Labeler."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import torch

from spansrl.decoding import Method, Order
from spansrl.errors import ModelError
from spansrl.evaluation import score
from spansrl.inference.config import TrainingConfig
from spansrl.inference.directory import (
    FORMAT,
    WEIGHTS,
    description_config,
    file_hash,
    read_description,
    write_json,
)
from spansrl.inference.labeler import Labeler, Scorer
from spansrl.nn.batch import Corpus
from spansrl.nn.embedders.embed import LayeredEmbedder, read_precomputed_features
from spansrl.nn.embedders.features import Progress
from spansrl.nn.ensembles import (
    Mixture,
    MixtureExamples,
    MixtureScorer,
    ProductScorer,
    expert_features,
    share_sources,
)
from spansrl.nn.network import Network, TorchScorer
from spansrl.structures import Sentence
from spansrl.training.checkpoint import load_network, load_weights
from spansrl.training.runs import Run, Splits

# What of an expert's directory is copied; its state and log stay with the run.
EXPERT_FILES = ("config.json", WEIGHTS, "embedder")


def load_labeler(directory: Path, *, method: Method | None = None, device: str = "cpu") -> Labeler:
    """A Labeler from any model directory, with its own decoder unless given; ensembles stay on the CPU."""
    kind = read_description(directory).get("kind")
    if kind == "network":
        network = load_network(directory, device)
        return labeler_of(TorchScorer(network), network, method)
    if kind not in ("mixture", "product"):
        raise ModelError(
            f"{directory / 'config.json'}: 'kind' is {kind!r}; known are network, mixture and product"
        )
    experts = load_experts(directory)
    scorer: Scorer = ProductScorer(experts) if kind == "product" else _load_mixture(directory, experts)
    return labeler_of(scorer, experts[0], method)


def labeler_of(scorer: Scorer, network: Network, method: Method | None = None) -> Labeler:
    """A Labeler that decodes as the network's config says, unless told otherwise."""
    output = network.config.output
    return Labeler(scorer, method=method or cast(Method, output.decoder), order=cast(Order, output.order))


def remember_precomputed(labeler: Labeler, path: Path, sentences: Sequence[Sentence]) -> None:
    """Show a labeler the precomputed vectors (HDF5, keyed by index) of the sentences it is about to label."""
    scorer = labeler.scorer
    if isinstance(scorer, TorchScorer):
        networks: Sequence[Network] = [scorer.network]
    else:
        assert isinstance(scorer, (MixtureScorer, ProductScorer))
        networks = scorer.experts
    tokens = [sent.tokens for sent in sentences]
    features = read_precomputed_features(path, tokens)
    for network in networks:
        if not isinstance(network.embedder, LayeredEmbedder):
            raise ModelError(
                "precomputed vectors are for models over ELMo; this model embeds tokens by itself"
            )
        network.embedder.remember(tokens, features)


def load_experts(directory: Path) -> list[Network]:
    """The experts of an ensemble's directory."""
    names = read_description(directory).get("experts")
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise ModelError(f"{directory / 'config.json'}: 'experts' must be a list of directories")
    return [load_network(directory / name) for name in names]


def _load_mixture(directory: Path, experts: Sequence[Network]) -> MixtureScorer:
    mixture = Mixture.of(experts)
    load_weights(directory / WEIGHTS, mixture)
    return MixtureScorer(mixture.eval(), experts)


def save_ensemble(out: Path, kind: str, sources: Sequence[Path], provenance: Mapping[str, Any]) -> None:
    """Copy the experts in and describe the ensemble; shared files are stored once where links work."""
    experts = [f"experts/{number}" for number in range(1, len(sources) + 1)]
    stored: dict[str, Path] = {}
    for source, name in zip(sources, experts, strict=True):
        _copy_expert(source, out / name, stored)
    description = read_description(sources[0], kind="network")
    write_json(
        out / "config.json",
        {
            "format": FORMAT,
            "kind": kind,
            "roles": description["roles"],
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


def mixture_facts(sources: Sequence[Path], splits: Splits, config: TrainingConfig) -> dict[str, Any]:
    """What a mixture's run is made of: a directory with other facts holds another run."""
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
    scorer = MixtureScorer(mixture, experts)
    scorer.remember(expert_features(experts, Corpus.of(splits.dev, roles), cache, progress))
    features = expert_features(experts, Corpus.of(splits.train, roles), cache, progress)
    labeler = labeler_of(scorer, experts[0])
    return Run(
        model=mixture,
        trainable=mixture,
        examples=MixtureExamples(features, config, torch.device("cpu")),
        evaluate=lambda: score(splits.dev, labeler.label(splits.dev)),
        config=config,
        describe=lambda out: save_ensemble(out, "mixture", sources, provenance),
        facts=mixture_facts(sources, splits, config),
    )


def expert_settings(sources: Sequence[Path]) -> list[Mapping[str, Any]]:
    """The experts' settings, for the record."""
    return [
        description_config(read_description(source, kind="network"), source).to_dict() for source in sources
    ]
