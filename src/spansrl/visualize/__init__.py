"""Sentences as pictures: HTML, SVG, and brackets for a terminal.

Every picture shows the words and under them one row a proposition: the predicate with its sense, and its
arguments as labelled bars below their words. Nothing here needs a script, a font or another host.

    >>> from spansrl import Sentence
    >>> sent = Sentence.from_dict({"tokens": ["It", "rained"], "props": [{"pred": 1, "sense": "rain.01"}]})
    >>> print(sentence_text(sent, width=40))
    It rained
       ╚rain.01╝
"""

from spansrl.visualize.html import STYLE, document_html, fragment_html, sentence_html
from spansrl.visualize.marks import Frames
from spansrl.visualize.svg import sentence_svg
from spansrl.visualize.terminal import sentence_text

__all__ = [
    "STYLE",
    "Frames",
    "document_html",
    "fragment_html",
    "sentence_html",
    "sentence_svg",
    "sentence_text",
]
