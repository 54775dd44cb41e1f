"""What is known about a new patient beside its signals, and what is taken in of it.

File names and headers can name a person: no text of a file goes further than the names of its
contacts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from epilens.data.audit import AuditRow
from epilens.data.contacts import parse_contact
from epilens.data.onset import Event, Onset, find_onset
from epilens.data.recording import Recording
from epilens.errors import DataError, OnsetError

if TYPE_CHECKING:
    from mne.io import BaseRaw

_GIVEN = "given by the user"
UNREADABLE = "could not be read (the command line says why)"
_IEEG = ("eeg", "seeg", "ecog", "dbs")
# Channels that recorders write beside the contacts, with or without a number.
_OTHER = re.compile(
    r"^(?:eeg\s+|pol\s+)?(?:ecg|ekg|emg|eog|dc|trig|stim|status|event|mark|mkr|resp|spo2|osat|etco2"
    r"|pulse|pleth|beat|bp|pr|annot|photic|patient|airflow|thor|abdo|snore|chin|leg)[\s_-]*\d*\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Given:
    """What the user says about a patient beside its recordings."""

    onsets_s: tuple[float, ...] = ()
    """Seconds from the start of each file, in the order of the files."""
    electrodes: Path | None = None
    """electrodes.tsv (or .csv) with name, x, y, z."""
    space: str = ""
    """Coordinate system of the electrodes; empty: what coordsystem.json beside them says."""
    patient: str = ""
    """Code of the patient: letters and digits."""
    exclude: tuple[str, ...] = ()
    """Channels that are no contacts or should not count."""


@dataclass(frozen=True)
class Intake:
    """Seizures that can be read, and all that was left out or found strange."""

    recordings: tuple[Recording, ...]
    rows: tuple[AuditRow, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    """Seizure and reason; no free text of a file."""
    problems: tuple[str, ...] = ()
    """The same reasons in full, for the one who typed the command."""


def patient_code(text: str) -> str:
    """`sub-…` with letters and digits only, so that it can be a file's name everywhere."""
    code = text.removeprefix("sub-")
    if not re.fullmatch(r"[A-Za-z0-9]{1,40}", code):
        raise DataError(
            f"patient {text!r}: expected a code of letters and digits, found other characters. "
            "Give one with --patient, and no name of a person."
        )
    return f"sub-{code}"


class OutsideError(OnsetError):
    """An onset that the user typed does not lie in its file."""


def with_onsets(files: list[Path], onsets_s: tuple[float, ...]) -> list[tuple[Path, float | None]]:
    """Each file with its onset; one file can hold several seizures."""
    if not onsets_s:
        return [(file, None) for file in files]
    if len(files) == 1:
        return [(files[0], onset_s) for onset_s in onsets_s]
    if len(files) != len(onsets_s):
        raise OnsetError(
            f"localize: expected one onset for each of {len(files)} files, found {len(onsets_s)}. "
            "Give --onset once for every file, in their order."
        )
    return list(zip(files, onsets_s, strict=True))


def annotated_onset(events: Sequence[Event], who: str) -> Onset:
    """The onset that annotations mean; where they mean none, how to give it here."""
    try:
        return find_onset(events, who)
    except OnsetError as error:
        told = re.split(r" (?:Give the onset|Say which) in a table", str(error))[0]
        raise OnsetError(f"{told} Give the onset of every file with --onset.") from None


def typed_onset(onset_s: float, raw: BaseRaw, who: str) -> Onset:
    """An onset that the user gives; it must lie inside its recording."""
    """An onset that the user gives; it must lie inside its recording."""
    length_s = raw.n_times / float(raw.info["sfreq"])
    if not 0 <= onset_s < length_s:
        raise OutsideError(
            f"{who}: expected an onset inside the recording of {length_s:.3f} s, found "
            f"{onset_s:.3f} s. Count seconds from the start of the file."
        )
    return Onset(onset_s, None, "", _GIVEN)


def contacts_of(
    raw: BaseRaw, exclude: Sequence[str], patient: str, run: str
) -> tuple[list[str], list[AuditRow]]:
    """Channels of a file that are contacts by type and name; the others as rows."""
    names, rows, unwanted = [], [], {name.strip().upper() for name in exclude}
    for channel, kind in zip(raw.ch_names, raw.get_channel_types(), strict=True):
        channel = channel.strip()
        if channel.upper() in unwanted:
            why = "was excluded by the user"
        elif channel in raw.info["bads"]:
            why = "is marked bad in the recording"
        elif kind not in _IEEG or _OTHER.match(channel):
            why = "is no iEEG channel by its type or name"
        elif parse_contact(channel) is None:
            why = "has no contact number in its name"
        else:
            names.append(channel)
            continue
        rows.append(AuditRow("channel", why, patient, run, channel))
    if not names:
        raise DataError(
            f"expected contacts (names like A1 or LF 01-Ref), found none among "
            f"{len(raw.ch_names)} channels. Rename the channels, or put the file into a BIDS tree."
        )
    return names, rows
