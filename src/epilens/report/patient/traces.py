"""Signals of all contacts around onset for the page: lowest and highest sample of short bins.

Fast activity keeps its height, and low voltages keep their shape next to high ones: steps of the
code are fine near 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epilens.core.types import Floats
from epilens.evidence.signals import signal_of
from epilens.localization.result import Localization
from epilens.report.markup import INVALID, base64_of

FROM_S, TO_S = -10.0, 20.0
MOST_BYTES = 3_600_000
"""Of all contacts and seizures together: a page goes into a mail."""
BINS_HZ = (20, 250)
"""Fewest and most bins of a second."""
BEND = 100.0
"""Below 1/100 of a contact's largest value, steps are equal; above, they grow with the value."""


def traces(localized: Localization) -> dict[str, Any] | None:
    """Coded bins (seizure, channel, bin, lowest and highest); None where there are no signals."""
    if localized.signals is None:
        return None
    S, C = len(localized.seizures), len(localized.channels)
    rate = _bins_hz(localized, S * C)
    coded = np.zeros((S, C, round((TO_S - FROM_S) * rate), 2), np.int8)
    scale = np.zeros((S, C))
    for s in range(S):
        low, high, recorded = _envelope(localized, s, rate)
        largest = np.maximum(np.abs(low).max(axis=1), np.abs(high).max(axis=1))
        scale[s] = np.where(localized.shown[s], largest, 0)
        pair = np.stack([np.floor(bent(low, largest)), np.ceil(bent(high, largest))], axis=-1)
        coded[s] = np.where(recorded[None, :, None], pair.clip(-127, 127), INVALID)
    return {
        "from": FROM_S,
        "rate": rate,
        "bins": coded.shape[2],
        "bend": BEND,
        "scale": np.round(scale, 2).tolist(),
        "coded": base64_of(coded),
    }


def bent(values: Floats, largest: Floats) -> Floats:
    """Values (channel, …) between -127 and 127; the page has the inverse."""
    share = values / np.maximum(largest, 1e-9)[:, None]
    return 127 * np.arcsinh(BEND * share) / np.arcsinh(BEND)


def _bins_hz(localized: Localization, rows: int) -> int:
    """As many as there is room for, but no more than the signals have samples for."""
    assert localized.signals is not None
    fastest_hz = float(localized.signals["signal_rate_hz"].max())
    room = MOST_BYTES // (2 * rows * (TO_S - FROM_S))
    return int(np.clip(min(room, fastest_hz / 2), *BINS_HZ))


def _envelope(
    localized: Localization, s: int, rate: int
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Lowest and highest sample (channel, bin), and which bins the recording reaches."""
    signals = localized.signals
    assert signals is not None
    x = signal_of(signals, s)
    fs, start_s = (float(signals[k].values[s]) for k in ("signal_rate_hz", "signal_start_s"))
    bins = round((TO_S - FROM_S) * rate)
    edges = np.round((FROM_S + np.arange(bins + 1) / rate - start_s) * fs).astype(int)
    # A bin without a sample of its own, in a slow recording, has that of its neighbour.
    recorded = (edges[:-1] >= 0) & (edges[1:] <= x.shape[1]) & (edges[:-1] < x.shape[1])
    low, high = np.zeros((len(x), bins)), np.zeros((len(x), bins))
    if recorded.any():
        first, last = np.flatnonzero(recorded)[[0, -1]]
        inside = x[:, : max(edges[last + 1], edges[last] + 1)]
        low[:, first : last + 1] = np.minimum.reduceat(inside, edges[first : last + 1], axis=1)
        high[:, first : last + 1] = np.maximum.reduceat(inside, edges[first : last + 1], axis=1)
    return low, high, recorded
