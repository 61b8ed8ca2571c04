"""The tables of EXPERIMENTS.md are those that the kept results make."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("report", ROOT / "experiments" / "report.py")
report = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(report)
PAGE = (ROOT / "EXPERIMENTS.md").read_text(encoding="utf-8")


def test_the_page_is_up_to_date():
    assert report.updated(PAGE) == PAGE, "run python experiments/report.py"


def test_every_table_of_the_page_is_made_from_results_and_a_wrong_figure_is_put_right():
    assert {name for _, name, _ in report.BLOCK.findall(PAGE)} == set(report.TABLES)
    assert report.updated(PAGE.replace("| 79.72 |", "| 99.99 |", 1)) == PAGE


@pytest.mark.parametrize("name", report.TABLES)
def test_tables_have_rows_of_one_width(name):
    lines = report.TABLES[name]().splitlines()
    assert len(lines) > 2
    assert len({line.count("|") for line in lines}) == 1
