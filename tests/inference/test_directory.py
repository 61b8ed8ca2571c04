"""Model directories: manifests that notice every change, descriptions that are checked to the last field."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from spansrl.errors import ModelError, SpansrlError
from spansrl.inference.directory import (
    DESCRIPTION,
    MANIFEST,
    ModelDirectory,
    check_manifest,
    read_json,
    write_bytes,
    write_json,
    write_manifest,
)

FILES = {
    "encoder.onnx": b"graph",
    "config.json": b"{}",
    "embedder/tokenizer.json": b"[1, 2]",
    "empty": b"",
    ".w.bin": b"data",
}


@pytest.fixture
def sealed(tmp_path) -> Path:
    directory = tmp_path / "model"
    for name, content in FILES.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(content)
    write_manifest(directory)
    return directory


def refusal(directory: Path) -> str:
    with pytest.raises(ModelError) as caught:
        check_manifest(directory)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_directory_as_it_was_written_is_accepted_also_elsewhere(sealed, tmp_path):
    check_manifest(sealed)
    check_manifest(Path(shutil.copytree(sealed, tmp_path / "copy")))
    write_manifest(sealed)  # does not count itself
    check_manifest(sealed)


@pytest.mark.parametrize("name", ["encoder.onnx", "config.json", "embedder/tokenizer.json"])
def test_every_flipped_bit_is_noticed(sealed, name):
    content = FILES[name]
    for place in range(len(content)):
        flipped = bytearray(content)
        flipped[place] ^= 1
        (sealed / name).write_bytes(flipped)
        assert (
            refusal(sealed) == f"{sealed / name}: damaged or changed (SHA-256 differs); get the model again"
        )
    (sealed / name).write_bytes(content)
    check_manifest(sealed)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_noticed(sealed, name):
    (sealed / name).unlink()
    assert refusal(sealed) == f"{sealed / name}: is missing; get the model again"


@pytest.mark.parametrize(
    "name",
    [
        "weights.safetensors",
        "embedder/words.json",
        "embedder/manifest.json",
        ".x.bin",
        "__w.bin",
        "__pycache__/w.bin",
        ".git/w.bin",
    ],
)
def test_an_added_file_is_noticed(sealed, name):
    (sealed / name).parent.mkdir(exist_ok=True)
    (sealed / name).write_bytes(b"?")
    assert refusal(sealed).startswith(f"{sealed / name}: is not in manifest.json; remove it")


@pytest.mark.parametrize("name", [".DS_Store", "__init__.py", "__pycache__/x.pyc", "embedder/.gitignore"])
def test_what_systems_and_installers_leave_is_no_damage(sealed, name):
    (sealed / name).parent.mkdir(exist_ok=True)
    (sealed / name).write_bytes(b"?")
    check_manifest(sealed)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"sha256": []}', '{"sha256": null}', "\xff"])
def test_a_damaged_manifest_is_refused(sealed, content):
    (sealed / MANIFEST).write_bytes(content.encode("latin-1"))
    assert refusal(sealed).startswith(str(sealed / MANIFEST))


def test_without_a_manifest_nothing_can_be_checked(sealed):
    (sealed / MANIFEST).unlink()
    (sealed / "encoder.onnx").write_bytes(b"?")
    check_manifest(sealed)


GOOD = {"format": 1, "kind": "network", "config": {}, "roles": ["A0", "A1"], "senses": ["go.01"]}
BAD = {
    "a list": ([], "'format' is missing"),
    "no format": ({"roles": ["A0"]}, "'format' is missing"),
    "another format": (GOOD | {"format": 2}, "unknown format 2"),
    "an unknown entry": (GOOD | {"more": 1}, "unknown entries: more"),
    "no roles": (GOOD | {"roles": []}, "'roles' must be a list"),
    "roles that are text": (GOOD | {"roles": "A0"}, "'roles' must be a list"),
    "a role that is a number": (GOOD | {"roles": ["A0", 1]}, "'roles' must be a list"),
    "a role twice": (GOOD | {"roles": ["A0", "A0"]}, "'roles' names a role twice"),
    "a sense twice": (GOOD | {"senses": ["a.01", "a.01"]}, "'senses' names a sense twice"),
    "a sense without a name": (GOOD | {"senses": [""]}, "'senses' must be a list"),
    "another kind": (GOOD | {"kind": "ensemble"}, "'kind' is 'ensemble', expected 'network'"),
    "an ensemble": (
        GOOD | {"kind": "product", "experts": ["a"]},
        "'kind' is 'product', expected 'network'; give a single model, not an ensemble",
    ),
}


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD.keys())
def test_a_description_that_is_wrong_is_refused_with_its_file(tmp_path, content, message):
    write_json(tmp_path / DESCRIPTION, content)
    with pytest.raises(ModelError, match=message) as caught:
        ModelDirectory.read(tmp_path, kind="network")
    assert str(caught.value).startswith(str(tmp_path / DESCRIPTION))
    assert "\n" not in str(caught.value)


def test_a_good_description_is_read(tmp_path):
    write_json(tmp_path / DESCRIPTION, GOOD)
    found = ModelDirectory.read(tmp_path, kind="network")
    assert found.description == GOOD
    assert (found.roles, found.senses) == (("A0", "A1"), ("go.01",))
    assert found.network_config.output.kind == "span"
    assert not found.finds_predicates
    assert ModelDirectory.read(found, kind="network") is found


@pytest.mark.parametrize("config", [None, [], {"output": {"kind": "tree"}}, {"more": {}}])
def test_settings_that_are_wrong_are_refused_with_their_file(tmp_path, config):
    write_json(tmp_path / DESCRIPTION, GOOD | {"config": config})
    with pytest.raises(ModelError, match=r"config\.json: "):
        ModelDirectory.read(tmp_path)


def test_what_is_no_model_directory_is_said_so(tmp_path):
    with pytest.raises(ModelError, match="no such model directory"):
        ModelDirectory.read(tmp_path / "nowhere")
    with pytest.raises(ModelError, match=r"cannot be read.*is this a model directory"):
        ModelDirectory.read(tmp_path)
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(ModelError, match="not JSON"):
        read_json(tmp_path / "x.json")


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    write_json(path, {"a": "é"})
    assert json.loads(path.read_text(encoding="utf-8")) == {"a": "é"}

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SpansrlError, match=r"could not be saved .No space left on device"):
        write_bytes(path, b"new")
    assert json.loads(path.read_text(encoding="utf-8")) == {"a": "é"}
    assert [item.name for item in tmp_path.iterdir()] == ["x.json"]
