"""Pictures are also looked at in a browser."""

from browser import browser

__all__ = ["browser"]
