"""A Model made of dice, sentences that teach senses, and what must hold of whatever is labeled."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from spansrl.decoding import SpanScores, log_partition
from spansrl.inference.lexicon import learn_lexicon
from spansrl.inference.model import NO_PREDICATE, Encoding, Prepared, lengths_of, narrowed
from spansrl.inventory import PROPBANK, FrameIndex
from spansrl.structures import PREDICATE_TYPES, Proposition, Sentence

ROLES = ("ARG0", "ARG1", "ARG2", "ARGM-TMP", "R-ARG0", "C-ARG1")
NONSENSE = 99.0

TAUGHT = (
    Sentence(
        ("They", "called", "it", "off"),
        (Proposition(1, sense="call_off.06"),),
        pos=("PRP", "VBD", "PRP", "RP"),
        lemmas=("they", "call", "it", "off"),
    ),
    Sentence(
        ("They", "called", "us", "."),
        (Proposition(1, sense="call.02"),),
        pos=("PRP", "VBD", "PRP", "."),
        lemmas=("they", "call", "we", "."),
    ),
    Sentence(
        ("She", "is", "keeping", "cats"),
        (Proposition(1, sense="be.03"), Proposition(2, sense="keep.01")),
        pos=("PRP", "VBZ", "VBG", "NNS"),
        lemmas=("she", "be", "keep", "cat"),
    ),
    Sentence(
        ("A", "good", "call"),
        (Proposition(1, sense="good.02"), Proposition(2, sense="call.03")),
        pos=("DT", "JJ", "NN"),
        lemmas=("a", "good", "call"),
    ),
)
INVENTORY = learn_lexicon(TAUGHT)


def dice(*what: object) -> np.random.Generator:
    """Random numbers that depend on nothing but what is given."""
    return np.random.default_rng(zlib.crc32(repr(what).encode()))


class SomeFrames(FrameIndex):
    """PropBank's roles with made-up senses, for tests that override what these mean."""

    def __init__(self) -> None:
        super().__init__({}, {}, {})

    def __len__(self) -> int:
        return 1


class FakeModel:
    """Random scores, the same for the same sentence and predicate in any batch; padding holds nonsense.

    `spread` says how far apart they are, `finds` whether predicates are found, `senses` how many there are.
    """

    roles = ROLES

    def roles_of(self, sense):
        return self.roles

    def __init__(self, *, spread: float = 3.0, finds: bool = True, senses: int = len(INVENTORY)) -> None:
        self.spread = spread
        self.finds_predicates = finds
        self.senses = senses
        self.batches: list[tuple[int, int, int]] = []  # sentences, longest of them, characters

    def prepare(self, sentences: Sequence[Sequence[str]]) -> Prepared:
        assert all(sentences), "a sentence without tokens must not be encoded"
        costs = [sum(1 + len(word) // 8 for word in tokens) for tokens in sentences]
        return Prepared(sentences, np.array(costs))

    def encode(self, prepared: Prepared, rows) -> Encoding:
        sentences = [prepared.sentences[row] for row in rows.tolist()]
        lengths = lengths_of(sentences)
        size = sum(len(word) for tokens in sentences for word in tokens)
        self.batches.append((len(sentences), int(lengths.max()), size))
        classes = np.full((len(sentences), lengths.max(), 1 + len(PREDICATE_TYPES)), NONSENSE, np.float32)
        for s, tokens in enumerate(sentences):
            classes[s, : len(tokens)] = self.spread * dice(tokens).normal(
                size=(len(tokens), classes.shape[2])
            )
        classes[..., NO_PREDICATE] += self.spread  # most tokens are none
        vectors = np.zeros((*classes.shape[:2], 1), np.float32)
        return Encoding(sentences, lengths, vectors, classes if self.finds_predicates else None)

    def score_senses(self, encoding: Encoding, sentence, pred):
        return self._roll(encoding, sentence, pred)[1] if self.senses else None

    def score_arguments(self, encoding: Encoding, sentence, pred, senses) -> SpanScores:
        return self._roll(encoding, sentence, pred)[0]

    def _roll(self, encoding: Encoding, sentence, pred):
        encoding, sentence = narrowed(encoding, sentence)
        lengths = encoding.lengths[sentence]
        start = np.full((len(pred), encoding.vectors.shape[1], len(ROLES)), NONSENSE, np.float32)
        end = start.copy()
        senses = np.zeros((len(pred), self.senses), np.float32)
        for n, (s, p) in enumerate(zip(sentence.tolist(), pred.tolist(), strict=True)):
            own = dice(encoding.sentences[s], p)
            shape = (lengths[n], len(ROLES))
            start[n, : lengths[n]], end[n, : lengths[n]] = self.spread * own.normal(size=(2, *shape))
            senses[n] = own.normal(size=self.senses)
        log_z = log_partition(start, end, lengths)
        return SpanScores(start, end, lengths, pred, log_z=log_z), senses


def check_legal(sent: Sentence) -> None:
    """Every promise about the propositions of a labeled sentence."""
    for prop in sent.props:
        check_proposition(prop, len(sent))


def check_proposition(prop: Proposition, size: int) -> None:
    assert 0 <= prop.pred < size
    spans = sorted(arg.span for arg in prop.args)
    assert all(0 <= start < end <= size for start, end in spans)
    assert all(left[1] <= right[0] for left, right in pairwise(spans)), "arguments overlap"
    assert not any(start <= prop.pred < end for start, end in spans), "an argument covers the predicate"
    core = [arg.role for arg in prop.args if PROPBANK.role(arg.role).is_core]
    assert len(core) == len(set(core)), "a core role stands twice"
    chances = [prop.prob, prop.sense_prob, *(arg.prob for arg in prop.args)]
    assert all(0 <= chance <= 1 for chance in chances if chance is not None)
    assert all(arg.prob is not None for arg in prop.args)
    if prop.v is not None:
        assert any(start <= prop.pred < end for start, end in prop.v)
        pieces = sorted([*prop.v, *spans])
        assert all(left[1] <= right[0] for left, right in pairwise(pieces)), "an argument is part of the verb"


def without_chances(sentences: Sequence[Sentence]) -> list:
    """What must be equal to the bit, whatever a sentence was labeled with."""
    return [
        (
            sent.tokens,
            sent.char_start,
            [(p.pred, p.type, p.lemma, p.sense, p.v, _args(p)) for p in sent.props],
        )
        for sent in sentences
    ]


def _args(prop: Proposition) -> list:
    return [(arg.role, arg.span, arg.meaning) for arg in prop.args]


def chances(sentences: Sequence[Sentence]) -> list[float]:
    """What may differ in its last digit."""
    props = [prop for sent in sentences for prop in sent.props]
    found = [(prop.prob, prop.sense_prob, *(arg.prob for arg in prop.args)) for prop in props]
    return [-1.0 if chance is None else chance for row in found for chance in row]


def assert_same_labels(found: Sequence[Sentence], expected: Sequence[Sentence]) -> None:
    """Equal, but for the last digit of chances."""
    assert without_chances(found) == without_chances(expected)
    np.testing.assert_allclose(chances(found), chances(expected), atol=1.01e-4)
