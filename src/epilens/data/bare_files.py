"""A recording without sidecars → the seizure run that its own header and the user describe."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from epilens.core.errors import DataError, OnsetError
from epilens.data.audit import AuditRow, Note, shown_label
from epilens.data.contacts import parse_contact
from epilens.data.non_contacts import MEANT_TWICE, electrodes_called_like_inputs, not_contacts
from epilens.data.onset import Onset, find_onset
from epilens.data.positions import montage_positions
from epilens.data.reader import annotations_of, beyond_the_end, is_cut_off, open_raw
from epilens.data.recording import SeizureRun

if TYPE_CHECKING:
    from mne.io import BaseRaw

_IEEG = ("eeg", "seeg", "ecog", "dbs")
# Channels that recorders write beside the contacts, with or without a number.
_OTHER = re.compile(
    r"^(?:eeg\s+|pol\s+)?(?:ecg|ekg|emg|eog|dc|trig|stim|status|event|mark|mkr|resp|spo2|osat|etco2"
    r"|pulse|pleth|beat|bp|pr|annot|photic|patient|airflow|thor|abdo|snore|chin|leg)[\s_-]*\d*\b",
    re.IGNORECASE,
)


NOT_IEEG = "is no iEEG channel by its type or name"
EXCLUDED = Note("was excluded by the user", "channel-excluded")


class OutsideError(OnsetError):
    """An onset that the user typed does not lie in its recording."""


def plain_run(
    source: Path | BaseRaw, onset_s: float | None, who: tuple[str, str], exclude: Sequence[str]
) -> tuple[SeizureRun, list[AuditRow]]:
    """The run of a file or an open recording; `who` are the codes of patient and seizure.

    Without an onset, its annotations say when. Contacts are found by type and name.
    """
    patient, name = who
    raw, notes = open_raw(source)
    is_file = isinstance(source, Path)
    if onset_s is None:
        onset = _annotated_onset(raw, "annotations" if is_file else name, notes)
    else:
        onset = _typed_onset(onset_s, raw, source.name if is_file else name, notes)
    channels, rows = contacts_of_raw(raw, exclude, who)
    rows += [AuditRow.of("run", note, who, "noted") for note in notes]
    return SeizureRun(
        patient=patient,
        center="",
        name=name,
        entity=name.rpartition("-")[2],
        path=source if is_file else None,
        onset=onset,
        channels=tuple(channels),
        listed=frozenset(channel.strip() for channel in raw.ch_names),
        modality="iEEG",
        stated_units=("",) * len(channels),
        is_ez=None,
        positions=montage_positions(raw),
        stated_fs=None,
        duration_s=None,
        mains_hz=raw.info["line_freq"],
        raw=raw,
    ), rows


def _annotated_onset(raw: BaseRaw, who: str, notes: Sequence[Note]) -> Onset:
    """The onset that annotations mean; where they mean none, how to give it here."""
    try:
        return find_onset(annotations_of(raw), who)
    except OnsetError as error:
        hint = "Give the onset of every file with --onset."
        if is_cut_off(notes):
            hint = (
                "The file is cut off, and its onset may be in what is missing: copy it again. "
                + hint
            )
        raise OnsetError.of(replace(error.reason, hint=hint)) from None


def _typed_onset(onset_s: float, raw: BaseRaw, who: str, notes: Sequence[Note]) -> Onset:
    """An onset that the user gives; it must lie inside its recording."""
    length_s = raw.n_times / float(raw.info["sfreq"])
    if not 0 <= onset_s < length_s:
        raise OutsideError(f"{who}: {beyond_the_end(onset_s, length_s, notes)}")
    return Onset.given(onset_s)


def why_no_contact(names: Sequence[str], kinds: Sequence[str]) -> dict[str, str]:
    """Channels that are no contacts by MNE's type and by name, and why.

    A type that only implanted contacts have says more than any name; where the type is unsaid (EDF
    knows none), the names of all channels together tell.
    """
    kind_of = {name.strip(): kind for name, kind in zip(names, kinds, strict=True)}
    contacts = _by_name(kind_of)
    others = not_contacts([name for name in contacts if kind_of[name] == "eeg"])
    reasons = {}
    for name in kind_of:
        if name not in contacts:
            reasons[name] = NOT_IEEG
        elif parse_contact(name) is None:
            reasons[name] = "has no contact number in its name"
        elif name in others:
            reasons[name] = others[name]
    return reasons


def _by_name(kind_of: Mapping[str, str]) -> list[str]:
    """Channels of iEEG type that are not called as other inputs are, or are electrodes so called.

    kind_of : type of every channel, in the order of the file.
    """
    ieeg = [name for name, kind in kind_of.items() if kind in _IEEG]
    rest = [name for name in ieeg if not _OTHER.match(name)]
    electrodes = electrodes_called_like_inputs(set(ieeg) - set(rest), rest)
    for name in set(ieeg) - set(rest):
        contact = parse_contact(name)
        if kind_of[name] != "eeg" and contact is not None and contact.shaft in MEANT_TWICE:
            electrodes.add(name)
    return [name for name in ieeg if name in electrodes or not _OTHER.match(name)]


def contacts_of_raw(
    raw: BaseRaw, exclude: Sequence[str], who: tuple[str, str]
) -> tuple[list[str], list[AuditRow]]:
    """Channels that are contacts by type and name; the others as rows."""
    names, rows, unwanted = [], [], {name.strip().upper() for name in exclude}
    reasons = why_no_contact(raw.ch_names, raw.get_channel_types())
    for place, channel in enumerate((name.strip() for name in raw.ch_names), start=1):
        if channel.upper() in unwanted:
            note = EXCLUDED
        elif channel in raw.info["bads"]:
            note = Note("is marked bad in the recording", "channel-bad")
        elif channel in reasons:
            note = Note(reasons[channel], "channel-not-implanted")
        else:
            names.append(channel)
            continue
        rows.append(AuditRow.of("channel", note, (*who, shown_label(channel, place))))
    if not names:
        raise DataError(
            f"expected contacts (names like A1 or LF 01-Ref), found none among "
            f"{len(raw.ch_names)} channels. Rename the channels, or put the file into a BIDS tree.",
            code="channels-none",
        )
    return names, rows
