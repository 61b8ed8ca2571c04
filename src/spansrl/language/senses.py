"""Senses that training saw, which of them a word may have, and how one is chosen by the model's scores.

A sense is a PropBank roleset: `keep.01`, the light verb `make.LV`, or `move_on.08` of a verb with particles.
The figures below are those of EWT's development set with an inventory of its training set, printed by
`experiments/sense_scores.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from spansrl.errors import ModelError
from spansrl.language.lemmas import AUXILIARY_SENSES, Lemmatizer, plain_form, predicate_type
from spansrl.language.lemmas.derivation import likely_stem, relatives
from spansrl.language.vocabulary import Vocabulary
from spansrl.structures import Sentence, Span

# key (a lemma or a form) -> type of the predicate ('' if unknown) -> id of a sense -> how often it was seen
Counts = dict[str, dict[str, dict[int, int]]]

# How often the right sense is among those seen, where the word or its lemma was seen at all.
_SEEN = 0.988
# … where only a related word was (extract for extraction).
_RELATED = 0.75
# How often the first sense is right that PropBank's frames have for a word that was not seen.
_IN_FRAMES = 0.94
# How often an unseen word has the sense that is called after it.
_GUESSED = {"verb": 0.70, "noun": 0.57, "adjective": 0.61}
_FIRST_SENSE = ".01"
_WIDEST_GAP = 5  # tokens between a verb's pieces: call the whole thing off


class Rolesets(Protocol):
    """What `choose` asks of PropBank's frames."""

    def rolesets(self, word: str, type: str | None) -> tuple[str, ...]:
        """The senses of a lemma of this type, likeliest first."""


class SenseInventory:
    """The senses of a training set with the words and lemmas that had them.

    `senses` is sorted; a sense's place in it is its id, and its column in a model's logits.
    """

    def __init__(self, senses: Sequence[str], lemmas: Counts, forms: Counts, lemmatizer: Lemmatizer) -> None:
        self.senses = tuple(senses)
        self.lemmatizer = lemmatizer
        self._lemmas = lemmas
        self._forms = forms
        self._auxiliary = {k for k, sense in enumerate(self.senses) if sense in AUXILIARY_SENSES}

    @classmethod
    def of(cls, sentences: Iterable[Sentence], lemmatizer: Lemmatizer) -> SenseInventory:
        """Count the senses of every predicate that has one."""
        seen = [
            (prop.sense, sent.tokens[prop.pred], predicate_type(sent, prop))
            for sent in sentences
            for prop in sent.props
            if prop.sense
        ]
        vocab = Vocabulary(sorted({sense for sense, _, _ in seen}))
        lemmas, forms = _no_counts(), _no_counts()
        for sense, word, type in seen:
            for table, key in ((lemmas, lemmatizer.lemma(word, type)), (forms, plain_form(word))):
                table[key][type or ""][vocab.index[sense]] += 1
        return cls(vocab.items, lemmas, forms, lemmatizer)

    def __len__(self) -> int:
        return len(self.senses)

    def candidates(self, word: str, type: str | None) -> tuple[int, ...]:
        """Ids of the senses that were seen with the word or its lemma, most frequent first.

        Senses that the form had as this type come before those that its lemma had, and these before all
        others. Auxiliaries keep to be.03, have.01 and do.01, which nothing else can have. A word that was not
        seen has the senses of a related one that was.
        """
        return self._seen(word, type) or self._related(word, type)

    def choose(
        self,
        word: str,
        type: str | None,
        logits: npt.NDArray[np.floating[Any]],
        frames: Rolesets | None = None,
    ) -> tuple[str, float]:
        """The sense of a predicate and the chance that it is right, from the model's logits (V,).

        Frames are asked only about words that training did not see: for those that it saw, the first sense
        they would add is right in 0.7 % of cases. Where nothing else is known, the word itself gives it.
        """
        if seen := self._seen(word, type):
            return self._best(seen, logits, _SEEN)
        lemma = self.lemmatizer.lemma(word, type)
        if frames is not None and (rolesets := frames.rolesets(lemma, type)):
            return rolesets[0], _IN_FRAMES
        if related := self._related(word, type):
            return self._best(related, logits, _RELATED)
        return likely_stem(lemma, type) + _FIRST_SENSE, _GUESSED.get(type or "", _GUESSED["noun"])

    def to_dict(self) -> dict[str, Any]:
        """The inventory as JSON, without its lemmatizer."""
        return {
            "senses": list(self.senses),
            "lemmas": _counts_to_dict(self._lemmas),
            "forms": _counts_to_dict(self._forms),
        }

    @classmethod
    def from_dict(cls, data: Any, lemmatizer: Lemmatizer) -> SenseInventory:
        """The inventory that `to_dict` wrote down; raises ModelError for anything else."""
        if not isinstance(data, dict) or set(data) != {"senses", "lemmas", "forms"}:
            raise _refused("expected an object with the keys 'senses', 'lemmas' and 'forms'")
        senses = data["senses"]
        if not isinstance(senses, list) or not all(isinstance(sense, str) and sense for sense in senses):
            raise _refused("'senses' must be a list of names")
        if senses != sorted(set(senses)):
            raise _refused("'senses' must be sorted, each sense once")
        lemmas = _counts_from_dict(data["lemmas"], "lemmas", len(senses))
        forms = _counts_from_dict(data["forms"], "forms", len(senses))
        return cls(senses, lemmas, forms, lemmatizer)

    def _seen(self, word: str, type: str | None) -> tuple[int, ...]:
        form = self._forms.get(plain_form(word), {})
        # An auxiliary's form decides: that 's may be has says nothing about was.
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

    def _best(
        self, ids: tuple[int, ...], logits: npt.NDArray[np.floating[Any]], trust: float
    ) -> tuple[str, float]:
        scores = logits[list(ids)].astype(np.float64)
        weights = np.exp(scores - scores.max())
        best = int(weights.argmax())
        return self.senses[ids[best]], float(trust * weights[best] / weights.sum())


