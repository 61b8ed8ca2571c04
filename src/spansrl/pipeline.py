"""Text in, frames out: sentences, tokens, predicates with their senses, arguments with their probabilities.

    >>> import spansrl
    >>> srl = spansrl.load()
    >>> for prop in srl("She kept a cat.").props: print(prop.sense, prop.args)

A `Pipeline` holds a trained model and everything around it. It works on streams: order is kept, memory is
bounded, and a sentence's answer does not depend on what else is labelled with it.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from spansrl.calibration import Calibration
from spansrl.decode import Method, Order, SpanScores
from spansrl.errors import ConfigError, DataError, SpansrlWarning
from spansrl.frames import FrameIndex
from spansrl.labeler import decode_scores, in_batches
from spansrl.ragged import IntArray
from spansrl.runtime import NO_PREDICATE, Encoding, FrameModel, PredicateScores
from spansrl.senses import SenseInventory, multiword_spans
from spansrl.structures import PREDICATE_TYPES, Argument, Document, Proposition, Sentence, Span
from spansrl.tokenize import MAX_TOKENS, iter_sentences

# Types of predicates to look for, places of predicates in every sentence, or those that the sentences have.
Predicates = Collection[str] | Collection[int] | Literal["given"]

BATCH_TOKENS = 2048  # sentences × tokens that the encoder reads at once
HEAD_TOKENS = 4096  # predicates × tokens that are scored at once


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Which predicates are to be labelled."""

    types: frozenset[str] = frozenset()
    places: tuple[int, ...] | None = None
    given: bool = False

    @classmethod
    def of(cls, predicates: Predicates) -> _Wanted:
        if predicates == "given":
            return cls(given=True)
        if isinstance(predicates, str):
            raise ConfigError(f"predicates is {predicates!r}; give a list of types, of indices, or 'given'")
        items = list(predicates)
        places = [item for item in items if isinstance(item, int) and not isinstance(item, bool)]
        if items and len(places) == len(items):
            return cls(places=tuple(sorted(set(places))))
        if unknown := [item for item in items if item not in PREDICATE_TYPES]:
            types = ", ".join(PREDICATE_TYPES)
            raise ConfigError(f"{unknown[0]!r} is no type of predicate; there are {types}")
        return cls(types=frozenset(map(str, items)))


