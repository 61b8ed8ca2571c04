"""Training of models; `train` is what `spansrl train` does, from Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spansrl.errors import MissingExtraError
from spansrl.inference.loading import load
from spansrl.inference.pipeline import Pipeline
from spansrl.progress import Progress

if TYPE_CHECKING:
    from spansrl.training.runs import Event


def train(
    config: str | Path | Mapping[str, Any],
    *,
    data: str | Path,
    out: str | Path,
    overrides: Iterable[str] = (),
    resume: bool = False,
    device: str = "cpu",
    threads: int | None = None,
    cache: str | Path | None = None,
    on_event: Callable[[Event], None] = lambda event: None,
    progress: Progress | None = None,
) -> Pipeline:
    """Train a model, or continue to, and load it; needs the extra `train`.

    Args:
        config: A TOML file, or its sections, such as `{"training": {"start": "small", "epochs": 3}}`.
        data: A directory with `train.jsonl` and `dev.jsonl`.
        out: The directory for the model and its run.
        overrides: Settings as for `--set`, such as `["training.seed=2"]`.
        resume: Continue the run in `out`; if there is none, start it. A finished run is only loaded.
        device: Where to compute: "cpu", "cuda", …
        threads: The number of threads; by default all cores.
        cache: A directory for features of frozen encoders and predictions of teachers; by default
            `~/.cache/spansrl`.
        on_event: Called after every step with what the log and the progress bar show.
        progress: Called while features are computed or teachers run.

    Returns:
        The model with the best epoch's weights.

    Raises:
        SpansrlError: A setting, the data or the directory does not fit; the message says what to do.
    """
    require_torch("training", threads)
    from spansrl.training import runs
    from spansrl.training.recovery import settings_of_start
    from spansrl.training.run_config import config_from_dict, load_config, with_overrides

    if isinstance(config, Mapping):
        settings = config_from_dict(settings_of_start(with_overrides(config, overrides)))
    else:
        settings = load_config(Path(config), overrides, settings_of_start)
    with runs.open_run(
        settings,
        Path(data),
        Path(out),
        resume=resume,
        device=device,
        cache=None if cache is None else Path(cache),
        progress=progress,
    ) as (_, run):
        for event in () if run is None else runs.execute(run, Path(out), resume=resume):
            on_event(event)
    return load(Path(out), threads=threads)


def require_torch(what: str, threads: int | None = None) -> None:
    """Raise MissingExtraError without torch and what comes with it; limit the threads that it uses."""
    if any(find_spec(name) is None for name in ("torch", "safetensors", "transformers", "h5py")):
        raise MissingExtraError(what, "train")
    if threads:
        import torch

        torch.set_num_threads(threads)
