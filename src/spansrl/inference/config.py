"""Settings of a model and its training: one dataclass a concern, read strictly from TOML.

The defaults are the paper's (Table 8 and Appendix C): a config file only says what differs. An unknown key, a
value of the wrong type and settings that do not fit together are errors that name the setting as it is typed.
The comments here are the table of settings in docs/training.md.

    config = load_config(Path("configs/ewt-minilm-span.toml"), ["training.seed=2", "output.kind=crf"])
"""

from __future__ import annotations

import contextlib
import copy
import math
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

from spansrl.decoding import DECODERS, ORDERS, SCORES
from spansrl.errors import ConfigError


@dataclass(frozen=True, slots=True)
class EmbedderConfig:
    """Where token vectors come from."""

    kind: str = "words"  # words (trained from scratch) | vectors (text file, frozen) | elmo | transformer
    path: str = ""  # vectors: a file; transformer: a directory; elmo: one with options.json and weights.hdf5
    width: int = 50  # words: size of a vector
    min_count: int = 2  # words: rarer training words share the unknown vector
    words_path: str = ""  # vectors: SENNA's word list, where words and numbers are two files
    precomputed: str = ""  # elmo: directory with train.hdf5, dev.hdf5, … keyed by sentence index
    finetune: bool = False  # transformer: train it too, instead of mixing its frozen layers
    pooling: str = "mean"  # transformer: a token is the mean of its word pieces, or the first of them
    dropout: float = 0.0  # on the token vectors (the paper: 0.5 for ELMo)

    def __post_init__(self) -> None:
        _one_of("embedder.kind", self.kind, ("words", "vectors", "elmo", "transformer"))
        _one_of("embedder.pooling", self.pooling, ("mean", "first"))
        _in_range("embedder.dropout", self.dropout, 0.0, 0.95)
        _at_least("embedder.width", self.width, 1)
        _at_least("embedder.min_count", self.min_count, 1)
        if self.kind in ("vectors", "transformer") and not self.path:
            raise ConfigError(f"embedder.kind = {self.kind!r} needs embedder.path, here or by --set")
        if self.kind == "elmo" and not (self.path or self.precomputed):
            raise ConfigError("embedder.kind = 'elmo' needs embedder.path or embedder.precomputed")
        if self.finetune and self.kind != "transformer":
            raise ConfigError(f"embedder.finetune is for transformers; embedder.kind is {self.kind!r}")


@dataclass(frozen=True, slots=True)
class EncoderConfig:
    """What stands between token vectors and scores, and how it learns which predicate is meant."""

    kind: str = "bilstm"  # bilstm (the paper) | highway (He et al. 2017) | attention (Tan et al. 2018) | none
    predicate: str = "input"  # input: marked at the input, one pass per predicate | after: one per sentence
    layers: int = 4  # LSTMs, odd ones left to right, even ones right to left; or layers of self-attention
    width: int = 300  # hidden units; after: width of the head too
    mark_width: int = 50  # input: size of the predicate mark's vector
    dropout: float = 0.1  # on the input of every LSTM, and inside the head of `after`
    max_distance: int = 32  # after: distances to the predicate beyond this share a vector
    attention_layers: int = 0  # after: self-attention layers of the head, once it knows the predicate
    attention_heads: int = 4  # attention, after: heads of each layer of self-attention

    def __post_init__(self) -> None:
        _one_of("encoder.kind", self.kind, ("bilstm", "highway", "attention", "none"))
        _one_of("encoder.predicate", self.predicate, ("input", "after"))
        _in_range("encoder.dropout", self.dropout, 0.0, 0.95)
        for name in ("layers", "width", "mark_width", "max_distance", "attention_heads"):
            _at_least(f"encoder.{name}", getattr(self, name), 1)
        _at_least("encoder.attention_layers", self.attention_layers, 0)
        if self.attention_layers and self.predicate == "input":
            raise ConfigError("encoder.attention_layers belong to encoder.predicate = 'after'; set it to 0")
        attends = self.attention_layers or self.kind == "attention"
        if self.kind == "attention" and self.width % 2:
            raise ConfigError(f"encoder.width is {self.width}; encoder.kind = 'attention' needs an even one")
        if attends and self.width % self.attention_heads:
            raise ConfigError(
                f"encoder.width is {self.width}; it must be a multiple of "
                f"encoder.attention_heads = {self.attention_heads}"
            )
        if self.kind == "none" and self.predicate == "input":
            raise ConfigError(
                "encoder.kind = 'none' has no input to mark the predicate at; set encoder.predicate = 'after'"
            )


