"""`spansrl.load`: the model in the package, or any model directory, as a Pipeline."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from operator import index
from pathlib import Path
from typing import SupportsIndex

from spansrl.decoding import DECODERS, Decoder
from spansrl.errors import ConfigError, MissingExtraError, ModelError
from spansrl.inference.calibration import Calibration
from spansrl.inference.config import OutputConfig
from spansrl.inference.directory import ModelDirectory, read_json
from spansrl.inference.lexicon import LEXICON, read_lexicon
from spansrl.inference.model import Model
from spansrl.inference.pipeline import ENCODER_BATCH, SCORING_BATCH, Pipeline, check_min_prob
from spansrl.inference.runtime import PRECISIONS, OnnxModel, Precision
from spansrl.inference.sentences import warn_user
from spansrl.inventory import INVENTORIES, FrameIndex, RoleInventory
from spansrl.language import LANGUAGES, MAX_TOKENS, Lemmatizer

CALIBRATION = "calibration.json"
SMALL = "small"
ENTRY_POINTS = "spansrl.models"  # name -> a function that returns a model directory, or a package
INSTALL = {"large": "pip install ./models/large"}


def shipped_model() -> Path:
    """Where the package keeps its model."""
    return Path(str(files("spansrl"))) / "assets" / "model"


def installed_models() -> dict[str, Path]:
    """The directories of the models that are installed, by name; `small` is the one in the package."""
    found = {SMALL: shipped_model()}
    for entry in entry_points(group=ENTRY_POINTS):
        found.setdefault(entry.name, _directory_of(entry))
    return found


def _directory_of(entry: EntryPoint) -> Path:
    """An entry point is a function that returns a model directory, or the directory as a package."""
    try:
        target = entry.load()
        return Path(target() if callable(target) else next(iter(target.__path__)))
    except Exception as error:  # whatever the installed package raises
        raise ModelError(f"the installed model '{entry.name}' cannot be found: {error!r}") from error


def find_model(model: str | Path | ModelDirectory | None = None) -> Path | ModelDirectory:
    """The directory of a model given by name or by path."""
    if model is None:
        return shipped_model()
    if not isinstance(model, str):
        return model
    is_name = all(character.isalnum() or character in "-_" for character in model)
    if is_name and model in (installed := installed_models()):
        if Path(model).is_dir():
            warn_user(f"'{model}' is the installed model; write ./{model} for the directory of that name")
        return installed[model]
    if is_name and not Path(model).exists():
        advice = f"Install it with: {INSTALL[model]}" if model in INSTALL else "It is not a directory either."
        raise ModelError(f"no model '{model}' is installed (found: {', '.join(installed)}). {advice}")
    return Path(model)


def load(
    model: str | Path | ModelDirectory | None = None,
    *,
    threads: int | None = None,
    frames: FrameIndex | bool = True,
    rule_out_roles: bool | None = None,
    decoder: Decoder | None = None,
    min_prob: float | None = None,
    precision: Precision = "full",
    device: str = "cpu",
) -> Pipeline:
    """Load a model, by default the one in the package, which needs neither network nor torch.

    `model` is the name of an installed model ("small" is the one in the package) or a model directory; one
    without ONNX graphs runs on torch (and on `device`). `frames` is whether to use PropBank's frames (those
    in the package, or those that `spansrl frames` installed), or a FrameIndex; `rule_out_roles` removes
    core roles that a sense does not have in the frames, by default whenever they are used (EXPERIMENTS.md
    has the gain). `decoder` is greedy, argmax, exact, constrained or marginals, by default the model's own.
    `min_prob` drops arguments that are less probable, by default the model's own choice; 0 keeps all. With
    `precision` "int8" an exported model multiplies integers, which is about twice as fast (docs/labeling.md).
    """
    check_threads(threads)
    check_choices(decoder, precision)
    if min_prob is not None:
        check_min_prob(min_prob)
    if not isinstance(frames, (bool, FrameIndex)):
        raise ConfigError(f"frames is {frames!r}; expected True, False or a FrameIndex")
    directory = ModelDirectory.read(find_model(model))
    inventory = INVENTORIES[directory.inventory]
    known = frames or inventory.bare if isinstance(frames, FrameIndex) or not frames else inventory.load()
    if rule_out_roles and not len(known):
        raise ConfigError("rule_out_roles needs PropBank frames; leave out frames=False")
    pipeline = Pipeline.plain(*_load_model(directory, threads, precision, device))
    pipeline = replace(
        pipeline,
        calibration=read_calibration(directory.path),
        inventory=known,
        rule_out_roles=len(known) > 0 if rule_out_roles is None else rule_out_roles,
        decoder=decoder or pipeline.decoder,
        min_prob=min_prob,
        # Batches are small: labeling several at once is faster than sharing the work of one.
        threads=(threads or cores()) if directory.is_exported else 1,
    )
    return _for_text(pipeline, directory, known) if directory.finds_predicates else pipeline


def _for_text(pipeline: Pipeline, directory: ModelDirectory, known: RoleInventory) -> Pipeline:
    """The pipeline with what text needs: senses, and limits on sentences and batches."""
    has_lexicon = directory.senses and (directory.path / LEXICON).exists()
    senses = read_lexicon(directory.path, directory.senses) if has_lexicon else None
    if senses is not None and isinstance(pipeline.model, OnnxModel) and pipeline.model.prototypes is not None:
        if isinstance(known, FrameIndex):
            pipeline.model.learn(*known.to_learn())
        senses = senses.with_senses(pipeline.model.senses, pipeline.model.prototypes.weights)
    return replace(
        pipeline,
        language=LANGUAGES[directory.language](senses.lemmatizer if senses else Lemmatizer()),
        senses=senses,
        max_tokens=MAX_TOKENS,
        encoder_batch=ENCODER_BATCH,
        scoring_batch=SCORING_BATCH,
    )


def check_threads(threads: object, name: str = "threads") -> None:
    """Raise ConfigError unless it is a number of threads; None means all cores."""
    if threads is None:
        return
    if isinstance(threads, bool) or not isinstance(threads, SupportsIndex) or index(threads) < 1:
        raise ConfigError(f"{name} is {threads!r}; expected 1 or more, or None for all cores")


def check_choices(decoder: object, precision: object) -> None:
    """Raise ConfigError unless there are such a decoder (None: the model's) and precision."""
    if decoder is not None and decoder not in DECODERS:
        raise ConfigError(f"unknown decoder {decoder!r}. Choose from: {', '.join(DECODERS)}")
    if precision not in PRECISIONS:
        raise ConfigError(f"unknown precision {precision!r}. Choose from: {', '.join(PRECISIONS)}")


def cores() -> int:
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


def _load_model(
    directory: ModelDirectory, threads: int | None, precision: Precision, device: str
) -> tuple[Model, OutputConfig]:
    """The model, and the settings of its decoder."""
    if directory.is_exported:
        if str(device) != "cpu":
            raise ConfigError(f"device is {str(device)!r}, but exported models run on the CPU; leave it out")
        return OnnxModel(directory, threads=1, precision=precision), directory.network_config.output
    if precision != "full":
        raise ConfigError(f"{directory.path}: int8 needs an exported model; write one with `spansrl export`")
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError(f"{directory.path}: a model without ONNX graphs", "train") from error
    from spansrl.training.checkpoint import check_device
    from spansrl.training.ensemble_directories import load_torch_model

    check_device(device)
    if threads:
        torch.set_num_threads(threads)
    return load_torch_model(directory, device=device)
