"""Choose raw sentences to distill on: all genres mixed, tokenized by spansrl, unlike any test sentence.

    python experiments/raw_text.py raw-english.jsonl.xz --out raw.jsonl --unlike ewt/dev.jsonl ewt/test.jsonl

Small genres are taken whole, large ones in equal numbers until --count is reached. The order is random, so
that the first N lines are a fair sample: the curve over the number of raw sentences takes prefixes. A later
stage leaves out what an earlier one had (--skip), and may keep only the sentences that are richest in words
which are mostly predicates as nouns in a training file (--nouns, --keep).
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from spansrl.corpora.corpus import SHARED_WORDS, word_runs
from spansrl.formats import read_sentences, write_sentences
from spansrl.inference.sentences import text_sentences
from spansrl.language import English
from spansrl.structures import Sentence

SHORTEST, LONGEST = 3, 64  # tokens
LONGEST_WITH_NOUNS = 40  # longer sentences cost more than their predicates are worth


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
    parser.add_argument("--skip", type=int, default=0, help="leave out the first of the chosen sentences")
    parser.add_argument("--nouns", type=Path, help="training file whose noun predicates to look for")
    parser.add_argument("--keep", type=int, help="sentences to keep, the richest in them (with --nouns)")
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
    chosen = chosen[options.skip :]
    if options.nouns:
        chosen = richest(chosen, noun_predicates(read_sentences(options.nouns)))[: options.keep]
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
            for sent in text_sentences(item["text"], English())
            if SHORTEST <= len(sent) <= LONGEST
            and not (len(sent) >= SHARED_WORDS and runs & word_runs(sent.tokens))
        ]
    return found[:count]


def noun_predicates(sentences: Iterable[Sentence]) -> set[str]:
    """Words that are predicates, as nouns, in at least half of their occurrences."""
    seen: Counter[str] = Counter()
    predicates: Counter[str] = Counter()
    for sent in sentences:
        seen.update(map(str.lower, sent.tokens))
        nouns = [p.pred for p in sent.props if sent.pos is not None and sent.pos[p.pred].startswith("NN")]
        predicates.update(sent.tokens[pred].lower() for pred in nouns)
    return {word for word, count in predicates.items() if count >= 0.5 * seen[word]}


def richest(sentences: list[Sentence], words: set[str]) -> list[Sentence]:
    """The sentences that are not too long, those with the highest share of the words first."""
    short = [sent for sent in sentences if len(sent) <= LONGEST_WITH_NOUNS]
    return sorted(short, key=lambda sent: -sum(t.lower() in words for t in sent.tokens) / len(sent))


if __name__ == "__main__":
    main()
