"""`spansrl info`: what a model is, by its card or, without one, by its description."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from spansrl.checks import counted
from spansrl.inference.config import Config
from spansrl.inference.directory import MANIFEST, check_manifest, description_config, read_description
from spansrl.inference.loading import shipped_model
from spansrl.visualize.characters import visible

CARD = "README.md"
EXAMPLES = """
\b
Examples:
  spansrl info                   # the model in the package
  spansrl info runs/span-1
"""

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n\s*", re.DOTALL)
_EMBEDDERS = {
    "words": "word vectors of its own",
    "vectors": "static word vectors",
    "elmo": "ELMo",
    "transformer": "a pretrained encoder",
}


@click.command(epilog=EXAMPLES)
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
def command(directory: Path | None) -> None:
    """Show the card of the model in DIR, by default the one in the package.

    A model without a card is described by its settings. Where it has a manifest, its files are checked first.
    """
    directory = shipped_model() if directory is None else directory
    description = read_description(directory)
    check_manifest(directory)
    card = directory / CARD
    if card.is_file():
        text = _FRONT_MATTER.sub("", card.read_text(encoding="utf-8", errors="replace"))
        lines = text.rstrip().splitlines()
    else:
        lines = [f"{name:<12}{value}" for name, value in facts(directory, description)]
    for line in lines:
        click.echo(visible(line))


def facts(directory: Path, description: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and values, of what the description says and of what lies in the directory."""
    yield "model", str(directory)
    yield from _family(directory, description)
    roles, senses = description["roles"], description.get("senses", [])
    yield "roles", f"{len(roles)}: {' '.join(roles)}"
    if senses:
        yield "senses", f"{len(senses):,}: {', '.join(senses[:3])}, …"
    provenance = description.get("provenance") or {}
    for name, value in (provenance.get("data") or {}).items():
        yield "data", f"{name} {value}"
    yield from (
        (name, str(value)) for name, value in provenance.items() if isinstance(value, (str, int, float))
    )
    files = [path for path in directory.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files) / 1e6
    yield "size", f"{size:.1f} MB in {counted(len(files), 'file')}"
    checked = (directory / MANIFEST).exists()
    yield "manifest", "the files are as they were made" if checked else "none; damage would not be noticed"


def _family(directory: Path, description: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if (kind := description.get("kind")) != "network":
        yield "family", f"{kind} of {counted(len(description.get('experts', [])), 'expert')}"
        yield "finds", "arguments of given predicates"
        return
    config = description_config(description, directory)
    yield "family", _in_words(config)
    yield "finds", "predicates, senses, arguments" if config.tasks.any else "arguments of given predicates"


def _in_words(config: Config) -> str:
    output = "span selection" if config.output.kind == "span" else "CRF over BIO tags"
    encoder = "" if config.encoder.kind == "none" else f", {config.encoder.layers} LSTMs"
    once = "one pass a sentence" if config.encoder.predicate == "after" else "one pass a predicate"
    return f"{output} over {_EMBEDDERS[config.embedder.kind]}{encoder}, {once}"
