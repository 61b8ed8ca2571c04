"""PropBank semantic role labeling by span selection (Ouchi, Shindo and Matsumoto 2018)."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from spansrl.errors import (
    ConfigError,
    DataError,
    FormatError,
    MissingExtraError,
    ModelError,
    SpansrlError,
    SpansrlWarning,
)
from spansrl.structures import Argument, Document, Proposition, Sentence, Span

if TYPE_CHECKING:
    from spansrl.evaluation.scored_files import evaluate as evaluate
    from spansrl.inference.loading import load as load
    from spansrl.inference.pipeline import Pipeline as Pipeline
    from spansrl.training import train as train

__version__ = "0.1.0"

__all__ = [
    "Argument",
    "ConfigError",
    "DataError",
    "Document",
    "FormatError",
    "MissingExtraError",
    "ModelError",
    "Pipeline",
    "Proposition",
    "Sentence",
    "Span",
    "SpansrlError",
    "SpansrlWarning",
    "__version__",
    "evaluate",
    "load",
    "train",
]

# Imported on first use, because they need NumPy and ONNX Runtime.
_LATE = {
    "Pipeline": "spansrl.inference.pipeline",
    "evaluate": "spansrl.evaluation.scored_files",
    "load": "spansrl.inference.loading",
    "train": "spansrl.training",
}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module 'spansrl' has no attribute {name!r}")
    return getattr(import_module(_LATE[name]), name)


def __dir__() -> list[str]:
    return __all__
