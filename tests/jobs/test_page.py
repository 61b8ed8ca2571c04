"""docs/corpora-at-scale.md: its columns are those of the rows, its table is computed."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

from spansrl.inference.loading import shipped_model
from spansrl.structures import ROW_COLUMNS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "corpora-at-scale.md").read_text(encoding="utf-8")


def test_the_table_of_columns_is_complete():
    section = PAGE.partition("## Rows")[2].partition("\n## ")[0]
    first_cells = "".join(re.findall(r"^\| ([^|]*`[^|]*) \|", section, re.MULTILINE))
    assert re.findall(r"`(\w+)`", first_cells) == list(ROW_COLUMNS)


@pytest.fixture
def benchmark(monkeypatch):
    """benchmarks/corpus.py as a module."""
    pytest.importorskip("pyarrow", reason="it measures Parquet too")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    spec = importlib.util.spec_from_file_location("benchmarks_corpus", ROOT / "benchmarks" / "corpus.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_figures_are_those_of_the_result_that_was_kept(benchmark):
    result = json.loads(benchmark.RESULT.read_text())
    assert f"{benchmark.BEGIN}{benchmark.page_section(result)}{benchmark.END}" in PAGE
    assert f"**{benchmark.core_hour(result):,} sentences per core-hour**" in PAGE


def test_the_page_follows_the_result(benchmark, tmp_path, monkeypatch):
    result = json.loads(benchmark.RESULT.read_text())
    result["runs"][0]["per_core_hour"] = 100_000
    for name, text in (("RESULT", json.dumps(result)), ("PAGE", PAGE)):
        monkeypatch.setattr(benchmark, name, tmp_path / name)
        (tmp_path / name).write_text(text)
    benchmark.main(["--page"])
    page = (tmp_path / "PAGE").read_text()
    assert "**100,000 sentences per core-hour**" in page
    assert "| 1,000,000 | 10 | 2 | 5.0 h |" in page
    assert page.partition("## What a job costs")[0] == PAGE.partition("## What a job costs")[0]


@pytest.mark.skipif(not shipped_model().is_dir(), reason="no model in the package")
def test_the_benchmark_measures_jobs(benchmark, tmp_path, capsys):
    data = tmp_path / "data.jsonl"
    data.write_text(
        "".join(json.dumps({"text": f"Ann sold {k} letters. Bob left."}) + "\n" for k in range(90))
    )
    arguments = ["--sentences", "100", "--workers", "1", "--shard-chars", "300"]
    benchmark.main(["--data", str(data), *arguments])
    printed = capsys.readouterr().out
    result = json.loads(printed[printed.index("\n{") :])
    (run,) = result["runs"]
    assert (result["documents"], result["sentences"]) == (50, 100)
    assert 0 < run["start_up"] < run["seconds"]
    assert run["per_core_hour"] > 0
    assert [len(points) > 2 for points in run["memory"]] == [True]
