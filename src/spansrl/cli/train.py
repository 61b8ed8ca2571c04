"""`spansrl train`: a model from a config and a corpus."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from spansrl.cli import options
from spansrl.cli.progress import every

if TYPE_CHECKING:
    from spansrl.training.runs import Event, Run

EXAMPLES = """
\b
Examples:
  spansrl data ewt --out data/ewt
  spansrl train configs/tiny.toml --data data/ewt --out runs/tiny
  spansrl train configs/tiny.toml --data data/ewt --out runs/tiny-2 --set training.seed=2 --threads 1
  spansrl train configs/tiny.toml --data data/ewt --out runs/tiny-2 --set training.seed=2 --threads 1 --resume

\b
What --out holds afterwards:
  config.json, weights.safetensors, embedder/   the model, with the best epoch's weights
  log.jsonl                                     one line per epoch: loss, development F1, times
  run.json                                      settings, versions, commit, hashes of the data
  state.safetensors                             what --resume continues from; may be deleted at the end
"""


@click.command(epilog=EXAMPLES)
@click.argument("config", type=options.PATH)
@options.data
@options.out("Directory for the model and its run.")
@options.overrides
@options.resume
@options.threads
@options.device
@options.cache
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
    """Train the model that CONFIG (a TOML file) describes.

    After every epoch the model labels dev.jsonl, and the weights with the best F1 are kept in --out, which is
    a model directory for `spansrl label`. A run may be interrupted at any moment, by Ctrl-C, kill or a power
    cut: the same command with --resume continues, and with --threads 1 reaches exactly the same weights.
    """
    options.require_torch("training", threads)
    from spansrl.training import runs
    from spansrl.training.recovery import settings_of_start
    from spansrl.training.run_config import load_config

    settings = load_config(config, overrides, settings_of_start)
    with runs.open_run(
        settings, data, out, resume=resume, device=device, cache=cache, progress=feature_progress
    ) as (workers, run):
        if run is not None:
            for note in run.notes if workers.is_first else ():
                say(note)
            report_run(run, out, resume=resume)
        elif workers.is_first:
            say(f"{out}: this run is finished; nothing to do")


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


_features_due = every(10)


def feature_progress(step: str, done: int, total: int | None) -> None:
    """Print a line every ten seconds while features are computed or teachers run, once per corpus."""
    if _features_due() or done == total:
        say(f"{step}: {done} of {total}")


def report_run(run: Run, out: Path, *, resume: bool) -> None:
    """Execute a run, with a bar on a terminal and plain lines elsewhere; Ctrl-C and SIGTERM save and stop."""
    from spansrl.training import runs

    if not run.workers.is_first:
        with StopSignal() as stop:
            for _ in runs.execute(run, out, resume=resume, should_stop=stop.asked):
                pass
        return
    console = Console(stderr=True, markup=False, emoji=False)
    on_terminal = sys.stderr.isatty() and not console.is_dumb_terminal
    display = _Bar(console) if on_terminal else _Lines()
    last: Event | None = None
    try:
        with StopSignal() as stop, display if isinstance(display, _Bar) else nullcontext():
            for event in runs.execute(run, out, resume=resume, should_stop=stop.asked):
                display.show(event)
                last = event
    except KeyboardInterrupt:
        say("stopped at once; run the same command with --resume to continue from the last save")
        sys.exit(128 + signal.SIGINT)
    if last is None:
        say(f"{out}: this run is finished; nothing to do")
    elif last.stopped:
        say(f"stopped and saved after {steps_done(last)}; run the same command with --resume to continue")
        sys.exit(128 + stop.signal)
    else:
        best = last.step.position
        say(f"{out}: finished; best development F1 {best.best_f1:.2f}, in epoch {best.best_epoch + 1}")
        if on_terminal:
            from spansrl.analysis.curves import read_log, terminal_chart

            utf8 = (sys.stderr.encoding or "").lower().startswith("utf")
            say(terminal_chart(read_log(out), ascii_only=not utf8))


class StopSignal:
    """Turns the first SIGINT or SIGTERM into a request to stop after the step; a second one ends at once."""

    def __init__(self) -> None:
        self.signal = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> StopSignal:
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:  # ignored in background jobs
                self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def asked(self) -> bool:
        return self.signal != 0

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.signal = number
        self.__exit__()
        # Not print: the signal may have come in the middle of one.
        os.write(2, b"\nstopping after this step is saved; press again to stop at once\n")


class _Lines:
    """One line per epoch, and one per minute in between."""

    def __init__(self) -> None:
        self.is_due = every(60)
        self.started = time.monotonic()
        self.first: int | None = None

    def show(self, event: Event) -> None:
        step, now = event.step, time.monotonic()
        if self.first is None:
            self.first, self.started = step.number, now
        if step.dev is not None:
            say(epoch_line(event))
        elif self.is_due():
            done = step.number - self.first
            left = (now - self.started) / done * (step.total - step.number) if done else 0.0
            say(f"{steps_done(event)}: {running_text(event)}, {duration(left)} left")


class _Bar(Progress):
    """One bar for the whole run, and a line per epoch above it."""

    def __init__(self, console: Console) -> None:
        columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
        # The estimate looks far back, so that it includes the evaluations.
        super().__init__(*columns, console=console, speed_estimate_period=1800)
        self.run: TaskID | None = None

    def show(self, event: Event) -> None:
        step = event.step
        if self.run is None:
            self.run = self.add_task("", total=step.total, completed=step.number)
        text = f"epoch {step.epoch + 1}: {running_text(event)}"
        self.update(self.run, completed=step.number, description=text)
        if step.dev is not None:
            self.console.print(epoch_line(event), highlight=False, soft_wrap=True)


def running_text(event: Event) -> str:
    step = event.step
    best = f"{step.position.best_f1:.2f}" if step.position.best_epoch >= 0 else "–"
    speed = f"{event.props_per_second:.0f} props/s"
    return f"loss {step.loss:.3f}, rate {step.rate:.2g}, {speed}, best F1 {best}"


def epoch_line(event: Event) -> str:
    """The results of an epoch; a star marks the best one so far."""
    step = event.step
    assert step.dev is not None
    star = " *" if step.is_best else ""
    return (
        f"epoch {step.epoch + 1}: loss {step.loss:.4f}, rate {step.rate:.2g}, "
        f"dev F1 {step.dev.overall.f1:.2f}{star}, {duration(event.train_seconds)} "
        f"({event.props_per_second:.0f} props/s) and {duration(event.dev_seconds)} for dev"
    )


def steps_done(event: Event) -> str:
    step = event.step
    return f"step {step.number} of {step.total} (epoch {step.epoch + 1})"


def duration(seconds: float) -> str:
    """A time in readable units: 42 s, 7 min, 3 h 05 min."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"
