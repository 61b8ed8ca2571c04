"""Text in, frames out: sentences, tokens, predicates with their senses, arguments with their probabilities.

    >>> import spansrl
    >>> srl = spansrl.load()
    >>> for prop in srl("She kept a cat.").props: print(prop.sense, prop.args)

A `Pipeline` holds a trained model and everything around it. It works on streams: order is kept, memory is
bounded, and a sentence's labels do not depend on what else is labeled with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt

from spansrl.arrays import IntArray
from spansrl.decoding import Decoder, Order, Scores
from spansrl.errors import ConfigError, DataError, counted
from spansrl.formats import read_sentences
from spansrl.inference.batching import batches_by_length
from spansrl.inference.calibration import Calibration, log_odds
from spansrl.inference.config import OutputConfig
from spansrl.inference.model import NO_PREDICATE, Encoding, Floats, Model, Prepared, Senses, Tokens
from spansrl.inference.predicates import GIVEN, Predicates, Wanted
from spansrl.inference.sentences import (
    LanguageCheck,
    Warn,
    merge_pieces,
    no_text,
    split_long,
    text_sentences,
    warn_user,
)
from spansrl.inventory import PROPBANK, RoleInventory, RoleTable
from spansrl.inventory.particles import multiword_spans
from spansrl.inventory.senses import SenseInventory
from spansrl.language import MAX_TOKENS, English, Language
from spansrl.structures import PREDICATE_TYPES, Argument, Document, Proposition, Sentence, Span

Result = TypeVar("Result")

# Small enough to stay in the cache: a transformer's matrix products are slower in larger batches.
ENCODER_BATCH = 256  # sentences × word pieces that are encoded at once
SCORING_BATCH = 1024  # predicates × tokens that are scored at once
LARGE_BATCH = 8192  # of both, for recurrent networks, which need many rows for each of their steps
WINDOW = 1024  # sentences among which those of similar length are batched


_NOTHING = Prepared((), np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True)
class _Window:
    """Sentences that are labeled together: in pieces, of which those with something to label are batched."""

    wanted: Wanted
    min_prob: float | None
    sentences: list[Sentence]
    pieces: list[list[Sentence]]
    chosen: list[tuple[int, int]] = field(default_factory=list)  # row -> sentence, piece
    prepared: Prepared = _NOTHING
    batches: list[IntArray] = field(default_factory=list)  # rows of each

    def batch(self, rows: IntArray) -> list[Sentence]:
        """The pieces in the given rows."""
        return [self.pieces[s][k] for s, k in (self.chosen[row] for row in rows.tolist())]

    def bound(self, rows: IntArray) -> int:
        """What scoring a batch costs at most: predicates × tokens, when every token may be a predicate."""
        given = self.wanted.given
        return sum(len(sent) * (len(sent.props) if given else len(sent)) for sent in self.batch(rows))

    def put(self, rows: IntArray, props: Sequence[Sequence[Proposition]]) -> None:
        """Store the propositions of a batch."""
        for row, own in zip(rows.tolist(), props, strict=True):
            s, k = self.chosen[row]
            self.pieces[s][k] = replace(self.pieces[s][k], props=tuple(own))

    def labeled(self) -> Iterator[Sentence]:
        """The sentences, with their pieces joined."""
        for sent, pieces in zip(self.sentences, self.pieces, strict=True):
            yield pieces[0] if len(pieces) == 1 else merge_pieces(sent, pieces)


@dataclass(frozen=True, slots=True, repr=False)
class Pipeline:
    """A trained model that labels text; `load` returns one."""

    model: Model
    language: Language = field(default_factory=English)
    senses: SenseInventory | None = None  # those of the training data; None: senses are not labeled
    calibration: Calibration = field(default_factory=Calibration)
    inventory: RoleInventory = PROPBANK
    rule_out_roles: bool = False  # core roles that the predicate's frame does not have
    decoder: Decoder = "greedy"
    order: Order = "prob"
    min_prob: float | None = None  # least probability of an argument; None: the calibration's
    alternatives: bool = False  # add the probabilities of a word's other senses to `extra`
    threads: int = 1  # batches that are labeled at once
    max_tokens: int | None = MAX_TOKENS  # longer sentences are labeled in pieces; None: no limit
    encoder_batch: int = ENCODER_BATCH
    scoring_batch: int = SCORING_BATCH
    first_window: int = (
        WINDOW  # sentences that are labeled before more are read; each window is twice as long
    )

    @classmethod
    def plain(cls, model: Model, output: OutputConfig) -> Pipeline:
        """A pipeline that decodes by a config and adds nothing to what the model computes."""
        decoder, order = cast(Decoder, output.decoder), cast(Order, output.order)
        return cls(
            model,
            decoder=decoder,
            order=order,
            max_tokens=None,
            encoder_batch=LARGE_BATCH,
            scoring_batch=LARGE_BATCH,
        )

    def __repr__(self) -> str:
        senses = 0 if self.senses is None else len(self.senses)
        known = f"{counted(len(self.model.roles), 'role')}, {counted(senses, 'sense')}"
        return f"<Pipeline {known}, {self.decoder} decoder>"

    def __call__(
        self, text: str, *, predicates: Predicates = None, min_prob: float | None = None
    ) -> Document:
        """Label one text.

        `predicates` is None for all types; a type or several ("verb", ["verbs", "nouns"]); or token indices.
        `min_prob` drops arguments that are less probable; the default is the pipeline's, and 0 keeps all.
        """
        if not isinstance(text, str):
            raise no_text(text)
        return next(self.pipe([text], predicates=predicates, min_prob=min_prob))

    @overload
    def pipe(
        self,
        texts: Iterable[str],
        *,
        predicates: Predicates = None,
        min_prob: float | None = None,
        as_tuples: Literal[False] = False,
    ) -> Iterator[Document]: ...
    @overload
    def pipe(
        self,
        texts: Iterable[tuple[str, Any]],
        *,
        predicates: Predicates = None,
        min_prob: float | None = None,
        as_tuples: Literal[True],
    ) -> Iterator[tuple[Document, Any]]: ...
    def pipe(
        self,
        texts: Iterable[Any],
        *,
        predicates: Predicates = None,
        min_prob: float | None = None,
        as_tuples: bool = False,
    ) -> Iterator[Any]:
        """Label many texts: a Document for each, in order.

        With `as_tuples`, `texts` has pairs of a text and anything, which is returned with the Document.
        """
        if isinstance(texts, str):
            raise ConfigError(
                "pipe() expects an iterable of strings, got a str. "
                "To label one text, call the pipeline directly: srl(text)"
            )
        wanted = self._wanted(predicates)
        if wanted.given and wanted.indices is None:
            advice = "use types or token indices, or pass Sentences that have predicates to label()"
            raise ConfigError(f"predicates is '{GIVEN}', but text input has no predicates; {advice}")
        if not as_tuples:
            return self._documents(texts, wanted, self._min_prob(min_prob))
        contexts: deque[Any] = deque()

        def without_contexts() -> Iterator[str]:
            for text, context in texts:
                contexts.append(context)
                yield text

        found = self._documents(without_contexts(), wanted, self._min_prob(min_prob))
        return ((document, contexts.popleft()) for document in found)

    def sentences(self, text: str | Iterator[str], *, warn: Warn = warn_user) -> Iterator[Sentence]:
        """The tokenized sentences of a text, which may arrive in blocks: what every interface labels.

        `warn` is called where a sentence is cut, and where the text is not in the language of the model.
        """
        return LanguageCheck(self.language, warn)(text_sentences(text, self.language, warn=warn))

    def label(
        self, sentences: Iterable[Sentence], *, predicates: Predicates = None, min_prob: float | None = None
    ) -> Iterator[Sentence]:
        """Label tokenized sentences, in order; existing labels in the input are replaced.

        With `predicates="given"` the output has one predicate for each in the input, in the same order.
        Sentences of more than `max_tokens` are labeled in pieces, with a warning.
        """
        if isinstance(sentences, Sentence):  # type: ignore[unreachable]
            raise ConfigError("label() expects an iterable of Sentences, got one; use label([sentence])")
        return self._label_stream(sentences, self._wanted(predicates), self._min_prob(min_prob))

    def evaluate(self, gold: str | Path | Iterable[Sentence]) -> dict[str, Any]:
        """Score this pipeline on gold sentences, as `spansrl evaluate GOLD --model` does.

        Args:
            gold: A file in any format, or sentences, with the right predicates, senses and arguments.

        Returns:
            The figures of a model card, in percent: `arguments` (of gold predicates), `found` (predicates),
            `end_to_end` and `from_text`, each with `precision`, `recall` and `f1`; `senses`; `calibration`;
            `by_role`, `by_type` and `by_genre`.
        """
        from spansrl.evaluation.model_scores import evaluate_model

        return evaluate_model(self, list(read_sentences(gold) if isinstance(gold, str | Path) else gold))

    def _wanted(self, predicates: Predicates) -> Wanted:
        wanted = Wanted.of(predicates)
        if wanted.types and not self.model.finds_predicates:
            raise ConfigError("this model does not find predicates; use predicates='given' or token indices")
        return wanted

    def _min_prob(self, min_prob: float | None) -> float | None:
        if min_prob is None:
            return self.min_prob
        check_min_prob(min_prob)
        return min_prob

    def default_min_prob(self, type: str | None) -> float:
        """The least probability of an argument that is kept unless a call asks for another."""
        return self.calibration.limits_of(type).min_prob if self.min_prob is None else self.min_prob

    def _documents(self, texts: Iterable[str], wanted: Wanted, min_prob: float | None) -> Iterator[Document]:
        pending: deque[tuple[str, int]] = deque()  # texts with their number of sentences
        check = LanguageCheck(self.language)

        def stream() -> Iterator[Sentence]:
            for index, text in enumerate(texts):
                if not isinstance(text, str):
                    raise no_text(text, index)
                # A text without sentences takes its turn too, or any number of them could pile up.
                sentences = list(check(text_sentences(text, self.language))) or [Sentence(())]
                pending.append((text, len(sentences)))
                yield from sentences

        labeled = self._label_stream(stream(), wanted, min_prob)
        for first in labeled:
            text, count = pending.popleft()
            rest = [next(labeled) for _ in range(count - 1)]
            yield Document(text, (first, *rest) if first.tokens else ())

    def steps(
        self, sentences: Sequence[Sentence], *, predicates: Predicates = None, min_prob: float | None = None
    ) -> Generator[int, None, list[Sentence]]:
        """Label a few sentences in steps, for callers with other work to do in between.

        Each step takes a fraction of a second. The generator yields a bound on the cost of the rest
        (predicates × tokens) before each step and returns the labeled sentences, the same as `label` gives.
        """
        window = self._window(sentences, self._wanted(predicates), self._min_prob(min_prob))
        left = sum(map(window.bound, window.batches))
        for rows in window.batches:
            left -= window.bound(rows)
            window.put(rows, (yield from self._batch_steps(window, rows, left)))
        return list(window.labeled())

    def _label_stream(
        self, sentences: Iterable[Sentence], wanted: Wanted, min_prob: float | None
    ) -> Iterator[Sentence]:
        stream, size = iter(sentences), self.first_window
        while chunk := list(islice(stream, size)):
            size = min(2 * size, WINDOW)
            window = self._window(chunk, wanted, min_prob)

            def label(rows: IntArray, window: _Window = window) -> list[list[Proposition]]:
                return run_to_end(self._batch_steps(window, rows))

            for rows, props in zip(window.batches, _map(label, window.batches, self.threads), strict=True):
                window.put(rows, props)
            yield from window.labeled()

    def _window(self, sentences: Iterable[Sentence], wanted: Wanted, min_prob: float | None) -> _Window:
        """Prepare sentences for the encoder, in batches of similar length."""
        bare = [_without_labels(sent, wanted) for sent in sentences]
        pieces = [split_long(sent, self.max_tokens or len(sent)) for sent in bare]
        chosen = [
            (s, k)
            for s, own in enumerate(pieces)
            for k, piece in enumerate(own)
            if piece.tokens and (piece.props or not wanted.given)
        ]
        if not chosen:
            return _Window(wanted, min_prob, bare, pieces)
        prepared = self.model.prepare([pieces[s][k].tokens for s, k in chosen])
        batches = batches_by_length(prepared.costs, limit=self.encoder_batch)
        return _Window(wanted, min_prob, bare, pieces, chosen, prepared, list(map(np.array, batches)))

    def _batch_steps(
        self, window: _Window, rows: IntArray, later: int = 0
    ) -> Generator[int, None, list[list[Proposition]]]:
        """The propositions of a batch; before each step, yields the predicates × tokens left and `later`."""
        batch = window.batch(rows)
        encoding = self.model.encode(window.prepared, rows)
        given, types = window.wanted.given, window.wanted.types
        found = self._given(batch, encoding) if given else self._find(encoding, types)
        flat = [(s, k) for s, props in enumerate(found) for k in range(len(props))]
        lengths = [int(encoding.lengths[s]) for s, _ in flat]
        left = later + sum(lengths)
        for part in batches_by_length(lengths, limit=self.scoring_batch):
            yield left
            left -= sum(lengths[row] for row in part)
            chosen = [flat[row] for row in part]
            items = [(batch[s], found[s][k]) for s, k in chosen]
            sentence = np.array([s for s, _ in chosen], dtype=np.int64)
            pred = np.array([prop.pred for _, prop in items], dtype=np.int64)
            senses = self._senses(items, self.model.score_senses(encoding, sentence, pred))
            scores = self.model.score_arguments(encoding, sentence, pred, [prop.sense for prop in senses])
            for (s, k), prop in zip(
                chosen, self._arguments(items, senses, scores, window.min_prob), strict=True
            ):
                found[s][k] = prop
        return found

    def _given(self, batch: Sequence[Sentence], encoding: Encoding) -> list[list[Proposition]]:
        """The predicates that the sentences have, with their types where the model finds these."""
        classes = encoding.classes  # (S, T, 1 + types)
        if classes is None:
            return [list(sent.props) for sent in batch]
        return [
            [
                replace(prop, type=self._best_type(classes[s, prop.pred], sent.tokens[prop.pred]))
                for prop in sent.props
            ]
            for s, sent in enumerate(batch)
        ]

    def _find(self, encoding: Encoding, types: frozenset[str]) -> list[list[Proposition]]:
        """The predicates of each sentence, in the order of their tokens."""
        classes = encoding.classes  # (S, T, 1 + types)
        if classes is None:  # no types are requested
            return [[] for _ in encoding.sentences]
        limit = float(log_odds(self.calibration.threshold))
        odds = self.predicate_odds(encoding, at_least=limit)  # (S, T)
        shown = self.calibration.predicates(odds)
        found = [
            [
                Proposition(
                    pred,
                    type=self._best_type(classes[s, pred], encoding.sentences[s][pred]),
                    prob=float(shown[s, pred]),
                )
                for pred in np.flatnonzero(row).tolist()
            ]
            for s, row in enumerate(odds >= limit)
        ]
        return [[prop for prop in props if prop.type in types] for props in found]

    def predicate_odds(self, encoding: Encoding, *, at_least: float) -> npt.NDArray[np.float64]:
        """Log-odds of tokens to be predicates (S, T), after the rules; −∞ for those below `at_least`."""
        assert encoding.classes is not None
        odds = predicate_log_odds(encoding.classes)
        inside = np.arange(odds.shape[1]) < encoding.lengths[:, None]
        odds[~inside | (odds < at_least)] = -np.inf
        for s, t in np.argwhere(odds > -np.inf).tolist():
            tokens = encoding.sentences[s]
            type = self._best_type(encoding.classes[s, t], tokens[t])
            odds[s, t] -= self._predicate_penalty(tokens, t, type)
        return odds

    def _best_type(self, classes: Floats, word: str) -> str:
        """Scores of a token (1 + types,) -> its type as a predicate, among those that the word can have."""
        ranked = [PREDICATE_TYPES[k] for k in np.argsort(-classes[1:], kind="stable")]
        return next((type for type in ranked if self.language.can_be_predicate(word, type)), ranked[0])

    def _predicate_penalty(self, tokens: Tokens, pred: int, type: str) -> float:
        """What the rules subtract from the log-odds of a token to be a predicate."""
        word = tokens[pred]
        if not self.language.can_be_predicate(word, type):
            return np.inf
        if type in ("noun", "adjective") and self.senses is not None and len(self.inventory):
            lemma = self.senses.lemma(word, type, self.inventory)
            if not (self.senses.seen(word, type) or self.inventory.rolesets(lemma, type)):
                return np.inf
        may_be_name = type == "noun" and self.language.may_be_name(tokens, pred)
        return self.calibration.proper_noun_penalty if may_be_name else 0.0

    def _senses(
        self, items: Sequence[tuple[Sentence, Proposition]], logits: Floats | None
    ) -> list[Proposition]:
        """The propositions with their senses, given the scores of these (N, V)."""
        if self.senses is None or logits is None:
            return [prop for _, prop in items]
        return [self._sense(sent, prop, own) for (sent, prop), own in zip(items, logits, strict=True)]

    def _arguments(
        self,
        items: Sequence[tuple[Sentence, Proposition]],
        props: Sequence[Proposition],
        arguments: Scores,
        min_prob: float | None,
    ) -> Iterator[Proposition]:
        """The propositions, which have their senses, with their arguments."""
        senses = [prop.sense for prop in props]
        table = role_table(self.model, senses, self.inventory)
        if self.rule_out_roles:
            arguments = arguments.without_roles(ruled_out(table, senses, self.inventory))
        limits = [self.calibration.limits_of(prop.type) for prop in props]
        handicap = np.array([own.handicap for own in limits])  # (N,)
        if handicap.any():
            arguments = arguments.with_handicap(handicap)
        decoded = arguments.decode(table, decoder=self.decoder, order=self.order)
        for (sent, _), prop, own, args in zip(items, props, limits, decoded, strict=True):
            known = (self._argument(prop, arg) for arg in args)
            least = own.min_prob if min_prob is None else min_prob
            shown = tuple(arg for arg in known if arg.prob is None or arg.prob >= least)
            verbnet, framenet, *_ = self.inventory.links(prop.sense)
            verb = _verb(sent, prop, shown)
            yield replace(prop, args=shown, v=verb, verbnet=verbnet, framenet=framenet)

    def _sense(self, sent: Sentence, prop: Proposition, logits: Floats) -> Proposition:
        assert self.senses is not None
        sense, prob = self.senses.choose(sent.tokens, prop.pred, prop.type, logits, self.inventory)
        lemma = self.senses.lemma(sent.tokens[prop.pred], prop.type, self.inventory)
        if sense is None:
            return replace(prop, lemma=lemma, sense=None, sense_prob=None)
        sense_prob = float(self.calibration.senses(self._sense_log_odds(sense, prob, logits)))
        extra = {}
        if self.alternatives:  # they share what the chosen sense leaves
            others = self.senses.others(sent.tokens, prop.pred, prop.type, logits, sense, self.inventory)
            extra["alternatives"] = {name: (1 - sense_prob) * share for name, share in others.items()}
        return replace(prop, lemma=lemma, sense=sense, sense_prob=sense_prob, extra=extra)

    def _sense_log_odds(self, sense: str, prob: float, logits: Floats) -> float:
        """Log-odds of a sense among those that its word can have, and a little of those among all senses.

        Most words can have one sense only; how well it fits among all senses distinguishes these.
        """
        assert self.senses is not None
        found = float(log_odds(prob))
        k = self.senses.index.get(sense)
        if k is None:
            return (1 + self.calibration.global_sense_weight) * found
        others = logits.astype(np.float64)
        others[k] = -np.inf
        return found + self.calibration.global_sense_weight * float(logits[k] - _log_sum(others, axis=-1))

    def _argument(self, prop: Proposition, arg: Argument) -> Argument:
        prob = None if arg.prob is None else float(self.calibration.arguments(log_odds(arg.prob)))
        if prop.sense is None:
            return replace(arg, prob=prob, meaning=None)
        known = (prop.sense, arg.role)
        return replace(
            arg,
            prob=prob,
            meaning=self.inventory.meaning(*known),
            thematic=self.inventory.thematic(*known),
            function=self.inventory.function(*known),
        )


def _map(
    label: Callable[[IntArray], list[list[Proposition]]], batches: Sequence[IntArray], threads: int
) -> Iterator[list[list[Proposition]]]:
    if threads == 1 or len(batches) == 1:
        yield from map(label, batches)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(label, batches)


def run_to_end(steps: Generator[object, None, list[Result]]) -> list[Result]:
    """Run all steps without a break and return their result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return list(end.value)


