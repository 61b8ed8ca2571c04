"""Every error that spansrl raises on purpose, and the wording that their messages share.

    SpansrlError                 base class of the errors below
    ├── DataError                an invalid value (a span outside its sentence, an empty role)
    │   └── FormatError          the same, in a file; has path and line
    ├── ConfigError              an unknown setting, or settings that contradict each other
    ├── ModelError               a model directory that cannot be loaded
    └── MissingExtraError        an optional dependency is not installed; names the command that installs it

SpansrlWarning is the only warning: there is a result, but perhaps not the expected one.

A message is one line: where, what was found, and what to do. Input that it repeats is shortened.
"""

from __future__ import annotations

_LONGEST_MESSAGE = 1500  # characters
_LONGEST_QUOTE = 200


class SpansrlError(Exception):
    """Base of all errors raised on purpose; the command line prints the message and exits with code 1."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(shortened(message, _LONGEST_MESSAGE)))


class SpansrlWarning(UserWarning):
    """A result that the user may not expect; the command line prints it to standard error."""


class DataError(SpansrlError):
    """A value is invalid."""


class FormatError(DataError):
    """A file is not in the expected format; the message starts with ``path:line:``."""

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
        # The same command works for an installed wheel and for a clone.
        super().__init__(f"{what} needs the extra '{extra}'; install it with: pip install 'spansrl[{extra}]'")
        self.extra = extra


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 token, 2 tokens, 1,000 tokens."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def shortened(text: str, most: int = _LONGEST_QUOTE) -> str:
    """Return a text of at most about `most` characters, with an ellipsis for the middle of a longer one."""
    return text if len(text) <= most else f"{text[: most * 2 // 3]} … {text[-most // 3 :]}"


def printable(text: str) -> str:
    """Return a text that can be encoded: lone surrogates, which JSON may have, are spelled out."""
    return text.encode("utf-8", "backslashreplace").decode()
