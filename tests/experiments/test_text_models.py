"""experiments/text_models.sh from its first line to its last, on a toy corpus with toy encoders."""

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
from spansrl.structures import Sentence
from tiny_bert import make_bert
from toy_text_model import TOYS

SCRIPT = Path(__file__).parents[2] / "experiments" / "text_models.sh"


@pytest.mark.long
@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a POSIX shell")
def test_one_command_makes_both_models_with_their_cards(tmp_path):
    for name in ("minilm", "mpnet"):
        make_bert(tmp_path / name)
    work = tmp_path / "work"
    new = tagged("She/PRP/she helps/VBZ/help us/PRP/we", make_prop(1, ("ARG0", 0, 1), sense="help.01"))
    more = [tagged("We/PRP/we called/VBD/call", make_prop(1, ("ARG0", 0, 1)))]
    for corpus, parts in {
        "ewt": {"train": TOYS, "dev": TOYS, "test": (*TOYS, new)},
        "masc": {"train": more, "dev": TOYS, "test": TOYS},
        "examples": {"train": more},
    }.items():
        (work / corpus).mkdir(parents=True)
        for part, sentences in parts.items():
            write_sentences(work / corpus / f"{part}.jsonl", sentences)
    for name in ("raw", "raw-nouns"):
        write_sentences(work / f"{name}.jsonl", [Sentence(sent.tokens) for sent in TOYS])
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for _ in range(2):  # the second time, everything is there but the exported models
        done = subprocess.run(
            ["sh", SCRIPT, "minilm", "mpnet", "work", "2026-11-16"],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        for name in ("large", "small"):
            model = work / name
            card = (model / "README.md").read_text(encoding="utf-8")
            assert card.startswith(f"# The {name} spansrl model")
            assert "made on | 2026-11-16" in card
            assert (model / "LICENSE").is_file()
            load(model, frames=False)("They called it off.")  # checks the manifest too
    assert done.stderr.count("this run is finished") == 8  # three stages of large, the start, four students
