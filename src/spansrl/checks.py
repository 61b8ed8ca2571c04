"""Checks of parsed JSON, field by field: return the value, or raise a DataError that names the field."""

from __future__ import annotations

from typing import Any

from spansrl.errors import DataError, counted, shortened

Json = dict[str, Any]


def pop_string(data: Json, key: str, where: str) -> str | None:
    """Take an optional string out of an object."""
    value = data.pop(key, None)
    if value is not None and not isinstance(value, str):
        raise DataError(f"'{where}' must be a string, found {kind(value)}")
    return value


def pop_probability(data: Json, key: str, where: str) -> float | None:
    """Take an optional number from 0 to 1 out of an object."""
    value: Any = data.pop(key, None)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if value is not None and not (is_number and 0 <= value <= 1):
        raise DataError(f"'{where}' must be a number from 0 to 1, found {shortened(repr(value))}")
    return value  # type: ignore[no-any-return]  # checked just now


def pop_list(data: Json, key: str, where: str) -> list[Any]:
    """Take a list out of an object; a missing one is empty."""
    value = data.pop(key, [])
    if not isinstance(value, list):
        raise DataError(f"'{where}' must be a list, found {kind(value)}")
    return value


def pop_aligned(data: Json, key: str, size: int) -> tuple[str, ...] | None:
    """Take an optional list with one string per token out of an object."""
    value = data.pop(key, None)
    if value is None:
        return None
    items = strings(value, key)
    if len(items) != size:
        raise DataError(
            f"'{key}' must have one entry per token, found {len(items)} for {counted(size, 'token')}"
        )
    return items


def strings(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise DataError(f"'{where}' must be a list of strings, found {kind(value)}")
    return tuple(value)


def integer(value: Any, where: str) -> int:
    """An integer; true and false are not integers."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise DataError(f"'{where}' must be an integer, found {kind(value)}")
    return value


def pair(value: Any, where: str) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2:
        raise DataError(f"'{where}' must be a pair [start, end], found {kind(value)}")
    return integer(value[0], where), integer(value[1], where)


def ranges(value: Any, size: int, text: str | None) -> tuple[tuple[int, int], ...] | None:
    """The offsets of `size` tokens in a text; None stays None."""
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != size:
        raise DataError(
            f"'offsets' must be a list of {counted(size, 'pair')}, one per token, found {kind(value)}"
        )
    out = []
    for k, item in enumerate(value):
        start, end = pair(item, f"offsets[{k}]")
        if start < 0 or end < start or (text is not None and end > len(text)):
            raise DataError(f"'offsets[{k}]' is [{start}, {end}], which is not a range of 'text'")
        out.append((start, end))
    return tuple(out)


def offset(value: Any, where: str) -> int | None:
    if value is not None and integer(value, where) < 0:
        raise DataError(f"'{where}' is {value}, but offsets count from 0")
    return value  # type: ignore[no-any-return]  # checked just now


def kind(value: Any) -> str:
    """Describe a JSON value for an error message; short values are quoted."""
    if value is None:
        return "nothing"
    names = {bool: "a boolean", str: "a string", list: "a list", dict: "an object"}
    name = names.get(type(value), "a number")
    return f"{name} ({shown})" if len(shown := repr(value)) <= 30 else name
