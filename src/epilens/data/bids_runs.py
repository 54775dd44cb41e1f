"""The runs of a patient in a BIDS dataset: which files belong together, and what sidecars say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from epilens.core.errors import DataError
from epilens.data.audit import AuditRow, noted_row
from epilens.data.channels.contacts import Matches
from epilens.data.channels.non_contacts import BIDS_CONTACTS
from epilens.data.electrodes.positions import Positions
from epilens.data.labels.zones import Zones, stated_contacts
from epilens.data.onsets.onset import Onset
from epilens.data.readers.formats import header_of
from epilens.data.recording import SeizureRun
from epilens.data.sidecars import BidsFile, BidsTree
from epilens.data.user_files import as_number, natural

SIGNALS = (
    *(".edf", ".bdf", ".vhdr", ".fif", ".fif.gz", ".lay", ".mefd", ".eeg", ".set", ".nwb"),
    *(".gdf", ".cnt", ".cdt", ".trc", ".ns1", ".ns2", ".ns3", ".ns4", ".ns5", ".ns6"),
)
_RUN_SIDECARS = {("channels", ".tsv"), ("events", ".tsv"), ("ieeg", ".json")}


@dataclass(frozen=True)
class RunSidecars:
    """One run as its own sidecars describe it, before labels and positions are added."""

    patient: str
    file: BidsFile
    table: pd.DataFrame
    """channels.tsv of the run."""
    good: tuple[str, ...]
    """Names of the contacts that can be used."""
    fields: dict[str, Any]
    """Fields of ieeg.json."""
    onsets: dict[int, Onset]
    """Onsets of usable seizures by their number in the run, from 1; empty in a survey."""

    @property
    def contacts(self) -> pd.DataFrame:
        """Rows of channels.tsv about ECOG and SEEG channels, good or bad."""
        return self.table[self.table["type"].str.upper().isin(BIDS_CONTACTS)]

    @cached_property
    def _good_rows(self) -> pd.DataFrame:
        return self.table.set_index("name").loc[list(self.good)]

    @property
    def modality(self) -> str:
        """The channel type that most good channels have."""
        return Counter(self._good_rows["type"].str.upper()).most_common(1)[0][0]

    @property
    def stated_fs(self) -> float | None:
        """Sampling rate (Hz) in ieeg.json, else that of the first good channel, or None."""
        if fs := as_number(self.fields.get("SamplingFrequency")):
            return fs
        texts = self._good_rows.get("sampling_frequency", ())
        return next((rate for text in texts if (rate := as_number(text)) is not None), None)

    @cached_property
    def onset_contacts(self) -> dict[int, Matches]:
        """Contacts in which each seizure began, if its event names them."""
        names = set(self.contacts["name"])
        texts = {number: onset.contacts for number, onset in self.onsets.items()}
        return {n: stated_contacts(text, names) for n, text in texts.items() if text}

    def seizures(
        self, center: str, simulated: bool, zones: Zones, positions: Positions
    ) -> list[SeizureRun]:
        """The seizures of the run, with what is known about the patient."""
        units = self._good_rows.get("units", [""] * len(self.good))
        began_in = {n: stated.channels or None for n, stated in self.onset_contacts.items()}
        return [
            SeizureRun(
                patient=self.patient,
                center=center,
                run=seizure_name(run_name(self.file), number),
                entity=seizure_name(run_number(self.file), number),
                source=signal_file(self.file),
                onset=onset,
                channels=self.good,
                listed=frozenset(self.table["name"]),
                modality=self.modality,
                stated_units=tuple(units),
                is_ez=self._in(zones.ez),
                is_soz=self._in(zones.soz),
                is_resected=self._in(zones.resected),
                is_onset_contact=self._in(began_in.get(number)),
                positions=positions.of(self.good),
                stated_fs=self.stated_fs,
                duration_s=as_number(self.fields.get("RecordingDuration")),
                mains_hz=as_number(self.fields.get("PowerLineFrequency")),
                simulated=simulated,
                discontinuous=_recording_type(self.fields) == "discontinuous",
            )
            for number, onset in self.onsets.items()
        ]

    def _in(self, zone: frozenset[str] | None) -> tuple[bool, ...] | None:
        """Whether each good channel is in a zone; None if the zone is unknown."""
        return None if zone is None else tuple(name in zone for name in self.good)


def _recording_type(fields: Mapping[str, Any]) -> str:
    return str(fields.get("RecordingType", "")).strip().lower()


def check_continuous(fields: Mapping[str, Any]) -> None:
    """Refuse a recording that is epoched by its ieeg.json, because its samples have gaps."""
    if _recording_type(fields) == "epoched":
        raise DataError(
            "expected a continuous recording of the seizure, found RecordingType epoched in "
            "ieeg.json. Use the recording from which the epochs were cut.",
            code="signal-interrupted",
        )


def runs_among(files: Iterable[BidsFile], patient: str) -> tuple[list[BidsFile], list[AuditRow]]:
    """One file for each run of a patient: its signal, or a sidecar if the signal is missing."""
    files = list(files)
    signals, rows = _signals_among(files, patient)
    sidecars: dict[Any, BidsFile] = {}
    for f in files:
        kind = (f.suffix, f.extension.removesuffix(".gz"))
        # Without a task, other tables may be of a session or a patient.
        if kind in _RUN_SIDECARS and (f.entity("task") or kind == ("ieeg", ".json")):
            sidecars.setdefault(f.entities, f)
    # A sidecar with fewer entities than a run is inherited by that run.
    runs = signals | {
        k: f
        for k, f in sidecars.items()
        if k not in signals and not any(k < other for other in [*signals, *sidecars])
    }
    return sorted(runs.values(), key=lambda f: natural(run_name(f))), rows


def runs_of(tree: BidsTree, patient: str) -> list[BidsFile]:
    """One file for each run of a patient, in natural order."""
    return runs_among(tree.subject_files(patient), patient)[0]


def _signals_among(
    files: list[BidsFile], patient: str
) -> tuple[dict[Any, BidsFile], list[AuditRow]]:
    """Signal files by their entities; of a run in two formats, the preferred one."""
    signals = [
        f
        for f in files
        if f.suffix == "ieeg" and f.extension in SIGNALS and header_of(f.path) == f.path
    ]
    best: dict[Any, BidsFile] = {}
    rows = []
    for f in sorted(signals, key=lambda f: SIGNALS.index(f.extension)):
        if best.setdefault(f.entities, f) is not f:
            text = f"is there as {f.extension} too; {best[f.entities].extension} is read"
            rows.append(noted_row("run", text, "format-twice", (patient, run_name(f))))
    return best, rows


def signal_file(file: BidsFile) -> Path | None:
    """The path of a file if it is a signal; None for a sidecar."""
    return file.path if file.suffix == "ieeg" and file.extension in SIGNALS else None


def run_name(file: BidsFile) -> str:
    """Name of a run: the entities of its file name without the patient."""
    pairs = file.path.name.split("_")[:-1]
    return "_".join(pair for pair in pairs if not pair.startswith("sub-"))


def run_number(file: BidsFile) -> str:
    """Number of a run: its entity `run` without leading zeros."""
    return file.entity("run").lstrip("0") or "0"


def seizure_name(run: str, number: int) -> str:
    """Name of a seizure: that of its run for the first one, with `+2` for the second."""
    return run if number == 1 else f"{run}+{number}"
