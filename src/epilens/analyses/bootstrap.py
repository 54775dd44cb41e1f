"""Paired patient bootstrap of CDEL against PRQ-Net (Figure 3 c)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pandas as pd

from epilens.analyses import Analysis
from epilens.analyses.columns import HEADINGS, heading
from epilens.analyses.figures import Panels, legend_above
from epilens.analyses.intervals import add_t_intervals, deciding, kinds_in
from epilens.analyses.tables import paper_rows
from epilens.analyses.verdicts import Verdict, outcome_of
from epilens.evaluation.resampling import bootstrap_patients, patient_means
from epilens.evaluation.run import Run

DRAWS = 10_000
METRICS = ("macro_f1", "ez_f1", "ez_auprc", "ndcg_ez")

PAPER = paper_rows(
    ["metric", "estimate", "low", "high"],
    ("macro_f1", 0.0088, 0.0032, 0.0146),
    ("ez_f1", 0.0186, 0.0097, 0.0280),
    ("ez_auprc", 0.0171, 0.0094, 0.0257),
    ("ndcg_ez", 0.0150, 0.0079, 0.0226),
)


def compute(run: Run) -> pd.DataFrame:
    """CDEL − PRQ-Net: a patient's metric is averaged over seeds, then patients are drawn."""
    rows, differences = [], []
    for metric in METRICS:
        cdel, prq = (patient_means(run.scores, name, metric) for name in ("cdel", "prq"))
        differences.append((cdel - prq).dropna())
        rows.append(bootstrap_patients(differences[-1], "cdel", "prq", metric, DRAWS))
    frame = pd.DataFrame([asdict(row) for row in rows]).drop(columns="interval")
    return add_t_intervals(frame, [values.to_numpy() for values in differences])


def draw(frame: pd.DataFrame, axes: Panels) -> None:
    """Differences with their 95 % bootstrap intervals; the paper's next to them in grey.

    A small cohort's t intervals are thin lines.
    """
    (ax,) = axes
    rows = range(len(frame))[::-1]
    styles: dict[str, dict[str, Any]] = {
        "": {"fmt": "o", "color": "black", "label": "this cohort"},
        "paper_": {"fmt": "s", "color": "0.55", "mfc": "white", "label": "paper"},
    }
    for shift, (prefix, style) in zip((0.12, -0.12), styles.items(), strict=True):
        if f"{prefix}estimate" not in frame:
            continue
        middle, low, high = (frame[f"{prefix}{name}"] for name in ("estimate", "low", "high"))
        ax.errorbar(
            middle,
            [row + shift for row in rows],
            xerr=[middle - low, high - middle],
            ms=4,
            lw=1.2,
            capsize=2,
            **style,
        )
    if "t_low" in frame:
        heights = [row + 0.12 for row in rows]
        ax.hlines(
            heights, frame["t_low"], frame["t_high"], color="black", lw=0.5, label="t interval"
        )
    ax.axvline(0, color="0.3", lw=0.8, ls=":")
    ax.set_yticks(list(rows), [HEADINGS[metric] for metric in frame["metric"]])
    ax.set_ylim(-0.6, len(frame) - 0.4)
    ax.set_xlabel("CDEL − PRQ-Net, 95 % bootstrap interval")
    legend_above(ax)


def claim(frame: pd.DataFrame) -> Verdict:
    """Verdict on the claim that all intervals lie above zero."""
    kinds, frame = kinds_in(frame), deciding(frame)
    above, below = (frame.loc[rows, "metric"] for rows in (frame["low"] > 0, frame["high"] < 0))
    return Verdict(
        outcome_of(frame.itertuples()),
        "CDEL exceeds PRQ-Net in Macro-F1, EZ-F1, EZ-AUPRC and NDCG-EZ, all intervals above zero",
        f"above zero in {_listed(above)}, below zero in {_listed(below)} of {len(frame)} "
        f"({kinds}, {int(frame['patients'].min())} patients)",
    )


def _listed(metrics: pd.Series) -> str:
    return f"{len(metrics)} ({', '.join(map(heading, metrics))})" if len(metrics) else "none"


ENTRIES = (
    Analysis(
        name="bootstrap",
        title=f"CDEL − PRQ-Net: paired patient bootstrap, {DRAWS:,} draws",
        shows="Figure 3 (c)",
        compute=compute,
        claim=claim,
        needs=("prq", "cdel"),
        keys=("metric",),
        paper=PAPER,
        formats=dict.fromkeys(("estimate", "low", "high", "t_low", "t_high"), "+.4f")
        | {"patients": ".0f", "draws": ".0f"},
        interval="estimate",
        draw=draw,
    ),
)
