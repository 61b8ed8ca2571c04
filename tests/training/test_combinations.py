"""Tiny models of every combination train, resume, load, export and label."""

from __future__ import annotations

import numpy as np
import pytest

from builders import SENTENCES
from spansrl.inference.loading import load
from spansrl.inference.runtime import OnnxModel
from spansrl.nn.encoders import ENCODERS
from spansrl.nn.outputs import OUTPUTS
from spansrl.training.config import config_from_dict
from spansrl.training.export import MAX_DIFFERENCE, compare, export_model
from spansrl.training.runs import Splits, execute, prepare_run

ENCODER_SETTINGS = {
    "bilstm": {"layers": 2, "width": 6, "mark_width": 2},
    "highway": {"layers": 2, "width": 6, "mark_width": 2},
    "attention": {"layers": 1, "width": 8, "mark_width": 2, "attention_heads": 2},
    "none": {"predicate": "after", "width": 6},
}
CASES = [(kind, "bilstm") for kind in OUTPUTS] + [("span", kind) for kind in ENCODERS if kind != "bilstm"]


def settings(output: str, encoder: str) -> dict:
    return {
        "embedder": {"kind": "words", "width": 5, "min_count": 1},
        "encoder": {"kind": encoder, **ENCODER_SETTINGS[encoder]},
        "output": {"kind": output},
        "training": {"epochs": 2, "batch_size": 2, "rate": 0.01},
    }


def labels(sentences) -> list:
    return [[(arg.role, arg.span) for arg in prop.args] for sent in sentences for prop in sent.props]


def test_every_encoder_is_tried():
    assert set(ENCODER_SETTINGS) == set(ENCODERS)


@pytest.mark.parametrize(("output", "encoder"), CASES, ids=["-".join(case) for case in CASES])
def test_a_model_trains_resumes_loads_exports_and_labels(tmp_path, output, encoder):
    config = config_from_dict(settings(output, encoder))
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
