"""The values that everything else passes around: Span, Argument, Proposition, Sentence, Document.

All are immutable, and spans are half-open token ranges. `to_dict` and `from_dict` are the wire format (one
JSON object per sentence), described by `formats/sentence.schema.json`. Unknown keys are kept in `extra`,
which counts for equality and not for hashing.

A Sentence binds its propositions and arguments to its words, so that `arg.text` needs no sentence. The
binding is not part of the value: it does not count for equality and is not written.
"""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from spansrl import checks
from spansrl.checks import Json
from spansrl.errors import DataError, MissingExtraError, counted, shortened

if TYPE_CHECKING:
    import pandas

    from spansrl.statements import Statement, Statements

_REPR = 40  # characters of a text in a repr

PREDICATE_TYPES = ("verb", "noun", "adjective", "auxiliary")

# Column of `rows` -> type, in every interface: the sentence's, the predicate's, then the argument's.
ROW_COLUMNS: dict[str, type] = {
    "id": str,
    "sentence": int,
    "sentence_text": str,
    "sentence_start": int,
    "sentence_end": int,
    "pred": int,
    "word": str,
    "word_start": int,
    "word_end": int,
    "lemma": str,
    "predicate_lemma": str,
    "sense": str,
    "type": str,
    "predicate_prob": float,
    "sense_prob": float,
    "verbnet": str,
    "framenet": str,
    "role": str,
    "meaning": str,
    "thematic": str,
    "function": str,
    "text": str,
    "start": int,
    "end": int,
    "char_start": int,
    "char_end": int,
    "prob": float,
}


class Span(NamedTuple):
    """Tokens start .. end-1 of one sentence. A tuple, so that it sorts, hashes and unpacks at full speed."""

    start: int
    end: int


class Words(NamedTuple):
    """What propositions and arguments know of their sentence: its words and all of its propositions."""

    tokens: tuple[str, ...]
    text: str | None = None
    offsets: tuple[tuple[int, int], ...] | None = None
    first: int = 0  # the index of the first token, for spans that count from somewhere else
    char_start: int | None = None
    pos: tuple[str, ...] | None = None
    props: tuple[Proposition, ...] = ()  # without words

    def of(self, start: int, end: int) -> str:
        """The text of a span as written, or its tokens joined by spaces where the text is unknown."""
        start, end = start - self.first, end - self.first
        if self.text is None or self.offsets is None or not 0 <= start < end <= len(self.offsets):
            return " ".join(self.tokens[start:end])
        return self.text[self.offsets[start][0] : self.offsets[end - 1][1]]


@dataclass(frozen=True, slots=True, repr=False)
class Argument:
    """One labeled span of a proposition.

    `prob` is the probability that role and span are both right. `meaning` describes the role of this sense
    ("thing kept"), where PropBank frames are available, `thematic` is VerbNet's name for it ("agent") and
    `function` PropBank's tag for its kind ("PAG"). `refers_to` is what a pronoun stands for, if
    Document.with_coreference was told.
    """

    role: str
    span: Span
    prob: float | None = None
    meaning: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    refers_to: str | None = field(default=None, kw_only=True)
    thematic: str | None = field(default=None, kw_only=True)
    function: str | None = field(default=None, kw_only=True)
    words: Words | None = field(default=None, compare=False, kw_only=True)

    @property
    def start(self) -> int:
        return self.span.start

    @property
    def end(self) -> int:
        return self.span.end

    @property
    def text(self) -> str:
        """The words of the argument; raises DataError before it is part of a Sentence."""
        return _bound(self.words, "argument").of(*self.span)

    @property
    def head(self) -> str:
        """The word that the argument is about: "letters" of "to the old letters that she kept"."""
        words = _bound(self.words, "argument")
        return words.tokens[self.head_index - words.first]

    @property
    def head_index(self) -> int:
        """The index of the head token."""
        return _bound(self.words, "argument").first + int(_parsed(self).head)

    @property
    def short(self) -> str:
        """The argument without preposition, determiner and relative clause: "old letters"."""
        words = _bound(self.words, "argument")
        start, end = _parsed(self).short()
        return words.of(words.first + start, words.first + end)

    @property
    def is_pronoun(self) -> bool:
        """Whether the argument is a pronoun: "she", "to them", "who", "nobody"."""
        return bool(_parsed(self).pronoun)

    @property
    def is_clause(self) -> bool:
        """Whether the argument is a clause: "that he left", "to leave", "leaving"."""
        return bool(_parsed(self).clause)

    def to_dict(self) -> Json:
        span = {"start": self.start, "end": self.end}
        known = _known(self, "prob", "meaning", "thematic", "function", "refers_to")
        return {"role": self.role, **span, **known, **self.extra}

    def __repr__(self) -> str:
        text = "" if self.words is None else f" {shortened(self.text, _REPR)!r}"
        prob = "" if self.prob is None else f" {self.prob:.2f}"
        return f"<Argument {self.role} [{self.start}:{self.end}]{text}{prob}>"


