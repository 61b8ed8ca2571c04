"""`spansrl train`: what it says, and that nothing which ends it changes what it comes to."""

from __future__ import annotations

import json
import os
import pty
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from rich.console import Console

from builders import SENTENCES
from spansrl.cli import main
from spansrl.cli import train as cli_train
from spansrl.evaluation import Counts, Score
from spansrl.formats import write_sentences
from spansrl.training.loop import Position, Step
from spansrl.training.runs import Event

CONFIG = """\
[embedder]
width = 8
min_count = 1
dropout = 0.1

[encoder]
layers = 2
width = 8
mark_width = 2
dropout = 0.1

[training]
epochs = 3
batch_size = 4
rate = 0.01
schedule = "linear"
save_minutes = 0.0
"""
TIMES = ("train_seconds", "dev_seconds", "props_per_second")


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a corpus and a config, to work in."""
    (tmp_path / "data").mkdir()
    write_sentences(tmp_path / "data" / "train.jsonl", SENTENCES)
    write_sentences(tmp_path / "data" / "dev.jsonl", SENTENCES[:8])
    (tmp_path / "tiny.toml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def train(work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Runs the command in this process; --data and --out have defaults."""

    def call(*words: str, config: str = "tiny.toml", data: str = "data", out: str = "out") -> Result:
        arguments = [config, "--data", data, "--out", out, "--threads", "1", *words]
        monkeypatch.setattr(sys, "argv", ["spansrl", "train", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            main()
        captured = capsys.readouterr()
        return Result(int(exit_.value.code or 0), captured.out, captured.err)

    return call


def outcome(out: Path) -> dict[str, object]:
    """All that must not depend on interruptions."""
    lines = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    log = [{key: line[key] for key in line if key not in TIMES} for line in lines]
    files = [out / name for name in ("weights.safetensors", "state.safetensors")]
    return {"log": log} | {path.name: path.read_bytes() for path in files}


# What it says.


def test_a_run_prints_one_line_per_epoch_and_how_it_ended(train, work):
    result = train()
    assert result.code == 0
    assert result.out == ""
    *epochs, end = result.err.splitlines()
    line = r"epoch (\d): loss \d+\.\d{4}, rate [\d.e-]+, dev F1 \d+\.\d\d( \*)?, "
    line += r"\d+ s \(\d+ props/s\) and \d+ s for dev"
    assert [re.fullmatch(line, epoch)[1] for epoch in epochs] == ["1", "2", "3"]
    assert re.fullmatch(r"out: finished; best development F1 \d+\.\d\d, in epoch [123]", end)


def test_resuming_a_finished_run_does_nothing(train, monkeypatch):
    train()
    monkeypatch.setattr("spansrl.training.runs.prepare_run", None)
    assert train("--resume") == (0, "", "out: this run is finished; nothing to do\n")


def test_resuming_where_there_is_no_run_starts_one(train, work):
    assert train("--resume").code == 0
    assert (work / "out" / "weights.safetensors").exists()


def test_settings_can_be_overridden(train, work):
    assert train("--set", "training.epochs=1", "--set", "output.kind=crf").code == 0
    record = json.loads((work / "out" / "run.json").read_text())
    assert record["config"]["training"]["epochs"] == 1
    assert record["config"]["output"]["kind"] == "crf"


@pytest.mark.parametrize(
    ("words", "paths", "message"),
    [
        (
            ["--set", "seed=2"],
            {},
            "--set seed=2: expected section.key=value, for example --set training.seed=2",
        ),
        (["--set", "training.rate=fast"], {}, "training.rate must be a number, found 'fast'"),
        (["--device", "bogus"], {}, "device bogus: not usable here (Expected one of cpu, cuda, "),
        (["--device", "cuda:99"], {}, "device cuda:99: not usable here ("),
        (["--device", "meta"], {}, "device meta: not usable here ("),
        ([], {"config": "none.toml"}, "none.toml: cannot read the config: No such file or directory"),
        (
            [],
            {"data": "none"},
            "none/train.jsonl: no such file; make it with `spansrl data`, or choose another --data",
        ),
        ([], {"data": "tiny.toml"}, "tiny.toml/train.jsonl: no such file; "),
        ([], {"out": "tiny.toml"}, "--out tiny.toml: "),
        ([], {"out": "tiny.toml/run"}, "--out tiny.toml/run: "),
        ([], {"out": "data/train.jsonl/run"}, "--out data/train.jsonl/run: "),
        (["--set", "embedder.kind=vectors", "--set", "embedder.path=no.txt"], {}, "no.txt"),
        (["--set", "embedder.kind=transformer", "--set", "embedder.path=no"], {}, "no: no such directory"),
        (["--set", "embedder.kind=elmo", "--set", "embedder.path=no"], {}, "no/"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(train, words, paths, message):
    result = train(*words, **paths)
    assert result.code == 1
    assert result.out == ""
    assert result.err.startswith("spansrl: error: ")
    assert message in result.err
    assert result.err.count("\n") == 1


def test_broken_data_is_named_with_its_line(train, work):
    with (work / "data" / "dev.jsonl").open("a") as file:
        file.write("{no JSON\n")
    result = train()
    assert (result.code, result.err.count("\n")) == (1, 1)
    assert "data/dev.jsonl:9: " in result.err


def test_another_run_in_the_directory_is_refused_before_anything_slow(train, monkeypatch):
    train("--set", "training.epochs=1")
    monkeypatch.setattr("spansrl.training.runs.prepare_run", None)
    again = train("--set", "training.epochs=1")
    assert "out: already holds a run; continue it with --resume, or choose another --out" in again.err
    other = train("--set", "training.epochs=2", "--resume")
    assert "out: holds a run with training.epochs = 1, not 2; resume with the same settings" in other.err
    assert (again.code, other.code) == (1, 1)


def test_a_loss_that_is_not_a_number_is_a_one_line_error(train, work):
    result = train("--set", "training.rate=1e30")
    assert result.code == 1
    assert result.err.count("\n") == 1
    assert "with a lower training.rate" in result.err


# Progress display


def make_event(number: int, *, f1: float | None = None, best: float = -1.0) -> Event:
    dev = None if f1 is None else Score(roles={"A0": Counts(int(f1), 100 - int(f1), 100 - int(f1))})
    position = Position(best_f1=best, best_epoch=0 if best >= 0 else -1)
    step = Step(position, 0, number, 40, 2.5, 0.001, n_props=4, dev=dev, is_best=dev is not None)
    return Event(step, 7.0, 1.0, 64.2, whole=True, stopped=False)


def test_a_terminal_sees_loss_rate_speed_best_f1_and_the_time_left(monkeypatch):
    console = Console(force_terminal=True, width=120, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    now = 0.0
    bar = cli_train._Bar(console)
    bar.get_time = lambda: now
    with bar:
        for number in range(10, 21):
            now += 6.0
            bar.show(make_event(number, best=61.25))
    text = console.export_text()
    assert "epoch 1: loss 2.500, rate 0.001, 64 props/s, best F1 61.25" in text
    assert "0:02:00" in text  # 20 steps of 6 s
    console.file.close()


def test_without_a_terminal_there_is_one_line_per_minute(capsys, monkeypatch):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(cli_train.time, "monotonic", lambda: clock.now)
    lines = cli_train._Lines()
    for number in range(1, 9):
        clock.now += 25.0
        lines.show(make_event(number))
    lines.show(make_event(8, f1=50))
    assert capsys.readouterr().err.splitlines() == [
        "step 3 of 40 (epoch 1): loss 2.500, rate 0.001, 64 props/s, best F1 –, 15 min left",
        "step 6 of 40 (epoch 1): loss 2.500, rate 0.001, 64 props/s, best F1 –, 14 min left",
        "epoch 1: loss 2.5000, rate 0.001, dev F1 50.00 *, 7 s (64 props/s) and 1 s for dev",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "0 s"),
        (119.4, "119 s"),
        (120, "2 min"),
        (7100, "118 min"),
        (7200, "2 h 00 min"),
        (11100, "3 h 05 min"),
    ],
)
def test_durations_are_in_readable_units(seconds, text):
    assert cli_train.duration(seconds) == text


def test_features_are_reported_now_and_then_and_at_the_end(capsys, monkeypatch):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(cli_train.time, "monotonic", lambda: clock.now)
    monkeypatch.setattr(cli_train, "_features_due", cli_train.every(10))
    for done in range(100, 501, 100):
        clock.now += 4.0
        cli_train.feature_progress("computing features", done, 500)
    assert capsys.readouterr().err.splitlines() == [
        "computing features: 300 of 500",
        "computing features: 500 of 500",
    ]


# Ended from outside. `python -m spansrl` in processes of its own.


def command(work: Path, *words: str) -> list[str]:
    arguments = ["tiny.toml", "--data", "data", "--out", str(work / "out"), "--threads", "1", *words]
    return [sys.executable, "-m", "spansrl", "train", *arguments]


def steps_saved(work: Path) -> tuple[float, ...]:
    """Changes with every save."""
    paths = [work / "out" / name for name in ("run.json", "state.safetensors")]
    return tuple(path.stat().st_mtime_ns for path in paths if path.exists())


def start_and_end(work: Path, number: signal.Signals, delay: float, *words: str) -> subprocess.Popen:
    """Start a run, wait until it trains, and some time later send it a signal."""
    before = steps_saved(work)
    process = subprocess.Popen(
        command(work, *words),
        cwd=work,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # as in a shell's foreground
    )
    while steps_saved(work) == before and process.poll() is None:
        time.sleep(0.002)
    time.sleep(delay)
    process.send_signal(number)
    return process


@pytest.mark.slow
def test_a_run_that_is_killed_again_and_again_ends_as_one_that_was_left_alone(train, work):
    """kill -9 and SIGTERM at random moments; the weights in the end are the same to the bit."""
    long = ("--set", "training.epochs=4", "--set", "training.batch_size=1")
    moments = random.Random(5)
    for number in (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
        process = start_and_end(work, number, moments.uniform(0.0, 0.2), *long, "--resume")
        text = process.communicate()[1]
        if process.returncode == 128 + signal.SIGTERM:
            assert re.search(
                r"^stopped and saved after step \d+ of 80 \(epoch \d\); run the same command", text, re.M
            )
        else:
            assert process.returncode in (-signal.SIGKILL, 0), text
    assert train(*long, "--resume").code == 0
    train(*long, out="alone")
    assert outcome(work / "out") == outcome(work / "alone")
    assert not list((work / "out").rglob(".*"))


@pytest.mark.slow
def test_ctrl_c_on_a_terminal_saves_and_prints_how_to_continue(train, work):
    long = ("--set", "training.epochs=20", "--set", "training.save_minutes=60")
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ |= {"TERM": "xterm", "COLUMNS": "150"}
        os.execv(sys.executable, command(work, *long))
    shown = b""
    while b"best F1" not in shown:
        shown += os.read(terminal, 4096)
    os.write(terminal, b"\x03")
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    assert re.search(r"epoch \d+: loss \d+\.\d{3}, rate [\d.e-]+, \d+ props/s, best F1 ", text)
    assert "stopping after this step is saved" in text
    assert re.search(r"stopped and saved after step \d+ of 100 .*--resume to continue", text)
    train(*long, out="alone")
    assert train(*long, "--resume").code == 0
    assert outcome(work / "out") == outcome(work / "alone")


def test_a_second_ctrl_c_ends_at_once_and_refers_to_the_last_save(train, monkeypatch):
    def impatient(*_, **__):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        yield

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr("spansrl.training.runs.execute", impatient)
    result = train()
    assert result.code == 130
    assert "stopped at once; run the same command with --resume" in result.err
    assert signal.getsignal(signal.SIGINT) is before


def test_a_job_that_ignores_ctrl_c_keeps_ignoring_it():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with cli_train.StopSignal() as stop:
            os.kill(os.getpid(), signal.SIGINT)
            assert not stop.asked()
            os.kill(os.getpid(), signal.SIGTERM)
            assert stop.asked()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
