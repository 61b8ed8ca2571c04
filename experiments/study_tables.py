"""The tables of the study in EXPERIMENTS.md, made from what `study.py WORK --keep DIR` keeps.

Systems, comparisons and parts that have not run are left out, so tables can be made at any time.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from spansrl.evaluation import adjust_holm

Row = dict[str, str]
PARTS = {"dev": "EWT dev", "test": "EWT test", "masc": "MASC test"}
BINS = {"labels": "{}", "part of speech": "{} predicate", "seen": "predicate {} in training"}
NONE = "–"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows))


@dataclass(frozen=True)
class Study:
    """A directory of kept results."""

    path: Path

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The study's file, with what it inherits."""
        found: dict[str, Any] = json.loads((self.path / "study.json").read_text(encoding="utf-8"))
        return found

    @property
    def titles(self) -> dict[str, str]:
        """What each system is, in the order of the study's file."""
        systems = [*self.facts["system"], *self.facts.get("ensemble", ())]
        return {system["name"]: system.get("title", system["name"]) for system in systems}

    @property
    def comparisons(self) -> list[str]:
        return [comparison["name"] for comparison in self.facts["comparison"]]

    def rows(self, comparison: str, part: str, name: str) -> list[Row]:
        """A table that `spansrl analyze` wrote; empty if it did not run."""
        path = self.path / f"{comparison}-{part}" / "tables" / f"{name}.csv"
        if not path.exists():
            return []
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def parts(self, comparison: str) -> list[str]:
        """The parts on which systems were compared."""
        return [part for part in self.facts["parts"] if self.rows(comparison, part, "overall")]

    def systems(self, comparison: str, part: str) -> list[str]:
        return [row["system"] for row in self.rows(comparison, part, "overall")]


def scores(study: Study) -> str:
    """Mean F1 and its deviation over seeds, and perfect propositions, of every system on every part."""
    found = {
        (row["system"], part): row
        for comparison in study.comparisons
        for part in study.parts(comparison)
        for row in study.rows(comparison, part, "overall")
    }
    parts = [part for part in study.facts["parts"] if any(own == part for _, own in found)]
    rows = []
    for name, title in study.titles.items():
        own = [found.get((name, part), {}) for part in parts]
        if any(own):
            runs = next(row for row in own if row).get("runs", "1")
            cells = [
                cell
                for row in own
                for cell in (
                    *map(row.get, ("precision", "recall")),
                    _mean(row, "F1"),
                    row.get("perfect props %"),
                )
            ]
            rows.append([name, title, runs, *(cell or NONE for cell in cells)])
    heads = [f"{PARTS[part]} {head}" for part in parts for head in ("P", "R", "F1", "perfect %")]
    return table(["system", "what it is", "seeds", *heads], rows)


def boundaries(study: Study, comparison: str) -> str:
    """Boundary F1, and label accuracy on a system's own correct boundaries and on the common ones."""
    rows: dict[str, list[str]] = {}
    heads = []
    for part in study.parts(comparison):
        tables = {
            "boundary F1": (study.rows(comparison, part, "boundaries"), "F1"),
            "label accuracy": (study.rows(comparison, part, "label-accuracy"), "accuracy %"),
            "on common": (study.rows(comparison, part, "label-accuracy-common"), "accuracy %"),
        }
        for head, (found, column) in tables.items():
            if found:
                heads.append(f"{PARTS[part]} {head}")
                for row in found:
                    rows.setdefault(row["system"], []).append(_mean(row, column))
    return table(["system", *heads], ([name, *cells] for name, cells in rows.items()))


def differences(study: Study, name: str, comparisons: Sequence[str]) -> str:
    """Differences with their interval and their p, corrected for the whole table."""
    found = {
        (row["A"], row["B"], part): row
        for comparison in comparisons
        for part in study.parts(comparison)
        for row in study.rows(comparison, part, name)
    }
    adjusted = adjust_holm([float(row["p (bootstrap)"]) for row in found.values()])
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for ((a, b, part), row), p in zip(found.items(), adjusted, strict=True):
        interval = f"{row['95 % low']} to {row['95 % high']}"
        cells.setdefault((a, b), {})[part] = f"{row['A − B']} ({interval}), p = {p:.4f}"
    parts = [part for part in study.facts["parts"] if any(part in own for own in cells.values())]
    return table(
        ["difference", *(PARTS[part] for part in parts)],
        ([f"{a} − {b}", *(own.get(part, NONE) for part in parts)] for (a, b), own in cells.items()),
    )


def breakdown(
    study: Study, comparison: str, names: Sequence[str], *, parts: Sequence[str], first: int | None = None
) -> str:
    """Mean F1 of each system, by the bins of some tables of `spansrl analyze`."""
    parts = [part for part in parts if part in study.parts(comparison)]
    systems = study.systems(comparison, parts[0])
    rows = []
    for name in names:
        found = {part: study.rows(comparison, part, name) for part in parts}
        for row in found[parts[0]][:first]:
            head = next(iter(row))
            cells = [BINS.get(head, f"{head} {{}}").format(row[head])]
            for part in parts:
                same = next((own for own in found[part] if own[head] == row[head]), {})
                cells += [same.get("gold", NONE), *(same.get(system) or NONE for system in systems)]
            rows.append(cells)
    heads = [f"{PARTS[part]} {head}" for part in parts for head in ("gold", *systems)]
    return table(["", *heads], rows)


def confusions(study: Study, comparison: str, part: str, first: int = 10) -> str:
    """Pairs of labels that are confused most often: percent of each system's labeling errors."""
    systems = study.systems(comparison, part)
    rows = study.rows(comparison, part, "confused-pairs")[:first]
    return table(
        ["labels", *systems],
        (
            [row["labels"], *(f"{row[f'{system} times']} ({row[f'{system} %']} %)" for system in systems)]
            for row in rows
        ),
    )


def repairs(study: Study, comparison: str, part: str) -> str:
    """What each kind of repair is worth in F1, one upon the other."""
    systems = study.systems(comparison, part)
    found = [study.rows(comparison, part, f"repairs-{n}") for n in range(1, len(systems) + 1)]
    return table(
        ["repair", *(f"{system} {head}" for system in systems for head in ("times", "gain"))],
        (
            [rows[0]["repair"], *(row[key] for row in rows for key in ("times", "gain"))]
            for rows in zip(*found, strict=True)
            if rows[0]["times"]
        ),
    )


def as_written(study: Study, comparison: str, part: str, name: str, first: int | None = None) -> str:
    """A table of `spansrl analyze` without changes."""
    rows = study.rows(comparison, part, name)[:first]
    return table(list(rows[0]), ([cell or NONE for cell in row.values()] for row in rows))


def _mean(row: Row, column: str) -> str:
    """A mean and, if there is one, its standard deviation."""
    if column not in row:
        return ""
    return f"{row[column]} ± {spread}" if (spread := row.get("± sd")) else row[column]
