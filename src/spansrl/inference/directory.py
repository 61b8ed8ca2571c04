"""A model directory, the part that needs no torch: its description, its manifest, atomic writes.

It holds `config.json` (format, settings, roles, senses, provenance) and what the model is made of:
`weights.safetensors` for torch, the graphs of `runtime` for ONNX Runtime, or both; and in `embedder/` what
the embedder needs besides. `manifest.json`, where there is one, has the SHA-256 of every file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spansrl.errors import ConfigError, ModelError, SpansrlError, shortened
from spansrl.formats import atomic
from spansrl.inference.config import ModelConfig, model_config
from spansrl.inventory import INVENTORIES
from spansrl.language import LANGUAGES

FORMAT = 1  # of a model directory; raised when older code could not read it
DESCRIPTION = "config.json"
WEIGHTS = "weights.safetensors"
ENCODER_GRAPH = "encoder.onnx"
ARGUMENTS_GRAPH = "arguments.onnx"
MANIFEST = "manifest.json"
LEFT_BEHIND = (".DS_Store", ".directory", ".gitattributes", ".gitignore", ".gitkeep", "__init__.py")
WORDS = "words.json"  # in the embedder's directory


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file atomically; on a full disk the old file is kept."""
    try:
        atomic.write_bytes(path, content)
    except OSError as error:
        raise not_saved(path, error) from error


def not_saved(path: Path, error: OSError) -> SpansrlError:
    """The error for a file that the system refuses to write."""
    return SpansrlError(
        f"{path}: could not be saved ({error.strerror or error}); what was saved before is untouched: "
        "fix the problem, for example by freeing disk space, then continue with --resume"
    )


def write_json(path: Path, content: Any, *, indent: int | None = 2) -> None:
    """Replace a JSON file atomically; without an indent it is one line without spaces."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(content, indent=indent, separators=separators, ensure_ascii=False)
    write_bytes(path, f"{text}\n".encode())


def read_words(directory: Path) -> tuple[str, ...]:
    """The words that a model has vectors for, in their order."""
    words = read_json(directory / WORDS)
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ModelError(f"{directory / WORDS}: must be a list of words")
    return tuple(words)


def read_json(path: Path) -> Any:
    """A JSON file's content; a missing or broken file is a ModelError."""
    if path.exists() and not path.is_file():  # a FIFO would block forever
        raise ModelError(f"{path}: not a regular file; is this a model directory?")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}; is this a model directory?") from error
    except RecursionError as error:
        raise ModelError(f"{path}: not JSON that can be read: nested too deeply") from error
    except ValueError as error:
        raise ModelError(f"{path}: not JSON: {error}") from error


@dataclass(frozen=True, slots=True)
class ModelDirectory:
    """A model directory, read and checked once: its description, without weights."""

    path: Path
    description: Mapping[str, Any]  # config.json
    config: ModelConfig | None  # of a single network; None for ensembles

    @classmethod
    def read(cls, source: Path | ModelDirectory, *, kind: str | None = None) -> ModelDirectory:
        """Check the manifest, if there is one, and validate config.json; `kind` is required where given."""
        if not isinstance(source, Path):
            return source if kind is None else source.of_kind(kind)
        if not source.is_dir():
            raise ModelError(f"{source}: no such model directory")
        check_manifest(source)
        description = _read_description(source / DESCRIPTION)
        is_network = description.get("kind") == "network"
        found = cls(source, description, _config(description, source) if is_network else None)
        return found if kind is None else found.of_kind(kind)

    @property
    def kind(self) -> str:
        """network, or the kind of ensemble."""
        return str(self.description.get("kind"))

    @property
    def language(self) -> str:
        """The name of the language, which older directories do not state."""
        return str(self.description.get("language", "english"))

    @property
    def inventory(self) -> str:
        """The name of the inventory of roles and senses, which older directories do not state."""
        return str(self.description.get("inventory", "propbank"))

    @property
    def roles(self) -> tuple[str, ...]:
        """The names of the roles, in the order of the scores."""
        return tuple(self.description["roles"])

    @property
    def senses(self) -> tuple[str, ...]:
        """The senses, in the order of their scores; none where the model has not learned them."""
        return tuple(self.description.get("senses", ()))

    @property
    def is_exported(self) -> bool:
        """Whether it has graphs for ONNX Runtime."""
        return (self.path / ENCODER_GRAPH).exists()

    @property
    def finds_predicates(self) -> bool:
        """Whether the model finds predicates by itself, or needs them given as the paper's models do."""
        return self.config is not None and self.config.tasks.any

    @property
    def network_config(self) -> ModelConfig:
        self.of_kind("network")
        assert self.config is not None
        return self.config

    def of_kind(self, kind: str) -> ModelDirectory:
        """This directory; raises ModelError if it holds another kind of model."""
        if self.kind != kind:
            advice = "; give a single model, not an ensemble" if "experts" in self.description else ""
            raise ModelError(f"{self.path / DESCRIPTION}: 'kind' is {self.kind!r}, expected {kind!r}{advice}")
        return self


def _read_description(path: Path) -> dict[str, Any]:
    content = read_json(path)
    if not isinstance(content, dict) or "format" not in content:
        raise ModelError(f"{path}: not the description of a spansrl model ('format' is missing)")
    if content["format"] != FORMAT:
        raise ModelError(f"{path}: unknown format {content['format']!r}; this version reads {FORMAT}")
    known = {"format", "kind", "config", "roles", "senses", "provenance", "experts", "language", "inventory"}
    if unknown := sorted(set(content) - known):
        raise ModelError(f"{path}: unknown entries: {', '.join(unknown)}")
    for key, table in (("language", LANGUAGES), ("inventory", INVENTORIES)):
        if str(content.get(key, next(iter(table)))) not in table:
            found = shortened(repr(content[key]))
            raise ModelError(f"{path}: unknown {key} {found}; known: {', '.join(table)}")
    if not content.get("roles"):
        raise ModelError(f"{path}: 'roles' must be a list of names")
    for key in ("roles", "senses"):
        _check_names(path, key, content.get(key, []))
    return content


def _check_names(path: Path, key: str, names: Any) -> None:
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise ModelError(f"{path}: '{key}' must be a list of names")
    if len(set(names)) != len(names):
        raise ModelError(f"{path}: '{key}' names a {key.removesuffix('s')} twice")


def _config(description: Mapping[str, Any], directory: Path) -> ModelConfig:
    config = description.get("config")
    if not isinstance(config, dict):
        raise ModelError(f"{directory / DESCRIPTION}: 'config' must be an object")
    try:
        return model_config(config)
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
    """Of all files but those that systems and installers leave in a package's directories."""
    files = [path for path in sorted(directory.rglob("*")) if path.is_file() and path != directory / MANIFEST]
    names = {path: path.relative_to(directory) for path in files}
    return {
        name.as_posix(): file_hash(path)
        for path, name in names.items()
        if name.name not in LEFT_BEHIND and not (name.parent.name == "__pycache__" and name.suffix == ".pyc")
    }


def file_hash(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
