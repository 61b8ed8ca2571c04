"""Heads and relations as an auxiliary task."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from builders import SENTENCES, make_config, make_network
from spansrl.errors import DataError
from spansrl.inference.directory import ModelDirectory
from spansrl.inference.runtime import OnnxModel
from spansrl.nn.syntax import IGNORED, UNIVERSAL, SyntaxHead, SyntaxLabels
from spansrl.training.export import MAX_DIFFERENCE, compare, export_model
from spansrl.training.recovery import find_trained, load_trained
from spansrl.training.runs import Splits, execute, prepare_run

SENT = replace(
    SENTENCES[0], extra={"heads": [1, 2, -1, 4, 2], "deprels": ["det", "nsubj:pass", "root", "det", "obj"]}
)


def test_labels_are_read_per_token_and_ignored_where_unknown():
    gold = SyntaxLabels.of([SENT, SENTENCES[4]]).take(np.array([0, 1]))
    assert gold.heads.tolist() == [[1, 2, 2, 4, 2], [IGNORED] * 5]  # the root is its own head
    assert [UNIVERSAL[k] for k in gold.relations[0]] == ["det", "nsubj", "root", "det", "obj"]
    assert gold.relations[1].tolist() == [IGNORED] * 5


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({}, "needs 'heads'"),
        ({"heads": [0], "deprels": ["det"]}, "one entry per token"),
        ({"heads": [9, 0, 0, 0, 0], "deprels": ["det"] * 5}, "head of token 0 is 9"),
    ],
)
def test_bad_or_missing_labels_are_one_clear_line(extra, message):
    with pytest.raises(DataError, match=message):
        SyntaxLabels.of([replace(SENTENCES[0], extra=extra)])


def test_the_loss_is_that_of_the_gold_heads_and_relations():
    torch.manual_seed(0)
    head = SyntaxHead(6, 0.0).double()
    h, mask = torch.randn(1, 5, 6, dtype=torch.float64), torch.ones(1, 5, dtype=torch.bool)
    gold = SyntaxLabels.of([SENT]).take(np.array([0]))
    scores, dependent, heads = head(h, mask)
    expected = torch.zeros((), dtype=torch.float64)
    for t, (index, relation) in enumerate(zip(gold.heads[0], gold.relations[0], strict=True)):
        expected -= scores[0, t].log_softmax(0)[index]
        logits = head.relation(torch.cat([dependent[0, t], heads[0, index]]))
        expected -= logits.log_softmax(0)[relation]
    torch.testing.assert_close(head.loss(h, mask, gold.heads, gold.relations), expected)


def test_a_model_learns_syntax_and_is_exported_without_it(tmp_path):
    config = make_config(tasks={"syntax": 0.3}, training={"epochs": 1, "batch_size": 8})
    splits = Splits([SENT, *SENTENCES[1:]], list(SENTENCES), {})
    run = prepare_run(config, splits)
    batch, inputs = next(run.examples.epoch(0))
    run.model.loss(batch, inputs).backward()
    assert run.model.syntax.head.weight.grad is not None
    list(execute(run, tmp_path / "run"))
    network = export_model(tmp_path / "run", tmp_path / "out")
    found = compare(network, OnnxModel.load(tmp_path / "out"), SENTENCES)
    assert found.scores < MAX_DIFFERENCE
    assert ModelDirectory.read(tmp_path / "out").network_config.tasks.syntax == 0
    assert make_network().syntax is None
    assert load_trained(find_trained(str(tmp_path / "run"), "training.start")).syntax is not None
