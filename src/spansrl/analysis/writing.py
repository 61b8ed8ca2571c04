"""The files of a report: a page, a Markdown file, tables as CSV and LaTeX, figures as SVG, PDF and PNG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from spansrl.analysis.charts import FORMATS, can_draw, render
from spansrl.analysis.page import report_page
from spansrl.analysis.tables import Section, hidden_rows, table_csv, table_latex, table_markdown
from spansrl.errors import FormatError
from spansrl.formats.files import open_outputs
from spansrl.visualize.characters import visible

PAGE = "report.html"
MARKDOWN = "report.md"


def write_report(out: Path, title: str, facts: Mapping[str, str], sections: Sequence[Section]) -> list[str]:
    """Write all sections that were not skipped, atomically; return the names of the files in `out`."""
    sections = [section for section in sections if not section.skipped]
    texts = {PAGE: report_page(title, facts, sections), MARKDOWN: report_markdown(title, facts, sections)}
    for section in sections:
        for table in section.tables:
            texts |= {
                f"tables/{table.name}.csv": table_csv(table),
                f"tables/{table.name}.tex": table_latex(table),
            }
    contents = {name: text.encode() for name, text in texts.items()}
    for picture in (picture for section in sections for picture in section.pictures if can_draw()):
        files = render(picture.chart)
        contents |= {f"figures/{picture.name}.{format}": files[format] for format in FORMATS}
    _make_folders(out, contents)
    with open_outputs(out, list(contents)) as outputs:
        for output, content in zip(outputs, contents.values(), strict=True):
            output.write(content)
    return list(contents)


def report_markdown(title: str, facts: Mapping[str, str], sections: Sequence[Section]) -> str:
    """Every table, and links to the figures."""
    blocks = [f"# {visible(title)}", "\n".join(visible(f"- {key}: {value}") for key, value in facts.items())]
    for section in sections:
        blocks += [f"## {section.title}", visible(section.intro)]
        for table in section.tables:
            shown = table_markdown(table) if table.shown != 0 else ""
            notes = (visible(table.note), hidden_rows(table))
            blocks += [f"### {visible(table.title)}", shown.rstrip("\n"), *notes]
        if can_draw():
            blocks += [f"![{visible(own.title)}](figures/{own.name}.svg)" for own in section.pictures]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _make_folders(out: Path, names: Mapping[str, bytes]) -> None:
    for folder in {(out / name).parent for name in names}:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"cannot be created: {error.strerror or error}; choose another --out"
            raise FormatError(message, path=str(folder)) from error
