"""ServerLimits on size, number and time; each of them is an option of `spansrl serve`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

from spansrl.errors import ConfigError
from spansrl.language import MAX_TOKENS


def _limit(default: float, option: str, help: str) -> Any:
    return field(default=default, metadata={"option": option, "help": help})


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """What clients may send, and how long the server waits; anything beyond is refused with a reason."""

    body_bytes: int = _limit(1_000_000, "--max-body", "Largest request body or line of a stream, in bytes.")
    text_chars: int = _limit(100_000, "--max-text", "Longest text, in characters.")
    tokens: int = _limit(MAX_TOKENS, "--max-tokens", "Longest sentence that is sent as tokens.")
    texts: int = _limit(256, "--max-texts", "Maximum number of texts or sentences in one request.")
    answer_bytes: int = _limit(25_000_000, "--max-answer", "Largest answer to one request or line, in bytes.")
    unsent_bytes: int = _limit(
        100_000_000, "--max-unsent", "Bytes of answers that may wait to be read, over all connections."
    )
    streams: int = _limit(8, "--max-streams", "Maximum number of open streams.")
    connections: int = _limit(512, "--max-connections", "Maximum number of open connections.")
    wait_seconds: float = _limit(
        10.0, "--max-wait", "Refuse a request that would wait for others longer than this, in seconds."
    )
    seconds: float = _limit(60.0, "--timeout", "Maximum seconds from the end of a request to its answer.")
    read_seconds: float = _limit(
        20.0, "--read-timeout", "Maximum seconds for a request's head, its body, or each line of a stream."
    )

    def __post_init__(self) -> None:
        for one in fields(self):
            if not 0 < (value := getattr(self, one.name)) < math.inf:
                raise ConfigError(f"the limit {one.name} is {value}; it must be a finite number above 0")
