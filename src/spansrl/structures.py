"""The values that everything else passes around: Span, Argument, Proposition, Sentence, Document.

All are immutable; spans are half-open token ranges everywhere inside the program, and only file formats that
count otherwise convert at their door. `to_dict` and `from_dict` are the wire format (one JSON object a
sentence), described by `formats/sentence.schema.json`; keys that it does not know are kept in `extra`,
which counts where values are compared, and not where they are hashed.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from spansrl import checks
from spansrl.checks import Json
from spansrl.errors import DataError

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
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)

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
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)

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
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)

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
            raise DataError(f"expected a JSON object for a sentence, found {checks.kind(data)}")
        rest = dict(data)
        tokens = checks.strings(rest.pop("tokens", None), "tokens")
        size = len(tokens)
        props = checks.taken_list(rest, "props", "props")
        text = checks.taken_string(rest, "text", "text")
        return cls(
            tokens=tokens,
            id=checks.taken_string(rest, "id", "id"),
            pos=checks.taken_aligned(rest, "pos", size),
            lemmas=checks.taken_aligned(rest, "lemmas", size),
            text=text,
            offsets=checks.ranges(rest.pop("offsets", None), size, text),
            char_start=checks.offset(rest.pop("char_start", None), "char_start"),
            props=tuple(_proposition(prop, f"props[{k}]", size) for k, prop in enumerate(props)),
            extra=rest,
        )

    def text_of(self, part: Argument | Proposition | tuple[int, int]) -> str:
        """The words of an argument, of a predicate or of a span, as they were written where `text` is known.

        The pieces of a predicate are joined by spaces ("picked up" of "picked it up").
        """
        if isinstance(part, Proposition):
            return " ".join(map(self.text_of, part.verb_spans or [Span(part.pred, part.pred + 1)]))
        start, end = part.span if isinstance(part, Argument) else part
        _span(start, end, "span", len(self))
        if self.text is None or self.offsets is None:
            return " ".join(self.tokens[start:end])
        return self.text[self.offsets[start][0] : self.offsets[end - 1][1]]

    def find(self, word: str) -> tuple[Proposition, ...]:
        """The propositions whose predicate is this word, lemma or sense ("kept", "keep", "keep.01")."""
        wanted = word.casefold()
        return tuple(prop for prop in self.props if wanted in self._names(prop))

    def _names(self, prop: Proposition) -> set[str]:
        lemma = None if self.lemmas is None else self.lemmas[prop.pred]
        stem = None if prop.sense is None else prop.sense.rpartition(".")[0]
        names = (self.tokens[prop.pred], prop.lemma, lemma, prop.sense, stem)
        return {name.casefold() for name in names if name}

    def rows(self, *, number: int = 0) -> list[Json]:
        """The propositions as flat dictionaries, one an argument, for pandas, polars or csv.DictWriter.

        A predicate without arguments has one too, with None for all that is about an argument. Places of
        characters count from the beginning of the document where `char_start` is known, else of `text`.
        """
        return _rows(self, number, self.char_start or 0)

    def _repr_html_(self) -> str:
        return _pictures([self])


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its labelled sentences, in order; `text[sent.char_start:]` begins with `sent.text`.

    `id` is what its owner calls it; the server gives back the one that it was sent.
    """

    text: str
    sentences: tuple[Sentence, ...] = ()
    id: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)

    @property
    def props(self) -> tuple[Proposition, ...]:
        """The propositions of all sentences; their indices count the tokens of their own sentence."""
        return tuple(prop for sent in self.sentences for prop in sent.props)

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.sentences)

    def to_dict(self) -> Json:
        """The text and its sentences as the wire format has them."""
        out: Json = {} if self.id is None else {"id": self.id}
        out["text"] = self.text
        out["sentences"] = [sent.to_dict() for sent in self.sentences]
        out.update(self.extra)
        return out

    @classmethod
    def from_dict(cls, data: Any) -> Document:
        """A document from its wire form, such as a server's result; raises DataError naming a wrong field."""
        if not isinstance(data, dict):
            raise DataError(f"expected a JSON object for a document, found {checks.kind(data)}")
        rest = dict(data)
        text = checks.taken_string(rest, "text", "text")
        if text is None or "sentences" not in rest:
            missing = "text" if text is None else "sentences"
            advice = "a sentence that is no part of a document is read by Sentence.from_dict"
            raise DataError(f"a document must have '{missing}', found none; {advice}")
        sentences = checks.taken_list(rest, "sentences", "sentences")
        return cls(
            text=text,
            sentences=tuple(_placed_sentence(sent, k, text) for k, sent in enumerate(sentences)),
            id=checks.taken_string(rest, "id", "id"),
            extra=rest,
        )

    def find(self, word: str) -> tuple[tuple[Sentence, Proposition], ...]:
        """The propositions whose predicate is this word, lemma or sense, each with its sentence."""
        return tuple((sent, prop) for sent in self.sentences for prop in sent.find(word))

    def rows(self) -> list[Json]:
        """The rows of all sentences; see Sentence.rows. Sentences count from 0."""
        numbered = enumerate(self.sentences)
        return [row for number, sent in numbered for row in _rows(sent, number, sent.char_start)]

    def _repr_html_(self) -> str:
        return _pictures(self.sentences)


