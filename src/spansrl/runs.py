"""A training run in a directory: started, logged, saved, and gone on with after whatever cut it off.

The directory is a model directory (the best weights so far) with three more files: `run.json` says what the run is
made of, `log.jsonl` what happened in every epoch, `state.safetensors` holds all that `--resume` needs.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import nn

from spansrl.checkpoint import STATE, WEIGHTS, load_state, read_json, save_state, save_weights, write_bytes, write_json
from spansrl.config import Config, TrainingConfig
from spansrl.errors import ConfigError, DataError
from spansrl.evaluation import Score, score
from spansrl.formats import read_sentences
from spansrl.labeler import Labeler
from spansrl.model.batch import Batch, Corpus
from spansrl.model.embed import Embedder, LayeredEmbedder, build_embedder, read_precomputed_features
from spansrl.model.features import Progress
from spansrl.model.network import Network, TorchScorer
from spansrl.structures import Sentence
from spansrl.training import Examples, Position, Step, Trainable, make_optimizer, train
from spansrl.vocab import role_inventory


@dataclass(frozen=True, slots=True)
class Splits:
    """Training and development data, and what they came from."""

    train: list[Sentence]
    dev: list[Sentence]
    hashes: dict[str, str]  # file name -> SHA-256


def read_splits(directory: Path, *, max_tokens: int = 0) -> Splits:
    """train.jsonl and dev.jsonl of a corpus directory; sentences without tokens are left out."""
    paths = [directory / "train.jsonl", directory / "dev.jsonl"]
    for path in paths:
        if not path.is_file():
            raise DataError(f"{path}: no such file; make the corpus with `spansrl data`, or point --data at it")
    train_data, dev = ([sent for sent in read_sentences(path) if sent.tokens] for path in paths)
    if max_tokens:
        train_data = [sent for sent in train_data if len(sent) <= max_tokens]
    if not any(prop.args for sent in train_data for prop in sent.props):
        raise DataError(f"{paths[0]}: no arguments to learn from")
    return Splits(train_data, dev, {path.name: _sha256(path) for path in paths})


@dataclass(frozen=True, slots=True)
class CorpusExamples:
    """A corpus with its embedder's inputs, cut into batches."""

    corpus: Corpus
    embedder: Embedder
    store: Any
    config: TrainingConfig
    by_sentence: bool
    device: torch.device

    def steps(self) -> int:
        """Batches in an epoch."""
        return self.corpus.steps(self.config.batch_size, by_sentence=self.by_sentence)

    def epoch(self, epoch: int, skip: int = 0) -> Iterator[tuple[Batch, Any]]:
        """The batches of an epoch, without the first `skip`."""
        settings = self.config
        batches = self.corpus.epoch_props(
            settings.batch_size, seed=settings.seed, epoch=epoch, by_sentence=self.by_sentence
        )
        for props in batches[skip:]:
            batch = self.corpus.batch(props)
            inputs = self.embedder.take(self.store, batch.rows)
            yield batch.to(self.device), inputs.to(self.device)


@dataclass(frozen=True, slots=True)
class Run:
    """A model with everything its training needs."""

    model: nn.Module
    trainable: Trainable
    examples: Examples
    evaluate: Callable[[], Score]
    config: TrainingConfig
    describe: Callable[[Path], None]  # writes the model directory but for the weights
    facts: Mapping[str, Any]  # what run.json records


def prepare_run(
    config: Config,
    splits: Splits,
    *,
    device: str = "cpu",
    cache: Path | None = None,
    progress: Progress | None = None,
    describe: Callable[[Path, Network], None],
) -> Run:
    """A new network for the data, ready to be trained."""
    torch.manual_seed(config.training.seed)
    tokens = [sent.tokens for sent in splits.train]
    embedder = build_embedder(config.embedder, tokens)
    network = Network(config, role_inventory(splits.train), embedder)
    corpus = Corpus.of(splits.train, network.roles)
    store = _prepare_inputs(config, embedder, splits, cache, progress)
    network.to(device)
    labeler = Labeler(TorchScorer(network), method=config.output.decoder, order=config.output.order)  # type: ignore[arg-type]
    return Run(
        model=network,
        trainable=network,
        examples=CorpusExamples(
            corpus, embedder, store, config.training, config.encoder.predicate == "after", torch.device(device)
        ),
        evaluate=lambda: score(splits.dev, labeler.label(splits.dev)),
        config=config.training,
        describe=lambda directory: describe(directory, network),
        facts={"config": config.to_dict(), "data": splits.hashes},
    )


def _prepare_inputs(
    config: Config, embedder: Embedder, splits: Splits, cache: Path | None, progress: Progress | None
) -> Any:
    """The training data's inputs; a frozen encoder's features of the development data are remembered too."""
    tokens = [sent.tokens for sent in splits.train]
    dev_tokens = [sent.tokens for sent in splits.dev]
    if isinstance(embedder, LayeredEmbedder):
        if config.embedder.precomputed:
            directory = Path(config.embedder.precomputed).expanduser()
            for name, part in (("train", tokens), ("dev", dev_tokens)):
                embedder.remember(part, read_precomputed_features(directory / f"{name}.hdf5", part))
        else:
            embedder.remember(dev_tokens, embedder.prepare(dev_tokens, cache))
    return embedder.prepare(tokens, cache, progress)


