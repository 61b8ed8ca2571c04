"""Training runs: a model and its examples from config and data, trained in a run directory."""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

import spansrl
from spansrl.arrays import IntArray
from spansrl.errors import ConfigError, DataError, counted
from spansrl.evaluation import Score, score
from spansrl.formats import read_sentences
from spansrl.inference.directory import file_hash, write_json
from spansrl.inference.lexicon import LEXICON, learn_lexicon, lexicon_to_dict, read_lexicon
from spansrl.inference.pipeline import Pipeline
from spansrl.inventory.roles import roles_in
from spansrl.inventory.senses import SenseInventory
from spansrl.nn.batch import Batch, Corpus
from spansrl.nn.devices import on_device
from spansrl.nn.embedders import Embedder, build_embedder
from spansrl.nn.embedders.features import Progress
from spansrl.nn.embedders.layered import LayeredEmbedder
from spansrl.nn.embedders.precomputed import read_precomputed_features
from spansrl.nn.ensembles import Mixture
from spansrl.nn.network import Network, TorchModel
from spansrl.nn.syntax import SyntaxLabels
from spansrl.structures import Sentence
from spansrl.training import run_directory
from spansrl.training.checkpoint import check_device, save_description, save_weights
from spansrl.training.distillation import Teachers, TrainedModel, load_teachers
from spansrl.training.distributed import ALONE, Workers, joined, own_device
from spansrl.training.loop import Examples, Position, Step, WeightAverage, make_optimizer, train
from spansrl.training.recovery import (
    find_trained,
    load_trained,
    names_at_risk,
    start_from,
    starting_embedder,
)
from spansrl.training.run_config import Config, TrainingConfig


@dataclass(frozen=True, slots=True)
class Splits:
    """Training and development data, and what they came from."""

    train: list[Sentence]
    dev: list[Sentence]
    hashes: dict[str, str]  # file name -> SHA-256
    partial: list[list[Sentence]] = field(default_factory=list)  # in which not every predicate is labeled
    raw: list[Sentence] = field(default_factory=list)  # without labels, for teachers to label

    @property
    def more(self) -> list[Sentence]:
        """The partially labeled sentences of all files, and the raw ones."""
        return [sent for part in (*self.partial, self.raw) for sent in part]


def read_splits(
    directory: Path, *, max_tokens: int = 0, partial: Sequence[Path] = (), raw: Path | None = None
) -> Splits:
    """train.jsonl and dev.jsonl of a corpus directory; sentences without tokens are left out.

    `partial` and `raw` name files of further sentences to learn from.
    """
    advice = "make it with `spansrl data`, or choose another --data"
    files = [(name, directory / name, advice) for name in ("train.jsonl", "dev.jsonl")]
    for number, path in enumerate(partial, start=1):
        files.append(("partial" if number == 1 else f"partial-{number}", path, "correct training.partial"))
    paths = [path for _, path, _ in files]
    if raw is not None:
        files.append(("raw", raw, "correct distillation.raw or training.rehearse"))
    for _, path, remedy in files:
        if not path.is_file():
            raise DataError(f"{path}: no such file; {remedy}")
    train_data, dev, *more = ([sent for sent in read_sentences(path) if sent.tokens] for path in paths)
    if max_tokens:
        train_data = [sent for sent in train_data if len(sent) <= max_tokens]
        more = [[sent for sent in part if len(sent) <= max_tokens] for part in more]
    if not _has_arguments(train_data):
        longest = counted(max_tokens, "token")
        limit = f" in sentences of at most {longest} (training.max_tokens)" if max_tokens else ""
        raise DataError(f"{paths[0]}: no arguments to learn from{limit}")
    if not _has_arguments(dev):
        raise DataError(f"{paths[1]}: no arguments, so no F1 to choose the best epoch by")
    for part, path in zip(more, paths[2:], strict=True):
        if _has_arguments(part) and not set(roles_in(part)) & set(roles_in(train_data)):
            found, wanted = roles_in(part)[0], roles_in(train_data)[0]
            raise DataError(f"{path}: none of its roles ({found} …) is in {paths[0]} ({wanted} …)")
    hashes = {name: file_hash(path) for name, path, _ in files}
    given = read_sentences(raw) if raw is not None else ()
    unlabeled = [Sentence(sent.tokens) for sent in given if sent.tokens]
    labeled = [[sent for sent in part if sent.props] for part in more]
    return Splits(train_data, dev, hashes, partial=labeled, raw=unlabeled)


