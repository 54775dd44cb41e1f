"""Simulated patients → BIDS files, by the conventions of each center.

Everything is a function of the patient, so files can be written in any order by any process and
are the same bytes for the same seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from epilens.data.datasets.simulated import GENERATOR, SHEET, VERSION
from epilens.io.delimited import workbook_bytes
from epilens.simulation.contact_names import shaft_and_number, spell
from epilens.simulation.patients import SimulatedPatient, SimulatedRun
from epilens.simulation.shapes import Center
from epilens.simulation.signal_files import heartbeat, write_brainvision, write_edf
from epilens.simulation.tables import write_descriptions, write_json, write_tsv
from epilens.simulation.truth import write_truth
from epilens.simulation.zones import RULE_TEXTS

_TASK, _SESSION = "task-ictal", "ses-presurgery"
_NO_POSITION_SHARE = 0.03
"""Share of the contacts whose position is not stated."""
_CONTACT_MM2 = {"SEEG": 5.0, "ECOG": 4.2}
"""Surface of a contact in mm², as electrodes.tsv states it."""
_FIRST_CHANGE_S, _CLINICAL_ONSET_S = 4, 9
"""Other typed annotations: so long before and after the onset, in s."""
_UNRECORDED = "ZZ99"
"""A contact on the clinical sheet that no recording has."""


def write_center(folder: Path, center: Center, patients: Sequence[SimulatedPatient]) -> None:
    """Top-level files of a center's dataset: description, participants, labels, truth."""
    folder.mkdir(parents=True)
    write_json(
        folder / "dataset_description.json",
        {
            "Name": center.title,
            "BIDSVersion": "1.10.0",
            "DatasetType": "raw",
            "License": "CC0",
            "Authors": ["EpiLENS"],
            "GeneratedBy": [{"Name": GENERATOR, "Version": VERSION}],
        },
    )
    (folder / "README.md").write_text(
        f"# {center.title}\n\nSimulated signals of patients who do not exist, written by EpiLENS "
        "to try out software.\nNothing computed from them is clinical evidence.\n",
        encoding="utf-8",
    )
    _participants(folder, patients)
    # Inherited by every run; the run's own file adds what differs.
    write_json(
        folder / f"{_TASK}_ieeg.json",
        {
            "TaskName": "ictal",
            "TaskDescription": "Simulated seizure",
            "Manufacturer": "n/a",
            "PowerLineFrequency": center.mains_hz,
            "SoftwareFilters": "n/a",
            "RecordingType": "continuous",
            "iEEGReference": "simulated common reference",
        },
    )
    write_descriptions(folder / f"{_TASK}_events.json", {"trial_type": "Annotation as typed"})
    if center.labels in ("resected", "ablated"):
        columns: dict[str, str] = {center.labels: RULE_TEXTS[center.rule]}
        write_descriptions(folder / f"{_TASK}_channels.json", columns)
    if center.labels == "sheet":
        _sheet(folder / SHEET, patients)
    write_truth(folder / "derivatives" / "simulation-truth", center, patients)


def write_run(folder: Path, patient: SimulatedPatient, run: SimulatedRun) -> None:
    """Signal and sidecars of one run; the first run also writes the electrodes."""
    ieeg = folder / patient.name / _SESSION / "ieeg"
    ieeg.mkdir(parents=True, exist_ok=True)
    acquisition = "seeg" if patient.implant.modality == "SEEG" else "ecog"
    stem = f"{patient.name}_{_SESSION}_{_TASK}_acq-{acquisition}_run-{run.number:02d}"
    recorded = [i for i in range(len(patient.implant.names)) if i not in run.lacks]
    names = [spell(patient, i) for i in recorded]
    signal = patient.signal(run)
    samples = signal.shape[1]
    rows = [*(signal[i] for i in recorded), heartbeat(samples, run.fs)]
    write = write_edf if patient.center.file_format == "edf" else write_brainvision
    write(ieeg, f"{stem}_ieeg", [*names, "ECG"], rows, run.fs)
    write_json(
        ieeg / f"{stem}_ieeg.json",
        {
            "SamplingFrequency": run.fs,
            "RecordingDuration": samples / run.fs,
            f"{patient.implant.modality}ChannelCount": len(names),
            "ECGChannelCount": 1,
        },
    )
    _channels(ieeg / f"{stem}_channels.tsv", patient, run, recorded)
    _events(ieeg / f"{stem}_events.tsv", patient, run)
    if run.number == 1:
        _electrodes(ieeg, f"{patient.name}_{_SESSION}_acq-{acquisition}", patient)


def _participants(folder: Path, patients: Sequence[SimulatedPatient]) -> None:
    """Table of the patients with age, sex and outcome."""
    rows = [(p.name, p.age, p.sex, "S", p.engel, p.implant.modality) for p in patients]
    columns = ["participant_id", "age", "sex", "outcome", "engel", "implant"]
    write_tsv(folder / "participants.tsv", columns, rows)
    descriptions = {
        "outcome": "S: seizure-free after the simulated surgery",
        "engel": "Simulated Engel class",
        "implant": "Kind of electrodes",
    }
    write_descriptions(folder / "participants.json", descriptions)


