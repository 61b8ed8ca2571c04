"""`spansrl serve`: the HTTP server and its demo page."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import fields
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from spansrl.cli import options
from spansrl.errors import MissingExtraError
from spansrl.server.limits import ServerLimits

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


def limit_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add an option for each of the server's limits."""
    for one in reversed(fields(ServerLimits)):
        kind = click.FloatRange(0, min_open=True) if isinstance(one.default, float) else click.IntRange(1)
        option, help = one.metadata["option"], one.metadata["help"]
        add = click.option(option, one.name, default=one.default, show_default=True, type=kind, help=help)
        function = add(function)
    return function


@click.command(epilog=EXAMPLES)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=8000,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0 picks a free one.",
)
@options.model
@options.threads
@options.precision
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Host name that clients may use; may be repeated.",
)
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

    The page is at /, the API at /v1/label and its documentation at /docs. Requests take turns, so that a long
    text does not hold up short ones; requests beyond a limit are refused with a reason. After SIGTERM or
    Ctrl-C, the server finishes the requests that have arrived.

    The server has no login. By default only programs on this machine can reach it; if you open it to others
    with --host, put a proxy in front of it that authenticates users.
    """
    if any(find_spec(name) is None for name in ("starlette", "pydantic", "prometheus_client", "uvicorn")):
        raise MissingExtraError("serving", "serve")
    import spansrl
    from spansrl.server.uvicorn_server import run

    logging.basicConfig(format="spansrl: %(levelname)s: %(message)s")
    run(
        lambda: spansrl.load(model, threads=threads, precision=precision),
        host=host,
        port=port,
        limits=ServerLimits(**limits),
        hosts=hosts,
        on_listening=lambda address: click.echo(
            f"spansrl: listening on {address} (stop with Ctrl-C)", err=True
        ),
    )
