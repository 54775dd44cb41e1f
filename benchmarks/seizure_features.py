"""Statistics of contact features over patients: what simulated and recorded seizures share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy.stats
from numpy.typing import NDArray

from epilens.evidence.contact_features import FEATURES

Values = NDArray[np.floating[Any]]


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
