"""The study's command on a toy corpus: from nothing to tables, interrupted on the way."""

from __future__ import annotations

import importlib.util
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from argparse import Namespace
from itertools import pairwise
from pathlib import Path

import pytest
import study_tables

from spansrl.formats import read_sentences
from spansrl.training.run_config import load_config

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
model = "span"
"""


@pytest.fixture(scope="module")
def flags(tmp_path_factory):
    """The toy study and its corpus, as options of the command."""
    root = tmp_path_factory.mktemp("study")
    (root / "study.toml").write_text(TOY)
    make_corpus(root / "corpora" / "ewt")
    return ["--study", root / "study.toml", "--corpora", root / "corpora"]


@pytest.fixture(scope="module")
def finished(flags, tmp_path_factory):
    """The directory of a study that ran to its end; tests may not change it."""
    work = tmp_path_factory.mktemp("finished")
    output(work, *flags)
    return work


@pytest.fixture(scope="module")
def module():
    """experiments/study.py, which is a script."""
    spec = importlib.util.spec_from_file_location("study", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules["study"] = found
    spec.loader.exec_module(found)
    return found


def start(work: Path, *flags: str | Path) -> subprocess.Popen[str]:
    command = [sys.executable, str(SCRIPT), str(work), *map(str, flags)]
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def output(work: Path, *flags: str | Path) -> str:
    with start(work, *flags) as process:
        out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return out


def make_corpus(out: Path) -> None:
    subprocess.run(
        [
            *(sys.executable, "-m", "spansrl", "data", "ewt", "--out", str(out)),
            *("--propbank", str(SAMPLE / "propbank-release"), "--ud", str(SAMPLE / "UD_English-EWT")),
        ],
        check=True,
        capture_output=True,
    )


def tables(work: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(work.glob("analysis/all-dev/tables/*.csv"))}


@pytest.fixture
def begun(flags, finished, module, tmp_path):
    """The finished study in another directory, as it was before its CRF was trained."""
    work = tmp_path / "begun"
    shutil.copytree(finished, work, ignore=shutil.ignore_patterns("crf-1*", "analysis", "done"))
    (work / "done").mkdir()
    options = Namespace(work=work, corpora=flags[-1], minilm="", glove="", analyze=False)
    for step in module.plan(module.load_study(flags[1]), options):
        if step.name.removeprefix("label-") in ("span-1", "span-2", "product"):
            module.mark_done(work, step)
    return work


@pytest.mark.slow
def test_an_interrupted_study_continues_to_the_same_tables(flags, finished, begun):
    with start(begun, *flags) as cut:
        time.sleep(4)
        cut.send_signal(signal.SIGINT)
        assert cut.wait(60) == 130
    assert "span" not in output(begun, *flags)  # what was done is not done again
    assert tables(finished)
    assert tables(begun) == tables(finished)


@pytest.mark.slow
def test_what_has_run_so_far_can_be_compared(finished, tmp_path):
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    (tmp_path / "done" / "label-crf-1").unlink()
    status = output(finished, "--status").splitlines()  # with the options of the last run
    assert "done label-crf-1" in status
    assert "crf" in tables(finished)["overall.csv"]
    output(tmp_path, "--analyze")
    assert "crf" not in tables(tmp_path)["overall.csv"]


@pytest.mark.slow
def test_labels_are_those_of_the_command(flags, finished, tmp_path):
    gold, ours = flags[-1] / "ewt" / "dev.jsonl", finished / "predictions" / "product.dev.jsonl.gz"
    command = ["label", "--predicates", "given", "--model", str(finished / "product"), str(gold), "-o"]
    subprocess.run(
        [sys.executable, "-m", "spansrl", *command, str(tmp_path / "dev.jsonl")], check=True, timeout=100
    )
    assert list(read_sentences(ours)) == list(read_sentences(tmp_path / "dev.jsonl"))


@pytest.mark.slow
def test_kept_results_have_no_words_and_make_the_tables(flags, finished, tmp_path):
    output(finished, "--keep", tmp_path)
    kept = "".join(
        path.read_text() for path in tmp_path.rglob("*") if path.suffix in (".csv", ".json", ".jsonl")
    )
    words = {
        token
        for sent in read_sentences(flags[-1] / "ewt" / "dev.jsonl")
        for token in sent.tokens
        if len(token) > 6
    }
    assert words
    assert not [word for word in words if word in kept]
    assert str(finished) not in kept
    study = study_tables.Study(tmp_path)
    shown = {
        "scores": study_tables.scores(study),
        "boundaries": study_tables.boundaries(study, "all"),
        "significance": study_tables.differences(study, "significance", ["all"]),
        "lengths": study_tables.breakdown(
            study, "all", ["argument-length", "distance"], parts=["dev", "test"]
        ),
        "confusions": study_tables.confusions(study, "all", "dev"),
        "repairs": study_tables.repairs(study, "all", "dev"),
        "decoders": study_tables.as_written(study, "all", "dev", "decoders"),
    }
    for name, text in shown.items():
        lines = text.splitlines()
        assert len(lines) > 2, name
        assert len({line.count("|") for line in lines}) == 1, name
    assert re.search(r"\| span \| span \| 2 \| .* ± ", shown["scores"])
    assert "span − crf" in shown["significance"]


def test_restored_runs_are_not_made_again_and_have_the_same_predictions(flags, finished, tmp_path):
    kept, work = tmp_path / "kept", tmp_path / "work"
    output(finished, "--keep", kept)
    for file in (kept / "predictions").glob("crf-1.*"):
        file.unlink()  # a run without predictions is open
    assert (
        output(work, *flags, "--restore", kept).split()
        == "restored product restored span-1 restored span-2".split()
    )
    status = output(work, "--status").splitlines()
    assert {"done span-1", "done label-span-2", "open crf-1", "done product"} <= set(status)
    before, after = (
        [
            [(prop.pred, sorted((arg.role, arg.span) for arg in prop.args)) for prop in sent.props]
            for sent in read_sentences(folder / "predictions" / "span-2.dev.jsonl.gz")
        ]
        for folder in (finished, work)
    )
    assert before == after


def test_a_short_study_changes_settings_and_seeds_of_its_base(module):
    short = module.load_study(ROOT / "experiments" / "study-short.toml")
    whole = module.load_study(ROOT / "experiments" / "study.toml")
    assert short["settings"] == {**whole["settings"], **short["settings"]}
    assert short["settings"]["encoder.width"] == 128
    assert [system["name"] for system in short["system"]] == [system["name"] for system in whole["system"]]
    assert module.models_of(short, "span") == [f"span-{seed}" for seed in range(1, 6)]


def test_runs_are_made_seed_by_seed_the_first_comparison_first(module, tmp_path):
    study = module.load_study(ROOT / "experiments" / "study-short.toml")
    options = Namespace(work=tmp_path, corpora=tmp_path, minilm="", glove="", analyze=False)
    names = [step.name for step in module.plan(study, options) if {"train", "ensemble"} & set(step.command)]
    first = ["span", "segmental", "crf", "label", "softmax", "glove-span", "glove-crf", "attention", "syntax"]
    assert names[:10] == [*(f"{system}-1" for system in first), "span-2"]
    assert names[-3:] == ["span-5", "mixture", "product"]


def test_the_options_of_the_last_run_hold_in_another_directory(module, tmp_path, monkeypatch):
    work, elsewhere = tmp_path / "work", tmp_path / "elsewhere"
    (tmp_path / "study.toml").write_text(TOY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["study.py", str(work), "--study", "study.toml", "--minilm", "minilm"])
    first = module.parse_options()
    module.remember(first)
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.setattr(sys, "argv", ["study.py", str(work)])
    again = module.parse_options()
    assert (first.study, first.minilm) == (tmp_path / "study.toml", str(tmp_path / "minilm"))
    assert (again.study, again.minilm) == (first.study, first.minilm)


def test_the_configs_of_all_systems_are_valid(module):
    for name in ("study.toml", "study-short.toml"):
        study = module.load_study(ROOT / "experiments" / name)
        options = Namespace(work=Path("work"), corpora=None, minilm="minilm", glove="glove")
        for step in module.training_steps(study, options, Path("data")):
            sets = [value for flag, value in pairwise(step.command) if flag == "--set"]
            load_config(Path(step.command[3]), sets)


def test_the_study_trains_every_system_with_several_seeds_where_it_matters():
    found = tomllib.loads((ROOT / "experiments" / "study.toml").read_text())
    seeds = {system["name"]: len(system["seeds"]) for system in found["system"]}
    assert seeds["span"] >= 5
    assert min(seeds["segmental"], seeds["crf"]) >= 3
    assert min(seeds["label"], seeds["softmax"]) >= 2
