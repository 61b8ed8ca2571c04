"""Model directories whose manifest is right and whose content is not: one clear error, at once."""

from __future__ import annotations

import base64
import json
import os
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest

from spansrl.errors import ModelError
from spansrl.inference.directory import DESCRIPTION, ENCODER_GRAPH, MANIFEST, write_manifest
from spansrl.inference.loading import load, shipped_model

TOKENIZER = "embedder/tokenizer.json"


@pytest.fixture
def model(tmp_path) -> Path:
    """A copy of the shipped model; its files are links until they are replaced."""
    return Path(shutil.copytree(shipped_model(), tmp_path / "model", copy_function=os.link))


def change(model: Path, name: str, edit) -> None:
    """Replace a file of JSON, and write the manifest that fits."""
    content = json.loads((model / name).read_text())
    edit(content)
    (model / name).unlink()
    (model / name).write_text(json.dumps(content))
    (model / MANIFEST).unlink()
    write_manifest(model)


def refusal(model: Path) -> str:
    with pytest.raises(ModelError) as caught:
        load(model, threads=1)("Ann left.")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def charsmap(content: bytes) -> dict:
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(content).decode()}


NORMALIZERS = {
    "an empty charsmap": charsmap(b""),
    "a charsmap of random bytes": charsmap(b"\xff" * 64),
    "a charsmap that promises 4 GB": charsmap(struct.pack("<I", 0xFFFFFFF0) + bytes(64)),
    "a charsmap in a sequence": {"type": "Sequence", "normalizers": [charsmap(b"\1\0\0")]},
    "a charsmap that is no base64": {"type": "Precompiled", "precompiled_charsmap": "?"},
    "a normalizer that multiplies text": {
        "type": "Sequence",
        "normalizers": [{"type": "Replace", "pattern": {"String": "e"}, "content": "e" * 10_000}] * 4,
    },
    "a prefix without end": {"type": "Prepend", "prepend": "x" * 1_000_000},
}


@pytest.mark.parametrize("name", NORMALIZERS)
def test_a_normalizer_that_harms_is_refused_before_it_is_made(model, name, capfd):
    change(model, TOKENIZER, lambda content: content.update(normalizer=NORMALIZERS[name]))
    assert "tokenizer.json" in refusal(model)
    assert "panicked" not in capfd.readouterr().err


VOCABULARIES = {
    "an empty vocabulary": {"type": "WordPiece", "vocab": {}},
    "no unknown piece": {"type": "WordPiece", "vocab": {"a": 0}, "unk_token": "[UNK]"},
    "a Unigram model without an unknown piece": {"type": "Unigram", "unk_id": None, "vocab": [["a", -1.0]]},
    "ids beyond the embeddings": {"type": "WordPiece", "vocab": {"[UNK]": 10_000_000}},
}


@pytest.mark.parametrize("name", VOCABULARIES)
def test_a_vocabulary_that_labels_nothing_is_refused(model, name):
    def edit(content):
        content["model"] = {**content["model"], **VOCABULARIES[name]}
        content["added_tokens"] = []

    change(model, TOKENIZER, edit)
    refusal(model)


def test_roles_that_the_network_does_not_score_are_refused(model):
    def edit(content):
        content["roles"] += [f"ARGM-X{k}" for k in range(200_000)]

    change(model, DESCRIPTION, edit)
    assert "roles" in refusal(model)


def test_senses_that_the_network_does_not_score_are_refused(model):
    change(model, DESCRIPTION, lambda content: content["senses"].append("zzz.99"))
    refusal(model)


def test_a_network_of_values_that_are_not_numbers_is_refused(model):
    onnx = pytest.importorskip("onnx")
    proto = onnx.load(model / ENCODER_GRAPH)
    tensors = [tensor for tensor in proto.graph.initializer if tensor.data_type == onnx.TensorProto.FLOAT]
    largest = max(tensors, key=lambda tensor: len(tensor.raw_data))
    largest.raw_data = np.full(len(largest.raw_data) // 4, np.nan, np.float32).tobytes()
    (model / ENCODER_GRAPH).unlink()
    onnx.save(proto, model / ENCODER_GRAPH)
    (model / MANIFEST).unlink()
    write_manifest(model)
    assert "not numbers" in refusal(model)
