"""The option `--predicates`, with the values that `predicates` has in Python."""

from __future__ import annotations

import click

from spansrl.errors import ConfigError
from spansrl.structures import PREDICATE_TYPES


def parse_predicates(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return the value if it is valid."""
    from spansrl.inference.predicates import Wanted

    try:
        Wanted.of(value)
    except ConfigError as error:
        raise click.BadParameter(str(error).removeprefix("predicates: "), ctx, param) from None
    return value


def complete_predicates(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Offer the types, also after a comma."""
    before, comma, last = incomplete.rpartition(",")
    names = PREDICATE_TYPES if comma else (*PREDICATE_TYPES, "all", "given")
    chosen = before.split(",")
    return [f"{before}{comma}{name}" for name in names if name.startswith(last) and name not in chosen]
