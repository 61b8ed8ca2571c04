"""spansrl in a spaCy pipeline: `nlp.add_pipe("spansrl")` labels the tokens and sentences that a Doc has.

    >>> nlp = spacy.blank("en")
    >>> nlp.add_pipe("sentencizer")
    >>> nlp.add_pipe("spansrl")
    >>> doc = nlp("She kept a cat.")
    >>> [(prop.sense, [(arg.role, doc[arg.start : arg.end]) for arg in prop.args]) for prop in doc._.srl]

`doc._.srl` and `span._.srl` hold Propositions whose indices count the Doc's tokens, `doc.spans["srl"]` the
same as spans. spaCy finds this module by an entry point and loads it when the component is added; it comes
with the extra `spacy`. What it keeps in `doc.user_data` is plain data, so that Docs can be saved, and sent
from one process to another.
"""

# Annotations stay values here: spaCy reads those of the factory to check the config.

import json
import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

from spansrl.errors import ConfigError, DataError, MissingExtraError
from spansrl.inference.cutting import moved
from spansrl.inference.directory import ModelDirectory, write_bytes
from spansrl.inference.loading import check_threads, load
from spansrl.inference.pipeline import Pipeline
from spansrl.structures import PREDICATE_TYPES, Document, Proposition, Sentence

try:
    import spacy.tokens
    from spacy.language import Language
    from spacy.pipeline import Pipe
    from spacy.tokens import Doc, SpanGroup
except ImportError as error:
    raise MissingExtraError("the spaCy component", "spacy") from error

# Key of what a Doc keeps: for each sentence its range of tokens, the characters that these had, and its
# propositions as JSON (a string, because a DocBin would give tuples back for lists).
USER_DATA = "spansrl"
SETTINGS_FILE = "settings.json"


