"""How often right and wrong onsets of simulated seizures are questioned.

The true onset of a simulated seizure is known, so an onset can be given that is early, right or
late by so many seconds. Simulated: what a recorded patient does is another question.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.onset import recording_of
from benchmarks.timing import row
from epilens.core.progress import Progress
from epilens.data.onsets.onset import Onset
from epilens.data.recording import Recording
from epilens.localization import Request
from epilens.localization.onset_check import question_onsets
from epilens.localization.prepare import prepare_evidence
from epilens.localization.sources import open_source
from epilens.localization.timing import time_evidence
from epilens.simulation.patients import SimulatedPatient, make_patients
from epilens.simulation.shapes import SHAPES

SEED = 1
"""Limits were chosen on cohort 0."""
SHIFTS_S = (-15.0, -10.0, -6.0, -3.0, 0.0, 3.0, 6.0, 10.0, 15.0)
AROUND_S = 35.0


@dataclass(frozen=True)
class Checked:
    """One seizure with one given onset."""

    shift_s: float | None
    """Given minus true onset; None: as annotated."""
    lead_s: float
    """Annotated minus true onset."""
    suggested: bool
    """Whether another time is suggested."""
    precedes: bool
    """Whether activity before onset is reported."""


def around(recording: Recording, onset_s: float) -> Recording:
    """The part of a whole recording that would be read for an onset."""
    fs, n = recording.fs, recording.signal.shape[1]
    start = max(0, round((onset_s - AROUND_S) * fs))
    stop = min(n, round((onset_s + AROUND_S) * fs))
    signal, start_s = recording.signal[:, start:stop], start / fs - onset_s
    return replace(recording, signal=signal, start_s=start_s, onset=Onset.given(onset_s))


def of_patient(patient: SimulatedPatient) -> list[Checked]:
    """Every seizure of a patient with every onset."""
    return list(_of_patient(patient))


def _of_patient(patient: SimulatedPatient) -> Iterator[Checked]:
    source, good = open_source("line-length-change"), patient.implant.good
    for run in patient.runs:
        if run.oddity:
            continue
        whole = recording_of(patient, patient.signal(run)[good], run.fs)
        for shift_s in (*SHIFTS_S, None):
            given_s = run.onset_s - run.lead_s + (run.lead_s if shift_s is None else shift_s)
            request = Request(patient=[around(whole, given_s)], model="line-length-change")
            evidence = prepare_evidence(request, source, {"cube"}, Progress.of(None))
            questions = question_onsets(evidence, time_evidence(evidence.cube))
            text = " ".join(caution.text for caution in questions)
            suggested = "suggests" in text or "No contact changes" in text
            yield Checked(shift_s, run.lead_s, suggested, "precedes" in text)


def measure(shape: str = "demo") -> list[dict[str, Any]]:
    """Rows of the table, for a shape of cohort 1."""
    patients = [
        patient
        for index, center in enumerate(SHAPES[shape])
        for patient in make_patients(center, index, SEED)
    ]
    with ProcessPoolExecutor(2) as pool:
        checked = [one for part in pool.map(of_patient, patients) for one in part]
    rows = [row("simulated seizures", sum(one.shift_s == 0 for one in checked), "")]
    for shift_s in SHIFTS_S:
        same = [one for one in checked if one.shift_s == shift_s]
        most = 0.05 if shift_s == 0 else None
        least = 0.9 if abs(shift_s) >= 6 else None
        questioned = float(np.mean([one.suggested or one.precedes for one in same]))
        when = f"onset given {shift_s:+g} s from the true one"
        rows.append(row(f"{when}: questioned", questioned, "", most, least))
        rows.append(row(f"{when}: another time", np.mean([one.suggested for one in same]), ""))
        rows.append(row(f"{when}: precedes", np.mean([one.precedes for one in same]), ""))
    for close in (True, False):
        same = [o for o in checked if o.shift_s is None and (abs(o.lead_s) <= 5) == close]
        words = f"annotated {'at most' if close else 'more than'} 5 s from the true onset"
        rows.append(row(words, len(same), "seizures"))
        questioned = float(np.mean([one.suggested or one.precedes for one in same]))
        rows.append(row(f"{words}: questioned", questioned, ""))
    return rows
