"""PropBank semantic role labelling by span selection (Ouchi, Shindo and Matsumoto 2018)."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from spansrl.structures import Argument, Document, Proposition, Sentence, Span

if TYPE_CHECKING:
    from spansrl.inference.loading import load as load
    from spansrl.inference.pipeline import Pipeline as Pipeline

__version__ = "0.1.0"

__all__ = ["Argument", "Document", "Pipeline", "Proposition", "Sentence", "Span", "__version__", "load"]

_LATE = {
    "load": "spansrl.inference.loading",
    "Pipeline": "spansrl.inference.pipeline",
}  # imported when first asked for


def __getattr__(name: str) -> Any:
    """Names that need NumPy are found late, so that importing spansrl stays quick and light."""
    if name not in _LATE:
        raise AttributeError(f"module 'spansrl' has no attribute {name!r}")
    return getattr(import_module(_LATE[name]), name)