@dataclass(frozen=True, slots=True, repr=False)
class Proposition:
    """A predicate (token index `pred`) with its arguments.

    `v` holds the pieces of the verb if they are more than the token `pred`: the first is V, the others are
    C-V. It is empty if the source marked no V, and None (the usual case) for the token `pred` alone. If the
    model found the predicate, `type` is one of PREDICATE_TYPES and `prob` the probability that the token is
    a predicate; `sense_prob` is the probability of the sense. `verbnet` has VerbNet's classes for the sense,
    and `framenet` its frame in FrameNet if there is only one.
    """

    pred: int
    args: tuple[Argument, ...] = ()
    lemma: str | None = None
    sense: str | None = None
    v: tuple[Span, ...] | None = None
    type: str | None = None
    prob: float | None = None
    sense_prob: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    verbnet: tuple[str, ...] = field(default=(), kw_only=True)
    framenet: str | None = field(default=None, kw_only=True)
    words: Words | None = field(default=None, compare=False, kw_only=True)

    @property
    def verb_spans(self) -> tuple[Span, ...]:
        """The pieces of V, with the default filled in."""
        return (Span(self.pred, self.pred + 1),) if self.v is None else self.v

    @property
    def text(self) -> str:
        """The predicate's words ("picked up" of "picked it up"); raises DataError outside a Sentence."""
        words = _bound(self.words, "proposition")
        return " ".join(words.of(*span) for span in self.verb_spans or [Span(self.pred, self.pred + 1)])

    @property
    def predicate(self) -> str:
        """The name of the predicate: its sense, lemma or word, the first that is known."""
        word = None if self.words is None else self.words.of(self.pred, self.pred + 1)
        return next((name for name in (self.sense, self.lemma, word) if name and name.strip()), "V")

    def arg(self, role: str) -> Argument | None:
        """The first argument with this role, in either spelling (ARG0 or A0); None if there is none."""
        wanted = role.replace("ARG", "A")
        return next((arg for arg in self.args if arg.role.replace("ARG", "A") == wanted), None)

    def __getitem__(self, role: str) -> Argument:
        found = self.arg(role)
        if found is None:
            raise KeyError(f"no argument {role}; the roles are {[arg.role for arg in self.args]}")
        return found

    def statement(self) -> Statement:
        """What the proposition says: subject, relation, object; see docs/statements.md."""
        found: Statement = _statements().statement_of(self, _bound(self.words, "proposition"))
        return found

    def to_dict(self) -> Json:
        out = {"pred": self.pred, **_known(self, "lemma", "sense")}
        if self.v is not None:
            out["v"] = [list(span) for span in self.v]
        out |= _known(self, "type", "prob", "sense_prob", "framenet")
        if self.verbnet:
            out["verbnet"] = list(self.verbnet)
        return {**out, "args": [arg.to_dict() for arg in self.args], **self.extra}

    def __repr__(self) -> str:
        if self.words is None:
            return f"<Proposition {self.predicate} [{self.pred}] {counted(len(self.args), 'argument')}>"
        args = "".join(f", {arg.role} {shortened(arg.text, _REPR)!r}" for arg in self.args)
        return f"<Proposition {self.predicate} {self.text!r}{args}>"


