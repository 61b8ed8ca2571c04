"""The documents against the program: code runs, commands parse, links lead somewhere, pages are current."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import click
import pytest

import spansrl
import write_outputs
from spansrl.cli import COMMANDS, cli
from spansrl.corpora.ewt import build_ewt
from spansrl.formats import write_sentences
from spansrl.inference.loading import shipped_model
from spansrl.training.run_config import load_config

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "examples" / "sample"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.md")])
CONFIGS = sorted(ROOT.glob("configs/*.toml"))
README = (ROOT / "README.md").read_text(encoding="utf-8")
FRAMES = ROOT.parent / "shared" / "data" / "propbank-frames.tar.xz"

needs_model = pytest.mark.skipif(not shipped_model().is_dir(), reason="no model in the package")


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
    ends = [words.index(end) for end in (">", "&", "|") if end in words]
    words = words[: min(ends, default=len(words))]
    command, context = cli, click.Context(cli, info_name="spansrl", **cli.context_settings)
    while isinstance(command, click.Group):
        name, *words = words
        found = command.get_command(context, name)
        assert found is not None, f"there is no command {name!r}"
        command = found
    command.make_context(command.name, words, parent=context)


@needs_model
@pytest.mark.parametrize("page", write_outputs.PAGES, ids=name_of)
def test_pages_show_what_their_code_prints(page, monkeypatch, tmp_path):
    text = page.read_text(encoding="utf-8")
    for module in ("spacy", "duckdb", "pandas"):
        if f">>> import {module}" in text or f"to_{module}" in text:
            pytest.importorskip(module)
    monkeypatch.setenv("SPANSRL_HOME", str(tmp_path))
    assert write_outputs.updated(text) == text, "run: make docs"


@needs_model
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("```python\nprint(1)\nprint(2)\n```\n\n```text\n0\n```", "1\n2\n```"),
        ("```sh\nspansrl --version\n```\n\n```text\n0\n```", f"{spansrl.__version__}\n```"),
        (">>> x = 1\n```pycon\n>>> x = 1\n>>> x + 1\n3\n>>> x\n1\n```", ">>> x + 1\n2\n>>> x\n1\n```"),
    ],
)
def test_a_page_that_shows_something_else_is_renewed(old, new):
    assert write_outputs.updated(old).endswith(new)


@needs_model
def test_the_notebook_runs(capsys):
    notebook = json.loads((ROOT / "examples" / "tour.ipynb").read_text(encoding="utf-8"))
    names: dict[str, object] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    printed = capsys.readouterr().out
    assert "buy.01" in printed
    assert "predicates" in printed


def test_the_code_about_scoring_runs(monkeypatch, tmp_path, capsys):
    corpus = build_ewt(str(SAMPLE / "propbank-release"), str(SAMPLE / "UD_English-EWT"))
    gold = [sent for split, sent in corpus.sentences if split == "test"]
    monkeypatch.chdir(tmp_path)
    write_sentences("dev.jsonl", gold)
    Path("predicted.jsonl").write_bytes((SAMPLE / "test.predicted.jsonl").read_bytes())
    for code in blocks((ROOT / "docs" / "scoring.md").read_text(encoding="utf-8"), "python"):
        exec(compile(code, "docs/scoring.md", "exec"), {})
    assert "Overall       13       4       4" in capsys.readouterr().out


def run_script(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program with `spansrl` on its path; what it leaves running is ended."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    settings = {**os.environ, "PATH": path, **environment}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, env=settings, text=True, start_new_session=True, **pipes)
    try:
        out, errors = process.communicate(timeout=300)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return subprocess.CompletedProcess(command, process.returncode, out, errors)


@needs_model
def test_the_demo_labels_a_text_and_ends_with_what_to_try_next(tmp_path):
    out = tmp_path / "demo"
    done = run_script(["bash", str(ROOT / "examples/demo.sh"), str(out)], SPANSRL_HOME=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert "sell.01" in done.stdout
    assert "knock_out.03" in "\n".join(done.stdout.splitlines()[:5])
    assert max(len(line) for line in done.stdout.splitlines() if str(tmp_path) not in line) <= 120
    assert "What to try next" in done.stdout
    assert (out / "letters.csv").read_text(encoding="utf-8").count("\n") > 5
    assert (out / "letters.html").read_text(encoding="utf-8").count('<div class="srl"') == 4


QUICKSTART = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
# What a newcomer does once is done already, or costs a network.
PRELUDE = """
set -euo pipefail
pip() { :; }
ln -s "$ROOT/examples" "$ROOT/configs" .
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@needs_model
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl, which the page calls")
def test_the_commands_of_the_quickstart_run(tmp_path):
    script = PRELUDE + "".join(blocks(QUICKSTART, "sh")).replace("8000", str(free_port()))
    if FRAMES.exists():
        script = script.replace("frames --download", f"frames {FRAMES}")
    else:  # the frames are not ours to carry, and tests do not download
        script = "\n".join(line for line in script.splitlines() if "spansrl frames" not in line)
    done = run_script(
        ["bash", "-c", f"cd {shlex.quote(str(tmp_path))}\n{script}"],
        ROOT=str(ROOT),
        SPANSRL_HOME=str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    assert "sell.01" in done.stdout
    assert '"sense": "sell.01"' in done.stdout
    assert "Number of Propositions" in done.stdout
    assert {"letters.jsonl", "letters.html", "predicted.jsonl"} <= {path.name for path in tmp_path.iterdir()}


@needs_model
@pytest.mark.long
def test_the_commands_of_the_readme_run_in_their_order(tmp_path):
    sources = f"--propbank {SAMPLE}/propbank-release --ud {SAMPLE}/UD_English-EWT"  # tests do not download
    lines = [line for line in commands(README) if not line.startswith("spansrl serve")]
    script = "\n".join(lines).replace("spansrl data ewt", f"spansrl data ewt {sources}")
    done = run_script(
        ["bash", "-c", f"cd {shlex.quote(str(tmp_path))}\n{PRELUDE}{script}"],
        ROOT=str(ROOT),
        SPANSRL_HOME=str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "report" / "report.html").exists()
    assert (tmp_path / "models" / "tiny" / "arguments.onnx").exists()


@needs_model
@pytest.mark.parametrize("code", blocks(QUICKSTART, "python"), ids=lambda code: code.split("\n")[0])
def test_the_python_of_the_quickstart_runs(code, monkeypatch, capsys, tmp_path):
    if "import spacy" in code:
        pytest.importorskip("spacy")
    monkeypatch.setenv("SPANSRL_HOME", str(tmp_path))
    exec(compile(code, "docs/quickstart.md", "exec"), {})
    assert "sell.01" in capsys.readouterr().out


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
    assert set(re.findall(r"\]\(([\w-]+\.md)\)", index)) == pages


def below(context):
    """Yield a context for a command and for everything below it."""
    yield context
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            command = context.command.get_command(context, name)
            yield from below(click.Context(command, info_name=name, parent=context))


def test_the_page_of_the_command_line_has_every_command_argument_and_option():
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (spansrl[^\n]*)\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE))
    found = {
        context.command_path: context.command for context in below(click.Context(cli, info_name="spansrl"))
    }
    assert set(sections) == set(found), "run: make docs"
    for path, command in found.items():
        for param in command.params:
            names = (
                [param.make_metavar(click.Context(command))]
                if isinstance(param, click.Argument)
                else param.opts
            )
            missing = [name for name in names if name not in sections[path]]
            assert not missing, f"{path} does not document {missing}; run: make docs"


def test_the_help_of_every_command_has_examples_of_it_that_parse():
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8").replace("\\\n", " ")
    for name, text in re.findall(r"^## (spansrl [^\n]+)\n\n```\n(.*?)^```$", page, re.DOTALL | re.MULTILINE):
        examples = re.findall(r"^ +(spansrl .*)", text.partition("Examples")[2], re.MULTILINE)
        assert any(f"{line} ".startswith(f"{name} ") for line in examples), name
        for line in examples:
            parse(line)


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
