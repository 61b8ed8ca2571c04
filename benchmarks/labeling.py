"""How fast a trained model labels given predicates, and where the time goes.

python benchmarks/labeling.py MODEL_DIRECTORY SENTENCES.jsonl [--threads 1]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from measure import machine, peak_of_process, table
from spansrl.arrays import IntArray
from spansrl.decoding import Scores
from spansrl.formats import read_sentences
from spansrl.inference.loading import load
from spansrl.inference.model import Encoding, Floats, Model, Prepared, Senses, Tokens


class TimedModel:
    """A model that measures the time it takes."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.roles = model.roles
        self.roles_of = model.roles_of
        self.finds_predicates = model.finds_predicates
        self.spent = 0.0

    def prepare(self, sentences: Sequence[Tokens]) -> Prepared:
        """Timed."""
        return self._timed(self.model.prepare, sentences)

    def encode(self, prepared: Prepared, rows: IntArray) -> Encoding:
        """Timed."""
        return self._timed(self.model.encode, prepared, rows)

    def score_senses(self, encoding: Encoding, sentence: IntArray, pred: IntArray) -> Floats | None:
        """Timed."""
        return self._timed(self.model.score_senses, encoding, sentence, pred)

    def score_arguments(
        self, encoding: Encoding, sentence: IntArray, pred: IntArray, senses: Senses
    ) -> Scores:
        """Timed."""
        return self._timed(self.model.score_arguments, encoding, sentence, pred, senses)

    def _timed(self, function: Callable[..., Any], *args: Any) -> Any:
        before = time.perf_counter()
        try:
            return function(*args)
        finally:
            self.spent += time.perf_counter() - before


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
    pipeline = load(options.model, threads=options.threads, frames=False)
    list(pipeline.label(sentences[:64], predicates="given"))  # warm up
    model = TimedModel(pipeline.model)
    pipeline = replace(pipeline, model=model)
    before = time.perf_counter()
    labeled = pipeline.label(sentences, predicates="given")
    n_args = sum(len(prop.args) for sent in labeled for prop in sent.props)
    whole = time.perf_counter() - before
    n_props = sum(len(sent.props) for sent in sentences)
    rest = whole - model.spent
    print(f"Labeling {len(sentences)} sentences, {n_props} predicates, {n_args} arguments; {machine()}\n")
    rows = [
        ["scores (embedder, encoder, output)", f"{model.spent:.2f}", f"{model.spent / whole:.1%}"],
        ["decoding and the rest", f"{rest:.2f}", f"{rest / whole:.1%}"],
        ["whole", f"{whole:.2f}", "100%"],
    ]
    print(table(["part", "seconds", "share"], rows))
    print(
        f"\n{len(sentences) / whole:.0f} sentences and {n_props / whole:.0f} predicates per second;", end=" "
    )
    print(f"decoding {1e6 * rest / max(1, n_props):.0f} µs a predicate;", end=" ")
    print(f"peak memory {peak_of_process() / 2**20:.0f} MB")


if __name__ == "__main__":
    main()
