"""Signed readings for others: `readings.json`, a table, and the page with verdicts in it.

Notes are the readers' own words: they are in `readings.json` and nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import epilens
from epilens.data.contacts import short_names
from epilens.io.delimited import to_tsv
from epilens.io.outputs import write_atomically
from epilens.report.derivative import DISCLAIMER, cell
from epilens.report.markup import as_text
from epilens.review.agreement import Agreement, agreement
from epilens.review.readings import WORDS, Reading, ReadingStore, answers, plans

IN_PLAN = ("in", "out")
_COLUMNS = (
    *("patient", "run", "contact", "rank", "reader", "version", "signed_on"),
    *("verdict", "in_plan"),
)


def agreements(
    signed: Mapping[str, Reading], run: int, contacts: Sequence[str]
) -> dict[str, Agreement | None]:
    """How far those who signed a run agree: on its contacts, and on the plan."""
    return {
        "verdicts": agreement(answers(signed, run), WORDS),
        "plan": agreement(plans(signed, run, contacts), IN_PLAN),
    }


def as_tree(readings: ReadingStore, run: int, contacts: Sequence[str]) -> dict[str, Any]:
    """All that was signed for a patient, and the agreement on one run; plain JSON."""
    signed = readings.last_signed()
    found = agreements(signed, run, contacts)
    return {
        "about": f"Readings of ranked contacts. {DISCLAIMER}",
        "software": {"name": "EpiLENS", "version": epilens.__version__},
        "patient": readings.patient,
        "run": run,
        "agreement": {what: one and asdict(one) for what, one in found.items()},
        "readings": [
            asdict(one) | {"intact": one.is_intact}
            for reader in readings.readers
            for one in readings.signed(reader)
        ],
        "drafts": len(readings.readers) - len(signed),
    }


def as_table(readings: ReadingStore, run: int, contacts: Sequence[str]) -> str:
    """A row per contact and reader of the run, by their last signed version."""
    rows: list[list[str]] = []
    for reader, one in readings.last_signed().items():
        if one.judgement.run != run:
            continue
        for rank, name in enumerate(contacts, start=1):
            said = one.judgement.verdicts.get(name)
            planned = "yes" if name in one.judgement.plan else "no"
            who = (reader, one.version, one.signed_on)
            row = (readings.patient, run, name, rank, *who, said, planned)
            rows.append([cell(value) for value in row])
    return to_tsv(_COLUMNS, rows)


def write_readings(folder: Path, readings: ReadingStore, run: int, contacts: Sequence[str]) -> None:
    """`readings.json` and `readings.tsv` beside the page of a run."""
    for _ in range(3):  # somebody who signs meanwhile is not left out
        before = readings.last_signed()
        tree = as_tree(readings, run, contacts)
        write_atomically(
            folder / "readings.json", json.dumps(tree, indent=1, ensure_ascii=False) + "\n"
        )
        write_atomically(folder / "readings.tsv", as_table(readings, run, contacts))
        if readings.last_signed() == before:
            break


def page_with_readings(page: str, readings: ReadingStore, run: int, contacts: Sequence[str]) -> str:
    """The page of a run with what was signed about it, as text without script; notes stay out."""
    signed = {r: one for r, one in readings.last_signed().items() if one.judgement.run == run}
    if not signed:
        return page
    before, end, after = page.partition("</main>")
    return before + _section(signed, run, contacts) + end + after


def _section(signed: Mapping[str, Reading], run: int, contacts: Sequence[str]) -> str:
    heads = "".join(
        f'<th class="left">{as_text(reader)}<br>'
        f"{as_text(one.signed_on)}, version {one.version}</th>"
        for reader, one in signed.items()
    )
    short = short_names(contacts)
    rows = "\n".join(
        f'<tr><td>{rank}</td><td class="left" title="{as_text(name)}">{as_text(called)}</td>'
        + "".join(f'<td class="left">{_said(one, name)}</td>' for one in signed.values())
        + "</tr>"
        for rank, (name, called) in enumerate(zip(contacts, short, strict=True), start=1)
        if any(_said(one, name) for one in signed.values())
    )
    found = agreements(signed, run, contacts)
    told = "".join(
        f"<p>{as_text(in_words(what, one))}</p>" for what, one in found.items() if one is not None
    )
    return f"""<section class="card about" id="readings" aria-labelledby="readings-title">
<div class="card-head"><h2 id="readings-title">Read and signed</h2></div>
<div class="pad">{told}
<table><thead><tr><th>Rank</th><th class="left">Contact</th>{heads}</tr></thead>
<tbody>
{rows}
</tbody></table>
<p class="muted small">Contacts that nobody judged or planned are not listed. Readers' notes are in
readings.json.</p></div></section>
"""


def _said(one: Reading, name: str) -> str:
    parts = [one.judgement.verdicts.get(name, ""), "planned" if name in one.judgement.plan else ""]
    return as_text(", ".join(part for part in parts if part))


_OF = {"Cohen": "Cohen's", "Fleiss": "Fleiss'"}


def in_words(what: str, found: Agreement) -> str:
    """One sentence on an agreement, with its counts."""
    of = {"verdicts": "the verdicts", "plan": "the resection plans"}[what]
    who = ", ".join(found.readers)
    value = "not defined" if found.kappa is None else f"{found.kappa:.2f}"
    left = f"; {found.left_out} that not all of them judged do not count" if found.left_out else ""
    return (
        f"Agreement of {who} on {of}: {_OF[found.kind]} κ {value} "
        f"({found.same} of {found.contacts} contacts the same{left})."
    )
