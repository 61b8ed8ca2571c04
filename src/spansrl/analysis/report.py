"""The files of a report: a page, a Markdown file, tables as CSV and LaTeX, figures as SVG, PDF and PNG.

The HTML page contains its style, script and figures. Everything in it that comes with the data is escaped,
and it makes no requests.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from spansrl import __version__
from spansrl.analysis.charts import FORMATS, can_draw, render
from spansrl.analysis.tables import (
    NOTHING,
    ExampleList,
    Part,
    Picture,
    Section,
    Table,
    TaggedExample,
    hidden_rows,
    table_csv,
    table_latex,
    table_markdown,
)
from spansrl.errors import FormatError
from spansrl.formats.text_files import open_outputs
from spansrl.visualize import STYLE, sentence_html
from spansrl.visualize.printable import visible

PAGE = "report.html"
MARKDOWN = "report.md"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


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
        drawn = render(picture.chart)
        contents |= {f"figures/{picture.name}.{format}": drawn[format] for format in FORMATS}
    for folder in {(out / name).parent for name in contents}:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"cannot be created: {error.strerror or error}; choose another --out"
            raise FormatError(message, path=str(folder)) from error
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


def report_page(title: str, facts: Mapping[str, str], sections: Sequence[Section]) -> str:
    """The whole page; `facts` lists what was analyzed."""
    own = files("spansrl.analysis")
    style = own.joinpath("page.css").read_text("utf-8") + STYLE
    links = "".join(f'<li><a href="#{section.name}">{escape(section.title)}</a></li>' for section in sections)
    terms = "".join(f"<dt>{_shown(key)}</dt><dd>{_shown(value)}</dd>" for key, value in facts.items())
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{_shown(title)}</title>\n<link rel="icon" href="data:,">\n'
        f"<style>\n{style}</style>\n</head>\n<body>\n"
        f"<header><h1>{_shown(title)}</h1><dl>{terms}</dl></header>\n<nav><ul>{links}</ul></nav>\n<main>\n"
        + "\n".join(map(_section, sections))
        + f"\n</main>\n<footer>Written by spansrl {__version__}.</footer>\n"
        f"<script>\n{own.joinpath('page.js').read_text('utf-8')}</script>\n</body>\n</html>\n"
    )


def _section(section: Section) -> str:
    intro = f"<p>{_shown(section.intro)}</p>" if section.intro else ""
    parts = "\n".join(map(_part, section.parts, (None, *section.parts)))
    return f'<section id="{section.name}">\n<h2>{_shown(section.title)}</h2>\n{intro}\n{parts}\n</section>'


def _part(part: Part, before: Part | None) -> str:
    if isinstance(part, Table):
        return _table(part)
    if isinstance(part, ExampleList):
        return _examples(part)
    return _picture(part, captioned=not (isinstance(before, Table) and before.title == part.title))


def _table(table: Table) -> str:
    texts = table.texts()[: table.shown]
    numbers = [all(_is_number(row[k]) for row in texts) for k in range(len(table.columns))]
    head = "".join(
        f"<th{_number(number)}>{_shown(column.name)}</th>"
        for column, number in zip(table.columns, numbers, strict=True)
    )
    tags = table.tags or ("",) * len(texts)
    before: list[str] = []
    rows = []
    for row, tag in zip(texts, tags, strict=False):
        same = bool(before) and row[: table.grouped] == before[: table.grouped] and table.grouped > 0
        shown = ["" if same and k < table.grouped else text or NOTHING for k, text in enumerate(row)]
        cells = "".join(
            f"<td{_number(number)}>{_shown(text)}</td>" for text, number in zip(shown, numbers, strict=True)
        )
        group = ' class="new-group"' if table.grouped and not same else ""
        rows.append(f"<tr{group}{_find(tag)}>{cells}</tr>")
        before = row
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    notes = "".join(
        f'<p class="note">{_shown(note)}</p>' for note in (table.note, hidden_rows(table)) if note
    )
    grid = f'<div class="scroll"><table id="table-{table.name}">{body}</table></div>' if texts else ""
    return f"<h3>{_shown(table.title)}</h3>\n{grid}{notes}"


def _picture(picture: Picture, *, captioned: bool) -> str:
    """The figure; one that shows the table before it needs no caption."""
    if not can_draw():
        return ""
    image = b64encode(render(picture.chart)["svg"]).decode()
    note = f'<p class="note">{_shown(picture.note)}</p>' if picture.note else ""
    caption = f"<figcaption>{_shown(picture.title)}</figcaption>" if captioned else ""
    named = f'id="picture-{picture.name}" aria-label="{_shown(picture.title)}"'
    shown = f'<img src="data:image/svg+xml;base64,{image}" alt="{_shown(picture.title)}">'
    return f"<figure {named}>{caption}{shown}</figure>{note}"


def _examples(part: ExampleList) -> str:
    tags = dict.fromkeys(tag for item in part.items for tag in item.tags)
    options = "".join(f'<option value="{_shown(tag)}">' for tag in tags)
    search = (
        '<div class="search"><input id="search" type="search" list="tags" aria-label="Search the examples" '
        'placeholder="words, labels, or a kind of error"><button type="button" id="all">Show all</button>'
        '<span id="found" class="note" aria-live="polite"></span></div>'
        f'<datalist id="tags">{options}</datalist>'
    )
    note = f'<p class="note">{_shown(part.note)}</p>' if part.note else ""
    return note + search + "\n".join(map(_example, part.items))


def _example(example: TaggedExample) -> str:
    tags = "".join(
        f'<button type="button" class="tag"{_find(tag)}>{_shown(tag)}</button>' for tag in example.tags
    )
    roles = dict.fromkeys(arg.role for prop in example.sentence.props for arg in prop.args)
    words = " ".join([example.title, *example.tags, *roles, *example.sentence.tokens]).lower()
    return (
        f'<article class="example" data-text="{_shown(words)}"><h4>{_shown(example.title)}</h4>'
        f"<p>{tags}</p>{sentence_html(example.sentence)}</article>"
    )


def _find(tag: str) -> str:
    return f' data-find="{_shown(tag)}"' if tag else ""


def _number(number: bool) -> str:
    return ' class="number"' if number else ""


def _is_number(text: str) -> bool:
    try:
        float(text or "0")
    except ValueError:
        return False
    return True


def _shown(text: str) -> str:
    return escape(visible(text))
