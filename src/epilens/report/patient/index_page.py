"""Index of the pages of localized patients: one row per patient."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from epilens.core.errors import DataError
from epilens.core.html_repr import SIMULATED, as_text
from epilens.data.channels.contacts import short_names
from epilens.data.user_files import natural
from epilens.report.patient.bids_text import DISCLAIMER
from epilens.report.patient.derivative import files_of

STYLE = files("epilens.report.patient") / "app.css"
"""Style of the index and of the review's pages."""
_PAGE = re.compile(r"sub-[A-Za-z0-9]{1,40}")
_LARGEST_SIDECAR = 5_000_000
_SERVED_STYLE = '<link rel="stylesheet" href="static/app.css">'


def list_reports(folder: Path) -> list[str]:
    """Return the patients with a page, in natural order; links are not followed."""
    pages = [p.stem for p in folder.glob("sub-*.html") if p.is_file() and not p.is_symlink()]
    return sorted((name for name in pages if _PAGE.fullmatch(name)), key=natural)


def index_page(folder: Path, style: str = _SERVED_STYLE, after: str = "") -> str:
    """Return the index as HTML; `style` and markup after the table can be given."""
    summaries = {name: read_summary(folder, name) for name in list_reports(folder)}
    rows = "\n".join(_row(name, summary) for name, summary in summaries.items())
    simulated = all(summary.simulated for summary in summaries.values())
    note = f'<p class="simulated">{as_text(SIMULATED)}</p>\n' if simulated else ""
    head = "".join(f"<th>{title}</th>" for title in _TITLES)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>EpiLENS: localized patients</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">{style}</head>
<body><p class="disclaimer">{as_text(DISCLAIMER)}</p>
<main><h1>Localized patients</h1>
{note}<table class="cards"><thead><tr>{head}</tr></thead>
<tbody>
{rows}
</tbody></table>{after}</main></body></html>
"""


_TITLES = ("Patient", "Scores from", "Seizures", "Top contacts", "Main caution")


@dataclass(frozen=True)
class PatientSummary:
    """Summary of a patient in the index."""

    source: str
    seizures: str
    leading: str
    to_know: str
    simulated: bool = False

    @property
    def cells(self) -> tuple[str, ...]:
        """Cells in the order of the columns after the patient."""
        return (self.source, self.seizures, self.leading, self.to_know)


def _row(name: str, summary: PatientSummary) -> str:
    link = f'<a href="{as_text(name)}.html">{as_text(name)}</a>'
    cells = [link, *(as_text(cell[:500]) for cell in summary.cells)]
    return (
        "<tr>"
        + "".join(
            f'<td data-title="{title}">{cell}</td>'
            for title, cell in zip(_TITLES, cells, strict=True)
        )
        + "</tr>"
    )


def read_summary(folder: Path, name: str) -> PatientSummary:
    """Return the summary of a patient; unreadable files affect this row only."""
    try:
        return _read_summary(folder, name)
    except Exception:  # the files may contain anything
        return PatientSummary("–", "–", "–", "the table next to this page cannot be read")


def _read_summary(folder: Path, name: str) -> PatientSummary:
    """Return the summary from the sidecar and the table next to a page."""
    _, table, sidecar = files_of(name)
    about = json.loads(_read_inside(folder, folder / sidecar))
    lines = _read_inside(folder, folder / table).splitlines()[1:]
    # From all contacts: a name is shortened only where it stays unique.
    leading = short_names([line.split("\t")[0] for line in lines])[:5]
    cautions, simulated = about["Cautions"], bool(about.get("Simulated"))
    first = "simulated patient; " if simulated else ""
    first += "model trained on simulated patients; " if about.get("TrainedOnSimulated") else ""
    first += "abstained: " if about["Abstained"] else ""
    caution = first + str(cautions[0] if cautions else "–")
    seizures = str(len(about["Seizures"]))
    return PatientSummary(
        str(about["Source"]["title"]), seizures, ", ".join(leading), caution, simulated
    )


def _read_inside(folder: Path, path: Path) -> str:
    """Return the text of a small regular file inside the folder."""
    real = path.resolve()
    inside = real.is_file() and real.is_relative_to(folder.resolve())
    if not inside or real.stat().st_size > _LARGEST_SIDECAR:
        raise DataError(f"{path.name}: expected a small file in this folder, found none.")
    return real.read_text(encoding="utf-8")
