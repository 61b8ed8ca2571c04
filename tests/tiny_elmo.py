"""A random ELMo of a few numbers, as the files that a real one comes in, and where the published one is."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest

FIXTURE = Path(__file__).resolve().parents[2] / "shared" / "data" / "elmo-fixture"
needs_fixture = pytest.mark.skipif(
    not FIXTURE.is_dir(), reason="the shared ELMo fixture is not beside the repository"
)

FILTERS = [[1, 3], [2, 4], [3, 5]]


def tiny_options() -> dict:
    return {
        "lstm": {
            "cell_clip": 0.4,
            "proj_clip": 0.3,
            "use_skip_connections": True,
            "n_layers": 2,
            "dim": 6,
            "projection_dim": 4,
        },
        "char_cnn": {
            "activation": "relu",
            "embedding": {"dim": 5},
            "filters": FILTERS,
            "n_highway": 2,
            "n_characters": 262,
            "max_characters_per_token": 50,
        },
    }


def tiny_weights(options: dict) -> dict[str, np.ndarray]:
    """Random weights in the layout of bilm-tf, large enough for the clipping to matter."""
    rng = np.random.default_rng(7)
    cnn, lstm = options["char_cnn"], options["lstm"]
    P, C, E = lstm["projection_dim"], lstm["dim"], cnn["embedding"]["dim"]
    F = sum(count for _, count in cnn["filters"])
    shapes = {"char_embed": (261, E), "CNN_proj/W_proj": (F, P), "CNN_proj/b_proj": (P,)}
    for k, (width, count) in enumerate(cnn["filters"]):
        shapes |= {f"CNN/W_cnn_{k}": (1, width, E, count), f"CNN/b_cnn_{k}": (count,)}
    for k in range(cnn.get("n_highway") or 0):
        for part in ("carry", "transform"):
            shapes |= {f"CNN_high_{k}/W_{part}": (F, F), f"CNN_high_{k}/b_{part}": (F,)}
    for direction in range(2):
        for k in range(lstm["n_layers"]):
            cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{k}/LSTMCell"
            shapes |= {f"{cell}/W_0": (2 * P, 4 * C), f"{cell}/B": (4 * C,), f"{cell}/W_P_0": (C, P)}
    return {name: rng.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}


def write_files(directory: Path, options: dict, weights: dict[str, np.ndarray]) -> tuple[Path, Path]:
    (directory / "options.json").write_text(json.dumps(options), encoding="utf-8")
    with h5py.File(directory / "weights.hdf5", "w") as file:
        for name, values in weights.items():
            file[name] = values
    return directory / "options.json", directory / "weights.hdf5"


def make_elmo(directory: Path) -> Path:
    """A directory that `embedder.path` may name."""
    directory.mkdir()
    write_files(directory, tiny_options(), tiny_weights(tiny_options()))
    return directory
