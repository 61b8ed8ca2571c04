"""The files of a report: one page, one Markdown file, a CSV file a table, an SVG file a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from spansrl.analysis.drawing import standalone
from spansrl.analysis.page import report_page
from spansrl.analysis.tables import Section, hidden_rows, table_csv, table_markdown
from spansrl.errors import FormatError
from spansrl.formats.files import open_outputs
from spansrl.visualize.characters import visible

PAGE = "report.html"
MARKDOWN = "report.md"


def write_report(out: Path, title: str, facts: Mapping[str, str], sections: Sequence[Section]) -> list[str]:
    """Write everything, all or nothing; returns the names of the files below `out`."""
    contents = {PAGE: report_page(title, facts, sections), MARKDOWN: report_markdown(title, facts, sections)}
    for section in sections:
        contents |= {f"tables/{table.name}.csv": table_csv(table) for table in section.tables}
        contents |= {f"pictures/{picture.name}.svg": standalone(picture.svg) for picture in section.pictures}
    _make_folders(out, contents)
    with open_outputs(out, list(contents)) as outputs:
        for output, content in zip(outputs, contents.values(), strict=True):
            output.write(content.encode())
    return list(contents)


def report_markdown(title: str, facts: Mapping[str, str], sections: Sequence[Section]) -> str:
    """Every table, and links to the pictures' files."""
    blocks = [f"# {visible(title)}", "\n".join(visible(f"- {key}: {value}") for key, value in facts.items())]
    for section in sections:
        blocks += [f"## {section.title}", visible(section.left_out or section.intro)]
        for table in section.tables:
            shown = table_markdown(table) if table.shown != 0 else ""
            notes = (visible(table.note), hidden_rows(table))
            blocks += [f"### {visible(table.title)}", shown.rstrip("\n"), *notes]
        blocks += [
            f"![{visible(picture.title)}](pictures/{picture.name}.svg)" for picture in section.pictures
        ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _make_folders(out: Path, names: Mapping[str, str]) -> None:
    for folder in {(out / name).parent for name in names}:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"cannot be made: {error.strerror or error}; choose another --out"
            raise FormatError(message, path=str(folder)) from error
