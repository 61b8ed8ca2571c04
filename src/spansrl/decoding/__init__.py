"""From scores to arguments, NumPy only, whatever computed the scores.

Each kind of output layer has a class of scores that decodes itself (`Scores`). Three of them score a span by
a start plus an end score, F(i, j, r) = start[i, r] + end[j, r] with j inclusive, so the best partner of a
boundary is a running maximum and no decoder looks at all pairs. A *candidate* is a span that does not cover
the predicate p and scores strictly above its Null; decoders choose among the candidates:

- `argmax`: each role's best candidate (Eq. 1 of Ouchi et al. 2018); these may overlap;
- `greedy`: Algorithm 1 of the paper: repeatedly the best candidate that neither overlaps a chosen span nor
  repeats a core role, where best is by log P = F − log Z, or by F as in the authors' code;
- `exact`: the candidates with the greatest sum of F − Null under the same two constraints, by a dynamic
  program over tokens and used core roles (Täckström et al. 2015);
- `constrained`: the same with R-X only beside X and C-X only after X (Punyakanok et al. 2008);
- `marginals`: the most probable candidates first, by their marginals; greedy search except for taggers, whose
  other decoders look for the best tag sequence.

Most propositions need no search: where each role's best candidate fits with the others', that is what both
searches would find (see `needs_search`). Sums are in double precision. Argmax and greedy search break ties
by (i, j, role index), exact search by an order of its own; no answer depends on the rest of the batch.
"""

from spansrl.decoding.label_scores import LabelScores
from spansrl.decoding.scores import DECODERS, ORDERS, Arrays, Decoder, Ints, Order, Scores
from spansrl.decoding.segmental_scores import SegmentalScores
from spansrl.decoding.spans import SpanScores, log_partition
from spansrl.decoding.tag_scores import TagScores, arguments_from_tags, bio_transitions, viterbi

# The scores of each kind of output, built from the arrays that a network or an ONNX graph returns.
SCORES: dict[str, type[Scores]] = {
    "span": SpanScores,
    "segmental": SegmentalScores,
    "label": LabelScores,
    "crf": TagScores,
    "softmax": TagScores,
}

# The arrays that each kind needs.
ARRAYS: dict[str, frozenset[str]] = {
    "span": frozenset({"start", "end"}),
    "segmental": frozenset({"start", "end", "outside"}),
    "label": frozenset({"start", "end"}),
    "crf": frozenset({"emissions", "transitions", "first"}),
    "softmax": frozenset({"emissions"}),
}


def make_scores(kind: str, arrays: Arrays, lengths: Ints, pred: Ints) -> Scores:
    """The scores of an output kind from its named arrays, lengths (N,) and predicates (N,)."""
    return SCORES[kind].from_arrays(arrays, lengths, pred)


__all__ = [
    "ARRAYS",
    "DECODERS",
    "ORDERS",
    "SCORES",
    "Arrays",
    "Decoder",
    "LabelScores",
    "Order",
    "Scores",
    "SegmentalScores",
    "SpanScores",
    "TagScores",
    "arguments_from_tags",
    "bio_transitions",
    "log_partition",
    "make_scores",
    "viterbi",
]
