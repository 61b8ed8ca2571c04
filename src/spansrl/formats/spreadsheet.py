"""Tables as Excel workbooks, written as a stream."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO
from xml.sax.saxutils import escape

from spansrl.errors import DataError

MOST_ROWS = 1_048_576  # of a sheet, the header included
_LONGEST_CELL = 32_767
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"

_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_TYPE}.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
    '<sheet name="spansrl" sheetId="1" r:id="rId1"/></sheets></workbook>',
}
_HEADER = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'


def write_workbook(stream: BinaryIO, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a workbook of one sheet; raises DataError for more rows than a sheet holds."""
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in _PARTS.items():
            archive.writestr(zipfile.ZipInfo(name), _HEADER + content, zipfile.ZIP_DEFLATED)
        with archive.open(zipfile.ZipInfo("xl/worksheets/sheet1.xml"), "w", force_zip64=True) as sheet:
            sheet.write(f'{_HEADER}<worksheet xmlns="{_MAIN}"><sheetData>'.encode())
            for number, row in enumerate(_with_header(columns, rows), 1):
                if number > MOST_ROWS:
                    raise DataError(
                        f"an Excel sheet holds {MOST_ROWS:,} rows; write .csv or .parquet instead"
                    )
                sheet.write(f'<row r="{number}">{"".join(map(_cell, row))}</row>'.encode())
            sheet.write(b"</sheetData></worksheet>")


def _with_header(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    yield columns
    yield from rows


def _cell(value: Any) -> str:
    if value is None:
        return "<c/>"
    if isinstance(value, bool):
        return f'<c t="b"><v>{value:d}</v></c>'
    if isinstance(value, (int, float)):
        return f"<c><v>{value}</v></c>"
    text = escape(_FORBIDDEN.sub("\ufffd", str(value))[:_LONGEST_CELL])
    return f'<c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'
