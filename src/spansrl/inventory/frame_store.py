"""The frames on disk: the index in the package, and the one that a user may have installed, which wins.

The first line of an index file has the format, the version, the source and the SHA-256 of the second line,
which is the index as JSON. The index in the package is compressed; `experiments/ship_frames.py` writes it.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import sys
import zlib
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from spansrl.errors import DataError
from spansrl.formats import open_output
from spansrl.inventory.frame_index import FrameIndex

FILE_NAME = "frames.jsonl"

_FORMAT = "spansrl-frames"
_VERSION = 1
_AGAIN = "install the frames again with: spansrl frames PATH"


@dataclass(frozen=True, slots=True)
class Registration:
    """Where an index came from, and its size."""

    source: str
    commit: str | None  # if the files are those of a known commit
    files: int
    broken: int
    rolesets: int


def data_directory() -> Path:
    """Return the user's data directory for spansrl: SPANSRL_HOME, or the platform's usual one."""
    if home := os.environ.get("SPANSRL_HOME"):
        return Path(home).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local", "spansrl")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "spansrl"
    base = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".local" / "share") / "spansrl"


def index_path() -> Path:
    return data_directory() / FILE_NAME


def shipped_path() -> Path:
    return Path(str(files("spansrl"))) / "assets" / "frames" / "frames.jsonl.gz"


def save_frames(index: FrameIndex, registration: Registration) -> Path:
    """Write the index to the user's data directory; it replaces an installed one."""
    path = index_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        advice = "give another directory in SPANSRL_HOME"
        raise DataError(f"{path.parent}: cannot be made: {error.strerror}; {advice}") from error
    with open_output(path) as output:
        output.write(index_content(index, registration))
    return path


def index_content(index: FrameIndex, registration: Registration) -> bytes:
    body = json.dumps(index.to_dict(), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    header = {"format": _FORMAT, "version": _VERSION, "sha256": hashlib.sha256(body).hexdigest()}
    return json.dumps(header | asdict(registration), ensure_ascii=False).encode() + b"\n" + body


def load_frames() -> FrameIndex:
    """Load the frames in the package and those installed over them; raises DataError for a damaged file."""
    found = read_index(shipped_path())
    return read_index(index_path()).over(found) if index_path().exists() else found


def read_index(path: Path) -> FrameIndex:
    """Read one index file."""
    first, body = _content(path)
    if hashlib.sha256(body).hexdigest() != _header(first, path)["sha256"]:
        raise DataError(f"{path}: damaged, its SHA-256 is not what it should be; {_AGAIN}")
    return FrameIndex.from_dict(json.loads(body))


def registered() -> Registration | None:
    """Describe the installed frames, without reading all of them; None if only those in the package exist."""
    return _registration(index_path()) if index_path().exists() else None


def shipped() -> Registration:
    return _registration(shipped_path())


def remove_frames() -> bool:
    """Remove the installed frames; returns whether there were any."""
    path = index_path()
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise DataError(f"{path}: cannot be removed: {error.strerror}") from error
    return True


def _registration(path: Path) -> Registration:
    header = _header(_content(path, whole=False)[0], path)
    return Registration(**{name: header[name] for name in Registration.__dataclass_fields__})


def _content(path: Path, *, whole: bool = True) -> tuple[bytes, bytes]:
    """Return the first line of the file and, if requested, the rest."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            return file.readline(), file.read() if whole else b""
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path}: cannot be read: {reason}; {_AGAIN}") from error


def _header(line: bytes, path: Path) -> dict[str, Any]:
    try:
        header = json.loads(line)
        known = (header["format"], header["version"]) == (_FORMAT, _VERSION)
    except (ValueError, TypeError, KeyError):
        known = False
    if not known or not {"sha256", *Registration.__dataclass_fields__}.issubset(header):
        raise DataError(f"{path}: damaged, or not an index of frames in version {_VERSION}; {_AGAIN}")
    return dict(header)
