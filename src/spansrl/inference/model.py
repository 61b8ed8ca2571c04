"""What the pipeline asks of a trained model, whatever computes it: ONNX Runtime, torch, or an ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from spansrl.arrays import IntArray
from spansrl.decoding import Scores
from spansrl.structures import Sentence

NO_PREDICATE = 0  # class of a token; class k is PREDICATE_TYPES[k - 1]

Floats = npt.NDArray[np.float32]
Tokens = Sequence[str]
Senses = Sequence[str | None]  # one for each of N predicates; None where it is unknown


@dataclass(frozen=True, slots=True)
class Prepared:
    """Sentences as a model's inputs, before they are cut into batches."""

    sentences: Sequence[Tokens]
    costs: IntArray  # (S,) positions that each sentence takes in a batch: word pieces, or tokens
    inputs: Any = None  # the model's own


@dataclass(frozen=True, slots=True)
class Encoding:
    """A batch of S sentences after one pass through the encoder."""

    sentences: Sequence[Tokens]
    lengths: IntArray  # (S,)
    vectors: Any  # (S, T, D), or what else the model's `score` needs
    classes: Floats | None = None  # (S, T, 1 + types) scores of being no predicate, and one of each type
    # What `score_senses` leaves for `score_arguments` of the same predicates; models need not use it.
    kept: dict[bytes, Any] = field(default_factory=dict, compare=False)


class Model(Protocol):
    """A trained model. Padding never matters: a sentence gets the same scores alone and in a batch."""

    @property
    def roles(self) -> Sequence[str]:
        """The names of the scores' role axis."""

    def roles_of(self, sense: str | None) -> Sequence[str]:
        """The names of the role axis for a predicate with this sense: `roles`, unless roles depend on it.

        Then there may be fewer of them than columns; those behind are not used.
        """

    @property
    def finds_predicates(self) -> bool:
        """Whether encodings have `classes`; without them, predicates must be given."""

    def prepare(self, sentences: Sequence[Tokens]) -> Prepared:
        """Tokenize sentences for the encoder; each must have a token."""

    def encode(self, prepared: Prepared, rows: IntArray) -> Encoding:
        """Run the encoder on a batch of the prepared sentences."""

    def score_senses(self, encoding: Encoding, sentence: IntArray, pred: IntArray) -> Floats | None:
        """Score the senses of the predicates at tokens `pred` (N,) of the sentences `sentence` (N,): (N, V).

        None where senses are not learned.
        """

    def score_arguments(
        self, encoding: Encoding, sentence: IntArray, pred: IntArray, senses: Senses
    ) -> Scores:
        """Score the arguments of the predicates, of which `senses` (N,) are the chosen ones.

        Most models ignore the senses. The answer is the same whether or not `score_senses` was asked before.
        """


def lengths_of(sentences: Sequence[Tokens]) -> IntArray:
    """(S,) the number of tokens of each sentence."""
    return np.array([len(tokens) for tokens in sentences], dtype=np.int64)


def encode_all(model: Model, sentences: Sequence[Tokens]) -> Encoding:
    """Encode a few sentences as one batch."""
    return model.encode(model.prepare(sentences), np.arange(len(sentences)))


def score_propositions(model: Model, sentences: Sequence[Sentence]) -> Scores:
    """Score the arguments of a few sentences' propositions as one batch, one row each, without senses."""
    sentence = np.repeat(np.arange(len(sentences)), [len(sent.props) for sent in sentences])
    pred = np.array([prop.pred for sent in sentences for prop in sent.props], dtype=np.int64)
    encoding = encode_all(model, [sent.tokens for sent in sentences])
    return model.score_arguments(encoding, sentence, pred, [None] * len(pred))


def narrowed(encoding: Encoding, sentence: IntArray) -> tuple[Encoding, IntArray]:
    """The encoding without sentences and padding that the predicates in `sentence` (N,) do not need.

    Also returns the predicates' sentences in terms of that encoding.
    """
    used, renumbered = np.unique(sentence, return_inverse=True)
    lengths = encoding.lengths[used]
    longest = int(lengths.max(initial=1))
    if len(used) == len(encoding.lengths) and longest == encoding.vectors.shape[1]:
        return encoding, sentence
    vectors = encoding.vectors[used, :longest]
    sentences = [encoding.sentences[s] for s in used.tolist()]
    return replace(encoding, sentences=sentences, lengths=lengths, vectors=vectors, kept={}), renumbered