def _has_arguments(sentences: list[Sentence]) -> bool:
    return any(prop.args for sent in sentences for prop in sent.props)


@dataclass(frozen=True, slots=True)
class CorpusExamples:
    """A corpus cut into batches of sentences or of propositions, with a model's other inputs for each."""

    corpus: Corpus
    take: Callable[[Batch, IntArray], Any]  # a batch and its items -> the model's other inputs
    config: TrainingConfig
    by_sentence: bool
    device: torch.device
    workers: Workers = ALONE
    shares: tuple[float, ...] = ()  # of the corpora `corpus.more` in an epoch

    def steps(self) -> int:
        """Batches in an epoch."""
        return self.corpus.steps(self.config.batch_size, self.shares, by_sentence=self.by_sentence)

    def epoch(self, epoch: int, skip: int = 0) -> Iterator[tuple[Batch, Any] | None]:
        """This process's part of each batch of an epoch, without the first `skip` batches."""
        settings = self.config
        make = self.corpus.sentence_batch if self.by_sentence else self.corpus.batch
        items = self.corpus.epoch_items(
            settings.batch_size,
            self.shares,
            seed=settings.seed,
            epoch=epoch,
            by_sentence=self.by_sentence,
        )
        for chosen in items[skip:]:
            own = chosen[self.workers.rank :: self.workers.size]
            if not len(own):
                yield None
                continue
            batch = make(own)
            yield on_device((batch, self.take(batch, own)), self.device)


@dataclass(frozen=True, slots=True)
class Run:
    """A model with everything its training needs."""

    model: Network | Mixture
    examples: Examples
    evaluate: Callable[[], Score]
    config: TrainingConfig
    describe: Callable[[Path], None]  # writes the model directory, except for the weights
    facts: Mapping[str, Any]  # what run.json records
    workers: Workers = ALONE
    notes: Sequence[str] = ()  # for the user, before training begins


def run_facts(config: Config, splits: Splits, workers: Workers = ALONE) -> dict[str, Any]:
    """What identifies a run: a directory with other facts holds another run."""
    return {"config": config.to_dict(), "data": splits.hashes, "processes": workers.size}


@contextlib.contextmanager
def open_run(
    config: Config,
    data: Path,
    out: Path,
    *,
    resume: bool = False,
    device: str = "cpu",
    cache: Path | None = None,
    progress: Progress | None = None,
) -> Iterator[tuple[Workers, Run | None]]:
    """The processes that take part, and a run that is ready for `execute`; None if it is finished."""
    device = own_device(device)
    check_device(device)
    with joined(device) as workers:
        raw = config.distillation.raw or config.training.rehearse
        splits = read_splits(
            data,
            max_tokens=config.training.max_tokens,
            partial=[Path(name).expanduser() for name in config.training.partial],
            raw=Path(raw).expanduser() if raw else None,
        )
        # Before anything slow: is there something to do, and may it be done there?
        facts = run_facts(config, splits, workers)
        position = run_directory.find_position(out, facts, resume=resume or not workers.is_first)
        if run_directory.is_finished(out, position, config.training.epochs):
            yield workers, None
        else:
            yield (
                workers,
                prepare_run(
                    config,
                    splits,
                    device=device,
                    cache=cache or default_cache(),
                    progress=progress,
                    workers=workers,
                ),
            )


def default_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "spansrl"