def _pictures(sentences: Sequence[Sentence]) -> str:
    """What a notebook shows.

    Notebooks ask the value itself, and values stand below the pictures that are made of them. So the module
    is called by its name, when somebody looks, and importing the values imports no pictures.
    """
    return str(importlib.import_module("spansrl.visualize").fragment_html(sentences))


def _rows(sent: Sentence, number: int, base: int | None) -> list[Json]:
    """Rows of a sentence; `base` is where its text begins in the document, None where nobody knows."""
    rows = []
    for prop in sent.props:
        predicate = {
            "sentence": number,
            "predicate": prop.pred,
            "word": sent.text_of(prop),
            "lemma": prop.lemma,
            "sense": prop.sense,
            "type": prop.type,
            "predicate_prob": _plain(prop.prob),
            "sense_prob": _plain(prop.sense_prob),
        }
        rows += [predicate | _argument_columns(sent, arg, base) for arg in prop.args or [None]]
    return rows


def _argument_columns(sent: Sentence, arg: Argument | None, base: int | None) -> Json:
    if arg is None:
        return dict.fromkeys(_ARGUMENT_COLUMNS)
    char_start = char_end = None
    if sent.offsets is not None and base is not None:
        char_start, char_end = base + sent.offsets[arg.start][0], base + sent.offsets[arg.end - 1][1]
    text, prob = sent.text_of(arg), _plain(arg.prob)
    values = (arg.role, text, arg.start, arg.end, char_start, char_end, prob, arg.meaning)
    return dict(zip(_ARGUMENT_COLUMNS, values, strict=True))


def _plain(prob: float | None) -> float | None:
    """A probability that may be of NumPy as one that data frames take."""
    return None if prob is None else float(prob)


_ARGUMENT_COLUMNS = ("role", "text", "start", "end", "char_start", "char_end", "prob", "meaning")


def _placed_sentence(data: Any, number: int, text: str) -> Sentence:
    try:
        sent = Sentence.from_dict(data)
    except DataError as error:
        raise DataError(f"sentences[{number}]: {error}") from error
    where = sent.char_start
    if where is not None and sent.text is not None and not text.startswith(sent.text, where):
        message = f"its text does not stand at 'char_start' ({where}) of the document's"
        raise DataError(f"sentences[{number}]: {message}")
    return sent


def _proposition(data: Any, where: str, size: int) -> Proposition:
    if not isinstance(data, dict):
        raise DataError(f"'{where}' must be an object, found {checks.kind(data)}")
    rest = dict(data)
    pred = checks.integer(rest.pop("pred", None), f"{where}.pred")
    if not 0 <= pred < size:
        raise DataError(
            f"'{where}.pred' is {pred}, outside the sentence of {checks.counted(size, 'token')}; count from 0"
        )
    args = checks.taken_list(rest, "args", f"{where}.args")
    v = rest.pop("v", None)
    if v is not None and not isinstance(v, list):
        raise DataError(f"'{where}.v' must be a list of [start, end] pairs, found {checks.kind(v)}")
    return Proposition(
        pred=pred,
        lemma=checks.taken_string(rest, "lemma", f"{where}.lemma"),
        sense=checks.taken_string(rest, "sense", f"{where}.sense"),
        v=None if v is None else tuple(_verb_span(item, f"{where}.v[{k}]", size) for k, item in enumerate(v)),
        type=checks.taken_string(rest, "type", f"{where}.type"),
        prob=checks.taken_probability(rest, "prob", f"{where}.prob"),
        sense_prob=checks.taken_probability(rest, "sense_prob", f"{where}.sense_prob"),
        args=tuple(_argument(arg, f"{where}.args[{k}]", size) for k, arg in enumerate(args)),
        extra=rest,
    )


def _argument(data: Any, where: str, size: int) -> Argument:
    if not isinstance(data, dict):
        raise DataError(f"'{where}' must be an object, found {checks.kind(data)}")
    rest = dict(data)
    role = rest.pop("role", None)
    if not isinstance(role, str) or not role.strip():
        raise DataError(f"'{where}.role' must be a non-empty string, found {checks.kind(role)}")
    if role == "V":
        raise DataError(f"'{where}.role' is 'V', which is no argument; give the verb's spans in 'v'")
    start = checks.integer(rest.pop("start", None), f"{where}.start")
    end = checks.integer(rest.pop("end", None), f"{where}.end")
    return Argument(
        role=role,
        span=_span(start, end, where, size),
        prob=checks.taken_probability(rest, "prob", f"{where}.prob"),
        meaning=checks.taken_string(rest, "meaning", f"{where}.meaning"),
        extra=rest,
    )


def _verb_span(item: Any, where: str, size: int) -> Span:
    return _span(*checks.pair(item, where), where, size)


def _span(start: int, end: int, where: str, size: int) -> Span:
    if not 0 <= start < end <= size:
        found = f"'{where}' covers tokens {start} to {end}, which is no span of a sentence"
        raise DataError(
            f"{found} of {checks.counted(size, 'token')}; 'end' is the token after the last, counted from 0"
        )
    return Span(start, end)
