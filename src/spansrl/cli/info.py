"""`spansrl info`: the card of a model, or its settings if it has no card."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from spansrl.errors import counted
from spansrl.inference.config import ModelConfig
from spansrl.inference.directory import MANIFEST, ModelDirectory, read_json
from spansrl.inference.loading import find_model, installed_models
from spansrl.visualize.printable import visible

CARD, SCORES = "README.md", "scores.json"
EXAMPLES = """
\b
Examples:
  spansrl info                   # installed models, and the default one
  spansrl info large
  spansrl info runs/span-1
"""

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n\s*", re.DOTALL)
_SPEED = re.compile(r"\d[\d,.]* sentences (?:a|per)(?: CPU)? second")
_EMBEDDERS = {
    "words": "word vectors of its own",
    "vectors": "static word vectors",
    "elmo": "ELMo",
    "transformer": "a pretrained encoder",
}


@click.command(epilog=EXAMPLES)
@click.argument("model", required=False, type=click.Path())
def command(model: str | None) -> None:
    """Show the card of MODEL: an installed model's name or a model directory.

    Without MODEL, the installed models are listed, followed by the card of the default one. A model without a
    card is described by its settings. Where it has a manifest, its files are checked first.
    """
    directory = ModelDirectory.read(find_model(model))
    card = _card(directory.path)
    if card is not None:
        lines = _FRONT_MATTER.sub("", card).rstrip().splitlines()
    else:
        lines = [f"{name:<12}{value}" for name, value in facts(directory)]
    for line in [*(() if model else installed()), *lines]:
        click.echo(visible(line))


def installed() -> Iterator[str]:
    """One line per installed model, with the scores and the speed that it comes with."""
    yield "Installed models:"
    for name, path in installed_models().items():
        yield f"  {name:<10}{', '.join(_figures(path))}"
    yield ""


def _figures(path: Path) -> Iterator[str]:
    yield f"{_size(path)[0]:.0f} MB"
    if (path / SCORES).is_file():
        scores = read_json(path / SCORES)
        for key, words in (("arguments", "arguments"), ("found", "predicates"), ("end_to_end", "end to end")):
            if isinstance(found := scores.get(key), dict) and isinstance(found.get("f1"), (int, float)):
                yield f"{words} {found['f1']:.2f} F1"
    if speed := _SPEED.search(_card(path) or ""):
        yield speed[0]


def _size(path: Path) -> tuple[float, int]:
    """Megabytes and number of the files in a directory."""
    sizes = [file.stat().st_size for file in path.rglob("*") if file.is_file()]
    return sum(sizes) / 1e6, len(sizes)


def _card(path: Path) -> str | None:
    card = path / CARD
    return card.read_text(encoding="utf-8", errors="replace") if card.is_file() else None


def facts(model: ModelDirectory) -> Iterator[tuple[str, str]]:
    """Names and values from the description and the files of the directory."""
    directory = model.path
    yield "model", str(directory)
    if model.config is None:
        yield "family", f"{model.kind} of {counted(len(model.description.get('experts', [])), 'expert')}"
    else:
        yield "family", _in_words(model.config)
    finds = "predicates, senses, arguments" if model.finds_predicates else "arguments of given predicates"
    yield "finds", finds
    yield "roles", f"{len(model.roles)}: {' '.join(model.roles)}"
    if model.senses:
        yield "senses", f"{len(model.senses):,}: {', '.join(model.senses[:3])}, …"
    provenance = model.description.get("provenance") or {}
    for name, value in (provenance.get("data") or {}).items():
        yield "data", f"{name} {value}"
    yield from (
        (name, str(value)) for name, value in provenance.items() if isinstance(value, (str, int, float))
    )
    size, files = _size(directory)
    yield "size", f"{size:.1f} MB in {counted(files, 'file')}"
    checked = (directory / MANIFEST).exists()
    yield "manifest", "all files match it" if checked else "none, so damage would go unnoticed"


def _in_words(config: ModelConfig) -> str:
    output = f"{config.output.kind} output"
    layers = f", {config.encoder.kind} encoder with {counted(config.encoder.layers, 'layer')}"
    encoder = "" if config.encoder.kind == "none" else layers
    once = "one pass per sentence" if config.encoder.predicate == "after" else "one pass per predicate"
    return f"{output} over {_EMBEDDERS[config.embedder.kind]}{encoder}, {once}"
