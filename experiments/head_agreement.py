"""How often `Sentence.guess_head` finds the head that Universal Dependencies have.

    python experiments/head_agreement.py data/ewt/dev.jsonl --ud ../shared/data/ud-english-ewt.tar.xz

The sentences are those of `spansrl data ewt`. The UD head of an argument is the word of it whose own head is
outside; arguments with several such words are counted with the first, sentences that are not one UD sentence
word by word are left out. `last` is the baseline that takes the last word.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from spansrl.corpora.sources import lines_of, read_members
from spansrl.formats import read_sentences
from spansrl.structures import Sentence

Tree = tuple[tuple[str, ...], tuple[int, ...]]  # words, and the place of each one's head (-1: the root)


def trees(ud: Path) -> dict[str, Tree]:
    """The sentences of UD_English-EWT by their names, read in the archive or directory."""
    found: dict[str, Tree] = {}
    for name, content in read_members(ud, str(ud), lambda name: name.endswith(".conllu")):
        for sent_id, rows in _blocks(line.text for line in lines_of(content, name)):
            words = [row for row in rows if row[0].isdigit()]
            found[sent_id] = tuple(row[1] for row in words), tuple(int(row[6]) - 1 for row in words)
    return found


def _blocks(lines: Iterator[str]) -> Iterator[tuple[str, list[list[str]]]]:
    sent_id, rows = "", []
    for line in lines:
        if line.startswith("# sent_id = "):
            sent_id, rows = line.removeprefix("# sent_id = "), []
        elif line and not line.startswith("#"):
            rows.append(line.split("\t"))
        elif not line and rows:
            yield sent_id, rows
            rows = []
    if rows:
        yield sent_id, rows


def agreement(sentences: Iterator[Sentence], by_id: dict[str, Tree]) -> Counter[str]:
    """Arguments counted: all and those of several words, and for each kind how many heads are UD's."""
    counts: Counter[str] = Counter()
    for sent in sentences:
        names = sent.extra.get("ud", [])
        tree = by_id.get(names[0]) if len(names) == 1 else None
        if tree is None or tree[0] != sent.tokens:
            counts["sentences left out"] += 1
            continue
        for arg in (arg for prop in sent.props for arg in prop.args):
            inside = range(arg.start, arg.end)
            head = next(k for k in inside if tree[1][k] not in inside)
            for kind in ("arguments", "of several words")[: 1 + (len(inside) > 1)]:
                counts[kind] += 1
                counts[f"{kind}: guess_head"] += sent.guess_head(arg) == head
                counts[f"{kind}: last"] += arg.end - 1 == head
    return counts


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sentences", help="JSON lines of `spansrl data ewt`")
    parser.add_argument("--ud", type=Path, required=True, help="UD_English-EWT: directory or archive")
    options = parser.parse_args()
    counts = agreement(read_sentences(options.sentences), trees(options.ud))
    for kind in ("arguments", "of several words"):
        parts = (f"{way} {counts[f'{kind}: {way}'] / counts[kind]:.3f}" for way in ("guess_head", "last"))
        print(f"{kind:<18}{counts[kind]:>7}  {'  '.join(parts)}")
    print(f"{'sentences left out':<18}{counts['sentences left out']:>7}")


if __name__ == "__main__":
    main()
