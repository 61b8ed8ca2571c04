"""Labelings of the same text by characters, whatever their sentences and tokens are.

A predicate is identified by its first character, an argument by its role and its first and last character.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby

from spansrl.evaluation.frames import Frame, Frames, join_pieces
from spansrl.structures import Argument, Document, Proposition, Sentence, Span
from spansrl.tags import phrases_of


def has_text(sent: Sentence) -> bool:
    """Whether the sentence has its text and the offsets of its tokens."""
    return sent.text is not None and sent.offsets is not None


def documents_of(sentences: Iterable[Sentence]) -> Iterator[Document]:
    """The documents of sentences that follow each other; their texts are joined by spaces."""
    for name, group in groupby(sentences, key=lambda sent: (sent.id or "").rpartition("#")[0]):
        placed: list[Sentence] = []
        offset = 0
        for sent in group:
            placed.append(replace(sent, char_start=offset))
            offset += len(sent.text or "") + 1
        yield Document(" ".join(sent.text or "" for sent in placed), tuple(placed), id=name)


def frames_by_characters(doc: Document) -> Frames:
    """A document's frames as those of one long sentence whose tokens are its characters."""
    props = (_in_characters(sent, prop) for sent in doc for prop in sent.props)
    by_pred = {prop.pred: Frame(join_pieces(phrases_of(prop)), prop.lemma) for prop in props}
    return Frames(len(doc.text), by_pred, doc.id or "")


def _in_characters(sent: Sentence, prop: Proposition) -> Proposition:
    base, offsets = sent.char_start or 0, sent.offsets or ()
    args = tuple(
        Argument(arg.role, Span(base + offsets[arg.start][0], base + offsets[arg.end - 1][1]))
        for arg in prop.args
    )
    return Proposition(base + offsets[prop.pred][0], args, lemma=prop.lemma)
