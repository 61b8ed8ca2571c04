"""Section 7: the model's label embeddings, the rows of W, in two dimensions (the paper's Figure 3)."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spansrl.analysis.charts import Points
from spansrl.analysis.confusion import short_name
from spansrl.analysis.inputs import Inputs, Vectors
from spansrl.analysis.tables import Cell, Picture, Section, Table, columns
from spansrl.tags import is_core

NAME, TITLE = "embeddings", "Label embeddings"
KINDS = ("core", "adjunct", "R- and C-")


def embeddings(inputs: Inputs) -> Section:
    """Where labels lie, and which are near each other."""
    assert inputs.model is not None
    rows = inputs.model.role_vectors()
    counts = inputs.systems[0].score.roles
    frequent = [
        k
        for k, role in enumerate(inputs.model.model.roles)
        if role in counts and counts[role].correct + counts[role].missed >= inputs.settings.min_count
    ]
    if len(frequent) < 2:
        reason = (
            f"gold has fewer than two labels with {inputs.settings.min_count} arguments; lower --min-count"
        )
        return Section(NAME, TITLE, skipped=reason)
    roles = [inputs.model.model.roles[k] for k in frequent]
    intro = (
        f"The rows of W (Eq. 8) of labels with {inputs.settings.min_count} or more gold arguments. What lies "
        "near each other scores the same spans alike."
    )
    return Section(NAME, TITLE, intro, (_picture(roles, rows[frequent]), *_tables(roles, rows[frequent])))


def kind_of(role: str) -> int:
    """Which of KINDS a label is."""
    if role.startswith(("R-", "C-")):
        return 2
    return 0 if is_core(role) else 1


def project(vectors: Vectors) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The two principal components of vectors (N, D): coordinates (N, 2) and their shares of the variance.

    Deterministic: a component's sign is such that its coordinate farthest from 0 is positive.
    """
    centred = np.asarray(vectors, dtype=np.float64) - np.mean(vectors, axis=0, dtype=np.float64)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    coordinates = np.zeros((len(centred), 2))
    coordinates[:, : len(s[:2])] = u[:, :2] * s[:2]
    farthest = coordinates[np.abs(coordinates).argmax(axis=0), [0, 1]]
    variance = s**2
    share = np.zeros(2)
    share[: len(s[:2])] = variance[:2] / (variance.sum() or 1.0)
    return coordinates * np.where(farthest < 0, -1.0, 1.0), share


def cosines(vectors: Vectors) -> NDArray[np.float64]:
    """The cosine of every pair of vectors (N, D): (N, N)"""
    wide: NDArray[Any] = np.asarray(vectors, dtype=np.float64)
    units = wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return np.asarray(units @ units.T)


def _picture(roles: list[str], rows: Vectors) -> Picture:
    places, share = project(rows)
    points = Points(
        names=tuple(map(short_name, roles)),
        places=tuple((x, y) for x, y in places.tolist()),
        kinds=tuple(map(kind_of, roles)),
        legend=KINDS,
    )
    held = " and ".join(f"{100 * part:.0f}" for part in share)
    note = f"The two principal components; they hold {held} % of the variance."
    return Picture("label-embeddings", "Label embeddings in two dimensions", points, note)


def _tables(roles: list[str], rows: Vectors) -> tuple[Table, Table]:
    near = cosines(rows)
    pairs = sorted(combinations(range(len(roles)), 2), key=lambda pair: (-near[pair], pair))
    nearest: list[tuple[Cell, ...]] = []
    for k, role in enumerate(roles):
        ranked = [other for other in near[k].argsort(kind="stable")[::-1].tolist() if other != k]
        nearest.append((role, roles[ranked[0]], float(near[k, ranked[0]]), roles[ranked[-1]]))
    return (
        Table(
            "nearest-labels",
            "Pairs of labels that are nearest to each other",
            columns("label", "other label", "kinds", "cosine", fractions=".3f"),
            tuple(
                (
                    roles[a],
                    roles[b],
                    f"{KINDS[kind_of(roles[a])]} – {KINDS[kind_of(roles[b])]}",
                    float(near[a, b]),
                )
                for a, b in pairs
            ),
            shown=15,
        ),
        Table(
            "nearest-label-of-each",
            "The nearest label of each label",
            columns("label", "nearest", "cosine", "farthest", fractions=".3f"),
            tuple(nearest),
        ),
    )
