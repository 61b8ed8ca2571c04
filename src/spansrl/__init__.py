"""PropBank semantic role labelling by span selection (Ouchi, Shindo and Matsumoto 2018)."""

from spansrl.structures import Argument, Document, Proposition, Sentence, Span

__version__ = "0.1.0"

__all__ = ["Argument", "Document", "Proposition", "Sentence", "Span", "__version__"]
