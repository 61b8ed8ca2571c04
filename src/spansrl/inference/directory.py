"""A model directory, the part that needs no torch: its description, its manifest, files whole or not at all.

It holds `config.json` (format, settings, roles, senses, provenance) and what the model is made of:
`weights.safetensors` for torch, the graphs of `runtime` for ONNX Runtime, or both; and in `embedder/` what
the embedder needs besides. `manifest.json`, where there is one, has the SHA-256 of every file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spansrl.errors import ConfigError, ModelError, SpansrlError
from spansrl.formats import storage
from spansrl.inference.config import Config, config_from_dict

FORMAT = 1  # of a model directory; raised when older code could not read it
DESCRIPTION = "config.json"
WEIGHTS = "weights.safetensors"
MANIFEST = "manifest.json"
WORDS = "words.json"  # in the embedder's directory


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file in one go; on a full disk the old file stays as it is."""
    try:
        storage.write_bytes(path, content)
    except OSError as error:
        raise not_saved(path, error) from error


def not_saved(path: Path, error: OSError) -> SpansrlError:
    """What to tell the user when the system refuses to write."""
    return SpansrlError(
        f"{path}: could not be saved ({error.strerror or error}); what was saved before is untouched: "
        "make room or put it right, then go on with --resume"
    )


def write_json(path: Path, content: Any, *, indent: int | None = 2) -> None:
    """Replace a JSON file in one go; without an indent it is one line, for what nobody reads."""
    write_bytes(path, (json.dumps(content, indent=indent, ensure_ascii=False) + "\n").encode())


def read_words(directory: Path) -> tuple[str, ...]:
    """The words that a model has vectors for, in their order."""
    words = read_json(directory / WORDS)
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ModelError(f"{directory / WORDS}: must be a list of words")
    return tuple(words)


def read_json(path: Path) -> Any:
    """A JSON file's content; a missing or broken file is a ModelError."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}; is this a model directory?") from error
    except ValueError as error:
        raise ModelError(f"{path}: not JSON: {error}") from error


def read_description(directory: Path, *, kind: str | None = None) -> dict[str, Any]:
    """The validated content of a model directory's config.json."""
    path = directory / DESCRIPTION
    if not directory.is_dir():
        raise ModelError(f"{directory}: no such model directory")
    content = read_json(path)
    if not isinstance(content, dict) or "format" not in content:
        raise ModelError(f"{path}: not the description of a spansrl model ('format' is missing)")
    if content["format"] != FORMAT:
        raise ModelError(
            f"{path}: format {content['format']!r} is not known to this version, which reads {FORMAT}"
        )
    known = {"format", "kind", "config", "roles", "senses", "provenance", "experts"}
    if unknown := sorted(set(content) - known):
        raise ModelError(f"{path}: unknown entries: {', '.join(unknown)}")
    if not content.get("roles"):
        raise ModelError(f"{path}: 'roles' must be a list of names")
    for key in ("roles", "senses"):
        _check_names(path, key, content.get(key, []))
    if kind is not None and content.get("kind") != kind:
        advice = "; an ensemble will not do here: give a single model" if "experts" in content else ""
        raise ModelError(f"{path}: 'kind' is {content.get('kind')!r}, expected {kind!r}{advice}")
    return content


def _check_names(path: Path, key: str, names: Any) -> None:
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise ModelError(f"{path}: '{key}' must be a list of names")
    if len(set(names)) != len(names):
        raise ModelError(f"{path}: '{key}' names a {key.removesuffix('s')} twice")


def description_config(description: Mapping[str, Any], directory: Path) -> Config:
    """The settings in a description."""
    config = description.get("config")
    if not isinstance(config, dict):
        raise ModelError(f"{directory / DESCRIPTION}: 'config' must be an object")
    try:
        return config_from_dict(config)
    except ConfigError as error:
        raise ModelError(f"{directory / DESCRIPTION}: {error}") from error


def write_manifest(directory: Path) -> None:
    """Write down the SHA-256 of every file in a model directory."""
    write_json(directory / MANIFEST, {"sha256": _hashes(directory)})


def check_manifest(directory: Path) -> None:
    """Refuse a directory whose files are not those of its manifest; without one, nothing can be checked."""
    path = directory / MANIFEST
    if not path.exists():
        return
    content = read_json(path)
    expected = content.get("sha256") if isinstance(content, dict) else None
    if not isinstance(expected, dict):
        raise ModelError(f"{path}: 'sha256' must be an object of file names and hashes; get the model again")
    found = _hashes(directory)
    for name in sorted(set(expected) | set(found)):
        if name not in found:
            raise ModelError(f"{directory / name}: is missing; get the model again")
        if name not in expected:
            raise ModelError(f"{directory / name}: is not in {MANIFEST}; remove it, or get the model again")
        if found[name] != expected[name]:
            raise ModelError(f"{directory / name}: damaged or changed (SHA-256 differs); get the model again")


def _hashes(directory: Path) -> dict[str, str]:
    """Without hidden files and Python's own: what systems and installers leave in a package's directories."""
    files = [path for path in sorted(directory.rglob("*")) if path.is_file() and path != directory / MANIFEST]
    names = {path: path.relative_to(directory).as_posix() for path in files}
    return {
        name: file_hash(path)
        for path, name in names.items()
        if not any(part.startswith((".", "__")) for part in name.split("/"))
    }


def file_hash(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
