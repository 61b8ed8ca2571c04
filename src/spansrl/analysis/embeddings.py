"""Section 7: the model's label embeddings, the rows of W, in two dimensions (the paper's Figure 3)."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spansrl.analysis.charts import Points
from spansrl.analysis.confusion import short_name
from spansrl.analysis.report_inputs import Inputs, Vectors
from spansrl.analysis.tables import Picture, Section, Table, columns
from spansrl.inventory import PROPBANK

NAME, TITLE = "embeddings", "Label embeddings"
KINDS = ("core", "modifier", "R- and C-")


def embeddings(inputs: Inputs) -> Section:
    assert inputs.model is not None
    names, min_count = inputs.model.model.roles, inputs.settings.min_count
    counts = inputs.systems[0].score.roles
    frequent = [k for k, role in enumerate(names) if role in counts and counts[role].gold >= min_count]
    if len(frequent) < 2:
        reason = f"gold has fewer than two labels with {min_count} arguments; lower --min-count"
        return Section(NAME, TITLE, skipped=reason)
    roles, rows = [names[k] for k in frequent], inputs.model.role_vectors()[frequent]
    intro = (
        f"The rows of W (Eq. 8) of labels with {min_count} or more gold arguments. Labels near each other "
        "give the same spans similar scores."
    )
    return Section(NAME, TITLE, intro, (_picture(roles, rows), _nearest(roles, rows)))


def kind_of(role: str) -> int:
    """The index of a label's kind in KINDS."""
    found = PROPBANK.role(role)
    return 2 if found.base != role else 0 if found.is_core else 1


def project(vectors: Vectors) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The two principal components of vectors (N, D): coordinates (N, 2) and their shares of the variance.

    Deterministic: a component's sign is such that its coordinate farthest from 0 is positive.
    """
    centered = np.asarray(vectors, dtype=np.float64) - np.mean(vectors, axis=0, dtype=np.float64)
    wide = np.pad(centered, ((0, 0), (0, 2)))  # at least two components
    u, s, _ = np.linalg.svd(wide, full_matrices=False)
    coordinates = u[:, :2] * s[:2]
    farthest = coordinates[np.abs(coordinates).argmax(axis=0), [0, 1]]
    return coordinates * np.where(farthest < 0, -1.0, 1.0), s[:2] ** 2 / (np.sum(s**2) or 1.0)


def cosines(vectors: Vectors) -> NDArray[np.float64]:
    """The cosine of every pair of vectors (N, D): (N, N)"""
    wide: NDArray[Any] = np.asarray(vectors, dtype=np.float64)
    units = wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return np.asarray(units @ units.T)


def _picture(roles: list[str], rows: Vectors) -> Picture:
    coordinates, share = project(rows)
    points = Points(
        names=tuple(map(short_name, roles)),
        points=tuple((x, y) for x, y in coordinates.tolist()),
        kinds=tuple(map(kind_of, roles)),
        legend=KINDS,
    )
    held = " and ".join(f"{100 * part:.0f}" for part in share)
    note = f"The two principal components; they hold {held}% of the variance."
    return Picture("label-embeddings", "Label embeddings in two dimensions", points, note)


def _nearest(roles: list[str], rows: Vectors) -> Table:
    near = cosines(rows)
    pairs = sorted(combinations(range(len(roles)), 2), key=lambda pair: (-near[pair], pair))
    kinds = [KINDS[kind_of(role)] for role in roles]
    return Table(
        "nearest-labels",
        "Pairs of labels that are nearest to each other",
        columns("label", "other label", "kinds", "cosine", fractions=".3f"),
        tuple((roles[a], roles[b], f"{kinds[a]} – {kinds[b]}", float(near[a, b])) for a, b in pairs),
        shown=15,
    )
