"""`--predicates`: the types of predicates to look for, the places where they are, or those of the input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import click

from spansrl.structures import PREDICATE_TYPES

Predicates = Literal["given"] | tuple[str, ...] | tuple[int, ...]

_PLURALS = dict(zip(("verbs", "nouns", "adjectives", "auxiliaries"), PREDICATE_TYPES, strict=True))
_ALONE = ("all", "given")


def parse_predicates(ctx: click.Context, param: click.Parameter, value: str | None) -> Predicates | None:
    """What was typed, as the pipeline wants it: `verbs,nouns`, `all`, `0,3`, `given`."""
    if value is None:
        return None
    names = [name.strip() for name in value.lower().split(",")]
    if names == ["given"]:
        return "given"
    if names == ["all"]:
        return PREDICATE_TYPES
    places = [name for name in names if name.isascii() and name.isdecimal()]
    if len(places) == len(names):
        return tuple(map(int, places))
    types = [_PLURALS.get(name, name) for name in names]
    if wrong := [name for name, type in zip(names, types, strict=True) if type not in PREDICATE_TYPES]:
        raise click.BadParameter(_what_is_wrong(wrong, places), ctx, param)
    return tuple(types)


def _what_is_wrong(names: Sequence[str], places: Sequence[str]) -> str:
    """Why a list with these names, which are no types of predicates, cannot be taken."""
    for name in names:
        if name in _ALONE:
            return f"'{name}' stands alone; leave out the rest"
        if name not in places:
            choices = f"{', '.join([*_PLURALS, *_ALONE])}, or places of tokens, counted from 0"
            return f"'{name}' is none of {choices}"
    return "types and places cannot be mixed; give types alone, or places alone"


def complete_predicates(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The names that the shell offers, also after a comma."""
    before, comma, last = incomplete.rpartition(",")
    names = _PLURALS if comma else [*_PLURALS, *_ALONE]
    there = before.split(",")
    return [f"{before}{comma}{name}" for name in names if name.startswith(last) and name not in there]