@dataclass(frozen=True, slots=True)
class Event:
    """One step of a run in progress, with what the run's clock says."""

    step: Step
    seconds: float  # of the epoch under way, as far as this process has seen it
    props_per_second: float
    stopped: bool = False  # the user asked to stop; the state is saved


def execute(run: Run, out: Path, *, resume: bool = False) -> Iterator[Event]:
    """Train in a directory, saving as it goes; yields an event a step.

    Raises ConfigError if the directory holds another run, or one that `resume` was not asked for.
    """
    optimizer = make_optimizer(run.model, run.config)
    position = _open(run, out, optimizer, resume)
    _trim_log(out / "log.jsonl", position)
    with _Interrupt() as interrupt:
        seconds, n_props, last_save = 0.0, 0, time.monotonic()
        before = time.monotonic()
        for step in train(run.trainable, optimizer, run.examples, run.evaluate, run.config, position):
            now = time.monotonic()
            if step.dev is None:
                seconds, n_props = seconds + now - before, n_props + step.n_props
            event = Event(step, seconds, n_props / seconds if seconds else 0.0, interrupt.asked)
            if step.is_best:
                save_weights(out, run.model)
            if step.dev is not None:
                _log(out / "log.jsonl", event, now - before)
            if step.dev is not None or interrupt.asked or now - last_save > 60 * run.config.save_minutes:
                save_state(out / STATE, run.model, optimizer, step.position, {})
                last_save = time.monotonic()
            yield event
            if interrupt.asked:
                return
            if step.dev is not None:
                seconds, n_props = 0.0, 0
            before = time.monotonic()


def is_finished(run: Run, out: Path) -> bool:
    """Whether the directory holds this run, with all of its epochs done."""
    log = out / "log.jsonl"
    return (out / STATE).exists() and log.exists() and len(log.read_text().splitlines()) >= run.config.epochs


def _open(run: Run, out: Path, optimizer: torch.optim.Optimizer, resume: bool) -> Position:
    """Start the directory, or check that it is this run's and take up its state."""
    record = out / "run.json"
    if record.exists():
        if not resume:
            raise ConfigError(f"{out}: holds a run already; go on with it by --resume, or choose another --out")
        _check_same_run(read_json(record), run, out)
        if (out / STATE).exists():
            position, _ = load_state(out / STATE, run.model, optimizer)
            return position
    out.mkdir(parents=True, exist_ok=True)
    run.describe(out)
    write_json(record, {**run.facts, **environment()})
    return Position()


def _check_same_run(recorded: Any, run: Run, out: Path) -> None:
    facts = json.loads(json.dumps(run.facts))
    if recorded.get("data") != facts.get("data"):
        raise ConfigError(f"{out}: the run there was started on other data; resume it with the same --data")
    was, now = _flat(recorded.get("config", {})), _flat(facts.get("config", {}))
    for key in sorted(set(was) | set(now)):
        if was.get(key) != now.get(key):
            raise ConfigError(
                f"{out}: the run there has {key} = {was.get(key)!r}, this one {now.get(key)!r}; "
                "resume with the same settings, or choose another --out"
            )


def _flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in config.items():
        out.update(_flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value})
    return out


def _log(path: Path, event: Event, dev_seconds: float) -> None:
    step = event.step
    assert step.dev is not None
    overall = step.dev.overall
    line = {
        "epoch": step.epoch + 1,
        "step": step.number,
        "loss": round(step.mean_loss, 5),
        "rate": step.rate,
        "dev_precision": round(overall.precision, 2),
        "dev_recall": round(overall.recall, 2),
        "dev_f1": round(overall.f1, 2),
        "best": step.is_best,
        "train_seconds": round(event.seconds, 1),
        "dev_seconds": round(dev_seconds, 1),
        "props_per_second": round(event.props_per_second, 1),
    }
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def _trim_log(path: Path, position: Position) -> None:
    """Drop lines of epochs that the saved state does not know of: they will be trained again."""
    if path.exists():
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        if len(lines) > position.epoch:
            write_bytes(path, "".join(lines[: position.epoch]).encode())


class _Interrupt:
    """Turns the first Ctrl-C into a wish that the loop grants after its step; the second one interrupts at once."""

    def __init__(self) -> None:
        self.asked = False

    def __enter__(self) -> _Interrupt:
        try:
            self._before = signal.signal(signal.SIGINT, self._ask)
        except ValueError:  # not in the main thread: nothing to catch
            self._before = None
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _ask(self, *_: object) -> None:
        self.asked = True
        signal.signal(signal.SIGINT, signal.default_int_handler)


def environment() -> dict[str, Any]:
    """Versions and commit that a run was made with."""
    packages: Sequence[str] = ("spansrl", "torch", "numpy", "transformers", "safetensors")
    return {
        "versions": {"python": platform.python_version(), **{name: version(name) for name in packages}},
        "commit": _commit(),
        "threads": torch.get_num_threads(),
    }


def _commit() -> str | None:
    """The commit of the source tree that is running, or None for an installed package."""
    try:
        found = subprocess.run(
            ["git", "-C", os.path.dirname(__file__), "describe", "--always", "--dirty", "--abbrev=12"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip() or None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
