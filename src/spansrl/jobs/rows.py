"""A labeled document as rows: one per argument or statement, flat, or one per sentence.

Every row has every column, so that tools which infer a schema infer the same one from any shard. The names
are those of `Document.rows()`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from spansrl.checks import Json
from spansrl.statements import STATEMENT_COLUMNS
from spansrl.structures import ROW_COLUMNS, Document, Sentence

Rows = Literal["argument", "sentence", "statements"]

# Column -> type; a list holds the type of its items. Parquet files have exactly these schemas.
_ARGUMENT = {
    "role": str,
    "start": int,
    "end": int,
    "prob": float,
    "meaning": str,
    "thematic": str,
    "function": str,
}
_PROPOSITION = {
    "pred": int,
    "lemma": str,
    "sense": str,
    "v": [[int]],
    "type": str,
    "prob": float,
    "sense_prob": float,
    "verbnet": [str],
    "framenet": str,
    "args": [_ARGUMENT],
}
SENTENCE_COLUMNS = {
    "id": str,
    "sentence": int,
    "tokens": [str],
    "text": str,
    "offsets": [[int]],
    "char_start": int,
    "props": [_PROPOSITION],
}


def argument_rows(document: Document, id: str) -> list[Json]:
    """Return one row per argument; a predicate or a document without arguments has one row too."""
    rows = [_filled(row | {"id": id}, ROW_COLUMNS) for row in document.rows()]
    return rows or [_filled({"id": id}, ROW_COLUMNS)]


def sentence_rows(document: Document, id: str) -> list[Json]:
    """Return one row per sentence in the wire format; a document without sentences has one row too."""
    sentences = document.sentences or (Sentence((), text="", offsets=(), char_start=0),)
    rows = ({**sent.to_dict(), "id": id, "sentence": number} for number, sent in enumerate(sentences))
    return [_filled(row, SENTENCE_COLUMNS) for row in rows]


def _filled(values: Any, kind: Any) -> Any:
    """A value with every column of its kind, None where it has none; probabilities may be NumPy's."""
    if values is None:
        return None
    if isinstance(kind, dict):
        return {column: _filled(values.get(column), own) for column, own in kind.items()}
    if isinstance(kind, list):
        return [_filled(value, kind[0]) for value in values]
    return kind(values)


def statement_rows(document: Document, id: str) -> list[Json]:
    """Return one row per statement; a document without statements has one row too."""
    rows = [_filled(row | {"id": id}, STATEMENT_COLUMNS) for row in document.statements().rows()]
    return rows or [_filled({"id": id}, STATEMENT_COLUMNS)]


ROWS = {"argument": argument_rows, "sentence": sentence_rows, "statements": statement_rows}
COLUMNS: Mapping[str, Mapping[str, Any]] = {
    "argument": ROW_COLUMNS,
    "sentence": SENTENCE_COLUMNS,
    "statements": STATEMENT_COLUMNS,
}
