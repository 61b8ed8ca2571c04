"""The official score as counts that can be added, over arguments, propositions, sentences and files.

    >>> total = score(gold, predicted)
    >>> total.overall.f1, total.roles["A0"].recall, total.label_accuracy

The semantics are those of srl-eval.pl (CoNLL-2005 shared task), described in docs/scoring.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

from spansrl.errors import DataError, counted
from spansrl.evaluation.scorable import Arg, ScoredSentence, frames_of
from spansrl.structures import Sentence
from spansrl.tags import VERB

Match = Literal["index", "lemma"]
Scorable = Sentence | ScoredSentence
NONE = "-NONE-"  # the missing side of a confusion
_NOWHERE = ScoredSentence(0, {})


@dataclass(frozen=True, slots=True)
class Counts:
    """Arguments found, wrongly added and not found; percentages of nothing are 0."""

    correct: int = 0
    excess: int = 0
    missed: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.correct + other.correct, self.excess + other.excess, self.missed + other.missed)

    @property
    def gold(self) -> int:
        return self.correct + self.missed

    @property
    def precision(self) -> float:
        return percent(self.correct, self.correct + self.excess)

    @property
    def recall(self) -> float:
        return percent(self.correct, self.gold)

    @property
    def f1(self) -> float:
        return harmonic_mean(self.precision, self.recall)

    def to_dict(self) -> dict[str, float]:
        return {**asdict(self), "precision": self.precision, "recall": self.recall, "f1": self.f1}


@dataclass(frozen=True, slots=True)
class Score:
    """Everything that the official scorer counts.

    `roles` holds every role seen on either side, V too; `confusion` counts (gold role, predicted role) of
    arguments with equal boundaries, with `NONE` for a side that has no argument there. Scores can be added.
    """

    sentences: int = 0
    propositions: int = 0
    perfect: int = 0
    roles: Mapping[str, Counts] = field(default_factory=dict)
    confusion: Mapping[tuple[str, str], int] = field(default_factory=dict)

    def __add__(self, other: Score) -> Score:
        roles = dict(self.roles)
        for role, counts in other.roles.items():
            roles[role] = roles.get(role, Counts()) + counts
        return Score(
            self.sentences + other.sentences,
            self.propositions + other.propositions,
            self.perfect + other.perfect,
            roles,
            Counter(self.confusion) + Counter(other.confusion),
        )

    def __radd__(self, other: Literal[0]) -> Score:
        return self  # sum() starts at 0

    @property
    def overall(self) -> Counts:
        """All arguments but V, which is the figure that papers report."""
        return sum((counts for role, counts in self.roles.items() if role != VERB), Counts())

    @property
    def verb(self) -> Counts:
        return self.roles.get(VERB, Counts())

    @property
    def perfect_percent(self) -> float:
        return percent(self.perfect, self.propositions)

    @property
    def unlabeled(self) -> Counts:
        """The overall counts when only boundaries matter."""
        correct = excess = missed = 0
        for (gold, predicted), n in self.confusion.items():
            if VERB in (gold, predicted):
                continue
            if gold == NONE:
                excess += n
            elif predicted == NONE:
                missed += n
            else:
                correct += n
        return Counts(correct, excess, missed)

    @property
    def label_accuracy(self) -> float:
        """Percentage of the arguments with correct boundaries that have the correct role as well."""
        agreed = sum(n for (gold, predicted), n in self.confusion.items() if gold == predicted != VERB)
        return percent(agreed, self.unlabeled.correct)

    def to_dict(self) -> dict[str, Any]:
        confusion: dict[str, dict[str, int]] = {}
        for (gold, predicted), n in sorted(self.confusion.items()):
            confusion.setdefault(gold, {})[predicted] = n
        return {
            "sentences": self.sentences,
            "propositions": self.propositions,
            "perfect": self.perfect,
            "perfect_percent": self.perfect_percent,
            "overall": self.overall.to_dict(),
            "verb": self.verb.to_dict(),
            "roles": {role: self.roles[role].to_dict() for role in sorted(self.roles) if role != VERB},
            "unlabeled": self.unlabeled.to_dict(),
            "label_accuracy": self.label_accuracy,
            "confusion": confusion,
        }


@dataclass(frozen=True, slots=True)
class EndToEnd:
    """Scores in both directions, for predicted predicates: the official scorer ignores those not in gold.

    Recall is that of gold against predicted, precision the *recall* of predicted against gold (He+ 2018).
    """

    forward: Score
    backward: Score

    @property
    def precision(self) -> float:
        """Percentage of all predicted arguments, including those of wrong predicates, that are correct."""
        return self.backward.overall.recall

    @property
    def recall(self) -> float:
        """Percentage of all gold arguments that were found."""
        return self.forward.overall.recall

    @property
    def f1(self) -> float:
        return harmonic_mean(self.precision, self.recall)

    def __add__(self, other: EndToEnd) -> EndToEnd:
        return EndToEnd(self.forward + other.forward, self.backward + other.backward)

    def to_dict(self) -> dict[str, Any]:
        return {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "gold_against_predicted": self.forward.to_dict(),
            "predicted_against_gold": self.backward.to_dict(),
        }


class Pairing(NamedTuple):
    """Gold and predicted arguments of one proposition: matching pairs, and the rest of either side."""

    matched: list[tuple[Arg, Arg]]
    excess: list[Arg]
    missed: list[Arg]


def score(gold: Iterable[Scorable], predicted: Iterable[Scorable], *, match: Match = "index") -> Score:
    """Score predicted sentences against gold ones, which must have the same order and lengths.

    With ``match="lemma"`` a predicate whose lemma differs from gold's counts as not predicted, as in props
    files; by default only the predicate's index counts. Both sides are read in step and not kept.
    """
    tally = _Tally()
    for gold_frames, (predicted_frames,) in aligned(gold, predicted):
        tally.add(gold_frames, predicted_frames, match)
    return tally.score()


def end_to_end(
    gold: Iterable[Scorable], predicted: Iterable[Scorable], *, match: Match = "index"
) -> EndToEnd:
    """Score in both directions in one pass; predicted must not have more sentences than gold."""
    forward, backward = _Tally(), _Tally()
    for gold_frames, (predicted_frames,) in aligned(gold, predicted, same_count=True):
        forward.add(gold_frames, predicted_frames, match)
        backward.add(predicted_frames, gold_frames, match)
    return EndToEnd(forward.score(), backward.score())


def aligned(
    gold: Iterable[Scorable], *systems: Iterable[Scorable], same_count: bool = False
) -> Iterator[tuple[ScoredSentence, list[ScoredSentence]]]:
    """Yield each gold sentence with that of every system; raise DataError where they do not match.

    Sentences after the end of gold are ignored, as in the official scorer, unless `same_count`.
    """
    streams = [map(_as_frames, system) for system in systems]
    found: list[ScoredSentence] = []
    number = 0
    for number, frames in enumerate(map(_as_frames, gold), start=1):
        before = found or [_NOWHERE] * len(streams)
        found = [
            _counterpart(frames, next(stream, None), number, last)
            for stream, last in zip(streams, before, strict=True)
        ]
        yield frames, found
    for surplus in (next(stream, None) for stream in streams if same_count):
        if surplus is not None:
            raise DataError(
                f"gold ends after {counted(number, 'sentence')}, but predicted continues{_at(surplus)}; "
                "end-to-end scores need the same sentences on both sides"
            )


def propositions(
    gold: ScoredSentence, predicted: ScoredSentence, match: Match
) -> Iterator[tuple[int, list[Arg], list[Arg]]]:
    """Yield each gold predicate with its gold and predicted arguments; unmatched predicates have none."""
    for pred, (args, lemma) in gold.by_pred.items():
        found = predicted.by_pred.get(pred)
        if found is None or (match == "lemma" and found.lemma != lemma):
            yield pred, args, []
        else:
            yield pred, args, found.args


def pair(gold: Sequence[Arg], predicted: Sequence[Arg], *, same_role: bool = True) -> Pairing:
    """Pair arguments of equal extent, and equal role if `same_role`, as the official scorer does.

    Gold is looked up by (start, end): of two gold arguments that share both only the last exists. Each is
    matched once; a predicted one that finds no partner is excess, even if another has the same extent.
    Pieces are compared as sets, but a predicted argument in which one appears twice matches nothing.
    """
    open_gold = {(arg.start, arg.end): arg for arg in gold}
    matched, excess = [], []
    for arg in predicted:
        extent = (arg.start, arg.end)
        partner = open_gold.get(extent)
        if partner is None or (same_role and partner.role != arg.role) or not _same_shape(partner, arg):
            excess.append(arg)
        else:
            matched.append((partner, arg))
            del open_gold[extent]
    return Pairing(matched, excess, list(open_gold.values()))


def _same_shape(gold: Arg, predicted: Arg) -> bool:
    pieces = set(predicted.shape)
    return len(pieces) == len(predicted.shape) and pieces == set(gold.shape)


def percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def harmonic_mean(precision: float, recall: float) -> float:
    """Return F1, computed as in the official scorer, so that ties round the same way."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


