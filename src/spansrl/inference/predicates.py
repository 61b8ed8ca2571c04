"""`predicates`: which predicates of a sentence to label, with the same values in Python, CLI and HTTP."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from operator import index
from typing import Any

from spansrl.errors import ConfigError, DataError
from spansrl.structures import PREDICATE_TYPES, Proposition, Sentence

GIVEN, ALL = "given", "all"
_INDEX = re.compile("[0-9]{1,9}")  # longer ones are not tokens, and int() has a limit
PLURALS = dict(zip(("verbs", "nouns", "adjectives", "auxiliaries"), PREDICATE_TYPES, strict=True))


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which predicates to label: types to look for, or predicates that are given."""

    types: frozenset[str] = frozenset()
    given: bool = False  # by the sentences or, with indices, at the same tokens of each
    indices: tuple[int, ...] | None = None

    @classmethod
    def of(cls, predicates: Predicates) -> Wanted:
        """Parse the values that `predicates` can have; ConfigError for any other."""
        if isinstance(predicates, Wanted):
            return predicates
        if predicates is None:
            return cls(types=frozenset(PREDICATE_TYPES))
        if isinstance(predicates, str):
            return cls._parsed(predicates)
        if not isinstance(predicates, Iterable) or isinstance(predicates, Mapping):
            raise ConfigError(f"predicates is {predicates!r}; expected types, token indices, or 'given'")
        return cls._listed(list(predicates))

    @classmethod
    def _parsed(cls, text: str) -> Wanted:
        names = [name.strip().lower() for name in text.split(",")]
        if names == [GIVEN]:
            return cls(given=True)
        if names == [ALL]:
            return cls(types=frozenset(PREDICATE_TYPES))
        if alone := [name for name in names if name in (GIVEN, ALL)]:
            raise ConfigError(f"predicates: '{alone[0]}' cannot be combined with others")
        return cls._listed([int(name) if _INDEX.fullmatch(name) else name for name in names])

    @classmethod
    def _listed(cls, items: list[Any]) -> Wanted:
        indices = [index(item) for item in items if _is_index(item)]
        if items and len(indices) == len(items):
            return cls(given=True, indices=tuple(sorted(set(indices))))
        if indices:
            raise ConfigError("predicates: types and token indices cannot be mixed")
        types = [PLURALS.get(item, item) if isinstance(item, str) else item for item in items]
        if unknown := [item for item in types if not isinstance(item, str) or item not in PREDICATE_TYPES]:
            choices = ", ".join(PREDICATE_TYPES)
            raise ConfigError(f"unknown predicate type {unknown[0]!r}. Choose from: {choices}")
        return cls(types=frozenset(types))

    @property
    def is_choice(self) -> bool:
        """Whether these are not simply all predicates: then auxiliaries among them are shown too."""
        return self.types != frozenset(PREDICATE_TYPES)

    def in_sentence(self, sent: Sentence) -> tuple[Proposition, ...]:
        """The predicates that are given in a sentence, with their lemmas and without other labels."""
        if not self.given or not sent.tokens:
            return ()
        if self.indices is None:
            props = [Proposition(prop.pred, lemma=prop.lemma) for prop in sent.props]
        else:
            props = list(map(Proposition, self.indices))
        if outside := [prop.pred for prop in props if not 0 <= prop.pred < len(sent)]:
            words = " ".join(sent.tokens)[:40]
            raise DataError(
                f"no token {outside[0]} in the sentence {words!r}, which has {len(sent)}; count from 0"
            )
        return tuple(props)


# None is all types; else a type or several, "given" for those of the input, or token indices.
Predicates = str | Collection[str] | Collection[int] | Wanted | None


def _is_index(item: object) -> bool:
    return hasattr(item, "__index__") and not isinstance(item, bool)
