"""CPU time of long sentences full of predicates, against the floating-point limit of the network.

python benchmarks/long_sentences.py [--tokens 25 50 100 250] [--model MODEL_DIRECTORY] [--rounds 3]

The sentence is "ran ran ran …": almost every token is a predicate, and each predicate scores every token. The
limit is the time of the network's matrix products at the rate of a large one, measured in turns.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported

import argparse
from pathlib import Path
from statistics import median

import spansrl
from flops import operations, single_precision
from measure import cpu_seconds, matmul_rate, origin, table
from spansrl.inference.pipeline import Pipeline
from spansrl.inference.sentences import text_sentences
from spansrl.language import English


def row(srl: Pipeline, tokens: int, rounds: int) -> list[str]:
    """One line of the table: a sentence of that many tokens."""
    text = "ran " * tokens
    predicates = sum(len(sent.props) for sent in srl(text))
    count = operations(srl, list(text_sentences(text, English())))
    times, limits = [], []
    for _ in range(rounds):
        times.append(cpu_seconds(lambda: srl(text)))
        limits.append(count / matmul_rate(single_precision))
    spent, limit = median(times), median(limits)
    return [
        str(tokens),
        str(predicates),
        f"{count / 1e9:.1f}",
        f"{spent:.3f}",
        f"{limit:.3f}",
        f"{spent / limit:.2f}",
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, help="default: the one in the package")
    parser.add_argument("--tokens", type=int, nargs="+", default=[25, 50, 100, 250])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    srl = spansrl.load(options.model, threads=1)
    print(f"CPU seconds of labeling `'ran ' * tokens`, one thread; {origin()}\n")
    rows = [row(srl, tokens, options.rounds) for tokens in options.tokens]
    print(table(["tokens", "predicates", "GFLOP", "seconds", "limit, seconds", "times the limit"], rows))


if __name__ == "__main__":
    main()
