"""Writes small but real BIDS trees: every file is made by edfio, pybv or MNE, nothing is mocked.

A test takes `write_tree(tmp_path)` and breaks one thing, by keyword or by writing over one file.
Default: one patient, one run, six SEEG contacts (A1-A4, B1-B2; A1 and A2 are EZ), 200 Hz, 80 s,
onset at 40 s.
"""

from __future__ import annotations

import json
import subprocess
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import edfio
import mne
import numpy as np
import openpyxl
import pybv

NAMES = ("A1", "A2", "A3", "A4", "B1", "B2")
FS, DURATION_S, ONSET_S = 200, 80.0, 40.0
EVENTS = ((ONSET_S, "sz onset"), (60.0, "sz offset"))
RANGE_UV = 400.0
SHEET = "sourcedata/clinical_data_summary.xlsx"
EXTENSION = {"edf": ".edf", "bdf": ".bdf", "brainvision": ".vhdr", "fif": ".fif"}


def noise(n: int = len(NAMES), fs: float = FS, duration_s: float = DURATION_S, seed: int = 0):
    """White noise of 20 µV, inside ±390 µV: (channel, time)."""
    draw = np.random.default_rng(seed).normal(scale=20.0, size=(n, round(fs * duration_s)))
    return np.clip(draw, -390, 390)


def folder(root: Path, patient: str = "01") -> Path:
    return root / f"sub-{patient}" / "ses-presurgery" / "ieeg"


def run_file(root: Path, end: str, patient: str = "01", run: str = "01", task: str = "ictal"):
    """Path of a run's file, e.g. `end="events.tsv"`."""
    return folder(root, patient) / f"sub-{patient}_ses-presurgery_task-{task}_run-{run}_{end}"


def write_tsv(path: Path, rows: Sequence[Mapping[str, object]], columns: Iterable[str] = ()):
    """A TSV file with a header; `columns` where there are no rows."""
    columns = list(columns) or list(rows[0])
    lines = ["\t".join(columns), *("\t".join(str(row[c]) for c in columns) for row in rows)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_json(path: Path, tree: object):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(tree), encoding="utf-8")
    return path


def channel_rows(names: Sequence[str] = NAMES, ez: Sequence[str] = ("A1", "A2"), **columns: object):
    """Rows of channels.tsv; a keyword replaces one column, for all rows or by channel name."""
    rows = []
    for name in names:
        row = {
            "name": name,
            "type": "SEEG",
            "units": "µV",
            "sampling_frequency": FS,
            "status": "good",
            "status_description": "soz" if name in ez else "n/a",
        }
        for column, value in columns.items():
            if not isinstance(value, Mapping):
                row[column] = value
            elif name in value:
                row[column] = value[name]
            else:
                row.setdefault(column, "n/a")
        rows.append(row)
    return rows


def without(rows: Sequence[Mapping[str, object]], *columns: str) -> list[dict[str, object]]:
    return [{k: v for k, v in row.items() if k not in columns} for row in rows]


def write_edf(
    path: Path,
    data,
    names=NAMES,
    fs=FS,
    unit="uV",
    annotations=(),
    limit=RANGE_UV,
    startdate=None,
):
    """`data` in the unit that the file states; `limit` is its physical range."""
    signals = [
        edfio.EdfSignal(x, fs, label=n, physical_dimension=unit, physical_range=(-limit, limit))
        for x, n in zip(data, names, strict=True)
    ]
    notes = [edfio.EdfAnnotation(at, length, text) for at, length, text in annotations]
    recording = edfio.Recording(startdate=startdate)
    edfio.Edf(signals, annotations=notes or None, recording=recording).write(path)


def write_bdf(path: Path, uv, names=NAMES, fs=FS, **_):
    signals = [
        edfio.BdfSignal(x, fs, label=n, physical_dimension="uV", physical_range=(-400, 400))
        for x, n in zip(uv, names, strict=True)
    ]
    edfio.Bdf(signals).write(path)


def write_brainvision(path: Path, uv, names=NAMES, fs=FS, number="binary_int16", **_):
    pybv.write_brainvision(
        data=uv * 1e-6,
        sfreq=fs,
        ch_names=list(names),
        fname_base=path.stem,
        folder_out=path.parent,
        fmt=number,
        resolution=0.1,
        unit="µV",
        overwrite=True,
    )


def write_fif(path: Path, uv, names=NAMES, fs=FS, **_):
    info = mne.create_info(list(names), fs, "seeg", verbose="ERROR")
    mne.io.RawArray(uv * 1e-6, info, verbose="ERROR").save(path, overwrite=True, verbose="ERROR")


WRITERS = {
    "edf": write_edf,
    "bdf": write_bdf,
    "brainvision": write_brainvision,
    "fif": write_fif,
}


