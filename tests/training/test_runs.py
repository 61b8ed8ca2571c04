"""Runs in directories: cut off anywhere, gone on with, and never mixed up."""

from __future__ import annotations

import itertools
import json
import os
import re
import resource
import shutil
import subprocess
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

import pytest
import torch

import spansrl
from builders import NETWORKS, SENTENCES, label_given, make_config, make_sentence
from spansrl.errors import ConfigError, DataError, ModelError, SpansrlError
from spansrl.evaluation import score
from spansrl.formats import write_sentences
from spansrl.inference.lexicon import read_lexicon
from spansrl.nn.embedders.elmo_embedder import describe_weights
from spansrl.training import run_directory, runs
from spansrl.training.checkpoint import load_network, saved_epoch
from tiny_elmo import make_elmo
from toy_text_model import SENSES, TASKS, TOYS

TIMES = ("train_seconds", "dev_seconds", "props_per_second")
FINAL_FILES = ("weights.safetensors", "state.safetensors")
SMALL = {
    "encoder": {"layers": 2, "width": 6, "mark_width": 2, "dropout": 0.2},
    "training": {"epochs": 3, "batch_size": 5, "rate": 0.02, "schedule": "linear", "save_minutes": 0.0},
}
STEPS = 5 * 3  # with the evaluations: four batches and an evaluation per epoch


def write_data(directory: Path) -> Path:
    """Twenty propositions to learn, some of them to be scored on."""
    directory.mkdir()
    write_sentences(directory / "train.jsonl", SENTENCES)
    write_sentences(directory / "dev.jsonl", SENTENCES[:8])
    return directory


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_data(tmp_path / "data")


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> dict[str, object]:
    """What a run with the settings above comes to that nobody interrupts."""
    directory = tmp_path_factory.mktemp("whole")
    events = execute(write_data(directory / "data"), directory / "out")
    return outcome(directory / "out") | {"steps": [event.step for event in events]}


def assert_same(out: Path, whole: dict[str, object]) -> None:
    found = outcome(out)
    assert found == {name: whole[name] for name in found}


def make_run(data: Path, **sections: dict) -> runs.Run:
    merged = {name: SMALL.get(name, {}) | sections.get(name, {}) for name in SMALL.keys() | sections.keys()}
    return runs.prepare_run(make_config(**merged), runs.read_splits(data))


def execute(data: Path, out: Path, *, stop_after: int | None = None, resume: bool = False, **sections):
    """Run until the end, or until a number of steps; everything is rebuilt, as a new process would."""
    count = itertools.count(1)
    asked = (lambda: False) if stop_after is None else (lambda: next(count) >= stop_after)
    return list(runs.execute(make_run(data, **sections), out, resume=resume, should_stop=asked))


def outcome(out: Path) -> dict[str, object]:
    """All that must not depend on interruptions."""
    log = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    files = {name: (out / name).read_bytes() for name in FINAL_FILES}
    return files | {"log": [{key: line[key] for key in line if key not in TIMES} for line in log]}


# Cut off and gone on with.


