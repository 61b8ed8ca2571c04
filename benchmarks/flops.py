"""The floating-point operations that labeling cannot do without.

Only matrix products count. They are read from ONNX Runtime's profile of a run in which every sentence is
encoded alone and its predicates are scored together, so that there is no padding and nothing is computed
twice.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]

from spansrl.inference.pipeline import Pipeline
from spansrl.inference.runtime import OnnxGraph, OnnxModel
from spansrl.structures import Sentence

PRODUCTS = ("MatMul", "Gemm")
EVERYTHING = 10**9  # predicates × tokens: no sentence has more


def operations(srl: Pipeline, sentences: Sequence[Sentence]) -> float:
    """Floating-point operations of labeling sentences with an exported model."""
    assert isinstance(srl.model, OnnxModel)
    model = OnnxModel(srl.model.directory, threads=1)
    alone = replace(srl, model=model, threads=1, encoder_batch=1, scoring_batch=EVERYTHING)
    with tempfile.TemporaryDirectory() as folder:
        sessions = [_profiled(graph, folder) for graph in (model._encoder, model._arguments)]
        for _ in alone.label(sentences):
            pass
        return sum(_products(Path(session.end_profiling())) for session in sessions)


def _profiled(graph: OnnxGraph, folder: str) -> Any:
    """Let a graph run in a session that notes what it does."""
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = f"{folder}/{graph.path.stem}"
    # As written: fused products would have other names.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    graph._session = onnxruntime.InferenceSession(
        str(graph.path), options, providers=["CPUExecutionProvider"]
    )
    return graph._session


def _products(profile: Path) -> float:
    """Operations of the matrix products in a profile."""
    events = [event.get("args", {}) for event in json.loads(profile.read_text())]
    return sum(_product(event) for event in events if event.get("op_name") in PRODUCTS)


def _product(event: dict[str, Any]) -> float:
    left, right = (_shape(item) for item in event["input_type_shape"][:2])
    out = _shape(event["output_type_shape"][0])
    # (M × K) (K × N) = (M × N), whichever of them is transposed.
    inner = math.sqrt(math.prod(left[-2:]) * math.prod(right[-2:]) / max(1, math.prod(out[-2:])))
    return 2 * inner * math.prod(out)


def _shape(item: dict[str, list[int]]) -> list[int]:
    (shape,) = item.values()
    return shape


def single_precision(*shape: int) -> Any:
    """A random array for `matmul_rate`. Set OPENBLAS_NUM_THREADS=1 for one thread."""
    return np.random.default_rng(1).standard_normal(shape, dtype=np.float32)
