"""Settings: strict, typed, overridable, documented."""

from __future__ import annotations

import ast
import inspect
import json
import re
import tokenize
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spansrl.errors import ConfigError
from spansrl.inference import config as model_settings
from spansrl.training import run_config as training_settings
from spansrl.training.run_config import SECTIONS, Config, config_from_dict, load_config

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = sorted((ROOT / "configs").glob("*.toml"))
PAGE = ROOT / "docs" / "training.md"


@pytest.fixture
def toml(tmp_path):
    """Writes a config and returns its path."""

    def write(text: str) -> Path:
        path = tmp_path / "my.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


# Reading.


def test_an_empty_config_is_the_papers_settings(toml):
    config = load_config(toml(""))
    assert config == Config()
    assert (config.encoder.layers, config.encoder.width, config.encoder.mark_width) == (4, 300, 50)
    assert (config.training.epochs, config.training.batch_size, config.training.rate) == (100, 32, 1e-3)
    assert (config.training.l2, config.encoder.dropout, config.training.schedule) == (1e-4, 0.1, "halve")
    assert (config.output.kind, config.output.span_end, config.output.decoder) == ("span", "last", "greedy")


def test_a_config_survives_being_written_as_plain_values(toml):
    config = load_config(toml('[output]\nkind = "crf"\n[training]\nseed = 7\nrate = 0.5\n'))
    assert config_from_dict(config.to_dict()) == config


def test_whole_numbers_do_where_numbers_are_wanted(toml):
    config = load_config(toml("[training]\nrate = 1\n"))
    assert config.training.rate == 1.0
    assert isinstance(config.training.rate, float)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[training]\nepoch = 3\n", r"my.toml: unknown setting training.epoch; \[training\] has epochs, "),
        ("[train]\nepochs = 3\n", r"my.toml: unknown section \[train\]. Choose from: embedder, encoder"),
        ("training = 3\n", r"my.toml: 'training' must be a section \[training\]"),
        ("[training]\nepochs = '3'\n", r"training.epochs must be a whole number, found '3'"),
        ("[training]\nepochs = 3.0\n", r"training.epochs must be a whole number, found 3.0"),
        ("[training]\nepochs = true\n", r"training.epochs must be a whole number, found True"),
        ("[training]\nrate = 'fast'\n", r"training.rate must be a number, found 'fast'"),
        ("[training]\nrate = true\n", r"training.rate must be a number, found True"),
        ("[training]\nrate = nan\n", r"training.rate must be a number, found nan"),
        ("[training]\nclip = inf\n", r"training.clip must be a number, found inf"),
        (f"[training]\nrate = 1{'0' * 400}\n", r"training.rate must be a number, found 1000"),
        ("[embedder]\nfinetune = 1\n", r"embedder.finetune must be true or false, found 1"),
        ("[embedder]\nkind = 5\n", r"embedder.kind must be a string, found 5"),
        ("[training]\npartial = [1]\n", r"training.partial must be a list of strings, found \[1\]"),
        ("[training]\npartial_share = 'a'\n", r"training.partial_share must be a list of numbers, found"),
        ("[training\n", r"my.toml: not a TOML file: "),
    ],
)
def test_a_wrong_config_is_refused_naming_the_setting(toml, text, message):
    with pytest.raises(ConfigError, match=message) as caught:
        load_config(toml(text))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[training]\nepochs = 0\n", r"training.epochs must be at least 1; found 0"),
        ("[training]\nbatch_size = -1\n", r"training.batch_size must be at least 1; found -1"),
        ("[training]\nrate = -1.0\n", r"training.rate must be at least 0; found -1.0"),
        ("[training]\nwarmup = 1.5\n", r"training.warmup must lie between 0.0 and 1.0; found 1.5"),
        ("[training]\nseed = -1\n", r"training.seed must lie between 0 and "),
        (
            "[training]\nschedule = 'cosine'\n",
            r"training.schedule must be one of halve, linear; found 'cosine'",
        ),
        ("[encoder]\ndropout = 1.0\n", r"encoder.dropout must lie between 0.0 and 0.95"),
        ("[encoder]\nwidth = 1000000000\n", r"encoder.width must lie between 1 and 20000; found 1000000000"),
        ("[encoder]\nlayers = 0\n", r"encoder.layers must lie between 1 and 20000"),
        ("[encoder]\nkind = 'none'\n", r"set encoder.predicate = 'after'"),
        ("[embedder]\nkind = 'vectors'\n", r"embedder.kind = 'vectors' needs embedder.path"),
        ("[embedder]\nkind = 'transformer'\n", r"embedder.kind = 'transformer' needs embedder.path"),
        (
            "[embedder]\nkind = 'elmo'\n",
            r"embedder.kind = 'elmo' needs embedder.path or embedder.precomputed",
        ),
        (
            "[embedder]\nkind = 'elmo'\nprecomputed = 'p'\n[training]\npartial = 'x.jsonl'\n",
            r"training.partial needs an encoder",
        ),
        ("[embedder]\nfinetune = true\n", r"embedder.finetune is for transformers"),
        (
            "[output]\nkind = 'bio'\n",
            r"output.kind must be one of span, segmental, label, crf, softmax; found 'bio'",
        ),
        ("[output]\ndecoder = 'viterbi'\n", r"output.decoder must be one of greedy, argmax, exact"),
    ],
)
def test_settings_that_make_no_sense_are_refused(toml, text, message):
    with pytest.raises(ConfigError, match=message):
        load_config(toml(text))


