"""The senses of a training set, and the choice of one for a predicate by a model's scores.

A sense is a PropBank roleset: `keep.01`, the light verb `make.LV`, or `move_on.08` of a verb with particles.
`experiments/sense_scores.py` prints the accuracy of each way to choose one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from spansrl.arrays import Vocabulary
from spansrl.errors import ModelError
from spansrl.inventory.particles import adjacent_particle, are_near, nearby_particles, particles, widest_gap
from spansrl.inventory.roles import RoleInventory
from spansrl.language.english.lemmas import AUXILIARY_SENSES, Lemmatizer, plain_form, predicate_type
from spansrl.language.english.lemmas.derivation import american_spellings, likely_stem, relatives
from spansrl.structures import Sentence

Logits = npt.NDArray[np.floating[Any]]

# key (a lemma or a form) -> type of the predicate ('' if unknown) -> id of a sense -> how often it was seen
Counts = dict[str, dict[str, dict[int, int]]]

_FIRST_SENSE = ".01"
_PARTICLE_BONUS = 2.0  # added to the logit of a sense whose particle is right after the verb
_REMEMBERED = 4096  # words whose senses are ranked once


# What a model with prototypes knows of a candidate besides how near its prototype is; see `offers`.
FEATURES = (
    "type",  # the inventory has the word with this sense as this type
    "seen",  # the lemma had it as this type in training
    "lemma_prior",  # log of how often, against all candidates equally often
    "form_prior",  # … the form
    "adjacent",  # the further words of its expression follow right after the predicate
    "near",  # … within three words
    "far",  # … within nine
    "passed",  # it has no particle, but a likely one follows
    "possible",  # … a possible one
    "first",  # it is number 01
    "stem",  # it is named after the lemma
    "light",  # it is a light verb
)
_NEAR = 2  # words in between


@dataclass(frozen=True, slots=True)
class _WordSenses:
    """What is known of the senses of a word before its sentence is."""

    senses: tuple[str, ...]
    rests: tuple[tuple[tuple[str, ...], ...], ...]  # the further words of each expression; () for none
    fixed: npt.NDArray[np.float64]  # (C, 4) type, first, stem, light
    counts: npt.NDArray[np.float64]  # (2, C) of the lemma and of the form, as this type


@dataclass(frozen=True, slots=True)
class Trust:
    """How often a way to choose a sense is right; the defaults are those of EWT's development set."""

    seen: float = 0.988  # the right sense is among those seen with the word or its lemma
    related: float = 0.75  # … among those of a related word (extract for extraction)
    frames: float = 0.94  # the first sense in the frames is right, for an unseen word
    particle: float = 0.65  # … for a particle that was not seen with its verb
    verb: float = 0.70  # the sense that is named after the word is right, for an unseen verb
    noun: float = 0.57
    adjective: float = 0.61