@pytest.mark.parametrize("sections", NETWORKS.values(), ids=NETWORKS.keys())
def test_a_run_stopped_at_every_second_step_ends_as_an_uninterrupted_one(data, tmp_path, sections):
    execute(data, tmp_path / "whole", **sections)
    events = execute(data, tmp_path / "cut", stop_after=2, **sections)
    parts = 1
    while events[-1].stopped:
        events = execute(data, tmp_path / "cut", stop_after=2, resume=True, **sections)
        parts += 1
    assert parts == -(-STEPS // 2) if sections["encoder"]["predicate"] == "input" else parts > 2
    assert outcome(tmp_path / "cut") == outcome(tmp_path / "whole")


@pytest.mark.parametrize("after", range(1, STEPS))
def test_a_run_stopped_after_any_step_continues_with_the_next(data, tmp_path, whole, after):
    first = execute(data, tmp_path / "cut", stop_after=after)
    rest = execute(data, tmp_path / "cut", resume=True)
    assert len(first) == after
    assert [event.stopped for event in first] == [False] * (after - 1) + [True]
    assert [event.step for event in first + rest] == whole["steps"]
    assert_same(tmp_path / "cut", whole)


class Killed(BaseException):
    """Stands in for a kill: nothing in the program catches it."""


@pytest.mark.parametrize("when", ["written but not in place", "in place"])
def test_a_run_killed_at_any_write_to_the_disk_ends_as_an_uninterrupted_one(
    data, tmp_path, monkeypatch, when
):
    """Counts the writes of a whole run, then dies at the first, the second, … of a new one, and resumes."""
    name = "fsync" if when == "written but not in place" else "replace"
    real, calls, die_at = getattr(os, name), 0, 0

    def dying(*args):
        nonlocal calls
        calls += 1
        if name == "replace":
            real(*args)
        if calls == die_at:
            raise Killed

    monkeypatch.setattr(os, name, dying)
    sections = {"training": {"batch_size": 10}}
    execute(data, tmp_path / "whole", **sections)
    expected, writes = outcome(tmp_path / "whole"), calls
    assert writes >= 2 + 3 * 3 + 2  # record and description, three states per epoch, best weights twice
    for die_at in range(1, writes + 1):
        out = tmp_path / str(die_at)
        calls = 0
        with pytest.raises(Killed):
            execute(data, out, **sections)
        calls = -10_000
        execute(data, out, resume=True, **sections)
        assert outcome(out) == expected, f"killed at write {die_at} of {writes}"
        assert not list(out.rglob(".*"))


def test_a_run_killed_before_its_last_weights_were_written_is_not_called_finished(
    data, tmp_path, whole, monkeypatch
):
    """The state is there, all epochs are done, but the best weights are those of an earlier epoch."""
    real = runs.save_weights
    out = tmp_path / "out"

    def dying(directory, module, *, epoch):
        if epoch == best:
            raise Killed
        real(directory, module, epoch=epoch)

    best = whole["log"][-1]["epoch"] - 1
    assert whole["log"][-1]["best"], "the test needs the last epoch to be the best"
    monkeypatch.setattr(runs, "save_weights", dying)
    with pytest.raises(Killed):
        execute(data, out)
    position = run_directory.find_position(out, make_run(data).facts, resume=True)
    assert position.epoch == 3
    assert not run_directory.is_finished(out, position, 3)
    assert execute(data, out, resume=True) == []
    assert run_directory.is_finished(out, position, 3)
    assert_same(out, whole)


def test_a_log_line_that_was_cut_off_is_written_again(data, tmp_path, whole):
    execute(data, tmp_path / "cut", stop_after=7)
    log = tmp_path / "cut" / "log.jsonl"
    log.write_text(log.read_text() + '{"epoch": 2, "step": 8, "lo')
    execute(data, tmp_path / "cut", resume=True)
    assert_same(tmp_path / "cut", whole)


def test_a_deleted_log_does_not_disturb_the_run(data, tmp_path, whole):
    execute(data, tmp_path / "cut", stop_after=7)
    (tmp_path / "cut" / "log.jsonl").unlink()
    execute(data, tmp_path / "cut", resume=True)
    assert_same(tmp_path / "cut", whole | {"log": whole["log"][1:]})


def test_the_weights_are_those_of_the_best_epoch(data, tmp_path):
    settings = {"training": {"epochs": 8, "rate": 0.3, "batch_size": 20}}
    for after in (3, 5, 8):
        out = tmp_path / str(after)
        execute(data, out, stop_after=after, **settings)
        *_, last = execute(data, out, resume=True, **settings)
        best = last.step.position
        assert best.best_epoch < 7, "the test needs a run that gets worse at the end"
        assert saved_epoch(out) == best.best_epoch
        dev = runs.read_splits(data).dev
        labeled = label_given(load_network(out), dev)
        assert score(dev, labeled).overall.f1 == best.best_f1


def test_resuming_without_a_checkpoint_starts_over(data, tmp_path, whole):
    execute(data, tmp_path / "none", resume=True)
    assert_same(tmp_path / "none", whole)


def test_resuming_a_finished_run_changes_nothing(data, tmp_path):
    execute(data, tmp_path / "out")
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert execute(data, tmp_path / "out", resume=True) == []
    assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()} == before


