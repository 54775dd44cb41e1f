"""How a contact differs from the others of its patient: one row of bounded numbers each.

Of every descriptor and seizure a few terms are computed: its level at rest, how it changes in the
first seconds and later, how much it varies through the seizure, when it begins to rise. Each is
compared with the other contacts of the same seizure and bounded, so that neither gains nor centers
nor a single wild contact matter; then averaged over seizures. Next to its own values: means of
its neighbours and of its electrode. Onset zones are patches, not points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from epilens.core.types import Bools, Floats
from epilens.data.channels.contacts import along_shafts
from epilens.evidence.cube import is_reference
from epilens.evidence.descriptors import rows_of

SPANS_S = {"early": (-2.0, 6.0), "middle": (5.0, 15.0), "late": (14.0, 30.0)}
"""Parts of the seizure whose level is compared with rest; from onset."""
BLOCK_S, BLOCKS_FROM_S, LEAST_IN_BLOCK = 12.0, -30.0, 3
"""Blocks over which activity waxes and wanes, and windows that one needs."""
LOOKS_FROM_S = -10.0
"""Time from which a rise is searched, in seconds from onset: annotated onsets come late."""
RISES_SD, RISES_WINDOWS = 3.0, 3
"""A rise is this many standard deviations of rest, in as many windows in a row."""
BOUND = 3.0
"""Standard deviations over the contacts of a seizure; beyond, one contact is like another."""
PLACES = ("own", "near", "shaft")
"""Spatial context: the contact itself, mean of its neighbours, mean of its electrode."""
TERMS = (
    *("mean", "rest", "level"),
    *SPANS_S,
    *("change", "waves", "swells", "largest", "highest", "restless", "peak", "begins"),
)
"""Terms of every descriptor."""


@dataclass(frozen=True)
class ContactTable:
    """The seen channels of a patient, relative to each other."""

    channels: tuple[str, ...]
    of_seizure: Floats
    """Bounded terms of each seizure (seizure, channel, term, descriptor); NaN where it has none."""
    x: Floats
    """Means over seizures (channel, place, term, descriptor); 0 where no seizure has a value."""

    @property
    def flat(self) -> Floats:
        """The means as a matrix (channel, column)."""
        return self.x.reshape(len(self.x), -1)

    def alone(self, seizure: int) -> ContactTable:
        """The table as if this seizure were the only one."""
        return table_of(self.channels, self.of_seizure[seizure : seizure + 1])


def contact_table(cube: xr.Dataset, bound: float = BOUND) -> ContactTable:
    """Terms of every descriptor, contact by contact, as a patient's own contacts compare."""
    seen = cube["valid"].any(["seizure", "window"]).values
    z = relative(seizure_terms(cube)[:, seen], bound)
    return table_of(tuple(map(str, cube["channel"].values[seen])), z)


def table_of(channels: tuple[str, ...], z: Floats) -> ContactTable:
    """The table of channels from what `relative` gives, (seizure, channel, term, descriptor)."""
    return ContactTable(channels, z, with_context(channels, finite_mean(z)))


def relative(values: Floats, bound: float = BOUND) -> Floats:
    """Compare values (seizure, channel, …) with the other channels of their seizure; bounded.

    A constant column is 0; NaN stays NaN.
    """
    finite = np.isfinite(values)
    n = np.maximum(finite.sum(axis=1, keepdims=True), 1)
    mean = np.where(finite, values, 0).sum(axis=1, keepdims=True) / n
    gap = np.where(finite, values - mean, 0)
    sd = np.sqrt((gap**2).sum(axis=1, keepdims=True) / n)
    small = sd <= 1e-9 * np.maximum(np.abs(mean), 1e-3)
    z = np.clip(gap / np.where(small, np.inf, sd), -bound, bound)
    return np.where(finite, z, np.nan)


def finite_mean(x: Floats) -> Floats:
    """Mean over the first axis where there is a value; 0 (like the average contact) without any."""
    finite = np.isfinite(x)
    return np.where(finite, x, 0).sum(0) / np.maximum(finite.sum(0), 1)


