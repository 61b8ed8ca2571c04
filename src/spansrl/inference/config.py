"""The settings that describe a model: one dataclass per section of config.json and of training configs.

The defaults are the paper's (Table 8 and Appendix C), except that word vectors are trained: SENNA and ELMo
are not shipped. An unknown key, a value of the wrong type and settings
that do not fit together are errors that name the setting. The comments here are the tables in
docs/training.md. The settings of training are in `spansrl.training.run_config`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, get_args, get_origin, get_type_hints

from spansrl.decoding import DECODERS, ORDERS, SCORES
from spansrl.errors import ConfigError

LARGEST = 20_000  # of sizes and counts; larger ones are mistakes that would end in an allocation


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
    dropout: float = 0.0  # on the token vectors (the paper: 0.5 for ELMo), that of the first LSTM included
    inner_dropout: float = 0.1  # transformer: inside its layers while it is fine-tuned
    case: bool = False  # transformer, fine-tuned: learn how tokens are written (lower, title, upper case)

    def __post_init__(self) -> None:
        one_of("embedder.kind", self.kind, ("words", "vectors", "elmo", "transformer"))
        one_of("embedder.pooling", self.pooling, ("mean", "first"))
        in_range("embedder.dropout", self.dropout, 0.0, 0.95)
        in_range("embedder.inner_dropout", self.inner_dropout, 0.0, 0.95)
        in_range("embedder.width", self.width, 1, LARGEST)
        at_least("embedder.min_count", self.min_count, 1)
        if self.kind in ("vectors", "transformer") and not self.path:
            raise ConfigError(f"embedder.kind = {self.kind!r} needs embedder.path, here or by --set")
        if self.kind == "elmo" and not (self.path or self.precomputed):
            raise ConfigError("embedder.kind = 'elmo' needs embedder.path or embedder.precomputed")
        if self.finetune and self.kind != "transformer":
            raise ConfigError(f"embedder.finetune is for transformers; embedder.kind is {self.kind!r}")
        if self.case and not self.finetune:
            raise ConfigError("embedder.case is for fine-tuned transformers; set embedder.finetune = true")


@dataclass(frozen=True, slots=True)
class EncoderConfig:
    """The layers between token vectors and scores, and how they get the predicate."""

    kind: str = "bilstm"  # bilstm (the paper) | highway (He et al. 2017) | attention (Tan et al. 2018) | none
    predicate: str = "input"  # input: marked at the input, one pass per predicate | after: one per sentence
    layers: int = 4  # LSTMs, odd ones left to right, even ones right to left; or layers of self-attention
    width: int = 300  # hidden units; after: width of the head too
    mark_width: int = 50  # input: size of the predicate mark's vector
    dropout: float = 0.1  # on the input of every LSTM, and inside the head of `after`
    dropout_at: str = "input"  # bilstm: every LSTM's input (the paper) | hidden: outputs (authors' code)
    forget_bias: float = 0.0  # bilstm: initial bias of forget gates (the paper: 0; authors' code: 1)
    max_distance: int = 32  # after: distances to the predicate beyond this share a vector
    attention_layers: int = 0  # after: self-attention layers of the head
    top_layers: int = 0  # after: layers of a fine-tuned transformer that become the head, run per predicate
    attention_heads: int = 4  # attention, after: heads of each layer of self-attention

    def __post_init__(self) -> None:
        one_of("encoder.kind", self.kind, ("bilstm", "highway", "attention", "none"))
        one_of("encoder.predicate", self.predicate, ("input", "after"))
        in_range("encoder.dropout", self.dropout, 0.0, 0.95)
        one_of("encoder.dropout_at", self.dropout_at, ("input", "hidden"))
        in_range("encoder.forget_bias", self.forget_bias, -10.0, 10.0)
        for name in ("layers", "width", "mark_width", "max_distance", "attention_heads"):
            in_range(f"encoder.{name}", getattr(self, name), 1, LARGEST)
        in_range("encoder.attention_layers", self.attention_layers, 0, LARGEST)
        at_least("encoder.top_layers", self.top_layers, 0)
        if self.top_layers and (self.predicate, self.kind, self.attention_layers) != ("after", "none", 0):
            raise ConfigError(
                "encoder.top_layers are the whole head: set encoder.predicate = 'after', "
                "encoder.kind = 'none' and encoder.attention_layers = 0"
            )
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

    kind: str = "span"  # span (the paper) | segmental | label (per span) | crf, softmax (BIO tags)
    span_end: str = "last"  # a span's end is read at its last token (the paper) or the next (authors' code)
    transitions: str = "free"  # crf: free (the authors' code) | bio (I-X only after B-X or I-X)
    decoder: str = "greedy"  # greedy | argmax | exact | constrained (C- and R- need their base) | marginals
    order: str = "prob"  # greedy: sort by log P (Eq. 2) or by the raw score F (the authors' code)

    def __post_init__(self) -> None:
        one_of("output.kind", self.kind, tuple(SCORES))
        one_of("output.span_end", self.span_end, ("last", "next"))
        one_of("output.transitions", self.transitions, ("free", "bio"))
        one_of("output.decoder", self.decoder, DECODERS)
        one_of("output.order", self.order, ORDERS)


@dataclass(frozen=True, slots=True)
class TasksConfig:
    """What is learned besides the arguments: what labeling plain text needs, and syntax."""

    predicates: bool = False  # which tokens are predicates, and of which type
    senses: bool = False  # the predicates' senses; always together with predicates
    syntax: float = 0.0  # weight of UD heads and relations (in train.jsonl) in the loss; not exported

    def __post_init__(self) -> None:
        in_range("tasks.syntax", self.syntax, 0.0, 100.0)
        if self.predicates != self.senses:
            raise ConfigError("tasks.predicates and tasks.senses are learned together; set both or neither")

    @property
    def any(self) -> bool:
        """Whether there is anything besides the arguments."""
        return self.predicates or self.senses


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """A model, without its training."""

    embedder: EmbedderConfig = field(default_factory=EmbedderConfig)
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    output: OutputConfig = field(default_factory=OutputConfig)
    tasks: TasksConfig = field(default_factory=TasksConfig)

    def __post_init__(self) -> None:
        if self.encoder.top_layers and not self.embedder.finetune:
            raise ConfigError(
                "encoder.top_layers need a fine-tuned transformer; set embedder.finetune = true"
            )
        if self.tasks.any and self.encoder.predicate != "after":
            raise ConfigError(
                "tasks.predicates and tasks.senses need one pass per sentence: encoder.predicate = 'after'"
            )

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Plain sections of plain values, as in the TOML file."""
        return asdict(self)


