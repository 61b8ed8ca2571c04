"""The application: a listed table of doors, and the factory that puts a pipeline behind them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from spansrl.server import metrics
from spansrl.server.bodies import read_body, refuse_query, require_type, unless_gone
from spansrl.server.gate import ANY_HOST, Gate
from spansrl.server.labeling import Job, LabelsText
from spansrl.server.limits import Limits
from spansrl.server.lingering import Lingering
from spansrl.server.messages import LabelRequest, StreamOptions, check_sizes, parse
from spansrl.server.openapi import Door, openapi
from spansrl.server.problems import RefusedError, answer_http_exception, answer_problem
from spansrl.server.service import Service, log_failure
from spansrl.server.streaming import MEDIA_TYPE as JSON_LINES
from spansrl.server.streaming import LabelStream
from spansrl.visualize import STYLE

STATIC = Path(__file__).with_name("static")


def create_app(
    load: Callable[[], LabelsText],
    *,
    limits: Limits | None = None,
    hosts: Collection[str] = (ANY_HOST,),
    on_failure: Callable[[Exception], None] = log_failure,
) -> Starlette:
    """The server as an ASGI application: `create_app(spansrl.load)`.

    `load` is called once, when the application starts, in the thread that labels; until it returns,
    labelling is refused with 503; if it raises, that goes to `on_failure`. `hosts` are the names that
    requests may address the server by.
    `app.state.service` has `finish()`, for whoever knows that the process is about to end.
    """
    service = Service(load, limits or Limits(), on_failure)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with service.running():
            yield

    app = Starlette(
        routes=[
            *(Route(door.path, door.endpoint, methods=[door.method]) for door in DOORS),
            Route("/static/pictures.css", picture_style),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[
            Middleware(Gate, metrics=service.metrics, paths={door.path for door in DOORS}, hosts=hosts),
            Middleware(Lingering),
        ],
        exception_handlers={RefusedError: answer_problem, HTTPException: answer_http_exception},
        lifespan=lifespan,
    )
    app.state.service = service
    return app


async def label(request: Request) -> Response:
    """Label what one JSON body holds."""
    service = service_of(request)
    service.check_ready()
    require_type(request, "application/json")
    refuse_query(request)
    message = parse(LabelRequest, await read_body(request, service.limits))
    items = message.all_items()
    check_sizes(items, service.limits)
    jobs = [Job.of(item, message) for item in items]
    results = await unless_gone(request, service.label(jobs))
    return Response(b'{"results": [' + b", ".join(results) + b"]}\n", media_type="application/json")


async def label_stream(request: Request) -> LabelStream:
    """Label JSON lines as they come."""
    service = service_of(request)
    service.check_ready()
    require_type(request, JSON_LINES, "application/jsonl", "application/json")
    return LabelStream(service, StreamOptions.from_query(request.query_params))


async def healthz(request: Request) -> Response:
    """Say that the process answers."""
    return JSONResponse({"status": "ok"})


async def readyz(request: Request) -> Response:
    """Say whether texts can be labelled now."""
    service_of(request).check_ready()
    return JSONResponse({"status": "ready"})


async def show_metrics(request: Request) -> Response:
    """Counts and times for Prometheus."""
    return PlainTextResponse(service_of(request).metrics.render(), media_type=metrics.MEDIA_TYPE)


async def show_openapi(request: Request) -> Response:
    """The table of doors as an OpenAPI document."""
    return JSONResponse(openapi(DOORS))


async def page(request: Request) -> Response:
    """The page for people."""
    return FileResponse(STATIC / "index.html")


async def docs(request: Request) -> Response:
    """The OpenAPI document as a page."""
    return FileResponse(STATIC / "docs.html")


async def picture_style(request: Request) -> Response:
    """The style of the pictures."""
    return Response(STYLE, media_type="text/css")


def service_of(request: Request) -> Service:
    """The state of the application that got the request."""
    service: Service = request.app.state.service
    return service


DOORS = (
    Door(
        "POST",
        "/v1/label",
        label,
        "Label a text, or tokens, or many of either",
        request={"application/json": LabelRequest.__name__},
        answer=("application/json", "LabelResponse"),
        problems=(408, 413, 415, 422, 429, 500, 503),
    ),
    Door(
        "POST",
        "/v1/label/stream",
        label_stream,
        "Label JSON lines, one item a line, as they come: one line of answer for each, in order",
        request={JSON_LINES: "Item"},
        options=StreamOptions,
        answer=(JSON_LINES, "StreamLine"),
        problems=(415, 422, 429, 503),
    ),
    Door("GET", "/healthz", healthz, "Does the process answer?", answer=("application/json", "Status")),
    Door(
        "GET",
        "/readyz",
        readyz,
        "Can texts be labelled now?",
        answer=("application/json", "Status"),
        problems=(503,),
    ),
    Door("GET", "/metrics", show_metrics, "Counts and times for Prometheus", answer=("text/plain", None)),
    Door("GET", "/openapi.json", show_openapi, "This document", answer=("application/json", None)),
    Door("GET", "/", page, "A page to try it", answer=("text/html", None)),
    Door("GET", "/docs", docs, "This document as a page", answer=("text/html", None)),
)
