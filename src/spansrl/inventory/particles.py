"""Verbs with particles: call off, look forward to.

PropBank writes the particles into the sense: call_off.06. The figures are those of EWT's training set.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from spansrl.structures import Span

_WIDEST_OFFER = 8  # … where a model decides whether they belong together
_WIDEST_GAP = 5  # tokens between a verb's pieces: call the whole thing off

# Right after a verb that has a sense with one of these, 85% are its particle.
_ADVERBS = frozenset("up out off over away forward across together along".split())
# These are prepositions more often than particles, but not before the end of a clause.
_PREPOSITIONS = frozenset("on down through by".split())
# For these the choice is left to the model.
_OTHERS = frozenset("back in upon".split())
_ALL = _ADVERBS | _PREPOSITIONS | _OTHERS
_SHORT_OBJECTS = frozenset(
    """
    it them him us me you her this that u myself yourself himself herself themselves everything something
""".split()
)
_CONJUNCTIONS = frozenset("and or but when if because then with".split())


@lru_cache(maxsize=8192)
def particles(sense: str) -> tuple[str, ...]:
    """The particles of a sense: `("forward", "to")` for look_forward_to.03, none for look.01."""
    pieces = sense.rpartition(".")[0].split("_")
    return tuple(pieces[1:]) if all(pieces) else ()  # a token of underscores has no particles


def multiword_spans(tokens: Sequence[str], pred: int, sense: str) -> tuple[Span, ...] | None:
    """The pieces of a verb whose sense has particles, as `Proposition.v` holds them; None for `pred` alone.

    None too where a particle does not follow soon. Of 88 predicates of EWT's development set that it finds
    pieces for, 83 have exactly these.

        >>> multiword_spans("They called the whole thing off".split(), 1, "call_off.06")
        (Span(start=1, end=2), Span(start=5, end=6))
    """
    pieces = [Span(pred, pred + 1)]
    for particle in particles(sense):
        after = pieces[-1].end
        near = [token.lower() for token in tokens[after : after + _WIDEST_GAP + 1]]
        if particle not in near:
            return None
        index = after + near.index(particle)
        if index == after:
            pieces[-1] = Span(pieces[-1].start, index + 1)
        else:
            pieces.append(Span(index, index + 1))
    return None if pieces == [Span(pred, pred + 1)] else tuple(pieces)


def widest_gap(words: Sequence[str], tokens: Sequence[str], pred: int) -> int | None:
    """The most tokens between words that follow a predicate in this order; None if they do not, or not soon.

    >>> widest_gap(("off",), "They called the whole thing off".split(), 1)
    3
    """
    at, widest = pred, 0
    for word in words:
        near = [token.lower() for token in tokens[at + 1 : at + 2 + _WIDEST_OFFER]]
        if word not in near:
            return None
        widest = max(widest, near.index(word))
        at += near.index(word) + 1
    return widest


def are_near(sense: str, tokens: Sequence[str], pred: int) -> bool:
    """Whether the particles of a sense, if it has any, follow the predicate soon."""
    return not particles(sense) or multiword_spans(tokens, pred, sense) is not None


def nearby_particles(tokens: Sequence[str], pred: int) -> list[str]:
    """Words soon after a predicate that can be particles."""
    return [word for word in _following(tokens, pred) if word in _ALL]


def adjacent_particle(tokens: Sequence[str], pred: int) -> tuple[str | None, bool]:
    """The possible particle right after a verb or after its short object, and whether it is a likely one."""
    following = _following(tokens, pred)
    index = int(following[:1] != [] and following[0] in _SHORT_OBJECTS)
    if index >= len(following) or following[index] not in _ALL:
        return None, False
    word, after = following[index], following[index + 1 : index + 2]
    ends_clause = not after or after[0] in _CONJUNCTIONS or not any(map(str.isalpha, after[0]))
    return word, word in _ADVERBS or (word in _PREPOSITIONS and ends_clause)


def _following(tokens: Sequence[str], pred: int) -> list[str]:
    return [token.lower() for token in tokens[pred + 1 : pred + 2 + _WIDEST_GAP]]
