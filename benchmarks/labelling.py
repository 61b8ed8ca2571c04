"""How fast a trained model labels given predicates, and where the time goes.

python benchmarks/labelling.py MODEL_DIRECTORY SENTENCES.jsonl [--threads 1]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from measure import machine, peak_of_process, table
from spansrl.decoding import SpanScores, TagScores
from spansrl.formats import read_sentences
from spansrl.inference.labeler import Scorer
from spansrl.structures import Sentence
from spansrl.training.ensembles import load_labeler


class TimedScorer:
    """A scorer that keeps the time it takes."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer
        self.spent = 0.0

    @property
    def roles(self) -> Sequence[str]:
        """The scorer's own."""
        return self.scorer.roles

    def score(self, sentences: Sequence[Sentence]) -> SpanScores | TagScores:
        """The scorer's scores."""
        before = time.perf_counter()
        scores = self.scorer.score(sentences)
        self.spent += time.perf_counter() - before
        return scores


def main() -> None:
    """Print the rates and shares of one pass over the sentences."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("sentences")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    sentences = list(read_sentences(options.sentences))
    labeler = load_labeler(options.model)
    list(labeler.label(sentences[:64]))  # warm up
    scorer = TimedScorer(labeler.scorer)
    before = time.perf_counter()
    n_args = sum(
        len(prop.args) for sent in replace(labeler, scorer=scorer).label(sentences) for prop in sent.props
    )
    whole = time.perf_counter() - before
    n_props = sum(len(sent.props) for sent in sentences)
    rest = whole - scorer.spent
    print(f"Labelling {len(sentences)} sentences, {n_props} predicates, {n_args} arguments; {machine()}\n")
    rows = [
        ["scores (embedder, encoder, output)", f"{scorer.spent:.2f}", f"{scorer.spent / whole:.1%}"],
        ["decoding and the rest", f"{rest:.2f}", f"{rest / whole:.1%}"],
        ["whole", f"{whole:.2f}", "100%"],
    ]
    print(table(["part", "seconds", "share"], rows))
    print(f"\n{len(sentences) / whole:.0f} sentences and {n_props / whole:.0f} predicates a second;", end=" ")
    print(f"decoding {1e6 * rest / max(1, n_props):.0f} µs a predicate;", end=" ")
    print(f"peak memory {peak_of_process() / 2**20:.0f} MB")


if __name__ == "__main__":
    main()
