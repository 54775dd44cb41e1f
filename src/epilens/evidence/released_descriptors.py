"""The nine descriptors as the authors' released code computes them; its checkpoints know no others.

They differ from the paper's in the spectrum: Welch over segments of 256 samples, whatever the rate,
each without its mean; bands without their upper edge; entropy over all bins. So a band can be empty
or contain a single bin, and its power is 0: delta at 512 Hz and above. They are meant for signals
without band limits (`filter.band = "none"`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.signal
from numpy.typing import NDArray

from epilens.evidence.descriptors import ENTROPY_EPSILON, NINE, Descriptor
from epilens.plan import PAPER_NINE

Array = NDArray[Any]

SEGMENT = 256
"""Samples of a Welch segment."""


def released_spectrum(x: Array, fs: float) -> tuple[Array, Array]:
    """One-sided Welch spectrum in µV²/Hz and its frequencies: Hann, half overlapping, no means."""
    segment = min(SEGMENT, x.shape[-1])
    f, psd = scipy.signal.welch(x, fs, nperseg=segment, noverlap=segment // 2, detrend="constant")
    return psd, f


def released_log_band_power(x: Array, fs: float, band_hz: tuple[float, float]) -> Array:
    """log(1 + power) in a half-open band by the trapezoid; 0 where it has fewer than two bins.

    Examples
    --------
    >>> noise = np.random.default_rng(0).normal(size=(1, 1024))
    >>> float(released_log_band_power(noise, fs=512, band_hz=(1, 4)).item())
    0.0
    """
    psd, f = released_spectrum(x, fs)
    inside = (f >= band_hz[0]) & (f < band_hz[1])
    return np.log1p(np.trapezoid(psd[..., inside], f[inside], axis=-1))


def released_spectral_entropy(x: Array, fs: float) -> Array:
    """Entropy of the normalised spectrum over all bins, between 0 and 1; 0 for a constant."""
    psd, _ = released_spectrum(x, fs)
    # Without its mean, a constant leaves rounding errors; they are not a spectrum.
    some = (np.ptp(x, axis=-1) > 0)[..., None]
    total = psd.sum(axis=-1, keepdims=True)
    share = np.where(some, psd / np.where(some, total, 1), 0)
    return -(share * np.log(share + ENTROPY_EPSILON)).sum(axis=-1) / np.log(psd.shape[-1])


def _released(row: Descriptor) -> Descriptor:
    """The row of the released code for one of the paper's."""
    changes: dict[str, Any] = {}
    if row.band_hz:
        low, high = row.band_hz
        area = rf"\int_{{{low:g}\le f<{high:g}}}\hat S_{{{SEGMENT}}}(f)\,df"
        compute = partial(released_log_band_power, band_hz=row.band_hz)
        changes = {"formula": rf"\log(1+{area})", "compute": compute}
    elif row.name == "spectral_entropy":
        formula = r"-\frac1{\log K}\sum_{k=1}^{K}\tilde P_k\log(\tilde P_k+\epsilon)"
        changes = {"formula": formula, "compute": released_spectral_entropy}
    name, words = f"released_{row.name}", f"{row.words} (released code)"
    return replace(row, name=name, words=words, of="signal", **changes)


ENTRIES = tuple(_released(row) for row in NINE)
"""The released descriptors, in the paper's order."""
RELEASED_NINE = tuple(row.name for row in ENTRIES)


def which_descriptors(names: Sequence[str]) -> str:
    """Name of a choice of descriptors: one of the two nines, or the names.

    Examples
    --------
    >>> which_descriptors(PAPER_NINE), which_descriptors(["rms", "variance"])
    ("the paper's nine", 'rms, variance')
    """
    titles = {PAPER_NINE: "the paper's nine", RELEASED_NINE: "the released code's nine"}
    return titles.get(tuple(names), ", ".join(names))
