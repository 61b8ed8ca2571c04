"""Protocol buffers' wire format, as far as rewriting ONNX files needs it (without the package `onnx`).

A message is a list of fields (number, wire type, value); a value is an integer, or bytes that may be a
message in turn. Fields that are not looked at are written back as they were read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

Field = tuple[int, int, Any]

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_SIZES = {_FIXED64: 8, _FIXED32: 4}


def fields(message: bytes) -> Iterator[Field]:
    """The fields of a message; raises ValueError if it is not one."""
    at, end = 0, len(message)
    while at < end:
        tag, at = _varint(message, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(message, at)
            yield number, wire, value
            continue
        size, at = _varint(message, at) if wire == _BYTES else (_SIZES.get(wire, end), at)
        if at + size > end:
            raise ValueError("not a message of protocol buffers")
        yield number, wire, message[at : at + size]
        at += size


def message(*content: Field) -> bytes:
    """The message that has these fields."""
    parts = []
    for number, wire, value in content:
        parts.append(_as_varint(number << 3 | wire))
        if wire == _VARINT:
            parts.append(_as_varint(value))
        else:
            parts += [_as_varint(len(value)), value] if wire == _BYTES else [value]
    return b"".join(parts)


def part(number: int, value: bytes) -> Field:
    """A field with bytes or a message."""
    return number, _BYTES, value


def text(number: int, value: str) -> Field:
    """A field with a string."""
    return part(number, value.encode())


def integer(number: int, value: int) -> Field:
    """A field with an integer, not below 0."""
    return number, _VARINT, value


def integers(values: Iterable[int | bytes]) -> list[int]:
    """The values of a repeated integer field, packed or not."""
    found: list[int] = []
    for value in values:
        if isinstance(value, int):
            found.append(value)
            continue
        at = 0
        while at < len(value):
            item, at = _varint(value, at)
            found.append(item)
    return found


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """An integer, and where it ends."""
    value = shift = 0
    while at < len(message) and shift < 64:
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
    raise ValueError("not a message of protocol buffers")


def _as_varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
