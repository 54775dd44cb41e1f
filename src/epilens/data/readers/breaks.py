"""Interruptions of a recording, at which consecutive samples of a file are not consecutive in time.

Times in this package are seconds of recorded signal from the first sample. The annotations of an
interrupted EDF+ file use the clock, so the interruptions before them are subtracted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from epilens.core.errors import DataError
from epilens.data.audit import Note
from epilens.data.onsets.onset import GIVEN, TABLED, Event, Onset
from epilens.data.quiet import quiet

_RECORD_START = re.compile(rb"([+-]\d+(?:\.\d*)?)\x14")
_BOUNDARIES = ("new segment/", "edge boundary", "bad boundary", "boundary")
_SKIPPED = "bad_acq_skip"
_LEAST_S = 0.05
"""A shorter gap is a rounding error."""


@dataclass(frozen=True)
class Break:
    """An interruption of the recording."""

    at_s: float
    """Seconds of recorded signal before the interruption."""
    missing_s: float | None = None
    """Length of the interruption; None if the file does not state it."""

    def __str__(self) -> str:
        length = "a gap" if self.missing_s is None else f"a gap of {self.missing_s:.1f} s"
        return f"{length} after {self.at_s:.1f} s of recorded signal"


def to_signal_s(clock_s: float, breaks: Iterable[Break]) -> float:
    """Convert seconds by the clock, from the start of the file, to seconds of recorded signal.

    A time inside a gap becomes the time of the gap.

    Examples
    --------
    >>> to_signal_s(48.0, [Break(20.0, 8.0)])
    40.0
    """
    lost_s = 0.0
    for gap in breaks:
        begins_s = gap.at_s + lost_s
        if clock_s < begins_s:
            break
        lost_s += min(gap.missing_s or 0.0, clock_s - begins_s)
    return clock_s - lost_s


def breaks_in_header(path: Path) -> tuple[Break, ...]:
    """Interruptions that the time stamps of an EDF+ or BDF+ file show."""
    if path.suffix.lower() not in (".edf", ".bdf"):
        return ()
    try:
        starts_s, record_s = _record_starts(path)
    except Exception:  # a file without time stamps, or one that only MNE can read
        return ()
    gaps = [after - before - record_s for before, after in pairwise(starts_s)]
    return tuple(
        Break((record + 1) * record_s, gap if gap > 0 else None)
        for record, gap in enumerate(gaps)
        if abs(gap) > _LEAST_S
    )


def _record_starts(path: Path) -> tuple[list[float], float]:
    """Start of every data record in seconds, and the length of a record."""
    with path.open("rb") as file:
        file.seek(192)
        kind = file.read(5)
    if not kind.startswith(b"EDF+") and kind != b"BDF+D":
        return [], 0.0
    edf = read_edfio(path)
    stamps = np.ascontiguousarray(edf._timekeeping_signal.digital).view(np.uint8)
    records = stamps.reshape(edf.num_data_records, -1)
    matches = (_RECORD_START.match(record.tobytes()) for record in records)
    return [float(match[1]) for match in matches if match], edf.data_record_duration


def read_edfio(path: Path) -> Any:
    """Open a file with edfio; only the header of EDF is read, but BDF is read as a whole."""
    import edfio

    with quiet():
        if path.suffix.lower() == ".bdf":
            return edfio.read_bdf(path, header_encoding="latin-1")
        return edfio.read_edf(path, lazy_load_data=True, header_encoding="latin-1")


def breaks_in_annotations(events: Sequence[Event]) -> tuple[Break, ...]:
    """Interruptions that annotations state as new segments, boundaries or skipped signal."""
    times_s: set[float] = set()
    for event in events:
        text = event.text.strip().lower()
        if text.startswith(_BOUNDARIES):
            times_s.add(event.onset_s)
        elif text == _SKIPPED:
            times_s |= {event.onset_s, event.onset_s + event.duration_s}
    return tuple(Break(at_s) for at_s in sorted(times_s) if at_s > _LEAST_S)


def onset_in_signal(onset: Onset, breaks: Sequence[Break]) -> tuple[Onset, list[Note]]:
    """The onset in seconds of recorded signal, and a note if interruptions precede it."""
    before = [gap for gap in breaks if gap.missing_s and gap.at_s < onset.onset_s]
    if not before:
        return onset, []
    text = f"the recording is interrupted before the onset ({before[0]}). "
    if onset.rule in (GIVEN, TABLED):
        text += (
            f"The given onset, {onset.onset_s:.1f} s, is assumed to count recorded signal. If it "
            f"counts by the clock, give {to_signal_s(onset.onset_s, breaks):.1f} s"
        )
        return onset, [Note(text, "signal-interrupted")]
    if onset.by_clock:
        onset = replace(
            onset,
            onset_s=to_signal_s(onset.onset_s, breaks),
            offset_s=onset.offset_s and to_signal_s(onset.offset_s, breaks),
            by_clock=False,
        )
    text += (
        f"The annotated onset is used {sum(gap.missing_s or 0.0 for gap in before):.1f} s earlier, "
        f"at {onset.onset_s:.1f} s of recorded signal"
    )
    return onset, [Note(text, "signal-interrupted")]


def unbroken(
    breaks: Sequence[Break], needed_s: tuple[float, float], margin_s: float
) -> tuple[float, float]:
    """The interval with as much margin as interruptions allow; refuses one inside of it."""
    start_s, stop_s = needed_s
    inside = [gap for gap in breaks if start_s < gap.at_s < stop_s]
    if inside:
        raise DataError(
            f"expected an uninterrupted recording from {max(start_s, 0):.1f} to {stop_s:.1f} s, "
            f"found {inside[0]}. Export a recording without interruptions around the onset.",
            code="signal-interrupted",
        )
    before = [gap.at_s for gap in breaks if gap.at_s <= start_s]
    after = [gap.at_s for gap in breaks if gap.at_s >= stop_s]
    return max([start_s - margin_s, *before]), min([stop_s + margin_s, *after])
