"""`epilens bids BIDS_DIR OUT group`: one table and one page over all patients in OUT."""

from __future__ import annotations

from pathlib import Path

from epilens.bids_app.participants import ParticipantRecord, left_out, write_left_out
from epilens.core.errors import DataError
from epilens.core.html_repr import as_text
from epilens.io.atomic import json_text, write_atomically
from epilens.io.delimited import to_tsv
from epilens.io.outputs import is_output
from epilens.report.markup import policy
from epilens.report.patient.bids_text import DISCLAIMER
from epilens.report.patient.derivative import KIND
from epilens.report.patient.index_page import STYLE, index_page, list_reports, read_summary

TABLE = "group_participants"
_COLUMNS = {
    "participant_id": "Patient.",
    "scores_from": "What ranked its contacts: a model or a method.",
    "seizures": "How many seizures were analysed.",
    "leading_contacts": "The first five contacts of its ranking, as its page names them.",
    "to_know_first": "Whether it is simulated, whether it abstained, and its first caution.",
}


def summarise(out: Path) -> Path:
    """Write table and page over the patients of OUT; returns the page."""
    if not out.is_dir() or not is_output(out, KIND) or not list_reports(out):
        raise DataError(
            f"{out}: expected localized patients, found none. Run the level participant first."
        )
    facts = {name: read_summary(out, name) for name in list_reports(out)}
    rows = [
        (name, *("n/a" if cell == "–" else cell for cell in summary.cells))
        for name, summary in facts.items()
    ]
    write_atomically(out / f"{TABLE}.tsv", to_tsv(list(_COLUMNS), rows))
    described = {name: {"Description": text} for name, text in _COLUMNS.items()}
    tree = {"Description": f"Localized patients. {DISCLAIMER}", **described}
    write_atomically(out / f"{TABLE}.json", json_text(tree))
    write_left_out(out)
    page = index_page(out, _style(), _left_out_table(left_out(out)))
    return write_atomically(out / "index.html", page)


def _style() -> str:
    """Return the style of a page that opens from a folder, with a policy that allows only it."""
    style = f"{STYLE.read_text(encoding='utf-8')}h2 {{ font-size: 1.15rem; }}"
    allowed = f"{policy('', style)}; img-src data:"
    return f'<meta http-equiv="Content-Security-Policy" content="{allowed}"><style>{style}</style>'


def _left_out_table(failed: list[ParticipantRecord]) -> str:
    if not failed:
        return ""
    rows = "\n".join(
        f'<tr><td data-title="Patient">{as_text(str(record.patient))}</td>'
        f'<td data-title="Why">{as_text(str(record.why)[:1000])}</td></tr>'
        for record in failed
    )
    head = "<thead><tr><th>Patient</th><th>Why</th></tr></thead>"
    return f'<h2>Left out</h2>\n<table class="cards">{head}<tbody>\n{rows}\n</tbody></table>'
