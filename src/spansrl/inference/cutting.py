"""Texts cut into sentences, and sentences that are too long into pieces, which are joined again."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace

from spansrl.errors import DataError, SpansrlWarning
from spansrl.language.tokenizer import MAX_TOKENS, iter_sentences
from spansrl.structures import Proposition, Sentence, Span


def sentences_of(text: str, *, char_start: int = 0) -> Iterator[Sentence]:
    """The sentences of a text, cut into tokens; `char_start` is where the text begins in something larger."""
    if not isinstance(text, str):
        raise _no_text(text)
    cut = False
    for part in iter_sentences(text):
        cut = cut or part.cut
        yield Sentence(
            tokens=part.words(text),
            text=text[part.start : part.end],
            offsets=tuple((start - part.start, end - part.start) for start, end in part.tokens),
            char_start=char_start + part.start,
        )
    if cut:
        _warn_of_length()


def pieces_of(sent: Sentence) -> list[Sentence]:
    """The sentence, or tokens and predicates of one that is too long, in pieces that are short enough."""
    if len(sent) <= MAX_TOKENS:
        return [sent]
    _warn_of_length()
    return [
        Sentence(
            sent.tokens[start : start + MAX_TOKENS],
            tuple(Proposition(p.pred - start) for p in sent.props if start <= p.pred < start + MAX_TOKENS),
        )
        for start in range(0, len(sent), MAX_TOKENS)
    ]


def joined(sent: Sentence, pieces: Sequence[Sentence]) -> Sentence:
    """A sentence with what was found in its pieces; predicates that were given stand in their own order."""
    places = [range(start, len(sent)) for start in range(0, len(sent), MAX_TOKENS)]
    props = [moved(prop, own) for own, piece in zip(places, pieces, strict=True) for prop in piece.props]
    if sent.props:
        by_place = {prop.pred: prop for prop in props}
        props = [by_place[prop.pred] for prop in sent.props]
    return replace(sent, props=tuple(props))


def moved(prop: Proposition, places: Sequence[int]) -> Proposition:
    """A proposition whose token k stands at places[k] of something larger."""

    def move(span: Span) -> Span:
        return Span(places[span.start], places[span.end - 1] + 1)

    args = tuple(replace(arg, span=move(arg.span)) for arg in prop.args)
    verb = None if prop.v is None else tuple(map(move, prop.v))
    return replace(prop, pred=places[prop.pred], args=args, v=verb)


def _no_text(found: object) -> DataError:
    advice = "; for tokens: label([Sentence(tuple(tokens))])" if isinstance(found, (list, tuple)) else ""
    return DataError(f"a text must be a string, found {type(found).__name__}{advice}")


def _warn_of_length() -> None:
    warnings.warn(
        f"a sentence of more than {MAX_TOKENS} tokens was labelled in pieces; no argument crosses them",
        SpansrlWarning,
        stacklevel=2,
    )
