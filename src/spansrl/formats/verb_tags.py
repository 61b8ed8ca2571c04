"""AllenNLP's form of labels, write only: what its predictor returned for a sentence, one a line of JSON."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby

from spansrl.checks import Json
from spansrl.formats.conll_writing import Losses
from spansrl.structures import Proposition, Sentence
from spansrl.tags import VERB

TYPES = ("verb", "auxiliary")  # its models label no others
_HELD = frozenset({"tokens"})


def allennlp_dict(sent: Sentence, types: Collection[str] = TYPES) -> Json:
    """The sentence's words, and for each predicate of these types its word, a description and BIO tags."""
    props = [prop for prop in sent.props if prop.type is None or prop.type in types]
    return {"verbs": [_verb(sent, prop) for prop in props], "words": list(sent.tokens)}


def allennlp_lines(sentences: Iterable[Sentence], losses: Losses, path: str = "<output>") -> Iterator[str]:
    """Yield each sentence as a line of JSON."""
    for sent in sentences:
        losses.count_fields(sent, sent.props, _HELD)
        found = allennlp_dict(sent)
        if left_out := len(sent.props) - len(found["verbs"]):
            losses.items["propositions of nouns and adjectives"] += left_out
        yield json.dumps(found)


def _verb(sent: Sentence, prop: Proposition) -> Json:
    tags = ["O"] * len(sent)
    spans = [(VERB if k == 0 else f"C-{VERB}", *span) for k, span in enumerate(prop.verb_spans)]
    spans += [(arg.role, arg.start, arg.end) for arg in prop.args]
    for role, start, end in spans:
        if set(tags[start:end]) == {"O"}:  # a token has one tag: of spans that overlap, the first is kept
            tags[start:end] = [f"B-{role}"] + [f"I-{role}"] * (end - start - 1)
    return {"verb": sent.tokens[prop.pred], "description": _description(sent.tokens, tags), "tags": tags}


def _description(words: Iterable[str], tags: Iterable[str]) -> str:
    """The words, with those of an argument in brackets: "[ARG0: Ann] [V: sold] it"."""
    number, chunks = 0, []
    for tag, word in zip(tags, words, strict=True):
        number += not tag.startswith("I-")
        chunks.append((number, tag[2:], word))
    pieces = []
    for (_, role), own in groupby(chunks, key=lambda chunk: chunk[:2]):
        text = " ".join(word for *_, word in own)
        pieces.append(f"[{role}: {text}]" if role else text)
    return " ".join(pieces)
