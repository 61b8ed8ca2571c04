"""New heads for an exported model whose encoder stays: senses by prototypes, roles that know the frame.

    python experiments/train_heads.py MODEL_DIR --ewt data/ewt --masc data/masc --examples data/examples \\
        --written data/written --frames propbank-frames.tar.xz --work work/heads --out work/small

The directories of data are those of `spansrl data`; only their train.jsonl is read. Frames are what
`spansrl frames` takes. The same command continues where it stopped. Fit the calibration afterwards
(`experiments/recalibrate.py`).
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

from spansrl.formats import read_sentences
from spansrl.inference.directory import file_hash
from spansrl.inventory.frame_files import read_frame_file
from spansrl.inventory.install import read_frame_files
from spansrl.training.heads import HeadSettings, LabeledCorpus, train_heads

SHARES = {
    "ewt": 0.45,
    "masc": 1.0,
    "examples": 0.35,
    "written": 1.0,
}  # of what the arguments are learned from
NATURAL = ("ewt", "masc")


def main() -> None:
    """Train the heads and write the model directory."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    for name in SHARES:
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--frames", required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    paths = {name: getattr(options, name) / "train.jsonl" for name in SHARES}
    parts = [
        LabeledCorpus(name, list(read_sentences(path)), is_natural=name in NATURAL, share=SHARES[name])
        for name, path in paths.items()
    ]
    files, _ = read_frame_files(options.frames, "--frames")
    rolesets = [
        roleset
        for name in sorted(files.files)
        for roleset in read_frame_file(files.files[name].data, name)[0]
    ]
    settings = HeadSettings()
    provenance = {
        "data": {name: file_hash(path) for name, path in paths.items()},
        "shares": SHARES,
        "settings": asdict(settings),
    }

    def report(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    train_heads(
        options.model,
        options.out,
        options.work,
        parts,
        rolesets,
        settings,
        provenance=provenance,
        report=report,
    )


if __name__ == "__main__":
    main()