MODEL_SECTIONS: dict[str, type] = {
    "embedder": EmbedderConfig,
    "encoder": EncoderConfig,
    "output": OutputConfig,
    "tasks": TasksConfig,
}


def model_config(raw: Mapping[str, Any], *, where: str = "config") -> ModelConfig:
    """The model sections of a model directory's config; how it was trained does not matter."""
    model = {name: values for name, values in raw.items() if name not in ("distillation", "training")}
    return ModelConfig(**read_sections(model, MODEL_SECTIONS, where))


def read_sections(raw: Mapping[str, Any], kinds: Mapping[str, type], where: str) -> dict[str, Any]:
    """Sections of settings; unknown sections and keys are errors."""
    sections = {}
    for name, values in raw.items():
        if name not in kinds:
            raise ConfigError(f"{where}: unknown section [{name}]. Choose from: {', '.join(kinds)}")
        if not isinstance(values, Mapping):
            raise ConfigError(f"{where}: {name!r} must be a section [{name}], not a single value")
        sections[name] = _section(kinds[name], name, values, where)
    return sections


def _section(kind: type, name: str, values: Mapping[str, Any], where: str) -> Any:
    types = get_type_hints(kind)
    checked = {}
    for key, value in values.items():
        if key not in types:
            raise ConfigError(f"{where}: unknown setting {name}.{key}; [{name}] has {', '.join(types)}")
        checked[key] = _typed(f"{name}.{key}", value, types[key])
    return kind(**checked)


_IN_WORDS = {
    int: "a whole number",
    float: "a number",
    str: "a string",
    bool: "true or false",
    tuple[str, ...]: "a list of strings",
    tuple[float, ...]: "a list of numbers",
}


def _typed(name: str, value: Any, kind: type) -> Any:
    if get_origin(kind) is tuple:
        return _items(name, value, kind)
    if kind is float and type(value) is int:
        with contextlib.suppress(OverflowError):
            value = float(value)
    if type(value) is not kind or (isinstance(value, float) and not math.isfinite(value)):
        raise ConfigError(f"{name} must be {_IN_WORDS[kind]}, found {value!r}")
    return value


def _items(name: str, value: Any, kind: Any) -> tuple[Any, ...]:
    """The items of a list; a single one, and items separated by commas in a string, are lists too."""
    item = get_args(kind)[0]
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
        with contextlib.suppress(ValueError):
            value = list(map(item, value))
    elif not isinstance(value, list | tuple):
        value = [value]
    try:
        return tuple(_typed(name, part, item) for part in value)
    except ConfigError as error:
        raise ConfigError(f"{name} must be {_IN_WORDS[kind]}, found {value!r}") from error


def one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigError(f"{name} must be one of {', '.join(choices)}; found {value!r}")


def in_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ConfigError(f"{name} must lie between {low} and {high}; found {value}")


def at_least(name: str, value: float, low: float) -> None:
    if not value >= low:
        raise ConfigError(f"{name} must be at least {low}; found {value}")
