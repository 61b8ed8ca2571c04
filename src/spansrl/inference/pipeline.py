"""Text in, frames out: sentences, tokens, predicates with their senses, arguments with their probabilities.

    >>> import spansrl
    >>> srl = spansrl.load()
    >>> for prop in srl("She kept a cat.").props: print(prop.sense, prop.args)

A `Pipeline` holds a trained model and everything around it. It works on streams: order is kept, memory is
bounded, and a sentence's answer does not depend on what else is labelled with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from spansrl.decoding import Method, Order, SpanScores
from spansrl.errors import ConfigError, DataError
from spansrl.inference.calibration import Calibration
from spansrl.inference.cutting import joined, pieces_of, sentences_of
from spansrl.inference.labeler import decode_scores, in_batches
from spansrl.inference.predicates import Predicates, Wanted
from spansrl.inference.runtime import NO_PREDICATE, Encoding, FrameModel, PredicateScores
from spansrl.language.frames import FrameIndex
from spansrl.language.senses import SenseInventory, multiword_spans
from spansrl.structures import PREDICATE_TYPES, Argument, Document, Proposition, Sentence, Span

# Small enough to stay in the cache: the matrix products of larger batches are slower, not faster.
BATCH_TOKENS = 256  # sentences × tokens that the encoder reads at once
HEAD_TOKENS = 512  # predicates × tokens that are scored at once
_USUAL_LENGTH = 8  # characters of tokens, on average, that are a word piece or two


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
    threads: int = 1  # batches that are labelled at once

    def __call__(self, text: str, *, predicates: Predicates = PREDICATE_TYPES) -> Document:
        """The text with its sentences labelled."""
        return next(self.pipe([text], predicates=predicates))

    def pipe(self, texts: Iterable[str], *, predicates: Predicates = PREDICATE_TYPES) -> Iterator[Document]:
        """Many texts, labelled together: a Document for each, in order."""
        if isinstance(texts, str):
            raise ConfigError("pipe takes many texts, and found one; call the pipeline itself with it")
        if isinstance(predicates, str) and predicates == "given":
            advice = "give types or places of tokens, or Sentences that have them to label()"
            raise ConfigError(f"predicates is 'given', and a text comes with none; {advice}")
        under_way: deque[tuple[str, int]] = deque()  # texts with their number of sentences

        def stream() -> Iterator[Sentence]:
            for text in texts:
                # A text without sentences takes its turn too, or else any number of them could pile up.
                sentences = list(sentences_of(text)) or [Sentence(())]
                under_way.append((text, len(sentences)))
                yield from sentences

        labelled = self.label(stream(), predicates=predicates)
        for first in labelled:
            text, count = under_way.popleft()
            rest = [next(labelled) for _ in range(count - 1)]
            yield Document(text, (first, *rest) if first.tokens else ())

    def label(
        self, sentences: Iterable[Sentence], *, predicates: Predicates = PREDICATE_TYPES
    ) -> Iterator[Sentence]:
        """Sentences that are cut into tokens already, in order; what they came with as labels is replaced.

        With `predicates="given"` each of their predicates is answered by one at its place, in their order, so
        that one that is given twice is answered twice. Sentences of more than 256 tokens are labelled in
        pieces, with a warning.
        """
        if isinstance(sentences, Sentence):
            raise ConfigError("label takes many Sentences, and found one; give a list: label([sentence])")
        wanted = Wanted.of(predicates)
        under_way: deque[tuple[Sentence, int]] = deque()  # sentences with their number of pieces

        def stream() -> Iterator[Sentence]:
            for sent in sentences:
                _check_sentence(sent)
                bare = replace(sent, props=wanted.in_sentence(sent))
                pieces = pieces_of(bare)
                under_way.append((bare, len(pieces)))
                yield from pieces

        labelled = in_batches(
            lambda batch: self._label_batch(batch, wanted),
            stream(),
            rows=_rows,
            max_tokens=BATCH_TOKENS,
            threads=self.threads,
        )
        for first in labelled:
            sent, count = under_way.popleft()
            rest = [next(labelled) for _ in range(count - 1)]
            yield joined(sent, [first, *rest]) if rest else first

    def steps(
        self, sentences: Sequence[Sentence], *, predicates: Predicates = PREDICATE_TYPES
    ) -> Generator[int, None, list[Sentence]]:
        """Label one batch of sentences in steps, for callers with other work to do in between.

        Each step takes a fraction of a second. The generator yields the cost of the rest (predicates ×
        tokens) after each step and returns the labeled sentences, the same as `label` gives.
        """
        wanted = Wanted.of(predicates)
        bare = [replace(sent, props=wanted.in_sentence(sent)) for sent in sentences]
        cut = [pieces_of(sent) for sent in bare]
        labeled = iter((yield from self._steps([piece for pieces in cut for piece in pieces], wanted)))
        found = [[next(labeled) for _ in pieces] for pieces in cut]
        return [
            joined(sent, pieces) if len(pieces) > 1 else pieces[0]
            for sent, pieces in zip(bare, found, strict=True)
        ]

    def _label_batch(self, batch: Sequence[Sentence], wanted: Wanted) -> list[Sentence]:
        return run_to_end(self._steps(batch, wanted))

    def _steps(self, batch: Sequence[Sentence], wanted: Wanted) -> Generator[int, None, list[Sentence]]:
        chosen = [sent for sent in batch if sent.tokens]
        if not chosen:
            return list(batch)
        encoding = self.model.encode([sent.tokens for sent in chosen])
        found = self._find(chosen, encoding, wanted)
        props = iter((yield from self._propositions(chosen, encoding, found)))
        return [replace(sent, props=tuple(next(props))) if sent.tokens else sent for sent in batch]

    def _find(self, batch: Sequence[Sentence], encoding: Encoding, wanted: Wanted) -> list[list[_Found]]:
        """The predicates of each sentence, in the order of their tokens unless they were given."""
        classes = encoding.classes  # (S, T, 1 + types)
        if wanted.given:
            return [
                [
                    _Found(prop.pred, None if classes is None else _best_type(classes[s, prop.pred]))
                    for prop in sent.props
                ]
                for s, sent in enumerate(batch)
            ]
        if classes is None:
            raise ConfigError("this model does not find predicates; give their places")
        prob = predicate_chances(classes)  # (S, T)
        inside = np.arange(prob.shape[1]) < encoding.lengths[:, None]
        chosen = inside & (prob >= self.calibration.threshold)
        shown = self.calibration.predicates(prob)
        found = [
            [
                _Found(pred, _best_type(classes[s, pred]), float(shown[s, pred]))
                for pred in np.flatnonzero(row).tolist()
            ]
            for s, row in enumerate(chosen)
        ]
        return [[item for item in items if item.type in wanted.types] for items in found]

    def _propositions(
        self, batch: Sequence[Sentence], encoding: Encoding, found: list[list[_Found]]
    ) -> Generator[int, None, list[list[Proposition]]]:
        flat = [(s, item) for s, items in enumerate(found) for item in items]
        out: list[list[Proposition]] = [[] for _ in batch]
        width = int(encoding.lengths.max())
        limit = max(1, HEAD_TOKENS // width)
        for k in range(0, len(flat), limit):
            yield (len(flat) - k) * width
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
        if self.calibration.handicap and isinstance(arguments, SpanScores):
            # Null is the span of the predicate alone; nothing else that may be chosen begins there.
            arguments.start[np.arange(len(arguments.pred)), arguments.pred] -= self.calibration.handicap
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


def run_to_end(steps: Generator[object, None, list[Sentence]]) -> list[Sentence]:
    """Run all steps without a break and return their result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return list(end.value)


