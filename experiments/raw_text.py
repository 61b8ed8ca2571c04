"""Choose raw sentences to distill on: all genres mixed, tokenized by spansrl, unlike any test sentence.

    python experiments/raw_text.py raw-english.jsonl.xz --out raw.jsonl --unlike ewt/dev.jsonl ewt/test.jsonl

Small genres are taken whole, large ones in equal numbers until --count is reached. The order is random, so
that the first N lines are a fair sample: the curve over the number of raw sentences takes prefixes.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
from collections import defaultdict
from pathlib import Path

from spansrl.corpora.corpus import SHARED_WORDS, word_runs
from spansrl.formats import read_sentences, write_sentences
from spansrl.inference.cutting import sentences_of
from spansrl.structures import Sentence

SHORTEST, LONGEST = 3, 64  # tokens


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--count", type=int, default=120_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--unlike", type=Path, nargs="*", default=[], help="files of sentences to stay away from"
    )
    options = parser.parse_args()
    runs = {run for path in options.unlike for sent in read_sentences(path) for run in word_runs(sent.tokens)}
    order = random.Random(options.seed)
    texts: dict[str, list[dict[str, str]]] = defaultdict(list)
    with lzma.open(options.source, "rt", encoding="utf-8") as lines:
        for line in lines:
            item = json.loads(line)
            texts[item["genre"]].append(item)
    chosen: list[Sentence] = []
    for genre, share in shares({genre: len(items) for genre, items in texts.items()}, options.count).items():
        order.shuffle(texts[genre])
        chosen += take(texts[genre], share, runs)
        print(f"{genre:15} {share:7,}")
    order.shuffle(chosen)
    write_sentences(options.out, chosen)
    print(f"{'all':15} {len(chosen):7,}, {sum(map(len, chosen)):,} tokens")


def shares(sizes: dict[str, int], count: int) -> dict[str, int]:
    """How many sentences of each genre to take: the same number of each, or all of a genre that has fewer."""
    out, left = {}, count
    for rank, (genre, size) in enumerate(sorted(sizes.items(), key=lambda item: item[1])):
        out[genre] = min(size, left // (len(sizes) - rank))
        left -= out[genre]
    return out


def take(items: list[dict[str, str]], count: int, runs: set[tuple[str, ...]]) -> list[Sentence]:
    """The first sentences that are of a usual length and share no run of words with a test sentence."""
    found: list[Sentence] = []
    for item in items:
        if len(found) == count:
            break
        found += [
            Sentence(sent.tokens, extra={"source": item["source"], "genre": item["genre"]})
            for sent in sentences_of(item["text"])
            if SHORTEST <= len(sent) <= LONGEST
            and not (len(sent) >= SHARED_WORDS and runs & word_runs(sent.tokens))
        ]
    return found[:count]


if __name__ == "__main__":
    main()
