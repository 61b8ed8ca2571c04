"""Our tokenizer beside spaCy's blank English pipeline and its sentencizer, on the raw text of UD EWT.

    pip install spacy     # for this comparison only; spansrl itself never needs it
    python experiments/compare_tokenizers.py --ud ../shared/data/ud-english-ewt.tar.xz [--splits dev,test]

Text, gold and score are those of tokenizer_scores.py. spaCy makes tokens of white space, which are left out,
and is given one paragraph at a time: as one text it would refuse a million characters, and its sentencizer
does not look at blank lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import spacy
from tokenizer_scores import Splitter, options, ours, raw_text, scores

from spansrl.language.english.tokenizer import Offsets

_PARAGRAPH = re.compile(r"(?:(?!\n\n)[\s\S])+")


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


def main() -> None:
    """Print a Markdown table, one row per split and tokenizer."""
    chosen = options(__doc__)
    print("| split | tokenizer | tokens P | R | F1 | sentences P | R | F1 |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    splitters = {"spansrl": ours, f"spaCy {spacy.__version__}, blank + sentencizer": spacy_splitter()}
    for name in chosen.splits.split(","):
        raw = raw_text(name, chosen.ud)
        for title, splitter in splitters.items():
            both = scores(raw, splitter)
            cells = (100 * figure for score in both for figure in (score.precision, score.recall, score.f1))
            print(f"| {name} | {title} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
