"""Onsets that the signal proposes: around the given one and, if none is near it, in the whole file.

On 60 simulated seizures of the cohorts 0 to 3 with the true onset, 22 % of the files are searched.
The search adds no caution if the file has no other seizure, and one in 5 % if another seizure that
nobody gave follows in the file. The limits were chosen with such seizures, so these rates are
optimistic.
"""

from __future__ import annotations

from collections.abc import Sequence

from epilens.core.errors import DataError
from epilens.core.progress import Progress
from epilens.data.audit import AuditRow
from epilens.data.chunked_reader import open_contacts
from epilens.data.onsets.finder import OnsetCandidate, candidates_of, propose_onsets
from epilens.data.recording import Recording

FAR_S = 5.0
"""A proposed onset that is farther from the given one is not the same."""
LEAST_SURE = 0.2
"""Proposed onsets that are less certain do not count."""
SURE = 0.5
"""Far from the given onset, only proposed onsets that are so certain count."""
LONGEST_S, _MOST_SAMPLES = 4 * 3600.0, 600_000_000
"""Files that are longer, or have more samples over all contacts, take too long to search."""
_LEFT_OUT = frozenset({"channel-quality", "channel-excluded"})


def proposed_onsets(
    recordings: Sequence[Recording], rows: Sequence[AuditRow] = (), tick: Progress | None = None
) -> dict[str, tuple[OnsetCandidate, ...]]:
    """Onsets that the signal of each seizure proposes; none where it is too short for that.

    Parameters
    ----------
    recordings : sequence of Recording
        The seizures of a patient, each read around its onset.
    rows : sequence of AuditRow
        Their audit: channels that were excluded do not count in the file either.
    """
    proposed = {}
    for recording in recordings:
        try:
            candidates = propose_onsets(recording)
        except DataError:
            continue
        if not any(is_near(one, recording.onset.onset_s) for one in candidates):
            same_file = [other for other in recordings if other.source == recording.source]
            others = [other for other in same_file if other is not recording]
            candidates += _elsewhere(recording, others, rows, Progress.of(tick))
        proposed[recording.run] = candidates
    return proposed


def is_near(candidate: OnsetCandidate, onset_s: float) -> bool:
    """Whether a candidate that is certain enough is at an onset."""
    return candidate.sure >= LEAST_SURE and abs(candidate.onset_s - onset_s) <= FAR_S


def _elsewhere(
    recording: Recording,
    others: Sequence[Recording],
    rows: Sequence[AuditRow],
    tick: Progress,
) -> tuple[OnsetCandidate, ...]:
    """Certain candidates in the file of a recording that are not of another of its seizures."""
    if recording.source is None or not recording.source.exists():
        return ()
    left_out = {r.channel for r in rows if r.effect == "excluded" and r.code in _LEFT_OUT}
    try:
        file = open_contacts(recording.source, sorted(left_out))
        too_long = file.duration_s > LONGEST_S
        too_long |= file.samples * len(file.channels) > _MOST_SAMPLES
        if too_long or file.duration_s <= recording.stop_s - recording.start_s:
            return ()
        label = f"searching the whole file of {recording.run} for its onset"
        found = candidates_of(file, Progress(lambda _, steps: tick(label, steps), tick.expect))
    except DataError:
        return ()
    read_s = [(r.onset.onset_s + r.start_s, r.onset.onset_s + r.stop_s) for r in others]
    return tuple(
        one
        for one in found
        if one.sure >= SURE and not any(first <= one.onset_s <= last for first, last in read_s)
    )
