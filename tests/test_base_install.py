"""The base install, without extras: text is labeled, corpora are built and scored, and it starts quickly."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from spansrl.cli import COMMANDS
from spansrl.inference.directory import FORMAT, write_json
from spansrl.inference.loading import shipped_model

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "examples" / "sample"
EXTRA = (
    "torch",
    "transformers",
    "safetensors",
    "h5py",
    "onnx",
    "onnxscript",
    "starlette",
    "pydantic",
    "uvicorn",
    "spacy",
    "pandas",
    "matplotlib",
    "pyarrow",
    "ray",
)
TEXT = "Ann sold the old letters. Nobody asked her brother why he had kept them."

needs_model = pytest.mark.skipif(not shipped_model().is_dir(), reason="no model in the package")

# From here on the optional packages are not found, as if they were not installed.
WITHOUT_EXTRA = f"""
import sys
from importlib.machinery import PathFinder

class BaseInstall(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {EXTRA!r} else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = BaseInstall
"""
COMMAND_LINE = "from spansrl.cli import main; main()"


def python(program: str, *args: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_EXTRA + program, *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)


def spansrl(*args: object) -> subprocess.CompletedProcess[str]:
    return python(COMMAND_LINE, *args)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """The sample, built by the base install."""
    out = tmp_path_factory.mktemp("corpus")
    sources = ("--propbank", SAMPLE / "propbank-release", "--ud", SAMPLE / "UD_English-EWT")
    done = spansrl("data", "ewt", *sources, "--out", out)
    assert (done.returncode, done.stderr) == (0, "")
    return out


def test_the_optional_packages_are_out_of_reach_in_these_tests():
    program = f"""
for package in {EXTRA!r}:
    try:
        __import__(package)
    except ModuleNotFoundError as error:
        print(error)
"""
    assert python(program).stdout.splitlines() == [f"No module named '{package}'" for package in EXTRA]


def test_a_corpus_is_built(corpus):
    assert sorted(path.name for path in corpus.iterdir()) == [
        "audit.json",
        "dev.jsonl",
        "test.jsonl",
        "train.jsonl",
    ]
    audit = json.loads((corpus / "audit.json").read_text())
    assert {name: split["propositions"] for name, split in audit["splits"].items()} == {
        "train": 10,
        "dev": 2,
        "test": 6,
    }
    assert audit["dropped"]["total"] == 0


def test_a_file_is_converted(corpus, tmp_path):
    done = spansrl("convert", corpus / "dev.jsonl", tmp_path / "dev.props")
    assert done.returncode == 0
    assert (tmp_path / "dev.props").read_text().splitlines()[2] == "recommend\t(V*)"


def test_predictions_are_scored(corpus):
    done = spansrl("evaluate", corpus / "test.jsonl", SAMPLE / "test.predicted.jsonl")
    assert (done.returncode, done.stderr) == (0, "")
    assert "   Overall       13       4       4    76.47   76.47   76.47\n" in done.stdout


@needs_model
def test_text_is_labeled(tmp_path):
    program = """
import spansrl
document = spansrl.load(threads=1, frames=False)(sys.argv[1])
for sent in document:
    for prop in sent.props:
        print(prop.sense, *(sent.text_of(arg) for arg in prop.args), sep="|")
"""
    done = python(program, TEXT)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "sell.01|Ann|the old letters"


@needs_model
def test_text_is_labeled_on_the_command_line(tmp_path):
    letter = tmp_path / "letter.txt"
    letter.write_text(TEXT, encoding="utf-8")
    done = spansrl("label", letter, "--threads", "1", "--no-frames")
    assert (done.returncode, done.stderr) == (0, "")
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["props"][0]["sense"] == "sell.01"
    assert TEXT[second["char_start"] :] == second["text"]
    assert spansrl("info").returncode == 0


@needs_model
def test_labeling_loads_what_it_needs_and_no_more():
    loaded = loaded_after(RUN.format(args=["label", "--threads", "1", TEXT]))
    assert {"numpy", "onnxruntime", "tokenizers"} <= loaded
    assert not loaded & {"rich", "torch", "spansrl.visualize", "spansrl.formats.archives"}


@needs_model
def test_a_folder_is_labeled(tmp_path):
    (tmp_path / "letter.txt").write_text(TEXT, encoding="utf-8")
    done = spansrl(
        "corpus", tmp_path / "letter.txt", "--out", tmp_path / "out", "--workers", "1", "--no-frames"
    )
    assert done.returncode == 0, done.stderr
    assert '"sense":"sell.01"' in (tmp_path / "out" / "rows" / "part-00000.jsonl").read_text()


@pytest.mark.parametrize(("option", "extra"), [("--to=parquet", "corpus"), ("--engine=ray", "cluster")])
def test_parquet_and_ray_need_their_extras(tmp_path, option, extra):
    (tmp_path / "letter.txt").write_text(TEXT, encoding="utf-8")
    done = spansrl("corpus", tmp_path / "letter.txt", "--out", tmp_path / "out", option)
    assert done.returncode == 1
    assert done.stderr.endswith(f"pip install 'spansrl[{extra}]'\n")
    assert done.stderr.count("\n") == 1


@pytest.fixture
def model(tmp_path):
    """A model directory as training leaves it, without its weights: they are not what is missing first."""
    directory = tmp_path / "model"
    directory.mkdir()
    write_json(
        directory / "config.json", {"format": FORMAT, "kind": "network", "config": {}, "roles": ["A0"]}
    )
    return directory


def test_a_model_that_was_not_exported_needs_the_extra(model, corpus):
    done = spansrl("label", "--model", model, corpus / "dev.jsonl")
    assert (done.returncode, done.stdout) == (1, "")
    assert str(model) in done.stderr
    assert done.stderr.endswith("pip install 'spansrl[train]'\n")
    assert "of given predicates" in spansrl("info", model).stdout


@pytest.mark.parametrize(
    "args",
    [
        ("train", "configs/tiny.toml", "--data", "data", "--out", "out"),
        ("export", "model", "--out", "out"),
        ("ensemble", "product", "a", "b", "--out", "out"),
        ("ensemble", "mixture", "a", "b", "--data", "data", "--out", "out"),
    ],
    ids=lambda args: " ".join(args[:2]),
)
def test_commands_that_need_the_extra_say_how_to_install_it(args):
    done = spansrl(*args)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("spansrl: error: ")
    assert done.stderr.endswith("pip install 'spansrl[train]'\n")
    assert done.stderr.count("\n") == 1


def test_help_needs_no_extra():
    program = """
from spansrl.cli import COMMANDS, main
for command in COMMANDS:
    sys.argv[1:] = [command, "--help"]
    try:
        main()
    except SystemExit as end:
        print("exit code", end.code)
"""
    done = python(program)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("exit code 0\n") == done.stdout.count("exit code") == len(COMMANDS)
    assert re.findall(r"^Usage: spansrl (\w+) ", done.stdout, re.MULTILINE) == list(COMMANDS)


def loaded_after(program: str) -> set[str]:
    """Packages that are not in the standard library, of those that the program loads; our modules in full."""
    done = python(
        f"before = set(sys.modules)\n{program}\nprint(*(set(sys.modules) - before), file=sys.stderr)"
    )
    assert done.returncode == 0, done.stderr
    names = done.stderr.splitlines()[-1].split()
    packages = {name if name.startswith("spansrl") else name.partition(".")[0] for name in names}
    return packages - sys.stdlib_module_names


VALUES = {f"spansrl{name}" for name in ("", ".checks", ".errors", ".structures")}


def test_importing_the_package_loads_next_to_nothing():
    assert loaded_after("import spansrl") == VALUES


RUN = "from spansrl.cli import cli\nsys.argv[1:] = {args!r}\ncli(standalone_mode=False)"


def test_the_programs_help_loads_no_command():
    loaded = loaded_after(RUN.format(args=["--help"]))
    assert {name for name in loaded if name.startswith("spansrl")} == {*VALUES, "spansrl.cli"}
    assert not loaded & {"numpy", "rich"}


def test_convert_loads_formats_but_neither_numpy_nor_rich(corpus, tmp_path):
    loaded = loaded_after(
        RUN.format(args=["convert", str(corpus / "dev.jsonl"), str(tmp_path / "dev.props")])
    )
    assert "spansrl.formats.conll" in loaded
    assert not loaded & {"numpy", "rich"}


def test_importing_the_package_changes_nothing():
    program = """
import locale, logging, os, random, signal, warnings
import numpy  # what it changes is not our doing

def state():
    return repr([
        logging.root.level, logging.root.handlers, warnings.filters, numpy.random.get_state(),
        random.getstate(), dict(os.environ), os.getcwd(), locale.setlocale(locale.LC_ALL),
        [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)], sys.path, sys.excepthook,
    ])

before = state()
import spansrl, spansrl.formats, spansrl.evaluation, spansrl.inference.pipeline, spansrl.corpora.ewt
print(state() == before)
"""
    done = python(program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
