"""Requests and answers as pydantic models: they check what comes in and describe themselves in OpenAPI."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.config import JsonDict
from pydantic_core import ErrorDetails, PydanticCustomError
from starlette.datastructures import QueryParams

from spansrl.decoding import DECODERS
from spansrl.errors import ConfigError, DataError
from spansrl.formats.jsonl import decode_json
from spansrl.inference.predicates import GIVEN, PLURALS, Wanted
from spansrl.server import labeling
from spansrl.server.labeling import Job
from spansrl.server.limits import Limits
from spansrl.server.refusals import RefusedError
from spansrl.structures import PREDICATE_TYPES, Sentence

SENTENCE = "#/components/schemas/Sentence"  # where OpenAPI has the schema of the wire format


def _invalid(message: str) -> PydanticCustomError:
    return PydanticCustomError("invalid", "{message}", {"message": message})


def _check_text(text: str) -> str:
    if "\0" in text:
        raise _invalid("NUL characters (U+0000) are not allowed; remove them")
    if any("\ud800" <= char <= "\udfff" for char in text if not char.isascii()):
        raise _invalid("lone surrogates (U+D800 to U+DFFF) are not characters; remove them")
    return text


def _wanted(value: Any) -> Wanted | None:
    if value is None:
        return None
    try:
        wanted = Wanted.of(value)
    except ConfigError as error:
        raise _invalid(str(error)) from None
    if wanted.given and wanted.indices is None:
        raise _invalid(f"'{GIVEN}' is not possible here; give the token indices")
    return wanted


_CHECKED = AfterValidator(_check_text)
_NO_NUL_SCHEMA = Field(json_schema_extra={"pattern": r"^[^\u0000]*$"})
Text = Annotated[str, _CHECKED, _NO_NUL_SCHEMA]
Token = Annotated[str, Field(min_length=1), _CHECKED, _NO_NUL_SCHEMA]
_TYPE: JsonDict = {"enum": [*PREDICATE_TYPES, *PLURALS]}
_INDEX: JsonDict = {"type": "integer", "minimum": 0}
Predicates = Annotated[
    Any,
    BeforeValidator(_wanted),
    WithJsonSchema(
        {"anyOf": [_TYPE, *({"type": "array", "items": item} for item in (_TYPE, _INDEX)), {"type": "null"}]}
    ),
    Field(description="Predicate types to find (all by default); with 'tokens' also token indices from 0."),
]


def _exactly_one(*choices: str) -> JsonDict:
    """JSON schema: one of the fields is present, and the others are not."""
    absent: JsonDict = {"type": "null"}
    return {
        "oneOf": [
            {
                "required": [choice],
                "properties": {name: {"not": absent} if name == choice else absent for name in choices},
            }
            for choice in choices
        ]
    }


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Options(_Message):
    """How to label, and what to return."""

    predicates: Predicates = None
    min_prob: Annotated[
        Annotated[float, Field(ge=0, le=1, strict=False)] | None,
        Field(description="Leave out arguments that are less probable; the model's threshold by default."),
    ] = None
    decoder: Annotated[
        Literal[DECODERS] | None,  # type: ignore[valid-type]
        Field(description="How arguments are chosen; the model's decoder by default."),
    ] = None
    html: Annotated[bool, Field(description="Add a drawing of each sentence as an HTML fragment.")] = False
    svg: Annotated[bool, Field(description="Add a drawing of each sentence as SVG.")] = False
    explain: Annotated[
        bool, Field(description="Add definitions, roles and alternatives of senses, from PropBank's frames.")
    ] = False

    @classmethod
    def from_query(cls, query: QueryParams) -> Options:
        """The options of a stream, which are in its URL; types are separated by commas."""
        found: dict[str, object] = dict(query)
        if "predicates" in query:
            found["predicates"] = ",".join(query.getlist("predicates")).split(",")
        for name, value in query.items():
            if value in ("true", "false"):
                found[name] = value == "true"
        with _refusing("the query", cls):
            options = cls.model_validate(found)
        if options.predicates is not None and options.predicates.given:
            raise _refusal("the query is invalid: put token indices in the lines")
        return options


class Item(_Message):
    """One thing to label: a text, or one sentence as tokens."""

    model_config = ConfigDict(json_schema_extra=_exactly_one("text", "tokens"))

    id: Annotated[
        Annotated[Text, Field(max_length=200)] | None, Field(description="Returned with the result.")
    ] = None
    text: Annotated[Text | None, Field(description="Plain text of any number of sentences.")] = None
    tokens: Annotated[
        Annotated[list[Token], Field(min_length=1, fail_fast=True)] | None,
        Field(description="The tokens of one sentence."),
    ] = None
    predicates: Predicates = None

    @model_validator(mode="after")
    def check(self) -> Self:
        if (self.text is None) == (self.tokens is None):
            raise _invalid("give either 'text' or 'tokens'")
        self._check_indices()
        return self

    def _check_indices(self) -> None:
        if self.predicates is not None and self.predicates.given:
            if self.tokens is None:
                raise _invalid("'predicates' has token indices, which need 'tokens'")
            try:
                self.predicates.in_sentence(Sentence(tuple(self.tokens)))
            except DataError as error:
                raise _invalid(f"'predicates': {error}") from None

    def job(self, options: Options) -> Job:
        """The item with the options of its request; its own predicates come first."""
        wanted = self.predicates or options.predicates or Wanted.of(None)
        return Job(
            text=self.text,
            tokens=tuple(self.tokens or ()),
            predicates=wanted.indices or (),
            id=self.id,
            options=labeling.Options(
                predicates=GIVEN if wanted.given else tuple(t for t in PREDICATE_TYPES if t in wanted.types),
                **options.model_dump(include={"min_prob", "decoder", "html", "svg", "explain"}),
            ),
        )


class LabelRequest(Options, Item):
    """One text or sentence, or many, and how to label them."""

    model_config = ConfigDict(json_schema_extra=_exactly_one("text", "texts", "tokens", "items"))

    texts: Annotated[
        Annotated[list[Text], Field(min_length=1)] | None, Field(description="Several texts.")
    ] = None
    items: Annotated[
        Annotated[list[Item], Field(min_length=1)] | None, Field(description="Several texts or sentences.")
    ] = None

    @model_validator(mode="after")
    def check(self) -> Self:
        names = [n for n in ("text", "texts", "tokens", "items") if getattr(self, n) is not None]
        if len(names) != 1:
            found = " and ".join(map(repr, names)) or "none of them"
            raise _invalid(f"give one of 'text', 'texts', 'tokens' or 'items'; found {found}")
        if self.id is not None and names[0] in ("texts", "items"):
            raise _invalid("'id' is for one text; give each of the 'items' its own")
        self._check_indices()
        return self

    def jobs(self) -> list[Job]:
        if self.texts is not None:
            return [Item(text=text).job(self) for text in self.texts]
        return [item.job(self) for item in ([self] if self.items is None else self.items)]


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Result(_Answer):
    id: Annotated[str, Field(description="From the item.")] = ""
    text: Annotated[str, Field(description="From the item, if it was a text.")] = ""
    warnings: Annotated[list[str], Field(description="For people: why labels may be wrong.")] = []
    sentences: Annotated[
        list[Annotated[dict[str, Any], WithJsonSchema({"$ref": SENTENCE})]],
        Field(description="The labeled sentences."),
    ]
    html: Annotated[list[str], Field(description="One HTML fragment per sentence.")] = []
    svg: Annotated[list[str], Field(description="One SVG image per sentence.")] = []


class LabelResponse(_Answer):
    results: list[Result]


class ErrorDetail(_Answer):
    where: Annotated[str, Field(description="The field.")]
    message: str


class ErrorInfo(_Answer):
    code: Annotated[str, Field(description="For programs: 'invalid', 'too_large', 'busy', …")]
    message: Annotated[str, Field(description="For people: what is wrong and what to do.")]
    details: list[ErrorDetail] = []


class Error(_Answer):
    error: ErrorInfo


class StreamError(Error):
    line: Annotated[int, Field(ge=1, description="The line that was not labeled.")]


class Status(_Answer):
    status: Literal["ok", "ready"]


Message = TypeVar("Message", bound=_Message)


def parse(model: type[Message], body: bytes | bytearray, limits: Limits) -> Message:
    """The message in the bytes; raise a RefusedError that names what is wrong, and where."""
    try:
        data = decode_json(body.decode())
    except UnicodeDecodeError as error:
        raise _refusal(f"the body is not valid UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise _refusal("the body's JSON is nested too deeply") from None
    except (DataError, ValueError) as error:
        raise _refusal(f"the body is not valid JSON: {error}") from None
    _check_counts(data, limits)
    with _refusing("the body", model):
        return model.model_validate(data)


def _check_counts(data: object, limits: Limits) -> None:
    """Raise a RefusedError for too many texts; validating them would take long, and all others would wait."""
    for name in ("texts", "items"):
        found = data.get(name) if isinstance(data, dict) else None
        if isinstance(found, list) and len(found) > limits.texts:
            advice = f"send at most {limits.texts}, or use a stream"
            raise _too_large(f"{len(found)} texts in one request; {advice}")


def check_sizes(jobs: Sequence[Job], limits: Limits) -> None:
    """Raise a RefusedError if a job is too long."""
    for number, job in enumerate(jobs, start=1):
        if job.chars > limits.text_chars:
            raise _too_large(f"text {number} has {job.chars} characters; send at most {limits.text_chars}")
        if len(job.tokens) > limits.tokens:
            raise _too_large(f"text {number} has {len(job.tokens)} tokens; send at most {limits.tokens}")


@contextmanager
def _refusing(what: str, model: type[BaseModel]) -> Iterator[None]:
    """Turn a ValidationError into a RefusedError."""
    try:
        yield
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)
        details = [_detail(one, model) for one in found[:10]]
        first = ": ".join(filter(None, details[0].values()))
        raise _refusal(f"{what} is invalid: {first}", details) from None


def _detail(error: ErrorDetails, model: type[BaseModel]) -> dict[str, str]:
    where, message = ".".join(map(str, error["loc"])), error["msg"]
    if error["type"] == "extra_forbidden":
        name = str(error["loc"][-1])[:50]
        known = model.model_fields if len(error["loc"]) == 1 else Item.model_fields
        where, message = ".".join(map(str, error["loc"][:-1])), f"unknown field {name!r}{_hint(name, known)}"
    return {"where": where[:200], "message": message}


def _hint(name: str, known: Mapping[str, object]) -> str:
    near = get_close_matches(name.lower(), known, n=1)
    return f"; did you mean {near[0]!r}?" if near else f". Choose from: {', '.join(known)}"


def _refusal(message: str, details: Sequence[dict[str, str]] = ()) -> RefusedError:
    return RefusedError(422, "invalid", message, details=details)


def _too_large(message: str) -> RefusedError:
    return RefusedError(413, "too_large", message)
