"""spansrl in a spaCy pipeline: `nlp.add_pipe("spansrl")` labels the tokens of a Doc.

    >>> nlp = spacy.blank("en")
    >>> nlp.add_pipe("spansrl")
    >>> doc = nlp("She kept a cat.")
    >>> [(prop.sense, [(arg.role, arg.text) for arg in prop.args]) for prop in doc._.srl]

`doc._.srl`, `span._.srl` and `token._.srl` are Propositions whose indices count the Doc's tokens, and
`doc.spans["srl"]` has the same as spans. spaCy finds this module by an entry point and loads it when the
component is added. Labels are plain data in `doc.user_data`, so that Docs can be saved and sent to other
processes.
"""

# No `from __future__ import annotations`: spaCy reads the annotations of the factory to check the config.

import json
import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from spansrl.decoding import Decoder
from spansrl.errors import ConfigError, DataError, MissingExtraError
from spansrl.inference.directory import ModelDirectory, write_bytes
from spansrl.inference.loading import check_choices, check_threads, find_model, load
from spansrl.inference.pipeline import Pipeline, check_min_prob
from spansrl.inference.predicates import Wanted
from spansrl.inference.runtime import Precision
from spansrl.inference.sentences import LanguageCheck, shift_tokens
from spansrl.inventory.frame_index import MODIFIERS, PROPBANK
from spansrl.language import Language as TextLanguage
from spansrl.structures import PREDICATE_TYPES, Document, Proposition, Sentence, Words
from spansrl.visualize.palette import GROUPS

try:
    import spacy.tokens
    from spacy.language import Language
    from spacy.pipeline import Pipe
    from spacy.tokens import Doc, SpanGroup
    from spacy.util import registry
except ImportError as error:
    raise MissingExtraError("the spaCy component", "spacy") from error

# The key of a Doc's labels: for each sentence its range of tokens and characters, and its propositions as
# JSON (a string, because a DocBin would return tuples for lists).
USER_DATA = "spansrl"
SETTINGS_FILE = "settings.json"
_LOAD_OPTIONS = ("threads", "frames", "min_prob", "decoder", "precision")  # that `load` has too


@dataclass(frozen=True)
class Settings:
    """The settings of `nlp.add_pipe("spansrl", config={…})`."""

    model: str | None = None  # a model directory or an installed model; None is the one in the package
    predicates: tuple[str, ...] = PREDICATE_TYPES  # predicate types
    threads: int | None = None  # None: all cores
    frames: bool = True  # meanings of roles from PropBank frames
    spans_key: str = "srl"  # the group in doc.spans
    min_prob: float | None = None  # arguments that are less probable are left out; None: the model's choice
    decoder: Decoder | None = None  # None: the model's
    precision: Precision = "full"  # of matrix products; int8 is faster

    def __post_init__(self) -> None:
        try:
            wanted = Wanted.of(self.predicates)
        except ConfigError as error:
            raise ConfigError(f"spansrl: {error}") from error
        if wanted.given:
            raise ConfigError(f"spansrl: predicates must be types: {', '.join(PREDICATE_TYPES)}")
        types = tuple(type_ for type_ in PREDICATE_TYPES if type_ in wanted.types)
        object.__setattr__(self, "predicates", types)
        check_threads(self.threads, "spansrl: threads")
        if self.min_prob is not None:
            check_min_prob(self.min_prob)
        check_choices(self.decoder, self.precision)

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self), indent=2).encode() + b"\n"

    @classmethod
    def from_bytes(cls, data: bytes) -> "Settings":
        try:
            values = json.loads(data)
            return cls(**{**values, "predicates": tuple(values["predicates"])})
        except (ValueError, TypeError, KeyError) as error:
            raise ConfigError(f"not the saved settings of a spansrl component: {error}") from error

    def changes(self) -> dict[str, Any]:
        """The settings that are not the defaults."""
        return {name: value for name, value in asdict(self).items() if value != getattr(Settings, name)}