@dataclass(frozen=True, slots=True)
class OutputConfig:
    """What is predicted and how it is decoded."""

    kind: str = (
        "span"  # span (the paper) | segmental | label (per span) | crf (BIO tags) | softmax (BIO tags)
    )
    span_end: str = "last"  # a span's end is read at its last token (the paper) or the next (authors' code)
    transitions: str = "free"  # crf: free (the authors' code) | bio (I-X only after B-X or I-X)
    decoder: str = (
        "greedy"  # greedy | argmax | exact | constrained (with C- and R- roles linked to their base)
    )
    order: str = "prob"  # greedy: sort by log P (Eq. 2) or by the raw score F (the authors' code)

    def __post_init__(self) -> None:
        _one_of("output.kind", self.kind, tuple(SCORES))
        _one_of("output.span_end", self.span_end, ("last", "next"))
        _one_of("output.transitions", self.transitions, ("free", "bio"))
        _one_of("output.decoder", self.decoder, DECODERS)
        _one_of("output.order", self.order, ORDERS)


@dataclass(frozen=True, slots=True)
class TasksConfig:
    """What is learnt beside the arguments, so that plain text can be labelled."""

    predicates: bool = False  # which tokens are predicates, and of which type
    senses: bool = False  # the predicates' senses; always together with predicates

    def __post_init__(self) -> None:
        if self.predicates != self.senses:
            raise ConfigError("tasks.predicates and tasks.senses are learnt together; set both or neither")

    @property
    def any(self) -> bool:
        """Whether there is anything besides the arguments."""
        return self.predicates or self.senses


@dataclass(frozen=True, slots=True)
class DistillationConfig:
    """Learning the arguments from other models too, by their whole distributions over spans."""

    teachers: str = ""  # model directories with the same output, separated by commas; twice counts twice
    weight: float = 0.5  # share of the teachers in the loss of the arguments, gold having the rest

    def __post_init__(self) -> None:
        _in_range("distillation.weight", self.weight, 0.0, 1.0)

    @property
    def directories(self) -> list[Path]:
        """The teachers' directories."""
        return [Path(name.strip()).expanduser() for name in self.teachers.split(",") if name.strip()]


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """How the parameters are found."""

    epochs: int = 100  # times that the training data is gone through
    batch_size: int = 32  # propositions; sentences with encoder.predicate = "after"
    rate: float = 1e-3  # Adam's learning rate
    embedder_rate: float = 0.0  # of a fine-tuned transformer; 0: the same as rate
    schedule: str = "halve"  # halve: every 25 epochs after 50 (the paper) | linear: constant, then down to 0
    hold: float = 0.5  # linear: share of the steps before the rate falls
    warmup: float = 0.0  # share of the steps in which the rate rises from 0
    l2: float = 1e-4  # λ of λ/2·‖θ‖², coupled as in Adam (not AdamW)
    clip: float = 0.0  # largest norm of the gradient; 0: no limit
    max_tokens: int = 0  # training leaves out longer sentences; 0: no limit
    layer_decay: float = 1.0  # rate of each transformer layer relative to the layer above it
    average: float = 0.0  # decay of a moving average of the weights, used for evaluation; 0: none
    partial: str = ""  # files of JSON Lines, separated by commas, in which not every predicate is labeled
    partial_share: str = "1"  # share of each of these files used per epoch, in turn, separated by commas
    start: str = ""  # model to start from: small, or a model directory; its settings are the defaults then
    seed: int = 1  # decides initial weights, order of the batches and dropout
    save_minutes: float = 5.0  # resumable state is saved this often, and after every epoch

    def __post_init__(self) -> None:
        _one_of("training.schedule", self.schedule, ("halve", "linear"))
        for name in ("epochs", "batch_size"):
            _at_least(f"training.{name}", getattr(self, name), 1)
        for name in ("rate", "embedder_rate", "l2", "clip", "save_minutes", "max_tokens"):
            _at_least(f"training.{name}", getattr(self, name), 0)
        _in_range("training.seed", self.seed, 0, 2**63 - 1)
        _in_range("training.layer_decay", self.layer_decay, 0.01, 1.0)
        _in_range("training.average", self.average, 0.0, 0.99999)
        for share in self.partial_shares:
            _in_range("training.partial_share", share, 0.001, 1.0)
        for name in ("hold", "warmup"):
            _in_range(f"training.{name}", getattr(self, name), 0.0, 1.0)

    @property
    def partial_files(self) -> list[Path]:
        """The files of partially labeled sentences."""
        return [Path(name.strip()).expanduser() for name in self.partial.split(",") if name.strip()]

    @property
    def partial_shares(self) -> tuple[float, ...]:
        """The share of each of these files that an epoch uses; a single share is that of all."""
        try:
            shares = tuple(float(part) for part in self.partial_share.split(","))
        except ValueError as error:
            raise ConfigError(
                f"training.partial_share must be numbers separated by commas; found {self.partial_share!r}"
            ) from error
        n_files = len(self.partial_files)
        if not n_files:
            return ()
        if len(shares) not in (1, n_files):
            raise ConfigError(
                f"training.partial_share has {len(shares)} numbers for {n_files} files in training.partial; "
                "give one for all files, or one for each"
            )
        return shares if len(shares) == n_files else shares * n_files


