"""Label several files with gold predicates by a model of the study.

    python experiments/label_parts.py MODEL --cache DIR IN=OUT...

It does what `spansrl label --predicates given` does, but features of a frozen transformer are computed once
per file for all models, and kept in the cache.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from score_models import remember

from spansrl.formats import read_sentences, write_sentences
from spansrl.inference.loading import load


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("files", nargs="+", metavar="IN=OUT")
    options = parser.parse_args()
    pipeline = load(options.model, threads=1, frames=False)
    for source, _, target in (text.partition("=") for text in options.files):
        sentences = list(read_sentences(source))
        remember(pipeline, sentences, options.cache)
        write_sentences(target, pipeline.label(sentences, predicates="given"))


if __name__ == "__main__":
    main()
