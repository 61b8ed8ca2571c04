"""experiments/text_model.sh from its first line to its last, on a toy corpus with toy encoders."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from builders import make_prop, tagged
from spansrl import load
from spansrl.formats import write_sentences
from tiny_bert import make_bert
from toy_text_model import TOYS

SCRIPT = Path(__file__).parents[2] / "experiments" / "text_model.sh"


@pytest.mark.long
@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a POSIX shell")
def test_one_command_makes_a_model(tmp_path):
    for name in ("minilm", "mpnet"):
        make_bert(tmp_path / name)
    (tmp_path / "work" / "ewt").mkdir(parents=True)
    new = tagged("She/PRP/she helps/VBZ/help us/PRP/we", make_prop(1, ("ARG0", 0, 1), sense="help.01"))
    for part, sentences in (("train", TOYS), ("dev", TOYS), ("test", (*TOYS, new))):
        write_sentences(tmp_path / "work" / "ewt" / f"{part}.jsonl", sentences)
    examples = tmp_path / "work" / "examples"
    examples.mkdir()
    write_sentences(
        examples / "train.jsonl", [tagged("We/PRP/we called/VBD/call", make_prop(1, ("ARG0", 0, 1)))]
    )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", SCRIPT, "minilm", "mpnet", "work", "2026-11-16"],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "SEEDS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    model = tmp_path / "work" / "model"
    (model / "scores.json").unlink()  # it is not in the manifest
    load(model, frames=False)("They called it off.")