class SenseInventory:
    """The senses of a training set with the words and lemmas that had them.

    `senses` is sorted; the index of a sense is its id, and its column in a model's logits.
    """

    def __init__(
        self,
        senses: Sequence[str],
        lemmas: Counts,
        forms: Counts,
        lemmatizer: Lemmatizer,
        trust: Trust | None = None,
        weights: npt.NDArray[np.floating[Any]] | None = None,
    ) -> None:
        self.senses = tuple(senses)
        self.weights = weights  # of `FEATURES`, where the model has prototypes
        self.index = {sense: k for k, sense in enumerate(self.senses)}
        self.lemmatizer = lemmatizer
        self.trust = trust or Trust()
        self._lemmas = lemmas
        self._forms = forms
        self._seen: dict[tuple[str, str | None], tuple[int, ...]] = {}  # the answers of `seen`
        self._words: dict[tuple[str, str | None], _WordSenses] = {}  # the answers of `_word`
        self._auxiliary = {k for k, sense in enumerate(self.senses) if sense in AUXILIARY_SENSES}

    @classmethod
    def of(
        cls, sentences: Iterable[Sentence], lemmatizer: Lemmatizer, known: SenseInventory | None = None
    ) -> SenseInventory:
        """The senses of some sentences, in addition to those of an inventory that is `known`."""
        seen = [
            (prop.sense, sent.tokens[prop.pred], predicate_type(sent, prop))
            for sent in sentences
            for prop in sent.props
            if prop.sense
        ]
        before = () if known is None else known.senses
        vocab = Vocabulary(sorted({*before, *(sense for sense, _, _ in seen)}))
        lemmas, forms = _no_counts(), _no_counts()
        for old, table in () if known is None else ((known._lemmas, lemmas), (known._forms, forms)):
            for key, types in old.items():
                for kind, counts in types.items():
                    table[key][kind] |= {vocab.index[before[k]]: n for k, n in counts.items()}
        for sense, word, type in seen:
            for table, key in ((lemmas, lemmatizer.lemma(word, type)), (forms, plain_form(word))):
                table[key][type or ""][vocab.index[sense]] += 1
        return cls(vocab.items, lemmas, forms, lemmatizer)

    def with_senses(
        self, senses: Sequence[str], weights: npt.NDArray[np.floating[Any]] | None = None
    ) -> SenseInventory:
        """The same counts with further senses, in the given order."""
        index = {sense: k for k, sense in enumerate(senses)}
        lemmas, forms = (
            {
                key: {type: {index[self.senses[k]]: n for k, n in own.items()} for type, own in types.items()}
                for key, types in table.items()
            }
            for table in (self._lemmas, self._forms)
        )
        return SenseInventory(senses, lemmas, forms, self.lemmatizer, self.trust, weights)

    def __len__(self) -> int:
        return len(self.senses)

    def candidates(self, word: str, type: str | None) -> tuple[int, ...]:
        """Ids of the senses that were seen with the word or its lemma, most frequent first.

        Senses that the form had as this type come before those that its lemma had, and these before all
        others. Auxiliaries have only be.03, have.01 and do.01, which nothing else can have. A word that was
        not seen has the senses of a related one that was.
        """
        return self.seen(word, type) or self._related(word, type)

    def choose(
        self,
        tokens: Sequence[str],
        pred: int,
        type: str | None,
        logits: Logits,
        frames: RoleInventory | None = None,
    ) -> tuple[str | None, float]:
        """Return the sense of the predicate `tokens[pred]` and its probability, given the logits (V,).

        A model with prototypes weighs all senses that frames or training have for the word; a word that has
        none gets None. For other models there are rules.
        A sense with a particle is chosen only where the particle follows soon. Frames are used for words that
        training did not see, and for particles that it did not see with the verb: the first sense that they
        would add to others is right in 0.7% of cases. Otherwise the sense is named after the word.
        """
        if self.weights is not None and frames is not None:
            shares = self._shares(tokens, pred, type, logits, frames)
            sense, share = max(shares.items(), key=lambda item: item[1], default=(None, 0.0))
            return sense, self.trust.seen * share
        word = tokens[pred]
        lemma = self.lemma(word, type, frames)
        seen = self.seen(word, type)
        near = [k for k in seen if are_near(self.senses[k], tokens, pred)]
        best = max(seen, key=lambda k: float(logits[k]), default=None)
        particle, is_likely = adjacent_particle(tokens, pred)
        wanted: tuple[str, ...] = (particle,) if particle is not None and is_likely else ()
        if best is not None and best not in near:  # the model expects a particle, but another one
            if with_particle := [k for k in near if particles(self.senses[k])]:
                return self._best(with_particle, logits, self.trust.seen)
            wanted = tuple(nearby_particles(tokens, pred))
        elif near:
            logits = self._with_bonus(logits, near, particle)
            chosen = self.senses[max(near, key=lambda k: float(logits[k]))]
            if particles(chosen) or any(particles(self.senses[k]) == wanted for k in near):
                wanted = ()
        if frames is not None and (type == "verb" or type is None or not seen):
            for particle in wanted:
                if rolesets := frames.rolesets(f"{lemma}_{particle}", type):
                    return rolesets[0], self.trust.particle
        if near:
            return self._best(near, logits, self.trust.seen)
        if frames is not None and (rolesets := frames.rolesets(lemma, type)):
            return next((x for x in rolesets if are_near(x, tokens, pred)), rolesets[0]), self.trust.frames
        if not seen and (related := self._related(word, type)):
            fitting = [k for k in related if are_near(self.senses[k], tokens, pred)]
            return self._best(fitting or related, logits, self.trust.related)
        if frames is not None and len(frames):
            return None, 0.0  # no sense is invented
        return likely_stem(lemma, type) + _FIRST_SENSE, getattr(self.trust, type or "", self.trust.noun)

    def _shares(
        self, tokens: Sequence[str], pred: int, type: str | None, logits: Logits, frames: RoleInventory
    ) -> dict[str, float]:
        """The candidates with their probabilities, by a model with prototypes."""
        names, features = self.offers(tokens, pred, type, frames)
        if not names:
            return {}
        ids = [self.index.get(name, -1) for name in names]
        near = np.where(np.array(ids) < 0, 0.0, logits[ids])
        weighed = features @ np.asarray(self.weights)
        return dict(zip(names, _softmax(near + weighed).tolist(), strict=True))

    def offers(
        self,
        tokens: Sequence[str],
        pred: int,
        type: str | None,
        frames: RoleInventory,
        own: str | None = None,
    ) -> tuple[list[str], npt.NDArray[np.float64]]:
        """The senses that a predicate can have, and their `FEATURES` (C, F).

        Senses of expressions are offered where the further words follow soon. `own` is the sense of an
        occurrence in the training data, which is to be left out of the counts.
        """
        word = self._word(tokens[pred], type, frames)
        particle, is_likely = adjacent_particle(tokens, pred)
        gaps = [_smallest_gap(rests, tokens, pred) for rests in word.rests]
        kept = [k for k, gap in enumerate(gaps) if gap is not None]
        names = [word.senses[k] for k in kept]
        count, total = word.counts[:, kept], word.counts.sum(axis=1, keepdims=True)  # (2, C), (2, 1)
        if own is not None:
            count, total = count - (np.array(names) == own), total - 1
        even = np.maximum(total, 0) / max(1, len(names))
        prior = np.where(total > 0, np.log((np.maximum(count, 0) + 0.5) / (even + 0.5)), 0.0)
        gap = np.array([gap for gap in gaps if gap is not None])
        kind, first, stem, light = word.fixed[kept].T
        columns = (
            *(kind, count[0] > 0, *prior, gap == 0, (gap > 0) & (gap <= _NEAR), gap > _NEAR),
            *((gap < 0) & is_likely, (gap < 0) & (particle is not None), first, stem, light),
        )
        return names, np.stack(columns, axis=1).astype(np.float64)

    @cached_property
    def _named_after(self) -> dict[str, list[str]]:
        """Senses by the first part of their names, for labeling without frames."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for sense in self.senses:
            found[sense.rpartition(".")[0].partition("_")[0]].append(sense)
        return found

    def lemma(self, word: str, type: str | None, frames: RoleInventory | None) -> str:
        """The base form of a predicate, in the spelling that the frames have."""
        lemma = self.lemmatizer.lemma(word, type)
        if frames is None or not len(frames) or frames.beginning_with(lemma):
            return lemma
        return next((w for w in american_spellings(lemma) if frames.beginning_with(w)), lemma)

    def _word(self, word: str, type: str | None, frames: RoleInventory) -> _WordSenses:
        known = self._words.get((word, type))
        if known is None:
            if len(self._words) >= _REMEMBERED:
                self._words.clear()
            known = self._words[word, type] = self._look_up(word, type, frames)
        return known

    def _look_up(self, word: str, type: str | None, frames: RoleInventory) -> _WordSenses:
        lemma = self.lemma(word, type, frames)
        found: dict[str, list[tuple[tuple[str, ...], bool]]] = {}  # sense -> words that follow, right type?

        def add(base: str) -> None:
            for sense in self._named_after.get(base, ()) if not len(frames) else ():
                found.setdefault(sense, []).append((particles(sense), True))
            for sense, ways in frames.beginning_with(base).items():
                found.setdefault(sense, []).extend((rest, type in (None, kind)) for rest, kind in ways)

        if type != "auxiliary":
            add(lemma)
        for k in self.seen(word, type):
            found.setdefault(self.senses[k], []).append((particles(self.senses[k]), False))
        if not found and type != "auxiliary":
            parts = [self.lemmatizer.lemma(part, type) for part in reversed(word.split("-")) if part]
            for other in (*relatives(lemma, type), *(parts if "-" in word else ())):
                add(other)
                if found:
                    break
        is_auxiliary = type == "auxiliary"
        names = [name for name in found if type is None or (name in AUXILIARY_SENSES) == is_auxiliary]
        fixed = [
            (any(right for _, right in found[name]), number == "01", stem == lemma, number == "LV")
            for name in names
            for stem, _, number in [name.rpartition(".")]
        ]
        tables = self._lemmas.get(lemma, {}), self._forms.get(plain_form(word), {})
        ids = [self.index.get(name, -1) for name in names]
        counts = [[table.get(type or "", {}).get(k, 0) for k in ids] for table in tables]
        return _WordSenses(
            tuple(names),
            tuple(tuple(rest for rest, _ in found[name]) for name in names),
            np.array(fixed, dtype=np.float64).reshape(-1, 4),
            np.array(counts, dtype=np.float64),
        )

    def others(
        self,
        tokens: Sequence[str],
        pred: int,
        type: str | None,
        logits: Logits,
        chosen: str,
        frames: RoleInventory | None = None,
    ) -> dict[str, float]:
        """The other senses that the predicate can have, and the share of each among them."""
        if self.weights is not None and frames is not None:
            shares = self._shares(tokens, pred, type, logits, frames)
            left = 1 - shares.pop(chosen, 0.0)
            return {name: share / max(left, 1e-12) for name, share in shares.items()}
        seen = [k for k in self.seen(tokens[pred], type) if are_near(self.senses[k], tokens, pred)]
        ids = [k for k in seen if self.senses[k] != chosen]
        return {self.senses[k]: float(share) for k, share in zip(ids, _softmax(logits[ids]), strict=True)}

    def to_dict(self) -> dict[str, Any]:
        """The inventory as JSON, without its lemmatizer."""
        return {
            "senses": list(self.senses),
            "lemmas": _counts_to_dict(self._lemmas),
            "forms": _counts_to_dict(self._forms),
            "trust": asdict(self.trust),
        }

    @classmethod
    def from_dict(cls, data: Any, lemmatizer: Lemmatizer) -> SenseInventory:
        """Read what `to_dict` wrote; raises ModelError for anything else."""
        try:
            senses = [str(sense) for sense in data["senses"]]
            lemmas, forms = (_counts_from_dict(data[name], len(senses)) for name in ("lemmas", "forms"))
            trust = Trust(**{name: float(value) for name, value in data.get("trust", {}).items()})
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ModelError("damaged senses; get the model again") from error
        if senses != sorted(set(senses)):
            raise ModelError("the senses are not sorted, or one appears twice; get the model again")
        return cls(senses, lemmas, forms, lemmatizer, trust)

    def seen(self, word: str, type: str | None) -> tuple[int, ...]:
        """The candidates that were seen with the word or its lemma itself."""
        found = self._seen.get((word, type))
        if found is None:
            if len(self._seen) >= _REMEMBERED:
                self._seen.clear()
            found = self._seen[word, type] = self._find_seen(word, type)
        return found

    def _find_seen(self, word: str, type: str | None) -> tuple[int, ...]:
        form = self._forms.get(plain_form(word), {})
        # An auxiliary's form decides: 's may be has, but was may not.
        if type == "auxiliary" and (own := self._ranked(form, {}, type)):
            return own
        return self._ranked(form, self._lemmas.get(self.lemmatizer.lemma(word, type), {}), type)

    def _related(self, word: str, type: str | None) -> tuple[int, ...]:
        others = relatives(self.lemmatizer.lemma(word, type), type)
        found = next((self._lemmas[other] for other in others if other in self._lemmas), {})
        return self._ranked({}, found, type)

    def _ranked(
        self, form: Mapping[str, Mapping[int, int]], lemma: Mapping[str, Mapping[int, int]], type: str | None
    ) -> tuple[int, ...]:
        as_type = (form.get(type or "", {}), lemma.get(type or "", {}))
        totals: defaultdict[int, int] = defaultdict(int)
        for counts in (*form.values(), *lemma.values()):
            for sense, count in counts.items():
                totals[sense] += count
        ranked = sorted(totals, key=lambda k: (*(-counts.get(k, 0) for counts in as_type), -totals[k], k))
        if type is None:
            return tuple(ranked)
        return tuple(k for k in ranked if (k in self._auxiliary) == (type == "auxiliary"))

    def _with_bonus(self, logits: Logits, ids: Sequence[int], particle: str | None) -> Logits:
        favored = [k for k in ids if particle is not None and particles(self.senses[k]) == (particle,)]
        if favored:
            logits = logits.copy()
            logits[favored] += _PARTICLE_BONUS
        return logits

    def _best(self, ids: Sequence[int], logits: Logits, trust: float) -> tuple[str, float]:
        shares = _softmax(logits[list(ids)])
        best = int(shares.argmax())
        return self.senses[ids[best]], float(trust * shares[best])


def _smallest_gap(rests: Sequence[tuple[str, ...]], tokens: Sequence[str], pred: int) -> int | None:
    """The widest gap in the best fitting expression; −1 for the word alone, None if none fits."""
    gaps = [widest_gap(rest, tokens, pred) if rest else -1 for rest in rests]
    return min((gap for gap in gaps if gap is not None), default=None, key=lambda gap: (gap < 0, gap))


def _softmax(logits: Logits) -> npt.NDArray[np.float64]:
    weights = np.exp(logits.astype(np.float64) - logits.max(initial=-np.inf))
    return np.asarray(weights / weights.sum())


def _no_counts() -> Counts:
    return defaultdict(lambda: defaultdict(lambda: defaultdict(int)))


def _counts_to_dict(table: Counts) -> dict[str, dict[str, list[list[int]]]]:
    return {
        key: {type: [list(pair) for pair in sorted(counts.items())] for type, counts in sorted(types.items())}
        for key, types in sorted(table.items())
    }


def _counts_from_dict(data: Any, size: int) -> Counts:
    table = {key: {type: dict(pairs) for type, pairs in types.items()} for key, types in data.items()}
    pairs = [pair for types in table.values() for counts in types.values() for pair in counts.items()]
    if not all(type(k) is type(n) is int and 0 <= k < size for k, n in pairs):
        raise ValueError("not a sense's id and a count")
    return table
