"""Viterbi over BIO tags, and the arguments that tags stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spansrl.decoding.scores import Bools, Floats, Ints, TagScores
from spansrl.errors import DataError
from spansrl.structures import Argument, Span
from spansrl.tags import phrases_from_bio


class TagPaths(NamedTuple):
    """The best tag sequence of each proposition, −1 at padding, and its score."""

    tags: Ints  # (N, T)
    scores: Floats  # (N,)


def viterbi(
    emissions: Floats,
    transitions: Floats,
    start_scores: Floats,
    end_scores: Floats | None = None,
    *,
    lengths: Ints,
) -> TagPaths:
    """The best path through emissions (N, T, K); `transitions` (K, K) goes from row to column.

    A forbidden transition or first tag is −inf (see `bio_transitions`). Ties go to the smaller tag, from the
    last token backwards. To fix a tag known beforehand, as the predicate's O, set the emissions of the others
    to −inf.
    """
    N, T, K = emissions.shape
    if transitions.shape != (K, K):
        raise DataError(f"{K} tags need transitions of the shape {(K, K)}, found {transitions.shape}")
    dtype = np.result_type(emissions, transitions, np.float32)
    reached = np.empty((T, N, K), dtype)  # the best path to each tag
    with np.errstate(invalid="ignore"):  # padding may be infinite
        for t in range(T):
            before = (reached[t - 1][:, :, None] + transitions).max(axis=1) if t else start_scores
            reached[t] = np.where((t < lengths)[:, None], before + emissions[:, t], reached[t - 1])
    final = reached[-1] if end_scores is None else reached[-1] + end_scores  # (N, K)

    tags = np.full((N, T), -1)
    tag = final.argmax(axis=1)  # (N,)
    for t in reversed(range(T)):
        # Which tag came before is found again for the one path, instead of kept for all.
        going_on = t + 1 < lengths
        step = (reached[t] + transitions[:, tag].T).argmax(axis=1)
        tag = np.where(going_on, step, tag)
        tags[:, t] = np.where(t < lengths, tag, -1)
    return TagPaths(tags, final.max(axis=1))


def bio_transitions(tags: Sequence[str]) -> tuple[Bools, Bools]:
    """Which tag may follow which (K, K), row before column, and which may come first (K,).

    I-X follows B-X or I-X only; every other tag may stand anywhere.
    """
    inside = np.array([tag.startswith("I-") for tag in tags], dtype=bool)
    role = np.array([tag.partition("-")[2] for tag in tags])
    return ~inside | (role[:, None] == role), ~inside


def arguments_from_tags(
    tag_ids: Ints, tags: Sequence[str], *, lengths: Ints, pred: Ints
) -> list[tuple[Argument, ...]]:
    """The arguments that tag sequences (N, T) of ids into `tags` stand for, without probabilities.

    An I-X that continues no X begins one. A span that covers its predicate cannot be an argument: it is left
    out. A core role may come twice, as nothing in a tag sequence forbids it.
    """
    found = []
    for ids, length, p in zip(tag_ids.tolist(), lengths.tolist(), pred.tolist(), strict=True):
        phrases = phrases_from_bio([tags[k] for k in ids[:length]])
        found.append(
            tuple(Argument(role, Span(start, end)) for role, start, end in phrases if not start <= p < end)
        )
    return found


def decode_tags(scores: TagScores, roles: Sequence[str]) -> list[tuple[Argument, ...]]:
    """The arguments of the best tag sequence in which the predicate is O; probabilities are not known."""
    tags = ["O", *(f"{prefix}-{role}" for role in roles for prefix in "BI")]
    emissions = scores.emissions.copy()
    emissions[np.arange(len(scores.pred)), scores.pred, 1:] = -np.inf
    best = viterbi(emissions, scores.transitions, scores.first, lengths=scores.lengths)
    return arguments_from_tags(best.tags, tags, lengths=scores.lengths, pred=scores.pred)
