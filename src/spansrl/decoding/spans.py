"""Scores of spans to arguments: the candidates, and what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from spansrl.decoding.candidates import Columns, Pick, best_candidates, columns_with_candidates
from spansrl.decoding.scores import SpanScores
from spansrl.decoding.searching import needs_search, problem_of, search_exactly, search_greedily
from spansrl.errors import ConfigError, DataError
from spansrl.structures import Argument, Span
from spansrl.tags import is_core

Method = Literal["greedy", "argmax", "exact"]
METHODS: tuple[Method, ...] = get_args(Method)
Order = Literal["prob", "raw"]


def decode(
    scores: SpanScores, roles: Sequence[str], *, method: Method = "greedy", order: Order = "prob"
) -> list[tuple[Argument, ...]]:
    """The arguments of each proposition, sorted by span; `order` is what greedy search goes by."""
    if len(roles) != scores.start.shape[2]:
        raise DataError(f"{len(roles)} roles are given for scores of {scores.start.shape[2]} roles")
    if method not in METHODS:
        raise ConfigError(f"there is no decoder '{method}'; choose greedy, argmax or exact")
    if order not in ("prob", "raw"):
        raise ConfigError(f"greedy search has no order '{order}'; choose prob or raw")
    if not scores.start.size:
        return [()] * len(scores.pred)

    columns = columns_with_candidates(scores, by_prob=method == "greedy" and order == "prob")
    first, last = best_candidates(columns)  # (M,), (M,)
    picks = list(map(Pick, range(len(first)), first.tolist(), last.tolist()))
    if method != "argmax":
        core = np.array([is_core(role) for role in roles], dtype=bool)[columns.role]  # (M,)
        hard = needs_search(columns, first, last, core)  # (N,)
        picks = [picks[column] for column in np.flatnonzero(~hard[columns.prop])]
        search = search_greedily if method == "greedy" else search_exactly
        for prop in np.flatnonzero(hard).tolist():
            picks.extend(search(problem_of(columns, core, prop)))
    return _arguments(scores, roles, columns, picks)


def _arguments(
    scores: SpanScores, roles: Sequence[str], columns: Columns, picks: Sequence[Pick]
) -> list[tuple[Argument, ...]]:
    column, first, last = np.array(picks, dtype=np.intp).reshape(-1, 3).T  # (P,) each
    prop, role = columns.prop[column], columns.role[column]
    log_prob = columns.start[first, column] + columns.end[last, column] - scores.log_z[prop, role]
    prob = np.exp(np.minimum(log_prob, 0.0))  # a log Z of single precision may be a little too small
    order = np.lexsort((role, last, first))
    found: list[list[Argument]] = [[] for _ in scores.pred]
    for n, r, i, j, p in zip(*(x[order].tolist() for x in (prop, role, first, last, prob)), strict=True):
        found[n].append(Argument(roles[r], Span(i, j + 1), p))
    return [tuple(args) for args in found]
