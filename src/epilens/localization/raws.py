"""Seizures that are already MNE objects → recordings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from epilens.data.audit import AuditRow
from epilens.data.montage import apply_montage
from epilens.data.onset import Event, Onset
from epilens.data.positions import Positions
from epilens.data.quality import quality_flags
from epilens.data.recording import Recording, pick
from epilens.errors import OnsetError
from epilens.localization.intake import (
    Given,
    Intake,
    annotated_onset,
    contacts_of,
    patient_code,
    typed_onset,
)
from epilens.plan import Plan

if TYPE_CHECKING:
    from mne.io import BaseRaw


def from_raws(raws: Sequence[BaseRaw], plan: Plan, given: Given) -> Intake:
    """Seizures from MNE objects, one onset for each (seconds from the start of the object)."""
    if len(given.onsets_s) not in (0, len(raws)):
        raise OnsetError(
            f"localize: expected one onset for each of {len(raws)} recordings, found "
            f"{len(given.onsets_s)}. Give them in the order of the recordings."
        )
    patient = patient_code(given.patient or "patient")
    recordings, rows = [], []
    for number, raw in enumerate(raws, start=1):
        name = f"seizure-{number}"
        if given.onsets_s:
            onset = typed_onset(given.onsets_s[number - 1], raw, name)
        else:
            onset = annotated_onset(_events(raw), name)
        recording, more = _recording_of(raw, onset, patient, name, plan, given)
        recordings.append(recording)
        rows += more
    return Intake(tuple(recordings), tuple(rows))


def _events(raw: BaseRaw) -> list[Event]:
    notes = raw.annotations
    times = notes.onset - raw.first_time
    return [Event(float(at), str(text)) for at, text in zip(times, notes.description, strict=True)]


def _recording_of(
    raw: BaseRaw, onset: Onset, patient: str, name: str, plan: Plan, given: Given
) -> tuple[Recording, list[AuditRow]]:
    """The planned interval in µV, checked and in the plan's montage, as `read_run` does it."""
    names, rows = contacts_of(raw, given.exclude, patient, name)
    signal = _read_uv(raw, names, onset, plan)
    missing = None if np.isfinite(signal).all() else ~np.isfinite(signal)
    if missing is not None:
        signal[missing] = 0
    flags = quality_flags(signal, missing, plan.quality)
    keep = [not set(found) & set(plan.quality.drop) for found in flags]
    for channel, found, kept in zip(names, flags, keep, strict=True):
        effect = "noted" if kept else "excluded"
        rows += [
            AuditRow("channel", f"signal is {flag}", patient, name, channel, effect)
            for flag in found
        ]
    recording = Recording(
        patient=patient,
        center="",
        run=name,
        signal=signal,
        fs=float(raw.info["sfreq"]),
        channels=tuple(names),
        start_s=_first_sample(raw, onset, plan) / float(raw.info["sfreq"]) - onset.onset_s,
        onset=onset,
        is_ez=None,
        positions=_montage_positions(raw).of(names),
        modality="iEEG",
        mains_hz=raw.info["line_freq"],
        source=None,
        missing=missing,
    )
    recording = pick(recording, keep)
    trusted = np.array([not found for found, kept in zip(flags, keep, strict=True) if kept])
    recording, lost = apply_montage(recording, plan.montage.scheme, trusted)
    return recording, rows + lost


def _first_sample(raw: BaseRaw, onset: Onset, plan: Plan) -> int:
    before_s = plan.windows.start_s - plan.filter.margin_s
    return max(0, round((onset.onset_s + before_s) * float(raw.info["sfreq"])))


def _read_uv(raw: BaseRaw, names: Sequence[str], onset: Onset, plan: Plan) -> Any:
    """MNE keeps volts, whatever the file had."""
    after_s = plan.windows.stop_s + plan.filter.margin_s
    stop = min(raw.n_times, round((onset.onset_s + after_s) * float(raw.info["sfreq"])))
    in_raw = {channel.strip(): i for i, channel in enumerate(raw.ch_names)}
    index = np.array([in_raw[name] for name in names])
    volts = raw.get_data(start=_first_sample(raw, onset, plan), stop=stop, verbose="ERROR")[index]
    return (1e6 * np.asarray(volts)).astype(np.float32)


def _montage_positions(raw: BaseRaw) -> Positions:
    """Positions of the object's own montage, in mm."""
    montage = raw.get_montage()
    if montage is None:
        return Positions.none()
    known: dict[str, Any] = montage.get_positions()
    mm = {
        name.strip(): (1e3 * float(at[0]), 1e3 * float(at[1]), 1e3 * float(at[2]))
        for name, at in known["ch_pos"].items()
        if np.isfinite(at).all()
    }
    return Positions(mm, str(known["coord_frame"]))
