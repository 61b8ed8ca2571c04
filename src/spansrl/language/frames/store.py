"""Where the registered frames lie: one file in the user's data directory, written whole, checked when read.

Its first line says the format, the version, where the frames came from and the SHA-256 of the second line,
which is the index as JSON.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spansrl.errors import DataError
from spansrl.formats import open_output
from spansrl.language.frames.index import FrameIndex

FILE_NAME = "frames.jsonl"
HOW_TO_REGISTER = "register them with: spansrl frames PATH, or spansrl frames --download"

_FORMAT = "spansrl-frames"
_VERSION = 1
_AGAIN = "register the frames again with: spansrl frames PATH"


@dataclass(frozen=True, slots=True)
class Registration:
    """What is registered: where it came from, and how much of it there is."""

    source: str
    commit: str | None  # where the files are those of a commit that we know
    files: int
    broken: int
    rolesets: int


def data_directory() -> Path:
    """The user's directory for our data: SPANSRL_HOME, or where the platform wants such things."""
    if home := os.environ.get("SPANSRL_HOME"):
        return Path(home).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local", "spansrl")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "spansrl"
    base = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".local" / "share") / "spansrl"


def index_path() -> Path:
    """The file that holds the registered frames, whether or not it is there."""
    return data_directory() / FILE_NAME


def save_frames(index: FrameIndex, registration: Registration) -> Path:
    """Write the index to the user's data directory, in place of the one that may be there."""
    path = index_path()
    body = json.dumps(index.to_dict(), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    header = {"format": _FORMAT, "version": _VERSION, "sha256": hashlib.sha256(body).hexdigest()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        advice = "give another directory in SPANSRL_HOME"
        raise DataError(f"{path.parent}: cannot be made: {error.strerror}; {advice}") from error
    with open_output(path) as output:
        output.write(json.dumps(header | asdict(registration), ensure_ascii=False).encode() + b"\n")
        output.write(body)
    return path


def load_frames() -> FrameIndex | None:
    """The registered frames, or None where there are none; raises DataError for a file that is damaged."""
    path = index_path()
    if (content := _content(path)) is None:
        return None
    header, body = _header(content[0], path), content[1]
    if hashlib.sha256(body).hexdigest() != header["sha256"]:
        raise DataError(f"{path}: damaged, its SHA-256 is not what it should be; {_AGAIN}")
    try:
        return FrameIndex.from_dict(json.loads(body))
    except (ValueError, DataError) as error:
        raise DataError(f"{path}: {error}; {_AGAIN}") from error


def registered() -> Registration | None:
    """What is registered, without reading all of it."""
    path = index_path()
    if (content := _content(path, whole=False)) is None:
        return None
    header = _header(content[0], path)
    return Registration(**{name: header[name] for name in Registration.__dataclass_fields__})


def remove_frames() -> bool:
    """Forget the registered frames; says whether there were any."""
    path = index_path()
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise DataError(f"{path}: cannot be removed: {error.strerror}") from error
    return True


def _content(path: Path, *, whole: bool = True) -> tuple[bytes, bytes] | None:
    """The first line of the file and, if that is wanted, the rest; None where there is no file."""
    try:
        with path.open("rb") as file:
            return file.readline(), file.read() if whole else b""
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}; {_AGAIN}") from error


def _header(line: bytes, path: Path) -> dict[str, Any]:
    try:
        header = json.loads(line)
    except ValueError as error:
        raise DataError(f"{path}: damaged, its first line is no JSON; {_AGAIN}") from error
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise DataError(f"{path}: no index of frames; {_AGAIN}")
    if header.get("version") != _VERSION:
        found = f"written in version {header.get('version')!r}, this spansrl reads version {_VERSION}"
        raise DataError(f"{path}: {found}; {_AGAIN}")
    if missing := {"sha256", *Registration.__dataclass_fields__}.difference(header):
        raise DataError(f"{path}: damaged, '{min(missing)}' is missing; {_AGAIN}")
    return header
