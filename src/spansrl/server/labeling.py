"""What the worker thread does: a batch of jobs through the pipeline, each result as the JSON that is sent."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal, Protocol

from spansrl.errors import ConfigError
from spansrl.language.frames import FrameIndex
from spansrl.server.messages import Item, LabelRequest, StreamOptions
from spansrl.structures import PREDICATE_TYPES, Document, Proposition, Sentence
from spansrl.visualize import sentence_html

Predicates = Collection[str] | Literal["given"]


class LabelsText(Protocol):
    """What the server asks of a pipeline; `spansrl.load()` returns one."""

    @property
    def frames(self) -> FrameIndex | None:
        """What senses and roles mean, for the pictures."""

    def pipe(self, texts: Iterable[str], *, predicates: Predicates = ...) -> Iterator[Document]:
        """Texts to documents, in order."""

    def label(self, sentences: Iterable[Sentence], *, predicates: Predicates = ...) -> Iterator[Sentence]:
        """Tokenised sentences to labelled ones, in order."""


@dataclass(frozen=True, slots=True)
class Job:
    """One item and how it is to be labelled."""

    item: Item
    predicate_types: tuple[str, ...] = PREDICATE_TYPES
    html: bool = False
    explain: bool = False

    @classmethod
    def of(cls, item: Item, options: LabelRequest | StreamOptions) -> Job:
        """The item, labelled as the request says."""
        types = tuple(options.predicate_types or PREDICATE_TYPES)
        return cls(item, types, options.html, options.explain)

    @property
    def call(self) -> tuple[str, Predicates]:
        """Jobs that agree in this go through the pipeline in one call."""
        if self.item.text is not None:
            return "pipe", self.predicate_types
        return "label", "given" if self.item.predicates is not None else self.predicate_types


def label_jobs(pipeline: LabelsText, jobs: Sequence[Job]) -> list[bytes]:
    """The results of the jobs, in order, as JSON objects."""
    order = sorted(range(len(jobs)), key=lambda k: repr(jobs[k].call))
    results: dict[int, bytes] = {}
    for (way, predicates), places in groupby(order, key=lambda k: jobs[k].call):
        group = list(places)
        items = [jobs[k].item for k in group]
        label = _texts if way == "pipe" else _tokens
        with _advice(predicates):
            for k, sentences in zip(group, label(pipeline, items, predicates), strict=True):
                results[k] = _result(jobs[k], sentences, pipeline.frames)
    return [results[k] for k in range(len(jobs))]


@contextmanager
def _advice(predicates: Predicates) -> Iterator[None]:
    """Say in terms of requests what to do where the model cannot look for predicates."""
    try:
        yield
    except ConfigError as error:
        if predicates == "given":
            raise
        # The types were checked when the request came, so what they do not fit is the model.
        raise ConfigError(f"{error}: send 'tokens' and 'predicates'") from error


def _texts(
    pipeline: LabelsText, items: Sequence[Item], predicates: Predicates
) -> Iterator[Sequence[Sentence]]:
    documents = pipeline.pipe([item.text or "" for item in items], predicates=predicates)
    return (document.sentences for document in documents)


def _tokens(
    pipeline: LabelsText, items: Sequence[Item], predicates: Predicates
) -> Iterator[Sequence[Sentence]]:
    sentences = [
        Sentence(tuple(item.tokens or ()), tuple(map(Proposition, sorted(item.predicates or ()))))
        for item in items
    ]
    return ((sent,) for sent in pipeline.label(sentences, predicates=predicates))


def _result(job: Job, sentences: Sequence[Sentence], frames: FrameIndex | None) -> bytes:
    out: dict[str, Any] = {} if job.item.id is None else {"id": job.item.id}
    if job.item.text is not None:
        out["text"] = job.item.text
    out["sentences"] = [sent.to_dict() for sent in sentences]
    if job.explain and frames is not None:
        for sent, data in zip(sentences, out["sentences"], strict=True):
            for prop, found in zip(sent.props, data["props"], strict=True):
                found.update(_explanation(prop, frames))
    if job.html:
        out["html"] = [sentence_html(sent, frames=frames) for sent in sentences]
    return json.dumps(out, ensure_ascii=False, allow_nan=False).encode()


def _explanation(prop: Proposition, frames: FrameIndex) -> dict[str, Any]:
    """Return the definition and the roles of a predicate's sense, and the other senses of its lemma."""
    if prop.sense is None:
        return {}
    others = frames.rolesets(prop.lemma, prop.type) if prop.lemma else ()
    return {
        "definition": frames.definition(prop.sense),
        "roles": frames.roles(prop.sense) or {},
        "alternatives": [
            {"sense": sense, "definition": frames.definition(sense)}
            for sense in others
            if sense != prop.sense
        ],
    }
