"""Viterbi over BIO tags, and the arguments that a tag sequence encodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spansrl.decoding.constraints import Automaton
from spansrl.decoding.scores import Bools, Floats, Ints
from spansrl.errors import DataError
from spansrl.structures import Argument, Span
from spansrl.tags import phrases_from_bio


def viterbi(emissions: Floats, transitions: Floats, start_scores: Floats, *, lengths: Ints) -> Ints:
    """The tags (N, T) of the best path through emissions (N, T, K), −1 at padding.

    `transitions` (K, K) goes from row to column. A forbidden transition or first tag is −inf (see
    `bio_transitions`). Ties go to the smaller tag, from the last token backwards. To fix a tag, as the
    predicate's O, set the emissions of the others to −inf.
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
    tags = np.full((N, T), -1)
    tag = reached[-1].argmax(axis=1)  # (N,)
    for t in reversed(range(T)):
        # The previous tag is recomputed for the one path, instead of kept for all.
        step = (reached[t] + transitions[:, tag].T).argmax(axis=1)
        tag = np.where(t + 1 < lengths, step, tag)
        tags[:, t] = np.where(t < lengths, tag, -1)
    return tags


def viterbi_under(
    automaton: Automaton, emissions: Floats, transitions: Floats, start_scores: Floats
) -> list[int]:
    """The best path of one proposition, emissions (T, K), whose sequence of roles an automaton accepts.

    Tag 1 + 2r begins role r, tag 2 + 2r continues it, and the other transitions to it must be forbidden.
    """
    before = automaton.before()  # (Q, R, D)
    T, K = emissions.shape
    Q, R, _ = before.shape
    begins = 1 + 2 * np.arange(R)
    states, roles = np.arange(Q)[:, None], np.arange(R)
    reached = np.full((Q + 1, K), -np.inf)  # the last state is the padding of `before`
    reached[0] = start_scores
    tag_before = np.zeros((T, Q + 1, K), dtype=np.intp)
    state_before = np.zeros((T, Q + 1, K), dtype=np.intp)
    state_before[:] = np.arange(Q + 1)[:, None]
    for t in range(T):
        if t:
            steps = reached[:, :, None] + transitions  # (Q + 1, K, K)
            tag_before[t] = steps.argmax(axis=1)
            reached = steps.max(axis=1)  # (Q + 1, K)
        opening = reached[before, begins[:, None]]  # (Q, R, D)
        source = opening.argmax(axis=2)  # (Q, R)
        origin = before[states, roles, source]  # (Q, R)
        came_from = tag_before[t][origin, begins]
        reached[:Q, begins] = opening[states, roles, source]
        tag_before[t][:Q, begins], state_before[t][:Q, begins] = came_from, origin
        reached = reached + emissions[t]
    final = np.where(automaton.accepting[:, None], reached[:Q], -np.inf)
    state, tag = divmod(int(final.argmax()), K)
    path = []
    for t in reversed(range(T)):
        path.append(tag)
        state, tag = int(state_before[t, state, tag]), int(tag_before[t, state, tag])
    return path[::-1]


def bio_transitions(tags: Sequence[str]) -> tuple[Bools, Bools]:
    """Which tag may follow which (K, K), row before column, and which may come first (K,).

    I-X follows B-X or I-X only; every other tag may be anywhere.
    """
    inside = np.array([tag.startswith("I-") for tag in tags], dtype=bool)
    role = np.array([tag.partition("-")[2] for tag in tags])
    return ~inside | (role[:, None] == role), ~inside


def arguments_from_tags(
    tag_ids: Ints, tags: Sequence[str], *, lengths: Ints, pred: Ints
) -> list[tuple[Argument, ...]]:
    """The arguments that tag sequences (N, T) of ids into `tags` encode, without probabilities.

    An I-X that does not continue an X begins one. A span that covers its predicate is left out. A core role
    may occur twice, as nothing in a tag sequence forbids it.
    """
    found = []
    for ids, length, p in zip(tag_ids.tolist(), lengths.tolist(), pred.tolist(), strict=True):
        phrases = phrases_from_bio([tags[k] for k in ids[:length]])
        found.append(
            tuple(Argument(role, Span(start, end)) for role, start, end in phrases if not start <= p < end)
        )
    return found