def predicate_log_odds(classes: Floats) -> npt.NDArray[np.float64]:
    """Scores of tokens (S, T, 1 + types) -> log-odds of being a predicate (S, T)"""
    scores = classes.astype(np.float64)
    return np.asarray(_log_sum(scores[..., NO_PREDICATE + 1 :], axis=-1) - scores[..., NO_PREDICATE])


def _log_sum(scores: npt.NDArray[np.float64], axis: int) -> npt.NDArray[np.float64]:
    peak = scores.max(axis=axis, keepdims=True, initial=-1e30)
    return np.asarray(np.log(np.exp(scores - peak).sum(axis=axis) + 1e-300) + peak.squeeze(axis))


def role_table(model: Model, senses: Senses, inventory: RoleInventory) -> RoleTable:
    """The roles of the columns of the scores of predicates with these senses."""
    names = [model.roles_of(sense) for sense in senses]
    distinct = list({id(own): own for own in [model.roles, *names]}.values())
    lists = [list(map(inventory.role, own)) for own in distinct]
    index = {id(own): k for k, own in enumerate(distinct)}
    return RoleTable(*lists, which=None if len(lists) == 1 else [index[id(own)] for own in names])


def ruled_out(table: RoleTable, senses: Senses, inventory: RoleInventory) -> npt.NDArray[np.bool_]:
    """(N, R): the roles that each proposition's sense does not have."""
    rows = {sense: table.of(n) for n, sense in enumerate(senses)}
    known = {
        sense: [sense is not None and inventory.rules_out(sense, role.name) for role in roles]
        for sense, roles in rows.items()
    }
    found = np.zeros((len(senses), max(map(len, table.lists))), dtype=bool)
    for row, sense in zip(found, senses, strict=True):
        row[: len(known[sense])] = known[sense]
    return found


def check_min_prob(min_prob: object) -> None:
    """Raise ConfigError unless it is a probability."""
    if isinstance(min_prob, bool) or not isinstance(min_prob, (int, float)) or not 0 <= min_prob <= 1:
        raise ConfigError(f"min_prob is {min_prob!r}; expected a probability from 0 to 1")


def _without_labels(sent: Sentence, wanted: Wanted) -> Sentence:
    """The sentence with its given predicates and no other labels."""
    if not isinstance(sent, Sentence):
        kind = type(sent).__name__  # type: ignore[unreachable]
        raise DataError(f"expected a Sentence, got a {kind}; make one with Sentence(tokens)")
    return replace(sent, props=wanted.in_sentence(sent))


def _verb(sent: Sentence, prop: Proposition, args: Sequence[Argument]) -> tuple[Span, ...] | None:
    """The verb's pieces, unless an argument has taken one of them."""
    pieces = None if prop.sense is None else multiword_spans(sent.tokens, prop.pred, prop.sense)
    if pieces and any(arg.start < piece.end and piece.start < arg.end for arg in args for piece in pieces):
        return None
    return pieces
