"""The base form of a predicate's word: English inflection by rules, and a table of exceptions.

The table is learned from a treebank with lemmas; it also has misspellings.

    >>> Lemmatizer().lemma("Stopping", "verb")
    'stop'
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from spansrl.errors import ModelError
from spansrl.language.english.lemmas.inflection import AUXILIARIES, infinitive, positive, singular
from spansrl.structures import PREDICATE_TYPES, Proposition, Sentence

AUXILIARY_SENSES = frozenset({"be.03", "have.01", "do.01"})

_TYPE_OF_TAG = {"V": "verb", "N": "noun", "J": "adjective"}
_RULES = {"verb": infinitive, "noun": singular, "adjective": positive}
_NO_LEMMA = ("", "_")  # a treebank has the latter where a word was cut in two by mistake


class Lemmatizer:
    """Base forms by rules and by a table of exceptions: type -> lower-cased form -> lemma."""

    def __init__(self, exceptions: Mapping[str, Mapping[str, str]] | None = None) -> None:
        given = exceptions or {}
        self.exceptions = {type: dict(given.get(type, {})) for type in _RULES}

    @classmethod
    def of(cls, sentences: Iterable[Sentence]) -> Lemmatizer:
        """Learn from every verb, noun and adjective with a lemma, whether it is a predicate or not.

        Only forms that the rules get wrong are kept. Proper nouns are skipped.
        """
        seen: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for sent in sentences:
            for word, tag, lemma in zip(sent.tokens, sent.pos or (), sent.lemmas or (), strict=False):
                type = _TYPE_OF_TAG.get(tag[:1])
                if type is not None and not tag.startswith("NNP") and lemma not in _NO_LEMMA:
                    seen[type, plain_form(word)][lemma.lower()] += 1
        learned = cls()
        for (type, form), lemmas in seen.items():
            lemma = min(lemmas, key=lambda lemma: (-lemmas[lemma], lemma))
            if lemma != _RULES[type](form):
                learned.exceptions[type][form] = lemma
        return learned

    def with_exceptions(self, other: Lemmatizer) -> Lemmatizer:
        """A lemmatizer with the exceptions of both; those of `other` count where they differ."""
        return Lemmatizer(
            {type: {**table, **other.exceptions[type]} for type, table in self.exceptions.items()}
        )

    def lemma(self, word: str, type: str | None) -> str:
        """The lower-cased base form of a predicate of this type; one of unknown type is taken for a verb."""
        form = plain_form(word)
        if type == "auxiliary" and form in AUXILIARIES:
            return AUXILIARIES[form]
        known = type if type is not None and type in _RULES else "verb"
        return self.exceptions[known].get(form) or _RULES[known](form)

    def to_dict(self) -> dict[str, Any]:
        return {"exceptions": {type: dict(sorted(table.items())) for type, table in self.exceptions.items()}}

    @classmethod
    def from_dict(cls, data: Any) -> Lemmatizer:
        """Read what `to_dict` wrote; raises ModelError for anything else."""
        try:
            tables = {type: data["exceptions"][type] for type in _RULES}
            texts = [text for table in tables.values() for pair in table.items() for text in pair]
        except (AttributeError, KeyError, TypeError) as error:
            raise ModelError("damaged lemmas; get the model again") from error
        if not all(isinstance(text, str) and text for text in texts):
            raise ModelError("a form or a lemma is not a word; get the model again")
        return cls(tables)


def plain_form(word: str) -> str:
    """The form of the word in tables: lower-cased, with a straight apostrophe."""
    return word.lower().replace("’", "'")


def predicate_type(sent: Sentence, prop: Proposition) -> str | None:
    """Return a predicate's type: its own if that is a known one, or by its sense or part of speech."""
    if prop.type in PREDICATE_TYPES:
        return prop.type
    if prop.sense in AUXILIARY_SENSES:
        return "auxiliary"
    return None if sent.pos is None else _TYPE_OF_TAG.get(sent.pos[prop.pred][:1])
