"""Shell completion: click's, for commands, options, choices and files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from spansrl.cli import COMMANDS, cli

PROGRAM = [sys.executable, "-m", "spansrl"]


def complete(*words: str) -> list[str]:
    """What bash is offered for the last word, as lines of kind and value."""
    line = {"COMP_WORDS": " ".join(("spansrl", *words)), "COMP_CWORD": str(len(words))}
    return run("bash_complete", **line).stdout.splitlines()


def run(instruction: str, **environment: str) -> subprocess.CompletedProcess[str]:
    settings = {**os.environ, **environment, "_SPANSRL_COMPLETE": instruction}
    return subprocess.run(PROGRAM, env=settings, capture_output=True, text=True, check=True)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed(shell):
    if shell == "bash" and shutil.which("bash") is None:
        pytest.skip("click asks bash for its version, and there is none")
    done = run(f"{shell}_source")
    assert f"_SPANSRL_COMPLETE={shell}_complete" in done.stdout
    assert done.stderr == ""


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_takes_the_script(tmp_path):
    script = tmp_path / "completion.bash"
    script.write_text(run("bash_source").stdout, encoding="utf-8")
    subprocess.run(["bash", "-n", script], check=True)


def test_commands_are_offered_without_loading_them():
    assert complete("") == [f"plain,{name}" for name in COMMANDS]
    assert complete("la") == ["plain,label"]


def test_options_choices_and_files_are_offered():
    assert "plain,--predicates" in complete("label", "--p")
    assert complete("label", "--from", "conll1") == ["plain,conll12"]
    assert complete("label", "--predicates", "verb,") == [
        "plain,verb,noun",
        "plain,verb,adjective",
        "plain,verb,auxiliary",
    ]
    assert complete("label", "let") == ["file,let"]
    assert complete("info", "ru") == ["file,ru"]


def test_every_command_shows_examples_in_its_help():
    for name in COMMANDS:
        command = cli.get_command(cli.make_context("spansrl", ["--help"], resilient_parsing=True), name)
        assert command is not None
        assert f"spansrl {name} " in f"{command.help}{command.epilog}", name


def test_the_documentation_has_the_line_for_each_shell():
    page = (Path(__file__).resolve().parents[2] / "docs" / "labeling.md").read_text(encoding="utf-8")
    assert all(f"_SPANSRL_COMPLETE={shell}_source" in page for shell in ("bash", "zsh", "fish"))