def test_a_wish_to_stop_that_comes_with_the_last_step_finds_the_run_finished(data, tmp_path):
    events = execute(data, tmp_path / "out", stop_after=STEPS)
    assert len(events) == STEPS
    assert not events[-1].stopped


# What a run writes.


def test_runs_in_different_directories_write_equal_files(data, tmp_path):
    execute(data, tmp_path / "a")
    execute(data, tmp_path / "far" / "away" / "b")
    assert outcome(tmp_path / "a") == outcome(tmp_path / "far" / "away" / "b")


def test_another_seed_gives_other_weights(data, tmp_path):
    execute(data, tmp_path / "a")
    execute(data, tmp_path / "b", training={"seed": 2})
    a, b = ((tmp_path / name / "weights.safetensors").read_bytes() for name in "ab")
    assert a != b


def test_the_state_is_saved_as_often_as_the_config_says(data, tmp_path, monkeypatch):
    saved = []
    real = run_directory.save_position
    monkeypatch.setattr(run_directory, "save_position", lambda *args: (saved.append(args[3]), real(*args)))
    execute(data, tmp_path / "always")
    assert len(saved) == STEPS
    saved.clear()
    execute(data, tmp_path / "seldom", training={"save_minutes": 60.0})
    assert [(position.epoch, position.step) for position in saved] == [(1, 0), (2, 0), (3, 0)]


def test_the_log_has_a_line_an_epoch(data, tmp_path):
    execute(data, tmp_path / "out")
    lines = [json.loads(line) for line in (tmp_path / "out" / "log.jsonl").read_text().splitlines()]
    assert [(line["epoch"], line["step"]) for line in lines] == [(1, 4), (2, 8), (3, 12)]
    assert lines[0]["best"] is True
    assert all(line["train_seconds"] >= 0 and line["props_per_second"] > 0 for line in lines)
    for line in lines:
        low, high = sorted((line["dev_precision"], line["dev_recall"]))
        assert low - 0.01 <= line["dev_f1"] <= high + 0.01


def test_an_interrupted_epoch_has_no_duration(data, tmp_path):
    execute(data, tmp_path / "out", stop_after=7)  # in the second epoch
    execute(data, tmp_path / "out", resume=True)
    lines = [json.loads(line) for line in (tmp_path / "out" / "log.jsonl").read_text().splitlines()]
    assert [line["train_seconds"] is None for line in lines] == [False, True, False]
    assert all(line["props_per_second"] > 0 for line in lines)


def test_times_are_those_of_the_current_epoch_without_the_caller(data, tmp_path, monkeypatch):
    now = itertools.count()  # every look at the clock takes a second
    monkeypatch.setattr(runs.time, "monotonic", lambda: float(next(now)))
    events = execute(data, tmp_path / "out", training={"save_minutes": 60.0})
    epoch = [event for event in events if event.step.epoch == 1]
    assert [event.train_seconds for event in epoch] == [1.0, 2.0, 3.0, 4.0, 4.0]
    assert [event.dev_seconds for event in epoch] == [0.0, 0.0, 0.0, 0.0, 1.0]
    assert epoch[-1].props_per_second == 20 / 4


def test_the_record_has_settings_data_and_versions(data, tmp_path):
    execute(data, tmp_path / "out")
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["config"]["encoder"]["width"] == 6
    assert record["config"]["training"]["seed"] == 1
    assert record["data"].keys() == {"train.jsonl", "dev.jsonl"}
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in record["data"].values())
    assert record["versions"]["torch"] == version("torch")
    assert record["threads"] == torch.get_num_threads()
    assert record["commit"] is None or re.fullmatch(r"[0-9a-f]{12,40}(-dirty)?", record["commit"])


