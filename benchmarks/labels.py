"""What labels look like: onset zone, resection and how they relate, from sidecars alone.

`python -m benchmarks labels [ROOT [COLUMN=VALUE…]…]` reads the channels.tsv of BIDS datasets that
state the onset zone (SOZ) and the resection, or the truth of simulated ones. `COLUMN=VALUE` keeps
the patients whose row of participants.tsv has that value. Without arguments, the public sidecars
next to the repository are measured. No signal is read.

Score of a contact: 1 if it is SOZ, + 0.5 x SOZ share of its next contacts, + 0.5 x SOZ share of its
electrode. Its AUROC against a label says how much of the label an oracle explains that knows the
onset zone. Every column is a mean over patients, except the pooled share of contacts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.seizure_features import auroc
from benchmarks.timing import row
from epilens.data.channels.contacts import along_shafts
from epilens.data.sidecars import datasets_in
from epilens.data.user_files import read_table
from epilens.data.yes_no import as_flag
from epilens.simulation.patients import SimulatedPatient

SHARED = Path(__file__).parents[2] / "shared/data"
PUBLIC = {"ds004100": {"outcome": "S"}, "wild/ds005398": {"Engel_Class1": "1"}, "wild/ds005592": {}}
"""Datasets next to the repository, and which of their patients are measured."""
TRUTH = "derivatives/simulation-truth/truth.tsv"
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class PatientLabels:
    """Good contacts of one patient and the zones that they are in."""

    channels: tuple[str, ...]
    soz: Mask
    """Onset zone as annotated by clinicians."""
    resected: Mask
    onset: Mask | None = None
    """True onset zone, known in simulations only."""

    def zone(self, label: str) -> Mask:
        """Contacts of `soz`, `resected` or `either`."""
        return self.soz | self.resected if label == "either" else getattr(self, label)


def read_labels(root: Path, where: Mapping[str, str]) -> list[PatientLabels]:
    """Patients of a BIDS dataset whose participants.tsv agrees with `where`."""
    truth = root / TRUTH
    if truth.exists():
        return [_simulated(part) for _, part in pd.read_csv(truth, sep="\t").groupby("patient")]
    participants = read_table(root / "participants.tsv")
    for column, value in where.items():
        participants = participants[participants[column.lower()].map(_plain) == _plain(value)]
    folders = (root / name for name in participants["participant_id"])
    tables = (_channels(folder) for folder in folders if folder.is_dir())
    return [_annotated(table) for table in tables if len(table)]


def of_simulated(patients: Iterable[SimulatedPatient]) -> list[PatientLabels]:
    """The same of patients in memory."""
    parts = []
    for patient in patients:
        good, zones = patient.implant.good, patient.zones
        names = tuple(n for n, is_good in zip(patient.implant.names, good, strict=True) if is_good)
        parts.append(PatientLabels(names, zones.soz[good], zones.resected[good], zones.onset[good]))
    return parts


def _plain(text: str) -> str:
    return text.strip().removesuffix(".0")


def _simulated(part: pd.DataFrame) -> PatientLabels:
    zones = (part[c].to_numpy(bool) for c in ("is_soz", "is_resected", "is_onset"))
    return PatientLabels(tuple(part["channel"]), *zones)


def _flags(table: pd.DataFrame, column: str, default: pd.Series) -> pd.Series:
    """Where a column says yes, or a default where it is missing."""
    return table[column].map(lambda text: bool(as_flag(text))) if column in table else default


def _channels(folder: Path) -> pd.DataFrame:
    """Good contacts of the seizure runs, or of all runs where no task is called ictal."""
    paths = sorted(folder.rglob("*_channels.tsv"))
    ictal = [path for path in paths if "task-ictal" in path.name]
    table = pd.concat([read_table(path) for path in ictal or paths])
    good = table["type"].isin(["ECOG", "SEEG"]) & (table["status"] == "good")
    return table[good & ~_flags(table, "bad", ~good)]


def _annotated(table: pd.DataFrame) -> PatientLabels:
    text = table["status_description"].str.lower()
    soz, resected = text.str.contains("soz|seizure onset zone"), text.str.contains("resect")
    zones = (
        pd.DataFrame(
            {
                "soz": soz | _flags(table, "soz", soz),
                "resected": resected | _flags(table, "resection", resected),
            }
        )
        .groupby(table["name"], sort=False)
        .any()
    )
    return PatientLabels(tuple(zones.index), *(zones[c].to_numpy(bool) for c in zones))


def patient_statistics(patient: PatientLabels, label: str, known: str = "soz") -> dict[str, float]:
    """Statistics of one patient's label; `known` is the zone that the oracle knows."""
    zone, oracle = patient.zone(label), patient.zone(known).astype(float)
    both, n_soz = int((patient.soz & patient.resected).sum()), int(patient.soz.sum())
    near, electrode = np.zeros(len(zone)), np.zeros(len(zone))
    next_to, shares = [], []
    for members, numbers in along_shafts(patient.channels):
        next_one = np.subtract.outer(numbers, numbers) == -1
        beside = next_one | next_one.T
        near[members] = beside @ oracle[members] / np.maximum(beside.sum(axis=1), 1)
        electrode[members] = oracle[members].mean()
        this, following = np.nonzero(next_one)
        next_to += [*zip(zone[members][this], zone[members][following], strict=True)]
        shares.append(float(zone[members].mean()))
    pairs, by_electrode = np.array(next_to, bool).reshape(-1, 2), np.array(shares)
    return {
        "contacts": len(zone),
        "labelled": int(zone.sum()),
        "alone": auroc(oracle, zone),
        "context": auroc(oracle + 0.5 * near + 0.5 * electrode, zone),
        "inside": both / n_soz if n_soz else np.nan,
        "jaccard": both / int(patient.zone("either").sum()) if n_soz else np.nan,
        "next if label": _mean(pairs[pairs[:, 0], 1]),
        "next if not": _mean(pairs[~pairs[:, 0], 1]),
        "electrodes": _mean(by_electrode > 0),
        "share on electrodes": _mean(by_electrode[by_electrode > 0]),
    }


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else float("nan")