def write_signal(path: Path, kind: str, data, **keywords):
    path.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        # The writers warn about blank units and NaN; that is what some tests are about.
        warnings.simplefilter("ignore")
        WRITERS[kind](path, data, **keywords)


def write_run(
    root: Path,
    patient: str = "01",
    run: str = "01",
    *,
    task: str = "ictal",
    kind: str | None = "edf",
    data=None,
    names: Sequence[str] = NAMES,
    fs: float = FS,
    channels: Sequence[Mapping[str, object]] | None = (),
    events: Sequence[tuple[object, str]] | None = EVENTS,
    fields: Mapping[str, object] | None = (),
    **writing: object,
) -> Path:
    """One run. `channels=None`, `events=None`, `fields=None`, `kind=None`: not written."""
    # Every run its own noise: the same recording twice is what other tests are about.
    data = noise(len(names), fs, seed=int(run) - 1) if data is None else data
    signal = run_file(root, "ieeg" + EXTENSION.get(kind or "", ""), patient, run, task)
    if kind is not None:
        write_signal(signal, kind, data, names=names, fs=fs, **writing)
    if channels is not None:
        rows = list(channels) or channel_rows(names, sampling_frequency=fs)
        write_tsv(run_file(root, "channels.tsv", patient, run, task), rows)
    if events is not None:
        rows = [{"onset": at, "duration": 0.0, "trial_type": text} for at, text in events]
        path = run_file(root, "events.tsv", patient, run, task)
        write_tsv(path, rows, ("onset", "duration", "trial_type"))
    if fields is not None:
        known = {
            "TaskName": task,
            "SamplingFrequency": fs,
            "PowerLineFrequency": 60,
            "RecordingDuration": data.shape[1] / fs,
        }
        write_json(
            run_file(root, "ieeg.json", patient, run, task),
            {k: v for k, v in (known | dict(fields)).items() if v is not None},
        )
    return signal


def write_dataset(root: Path, patients: Sequence[str] = ("01",), **description: object) -> Path:
    """dataset_description.json and participants.tsv."""
    root.mkdir(parents=True, exist_ok=True)
    known = {"Name": "Test center", "BIDSVersion": "1.9.0", "DatasetType": "raw"}
    write_json(root / "dataset_description.json", known | description)
    rows = [{"participant_id": f"sub-{patient}", "age": 30, "sex": "F"} for patient in patients]
    write_tsv(root / "participants.tsv", rows, ("participant_id", "age", "sex"))
    return root


def write_tree(
    root: Path, patients: Sequence[str] = ("01",), runs: Sequence[str] = ("01",), **keywords: object
) -> Path:
    """A dataset whose runs are all written with the same keywords."""
    write_dataset(root, patients)
    for patient in patients:
        for run in runs:
            write_run(root, patient, run, **keywords)
    return root


def write_electrodes(
    root: Path, mm: Mapping[str, Sequence[object]], unit: str | None = "mm", patient: str = "01"
) -> None:
    """electrodes.tsv and coordsystem.json; `unit=None`: no coordsystem.json."""
    start = f"sub-{patient}_ses-presurgery_space-fsaverage_"
    rows = [{"name": n, "x": x, "y": y, "z": z, "size": "n/a"} for n, (x, y, z) in mm.items()]
    write_tsv(folder(root, patient) / f"{start}electrodes.tsv", rows)
    if unit is not None:
        tree = {"iEEGCoordinateSystem": "fsaverage", "iEEGCoordinateUnits": unit}
        write_json(folder(root, patient) / f"{start}coordsystem.json", tree)


def write_sheet(root: Path, rows: list[tuple], header=("dataset_id", "soz_contacts")) -> None:
    """The clinical sheet of a dataset."""
    book = openpyxl.Workbook()
    for row in [header, *rows]:
        book.active.append(row)
    (root / SHEET).parent.mkdir(parents=True, exist_ok=True)
    book.save(root / SHEET)


def edit(path: Path, old: str, new: str) -> None:
    """Replace text in a file; the text must be there."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def whys(recordings, **where: str) -> list[str]:
    """Reasons of the audit rows with these values, e.g. `what="channel", channel="A1"`."""
    return _rows(recordings, where)["why"].tolist()


def codes(recordings, **where: str) -> list[str]:
    """Codes of the audit rows with these values."""
    return _rows(recordings, where)["code"].tolist()


def _rows(recordings, where: Mapping[str, str]):
    audit = recordings.audit
    for column, value in where.items():
        audit = audit[audit[column] == value]
    return audit


def assert_one_clear_line(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """Exit code 2 and one sentence on stderr, with these words; no traceback."""
    lines = done.stderr.strip().splitlines()
    assert (done.returncode, len(lines)) == (2, 1), done.stderr
    assert lines[0].startswith("epilens: ")
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in lines[0]
    assert done.stdout == ""
