"""Whether scores are probabilities: Brier score, skill, calibration, as they come out of fold."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd

from epilens.analyses import Analysis
from epilens.analyses.figures import Panels, legend_inside, style_of
from epilens.analyses.tables import best, title_of
from epilens.core.errors import LedgerError
from epilens.evaluation.run import Run
from epilens.methods import METHODS

EDGES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Classes of the stated probability of EZ in the table and figure."""
FINE = 10
"""Classes of the calibration error."""
DRAWN = ("lens", "cdel", "prq", "bcr", "logistic-z")
"""Methods in the figure at most: more lines cannot be distinguished."""


def compute(run: Run) -> pd.DataFrame:
    """Every trained method: 1 - p_nez as the probability of EZ, patients weighted equally.

    `skill` is 1 - Brier / Brier of always stating the EZ fraction of all contacts. `ez_of_0_20` is
    the EZ fraction of contacts with a stated probability of 0 to 20 %.
    """
    trained = [m for m in run.methods if m in METHODS and not METHODS[m].training_free]
    if not trained:
        raise LedgerError(
            f"reliability: expected a trained method in {run.folder}, found none. Add one, e.g. "
            "lens, with `epilens run`."
        )
    ledger = run.ledger[run.ledger["partition"] == "test"]
    rows = [reliability(ledger[ledger["method"] == method]) for method in trained]
    frame = pd.DataFrame(rows)
    frame.insert(0, "method", trained)
    frame.insert(1, "title", [title_of(method) for method in trained])
    return frame.sort_values("brier", kind="stable", ignore_index=True)


def reliability(ledger: pd.DataFrame) -> dict[str, float]:
    """Brier score, skill and calibration of one method, over all its seeds."""
    said, is_ez = 1 - ledger["p_nez"].to_numpy(), ledger["is_ez"].to_numpy(float)
    weight = 1 / ledger.groupby(["seed", "patient"])["channel"].transform("size").to_numpy()
    base = np.average(is_ez, weights=weight)
    brier = float(np.average((said - is_ez) ** 2, weights=weight))
    numbers = {"brier": brier, "skill": 1 - brier / (base * (1 - base))}
    numbers["calibration_error"] = calibration_error(said, is_ez, weight)
    for low, high in pairwise(EDGES):
        inside = (said >= low) & ((said < high) | (high == EDGES[-1]))
        share = np.average(is_ez[inside], weights=weight[inside]) if inside.any() else np.nan
        numbers[f"ez_of_{low:.0%}_{high:.0%}".replace("%", "")] = float(share)
    return numbers


def calibration_error(said: np.ndarray, is_ez: np.ndarray, weight: np.ndarray) -> float:
    """Mean distance between stated probability and EZ fraction, over bins of equal width."""
    bins = np.minimum((said * FINE).astype(int), FINE - 1)
    apart = np.bincount(bins, weight * (said - is_ez), FINE)
    return float(np.abs(apart).sum() / weight.sum())


def draw(frame: pd.DataFrame, axes: Panels) -> None:
    """EZ fraction over the stated probability; the dotted line is perfect calibration."""
    (ax,) = axes
    drawn = [m for m in DRAWN if m in set(frame["method"])] or frame["method"].tolist()[:5]
    others = [m for m in drawn if m not in ("prq", "bcr", "cdel")]
    columns = [name for name in frame.columns if name.startswith("ez_of_")]
    centers = [(low + high) / 2 for low, high in pairwise(EDGES)]
    ax.plot([0, 1], [0, 1], ls=":", lw=1, color="0.3", label="perfect calibration")
    for method in drawn:
        shares = frame.loc[frame["method"] == method, columns].to_numpy(float)[0]
        ax.plot(centers, shares, ms=4, lw=1.2, label=title_of(method), **style_of(method, others))
    ax.set(xlabel="stated probability of EZ", ylabel="EZ fraction", xlim=(0, 1), ylim=(0, 1))
    legend_inside(ax)


def claim(frame: pd.DataFrame) -> str:
    """State which scores are the best probabilities."""
    lowest = str(frame.loc[frame["brier"].idxmin(), "method"])
    nearest = str(frame.loc[frame["calibration_error"].idxmin(), "method"])
    skilled = best(frame, "skill")
    other = f", by {title_of(skilled)}" if skilled != lowest else ""
    return (
        f"Beyond the paper. Lowest Brier score: {title_of(lowest)} ({frame['brier'].min():.3f}; "
        f"highest skill {frame['skill'].max():+.3f}{other}); "
        f"smallest calibration error: {title_of(nearest)} ({frame['calibration_error'].min():.3f})."
    )


ENTRIES = (
    Analysis(
        name="reliability",
        title="Scores as probabilities, out of fold",
        shows="beyond the paper",
        compute=compute,
        claim=claim,
        keys=("method",),
        higher=("skill",),
        formats={"skill": "+.3f", "brier": ".3f", "calibration_error": ".3f"}
        | {f"ez_of_{20 * i}_{20 * i + 20}": ".2f" for i in range(5)},
        draw=draw,
    ),
)
