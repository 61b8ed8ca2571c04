"""From scores to arguments: argmax, greedy and exact search over labelled spans, and Viterbi over BIO tags.

NumPy only, whoever computed the scores. A span's score is a start score plus an end score,
F(i, j, r) = start[i, r] + end[j, r] with j inclusive, so the best partner of a boundary is a running maximum
and no decoder ever looks at all pairs: memory is a small multiple of the scores', also where an untrained
network makes every span look good.

The span decoders share what counts as a *candidate*: a span that does not cover the predicate p and scores
strictly above its role's Null span, F(i, j, r) > F(p, p, r). They differ in what they make of the candidates:

- ``argmax``: each role's best candidate (Eq. 1 of Ouchi+ 2018); these may overlap;
- ``greedy``: Algorithm 1 of the paper: again and again the best candidate that neither overlaps a chosen span
  nor repeats a core role, where best is by log P = F − log Z, or by F as in the authors' code;
- ``exact``: the candidates with the greatest sum of F(i, j, r) − F(p, p, r) under the same two constraints,
  by a dynamic programme over positions and used core roles (Täckström+ 2015).

Most propositions need no search: where each role's best candidate fits with the others', that is what both
searches would find (see `needs_search`). Sums are in double precision. Argmax and greedy search break ties
by (i, j, role index), exact search by an order of its own; no answer depends on the rest of the batch.
"""

from spansrl.decoding.scores import SpanScores, TagScores, log_partition
from spansrl.decoding.spans import METHODS, Method, Order, decode
from spansrl.decoding.viterbi import arguments_from_tags, bio_transitions, decode_tags, viterbi

__all__ = [
    "METHODS",
    "Method",
    "Order",
    "SpanScores",
    "TagScores",
    "arguments_from_tags",
    "bio_transitions",
    "decode",
    "decode_tags",
    "log_partition",
    "viterbi",
]
