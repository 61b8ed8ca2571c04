"""The lemmas and senses of a model's training data, in `lexicon.json`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spansrl.errors import ModelError
from spansrl.inference.directory import read_json
from spansrl.inventory.senses import SenseInventory
from spansrl.language import Lemmatizer
from spansrl.structures import Sentence

LEXICON = "lexicon.json"


def learn_lexicon(
    sentences: Sequence[Sentence], partial: Sequence[Sentence] = (), known: SenseInventory | None = None
) -> SenseInventory:
    """The senses of a training set and of partially labeled sentences, with a lemmatizer of the former.

    They are added to those of an inventory that is `known` already.
    """
    lemmatizer = Lemmatizer.of(sentences)
    if known is not None:
        lemmatizer = known.lemmatizer.with_exceptions(lemmatizer)
    return SenseInventory.of([*sentences, *partial], lemmatizer, known)


def lexicon_to_dict(inventory: SenseInventory) -> dict[str, Any]:
    return {"lemmas": inventory.lemmatizer.to_dict(), "senses": inventory.to_dict()}


def read_lexicon(directory: Path, senses: Sequence[str]) -> SenseInventory:
    """Read the lexicon of a model directory, which must have the model's senses."""
    path = directory / LEXICON
    content = read_json(path)
    if not isinstance(content, dict):
        raise ModelError(f"{path}: expected an object with 'lemmas' and 'senses'; get the model again")
    try:
        lemmatizer = Lemmatizer.from_dict(content.get("lemmas"))
        inventory = SenseInventory.from_dict(content.get("senses"), lemmatizer)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error
    if inventory.senses != tuple(senses):
        raise ModelError(f"{path}: its senses are not those of the model; get the model again")
    return inventory
