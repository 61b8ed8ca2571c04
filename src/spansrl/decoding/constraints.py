"""Constraints on the sequence of a proposition's roles, as small automata that searches multiply.

A role is an event, in the order in which the arguments begin. Three constraints are known (Punyakanok et al.
2008, He et al. 2017): U, a core role occurs at most once; C, C-X occurs only after X; R, R-X occurs only
together with X. Searches first ignore them, and then repeat with those that their answer violates until it
violates none: the best answer of a relaxed problem that happens to be legal is the best legal answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from spansrl.decoding.scores import Bools, Ints
from spansrl.inventory.roles import Role

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Automaton:
    """State 0 comes first; `step` (S, R) is the state after a role, or −1 where the role is forbidden."""

    step: Ints  # (S, R)
    accepting: Bools  # (S,)

    def accepts(self, roles: Sequence[int]) -> bool:
        state = 0
        for role in roles:
            state = int(self.step[state, role])
            if state < 0:
                return False
        return bool(self.accepting[state])

    def __mul__(self, other: Automaton) -> Automaton:
        """The automaton that accepts what both accept."""
        pair = self.step[:, None] * len(other.step) + other.step  # (S, S', R)
        pair[(self.step[:, None] < 0) | (other.step < 0)] = -1
        accepting = self.accepting[:, None] & other.accepting
        return Automaton(pair.reshape(-1, pair.shape[2]), accepting.reshape(-1))

    def before(self) -> Ints:
        """(S, R, D) the states from which a role leads to a state, padded with S; D is the most of any."""
        S, R = self.step.shape
        lists: list[list[list[int]]] = [[[] for _ in range(R)] for _ in range(S)]
        for state, role in zip(*np.nonzero(self.step >= 0), strict=True):
            lists[self.step[state, role]][role].append(int(state))
        depth = max(1, max(len(states) for row in lists for states in row))
        return np.array([[states + [S] * (depth - len(states)) for states in row] for row in lists])


def anything(n_roles: int) -> Automaton:
    """No constraint."""
    return Automaton(np.zeros((1, n_roles), dtype=np.intp), np.ones(1, dtype=bool))


def once(n_roles: int, role: int) -> Automaton:
    """U: the role occurs at most once."""
    step = np.repeat([[0], [1]], n_roles, axis=1)
    step[:, role] = 1, -1
    return Automaton(step, np.ones(2, dtype=bool))


def only_after(n_roles: int, role: int, base: int | None) -> Automaton:
    """C: the role occurs only after its base; never, if the base is not among the roles."""
    step = np.repeat([[0], [1]], n_roles, axis=1)
    step[0, role] = -1
    if base is not None:
        step[0, base] = 1
    return Automaton(step, np.ones(2, dtype=bool))


def only_with(n_roles: int, role: int, base: int | None) -> Automaton:
    """R: the role occurs only together with its base, in either order."""
    step = np.repeat([[0], [1], [2]], n_roles, axis=1)  # 1: it needs its base; 2: its base has occurred
    step[0, role] = 1
    if base is not None:
        step[:, base] = 2
    return Automaton(step, np.array([True, False, True]))


def constraints_of(roles: Sequence[Role]) -> list[Automaton]:
    """All constraints U, C and R on these roles."""
    found = []
    index = {role.name: k for k, role in enumerate(roles)}
    for k, role in enumerate(roles):
        base = index.get(role.base)
        if role.is_core:
            found.append(once(len(roles), k))
        elif role.continues:
            found.append(only_after(len(roles), k, base))
        elif role.refers_to:
            found.append(only_with(len(roles), k, base))
    return found


def search_under(
    constraints: Sequence[Automaton],
    relaxed: Automaton,
    search: Callable[[Automaton], Answer],
    roles_of: Callable[[Answer], Sequence[int]],
) -> Answer:
    """The best answer that satisfies all constraints; `search` finds the best that an automaton accepts."""
    while True:
        answer = search(relaxed)
        roles = roles_of(answer)
        violated = [constraint for constraint in constraints if not constraint.accepts(roles)]
        if not violated:
            return answer
        for constraint in violated:
            relaxed = relaxed * constraint
