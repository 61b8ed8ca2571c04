"""How much the server accepts, and how long it waits: one value that all of its parts read."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from spansrl.errors import ConfigError
from spansrl.language.tokenizer import MAX_TOKENS


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what clients may send; anything beyond one of them is refused with a reason."""

    body_bytes: int = 1_000_000  # of a request's body, and of a line of a stream
    text_chars: int = 100_000  # of one text, or of the tokens of one sentence together
    tokens: int = MAX_TOKENS  # of one sentence that is sent as tokens
    texts: int = 256  # texts and sentences in one request
    streams: int = 8  # at the same time
    connections: int = 512  # at the same time
    wait_seconds: float = 10.0  # expected wait behind other requests, beyond which new ones are refused
    seconds: float = 60.0  # from the end of a request's body to its answer
    read_seconds: float = 20.0  # for a request's head, for its body, for each line of a stream

    def __post_init__(self) -> None:
        for field in fields(self):
            if not 0 < (value := getattr(self, field.name)) < math.inf:
                raise ConfigError(f"the limit {field.name} is {value}; it must be a finite number above 0")
