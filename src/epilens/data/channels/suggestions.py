"""`suggest_channels` lists channels that look bad in the signal; a person decides.

Contacts that take part in a seizure become large and fast too. Therefore a channel must be larger,
rougher or have more mains than the other channels at the same time, in most of the recording.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from epilens.core.progress import Progress, StepFunction
from epilens.data.channels.measures import Floats, Stretch, Summary, is_beyond, measure_stretch
from epilens.data.chunked_reader import ContactSignals, open_contacts
from epilens.data.recording import Recording
from epilens.plan import QualityPlan

if TYPE_CHECKING:
    from mne.io import BaseRaw

What = Literal["flat", "clipped", "missing", "mains", "large", "small", "rough"]

_STRETCH_S, _MOST_STRETCHES = 5.0, 24
_MAINS_SHARE, _LARGE, _SMALL, _ROUGH = 0.5, 5.0, 8.0, 3.0
_WORDS: Mapping[What, str] = {
    "flat": "constant for {:.0%} of the time",
    "clipped": "stuck at its extremes for {:.1%} of the time",
    "missing": "no number for {:.1%} of the time",
    "mains": "mains are {:.0%} of its power",
    "large": "{:.1f} times as large as the median channel",
    "small": "{:.2f} of the size of the median channel",
    "rough": "{:.1f} times the fast noise of the median channel for its size",
}


@dataclass(frozen=True)
class ChannelSuggestion:
    """A reason to look at a channel."""

    channel: str
    what: What
    amount: float
    """Fraction of time or power, or ratio to the median channel; `words` says which."""

    @property
    def words(self) -> str:
        """The reason with its amount as text."""
        return _WORDS[self.what].format(self.amount)


def suggest_channels(
    recording: str | Path | BaseRaw | Recording | ContactSignals,
    plan: QualityPlan | None = None,
    tick: Progress | StepFunction | None = None,
) -> tuple[ChannelSuggestion, ...]:
    """Channels that look flat, clipped or noisy, in the order of the recording.

    Parameters
    ----------
    recording : path, Raw or Recording
        As for `propose_onsets`. At most two minutes of it are read, distributed over its length.
    plan : QualityPlan
        What is flat and clipped. Default: the plan's.
    tick : callable
        Called for every stretch that is read.
    """
    source = recording if isinstance(recording, ContactSignals) else open_contacts(recording)
    plan = plan or QualityPlan()
    parts = [measure_stretch(x, source.fs, plan) for x in _stretches(source, Progress.of(tick))]
    reasons = _reasons(parts, plan)
    return tuple(
        ChannelSuggestion(channel, what, float(amounts[i]))
        for i, channel in enumerate(source.channels)
        for what, (where, amounts) in reasons.items()
        if where[i]
    )


def _stretches(source: ContactSignals, tick: Progress) -> Iterator[NDArray[np.float32]]:
    length = min(source.samples, max(2, round(_STRETCH_S * source.fs)))
    count = min(_MOST_STRETCHES, max(1, source.samples // length))
    tick.expect(count)
    for start in np.linspace(0, source.samples - length, count).astype(int):
        yield source.read(int(start), int(start) + length)
        tick(f"looking at channels of {source.name}", 1)


def _reasons(parts: list[Stretch], plan: QualityPlan) -> dict[What, tuple[Any, Floats]]:
    """For every reason, which channels have it and its amount for each channel."""
    summary = Summary.of(parts)
    dead = summary.flat >= 0.5
    large, small, rough = summary.large, summary.small, summary.rough
    return {
        "flat": (dead, summary.flat),
        "clipped": (summary.stuck > plan.clipped_share, summary.stuck),
        "missing": (summary.missing > 0, summary.missing),
        "mains": (~dead & (summary.mains > _MAINS_SHARE), summary.mains),
        "large": (is_beyond(large, _LARGE, dead), np.exp(large)),
        "small": (is_beyond(-small, _SMALL, dead), np.exp(small)),
        "rough": (is_beyond(rough, _ROUGH, dead), np.exp(rough)),
    }
