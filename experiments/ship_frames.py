"""Write the index of PropBank's frames that the package contains.

    python experiments/ship_frames.py ../shared/data/propbank-frames.tar.xz

The source is a directory, an archive or a URL of propbank-frames at the pinned commit; other versions are
refused. The result is src/spansrl/assets/frames/frames.jsonl.gz, the same to the byte for the same source.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from spansrl.formats import open_output
from spansrl.inventory.frame_store import index_content, shipped_path
from spansrl.inventory.install import FRAMES, read_frames

HOME = "https://github.com/propbank/propbank-frames"


def main() -> None:
    """Read the frames, write the index and print its size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source")
    options = parser.parse_args()
    read = read_frames(options.source)
    if read.registration.commit is None:
        parser.error(f"{options.source}: not the files of commit {FRAMES.commit}")
    content = index_content(read.index, replace(read.registration, source=HOME))
    path = shipped_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_output(path) as output:  # compresses by the name
        output.write(content)
    size = path.stat().st_size
    print(f"{path}: {len(read.index):,} rolesets, {len(content):,} bytes, {size:,} compressed")


if __name__ == "__main__":
    main()
