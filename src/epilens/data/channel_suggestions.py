"""`suggest_channels`: which channels look bad, from the signal alone; a person decides.

Contacts that take part in a seizure become large and fast too, so being larger, rougher or full of
mains must hold in most of the recording, and only against the other channels of the same moment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from epilens.core.progress import Progress, StepFunction
from epilens.data.chunked_reader import ContactSignals, open_contacts
from epilens.data.mains import KNOWN_HZ
from epilens.data.quality import stuck_share
from epilens.data.recording import Recording
from epilens.plan import QualityPlan

if TYPE_CHECKING:
    from mne.io import BaseRaw

Floats = NDArray[np.float64]
What = Literal["flat", "clipped", "missing", "mains", "large", "small", "rough"]

_STRETCH_S, _MOST_STRETCHES = 5.0, 24
_MOSTLY = 0.75
"""Of the stretches in which a channel must be unlike the others."""
_MAINS_SHARE, _LARGE, _SMALL, _ROUGH = 0.5, 5.0, 8.0, 3.0
_FROM_MEDIAN = 4.0
"""And so many robust standard deviations of log size from the median channel."""
_LEAST_CHANNELS = 4
"""Fewer say nothing about what is usual."""
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
    """One reason to look at a channel."""

    channel: str
    what: What
    amount: float
    """A share of time or power, or times the median channel: `words` says which."""

    @property
    def words(self) -> str:
        """The reason, with its amount."""
        return _WORDS[self.what].format(self.amount)


@dataclass(frozen=True)
class _Stretch:
    """Measures of all channels in one stretch."""

    flat: NDArray[np.bool_]
    stuck: Floats
    missing: Floats
    mains: Floats
    size: Floats
    rough: Floats


def suggest_channels(
    recording: str | Path | BaseRaw | Recording | ContactSignals,
    plan: QualityPlan | None = None,
    tick: Progress | StepFunction | None = None,
) -> tuple[ChannelSuggestion, ...]:
    """Channels that look flat, clipped or noisy, in the order of the recording.

    Parameters
    ----------
    recording : path, Raw or Recording
        As for `propose_onsets`. At most two minutes of it are read, spread over its length.
    plan : QualityPlan
        What is flat and clipped. Default: the plan's.
    tick : callable
        Told of every stretch that is read.
    """
    source = recording if isinstance(recording, ContactSignals) else open_contacts(recording)
    plan = plan or QualityPlan()
    parts = [_measures(x, source.fs, plan) for x in _stretches(source, Progress.of(tick))]
    reasons = _reasons(parts, plan)
    return tuple(
        ChannelSuggestion(channel, what, float(amounts[i]))
        for i, channel in enumerate(source.channels)
        for what, (where, amounts) in reasons.items()
        if where[i]
    )


def _stretches(source: ContactSignals, tick: Progress) -> Iterator[NDArray[np.float32]]:
    length = min(source.samples, max(2, round(_STRETCH_S * source.fs)))
    many = min(_MOST_STRETCHES, max(1, source.samples // length))
    tick.expect(many)
    for start in np.linspace(0, source.samples - length, many).astype(int):
        yield source.read(int(start), int(start) + length)
        tick(f"looking at channels of {source.name}", 1)


def _measures(x: NDArray[np.float32], fs: float, plan: QualityPlan) -> _Stretch:
    missing = ~np.isfinite(x)
    x = np.where(missing, np.float32(0), x)
    x = x - np.median(x, axis=1, keepdims=True)
    flat = np.ptp(x, axis=1) < plan.flat_uv
    mains, size, steps = _spectral(x, fs)
    return _Stretch(
        flat,
        np.where(flat, 0.0, stuck_share(x)),
        missing.mean(axis=1),
        mains,
        size,
        steps / np.maximum(size, np.finfo(np.float64).tiny),
    )


def _spectral(x: NDArray[np.float32], fs: float) -> tuple[Floats, Floats, Floats]:
    """Share of mains in the power above 1 Hz; without them, size and steps between samples (RMS).

    Steps by the spectrum, because mains would make them large.
    """
    taper = np.hanning(x.shape[1]).astype(np.float32)
    power = np.abs(scipy.fft.rfft(x * taper, axis=1)).astype(np.float64) ** 2
    f = scipy.fft.rfftfreq(x.shape[1], 1 / fs)
    power[:, f < 1.0] = 0
    total = power.sum(axis=1)
    near = [_near_harmonics(f, hz) for hz in KNOWN_HZ]
    share = np.maximum(*(power[:, mains].sum(axis=1) for mains in near))
    share = np.divide(share, total, out=np.zeros_like(total), where=total > 0)
    power[:, near[0] | near[1]] = 0
    norm = 2 / (x.shape[1] * max(float((taper**2).sum()), 1e-9))
    size, steps = power.sum(axis=1), power @ (4 * np.sin(np.pi * f / fs) ** 2)
    return share, np.sqrt(size * norm), np.sqrt(steps * norm)


def _near_harmonics(f: Floats, hz: float) -> NDArray[np.bool_]:
    return (f > hz / 2) & (np.abs(f - hz * np.round(f / hz)) <= 1.0)


_Found = tuple[Any, Floats]


def _reasons(parts: list[_Stretch], plan: QualityPlan) -> dict[What, _Found]:
    """For every reason, which channels have it and how much."""
    flat, stuck, missing, mains = (
        np.array([getattr(part, name) for part in parts], float)
        for name in ("flat", "stuck", "missing", "mains")
    )
    always = np.quantile(mains, 1 - _MOSTLY, axis=0)
    dead = flat.mean(axis=0) >= 0.5
    size, rough = (
        np.array([_relative(getattr(part, name), part.flat) for part in parts])
        for name in ("size", "rough")
    )
    large, small = (np.quantile(size, q, axis=0) for q in (1 - _MOSTLY, _MOSTLY))
    rougher = np.quantile(rough, 1 - _MOSTLY, axis=0)
    return {
        "flat": (dead, flat.mean(axis=0)),
        "clipped": (stuck.mean(axis=0) > plan.clipped_share, stuck.mean(axis=0)),
        "missing": (missing.any(axis=0), missing.mean(axis=0)),
        "mains": (~dead & (always > _MAINS_SHARE), always),
        "large": (~dead & (large > np.log(_LARGE)) & _far(large, dead), np.exp(large)),
        "small": (~dead & (small < -np.log(_SMALL)) & _far(-small, dead), np.exp(small)),
        "rough": (~dead & (rougher > np.log(_ROUGH)) & _far(rougher, dead), np.exp(rougher)),
    }


def _relative(values: Floats, flat: NDArray[np.bool_]) -> Floats:
    """Logarithm of a value over that of the median channel; 0 for all where too few are usual."""
    usable = ~flat & (values > 0)
    if usable.sum() < _LEAST_CHANNELS:
        return np.zeros(len(values))
    logs = np.log(np.maximum(values, np.finfo(np.float64).tiny))
    return np.where(usable, logs - np.median(logs[usable]), 0.0)


def _far(logs: Floats, dead: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Farther above the median than channels of this recording usually are."""
    usable = logs[~dead] if (~dead).any() else logs
    middle = np.median(usable)
    spread = 1.4826 * np.median(np.abs(usable - middle))
    return logs - middle > _FROM_MEDIAN * spread
