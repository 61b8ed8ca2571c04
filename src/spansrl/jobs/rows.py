"""A labeled document as rows: one per argument, flat, or one per sentence in the wire format.

Every row has every column, so that tools which infer a schema infer the same one from any shard. The names
are those of `Document.rows()`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from spansrl.checks import Json
from spansrl.structures import Argument, Document, Proposition, Sentence

Rows = Literal["argument", "sentence"]

# Column -> type; Parquet files have exactly this schema.
ARGUMENT_COLUMNS = {
    "id": str,
    "sentence": int,
    "sentence_start": int,
    "sentence_end": int,
    "pred": int,
    "word": str,
    "word_start": int,
    "word_end": int,
    "lemma": str,
    "sense": str,
    "type": str,
    "predicate_prob": float,
    "sense_prob": float,
    "role": str,
    "meaning": str,
    "text": str,
    "start": int,
    "end": int,
    "char_start": int,
    "char_end": int,
    "prob": float,
}


def argument_rows(document: Document, id: str) -> list[Json]:
    """Return one row per argument; a predicate or a document without arguments has one row too."""
    rows = []
    for number, sent in enumerate(document.sentences):
        begin = sent.char_start or 0
        end = begin + len(sent.text or "")
        for prop in sent.props:
            shared = (id, number, begin, end, *_predicate_values(sent, prop))
            rows += [
                dict(zip(ARGUMENT_COLUMNS, (*shared, *_argument_values(sent, arg)), strict=True))
                for arg in prop.args or [None]
            ]
    return rows or [dict.fromkeys(ARGUMENT_COLUMNS) | {"id": id}]


def _predicate_values(sent: Sentence, prop: Proposition) -> tuple[object, ...]:
    start, end = _chars(sent, prop.pred, prop.pred + 1)
    probs = (_number(prop.prob), _number(prop.sense_prob))
    return prop.pred, sent.text_of(prop), start, end, prop.lemma, prop.sense, prop.type, *probs


def _argument_values(sent: Sentence, arg: Argument | None) -> tuple[object, ...]:
    if arg is None:
        return (None,) * 8
    chars = _chars(sent, arg.start, arg.end)
    return arg.role, arg.meaning, sent.text_of(arg), arg.start, arg.end, *chars, _number(arg.prob)


def _chars(sent: Sentence, start: int, end: int) -> tuple[int | None, int | None]:
    """Return the character offsets of tokens in the document."""
    if sent.offsets is None:
        return None, None
    base = sent.char_start or 0
    return base + sent.offsets[start][0], base + sent.offsets[end - 1][1]


def _number(value: float | None) -> float | None:
    """Turn a probability that may be a NumPy number into a float."""
    return None if value is None else float(value)


def sentence_rows(document: Document, id: str) -> list[Json]:
    """Return one row per sentence in the wire format; a document without sentences has one row too."""
    sentences = document.sentences or (Sentence((), text="", offsets=(), char_start=0),)
    return list(_sentence_rows(sentences, id))


def _sentence_rows(sentences: tuple[Sentence, ...], id: str) -> Iterator[Json]:
    for number, sent in enumerate(sentences):
        yield {
            "id": id,
            "sentence": number,
            "tokens": list(sent.tokens),
            "text": sent.text,
            "offsets": [list(pair) for pair in sent.offsets or ()],
            "char_start": sent.char_start,
            "props": [_prop(prop) for prop in sent.props],
        }


def _prop(prop: Proposition) -> Json:
    return {
        "pred": prop.pred,
        "lemma": prop.lemma,
        "sense": prop.sense,
        "v": None if prop.v is None else [list(span) for span in prop.v],
        "type": prop.type,
        "prob": _number(prop.prob),
        "sense_prob": _number(prop.sense_prob),
        "args": [
            {
                "role": arg.role,
                "start": arg.start,
                "end": arg.end,
                "prob": _number(arg.prob),
                "meaning": arg.meaning,
            }
            for arg in prop.args
        ],
    }


ROWS = {"argument": argument_rows, "sentence": sentence_rows}