def test_the_record_keeps_every_environment_that_the_run_went_on_in(data, tmp_path, monkeypatch):
    first = runs.environment()
    second = first | {"threads": 99}
    for environment in (first, first, second, second, first):
        monkeypatch.setattr(runs, "environment", lambda environment=environment: environment)
        execute(data, tmp_path / "out", stop_after=2, resume=True)
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["threads"] == first["threads"]
    assert record["resumed_with"] == [second]


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_an_installed_package_does_not_take_the_commit_of_the_repository_it_lies_in(tmp_path, monkeypatch):
    git = ["git", "-C", str(tmp_path), "-c", "user.name=N", "-c", "user.email=n@example.org"]
    (tmp_path / "tracked.py").write_text("")
    (tmp_path / "runs.py").write_text("")
    for words in (["init", "-q"], ["add", "tracked.py"], ["commit", "-q", "-m", "theirs"]):
        subprocess.run([*git, *words], check=True)
    monkeypatch.setattr(runs, "__file__", str(tmp_path / "tracked.py"))
    assert re.fullmatch("[0-9a-f]{12}", runs.environment()["commit"])
    monkeypatch.setattr(runs, "__file__", str(tmp_path / "runs.py"))
    assert runs.environment()["commit"] is None


# Directories that cannot be used.


def test_a_directory_with_a_run_is_refused_unless_it_is_to_be_resumed(data, tmp_path):
    execute(data, tmp_path / "out", stop_after=2)
    with pytest.raises(ConfigError, match=r"already holds a run; continue it with --resume"):
        execute(data, tmp_path / "out")


@pytest.mark.parametrize(
    ("sections", "named"),
    [
        ({"training": {"seed": 2}}, r"training.seed = 1, not 2"),
        ({"encoder": {"width": 7}}, r"encoder.width = 6, not 7"),
        ({"output": {"kind": "crf"}}, r"output.kind = 'span', not 'crf'"),
    ],
)
def test_a_run_with_other_settings_is_refused_naming_the_setting(data, tmp_path, sections, named):
    execute(data, tmp_path / "out", stop_after=2)
    with pytest.raises(ConfigError, match=named):
        execute(data, tmp_path / "out", resume=True, **sections)


def test_a_run_on_other_data_is_refused_naming_the_file(data, tmp_path):
    execute(data, tmp_path / "out", stop_after=2)
    write_sentences(data / "dev.jsonl", SENTENCES[:7])
    with pytest.raises(
        ConfigError, match=r"holds a run with other data \(dev.jsonl\); resume it with the same$"
    ):
        execute(data, tmp_path / "out", resume=True)


def test_how_often_to_save_may_change(data, tmp_path, whole):
    execute(data, tmp_path / "cut", stop_after=2, training={"save_minutes": 60.0})
    execute(data, tmp_path / "cut", resume=True)
    assert_same(tmp_path / "cut", whole)


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("name", ["config.json", "weights.safetensors"])
def test_a_model_from_elsewhere_is_never_written_over(data, tmp_path, resume, name):
    (tmp_path / name).write_text("precious")
    with pytest.raises(ConfigError, match=r"holds a model that was not trained there; choose another --out"):
        execute(data, tmp_path, resume=resume)
    assert (tmp_path / name).read_text() == "precious"


def test_weights_whose_state_is_gone_are_not_trained_over(data, tmp_path):
    execute(data, tmp_path / "out")
    (tmp_path / "out" / "state.safetensors").unlink()
    before = (tmp_path / "out" / "weights.safetensors").read_bytes()
    with pytest.raises(ConfigError, match=r"holds weights but no state.safetensors to continue from"):
        execute(data, tmp_path / "out", resume=True)
    assert (tmp_path / "out" / "weights.safetensors").read_bytes() == before


def test_a_run_whose_best_weights_are_missing_is_not_resumed(data, tmp_path):
    execute(data, tmp_path / "out", stop_after=7)
    (tmp_path / "out" / "weights.safetensors").unlink()
    with pytest.raises(ModelError, match=r"weights.safetensors: the weights of the best epoch are missing"):
        execute(data, tmp_path / "out", resume=True)