@dataclass(frozen=True, slots=True)
class _Found:
    """A predicate before its arguments are known."""

    pred: int
    type: str | None = None
    prob: float | None = None


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A trained model that labels text; made by `load`."""

    model: FrameModel
    inventory: SenseInventory | None = None
    calibration: Calibration = field(default_factory=Calibration)
    frames: FrameIndex | None = None
    rule_out_roles: bool = False  # core roles that the predicate's frame does not have
    method: Method = "greedy"
    order: Order = "prob"

    def __call__(self, text: str, *, predicates: Predicates = PREDICATE_TYPES) -> Document:
        """The text with its sentences labelled."""
        return next(self.pipe([text], predicates=predicates))

    def pipe(self, texts: Iterable[str], *, predicates: Predicates = PREDICATE_TYPES) -> Iterator[Document]:
        """Many texts, labelled together: a Document for each, in order."""
        waiting: deque[tuple[str, int]] = deque()  # texts under way, with their number of sentences

        def stream() -> Iterator[Sentence]:
            for text in texts:
                sentences = list(sentences_of(text))
                waiting.append((text, len(sentences)))
                yield from sentences

        done: list[Sentence] = []
        for sent in self.label(stream(), predicates=predicates):
            yield from _empty_documents(waiting)
            done.append(sent)
            if len(done) == waiting[0][1]:
                yield Document(waiting.popleft()[0], tuple(done))
                done = []
        yield from _empty_documents(waiting)

    def label(
        self, sentences: Iterable[Sentence], *, predicates: Predicates = PREDICATE_TYPES
    ) -> Iterator[Sentence]:
        """Sentences that are cut into tokens already, in order; what they came with as labels is replaced.

        With `predicates="given"` the places of their predicates are kept. Sentences of more than 256 tokens
        are labelled in pieces, with a warning.
        """
        wanted = _Wanted.of(predicates)
        pieces: deque[int] = deque()

        def stream() -> Iterator[Sentence]:
            for sent in sentences:
                parts = _parts(sent)
                pieces.append(len(parts))
                yield from parts

        labelled = in_batches(
            lambda batch: self._label_batch(batch, wanted), stream(), max_tokens=BATCH_TOKENS
        )
        for sent in labelled:
            rest = [next(labelled) for _ in range(pieces.popleft() - 1)]
            yield _joined([sent, *rest]) if rest else sent

    def _label_batch(self, batch: Sequence[Sentence], wanted: _Wanted) -> list[Sentence]:
        rows = [k for k, sent in enumerate(batch) if sent.tokens]
        out = [replace(sent, props=()) for sent in batch]
        if not rows:
            return out
        chosen = [batch[k] for k in rows]
        encoding = self.model.encode([sent.tokens for sent in chosen])
        found = self._find(chosen, encoding, wanted)
        props = self._propositions(chosen, encoding, found)
        for k, own in zip(rows, props, strict=True):
            out[k] = replace(batch[k], props=tuple(own))
        return out

    def _find(self, batch: Sequence[Sentence], encoding: Encoding, wanted: _Wanted) -> list[list[_Found]]:
        """The predicates of each sentence, in the order of their tokens unless they were given."""
        chances = None if encoding.classes is None else _softmax(encoding.classes)  # (S, T, 1 + types)
        if wanted.given:
            return [
                [_Found(prop.pred, _best_type(chances, s, prop.pred)) for prop in sent.props]
                for s, sent in enumerate(batch)
            ]
        if wanted.places is not None:
            _check_places(batch, wanted.places)
            return [[_Found(p, _best_type(chances, s, p)) for p in wanted.places] for s in range(len(batch))]
        if chances is None:
            raise ConfigError("this model does not find predicates; give them, with predicates='given'")
        return self._found_by_model(chances, encoding.lengths, wanted.types)

    def _found_by_model(
        self, chances: npt.NDArray[np.float32], lengths: IntArray, types: frozenset[str]
    ) -> list[list[_Found]]:
        prob = 1 - chances[..., NO_PREDICATE]  # (S, T)
        best = chances[..., 1:].argmax(axis=2)  # (S, T)
        wanted = np.array([type in types for type in PREDICATE_TYPES])
        inside = np.arange(prob.shape[1]) < lengths[:, None]
        chosen = inside & (prob >= self.calibration.threshold) & wanted[best]
        shown = self.calibration.predicates(prob)
        return [
            [
                _Found(pred, PREDICATE_TYPES[best[s, pred]], float(shown[s, pred]))
                for pred in np.flatnonzero(chosen[s]).tolist()
            ]
            for s in range(len(prob))
        ]

    def _propositions(
        self, batch: Sequence[Sentence], encoding: Encoding, found: list[list[_Found]]
    ) -> list[list[Proposition]]:
        flat = [(s, item) for s, items in enumerate(found) for item in items]
        out: list[list[Proposition]] = [[] for _ in batch]
        limit = max(1, HEAD_TOKENS // int(encoding.lengths.max()))
        for k in range(0, len(flat), limit):
            part = flat[k : k + limit]
            sentence = np.array([s for s, _ in part], dtype=np.int64)
            pred = np.array([item.pred for _, item in part], dtype=np.int64)
            scores = self.model.score_predicates(encoding, sentence, pred)
            named = [
                self._sense(batch[s], item, None if scores.senses is None else scores.senses[n])
                for n, (s, item) in enumerate(part)
            ]
            for (s, _), prop in zip(part, self._with_arguments(batch, part, named, scores), strict=True):
                out[s].append(prop)
        return out

    def _sense(self, sent: Sentence, item: _Found, logits: npt.NDArray[np.float32] | None) -> Proposition:
        prop = Proposition(item.pred, type=item.type, prob=item.prob)
        if self.inventory is None or logits is None:
            return prop
        word = sent.tokens[item.pred]
        sense, prob = self.inventory.choose(word, item.type, logits, self.frames)
        return replace(
            prop,
            lemma=self.inventory.lemmatizer.lemma(word, item.type),
            sense=sense,
            sense_prob=float(self.calibration.senses(prob)),
        )

    def _with_arguments(
        self,
        batch: Sequence[Sentence],
        part: Sequence[tuple[int, _Found]],
        props: Sequence[Proposition],
        scores: PredicateScores,
    ) -> Iterator[Proposition]:
        arguments = scores.arguments
        if self.rule_out_roles and self.frames is not None and isinstance(arguments, SpanScores):
            rule_out(arguments, self.model.roles, [prop.sense for prop in props], self.frames)
        decoded = decode_scores(arguments, self.model.roles, method=self.method, order=self.order)
        for (s, _), prop, args in zip(part, props, decoded, strict=True):
            known = tuple(self._argument(prop, arg) for arg in args)
            yield replace(prop, args=known, v=_verb(batch[s], prop, known))

    def _argument(self, prop: Proposition, arg: Argument) -> Argument:
        prob = None if arg.prob is None else float(self.calibration.arguments(arg.prob))
        meaning = None
        if self.frames is not None and prop.sense is not None:
            meaning = self.frames.meaning(prop.sense, arg.role)
        return replace(arg, prob=prob, meaning=meaning)


def sentences_of(text: str, *, char_start: int = 0) -> Iterator[Sentence]:
    """The sentences of a text, cut into tokens; `char_start` is where the text begins in something larger."""
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


def predicate_chances(classes: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Scores of tokens (S, T, 1 + types) -> chances of being a predicate (S, T)"""
    return np.asarray(1 - _softmax(classes)[..., NO_PREDICATE])


