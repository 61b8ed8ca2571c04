"""The senses of a training set, and the choice of one for a predicate by a model's scores.

A sense is a PropBank roleset: `keep.01`, the light verb `make.LV`, or `move_on.08` of a verb with particles.
`experiments/sense_scores.py` prints the accuracy of each way to choose one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spansrl.arrays import Vocabulary
from spansrl.errors import ModelError
from spansrl.inventory.particles import adjacent_particle, are_near, nearby_particles, particles
from spansrl.inventory.roles import RoleInventory
from spansrl.language.english.lemmas import AUXILIARY_SENSES, Lemmatizer, plain_form, predicate_type
from spansrl.language.english.lemmas.derivation import likely_stem, relatives
from spansrl.structures import Sentence

Logits = npt.NDArray[np.floating[Any]]

# key (a lemma or a form) -> type of the predicate ('' if unknown) -> id of a sense -> how often it was seen
Counts = dict[str, dict[str, dict[int, int]]]

_FIRST_SENSE = ".01"
_PARTICLE_BONUS = 2.0  # added to the logit of a sense whose particle is right after the verb
_REMEMBERED = 4096  # words whose senses are ranked once


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
    ) -> None:
        self.senses = tuple(senses)
        self.index = {sense: k for k, sense in enumerate(self.senses)}
        self.lemmatizer = lemmatizer
        self.trust = trust or Trust()
        self._lemmas = lemmas
        self._forms = forms
        self._seen: dict[tuple[str, str | None], tuple[int, ...]] = {}  # the answers of `seen`
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
    ) -> tuple[str, float]:
        """Return the sense of the predicate `tokens[pred]` and its probability, given the logits (V,).

        A sense with a particle is chosen only where the particle follows soon. Frames are used for words that
        training did not see, and for particles that it did not see with the verb: the first sense that they
        would add to others is right in 0.7% of cases. Otherwise the sense is named after the word.
        """
        word = tokens[pred]
        lemma = self.lemmatizer.lemma(word, type)
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
        return likely_stem(lemma, type) + _FIRST_SENSE, getattr(self.trust, type or "", self.trust.noun)

    def others(
        self, tokens: Sequence[str], pred: int, type: str | None, logits: Logits, chosen: str
    ) -> dict[str, float]:
        """The other senses that training saw with the predicate, and the share of each among them."""
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
