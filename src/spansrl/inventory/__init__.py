"""What roles and senses are: the protocol `RoleInventory`, and PropBank's frames.

    >>> load_frames().meaning("keep.01", "ARG1")
    'thing kept'

The package has an index of them; `install` installs another version.
"""

from spansrl.inventory.frame_index import PROPBANK, FrameIndex
from spansrl.inventory.frame_store import Registration, load_frames, registered, remove_frames, shipped
from spansrl.inventory.roles import Role, RoleInventory, RoleTable, roles_in

__all__ = [
    "PROPBANK",
    "FrameIndex",
    "Registration",
    "Role",
    "RoleInventory",
    "RoleTable",
    "load_frames",
    "registered",
    "remove_frames",
    "roles_in",
    "shipped",
]
