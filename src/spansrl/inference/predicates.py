"""Which predicates of a sentence are to be labelled."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from operator import index
from typing import Literal, SupportsIndex

from spansrl.errors import ConfigError, DataError
from spansrl.structures import PREDICATE_TYPES, Proposition, Sentence

# Types of predicates to look for, places of predicates in every sentence, or those that the sentences have.
Predicates = Collection[str] | Collection[int] | Literal["given"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which predicates are to be labelled."""

    types: frozenset[str] = frozenset()
    given: bool = False  # by the sentences, or in all of them at the same places
    places: tuple[int, ...] | None = None

    @classmethod
    def of(cls, predicates: Predicates) -> Wanted:
        """What a caller asks for; ConfigError where it is nothing that can be asked for."""
        if isinstance(predicates, str) and predicates == "given":
            return cls(given=True)
        if isinstance(predicates, str) or not isinstance(predicates, Iterable):
            raise ConfigError(f"predicates is {predicates!r}; give a list of types, of indices, or 'given'")
        items = list(predicates)
        places = [
            index(item) for item in items if isinstance(item, SupportsIndex) and not isinstance(item, bool)
        ]
        if items and len(places) == len(items):
            return cls(given=True, places=tuple(sorted(set(places))))
        if unknown := [item for item in items if item not in PREDICATE_TYPES]:
            types = ", ".join(PREDICATE_TYPES)
            raise ConfigError(f"{unknown[0]!r} is no type of predicate; there are {types}")
        return cls(types=frozenset(map(str, items)))

    def in_sentence(self, sent: Sentence) -> tuple[Proposition, ...]:
        """The predicates that are given in a sentence, and nothing else of what it says of them."""
        if not self.given or not sent.tokens:
            return ()
        places = [prop.pred for prop in sent.props] if self.places is None else self.places
        if outside := [place for place in places if not 0 <= place < len(sent)]:
            words = " ".join(sent.tokens)[:40]
            raise DataError(
                f"no token {outside[0]} in the sentence {words!r}, which has {len(sent)}; count from 0"
            )
        return tuple(map(Proposition, places))
