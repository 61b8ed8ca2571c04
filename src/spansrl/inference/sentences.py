"""Texts as sentences, and sentences that are too long in pieces.

A text may arrive in blocks. It is cut where nothing before the cut can affect what follows, so that memory
stays bounded and the sentences are those of the whole text.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from spansrl.errors import DataError, SpansrlWarning
from spansrl.language import MAX_TOKENS, Language
from spansrl.structures import Proposition, Sentence, Span

Warn = Callable[[str], None]

_SAMPLE = 400  # tokens of a text that show its language
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n\s*")
_LONG = 1 << 15  # characters without a blank line after which the text is cut between sentences
_UNSETTLED = 400  # characters at the end of a block that may be read differently once more text follows


def warn_user(message: str) -> None:
    warnings.warn(message, SpansrlWarning, stacklevel=2)


class LanguageCheck:
    """Passes the sentences of texts through; warns once if a text is not in the expected language."""

    def __init__(self, language: Language, warn: Warn = warn_user) -> None:
        self._language = language
        self._warn: Warn | None = warn

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
        if self._warn is not None and not self._language.looks_right(tokens):
            name, start = self._language.name.capitalize(), " ".join(tokens)[:40]
            self._warn(f"this text does not look like {name}, the only language supported: {start!r}")
            self._warn = None


def text_sentences(
    text: str | Iterator[str], language: Language, *, warn: Warn = warn_user
) -> Iterator[Sentence]:
    """The tokenized sentences of a text, or of an iterator of its blocks."""
    if not isinstance(text, (str, Iterator)):
        raise no_text(text)
    rest, start = (text, 0) if isinstance(text, str) else ("", 0)
    for block in () if isinstance(text, str) else text:
        rest += block
        cut = max((match.end() for match in _BLANK_LINE.finditer(rest)), default=0)  # always ends a sentence
        if cut or len(rest) > _LONG:
            cut = cut or _between_sentences(rest, language)
            yield from _sentences_of(rest[:cut], start, language, warn)
            rest, start = rest[cut:], start + cut
    yield from _sentences_of(rest, start, language, warn)


def _sentences_of(text: str, char_start: int, language: Language, warn: Warn) -> Iterator[Sentence]:
    cut = False
    for part in language.split(text):
        cut = cut or part.cut
        yield Sentence(
            tokens=part.words(text),
            text=text[part.start : part.end],
            offsets=tuple((start - part.start, end - part.start) for start, end in part.tokens),
            char_start=char_start + part.start,
        )
    if cut:
        _warn_of_length(MAX_TOKENS, warn)


def _between_sentences(text: str, language: Language) -> int:
    """Return the offset of one of the last sentences, preferably one at the beginning of a line.

    The end of the text is avoided, since it may be read differently once more text follows.
    """
    cut = line = end = 0
    for sent in language.split(text):
        if sent.start > len(text) - _UNSETTLED:
            break
        cut, line = sent.start, sent.start if "\n" in text[end : sent.start] else line
        end = sent.end
    return line or cut or len(text)


def split_long(sent: Sentence, max_tokens: int = MAX_TOKENS) -> list[Sentence]:
    """The sentence itself or, if it is too long, its tokens and predicates in pieces of `max_tokens`."""
    if len(sent) <= max_tokens:
        return [sent]
    _warn_of_length(max_tokens, warn_user)
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


def merge_pieces(sent: Sentence, pieces: Sequence[Sentence]) -> Sentence:
    """A sentence with the propositions of its pieces; given predicates keep their order."""
    props = []
    start = 0
    for piece in pieces:
        props += [shift_tokens(prop, range(start, len(sent))) for prop in piece.props]
        start += len(piece)
    if sent.props:
        by_index = {prop.pred: prop for prop in props}
        props = [by_index[prop.pred] for prop in sent.props]
    return replace(sent, props=tuple(props))


def shift_tokens(prop: Proposition, indices: Sequence[int]) -> Proposition:
    """A proposition whose token k is token indices[k] of something larger."""

    def shift(span: Span) -> Span:
        return Span(indices[span.start], indices[span.end - 1] + 1)

    args = tuple(replace(arg, span=shift(arg.span)) for arg in prop.args)
    verb = None if prop.v is None else tuple(map(shift, prop.v))
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


def _warn_of_length(max_tokens: int, warn: Warn) -> None:
    warn(f"a sentence of more than {max_tokens} tokens was labeled in pieces; no argument crosses them")
