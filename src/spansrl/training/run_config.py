"""The settings of a training run, read strictly from TOML.

config = load_config(Path("configs/ewt-minilm-span.toml"), ["training.seed=2", "output.kind=crf"])
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

from spansrl.errors import ConfigError
from spansrl.inference.config import MODEL_SECTIONS, ModelConfig, at_least, in_range, one_of, read_sections
from spansrl.inference.runtime import PRECISIONS


@dataclass(frozen=True, slots=True)
class DistillationConfig:
    """Learning from the distributions of other models."""

    teachers: tuple[str, ...] = ()  # models with the same output; one that is named twice counts twice
    weight: float = 0.5  # the teachers' share of the argument loss; gold has the rest
    precision: str = "full"  # of exported teachers' matrix products: full | int8 (twice as fast)
    raw: str = ""  # file of sentences without labels, which the teachers label
    raw_share: float = 1.0  # share of these, or of training.rehearse, used per epoch, in turn

    def __post_init__(self) -> None:
        one_of("distillation.precision", self.precision, PRECISIONS)
        in_range("distillation.raw_share", self.raw_share, 0.0001, 1.0)
        in_range("distillation.weight", self.weight, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """How the parameters are found."""

    epochs: int = 100  # passes over the training data
    batch_size: int = 32  # propositions; sentences with encoder.predicate = "after"
    rate: float = 1e-3  # Adam's learning rate
    embedder_rate: float = 0.0  # rate of a fine-tuned transformer; 0: the same as rate
    schedule: str = "halve"  # halve: every 25 epochs after 50 (the paper) | linear: constant, then down to 0
    hold: float = 0.5  # linear: share of the steps before the rate falls
    warmup: float = 0.0  # share of the steps in which the rate rises from 0
    l2: float = 1e-4  # λ of λ/2·‖θ‖², coupled as in Adam (not AdamW)
    clip: float = 0.0  # largest norm of the gradient; 0: no limit
    max_tokens: int = 0  # training leaves out longer sentences; 0: no limit
    layer_decay: float = 1.0  # rate of each transformer layer relative to the layer above it
    experts_dropout: bool = False  # mixture: experts keep their dropout meanwhile (authors' code)
    average: float = 0.0  # decay of a moving average of the weights, used for evaluation; 0: none
    partial: tuple[str, ...] = ()  # files of JSON Lines in which not every predicate is labeled
    partial_share: tuple[float, ...] = (1.0,)  # share of each of these files used per epoch, in turn
    start: str = ""  # model to start from: small, large or a directory; its settings are the defaults then
    keep_names: bool = True  # start: keep its roles and senses that the training data does not have
    rehearse: str = ""  # start: file of sentences without labels, on which it teaches what it knows
    precision: str = "auto"  # bf16: bfloat16 in encoders (faster) | fp32 | auto: bf16 on GPUs that have it
    seed: int = 1  # determines initial weights, order of the batches and dropout
    save_minutes: float = 5.0  # resumable state is saved this often, and after every epoch

    def __post_init__(self) -> None:
        one_of("training.schedule", self.schedule, ("halve", "linear"))
        one_of("training.precision", self.precision, ("auto", "fp32", "bf16"))
        for name in ("epochs", "batch_size"):
            at_least(f"training.{name}", getattr(self, name), 1)
        for name in ("rate", "embedder_rate", "l2", "clip", "save_minutes", "max_tokens"):
            at_least(f"training.{name}", getattr(self, name), 0)
        in_range("training.seed", self.seed, 0, 2**63 - 1)
        in_range("training.layer_decay", self.layer_decay, 0.01, 1.0)
        in_range("training.average", self.average, 0.0, 0.99999)
        for share in self.partial_shares:
            in_range("training.partial_share", share, 0.001, 1.0)
        for name in ("hold", "warmup"):
            in_range(f"training.{name}", getattr(self, name), 0.0, 1.0)

    @property
    def partial_shares(self) -> tuple[float, ...]:
        """The share of each file in `partial` that an epoch uses; a single share is that of all."""
        n_files = len(self.partial)
        if n_files and len(self.partial_share) not in (1, n_files):
            raise ConfigError(
                f"training.partial_share has {len(self.partial_share)} numbers for {n_files} files in "
                "training.partial; give one for all files, or one for each"
            )
        return self.partial_share if len(self.partial_share) == n_files else self.partial_share * n_files


@dataclass(frozen=True, slots=True)
class Config(ModelConfig):
    """A whole model with its training."""

    distillation: DistillationConfig = field(default_factory=DistillationConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def __post_init__(self) -> None:
        ModelConfig.__post_init__(self)
        if self.training.partial and self.embedder.precomputed:
            raise ConfigError("training.partial needs an encoder; embedder.precomputed has no vectors for it")
        if self.training.rehearse and not (
            self.training.start and self.training.keep_names and self.tasks.any
        ):
            raise ConfigError(
                "training.rehearse needs a model in training.start that finds predicates, "
                "and training.keep_names = true"
            )
        if self.training.rehearse and self.distillation.teachers:
            raise ConfigError(
                "training.rehearse and distillation.teachers cannot be combined; use distillation.raw"
            )
        if self.distillation.raw and not (self.tasks.any and self.distillation.teachers):
            raise ConfigError(
                "distillation.raw needs distillation.teachers and a model that finds predicates "
                "(tasks.predicates and tasks.senses)"
            )


SECTIONS: dict[str, type] = {
    **MODEL_SECTIONS,
    "distillation": DistillationConfig,
    "training": TrainingConfig,
}


# The settings of Appendix C.2 for a mixture of experts; configs/moe.toml has the same.
MIXTURE_DEFAULTS: dict[str, Any] = {
    "training": {"epochs": 20, "batch_size": 8, "rate": 1e-4, "schedule": "linear", "hold": 1.0, "l2": 0.0}
}


def load_config(
    path: Path,
    overrides: Iterable[str] = (),
    fill: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda raw: raw,
) -> Config:
    """The config in a TOML file, with `section.key=value` overrides applied; `fill` adds further settings."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot read the config: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not a TOML file: {error}") from error
    return config_from_dict(fill(with_overrides(raw, overrides)), where=str(path))


def with_overrides(raw: Mapping[str, Any], overrides: Iterable[str]) -> dict[str, Any]:
    """Plain sections with `section.key=value` overrides applied."""
    changed = copy.deepcopy(dict(raw))
    for override in overrides:
        _apply_override(changed, override)
    return changed


def config_from_dict(raw: Mapping[str, Any], *, where: str = "config") -> Config:
    """A config from plain sections; unknown sections and keys are errors."""
    return Config(**read_sections(raw, SECTIONS, where))


def _apply_override(raw: dict[str, Any], override: str) -> None:
    """Set section.key=value in plain sections; the value is written as in TOML, quotes may be left out."""
    name, equals, text = override.partition("=")
    section, _, key = name.strip().partition(".")
    if not equals or not section or not key:
        raise ConfigError(f"--set {override}: expected section.key=value, for example --set training.seed=2")
    if section not in SECTIONS:
        raise ConfigError(
            f"--set {override}: unknown section {section!r}. Choose from: {', '.join(SECTIONS)}"
        )
    types = get_type_hints(SECTIONS[section])
    if key not in types:
        raise ConfigError(f"--set {override}: unknown setting {key!r}; [{section}] has {', '.join(types)}")
    target = raw.setdefault(section, {})
    if isinstance(target, dict):  # any other type is an error in the file, which is reported when it is read
        target[key] = _override_value(text.strip(), types[key])


def _override_value(text: str, kind: type) -> Any:
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return text if kind is str and type(value) is not str else value
