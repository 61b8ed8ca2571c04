"""The model that `spansrl label` labels with: the one in the package, an exported one, or one on torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click

from spansrl.cli.torch_extra import require_torch, use_device
from spansrl.decoding import Decoder
from spansrl.errors import ConfigError, ModelError
from spansrl.inference.directory import ModelDirectory
from spansrl.inference.loading import load
from spansrl.inference.pipeline import Pipeline
from spansrl.inference.predicates import Predicates
from spansrl.language.frames import HOW_TO_REGISTER, registered
from spansrl.structures import Sentence

Label = Callable[[Iterable[Sentence]], Iterator[Sentence]]


def load_pipeline(
    directory: ModelDirectory,
    *,
    threads: int | None,
    decoder: Decoder | None,
    min_prob: float | None = None,
    frames: bool,
    rule_out_roles: bool | None,
    device: str,
) -> Pipeline:
    """Load the model, after checking the options against it."""
    if rule_out_roles and not frames:
        raise click.UsageError("--rule-out-roles and --no-frames contradict each other; leave out one")
    if rule_out_roles and not registered():
        raise ConfigError(f"--rule-out-roles needs PropBank's frames; {HOW_TO_REGISTER}")
    if not directory.is_exported:
        require_torch(f"{directory.path}: a model without ONNX graphs")
        use_device(device)
    elif device != "cpu":
        raise ConfigError(f"--device {device}: exported models run on the CPU; leave the option out")
    return load(
        directory,
        threads=threads,
        decoder=decoder,
        min_prob=min_prob,
        frames=frames,
        rule_out_roles=rule_out_roles,
        device=device,
    )


def labelling(pipeline: Pipeline, predicates: Predicates) -> Label:
    """The function that labels a stream of sentences."""
    return lambda sentences: pipeline.label(sentences, predicates=predicates)


def with_precomputed(pipeline: Pipeline, path: Path, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """Show the model the sentences' precomputed vectors; all sentences are held in memory for that."""
    networks = getattr(pipeline.model, "networks", None)
    if networks is None:
        raise ModelError("precomputed vectors are for models over ELMo; this model embeds tokens by itself")
    from spansrl.training.ensembles import remember_precomputed

    kept = list(sentences)
    remember_precomputed(networks, path, kept)
    return iter(kept)