@dataclass(frozen=True, slots=True)
class Config:
    """A whole model with its training."""

    embedder: EmbedderConfig = field(default_factory=EmbedderConfig)
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    output: OutputConfig = field(default_factory=OutputConfig)
    tasks: TasksConfig = field(default_factory=TasksConfig)
    distillation: DistillationConfig = field(default_factory=DistillationConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def __post_init__(self) -> None:
        if self.training.partial and self.embedder.precomputed:
            raise ConfigError("training.partial needs an encoder; embedder.precomputed has no vectors for it")
        if self.tasks.any and self.encoder.predicate != "after":
            raise ConfigError(
                "tasks.predicates and tasks.senses need one pass a sentence: encoder.predicate = 'after'"
            )

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Plain sections of plain values, as in the TOML file."""
        return asdict(self)


SECTIONS: dict[str, type] = {
    "embedder": EmbedderConfig,
    "encoder": EncoderConfig,
    "output": OutputConfig,
    "tasks": TasksConfig,
    "distillation": DistillationConfig,
    "training": TrainingConfig,
}


# A mixture of experts trains by Appendix C.2; configs/moe.toml says the same.
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
    sections = {}
    for name, values in raw.items():
        if name not in SECTIONS:
            raise ConfigError(f"{where}: unknown section [{name}]; there are {', '.join(SECTIONS)}")
        if not isinstance(values, Mapping):
            raise ConfigError(f"{where}: {name!r} must be a section [{name}], not a single value")
        sections[name] = _section(SECTIONS[name], name, values, where)
    return Config(**sections)


def _section(kind: type, name: str, values: Mapping[str, Any], where: str) -> Any:
    types = get_type_hints(kind)
    checked = {}
    for key, value in values.items():
        if key not in types:
            raise ConfigError(f"{where}: unknown setting {name}.{key}; [{name}] has {', '.join(types)}")
        checked[key] = _typed(f"{name}.{key}", value, types[key])
    return kind(**checked)


_IN_WORDS = {int: "a whole number", float: "a number", str: "a string", bool: "true or false"}


def _typed(name: str, value: Any, kind: type) -> Any:
    if kind is float and type(value) is int:
        with contextlib.suppress(OverflowError):
            value = float(value)
    if type(value) is not kind or (isinstance(value, float) and not math.isfinite(value)):
        raise ConfigError(f"{name} must be {_IN_WORDS[kind]}, found {value!r}")
    return value


def _apply_override(raw: dict[str, Any], override: str) -> None:
    """Set section.key=value in plain sections; the value is written as in TOML, quotes may be left out."""
    name, equals, text = override.partition("=")
    section, _, key = name.strip().partition(".")
    if not equals or not section or not key:
        raise ConfigError(f"--set {override}: expected section.key=value, for example --set training.seed=2")
    if section not in SECTIONS:
        raise ConfigError(f"--set {override}: unknown section {section!r}; there are {', '.join(SECTIONS)}")
    types = get_type_hints(SECTIONS[section])
    if key not in types:
        raise ConfigError(f"--set {override}: unknown setting {key!r}; [{section}] has {', '.join(types)}")
    target = raw.setdefault(section, {})
    if isinstance(target, dict):  # anything else is an error of the file, and reported as one
        target[key] = _override_value(text.strip(), types[key])


def _override_value(text: str, kind: type) -> Any:
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return text if kind is str and type(value) is not str else value


def _one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigError(f"{name} must be one of {', '.join(choices)}; found {value!r}")


def _in_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ConfigError(f"{name} must lie between {low} and {high}; found {value}")


def _at_least(name: str, value: float, low: float) -> None:
    if not value >= low:
        raise ConfigError(f"{name} must be at least {low}; found {value}")
