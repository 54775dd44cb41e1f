"""The true onset zones and onsets of a simulated dataset; methods never read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from epilens.data.datasets.simulated import GENERATOR, VERSION
from epilens.simulation.contact_names import spell
from epilens.simulation.patients import SimulatedPatient
from epilens.simulation.shapes import Center
from epilens.simulation.tables import write_descriptions, write_json, write_tsv
from epilens.simulation.zones import RULE_TEXTS


def write_truth(folder: Path, center: Center, patients: Sequence[SimulatedPatient]) -> None:
    """Write a derivative with the zones of every contact and the start of every seizure."""
    tree = {
        "Name": f"Truth of {center.title}",
        "BIDSVersion": "1.10.0",
        "DatasetType": "derivative",
        "GeneratedBy": [{"Name": GENERATOR, "Version": VERSION}],
    }
    write_json(folder / "dataset_description.json", tree)
    columns = {
        "is_onset": "Simulated seizures start here: the truth",
        "is_soz": "Onset zone as annotated by the simulated clinicians",
        "is_resected": "Resected or ablated by the simulated surgeons",
        "is_annotated_ez": f"The EZ in the center's files: {RULE_TEXTS[center.rule]}",
        "region": "What the electrode is aimed at",
        "pattern": "Onset pattern of the patient's seizures",
    }
    write_descriptions(folder / "truth.json", columns)
    rows = [row for patient in patients for row in _contacts(patient)]
    write_tsv(folder / "truth.tsv", ["patient", "channel", *columns], rows)
    columns = {
        "annotated_s": "Onset as annotated, in the recording",
        "true_s": "When the seizure starts",
        "oddity": "What is odd about the run",
    }
    write_descriptions(folder / "onsets.json", columns)
    onsets = [
        (p.name, run.number, run.onset_s, round(run.onset_s - run.lead_s, 3), run.oddity or "n/a")
        for p in patients
        for run in p.runs
    ]
    write_tsv(folder / "onsets.tsv", ["patient", "run", *columns], onsets)


def _contacts(p: SimulatedPatient) -> Iterator[tuple[str | int, ...]]:
    """Rows of the good contacts of a patient."""
    zones = (p.zones.onset, p.zones.soz, p.zones.resected, p.zones.annotated)
    for i in np.flatnonzero(p.implant.good):
        in_zones = [int(zone[i]) for zone in zones]
        yield p.name, spell(p, i), *in_zones, p.implant.regions[i], p.physiology.pattern
