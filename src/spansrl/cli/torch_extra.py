"""What commands that need torch have in common: two options, and what they check before they import it."""

from __future__ import annotations

from importlib.util import find_spec

import click

from spansrl.errors import ConfigError, MissingExtraError

threads_option = click.option(
    "--threads", type=click.IntRange(min=1), help="Threads to compute with.  [default: torch's choice]"
)
device_option = click.option(
    "--device",
    default="cpu",
    show_default=True,
    help="Where to compute: cpu, cuda, … (GPU code is untested).",
)


def require_torch(what: str) -> None:
    """Raise the install line where the extra is missing."""
    if any(find_spec(name) is None for name in ("torch", "safetensors", "transformers", "h5py")):
        raise MissingExtraError(what, "train")


def use_device(name: str) -> str:
    """The device's name, if torch can compute there."""
    from spansrl.training.checkpoint import check_device

    try:
        check_device(name)
    except ConfigError as error:
        raise ConfigError(f"--{error}; try --device cpu") from error
    return name
