"""One thing to label: how it is cut into sentences, labeled in steps, and written as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from spansrl.decoding import Decoder
from spansrl.inference.cutting import sentences_of
from spansrl.inference.pipeline import Pipeline
from spansrl.inventory import FrameIndex
from spansrl.language.english.detection import looks_english
from spansrl.structures import PREDICATE_TYPES, Proposition, Sentence
from spansrl.visualize import sentence_html, sentence_svg

NOT_ENGLISH = "the text does not look like English, the only language supported"
_SAMPLE = 2000  # characters of a text that show its language
_WORD = re.compile(r"[^\W\d_]+")


# One labeled sentence: field of the result -> JSON value.
Rendered = dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Options:
    """How to label, and what to return."""

    predicates: str | tuple[str, ...] = PREDICATE_TYPES  # types, or "given"
    min_prob: float | None = None
    decoder: Decoder | None = None
    html: bool = False
    svg: bool = False
    explain: bool = False

    @property
    def key(self) -> object:
        """Sentences whose options agree in this may be labeled together."""
        return self.predicates, self.min_prob, self.decoder, self.explain

    def steps(
        self, pipeline: Pipeline, sentences: Sequence[Sentence]
    ) -> Generator[int, None, list[Sentence]]:
        if self.decoder or self.explain != pipeline.alternatives:
            decoder = self.decoder or pipeline.decoder
            pipeline = replace(pipeline, decoder=decoder, alternatives=self.explain)
        return pipeline.steps(sentences, predicates=self.predicates, min_prob=self.min_prob)

    def render(self, sent: Sentence, frames: FrameIndex | None) -> Rendered:
        data = sent.to_dict()
        if self.explain:
            for prop, out in zip(sent.props, data["props"], strict=True):
                out.update(_explanation(prop, frames))
        bare = self.predicates != PREDICATE_TYPES  # auxiliaries too, if they were requested
        drawings = {name: draw(sent, frames=frames, auxiliaries=bare) for name, draw in self.drawings.items()}
        return {"sentences": _json(data)} | {name: _json(drawing) for name, drawing in drawings.items()}

    @property
    def drawings(self) -> dict[str, Callable[..., str]]:
        """The fields of drawings, and the functions that draw them."""
        functions = {"html": sentence_html, "svg": sentence_svg}
        return {name: draw for name, draw in functions.items() if getattr(self, name)}


@dataclass(frozen=True, slots=True)
class Job:
    """A text, or one sentence as tokens."""

    text: str | None
    tokens: tuple[str, ...] = ()
    predicates: tuple[int, ...] = ()  # token indices, if the option is "given"
    id: str | None = None
    options: Options = Options()

    @property
    def chars(self) -> int:
        """Characters of the text; tokens count one more each."""
        return sum(map(len, self.tokens), len(self.tokens)) if self.text is None else len(self.text)

    def cut(self) -> Iterator[Sentence]:
        if self.text is None:
            return iter([Sentence(self.tokens, tuple(map(Proposition, self.predicates)))])
        return sentences_of(self.text)

    def result(self, sentences: Sequence[Rendered]) -> bytes:
        fields = {"id": self.id, "text": self.text}
        out = {name: _json(value) for name, value in fields.items() if value is not None}
        if self.text is not None and not looks_english(_WORD.findall(self.text[:_SAMPLE])):
            out["warnings"] = _json([NOT_ENGLISH])
        for name in ("sentences", *self.options.drawings):
            out[name] = b"[" + b", ".join(sent[name] for sent in sentences) + b"]"
        return b"{" + b", ".join(b'"%s": %s' % (name.encode(), value) for name, value in out.items()) + b"}"


def _explanation(prop: Proposition, frames: FrameIndex | None) -> dict[str, Any]:
    """A proposition in PropBank's frames: its sense, its roles, other senses of the word.

    Senses that the model has learned come first, with their probabilities.
    """
    if frames is None or prop.sense is None:
        return {"alternatives": []}
    probs: dict[str, float] = prop.extra.get("alternatives", {})
    others = frames.rolesets(prop.lemma, prop.type) if prop.lemma else ()
    ranked = [*sorted(probs, key=probs.__getitem__, reverse=True), *others]
    return {
        "definition": frames.definition(prop.sense),
        "roles": frames.roles(prop.sense) or {},
        "alternatives": [
            {"sense": sense, "definition": frames.definition(sense) or ""}
            | ({"prob": round(probs[sense], 4)} if sense in probs else {})
            for sense in dict.fromkeys(ranked)
            if sense != prop.sense
        ],
    }


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
