"""The directory of a training run: its files, its lock, and its recovery after a crash.

It is a model directory (the best weights so far) with three more files: `run.json` has the settings and
hashes of the data, `log.jsonl` a line per epoch, `state.safetensors` all that resuming needs. At the end of
an epoch they are written in the order log, state, weights. After a crash the state counts: log lines of later
epochs are dropped (these epochs are trained again), and best weights that are missing are those of the state.
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
from spansrl.training.checkpoint import (
    STATE,
    load_state,
    read_state_facts,
    save_state,
    save_weights,
    saved_epoch,
)
from spansrl.training.distributed import ALONE, Workers
from spansrl.training.loop import Position, WeightAverage
from spansrl.training.run_config import config_from_dict

if sys.platform != "win32":
    import fcntl

RECORD = "run.json"
LOG = "log.jsonl"
FREE_SETTINGS = {"training.save_minutes"}  # may change when a run is resumed


@contextlib.contextmanager
def claimed(out: Path) -> Iterator[None]:
    """Create the directory and lock it against other processes; the lock ends with the process."""
    _check_writable(out)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"--out {out}: cannot be created: {error.strerror}; choose another --out"
        ) from error
    if sys.platform == "win32":
        yield
        return
    handle = os.open(out, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            message = f"{out}: another process is training there; wait until it ends, or choose another --out"
            raise ConfigError(message) from error
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(handle)


def find_position(out: Path, facts: Mapping[str, Any], *, resume: bool) -> Position | None:
    """The position of the run in a directory; None if it has not started yet. Changes nothing.

    Raises ConfigError if it holds another run, holds a run and `resume` is false, or is not writable.
    """
    _check_writable(out)
    if not (out / RECORD).exists():
        if (out / DESCRIPTION).exists() or (out / WEIGHTS).exists():
            raise ConfigError(f"{out}: holds a model that was not trained there; choose another --out")
        return None
    if not resume:
        raise ConfigError(f"{out}: already holds a run; continue it with --resume, or choose another --out")
    _check_same_run(read_json(out / RECORD), facts, out)
    if (out / STATE).exists():
        try:
            return Position(**read_state_facts(out / STATE)["position"])
        except (KeyError, TypeError) as error:
            message = f"{out / STATE}: has no valid position; was it saved by another version?"
            raise ModelError(message) from error
    if (out / WEIGHTS).exists():
        raise ConfigError(f"{out}: holds weights but no {STATE} to continue from; choose another --out")
    return None


def is_finished(out: Path, position: Position | None, epochs: int) -> bool:
    """Whether all epochs are done and the weights of the best one are written."""
    return position is not None and position.epoch >= epochs and saved_epoch(out) == position.best_epoch


def start(out: Path, record: Mapping[str, Any], describe: Callable[[Path], None]) -> None:
    """Begin a run. The record is written first, so that all other files are known to be this run's."""
    write_json(out / RECORD, record)
    _trim_log(out / LOG, epochs=0)
    describe(out)


def restore(
    out: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    average: WeightAverage,
    position: Position,
    environment: Mapping[str, Any],
    workers: Workers = ALONE,
) -> None:
    """Restore model, optimizer and random state, and bring the other files in line with them."""
    load_state(out / STATE, model, optimizer, average, workers)
    if not workers.is_first:
        return
    _trim_log(out / LOG, epochs=position.epoch)
    if position.step == 0 and 0 <= position.best_epoch == position.epoch - 1:
        with average.applied():
            save_weights(out, model, epoch=position.best_epoch)
    elif position.best_epoch >= 0 and not (out / WEIGHTS).exists():
        raise ModelError(
            f"{out / WEIGHTS}: the weights of the best epoch are missing; start again in another --out"
        )
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
    """Save all that `restore` needs."""
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
    """The epoch of a line in the log; infinite for a line that is incomplete."""
    try:
        return float(json.loads(line)["epoch"]) if line.endswith("\n") else float("inf")
    except (ValueError, TypeError, KeyError):
        return float("inf")


def _check_writable(out: Path) -> None:
    """Fail now rather than after an hour of preparation."""
    existing = out.absolute()
    while not os.path.exists(existing):
        existing = existing.parent
    if not existing.is_dir():
        raise ConfigError(f"--out {out}: {existing} is not a directory; choose another --out")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise ConfigError(f"--out {out}: {existing} is not writable; choose another --out")


def _check_same_run(recorded: Any, facts: Mapping[str, Any], out: Path) -> None:
    recorded = {"processes": 1, **recorded}  # older records do not have it
    config = recorded.get("config", {})
    training = config.get("training", {})
    # Names were dropped before there was a choice; settings that are newer have their defaults.
    training = {"keep_names": not training.get("start"), **training}
    config = config_from_dict({**config, "training": training}, where=str(out / RECORD)).to_dict()
    recorded["config"] = {name: config[name] for name in facts["config"]}
    was = _flat(json.loads(json.dumps({key: recorded[key] for key in facts if key in recorded})))
    now = _flat(json.loads(json.dumps(facts)))
    for key in sorted(set(was) | set(now)):
        kind, _, name = key.partition(".")
        if was.get(key) == now.get(key) or name in FREE_SETTINGS:
            continue
        if kind == "config":
            raise ConfigError(
                f"{out}: holds a run with {name} = {was.get(key)!r}, not {now.get(key)!r}; "
                "resume with the same settings, or choose another --out"
            )
        other = f"{kind} ({name})" if name else kind
        raise ConfigError(f"{out}: holds a run with other {other}; resume it with the same")


def _flat(facts: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested sections as `section.key`."""
    out: dict[str, Any] = {}
    for key, value in facts.items():
        name = f"{prefix}{key}"
        out.update(_flat(value, f"{name}.") if isinstance(value, Mapping) else {name: value})
    return out
