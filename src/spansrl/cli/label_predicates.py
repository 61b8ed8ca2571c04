"""`--predicates`: the types of predicates to look for, the places where they are, or those of the input."""

from __future__ import annotations

from typing import Literal

import click

from spansrl.structures import PREDICATE_TYPES

Predicates = Literal["given"] | tuple[str, ...] | tuple[int, ...]

_PLURALS = dict(zip(("verbs", "nouns", "adjectives", "auxiliaries"), PREDICATE_TYPES, strict=True))


def parse_predicates(ctx: click.Context, param: click.Parameter, value: str | None) -> Predicates | None:
    """What was typed, as the pipeline wants it: `verbs,nouns`, `all`, `0,3`, `given`."""
    if value is None:
        return None
    names = [name.strip() for name in value.lower().split(",")]
    if names == ["given"]:
        return "given"
    if names == ["all"]:
        return PREDICATE_TYPES
    if all(name.isascii() and name.isdecimal() for name in names):
        return tuple(map(int, names))
    types = [_PLURALS.get(name, name) for name in names]
    for name, type in zip(names, types, strict=True):
        if type not in PREDICATE_TYPES:
            choices = f"{', '.join(_PLURALS)}, all, given, or places of tokens, counted from 0"
            raise click.BadParameter(f"'{name}' is none of {choices}", ctx, param)
    return tuple(types)


def complete_predicates(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The names that the shell offers, also after a comma."""
    before, comma, last = incomplete.rpartition(",")
    names = _PLURALS if comma else [*_PLURALS, "all", "given"]
    there = before.split(",")
    return [f"{before}{comma}{name}" for name in names if name.startswith(last) and name not in there]
