"""Counts and times of the server in the text format that Prometheus reads."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter as Tally
from collections.abc import Callable, Iterator, Sequence

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Counter:
    """A number that only grows, for each combination of labels."""

    kind = "counter"

    def __init__(self, name: str, description: str, labels: Sequence[str] = ()) -> None:
        self.name = name
        self.description = description
        self.labels = labels
        self._values: Tally[tuple[str, ...]] = Tally() if labels else Tally({(): 0})

    def add(self, amount: int = 1, *labels: str) -> None:
        """Count some more."""
        self._values[labels] += amount

    def samples(self) -> Iterator[str]:
        """The lines with the values."""
        for labels, value in sorted(self._values.items()):
            yield f"{self.name}{_labelled(self.labels, labels)} {value}"


class Gauge:
    """A number that is asked for when it is wanted."""

    kind = "gauge"

    def __init__(self, name: str, description: str, value: Callable[[], float]) -> None:
        self.name = name
        self.description = description
        self._value = value

    def samples(self) -> Iterator[str]:
        """The line with the value."""
        yield f"{self.name} {self._value():g}"


class Histogram:
    """How often a value was at most this and that, for each combination of labels."""

    kind = "histogram"

    def __init__(
        self, name: str, description: str, bounds: Sequence[float], labels: Sequence[str] = ()
    ) -> None:
        self.name = name
        self.description = description
        self.bounds = bounds
        self.labels = labels
        self._counts: dict[tuple[str, ...], list[int]] = {}
        self._sums: Tally[tuple[str, ...]] = Tally()

    def add(self, value: float, *labels: str) -> None:
        """Count one value."""
        counts = self._counts.setdefault(labels, [0] * (len(self.bounds) + 1))
        counts[bisect_left(self.bounds, value)] += 1
        self._sums[labels] += value  # type: ignore[assignment]  # a Tally adds floats as well

    def samples(self) -> Iterator[str]:
        """The lines with the running totals."""
        for labels, counts in sorted(self._counts.items()):
            total = 0
            bounds = [f"{bound:g}" for bound in self.bounds] + ["+Inf"]
            for bound, count in zip(bounds, counts, strict=True):
                total += count
                shown = _labelled([*self.labels, "le"], [*labels, bound])
                yield f"{self.name}_bucket{shown} {total}"
            shown = _labelled(self.labels, labels)
            yield f"{self.name}_sum{shown} {self._sums[labels]:.6f}"
            yield f"{self.name}_count{shown} {total}"


class Metrics:
    """All that the server counts."""

    def __init__(self, *, queue: Callable[[], float], streams: Callable[[], float]) -> None:
        self.requests = Counter("spansrl_requests_total", "Requests answered.", ("method", "path", "status"))
        self.seconds = Histogram("spansrl_request_seconds", "Time from head to answer.", SECONDS, ("path",))
        self.batches = Histogram("spansrl_batch_items", "Items that were labelled together.", SIZES)
        self.chars = Counter("spansrl_characters_total", "Characters labelled.")
        self._all = (
            self.requests,
            self.seconds,
            self.batches,
            self.chars,
            Gauge("spansrl_queue_characters", "Characters that wait to be labelled.", queue),
            Gauge("spansrl_streams", "Streams that are open.", streams),
        )

    def count_batch(self, items: int, chars: int) -> None:
        """One call of the worker."""
        self.batches.add(items)
        self.chars.add(chars)

    def render(self) -> str:
        """The page that Prometheus collects."""
        lines = []
        for metric in self._all:
            lines += [f"# HELP {metric.name} {metric.description}", f"# TYPE {metric.name} {metric.kind}"]
            lines += metric.samples()
        return "\n".join(lines) + "\n"


def _labelled(names: Sequence[str], values: Sequence[str]) -> str:
    pairs = (f'{name}="{_escaped(value)}"' for name, value in zip(names, values, strict=True))
    return "{" + ",".join(pairs) + "}" if names else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
