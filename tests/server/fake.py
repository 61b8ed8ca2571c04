"""A pipeline that needs no model: words in -ed are verbs, ARG0 is what is before them, ARG1 the rest.

"up" at the end belongs to the verb.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace

from spansrl.errors import DataError
from spansrl.language.tokenizer import split
from spansrl.structures import PREDICATE_TYPES, Argument, Document, Proposition, Sentence, Span


class FakePipeline:
    """Has what the server asks of a pipeline.

    `calls` has the texts and sentences of each call. While `may_go` is cleared, calls wait. A text with
    "poison" is more than the pipeline can take; one with "wrong" is refused.
    """

    frames = None

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.predicates: list[object] = []
        self.may_go = threading.Event()
        self.may_go.set()

    def pipe(self, texts: Iterable[str], *, predicates: object = PREDICATE_TYPES) -> Iterator[Document]:
        """The texts labelled, in order."""
        for text in self._called(list(texts), predicates):
            yield Document(text, tuple(labelled(sent, predicates) for sent in sentences_of(text)))

    def label(
        self, sentences: Iterable[Sentence], *, predicates: object = PREDICATE_TYPES
    ) -> Iterator[Sentence]:
        """The sentences labelled, in order."""
        sentences = list(sentences)
        self._called([" ".join(sent.tokens) for sent in sentences], predicates)
        return (labelled(sent, predicates) for sent in sentences)

    def _called(self, texts: list[str], predicates: object) -> list[str]:
        self.calls.append(texts)
        self.predicates.append(predicates)
        assert self.may_go.wait(30)
        for text in texts:
            if "poison" in text:
                raise ZeroDivisionError("poisoned")
            if "wrong" in text:
                raise DataError(f"cannot label {text!r}")
        return texts


def sentences_of(text: str) -> Iterator[Sentence]:
    """The sentences of a text, tokenised as the real pipeline does it."""
    for sent in split(text):
        offsets = tuple((start - sent.start, end - sent.start) for start, end in sent.tokens)
        own = text[sent.start : sent.end]
        yield Sentence(sent.words(text), text=own, offsets=offsets, char_start=sent.start)


def labelled(sent: Sentence, predicates: object) -> Sentence:
    """The sentence with a proposition for each word in -ed, or for those that are given."""
    if predicates == "given":
        places = [prop.pred for prop in sent.props]
    else:
        assert isinstance(predicates, tuple)
        places = [k for k, word in enumerate(sent.tokens) if word.endswith("ed") and "verb" in predicates]
    return replace(sent, props=tuple(proposition(sent, place) for place in places))


def proposition(sent: Sentence, place: int) -> Proposition:
    """A verb with all that is before and after it."""
    end = len(sent) - 1 if sent.tokens[-1] == "up" else len(sent)
    verb = None if end == len(sent) else (Span(place, place + 1), Span(end, end + 1))
    spans = {"ARG0": Span(0, place), "ARG1": Span(place + 1, end)}
    args = tuple(Argument(role, span, 0.5) for role, span in spans.items() if span.start < span.end)
    lemma = sent.tokens[place].removesuffix("ed")
    return Proposition(place, args, lemma, f"{lemma}.01", verb, type="verb", prob=0.75)
