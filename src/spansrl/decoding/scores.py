"""What decoders work on: the scores of N propositions as NumPy arrays, whoever computed them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, Self, get_args

import numpy as np
from numpy.typing import NDArray

from spansrl.errors import ConfigError, DataError
from spansrl.structures import Argument

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.integer[Any]]
Bools = NDArray[np.bool_]
Arrays = Mapping[str, Floats]

Decoder = Literal["greedy", "argmax", "exact", "constrained"]
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
        self, roles: Sequence[str], *, decoder: Decoder = "greedy", order: Order = "prob"
    ) -> list[tuple[Argument, ...]]:
        """The arguments of each proposition, sorted by span."""

    def gain(self, prop: Ints, role: Ints, first: Ints, last: Ints) -> Floats:
        """What chosen spans (P,) add to the sum that exact search maximizes; taggers have no such sum."""

    def with_handicap(self, handicap: float) -> Self:
        """The same scores with this much taken off the answer "no argument"."""

    def without_roles(self, ruled_out: Bools) -> Self:
        """The same scores with roles forbidden: ruled_out (N, R)."""


def check_decoding(n_roles: int, roles: Sequence[str], decoder: str, order: str) -> None:
    """Raise unless the roles fit the scores, and the decoder and its order exist."""
    if len(roles) != n_roles:
        raise DataError(f"expected {n_roles} role names, one per column of the scores, found {len(roles)}")
    if decoder not in DECODERS:
        raise ConfigError(f"unknown decoder {decoder!r}. Choose from: {', '.join(DECODERS)}")
    if order not in ORDERS:
        raise ConfigError(f"unknown order {order!r}. Choose from: {', '.join(ORDERS)}")


def check_shapes(start: Floats, end: Floats, lengths: Ints, pred: Ints) -> None:
    """Raise DataError unless start and end scores, lengths and predicates fit together."""
    if start.ndim != 3 or end.shape != start.shape:
        raise DataError(f"start and end scores must both be (N, T, R), found {start.shape} and {end.shape}")
    N, T, _ = start.shape
    for name, array in {"lengths": lengths, "pred": pred}.items():
        if array.shape != (N,):
            raise DataError(f"{name} must have the shape {(N,)} to fit the scores, found {array.shape}")
    if not np.all((pred >= 0) & (pred < lengths) & (lengths <= T)):
        raise DataError(f"each predicate must lie within its sentence, and each sentence within {T} tokens")
