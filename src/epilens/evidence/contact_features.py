"""The 33 contact features of a seizure: how active a contact is, and how its activity changes.

Six band powers, variance, skewness, kurtosis, line length and spectral entropy in 12 s windows from
30 s before to 30 s after onset; then mean, standard deviation and maximum over the windows. The
definition is that of a published table of recorded seizures, so a model that was trained on that
table reads any recording. The signal is notched at mains, referenced to the common average and
band-passed (1-250 Hz, elliptic, zero phase), whatever the plan does for descriptors.

What a recording does not allow is masked (`features_valid`) and noted in the audit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import scipy.fft
import scipy.signal
import xarray as xr
from numpy.typing import NDArray

from epilens.core.errors import DataError
from epilens.core.types import Bools, Floats
from epilens.data.audit import AuditRow, Note
from epilens.data.channels.contacts import contacts_of_channel
from epilens.data.channels.measures import mains_of
from epilens.data.recording import Recording
from epilens.evidence.blocks import in_blocks
from epilens.evidence.contact_table import ContactTable, relative, table_of
from epilens.evidence.kernels import welch_power, window_moments
from epilens.evidence.seizures import Seizures, Store, fill
from epilens.evidence.windows import RINGS_S, zero_phase
from epilens.plan import Plan

BANDS_HZ = {
    "delta": (1.0, 4.0),
    "theta": (4.0, 8.0),
    "alpha": (8.0, 12.0),
    "beta": (15.0, 25.0),
    "lgamma": (35.0, 50.0),
    "hfo": (80.0, 150.0),
}
MEASURES = (*BANDS_HZ, "var", "skew", "kurt", "ll", "se")
SUMMARIES = ("mean", "std", "max")
FEATURES = tuple(f"{measure}_{summary}" for summary in SUMMARIES for measure in MEASURES)
WORDS = (
    *("delta power", "theta power", "alpha power", "beta power", "low-gamma power (35-50 Hz)"),
    *("power at 80-150 Hz", "variance", "skewness", "kurtosis", "line length", "spectral entropy"),
)
"""Names of the measures in sentences."""
WINDOW_S = 12.0
STARTS_S = (-30.0, -18.0, -6.0, 6.0, 18.0)
"""Starts of the windows, in seconds from onset."""
SEGMENT_S = 2.0
"""Length of the Welch segments (Hann, half overlapping), in seconds."""
LEAST_BEFORE, LEAST_AFTER = 1, 2
"""Windows that must end before onset, and windows that must reach beyond it."""
NEEDS = "a recording from 18 s before to 18 s after onset"
BAND_HZ = (1.0, 250.0)
FEWER_WINDOWS = "contact features are computed from"
"""Start of the note about a recording that has not all windows."""
NO_AVERAGE = Note("bipolar recording: contact features have no common average")
NO_NOTCH = Note(
    "mains are unknown: contact features are computed without a notch", "mains-not-stated"
)
_BEFORE = np.array(STARTS_S) + WINDOW_S <= 0


@dataclass(frozen=True)
class Preparation:
    """How a signal is filtered and referenced; other values serve studies of sensitivity."""

    notch_q: float = 30.0
    """Quality factor of the notches at mains and its harmonics."""
    order: int = 4
    """Order of the band-pass."""
    design: Literal["elliptic", "butterworth"] = "elliptic"
    reference: Literal["average", "median", "as-recorded"] = "average"


PUBLISHED = Preparation()
"""The preparation of the published features."""


@dataclass(frozen=True)
class SeizureFeatures:
    """Features of one seizure, and what its recording allows."""

    values: Floats
    """Features (summary, channel, measure)."""
    valid: Bools
    """Whether each feature is valid (summary, channel, measure)."""
    windows: Bools
    """Which windows lie inside the recording (window,)."""
    mains_hz: float | None
    bipolar: bool


def contact_features(
    x: NDArray[np.floating],
    fs: float,
    start_s: float,
    mains_hz: float | None,
    prepared: Preparation = PUBLISHED,
) -> Floats:
    """Features (channel, 33) of one seizure in the order of `FEATURES`; NaN where there is none.

    Parameters
    ----------
    x : array, (channel, time)
        Signal in µV, as recorded.
    fs : float
        Sampling rate in Hz.
    start_s : float
        Time of the first sample, in seconds from onset.
    mains_hz : float, optional
        Frequency of the notches.
    prepared : Preparation
        Filters and reference.
    """
    inside = np.repeat(_inside(x.shape[1], fs, start_s)[:, None], len(x), axis=1)
    values = window_measures(x, fs, start_s, mains_hz, prepared)
    summary, valid = summarize(values, inside, fs)
    return np.concatenate(list(np.where(valid, summary, np.nan)), axis=1)


def window_measures(
    x: NDArray[np.floating],
    fs: float,
    start_s: float,
    mains_hz: float | None = None,
    prepared: Preparation = PUBLISHED,
    threads: int | None = None,
) -> Floats:
    """The eleven measures (window, channel, measure); 0 for windows outside the recording."""
    inside = _inside(x.shape[1], fs, start_s)
    out = np.zeros((len(x), len(STARTS_S), len(MEASURES)))
    if not inside.any():
        return np.moveaxis(out, 0, 1)
    starts, length = _first_samples(fs, start_s)[inside], round(WINDOW_S * fs)
    margin = round(RINGS_S * fs)
    used = slice(max(0, starts[0] - margin), min(x.shape[1], starts[-1] + length + margin))
    # Where less was recorded around the windows, more is continued by reflection.
    recorded = min(starts[0] - used.start, used.stop - starts[-1] - length)
    pad_s = max(1.0, RINGS_S - recorded / fs)
    common = _common(x[:, used], prepared.reference)

    def work(rows: slice) -> None:
        y = np.subtract(x[rows, used], common, dtype=np.float32, casting="same_kind")
        y -= y.mean(axis=1, keepdims=True)
        y = zero_phase(y, fs, lambda n: _gain(n, fs, mains_hz, prepared), pad_s)
        out[rows, inside] = _measures(y, starts - used.start, length, fs)

    in_blocks(work, len(x), threads)
    return np.moveaxis(out, 0, 1)


def summarize(measures: Floats, whole: Bools, fs: float) -> tuple[Floats, Bools]:
    """Mean, standard deviation and maximum over windows, and where they are valid.

    measures : (window, channel, measure). whole : (window, channel), windows that miss no sample.
    Both results are (summary, channel, measure), the values 0 where they are not valid. A channel
    needs a window before onset and two that reach beyond it; a band must lie below Nyquist.
    """
    used = whole[..., None]
    n = np.maximum(used.sum(axis=0), 1)
    mean = np.where(used, measures, 0).sum(axis=0) / n
    sd = np.sqrt(np.where(used, (measures - mean) ** 2, 0).sum(axis=0) / n)
    largest = np.where(used, measures, -np.inf).max(axis=0)
    enough = (whole[_BEFORE].sum(axis=0) >= LEAST_BEFORE) & (
        whole[~_BEFORE].sum(axis=0) >= LEAST_AFTER
    )
    below_nyquist = np.array([_covered(measure, fs) for measure in MEASURES])
    valid = np.repeat((enough[:, None] & below_nyquist)[None], len(SUMMARIES), axis=0)
    return np.where(valid, np.stack([mean, sd, largest]), 0), valid


def _covered(measure: str, fs: float) -> bool:
    return measure not in BANDS_HZ or BANDS_HZ[measure][1] <= fs / 2


def _first_samples(fs: float, start_s: float) -> NDArray[np.int64]:
    return np.floor((np.array(STARTS_S) - start_s) * fs + 1e-6).astype(np.int64)


def _inside(samples: int, fs: float, start_s: float) -> Bools:
    """Windows (window,) that lie wholly inside a recording.

    One sample may be lost to rounding where a recording begins or ends at a window's edge.
    """
    first, length = _first_samples(fs, start_s), round(WINDOW_S * fs)
    return (first >= 0) & (first + length <= samples)


def _common(x: NDArray[np.floating], reference: str) -> NDArray[np.floating] | float:
    if reference == "as-recorded":
        return 0.0
    return x.mean(axis=0) if reference == "average" else np.median(x, axis=0)


def is_band_passed(fs: float) -> bool:
    """Whether the upper limit of the band lies below Nyquist; else there is only the lower one."""
    return fs / 2 > 1.02 * BAND_HZ[1]


@lru_cache(maxsize=32)
def _gain(n: int, fs: float, mains_hz: float | None, prepared: Preparation) -> NDArray[np.float32]:
    """Gain of the zero-phase filters at the bins of an FFT of `n` samples."""
    f = scipy.fft.rfftfreq(n, 1 / fs)
    edges, kind = (BAND_HZ, "bandpass") if is_band_passed(fs) else (BAND_HZ[0], "highpass")
    if prepared.design == "elliptic":
        sos = scipy.signal.ellip(prepared.order, 0.5, 60, edges, kind, fs=fs, output="sos")
    else:
        sos = scipy.signal.butter(prepared.order, edges, kind, fs=fs, output="sos")
    gain = np.abs(scipy.signal.sosfreqz(sos, worN=f, fs=fs)[1]) ** 2
    for hz in np.arange(mains_hz, min(BAND_HZ[1], 0.95 * fs / 2), mains_hz) if mains_hz else ():
        notch = scipy.signal.iirnotch(hz, prepared.notch_q, fs)
        gain *= np.abs(scipy.signal.freqz(*notch, worN=f, fs=fs)[1]) ** 2
    return gain.astype(np.float32)


def _measures(y: NDArray[np.float32], starts: NDArray[np.int64], length: int, fs: float) -> Floats:
    """The eleven measures (channel, window, measure) of a filtered signal (channel, time)."""
    out = np.empty((len(y), len(starts), len(MEASURES)))
    out[..., len(BANDS_HZ) : -1] = window_moments(y, starts, length)
    segment = round(SEGMENT_S * fs)
    firsts = np.arange(0, length - segment + 1, segment - segment // 2)
    every = np.lib.stride_tricks.sliding_window_view(y, segment, axis=-1)
    spectrum = scipy.fft.rfft(every[:, starts[:, None] + firsts])
    # 3/8 is the mean square of a Hann window.
    power = welch_power(spectrum, segment % 2 == 0) / (fs * segment * 3 / 8)
    f = scipy.fft.rfftfreq(segment, 1 / fs)
    for i, (low, high) in enumerate(BANDS_HZ.values()):
        out[..., i] = power[..., (f >= low) & (f <= high)].sum(axis=-1) * (f[1] - f[0])
    out[..., -1] = _entropy(power)
    return out


def _entropy(power: Floats) -> Floats:
    """Shannon entropy of a spectrum in bits, over all bins; 0 without any power."""
    total = power.sum(axis=-1)
    logs = np.log2(np.maximum(power, np.finfo(np.float64).tiny))
    safe = np.where(total > 0, total, 1)
    return np.where(total > 0, np.log2(safe) - (power * logs).sum(axis=-1) / safe, 0)


def make_features(recordings: Iterable[Recording], plan: Plan) -> xr.Dataset:
    """Features of one patient: `features` and `features_valid` (seizure, channel, feature)."""
    return fill([CONTACT_FEATURES], recordings, plan)["features"]


def _of_seizure(r: Recording, plan: Plan, threads: int | None = None) -> SeizureFeatures:
    bipolar = is_bipolar(r.channels)
    prepared = Preparation(reference="as-recorded") if bipolar else PUBLISHED
    mains_hz = r.mains_hz or mains_of(r.signal, r.fs)
    inside = _inside(r.signal.shape[1], r.fs, r.start_s)
    whole = np.repeat(inside[:, None], len(r.channels), axis=1)
    if r.missing is not None:
        length = round(WINDOW_S * r.fs)
        for w, first in enumerate(_first_samples(r.fs, r.start_s)):
            whole[w] &= ~r.missing[:, max(first, 0) : max(first + length, 0)].any(axis=1)
    measures = window_measures(r.signal, r.fs, r.start_s, mains_hz, prepared, threads)
    values, valid = summarize(measures, whole, r.fs)
    valid &= np.isfinite(values)
    return SeizureFeatures(np.where(valid, values, 0), valid, inside, mains_hz, bipolar)


def is_bipolar(channels: Sequence[str]) -> bool:
    """Whether most channels are differences of two contacts, by their names."""
    return sum(len(contacts_of_channel(name)) == 2 for name in channels) > len(channels) / 2


def _of_patient(seizures: Seizures, parts: Sequence[SeizureFeatures], plan: Plan) -> xr.Dataset:
    values = seizures.stack([part.values for part in parts])  # (seizure, summary, channel, measure)
    valid = seizures.stack([part.valid for part in parts])
    axes = ("seizure", "channel", "feature")
    rows = [row for s in range(len(parts)) for row in _rows(seizures, s, parts[s], valid[s, 0])]
    return xr.Dataset(
        {"features": (axes, _side_by_side(values)), "features_valid": (axes, _side_by_side(valid))},
        seizures.coords | {"feature": list(FEATURES)},
        {"patient": seizures.about[0].patient, "audit": [row.to_json() for row in rows]},
    )


def _side_by_side(values: NDArray[Any]) -> NDArray[Any]:
    """Arrange (seizure, summary, channel, measure) as (seizure, channel, feature)."""
    moved = np.moveaxis(values, 1, 2)
    return np.ascontiguousarray(moved.reshape(*moved.shape[:2], -1))


def _rows(seizures: Seizures, s: int, part: SeizureFeatures, valid: Bools) -> list[AuditRow]:
    """Audit rows of what a recording did not allow: of the run, then of single channels."""
    r = seizures.about[s]
    who = (r.patient, r.run)
    notes = [AuditRow.of("run", note, who, "noted") for note in _notes(r, part)]
    if not valid.any():
        return notes
    lacking = seizures.present[s] & ~valid.any(axis=1)
    text = f"misses samples around onset, so it has no contact features; {NEEDS} is needed"
    note = Note(text, "signal-missing")
    return notes + [
        AuditRow.of("channel", note, (*who, seizures.channels[c]), "noted")
        for c in np.flatnonzero(lacking)
    ]


def _notes(r: Recording, part: SeizureFeatures) -> list[Note]:
    notes, count = [], int(part.windows.sum())
    if not part.valid.any():
        notes.append(Note(f"has no contact features: {NEEDS} is needed", "signal-missing"))
    elif count < len(STARTS_S):
        text = f"{FEWER_WINDOWS} {count} of {len(STARTS_S)} windows of 12 s"
        notes.append(Note(text, "signal-missing"))
    if lost := [band for band in BANDS_HZ if not _covered(band, r.fs)]:
        bands = ", ".join(f"{BANDS_HZ[band][0]:g}-{BANDS_HZ[band][1]:g} Hz" for band in lost)
        text = f"sampled at {r.fs:g} Hz: contact features leave out {bands}"
        notes.append(Note(text, "band-not-covered"))
    if part.bipolar:
        notes.append(NO_AVERAGE)
    if part.mains_hz is None:
        notes.append(NO_NOTCH)
    return notes


def has_features(patient: xr.Dataset) -> bool:
    """Whether a patient was opened or made with its contact features."""
    return "features" in patient


def features_shown(patient: xr.Dataset) -> Bools:
    """Which seizures have contact features of a channel (seizure, channel)."""
    return patient["features_valid"].any("feature").values


def check_features(patient: xr.Dataset) -> None:
    """Refuse to localize a patient without any seizure that has contact features."""
    if not features_shown(patient).any():
        raise DataError(
            f"{patient.attrs.get('patient', 'patient')}: expected {NEEDS}, found no seizure with "
            "it. Export a longer recording, or use epileptogenicity-index, which needs less."
        )


def feature_table(patient: xr.Dataset) -> ContactTable:
    """The seen contacts, compared with each other: terms are `SUMMARIES`, columns `MEASURES`."""
    seen = patient["valid"].any(["seizure", "window"]).values
    values = np.where(patient["features_valid"].values, patient["features"].values, np.nan)
    return compared(tuple(map(str, patient["channel"].values[seen])), values[:, seen])


def compared(channels: tuple[str, ...], values: Floats) -> ContactTable:
    """The table of features (seizure, channel, 33); NaN where a seizure has none of a contact."""
    terms = values.reshape(*values.shape[:2], len(SUMMARIES), len(MEASURES))
    return table_of(channels, relative(terms))


CONTACT_FEATURES = Store("features", _of_seizure, _of_patient)
