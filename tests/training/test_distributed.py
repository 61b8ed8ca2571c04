"""Training in two real processes, connected by gloo."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from builders import SENTENCES
from spansrl.formats import write_sentences
from spansrl.training.distributed import ALONE, Workers

CONFIG = """
[embedder]
width = 8
min_count = 1
[encoder]
layers = 2
width = 8
mark_width = 4
dropout = {dropout}
[training]
epochs = {epochs}
batch_size = 4
rate = 1e-2
schedule = "linear"
save_minutes = 0
"""


@pytest.fixture(scope="module")
def ask():
    """A function that asks the program that forks processes."""
    command = [sys.executable, str(Path(__file__).with_name("ranks.py"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:

        def answer(**request) -> list[int]:
            program.stdin.write(json.dumps(request) + "\n")
            program.stdin.flush()
            return json.loads(program.stdout.readline())

        yield answer
        program.stdin.close()


@pytest.fixture
def settings(tmp_path):
    """A function that returns the arguments of the command; the data are written."""
    for name in ("train", "dev"):
        write_sentences(tmp_path / f"{name}.jsonl", SENTENCES)

    def arguments(out: str, *, dropout: float = 0.0, epochs: int = 3, resume: bool = False) -> list[str]:
        config = tmp_path / "config.toml"
        config.write_text(CONFIG.format(dropout=dropout, epochs=epochs))
        given = [str(config), "--data", str(tmp_path), "--out", str(tmp_path / out), "--threads", "1"]
        return ["spansrl", "train", *given, *(["--resume"] if resume else [])]

    return arguments


@pytest.fixture
def train(settings, ask, tmp_path):
    """A function that starts training in some processes, with the variables that torchrun sets."""

    def started(out: str, processes: int, **options) -> list[int]:
        group = {"WORLD_SIZE": str(processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        ranks = [
            (group | {"RANK": str(rank), "LOCAL_RANK": str(rank)}, str(tmp_path / f"{out}-{rank}.txt"))
            for rank in range(processes)
        ]
        return ask(argv=settings(out, **options), ranks=ranks)

    return started


@pytest.fixture
def finish(ask):
    """A function that waits until processes have ended well."""

    def waited(ranks: list[int]) -> None:
        assert ask(wait=ranks) == [0] * len(ranks)

    return waited


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def losses(folder) -> list[float]:
    return [json.loads(line)["loss"] for line in (folder / "log.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_two_processes_compute_what_one_computes_on_the_whole_batch(train, finish, tmp_path):
    finish(train("one", 1))
    finish(train("two", 2))
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), abs=2e-4)
    one, two = (load_file(tmp_path / name / "weights.safetensors") for name in ("one", "two"))
    for name in one:
        torch.testing.assert_close(two[name], one[name], atol=1e-4, rtol=1e-3)


@pytest.mark.slow
def test_two_processes_resume_to_the_same_weights_after_being_killed(train, finish, ask, tmp_path):
    finish(train("whole", 2, dropout=0.3, epochs=6))
    ranks = train("cut", 2, dropout=0.3, epochs=6)
    wait_for(tmp_path / "cut" / "state.safetensors")
    for rank in ranks:
        os.kill(rank, signal.SIGKILL)
    assert ask(wait=ranks) == [-signal.SIGKILL] * 2
    finish(train("cut", 2, dropout=0.3, epochs=6, resume=True))
    whole, cut = (load_file(tmp_path / name / "weights.safetensors") for name in ("whole", "cut"))
    assert all(torch.equal(whole[name], cut[name]) for name in whole)


@pytest.fixture
def torchrun(settings):
    """A function that starts training in two processes by torchrun; what is left of it ends with the test."""
    with contextlib.ExitStack() as started:

        def start(out: str, **options) -> subprocess.Popen[str]:
            run = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m"]
            process = subprocess.Popen(
                [sys.executable, *run, *settings(out, **options)],
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
                start_new_session=True,
            )
            started.enter_context(process)
            started.callback(process.terminate)  # it ends its processes, too
            return process

        yield start


@pytest.mark.slow
def test_when_a_process_of_torchrun_is_killed_the_other_ends_with_one_line(torchrun, tmp_path):
    process = torchrun("out", epochs=5000)
    wait_for(tmp_path / "out" / "state.safetensors")
    ranks = [int(found.parent.name) for found in Path("/proc").glob("[0-9]*/stat") if is_rank(found, process)]
    assert len(ranks) == 2
    os.kill(max(ranks), signal.SIGKILL)
    _, errors = process.communicate(timeout=300)
    assert process.returncode != 0
    said = [line for line in errors.splitlines() if line.startswith("spansrl: ")]
    assert len(said) == 1, errors
    assert "another process of this run has ended" in said[0]
    assert "--resume" in said[0]


def is_rank(stat: Path, launcher) -> bool:
    """Whether a process, by its file in /proc, was started by the launcher to train."""
    try:
        parent = int(stat.read_text().rpartition(")")[2].split()[1])
        return parent == launcher.pid and b"spansrl" in stat.with_name("cmdline").read_bytes()
    except OSError:
        return False


def wait_for(path: Path) -> None:
    end = time.monotonic() + 300
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.01)
    assert path.exists()


@pytest.mark.slow
def test_a_run_of_two_processes_is_not_resumed_by_one(train, finish, ask, tmp_path):
    finish(train("two", 2, epochs=1))
    assert ask(wait=train("two", 1, epochs=1, resume=True)) == [1]
    assert "processes" in (tmp_path / "two-0.txt").read_text()


def test_alone_nothing_is_sent():
    assert ALONE.any(True, False) == (True, False)
    assert ALONE.from_first(2.5) == 2.5
    assert ALONE.gather(torch.ones(2)) == [pytest.approx(torch.ones(2))]


def test_the_error_of_a_process_left_alone_says_what_to_do(monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("Connection closed by peer [127.0.0.1]:1234")

    monkeypatch.setattr("torch.distributed.all_reduce", fail)
    from spansrl.errors import SpansrlError

    with pytest.raises(SpansrlError, match=r"process 1 of 2: another process .* --resume"):
        Workers(rank=1, size=2).any(False)


THREADS_LEFT = """
from pathlib import Path
from spansrl.training.distributed import joined
with joined("cpu") as workers:
    import torch._dynamo  # as optimizers do, in the middle of a run
    workers.wait()
print(*(file.read_text().strip() for file in Path("/proc/self/task").glob("*/comm")))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's list of threads")
def test_no_thread_of_the_group_outlives_it():
    group = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", THREADS_LEFT],
            env={**os.environ, **group, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    for process in processes:
        with process:
            out, _ = process.communicate(timeout=180)
        assert process.returncode == 0
        assert "python" in out
        assert "gloo" not in out  # such a thread can abort a process that has finished
