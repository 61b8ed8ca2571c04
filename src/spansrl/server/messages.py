"""The bodies that clients send, checked to the last field; their JSON schema is made from these classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.config import JsonDict
from pydantic_core import ErrorDetails, PydanticCustomError
from starlette.datastructures import QueryParams

from spansrl.server.limits import Limits
from spansrl.server.problems import RefusedError

PredicateType = Literal["verb", "noun", "adjective", "auxiliary"]


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise PydanticCustomError("nul", "NUL characters (U+0000) are not taken; remove them")
    return text


_NO_NUL = AfterValidator(_without_nul)
_NO_NUL_SCHEMA = Field(json_schema_extra={"pattern": r"^[^\u0000]*$"})
Text = Annotated[str, _NO_NUL, _NO_NUL_SCHEMA]
Token = Annotated[str, Field(min_length=1), _NO_NUL, _NO_NUL_SCHEMA]
Index = Annotated[int, Field(ge=0)]
PredicateTypes = Annotated[
    list[PredicateType],
    Field(
        min_length=1,
        description="Which predicates to look for, where none are given; all types if left out.",
    ),
]
Html = Annotated[
    bool, Field(description="Add 'html' to each result: a picture of each sentence as an HTML fragment.")
]
Explain = Annotated[
    bool,
    Field(description="Add the definition and roles of each predicate's sense, and its other senses."),
]


def _one_of(*choices: str) -> JsonDict:
    """JSON schema: one of the fields is there, and the others are not."""
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


class Item(_Message):
    """One thing to label: a text, or one sentence as tokens, with its predicates if they are known."""

    model_config = ConfigDict(json_schema_extra=_one_of("text", "tokens"))

    id: Annotated[Text, Field(max_length=200, description="Comes back with the result.")] | None = None
    text: Annotated[Text, Field(description="Plain text of any number of sentences.")] | None = None
    tokens: Annotated[list[Token], Field(min_length=1, description="One sentence.")] | None = None
    predicates: (
        Annotated[
            list[Index],
            Field(
                description="The places of the predicates among 'tokens', from 0.",
                json_schema_extra={"uniqueItems": True},
            ),
        ]
        | None
    ) = None

    @model_validator(mode="after")
    def check(self) -> Self:
        """What the fields must be together."""
        self._check_one()
        return self

    def _check_one(self) -> None:
        if (self.text is None) == (self.tokens is None):
            raise _wrong("give either 'text' or 'tokens'")
        if self.predicates is not None:
            if self.tokens is None:
                raise _wrong("'predicates' are places among 'tokens'; with 'text' use 'predicate_types'")
            if max(self.predicates, default=-1) >= len(self.tokens):
                raise _wrong(f"'predicates' go from 0 to {len(self.tokens) - 1} for these tokens")
            if len(set(self.predicates)) < len(self.predicates):
                raise _wrong("'predicates' names a token twice; name it once")

    @property
    def chars(self) -> int:
        """What the item costs: its characters, and one for each end of a token."""
        return len(self.text or "") + sum(len(token) + 1 for token in self.tokens or ())


class LabelRequest(Item):
    """One item, or many in 'items', and how to label them."""

    model_config = ConfigDict(json_schema_extra=_one_of("text", "tokens", "items"))

    items: Annotated[list[Item], Field(min_length=1, description="Many, instead of one.")] | None = None
    predicate_types: PredicateTypes | None = None
    html: Html = False
    explain: Explain = False

    @model_validator(mode="after")
    def check(self) -> Self:
        """One item, or many."""
        one = [name for name in Item.model_fields if getattr(self, name) is not None]
        if self.items is None:
            if self.text is None and self.tokens is None:
                raise _wrong("give 'text', 'tokens' or 'items'")
            self._check_one()
        elif one:
            raise _wrong(f"give either {one[0]!r} or 'items'; with 'items', each has its own {one[0]!r}")
        return self

    def all_items(self) -> Sequence[Item]:
        """The items, whether one or many."""
        return [self] if self.items is None else self.items


class StreamOptions(_Message):
    """What the address of a stream may say after its question mark."""

    predicate_types: PredicateTypes | None = None
    html: Html = False
    explain: Explain = False

    @classmethod
    def from_query(cls, query: QueryParams) -> StreamOptions:
        """The options; types are separated by commas, or stand in an option each."""
        found: dict[str, object] = dict(query)
        if "predicate_types" in query:
            found["predicate_types"] = ",".join(query.getlist("predicate_types")).split(",")
        for name in {"html", "explain"} & set(query):
            found[name] = {"true": True, "false": False}.get(query[name], query[name])
        with _refusing("the address"):
            return cls.model_validate(found)


Message = TypeVar("Message", bound=BaseModel)


def parse(model: type[Message], body: bytes | bytearray) -> Message:
    """The message that the bytes hold; raises a RefusedError that names what is wrong, and where."""
    with _refusing("the body"):
        return model.model_validate_json(body)


def check_sizes(items: Sequence[Item], limits: Limits) -> None:
    """Raise a RefusedError where there are too many items or too long ones."""
    if len(items) > limits.items:
        raise _too_large(f"{len(items)} items in one request; send at most {limits.items}, or use a stream")
    for place, item in enumerate(items, start=1):
        if item.chars > limits.text_chars:
            raise _too_large(f"item {place} has {item.chars} characters; send at most {limits.text_chars}")
        if (size := len(item.tokens or ())) > limits.tokens:
            raise _too_large(f"item {place} has {size} tokens; send at most {limits.tokens}")


@contextmanager
def _refusing(what: str) -> Iterator[None]:
    """Turns a ValidationError of its block into a RefusedError."""
    try:
        yield
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)
        details = [_detail(one) for one in found[:10]]
        first = ": ".join(filter(None, details[0].values()))
        message = f"{what} is not what it must be: {first}"
        raise RefusedError(422, "invalid", message, details=details) from None


def _detail(error: ErrorDetails) -> dict[str, str]:
    return {"where": ".".join(map(str, error["loc"])), "message": error["msg"]}


def _wrong(message: str) -> PydanticCustomError:
    return PydanticCustomError("wrong", "{message}", {"message": message})


def _too_large(message: str) -> RefusedError:
    return RefusedError(413, "too_large", message)
