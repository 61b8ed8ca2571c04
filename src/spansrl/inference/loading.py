"""`spansrl.load`: the model in the package, or any model directory, as a Pipeline."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from operator import index
from pathlib import Path
from typing import SupportsIndex, cast

import numpy as np

from spansrl.arrays import IntArray
from spansrl.decoding import METHODS, Method, Order
from spansrl.errors import ConfigError, MissingExtraError, ModelError
from spansrl.inference.calibration import Calibration
from spansrl.inference.directory import check_manifest, read_description, read_json
from spansrl.inference.labeler import Scorer
from spansrl.inference.lexicon import LEXICON, read_lexicon
from spansrl.inference.pipeline import Pipeline
from spansrl.inference.runtime import (
    ENCODER_GRAPH,
    Encoding,
    FrameModel,
    OnnxModel,
    PredicateScores,
    lengths_of,
)
from spansrl.language.frames import HOW_TO_REGISTER, FrameIndex, load_frames
from spansrl.structures import Proposition, Sentence

CALIBRATION = "calibration.json"


def shipped_model() -> Path:
    """Where the package keeps its model."""
    return Path(str(files("spansrl"))) / "assets" / "model"


def load(
    path: str | Path | None = None,
    *,
    threads: int | None = None,
    frames: FrameIndex | bool = True,
    rule_out_roles: bool | None = None,
    method: Method | None = None,
    device: str = "cpu",
) -> Pipeline:
    """A model, ready to label: by default the one in the package, which needs neither network nor torch.

    `path` is a model directory; one without ONNX graphs runs on torch (and on `device`). `frames` says
    whether to use the PropBank frames that `spansrl frames` registered, or which; `rule_out_roles` keeps to
    the core roles that they have for a sense, by default wherever there are frames, for it helps a little
    (EXPERIMENTS.md). `method` is the decoder (greedy, argmax or exact), by default the model's.
    """
    check_threads(threads)
    if method is not None and method not in METHODS:
        raise ConfigError(f"method is {method!r}; there are {', '.join(METHODS)}")
    directory = shipped_model() if path is None else Path(path)
    is_exported = (directory / ENCODER_GRAPH).exists()
    if is_exported and str(device) != "cpu":
        raise ConfigError(f"device is {str(device)!r}; exported models run on the CPU, so leave it out")
    if not isinstance(frames, (bool, FrameIndex)):
        raise ConfigError(f"frames is {frames!r}; give True, False or a FrameIndex")
    known = load_frames() if frames is True else frames or None
    if rule_out_roles and known is None:
        advice = "leave out frames=False" if frames is False else HOW_TO_REGISTER
        raise ConfigError(f"to rule out roles, PropBank's frames are needed; {advice}")
    if is_exported:
        # Batches are small: to label several at once is faster than to share the work of one.
        exported = OnnxModel.load(directory, threads=1)
        at_once = threads or _cores()
        output = exported.config.output
        model: FrameModel = exported
        own = cast(Method, output.decoder), cast(Order, output.order)
    else:
        model, own = _on_torch(directory, threads, device)
        at_once = 1
    senses = read_description(directory).get("senses", ())
    return Pipeline(
        model,
        inventory=read_lexicon(directory, senses) if senses and (directory / LEXICON).exists() else None,
        calibration=read_calibration(directory),
        frames=known,
        rule_out_roles=known is not None if rule_out_roles is None else rule_out_roles,
        method=method or own[0],
        order=own[1],
        threads=at_once,
    )


def check_threads(threads: object, name: str = "threads") -> None:
    """Raise ConfigError for what is no number of threads; None is all cores."""
    if threads is None:
        return
    if isinstance(threads, bool) or not isinstance(threads, SupportsIndex) or index(threads) < 1:
        raise ConfigError(f"{name} is {threads!r}; give 1 or more, or nothing for all cores")


def _cores() -> int:
    """The processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def read_calibration(directory: Path) -> Calibration:
    """The calibration of a model directory; without one, probabilities are the model's own."""
    path = directory / CALIBRATION
    if not path.exists():
        return Calibration()
    try:
        return Calibration.from_dict(read_json(path))
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error


def _on_torch(directory: Path, threads: int | None, device: str) -> tuple[FrameModel, tuple[Method, Order]]:
    check_manifest(directory)
    read_description(directory)  # says what is wrong with a directory that is none, before torch is needed
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError(f"{directory}: a model without ONNX graphs", "train") from error
    from spansrl.nn.network import TorchScorer
    from spansrl.training.checkpoint import check_device
    from spansrl.training.ensembles import load_labeler

    check_device(device)
    if threads:
        torch.set_num_threads(threads)
    labeler = load_labeler(directory, device=device)
    scorer = labeler.scorer
    model: FrameModel = scorer if isinstance(scorer, TorchScorer) else GivenPredicates(scorer)
    return model, (labeler.method, labeler.order)


@dataclass(frozen=True, slots=True)
class GivenPredicates:
    """An ensemble's scorer as the model of a pipeline: it finds no predicates, and encodes one by one."""

    scorer: Scorer

    @property
    def roles(self) -> Sequence[str]:
        """The names behind the scores' role axis."""
        return self.scorer.roles

    def encode(self, sentences: Sequence[Sequence[str]]) -> Encoding:
        """The sentences as they are; the scorer encodes them when it knows the predicates."""
        lengths = lengths_of(sentences)
        return Encoding(sentences, lengths, np.zeros((len(sentences), int(lengths.max()), 0), np.float32))

    def score_predicates(self, encoding: Encoding, sentence: IntArray, pred: IntArray) -> PredicateScores:
        """Scores with one row a predicate."""
        pairs = zip(sentence.tolist(), pred.tolist(), strict=True)
        sentences = [Sentence(tuple(encoding.sentences[s]), (Proposition(p),)) for s, p in pairs]
        return PredicateScores(self.scorer.score(sentences))
