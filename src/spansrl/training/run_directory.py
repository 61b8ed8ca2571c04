"""The directory of a training run: what it holds, whose it is, and how it is put in order after a crash.

It is a model directory (the best weights so far) with three more files: `run.json` says what the run is made
of, `log.jsonl` what happened in every epoch, `state.safetensors` holds all that resuming needs. The end of an
epoch is written in the order log, state, weights. The state decides: log lines that it does not know of are
dropped (those epochs are trained again), and best weights that the process did not live to write are its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import nn

from spansrl.errors import ConfigError, ModelError
from spansrl.inference.directory import DESCRIPTION, WEIGHTS, not_saved, read_json, write_bytes, write_json
from spansrl.training.averaging import WeightAverage
from spansrl.training.checkpoint import (
    STATE,
    load_state,
    read_state_facts,
    save_state,
    save_weights,
    saved_epoch,
)
from spansrl.training.config import Config
from spansrl.training.distributed import ALONE, Workers
from spansrl.training.loop import Position

if sys.platform != "win32":
    import fcntl

RECORD = "run.json"
LOG = "log.jsonl"
FREE_SETTINGS = {"training.save_minutes"}  # may differ when a run is resumed: nothing learned depends on them


@contextlib.contextmanager
def claimed(out: Path) -> Iterator[None]:
    """Make the directory, and keep other processes from training in it; a killed process lets go of it."""
    _check_place(out)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--out {out}: cannot be made: {error.strerror}; choose another --out") from error
    if sys.platform == "win32":
        yield
        return
    handle = os.open(out, os.O_RDONLY)
    try:
        _lock(handle, out)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, out: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        message = f"{out}: another process is training there; wait until it ends, or choose another --out"
        raise ConfigError(message) from error
    except OSError:
        pass  # a file system without locks: the user has to know


def find_position(out: Path, facts: Mapping[str, Any], *, resume: bool) -> Position | None:
    """How far the run in a directory has come; None where it is still to be started. Changes nothing.

    Raises ConfigError where there is another run, one that `resume` was not asked for, or no way to write.
    """
    _check_place(out)
    if not (out / RECORD).exists():
        if (out / DESCRIPTION).exists() or (out / WEIGHTS).exists():
            raise ConfigError(f"{out}: holds a model that was not trained there; choose another --out")
        return None
    if not resume:
        raise ConfigError(f"{out}: already holds a run; continue it with --resume, or choose another --out")
    _check_same_run(read_json(out / RECORD), facts, out)
    if (out / STATE).exists():
        return _position(out / STATE)
    if (out / WEIGHTS).exists():
        raise ConfigError(f"{out}: holds weights but no {STATE} to continue from; choose another --out")
    return None


def is_finished(out: Path, position: Position | None, epochs: int) -> bool:
    """Whether all epochs are done and the best one's weights are in place."""
    return position is not None and position.epoch >= epochs and saved_epoch(out) == position.best_epoch


def start(out: Path, record: Mapping[str, Any], describe: Callable[[Path], None]) -> None:
    """Begin a run: the record first, so that whatever follows is known to be this run's."""
    write_json(out / RECORD, record)
    _trim_log(out / LOG, epochs=0)
    describe(out)


def take_up(
    out: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    average: WeightAverage,
    position: Position,
    environment: Mapping[str, Any],
    workers: Workers = ALONE,
) -> None:
    """Put model, optimizer and random state back, and the directory's other files in line with them."""
    load_state(out / STATE, model, optimizer, average, workers)
    if not workers.is_first:
        return
    _trim_log(out / LOG, epochs=position.epoch)
    if position.step == 0 and 0 <= position.best_epoch == position.epoch - 1:
        with average.applied():
            save_weights(out, model, epoch=position.best_epoch)
    elif position.best_epoch >= 0 and not (out / WEIGHTS).exists():
        raise ModelError(f"{out / WEIGHTS}: the best epoch's weights are gone; start again in another --out")
    record = read_json(out / RECORD)
    resumed_with = record.get("resumed_with", [])
    if dict(environment) not in [{key: record.get(key) for key in environment}, *resumed_with]:
        write_json(out / RECORD, {**record, "resumed_with": [*resumed_with, environment]})


def save_position(
    out: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    position: Position,
    average: WeightAverage | None = None,
    workers: Workers = ALONE,
) -> None:
    """Save all that `take_up` needs."""
    save_state(out / STATE, model, optimizer, {"position": asdict(position)}, average, workers)


def append_log(out: Path, line: Mapping[str, Any]) -> None:
    """Add a line to the log."""
    path = out / LOG
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise not_saved(path, error) from error


def _trim_log(path: Path, *, epochs: int) -> None:
    """Keep the lines of the first epochs only."""
    if path.exists():
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
        kept = [line for line in lines if _epoch_of(line) <= epochs]
        if kept != lines:
            write_bytes(path, "".join(kept).encode())


def _epoch_of(line: str) -> float:
    """The epoch of a line in the log; infinite for a line that was cut off while it was written."""
    try:
        return float(json.loads(line)["epoch"]) if line.endswith("\n") else float("inf")
    except (ValueError, TypeError, KeyError):
        return float("inf")


def _position(state: Path) -> Position:
    try:
        return Position(**read_state_facts(state)["position"])
    except (KeyError, TypeError) as error:
        message = f"{state}: does not say how far its run had come; was it saved by another version?"
        raise ModelError(message) from error


def _check_place(out: Path) -> None:
    """Refuse now what would otherwise fail after an hour of preparation."""
    place = out.absolute()
    while not os.path.exists(place):
        place = place.parent
    if not place.is_dir():
        raise ConfigError(f"--out {out}: {place} is not a directory; choose another --out")
    if not os.access(place, os.W_OK | os.X_OK):
        raise ConfigError(f"--out {out}: {place} is not writable; choose another --out")


def _check_same_run(recorded: Any, facts: Mapping[str, Any], out: Path) -> None:
    recorded = {"processes": 1, **recorded}  # older records do not have it
    was = _flat({key: value for key, value in recorded.items() if key in facts})
    now = _flat(json.loads(json.dumps(facts)))
    defaults = _flat({"config": Config().to_dict()})  # settings that are newer than the record
    was = {key: defaults[key] for key in now if key in defaults} | was
    for key in sorted(set(was) | set(now)):
        kind, _, name = key.partition(".")
        if was.get(key) == now.get(key) or name in FREE_SETTINGS:
            continue
        if kind == "config":
            raise ConfigError(
                f"{out}: the run there has {name} = {was.get(key)!r}, this one {now.get(key)!r}; "
                "resume with the same settings, or choose another --out"
            )
        other = f"{kind} ({name})" if name else kind
        raise ConfigError(f"{out}: the run there was started on other {other}; resume it with the same")


def _flat(facts: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested sections as `section.key`."""
    out: dict[str, Any] = {}
    for key, value in facts.items():
        name = f"{prefix}{key}"
        out.update(_flat(value, f"{name}.") if isinstance(value, Mapping) else {name: value})
    return out
