"""`spansrl info`: what a model is, by its card or, without one, by its description."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from spansrl.errors import counted
from spansrl.inference.config import ModelConfig
from spansrl.inference.directory import MANIFEST, ModelDirectory
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
    model = ModelDirectory.read(shipped_model() if directory is None else directory)
    card = model.path / CARD
    if card.is_file():
        text = _FRONT_MATTER.sub("", card.read_text(encoding="utf-8", errors="replace"))
        lines = text.rstrip().splitlines()
    else:
        lines = [f"{name:<12}{value}" for name, value in facts(model)]
    for line in lines:
        click.echo(visible(line))


def facts(model: ModelDirectory) -> Iterator[tuple[str, str]]:
    """Names and values from the description and the files of the directory."""
    directory = model.path
    yield "model", str(directory)
    yield from _family(model)
    yield "roles", f"{len(model.roles)}: {' '.join(model.roles)}"
    if model.senses:
        yield "senses", f"{len(model.senses):,}: {', '.join(model.senses[:3])}, …"
    provenance = model.description.get("provenance") or {}
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


def _family(model: ModelDirectory) -> Iterator[tuple[str, str]]:
    if model.config is None:
        yield "family", f"{model.kind} of {counted(len(model.description.get('experts', [])), 'expert')}"
    else:
        yield "family", _in_words(model.config)
    finds = "predicates, senses, arguments" if model.finds_predicates else "arguments of given predicates"
    yield "finds", finds


def _in_words(config: ModelConfig) -> str:
    output = f"{config.output.kind} output"
    layers = f", {config.encoder.kind} encoder with {counted(config.encoder.layers, 'layer')}"
    encoder = "" if config.encoder.kind == "none" else layers
    once = "one pass a sentence" if config.encoder.predicate == "after" else "one pass a predicate"
    return f"{output} over {_EMBEDDERS[config.embedder.kind]}{encoder}, {once}"
