"""What roles and senses are: the protocol `RoleInventory`, and PropBank's frames.

    >>> load_frames().meaning("keep.01", "ARG1")
    'thing kept'

The package has an index of them; `install` installs another version.
"""

from collections.abc import Callable
from typing import NamedTuple

from spansrl.inventory.frame_index import PROPBANK, FrameIndex
from spansrl.inventory.frame_store import Registration, load_frames, registered, remove_frames, shipped
from spansrl.inventory.roles import Role, RoleInventory, RoleTable, SenseLinks, roles_in


class KnownInventory(NamedTuple):
    """An inventory by its name in the config.json of a model."""

    bare: RoleInventory  # roles without descriptions of senses
    load: Callable[[], RoleInventory]  # with these


INVENTORIES = {"propbank": KnownInventory(PROPBANK, load_frames)}

__all__ = [
    "INVENTORIES",
    "PROPBANK",
    "FrameIndex",
    "Registration",
    "Role",
    "RoleInventory",
    "RoleTable",
    "SenseLinks",
    "load_frames",
    "registered",
    "remove_frames",
    "roles_in",
    "shipped",
]
