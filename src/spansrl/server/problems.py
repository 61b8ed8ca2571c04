"""What clients are told when a request is refused: a status, a code for programs, a sentence for people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

CLIENT_GONE = 499  # nginx's number for it


class RefusedError(Exception):
    """A request that is not answered with what it asked for.

    `details` name the places that are wrong; `retry_after` is in seconds, for what may work later.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        details: Sequence[dict[str, str]] = (),
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.details = details
        self.retry_after = retry_after

    def to_dict(self) -> dict[str, Any]:
        """The error as the JSON object that clients see."""
        error: dict[str, Any] = {"code": self.code, "message": str(self)}
        if self.details:
            error["details"] = list(self.details)
        return {"error": error}

    def to_response(self) -> Response:
        """The error as an answer."""
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        body = json.dumps(self.to_dict(), ensure_ascii=False) + "\n"
        return Response(body, self.status, headers, media_type="application/json")


class ClientGoneError(RefusedError):
    """The client hung up; its work is dropped, and nobody reads this answer. The metrics see it."""

    def __init__(self) -> None:
        super().__init__(CLIENT_GONE, "client_gone", "the client closed the connection before the answer")


_CODES = {404: "not_found", 405: "method_not_allowed"}
_MESSAGES = {
    404: "there is nothing at this address; GET /openapi.json lists what there is, /docs shows it",
    405: "this address does not take this method; GET /openapi.json lists what it takes",
}


async def answer_problem(request: Request, error: Exception) -> Response:
    """Handler for `RefusedError`s that a route raises."""
    assert isinstance(error, RefusedError)
    return error.to_response()


async def answer_http_exception(request: Request, error: Exception) -> Response:
    """Handler for what starlette itself refuses: unknown addresses and methods."""
    assert isinstance(error, HTTPException)
    status = error.status_code
    problem = RefusedError(status, _CODES.get(status, "refused"), _MESSAGES.get(status, error.detail))
    response = problem.to_response()
    response.headers.update(error.headers or {})
    return response