def with_context(channels: Sequence[str], x: Floats) -> Floats:
    """Add to x (channel, …) the means of neighbours and electrode: (channel, place, …)."""
    near, shaft = context_weights(channels)
    flat = x.reshape(len(x), -1)
    return np.stack([flat, near @ flat, shaft @ flat], axis=1).reshape(len(x), 3, *x.shape[1:])


def context_weights(channels: Sequence[str]) -> tuple[Floats, Floats]:
    """How much each contact (column) counts for the neighbours and the electrode of another (row).

    The next contacts on the electrode count twice as much as those after them. A contact without
    any, or whose name contains no electrode, stands for them itself.
    """
    near, shaft = np.eye(len(channels)), np.eye(len(channels))
    for of_shaft, numbers in along_shafts(channels):
        apart = np.abs(np.subtract.outer(numbers, numbers))
        weight = (apart == 1) + 0.5 * (apart == 2)
        total = weight.sum(axis=1, keepdims=True)
        alone = np.eye(len(of_shaft))
        block = np.ix_(of_shaft, of_shaft)
        near[block] = np.where(total > 0, weight / np.maximum(total, 1e-9), alone)
        shaft[block] = 1 / len(of_shaft)
    return near, shaft


def seizure_terms(cube: xr.Dataset) -> Floats:
    """Terms of each seizure (seizure, channel, term, descriptor); NaN where it has none.

    Levels are compared as logarithms where a descriptor spans orders of magnitude; how much
    activity waxes and wanes is used as it is, so that the loud parts count.
    """
    valid, start_s = cube["valid"].values, cube["start_s"].values
    level, size = _levels(cube)
    where = {name: valid & windows[..., None] for name, windows in _term_windows(cube).items()}
    rest, noise = _mean(level, where["rest"]), _sd(level, where["rest"])
    after = (_mean(level, where["change"]) - rest) / (noise + 1e-6)
    firsts = np.arange(BLOCKS_FROM_S, -BLOCKS_FROM_S - BLOCK_S + 1e-6, BLOCK_S)
    blocks = [valid & _within(cube, first, first + BLOCK_S)[..., None] for first in firsts]
    covered = np.stack([block.sum(axis=1) >= LEAST_IN_BLOCK for block in blocks], axis=1)
    levels, sizes = (
        np.stack([np.nan_to_num(_mean(v, b)) for b in blocks], axis=1) for v in (level, size)
    )
    terms = {
        "mean": _mean(level, valid),
        "rest": rest,
        "level": _mean(size, valid),
        **{name: _mean(level, where[name]) - rest for name in SPANS_S},
        "change": np.sign(after) * np.log1p(np.abs(after)),
        "waves": _sd(levels, covered),
        "swells": _sd(sizes, covered),
        "largest": _largest(sizes, covered),
        "highest": _largest(levels, covered),
        "restless": _sd(level, valid),
        "peak": _largest(level, where["peak"]) - rest,
        "begins": _begins(level - rest[:, None], noise, where["begins"], start_s),
    }
    return np.stack([terms[name] for name in TERMS], axis=2)


def _levels(cube: xr.Dataset) -> tuple[Floats, Floats]:
    """Values, as logarithms where they span orders of magnitude."""
    raw = cube["x"].values.astype(np.float64)
    level, size = raw.copy(), raw.copy()
    for i, row in enumerate(rows_of(cube["descriptor"].values.tolist())):
        if row.name.startswith("log_"):
            size[..., i] = np.exp(np.clip(raw[..., i], -50, 50))
        elif row.log_level:
            level[..., i] = np.log(np.abs(raw[..., i]) + 1e-12)
    return level, size


def read_windows(cube: xr.Dataset) -> Bools:
    """Which windows of a contact a term is computed from: (seizure, term, window, channel).

    Without windows of its own, those of the other contacts are used.
    """
    valid, read = cube["valid"].values, _term_windows(cube)
    every = np.ones(valid.shape[:2], bool)
    used = np.stack([read.get(name, every) for name in TERMS], axis=1)[..., None]
    own = used & valid[:, None]
    others = used & np.any(valid, axis=2)[:, None, :, None]
    return np.where(own.any(axis=2, keepdims=True), own, others)


ALL_THE_TIME = ("mean", "rest", "level", "waves", "swells", "largest", "highest", "restless")
"""Terms that no time of the seizure is responsible for: they need the time before onset as well."""