def rule_out(
    scores: SpanScores, roles: Sequence[str], senses: Sequence[str | None], frames: FrameIndex
) -> None:
    """Forbid core roles that a proposition's sense does not have, by scores of −inf, in place."""
    for n, sense in enumerate(senses):
        if sense is not None:
            ruled_out = [k for k, role in enumerate(roles) if frames.rules_out(sense, role)]
            scores.start[n, :, ruled_out] = -np.inf


def _check_places(batch: Sequence[Sentence], places: Sequence[int]) -> None:
    for sent in batch:
        if outside := [place for place in places if not 0 <= place < len(sent)]:
            words = " ".join(sent.tokens)[:40]
            raise DataError(
                f"no token {outside[0]} in the sentence {words!r}, which has {len(sent)}; count from 0"
            )


def _best_type(chances: npt.NDArray[np.float32] | None, s: int, pred: int) -> str | None:
    return None if chances is None else PREDICATE_TYPES[int(chances[s, pred, 1:].argmax())]


def _softmax(x: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _verb(sent: Sentence, prop: Proposition, args: Sequence[Argument]) -> tuple[Span, ...] | None:
    """The verb's pieces, unless an argument has taken one of them."""
    pieces = None if prop.sense is None else multiword_spans(sent.tokens, prop.pred, prop.sense)
    if pieces and any(arg.start < piece.end and piece.start < arg.end for arg in args for piece in pieces):
        return None
    return pieces


def _empty_documents(waiting: deque[tuple[str, int]]) -> Iterator[Document]:
    while waiting and waiting[0][1] == 0:
        yield Document(waiting.popleft()[0])


def _parts(sent: Sentence) -> list[Sentence]:
    """A sentence of too many tokens in pieces that are short enough."""
    if len(sent) <= MAX_TOKENS:
        return [sent]
    _warn_of_length()
    cuts = range(0, len(sent), MAX_TOKENS)
    return [
        replace(sent, **_slice(sent, k, min(k + MAX_TOKENS, len(sent))))  # type: ignore[arg-type]
        for k in cuts
    ]


def _slice(sent: Sentence, start: int, end: int) -> dict[str, object]:
    own = [replace(prop, pred=prop.pred - start) for prop in sent.props if start <= prop.pred < end]
    bare = tuple(Proposition(prop.pred, lemma=prop.lemma) for prop in own)
    return {"tokens": sent.tokens[start:end], "props": bare}


def _joined(parts: Sequence[Sentence]) -> Sentence:
    """The pieces of a sentence put together again."""
    props: list[Proposition] = []
    tokens: list[str] = []
    for part in parts:
        props.extend(_moved(prop, len(tokens)) for prop in part.props)
        tokens.extend(part.tokens)
    return replace(parts[0], tokens=tuple(tokens), props=tuple(props))


def _moved(prop: Proposition, by: int) -> Proposition:
    def move(span: Span) -> Span:
        return Span(span.start + by, span.end + by)

    args = tuple(replace(arg, span=move(arg.span)) for arg in prop.args)
    verb = None if prop.v is None else tuple(map(move, prop.v))
    return replace(prop, pred=prop.pred + by, args=args, v=verb)


def _warn_of_length() -> None:
    warnings.warn(
        f"a sentence of more than {MAX_TOKENS} tokens was labelled in pieces; no argument crosses them",
        SpansrlWarning,
        stacklevel=2,
    )
