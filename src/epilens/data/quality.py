"""Signal checks: flat, clipped, non-finite and wildly out-of-scale channels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epilens.plan import Flag, QualityPlan


def quality_flags(
    signal: NDArray[np.float32], missing: NDArray[np.bool_], plan: QualityPlan
) -> list[tuple[Flag, ...]]:
    """Flags of each channel.

    Parameters
    ----------
    signal : array, (channel, time)
        In µV, 0 where `missing`.
    missing : array of bool, (channel, time)
        Samples that were not finite.
    """
    high, low = signal.max(axis=1), signal.min(axis=1)
    flat = high - low < plan.flat_uv
    found: dict[Flag, Any] = {
        "flat": flat,
        "clipped": ~flat & (_stuck_share(signal, high, low) > plan.clipped_share),
        "non-finite": missing.any(axis=1),
        "out-of-scale": _out_of_scale(signal, flat, plan.scale_ratio),
    }
    return [
        tuple(flag for flag, where in found.items() if where[channel])
        for channel in range(len(signal))
    ]


def _stuck_share(
    signal: NDArray[np.float32], high: NDArray[np.float32], low: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Share of samples at a channel's own extreme and equal to the sample before.

    A clean signal touches its maximum once; an amplifier at its rail stays there.
    """
    same = signal[:, 1:] == signal[:, :-1]
    at_rail = (signal[:, 1:] == high[:, None]) | (signal[:, 1:] == low[:, None])
    return (same & at_rail).mean(axis=1)


def _out_of_scale(
    signal: NDArray[np.float32], flat: NDArray[np.bool_], ratio: float
) -> NDArray[np.bool_]:
    """Channels whose median deviation is `ratio` times above or below the run's median channel."""
    # Differences of neighbouring samples, because a constant offset is not a scale.
    size = np.median(np.abs(np.diff(signal, axis=1)), axis=1)
    usable = ~flat & (size > 0)
    if usable.sum() < 3:
        return np.zeros(len(signal), bool)
    usual = np.median(size[usable])
    return usable & ((size > ratio * usual) | (size < usual / ratio))
