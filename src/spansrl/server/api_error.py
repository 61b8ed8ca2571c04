"""Refused requests: a status, a code for programs, and a sentence for people, always as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from spansrl.errors import printable

CLIENT_GONE = 499  # nginx's number for it


class ApiError(Exception):
    """A request that is refused.

    `details` name the wrong fields; `retry_after` is in seconds, for what may work later: at most a minute.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        details: Sequence[dict[str, str]] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(printable(message))
        self.status = status
        self.code = code
        self.details = [{name: printable(text) for name, text in one.items()} for one in details]
        self.retry_after = retry_after

    def to_dict(self) -> dict[str, Any]:
        error: dict[str, Any] = {"code": self.code, "message": str(self)}
        if self.details:
            error["details"] = self.details
        return {"error": error}

    def to_response(self, more: Mapping[str, str] | None = None) -> Response:
        """The answer, with more headers."""
        headers = {}
        if self.retry_after is not None:
            headers["Retry-After"] = str(max(1, min(60, math.ceil(self.retry_after))))
        body = json.dumps(self.to_dict(), ensure_ascii=False) + "\n"
        return Response(body, self.status, {**headers, **(more or {})}, media_type="application/json")

    def to_http(self, more: Mapping[str, str]) -> bytes:
        """The whole answer as HTTP/1.1, with more headers."""
        response = self.to_response(more)
        lines = [f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}".encode()]
        lines += [b"%s: %s" % header for header in response.raw_headers]
        return b"\r\n".join([*lines, b"", bytes(response.body)])


class ClientGoneError(ApiError):
    """The client closed the connection; only the metrics see this answer."""

    def __init__(self) -> None:
        super().__init__(CLIENT_GONE, "client_gone", "the client closed the connection before the answer")


_MESSAGES = {
    404: ("not_found", "nothing at this path; GET /openapi.json lists all paths, /docs shows them"),
    405: ("method_not_allowed", "this path does not accept this method; see GET /openapi.json"),
}


async def answer_error(request: Request, error: Exception) -> Response:
    """Exception handler for `ApiError` and for starlette's own refusals."""
    if isinstance(error, ApiError):
        return error.to_response()
    assert isinstance(error, HTTPException)
    code, message = _MESSAGES.get(error.status_code, ("refused", error.detail))
    return ApiError(error.status_code, code, message).to_response(error.headers)
