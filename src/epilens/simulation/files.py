"""Simulated patients → BIDS files, by the conventions of each center.

Everything is a function of the patient, so files can be written in any order by any process and
are the same bytes for the same seed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import numpy as np

from epilens.data.datasets.simulated import GENERATOR, SHEET, VERSION
from epilens.io.delimited import workbook_bytes
from epilens.simulation.patients import SimulatedPatient, SimulatedRun
from epilens.simulation.shapes import Center
from epilens.simulation.signals import Signal

_TASK = "task-ictal"
# A date that nobody can take for a real recording's.
_DAY, _CLOCK = date(1985, 1, 1), time(0, 0, 0)
_BOM = "\ufeff"
_RULES = {
    "soz": "the onset zone as annotated by the simulated clinicians",
    "either": "the onset zone as annotated by the simulated clinicians, or resected",
    "resected": "resected by the simulated surgeons",
    "ablated": "target of the simulated ablation",
}
"""How each center defines the EZ."""


def write_center(folder: Path, center: Center, patients: Sequence[SimulatedPatient]) -> None:
    """Top-level files of a center's dataset: description, participants, labels, truth."""
    folder.mkdir(parents=True)
    _json(
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
    _json(
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
    _json(folder / f"{_TASK}_events.json", {"trial_type": {"Description": "Annotation as typed"}})
    if center.labels in ("resected", "ablated"):
        about = {"Description": _RULES[center.rule]}
        _json(folder / f"{_TASK}_channels.json", {center.labels: about})
    if center.labels == "sheet":
        _sheet(folder / SHEET, patients)
    _truth(folder / "derivatives" / "simulation-truth", center, patients)


def write_run(folder: Path, patient: SimulatedPatient, run: SimulatedRun) -> None:
    """Signal and sidecars of one run; the first run also writes the electrodes."""
    place = folder / patient.name / "ses-presurgery" / "ieeg"
    place.mkdir(parents=True, exist_ok=True)
    acquisition = "seeg" if patient.implant.modality == "SEEG" else "ecog"
    stem = f"{patient.name}_ses-presurgery_{_TASK}_acq-{acquisition}_run-{run.number:02d}"
    recorded = [i for i in range(len(patient.implant.names)) if i not in run.lacks]
    names = [spell(patient, i) for i in recorded]
    signal = patient.signal(run)
    samples = signal.shape[1]
    rows = [*(signal[i] for i in recorded), _heart(samples, run.fs)]
    write = _edf if patient.center.file_format == "edf" else _brainvision
    write(place, f"{stem}_ieeg", [*names, "ECG"], rows, run.fs)
    _json(
        place / f"{stem}_ieeg.json",
        {
            "SamplingFrequency": run.fs,
            "RecordingDuration": samples / run.fs,
            f"{patient.implant.modality}ChannelCount": len(names),
            "ECGChannelCount": 1,
        },
    )
    _channels(place / f"{stem}_channels.tsv", patient, run, recorded)
    _events(place / f"{stem}_events.tsv", patient, run)
    if run.number == 1:
        _electrodes(place, f"{patient.name}_ses-presurgery_acq-{acquisition}", patient)


def spell(patient: SimulatedPatient, contact: int) -> str:
    """The name of a contact as its center writes it."""
    name = patient.implant.names[contact]
    shaft, number = name.rstrip("0123456789"), int(re.sub(r"\D", "", name))
    match patient.center.naming:
        case "eeg-ref":
            return f"EEG {shaft} {number:02d}-Ref"
        case "padded":
            return f"{shaft}{number:02d}"
        case "prime":
            return f"{shaft[1:]}'{number}" if shaft[0] == "L" else f"{shaft[1:]}{number}"
        case _:
            return name


def _json(path: Path, tree: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(tree, indent=2) + "\n", encoding="utf-8")


def _tsv(
    path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]], bom: bool = False
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ["\t".join(map(str, row)) for row in (columns, *rows)]
    path.write_text((_BOM if bom else "") + "\n".join(lines) + "\n", encoding="utf-8")


def _participants(folder: Path, patients: Sequence[SimulatedPatient]) -> None:
    rows = [(p.name, p.age, p.sex, "S", p.engel, p.implant.modality) for p in patients]
    columns = ["participant_id", "age", "sex", "outcome", "engel", "implant"]
    _tsv(folder / "participants.tsv", columns, rows)
    about = {
        "outcome": {"Description": "S: seizure-free after the simulated surgery"},
        "engel": {"Description": "Simulated Engel class"},
        "implant": {"Description": "Kind of electrodes"},
    }
    _json(folder / "participants.json", about)


def _channels(
    path: Path, patient: SimulatedPatient, run: SimulatedRun, recorded: Sequence[int]
) -> None:
    implant, center = patient.implant, patient.center
    columns = ["name", "type", "units", "low_cutoff", "high_cutoff", "sampling_frequency", "status"]
    extra = {"status": ["status_description"], "sheet": []}.get(center.labels, [center.labels])
    rows = []
    for i in recorded:
        status = "good" if implant.good[i] else "bad"
        fixed = [spell(patient, i), implant.modality, "µV", "n/a", "n/a", run.fs, status]
        rows.append(fixed + [_label_cell(patient, i)] * len(extra))
    rows.append(["ECG", "ECG", "µV", "n/a", "n/a", run.fs, "good"] + ["n/a"] * len(extra))
    _tsv(path, columns + extra, rows)


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
    columns = ["onset", "duration", "trial_type"]
    rows = [] if run.oddity == "no-onset" else _annotations(patient, run)
    if patient.center.name == "East":
        # This center's recorder repeats the time of every annotation as an annotation.
        rows = [(0.0, 0.0, "Segment: REC START"), (0.0, 0.0, "A1+A2 OFF"), *rows]
        rows = [r for row in rows for r in ((row[0], 0.0, f"+{row[0]:.6f}"), row)]
    rows = [(t, d, text) for t, d, text in rows if 0 <= t < run.duration_s]
    _tsv(path, columns, rows or [(0.0, 0.0, "Recording")], bom=patient.center.name == "North")


def _annotations(patient: SimulatedPatient, run: SimulatedRun) -> list[tuple[float, float, str]]:
    """How a center writes the onset."""
    t, end = run.onset_s, round(run.duration_s - 1, 3)
    ez = spell(patient, int(np.flatnonzero(patient.zones.annotated)[0]))
    match patient.center.name:
        case "North":
            return [(t, 0.0, "sz onset"), (end, 0.0, "sz offset")]
        case "South":
            return [(t, round(end - t, 3), "seizure")]
        case "West":
            return [(t, 0.0, "SZ EVENT # (PB SZ)"), (end, 0.0, "EVENT OVER")]
    first = (round(t - 4, 3), 0.0, "1st change?")
    texts = ["Onset", "eeg onset", f"onset {ez}", "definite onset", "eeg sz start"]
    text = texts[(int(patient.name[-2:]) + run.number) % len(texts)]
    clinical = (round(t + 9, 3), 0.0, "?clinical onset")
    return [first, (t, 0.0, text), clinical, (end, 0.0, "Offset")]


def _electrodes(place: Path, stem: str, patient: SimulatedPatient) -> None:
    center, implant = patient.center, patient.implant
    has_position = np.random.default_rng([*patient.seed, 2]).random(len(implant.names)) > 0.03
    has_position &= center.space != "Other"
    size = 5.0 if implant.modality == "SEEG" else 4.2
    rows = [
        (spell(patient, i), *(implant.mm[i] if has_position[i] else ("n/a",) * 3), size)
        for i in range(len(implant.names))
    ]
    stem = f"{stem}_space-{center.space}"
    bom = center.name == "North"
    _tsv(place / f"{stem}_electrodes.tsv", ["name", "x", "y", "z", "size"], rows, bom)
    # North says metres and writes millimetres, as one of the public datasets does.
    unit = "m" if center.name == "North" else "mm"
    tree = {
        "iEEGCoordinateSystem": center.space,
        "iEEGCoordinateSystemDescription": "Simulated implant on the coordinates of the template",
        "iEEGCoordinateUnits": unit,
    }
    _json(place / f"{stem}_coordsystem.json", tree)


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
    """`LA1-3; lb2, LC7`: runs of numbers as ranges, separators and case mixed."""
    shafts: dict[str, list[int]] = {}
    for i in np.flatnonzero(patient.zones.annotated):
        name = patient.implant.names[i]
        shafts.setdefault(name.rstrip("0123456789"), []).append(int(re.sub(r"\D", "", name)))
    pieces = []
    for k, (shaft, numbers) in enumerate(shafts.items()):
        ranges: list[list[int]] = []
        for n in sorted(numbers):
            if ranges and n == ranges[-1][1] + 1:
                ranges[-1][1] = n
            else:
                ranges.append([n, n])
        written = shaft.lower() if k % 3 == 1 else shaft
        pieces += [f"{written}{a}-{b}" if b > a else f"{written}{a}" for a, b in ranges]
    return "; ".join([*pieces, "ZZ99"])


def _truth(folder: Path, center: Center, patients: Sequence[SimulatedPatient]) -> None:
    """True onset zone and onsets; methods never read them."""
    tree = {
        "Name": f"Truth of {center.title}",
        "BIDSVersion": "1.10.0",
        "DatasetType": "derivative",
        "GeneratedBy": [{"Name": GENERATOR, "Version": VERSION}],
    }
    _json(folder / "dataset_description.json", tree)
    about = {
        "is_onset": "Simulated seizures start here: the truth",
        "is_soz": "Onset zone as annotated by the simulated clinicians",
        "is_resected": "Resected or ablated by the simulated surgeons",
        "is_annotated_ez": f"The EZ in the center's files: {_RULES[center.rule]}",
        "region": "What the electrode is aimed at",
        "pattern": "Onset pattern of the patient's seizures",
    }
    _json(folder / "truth.json", {name: {"Description": text} for name, text in about.items()})
    rows = [
        (p.name, spell(p, i), *(int(zone[i]) for zone in zones), p.implant.regions[i], pattern)
        for p in patients
        for zones in [(p.zones.onset, p.zones.soz, p.zones.resected, p.zones.annotated)]
        for pattern in [p.physiology.pattern]
        for i in np.flatnonzero(p.implant.good)
    ]
    _tsv(folder / "truth.tsv", ["patient", "channel", *about], rows)
    columns = {
        "annotated_s": "Onset as annotated, in the recording",
        "true_s": "When the seizure starts",
        "oddity": "What is odd about the run",
    }
    _json(folder / "onsets.json", {name: {"Description": text} for name, text in columns.items()})
    onsets = [
        (p.name, r.number, r.onset_s, round(r.onset_s - r.lead_s, 3), r.oddity or "n/a")
        for p in patients
        for r in p.runs
    ]
    _tsv(folder / "onsets.tsv", ["patient", "run", *columns], onsets)


def _heart(samples: int, fs: float) -> Signal:
    """A heartbeat, so that every file has a channel that is not a contact."""
    phase = (np.arange(samples) / fs * 1.1) % 1
    return (800 * np.exp(-0.5 * ((phase - 0.5) / 0.02) ** 2)).astype(np.float32)


def _edf(place: Path, stem: str, names: Sequence[str], rows: list[Signal], fs: float) -> None:
    import edfio

    signals = [
        edfio.EdfSignal(
            row.astype(np.float64),
            fs,
            label=name,
            physical_dimension="uV",
            physical_range=_range(row),
        )
        for name, row in zip(names, rows, strict=True)
    ]
    recording = edfio.Recording(startdate=_DAY)
    edf = edfio.Edf(signals, recording=recording, starttime=_CLOCK, data_record_duration=1.0)
    edf.write(place / f"{stem}.edf")


def _range(row: Signal) -> tuple[float, float]:
    """Physical limits in whole µV: header fields have eight characters."""
    limit = float(np.ceil(np.abs(row).max()) + 1)
    return -limit, limit


def _brainvision(
    place: Path, stem: str, names: Sequence[str], rows: list[Signal], fs: float
) -> None:
    import pybv

    # 16 bits over each channel's own range, in steps that decimal digits can write exactly.
    largest = np.array([np.abs(row).max() for row in rows])
    steps = np.ceil(largest / 32000 * 1e4 + 1) / 1e4
    volts = np.empty((len(rows), len(rows[0])))
    for out, row in zip(volts, rows, strict=True):
        np.multiply(row, 1e-6, out=out, dtype=np.float64)
    pybv.write_brainvision(
        data=volts,
        sfreq=fs,
        ch_names=list(names),
        fname_base=stem,
        folder_out=str(place),
        resolution=steps,
        unit="µV",
        fmt="binary_int16",
        meas_date=datetime(1985, 1, 1),
    )
