"""The study's command on a toy corpus: from nothing to tables, interrupted on the way."""

from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "experiments" / "study.py"
SAMPLE = ROOT / "examples" / "sample"

TOY = """
config = "configs/tiny.toml"

[settings]
"training.epochs" = 1
"embedder.min_count" = 1

[[system]]
name = "span"
seeds = [1, 2]

[[system]]
name = "crf"
seeds = [1]
settings = { "output.kind" = "crf" }

[[ensemble]]
name = "product"
kind = "product"
experts = "span"

[parts]
dev = "ewt/dev.jsonl"

[[comparison]]
name = "all"
systems = ["span", "crf", "product"]
"""


@pytest.fixture
def study(tmp_path):
    """A function that starts the study in a directory of its own, with the toy corpus already made."""
    (tmp_path / "study.toml").write_text(TOY)

    def started(name: str, *flags: str) -> subprocess.Popen[str]:
        work = tmp_path / name
        command = [sys.executable, str(SCRIPT), str(work), "--study", str(tmp_path / "study.toml"), *flags]
        return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    return started


def make_corpus(work: Path) -> None:
    subprocess.run(
        [
            *(sys.executable, "-m", "spansrl", "data", "ewt", "--out", str(work / "ewt")),
            *("--propbank", str(SAMPLE / "propbank-release"), "--ud", str(SAMPLE / "UD_English-EWT")),
        ],
        check=True,
        capture_output=True,
    )


def tables(work: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(work.glob("analysis/all-dev/tables/*.csv"))}


@pytest.mark.slow
def test_an_interrupted_study_continues_to_the_same_tables(study, tmp_path):
    for name in ("whole", "cut"):
        make_corpus(tmp_path / name)
        mark_data_done(tmp_path / name)
    with study("cut") as cut:
        time.sleep(4)
        cut.send_signal(signal.SIGINT)
        assert cut.wait(60) == 130
    for name in ("whole", "cut"):
        with study(name) as process:
            _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
    assert tables(tmp_path / "whole")
    assert tables(tmp_path / "cut") == tables(tmp_path / "whole")


def mark_data_done(work: Path) -> None:
    """The toy corpus has sources of its own, so its step is not run by the study."""
    spec = importlib.util.spec_from_file_location("study", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["study"] = module
    spec.loader.exec_module(module)
    (work / "done").mkdir(exist_ok=True)
    module.mark_done(work, module.Step("data-ewt", module.data_command("ewt", None, work)))


def test_the_study_trains_every_system_with_several_seeds_where_it_matters():
    found = tomllib.loads((ROOT / "experiments" / "study.toml").read_text())
    seeds = {system["name"]: len(system["seeds"]) for system in found["system"]}
    assert seeds["span"] >= 5
    assert min(seeds["segmental"], seeds["crf"]) >= 3
    assert min(seeds["label"], seeds["softmax"]) >= 2
