"""JSON Lines: one sentence per line, the format that holds everything; its schema is next to this file."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib import resources
from typing import Any

from spansrl.checks import Json
from spansrl.errors import DataError, FormatError, shortened
from spansrl.formats.text_files import Line
from spansrl.structures import Sentence

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_encode_ascii = json.JSONEncoder(ensure_ascii=True, allow_nan=False).encode


def read_jsonl(lines: Iterable[Line], path: str = "<input>") -> Iterator[Sentence]:
    """Yield the sentences of JSON Lines; blank lines are skipped."""
    for number, text in lines:
        if text and not text.isspace():
            yield _sentence(text, path, number)


def jsonl_lines(sentences: Iterable[Sentence], path: str = "<output>") -> Iterator[str]:
    """Yield the sentences as lines of JSON, without line ends."""
    for number, sent in enumerate(sentences, start=1):
        try:
            yield _line(sent)
        except (ValueError, TypeError) as error:
            message = f"sentence {number} cannot be written as JSON: {error}"
            raise FormatError(message, path=path) from error


def sentence_schema() -> Json:
    text = resources.files("spansrl.formats").joinpath("sentence.schema.json").read_text(encoding="utf-8")
    schema: Json = json.loads(text)
    return schema


def _sentence(text: str, path: str, number: int) -> Sentence:
    try:
        return Sentence.from_dict(decode_json(text))
    except json.JSONDecodeError as error:
        where = f"character {error.pos + 1}: {error.msg}"
        message = f"invalid JSON at {where}; every line must be one JSON object"
    except DataError as error:
        message = str(error)
    except RecursionError:
        message = "JSON nested too deeply"
    except ValueError as error:  # an integer of thousands of digits
        message = f"invalid JSON: {error}"
    raise FormatError(message, path=path, line=number)


def _line(sent: Sentence) -> str:
    data = sent.to_dict()
    line = _encode(data)
    try:
        line.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can hold as an escape only
        return _encode_ascii(data)
    return line


def _unique(pairs: list[tuple[str, Any]]) -> Json:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise DataError(f"duplicate key '{shortened(twice)}' in one object")
    return found


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise DataError(f"the number {shortened(text)} is too large")
    return value


def _no_constant(text: str) -> float:
    raise DataError(f"{text} is not a JSON number")


# Strict: DataError for keys that appear twice and for numbers that are not finite.
decode_json = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_finite, parse_constant=_no_constant
).decode
