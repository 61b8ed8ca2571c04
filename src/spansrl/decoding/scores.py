"""What decoders work on: the scores of N propositions as NumPy arrays, whatever computed them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, Self, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from spansrl.errors import ConfigError, DataError
from spansrl.inventory.roles import RoleTable
from spansrl.structures import Argument

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.integer[Any]]
Bools = NDArray[np.bool_]
Arrays = Mapping[str, Floats]

Decoder = Literal["greedy", "argmax", "exact", "constrained", "marginals"]
DECODERS: tuple[Decoder, ...] = get_args(Decoder)
Order = Literal["prob", "raw"]
ORDERS: tuple[Order, ...] = get_args(Order)


class Scores(Protocol):
    """Scores of N propositions over T tokens and R roles. Immutable; padding never matters."""

    @property
    def pred(self) -> Ints:
        """(N,) the index of each proposition's predicate."""

    @classmethod
    def from_arrays(cls, arrays: Arrays, lengths: Ints, pred: Ints) -> Self:
        """Scores from the named arrays that a network or an ONNX graph returns."""

    @staticmethod
    def take_roles(arrays: Arrays, roles: Ints) -> Arrays:
        """The named arrays with their roles in another order."""

    def decode(
        self, roles: RoleTable, *, decoder: Decoder = "greedy", order: Order = "prob"
    ) -> list[tuple[Argument, ...]]:
        """The arguments of each proposition, sorted by span."""

    def gain(self, prop: Ints, role: Ints, first: Ints, last: Ints) -> Floats:
        """What chosen spans (P,) add to the sum that exact search maximizes; taggers have no such sum."""

    def with_handicap(self, handicap: Floats) -> Self:
        """The same scores with this much taken off each proposition's answer "no argument": (N,)."""

    def without_roles(self, ruled_out: Bools) -> Self:
        """The same scores with roles forbidden: ruled_out (N, R)."""


@dataclass(frozen=True, slots=True)
class StartEnd:
    """What the scores F(i, j, r) = start[i, r] + end[j, r] of spans have in common."""

    start: Floats  # (N, T, R)
    end: Floats  # (N, T, R): end[n, j] is for spans whose last token is j
    lengths: Ints  # (N,)
    pred: Ints  # (N,)

    def __post_init__(self) -> None:
        if self.start.ndim != 3 or self.end.shape != self.start.shape:
            found = f"{self.start.shape} and {self.end.shape}"
            raise DataError(f"start and end scores must both be (N, T, R), found {found}")
        N, T, _ = self.start.shape
        self.check_shape("lengths", (N,))
        self.check_shape("pred", (N,))
        if not np.all((self.pred >= 0) & (self.pred < self.lengths) & (self.lengths <= T)):
            raise DataError(
                f"each predicate must lie within its sentence, and each sentence within {T} tokens"
            )

    def check_shape(self, name: str, shape: tuple[int, ...]) -> None:
        """Raise DataError unless a field has this shape."""
        if (found := getattr(self, name).shape) != shape:
            raise DataError(f"{name} must have the shape {shape} to fit the scores, found {found}")

    def span_scores(self, prop: Ints, role: Ints, first: Ints, last: Ints) -> Floats:
        """F of chosen spans (P,), in double precision."""
        return self.start[prop, first, role].astype(np.float64) + self.end[prop, last, role]

    @staticmethod
    def take_roles(arrays: Arrays, roles: Ints) -> Arrays:
        return {name: array[:, :, roles] if array.ndim == 3 else array for name, array in arrays.items()}

    def without_roles(self, ruled_out: Bools) -> Self:
        return replace(self, start=np.where(ruled_out[:, None], -np.inf, self.start))


S = TypeVar("S", bound=Scores)


def fit_to_roles(scores: S, roles: RoleTable, shape: tuple[int, int], decoder: str, order: str) -> S:
    """The scores of (N, R) without columns that are no roles; raises unless roles fit, and decoder exists."""
    roles.check(*shape)
    if decoder not in DECODERS:
        raise ConfigError(f"unknown decoder {decoder!r}. Choose from: {', '.join(DECODERS)}")
    if order not in ORDERS:
        raise ConfigError(f"unknown order {order!r}. Choose from: {', '.join(ORDERS)}")
    if roles.which is None:
        return scores
    return scores.without_roles(~roles.mask(shape, lambda role: True))