def prepare_run(
    config: Config,
    splits: Splits,
    *,
    device: str = "cpu",
    cache: Path | None = None,
    progress: Progress | None = None,
    workers: Workers = ALONE,
) -> Run:
    """A new network for the data, ready to be trained."""
    torch.manual_seed(config.training.seed)
    tokens = [sent.tokens for sent in (*splits.train, *splits.more)]
    start = find_trained(config.training.start, "training.start") if config.training.start else None
    embedder = None if start is None else starting_embedder(config.embedder, start)
    embedder = embedder or build_embedder(config.embedder, tokens)
    kept = start if config.training.keep_names else None
    inventory = None
    if config.tasks.any:
        known = read_lexicon(kept.path, kept.senses) if kept is not None and kept.senses else None
        inventory = learn_lexicon(splits.train, [sent for part in splits.partial for sent in part], known)
    senses = () if inventory is None else inventory.senses
    roles = sorted({*roles_in(splits.train), *(() if kept is None else kept.roles)})
    try:
        network = Network(config, roles, embedder, senses)
    except (RuntimeError, MemoryError) as error:  # torch's error for memory that there is not
        reason = (str(error).strip().splitlines() or ["no memory"])[0][:200]
        message = f"a network with encoder.width = {config.encoder.width} cannot be made here: {reason}"
        raise ConfigError(message) from error
    source = None if start is None else load_trained(start)
    notes = [] if source is None else start_from(network, source, config.training.start)
    if source is not None:
        notes += names_at_risk(config.training, source.roles.items, roles_in(splits.train))
    corpus = Corpus.of(splits.train, network.roles, inventory=inventory, partial=splits.partial)
    if config.tasks.syntax:
        corpus = replace(corpus, syntax=SyntaxLabels.of([*splits.train, *splits.more]))
    if config.distillation.teachers or config.training.rehearse:
        corpus = _taught(corpus, config, network, splits, inventory, source, cache, progress, workers)
    store = _prepare_inputs(config, embedder, splits, cache, progress)
    corpus = replace(corpus, costs=embedder.costs(store))
    network.to(device)
    if workers.rank:
        torch.manual_seed(config.training.seed + workers.rank)  # the same weights, but other dropout
    by_sentence = config.encoder.predicate == "after"
    shares = config.training.partial_shares or (1.0,) * len(splits.partial)
    shares += (config.distillation.raw_share,) if splits.raw else ()
    pipeline = Pipeline.plain(TorchModel(network), config.output)
    return Run(
        model=network,
        examples=CorpusExamples(
            corpus,
            lambda batch, _: embedder.take(store, batch.rows),
            config.training,
            by_sentence,
            torch.device(device),
            workers,
            shares,
        ),
        evaluate=lambda: score(splits.dev, pipeline.label(splits.dev, predicates="given")),
        config=config.training,
        describe=lambda out: _describe(out, network, splits, inventory),
        facts=run_facts(config, splits, workers),
        workers=workers,
        notes=notes,
    )


def _taught(
    corpus: Corpus,
    config: Config,
    network: Network,
    splits: Splits,
    inventory: SenseInventory | None,
    source: Network | None,
    cache: Path | None,
    progress: Progress | None,
    workers: Workers,
) -> Corpus:
    """The corpus with predictions of the teachers, or of the model to start from, and with raw sentences."""
    if cache is None:
        raise ConfigError("distillation caches the teachers' predictions; set a directory with --cache")
    parts = []
    models: Sequence[TrainedModel] = [] if source is None else [TorchModel(source)]
    if config.distillation.teachers:
        models = load_teachers(config.distillation, network)
        own = Teachers(models, network).lessons(splits.train, cache, progress, workers)
        parts.append((0, config.distillation.weight, own))
    if splits.raw:
        teachers = Teachers(models, network, inventory=inventory)
        found = teachers.lessons(splits.raw, cache, progress, workers)
        parts.append((corpus.n_props, 1.0, found))
        corpus = corpus.with_raw([sent.tokens for sent in splits.raw], found)
    return corpus.taught_by(parts)


def _describe(out: Path, network: Network, splits: Splits, inventory: SenseInventory | None) -> None:
    provenance = {"data": splits.hashes, **network.embedder.provenance, **environment()}
    save_description(out, network, provenance)
    if inventory is not None:
        write_json(out / LEXICON, lexicon_to_dict(inventory), indent=None)


def _prepare_inputs(
    config: Config, embedder: Embedder, splits: Splits, cache: Path | None, progress: Progress | None
) -> Any:
    """Inputs of the training data; a frozen encoder also remembers its features of the development data."""
    tokens = [sent.tokens for sent in (*splits.train, *splits.more)]
    dev_tokens = [sent.tokens for sent in splits.dev]
    if isinstance(embedder, LayeredEmbedder):
        if config.embedder.precomputed:
            directory = Path(config.embedder.precomputed).expanduser()
            for name, part in (("train", tokens), ("dev", dev_tokens)):
                vectors = read_precomputed_features(directory / f"{name}.hdf5", part, cache, progress)
                embedder.remember(part, vectors)
        else:
            embedder.remember(dev_tokens, embedder.prepare(dev_tokens, cache))
    return embedder.prepare(tokens, cache, progress)


@dataclass(frozen=True, slots=True)
class Event:
    """One step of a run, with the times of the current epoch."""

    step: Step
    train_seconds: float  # in this process
    dev_seconds: float
    props_per_second: float  # in training; 0 where nothing was timed
    whole: bool  # whether this process began the epoch
    stopped: bool = False  # should_stop() was true: the state is saved, and this is the last event


