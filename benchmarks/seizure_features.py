"""The 33 contact features of recorded seizures that others published, computed from any recording.

{six bands, variance, skewness, kurtosis, line length, spectral entropy} over five 12 s windows
around the annotated onset, after notch, common average and band-pass; then mean, standard deviation
and maximum over the windows. So simulated and recorded seizures are measured with one ruler.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy.signal
import scipy.stats
from numpy.typing import NDArray

Values = NDArray[np.floating[Any]]

BANDS_HZ = {
    "delta": (1.0, 4.0),
    "theta": (4.0, 8.0),
    "alpha": (8.0, 12.0),
    "beta": (15.0, 25.0),
    "lgamma": (35.0, 50.0),
    "hfo": (80.0, 150.0),
}
BASE = (*BANDS_HZ, "var", "skew", "kurt", "ll", "se")
SUMMARIES = ("mean", "std", "max")
FEATURES = tuple(f"{base}_{summary}" for summary in SUMMARIES for base in BASE)
WINDOW_S, SPAN_S = 12.0, (-30.0, 30.0)


def cleaned(x: Values, fs: float, mains_hz: float) -> Values:
    """Notch at the mains and its harmonics, common average, elliptic band-pass 1-250 Hz."""
    x = x.astype(np.float64)
    for hz in np.arange(mains_hz, min(250.0, 0.95 * fs / 2), mains_hz):
        x = scipy.signal.filtfilt(*scipy.signal.iirnotch(hz, 30.0, fs), x, axis=-1)
    x = x - x.mean(axis=0)
    edges, kind = ((1.0, 250.0), "bandpass") if fs / 2 > 255 else (1.0, "highpass")
    sos = scipy.signal.ellip(4, 0.5, 60, edges, kind, fs=fs, output="sos")
    return scipy.signal.sosfiltfilt(sos, x, axis=-1)


def window_features(x: Values, fs: float) -> Values:
    """The eleven of one window, (channel, 11)."""
    segment = round(2 * fs)
    f, power = scipy.signal.welch(x, fs, "hann", segment, segment // 2, axis=-1)
    columns = [
        power[:, (f >= low) & (f <= high)].sum(axis=-1) * (f[1] - f[0])
        for low, high in BANDS_HZ.values()
    ]
    share = power / power.sum(axis=-1, keepdims=True)
    entropy = -(share * np.log2(share + 1e-300)).sum(axis=-1)
    return np.stack(
        [
            *columns,
            x.var(axis=-1),
            scipy.stats.skew(x, axis=-1),
            scipy.stats.kurtosis(x, axis=-1),
            np.abs(np.diff(x, axis=-1)).mean(axis=-1),
            entropy,
        ],
        axis=1,
    )


def contact_features(x: Values, fs: float, onset_s: float, mains_hz: float) -> Values:
    """(channel, 33) of one seizure; columns are `FEATURES`."""
    first = round((onset_s + SPAN_S[0]) * fs)
    length = round(WINDOW_S * fs)
    count = int((SPAN_S[1] - SPAN_S[0]) / WINDOW_S)
    x = cleaned(x[:, max(first, 0) : first + count * length], fs, mains_hz)
    windows = [
        window_features(x[:, k * length : (k + 1) * length], fs)
        for k in range(count)
        if (k + 1) * length <= x.shape[1]
    ]
    stack = np.stack(windows)
    return np.concatenate([stack.mean(axis=0), stack.std(axis=0), stack.max(axis=0)], axis=1)


def auroc(score: Values, positive: NDArray[np.bool_]) -> float:
    """Area under the ROC curve by ranks; NaN with one class only."""
    ones, zeros = int(positive.sum()), int((~positive).sum())
    if not ones or not zeros:
        return float("nan")
    ranks = scipy.stats.rankdata(score)
    return float((ranks[positive].sum() - ones * (ones + 1) / 2) / (ones * zeros))


def patient_aurocs(table: pd.DataFrame) -> pd.DataFrame:
    """AUROC of each feature in each patient: mean over seizures first; rows are patients."""
    rows = {}
    for patient, of in table.groupby("patient"):
        z = of.groupby("run")[list(FEATURES)].transform(
            lambda v: (v - v.mean()) / (v.std() + 1e-300)
        )
        mean = z.groupby(of["channel"]).mean()
        soz = of.groupby("channel")["is_soz"].first().reindex(mean.index).to_numpy(bool)
        rows[patient] = {f: auroc(mean[f].to_numpy(), soz) for f in FEATURES}
    return pd.DataFrame(rows).T


def structure(table: pd.DataFrame, feature: str = "ll_std") -> dict[str, float]:
    """Statistics of one feature and of the onset zone over seizures, neighbours and shafts."""
    z = table.groupby(["patient", "run"])[feature].transform(lambda v: (v - v.mean()) / v.std())
    one, between, neighbours = [], [], []
    for _, of in table.assign(z=z).groupby("patient"):
        wide = of.pivot_table(index="channel", columns="run", values="z")
        soz = of.groupby("channel")["is_soz"].first().reindex(wide.index).to_numpy(bool)
        one.append(
            np.nanmean([auroc(wide[r].dropna().to_numpy(), soz[wide[r].notna()]) for r in wide])
        )
        correlation = wide.corr("spearman").to_numpy()[np.triu_indices(wide.shape[1], 1)]
        between += [np.nanmean(correlation)] if len(correlation) else []
        of = of.groupby("channel").agg(
            z=("z", "mean"), shaft=("shaft", "first"), number=("number", "first")
        )
        pairs = of.merge(of.assign(number=of["number"] - 1), on=["shaft", "number"])
        neighbours.append(pairs["z_x"].corr(pairs["z_y"], "spearman"))
    contacts = table.drop_duplicates(["patient", "channel"])
    next_one = contacts.merge(
        contacts.assign(number=contacts["number"] - 1), on=["patient", "shaft", "number"]
    )
    shafts = contacts.groupby(["patient", "shaft"])["is_soz"].agg(["mean", "any"])
    soz = table["is_soz"].to_numpy(bool)
    return {
        "one seizure": float(np.mean(one)),
        "between seizures": float(np.nanmedian(between)),
        "neighbours": float(np.nanmedian(neighbours)),
        "next is SOZ after SOZ": float(next_one.loc[next_one["is_soz_x"], "is_soz_y"].mean()),
        "next is SOZ after others": float(next_one.loc[~next_one["is_soz_x"], "is_soz_y"].mean()),
        "shafts with SOZ": float(shafts["any"].mean()),
        "SOZ share of these": float(shafts.loc[shafts["any"], "mean"].mean()),
        "z of SOZ": float(z[soz].mean()),
        "z of SOZ, SD": float(z[soz].std()),
        "z of others": float(z[~soz].mean()),
        "z of others, SD": float(z[~soz].std()),
    }
