"""One thing to label: its options, how it is cut into sentences, labeled in steps, and written as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from spansrl.decoding import DECODERS
from spansrl.errors import ConfigError
from spansrl.inference.pipeline import Pipeline
from spansrl.inference.predicates import GIVEN, PLURALS, Wanted
from spansrl.inventory import RoleInventory
from spansrl.structures import PREDICATE_TYPES, Proposition, Sentence
from spansrl.visualize import sentence_html, sentence_svg

DRAWINGS: dict[str, Callable[..., str]] = {"html": sentence_html, "svg": sentence_svg}
_PER_SENTENCE = (*DRAWINGS, "statements")  # options that add a field with one value per sentence
# One labeled sentence: field of the result -> JSON value.
RenderedSentence = dict[str, bytes]


def invalid(message: str) -> PydanticCustomError:
    return PydanticCustomError("invalid", "{message}", {"message": message})


def _select_predicates(value: Any) -> Wanted | None:
    if value is None:
        return None
    try:
        selection = Wanted.of(value)
    except ConfigError as error:
        raise invalid(str(error)) from None
    if selection.given and selection.indices is None:
        raise invalid(f"'{GIVEN}' is not possible here; give the token indices")
    return selection


_TYPE: JsonDict = {"enum": [*PREDICATE_TYPES, *PLURALS]}
_INDEX: JsonDict = {"type": "integer", "minimum": 0}
Predicates = Annotated[
    Any,
    BeforeValidator(_select_predicates),
    WithJsonSchema(
        {"anyOf": [_TYPE, *({"type": "array", "items": item} for item in (_TYPE, _INDEX)), {"type": "null"}]}
    ),
    Field(description="Predicate types to find (all by default); with 'tokens' also token indices from 0."),
]


class RequestModel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Options(RequestModel):
    """How to label, and what to return."""

    predicates: Predicates = None
    min_prob: Annotated[
        Annotated[float, Field(ge=0, le=1)] | None,
        Field(description="Leave out arguments that are less probable; the model's threshold by default."),
    ] = None
    decoder: Annotated[
        Literal[DECODERS] | None,  # type: ignore[valid-type]
        Field(description="How arguments are chosen; the model's decoder by default."),
    ] = None
    html: Annotated[bool, Field(description="Add a drawing of each sentence as an HTML fragment.")] = False
    svg: Annotated[bool, Field(description="Add a drawing of each sentence as SVG.")] = False
    statements: Annotated[
        bool,
        Field(description="Add what each sentence says: subject, relation and object of its predicates."),
    ] = False
    explain: Annotated[
        bool,
        Field(
            description="Add definitions, roles and alternatives of senses, from PropBank's frames, and the "
            "`min_prob` of each predicate's type."
        ),
    ] = False

    @property
    def key(self) -> object:
        """Sentences whose options agree in this may be labeled together."""
        return self.predicates, self.min_prob, self.decoder, self.explain

    @property
    def extras(self) -> list[str]:
        """The fields that make answers long."""
        return [name for name in (*_PER_SENTENCE, "explain") if getattr(self, name)]

    def steps(
        self, pipeline: Pipeline, sentences: Sequence[Sentence]
    ) -> Generator[int, None, list[Sentence]]:
        if self.decoder or self.explain != pipeline.alternatives:
            decoder = self.decoder or pipeline.decoder
            pipeline = replace(pipeline, decoder=decoder, alternatives=self.explain)
        return pipeline.steps(sentences, predicates=self.predicates, min_prob=self.min_prob)

    def render(self, sent: Sentence, pipeline: Pipeline) -> RenderedSentence:
        data, frames = sent.to_dict(), pipeline.inventory
        if self.explain:
            for prop, out in zip(sent.props, data["props"], strict=True):
                out.update(_explanation(prop, frames), min_prob=pipeline.default_min_prob(prop.type))
        bare = self.predicates is not None and self.predicates.is_choice
        parts: dict[str, object] = {"sentences": data}
        for name, draw in DRAWINGS.items():
            if name in self.extras:
                parts[name] = draw(sent, frames=frames, auxiliaries=bare)
        if self.statements:
            parts["statements"] = [one.to_dict() for one in sent.statements()]
        return {name: _encode(value) for name, value in parts.items()}


NO_OPTIONS = Options()


@dataclass(frozen=True, slots=True)
class LabelJob:
    """A text, or one sentence as tokens."""

    text: str | None
    tokens: tuple[str, ...] = ()
    predicates: tuple[int, ...] = ()  # token indices, if the option is "given"
    id: str | None = None
    options: Options = NO_OPTIONS
    warnings: list[str] = field(default_factory=list, compare=False)  # filled by `cut`

    @property
    def chars(self) -> int:
        """Characters of the text; tokens count one more each."""
        return sum(map(len, self.tokens), len(self.tokens)) if self.text is None else len(self.text)

    def cut(self, pipeline: Pipeline) -> Iterator[Sentence]:
        if self.text is None:
            return iter([Sentence(self.tokens, tuple(map(Proposition, self.predicates)))])
        return pipeline.sentences(self.text, warn=self.warnings.append)

    def result(self, sentences: Sequence[RenderedSentence]) -> bytes:
        fields = {
            name: _encode(value) for name in ("id", "text") if (value := getattr(self, name)) is not None
        }
        if self.warnings:
            fields["warnings"] = _encode(list(dict.fromkeys(self.warnings)))
        for name in ("sentences", *(name for name in _PER_SENTENCE if name in self.options.extras)):
            fields[name] = json_array(sent[name] for sent in sentences)
        return _json_object(fields)


def _explanation(prop: Proposition, frames: RoleInventory) -> dict[str, Any]:
    """A proposition in PropBank's frames: its sense, its roles, other senses of the word.

    Senses that the model has learned come first, with their probabilities.
    """
    if not len(frames) or prop.sense is None:
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


# Sentences are encoded one at a time, by the threads that label, so that encoding a long answer blocks nobody
# and its size is known before it is complete. These two put the parts together.


def json_array(items: Iterable[bytes]) -> bytes:
    return b"[%s]" % b", ".join(items)


def _json_object(fields: Mapping[str, bytes]) -> bytes:
    return b"{%s}" % b", ".join(b'"%s": %s' % (name.encode(), value) for name, value in fields.items())


def _encode(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
