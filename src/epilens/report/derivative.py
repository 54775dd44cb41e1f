"""A localized patient as a BIDS derivative: contacts.tsv, its sidecar, files of the dataset.

BIDS has no suffix for ranked contacts; as the specification advises, `.bidsignore` names them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import epilens
from epilens.io.atomic import load_json
from epilens.io.delimited import to_tsv
from epilens.io.outputs import locked_output, write_together

if TYPE_CHECKING:
    from epilens.localization.result import Localization

KIND = "localized patients"
READ = "FileDigests"
"""Key of the sidecar."""
DISCLAIMER = "Research use only. Not for diagnosis, not for treatment decisions."


def write_derivative(
    localized: Localization, out: Path, page: str | None = None, read: Sequence[str] = ()
) -> Path:
    """Write contacts.tsv, its sidecar and the page below `out`, together; returns the table's path.

    Several patients can be localized into one folder at the same time: one waits for another.
    read : digests of the files that were given, which identify them later.
    """
    name, table, table_sidecar = files_of(localized.patient)
    about = sidecar(localized) | {READ: list(read)}
    files = _dataset_files(out) | {table: as_tsv(localized).encode(), table_sidecar: _json(about)}
    if page is not None:
        files[name] = page.encode()
    with locked_output(out, KIND, wait_s=60):
        write_together(out, files)
    return out / table


def files_of(patient: str) -> tuple[str, str, str]:
    """Page, table and the table's sidecar of a patient, from the derivative's folder."""
    stem = f"{patient}/ieeg/{patient}_desc-epilens_contacts"
    return f"{patient}.html", f"{stem}.tsv", f"{stem}.json"


def read_before(patient: str, out: Path) -> set[str]:
    """Digests of the files that the results below `out` come from; empty if not recorded."""
    try:
        tree = load_json(out / files_of(patient)[2])
        return {str(digest) for digest in tree[READ]}
    except (OSError, ValueError, TypeError, KeyError):
        return set()


def write_dataset_files(out: Path) -> None:
    """Make a folder a derivative, before it has a patient."""
    with locked_output(out, KIND, wait_s=60):
        write_together(out, _dataset_files(out))


def _dataset_files(out: Path) -> dict[str, bytes]:
    """Files of a derivative that belong to no patient."""
    files = {
        "dataset_description.json": _json(
            {
                "Name": "EpiLENS: contacts ranked by how much they look like the epileptogenic "
                "zone",
                "BIDSVersion": "1.10.0",
                "DatasetType": "derivative",
                "License": "n/a",
                "Authors": ["EpiLENS"],
                "GeneratedBy": [{"Name": "EpiLENS", "Version": epilens.__version__}],
            }
        ),
        ".bidsignore": b"*_contacts.tsv\n*_contacts.json\n*.html\n"
        b"participants_left_out.tsv\ngroup_*\n",
    }
    return files if (out / "README.md").exists() else files | {"README.md": _README.encode()}


_README = f"""# EpiLENS: localized patients

**{DISCLAIMER}**

For every patient there is a page (`sub-….html`, opens in any browser, needs no network) and a table
of ranked contacts (`sub-…/ieeg/sub-…_desc-epilens_contacts.tsv`) whose columns the JSON file next
to it explains. `epilens view` shows the pages of all patients with an index.
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
        "InPlainWords": list(localized.caveats),
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


def _json(tree: Any) -> bytes:
    return (json.dumps(tree, indent=1, ensure_ascii=False) + "\n").encode()
