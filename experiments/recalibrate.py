"""Fit the calibration of an exported model again, as `spansrl export --calibrate` does, and store it there.

    python experiments/recalibrate.py MODEL_DIR data/ewt/dev.jsonl --partial data/masc/dev.jsonl

In the partial sentences not every predicate is labeled; they count for senses and arguments.

Needed when the code that computes probabilities has changed and the weights have not.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from spansrl.evaluation.calibrate import recalibrate
from spansrl.formats import read_sentences


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("gold", type=Path)
    parser.add_argument("--partial", type=Path, action="append", default=[])
    options = parser.parse_args()
    partial = [sent for path in options.partial for sent in read_sentences(path)]
    calibration = recalibrate(options.model, list(read_sentences(options.gold)), partial)
    print(json.dumps(calibration.to_dict(), indent=2))


if __name__ == "__main__":
    main()
