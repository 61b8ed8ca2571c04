"""docs/corpora-at-scale.md: its recipes run, its columns are those of the rows, its table is computed."""

from __future__ import annotations

import doctest
import importlib.util
import re
import sys
from pathlib import Path

import pytest

from spansrl.cli import cli
from spansrl.inference.loading import shipped_model
from spansrl.jobs.rows import ARGUMENT_COLUMNS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "corpora-at-scale.md").read_text(encoding="utf-8")


@pytest.mark.skipif(not shipped_model().is_dir(), reason="no model in the package")
def test_the_recipes_show_what_happens(tmp_path, monkeypatch):
    pytest.importorskip("duckdb", reason="the recipes query with DuckDB")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPANSRL_HOME", str(tmp_path / "home"))
    names: dict[str, object] = {}
    commands = 0
    for language, block in re.findall(r"^```(pycon|sh)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE):
        if language == "pycon":
            test = doctest.DocTestParser().get_doctest(block, names, "page", "corpora-at-scale.md", 0)
            report: list[str] = []
            result = doctest.DocTestRunner().run(test, out=report.append, clear_globs=False)
            assert result.attempted
            assert not result.failed, "".join(report)
            names = test.globs
        elif block.startswith("spansrl corpus"):
            cli(block.split()[1:], standalone_mode=False)
            commands += 1
    assert commands == 1


def test_the_table_of_columns_is_complete():
    section = PAGE.partition("## Rows")[2].partition("\n## ")[0]
    first_cells = "".join(re.findall(r"^\| ([^|]*`[^|]*) \|", section, re.MULTILINE))
    assert re.findall(r"`(\w+)`", first_cells) == list(ARGUMENT_COLUMNS)


def test_the_table_of_sizes_is_computed_from_the_measured_rate(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    spec = importlib.util.spec_from_file_location("benchmarks_corpus", ROOT / "benchmarks" / "corpus.py")
    assert spec is not None
    assert spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = benchmark
    spec.loader.exec_module(benchmark)
    del sys.modules[spec.name]
    assert benchmark.sizing(benchmark.MEASURED) in PAGE
    assert f"{benchmark.MEASURED.per_core_hour:,} sentences per core-hour" in PAGE
