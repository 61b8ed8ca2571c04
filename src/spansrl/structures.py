"""The values that everything else passes around: Span, Argument, Proposition, Sentence, Document.

All are immutable; spans are half-open token ranges everywhere inside the program, and only file formats that
count otherwise convert at their door. `to_dict` and `from_dict` are the wire format (one JSON object a
sentence), described by `formats/sentence.schema.json`; keys that it does not know are kept in `extra`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from spansrl.errors import DataError

Json = dict[str, Any]

PREDICATE_TYPES = ("verb", "noun", "adjective", "auxiliary")


class Span(NamedTuple):
    """Tokens start .. end-1 of one sentence. A tuple, so that it sorts, hashes and unpacks at full speed."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Argument:
    """One labelled span of a proposition.

    `prob` is the chance that role and span are both right; `meaning` is what the role stands for with this
    sense ("thing kept"), where PropBank frames are at hand.
    """

    role: str
    span: Span
    prob: float | None = None
    meaning: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def start(self) -> int:
        """First token of the span."""
        return self.span.start

    @property
    def end(self) -> int:
        """Token after the span's last."""
        return self.span.end

    def to_dict(self) -> Json:
        """The argument as the wire format has it."""
        out: Json = {"role": self.role, "start": self.span.start, "end": self.span.end}
        if self.prob is not None:
            out["prob"] = self.prob
        if self.meaning is not None:
            out["meaning"] = self.meaning
        out.update(self.extra)
        return out


@dataclass(frozen=True, slots=True)
class Proposition:
    """A predicate (token index `pred`) with its arguments.

    `v` holds the pieces of the verb where they are not just the token `pred`: the first is V, the others its
    C-V; empty says that the source marked no V at all; None (the usual case) means the token `pred` alone.
    Where predicates were found rather than given, `type` is one of PREDICATE_TYPES and `prob` the chance that
    the token is a predicate; `sense_prob` is the chance that the sense is right.
    """

    pred: int
    args: tuple[Argument, ...] = ()
    lemma: str | None = None
    sense: str | None = None
    v: tuple[Span, ...] | None = None
    type: str | None = None
    prob: float | None = None
    sense_prob: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def verb_spans(self) -> tuple[Span, ...]:
        """The pieces of V, whether or not they are written out."""
        return (Span(self.pred, self.pred + 1),) if self.v is None else self.v

    def to_dict(self) -> Json:
        """The proposition as the wire format has it."""
        out: Json = {"pred": self.pred}
        if self.lemma is not None:
            out["lemma"] = self.lemma
        if self.sense is not None:
            out["sense"] = self.sense
        if self.v is not None:
            out["v"] = [list(span) for span in self.v]
        for key in ("type", "prob", "sense_prob"):
            if (value := getattr(self, key)) is not None:
                out[key] = value
        out["args"] = [arg.to_dict() for arg in self.args]
        out.update(self.extra)
        return out


