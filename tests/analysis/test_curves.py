from __future__ import annotations

import json

import pytest

from spansrl.analysis.curves import curves, read_log, terminal_chart
from spansrl.errors import DataError, FormatError

RECORDS = [
    {"epoch": k, "loss": 1 / k, "dev_f1": f1} for k, f1 in enumerate((40.0, 55.0, 60.0, 58.0), start=1)
]


def test_a_log_is_read_line_by_line(tmp_path):
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    assert read_log(tmp_path) == RECORDS


def test_a_missing_a_broken_and_an_empty_log_are_errors(tmp_path):
    with pytest.raises(FormatError, match="cannot be read"):
        read_log(tmp_path)
    (tmp_path / "log.jsonl").write_text("{}\n{")
    with pytest.raises(FormatError, match=r"log.jsonl:2: expected a JSON object"):
        read_log(tmp_path)
    (tmp_path / "log.jsonl").write_text("")
    with pytest.raises(DataError, match="not finished an epoch"):
        read_log(tmp_path)


def test_the_section_has_the_best_epoch_and_a_line_per_run():
    section = curves({"a": RECORDS, "b": RECORDS[:2]})
    (table,) = section.tables
    assert table.rows[0] == ("a", 4, 3, 60.0, 58.0, 0.25)
    (picture,) = section.pictures
    assert [title for title, _ in picture.chart.panels] == ["F1 on the development set", "training loss"]
    assert picture.chart.panels[0][1][1] == ("b", ((1.0, 40.0), (2.0, 55.0)))


def test_the_chart_for_a_terminal_has_a_column_per_epoch():
    lines = terminal_chart(RECORDS, height=3).splitlines()
    assert lines[0] == "  60.00 ┤ ▂█▆"
    assert lines[2] == "  40.00 ┤▁███"
    assert lines[3].endswith("epochs 1 to 4: dev_f1")
    assert terminal_chart(RECORDS, ascii_only=True).isascii()
    assert terminal_chart([{"epoch": 1}]) == ""
    assert terminal_chart(RECORDS[:1]).count("\n") == 6
