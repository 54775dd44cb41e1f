"""Tables as an Excel workbook, written directly: openpyxl takes longer to import than a page.

The same tables give the same bytes. No cell can be a formula.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

Cell = str | float | int | bool | None
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml."
_FROZEN = (
    '<sheetViews><sheetView workbookViewId="0"><pane xSplit="1" ySplit="1" topLeftCell="B2" '
    'activePane="bottomRight" state="frozen"/></sheetView></sheetViews>'
)
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot contain."""


def workbook_of(sheets: Mapping[str, Sequence[Sequence[Cell]]]) -> bytes:
    """A workbook of these sheets; first row and first column of the first sheet stay visible."""
    numbers = range(1, len(sheets) + 1)
    pages = [f"xl/worksheets/sheet{n}.xml" for n in numbers]
    rows = list(sheets.values())
    named = "".join(
        f'<sheet name={quoteattr(name)} sheetId="{n}" r:id="rId{n}"/>'
        for n, name in zip(numbers, sheets, strict=True)
    )
    parts = {
        "[Content_Types].xml": _content_types(pages),
        "_rels/.rels": _relations({"rId1": ("officeDocument", "xl/workbook.xml")}),
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}">'
        f"<sheets>{named}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": _relations(
            {f"rId{n}": ("worksheet", f"worksheets/sheet{n}.xml") for n in numbers}
        ),
        **{page: _sheet(rows[i], frozen=i == 0) for i, page in enumerate(pages)},
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            info = zipfile.ZipInfo(name, (1985, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, _HEAD + content)
    return file.getvalue()


def _content_types(pages: Sequence[str]) -> str:
    kinds = {"/xl/workbook.xml": "sheet.main"} | {f"/{page}": "worksheet" for page in pages}
    overrides = "".join(
        f'<Override PartName="{name}" ContentType="{_KIND}{kind}+xml"/>'
        for name, kind in kinds.items()
    )
    relations = "application/vnd.openxmlformats-package.relationships+xml"
    return (
        f'<Types xmlns="{_TYPES}"><Default Extension="rels" ContentType="{relations}"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{overrides}</Types>'
    )


def _relations(targets: Mapping[str, tuple[str, str]]) -> str:
    links = "".join(
        f'<Relationship Id="{key}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for key, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="{_RELATIONS}">{links}</Relationships>'


def _sheet(rows: Sequence[Sequence[Cell]], frozen: bool) -> str:
    lines = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in rows)
    return (
        f'<worksheet xmlns="{_MAIN}">{_FROZEN if frozen else ""}'
        f"<sheetData>{lines}</sheetData></worksheet>"
    )


def _cell(value: Cell) -> str:
    if value is None:
        return "<c/>"
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        return f"<c><v>{value!r}</v></c>"
    text = escape(_FORBIDDEN.sub("\ufffd", value))
    return f'<c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'
