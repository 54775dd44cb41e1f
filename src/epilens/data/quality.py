"""Signal checks: flat, clipped, non-finite and wildly out-of-scale channels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epilens.plan import Flag, QualityPlan


def quality_flags(
    signal: NDArray[np.float32], missing: NDArray[np.bool_] | None, plan: QualityPlan
) -> list[tuple[Flag, ...]]:
    """Flags of each channel.

    Parameters
    ----------
    signal : array, (channel, time)
        In µV, 0 where `missing`.
    missing : array of bool, (channel, time)
        Samples that were not finite; None: there are none.
    """
    high, low = _extremes(signal, missing)
    flat = high - low < plan.flat_uv
    # Every eighth sample and its neighbour suffice, in a fraction of the time.
    a, b = signal[:, :-1:8], signal[:, 1::8]
    b = b[:, : a.shape[1]]
    channels_with: dict[Flag, Any] = {
        "flat": flat,
        "clipped": ~flat & (_stuck_share(a, b, high, low) > plan.clipped_share),
        "non-finite": np.zeros(len(signal), bool) if missing is None else missing.any(axis=1),
        "out-of-scale": _out_of_scale(np.abs(b - a)[:, ::8], flat, plan.scale_ratio),
    }
    return [
        tuple(flag for flag, where in channels_with.items() if where[channel])
        for channel in range(len(signal))
    ]


def stuck_share(signal: NDArray[np.float32]) -> NDArray[np.float64]:
    """Share of samples of each channel (channel, time) that stick to its own extremes."""
    a, b = signal[:, :-1], signal[:, 1:]
    return _stuck_share(a, b, signal.max(axis=1), signal.min(axis=1))


def _extremes(
    signal: NDArray[np.float32], missing: NDArray[np.bool_] | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Largest and smallest sample of each channel, over the samples that are there."""
    if missing is None:
        return signal.max(axis=1), signal.min(axis=1)
    present = ~missing
    high = np.max(signal, axis=1, where=present, initial=-np.inf)
    low = np.min(signal, axis=1, where=present, initial=np.inf)
    none = ~present.any(axis=1)
    return np.where(none, 0, high), np.where(none, 0, low)


def _stuck_share(
    a: NDArray[np.float32],
    b: NDArray[np.float32],
    high: NDArray[np.float32],
    low: NDArray[np.float32],
) -> NDArray[np.float64]:
    """Share of samples at a channel's own extreme and equal to the sample after.

    A clean signal touches its maximum once; an amplifier at its rail stays there.
    """
    at_rail = (a == high[:, None]) | (a == low[:, None])
    return ((a == b) & at_rail).mean(axis=1)


def _out_of_scale(
    steps: NDArray[np.float32], flat: NDArray[np.bool_], ratio: float
) -> NDArray[np.bool_]:
    """Channels whose median step is `ratio` times above or below that of the median channel.

    Steps between neighbouring samples, because a constant offset is not a scale.
    """
    size = np.median(steps, axis=1)
    usable = ~flat & (size > 0)
    if usable.sum() < 3:
        return np.zeros(len(steps), bool)
    usual = np.median(size[usable])
    return usable & ((size > ratio * usual) | (size < usual / ratio))
