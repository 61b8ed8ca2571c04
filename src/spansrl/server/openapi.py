"""The OpenAPI document: the table of endpoints, with the schemas that pydantic makes of their models."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.types import ASGIApp

from spansrl import __version__
from spansrl.checks import Json
from spansrl.formats.jsonl import sentence_schema
from spansrl.server.schemas import Error

_SCHEMAS = "#/components/schemas/"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A path, what answers there, and its documentation."""

    method: str
    path: str
    handler: Callable[[Request], Awaitable[ASGIApp]]
    summary: str
    request: tuple[str, type[BaseModel]] | None = None  # media type, model
    query: type[BaseModel] | None = None
    media_type: str = "application/json"  # of the answer
    answers: tuple[type[BaseModel], ...] = ()
    refusals: tuple[int, ...] = ()


def openapi(endpoints: Sequence[Endpoint]) -> Json:
    """The document (OpenAPI 3.1)."""
    paths: dict[str, Json] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    models: set[type[BaseModel]] = {Error, *(model for endpoint in endpoints for model in endpoint.answers)}
    models |= {endpoint.request[1] for endpoint in endpoints if endpoint.request}
    _, found = models_json_schema(
        [(model, "validation") for model in models], ref_template=_SCHEMAS + "{model}"
    )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "spansrl",
            "version": __version__,
            "description": "PropBank semantic role labeling: who did what to whom, where and when.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "paths": paths,
        "components": {"schemas": {**found["$defs"], "Sentence": _sentence()}},
    }


def _operation(endpoint: Endpoint) -> Json:
    refs = [_ref(model) for model in endpoint.answers]
    content: Json = {} if not refs else {"schema": refs[0] if len(refs) == 1 else {"anyOf": refs}}
    responses: Json = {"200": {"description": "OK", "content": {endpoint.media_type: content}}}
    for status in endpoint.refusals:
        responses[str(status)] = {
            "description": HTTPStatus(status).phrase,
            "content": {"application/json": {"schema": _ref(Error)}},
        }
        if status in (429, 503):
            wait = {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}}
            responses[str(status)]["headers"] = {"Retry-After": wait}
    operation: Json = {
        "operationId": endpoint.handler.__name__,
        "summary": endpoint.summary,
        "responses": responses,
    }
    if endpoint.request:
        media_type, model = endpoint.request
        operation["requestBody"] = {"required": True, "content": {media_type: {"schema": _ref(model)}}}
    if endpoint.query:
        operation["parameters"] = [
            {"name": name, "in": "query", "explode": False, "description": schema.get("description", "")}
            | {"schema": schema}
            for name, schema in endpoint.query.model_json_schema()["properties"].items()
        ]
    return operation


def _ref(model: type[BaseModel]) -> Json:
    return {"$ref": _SCHEMAS + model.__name__}


def _sentence() -> Json:
    """The schema of the wire format, with its references adapted."""
    text = json.dumps(sentence_schema()).replace('"#/$defs/', f'"{_SCHEMAS}Sentence/$defs/')
    schema: Json = json.loads(text)
    return {key: value for key, value in schema.items() if key not in ("$schema", "$id")}
