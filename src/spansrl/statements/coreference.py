"""Pronouns: what they refer to, by clusters from any coreference tool."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from spansrl.errors import DataError, shortened
from spansrl.language.english import phrases
from spansrl.structures import Argument, Document, Sentence


def with_coreference(doc: Document, clusters: Iterable[Iterable[Any]]) -> Document:
    """The document with `refers_to` of pronouns filled in; see Document.with_coreference."""
    names: dict[tuple[int, int], str] = {}
    for number, cluster in enumerate(clusters):
        mentions = [_offsets(mention, doc.text, number) for mention in cluster]
        texts = [doc.text[start:end] for start, end in mentions]
        name = next((text for text in texts if text.lower() not in phrases.PRONOUNS), None)
        if name is not None:
            names |= {
                mention: name
                for mention, text in zip(mentions, texts, strict=True)
                if text.lower() in phrases.PRONOUNS
            }
    return replace(doc, sentences=tuple(_resolved(sent, names) for sent in doc.sentences))


def _offsets(mention: Any, text: str, number: int) -> tuple[int, int]:
    if hasattr(mention, "start_char"):  # a spaCy span
        mention = (mention.start_char, mention.end_char)
    try:
        start, end = map(int, mention)
    except (TypeError, ValueError):
        found = shortened(repr(mention))
        raise DataError(f"clusters[{number}]: expected a pair of character offsets, found {found}") from None
    if not 0 <= start < end <= len(text):
        raise DataError(
            f"clusters[{number}]: mention {start} to {end} is outside the text of {len(text)} characters; "
            "give half-open offsets into the document's text"
        )
    return start, end


def _resolved(sent: Sentence, names: dict[tuple[int, int], str]) -> Sentence:
    if sent.offsets is None or not sent.props or not names:
        return sent
    base, offsets = sent.char_start or 0, sent.offsets

    def resolved(arg: Argument) -> Argument:
        # The pronoun may follow a preposition: "to her".
        spans = ((offsets[t][0] + base, offsets[arg.end - 1][1] + base) for t in range(arg.start, arg.end))
        name = next((names[span] for span in spans if span in names), None)
        return arg if name is None or not arg.is_pronoun else replace(arg, refers_to=name)

    props = (replace(prop, args=tuple(map(resolved, prop.args))) for prop in sent.props)
    return replace(sent, props=tuple(props))