def label_statistics(
    patients: Iterable[PatientLabels], label: str, known: str = "soz"
) -> dict[str, float]:
    """One row of the table, over the patients that have the label.

    A patient without SOZ has an AUROC of 0.5 and counts for no overlap.
    """
    labelled = [p for p in patients if p.zone(label).any()]
    frame = pd.DataFrame([patient_statistics(p, label, known) for p in labelled])
    quartiles = {
        f"{name} {q}": float(frame[name].quantile(q / 100))
        for name in ("inside", "jaccard")
        for q in (25, 50, 75)
    }
    return {
        "patients": float(len(frame)),
        "share": float(frame["labelled"].sum() / frame["contacts"].sum()),
        **frame.drop(columns=["contacts", "labelled", "jaccard"]).mean().to_dict(),
        **quartiles,
    }


def parse(arguments: Iterable[str]) -> dict[Path, dict[str, str]]:
    """Roots, each with the conditions that follow it."""
    roots: dict[Path, dict[str, str]] = {}
    for argument in arguments:
        column, equals, value = argument.partition("=")
        if not equals:
            roots[Path(argument)] = {}
        elif roots:
            roots[[*roots][-1]][column] = value
        else:
            raise SystemExit(f"labels: expected a folder before {argument!r}, found none.")
    return roots or {SHARED / name: where for name, where in PUBLIC.items()}


def measure(*arguments: str) -> list[dict[str, Any]]:
    """The table of every dataset below the roots, as rows of a benchmark."""
    rows = []
    for root, where in parse(arguments).items():
        for dataset in datasets_in(root):
            rows += _dataset_rows(dataset.name, read_labels(dataset, where))
    return rows


def _dataset_rows(name: str, patients: list[PatientLabels]) -> list[dict[str, Any]]:
    rows = []
    simulated = any(p.onset is not None for p in patients)
    for known, label in product(
        ("soz", "onset") if simulated else ("soz",), ("soz", "resected", "either")
    ):
        if any(p.zone(label).any() for p in patients):
            statistics = label_statistics(patients, label, known)
            rows += [row(f"{name}, {label}, {known}: {k}", v, "") for k, v in statistics.items()]
    return rows
