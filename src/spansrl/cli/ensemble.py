"""`spansrl ensemble`: several trained span models as one."""

from __future__ import annotations

from pathlib import Path

import click

from spansrl.cli import options
from spansrl.errors import ConfigError

_PRODUCT = "spansrl ensemble product runs/span-1 runs/span-2 runs/span-3 --out runs/poe"
_AVERAGE = "spansrl ensemble average runs/mine small --out runs/average"
_MIXTURE = "spansrl ensemble mixture runs/span-1 runs/span-2 runs/span-3 --data data/ewt --out runs/moe"


def _label(name: str) -> str:
    return f"spansrl label --model runs/{name} data/ewt/test.jsonl -o test.{name}.jsonl"


def _examples(*lines: str) -> str:
    return "\n  ".join(("\b\nExamples:", *lines))


@click.group(epilog=_examples(_PRODUCT, _MIXTURE, _AVERAGE, _label("moe")))
def command() -> None:
    """Combine trained span models into an ensemble.

    Each kind writes a model directory that `spansrl label` takes. Those of a product and a mixture hold
    copies of the experts; an average is a single model.
    """


@command.command(
    epilog=_examples(_AVERAGE, "spansrl export runs/average --out models/mine --calibrate data/ewt/dev.jsonl")
)
@click.argument("models", nargs=-1, required=True)
@options.out("Directory for the model.")
def average(models: tuple[str, ...], out: Path) -> None:
    """One model with the mean of the MODELS' weights, as fast as any of them. Nothing is trained.

    MODELS are runs, exported models, or names of installed models, each of them trained from another with
    training.start: the mean of unrelated models is useless. The settings are those of the first.
    """
    options.require_torch("an average")
    from spansrl.training import runs
    from spansrl.training.ensemble_directories import save_average
    from spansrl.training.recovery import find_trained

    save_average(out, [find_trained(model, "MODELS") for model in models], runs.environment())


@command.command(
    epilog=_examples(_PRODUCT, _label("poe"), "spansrl ensemble product small large --out runs/both")
)
@click.argument("models", nargs=-1, required=True)
@options.out("Directory for the ensemble.")
def product(models: tuple[str, ...], out: Path) -> None:
    """Product of experts: the mean of the MODELS' scores. Nothing is trained.

    MODELS are runs, exported models, or names of installed models. The ensemble labels given predicates.
    """
    options.require_torch("an ensemble")
    from spansrl.nn.ensembles import check_experts
    from spansrl.training import runs
    from spansrl.training.ensemble_directories import save_ensemble
    from spansrl.training.recovery import find_trained, load_trained

    if (out / "config.json").exists():
        raise ConfigError(f"{out}: holds a model already; choose another --out")
    directories = [find_trained(model, "MODELS") for model in models]
    check_experts([load_trained(directory) for directory in directories], same_width=False)
    save_ensemble(out, "product", [directory.path for directory in directories], runs.environment())


@command.command(epilog=_examples(_MIXTURE, f"{_MIXTURE} --resume", _label("moe")))
@click.argument("models", nargs=-1, required=True, type=options.PATH)
@options.data
@options.out("Directory for the ensemble.")
@options.path("--config", help="Config whose [training] is used.  [default: the paper's]")
@options.overrides
@options.resume
@options.threads
@options.cache
def mixture(
    models: tuple[Path, ...],
    data: Path,
    out: Path,
    config: Path | None,
    overrides: tuple[str, ...],
    resume: bool,
    threads: int | None,
    cache: Path | None,
) -> None:
    """Mixture of experts: a learned combination of the MODELS' span representations (Section 3.2)."""
    options.require_torch("an ensemble", threads)
    from spansrl.cli.train import feature_progress, report_run, say
    from spansrl.training import run_directory, runs
    from spansrl.training.ensemble_directories import expert_settings, mixture_facts, prepare_mixture
    from spansrl.training.run_config import MIXTURE_DEFAULTS, config_from_dict, load_config, with_overrides

    settings = (
        load_config(config, overrides)
        if config
        else config_from_dict(with_overrides(MIXTURE_DEFAULTS, overrides))
    )
    if settings.training.partial:
        raise ConfigError("training.partial is for `spansrl train`; a mixture learns from train.jsonl alone")
    splits = runs.read_splits(data, max_tokens=settings.training.max_tokens)
    experts = expert_settings(models)
    facts = mixture_facts(models, splits, settings.training)
    position = run_directory.find_position(out, facts, resume=resume)
    if run_directory.is_finished(out, position, settings.training.epochs):
        say(f"{out}: this run is finished; nothing to do")
        return
    run = prepare_mixture(
        models,
        splits,
        settings.training,
        cache=cache or runs.default_cache(),
        progress=feature_progress,
        provenance={"data": splits.hashes, "experts": experts, **runs.environment()},
    )
    report_run(run, out, resume=resume)
