"""A localized patient as a BIDS derivative: contacts.tsv, its sidecar, files of the dataset.

BIDS has no suffix for ranked contacts; as the specification advises, `.bidsignore` names them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import epilens
from epilens.io.atomic import load_json, write_together
from epilens.io.delimited import to_tsv
from epilens.io.outputs import check_distinct_names, folder_names, locked_output
from epilens.report.patient.bids_text import DISCLAIMER, as_json, cell
from epilens.report.patient.planning import planning_files, planning_folder

if TYPE_CHECKING:
    from epilens.localization.result import Localization

KIND = "localized patients"
READ = "FileDigests"
"""Key of the sidecar."""


def write_derivative(
    localized: Localization, out: Path, page: str | None = None, read: Sequence[str] = ()
) -> Path:
    """Write contacts.tsv, its sidecar and the page below `out`, together; returns the table's path.

    A PDF of an earlier page is removed.
    Several patients can be localized into one folder at the same time: one waits for another.
    read : digests of the files that were given, which identify them later.
    """
    name, table, table_sidecar = files_of(localized.patient)
    about = sidecar(localized) | {READ: list(read)}
    files = _dataset_files(out) | {table: as_tsv(localized).encode(), table_sidecar: as_json(about)}
    if page is not None:
        files[name] = page.encode()
    files |= planning_files(localized)
    with locked_output(out, KIND, wait_s=60):
        check_distinct_names([localized.patient], folder_names(out))
        write_together(out, files)
        _remove_planning(localized.patient, out, keep=files)
        _pdf_of(localized.patient, out).unlink(missing_ok=True)  # of an earlier page
    return out / table


def files_of(patient: str) -> tuple[str, str, str]:
    """Page, table and the table's sidecar of a patient, from the derivative's folder."""
    stem = f"{patient}/ieeg/{patient}_desc-epilens_contacts"
    return f"{patient}.html", f"{stem}.tsv", f"{stem}.json"


def remove_results(patient: str, out: Path) -> None:
    """Remove what an earlier command wrote for a patient."""
    for name in files_of(patient):
        (out / name).unlink(missing_ok=True)
    _pdf_of(patient, out).unlink(missing_ok=True)
    _remove_planning(patient, out)


def _pdf_of(patient: str, out: Path) -> Path:
    """The page on paper, which only some commands write."""
    return out / f"{patient}.pdf"


def _remove_planning(patient: str, out: Path, keep: Collection[str] = ()) -> None:
    """Remove files for planning tools of an earlier result, e.g. one with other positions."""
    for path in (out / planning_folder(patient)).glob(f"{patient}_*"):
        if path.relative_to(out).as_posix() not in keep:
            path.unlink()


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
        "dataset_description.json": as_json(
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
        b"participants_left_out.tsv\ngroup_*\nsub-*/planning\n",
    }
    return files if (out / "README.md").exists() else files | {"README.md": _README.encode()}


_README = f"""# EpiLENS: localized patients

**{DISCLAIMER}**

For every patient there is a page (`sub-….html`, opens in any browser, needs no network) and a table
of ranked contacts (`sub-…/ieeg/sub-…_desc-epilens_contacts.tsv`) whose columns the JSON file next
to it explains. `epilens view` shows the pages of all patients with an index.

`sub-…/planning` has the same contacts, with score and probability, for other tools: 3D Slicer
markups (`.mrk.json`, if contacts have positions), a workbook (`.xlsx`), and an electrodes table
with its coordinate system.
"""


def as_tsv(localized: Localization) -> str:
    """The table as text; `n/a` where nothing is known."""
    header = [column.name for column in localized.columns]
    rows = [[cell(column.values[c]) for column in localized.columns] for c in localized.order]
    return to_tsv(header, rows)


def sidecar(localized: Localization) -> dict[str, Any]:
    """What the columns mean, and where the numbers come from."""
    source, certainty = localized.source, localized.certainty
    tree: dict[str, Any] = {
        "Description": f"Contacts ranked by EpiLENS. {DISCLAIMER}",
        "Source": {"name": source.name, "title": source.title, "plan_digest": source.plan.digest},
        "Software": {"name": "EpiLENS", "version": epilens.__version__},
        "Threshold": None if source.threshold is None else round(1 - source.threshold, 6),
        "TopK": localized.k,
        "Abstained": certainty.abstains,
        "InPlainWords": [*localized.summary, *localized.caveats],
        "Cautions": [caution.text for caution in certainty.cautions],
        "SeizureAgreement": certainty.agreement,
        "Seizures": [seizure.name for seizure in localized.seizures],
        "Analysed": {
            **localized.analysed,
            "seizures": [asdict(seizure) for seizure in localized.seizures],
        },
        "SeizuresLeftOut": [{"seizure": name, "why": why} for name, why in localized.left_out],
        "ChannelsLeftOut": [{"channel": row.channel, "why": row.why} for row in localized.dropped],
        "CoordinateSystem": localized.space or "n/a",
        "Simulated": localized.is_simulated,
        "TrainedOnSimulated": source.simulated,
    }
    for column in localized.columns:
        tree[column.name] = {"Description": column.description}
        if column.units:
            tree[column.name]["Units"] = column.units
    return tree
