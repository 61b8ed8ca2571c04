"""How much the server takes, and how long it waits: one value that every part of it reads."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from spansrl.errors import ConfigError
from spansrl.language.tokenizer import MAX_TOKENS


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what clients may ask for; whatever goes beyond one of them is refused with a reason."""

    body_bytes: int = 1_000_000  # of a request's body, and of a line of a stream
    text_chars: int = 100_000  # of one text, or of the tokens of one sentence together
    tokens: int = MAX_TOKENS  # of one sentence that comes as tokens
    items: int = 256  # texts and sentences in one request
    queue_chars: int = 2_000_000  # that wait to be labelled
    streams: int = 8  # at the same time
    connections: int = 512  # at the same time
    seconds: float = 60.0  # from the end of a request's body to its answer
    read_seconds: float = 20.0  # for a request's head, for its body, for the next piece of a stream

    def __post_init__(self) -> None:
        for field in fields(self):
            if not 0 < (value := getattr(self, field.name)) < math.inf:
                raise ConfigError(f"the limit {field.name} is {value}; give a finite number above 0")
