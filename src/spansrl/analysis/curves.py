"""Training curves from the logs of runs: a section of the report, and a small chart for a terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spansrl.analysis.charts import Curves
from spansrl.analysis.tables import Picture, Section, Table, columns
from spansrl.errors import DataError, FormatError
from spansrl.formats.text_files import read_lines

NAME, TITLE = "curves", "Training curves"
LOG = "log.jsonl"
_PANELS = {"dev_f1": "F1 on the development set", "loss": "training loss"}
_BLOCKS = "▁▂▃▄▅▆▇█"

Records = Sequence[Mapping[str, Any]]


def read_log(run: Path) -> list[dict[str, Any]]:
    """The epochs of a run, from its log."""
    path = run / LOG
    records = []
    for number, line in read_lines(path):
        try:
            records.append(json.loads(line))
        except ValueError as error:
            raise FormatError("expected a JSON object", path=str(path), line=number) from error
    if not records:
        raise DataError(f"{path}: the run has not finished an epoch")
    return records


def curves(runs: Mapping[str, Records]) -> Section:
    """How the loss and the F1 on the development set change over the epochs of each run."""
    panels = []
    for key, title in _PANELS.items():
        series = tuple((name, _pairs(records, key)) for name, records in runs.items())
        if any(pairs for _, pairs in series):
            panels.append((title, series))
    rows = []
    for name, records in runs.items():
        best = max(records, key=lambda record: record.get("dev_f1", 0.0))
        last = records[-1]
        rows.append(
            (name, len(records), best.get("epoch"), best.get("dev_f1"), last.get("dev_f1"), last.get("loss"))
        )
    heads = ("run", "epochs", "best epoch", "best dev F1", "last dev F1", "last loss")
    table = Table("runs", "Runs", columns(*heads), tuple(rows))
    return Section(NAME, TITLE, parts=(table, Picture("curves", TITLE, Curves(tuple(panels)))))


def terminal_chart(
    records: Records, *, key: str = "dev_f1", height: int = 6, ascii_only: bool = False
) -> str:
    """One quantity per epoch as a small bar chart for a terminal, with its range; '' without values.

    >>> print(terminal_chart([{"epoch": 1, "dev_f1": 40.0}, {"epoch": 2, "dev_f1": 60.0}], height=2))
    60.00 ┤ █
    40.00 ┤▁█
          └ epochs 1 to 2: dev_f1
    """
    pairs = _pairs(records, key)
    if not pairs:
        return ""
    blocks = "#" if ascii_only else _BLOCKS
    values = [value for _, value in pairs]
    low, high = min(values), max(values)
    scale = (height * len(blocks) - 1) / (high - low) if high > low else 0.0
    levels = [1 + round((value - low) * scale) for value in values]
    lines = []
    for row in reversed(range(height)):
        cells = (min(max(level - row * len(blocks), 0), len(blocks)) for level in levels)
        head = f"{high:.2f}" if row == height - 1 else f"{low:.2f}" if row == 0 else ""
        lines.append(f"{head:>7} ┤" + "".join(blocks[cell - 1] if cell else " " for cell in cells).rstrip())
    lines.append(f"{'':7} └ epochs {pairs[0][0]:g} to {pairs[-1][0]:g}: {key}")
    chart = "\n".join(lines)
    return chart.replace("┤", "|").replace("└", "+") if ascii_only else chart


def _pairs(records: Records, key: str) -> tuple[tuple[float, float], ...]:
    found = ((record.get("epoch", number), record.get(key)) for number, record in enumerate(records, start=1))
    return tuple((float(epoch), float(value)) for epoch, value in found if value is not None)
