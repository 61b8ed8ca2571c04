"""experiments/ablations.sh on a toy corpus with a toy encoder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from builders import make_prop, tagged
from spansrl.formats import write_sentences
from spansrl.structures import Sentence
from tiny_bert import make_bert
from toy_text_model import TOYS, make_text_network, save

SCRIPT = Path(__file__).parents[2] / "experiments" / "ablations.sh"

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("sh") is None, reason="needs a POSIX shell"),
]


@pytest.fixture
def ablations(tmp_path):
    """Run the command in a directory with a corpus, an encoder and a teacher."""
    make_bert(tmp_path / "minilm", layers=3)
    more = [tagged("We/PRP/we called/VBD/call", make_prop(1, ("ARG0", 0, 1)))]
    for name, sentences in {
        "ewt/train": TOYS,
        "ewt/dev": TOYS,
        "masc/train": more,
        "examples/train": more,
        "raw": [Sentence(sent.tokens) for sent in TOYS],
    }.items():
        path = tmp_path / "work" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_sentences(path, sentences)
    bin = Path(sys.executable).parent
    save(make_text_network(), tmp_path / "trained")
    subprocess.run([bin / "spansrl", "export", "trained", "--out", "teacher"], cwd=tmp_path, check=True)

    def run(*names: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", SCRIPT, "minilm", "teacher", "work", *names],
            cwd=tmp_path,
            env={**os.environ, "PATH": f"{bin}{os.pathsep}{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            timeout=600,
        )

    return run


def test_every_run_differs_from_the_whole_recipe_in_what_its_name_says(ablations, tmp_path):
    done = ablations()
    assert done.returncode == 0, done.stderr[-2000:]
    runs = {
        path.parent.name: json.loads(path.read_text(encoding="utf-8"))["config"]
        for path in (tmp_path / "work" / "ablations").glob("*/run.json")
    }
    whole = runs.pop("all")
    changed = {
        name: {
            f"{section}.{key}"
            for section, settings in config.items()
            for key, value in settings.items()
            if value != whole[section][key]
        }
        for name, config in runs.items()
    }
    assert changed == {
        "no-raw": {"distillation.raw"},
        "no-teacher": {"distillation.raw", "distillation.teachers"},
        "segmental": {"distillation.raw", "distillation.teachers", "output.kind"},
        "no-masc": {"training.partial_share"},
        "no-examples": {"training.partial_share"},
        "no-average": {"training.average"},
        "one-rate": {"training.layer_decay"},
        "dropout": {"embedder.dropout", "embedder.inner_dropout", "encoder.dropout"},
        "top-layers": {"encoder.attention_layers", "encoder.top_layers"},
        "case": {"embedder.case"},
        "raw-35000": {"distillation.raw"},
        "raw-70000": {"distillation.raw"},
    }


def test_some_runs_can_be_requested(ablations, tmp_path):
    assert ablations("no-teacher").returncode == 0
    assert [path.name for path in (tmp_path / "work" / "ablations").iterdir()] == ["no-teacher"]
    again = ablations("no-teacher")
    assert "this run is finished" in again.stderr
    unknown = ablations("no-luck")
    assert unknown.returncode == 2
    assert "no run is called no-luck" in unknown.stderr