class SpansrlComponent(Pipe):
    """The component; the model is loaded for the first Doc, in every process of `nlp.pipe`."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        name: str = "spansrl",
        load: Callable[..., Pipeline] = load,
    ) -> None:
        self.name = name
        self.settings = settings or Settings()
        self._load = load
        self._loaded: tuple[int, Pipeline] | None = None

    @property
    def pipeline(self) -> Pipeline:
        """The loaded model. Threads do not survive a fork, so every process loads its own."""
        if self._loaded is None or self._loaded[0] != os.getpid():
            own = self.settings
            options = {name: getattr(own, name) for name in _LOAD_OPTIONS}
            self._loaded = os.getpid(), self._load(own.model, **options)
        return self._loaded[1]

    def __call__(self, doc: Doc) -> Doc:
        """Label the Doc in place."""
        self._label([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Label the Docs in order, `batch_size` at a time."""
        rest = iter(stream)
        while docs := list(islice(rest, batch_size)):
            try:
                self._label(docs)
            except Exception:
                yield from super().pipe(docs)  # one by one: the error handler gets only those that fail
            else:
                yield from docs

    def _label(self, docs: Sequence[Doc]) -> None:
        language = self.pipeline.language
        check = LanguageCheck(language)
        parts = [_sentences(doc, language) for doc in docs]
        sentences = (sent for own in parts for sent in check(map(sentence_of, own)))
        labeled = self.pipeline.label(sentences, predicates=self.settings.predicates)
        for doc, own in zip(docs, parts, strict=True):
            doc.user_data[USER_DATA] = [
                {
                    "start": part.start,
                    "end": part.end,
                    "start_char": part.start_char,
                    "end_char": part.end_char,
                    "props": json.dumps(sent.to_dict()["props"]),
                }
                for part, sent in zip(own, islice(labeled, len(own)), strict=True)
            ]
            doc.spans[self.settings.spans_key] = SpanGroup(doc, spans=list(_labeled_spans(doc)))

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The settings without the model."""
        return self.settings.to_bytes()

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "SpansrlComponent":
        """Use saved settings, except for those that this component was created with.

        `spacy.load(path, config={…})` passes a change to the factory and then loads the saved settings: the
        new path of a model directory must win over the saved one.
        """
        self.settings = replace(Settings.from_bytes(data), **self.settings.changes())
        self._loaded = None
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the settings, not the model, into a directory."""
        Path(path).mkdir(parents=True, exist_ok=True)
        write_bytes(Path(path) / SETTINGS_FILE, self.to_bytes())

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "SpansrlComponent":
        """Use the settings in a directory; see `from_bytes`."""
        return self.from_bytes((Path(path) / SETTINGS_FILE).read_bytes())

    def __reduce__(self) -> tuple[Any, ...]:
        """Send settings, not the model, to a new process (`nlp.pipe(n_process=2)`)."""
        return partial(SpansrlComponent, self.settings, name=self.name, load=self._load), ()


@Language.factory(
    "spansrl",
    assigns=["doc._.srl", "span._.srl", "token._.srl", "doc.spans"],
    default_config={**asdict(Settings()), "predicates": list(PREDICATE_TYPES)},
)
def make_component(
    nlp: Language,
    name: str,
    model: str | None,
    predicates: str | list[str],
    threads: int | None,
    frames: bool,
    spans_key: str,
    min_prob: float | None,
    decoder: Decoder | None,
    precision: Precision,
) -> SpansrlComponent:
    """Create the component; a wrong model directory is an error now, not with the first Doc."""
    if model is not None:
        ModelDirectory.read(find_model(model))
    chosen = (predicates,) if isinstance(predicates, str) else tuple(predicates)
    return SpansrlComponent(
        Settings(model, chosen, threads, frames, spans_key, min_prob, decoder, precision), name=name
    )


def document_of(doc: Doc) -> Document:
    """Turn a labeled Doc into a spansrl Document: for pictures, data frames and JSON."""
    return Document(doc.text, tuple(_stored_sentence(doc, item) for item in doc.user_data.get(USER_DATA, ())))


def sentence_of(span: spacy.tokens.Span) -> Sentence:
    """The words of a spaCy sentence, without tokens that are only whitespace."""
    tokens = [token for token in span if not token.is_space]
    start = tokens[0].idx
    return Sentence(
        tokens=tuple(token.text for token in tokens),
        text=span.doc[tokens[0].i : tokens[-1].i + 1].text,
        offsets=tuple((token.idx - start, token.idx + len(token) - start) for token in tokens),
        char_start=start,
    )


