"""Our tokeniser beside spaCy's blank English pipeline and its sentencizer, on the raw text of UD EWT.

    pip install spacy     # for this comparison only; spansrl itself never needs it
    python experiments/compare_tokenizers.py --ud ../shared/data/ud-english-ewt.tar.xz [--splits dev,test]

Text, gold and score are those of tokenizer_scores.py. spaCy makes tokens of white space, which are left out,
and is given one paragraph at a time: as one text it would refuse a million characters, and its sentencizer
does not look at blank lines.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import spacy
from tokenizer_scores import RawText, Score, raw_text

from spansrl.tokenize import Offsets, split

Splitter = Callable[[str], Iterator[list[Offsets]]]  # a text -> its sentences, each as its tokens

_PARAGRAPH = re.compile(r"(?:(?!\n\n)[\s\S])+")


def ours(text: str) -> Iterator[list[Offsets]]:
    """Sentences by spansrl; limits on their length are not what is compared."""
    return (list(sent.tokens) for sent in split(text, max_tokens=10_000))


def spacy_splitter() -> Splitter:
    """Sentences by spaCy."""
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")

    def sentences(text: str) -> Iterator[list[Offsets]]:
        for paragraph in _PARAGRAPH.finditer(text):
            for sent in nlp(paragraph[0]).sents:
                places = [(paragraph.start() + token.idx, len(token)) for token in sent if not token.is_space]
                if places:
                    yield [(start, start + length) for start, length in places]

    return sentences


def compared(raw: RawText, splitter: Splitter) -> tuple[Score, Score]:
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


def main() -> None:
    """Print a Markdown table, a row a split and tokeniser."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ud", required=True, type=Path)
    parser.add_argument("--splits", default="dev,test")
    options = parser.parse_args()
    print("| split | tokeniser | tokens P | R | F1 | sentences P | R | F1 |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    splitters = {"spansrl": ours, f"spaCy {spacy.__version__}, blank + sentencizer": spacy_splitter()}
    for name in options.splits.split(","):
        raw = raw_text(name, options.ud)
        for title, splitter in splitters.items():
            both = compared(raw, splitter)
            cells = (100 * figure for score in both for figure in (score.precision, score.recall, score.f1))
            print(f"| {name} | {title} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
