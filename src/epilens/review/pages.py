"""`epilens view DIR`: the pages of many localized patients, with an index, and nothing else.

A page in the folder may come from anywhere, so it is shown in an origin of its own: its script
runs, and can read neither the index nor another page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from epilens.core.errors import DataError
from epilens.core.html_repr import SIMULATED
from epilens.data.contacts import short_names
from epilens.data.sidecars import natural
from epilens.report.derivative import DISCLAIMER
from epilens.report.markup import as_text
from epilens.review.security import FOREIGN, OWN
from epilens.review.server import LocalServer, html_response

_PAGE = re.compile(r"sub-[A-Za-z0-9]{1,40}")
_LARGEST_SIDECAR = 5_000_000
_SERVED_STYLE = '<link rel="stylesheet" href="static/app.css">'


def reports(folder: Path) -> list[str]:
    """Patients that have a page, in natural order; links are not followed."""
    pages = [p.stem for p in folder.glob("sub-*.html") if p.is_file() and not p.is_symlink()]
    return sorted((name for name in pages if _PAGE.fullmatch(name)), key=natural)


def page_routes(folder: Path) -> list[BaseRoute]:
    """The index and the pages of a folder."""
    return [
        Route("/", lambda request: html_response(index(folder), OWN)),
        Route("/{name}.html", lambda request: show_page(folder, request)),
    ]


def show_page(folder: Path, request: Request) -> Response:
    """A patient's page, as it is: only a name from the list becomes a path."""
    name = request.path_params["name"]
    if name not in reports(folder):
        raise HTTPException(404)
    return html_response((folder / f"{name}.html").read_text(encoding="utf-8"), FOREIGN)


def make_view(folder: str | Path, port: int = 0) -> LocalServer:
    """A server of the pages that is ready to run."""
    folder = Path(folder)
    if not folder.is_dir() or not reports(folder):
        raise DataError(
            f"{folder}: expected a folder with pages that `epilens localize` wrote (sub-….html), "
            "found none. Give its --out folder."
        )
    return LocalServer(page_routes(folder), port)


def view(folder: str | Path, port: int, tell: Callable[[str], None]) -> None:
    """Serve until the user stops it."""
    make_view(folder, port).serve(tell)


def index(folder: Path, style: str = _SERVED_STYLE, after: str = "") -> str:
    """The index as text; with its own style where no server is, and markup after the table."""
    told = {name: read_summary(folder, name) for name in reports(folder)}
    rows = "\n".join(_row(name, facts) for name, facts in told.items())
    simulated = any(facts.simulated for facts in told.values())
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


_TITLES = ("Patient", "Scores from", "Seizures", "Leading contacts", "To know first")


@dataclass(frozen=True)
class PatientSummary:
    """What the index tells of a patient."""

    source: str
    seizures: str
    leading: str
    to_know: str
    simulated: bool = False

    @property
    def cells(self) -> tuple[str, ...]:
        """In the order of the index's columns, behind the patient."""
        return (self.source, self.seizures, self.leading, self.to_know)


def _row(name: str, facts: PatientSummary) -> str:
    link = f'<a href="{as_text(name)}.html">{as_text(name)}</a>'
    told = [link, *(as_text(cell[:500]) for cell in facts.cells)]
    return (
        "<tr>"
        + "".join(
            f'<td data-title="{title}">{cell}</td>'
            for title, cell in zip(_TITLES, told, strict=True)
        )
        + "</tr>"
    )


def read_summary(folder: Path, name: str) -> PatientSummary:
    """What is told of a patient; what cannot be read costs this patient its words, no other."""
    try:
        return _facts(folder, name)
    except Exception:  # whatever somebody put there
        return PatientSummary("–", "–", "–", "the table beside this page cannot be read")


def _facts(folder: Path, name: str) -> PatientSummary:
    """What the sidecar and table beside a page say."""
    stem = folder / name / "ieeg" / f"{name}_desc-epilens_contacts"
    about = json.loads(_inside(folder, stem.with_suffix(".json")))
    lines = _inside(folder, stem.with_suffix(".tsv")).splitlines()[1:]
    # Of all contacts: a name is short where no other one would be called the same.
    leading = short_names([line.split("\t")[0] for line in lines])[:5]
    cautions, simulated = about["Cautions"], bool(about.get("Simulated"))
    first = ("simulated; " if simulated else "") + ("abstained: " if about["Abstained"] else "")
    told = first + str(cautions[0] if cautions else "–")
    seizures = str(len(about["Seizures"]))
    return PatientSummary(
        str(about["Source"]["title"]), seizures, ", ".join(leading), told, simulated
    )


def _inside(folder: Path, path: Path) -> str:
    """Text of a plain file that really lies in the folder."""
    real = path.resolve()
    if not real.is_file() or not real.is_relative_to(folder.resolve()):
        raise DataError(f"{path.name}: expected a file in this folder, found none. Restore it.")
    if real.stat().st_size > _LARGEST_SIDECAR:
        raise DataError(f"{path.name}: expected a small file, found a large one. Restore it.")
    return real.read_text(encoding="utf-8")
