"""How often the head of an argument is that of the treebank.

    python experiments/score_heads.py data/ewt/dev.jsonl

Arguments are gold, predicates are those that the model finds, and heads are those of UD English EWT: the
only token of the span, punctuation aside, whose head is outside of it. In a name ("Barack Obama") the
treebank takes the first word by convention, so there are figures for any word of the name, and for the first.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path

import spansrl
from spansrl.formats import read_sentences
from spansrl.structures import Proposition, Sentence

NAME = ("flat", "flat:foreign", "goeswith", "fixed")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--limit", type=int, help="sentences to read")
    given = parser.parse_args()
    sentences = list(islice(read_sentences(str(given.corpus)), given.limit))
    counts: Counter[str] = Counter()
    found = spansrl.load(threads=1).label([Sentence(sent.tokens) for sent in sentences])
    for sent, labeled in zip(sentences, found, strict=True):
        counts += compared(sent, {prop.pred: prop.type for prop in labeled.props})
    for name in ("all", "of several tokens"):
        total = counts[name]
        any_word, first = (
            100 * counts[f"{name}, {kind}"] / total for kind in ("any word of a name", "first word")
        )
        print(f"{name:18} {total:6} arguments: {any_word:.2f} % right; first words of names {first:.2f} %")


def compared(sent: Sentence, types: dict[int, str | None]) -> Counter[str]:
    heads, relations = sent.extra["heads"], sent.extra["deprels"]
    gold = tuple(replace(prop, type=types.get(prop.pred)) for prop in sent.props)
    others = tuple(Proposition(pred, type=kind) for pred, kind in types.items() if kind is not None)
    known = {prop.pred for prop in gold if prop.type is not None}
    bare = replace(sent, pos=None, props=(*gold, *(prop for prop in others if prop.pred not in known)))
    counts: Counter[str] = Counter()
    for arg in (arg for prop in bare.props[: len(gold)] for arg in prop.args):
        inside = range(arg.start, arg.end)
        tops = [t for t in inside if heads[t] not in inside and relations[t] != "punct"]
        if len(tops) != 1:
            continue
        name = {tops[0], *(t for t in inside if heads[t] == tops[0] and relations[t] in NAME)}
        for group in ["all"] + ["of several tokens"] * (len(inside) > 1):
            counts[group] += 1
            counts[f"{group}, any word of a name"] += arg.head_index in name
            counts[f"{group}, first word"] += arg.head_index == tops[0]
    return counts


if __name__ == "__main__":
    main()
