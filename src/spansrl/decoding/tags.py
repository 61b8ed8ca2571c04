"""Taggers: the scores of BIO tag sequences, decoded by Viterbi.

Tags are O, then B-r and I-r for each role r. The predicate is O. `decoder = "constrained"` looks for the best
sequence in which I-r continues r, core roles occur once, and C- and R- roles have their base (He et al.
2017). Every other decoder is plain Viterbi. Probabilities of arguments are not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from spansrl.decoding.constraints import Automaton, anything, constraints_of, search_under
from spansrl.decoding.scores import Arrays, Bools, Decoder, Floats, Ints, Order, check_decoding
from spansrl.decoding.viterbi import arguments_from_tags, bio_transitions, viterbi, viterbi_under
from spansrl.errors import DataError
from spansrl.structures import Argument


@dataclass(frozen=True, slots=True)
class TagScores:
    """Scores of a tag sequence y: first[y_0] + Σ_t emissions[n, t, y_t] + Σ_t transitions[y_t, y_t+1]."""

    emissions: Floats  # (N, T, K), K = 1 + 2R
    transitions: Floats  # (K, K), from row to column; −inf where forbidden
    first: Floats  # (K,): scores of the first tag
    lengths: Ints  # (N,)
    pred: Ints  # (N,)

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
        self, roles: Sequence[str], *, decoder: Decoder = "greedy", order: Order = "prob"
    ) -> list[tuple[Argument, ...]]:
        """The arguments of the best tag sequence of each proposition in which the predicate is O."""
        check_decoding(self.emissions.shape[2] // 2, roles, decoder, order)
        emissions = self.emissions.copy()
        emissions[np.arange(len(self.pred)), self.pred, 1:] = -np.inf
        names = tag_names(roles)
        if decoder != "constrained":
            paths = viterbi(emissions, self.transitions, self.first, lengths=self.lengths)
            return arguments_from_tags(paths, names, lengths=self.lengths, pred=self.pred)
        allowed, first = bio_transitions(names)
        bio = replace(
            self,
            emissions=emissions,
            transitions=self.transitions + _barred(allowed),
            first=self.first + _barred(first),
        )
        return arguments_from_tags(bio._constrained(roles), names, lengths=self.lengths, pred=self.pred)

    def _constrained(self, roles: Sequence[str]) -> Ints:
        """(N, T) the best legal paths, −1 at padding."""
        constraints = constraints_of(roles)
        paths = viterbi(self.emissions, self.transitions, self.first, lengths=self.lengths)
        for n, length in enumerate(self.lengths.tolist()):
            emissions = self.emissions[n, :length].astype(np.float64)

            def search(automaton: Automaton, emissions: Floats = emissions) -> list[int]:
                return viterbi_under(automaton, emissions, self.transitions, self.first)

            if not all(constraint.accepts(_roles(paths[n, :length].tolist())) for constraint in constraints):
                paths[n, :length] = search_under(constraints, anything(len(roles)), search, _roles)
        return paths

    def gain(self, prop: Ints, role: Ints, first: Ints, last: Ints) -> Floats:
        raise DataError("the model scores tags, not spans; use a model with span, segmental or label output")

    def with_handicap(self, handicap: float) -> TagScores:
        emissions = self.emissions.copy()
        emissions[:, :, 0] -= handicap
        return replace(self, emissions=emissions)

    def without_roles(self, ruled_out: Bools) -> TagScores:
        tags = np.pad(np.repeat(ruled_out, 2, axis=1), ((0, 0), (1, 0)))  # (N, K)
        return replace(self, emissions=np.where(tags[:, None], -np.inf, self.emissions))


def tag_names(roles: Sequence[str]) -> list[str]:
    """O, then B-r and I-r for each role r."""
    return ["O", *(f"{prefix}-{role}" for role in roles for prefix in "BI")]


def _roles(path: Sequence[int]) -> list[int]:
    """The roles that begin in a path, in order."""
    return [(tag - 1) // 2 for tag in path if tag % 2]


def _barred(allowed: Bools) -> Floats:
    return np.where(allowed, 0.0, -np.inf)
