"""An onset in an interrupted recording: where it lies, and whether its interval is whole."""

from __future__ import annotations

from dataclasses import replace

from epilens.core.errors import DataError
from epilens.data.audit import Note
from epilens.data.onset import GIVEN, TABLED, Onset
from epilens.data.readers.breaks import to_signal_s
from epilens.data.readers.protocol import RecordingReader


def onset_in_signal(onset: Onset, reader: RecordingReader) -> tuple[Onset, list[Note]]:
    """The onset in seconds of recorded signal, and what to know about it."""
    before = [gap for gap in reader.breaks if gap.missing_s and gap.at_s < onset.onset_s]
    if not before:
        return onset, []
    missing_s = sum(gap.missing_s or 0.0 for gap in before)
    if onset.rule in (GIVEN, TABLED):
        text = (
            f"the recording is interrupted before the onset ({before[0]}). The given onset, "
            f"{onset.onset_s:.1f} s, is assumed to count recorded signal. If it counts by the "
            f"clock, give {to_signal_s(onset.onset_s, reader.breaks):.1f} s"
        )
        return onset, [Note(text, "signal-interrupted")]
    if onset.by_clock:
        onset = replace(
            onset,
            onset_s=to_signal_s(onset.onset_s, reader.breaks),
            offset_s=onset.offset_s and to_signal_s(onset.offset_s, reader.breaks),
            by_clock=False,
        )
    text = (
        f"the recording is interrupted before the onset ({before[0]}). The annotated onset is used "
        f"{missing_s:.1f} s earlier, at {onset.onset_s:.1f} s of recorded signal"
    )
    return onset, [Note(text, "signal-interrupted")]


def unbroken(
    reader: RecordingReader, needed_s: tuple[float, float], margin_s: float
) -> tuple[float, float]:
    """The interval with as much margin as lies between two interruptions.

    Raises
    ------
    DataError
        Where an interruption lies in the needed interval.
    """
    start_s, stop_s = needed_s
    inside = [gap for gap in reader.breaks if start_s < gap.at_s < stop_s]
    if inside:
        raise DataError(
            f"expected an uninterrupted recording from {max(start_s, 0):.1f} to {stop_s:.1f} s, "
            f"found {inside[0]}. Export a recording without interruptions around the onset.",
            code="signal-interrupted",
        )
    before = [gap.at_s for gap in reader.breaks if gap.at_s <= start_s]
    after = [gap.at_s for gap in reader.breaks if gap.at_s >= stop_s]
    return max([start_s - margin_s, *before]), min([stop_s + margin_s, *after])
