"""PropBank's frames: what senses and their roles mean.

    >>> load_frames().meaning("keep.01", "ARG1")
    'thing kept'

The package has an index of them; `install` installs another version.
"""

from spansrl.inventory.frame_index import FrameIndex
from spansrl.inventory.frame_store import Registration, load_frames, registered, remove_frames, shipped

__all__ = ["FrameIndex", "Registration", "load_frames", "registered", "remove_frames", "shipped"]
