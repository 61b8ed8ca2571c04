"""Atomic writes: a file or a directory keeps its old content until the new content is complete."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from spansrl.errors import ConfigError


@contextlib.contextmanager
def atomic_write(*targets: Path, unique: bool = True) -> Iterator[Sequence[Path]]:
    """Yield a temporary path beside each target; at the end they replace the targets, or none does.

    With ``unique=False`` the temporary names are fixed, so that the next write removes what a crash left;
    use it only where a single process writes.
    """
    for target in targets:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "Is a directory", str(target))
    token = f".{secrets.token_hex(4)}" if unique else ""
    temporaries = [target.with_name(f".{target.name}{token}.tmp") for target in targets]
    try:
        yield temporaries
        for temporary, target in zip(temporaries, targets, strict=True):
            temporary.replace(target)
    finally:
        for temporary in temporaries:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file atomically and flush it to disk."""
    with atomic_write(path, unique=False) as (temporary,), temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def atomic_directory(out: Path) -> Iterator[Path]:
    """A directory to fill, which is renamed to `out` at the end, or removed after an error."""
    if out.exists():
        raise ConfigError(f"{out}: exists already; choose another --out, or remove it first")
    partial = out.absolute().with_name(f".{out.name}.{secrets.token_hex(4)}.tmp")
    partial.mkdir(parents=True)
    try:
        yield partial
        partial.rename(out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