def test_a_list_may_be_a_string_with_commas_as_in_older_configs(toml):
    as_lists = "[training]\npartial = ['a.jsonl', 'b.jsonl']\npartial_share = [1, 0.5]\n"
    as_strings = "[training]\npartial = 'a.jsonl, b.jsonl'\npartial_share = '1, 0.5'\n"
    config = load_config(toml(as_lists))
    assert load_config(toml(as_strings)) == config
    assert config_from_dict(json.loads(json.dumps(config.to_dict()))) == config
    assert config.training.partial_shares == (1.0, 0.5)
    override = ["training.partial=a.jsonl,b.jsonl", "training.partial_share=0.25"]
    assert load_config(toml(""), override).training.partial_shares == (0.25, 0.25)


def test_a_config_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"none.toml: cannot read the config: No such file or directory"):
        load_config(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match=r"cannot read the config: Is a directory"):
        load_config(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9\n")
    with pytest.raises(ConfigError, match=r"latin.toml: not a TOML file"):
        load_config(tmp_path / "latin.toml")


# Overrides.


def test_overrides_are_read_as_the_setting_needs_them(toml):
    overrides = (
        "training.seed=2",
        "training.rate = 1e-4",
        "training.clip=5",
        "embedder.kind=transformer",
        "embedder.path=models/2024-01-01",
        'output.kind="crf"',
        "embedder.finetune=true",
    )
    config = load_config(toml("[training]\nseed = 1\nepochs = 3\n"), overrides)
    assert (config.training.seed, config.training.rate, config.training.clip) == (2, 1e-4, 5.0)
    assert (config.embedder.path, config.embedder.finetune) == ("models/2024-01-01", True)
    assert (config.output.kind, config.training.epochs) == ("crf", 3)


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1).map(str.strip))
def test_a_string_needs_no_quotes_whatever_it_looks_like(text):
    if text and not text.startswith(("'", '"')):
        raw = training_settings.with_overrides({}, [f"embedder.path={text}"])
        assert raw == {"embedder": {"path": text}}


def test_the_last_of_several_overrides_counts(toml):
    assert load_config(toml(""), ["training.seed=2", "training.seed=3"]).training.seed == 3


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("seed=2", r"^--set seed=2: expected section.key=value, for example --set training.seed=2$"),
        ("training.seed", r"^--set training.seed: expected section.key=value"),
        ("=2", r"^--set =2: expected section.key=value"),
        ("", r"^--set : expected section.key=value"),
        ("train.seed=2", r"^--set train.seed=2: unknown section 'train'. Choose from: embedder, encoder,"),
        ("training.sed=2", r"^--set training.sed=2: unknown setting 'sed'; \[training\] has epochs, "),
        ("training.seed.x=2", r"unknown setting 'seed.x'"),
        ("training.seed=two", r"^training.seed must be a whole number, found 'two'$"),
        ("training.seed=", r"^training.seed must be a whole number, found ''$"),
        ("embedder.finetune=True", r"^embedder.finetune must be true or false, found 'True'$"),
        ("training.epochs=0", r"^training.epochs must be at least 1; found 0$"),
    ],
)
def test_a_wrong_override_is_refused(toml, override, message):
    with pytest.raises(ConfigError, match=message):
        load_config(toml(""), [override])


# What is shipped, and what is written about it.


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_every_shipped_config_loads(path):
    load_config(path)


def test_the_page_names_every_shipped_config():
    table = PAGE.read_text(encoding="utf-8").split("## Configs")[1].split("## Settings")[0]
    named = re.findall(r"`([\w-]+\.toml)`", table)
    assert sorted(named) == [path.name for path in CONFIGS]


def settings_tables() -> str:
    """A table a section, from the dataclasses and the comments on their fields."""
    comments = field_comments()
    lines = []
    for name, kind in SECTIONS.items():
        lines += [f"### [{name}]", "", inspect.getdoc(kind) or "", "", "| setting | default | meaning |"]
        lines += ["| --- | --- | --- |"]
        for key, value in Config().to_dict()[name].items():
            shown = {True: "true", False: "false"}.get(value) if isinstance(value, bool) else None
            if isinstance(value, tuple):
                shown = str([*map(int, value)])
            default = shown or (f'"{value}"' if isinstance(value, str) else f"{value:g}")
            meaning = comments[kind.__name__, key].replace("|", "·")
            lines.append(f"| `{key}` | `{default}` | {meaning} |")
        lines.append("")
    return "\n".join(lines)


def field_comments() -> dict[tuple[str, str], str]:
    """(class, field) -> the comment on the field's line."""
    found = {}
    for module in (model_settings, training_settings):
        found |= comments_in(inspect.getsource(module))
    return found


def comments_in(source: str) -> dict[tuple[str, str], str]:
    tokens = tokenize.generate_tokens(StringIO(source).readline)
    by_line = {
        token.start[0]: token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT
    }
    return {
        (node.name, item.target.id): by_line[item.lineno]
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef) and node.name in {kind.__name__ for kind in SECTIONS.values()}
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    }


def test_the_page_describes_every_setting_as_the_code_does():
    start, end = (
        "<!-- settings: from inference/config.py and training/run_config.py -->\n",
        "<!-- end of settings -->",
    )
    written = PAGE.read_text(encoding="utf-8").split(start)[1].split(end)[0]
    assert written == settings_tables(), f"put this between the marks in {PAGE.name}:\n{settings_tables()}"