def _channels(
    path: Path, patient: SimulatedPatient, run: SimulatedRun, recorded: Sequence[int]
) -> None:
    """Table of the recorded contacts, with the EZ where the center writes it there."""
    implant, center = patient.implant, patient.center
    columns = ["name", "type", "units", "low_cutoff", "high_cutoff", "sampling_frequency", "status"]
    extra = {"status": ["status_description"], "sheet": []}.get(center.labels, [center.labels])
    rows = []
    for i in recorded:
        status = "good" if implant.good[i] else "bad"
        fixed = [spell(patient, i), implant.modality, "µV", "n/a", "n/a", run.fs, status]
        rows.append(fixed + [_label_cell(patient, i)] * len(extra))
    rows.append(["ECG", "ECG", "µV", "n/a", "n/a", run.fs, "good"] + ["n/a"] * len(extra))
    write_tsv(path, columns + extra, rows)


def _label_cell(patient: SimulatedPatient, contact: int) -> str:
    """The EZ as the center writes it into channels.tsv."""
    zones = patient.zones
    match patient.center.labels:
        case "status":
            words = ["resect"] * bool(zones.resected[contact]) + ["soz"] * bool(zones.soz[contact])
            return ",".join(words) or "n/a"
        case "resected":
            return "yes" if zones.resected[contact] else "no"
        case _:
            return "yes" if zones.annotated[contact] else "no"


def _events(path: Path, patient: SimulatedPatient, run: SimulatedRun) -> None:
    """Table of the annotations; those outside of the recording are left out."""
    columns = ["onset", "duration", "trial_type"]
    rows = [] if run.oddity == "no-onset" else _annotations(patient, run)
    if patient.center.annotations == "typed":
        # This recorder repeats the time of every annotation as an annotation.
        rows = [(0.0, 0.0, "Segment: REC START"), (0.0, 0.0, "A1+A2 OFF"), *rows]
        rows = [r for row in rows for r in ((row[0], 0.0, f"+{row[0]:.6f}"), row)]
    rows = [(t, d, text) for t, d, text in rows if 0 <= t < run.duration_s]
    bom = patient.center.byte_order_mark
    write_tsv(path, columns, rows or [(0.0, 0.0, "Recording")], bom)


def _annotations(patient: SimulatedPatient, run: SimulatedRun) -> list[tuple[float, float, str]]:
    """Annotations of a run in the words of its center: time, duration, text."""
    t, end = run.onset_s, round(run.duration_s - 1, 3)
    ez = spell(patient, int(np.flatnonzero(patient.zones.annotated)[0]))
    match patient.center.annotations:
        case "sz onset":
            return [(t, 0.0, "sz onset"), (end, 0.0, "sz offset")]
        case "seizure":
            return [(t, round(end - t, 3), "seizure")]
        case "event":
            return [(t, 0.0, "SZ EVENT # (PB SZ)"), (end, 0.0, "EVENT OVER")]
    first = (round(t - _FIRST_CHANGE_S, 3), 0.0, "1st change?")
    texts = ["Onset", "eeg onset", f"onset {ez}", "definite onset", "eeg sz start"]
    text = texts[(int(patient.name[-2:]) + run.number) % len(texts)]
    clinical = (round(t + _CLINICAL_ONSET_S, 3), 0.0, "?clinical onset")
    return [first, (t, 0.0, text), clinical, (end, 0.0, "Offset")]


def _electrodes(folder: Path, stem: str, patient: SimulatedPatient) -> None:
    """Positions of the contacts and their coordinate system; a few positions are missing."""
    center, implant = patient.center, patient.implant
    rng = np.random.default_rng([*patient.seed, 2])
    has_position = rng.random(len(implant.names)) > _NO_POSITION_SHARE
    has_position &= center.space != "Other"
    size = _CONTACT_MM2[implant.modality]
    rows = [
        (spell(patient, i), *(implant.mm[i] if has_position[i] else ("n/a",) * 3), size)
        for i in range(len(implant.names))
    ]
    stem = f"{stem}_space-{center.space}"
    columns = ["name", "x", "y", "z", "size"]
    write_tsv(folder / f"{stem}_electrodes.tsv", columns, rows, center.byte_order_mark)
    tree = {
        "iEEGCoordinateSystem": center.space,
        "iEEGCoordinateSystemDescription": "Simulated implant on the coordinates of the template",
        "iEEGCoordinateUnits": center.stated_unit,
    }
    write_json(folder / f"{stem}_coordsystem.json", tree)


def _sheet(path: Path, patients: Sequence[SimulatedPatient]) -> None:
    """The clinical sheet: contact lists as clinicians type them, one contact never recorded."""
    import openpyxl

    book = openpyxl.Workbook()
    page = book.active
    assert page is not None
    page.append(["dataset_id", "soz_contacts", "outcome", "engel_score", "clinical_center"])
    for p in patients:
        code = p.center.code.lower() + str(int(p.name[-2:]))
        page.append([code, _contact_list(p), "S", 1, p.center.title])
    path.parent.mkdir(parents=True)
    path.write_bytes(workbook_bytes(book))


def _contact_list(patient: SimulatedPatient) -> str:
    """EZ contacts as a clinician types them, `LA1-3; lb2; LC7`: some letters in lower case."""
    shafts: dict[str, list[int]] = {}
    for i in np.flatnonzero(patient.zones.annotated):
        shaft, number = shaft_and_number(patient.implant.names[i])
        shafts.setdefault(shaft, []).append(number)
    pieces = []
    for index, (shaft, numbers) in enumerate(shafts.items()):
        written = shaft.lower() if index % 3 == 1 else shaft
        for first, last in _ranges(numbers):
            pieces.append(f"{written}{first}-{last}" if last > first else f"{written}{first}")
    return "; ".join([*pieces, _UNRECORDED])


def _ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """First and last of each row of successive numbers."""
    ranges: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ranges
