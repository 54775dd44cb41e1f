"""One simulated patient as files in many forms: what the odd inputs of `oddities` are made of."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from pathlib import Path

import edfio
import mne
import numpy as np
from numpy.typing import NDArray

from epilens.simulation.patients import make_patients
from epilens.simulation.shapes import SHAPES

Signal = NDArray[np.float64]
Edit = Callable[["Seizure"], "Seizure"]

RATE_HZ, ONSET_S, LENGTH_S = 512, 36.0, 70.0
RANGE_UV = 3000.0
VICTIM = "RA5"
"""A contact that is far from the onset zone (RB1-RB4)."""


@dataclass(frozen=True)
class Seizure:
    """One recorded seizure, and how its file is written."""

    signal: Signal
    """(contact, time) in the unit of the file."""
    names: tuple[str, ...]
    onset_s: float = ONSET_S
    rate_hz: int = RATE_HZ
    unit: str = "uV"
    limit: float = RANGE_UV
    """Physical range of the file."""
    notes: tuple[tuple[float, str], ...] = ((ONSET_S, "EEG onset"),)
    """Annotations: seconds and text."""
    slow: frozenset[str] = field(default=frozenset())
    """Contacts that are stored at a quarter of the rate."""

    def at(self, name: str) -> int:
        """Index of a contact."""
        return self.names.index(name)

    def sample(self, from_onset_s: float) -> int:
        """Sample at a time from onset."""
        return round((self.onset_s + from_onset_s) * self.rate_hz)


@cache
def clean_seizures() -> tuple[Seizure, ...]:
    """Three seizures of 49 contacts with their true onsets, cut to 70 s."""
    return _seizures(0)


@cache
def other_seizures() -> tuple[Seizure, ...]:
    """A seizure of another patient, under names of the first one's contacts."""
    names = clean_seizures()[0].names
    return tuple(
        replace(seizure, names=names[: len(seizure.names)]) for seizure in _seizures(2)[:1]
    )


def _seizures(index: int) -> tuple[Seizure, ...]:
    patient = make_patients(SHAPES["demo"][0], 0, 0)[index]
    good = patient.implant.good
    names = tuple(np.array(patient.implant.names)[good].tolist())
    seizures = []
    for run in patient.runs[:3]:
        every = round(run.fs / RATE_HZ)
        start = max(0, round((run.onset_s - run.lead_s - ONSET_S) * run.fs))
        signal = patient.signal(run)[good][:, start : start + round(LENGTH_S * run.fs) : every]
        seizures.append(Seizure(signal.astype(np.float64), names))
    return tuple(seizures)


def write_edf(path: Path, seizure: Seizure) -> Path:
    """An EDF+ file with its annotations."""
    limit = seizure.limit
    signals = []
    for name, x in zip(seizure.names, seizure.signal, strict=True):
        every = 4 if name in seizure.slow else 1
        signals.append(
            edfio.EdfSignal(
                np.clip(x[::every], -limit * 0.999, limit * 0.999),
                seizure.rate_hz / every,
                label=name,
                physical_dimension=seizure.unit,
                physical_range=(-limit, limit),
            )
        )
    notes = [edfio.EdfAnnotation(at_s, None, text) for at_s, text in seizure.notes]
    recording = edfio.Recording(startdate=date(2026, 1, 5))
    edfio.Edf(signals, annotations=notes, recording=recording, data_record_duration=1.0).write(path)
    return path


def write_fif(path: Path, seizure: Seizure) -> Path:
    """A FIF file, whose samples are floating-point numbers without a range."""
    info = mne.create_info(list(seizure.names), seizure.rate_hz, "seeg", verbose="ERROR")
    raw = mne.io.RawArray(seizure.signal * 1e-6, info, verbose="ERROR")
    times, texts = zip(*seizure.notes, strict=True)
    raw.set_annotations(mne.Annotations(times, [0.0] * len(times), list(texts)))
    raw.save(path, fmt="double", overwrite=True, verbose="ERROR")
    return path


