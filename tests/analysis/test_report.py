"""The report's files, and its page in a real browser."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from cases import GOLD, SPAN, make_inputs
from test_model_sections import TRAINING, with_vectors

from browser import console_errors, requested_urls
from spansrl.analysis import SECTIONS, Inputs, ReportSettings, build_sections, make_system, write_report
from spansrl.analysis.charts import FORMATS
from spansrl.errors import FormatError
from spansrl.formats import write_sentences

pytest.importorskip("matplotlib")  # the extra analysis

EVIL = '<script>alert("x")</script>'


@pytest.fixture
def report(tmp_path):
    """A report with every section that the small corpus allows, embeddings too."""
    inputs = with_vectors(
        make_inputs(train=TRAINING, settings=ReportSettings(samples=50, min_count=1, neighbors=2))
    )
    inputs.model.rows = np.array([[1, 0], [0, 1], [1, 1], [0.5, 1], [-1, 0.2]])
    sections = build_sections(inputs)
    assert not [section.name for section in sections if section.skipped]
    names = write_report(tmp_path, "A <report>", {"Gold": "gold & co"}, sections)
    return tmp_path, names, sections


def test_every_table_and_picture_has_a_file_and_there_are_no_others(report):
    folder, names, sections = report
    tables = {
        f"tables/{t.name}.{end}" for section in sections for t in section.tables for end in ("csv", "tex")
    }
    figures = {f"figures/{p.name}.{end}" for section in sections for p in section.pictures for end in FORMATS}
    assert set(names) == {"report.html", "report.md"} | tables | figures
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} == set(names)


def test_figures_are_files_of_their_format(report):
    folder, names, _ = report
    for name in names:
        if name.endswith(".svg"):
            root = ElementTree.parse(folder / name).getroot()
            assert root.tag == "{http://www.w3.org/2000/svg}svg"
        elif name.startswith("figures/"):
            magic = b"%PDF" if name.endswith(".pdf") else b"\x89PNG"
            assert (folder / name).read_bytes().startswith(magic)


def test_without_matplotlib_there_are_tables_and_no_figures(tmp_path, monkeypatch):
    monkeypatch.setattr("spansrl.analysis.report.can_draw", lambda: False)
    names = write_report(tmp_path, "t", {}, build_sections(make_inputs()))
    assert not [name for name in names if name.startswith("figures/")]
    assert "tables/overall.csv" in names
    text = (tmp_path / "report.html").read_text(encoding="utf-8") + (tmp_path / "report.md").read_text(
        "utf-8"
    )
    assert "figures/" not in text
    assert "<figure" not in text


def test_skipped_sections_are_not_in_the_report(tmp_path):
    write_report(tmp_path, "t", {}, build_sections(make_inputs()))
    for name in ("report.html", "report.md"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "Label embeddings" not in text
        assert "Span boundaries" in text


def test_the_markdown_has_every_table_and_links_every_picture(report):
    folder, names, sections = report
    text = (folder / "report.md").read_text(encoding="utf-8")
    for section in sections:
        assert all(f"### {table.title}\n" in text for table in section.tables)
    assert set(re.findall(r"\]\((figures/[^)]+)\)", text)) == {
        name for name in names if name.endswith(".svg")
    }


def test_the_page_shows_every_table_and_picture_and_makes_no_requests(report, browser):
    folder, _, sections = report
    address = (folder / "report.html").as_uri()
    browser.get(address)
    assert browser.title == "A <report>"
    assert [url for url in requested_urls(browser) if not url.startswith("data:")] == [address]
    assert console_errors(browser) == []
    for section in sections:
        for picture in section.pictures:
            box = browser.find_element("css selector", f"#picture-{picture.name} img").rect
            assert box["width"] > 100
            assert box["height"] > 80
        for table in section.tables:
            if table.rows and table.shown != 0:
                found = browser.find_elements("css selector", f"#table-{table.name} tbody tr")
                assert len(found) == len(table.rows[: table.shown])
    wide = browser.execute_script("return document.documentElement.scrollWidth - window.innerWidth")
    assert wide <= 0


def shown(browser):
    examples = browser.find_elements("css selector", ".example")
    return [example.find_element("css selector", "h4").text for example in examples if example.is_displayed()]


def test_examples_are_found_by_words_by_labels_and_by_the_cells_of_the_matrix(report, browser):
    folder, _, _ = report
    browser.get((folder / "report.html").as_uri())
    assert len(shown(browser)) == 3
    box = browser.find_element("id", "search")
    box.send_keys("BORDER today")
    assert shown(browser) == ["move · second"]
    box.clear()
    box.send_keys("am-tmp")
    assert shown(browser) == ["move · second"]
    browser.find_element("id", "all").click()
    assert len(shown(browser)) == 3
    cell = browser.find_element("css selector", '#table-confusion-2 [data-find="crf: A0 labeled A1"] td')
    browser.execute_script("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", cell)
    assert box.get_attribute("value") == "crf: A0 labeled A1"
    assert shown(browser) == ["start · first"]
    assert browser.find_element("id", "found").text == "1 of 3 examples"
    assert console_errors(browser) == []


def test_dark_and_print_are_readable(report, browser):
    folder, _, _ = report
    browser.get((folder / "report.html").as_uri())

    def colors():
        return browser.execute_script(
            "const body = getComputedStyle(document.body);return [body.backgroundColor, body.color]"
        )

    light = colors()
    dark_setting = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", dark_setting)
    dark = colors()
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    printed = colors()
    links_printed = browser.find_element("css selector", "nav").is_displayed()
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    assert light[0] == printed[0] == "rgb(255, 255, 255)"
    assert all(light[k] != dark[k] for k in range(2))
    assert not links_printed


def test_a_phone_need_not_scroll_sideways_whatever_the_names(tmp_path, browser):
    long = "a-name-without-end_" * 20
    sent = replace(GOLD[0], id=long, tokens=(long, *GOLD[0].tokens[1:]))
    wrong = replace(SPAN[0], tokens=sent.tokens, props=(replace(SPAN[0].props[0], args=()),))
    inputs = Inputs(
        [sent], [make_system(long, [sent], [wrong])], settings=ReportSettings(samples=10, min_count=1)
    )
    write_report(tmp_path, long, {"Gold": long}, build_sections(inputs))
    size = browser.get_window_size()
    browser.set_window_size(500, 900)
    browser.get((tmp_path / "report.html").as_uri())
    wide = browser.execute_script("return document.documentElement.scrollWidth - window.innerWidth")
    browser.set_window_size(size["width"], size["height"])
    assert wide <= 0


def test_data_is_shown_as_text_on_the_page(tmp_path, browser):
    sent = replace(GOLD[0], tokens=(EVIL, "start", "'\"", "&amp;", "\x1b[31m"), id=EVIL)
    wrong = replace(SPAN[0], tokens=sent.tokens, props=(replace(SPAN[0].props[0], args=()),))
    inputs = Inputs(
        [sent], [make_system(EVIL, [sent], [wrong])], settings=ReportSettings(samples=10, min_count=1)
    )
    write_report(tmp_path, EVIL, {EVIL: EVIL}, build_sections(inputs))
    text = (tmp_path / "report.html").read_text(encoding="utf-8")

    class Scripts(HTMLParser):
        count = 0

        def handle_starttag(self, tag, attrs):
            self.count += tag == "script"
            assert not [name for name, _ in attrs if name.startswith("on")]

    parser = Scripts()
    parser.feed(text)
    assert parser.count == 1
    browser.get((tmp_path / "report.html").as_uri())
    assert browser.title == EVIL
    assert console_errors(browser) == []
    assert "\x1b" not in text


def test_a_report_that_cannot_be_written_is_an_error_with_the_path(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FormatError, match=r"file.*: cannot be created: .*; choose another --out"):
        write_report(tmp_path / "file", "t", {}, [])


def test_the_same_input_makes_the_same_files(tmp_path):
    contents = []
    for name in ("a", "b"):
        names = write_report(tmp_path / name, "t", {}, build_sections(make_inputs()))
        contents.append([(tmp_path / name / file).read_bytes() for file in names])
    assert contents[0] == contents[1]


def test_the_code_of_the_documentation_runs(tmp_path, monkeypatch):
    page = Path(__file__).resolve().parents[2] / "docs" / "analysis.md"
    (code,) = re.findall(
        r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    monkeypatch.chdir(tmp_path)
    write_sentences("dev.jsonl", GOLD)
    write_sentences("predicted.jsonl", SPAN)
    exec(compile(code, "docs/analysis.md", "exec"), {})
    assert (tmp_path / "report" / "tables" / "repairs-1.csv").exists()


def test_the_documentation_names_every_section():
    page = Path(__file__).resolve().parents[2] / "docs" / "analysis.md"
    assert tuple(re.findall(r"^\| `(\w+)` \|", page.read_text(encoding="utf-8"), re.MULTILINE)) == SECTIONS
