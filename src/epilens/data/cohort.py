"""Tables of a cohort: patients, seizures, channels and EZ fraction, per patient and per center."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from epilens.data.audit import known_word
from epilens.data.bids import Recordings
from epilens.data.bids_scan import Patient
from epilens.data.participants import OUTCOMES, engel_of
from epilens.data.user_files import as_number

_SEXES = ("F", "M", "O", "Female", "Male", "Other")
_PROCEDURES = (
    *("Resection", "Ablation", "Laser ablation", "Disconnection", "Lobectomy", "Lesionectomy"),
    *("Amygdalohippocampectomy", "Thermocoagulation", "Radiosurgery", "Neuromodulation"),
    *("Stimulation", "RNS", "DBS", "VNS", "None"),
)
_COUNTS = ["seizures", "seizures_excluded", "channels", "ez_channels", "channels_with_position"]


def cohort_summary(cohort: Iterable[Recordings]) -> dict[str, Any]:
    """Counts as one JSON-ready object: contents, total, centers, patients, excluded, noted.

    `ez_channels` is None where no label is known; shares are of channels with known labels.
    """
    cohort = list(cohort)
    patients = participant_table(cohort)
    audit = pd.concat([part.audit for part in cohort], ignore_index=True)
    rows = audit[["what", "where", "why"]]
    return {
        "contents": [row | _centers_of(part) for part in cohort for row in part.contents],
        "total": _totals(patients),
        "centers": [
            {"center": center} | _totals(group)
            for center, group in patients.groupby("center", sort=False)
        ],
        "patients": [_plain(row) for row in patients.to_dict("records")],
        "excluded": rows[audit["effect"] == "excluded"].to_dict("records"),
        "noted": rows[audit["effect"] == "noted"].to_dict("records"),
    }


def _centers_of(part: Recordings) -> dict[str, str]:
    """The center of a dataset, or how many it has."""
    centers = list(dict.fromkeys(patient.center for patient in part.surveyed))
    return {"center": centers[0] if len(centers) == 1 else f"{len(centers)} centers"}


def participant_table(cohort: Iterable[Recordings]) -> pd.DataFrame:
    """A table with one row per patient, in the order of the cohort."""
    return pd.DataFrame([_patient_row(p) for recordings in cohort for p in recordings.surveyed])


def _patient_row(patient: Patient) -> dict[str, Any]:
    facts = participant_facts(patient.participant)
    rates = sorted({round(rate, 2) for rate in patient.rates_hz})
    return {
        "patient": patient.name,
        "center": patient.center,
        "age": facts.get("age"),
        "sex": facts.get("sex"),
        "procedure": facts.get("procedure"),
        "modality": "/".join(sorted(patient.modalities)),
        "engel": facts.get("engel"),
        "sampling_rates_hz": rates,
        "seizures": len(patient.runs),
        "seizures_excluded": patient.seizures_excluded,
        "channels": len(patient.channels),
        "ez_channels": None if patient.ez is None else len(patient.ez),
        "channels_with_position": len(patient.positions.of(patient.channels).mm),
    }


def participant_facts(participant: Mapping[str, str]) -> dict[str, Any]:
    """Age, sex, procedure, Engel class and outcome in a row of participants.tsv, if they are known.

    Only numbers and usual words are used; any other text could name a person.

    Examples
    --------
    >>> participant_facts({"age": "31", "sex": "", "therapy": "ABLATION", "engel": "1A"})
    {'age': 31.0, 'procedure': 'Ablation', 'engel': 'I-A'}
    """
    procedure = participant.get("therapy") or participant.get("surgery_type") or ""
    facts = {
        "age": as_number(participant.get("age")),
        "sex": known_word(participant.get("sex") or "", _SEXES, ""),
        "procedure": known_word(procedure, _PROCEDURES, ""),
        "engel": engel_of(participant),
        "outcome": known_word(
            participant.get("plain_outcome") or participant.get("outcome") or "", OUTCOMES, ""
        ),
    }
    return {name: value for name, value in facts.items() if value not in (None, "")}


def _totals(patients: pd.DataFrame) -> dict[str, Any]:
    labelled = patients[patients["ez_channels"].notna()]
    ez = int(labelled["ez_channels"].sum()) if len(labelled) else None
    channels = int(labelled["channels"].sum())
    counts = {name: int(patients[name].sum()) for name in _COUNTS if name != "ez_channels"}
    return {
        "patients": len(patients),
        "patients_with_seizures": int((patients["seizures"] > 0).sum()),
        **{name: ez if name == "ez_channels" else counts[name] for name in _COUNTS},
        "ez_share": None if ez is None else round(ez / channels, 4),
        "patients_with_labels": len(labelled),
        "modality": "/".join(sorted({m for text in patients["modality"] for m in text.split("/")})),
        "sampling_rates_hz": sorted({r for rates in patients["sampling_rates_hz"] for r in rates}),
    }


def _plain(row: dict[Any, Any]) -> dict[str, Any]:
    """A row for JSON: None in place of NaN, whole numbers without a decimal point."""
    plain = {str(k): None if isinstance(v, float) and v != v else v for k, v in row.items()}
    integers = ("age", "ez_channels")
    return {
        k: int(v) if k in integers and isinstance(v, float) and v.is_integer() else v
        for k, v in plain.items()
    }
