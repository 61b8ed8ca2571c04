"""Sentences as pictures: SVG, HTML, and text for a terminal.

Every picture shows the words and under them one row per proposition: the predicate with its sense, and its
arguments as labeled bars below their words. No picture needs a script, a font or another host.

    >>> from spansrl import Sentence
    >>> sent = Sentence.from_dict({"tokens": ["It", "rained"], "props": [{"pred": 1, "sense": "rain.01"}]})
    >>> print(sentence_text(sent, width=40))
    It rained
       ╚════╝
       rain.01
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from spansrl.visualize.terminal import sentence_text

if TYPE_CHECKING:
    from spansrl.visualize.html import STYLE as STYLE
    from spansrl.visualize.html import document_html as document_html
    from spansrl.visualize.html import fragment_html as fragment_html
    from spansrl.visualize.html import sentence_html as sentence_html
    from spansrl.visualize.svg import sentence_svg as sentence_svg

__all__ = [
    "STYLE",
    "Frames",
    "document_html",
    "fragment_html",
    "sentence_html",
    "sentence_svg",
    "sentence_text",
]


def __getattr__(name: str) -> Any:
    """Import HTML and SVG on first use; a drawing for the terminal needs neither."""
    if name not in __all__:
        raise AttributeError(f"module 'spansrl.visualize' has no attribute {name!r}")
    module = "svg" if name == "sentence_svg" else "html"
    return getattr(import_module(f"spansrl.visualize.{module}"), name)
