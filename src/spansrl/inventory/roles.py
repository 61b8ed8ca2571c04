"""What roles and senses are: the protocol that an inventory implements, and roles as decoding sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from spansrl.errors import DataError
from spansrl.structures import Sentence


@dataclass(frozen=True, slots=True)
class Role:
    """A role, with what decides which roles a proposition can have together."""

    name: str
    is_core: bool = False  # at most one argument of a proposition has it
    continues: str | None = None  # the role of which it is a further piece, and which comes before it
    refers_to: str | None = None  # the role beside which it stands

    @property
    def base(self) -> str:
        """The role itself, or the one that it continues or refers to."""
        return self.continues or self.refers_to or self.name


class SenseLinks(NamedTuple):
    """What other resources call a sense and its numbered roles."""

    verbnet: tuple[str, ...] = ()  # classes; most senses have one
    framenet: str | None = None  # a frame, if there is only one
    thematic: Mapping[str, str] = MappingProxyType({})  # number of a role -> VerbNet's name: agent
    functions: Mapping[str, str] = MappingProxyType({})  # number of a role -> tag: PAG


class RoleInventory(Protocol):
    """What roles and senses are. PropBank's frames are one (`FrameIndex`)."""

    def __len__(self) -> int:
        """How many senses it describes."""

    def role(self, name: str) -> Role:
        """Take the name of a role apart."""

    def short(self, role: str) -> str:
        """The role in fewer letters."""

    def group(self, role: str) -> str:
        """The group of roles that shares a color: one of `visualize.palette.GROUPS`."""

    def definition(self, sense: str) -> str | None:
        """What a sense means; None where it is not known."""

    def meaning(self, sense: str | None, role: str) -> str | None:
        """What a role stands for with a sense; None where it is not known."""

    def links(self, sense: str | None) -> SenseLinks:
        """What other resources call a sense and its roles; nothing where it is not known."""

    def thematic(self, sense: str | None, role: str) -> str | None:
        """The name of a role's thematic relation, such as `agent`; None where it is not known."""

    def function(self, sense: str | None, role: str) -> str | None:
        """The function tag of a role, such as `PAG`; None where it is not known."""

    def roles(self, sense: str) -> Mapping[str, str] | None:
        """The roles of a sense with their meanings; None for a sense that is not known."""

    def rules_out(self, sense: str, role: str) -> bool:
        """Whether a sense, if it is known, cannot have this role."""

    def rolesets(self, word: str, type: str | None) -> tuple[str, ...]:
        """The senses that a base form of this type can have, or one of any type."""

    def beginning_with(self, word: str) -> Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]:
        """Senses of a base form, each with the further words and the type of the expressions that have it."""


class RoleTable:
    """The roles of the columns of scores: the same for all propositions, or for each its own."""

    def __init__(self, *lists: Sequence[Role], which: npt.ArrayLike | None = None) -> None:
        """`which` (N,) is the list of each proposition, without which all have the first.

        A list may be shorter than others: the columns behind it are not roles of its propositions.
        """
        self.lists = tuple(map(tuple, lists))
        self.which = None if which is None else np.asarray(which, dtype=np.intp)

    def of(self, proposition: int) -> tuple[Role, ...]:
        """The roles of a proposition, by column."""
        return self.lists[0 if self.which is None else self.which[proposition]]

    def mask(self, shape: tuple[int, int], test: Callable[[Role], bool]) -> npt.NDArray[np.bool_]:
        """(N, R): the columns that hold a role, and one that passes a test."""
        rows = np.zeros((len(self.lists), shape[1]), dtype=bool)
        for row, roles in zip(rows, self.lists, strict=True):
            row[: len(roles)] = list(map(test, roles))
        return np.broadcast_to(rows[0], shape) if self.which is None else rows[self.which]

    def check(self, n_props: int, n_columns: int) -> None:
        """Raise DataError unless there is a role for each column, and a list for each proposition."""
        if self.which is None and len(self.lists[0]) != n_columns:
            found = f"{n_columns} role names, one per column of the scores, found {len(self.lists[0])}"
            raise DataError(f"expected {found}")
        if self.which is not None and (
            self.which.shape != (n_props,) or max(map(len, self.lists), default=0) > n_columns
        ):
            raise DataError(f"the roles are not those of {n_props} propositions with {n_columns} columns")


def roles_in(sentences: Iterable[Sentence]) -> tuple[str, ...]:
    """The roles of all arguments, sorted."""
    return tuple(sorted({arg.role for sent in sentences for prop in sent.props for arg in prop.args}))
