"""Texts cut into sentences, and sentences that are too long cut into pieces and joined again."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from spansrl.errors import DataError, SpansrlWarning
from spansrl.language.english.detection import looks_english
from spansrl.language.english.tokenizer import MAX_TOKENS, iter_sentences
from spansrl.structures import Proposition, Sentence, Span

_SAMPLE = 400  # tokens of a text that show its language


def sentences_of(text: str, *, char_start: int = 0) -> Iterator[Sentence]:
    """The tokenized sentences of a text; `char_start` is the offset of the text in something larger."""
    if not isinstance(text, str):
        raise no_text(text)
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
        _warn_of_length(MAX_TOKENS)


class LanguageCheck:
    """Passes the sentences of texts through; warns once if a text does not look like English."""

    def __init__(self) -> None:
        self._has_warned = False

    def __call__(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        tokens: list[str] = []
        for sent in sentences:
            if len(tokens) < _SAMPLE:
                tokens += sent.tokens
                if len(tokens) >= _SAMPLE:  # a long text does not end soon
                    self._check(tokens)
            yield sent
        if len(tokens) < _SAMPLE:
            self._check(tokens)

    def _check(self, tokens: list[str]) -> None:
        if not self._has_warned and not looks_english(tokens):
            self._has_warned = True
            start = " ".join(tokens)[:40]
            warnings.warn(
                f"this text does not look like English, the only language supported: {start!r}",
                SpansrlWarning,
                stacklevel=2,
            )


def pieces_of(sent: Sentence, max_tokens: int = MAX_TOKENS) -> list[Sentence]:
    """The sentence itself or, if it is too long, its tokens and predicates in pieces of `max_tokens`."""
    if len(sent) <= max_tokens:
        return [sent]
    _warn_of_length(max_tokens)
    return [
        Sentence(
            sent.tokens[start : start + max_tokens],
            tuple(
                replace(prop, pred=prop.pred - start)
                for prop in sent.props
                if start <= prop.pred < start + max_tokens
            ),
        )
        for start in range(0, len(sent), max_tokens)
    ]


def joined(sent: Sentence, pieces: Sequence[Sentence]) -> Sentence:
    """A sentence with the propositions of its pieces; given predicates keep their order."""
    props = []
    start = 0
    for piece in pieces:
        props += [moved(prop, range(start, len(sent))) for prop in piece.props]
        start += len(piece)
    if sent.props:
        by_index = {prop.pred: prop for prop in props}
        props = [by_index[prop.pred] for prop in sent.props]
    return replace(sent, props=tuple(props))


def moved(prop: Proposition, indices: Sequence[int]) -> Proposition:
    """A proposition whose token k is token indices[k] of something larger."""

    def move(span: Span) -> Span:
        return Span(indices[span.start], indices[span.end - 1] + 1)

    args = tuple(replace(arg, span=move(arg.span)) for arg in prop.args)
    verb = None if prop.v is None else tuple(map(move, prop.v))
    return replace(prop, pred=indices[prop.pred], args=args, v=verb)


def no_text(found: object, index: int | None = None) -> DataError:
    """The error for what is not a text; `index` is its index among several."""
    advice = ""
    what = "text" if index is None else f"texts[{index}]"
    if index is not None and str(found) in ("None", "nan", "<NA>"):
        advice = "; drop or fill missing values first"
    elif isinstance(found, (list, tuple)):
        advice = "; to label tokens: srl.label([Sentence(tokens)])"
    elif isinstance(found, Sentence):
        advice = "; to label sentences: srl.label([sentence])"
    return DataError(f"{what} must be a string, got {type(found).__name__}{advice}")


def _warn_of_length(max_tokens: int) -> None:
    warnings.warn(
        f"a sentence of more than {max_tokens} tokens was labeled in pieces; no argument crosses them",
        SpansrlWarning,
        stacklevel=2,
    )