def write_all(folder: Path, edits: Mapping[int, Edit] | Edit, writer=write_edf) -> list[str]:
    """The seizures as files, changed by one function or by one function per seizure."""
    files = []
    for i, seizure in enumerate(clean_seizures()):
        edit = edits.get(i, _as_it_is) if isinstance(edits, Mapping) else edits
        suffix = ".edf" if writer is write_edf else "_ieeg.fif"
        files.append(str(writer(folder / f"seizure{i + 1}{suffix}", edit(seizure))))
    return files


def _as_it_is(seizure: Seizure) -> Seizure:
    return seizure


def set_header(path: Path, name: str, text: str, which: Sequence[int] = ()) -> None:
    """Overwrite a field of an EDF header: of the file, or of some of its signals."""
    content = bytearray(path.read_bytes())
    whole = {"records": (236, 8), "record_s": (244, 8), "kind": (192, 5)}
    if name in whole:
        start, width = whole[name]
        content[start : start + width] = text.encode().ljust(width)
    else:
        widths = {"label": 16, "transducer": 80, "dimension": 8, "physical_min": 8}
        widths |= {"physical_max": 8, "digital_min": 8, "digital_max": 8, "filter": 80}
        count = int(content[252:256])
        before = sum(widths[key] for key in list(widths)[: list(widths).index(name)])
        for i in which:
            start = 256 + count * before + i * widths[name]
            content[start : start + widths[name]] = text.encode().ljust(widths[name])
    path.write_bytes(content)


def interrupt(path: Path, after_s: int, gap_s: int) -> None:
    """Make an EDF+D file of an EDF+C one: records after a time begin later."""
    set_header(path, "kind", "EDF+D")

    def later(match: re.Match[bytes]) -> bytes:
        start = int(match[1])
        moved = b"+%d\x14\x14" % (start + gap_s if start >= after_s else start)
        return moved.ljust(len(match[0]), b"\x00")

    path.write_bytes(re.sub(rb"\+(\d+)\x14\x14\x00", later, path.read_bytes()))


def write_bids(
    root: Path,
    recording: Mapping[str, object] | None = None,
    channels: Mapping[str, object] | None = None,
) -> Path:
    """A BIDS dataset of the patient; sidecars can state other values. Returns its folder."""
    folder = root / "sub-01" / "ieeg"
    folder.mkdir(parents=True)
    about = {"Name": "odd", "BIDSVersion": "1.10.0"}
    (root / "dataset_description.json").write_text(json.dumps(about), encoding="utf-8")
    for i, seizure in enumerate(clean_seizures()):
        stem = folder / f"sub-01_task-ictal_run-0{i + 1}"
        write_edf(Path(f"{stem}_ieeg.edf"), seizure)
        sidecar = {"SamplingFrequency": RATE_HZ, "PowerLineFrequency": 60, **(recording or {})}
        Path(f"{stem}_ieeg.json").write_text(json.dumps(sidecar), encoding="utf-8")
        row = {"type": "SEEG", "units": "µV", "sampling_frequency": RATE_HZ, **(channels or {})}
        lines = ["\t".join(["name", *row])]
        lines += ["\t".join([name, *map(str, row.values())]) for name in seizure.names]
        Path(f"{stem}_channels.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        events = f"onset\tduration\ttrial_type\n{seizure.onset_s}\t0\tsz onset\n"
        Path(f"{stem}_events.tsv").write_text(events, encoding="utf-8")
    return root / "sub-01"


def write_electrodes(
    path: Path, scale: float = 1.0, extra: Sequence[str] = (), header: str = "name\tx\ty\tz"
) -> Path:
    """Positions of all contacts on straight electrodes inside a head, in mm times `scale`."""
    lines = [header]
    for name in clean_seizures()[0].names:
        shaft, number = re.fullmatch(r"(\D+)(\d+)", name).groups()  # ty: ignore
        y = 10.0 * (ord(shaft[-1]) - ord("B"))
        xyz = (15.0 + 3.5 * int(number), y, -10.0)
        lines.append("\t".join([name, *(f"{value * scale:.5f}" for value in xyz)]))
    path.write_text("\n".join([*lines, *extra]) + "\n", encoding="utf-8")
    return path