def _sentences(doc: Doc, language: TextLanguage) -> list[spacy.tokens.Span]:
    """The sentences that have words; a Doc without sentence boundaries is split here."""
    if not doc.has_annotation("SENT_START"):
        ends = [part.end for part in language.split(doc.text)]
        numbers = [-1, *(bisect_right(ends, token.idx) for token in doc)]
        for token, before, number in zip(doc, numbers, numbers[1:], strict=False):
            token.is_sent_start = number != before
    return [sent for sent in doc.sents if not all(token.is_space for token in sent)]


def _stored_span(doc: Doc, item: dict[str, Any]) -> spacy.tokens.Span:
    """The sentence that was labeled; raises DataError if its tokens have changed since."""
    span = doc[item["start"] : item["end"]]
    if (span.start_char, span.end_char) != (item["start_char"], item["end_char"]):
        raise DataError(
            f"spansrl: the tokens of the Doc {doc.text[:40]!r} have changed since it was labeled; "
            "merge and split tokens before spansrl"
        )
    return span


def _stored_sentence(doc: Doc, item: dict[str, Any]) -> Sentence:
    sent = sentence_of(_stored_span(doc, item))
    return Sentence.from_dict({**sent.to_dict(), "props": json.loads(item["props"])})


def _stored_propositions(doc: Doc, item: dict[str, Any]) -> tuple[Proposition, ...]:
    """The propositions of a sentence, with indices and texts of the Doc."""
    span = _stored_span(doc, item)
    indices = [token.i for token in span if not token.is_space]
    offsets = tuple((token.idx - span.start_char, token.idx + len(token) - span.start_char) for token in span)
    bare = tuple(shift_tokens(prop, indices) for prop in _stored_sentence(doc, item).props)
    tokens = tuple(token.text for token in span)
    words = Words(tokens, span.text, offsets, first=span.start, char_start=span.start_char, props=bare)
    return tuple(
        replace(prop, words=words, args=tuple(replace(arg, words=words) for arg in prop.args))
        for prop in bare
    )


def _labeled_spans(doc: Doc) -> Iterator[spacy.tokens.Span]:
    """V, C-V and the arguments of each proposition; id is the predicate's index, kb_id its sense."""
    for prop in _of_doc(doc):
        verb = [("C-V" if k else "V", span) for k, span in enumerate(prop.verb_spans)]
        for role, span in [*verb, *((arg.role, arg.span) for arg in prop.args)]:
            yield spacy.tokens.Span(doc, *span, label=role, kb_id=prop.sense or "", span_id=str(prop.pred))


def _of_doc(doc: Doc) -> tuple[Proposition, ...]:
    items = doc.user_data.get(USER_DATA, ())
    return tuple(prop for item in items for prop in _stored_propositions(doc, item))


def _of_span(span: spacy.tokens.Span) -> tuple[Proposition, ...]:
    """The propositions whose predicate is in the span."""
    items = span.doc.user_data.get(USER_DATA, ())
    first = bisect_right(items, span.start, key=lambda item: item["end"])
    last = bisect_right(items, span.end - 1, key=lambda item: item["start"])
    found = (prop for item in items[first:last] for prop in _stored_propositions(span.doc, item))
    return tuple(prop for prop in found if span.start <= prop.pred < span.end)


def _of_token(token: spacy.tokens.Token) -> tuple[Proposition, ...]:
    """The propositions whose predicate is this token."""
    return _of_span(token.doc[token.i : token.i + 1])


def _displacy_colors() -> dict[str, str]:
    """The colors of roles for displaCy's span style."""
    roles = [f"ARG{number}" for number in range(6)] + [f"ARGM-{name}" for name in MODIFIERS]
    return {"V": "#dddddd", "C-V": "#dddddd"} | {
        f"{prefix}{role}": GROUPS[PROPBANK.group(role)].light.line
        for role in roles
        for prefix in ("", "R-", "C-")
    }


Doc.set_extension("srl", getter=_of_doc, force=True)
spacy.tokens.Span.set_extension("srl", getter=_of_span, force=True)
spacy.tokens.Token.set_extension("srl", getter=_of_token, force=True)
registry.displacy_colors.register("spansrl", func=_displacy_colors)
