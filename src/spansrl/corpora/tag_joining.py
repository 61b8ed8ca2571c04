"""Words for sentences that have only part-of-speech tags, from tagged text: one document at a time.

Words are split into atoms at their punctuation, and each row of the skeleton takes one or more consecutive
atoms, so ``non-executive`` can fill three rows and ``19 th`` one. Both sides also have a break after each
sentence or line, which keeps the alignment in step.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spansrl.corpora.banded import IMPOSSIBLE, Costs, align_banded
from spansrl.structures import Span

MIN_AGREEMENT = 0.9  # share of a sentence's rows whose tags must agree with their words'
_LONGEST = 12  # atoms in one row; a word that is spelled out letter by letter has that many
_BREAK = "\n"

# Prices, relative to those of an unrelated tag. Set by looking at the documents of train and dev.
_SAME_BREAK = -6
_NO_BREAK = 3
_SKIPPED = 15
_INSIDE_LINE = 2  # where a run of skipped words starts; lines without a sentence are skipped as a whole
_RESTORED_ROW = 8
_RELATED_TAG = 4
_CONFUSED_TAG = 5
_OTHER_TAG = 10
_SIGN_FOR_WORD = 12
_AGREES = _CONFUSED_TAG  # tags up to this price count as agreeing
_JOINED_WORDS = 5
_JOINED_YEAR = 3  # '99
_JOINED_PERIOD = 14  # Mr.; close to that of skipping the period, which more often ends a sentence
_JOINED_SIGNS = 1
_JOINED_ATOMS = 2

# Punctuation that the tagged text may lack and that can be restored from the tag.
_RESTORED = {"``": '"', "''": '"', ".": "."}

_SIGNS = {
    sign: frozenset(tags.split())
    for sign, tags in {
        **dict.fromkeys(".?!", "."),
        **dict.fromkeys(":;", ":"),
        **dict.fromkeys("-–—", ": HYPH"),
        **dict.fromkeys(('"', "'"), "`` '' POS"),
        **dict.fromkeys(("“", "‘", "`", "``"), "``"),
        **dict.fromkeys(("”", "''"), "''"),
        **dict.fromkeys(("...", "…"), ": . NFP"),
        **dict.fromkeys("([{", "-LRB- -LSB- -LCB-"),
        **dict.fromkeys(")]}", "-RRB- -RSB- -RCB-"),
        ",": ",",
        "’": "'' POS",
        "--": ": NFP",
        "$": "$",
        "/": "HYPH : CC SYM",
        "&": "CC",
        "%": "NN",
        "#": "NN #",
        "*": "NFP SYM",
        "=": "SYM",
        "+": "SYM CC",
        "_": "NFP :",
        "@": "IN SYM",
    }.items()
}
_BRACKET_TAGS = {"-LRB-", "-RRB-", "-LSB-", "-RSB-", "-LCB-", "-RCB-"}
_SIGN_TAGS = frozenset({"``", "''", ",", ".", ":", "$", "#", "HYPH", "NFP", "SYM"} | _BRACKET_TAGS)
_FAMILIES = (
    "NN NNS NNP NNPS",
    "VB VBD VBN VBP VBZ VBG",
    "JJ JJR JJS",
    "RB RBR RBS",
    "IN TO RP",
    "WDT WP",
    "DT PDT",
)
_FAMILY = {tag: family for family in _FAMILIES for tag in family.split()}
# Pairs that taggers and annotators confuse.
_CONFUSED = frozenset(
    frozenset({tag, other})
    for tag, others in {
        "CC": "DT IN RB",
        "CD": "JJ NN NNP",
        "DT": "IN RB WDT",
        "FW": "IN NN NNP",
        "IN": "RB WDT WRB",
        "JJ": "NN NNP RB UH VBD VBG VBN",
        "JJR": "RBR",
        "NN": "RB UH VB VBG VBP",
        "NNS": "VBZ",
        "POS": "VBZ",
        "PRP": "PRP$",
        "RB": "EX RP UH",
    }.items()
    for other in others.split()
)
# Frequent words that the automatic tagger gets wrong.
_INTERJECTIONS = ("huh", "oh", "okay", "please", "uh", "uh-huh", "um", "um-hum", "yeah", "yes")
_KNOWN = {"i": "PRP", **dict.fromkeys(_INTERJECTIONS, "UH")}

_ATOM = re.compile(r"\d+(?:[.,:]\d+)*|['’][^\W_]+|[^\W\d_]+|([\W_])\1*")
_CONTRACTION = re.compile(r"(can)(not)|(gon|wan)(na)|(got)(ta)|(gim|lem)(me)|(du)(n)(no)", re.IGNORECASE)
_ORDINAL = frozenset({"st", "nd", "rd", "th", "s"})


class TaggedWord(NamedTuple):
    """A word and its tag, as the tagged text has them."""

    form: str
    tag: str


class Joined(NamedTuple):
    """The words of one sentence, one per row."""

    words: list[str]
    restored: int  # number of words that are missing from the tagged text
    ignored: int  # number of punctuation marks in the tagged text that have no row


class Rejected(NamedTuple):
    reason: str


class _Atom(NamedTuple):
    text: str
    tag: str  # of the word
    begins: bool  # the word
    ends: bool

    @property
    def is_sign(self) -> bool:
        return not any(map(str.isalnum, self.text))


def join_by_tags(
    skeletons: Sequence[Sequence[str]], lines: Iterable[Sequence[TaggedWord]]
) -> list[Joined | Rejected]:
    """Return the words of each sentence of a document.

    `skeletons` holds the tags of each sentence, without those of rows that carry no word.
    """
    atoms = [atom for line in lines for atom in (*_atoms(line), _Atom(_BREAK, _BREAK, True, True))]
    tags = [tag for skeleton in skeletons for tag in (*skeleton, _BREAK)]
    kinds = sorted(set(tags))
    number = {tag: k for k, tag in enumerate(kinds)}
    spans = align_banded([number[tag] for tag in tags], _costs(kinds, atoms))
    joined: list[Joined | Rejected] = []
    start = 0
    for skeleton in skeletons:
        end = start + len(skeleton)
        joined.append(_joined(skeleton, spans[start:end], atoms))
        start = end + 1
    return joined


def _joined(tags: Sequence[str], spans: Sequence[Span | None], atoms: Sequence[_Atom]) -> Joined | Rejected:
    found = [span for span in spans if span is not None]
    if not found:
        return Rejected("no words found")
    if any(span is None and tag not in _RESTORED for tag, span in zip(tags, spans, strict=True)):
        return Rejected("a row has no word")
    taken = {index for span in found for index in range(*span)}
    ignored = [
        atoms[index]
        for index in range(found[0].start, found[-1].end)
        if index not in taken and atoms[index].text != _BREAK
    ]
    if not all(atom.is_sign for atom in ignored):
        return Rejected("a word has no row")
    groups = [None if span is None else tuple(atoms[span.start : span.end]) for span in spans]
    agreeing = sum(
        group is None or _tag_cost(group, tag) <= _AGREES for tag, group in zip(tags, groups, strict=True)
    )
    if agreeing < MIN_AGREEMENT * len(tags):
        return Rejected("too few tags agree")
    words = [
        _RESTORED[tag] if group is None else "".join(atom.text for atom in group)
        for tag, group in zip(tags, groups, strict=True)
    ]
    return Joined(words, len(spans) - len(found), len(ignored))


def _atoms(line: Iterable[TaggedWord]) -> list[_Atom]:
    atoms = []
    for form, tag in line:
        match = _CONTRACTION.fullmatch(form)
        texts = list(filter(None, match.groups())) if match else [match[0] for match in _ATOM.finditer(form)]
        last = len(texts) - 1
        atoms += [_Atom(text, tag, k == 0, k == last) for k, text in enumerate(texts)]
    return atoms


def _costs(kinds: Sequence[str], atoms: Sequence[_Atom]) -> Costs:
    take = np.full((len(kinds), _LONGEST, len(atoms) + 1), IMPOSSIBLE, dtype=np.int32)
    before = [_BREAK, *(atom.text for atom in atoms)]  # each boundary
    known: dict[tuple[_Atom, ...], NDArray[np.int32]] = {}
    for end in range(1, len(atoms) + 1):
        for start in range(end - 1, max(-1, end - 1 - _LONGEST), -1):
            if start + 1 < end and not _may_join(atoms[start], atoms[start + 1]):
                break
            group = tuple(atoms[start:end])
            if group not in known:
                known[group] = np.array([_cost(group, tag) for tag in kinds], dtype=np.int32)
            take[:, end - start - 1, end] = known[group]
    return Costs(
        take,
        np.array([_skipped_row(tag) for tag in kinds], dtype=np.int32),
        np.array([_NO_BREAK if atom.text == _BREAK else _SKIPPED for atom in atoms], dtype=np.int32),
        np.array([0 if text == _BREAK else _INSIDE_LINE for text in before], dtype=np.int32),
    )


def _skipped_row(tag: str) -> int:
    if tag == _BREAK:
        return _NO_BREAK
    return _RESTORED_ROW if tag in _RESTORED else _SKIPPED


def _may_join(one: _Atom, other: _Atom) -> bool:
    """Whether two neighboring atoms can be part of one token."""
    if _BREAK in (one.text, other.text):
        return False
    if not other.begins:
        return True
    if one.is_sign and other.is_sign:
        return one.text[0] == other.text[0]
    if one.is_sign:
        return one.text in ("-", "/", "'", "’", "@", "_")
    if other.text[0] in "-/'’@._":
        return True
    if one.text[-1].isdigit():
        return other.text.lower() in _ORDINAL
    return other.text[0].isdigit() and len(one.text) == 1


def _cost(atoms: tuple[_Atom, ...], tag: str) -> int:
    if tag == _BREAK or atoms[0].text == _BREAK:
        return _SAME_BREAK if tag == atoms[0].text else IMPOSSIBLE
    return _tag_cost(atoms, tag) + _size_cost(atoms)


def _size_cost(atoms: tuple[_Atom, ...]) -> int:
    joined_words = sum(atom.begins for atom in atoms[1:])
    if not joined_words and atoms[0].begins and atoms[-1].ends:
        return 0
    if all(atom.is_sign for atom in atoms):
        return _JOINED_SIGNS * joined_words
    return sum(_join_cost(one, other) for one, other in pairwise(atoms))


def _join_cost(one: _Atom, other: _Atom) -> int:
    if not other.begins:
        return _JOINED_ATOMS
    if other.text == ".":
        return _JOINED_PERIOD
    return _JOINED_YEAR if one.text in ("'", "’") and other.text.isdigit() else _JOINED_WORDS


def _tag_cost(atoms: tuple[_Atom, ...], tag: str) -> int:
    """Return how badly the tag of a row fits a word, a part of one, or several words that are one token."""
    text = "".join(atom.text for atom in atoms)
    if all(atom.is_sign for atom in atoms):
        return _sign_cost(text, atoms[0].tag, tag)
    if tag in _SIGN_TAGS:
        return _SIGN_FOR_WORD
    if _KNOWN.get(text.lower()) == tag:
        return 0
    tag_cost = min(_confusion(atom.tag, tag) for atom in atoms)
    if atoms[0].begins and atoms[-1].ends and not any(atom.begins for atom in atoms[1:]):
        return tag_cost
    # The tagger saw a different token, so its tag is weak evidence.
    if any(map(str.isdigit, text)):
        return 0 if tag == "CD" else min(tag_cost, 3 if tag in ("NN", "NNP", "JJ") else 8)
    return 0 if tag_cost <= _RELATED_TAG else 2 if tag[0] in "NJVRC" else 4


def _sign_cost(text: str, text_tag: str, tag: str) -> int:
    if tag in _SIGNS.get(text, _SIGNS["--"]):
        return 0
    return _CONFUSED_TAG if tag in _SIGN_TAGS else min(_OTHER_TAG, _confusion(text_tag, tag) + 2)


@cache
def _confusion(one: str, other: str) -> int:
    if one == other:
        return 0
    if one in _FAMILY and _FAMILY[one] == _FAMILY.get(other):
        return _RELATED_TAG
    return _CONFUSED_TAG if frozenset((one, other)) in _CONFUSED else _OTHER_TAG
