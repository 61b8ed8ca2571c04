"""What a network's graphs hold, before anything is exported."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
import torch

from builders import SENTENCES, make_network
from spansrl.errors import ModelError
from spansrl.nn.embedders.elmo import batch_char_ids
from tiny_elmo import make_elmo


def test_a_graph_of_elmo_computes_the_vectors_of_the_embedder(tmp_path):
    network = make_network(embedder={"kind": "elmo", "path": str(make_elmo(tmp_path / "elmo"))})
    sentences = [sent.tokens for sent in SENTENCES]
    store = network.embedder.prepare(sentences)
    expected = network.embedder(network.embedder.take(store, np.arange(len(sentences))))
    [found] = network.embedder.graph(None).module(*batch_char_ids(sentences))
    for tokens, row, right in zip(sentences, found, expected, strict=True):
        torch.testing.assert_close(row[: len(tokens)], right[: len(tokens)], atol=1e-6, rtol=0)


def test_a_model_over_precomputed_vectors_does_not_hold_what_would_be_exported(tmp_path):
    with h5py.File(tmp_path / "train.hdf5", "w") as file:
        file["0"] = np.zeros((3, 5, 8), np.float32)
    network = make_network(embedder={"kind": "elmo", "precomputed": str(tmp_path)})
    with pytest.raises(ModelError, match=r"embedder\.path instead of embedder\.precomputed"):
        network.embedder.graph(network.tasks)
