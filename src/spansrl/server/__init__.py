"""spansrl over HTTP, with a demo page: `spansrl serve`, or `app.create_app` for any ASGI server.

Needs the extra `serve`. The endpoints are described in docs/server.md.
"""
