"""A localized patient as a BIDS derivative: contacts.tsv, its sidecar, and what goes around them.

BIDS has no suffix for ranked contacts; as the specification advises, `.bidsignore` names them.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import epilens
from epilens.storage import own_folder, write_atomically
from epilens.terminal import visible

if TYPE_CHECKING:
    from epilens.localization.result import Localization

KIND = "localized patients"
DISCLAIMER = "Research use only. Not for diagnosis, not for treatment decisions."
_DESCRIPTIONS = {
    "name": "Channel as the recording names it",
    "shaft": "Electrode that the contact is on, from its name",
    "number": "Number of the contact on its electrode, from its name",
    "rank": "1: most like the epileptogenic zone (EZ)",
    "ez_score": "EZ score between 0 and 1: 1 - p_nez, mean over the ensemble",
    "ez_probability": "Calibrated probability of EZ (Platt, out-of-fold scores of the training "
    "cohort)",
    "prq_ez_score": "EZ score of PRQ-Net alone, mean over the ensemble",
    "bcr_ez_score": "EZ score of BCR-Net alone, mean over the ensemble",
    "decision": "EZ or NEZ at the model's threshold; abstained: the patient is unlike the training "
    "cohort or its reference is too short; none: no threshold is known",
    "spread": "Standard deviation of the EZ score over the members of the ensemble",
    "seizures": "Seizures that show the contact",
    "seizure_sd": "Standard deviation of the EZ score over single seizures",
    "top_k_share": "Share of its seizures, each taken alone, in which the contact is among the top "
    "K; K is in TopK",
    "recruited_in": "Seizures in which beta, gamma or line length rises clearly (3 SD above the "
    "contact's own pre-onset level for three windows)",
    "recruited_s": "Median time of that rise from onset",
    "recruitment_rank": "Median place in the order of recruitment",
    "quality": "Flags of the signal, or good",
    "x": "Position",
    "y": "Position",
    "z": "Position",
    "resected": "Whether the contact is in the resection that was given",
}
_UNITS = {"recruited_s": "s", "x": "mm", "y": "mm", "z": "mm"}


def write_derivative(found: Localization, out: Path) -> Path:
    """Write contacts.tsv and its sidecar below `out`; returns the table's path."""
    own_folder(out, KIND)
    stem = out / found.patient / "ieeg" / f"{found.patient}_desc-epilens_contacts"
    table = stem.with_suffix(".tsv")
    write_atomically(table, as_tsv(found))
    _write_json(stem.with_suffix(".json"), sidecar(found))
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


def as_tsv(found: Localization) -> str:
    """The table as text; `n/a` where nothing is known."""
    table = found.contacts
    rows = ["\t".join(map(cell, row)) for row in table.itertuples(index=False, name=None)]
    return "\n".join(["\t".join(table.columns), *rows]) + "\n"


def cell(value: Any) -> str:
    """A value as a cell: numbers to four digits, control characters visible, never a formula.

    Examples
    --------
    >>> cell(None), cell(0.123456), cell(3.0), cell("=1+1"), cell("A1")
    ('n/a', '0.1235', '3', "'=1+1", 'A1')
    """
    if value is None or value == "":
        return "n/a"
    if isinstance(value, float):
        return "n/a" if math.isnan(value) else f"{value:.4f}".rstrip("0").rstrip(".")
    text = visible(value)
    # A spreadsheet runs what begins like this.
    return f"'{text}" if text[0] in "=+-@" and not text.lstrip("-").isdigit() else text


def sidecar(found: Localization) -> dict[str, Any]:
    """What the columns mean, and where the numbers come from."""
    about, sure = found.about, found.certainty
    tree: dict[str, Any] = {
        "Description": f"Contacts ranked by EpiLENS. {DISCLAIMER}",
        "Source": {"name": about.source, "title": about.title, "plan_digest": about.plan_digest},
        "Software": {"name": "EpiLENS", "version": epilens.__version__},
        "Threshold": None if about.threshold is None else round(1 - about.threshold, 6),
        "TopK": found.k,
        "Abstained": sure.abstains,
        "Cautions": [caution.text for caution in sure.cautions],
        "SeizureAgreement": sure.agreement,
        "Seizures": [seizure.name for seizure in found.seizures],
        "SeizuresLeftOut": [{"seizure": name, "why": why} for name, why in found.left_out],
        "CoordinateSystem": str(found.cube.attrs.get("space", "")) or "n/a",
        "Simulated": about.simulated,
    }
    for name in found.contacts.columns:
        tree[name] = {"Description": _description(name, found)}
        if name in _UNITS:
            tree[name]["Units"] = _UNITS[name]
    return tree


def _description(name: str, found: Localization) -> str:
    if name.startswith("ez_score_s"):
        seizure = found.seizures[int(name.removeprefix("ez_score_s")) - 1]
        return f"EZ score from one seizure alone: {seizure.name}"
    if name.startswith("in_set_"):
        kept = next(s for s in found.certainty.sets if f"{round(100 * s.coverage)}" in name)
        return (
            f"Contact is in the set that should hold {kept.coverage:.0%} of the EZ contacts; on "
            f"out-of-fold patients it held {kept.reached:.0%}"
        )
    if name.startswith("rank_"):
        return f"Rank by another method: {name.removeprefix('rank_')}"
    return _DESCRIPTIONS[name]


def _write_json(path: Path, tree: Any) -> None:
    write_atomically(path, json.dumps(tree, indent=1, ensure_ascii=False) + "\n")
