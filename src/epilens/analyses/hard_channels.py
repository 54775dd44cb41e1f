"""The channels nearest to PRQ-Net's threshold (Figure 4 a): which model decides them best?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from epilens.analyses import Analysis, AnalysisResult
from epilens.analyses.figures import Panels, grouped_points
from epilens.analyses.tables import CORE, over_seeds, paper_rows, title_of, value_of
from epilens.analyses.verdicts import DRAWS, Comparisons, Verdict, outcome_of
from epilens.core.decisions import confusion_metrics
from epilens.evaluation.resampling import Comparison, compare_patients
from epilens.evaluation.run import Run

PERCENTS = (10, 20, 30)
METRICS = ("ez_f1", "ez_recall")

PAPER = paper_rows(
    ["percent", "method", "ez_f1", "ez_recall_gain"],
    (10, "prq", 0.3858, 0.0),
    (10, "cdel", 0.4077, 0.0682),
    (20, "prq", 0.4198, 0.0),
    (20, "cdel", 0.4434, 0.0607),
    (30, "prq", 0.4397, 0.0),
    (30, "cdel", 0.4642, 0.0504),
)


def compute(run: Run) -> AnalysisResult:
    """Means per patient and seed; a patient whose hard channels have no EZ counts as 0.

    `ez_recall_gain` is the recall beyond PRQ-Net's, `without_ez` the mean number of such patients.
    """
    rows = hardest_rows(run.ledger)
    frame = over_seeds(rows, ["percent", "method"], METRICS)
    prq = frame[frame["method"] == "prq"].set_index("percent")["ez_recall"]
    frame["ez_recall_gain"] = frame["ez_recall"] - prq.loc[frame["percent"]].to_numpy()
    empty = rows.assign(without_ez=rows["ez_channels"] == 0)
    count = empty.groupby(["percent", "method", "seed"])["without_ez"].sum()
    count = count.groupby(["percent", "method"]).mean().rename("without_ez").reset_index()
    frame = frame.merge(count, on=["percent", "method"], how="left")
    frame.insert(2, "title", [title_of(method) for method in frame["method"]])
    comparisons = tuple(_gain(rows, p, metric) for metric in METRICS for p in PERCENTS)
    return AnalysisResult(frame, claim(frame, comparisons), comparisons)


def _gain(rows: pd.DataFrame, percent: int, metric: str) -> Comparison:
    """CDEL − PRQ-Net on the same hard channels, patient by patient, seeds averaged first."""
    part = rows[rows["percent"] == percent]
    means = part.groupby(["method", "patient"])[metric].mean().unstack("method")
    return compare_patients(means["cdel"] - means["prq"], "cdel", "prq", metric, DRAWS)


def hardest_rows(ledger: pd.DataFrame) -> pd.DataFrame:
    """EZ-F1 and EZ recall of each model on the same hard channels: percent, method, seed, patient.

    The ⌈f n⌉ smallest margins |p_PRQ - t| of a patient; equal margins by the channel's name.
    """
    key = ["seed", "patient", "channel"]
    test = ledger[(ledger["partition"] == "test") & ledger["method"].isin(CORE)]
    wide = test.pivot(index=key, columns="method", values=["p_nez", "threshold"])
    is_ez = test[test["method"] == "prq"].set_index(key)["is_ez"].loc[wide.index]
    margin = (wide["p_nez"]["prq"] - wide["threshold"]["prq"]).abs().groupby(["seed", "patient"])
    # pivot sorted the channels by name, and ranks of ties keep that order.
    rank, channels = margin.rank(method="first"), margin.transform("size")
    parts = []
    for percent in PERCENTS:
        hard = rank <= -(-percent * channels // 100)
        for method in CORE:
            flagged = wide["p_nez"][method] < wide["threshold"][method]
            outcomes = (flagged & is_ez, flagged & ~is_ez, ~flagged & is_ez, ~flagged & ~is_ez)
            counts = pd.concat(outcomes, axis=1)[hard].groupby(["seed", "patient"]).sum()
            tp, fp, fn, tn = counts.to_numpy().T
            values = {"ez_f1": confusion_metrics(tp, fp, fn, tn)["ez_f1"], "ez_channels": tp + fn}
            values["ez_recall"] = tp / np.maximum(tp + fn, 1)
            part = pd.DataFrame(values, counts.index).assign(percent=percent, method=method)
            parts.append(part.reset_index())
    frame = pd.concat(parts, ignore_index=True)
    return frame.sort_values(["percent", "seed", "patient"], kind="stable", ignore_index=True)


def draw(frame: pd.DataFrame, axes: Panels) -> None:
    """EZ-F1 of the three models, mean and SD over seeds."""
    (ax,) = axes
    grouped_points(ax, frame, "percent", "ez_f1", [f"{p} %" for p in PERCENTS])
    ax.set(
        xlabel="channels nearest to PRQ-Net's threshold",
        ylabel="patient EZ-F1, mean and SD over seeds",
    )


def claim(frame: pd.DataFrame, comparisons: Comparisons) -> Verdict:
    """Verdict on the claim that CDEL decides hard channels better than PRQ-Net."""
    gains = [
        value_of(frame, "ez_f1", percent=p, method="cdel")
        - value_of(frame, "ez_f1", percent=p, method="prq")
        for p in PERCENTS
    ]
    recall = [value_of(frame, "ez_recall_gain", percent=p, method="cdel") for p in PERCENTS]
    above = sum(c.low > 0 for c in comparisons if c)
    return Verdict(
        outcome_of(comparisons),
        "on the hardest 10, 20 and 30 % of channels CDEL raises PRQ-Net's EZ-F1 by 0.0219, 0.0236 "
        "and 0.0245, and its EZ recall by 0.0682, 0.0607 and 0.0504",
        f"EZ-F1 by {_listed(gains)}, EZ recall by {_listed(recall)}; "
        f"{above} of {len(comparisons)} intervals over patients lie above zero",
    )


def _listed(values: Sequence[float]) -> str:
    first, second, third = (f"{value:+.4f}" for value in values)
    return f"{first}, {second} and {third}"


ENTRIES = (
    Analysis(
        name="hard-channels",
        title="The channels nearest to PRQ-Net's threshold",
        shows="Figure 4 (a)",
        compute=compute,
        needs=CORE,
        keys=("percent", "method"),
        paper=PAPER,
        formats={"percent": ".0f", "ez_recall_gain": "+.4f", "without_ez": ".1f"},
        draw=draw,
    ),
)
