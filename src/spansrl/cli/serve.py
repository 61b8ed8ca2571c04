"""`spansrl serve`: the HTTP server and its demo page."""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from spansrl.cli import options
from spansrl.errors import MissingExtraError
from spansrl.server.limits import Limits

if TYPE_CHECKING:
    from spansrl.inference.runtime import Precision

EXAMPLES = """
\b
Examples:
  spansrl serve                          # then open http://127.0.0.1:8000 in a browser
  spansrl serve --port 9000 --model runs/text --threads 4
  spansrl serve --host 0.0.0.0 --allow-host srl.example.org
  spansrl serve --max-body 5000000 --max-text 1000000 --timeout 300
\b
Then, in another terminal:
  curl http://127.0.0.1:8000/v1/label -H 'Content-Type: application/json' \\
       -d '{"text": "The cat chased a mouse."}'
"""
LIMITS = (
    ("--max-body", "body_bytes", "Bytes of a request, and of a line of a stream."),
    ("--max-text", "text_chars", "Characters of one text."),
    ("--max-tokens", "tokens", "Tokens of one sentence that is sent as tokens."),
    ("--max-texts", "texts", "Texts and sentences in one request."),
    ("--max-streams", "streams", "Streams at the same time."),
    ("--max-connections", "connections", "Connections at the same time."),
    ("--max-wait", "wait_seconds", "Refuse requests that would wait longer than this (seconds)."),
    ("--timeout", "seconds", "Seconds to wait for an answer."),
    ("--read-timeout", "read_seconds", "Seconds to wait for a client that sends or reads nothing."),
)


def limit_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add an option for each of the server's limits."""
    for name, field, text in reversed(LIMITS):
        default = getattr(Limits(), field)
        kind = click.FloatRange(min=0, min_open=True) if isinstance(default, float) else click.IntRange(min=1)
        function = click.option(name, field, default=default, show_default=True, type=kind, help=text)(
            function
        )
    return function


@click.command(epilog=EXAMPLES)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0 picks a free port."
)
@options.model
@options.threads
@options.precision
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="Host name that clients may use.")
@limit_options
def command(
    host: str,
    port: int,
    model: str | None,
    threads: int | None,
    precision: Precision,
    hosts: tuple[str, ...],
    **limits: Any,
) -> None:
    """Serve a demo page and an HTTP API that label text.

    The page is at /, the API at /v1/label, its documentation at /docs. Requests take turns; those beyond a
    limit are refused with a reason. SIGTERM and Ctrl-C finish what is running.

    The server has no login. By default only programs on this machine can reach it; with --host, put a proxy
    in front of it that decides who may use it.
    """
    if any(find_spec(name) is None for name in ("starlette", "pydantic", "prometheus_client", "uvicorn")):
        raise MissingExtraError("serving", "serve")
    import spansrl
    from spansrl.server.serving import run

    logging.basicConfig(format="spansrl: %(levelname)s: %(message)s")
    run(
        lambda: spansrl.load(model, threads=threads, precision=precision),
        host=host,
        port=port,
        limits=Limits(**limits),
        hosts=hosts,
        on_listening=lambda address: click.echo(
            f"spansrl: listening on {address} (stop with Ctrl-C)", err=True
        ),
    )