def predicate_chances(classes: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Scores of tokens (S, T, 1 + types) -> chances of being a predicate (S, T)"""
    weights = np.exp(classes - classes.max(axis=-1, keepdims=True))
    return np.asarray(1 - weights[..., NO_PREDICATE] / weights.sum(axis=-1))


def rule_out(
    scores: SpanScores, roles: Sequence[str], senses: Sequence[str | None], frames: FrameIndex
) -> None:
    """Forbid core roles that a proposition's sense does not have, by scores of −inf, in place."""
    for n, sense in enumerate(senses):
        if sense is not None:
            ruled_out = [k for k, role in enumerate(roles) if frames.rules_out(sense, role)]
            scores.start[n, :, ruled_out] = -np.inf


def _best_type(classes: npt.NDArray[np.float32]) -> str:
    """Scores of a token (1 + types,) -> its type, if it is a predicate"""
    return PREDICATE_TYPES[int(classes[1:].argmax())]


def _check_sentence(sent: object) -> None:
    if not isinstance(sent, Sentence):
        kind = type(sent).__name__
        raise DataError(f"expected Sentences, found a {kind}; make them as Sentence(tuple(tokens))")
    if not isinstance(sent.tokens, (tuple, list)):
        raise DataError(
            "the tokens of a Sentence must be a tuple of strings, "
            f"found a {type(sent.tokens).__name__}; call the pipeline itself with a text"
        )
    if odd := [token for token in sent.tokens if not isinstance(token, str)]:
        raise DataError(f"the tokens of a Sentence must be strings, found {odd[0]!r} among them")


def _verb(sent: Sentence, prop: Proposition, args: Sequence[Argument]) -> tuple[Span, ...] | None:
    """The verb's pieces, unless an argument has taken one of them."""
    pieces = None if prop.sense is None else multiword_spans(sent.tokens, prop.pred, prop.sense)
    if pieces and any(arg.start < piece.end and piece.start < arg.end for arg in args for piece in pieces):
        return None
    return pieces


def _rows(sent: Sentence) -> int:
    """How many ordinary sentences of its length it counts as: long tokens are many word pieces."""
    return max(1, sum(map(len, sent.tokens)) // max(1, len(sent)) - _USUAL_LENGTH)
