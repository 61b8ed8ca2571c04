"""Score the tokenizer on the raw text of UD English EWT: exact-span F1 of tokens and sentences.

    python experiments/tokenizer_scores.py --ud ../shared/data/ud-english-ewt.tar.xz [--splits dev,test]

The raw text has the spaces that SpaceAfter says, one space between sentences, and a blank line where a
paragraph or a document begins. Gold tokens are UD's words; those of a multiword token are parts of its
spelling.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from spansrl.corpora.conllu import WordSentence, read_conllu
from spansrl.formats.archives import SourceFile, read_members
from spansrl.language.english.tokenizer import Offsets, split

Splitter = Callable[[str], Iterator[list[Offsets]]]  # a text -> its sentences, each as its tokens

_RELEASED = re.compile(r"(?:^|/)en_ewt-ud-(dev|test)\.conllu$")
_LIST = re.compile(r"(?:^|/)not-to-release/file-lists/files\.train$")
_DOCUMENT = re.compile(r"(?:^|/)not-to-release/sources/([^/]+/[^/]+\.conllu)$")


@dataclass(frozen=True, slots=True)
class RawText:
    """Text with its gold sentences, each as the offsets of its tokens."""

    text: str
    sentences: list[list[Offsets]]


@dataclass(frozen=True, slots=True)
class Score:
    """Exact-span precision, recall and F1."""

    precision: float
    recall: float
    f1: float

    @classmethod
    def of(cls, gold: Iterable[Offsets], found: Iterable[Offsets]) -> Score:
        """The score of two sets of spans."""
        gold, found = set(gold), set(found)
        right = len(gold & found)
        return cls(right / len(found), right / len(gold), 2 * right / (len(gold) + len(found)))


def raw_text(split_name: str, ud: Path) -> RawText:
    """The text of a split from a directory or an archive of UD_English-EWT."""
    sentences = _training_sentences(ud) if split_name == "train" else _released_sentences(split_name, ud)
    parts: list[str] = []
    gold: list[list[Offsets]] = []
    place, document = 0, None
    for sent in sentences:
        previous, document = document, sent.ids[0].rpartition("-")[0]
        space = "" if previous is None else "\n\n" if sent.newpar or document != previous else " "
        place += len(space)
        gold.append([(word.start + place, word.end + place) for word in sent.words])
        place += len(sent.text)
        parts += [space, sent.text]
    return RawText("".join(parts), gold)


def _released_sentences(split_name: str, ud: Path) -> Iterator[WordSentence]:
    for name, content in read_members(ud, str(ud), lambda name: _RELEASED.search(name) is not None):
        if f"-{split_name}." in name:
            yield from read_conllu(SourceFile(name, content).lines(), name)


def _training_sentences(ud: Path) -> Iterator[WordSentence]:
    """The training documents, which the release has one by one only."""
    files = dict(read_members(ud, str(ud), lambda name: bool(_LIST.search(name) or _DOCUMENT.search(name))))
    listed = next(content for name, content in files.items() if _LIST.search(name)).decode().split()
    documents = {match[1]: name for name in files if (match := _DOCUMENT.search(name))}
    for name in listed:
        yield from read_conllu(SourceFile(name, files[documents[name]]).lines(), name)


def ours(text: str) -> Iterator[list[Offsets]]:
    """Sentences by spansrl; limits on their length are not what is scored."""
    return (list(sent.tokens) for sent in split(text, max_tokens=10_000))


def scores(raw: RawText, splitter: Splitter = ours) -> tuple[Score, Score]:
    """Tokens and sentences, exact spans."""
    found = list(splitter(raw.text))
    return (
        Score.of(_tokens(raw.sentences), _tokens(found)),
        Score.of(_bounds(raw.sentences), _bounds(found)),
    )


def _tokens(sentences: list[list[Offsets]]) -> Iterator[Offsets]:
    return (token for sent in sentences for token in sent)


def _bounds(sentences: list[list[Offsets]]) -> Iterator[Offsets]:
    return ((sent[0][0], sent[-1][1]) for sent in sentences)


def options(description: str | None) -> argparse.Namespace:
    """What the command line says: where UD is, and which splits."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ud", required=True, type=Path)
    parser.add_argument("--splits", default="dev,test")
    return parser.parse_args()


def main() -> None:
    """Print a Markdown table, one row per split and unit."""
    chosen = options(__doc__)
    print("| split | unit | P | R | F1 | characters per second |\n| --- | --- | --- | --- | --- | --- |")
    for name in chosen.splits.split(","):
        raw = raw_text(name, chosen.ud)
        begin = time.process_time()
        both = scores(raw)
        speed = len(raw.text) / (time.process_time() - begin)
        for unit, score in zip(("tokens", "sentences"), both, strict=True):
            cells = f"{100 * score.precision:.2f} | {100 * score.recall:.2f} | {100 * score.f1:.2f}"
            print(f"| {name} | {unit} | {cells} | {speed:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
