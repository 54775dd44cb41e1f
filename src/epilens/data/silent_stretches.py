"""Stretches in which every contact is constant: interruptions that a recorder filled up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from epilens.data.audit import AuditRow, Note

if TYPE_CHECKING:
    from epilens.data.recording import Recording

LEAST_S = 0.25
"""A shorter stretch of equal samples can be chance."""


def silent_rows(recording: Recording) -> list[AuditRow]:
    """A row that names the stretches in which no contact changes; none if there are none."""
    stretches = silent_stretches(recording)
    if not stretches:
        return []
    where = ", ".join(f"{start_s:.1f} to {stop_s:.1f} s" for start_s, stop_s in stretches[:3])
    text = (
        f"all contacts are constant from {where} from onset, as if the recording was interrupted. "
        "Export it without interruptions around the onset"
    )
    note = Note(text, "signal-interrupted")
    return [AuditRow.of("run", note, (recording.patient, recording.run), "noted")]


def silent_stretches(recording: Recording) -> list[tuple[float, float]]:
    """Start and stop in seconds from onset; a recording that is constant throughout has none."""
    signal = recording.signal
    constant = (signal[:, 1:] == signal[:, :-1]).all(axis=0)
    if constant.all():
        return []
    edges = np.flatnonzero(np.diff(np.concatenate([[0], constant.astype(np.int8), [0]])))
    spans = edges.reshape(-1, 2) / recording.fs
    long = spans[spans[:, 1] - spans[:, 0] >= LEAST_S] + recording.start_s
    return [(float(start_s), float(stop_s)) for start_s, stop_s in long]
