"""`spansrl train`: a model from a config and a corpus."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from spansrl.runs import Event

EXAMPLES = """
\b
Examples:
  spansrl data ewt --out data/ewt
  spansrl train configs/tiny.toml --data data/ewt --out runs/tiny
  spansrl train configs/ewt-minilm-span.toml --data data/ewt --out runs/span-2 --set training.seed=2
  spansrl train configs/ewt-minilm-span.toml --data data/ewt --out runs/span-2 --set training.seed=2 --resume
"""


@click.command(epilog=EXAMPLES)
@click.argument("config", type=click.Path(path_type=Path))
@click.option("--data", required=True, type=click.Path(path_type=Path), help="Directory with train.jsonl and dev.jsonl.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Directory for the model and its run.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a setting; may be repeated.")
@click.option("--resume", is_flag=True, help="Go on with the run in --out; without one, start it.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads to compute with.  [default: torch's choice]")
@click.option("--device", default="cpu", show_default=True, help="Where to compute: cpu, cuda, … (GPU code is untested).")
@click.option(
    "--cache",
    type=click.Path(path_type=Path),
    envvar="SPANSRL_CACHE",
    help="Directory for frozen encoders' features.  [default: ~/.cache/spansrl]",
)
def command(
    config: Path,
    data: Path,
    out: Path,
    overrides: tuple[str, ...],
    resume: bool,
    threads: int | None,
    device: str,
    cache: Path | None,
) -> None:
    """Train the model that CONFIG describes.

    The best weights on development data are kept in --out, which is a model directory for `spansrl label`. A run
    may be cut off at any moment (Ctrl-C, kill, power): --resume goes on where it was, to the same final weights.
    """
    from spansrl.cli.torch_extra import require_torch, use_device

    require_torch("training")
    import torch

    from spansrl import runs
    from spansrl.checkpoint import save_description
    from spansrl.config import load_config

    if threads:
        torch.set_num_threads(threads)
    settings = load_config(config, overrides)
    splits = runs.read_splits(data, max_tokens=settings.training.max_tokens)
    provenance = {"data": splits.hashes, **runs.environment()}
    run = runs.prepare_run(
        settings,
        splits,
        device=use_device(device),
        cache=cache or default_cache(),
        progress=feature_progress,
        describe=lambda directory, network: save_description(directory, network, provenance),
    )
    report_run(run, out, resume=resume)


def default_cache() -> Path:
    """Where features are kept unless the user says otherwise."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "spansrl"


def feature_progress(done: int, total: int) -> None:
    """A line now and then while features are computed; once a corpus, so a plain one does."""
    step = max(1, total // 10)
    if done == total or done // step != (done - 1) // step:
        print(f"features: {done} of {total} sentences", file=sys.stderr)


def report_run(run: object, out: Path, *, resume: bool) -> None:
    """Execute a run with a progress bar on a terminal and plain lines elsewhere."""
    from spansrl import runs

    assert isinstance(run, runs.Run)
    if resume and runs.is_finished(run, out):
        print(f"{out}: this run is finished; nothing to do", file=sys.stderr)
        return
    console = Console(stderr=True)
    shown = _TerminalProgress(console) if console.is_terminal else _PlainProgress()
    with shown:
        for event in runs.execute(run, out, resume=resume):
            shown.show(event)
            if event.stopped:
                print(f"stopped at step {event.step.number}; go on with --resume", file=sys.stderr)
                sys.exit(130)


class _PlainProgress:
    """A line an epoch."""

    def __enter__(self) -> _PlainProgress:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, event: Event) -> None:
        if event.step.dev is not None:
            print(epoch_line(event), file=sys.stderr, flush=True)


class _TerminalProgress:
    """One bar for the whole run, and a line an epoch above it."""

    def __init__(self, console: Console) -> None:
        self.bar = Progress(
            TextColumn("epoch {task.fields[epoch]}"),
            BarColumn(),
            TextColumn("loss {task.fields[loss]:.3f}  {task.fields[speed]:.0f} props/s  best F1 {task.fields[best]}"),
            TimeRemainingColumn(),
            console=console,
        )
        self.task: TaskID | None = None

    def __enter__(self) -> _TerminalProgress:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def show(self, event: Event) -> None:
        step = event.step
        best = "–" if step.position.best_f1 < 0 else f"{step.position.best_f1:.2f}"
        fields = {"epoch": step.epoch + 1, "loss": step.mean_loss, "speed": event.props_per_second, "best": best}
        if self.task is None:
            self.task = self.bar.add_task("", total=step.total, **fields)
        self.bar.update(self.task, completed=step.number, **fields)
        if step.dev is not None:
            self.bar.console.print(epoch_line(event), highlight=False)


def epoch_line(event: Event) -> str:
    """What an epoch came to."""
    step = event.step
    assert step.dev is not None
    star = " *" if step.is_best else ""
    return (
        f"epoch {step.epoch + 1}: loss {step.mean_loss:.4f}, rate {step.rate:.2g}, dev F1 {step.dev.overall.f1:.2f}{star}, "
        f"{event.seconds:.0f} s, {event.props_per_second:.0f} propositions a second"
    )
