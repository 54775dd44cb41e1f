"""Statistics of contact features over patients, and their values in recorded seizures.

docs/developer/calibration.md has the sources of the recorded values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy.signal
import scipy.stats
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from epilens.evidence.contact_features import FEATURES, SUMMARIES

Values = NDArray[np.floating[Any]]

REAL_AUROC = {
    "delta": (0.71, 0.70, 0.70),
    "theta": (0.73, 0.75, 0.73),
    "alpha": (0.75, 0.77, 0.77),
    "beta": (0.78, 0.81, 0.80),
    "lgamma": (0.79, 0.83, 0.81),
    "hfo": (0.72, 0.75, 0.74),
    "var": (0.72, 0.74, 0.74),
    "skew": (0.49, 0.77, 0.62),
    "kurt": (0.72, 0.74, 0.73),
    "ll": (0.74, 0.84, 0.80),
    "se": (0.57, 0.72, 0.66),
}
"""Mean over 27 recorded patients of the AUROC of one feature against the onset zone."""
REAL_SPREAD = {"ll_std": 0.12, "lgamma_std": 0.11, "beta_mean": 0.21}
"""SD over patients: of 27 (line length), of 15 (the others)."""
REAL_STRUCTURE = {
    "one seizure": 0.82,
    "between seizures": 0.44,
    "neighbours": 0.62,
    "next is SOZ after SOZ": 0.68,
    "next is SOZ after others": 0.03,
    "shafts with SOZ": 0.32,
    "SOZ share of these": 0.54,
    "z of SOZ": 1.2,
    "z of SOZ, SD": 1.5,
    "z of others": -0.2,
    "z of others, SD": 0.8,
}
REAL_MODELS = {"energy ratio alone": (0.66, 0.80), "logistic on z": (0.786, 0.886)}
"""AUROC of the rise of the energy ratio (median over patients), and of a logistic regression on all
features, z-scored within patients, leave one patient out (0.836 on 27 patients)."""
REAL_RISE = {"rise, median": (1.0, 1.6), "rise, 90 %": (4.0, 15.0), "rise, largest": (15.0, 1e9)}
"""Energy ratio 0-5 s after onset over the channel's own baseline."""


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


def energy_ratio_rise(x: np.ndarray, fs: float, onset_s: float) -> np.ndarray:
    """(12.4-97 Hz over 3.5-12.4 Hz) in 0-5 s after onset over the same in −30 to −5 s."""

    def ratio(start: float, stop: float) -> np.ndarray:
        piece = x[:, round((onset_s + start) * fs) : round((onset_s + stop) * fs)]
        f, power = scipy.signal.welch(piece - piece.mean(axis=0), fs, nperseg=round(fs))
        fast, slow = (f >= 12.4) & (f < 97), (f >= 3.5) & (f < 12.4)
        return power[:, fast].sum(axis=1) / power[:, slow].sum(axis=1)

    return ratio(0, 5) / ratio(-30, -5)


def moments(table: pd.DataFrame) -> dict[str, float]:
    """Everything that has a target."""
    aurocs = patient_aurocs(table)
    spread = {f"{name}, SD": float(aurocs[name].std()) for name in REAL_SPREAD}
    rise = table["rise"]
    rises = (float(rise.median()), float(rise.quantile(0.9)), float(rise.max()))
    return (
        {name: float(value) for name, value in aurocs.mean().items()}
        | spread
        | structure(table)
        | dict(zip(REAL_RISE, rises, strict=True))
        | {"energy ratio alone": _rise_auroc(table), "logistic on z": _logistic(table)}
    )


def _rise_auroc(table: pd.DataFrame) -> float:
    """Median over patients of the AUROC of the rise, median over seizures."""
    aurocs = []
    for _, part in table.groupby("patient"):
        contacts = part.groupby("channel").agg({"rise": "median", "is_soz": "first"})
        aurocs.append(auroc(contacts["rise"].to_numpy(), contacts["is_soz"].to_numpy(bool)))
    return float(np.nanmedian(aurocs))


def _logistic(table: pd.DataFrame) -> float:
    """AUROC of all features together; on recorded seizures no better than the best feature."""
    runs = table.groupby(["patient", "run"])[list(FEATURES)]
    z = runs.transform(lambda v: (v - v.mean()) / (v.std() + 1e-300))
    keys = [table["patient"], table["channel"]]
    z, soz = z.groupby(keys).mean(), table["is_soz"].groupby(keys).first()
    patient = z.index.get_level_values("patient").to_numpy()
    names = np.unique(patient)
    aurocs = []
    for fold in range(5):
        is_test = np.isin(patient, names[fold::5])
        model = LogisticRegression(C=1.0, class_weight="balanced", max_iter=300)
        model.fit(z[~is_test], soz[~is_test])
        score = model.decision_function(z)
        for name in names[fold::5]:
            aurocs.append(auroc(score[patient == name], soz[patient == name].to_numpy(bool)))
    return float(np.nanmean(aurocs))


def targets() -> dict[str, tuple[float, float, float]]:
    """Name → (value, lowest, highest) that counts as reached."""
    wanted: dict[str, tuple[float, float, float]] = {}
    for base, values in REAL_AUROC.items():
        for summary, v in zip(SUMMARIES, values, strict=True):
            wanted[f"{base}_{summary}"] = (v, v - 0.07, v + 0.07)
    for name, v in REAL_SPREAD.items():
        wanted[f"{name}, SD"] = (v, v - 0.05, v + 0.05)
    for name, v in REAL_STRUCTURE.items():
        wanted[name] = (v, v - abs(v) / 3, v + abs(v) / 3)
    for name, (low, high) in REAL_MODELS.items():
        wanted[name] = ((low + high) / 2, low, high)
    for name, (low, high) in REAL_RISE.items():
        wanted[name] = (float(np.sqrt(low * min(high, 60.0))), low, high)
    return wanted
