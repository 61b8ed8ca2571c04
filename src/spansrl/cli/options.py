"""Options that several commands share, and the checks of their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from spansrl.errors import ConfigError
from spansrl.formats import READABLE
from spansrl.structures import PREDICATE_TYPES

Command = TypeVar("Command", bound=Callable[..., Any])
PATH = click.Path(path_type=Path)


def path(*names: str, help: str, **settings: Any) -> Callable[[Command], Command]:
    return click.option(*names, type=PATH, help=help, **settings)


def count(name: str, default: int | None, help: str, *, min: int = 1) -> Callable[[Command], Command]:
    """An option for an integer of at least `min`; without a default, the help names it."""
    shown = default is not None
    return click.option(name, default=default, show_default=shown, type=click.IntRange(min=min), help=help)


def choice(name: str, values: Sequence[str], help: str) -> Callable[[Command], Command]:
    """An option with fixed values, of which the first is the default."""
    return click.option(name, type=click.Choice(values), default=values[0], show_default=True, help=help)


def out(help: str) -> Callable[[Command], Command]:
    return path("-o", "--out", required=True, help=help)


def from_format(help: str, name: str = "format") -> Callable[[Command], Command]:
    return click.option("--from", name, type=click.Choice(READABLE), help=help)


model = click.option(
    "--model", metavar="NAME|DIR", help="Installed model or model directory.  [default: small]"
)
decoder = click.option(
    "--decoder",
    type=click.Choice(["greedy", "argmax", "exact", "constrained", "marginals"]),
    help="How arguments are chosen from the scores.  [default: the model's]",
)
rule_out_roles = click.option(
    "--rule-out-roles/--all-roles",
    default=None,
    help="With frames: drop core roles that a sense does not have, or keep them.  [default: drop]",
)
min_prob = click.option(
    "--min-prob", type=click.FloatRange(0, 1), help="Drop less probable arguments.  [default: the model's]"
)
no_frames = click.option("--no-frames", is_flag=True, help="Do not use the installed PropBank frames.")
threads = count("--threads", None, "Number of threads.  [default: all cores]")
precision = choice(
    "--precision", ["full", "int8"], "Precision of matrix products; int8 is faster, for exported models."
)
device = click.option(
    "--device",
    default="cpu",
    show_default=True,
    help="Where to compute: cpu, cuda, … (GPU code is untested).",
)
data = path("--data", required=True, help="Directory with train.jsonl and dev.jsonl.")
overrides = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="SECTION.KEY=VALUE",
    help="Override a setting of the config, e.g. training.seed=2; may be repeated.",
)
resume = click.option("--resume", is_flag=True, help="Continue the run in --out; if there is none, start it.")
cache = path(
    "--cache",
    envvar="SPANSRL_CACHE",
    help="Directory for frozen encoders' features.  [default: ~/.cache/spansrl]",
)
samples = count("--samples", 10_000, "Number of bootstrap samples.")
seed = count("--seed", 0, "Random seed of the samples.", min=0)


def _check_encoding(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    try:
        "a".encode(value or "utf-8")
    except LookupError as error:
        raise click.BadParameter(f"{error}. Try latin-1, cp1252 or utf-16", ctx, param) from None
    return value


encoding = click.option(
    "--encoding",
    metavar="NAME",
    callback=_check_encoding,
    help="Encoding of the input, such as latin-1.  [default: UTF-8, or what a byte-order mark says]",
)


def predicates(help: str) -> Callable[[Command], Command]:
    """The option --predicates, with the values that `predicates` has in Python."""
    return click.option(
        "--predicates",
        callback=_check_predicates,
        shell_complete=_complete_predicates,
        metavar="LIST",
        help=help,
    )


def _check_predicates(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    from spansrl.inference.predicates import Wanted

    try:
        Wanted.of(value)
    except ConfigError as error:
        raise click.BadParameter(str(error).removeprefix("predicates: "), ctx, param) from None
    return value


def _complete_predicates(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Offer the types, also after a comma."""
    before, comma, last = incomplete.rpartition(",")
    names = PREDICATE_TYPES if comma else (*PREDICATE_TYPES, "all", "given")
    chosen = before.split(",")
    return [f"{before}{comma}{name}" for name in names if name.startswith(last) and name not in chosen]


def require_torch(what: str, threads: int | None = None) -> None:
    from spansrl import training

    training.require_torch(what, threads)


def check_alone(chosen: Mapping[str, bool]) -> None:
    """Raise UsageError if more than one of these options is chosen."""
    names = [name for name, is_chosen in chosen.items() if is_chosen]
    if len(names) > 1:
        raise click.UsageError(f"{' and '.join(names)} cannot be combined; run the command once for each")


def check_streams(*paths: str | None) -> None:
    if paths.count("-") > 1:
        raise click.UsageError("only one file can be - (standard input)")
