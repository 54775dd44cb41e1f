"""Export of signed readings: `readings.json`, a table, and the page with the verdicts.

Notes are in `readings.json` only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import epilens
from epilens.core.html_repr import as_text
from epilens.data.channels.contacts import short_names
from epilens.io.atomic import json_text, write_atomically
from epilens.io.delimited import to_tsv
from epilens.report.patient.bids_text import DISCLAIMER, cell
from epilens.review.agreement import Agreement, measure_agreement
from epilens.review.reading_store import ReadingStore
from epilens.review.readings import VERDICTS, Reading, plans_of_run, verdicts_of_run

_IN_PLAN = ("in", "out")
_COLUMNS = (
    *("patient", "run", "contact", "rank", "reader", "version", "signed_on"),
    *("verdict", "in_plan"),
)
_SUBJECTS = {"verdicts": "the verdicts", "plan": "the resection plans"}
_POSSESSIVES = {"Cohen": "Cohen's", "Fleiss": "Fleiss'"}


def agreements(
    signed: Mapping[str, Reading], run: int, contacts: Sequence[str]
) -> dict[str, Agreement | None]:
    """Return the agreement of those who signed a run: on its contacts, and on the plan."""
    return {
        "verdicts": measure_agreement(verdicts_of_run(signed, run), VERDICTS),
        "plan": measure_agreement(plans_of_run(signed, run, contacts), _IN_PLAN),
    }


def to_json(store: ReadingStore, run: int, contacts: Sequence[str]) -> dict[str, Any]:
    """Return all signed readings of a patient, and the agreement on one run, as JSON values."""
    signed = store.last_signed()
    return {
        "about": f"Readings of ranked contacts. {DISCLAIMER}",
        "software": {"name": "EpiLENS", "version": epilens.__version__},
        "patient": store.patient,
        "run": run,
        "agreement": {
            subject: agreement and agreement.to_json()
            for subject, agreement in agreements(signed, run, contacts).items()
        },
        "readings": [
            reading.to_json() | {"intact": reading.is_intact}
            for reader in store.readers
            for reading in store.signed(reader)
        ],
        "drafts": len(store.readers) - len(signed),
    }


def to_table(store: ReadingStore, run: int, contacts: Sequence[str]) -> str:
    """Return a row per contact and reader of the run, by their last signed version."""
    rows = [
        (
            *(store.patient, run, name, rank, reader, reading.version, reading.signed_on),
            reading.judgement.verdicts.get(name),
            "yes" if name in reading.judgement.plan else "no",
        )
        for reader, reading in store.last_signed().items()
        if reading.judgement.run == run
        for rank, name in enumerate(contacts, start=1)
    ]
    return to_tsv(_COLUMNS, [[cell(value) for value in row] for row in rows])


def write_readings(folder: Path, store: ReadingStore, run: int, contacts: Sequence[str]) -> None:
    """Write `readings.json` and `readings.tsv` next to the page of a run."""
    for _ in range(3):  # again, if another reader signed in the meantime
        before = store.last_signed()
        write_atomically(folder / "readings.json", json_text(to_json(store, run, contacts)))
        write_atomically(folder / "readings.tsv", to_table(store, run, contacts))
        if store.last_signed() == before:
            break


def add_to_page(page: str, store: ReadingStore, run: int, contacts: Sequence[str]) -> str:
    """Return the page of a run with its signed readings, without script and without notes."""
    signed = {
        reader: reading
        for reader, reading in store.last_signed().items()
        if reading.judgement.run == run
    }
    if not signed:
        return page
    before, end, after = page.partition("</main>")
    return before + _section(signed, run, contacts) + end + after


def _section(signed: Mapping[str, Reading], run: int, contacts: Sequence[str]) -> str:
    heads = "".join(
        f'<th class="left">{as_text(reader)}<br>'
        f"{as_text(reading.signed_on)}, version {reading.version}</th>"
        for reader, reading in signed.items()
    )
    rows = "\n".join(
        f'<tr><td>{rank}</td><td class="left" title="{as_text(name)}">{as_text(short)}</td>'
        + "".join(f'<td class="left">{_answer(reading, name)}</td>' for reading in signed.values())
        + "</tr>"
        for rank, (name, short) in enumerate(zip(contacts, short_names(contacts), strict=True), 1)
        if any(_answer(reading, name) for reading in signed.values())
    )
    sentences = _sentences(signed, run, contacts)
    return f"""<section class="card about" id="readings" aria-labelledby="readings-title">
<div class="card-head"><h2 id="readings-title">Read and signed</h2></div>
<div class="pad">{sentences}
<table><thead><tr><th>Rank</th><th class="left">Contact</th>{heads}</tr></thead>
<tbody>
{rows}
</tbody></table>
<p class="muted small">Contacts that nobody judged or planned are not listed. Readers' notes are in
readings.json.</p></div></section>
"""


def _sentences(signed: Mapping[str, Reading], run: int, contacts: Sequence[str]) -> str:
    return "".join(
        f"<p>{as_text(describe_agreement(subject, agreement))}</p>"
        for subject, agreement in agreements(signed, run, contacts).items()
        if agreement is not None
    )


def _answer(reading: Reading, name: str) -> str:
    judgement = reading.judgement
    parts = [judgement.verdicts.get(name, ""), "planned" if name in judgement.plan else ""]
    return as_text(", ".join(part for part in parts if part))


def describe_agreement(subject: str, agreement: Agreement) -> str:
    """Describe an agreement in one sentence, with its counts."""
    readers = ", ".join(agreement.readers)
    value = "not defined" if agreement.kappa is None else f"{agreement.kappa:.2f}"
    excluded = agreement.left_out
    rest = f"; {excluded} judged by some readers only are excluded" if excluded else ""
    return (
        f"Agreement of {readers} on {_SUBJECTS[subject]}: {_POSSESSIVES[agreement.kind]} κ {value} "
        f"({agreement.same} of {agreement.contacts} contacts the same{rest})."
    )