def placed_windows(cube: xr.Dataset) -> Floats:
    """Shares of a contact's windows in a term: (seizure, term, window, channel, descriptor).

    A peak is at its highest window and a beginning at its first; where nothing begins, that is
    shown by all windows after onset. Shares add up to 1, or to 0 for terms that are always present.
    """
    read = read_windows(cube).astype(np.float32)
    share = read / np.maximum(read.sum(axis=2, keepdims=True), 1)
    share = np.repeat(share[..., None], cube.sizes["descriptor"], axis=-1)
    for name in ALL_THE_TIME:
        share[:, TERMS.index(name)] = 0
    level, _ = _levels(cube)
    where = {n: cube["valid"].values & w[..., None] for n, w in _term_windows(cube).items()}
    rest, noise = _mean(level, where["rest"]), _sd(level, where["rest"])
    peak = np.where(where["peak"][..., None], level, -np.inf)
    _put(share, "peak", peak.argmax(axis=1), np.any(np.isfinite(peak), axis=1))
    lasting = _lasting(level - rest[:, None], noise, where["begins"])
    share[:, TERMS.index("begins")] = share[:, TERMS.index("change")]
    _put(share, "begins", lasting.argmax(axis=1), np.any(lasting, axis=1))
    return share


def _put(share: Floats, term: str, window: NDArray[np.int64], known: Bools) -> None:
    """Assign all of a term to one window, where that is known; window, known : (S, C, D)."""
    part = share[:, TERMS.index(term)]  # (S, W, C, D), a view
    at = (np.arange(part.shape[1])[:, None, None] == window[:, None]) & known[:, None]
    part[...] = np.where(known[:, None], at, part)


def _term_windows(cube: xr.Dataset) -> dict[str, Bools]:
    """Windows (seizure, window) of the terms that are not computed from all."""
    start_s = cube["start_s"].values
    return {
        "rest": is_reference(cube).values,
        "change": start_s >= 0,
        "peak": start_s >= LOOKS_FROM_S / 2,
        "begins": start_s >= LOOKS_FROM_S,
        **{name: _within(cube, *span) for name, span in SPANS_S.items()},
    }


def _within(cube: xr.Dataset, first_s: float, last_s: float) -> Bools:
    """Windows (seizure, window) that lie between two times."""
    return (cube["start_s"].values >= first_s - 1e-6) & (cube["stop_s"].values <= last_s + 1e-6)


def _mean(x: Floats, where: Bools) -> Floats:
    """Mean (S, C, D) over the windows of x (S, W, C, D) in `where` (S, W, C); NaN without any."""
    n = where.sum(axis=1)[..., None]
    total = np.where(where[..., None], x, 0).sum(axis=1)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


def _sd(x: Floats, where: Bools) -> Floats:
    """Standard deviation over windows; NaN where there are fewer than two."""
    n = where.sum(axis=1)[..., None]
    gap = np.where(where[..., None], x - np.nan_to_num(_mean(x, where))[:, None], 0)
    return np.where(n > 1, np.sqrt((gap**2).sum(axis=1) / np.maximum(n, 1)), np.nan)


def _largest(x: Floats, where: Bools) -> Floats:
    most = np.where(where[..., None], x, -np.inf).max(axis=1)
    return np.where(np.isfinite(most), most, np.nan)


def _begins(rise: Floats, noise: Floats, where: Bools, start_s: Floats) -> Floats:
    """How early a lasting rise begins, in seconds before the end; 0 where there is none."""
    lasting = _lasting(rise, noise, where)
    last = np.where(where.any(axis=2), start_s, -np.inf).max(axis=1)[:, None, None]
    first = np.where(lasting, start_s[..., None, None], np.inf).min(axis=1)
    return np.where(np.isfinite(noise), np.maximum(last - first, 0), np.nan)


def _lasting(rise: Floats, noise: Floats, where: Bools) -> Bools:
    """Windows (S, W, C, D) that begin a lasting rise, or go on with it."""
    high = (rise > RISES_SD * (noise[:, None] + 1e-6)) & where[..., None]
    lasting = high.copy()
    for k in range(1, RISES_WINDOWS):
        lasting[:, :-k] &= high[:, k:]
        lasting[:, -k:] = False
    return lasting
