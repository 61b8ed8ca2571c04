"""Requests and answers as pydantic models: they check what comes in and describe themselves in OpenAPI."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import lru_cache
from itertools import chain, islice
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.config import JsonDict
from starlette.datastructures import QueryParams

from spansrl.errors import DataError, shortened
from spansrl.formats.jsonl import decode_json
from spansrl.inference.predicates import Wanted
from spansrl.server.api_error import ApiError
from spansrl.server.labeling import LabelJob, Options, Predicates, RequestModel, invalid
from spansrl.server.limits import ServerLimits
from spansrl.structures import Sentence

SENTENCE = "#/components/schemas/Sentence"  # where OpenAPI has the schema of the wire format
_DETAILS = 10  # wrong fields that are named at most


def _check_text(text: str) -> str:
    if "\0" in text:
        raise invalid("NUL characters (U+0000) are not allowed; remove them")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise invalid("lone surrogates (U+D800 to U+DFFF) are not characters; remove them") from None
    return text


_CHECKED = AfterValidator(_check_text)
_NO_NUL_SCHEMA = Field(json_schema_extra={"pattern": r"^[^\u0000]*$"})
Text = Annotated[str, _CHECKED, _NO_NUL_SCHEMA]
Token = Annotated[str, Field(min_length=1), _CHECKED, _NO_NUL_SCHEMA]


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


class Item(RequestModel):
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
            raise invalid("give either 'text' or 'tokens'")
        self._check_indices()
        return self

    def _check_indices(self) -> None:
        if self.predicates is not None and self.predicates.given:
            if self.tokens is None:
                raise invalid("'predicates' has token indices, which need 'tokens'")
            try:
                self.predicates.in_sentence(Sentence(tuple(self.tokens)))
            except DataError as error:
                raise invalid(f"'predicates': {error}") from None

    def job(self, options: Options) -> LabelJob:
        """The item with the options of its request; its own predicates come first."""
        selection = self.predicates or options.predicates or Wanted.of(None)
        chosen = {name: getattr(options, name) for name in Options.model_fields}
        chosen["predicates"] = Wanted(given=True) if selection.given else selection
        return LabelJob(
            text=self.text,
            tokens=tuple(self.tokens or ()),
            predicates=selection.indices or (),
            id=self.id,
            options=Options.model_construct(**chosen),
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
            raise invalid(f"give one of 'text', 'texts', 'tokens' or 'items'; found {found}")
        if self.id is not None and names[0] in ("texts", "items"):
            raise invalid("'id' is for one text; give each of the 'items' its own")
        self._check_indices()
        return self

    def jobs(self) -> list[LabelJob]:
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
    statements: Annotated[
        list[list[dict[str, Any]]], Field(description="The statements of each sentence.")
    ] = []


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


class Health(_Answer):
    status: Literal["ok", "ready"]


Message = TypeVar("Message", bound=RequestModel)


def parse(model: type[Message], body: bytes | bytearray, limits: ServerLimits) -> Message:
    """The message in the bytes; raise an ApiError that names what is wrong, and where."""
    try:
        data = decode_json(body.decode())
    except UnicodeDecodeError as error:
        raise _invalid("the body", f"not valid UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise _invalid("the body", "JSON nested too deeply") from None
    except (DataError, ValueError) as error:
        raise _invalid("the body", f"not valid JSON: {error}") from None
    return _validated(model, data, "the body", _check_shape(data, model, limits))


def parse_options(query: QueryParams) -> Options:
    """The options of a stream, which are in its URL; types are separated by commas."""
    found: dict[str, Any] = dict(query)
    if "predicates" in query:
        found["predicates"] = ",".join(query.getlist("predicates")).split(",")
    for name, value in query.items():
        if value in ("true", "false"):
            found[name] = value == "true"
    with suppress(KeyError, ValueError):
        found["min_prob"] = float(found["min_prob"])
    options = _validated(Options, found, "the query", _unknown_fields(found, Options))
    if options.predicates is not None and options.predicates.given:
        raise _invalid("the query", "put token indices in the lines")
    return options


def _validated(model: type[Message], data: object, what: str, problems: Iterator[dict[str, str]]) -> Message:
    """The data as a message, unless there are problems; validating what is much too large would take long."""
    details = list(islice(problems, _DETAILS))
    try:
        if not details:
            return model.model_validate(data)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)[:_DETAILS]
        details = [{"where": ".".join(map(str, one["loc"]))[:200], "message": one["msg"]} for one in found]
    raise _invalid(what, ": ".join(filter(None, details[0].values())), details)


def _check_shape(data: object, model: type[BaseModel], limits: ServerLimits) -> Iterator[dict[str, str]]:
    """Yield the unknown fields of a request; raise an ApiError for lists and texts that are too long."""
    if not isinstance(data, dict):
        return
    yield from _unknown_fields(data, model)
    lists = [data[name] for name in ("texts", "items") if isinstance(data.get(name), list)]
    if lists and (count := max(map(len, lists))) > limits.texts:
        raise _too_large(f"{count} texts in one request; send at most {limits.texts}, or use a stream")
    for number, one in enumerate(chain([data], *lists)):
        if isinstance(one, dict):
            if number:
                yield from _unknown_fields(one, Item, f"items.{number - 1}")
            for name in ("text", "tokens", "predicates"):
                _check_size(max(1, number), name, one.get(name), limits)
        else:
            _check_size(number, "text", one, limits)


def _unknown_fields(
    data: Mapping[str, object], model: type[BaseModel], where: str = ""
) -> Iterator[dict[str, str]]:
    for name in data:
        if name not in model.model_fields:
            hint = _hint(shortened(name, 50), tuple(model.model_fields))
            yield {"where": where, "message": f"unknown field {shortened(name, 50)!r}{hint}"}


def _check_size(number: int, name: str, found: object, limits: ServerLimits) -> None:
    if isinstance(found, list):
        if len(found) > limits.tokens:
            raise _too_large(f"text {number} has {len(found)} {name}; send at most {limits.tokens}")
        found = "".join(f"{one} " for one in found if isinstance(one, str))
    if isinstance(found, str) and len(found) > limits.text_chars:
        raise _too_large(f"text {number} has {len(found)} characters; send at most {limits.text_chars}")


@lru_cache
def _hint(name: str, known: tuple[str, ...]) -> str:
    near = get_close_matches(name.lower(), known, n=1)
    return f"; did you mean {near[0]!r}?" if near else f". Choose from: {', '.join(known)}"


def _invalid(what: str, problem: str, details: Sequence[dict[str, str]] = ()) -> ApiError:
    return ApiError(422, "invalid", f"{what} is invalid: {problem}", details=details)


def _too_large(message: str) -> ApiError:
    return ApiError(413, "too_large", message)
