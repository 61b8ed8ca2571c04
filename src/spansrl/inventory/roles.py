"""What roles are."""

from __future__ import annotations

from collections.abc import Iterable

from spansrl.structures import Sentence


def roles_in(sentences: Iterable[Sentence]) -> tuple[str, ...]:
    """The roles of all arguments, sorted."""
    return tuple(sorted({arg.role for sent in sentences for prop in sent.props for arg in prop.args}))
