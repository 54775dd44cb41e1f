"""A localized patient as a BIDS derivative: contacts.tsv, its sidecar, and what goes around them.

BIDS has no suffix for ranked contacts; as the specification advises, `.bidsignore` names them.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import epilens
from epilens.spreadsheet import to_tsv
from epilens.storage import own_folder, write_atomically

if TYPE_CHECKING:
    from epilens.localization.result import Localization

KIND = "localized patients"
DISCLAIMER = "Research use only. Not for diagnosis, not for treatment decisions."


def write_derivative(localized: Localization, out: Path) -> Path:
    """Write contacts.tsv and its sidecar below `out`; returns the table's path."""
    own_folder(out, KIND)
    stem = out / localized.patient / "ieeg" / f"{localized.patient}_desc-epilens_contacts"
    table = stem.with_suffix(".tsv")
    write_atomically(table, as_tsv(localized))
    _write_json(stem.with_suffix(".json"), sidecar(localized))
    _write_json(
        out / "dataset_description.json",
        {
            "Name": "EpiLENS: contacts ranked by how much they look like the epileptogenic zone",
            "BIDSVersion": "1.10.0",
            "DatasetType": "derivative",
            "License": "n/a",
            "Authors": ["EpiLENS"],
            "GeneratedBy": [{"Name": "EpiLENS", "Version": epilens.__version__}],
        },
    )
    write_atomically(out / ".bidsignore", "*_contacts.tsv\n*_contacts.json\n*.html\n")
    if not (out / "README.md").exists():
        write_atomically(out / "README.md", _README)
    return table


_README = f"""# EpiLENS: localized patients

**{DISCLAIMER}**

For every patient there is a page (`sub-….html`, opens in any browser, needs no network) and a table
of ranked contacts (`sub-…/ieeg/sub-…_desc-epilens_contacts.tsv`) whose columns the JSON file beside
it explains. `epilens view` shows the pages of all patients with an index.
"""


def as_tsv(localized: Localization) -> str:
    """The table as text; `n/a` where nothing is known."""
    header = [column.name for column in localized.columns]
    rows = [[cell(column.values[c]) for column in localized.columns] for c in localized.order]
    return to_tsv(header, rows)


def cell(value: Any) -> str:
    """A value as BIDS writes it: numbers to four digits, `n/a` for nothing.

    Examples
    --------
    >>> cell(None), cell(0.123456), cell(3.0), cell("A1")
    ('n/a', '0.1235', '3', 'A1')
    """
    if value is None or value == "":
        return "n/a"
    if isinstance(value, float):
        return "n/a" if math.isnan(value) else f"{value:.4f}".rstrip("0").rstrip(".")
    return str(value)


def sidecar(localized: Localization) -> dict[str, Any]:
    """What the columns mean, and where the numbers come from."""
    about, certainty = localized.about, localized.certainty
    tree: dict[str, Any] = {
        "Description": f"Contacts ranked by EpiLENS. {DISCLAIMER}",
        "Source": {"name": about.source, "title": about.title, "plan_digest": about.plan_digest},
        "Software": {"name": "EpiLENS", "version": epilens.__version__},
        "Threshold": None if about.threshold is None else round(1 - about.threshold, 6),
        "TopK": localized.k,
        "Abstained": certainty.abstains,
        "InPlainWords": list(localized.plainly),
        "Cautions": [caution.text for caution in certainty.cautions],
        "SeizureAgreement": certainty.agreement,
        "Seizures": [seizure.name for seizure in localized.seizures],
        "Analysed": asdict(localized.analysed)
        | {
            "versions": dict(localized.analysed.versions),
            "seizures": [asdict(seizure) for seizure in localized.seizures],
        },
        "SeizuresLeftOut": [{"seizure": name, "why": why} for name, why in localized.left_out],
        "CoordinateSystem": str(localized.cube.attrs.get("space", "")) or "n/a",
        "Simulated": about.simulated,
    }
    for column in localized.columns:
        tree[column.name] = {"Description": column.description}
        if column.units:
            tree[column.name]["Units"] = column.units
    return tree


def _write_json(path: Path, tree: Any) -> None:
    write_atomically(path, json.dumps(tree, indent=1, ensure_ascii=False) + "\n")