def test_two_processes_cannot_train_in_one_directory(data, tmp_path):
    first = runs.execute(make_run(data), tmp_path / "out")
    next(first)
    with pytest.raises(ConfigError, match=r"another process is training there"):
        execute(data, tmp_path / "out", resume=True)
    first.close()
    execute(data, tmp_path / "out", resume=True)


def test_a_file_cannot_be_a_run_directory(data, tmp_path):
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ConfigError, match=rf"^--out {out}: .*/file is not a directory"):
            execute(data, out)


def test_a_directory_that_cannot_be_written_is_refused_before_any_work(data, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)  # root may write anywhere
    with pytest.raises(ConfigError, match=rf"^--out .*new: {tmp_path} is not writable"):
        run_directory.find_position(tmp_path / "new", {}, resume=False)


# A full disk.


@pytest.fixture
def room():
    """Limits the size of files, for real: the system then refuses to write more."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_that_fills_up_keeps_the_last_good_checkpoint(data, tmp_path, whole, room):
    out = tmp_path / "out"
    running = runs.execute(make_run(data), out)
    for _ in range(7):
        next(running)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    room(2000)
    with pytest.raises(SpansrlError, match=r"state.safetensors: could not be saved .*untouched.*--resume$"):
        next(running)
    room(resource.RLIM_INFINITY)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    execute(data, out, resume=True)
    assert_same(out, whole)


def test_a_disk_that_is_full_for_the_log_does_not_lose_the_epoch(data, tmp_path, whole, room):
    out = tmp_path / "out"
    running = runs.execute(make_run(data), out)
    for _ in range(9):
        next(running)
    room(10)
    with pytest.raises(SpansrlError, match=r"log.jsonl: could not be saved"):
        next(running)
    room(resource.RLIM_INFINITY)
    execute(data, out, resume=True)
    assert_same(out, whole)


def test_a_disk_that_is_full_from_the_start_says_so(data, tmp_path, room):
    room(10)
    with pytest.raises(SpansrlError, match=r"could not be saved"):
        execute(data, tmp_path / "out")
    room(2000)
    with pytest.raises(SpansrlError, match=r"could not be saved"):
        execute(data, tmp_path / "out", resume=True)
    room(resource.RLIM_INFINITY)
    execute(data, tmp_path / "out", resume=True)


# Data.


@pytest.mark.parametrize("name", ["train.jsonl", "dev.jsonl"])
def test_a_missing_file_of_the_corpus_is_named(data, name):
    (data / name).unlink()
    with pytest.raises(DataError, match=rf"{name}: no such file; make it with `spansrl data`"):
        runs.read_splits(data)


def test_data_without_arguments_is_refused(data):
    write_sentences(data / "dev.jsonl", [make_sentence("It rained", (1,))])
    with pytest.raises(DataError, match=r"dev.jsonl: no arguments, so no F1"):
        runs.read_splits(data)
    write_sentences(data / "train.jsonl", [make_sentence("It rained", (1,))])
    with pytest.raises(DataError, match=r"train.jsonl: no arguments to learn from$"):
        runs.read_splits(data)


def test_long_sentences_are_left_out_of_training_only(data):
    splits = runs.read_splits(data, max_tokens=4)
    assert max(len(sent) for sent in splits.train) == 4
    assert max(len(sent) for sent in splits.dev) == 8
    with pytest.raises(DataError, match=r"no arguments to learn from in sentences of at most 1 token "):
        runs.read_splits(data, max_tokens=1)


def test_partial_sentences_are_read_beside_the_others(data, tmp_path):
    more = tmp_path / "more.jsonl"
    write_sentences(more, [make_sentence("We saw it", (1,)), make_sentence("We saw it again today", (1,))])
    splits = runs.read_splits(data, max_tokens=4, partial=[more])
    assert [sent.tokens for sent in splits.more] == [("We", "saw", "it")]
    assert max(len(sent) for sent in splits.train) == 4
    assert set(splits.hashes) == {"train.jsonl", "dev.jsonl", "partial"}
    write_sentences(more, [make_sentence("We saw it", (1, ("ARG0", 0, 1)))])
    with pytest.raises(DataError, match=r"more.jsonl: none of its roles \(ARG0 …\) is in .*\(A0 …\)"):
        runs.read_splits(data, partial=[more])
    with pytest.raises(DataError, match=r"none.jsonl: no such file; correct training.partial"):
        runs.read_splits(data, partial=[tmp_path / "none.jsonl"])


def test_empty_sentences_are_ignored(data):
    write_sentences(data / "train.jsonl", [make_sentence(""), *SENTENCES])
    assert len(runs.read_splits(data).train) == len(SENTENCES)


def test_a_run_that_learns_senses_has_those_of_its_lexicon_in_order(tmp_path):
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    for name in ("train", "dev"):
        write_sentences(data / f"{name}.jsonl", TOYS)
    run = make_run(data, **TASKS, training={"epochs": 1})
    for _ in runs.execute(run, out):
        pass
    assert load_network(out).senses.items == read_lexicon(out, SENSES).senses == SENSES


def test_a_run_over_elmo_records_which_one_it_is(data, tmp_path):
    elmo = make_elmo(tmp_path / "elmo")
    execute(data, tmp_path / "out", embedder={"kind": "elmo", "path": str(elmo)}, training={"epochs": 1})
    encoder = json.loads((tmp_path / "out" / "config.json").read_text())["provenance"]["encoder"]
    assert encoder == describe_weights(elmo / "weights.hdf5")
    assert encoder.startswith("ELMo weights of unknown origin (sha256 ")


def test_a_record_without_newer_settings_resumes_with_their_defaults(tmp_path):
    config = make_config()
    splits = runs.Splits([], [], {})
    facts = runs.run_facts(config, splits)
    old = json.loads(json.dumps(facts))
    del old["config"]["training"]["average"], old["config"]["encoder"]["attention_heads"]
    (tmp_path / "run.json").write_text(json.dumps(old))
    assert run_directory.find_position(tmp_path, facts, resume=True) is None
    other = runs.run_facts(replace(config, training=replace(config.training, average=0.9)), splits)
    with pytest.raises(ConfigError, match=r"training.average = 0.0, not 0.9"):
        run_directory.find_position(tmp_path, other, resume=True)


def test_a_record_of_an_older_version_with_strings_for_lists_is_that_of_the_same_run(tmp_path):
    started = {"start": "small", "partial": ("a.jsonl", "b.jsonl"), "partial_share": (1.0, 0.5)}
    for training in ({}, {**started, "keep_names": False}):
        facts = runs.run_facts(make_config(training=training), runs.Splits([], [], {}))
        old = json.loads(json.dumps(facts))
        own = old["config"]["training"]
        del own["keep_names"]
        own["partial"], own["partial_share"] = (
            ",".join(own["partial"]),
            ", ".join(map(str, own["partial_share"])),
        )
        (tmp_path / "run.json").write_text(json.dumps(old))
        assert run_directory.find_position(tmp_path, facts, resume=True) is None
    kept = runs.run_facts(make_config(training=started), runs.Splits([], [], {}))
    with pytest.raises(ConfigError, match=r"training.keep_names = False, not True"):
        run_directory.find_position(tmp_path, kept, resume=True)


def test_python_trains_as_the_command_does(data, tmp_path, whole):
    events = []
    config = make_config(**SMALL).to_dict()
    train = partial(spansrl.train, config, data=data, out=tmp_path / "run", cache=tmp_path / "cache")
    pipeline = train(on_event=events.append)
    assert_same(tmp_path / "run", whole)
    assert events[-1].step.ends_epoch
    assert next(pipeline.label(SENTENCES[:1], predicates="given")).props
    with pytest.raises(ConfigError, match="already holds a run"):
        train()
    train(resume=True)
    assert_same(tmp_path / "run", whole)
    with pytest.raises(ConfigError, match=r"training.seed = 1, not 2"):
        train(resume=True, overrides=["training.seed=2"])
