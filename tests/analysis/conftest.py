"""Tests of the report need a browser."""

from browser import browser

__all__ = ["browser"]
