"""What trained models predict on a corpus, for another model to learn from.

An output's targets (`Output.targets`) are all that a student needs of a teacher; those of several teachers
are averaged, which gives the targets of their mixture. They are computed once per corpus.
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


def teacher_marginals(
    teachers: Sequence[Network], corpus: Corpus, cache: Path, progress: Progress | None = None
) -> Ragged:
    """The teachers' mean marginals of the corpus, a row per proposition, memory-mapped from the cache."""
    features = expert_features(teachers, corpus, cache, progress)
    outputs = [teacher.output for teacher in teachers]
    kinds = {teacher.config.output.kind for teacher in teachers}
    if len(kinds) > 1:
        raise ModelError(f"teachers must have one kind of output, found {', '.join(sorted(kinds))}")
    lengths = corpus.lengths[corpus.prop_sentence].tolist()
    key = hash_of("".join(map(fingerprint, teachers)))[:16] + "-" + propositions_fingerprint(corpus)[:16]

    @torch.inference_mode()
    def compute(rows: list[int]) -> list[Any]:
        props = np.array(rows)
        batch = corpus.batch(props)
        vectors = features.take(props).features  # a tensor (N, T, D) for each teacher
        total = sum(
            output.targets(h, batch.mask(), batch.pred)  # (N, T, ...)
            for output, h in zip(outputs, vectors, strict=True)
        )
        mean = (torch.as_tensor(total) / len(outputs)).numpy()
        return [mean[k, : lengths[row]] for k, row in enumerate(rows)]

    shape = outputs[0].target_shape(len(teachers[0].roles))
    return cached_rows(cache / f"marginals-{key}.npy", lengths, shape, compute, progress)
