"""What a target format could not hold, counted while writing and reported once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from spansrl.errors import counted


@dataclass(slots=True)
class Losses:
    """Counts of what was dropped or changed in writing; falsy if nothing was."""

    format: str
    fields: Counter[str] = field(default_factory=Counter)  # field of the wire format -> sentences that had it
    items: Counter[str] = field(
        default_factory=Counter
    )  # thing, in the plural -> how many were dropped or changed

    def __bool__(self) -> bool:
        return bool(self.fields or self.items)

    def __str__(self) -> str:
        """One line: ``conll05-props cannot hold: 'text' (12 sentences), overlapping arguments (3)``."""
        fields = [f"'{name}' ({counted(count, 'sentence')})" for name, count in self.fields.items()]
        items = [f"{name} ({count})" for name, count in self.items.items()]
        return f"{self.format} cannot hold: {', '.join(fields + items)}"