def execute(
    run: Run, out: Path, *, resume: bool = False, should_stop: Callable[[], bool] = lambda: False
) -> Iterator[Event]:
    """Train in a directory and save at intervals; yields one event per step, none if the run is finished.

    `should_stop` is called after every step. Raises ConfigError if the directory holds another run, or a run
    and `resume` is false.
    """
    workers = run.workers
    with run_directory.claimed(out) if workers.is_first else contextlib.nullcontext():
        optimizer = make_optimizer(run.model, run.config)
        average = WeightAverage(run.model.named_parameters(), run.config.average)
        workers.wait()
        position = run_directory.find_position(out, run.facts, resume=resume or not workers.is_first)
        workers.wait()  # all processes have read the directory before the first one changes it
        if position is None:
            position = Position()
            if workers.is_first:
                run_directory.start(out, {**run.facts, **environment()}, run.describe)
        else:
            run_directory.restore(out, run.model, optimizer, average, position, environment(), workers)
        clock = _Clock(whole=position.step == 0)
        for step in train(
            run.model, optimizer, run.examples, run.evaluate, run.config, position, average, workers
        ):
            event = clock.event(step)
            is_due = step.ends_epoch or clock.since_save() >= 60 * run.config.save_minutes
            stopped, is_due = workers.any(should_stop() and step.position.epoch < run.config.epochs, is_due)
            if step.dev is not None:
                run_directory.append_log(out, log_line(event, step.dev))
            if is_due or stopped:
                run_directory.save_position(out, run.model, optimizer, step.position, average, workers)
                clock.saved()
            if step.is_best and workers.is_first:
                with average.applied():
                    save_weights(out, run.model, epoch=step.epoch)
            yield replace(event, stopped=stopped)
            if stopped:
                return
            clock.restart(after=step)
        workers.wait()


def log_line(event: Event, dev: Score) -> dict[str, Any]:
    """An epoch as a line of the log; times are null for an epoch that was interrupted."""
    step = event.step
    return {
        "epoch": step.epoch + 1,
        "step": step.number,
        "loss": round(step.loss, 5),
        "rate": step.rate,
        "dev_precision": round(dev.overall.precision, 2),
        "dev_recall": round(dev.overall.recall, 2),
        "dev_f1": round(dev.overall.f1, 2),
        "best": step.is_best,
        "train_seconds": round(event.train_seconds, 1) if event.whole else None,
        "dev_seconds": round(event.dev_seconds, 1),
        "props_per_second": round(event.props_per_second, 1) or None,
    }


@dataclass(slots=True)
class _Clock:
    """Times training and evaluation, leaving out saving and whatever the caller does between steps."""

    whole: bool
    seconds: float = 0.0
    n_props: int = 0
    before: float = field(default_factory=time.monotonic)
    last_save: float = field(default_factory=time.monotonic)

    def event(self, step: Step) -> Event:
        passed = time.monotonic() - self.before
        if not step.ends_epoch:
            self.seconds += passed
            self.n_props += step.n_props
        return Event(
            step,
            train_seconds=self.seconds,
            dev_seconds=passed if step.ends_epoch else 0.0,
            props_per_second=self.n_props / self.seconds if self.seconds else 0.0,
            whole=self.whole,
        )

    def restart(self, *, after: Step) -> None:
        if after.ends_epoch:
            self.whole, self.seconds, self.n_props = True, 0.0, 0
        self.before = time.monotonic()

    def saved(self) -> None:
        self.last_save = time.monotonic()

    def since_save(self) -> float:
        return time.monotonic() - self.last_save


def environment() -> dict[str, Any]:
    """Versions, commit and threads of this process, for the record."""
    packages = ("torch", "numpy", "transformers", "safetensors")
    return {
        "versions": {
            "spansrl": spansrl.__version__,
            "python": platform.python_version(),
            **{name: _version(name) for name in packages},
        },
        "commit": _commit(),
        "threads": torch.get_num_threads(),
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """The commit of the source tree that is running, or None for an installed package."""
    here = Path(__file__)
    git = ["git", "--no-optional-locks", "-C", str(here.parent)]
    try:
        # An installed package may be inside another repository: only a tracked file has our commit.
        subprocess.run([*git, "ls-files", "--error-unmatch", here.name], capture_output=True, check=True)
        found = subprocess.run(
            [*git, "describe", "--always", "--exclude=*", "--dirty", "--abbrev=12"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip() or None
