"""Servers on real sockets, with a pipeline that needs no model."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from fake import FakePipeline

from browser import browser  # noqa: F401  # a fixture
from serving import serving, wait_until


@pytest.fixture
def pipeline():
    """The pipeline behind `client`."""
    return FakePipeline()


@pytest.fixture
def serve(pipeline):
    """A function that starts a server with limits of the test's own."""

    @contextmanager
    def started(**limits):
        with serving(lambda: pipeline, **limits) as client:
            wait_until(lambda: client.get("/readyz").status == 200)
            try:
                yield client
            finally:
                pipeline.may_go.set()  # a test that failed must not keep the server from ending

    return started


@pytest.fixture
def client(serve):
    """A client of a server with the default limits."""
    with serve() as found:
        yield found
