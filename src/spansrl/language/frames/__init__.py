"""PropBank's frames: what senses and their roles mean.

    >>> load_frames().meaning("keep.01", "ARG1")
    'thing kept'

The package has an index of them; `registering` installs another version.
"""

from spansrl.language.frames.index import FrameIndex
from spansrl.language.frames.store import Registration, load_frames, registered, remove_frames, shipped

__all__ = ["FrameIndex", "Registration", "load_frames", "registered", "remove_frames", "shipped"]