@dataclass(frozen=True, slots=True)
class Sentence:
    """Tokens with their propositions, and whatever else the source knew about them.

    `text` is the sentence as it was written and `offsets` are the tokens' places in it; `char_start` is where
    `text` begins in the document that it was cut from.
    """

    tokens: tuple[str, ...]
    props: tuple[Proposition, ...] = ()
    id: str | None = None
    pos: tuple[str, ...] | None = None
    lemmas: tuple[str, ...] | None = None
    text: str | None = None
    offsets: tuple[tuple[int, int], ...] | None = None
    char_start: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.tokens)

    def to_dict(self) -> Json:
        """The sentence as the wire format has it."""
        out: Json = {}
        if self.id is not None:
            out["id"] = self.id
        out["tokens"] = list(self.tokens)
        if self.pos is not None:
            out["pos"] = list(self.pos)
        if self.lemmas is not None:
            out["lemmas"] = list(self.lemmas)
        if self.text is not None:
            out["text"] = self.text
        if self.offsets is not None:
            out["offsets"] = [list(pair) for pair in self.offsets]
        if self.char_start is not None:
            out["char_start"] = self.char_start
        out["props"] = [prop.to_dict() for prop in self.props]
        out.update(self.extra)
        return out

    @classmethod
    def from_dict(cls, data: Any) -> Sentence:
        """A sentence from its wire form; raises DataError naming the field that is wrong."""
        if not isinstance(data, dict):
            raise DataError(f"expected a JSON object for a sentence, found {_kind(data)}")
        rest = dict(data)
        tokens = _strings(rest.pop("tokens", None), "tokens")
        size = len(tokens)
        props = rest.pop("props", [])
        if not isinstance(props, list):
            raise DataError(f"'props' must be a list, found {_kind(props)}")
        text = rest.pop("text", None)
        if text is not None and not isinstance(text, str):
            raise DataError(f"'text' must be a string, found {_kind(text)}")
        return cls(
            tokens=tokens,
            id=_optional_string(rest, "id", "id"),
            pos=_aligned(rest, "pos", size),
            lemmas=_aligned(rest, "lemmas", size),
            text=text,
            offsets=_offsets(rest.pop("offsets", None), size, text),
            char_start=_char_start(rest.pop("char_start", None)),
            props=tuple(_proposition(prop, f"props[{k}]", size) for k, prop in enumerate(props)),
            extra=rest,
        )


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its labelled sentences, in order; `text[sent.char_start:]` begins with `sent.text`."""

    text: str
    sentences: tuple[Sentence, ...] = ()

    @property
    def props(self) -> tuple[Proposition, ...]:
        """The propositions of all sentences; their indices count the tokens of their own sentence."""
        return tuple(prop for sent in self.sentences for prop in sent.props)

    def to_dict(self) -> Json:
        """The text and its sentences as the wire format has them."""
        return {"text": self.text, "sentences": [sent.to_dict() for sent in self.sentences]}


def _proposition(data: Any, where: str, size: int) -> Proposition:
    if not isinstance(data, dict):
        raise DataError(f"'{where}' must be an object, found {_kind(data)}")
    rest = dict(data)
    pred = _integer(rest.pop("pred", None), f"{where}.pred")
    if not 0 <= pred < size:
        raise DataError(f"'{where}.pred' is {pred}, outside the sentence of {_tokens(size)}; count from 0")
    args = rest.pop("args", [])
    if not isinstance(args, list):
        raise DataError(f"'{where}.args' must be a list, found {_kind(args)}")
    v = rest.pop("v", None)
    if v is not None and not isinstance(v, list):
        raise DataError(f"'{where}.v' must be a list of [start, end] pairs, found {_kind(v)}")
    return Proposition(
        pred=pred,
        lemma=_optional_string(rest, "lemma", f"{where}.lemma"),
        sense=_optional_string(rest, "sense", f"{where}.sense"),
        v=None if v is None else tuple(_pair_span(pair, f"{where}.v[{k}]", size) for k, pair in enumerate(v)),
        type=_optional_string(rest, "type", f"{where}.type"),
        prob=_probability(rest, "prob", f"{where}.prob"),
        sense_prob=_probability(rest, "sense_prob", f"{where}.sense_prob"),
        args=tuple(_argument(arg, f"{where}.args[{k}]", size) for k, arg in enumerate(args)),
        extra=rest,
    )


def _argument(data: Any, where: str, size: int) -> Argument:
    if not isinstance(data, dict):
        raise DataError(f"'{where}' must be an object, found {_kind(data)}")
    rest = dict(data)
    role = rest.pop("role", None)
    if not isinstance(role, str) or not role.strip():
        raise DataError(f"'{where}.role' must be a non-empty string, found {_kind(role)}")
    if role == "V":
        raise DataError(f"'{where}.role' is 'V', which is no argument; give the verb's spans in 'v'")
    start, end = rest.pop("start", None), rest.pop("end", None)
    span = _span(_integer(start, f"{where}.start"), _integer(end, f"{where}.end"), where, size)
    return Argument(
        role=role,
        span=span,
        prob=_probability(rest, "prob", f"{where}.prob"),
        meaning=_optional_string(rest, "meaning", f"{where}.meaning"),
        extra=rest,
    )


def _span(start: int, end: int, where: str, size: int) -> Span:
    if not 0 <= start < end <= size:
        found = f"'{where}' covers tokens {start} to {end}, which is no span of a sentence of {_tokens(size)}"
        raise DataError(f"{found}; 'end' is the token after the last, counted from 0")
    return Span(start, end)


def _pair_span(pair: Any, where: str, size: int) -> Span:
    if not isinstance(pair, list) or len(pair) != 2:
        raise DataError(f"'{where}' must be a pair [start, end], found {_kind(pair)}")
    return _span(_integer(pair[0], where), _integer(pair[1], where), where, size)


def _offsets(value: Any, size: int, text: str | None) -> tuple[tuple[int, int], ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != size:
        raise DataError(f"'offsets' must be a list of {size} pairs, one a token, found {_kind(value)}")
    limit = None if text is None else len(text)
    out = []
    for k, pair in enumerate(value):
        if not isinstance(pair, list) or len(pair) != 2:
            raise DataError(f"'offsets[{k}]' must be a pair [start, end], found {_kind(pair)}")
        start, end = (_integer(item, f"offsets[{k}]") for item in pair)
        if start < 0 or end < start or (limit is not None and end > limit):
            raise DataError(f"'offsets[{k}]' is [{start}, {end}], which is no range of 'text'")
        out.append((start, end))
    return tuple(out)


def _char_start(value: Any) -> int | None:
    if value is not None and _integer(value, "char_start") < 0:
        raise DataError(f"'char_start' is {value}; it counts characters from 0")
    return value  # type: ignore[no-any-return]  # checked just now


def _probability(rest: Json, key: str, where: str) -> float | None:
    value: Any = rest.pop(key, None)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if value is not None and not (is_number and 0 <= value <= 1):
        raise DataError(f"'{where}' must be a number from 0 to 1, found {value!r}")
    return value  # type: ignore[no-any-return]  # checked just now


def _strings(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise DataError(f"'{where}' must be a list of strings, found {_kind(value)}")
    return tuple(value)


def _aligned(rest: Json, key: str, size: int) -> tuple[str, ...] | None:
    value = rest.pop(key, None)
    if value is None:
        return None
    items = _strings(value, key)
    if len(items) != size:
        raise DataError(f"'{key}' must have one entry a token, found {len(items)} for {_tokens(size)}")
    return items


def _optional_string(rest: Json, key: str, where: str) -> str | None:
    value = rest.pop(key, None)
    if value is not None and not isinstance(value, str):
        raise DataError(f"'{where}' must be a string, found {_kind(value)}")
    return value


def _integer(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise DataError(f"'{where}' must be an integer, found {_kind(value)}")
    return value


def _tokens(size: int) -> str:
    return f"{size} token{'s' * (size != 1)}"


def _kind(value: Any) -> str:
    """What a JSON value is, in words for an error message; short values are quoted."""
    if value is None:
        return "nothing"
    names = {bool: "a boolean", str: "a string", list: "a list", dict: "an object"}
    name = names.get(type(value), "a number")
    return f"{name} ({shown})" if len(shown := repr(value)) <= 30 else name
