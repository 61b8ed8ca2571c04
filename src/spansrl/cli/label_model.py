"""The model that `spansrl label` labels with: the one in the package, an exported one, or one on torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click

from spansrl.cli.label_predicates import Predicates
from spansrl.cli.torch_extra import require_torch, use_device
from spansrl.decoding import Method
from spansrl.errors import ConfigError, ModelError
from spansrl.inference.directory import description_config, read_description
from spansrl.inference.labeler import Labeler, Scorer
from spansrl.inference.loading import GivenPredicates, load
from spansrl.inference.pipeline import Pipeline
from spansrl.inference.runtime import ENCODER_GRAPH, OnnxModel
from spansrl.language.frames import HOW_TO_REGISTER, registered
from spansrl.structures import Sentence

Label = Callable[[Iterable[Sentence]], Iterator[Sentence]]


def finds_predicates(directory: Path) -> bool:
    """Whether a model finds predicates by itself; those of the paper want them given."""
    description = read_description(directory)
    return description.get("kind") == "network" and description_config(description, directory).tasks.any


def load_pipeline(
    directory: Path,
    *,
    threads: int | None,
    method: Method | None,
    frames: bool,
    rule_out_roles: bool | None,
    device: str,
) -> Pipeline:
    """The model, after a look at whether it can do what is asked of it."""
    if rule_out_roles and not frames:
        raise click.UsageError("--rule-out-roles and --no-frames contradict each other; leave out one")
    if rule_out_roles and not registered():
        raise ConfigError(f"--rule-out-roles needs PropBank's frames; {HOW_TO_REGISTER}")
    if not (directory / ENCODER_GRAPH).exists():
        require_torch(f"{directory}: a model without ONNX graphs")
        use_device(device)
    elif device != "cpu":
        raise ConfigError(f"--device {device}: exported models run on the CPU; leave the option out")
    return load(
        directory, threads=threads, method=method, frames=frames, rule_out_roles=rule_out_roles, device=device
    )


def labelling(pipeline: Pipeline, predicates: Predicates, *, finds: bool) -> Label:
    """The function that labels a stream of sentences.

    A model that wants its predicates given goes without what the pipeline does for text: it takes sentences
    of any length as a whole, and keeps the lemmas that they came with.
    """
    if predicates == "given" and not finds:
        return Labeler(_scorer(pipeline), method=pipeline.method, order=pipeline.order).label
    return lambda sentences: pipeline.label(sentences, predicates=predicates)


def with_precomputed(pipeline: Pipeline, path: Path, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """The sentences, after the model has been shown their vectors; all are held in memory for that."""
    if isinstance(pipeline.model, OnnxModel):
        raise ModelError("precomputed vectors are for models over ELMo; this model embeds tokens by itself")
    from spansrl.training.ensembles import remember_precomputed

    kept = list(sentences)
    remember_precomputed(Labeler(_scorer(pipeline)), path, kept)
    return iter(kept)


def _scorer(pipeline: Pipeline) -> Scorer:
    model = pipeline.model
    scorer: Scorer = model.scorer if isinstance(model, GivenPredicates) else model  # type: ignore[assignment]
    return scorer
