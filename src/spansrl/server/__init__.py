"""spansrl over HTTP, with a page to try it: `spansrl serve`, or `app.create_app` for any ASGI server.

Needs the extra `serve` (starlette, pydantic, uvicorn). What is served where: docs/server.md.
"""
