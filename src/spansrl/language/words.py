"""Which tokens can be predicates."""

from __future__ import annotations

from spansrl.language.tokenizer.words import scan

_NOT_WORDS = frozenset(
    {"url", "email", "domain", "file", "newsgroup", "tag", "version", "currency", "emoticon"}
)


def can_be_predicate(token: str) -> bool:
    """Whether a token is a word: not a number, a mark, an address, a file name, a hashtag or a handle."""
    if token[:1].isdigit() or not any(map(str.isalpha, token)):
        return False
    first = next(scan(token), None)
    return first is not None and first.kind not in _NOT_WORDS
