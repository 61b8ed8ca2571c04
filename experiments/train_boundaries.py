"""Train the sentence boundary model of the tokenizer: src/spansrl/tokenize/boundaries.json.

    python experiments/train_boundaries.py --ud ../shared/data/ud-english-ewt.tar.xz [--l1 2] [--out FILE]

Logistic regression with an L1 penalty, by accelerated proximal gradient descent, on the training documents of
UD English EWT; without randomness. The penalty was chosen on the development data, whose scores are printed.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tokenizer_scores import RawText, raw_text, scores

from spansrl.language.english.tokenizer.scanner import scan
from spansrl.language.english.tokenizer.sentence_boundaries import (
    Gap,
    Paragraph,
    features,
    gap_between,
    is_candidate,
)

OUT = Path(__file__).resolve().parents[1] / "src" / "spansrl" / "tokenize" / "boundaries.json"


def paragraphs(text: str) -> Iterator[Paragraph]:
    """The paragraphs of a text, whole."""
    tokens, gaps = [], []
    for token in scan(text):
        gap = gap_between(text, tokens[-1].end, token.start) if tokens else Gap.BREAK
        if gap is Gap.BREAK and tokens:
            yield Paragraph.of(text, tokens, gaps)
            tokens, gaps = [], []
        tokens.append(token)
        gaps.append(gap)
    if tokens:
        yield Paragraph.of(text, tokens, gaps)


def examples(raw: RawText) -> Iterator[tuple[list[str], bool]]:
    """The features of every gap that the model is asked about, and whether a sentence ends there."""
    ends = {sent[-1][1] for sent in raw.sentences}
    for paragraph in paragraphs(raw.text):
        start = 0
        for place in range(1, len(paragraph.tokens)):
            is_end = paragraph.tokens[place - 1].end in ends
            if is_candidate(paragraph, place):
                yield features(paragraph, start, place), is_end
            if is_end:
                start = place


def fit(rows: list[list[str]], targets: list[bool], l1: float, rare: int, steps: int) -> dict[str, float]:
    """Weights of features that are not rare; most of them become exactly 0 and are left out."""
    counts = Counter(feature for row in rows for feature in row)
    names = sorted(feature for feature, count in counts.items() if count >= rare)
    number = {feature: k for k, feature in enumerate(names)}
    column = np.array([number[feature] for row in rows for feature in row if feature in number])
    row_of = np.repeat(np.arange(len(rows)), [sum(feature in number for feature in row) for row in rows])
    y = np.array(targets, dtype=float)
    # A bound on the curvature of the loss along each weight gives each its own safe step.
    step = 4.0 / (np.bincount(row_of).max() * np.bincount(column))
    penalty = l1 * (np.array(names) != "bias")
    weights = ahead = np.zeros(len(names))
    momentum = 1.0
    for _ in range(steps):
        probability = 1 / (1 + np.exp(-np.bincount(row_of, ahead[column], len(rows))))
        moved = ahead - step * np.bincount(column, (probability - y)[row_of], len(names))
        shrunk = np.sign(moved) * np.maximum(np.abs(moved) - step * penalty, 0)
        following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        ahead = shrunk + (momentum - 1) / following * (shrunk - weights)
        weights, momentum = shrunk, following
    rounded = {name: round(float(weight), 2) for name, weight in zip(names, weights, strict=True)}
    return {name: weight for name, weight in rounded.items() if abs(weight) >= 0.05}


def main() -> None:
    """Train, write the weights, and print the scores on the development data."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ud", required=True, type=Path)
    parser.add_argument("--l1", type=float, default=2.0)
    parser.add_argument("--rare", type=int, default=5, help="features seen less often are left out")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    rows, targets = map(list, zip(*examples(raw_text("train", options.ud)), strict=True))
    weights = fit(rows, targets, options.l1, options.rare, options.steps)
    about = (
        "Weights of the sentence boundary model, made by experiments/train_boundaries.py from the training "
        f"documents of UD English EWT (CC BY-SA 4.0) with l1 {options.l1}, rare {options.rare}, "
        f"steps {options.steps}."
    )
    options.out.write_text(
        json.dumps({"about": about, "weights": weights}, indent=0, ensure_ascii=False, sort_keys=True) + "\n",
        encoding="utf-8",
    )
    tokens, sentences = scores(raw_text("dev", options.ud))
    print(
        f"{len(rows)} gaps, {len(weights)} weights; dev: tokens {tokens.f1:.4f}, sentences {sentences.f1:.4f}"
    )


if __name__ == "__main__":
    main()
