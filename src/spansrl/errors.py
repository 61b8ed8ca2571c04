"""Every error that spansrl raises on purpose.

    SpansrlError                 anything a caller may want to catch
    ├── DataError                a value is not what it must be (a span outside its sentence, an empty role)
    │   └── FormatError          the same, in a file: knows path and line
    ├── ConfigError              a setting that does not exist, or settings that do not fit together
    ├── ModelError               a model directory that cannot be loaded
    └── MissingExtraError        an optional dependency is not installed; says the install line

and the one warning, SpansrlWarning: the answer is there, but not quite what was asked for.

A message says where, what was found, and what to do next, in one line.
"""

from __future__ import annotations


class SpansrlError(Exception):
    """Base of all errors raised on purpose; the command line prints its message and exits with 1."""


class SpansrlWarning(UserWarning):
    """Something was done that the user may not expect; the command line shows it on standard error."""


class DataError(SpansrlError):
    """A value is not what it must be."""


class FormatError(DataError):
    """A file is not in the format it should be in; the message starts with ``path:line:``."""

    def __init__(self, message: str, *, path: str = "<input>", line: int | None = None) -> None:
        where = path if line is None else f"{path}:{line}"
        super().__init__(f"{where}: {message}")
        self.path = path
        self.line = line


class ConfigError(SpansrlError):
    """A setting that does not exist, has a wrong type, or contradicts another one."""


class ModelError(SpansrlError):
    """A model directory that is missing a part, is damaged, or was made by an unknown version."""


class MissingExtraError(SpansrlError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional part of spansrl; run: pip install 'spansrl[{extra}]'")
        self.extra = extra