class _Tally:
    """Mutable counters per role, which are cheap to add to."""

    def __init__(self) -> None:
        self.sentences = self.propositions = self.perfect = 0
        self.correct: Counter[str] = Counter()
        self.excess: Counter[str] = Counter()
        self.missed: Counter[str] = Counter()
        self.confusion: Counter[tuple[str, str]] = Counter()

    def add(self, gold: ScoredSentence, predicted: ScoredSentence, match: Match) -> None:
        self.sentences += 1
        for _, gold_args, predicted_args in propositions(gold, predicted, match):
            self.propositions += 1
            labeled = pair(gold_args, predicted_args)
            self.perfect += all(arg.role == VERB for arg in (*labeled.excess, *labeled.missed))
            self.correct.update(arg.role for arg, _ in labeled.matched)
            self.excess.update(arg.role for arg in labeled.excess)
            self.missed.update(arg.role for arg in labeled.missed)
            boundaries = pair(gold_args, predicted_args, same_role=False)
            self.confusion.update((arg.role, other.role) for arg, other in boundaries.matched)
            self.confusion.update((NONE, arg.role) for arg in boundaries.excess)
            self.confusion.update((arg.role, NONE) for arg in boundaries.missed)

    def score(self) -> Score:
        seen = sorted(self.correct.keys() | self.excess.keys() | self.missed.keys())
        roles = {role: Counts(self.correct[role], self.excess[role], self.missed[role]) for role in seen}
        return Score(self.sentences, self.propositions, self.perfect, roles, dict(self.confusion))


def _counterpart(
    gold: ScoredSentence, found: ScoredSentence | None, number: int, last: ScoredSentence
) -> ScoredSentence:
    """Return a system's sentence if it matches gold's; `last` is the system's previous sentence."""
    if found is None:
        raise DataError(
            f"predicted ends after {counted(number - 1, 'sentence')}{_at(last)}, "
            f"but gold continues{_at(gold)}; predict every sentence of gold"
        )
    if found.size != gold.size:
        raise DataError(
            f"sentence {number} has {counted(gold.size, 'token')} in gold{_at(gold)} "
            f"and {found.size} in predicted{_at(found)}; both must hold the same sentences in the same order"
        )
    return found


def _as_frames(sent: Scorable) -> ScoredSentence:
    return frames_of(sent) if isinstance(sent, Sentence) else sent


def _at(frames: ScoredSentence) -> str:
    return f" ({frames.where})" if frames.where else ""
