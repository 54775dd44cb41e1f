"""`propose_onsets` suggests times at which a seizure may begin, from the signal alone.

The suggestions are for a person who looks at the traces; no code here uses one as the onset.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from epilens.core.errors import DataError
from epilens.core.progress import Progress, StepFunction
from epilens.data.chunked_reader import ContactSignals, open_contacts
from epilens.data.onsets.changes import (
    AFTER_S,
    BEFORE_S,
    CHANGES_APART_S,
    Change,
    Features,
    FrameGrid,
    Levels,
    features_of,
    find_changes,
)
from epilens.data.recording import Recording

if TYPE_CHECKING:
    from mne.io import BaseRaw

SUGGESTIONS = (
    "These are suggestions from the signal alone: look at the traces before you use one. "
    "For research, not for diagnosis."
)
_SECTION_S = 1800.0
_OVERLAP_S = BEFORE_S + AFTER_S + CHANGES_APART_S
_LEAST_S = 12.0
_SURE, _MOST_APART_S = (-5.29, 0.411, 2.059, 0.636), 3.0


@dataclass(frozen=True)
class OnsetCandidate:
    """A time at which a seizure may begin.

    `sure`, 0 to 1, is the fraction of such candidates that were within five seconds of a true onset
    among simulated seizures and constructed artefacts, two artefacts for one seizure. It ranks
    candidates and is not a probability for a recorded patient. It is low if all contacts begin at
    once, as in movement and in some seizures.
    """

    onset_s: float
    """Seconds from the start of the file."""
    sure: float
    contacts: tuple[str, ...]
    """The contacts that changed first, in their order; at most ten."""


def propose_onsets(
    recording: str | Path | BaseRaw | Recording,
    exclude: Sequence[str] = (),
    tick: Progress | StepFunction | None = None,
) -> tuple[OnsetCandidate, ...]:
    """Suggest times at which a seizure may begin, in the order of time.

    Parameters
    ----------
    recording : path, Raw or Recording
        A file that MNE reads, a run of a BIDS tree, an open recording, or a `Recording`. Read in
        pieces: memory does not grow with its length.
    exclude : sequence of str
        Channels that are not used.
    tick : callable
        Called for every piece that is read.

    Returns
    -------
    tuple of OnsetCandidate
        `onset_s`, in seconds from the recording's start, its certainty, and which contacts began
        first; empty where nothing was found.

    Examples
    --------
    >>> from epilens.testing import make_recording
    >>> first, *_ = propose_onsets(make_recording(start_s=-60, stop_s=60))  # onset after 60 s
    >>> abs(first.onset_s - 60) < 10
    True
    """
    return candidates_of(open_contacts(recording, exclude), Progress.of(tick))


def candidates_of(source: ContactSignals, tick: Progress) -> tuple[OnsetCandidate, ...]:
    """Suggest onsets in a recording that is already open."""
    grid = FrameGrid(source.fs)
    if source.duration_s < _LEAST_S:
        raise DataError(
            f"{source.name}: expected at least {_LEAST_S:g} s of signal, found "
            f"{source.duration_s:.2f} s. Give a longer recording."
        )
    tick.expect(source.count(grid.samples))
    changes_s: list[tuple[float, Change]] = []
    for first, features in _sections(source, grid, tick):
        changes = find_changes(Levels.of(features, grid.block_s))
        changes_s += [((first + change.block) * grid.block_s, change) for change in changes]
    return tuple(_candidate(source, at_s, change) for at_s, change in _without_repeats(changes_s))


def _sections(
    source: ContactSignals, grid: FrameGrid, tick: Progress
) -> Iterator[tuple[int, Features]]:
    """First block and features of each overlapping section; the last one can be short."""
    section_blocks, overlap_blocks = (round(s / grid.block_s) for s in (_SECTION_S, _OVERLAP_S))
    parts: list[Features] = []
    first = blocks = 0
    for features in features_of(source.chunks(grid.samples), grid):
        parts.append(features)
        blocks += features.alive.shape[1]
        tick(f"reading {source.name}", 1)
        if blocks >= section_blocks:
            section = Features.joined(parts)
            yield first, section
            parts = [section.since(blocks - overlap_blocks)]
            first, blocks = first + blocks - overlap_blocks, overlap_blocks
    if blocks:
        yield first, Features.joined(parts)


def _without_repeats(changes: list[tuple[float, Change]]) -> list[tuple[float, Change]]:
    """Changes in the order of time; of one that two sections show, only the larger."""
    kept: list[tuple[float, Change]] = []
    for at_s, change in sorted(changes, key=lambda pair: -pair[1].size):
        if all(abs(at_s - other_s) >= CHANGES_APART_S for other_s, _ in kept):
            kept.append((at_s, change))
    return sorted(kept, key=lambda pair: pair[0])


def sure_of(change: Change) -> float:
    """Certainty that a change is an onset, from sequential recruitment, size and duration.

    It is a logistic curve, fitted to candidates in simulated seizures and constructed artefacts of
    the cohorts 10 and 11 (`python -m benchmarks onset` measures others).
    """
    at, size, apart, stays = _SURE
    x = at + size * np.log(max(change.size, 1e-3)) + stays * change.stays
    return float(1 / (1 + np.exp(-x - apart * min(change.apart_s, _MOST_APART_S))))


def _candidate(source: ContactSignals, at_s: float, change: Change) -> OnsetCandidate:
    return OnsetCandidate(
        round(source.starts_s + at_s, 3),
        round(sure_of(change), 3),
        tuple(source.channels[i] for i in change.first),
    )
