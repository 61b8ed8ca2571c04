"""Taggers: the scores of BIO tag sequences, decoded by Viterbi.

Tags are O, then B-r and I-r for each role r. The predicate is O. `decoder = "marginals"` chooses the segments
whose marginal probability exceeds 0.5, most probable first, without overlaps and with core roles once.
`constrained` looks for the best sequence in which I-r continues r, core roles occur once, and C- and R- roles
have their base (He et al. 2017). Every other decoder is plain Viterbi. Arguments have their marginals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from spansrl.decoding.constraints import Automaton, anything, constraints_of, search_under
from spansrl.decoding.scores import Arrays, Bools, Decoder, Floats, Ints, Order, fit_to_roles
from spansrl.decoding.searching import take_in_order
from spansrl.decoding.spans import Chosen, arguments
from spansrl.decoding.tag_marginals import SegmentMarginals, segment_marginals
from spansrl.errors import DataError
from spansrl.inventory.roles import RoleTable
from spansrl.structures import Argument, Span
from spansrl.tags import phrases_from_bio


@dataclass(frozen=True, slots=True)
class TagScores:
    """Scores of a tag sequence y: first[y_0] + Σ_t emissions[n, t, y_t] + Σ_t transitions[y_t, y_t+1]."""

    emissions: Floats  # (N, T, K), K = 1 + 2R
    transitions: Floats  # (K, K), from row to column; −inf where forbidden
    first: Floats  # (K,): scores of the first tag
    lengths: Ints  # (N,)
    pred: Ints  # (N,)
    handicap: Floats | float = 0.0  # (N,)

    @classmethod
    def from_arrays(cls, arrays: Arrays, lengths: Ints, pred: Ints) -> TagScores:
        """Scores from `emissions`, `transitions` and `first`; without the latter two, BIO decides alone."""
        emissions = arrays["emissions"]
        if "transitions" in arrays:
            return cls(emissions, arrays["transitions"], arrays["first"], lengths, pred)
        allowed, first = bio_transitions(tag_names([str(r) for r in range(emissions.shape[2] // 2)]))
        return cls(emissions, _barred(allowed), _barred(first), lengths, pred)

    @staticmethod
    def take_roles(arrays: Arrays, roles: Ints) -> Arrays:
        """The arrays with their roles in another order: the last axis, and the first one of transitions."""
        tags = np.concatenate([[0], np.stack([1 + 2 * roles, 2 + 2 * roles], axis=1).reshape(-1)])
        taken = {name: array[..., tags] for name, array in arrays.items()}
        return taken | ({"transitions": taken["transitions"][tags]} if "transitions" in taken else {})

    def decode(
        self, roles: RoleTable, *, decoder: Decoder = "greedy", order: Order = "prob"
    ) -> list[tuple[Argument, ...]]:
        """The arguments of the best tag sequence of each proposition in which the predicate is O.

        With `marginals`, the segments whose marginal exceeds 0.5, or less by the handicap, instead.
        """
        own = fit_to_roles(self, roles, (len(self.pred), self.emissions.shape[2] // 2), decoder, order)
        marginals = segment_marginals(own.emissions, self.transitions, self.first, self.lengths, self.pred)
        if decoder == "marginals":
            return arguments(self._likely(marginals, roles), roles, len(self.pred), marginals.log_prob)
        paths = own._best_paths(roles, decoder)
        found = arguments_from_tags(paths, self._tags, lengths=self.lengths, pred=self.pred)
        return _with_probs(found, roles, marginals)

    @property
    def _tags(self) -> list[str]:
        """The names of the tags, with the columns of roles in place of their names."""
        return tag_names([str(column) for column in range(self.emissions.shape[2] // 2)])

    def _likely(self, marginals: SegmentMarginals, roles: RoleTable) -> Chosen:
        core = roles.mask((len(self.pred), self.emissions.shape[2] // 2), lambda role: role.is_core)
        least = np.broadcast_to(-np.logaddexp(0.0, self.handicap), self.pred.shape).tolist()
        found = []
        for n, (pred, length) in enumerate(zip(self.pred.tolist(), self.lengths.tolist(), strict=True)):
            candidates = role, first, last = marginals.above(n, least[n], pred, length)
            rank = marginals.log_prob(np.full_like(role, n), role, first, last)
            found += [(n, *pick) for pick in take_in_order(candidates, rank, core[n])]
        return Chosen(*np.array(found, dtype=np.intp).reshape(-1, 4).T)

    def _best_paths(self, roles: RoleTable, decoder: Decoder) -> Ints:
        """(N, T) the best tag sequences, −1 at padding."""
        emissions = self.emissions.copy()
        emissions[:, :, 0] -= np.reshape(self.handicap, (-1, 1))
        emissions[np.arange(len(self.pred)), self.pred, 1:] = -np.inf
        if decoder != "constrained":
            return viterbi(emissions, self.transitions, self.first, lengths=self.lengths)
        allowed, first = bio_transitions(self._tags)
        bio = replace(
            self,
            emissions=emissions,
            transitions=self.transitions + _barred(allowed),
            first=self.first + _barred(first),
        )
        return bio._constrained(roles)

    def _constrained(self, roles: RoleTable) -> Ints:
        """(N, T) the best legal paths, −1 at padding."""
        known = {own: constraints_of(own) for own in roles.lists}
        paths = viterbi(self.emissions, self.transitions, self.first, lengths=self.lengths)
        for n, length in enumerate(self.lengths.tolist()):
            emissions = self.emissions[n, :length].astype(np.float64)
            constraints = known[roles.of(n)]

            def search(automaton: Automaton, emissions: Floats = emissions) -> list[int]:
                return viterbi_under(automaton, emissions, self.transitions, self.first)

            if not all(constraint.accepts(_roles(paths[n, :length].tolist())) for constraint in constraints):
                paths[n, :length] = search_under(constraints, anything(len(roles.of(n))), search, _roles)
        return paths

    def gain(self, prop: Ints, role: Ints, first: Ints, last: Ints) -> Floats:
        raise DataError("the model scores tags, not spans; use a model with span, segmental or label output")

    def with_handicap(self, handicap: Floats) -> TagScores:
        return replace(self, handicap=self.handicap + handicap)

    def without_roles(self, ruled_out: Bools) -> TagScores:
        tags = np.pad(np.repeat(ruled_out, 2, axis=1), ((0, 0), (1, 0)))  # (N, K)
        return replace(self, emissions=np.where(tags[:, None], -np.inf, self.emissions))


def _with_probs(
    found: Sequence[tuple[Argument, ...]], roles: RoleTable, marginals: SegmentMarginals
) -> list[tuple[Argument, ...]]:
    """Arguments whose roles are columns, with the roles' names and marginal probabilities."""
    rows = [(n, int(arg.role), arg.start, arg.end - 1) for n, args in enumerate(found) for arg in args]
    probs = iter(
        np.exp(np.minimum(marginals.log_prob(*np.array(rows, np.intp).reshape(-1, 4).T), 0.0)).tolist()
    )
    return [
        tuple(replace(arg, role=roles.of(n)[int(arg.role)].name, prob=next(probs)) for arg in args)
        for n, args in enumerate(found)
    ]


def tag_names(roles: Sequence[str]) -> list[str]:
    """O, then B-r and I-r for each role r."""
    return ["O", *(f"{prefix}-{role}" for role in roles for prefix in "BI")]


def _roles(path: Sequence[int]) -> list[int]:
    """The roles that begin in a path, in order."""
    return [(tag - 1) // 2 for tag in path if tag % 2]


def _barred(allowed: Bools) -> Floats:
    return np.where(allowed, 0.0, -np.inf)


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
