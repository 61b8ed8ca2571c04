"""The application: the table of endpoints, and the factory that puts a pipeline behind them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from pathlib import Path

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from spansrl.inference.pipeline import Pipeline
from spansrl.server.api_error import ApiError, answer_error
from spansrl.server.bodies import cancel_on_disconnect, read_body, require_type
from spansrl.server.labeling import LabelJob, Options, json_array
from spansrl.server.limits import ServerLimits
from spansrl.server.middleware import SecurityMiddleware
from spansrl.server.openapi import Endpoint, openapi
from spansrl.server.schemas import (
    Health,
    Item,
    LabelRequest,
    LabelResponse,
    Result,
    StreamError,
    parse,
    parse_options,
)
from spansrl.server.state import ANY_HOST, LABEL_PATH, ServerState
from spansrl.server.streaming import MEDIA_TYPE as JSON_LINES
from spansrl.server.streaming import LabelStream
from spansrl.visualize import STYLE

STATIC = Path(__file__).with_name("static")
_log = logging.getLogger(__name__)


def create_app(
    load: Callable[[], Pipeline],
    *,
    limits: ServerLimits | None = None,
    hosts: Collection[str] = (ANY_HOST,),
    on_failure: Callable[[Exception], None] = lambda error: _log.error("cannot load the model: %s", error),
) -> Starlette:
    """The server as an ASGI application: `create_app(spansrl.load)`.

    `load` is called once, in a worker thread, when the application starts; until it returns, labeling is
    refused with 503. If it raises, `on_failure` gets the error. `hosts` are the names that the Host header
    may have. `app.state.server.begin_shutdown()` announces the end of the process.
    """
    state = ServerState(load, limits or ServerLimits(), on_failure, hosts)
    app = Starlette(
        routes=[
            *(Route(one.path, one.handler, methods=[one.method]) for one in ENDPOINTS),
            Route("/static/pictures.css", picture_style),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[Middleware(SecurityMiddleware, state=state, paths={one.path for one in ENDPOINTS})],
        exception_handlers={ApiError: answer_error, HTTPException: answer_error},
        lifespan=lambda app: state.running(),
    )
    app.state.server = state
    return app


async def label(request: Request) -> Response:
    state: ServerState = request.app.state.server
    state.check_ready()
    require_type(request, "application/json")
    if request.query_params:
        raise ApiError(422, "invalid", "this path has no query options; put them in the body")
    body = await read_body(request, state.limits)

    def parse_jobs() -> list[LabelJob]:
        return parse(LabelRequest, body, state.limits).jobs()

    results = await cancel_on_disconnect(request, state.label(len(body), parse_jobs))
    return Response(b'{"results": %s}\n' % json_array(results), media_type="application/json")


async def label_stream(request: Request) -> LabelStream:
    state: ServerState = request.app.state.server
    state.check_ready()
    require_type(request, JSON_LINES, "application/jsonl", "application/json")
    return LabelStream(state, parse_options(request.query_params))


async def healthz(request: Request) -> Response:
    return JSONResponse({"status": "ok"})


async def readyz(request: Request) -> Response:
    request.app.state.server.check_not_shutting_down()
    request.app.state.server.check_ready()
    return JSONResponse({"status": "ready"})


async def metrics(request: Request) -> Response:
    return Response(
        generate_latest(request.app.state.server.metrics.registry), media_type=CONTENT_TYPE_LATEST
    )


async def openapi_document(request: Request) -> Response:
    return JSONResponse(openapi(ENDPOINTS))


async def page(request: Request) -> Response:
    return FileResponse(STATIC / "index.html")


async def docs(request: Request) -> Response:
    return FileResponse(STATIC / "docs.html")


async def picture_style(request: Request) -> Response:
    return Response(STYLE, media_type="text/css")


ENDPOINTS = (
    Endpoint(
        "POST",
        LABEL_PATH,
        label,
        "Label one text or sentence, or many",
        request=("application/json", LabelRequest),
        answers=(LabelResponse,),
        refusals=(400, 408, 413, 415, 421, 422, 429, 500, 503),
    ),
    Endpoint(
        "POST",
        "/v1/label/stream",
        label_stream,
        "Label JSON Lines as they arrive: one line of answer for each line, in order",
        request=(JSON_LINES, Item),
        query=Options,
        media_type=JSON_LINES,
        answers=(Result, StreamError),
        refusals=(400, 415, 421, 422, 429, 503),
    ),
    Endpoint("GET", "/healthz", healthz, "Whether the process answers", answers=(Health,)),
    Endpoint(
        "GET", "/readyz", readyz, "Whether texts can be labeled now", answers=(Health,), refusals=(503,)
    ),
    Endpoint("GET", "/metrics", metrics, "Metrics for Prometheus", media_type="text/plain"),
    Endpoint("GET", "/openapi.json", openapi_document, "This document"),
    Endpoint("GET", "/", page, "The demo page", media_type="text/html"),
    Endpoint("GET", "/docs", docs, "This document as a page", media_type="text/html"),
)
