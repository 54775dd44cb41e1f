"""A recording without sidecars → a seizure run, from its own header and what the user says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from epilens.core.errors import DataError, OnsetError
from epilens.data.audit import AuditRow, Note, shown_label
from epilens.data.channels.non_contacts import why_no_contact
from epilens.data.channels.user_choices import excluded_channels
from epilens.data.electrodes.positions import montage_positions
from epilens.data.onsets.annotated import find_onset
from epilens.data.onsets.onset import Onset, OutsideError
from epilens.data.readers.mne_reader import beyond_the_end, is_cut_off, open_mne
from epilens.data.readers.protocol import SECOND, RecordingReader
from epilens.data.recording import SeizureRun

if TYPE_CHECKING:
    from mne.io import BaseRaw


@dataclass(frozen=True)
class BareSeizure:
    """A seizure of a file or an open recording without sidecars; the file is not open yet."""

    patient: str
    run: str
    """Name of the seizure, which says nothing of the file: `seizure-1`."""
    source: Path | BaseRaw
    onset: Onset | None
    """None: the annotations of the file say when the seizure begins."""

    @property
    def who(self) -> tuple[str, str]:
        """Patient and seizure, for rows of the audit."""
        return self.patient, self.run

    def open(self, exclude: Mapping[str, str]) -> tuple[SeizureRun, list[AuditRow]]:
        """The run as the header describes it, and rows about channels that are not contacts.

        exclude : channels that the user excludes, and why.
        """
        reader, path = open_mne(self.source), self.source if isinstance(self.source, Path) else None
        onset = self.onset
        if onset is None:
            onset = annotated_onset(reader, "annotations" if path else self.run)
        elif not 0 <= onset.onset_s < reader.duration_s:
            subject = path.name if path else self.run
            raise OutsideError(beyond_the_end(onset.onset_s, reader), subject=subject)
        channels, rows = contacts_in(reader, exclude, self.who)
        rows += [AuditRow.of("run", note, self.who, "noted") for note in reader.notes]
        return SeizureRun(
            patient=self.patient,
            center="",
            run=self.run,
            entity=self.run.rpartition("-")[2],
            source=path,
            onset=onset,
            channels=tuple(channels),
            listed=frozenset(reader.names),
            modality="iEEG",
            stated_units=("",) * len(channels),
            is_ez=None,
            positions=montage_positions(reader.raw),
            stated_fs=None,
            duration_s=None,
            mains_hz=reader.raw.info["line_freq"],
            raw=reader.raw,
        ), rows


def annotated_onset(reader: RecordingReader, who: str) -> Onset:
    """The annotated onset; the error without one says how the user can give it."""
    try:
        return find_onset(reader.annotations(), who)
    except OnsetError as error:
        hint = "Give the onset of every file with --onset."
        if is_cut_off(reader.notes):
            lost = "The file is cut off, and its onset may be in what is missing: copy it again."
            hint = f"{lost} {hint}"
        raise OnsetError.of(replace(error.reason, hint=hint)) from None


def contacts_in(
    reader: RecordingReader, exclude: Mapping[str, str], who: tuple[str, str]
) -> tuple[list[str], list[AuditRow]]:
    """Channels that are contacts by type and name, and an audit row for every other channel."""
    names, rows, excluded = [], [], excluded_channels(exclude, reader.names)
    reasons = why_no_contact(reader.names, reader.kinds)
    for number, channel in enumerate(reader.names, start=1):
        if channel in excluded:
            note = excluded[channel]
        elif channel in reader.bad:
            note = Note("is marked bad in the recording", "channel-bad")
        elif channel in reasons:
            note = Note(reasons[channel], "channel-not-implanted")
        elif (first := reader.repeated.get(channel)) and first not in excluded:
            note = SECOND
        else:
            names.append(channel)
            continue
        rows.append(AuditRow.of("channel", note, (*who, shown_label(channel, number))))
    if not names and excluded:
        raise DataError(
            f"expected contacts to rank, found none: {len(excluded)} of {len(reader.names)} "
            "channels were excluded by the user. Exclude fewer.",
            code="channels-none",
        )
    if not names:
        raise DataError(
            f"expected contacts (names like A1 or LF 01-Ref), found none among "
            f"{len(reader.names)} channels. Rename the channels, or put the file into a BIDS tree.",
            code="channels-none",
        )
    return names, rows
