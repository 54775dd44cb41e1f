"""One, two or all seizures of the same patients (Figure 4 b, Table X): frozen checkpoints."""

from __future__ import annotations

import pandas as pd

from epilens.analyses import Analysis
from epilens.analyses.columns import HEADINGS
from epilens.analyses.figures import Panels, grouped_points
from epilens.analyses.intervals import add_t_intervals, deciding, kinds_in
from epilens.analyses.reinference import CONDITIONS, subset_scores
from epilens.analyses.tables import CORE, as_columns, over_seeds, paper_rows, value_of
from epilens.analyses.verdicts import Verdict, outcome_of
from epilens.evaluation.resampling import bootstrap_patients, patient_means
from epilens.evaluation.run import Run

METRICS = ("macro_f1", "ez_f1", "ez_auprc", "ndcg_ez", "recall_at_k")
DRAWS = 10_000
_NONE = float("nan")

PAPER = paper_rows(
    ["method", "metric", "seizures", "value", "value_sd", "gain", "low", "high"],
    ("cdel", "macro_f1", "one", 0.6146, _NONE, 0.0249, 0.0110, 0.0397),
    ("cdel", "macro_f1", "two", 0.6254, _NONE, 0.0141, 0.0079, 0.0206),
    ("cdel", "macro_f1", "all", 0.6395, _NONE, _NONE, _NONE, _NONE),
    ("cdel", "ez_f1", "one", 0.4146, 0.0059, 0.0378, 0.0161, 0.0612),
    ("cdel", "ez_f1", "two", 0.4268, 0.0075, 0.0256, 0.0157, 0.0365),
    ("cdel", "ez_f1", "all", 0.4524, 0.0108, _NONE, _NONE, _NONE),
    ("cdel", "ez_auprc", "one", 0.5133, 0.0060, 0.0424, 0.0215, 0.0635),
    ("cdel", "ez_auprc", "two", 0.5370, 0.0078, 0.0187, 0.0092, 0.0299),
    ("cdel", "ez_auprc", "all", 0.5557, 0.0038, _NONE, _NONE, _NONE),
    ("cdel", "ndcg_ez", "one", 0.7527, 0.0033, 0.0317, 0.0152, 0.0484),
    ("cdel", "ndcg_ez", "two", 0.7730, 0.0054, 0.0114, 0.0043, 0.0192),
    ("cdel", "ndcg_ez", "all", 0.7844, 0.0005, _NONE, _NONE, _NONE),
    ("cdel", "recall_at_k", "one", 0.4554, 0.0105, _NONE, _NONE, _NONE),
    ("cdel", "recall_at_k", "two", 0.4736, 0.0167, _NONE, _NONE, _NONE),
    ("cdel", "recall_at_k", "all", 0.4959, 0.0145, _NONE, _NONE, _NONE),
)


def compute(run: Run) -> pd.DataFrame:
    """One row per model, metric and number of seizures, over patients with two seizures or more.

    `gain` is what all seizures add to this number, with its 95 % paired patient bootstrap interval.
    """
    scores = subset_scores(run)
    means = over_seeds(scores, ["method", "seizures"], METRICS).set_index(["method", "seizures"])
    rows, differences = [], []
    for method in CORE:
        for metric in METRICS:
            for condition in CONDITIONS:
                value, sd = means.loc[(method, condition), [metric, f"{metric}_sd"]]
                row = {"method": method, "metric": metric, "seizures": condition}
                row |= {"value": value, "value_sd": sd}
                gains = _gains(scores, method, metric, condition)
                rows.append(row | _gain(gains, metric, condition))
                differences.append([] if condition == "all" else gains.to_numpy())
    return add_t_intervals(pd.DataFrame(rows), differences)


def _gains(scores: pd.DataFrame, method: str, metric: str, condition: str) -> pd.Series:
    """Metrics of all seizures minus those of fewer, patient by patient, seeds averaged first."""
    every, few = (
        patient_means(scores[scores["seizures"] == name], method, metric)
        for name in ("all", condition)
    )
    return (every - few).dropna()


def _gain(gains: pd.Series, metric: str, condition: str) -> dict[str, float]:
    if condition == "all":
        return {"gain": _NONE, "low": _NONE, "high": _NONE, "patients": len(gains)}
    comparison = bootstrap_patients(gains, "all", condition, metric, DRAWS)
    gain = {"gain": comparison.estimate, "low": comparison.low, "high": comparison.high}
    return gain | {"patients": comparison.patients}


def wide(frame: pd.DataFrame) -> pd.DataFrame:
    """The table of the paper: a row per model and number of seizures, metrics as columns."""
    return as_columns(frame, ["method", "seizures"], "metric", "value")


def draw(frame: pd.DataFrame, axes: Panels) -> None:
    """Macro-F1 of the three models, mean and SD over seeds."""
    (ax,) = axes
    macro = frame[frame["metric"] == "macro_f1"]
    grouped_points(ax, macro, "seizures", "value", list(CONDITIONS))
    n = int(macro["patients"].iloc[0])
    ax.set(xlabel=f"seizures used, the same {n} patients")
    ax.set_ylabel("patient Macro-F1, mean and SD over seeds")


def claim(frame: pd.DataFrame) -> Verdict:
    """Verdict on the claim that more seizures are better."""
    kinds, frame = kinds_in(frame), deciding(frame)
    cdel = frame[frame["method"] == "cdel"]
    with_one, with_two, with_all = (
        value_of(cdel, "value", metric="macro_f1", seizures=name) for name in CONDITIONS
    )
    asked = cdel[(cdel["seizures"] != "all") & (cdel["metric"] != "recall_at_k")]
    above = asked[asked["low"] > 0]
    named = ", ".join(f"{HEADINGS[r.metric]} over {r.seizures}" for r in above.itertuples())
    return Verdict(
        outcome_of(asked.rename(columns={"gain": "estimate"}).itertuples()),
        "CDEL's Macro-F1 rises from 0.6146 with one seizure to 0.6254 with two and 0.6395 with "
        "all, and all eight intervals of the gains lie above zero (73 patients)",
        f"{with_one:.4f}, {with_two:.4f} and {with_all:.4f}; above zero are {len(above)} of "
        f"{len(asked)} intervals ({named or 'none'}; {kinds}, {int(cdel['patients'].max())} "
        "patients)",
    )


ENTRIES = (
    Analysis(
        name="cross-seizure",
        title="One, two or all seizures of the same patients",
        shows="Figure 4 (b), Table X",
        compute=compute,
        claim=claim,
        needs=CORE,
        reads=("cubes",),
        keys=("method", "metric", "seizures"),
        paper=PAPER,
        wide=wide,
        within="method",
        formats=dict.fromkeys(("gain", "low", "high", "t_low", "t_high"), "+.4f")
        | {"patients": ".0f"},
        interval="gain",
        draw=draw,
    ),
)