@dataclass(frozen=True, slots=True, repr=False)
class Sentence:
    """Tokens with their propositions and everything else that the source provides.

    `text` is the sentence as written and `offsets` are the tokens' character ranges in it; `char_start` is
    the offset of `text` in its document. `len`, indexing and iteration are those of the tokens.
    """

    tokens: tuple[str, ...]
    props: tuple[Proposition, ...] = ()
    id: str | None = None
    pos: tuple[str, ...] | None = None
    lemmas: tuple[str, ...] | None = None
    text: str | None = None
    offsets: tuple[tuple[int, int], ...] | None = None
    char_start: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if type(self.tokens) is not tuple:
            object.__setattr__(self, "tokens", _token_tuple(self.tokens))
        for token in self.tokens:
            if not isinstance(token, str):
                raise DataError(f"Sentence() expects tokens that are strings, got {token!r} among them")
        if self.props and not self._is_bound():
            bare = tuple(map(_without_words, self.props))
            words = Words(self.tokens, self.text, self.offsets, 0, self.char_start, self.pos, bare)
            object.__setattr__(self, "props", tuple(_with_words(prop, words) for prop in bare))

    def _is_bound(self) -> bool:
        """Whether all propositions are bound to these words already."""
        words = self.props[0].words
        return (
            words is not None
            and words.tokens is self.tokens
            and words.text is self.text
            and words.offsets is self.offsets
            and words.pos is self.pos
            and words.char_start == self.char_start
            and all(prop.words is words for prop in self.props)
            and all(arg.words is words for prop in self.props for arg in prop.args)
            and words.props == self.props
        )

    def __len__(self) -> int:
        return len(self.tokens)

    def __iter__(self) -> Iterator[str]:
        return iter(self.tokens)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        return self.tokens[index]

    def __repr__(self) -> str:
        text = " ".join(self.tokens) if self.text is None else self.text
        return f"<Sentence {shortened(text, _REPR)!r} {counted(len(self.props), 'proposition')}>"

    def __str__(self) -> str:
        return _drawing([self])

    def to_dict(self) -> Json:
        """The sentence in the wire format."""
        out = {**_known(self, "id"), "tokens": list(self.tokens)}
        out |= {key: list(value) for key, value in _known(self, "pos", "lemmas").items()}
        out |= _known(self, "text")
        if self.offsets is not None:
            out["offsets"] = [list(pair) for pair in self.offsets]
        out |= _known(self, "char_start")
        return {**out, "props": [prop.to_dict() for prop in self.props], **self.extra}

    def to_json(self, *, indent: int | None = None) -> str:
        """The sentence as a JSON string; without `indent` it is one line of a JSON Lines file."""
        return _json(self.to_dict(), indent)

    @classmethod
    def from_dict(cls, data: Any) -> Sentence:
        """Read a sentence from the wire format; raises DataError naming the wrong field."""
        if not isinstance(data, dict):
            raise DataError(f"expected a JSON object for a sentence, found {checks.kind(data)}")
        rest = dict(data)
        tokens = checks.strings(rest.pop("tokens", None), "tokens")
        size = len(tokens)
        props = checks.pop_list(rest, "props", "props")
        text = checks.pop_string(rest, "text", "text")
        return cls(
            tokens=tokens,
            id=checks.pop_string(rest, "id", "id"),
            pos=checks.pop_aligned(rest, "pos", size),
            lemmas=checks.pop_aligned(rest, "lemmas", size),
            text=text,
            offsets=checks.ranges(rest.pop("offsets", None), size, text),
            char_start=checks.offset(rest.pop("char_start", None), "char_start"),
            props=tuple(_proposition(prop, f"props[{k}]", size) for k, prop in enumerate(props)),
            extra=rest,
        )

    def text_of(self, part: Argument | Proposition | tuple[int, int]) -> str:
        """The words of an argument, a predicate or a span, as written where `text` is known."""
        words = Words(self.tokens, self.text, self.offsets)
        if isinstance(part, Proposition):
            return replace(part, words=words).text
        start, end = part.span if isinstance(part, Argument) else part
        return words.of(*_span(start, end, "span", len(self)))

    def without_auxiliaries(self) -> Sentence:
        """The sentence without auxiliaries that have no arguments, unless it has no other propositions.

        Drawings and tables show no more, unless their predicates were chosen.
        """
        props = tuple(prop for prop in self.props if prop.args or prop.type != "auxiliary")
        return replace(self, props=props) if props else self

    def find(self, word: str) -> tuple[Proposition, ...]:
        """The propositions whose predicate has this word, lemma or sense ("kept", "keep", "keep.01")."""
        wanted = word.casefold()
        return tuple(prop for prop in self.props if wanted in self._names(prop))

    def _names(self, prop: Proposition) -> set[str]:
        lemma = None if self.lemmas is None else self.lemmas[prop.pred]
        stem = None if prop.sense is None else prop.sense.rpartition(".")[0]
        names = (self.tokens[prop.pred], prop.lemma, lemma, prop.sense, stem)
        return {name.casefold() for name in names if name}

    def rows(self, *, number: int = 0) -> list[Json]:
        """The propositions as flat dictionaries, one per argument, for data frames or csv.DictWriter.

        A predicate without arguments has one row, with None in the argument's columns. Character offsets
        count from the beginning of the document if `char_start` is known, otherwise of `text`.
        """
        return _rows(self, number, self.char_start or 0)

    def statements(self, *, split: bool = False) -> Statements:
        """What the sentence says: subject, relation, object; see docs/statements.md.

        With `split`, coordinated subjects and objects ("Ann and Bob") have statements of their own.
        """
        found: Statements = _statements().statements_of([self], split=split)
        return found

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas DataFrame."""
        return data_frame(self.rows(), ROW_COLUMNS)

    def to_allennlp(self) -> Json:
        """The words and each verb's BIO tags, under the keys that AllenNLP used; see docs/allennlp.md."""
        found: Json = importlib.import_module("spansrl.formats.verb_tags").allennlp_dict(self)
        return found

    def _repr_html_(self) -> str:
        return _page([self])


