"""Fitting the calibration of a model again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from spansrl.formats import write_sentences
from spansrl.inference.loading import CALIBRATION, load
from toy_text_model import TOYS, make_text_network, save, train

SCRIPT = Path(__file__).parents[2] / "experiments" / "recalibrate.py"


def test_a_model_is_calibrated_again_without_touching_its_weights(tmp_path):
    network = make_text_network()
    train(network, np.arange(len(TOYS)), 20)
    model = save(network, tmp_path / "model")
    write_sentences(tmp_path / "dev.jsonl", TOYS)
    weights = (model / "weights.safetensors").read_bytes()
    command = [sys.executable, SCRIPT, model, tmp_path / "dev.jsonl"]
    printed = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert json.loads((model / CALIBRATION).read_text()) == printed
    assert load(model).calibration.to_dict() == printed
    assert (model / "weights.safetensors").read_bytes() == weights
