"""Tiny models of every combination of embedder, encoder and output: train, resume, load, export and label."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from builders import SENTENCES
from spansrl.inference.loading import load
from spansrl.inference.runtime import OnnxModel
from spansrl.nn.embedders import EMBEDDERS as EMBEDDER_KINDS
from spansrl.nn.encoders import ENCODERS as ENCODER_KINDS
from spansrl.nn.outputs import OUTPUTS as OUTPUT_KINDS
from spansrl.training.export import MAX_DIFFERENCE, compare, export_model
from spansrl.training.run_config import config_from_dict
from spansrl.training.runs import Splits, execute, prepare_run
from tiny_bert import make_bert
from tiny_elmo import make_elmo

EMBEDDERS = ("words", "vectors", "elmo", "frozen", "tuned")
ENCODERS = {
    "bilstm": {"kind": "bilstm", "layers": 2, "width": 6, "mark_width": 2},
    "highway": {"kind": "highway", "layers": 2, "width": 6, "mark_width": 2},
    "attention": {"kind": "attention", "layers": 1, "width": 8, "mark_width": 2, "attention_heads": 2},
    "none": {"kind": "none", "predicate": "after", "width": 6},
    "top": {"kind": "none", "predicate": "after", "top_layers": 1},
    "after": {"kind": "bilstm", "predicate": "after", "layers": 1, "width": 4, "attention_layers": 1},
}
OUTPUTS = {kind: {"kind": kind} for kind in OUTPUT_KINDS} | {
    "crf-bio": {"kind": "crf", "transitions": "bio"},
}
QUICK = {("words", "none", output) for output in OUTPUTS}
# Each embedder and each encoder once; exporting takes longer than with the above.
SLOW = {
    ("words", "bilstm", "crf"),
    ("vectors", "highway", "segmental"),
    ("elmo", "attention", "label"),
    ("frozen", "none", "softmax"),
    ("tuned", "after", "span"),
    ("tuned", "top", "span"),
}


def settings(output: str, encoder: str) -> dict:
    return {
        "embedder": {"kind": "words", "width": 5, "min_count": 1},
        "encoder": ENCODERS[encoder],
        "output": OUTPUTS[output],
        "training": {"epochs": 2, "batch_size": 2, "rate": 0.01},
    }


def embedder_settings(name: str, root) -> dict:
    """Settings of an embedder, with its files."""
    if name == "words":
        return {"kind": "words", "width": 5, "min_count": 1}
    if name == "vectors":
        (root / "vectors.txt").write_text("the 0.1 0.2\ncat 0.3 0.4\n", encoding="utf-8")
        return {"kind": "vectors", "path": str(root / "vectors.txt")}
    if name == "elmo":
        return {"kind": "elmo", "path": str(make_elmo(root / "elmo"))}
    tuned = {"finetune": name == "tuned", "case": name == "tuned"}
    return {"kind": "transformer", "path": str(make_bert(root / "bert")), **tuned}


def cases() -> list:
    """All combinations; those that are neither quick nor slow are long."""
    marks = dict.fromkeys(QUICK, ()) | dict.fromkeys(SLOW, pytest.mark.slow)
    return [
        pytest.param(*case, marks=marks.get(case, pytest.mark.long))
        for case in product(EMBEDDERS, ENCODERS, OUTPUTS)
        if case[1] != "top" or case[0] == "tuned"
    ]


def labels(sentences) -> list:
    return [[(arg.role, arg.span) for arg in prop.args] for sent in sentences for prop in sent.props]


def test_every_kind_is_tried(tmp_path):
    assert {section["kind"] for section in ENCODERS.values()} == set(ENCODER_KINDS)
    assert {embedder_settings(name, tmp_path)["kind"] for name in EMBEDDERS[:-1]} == set(EMBEDDER_KINDS)
    embedders, encoders, outputs = map(set, zip(*QUICK | SLOW, strict=True))
    assert (embedders, encoders, outputs) == (set(EMBEDDERS), set(ENCODERS), set(OUTPUTS))


@pytest.mark.parametrize(("embedder", "encoder", "output"), cases())
def test_a_model_trains_resumes_loads_exports_and_labels(tmp_path, embedder, encoder, output):
    config = config_from_dict(settings(output, encoder) | {"embedder": embedder_settings(embedder, tmp_path)})
    splits = Splits(SENTENCES, SENTENCES, {})
    whole = list(execute(prepare_run(config, splits), tmp_path / "whole"))

    stops = iter([False, False, True])
    cut = list(execute(prepare_run(config, splits), tmp_path / "cut", should_stop=lambda: next(stops)))
    assert cut[-1].stopped
    rest = list(execute(prepare_run(config, splits), tmp_path / "cut", resume=True))
    assert rest[-1].step.position == whole[-1].step.position
    weights = [(tmp_path / name / "weights.safetensors").read_bytes() for name in ("whole", "cut")]
    assert weights[0] == weights[1]

    network = export_model(tmp_path / "whole", tmp_path / "exported")
    found = compare(network, OnnxModel.load(tmp_path / "exported"), SENTENCES)
    assert found.scores < MAX_DIFFERENCE
    assert found.other_labels == 0

    torch_labels, onnx_labels = (
        labels(load(tmp_path / name, frames=False).label(SENTENCES, predicates="given"))
        for name in ("whole", "exported")
    )
    assert torch_labels == onnx_labels
    assert len(torch_labels) == sum(len(sent.props) for sent in SENTENCES)
    assert all(np.isfinite(event.step.loss) for event in whole)
