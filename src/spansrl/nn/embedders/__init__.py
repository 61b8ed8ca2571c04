"""Embedders: each is one file, and one line in this table."""

from collections.abc import Sequence
from pathlib import Path

from spansrl.inference.config import EmbedderConfig
from spansrl.nn.embedders import elmo_embedder, transformer, vectors, words
from spansrl.nn.embedders.base import Embedder as Embedder
from spansrl.nn.embedders.base import EmbedderKind

# embedder.kind -> module with `build` and `load`
EMBEDDERS: dict[str, EmbedderKind] = {
    "words": words,
    "vectors": vectors,
    "elmo": elmo_embedder,
    "transformer": transformer,
}


def build_embedder(config: EmbedderConfig, sentences: Sequence[Sequence[str]]) -> Embedder:
    """A new embedder for training on the sentences."""
    return EMBEDDERS[config.kind].build(config, sentences)


def load_embedder(config: EmbedderConfig, files: Path) -> Embedder:
    """The embedder of a trained model, from its files; its parameters are loaded by the caller."""
    return EMBEDDERS[config.kind].load(config, files)