@dataclass(frozen=True, slots=True, repr=False)
class Document:
    """A text with its labeled sentences, in order; `text[sent.char_start:]` begins with `sent.text`.

    `len`, indexing and iteration are those of the sentences. `id` is the caller's own; the server returns it.
    """

    text: str
    sentences: tuple[Sentence, ...] = ()
    id: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def props(self) -> tuple[Proposition, ...]:
        """The propositions of all sentences; their indices count the tokens of their own sentence."""
        return tuple(prop for sent in self.sentences for prop in sent.props)

    def __len__(self) -> int:
        return len(self.sentences)

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.sentences)

    @overload
    def __getitem__(self, index: int) -> Sentence: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Sentence, ...]: ...
    def __getitem__(self, index: int | slice) -> Sentence | tuple[Sentence, ...]:
        return self.sentences[index]

    def __repr__(self) -> str:
        return f"<Document {shortened(self.text, _REPR)!r} {counted(len(self), 'sentence')}>"

    def __str__(self) -> str:
        return _drawing(self.sentences)

    def to_dict(self) -> Json:
        """The text and its sentences in the wire format."""
        sentences = [sent.to_dict() for sent in self.sentences]
        return {**_known(self, "id"), "text": self.text, "sentences": sentences, **self.extra}

    def to_json(self, *, indent: int | None = None) -> str:
        """The document as a JSON string."""
        return _json(self.to_dict(), indent)

    @classmethod
    def from_dict(cls, data: Any) -> Document:
        """Read a document from the wire format, such as a server's result; raises DataError."""
        if not isinstance(data, dict):
            raise DataError(f"expected a JSON object for a document, found {checks.kind(data)}")
        rest = dict(data)
        text = checks.pop_string(rest, "text", "text")
        if text is None or "sentences" not in rest:
            missing = "text" if text is None else "sentences"
            raise DataError(
                f"'{missing}' is missing in the document; read single sentences with Sentence.from_dict"
            )
        sentences = checks.pop_list(rest, "sentences", "sentences")
        return cls(
            text=text,
            sentences=tuple(_placed_sentence(sent, k, text) for k, sent in enumerate(sentences)),
            id=checks.pop_string(rest, "id", "id"),
            extra=rest,
        )

    def find(self, word: str) -> tuple[tuple[Sentence, Proposition], ...]:
        """The propositions whose predicate has this word, lemma or sense, each with its sentence."""
        return tuple((sent, prop) for sent in self.sentences for prop in sent.find(word))

    def rows(self) -> list[Json]:
        """The rows of all sentences, numbered from 0; see Sentence.rows."""
        numbered = enumerate(self.sentences)
        return [row for number, sent in numbered for row in _rows(sent, number, sent.char_start)]

    def statements(self, *, split: bool = False) -> Statements:
        """The statements of all sentences; see Sentence.statements."""
        found: Statements = _statements().statements_of(self.sentences, split=split, id=self.id)
        return found

    def with_coreference(self, clusters: Iterable[Iterable[Any]]) -> Document:
        """The document with `refers_to` filled in for pronouns, by clusters from any coreference tool.

        A cluster is a list of mentions: pairs of character offsets in the text (half-open), or spaCy spans.
        """
        found: Document = _statements().with_coreference(self, clusters)
        return found

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas DataFrame."""
        return data_frame(self.rows(), ROW_COLUMNS)

    def to_allennlp(self) -> list[Json]:
        """Sentence.to_allennlp of each sentence."""
        return [sent.to_allennlp() for sent in self.sentences]

    def _repr_html_(self) -> str:
        return _page(self.sentences)


def _known(value: object, *keys: str) -> Json:
    """The attributes of a value that are not None, in this order."""
    return {key: found for key in keys if (found := getattr(value, key)) is not None}


def _token_tuple(tokens: Any) -> tuple[str, ...]:
    if isinstance(tokens, str) or not isinstance(tokens, Iterable):
        raise DataError(
            f"Sentence() expects a sequence of tokens, got {shortened(repr(tokens), _REPR)}. "
            "To label a text, call the pipeline: srl(text)"
        )
    return tuple(tokens)


def _bound(words: Words | None, what: str) -> Words:
    if words is None:
        raise DataError(f"this {what} is not part of a Sentence, so its text is unknown")
    return words


def _with_words(prop: Proposition, words: Words | None) -> Proposition:
    """The proposition and its arguments bound to the words of their sentence."""
    return replace(prop, args=tuple(replace(arg, words=words) for arg in prop.args), words=words)


def _without_words(prop: Proposition) -> Proposition:
    bound = prop.words is not None or any(arg.words is not None for arg in prop.args)
    return _with_words(prop, None) if bound else prop


def _parsed(arg: Argument) -> Any:
    """The argument as a phrase, whose indices count from the first token of its words."""
    words = _bound(arg.words, "argument")
    span = Span(arg.start - words.first, arg.end - words.first)
    return _statements().parsed(words, span)


# Drawings, data frames and statements are made above this layer, but Python and notebooks call methods of the
# value for them. Their modules are imported on first use, so that importing the values stays fast.


def _statements() -> Any:
    return importlib.import_module("spansrl.statements")


def _drawing(sentences: Sequence[Sentence]) -> str:
    draw = importlib.import_module("spansrl.visualize.terminal").sentence_text
    width = shutil.get_terminal_size().columns
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return "\n\n".join(draw(sent, width=width, encoding=encoding) for sent in sentences)


def _page(sentences: Sequence[Sentence]) -> str:
    return str(importlib.import_module("spansrl.visualize").fragment_html(sentences))


def data_frame(rows: list[Json], columns: Mapping[str, type]) -> pandas.DataFrame:
    """The rows as a data frame, with the same types of columns whatever the text."""
    try:
        pd = importlib.import_module("pandas")
    except ImportError as error:
        raise MissingExtraError("to_pandas()", "pandas") from error
    types = {str: "object", int: "Int64", float: "Float64", bool: "boolean"}
    frame: pandas.DataFrame = pd.DataFrame(rows, columns=list(columns))
    return frame.astype({name: types[kind] for name, kind in columns.items()})


def _json(data: Json, indent: int | None) -> str:
    return json.dumps(data, ensure_ascii=False, indent=indent, default=float)  # probabilities may be NumPy's


def _rows(sent: Sentence, number: int, base: int | None) -> list[Json]:
    """Rows of a sentence; `base` is the offset of its text in the document, None if unknown."""
    text = " ".join(sent.tokens) if sent.text is None else sent.text
    whole = (base, base + len(text)) if base is not None and sent.text is not None else (None, None)
    shared = (sent.id, number, text, *whole)
    rows = []
    for prop in sent.props:
        word = _characters(sent, Span(prop.pred, prop.pred + 1), base)
        names = (prop.lemma, _with_particle(prop), prop.sense, prop.type)
        probs = (_plain(prop.prob), _plain(prop.sense_prob))
        links = (" ".join(prop.verbnet) or None, prop.framenet)
        predicate = (prop.pred, prop.text, *word, *names, *probs, *links)
        cells = (_argument_cells(sent, arg, base) for arg in prop.args or [None])
        rows += [dict(zip(ROW_COLUMNS, (*shared, *predicate, *own), strict=True)) for own in cells]
    return rows


def _argument_cells(sent: Sentence, arg: Argument | None, base: int | None) -> tuple[Any, ...]:
    if arg is None:
        return (None,) * 10
    names = (arg.role, arg.meaning, arg.thematic, arg.function)
    return *names, arg.text, arg.start, arg.end, *_characters(sent, arg.span, base), _plain(arg.prob)


def _characters(sent: Sentence, span: Span, base: int | None) -> tuple[int | None, int | None]:
    if sent.offsets is None or base is None:
        return None, None
    return base + sent.offsets[span.start][0], base + sent.offsets[span.end - 1][1]


def _with_particle(prop: Proposition) -> str | None:
    """The lemma, with the particles that the sense has: `turn_down` of turn_down.05."""
    stem = (prop.sense or "").rpartition(".")[0]
    return stem if prop.lemma is not None and stem.startswith(f"{prop.lemma}_") else prop.lemma


def _plain(prob: float | None) -> float | None:
    """Turn a probability that may be a NumPy number into a float."""
    return None if prob is None else float(prob)


def _placed_sentence(data: Any, number: int, text: str) -> Sentence:
    try:
        sent = Sentence.from_dict(data)
    except DataError as error:
        raise DataError(f"sentences[{number}]: {error}") from error
    where = sent.char_start
    if where is not None and sent.text is not None and not text.startswith(sent.text, where):
        message = f"its text is not at 'char_start' ({where}) of the document's text"
        raise DataError(f"sentences[{number}]: {message}")
    return sent


def _proposition(data: Any, where: str, size: int) -> Proposition:
    if not isinstance(data, dict):
        raise DataError(f"'{where}' must be an object, found {checks.kind(data)}")
    rest = dict(data)
    pred = checks.integer(rest.pop("pred", None), f"{where}.pred")
    if not 0 <= pred < size:
        raise DataError(
            f"'{where}.pred' is {pred}, outside the sentence of {counted(size, 'token')}; count from 0"
        )
    args = checks.pop_list(rest, "args", f"{where}.args")
    v, verbnet = rest.pop("v", None), rest.pop("verbnet", None)
    if v is not None and not isinstance(v, list):
        raise DataError(f"'{where}.v' must be a list of [start, end] pairs, found {checks.kind(v)}")
    return Proposition(
        pred=pred,
        lemma=checks.pop_string(rest, "lemma", f"{where}.lemma"),
        sense=checks.pop_string(rest, "sense", f"{where}.sense"),
        v=None if v is None else tuple(_verb_span(item, f"{where}.v[{k}]", size) for k, item in enumerate(v)),
        type=checks.pop_string(rest, "type", f"{where}.type"),
        prob=checks.pop_probability(rest, "prob", f"{where}.prob"),
        sense_prob=checks.pop_probability(rest, "sense_prob", f"{where}.sense_prob"),
        verbnet=() if verbnet is None else checks.strings(verbnet, f"{where}.verbnet"),
        framenet=checks.pop_string(rest, "framenet", f"{where}.framenet"),
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
        raise DataError(f"'{where}.role' is 'V', which is not an argument role; give the verb's spans in 'v'")
    start = checks.integer(rest.pop("start", None), f"{where}.start")
    end = checks.integer(rest.pop("end", None), f"{where}.end")
    return Argument(
        role=role,
        span=_span(start, end, where, size),
        prob=checks.pop_probability(rest, "prob", f"{where}.prob"),
        meaning=checks.pop_string(rest, "meaning", f"{where}.meaning"),
        thematic=checks.pop_string(rest, "thematic", f"{where}.thematic"),
        function=checks.pop_string(rest, "function", f"{where}.function"),
        refers_to=checks.pop_string(rest, "refers_to", f"{where}.refers_to"),
        extra=rest,
    )


def _verb_span(item: Any, where: str, size: int) -> Span:
    return _span(*checks.pair(item, where), where, size)


def _span(start: int, end: int, where: str, size: int) -> Span:
    if not 0 <= start < end <= size:
        found = f"'{where}' covers tokens {start} to {end}, which is not a span of a sentence"
        raise DataError(
            f"{found} of {counted(size, 'token')}; 'end' is the token after the last, counted from 0"
        )
    return Span(start, end)
