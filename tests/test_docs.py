"""The documents against the program: code runs, commands parse, links lead somewhere, pages are current."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import click
import pytest

import spansrl
from spansrl.cli import COMMANDS, cli
from spansrl.config import load_config
from spansrl.corpora.ewt import build_ewt
from spansrl.formats import write_sentences

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "examples" / "sample"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.md")])
CONFIGS = sorted(ROOT.glob("configs/*.toml"))
README = (ROOT / "README.md").read_text(encoding="utf-8")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def commands(text: str) -> list[str]:
    """The lines of shell blocks, fenced or indented, that call spansrl."""
    text = text.replace("\\\n", " ")
    lines = [line for block in blocks(text, "sh") for line in block.splitlines()]
    return [line for line in lines if line.startswith("spansrl ")] + re.findall(
        r"^ {4}(spansrl .*)", text, re.M
    )


def parse(line: str) -> None:
    """Let click read a command line as it would, without running it."""
    words = shlex.split(line, comments=True)[1:]
    words = words[: words.index(">")] if ">" in words else words
    command, context = cli, click.Context(cli, info_name="spansrl", **cli.context_settings)
    while isinstance(command, click.Group):
        name, *words = words
        found = command.get_command(context, name)
        assert found is not None, f"there is no command {name!r}"
        command = found
    command.make_context(command.name, words, parent=context)


def test_the_code_in_the_readme_prints_what_the_readme_says(monkeypatch, capsys):
    (code,), (output,) = blocks(README, "python"), blocks(README, "text")
    monkeypatch.chdir(ROOT)
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out == output


def test_the_code_about_scoring_runs(monkeypatch, tmp_path, capsys):
    corpus = build_ewt(str(SAMPLE / "propbank-release"), str(SAMPLE / "UD_English-EWT"))
    gold = [sent for split, sent in corpus.sentences if split == "test"]
    monkeypatch.chdir(tmp_path)
    write_sentences("dev.jsonl", gold)
    Path("predicted.jsonl").write_bytes((SAMPLE / "test.predicted.jsonl").read_bytes())
    for code in blocks((ROOT / "docs" / "scoring.md").read_text(encoding="utf-8"), "python"):
        exec(compile(code, "docs/scoring.md", "exec"), {})
    assert "Overall       13       4       4" in capsys.readouterr().out


def test_the_demo_runs_and_ends_with_the_official_table(tmp_path):
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    command = ["bash", str(ROOT / "examples" / "demo.sh"), str(tmp_path / "demo")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "\n   Overall       13       4       4    76.47   76.47   76.47\n" in done.stdout
    assert (tmp_path / "demo" / "back.props").read_bytes() == (tmp_path / "demo" / "dev.props").read_bytes()


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "cli.md"], ids=name_of)
def test_commands_in_the_documents_parse(page):
    for line in commands(page.read_text(encoding="utf-8")):
        parse(line)


def test_a_command_with_a_wrong_option_would_be_noticed():
    with pytest.raises(click.UsageError):
        parse("spansrl evaluate a.props b.props --no-such-option")


def test_the_readme_shows_every_command():
    assert {line.split()[1] for line in commands(README)} == set(COMMANDS)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files_that_exist(page):
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    missing = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
    assert not missing


def test_the_index_of_the_documentation_has_every_page():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = {path.name for path in ROOT.glob("docs/*.md")} - {"README.md"}
    assert set(re.findall(r"\]\((\w+\.md)\)", index)) == pages


def test_the_page_of_the_command_line_is_current():
    spec = importlib.util.spec_from_file_location("write_cli", ROOT / "docs" / "write_cli.py")
    assert spec is not None
    assert spec.loader is not None
    write_cli = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(write_cli)
    assert write_cli.PAGE.read_text(encoding="utf-8") == write_cli.page(), "run: make docs"


@pytest.mark.parametrize("path", CONFIGS, ids=name_of)
def test_every_config_loads(path):
    load_config(path)


def test_configs_named_in_the_documents_exist():
    named = {
        name
        for page in PAGES
        for name in re.findall(r"configs/[\w.-]+\.toml", page.read_text(encoding="utf-8"))
    }
    assert named <= {name_of(path) for path in CONFIGS}


def test_public_names_are_there():
    assert sorted(spansrl.__all__) == list(spansrl.__all__)
    assert all(hasattr(spansrl, name) for name in spansrl.__all__)


def test_the_changelog_knows_the_version():
    assert spansrl.__version__ in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_wheel_holds_the_package_and_nothing_else(tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, capture_output=True, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    package = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {"spansrl/py.typed", "spansrl/formats/sentence.schema.json"} <= package
    assert {name for name in names if ".dist-info/" not in name} == package
    assert any(name.endswith("licenses/LICENSE") for name in names)