def multiword_spans(tokens: Sequence[str], pred: int, sense: str) -> tuple[Span, ...] | None:
    """The pieces of a verb whose sense has particles, as `Proposition.v` holds them; None for `pred` alone.

    None too where a particle does not follow soon. Of 88 predicates of EWT's development set that it finds
    pieces for, 83 have just these.

        >>> multiword_spans("They called the whole thing off".split(), 1, "call_off.06")
        (Span(start=1, end=2), Span(start=5, end=6))
    """
    pieces = [Span(pred, pred + 1)]
    for particle in sense.rpartition(".")[0].split("_")[1:]:
        after = pieces[-1].end
        near = [token.lower() for token in tokens[after : after + _WIDEST_GAP + 1]]
        if particle not in near:
            return None
        place = after + near.index(particle)
        if place == after:
            pieces[-1] = Span(pieces[-1].start, place + 1)
        else:
            pieces.append(Span(place, place + 1))
    return None if pieces == [Span(pred, pred + 1)] else tuple(pieces)


def _no_counts() -> Counts:
    return defaultdict(lambda: defaultdict(lambda: defaultdict(int)))


def _counts_to_dict(table: Counts) -> dict[str, dict[str, list[list[int]]]]:
    return {
        key: {type: [list(pair) for pair in sorted(counts.items())] for type, counts in sorted(types.items())}
        for key, types in sorted(table.items())
    }


def _counts_from_dict(data: Any, name: str, size: int) -> Counts:
    if not isinstance(data, dict) or not all(isinstance(types, dict) for types in data.values()):
        raise _refused(f"'{name}' must be an object of objects")
    out: Counts = {}
    for key, types in data.items():
        for type, pairs in types.items():
            if not isinstance(pairs, list) or not all(_is_count(pair, size) for pair in pairs):
                raise _refused(f"'{name}' has no pairs of a sense's id and a count for {key!r} as {type!r}")
            out.setdefault(key, {})[type] = dict(pairs)
    return out


def _is_count(pair: Any, size: int) -> bool:
    if not isinstance(pair, list) or len(pair) != 2:
        return False
    sense, count = pair
    return type(sense) is int and type(count) is int and 0 <= sense < size and count > 0


def _refused(found: str) -> ModelError:
    return ModelError(f"senses: {found}; get the model again")
