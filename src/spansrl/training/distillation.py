"""What trained span models say about a corpus, for another to learn from.

`span.distillation_loss` needs of a teacher only the marginals of its starts and ends, (T, 2, R) a
proposition; of several teachers their mean, the marginals of their mixture. Computed once a corpus.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from spansrl.arrays import Ragged
from spansrl.errors import ModelError
from spansrl.nn.batch import Corpus
from spansrl.nn.embedders.features import Progress, cached_rows, hash_of
from spansrl.nn.ensembles import expert_features, fingerprint, propositions_fingerprint
from spansrl.nn.network import Network
from spansrl.nn.outputs.span import SpanOutput, boundary_marginals


def teacher_marginals(
    teachers: Sequence[Network], corpus: Corpus, cache: Path, progress: Progress | None = None
) -> Ragged:
    """The teachers' mean marginals of the corpus, a row a proposition, memory-mapped from the cache."""
    features = expert_features(teachers, corpus, cache, progress)
    outputs = [_span_output(teacher) for teacher in teachers]
    lengths = corpus.lengths[corpus.prop_sentence].tolist()
    key = hash_of("".join(map(fingerprint, teachers)))[:16] + "-" + propositions_fingerprint(corpus)[:16]

    @torch.inference_mode()
    def compute(rows: list[int]) -> list[Any]:
        props = np.array(rows)
        mask = corpus.batch(props).mask()
        vectors = features.take(props).features  # a tensor (N, T, D) for each teacher
        total = sum(
            torch.stack(boundary_marginals(output(h, mask)), dim=2)  # (N, T, 2, R)
            for output, h in zip(outputs, vectors, strict=True)
        )
        mean = (torch.as_tensor(total) / len(outputs)).numpy()
        return [mean[k, : lengths[row]] for k, row in enumerate(rows)]

    return cached_rows(
        cache / f"marginals-{key}.npy", lengths, (2, len(teachers[0].roles)), compute, progress
    )


def _span_output(network: Network) -> SpanOutput:
    if not isinstance(network.output, SpanOutput):
        raise ModelError("a teacher must have span output; this one is a CRF")
    return network.output
