"""The OpenAPI document: made from the table of doors, the request classes and the schema of a sentence."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.types import ASGIApp

from spansrl import __version__
from spansrl.checks import Json
from spansrl.formats.jsonl import sentence_schema
from spansrl.server.messages import Item, LabelRequest, StreamOptions

_COMPONENTS = "#/components/schemas/"


@dataclass(frozen=True, slots=True)
class Door:
    """One row of the table: an address, what answers there, and what the OpenAPI document says about it.

    Schemas are named by their names among the document's components.
    """

    method: str
    path: str
    endpoint: Callable[[Request], Awaitable[ASGIApp]]
    summary: str
    answer: tuple[str, str | None]  # media type, schema
    request: Mapping[str, str] = field(default_factory=dict)  # media type -> schema
    options: type[BaseModel] | None = None  # what may follow the question mark
    problems: tuple[int, ...] = ()


def openapi(doors: Iterable[Door]) -> Json:
    """The document (OpenAPI 3.1)."""
    paths: dict[str, Json] = {}
    for door in doors:
        paths.setdefault(door.path, {})[door.method.lower()] = _operation(door)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "spansrl",
            "version": __version__,
            "description": "PropBank semantic role labelling: who did what to whom, where and when.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "paths": paths,
        "components": {"schemas": _schemas()},
    }


def _operation(door: Door) -> Json:
    media_type, schema = door.answer
    content: Json = {media_type: {"schema": {"$ref": _COMPONENTS + schema}} if schema else {}}
    responses: Json = {"200": {"description": "OK", "content": content}}
    for status in door.problems:
        responses[str(status)] = {
            "description": HTTPStatus(status).phrase,
            "content": {"application/json": {"schema": {"$ref": _COMPONENTS + "Error"}}},
        }
        if status in (429, 503):
            wait = {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}}
            responses[str(status)]["headers"] = {"Retry-After": wait}
    operation: Json = {"operationId": door.endpoint.__name__, "summary": door.summary, "responses": responses}
    if door.request:
        bodies = {kind: {"schema": {"$ref": _COMPONENTS + name}} for kind, name in door.request.items()}
        operation["requestBody"] = {"required": True, "content": bodies}
    if door.options is not None:
        operation["parameters"] = list(_parameters(door.options))
    return operation


def _parameters(options: type[BaseModel]) -> Iterable[Json]:
    for name, schema in options.model_json_schema()["properties"].items():
        yield {
            "name": name,
            "in": "query",
            "explode": False,
            "description": schema.get("description") or schema["anyOf"][0]["description"],
            "schema": schema["anyOf"][0] if "anyOf" in schema else schema,
        }


def _schemas() -> Json:
    models = [(Item, "validation"), (LabelRequest, "validation"), (StreamOptions, "validation")]
    _, found = models_json_schema(models, ref_template=_COMPONENTS + "{model}")  # type: ignore[arg-type]
    schemas: Json = {name: schema for name, schema in found["$defs"].items() if name != "StreamOptions"}
    return {**schemas, **_answers(), "Sentence": _sentence()}


def _sentence() -> Json:
    """The schema of the wire format, with its references pointing to where it stands now."""
    text = json.dumps(sentence_schema()).replace('"#/$defs/', f'"{_COMPONENTS}Sentence/$defs/')
    schema: Json = json.loads(text)
    return {key: value for key, value in schema.items() if key not in ("$schema", "$id")}


def _answers() -> dict[str, Any]:
    string = {"type": "string"}
    result = {
        "id": {**string, "description": "That of the item."},
        "text": {**string, "description": "That of the item, if it was a text."},
        "sentences": {"type": "array", "items": {"$ref": _COMPONENTS + "Sentence"}},
        "html": {"type": "array", "items": string, "description": "A picture a sentence, if asked for."},
    }
    detail = {"where": {**string, "description": "The field."}, "message": string}
    error = {
        "code": {**string, "description": "For programs: 'invalid', 'too_large', 'queue_full', …"},
        "message": {**string, "description": "For people: what is wrong and what to do."},
        "details": {"type": "array", "items": _object(detail, "where", "message")},
    }
    error_body = {"error": _object(error, "code", "message")}
    line = {"line": {"type": "integer", "minimum": 1, "description": "The line that is wrong."}}
    return {
        "Result": _object(result, "sentences"),
        "LabelResponse": _object(
            {"results": {"type": "array", "items": {"$ref": _COMPONENTS + "Result"}}}, "results"
        ),
        "StreamLine": {
            "anyOf": [{"$ref": _COMPONENTS + "Result"}, _object({**line, **error_body}, "line", "error")]
        },
        "Status": _object({"status": string}, "status"),
        "Error": _object(error_body, "error"),
    }


def _object(properties: Json, *required: str) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
