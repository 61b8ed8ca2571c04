"""PropBank's frames: what senses and their roles mean, for those who have registered them.

    >>> frames = load_frames()                       # doctest: +SKIP
    >>> frames.meaning("keep.01", "ARG1")            # doctest: +SKIP
    'thing kept'

Those who register them import `registering`, which needs more of the standard library than labelling does.
"""

from spansrl.language.frames.index import FrameIndex
from spansrl.language.frames.store import (
    HOW_TO_REGISTER,
    Registration,
    load_frames,
    registered,
    remove_frames,
)

__all__ = [
    "HOW_TO_REGISTER",
    "FrameIndex",
    "Registration",
    "load_frames",
    "registered",
    "remove_frames",
]