@dataclass(frozen=True)
class Settings:
    """What `nlp.add_pipe("spansrl", config={…})` can set."""

    model: str | None = None  # a model directory; None is the model in the package
    predicates: tuple[str, ...] = PREDICATE_TYPES  # types to look for
    threads: int | None = None  # None: all cores
    frames: bool = True  # meanings of roles from the PropBank frames that `spansrl frames` registered
    spans_key: str = "srl"  # the group in doc.spans

    def __post_init__(self) -> None:
        if unknown := [item for item in self.predicates if item not in PREDICATE_TYPES]:
            known = ", ".join(PREDICATE_TYPES)
            raise ConfigError(f"spansrl: {unknown[0]!r} is no type of predicate; there are {known}")
        check_threads(self.threads, "spansrl: threads")

    def to_bytes(self) -> bytes:
        """The settings as JSON."""
        return json.dumps(asdict(self), indent=2).encode() + b"\n"

    @classmethod
    def from_bytes(cls, data: bytes) -> "Settings":
        """The settings from their JSON; raises ConfigError."""
        try:
            values = json.loads(data)
            return cls(**{**values, "predicates": tuple(values["predicates"])})
        except (ValueError, TypeError, KeyError) as error:
            raise ConfigError(f"not the saved settings of a spansrl component: {error}") from error

    def changes(self) -> dict[str, Any]:
        """The settings that are not the defaults."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value != getattr(Settings, name)}


class SpansrlComponent(Pipe):
    """The component; the model is loaded for the first Doc, and once more in every process of `nlp.pipe`."""

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
        """The model at work. Its threads do not outlive a fork, so that every process has its own."""
        if self._loaded is None or self._loaded[0] != os.getpid():
            own = self.settings
            self._loaded = os.getpid(), self._load(own.model, threads=own.threads, frames=own.frames)
        return self._loaded[1]

    def __call__(self, doc: Doc) -> Doc:
        """The Doc, labelled in place."""
        self._label([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """The Docs in order; `batch_size` of them are labelled together."""
        rest = iter(stream)
        while docs := list(islice(rest, batch_size)):
            try:
                self._label(docs)
            except Exception:
                yield from super().pipe(docs)  # one by one: the error handler meets only those that fail
            else:
                yield from docs

    def _label(self, docs: Sequence[Doc]) -> None:
        parts = [_sentences(doc) for doc in docs]
        sentences = (sentence_of(part) for own in parts for part in own)
        labelled = self.pipeline.label(sentences, predicates=self.settings.predicates)
        for doc, own in zip(docs, parts, strict=True):
            doc.user_data[USER_DATA] = [
                {
                    "start": part.start,
                    "end": part.end,
                    "start_char": part.start_char,
                    "end_char": part.end_char,
                    "props": json.dumps(sent.to_dict()["props"]),
                }
                for part, sent in zip(own, islice(labelled, len(own)), strict=True)
            ]
            doc.spans[self.settings.spans_key] = SpanGroup(doc, spans=list(_labelled_spans(doc)))

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The settings; the model stays where it is."""
        return self.settings.to_bytes()

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "SpansrlComponent":
        """Take over saved settings, but for those that this component was given itself.

        `spacy.load(path, config={…})` hands a change to the factory and then loads what was saved: a model
        directory that has moved must win over the place where it was.
        """
        self.settings = replace(Settings.from_bytes(data), **self.settings.changes())
        self._loaded = None
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the settings into a directory; the model stays where it is."""
        Path(path).mkdir(parents=True, exist_ok=True)
        write_bytes(Path(path) / SETTINGS_FILE, self.to_bytes())

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "SpansrlComponent":
        """Take over the settings in a directory; see `from_bytes`."""
        return self.from_bytes((Path(path) / SETTINGS_FILE).read_bytes())

    def __reduce__(self) -> tuple[Any, ...]:
        """What a new process needs (`nlp.pipe(n_process=2)`, where processes are not forked): no model."""
        return _rebuilt, (self.settings, self.name, self._load)


def _rebuilt(settings: Settings, name: str, load: Callable[..., Pipeline]) -> SpansrlComponent:
    return SpansrlComponent(settings, name=name, load=load)


@Language.factory(
    "spansrl",
    requires=["doc.sents"],
    assigns=["doc._.srl", "span._.srl", "doc.spans"],
    default_config={**asdict(Settings()), "predicates": list(PREDICATE_TYPES)},
)
def make_component(
    nlp: Language,
    name: str,
    model: str | None,
    predicates: list[str],
    threads: int | None,
    frames: bool,
    spans_key: str,
) -> SpansrlComponent:
    """The component from its config; a wrong model directory is noticed now, not with the first Doc."""
    if model is not None:
        ModelDirectory.read(Path(model))
    return SpansrlComponent(Settings(model, tuple(predicates), threads, frames, spans_key), name=name)


def document_of(doc: Doc) -> Document:
    """A labelled Doc as a spansrl Document: for pictures, for rows of a data frame, for JSON."""
    return Document(doc.text, tuple(_stored_sentence(doc, item) for item in doc.user_data.get(USER_DATA, ())))


def sentence_of(span: spacy.tokens.Span) -> Sentence:
    """The words of a spaCy sentence; tokens that are only white space are left out."""
    tokens = [token for token in span if not token.is_space]
    start = tokens[0].idx
    return Sentence(
        tokens=tuple(token.text for token in tokens),
        text=span.doc[tokens[0].i : tokens[-1].i + 1].text,
        offsets=tuple((token.idx - start, token.idx + len(token) - start) for token in tokens),
        char_start=start,
    )


def _sentences(doc: Doc) -> list[spacy.tokens.Span]:
    """The sentences that have words."""
    if not doc.has_annotation("SENT_START"):
        raise DataError(
            f"spansrl: no sentence boundaries in the Doc {doc.text[:40]!r}; add a component that sets them, "
            "for example: nlp.add_pipe('sentencizer', before='spansrl')"
        )
    return [sent for sent in doc.sents if not all(token.is_space for token in sent)]


def _stored_span(doc: Doc, item: dict[str, Any]) -> spacy.tokens.Span:
    """The sentence that was labelled; raises DataError where its tokens are no longer at their places."""
    span = doc[item["start"] : item["end"]]
    if (span.start_char, span.end_char) != (item["start_char"], item["end_char"]):
        raise DataError(
            f"spansrl: the tokens of the Doc {doc.text[:40]!r} are not those that were labelled; "
            "merge and split tokens before spansrl, and label parts of a Doc anew"
        )
    return span


def _stored_sentence(doc: Doc, item: dict[str, Any]) -> Sentence:
    sent = sentence_of(_stored_span(doc, item))
    return Sentence.from_dict({**sent.to_dict(), "props": json.loads(item["props"])})


def _stored_propositions(doc: Doc, item: dict[str, Any]) -> tuple[Proposition, ...]:
    """The propositions of a sentence, with indices of the Doc."""
    places = [token.i for token in _stored_span(doc, item) if not token.is_space]
    return tuple(moved(prop, places) for prop in _stored_sentence(doc, item).props)


def _labelled_spans(doc: Doc) -> Iterator[spacy.tokens.Span]:
    """V, C-V and the arguments of each proposition; id is the predicate's index, kb_id its sense."""
    for prop in _of_doc(doc):
        verb = [("C-V" if k else "V", span) for k, span in enumerate(prop.verb_spans)]
        for role, span in [*verb, *((arg.role, arg.span) for arg in prop.args)]:
            yield spacy.tokens.Span(doc, *span, label=role, kb_id=prop.sense or "", span_id=str(prop.pred))


def _of_doc(doc: Doc) -> tuple[Proposition, ...]:
    items = doc.user_data.get(USER_DATA, ())
    return tuple(prop for item in items for prop in _stored_propositions(doc, item))


def _of_span(span: spacy.tokens.Span) -> tuple[Proposition, ...]:
    """The propositions whose predicate lies in the span; looks at its own sentences only."""
    items = span.doc.user_data.get(USER_DATA, ())
    first = bisect_right(items, span.start, key=lambda item: item["end"])
    last = bisect_right(items, span.end - 1, key=lambda item: item["start"])
    found = (prop for item in items[first:last] for prop in _stored_propositions(span.doc, item))
    return tuple(prop for prop in found if span.start <= prop.pred < span.end)


Doc.set_extension("srl", getter=_of_doc, force=True)
spacy.tokens.Span.set_extension("srl", getter=_of_span, force=True)
